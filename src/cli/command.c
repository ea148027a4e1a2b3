/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/command.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/help.h"
#include "cli/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct option_spec command_common_options[] = {
	{OPTION_FLAG, 'v', "verbose", .group = "Common options",
	 .help = "Say on standard error what is tried, and why candidates are rejected.",
	 .offset = offsetof(struct invocation, verbose)},
	{OPTION_FLAG, 'h', "help", .help = "Show this help.",
	 .offset = offsetof(struct invocation, help)},
	{},
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp((*c)->name, name) == 0)
			return *c;
	}
	return NULL;
}

static void log_to_stderr(void *data, const char *line)
{
	struct invocation *in = data;
	progress_clear(&in->progress);
	fprintf(stderr, "mapwright: debug: %s\n", line);
}

int command_misuse(const struct command *command, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	message_error("%s: %s", command->name, text);
	message_hint("mapwright %s --help shows how it is used", command->name);
	return EXIT_MISUSE;
}

static int refuse(const struct command *command, const struct option_problem *problem)
{
	if (!problem->hint[0])
		return command_misuse(command, "%s", problem->text);
	message_error("%s: %s", command->name, problem->text);
	message_hint("%s", problem->hint);
	return EXIT_MISUSE;
}

/*
 * What a command printed counts only once it is written: a full disk behind a redirection must not
 * end in success.
 */
static int finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		message_error("standard output: %s", strerror(errno));
	return status == EXIT_DONE ? EXIT_FAILED : status;
}

static int run_parsed(struct invocation *in, void *options)
{
	const struct command *command = in->command;
	if (in->help) {
		help_command(stdout, command);
		return EXIT_DONE;
	}
	if (command->max_arguments >= 0 && in->argc > command->max_arguments)
		return command_misuse(command, "unexpected argument \"%s\"",
				      in->argv[command->max_arguments]);
	if (in->verbose)
		in->log = (struct log){log_to_stderr, in};
	return command->run(in, options);
}

int command_run(const struct command *command, int argc, char **argv)
{
	_cleanup_free_ void *options = calloc(1, command->options_size + 1);
	if (!options) {
		message_error("%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (command->defaults)
		memcpy(options, command->defaults, command->options_size);

	struct invocation in = {.command = command, .argv = argv};
	in.progress = progress_init(STDERR_FILENO, false);
	const struct option_set sets[] = {
		{command->options, options},
		{command_common_options, &in},
	};
	struct option_problem problem;
	in.argc = option_parse(sets, ARRAY_SIZE(sets), command->runs_program, argc, argv, &problem);
	int status = in.argc == -EINVAL ? refuse(command, &problem)
		     : in.argc < 0      ? EXIT_FAILED
					: run_parsed(&in, options);
	option_set_deinit(&sets[0]);
	return finish_output(status);
}
