/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mdoc reads a line that starts with a dot or an apostrophe as a request, a backslash as an escape,
 * and breaks pages where a sentence does not end its line. All text therefore goes through
 * write_text(), which escapes and starts a new line after each sentence.
 */
#include "cli/man.h"

#include "cli/wrap.h"

#include <ctype.h>
#include <string.h>

/* The date on the pages: when this text last changed in substance. */
#define PAGE_DATE "November 29, 2026"

static void write_escaped(FILE *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '-')
			fputs("\\-", out);
		else if (i == 0 && (text[i] == '.' || text[i] == '\''))
			fprintf(out, "\\&%c", text[i]);
		else
			fputc(text[i], out);
	}
}

static bool sentence_ends(const char *text, size_t i)
{
	return strchr(".:!?", text[i]) && text[i + 1] == ' ' && isupper((unsigned char)text[i + 2]);
}

static void write_text(FILE *out, const char *text)
{
	while (*text) {
		/* Under 80 bytes, the escapes included, which is what mandoc's lint asks for. */
		size_t n = wrap_line(text, 70);
		for (size_t i = 0; i + 1 < n; i++) {
			if (sentence_ends(text, i))
				n = i + 1;
		}
		write_escaped(out, text, n);
		fputc('\n', out);
		text += n + strspn(text + n, " ");
	}
}

/* Words that are arguments of a macro: what would end or change them is escaped or quoted. */
static void write_argument(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputs("\\(dq", out);
		else
			write_escaped(out, text, 1);
	}
	fputc('"', out);
}

static void write_upper(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(toupper((unsigned char)*text), out);
}

static void write_value(FILE *out, const struct option_spec *spec, bool is_long)
{
	if (!spec->value)
		return;
	if (spec->value_optional)
		fprintf(out, is_long ? " Ns Oo = Ns Ar %s Oc" : " Ns Op Ar %s", spec->value);
	else
		fprintf(out, " Ar %s", spec->value);
}

static void write_names(FILE *out, const struct option_spec *spec)
{
	fputs(".It", out);
	if (spec->short_name) {
		fprintf(out, " Fl %c", spec->short_name);
		write_value(out, spec, false);
	}
	for (int negated = 0; spec->long_name && negated <= spec->negatable; negated++) {
		fprintf(out, "%s Fl Fl %s%s", spec->short_name || negated ? " ," : "",
			negated ? "no-" : "", spec->long_name);
		write_value(out, spec, true);
	}
	fputc('\n', out);
}

/* Choices are listed where they have something to say beyond their names. */
static void write_choices(FILE *out, const struct option_spec *spec)
{
	struct option_choice c;
	if (!option_choice_at(spec, 0, &c) || !c.help)
		return;
	fputs(".Pp\n.Bl -tag -width Ds -compact\n", out);
	for (size_t i = 0; option_choice_at(spec, i, &c); i++) {
		fputs(".It Cm ", out);
		write_argument(out, c.name);
		fputc('\n', out);
		if (c.help)
			write_text(out, c.help);
	}
	fputs(".El\n", out);
}

static void write_options(FILE *out, const struct option_spec *specs)
{
	bool open = false;
	for (const struct option_spec *spec = specs; !option_is_end(spec); spec++) {
		if (spec->group) {
			fprintf(out, "%s.Ss %s\n.Bl -tag -width Ds\n", open ? ".El\n" : "", spec->group);
			open = true;
		}
		write_names(out, spec);
		write_text(out, spec->help);
		write_choices(out, spec);
	}
	if (open)
		fputs(".El\n", out);
}

/* The description of a page starts in lower case and has no full stop. */
static void write_head(FILE *out, const char *page, const char *summary)
{
	fprintf(out, ".\\\" Made by mapwright help --man from the option tables; edit those.\n"
		     ".Dd " PAGE_DATE "\n.Dt ");
	write_upper(out, page);
	fprintf(out, " 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd %c", page, tolower((unsigned char)*summary));
	write_text(out, summary + 1);
}

static void write_paragraphs(FILE *out, const char *const *paragraphs)
{
	for (const char *const *p = paragraphs; *p; p++) {
		if (p != paragraphs)
			fputs(".Pp\n", out);
		write_text(out, *p);
	}
}

static void write_exit_status(FILE *out, bool runs_program)
{
	fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n"
	      ".It 0\nDone.\n"
	      ".It 1\nFailed; standard error says why.\n"
	      ".It 2\nMisuse: an unknown option, or a value that makes no sense.\n.El\n",
	      out);
	if (runs_program)
		fputs(".Pp\nWith a command, its own exit status, or 128 and the signal's number.\n", out);
}

static void write_examples(FILE *out, const struct command_example *examples)
{
	fputs(".Sh EXAMPLES\n.Bl -tag -width Ds\n", out);
	for (const struct command_example *e = examples; e->line; e++) {
		fputs(".It Li ", out);
		write_argument(out, e->line);
		fputc('\n', out);
		write_text(out, e->meaning);
	}
	fputs(".El\n", out);
}

/* All pages but the own one, in the order of the alphabet that mdoc asks for. */
static void write_see_also(FILE *out, const struct command *own)
{
	fputs(".Sh SEE ALSO\n", out);
	if (own)
		fputs(".Xr mapwright 1 ,\n", out);
	const struct command *last = NULL;
	for (;;) {
		const struct command *next = NULL;
		for (const struct command *const *c = commands; *c; c++) {
			if (*c == own || (last && strcmp((*c)->name, last->name) <= 0))
				continue;
			if (!next || strcmp((*c)->name, next->name) < 0)
				next = *c;
		}
		if (!next)
			break;
		if (last)
			fputs(" ,\n", out);
		fprintf(out, ".Xr mapwright-%s 1", next->name);
		last = next;
	}
	fputc('\n', out);
}

void man_command(FILE *out, const struct command *command)
{
	char page[64];
	snprintf(page, sizeof page, "mapwright-%s", command->name);
	write_head(out, page, command->summary);
	fprintf(out, ".Sh SYNOPSIS\n.Nm mapwright %s\n.Op Ar options\n", command->name);
	if (*command->usage)
		write_text(out, command->usage);
	fputs(".Sh DESCRIPTION\n", out);
	write_paragraphs(out, command->description);
	write_options(out, command->options);
	write_options(out, command_common_options);
	write_exit_status(out, command->runs_program);
	if (command->examples)
		write_examples(out, command->examples);
	write_see_also(out, command);
}

static void write_commands(FILE *out)
{
	fputs(".Sh COMMANDS\n.Bl -tag -width Ds\n", out);
	for (const struct command *const *c = commands; *c; c++) {
		fprintf(out, ".It Cm %s\n%s.\nSee\n.Xr mapwright-%s 1 .\n", (*c)->name, (*c)->summary,
			(*c)->name);
	}
	fputs(".El\n", out);
}

void man_overview(FILE *out)
{
	static const char *const description[] = {
		"Answers one question for any sampled instruction address on a Linux machine: which bytes of "
		"which file was this, and what are they called?",
		"Code is known by its content, the build ID and the offset in the file, taken at the moment of "
		"the sample. A path is only a label. So programs in chroots, mount namespaces and containers, "
		"files that were unlinked or replaced while they ran, and processes long gone get the right "
		"names, and never those of a file that happens to lie at the same path. What has no name has "
		"a reason, and every sample that was lost is counted and shown.",
		NULL,
	};
	write_head(out, "mapwright", "Profile a whole Linux machine, by content rather than by path");
	fputs(".Sh SYNOPSIS\n.Nm mapwright\n.Ar command\n.Op Ar options\n.Op Ar arguments\n"
	      ".Sh DESCRIPTION\n",
	      out);
	write_paragraphs(out, description);
	write_commands(out);
	write_options(out, command_common_options);
	fputs(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
	      ".It Ev NO_COLOR\nIf set and not empty, no colours unless\n.Fl Fl color Ns = Ns Cm always\n"
	      "is given.\n"
	      ".It Ev CLICOLOR_FORCE\nIf set and not 0, colours also where the output is no terminal.\n"
	      ".It Ev MAPWRIGHT_PAGER , Ev PAGER\nThe pager for output on a terminal, the first one set.\n"
	      "Default: less.\nEmpty or cat: none.\n"
	      ".It Ev COLUMNS\nThe width of lines where it cannot be asked of a terminal.\n"
	      ".El\n"
	      ".Sh FILES\n.Bl -tag -width Ds\n"
	      ".It Pa mapwright.mwp\nThe profile, in the current directory.\n"
	      ".It Pa /var/cache/mapwright , Pa ~/.cache/mapwright\n"
	      "The store: symbols of the files seen, for root and for other users.\n"
	      ".El\n",
	      out);
	write_exit_status(out, false);
	write_examples(out, command_find("record")->examples);
	write_see_also(out, NULL);
}
