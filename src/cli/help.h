/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What --help and `mapwright help` show, from the tables, wrapped to the terminal. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/command.h"

#include <stdio.h>

void help_command(FILE *out, const struct command *command);
void help_overview(FILE *out);

#endif
