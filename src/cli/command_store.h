/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store that a command works with. */
#ifndef CLI_COMMAND_STORE_H
#define CLI_COMMAND_STORE_H

#include "cli/option.h"
#include "store/store.h"

/* The text of --store in all commands. */
#define COMMAND_STORE_HELP                                                                         \
	"Where symbols of files are kept. Default: /var/cache/mapwright for root, ~/.cache/mapwright "   \
	"for others."

/*
 * Opens the store of the command line (NULL: the default one). If it cannot be written and something has
 * to be (`must_write`), a temporary one takes its place, which lasts as long as the process.
 */
int command_store_open(const char *directory, bool must_write, const struct log *log,
		       struct store **ret, struct mw_error *e);

#endif
