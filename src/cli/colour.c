/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/colour.h"

#include <stdlib.h>
#include <string.h>

const struct option_choice colour_choices[] = {
	[COLOUR_AUTO] = {"auto", "on a terminal"},
	[COLOUR_ALWAYS] = {"always", "everywhere"},
	[COLOUR_NEVER] = {"never", "nowhere"},
	{},
};

/* The value of a variable, or "" if it is not set. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

bool colour_wanted(enum colour_when when, bool terminal)
{
	if (when != COLOUR_AUTO)
		return when == COLOUR_ALWAYS;
	if (*variable("NO_COLOR"))
		return false;
	const char *force = variable("CLICOLOR_FORCE");
	if (*force && strcmp(force, "0") != 0)
		return true;
	const char *term = variable("TERM");
	return terminal && *term && strcmp(term, "dumb") != 0;
}
