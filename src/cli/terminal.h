/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

/* Columns of the terminal behind a descriptor, or COLUMNS, or `otherwise`; never under 20. */
int terminal_width(int fd, int otherwise);

#endif
