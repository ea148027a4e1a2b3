/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/terminal.h"

#include "base/cleanup.h"
#include "cli/value.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>

int terminal_width(int fd, int otherwise)
{
	struct winsize size = {};
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return MAX(size.ws_col, 20);
	uint64_t columns;
	const char *text = getenv("COLUMNS");
	if (text && value_read_number(text, &columns) == 0 && columns > 0)
		return (int)MAX(MIN(columns, 1000), 20);
	return otherwise;
}
