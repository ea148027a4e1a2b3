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

static bool is_set(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

bool colour_wanted(enum colour_when when, bool terminal)
{
	if (when != COLOUR_AUTO)
		return when == COLOUR_ALWAYS;
	if (is_set("NO_COLOR"))
		return false;
	if (is_set("CLICOLOR_FORCE") && strcmp(getenv("CLICOLOR_FORCE"), "0") != 0)
		return true;
	const char *term = getenv("TERM");
	return terminal && term && *term && strcmp(term, "dumb") != 0;
}
