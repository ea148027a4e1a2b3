/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The manual pages, in mdoc, from the same tables as --help. */
#ifndef CLI_MAN_H
#define CLI_MAN_H

#include "cli/command.h"

#include <stdio.h>

void man_command(FILE *out, const struct command *command);
void man_overview(FILE *out);

#endif
