/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/vec.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/message.h"

#include <stdio.h>
#include <string.h>

static int unknown(const char *name)
{
	VEC(const char *) names = {};
	for (const struct command *const *c = commands; *c; c++) {
		if (vec_push(&names, (*c)->name) < 0)
			break;
	}
	const char *nearest = option_nearest(name, names.items, names.n);
	message_error("there is no command \"%s\"", name);
	if (nearest)
		message_hint("did you mean mapwright %s?", nearest);
	else
		message_hint("mapwright help lists the commands");
	vec_deinit(&names);
	return EXIT_MISUSE;
}

/* What other programs take as options ("mapwright --version") works here too. */
static const char *command_name(const char *word)
{
	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		return "help";
	if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
		return "version";
	return word;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		help_overview(stderr);
		return EXIT_MISUSE;
	}
	const struct command *command = command_find(command_name(argv[1]));
	return command ? command_run(command, argc - 2, argv + 2) : unknown(argv[1]);
}
