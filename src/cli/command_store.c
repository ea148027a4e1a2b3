/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/command_store.h"

int command_store_open(const char *directory, bool must_write, const struct log *log,
		       struct store **ret, struct mw_error *e)
{
	const struct store_options options = {
		.directory = directory, .allow_read_only = true, .log = log};
	int r = store_open(&options, ret, e);
	if (r == 0 && !(must_write && store_is_read_only(*ret)))
		return 0;
	if (r == 0)
		store_close(*ret);
	log_debug(log, "store: %s; a temporary one is used", r < 0 && e ? e->msg : "read-only");
	return store_open_temporary(&options, ret, e);
}
