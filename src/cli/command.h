/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A command of mapwright: one cmd_NAME.c that ends in a `const struct command`, and one line in
 * commands.c. Everything people read about it (help, man page, completion) is made from this struct.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/log.h"
#include "cli/option.h"
#include "cli/progress.h"

/* How a run ends; `record -- CMD` ends with CMD's own status. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_MISUSE = 2,
};

struct command;

/* One run of a command. */
struct invocation {
	const struct command *command;
	int argc;    /* arguments that are left after the options */
	char **argv; /* ends in NULL */
	bool help;
	bool verbose;
	struct log log; /* listens if -v was given */
	struct progress progress;
};

struct command_example {
	const char *line;
	const char *meaning;
};

struct command {
	const char *name;
	const char *summary;   /* a few words, no full stop */
	const char *usage;     /* what follows "mapwright NAME [options]" */
	const char *const *description; /* paragraphs; ends in NULL */
	const struct option_spec *options;
	const struct command_example *examples; /* ends in a NULL line */
	const void *defaults;  /* the struct that the options fill, as it is without any; NULL: zero */
	size_t options_size;
	int max_arguments;     /* -1: any number */
	bool runs_program;     /* the arguments are a command line of somebody else */
	enum option_completion complete; /* what an argument is */
	/* `values` is a filled copy of the defaults. Returns an exit status. */
	int (*run)(struct invocation *in, void *values);
};

/* -h and -v, which every command has; their values lie in struct invocation. */
extern const struct option_spec command_common_options[];

/* All commands, in the order in which people should meet them; ends in NULL. */
extern const struct command *const commands[];

const struct command *command_find(const char *name);
/* Parses the options, and runs the command or shows its help. Returns an exit status. */
int command_run(const struct command *command, int argc, char **argv);
/* A misuse that the tables cannot see: writes the message, and where to read more. EXIT_MISUSE. */
int command_misuse(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
