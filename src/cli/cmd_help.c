/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/man.h"
#include "cli/message.h"

#include <stddef.h>
#include <stdio.h>

enum shell {
	SHELL_NONE,
	SHELL_BASH,
	SHELL_ZSH,
};

struct arguments {
	bool man;
	int shell; /* enum shell */
};

static const struct option_choice shells[] = {
	[SHELL_NONE] = {"none", NULL},
	[SHELL_BASH] = {"bash", NULL},
	[SHELL_ZSH] = {"zsh", NULL},
	{},
};

static const struct option_spec options[] = {
	{OPTION_FLAG, 0, "man", .offset = offsetof(struct arguments, man), .group = "Options",
	 .help = "Write the manual page instead, in mdoc; without a command the one of mapwright itself."},
	{OPTION_CHOICE, 0, "completion", "SHELL", .offset = offsetof(struct arguments, shell),
	 .choices = shells, .help = "Write the completion script for bash or zsh instead."},
	{},
};

static const char *const description[] = {
	"Lists the commands, or shows the help of one.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright help record", "the options of record"},
	{"source <(mapwright help --completion bash)", "completion in this shell"},
	{"mapwright help --man report | man -l -", "the manual page, without installing it"},
	{},
};

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	const struct command *command = in->argc ? command_find(in->argv[0]) : NULL;
	if (in->argc && !command)
		return command_misuse(in->command, "there is no command \"%s\"", in->argv[0]);
	if (a->shell == SHELL_BASH)
		completion_bash(stdout);
	else if (a->shell == SHELL_ZSH)
		completion_zsh(stdout);
	else if (a->man && command)
		man_command(stdout, command);
	else if (a->man)
		man_overview(stdout);
	else if (command)
		help_command(stdout, command);
	else
		help_overview(stdout);
	return EXIT_DONE;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "Show this list, or the help of one command",
	.usage = "[COMMAND]",
	.description = description,
	.options = options,
	.examples = examples,
	.options_size = sizeof(struct arguments),
	.max_arguments = 1,
	.complete = COMPLETE_COMMANDS,
	.run = run,
};
