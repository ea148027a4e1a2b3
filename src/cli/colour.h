/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether output is coloured. What the user said on this command line goes first, then NO_COLOR,
 * CLICOLOR_FORCE and TERM=dumb, then whether people look at it.
 */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

#include "cli/option.h"

enum colour_when {
	COLOUR_AUTO,
	COLOUR_ALWAYS,
	COLOUR_NEVER,
};

/* The choices of a --color option, in the order of enum colour_when. */
extern const struct option_choice colour_choices[];

/* `terminal`: the output is one, or goes to one through a pager. */
bool colour_wanted(enum colour_when when, bool terminal);

#endif
