/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completion scripts, from the same tables as --help. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdio.h>

void completion_bash(FILE *out);
void completion_zsh(FILE *out);

#endif
