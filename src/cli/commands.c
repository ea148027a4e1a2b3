/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every command of mapwright: one line here, one cmd_NAME.c. */
#include "cli/command.h"

extern const struct command cmd_record;
extern const struct command cmd_report;
extern const struct command cmd_export;
extern const struct command cmd_resymbolize;
extern const struct command cmd_resolve;
extern const struct command cmd_explain;
extern const struct command cmd_store;
extern const struct command cmd_doctor;
extern const struct command cmd_version;
extern const struct command cmd_help;

const struct command *const commands[] = {
	&cmd_record,
	&cmd_report,
	&cmd_export,
	&cmd_resymbolize,
	&cmd_resolve,
	&cmd_explain,
	&cmd_store,
	&cmd_doctor,
	&cmd_version,
	&cmd_help,
	NULL,
};
