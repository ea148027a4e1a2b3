/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/help.h"

#include "base/cleanup.h"
#include "cli/terminal.h"
#include "cli/wrap.h"

/* Lines longer than this are hard to read, however wide the terminal is. */
#define WIDEST 100
#define OPTION_COLUMN 27

static int page_width(FILE *out)
{
	return MIN(terminal_width(fileno(out), 80), WIDEST);
}

static int write_names(FILE *out, const struct option_spec *spec)
{
	const char *value = spec->value ? spec->value : "";
	int n = spec->short_name ? fprintf(out, "  -%c", spec->short_name) : fprintf(out, "    ");
	if (spec->long_name)
		n += fprintf(out, "%s--%s%s", spec->short_name ? ", " : "  ",
			     spec->negatable ? "[no-]" : "", spec->long_name);
	if (spec->value)
		n += fprintf(out, spec->value_optional ? "[=%s]" : " %s", value);
	return n;
}

/* Choices that others make known cannot stand in the option's own text. */
static void write_choices(FILE *out, const struct option_spec *spec, int width)
{
	struct option_choice c;
	for (size_t i = 0; spec->choice_at && option_choice_at(spec, i, &c); i++) {
		int at = fprintf(out, "%*s%s", OPTION_COLUMN + 2, "", c.name);
		wrap_text(out, c.help, at, OPTION_COLUMN + 12, width);
	}
}

static void write_options(FILE *out, const struct option_spec *specs, int width)
{
	for (const struct option_spec *spec = specs; !option_is_end(spec); spec++) {
		if (spec->group)
			fprintf(out, "\n%s:\n", spec->group);
		int at = write_names(out, spec);
		/* Two spaces at least between the names and what they mean. */
		wrap_text(out, spec->help, at > OPTION_COLUMN - 2 ? OPTION_COLUMN + 1 : at,
			  OPTION_COLUMN, width);
		write_choices(out, spec, width);
	}
}

void help_command(FILE *out, const struct command *command)
{
	int width = page_width(out);
	fprintf(out, "Usage: mapwright %s [options]%s%s\n", command->name, *command->usage ? " " : "",
		command->usage);
	for (const char *const *p = command->description; *p; p++) {
		fputc('\n', out);
		wrap_text(out, *p, 0, 0, width);
	}
	write_options(out, command->options, width);
	write_options(out, command_common_options, width);
	if (!command->examples)
		return;
	fprintf(out, "\nExamples:\n");
	for (const struct command_example *e = command->examples; e->line; e++) {
		fprintf(out, "  %s\n", e->line);
		wrap_text(out, e->meaning, 0, 6, width);
	}
}

void help_overview(FILE *out)
{
	int width = page_width(out);
	fprintf(out, "Usage: mapwright COMMAND [options] [arguments]\n\n");
	wrap_text(out,
		  "Which bytes of which file was this sampled address, and what are they called? A profiler for "
		  "a whole Linux machine: chroots, containers, deleted files and processes long gone included.",
		  0, 0, width);
	fprintf(out, "\nCommands:\n");
	for (const struct command *const *c = commands; *c; c++) {
		int at = fprintf(out, "  %s", (*c)->name);
		wrap_text(out, (*c)->summary, at, 14, width);
	}
	fprintf(out, "\nmapwright COMMAND --help shows the options of one command.\n");
}
