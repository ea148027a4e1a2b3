/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/output_file.h"
#include "cli/profile_view.h"
#include "output/output.h"

#include <stddef.h>
#include <string.h>

#define NO_FORMAT -1

struct arguments {
	int format; /* place in the table of formats */
	const char *input;
	const char *output;
	bool inlines;
	const char *store;
};

static bool format_at(size_t i, struct option_choice *ret)
{
	const struct output_format *format = output_format_at(i);
	if (format)
		*ret = (struct option_choice){format->name, format->description};
	return format;
}

#define AT(field) .offset = offsetof(struct arguments, field)

static const struct option_spec options[] = {
	{OPTION_CHOICE, 'f', "format", "FORMAT", AT(format), .choice_at = format_at,
	 .group = "Options", .help = "What to write:"},
	{OPTION_TEXT, 'i', "input", "FILE", AT(input), .complete = COMPLETE_FILES,
	 .help = "The profile; the same as naming it without -i. - is standard input. Default: "
		 "mapwright.mwp."},
	{OPTION_TEXT, 'o', "output", "FILE", AT(output), .complete = COMPLETE_FILES,
	 .help = "Write to this file, which appears once it is whole. Default: standard output."},
	{OPTION_FLAG, 0, "inline", AT(inlines), .negatable = true,
	 .help = "Write calls that were inlined as frames of their own. That is the default."},
	{OPTION_TEXT, 0, "store", "DIR", AT(store), .complete = COMPLETE_DIRECTORIES,
	 .help = "Where source lines are looked up that the profile does not have. Default: the store of mapwright "
		 "record."},
	{},
};

static const struct arguments defaults = {.format = NO_FORMAT, .inlines = true};

static const char *const description[] = {
	"Writes a profile in a format that other tools read.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright export -f folded | sort | head", "stacks, one a line, root first"},
	{"mapwright export -f json -o run.json run.mwp", "every field of every sample"},
	{},
};

static int write_format(const struct profile *profile, const void *context, struct mw_error *e)
{
	const struct output_format *format = context;
	int r = format->write(profile, stdout);
	return r < 0 ? error_errno(e, r, "standard output") : r;
}

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	if (a->format == NO_FORMAT)
		return command_misuse(in->command, "no format: say -f FORMAT");
	if (a->input && in->argc)
		return command_misuse(in->command, "two profiles: %s and %s", a->input, in->argv[0]);
	const char *file = in->argc ? in->argv[0] : a->input ? a->input : PROFILE_DEFAULT_FILE;

	struct mw_error e = {};
	_cleanup_(output_file_discard) struct output_file output = {.fd = -1};
	if (a->output && output_file_open(&output, a->output, &e) < 0) {
		message_failure(&e, NULL);
		return EXIT_FAILED;
	}
	const struct profile_view_options how = {.lines = a->inlines, .inlines = a->inlines,
						 .store = a->store};
	int r = profile_view_with(file, &how, write_format, output_format_at((size_t)a->format), &e);
	if (r == 0)
		r = output_file_keep(&output, &e);
	return profile_view_status(r, &e);
}

const struct command cmd_export = {
	.name = "export",
	.summary = "Write a profile in a format for other tools",
	.usage = "-f FORMAT [FILE]",
	.description = description,
	.options = options,
	.examples = examples,
	.defaults = &defaults,
	.options_size = sizeof(struct arguments),
	.max_arguments = 1,
	.complete = COMPLETE_FILES,
	.run = run,
};
