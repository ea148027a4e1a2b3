/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bash script is a few functions that know the shell, and tables that know mapwright. In a table
 * a row's answer is a list of words, or one marker: @files, @directories, @processes, @commands,
 * @programs, @nothing (a value that cannot be guessed).
 */
#include "cli/completion.h"

#include "cli/command.h"

#include <string.h>

static const char *marker(enum option_completion complete)
{
	switch (complete) {
	case COMPLETE_FILES:
		return "@files";
	case COMPLETE_DIRECTORIES:
		return "@directories";
	case COMPLETE_COMMANDS:
		return "@commands";
	case COMPLETE_PROGRAMS:
		return "@programs";
	case COMPLETE_PROCESSES:
		return "@processes";
	case COMPLETE_NOTHING:
		break;
	}
	return "@nothing";
}

/* The names of all choices, each with a space before it; false if any value is good. */
static bool write_choices(FILE *out, const struct option_spec *spec)
{
	struct option_choice c;
	size_t i = 0;
	for (; option_choice_at(spec, i, &c); i++)
		fprintf(out, " %s", c.name);
	return i > 0;
}

/* ---- bash ------------------------------------------------------------------------------------ */

static const char bash_head[] =
	"# bash completion for mapwright. Made by: mapwright help --completion bash\n";

static const char bash_functions[] =
	"\n"
	"# The last part of a list (comm,dso,sy) is completed, what stands before it is kept.\n"
	"_mapwright_words() { # WORDS CURRENT\n"
	"\tlocal before=\n"
	"\tcase $2 in *,*) before=${2%,*}, ;; esac\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${2##*,}\")\n"
	"}\n"
	"\n"
	"_mapwright_reply() { # WORDS-OR-MARKER CURRENT\n"
	"\tcase $1 in\n"
	"\t@files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
	"\t@directories) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$2\") ;;\n"
	"\t@programs) mapfile -t COMPREPLY < <(compgen -c -- \"$2\") ;;\n"
	"\t@processes) _mapwright_words \"$(ps -e -o pid= 2>/dev/null)\" \"$2\" ;;\n"
	"\t@commands) _mapwright_words \"$_mapwright_commands\" \"$2\" ;;\n"
	"\t@*) ;;\n"
	"\t*) _mapwright_words \"$1\" \"$2\" ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# Where the arguments start: the first word after the command that is no option and no value of one.\n"
	"_mapwright_first_argument() {\n"
	"\tlocal i\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t--) echo $((i + 1)); return ;;\n"
	"\t\t=) ((i++)) ;;\n"
	"\t\t-*) if [ -n \"$(_mapwright_value \"${COMP_WORDS[1]}\" \"${COMP_WORDS[i]}\")\" ] &&\n"
	"\t\t\t\t[ \"${COMP_WORDS[i + 1]}\" != = ]; then ((i++)); fi ;;\n"
	"\t\t*) break ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\techo \"$i\"\n"
	"}\n"
	"\n"
	"_mapwright() {\n"
	"\tlocal current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} value first\n"
	"\tlocal command=${COMP_WORDS[1]}\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	"\t\t_mapwright_reply @commands \"$current\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tfirst=$(_mapwright_first_argument)\n"
	"\tif [ \"$(_mapwright_arguments \"$command\")\" = @programs ] && [ \"$COMP_CWORD\" -gt \"$first\" ]; then\n"
	"\t\t# What follows is the command line of another program.\n"
	"\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t_command_offset \"$first\"\n"
	"\t\telse\n"
	"\t\t\t_mapwright_reply @files \"$current\"\n"
	"\t\tfi\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t# bash splits --sort=comm into three words.\n"
	"\tif [ \"$current\" = = ]; then\n"
	"\t\tcurrent=\n"
	"\telif [ \"$before\" = = ]; then\n"
	"\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\tvalue=$(_mapwright_value \"$command\" \"$before\")\n"
	"\tif [ -n \"$value\" ]; then\n"
	"\t\t_mapwright_reply \"$value\" \"$current\"\n"
	"\telif [ \"${current#-}\" != \"$current\" ]; then\n"
	"\t\t_mapwright_reply \"$(_mapwright_options \"$command\")\" \"$current\"\n"
	"\telse\n"
	"\t\t_mapwright_reply \"$(_mapwright_arguments \"$command\")\" \"$current\"\n"
	"\tfi\n"
	"}\n"
	"\n"
	"complete -F _mapwright mapwright\n";

static void bash_options(FILE *out, const struct option_spec *specs)
{
	for (const struct option_spec *spec = specs; !option_is_end(spec); spec++) {
		if (spec->short_name)
			fprintf(out, " -%c", spec->short_name);
		if (spec->long_name)
			fprintf(out, " --%s", spec->long_name);
		if (spec->negatable)
			fprintf(out, " --no-%s", spec->long_name);
	}
}

static void bash_values(FILE *out, const char *command, const struct option_spec *specs)
{
	for (const struct option_spec *spec = specs; !option_is_end(spec); spec++) {
		/* After an option whose value may be left out, the next word is none of its. */
		if (!spec->value || spec->value_optional)
			continue;
		const char *between = "";
		fputc('\t', out);
		if (spec->short_name)
			between = fprintf(out, "%s:-%c", command, spec->short_name) ? "|" : "";
		if (spec->long_name)
			fprintf(out, "%s%s:--%s", between, command, spec->long_name);
		fputs(") echo '", out);
		if (!write_choices(out, spec))
			fputs(marker(spec->complete), out);
		fputs("' ;;\n", out);
	}
}

void completion_bash(FILE *out)
{
	fprintf(out, "%s\n_mapwright_commands='", bash_head);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "%s%s", c == commands ? "" : " ", (*c)->name);
	fputs("'\n\n_mapwright_options() { # COMMAND\n\tcase $1 in\n", out);
	for (const struct command *const *c = commands; *c; c++) {
		fprintf(out, "\t%s) echo '", (*c)->name);
		bash_options(out, (*c)->options);
		bash_options(out, command_common_options);
		fputs("' ;;\n", out);
	}
	fputs("\tesac\n}\n\n# What the value of an option may be; nothing if it takes none.\n"
	      "_mapwright_value() { # COMMAND OPTION\n\tcase $1:$2 in\n",
	      out);
	for (const struct command *const *c = commands; *c; c++)
		bash_values(out, (*c)->name, (*c)->options);
	fputs("\tesac\n}\n\n_mapwright_arguments() { # COMMAND\n\tcase $1 in\n", out);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "\t%s) echo %s ;;\n", (*c)->name, marker((*c)->complete));
	fputs("\tesac\n}\n", out);
	fputs(bash_functions, out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Text inside '...[ ]...' of an _arguments specification: its first sentence. */
static void zsh_text(FILE *out, const char *text)
{
	for (size_t i = 0; text[i]; i++) {
		if (text[i] == '.' && (text[i + 1] == ' ' || !text[i + 1]))
			break;
		if (text[i] == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", text[i]))
			fprintf(out, "\\%c", text[i]);
		else
			fputc(text[i], out);
	}
}

/* What is said of one value holds for each of a list. */
static bool is_list(const struct option_spec *spec)
{
	return spec->type == OPTION_TEXTS || spec->type == OPTION_NUMBERS ||
	       spec->type == OPTION_TEXT;
}

static void zsh_action(FILE *out, const struct option_spec *spec)
{
	struct option_choice c;
	if (option_choice_at(spec, 0, &c)) {
		fputs(is_list(spec) ? "_sequence compadd -" : "(", out);
		write_choices(out, spec);
		fputs(is_list(spec) ? "" : ")", out);
	} else if (spec->complete == COMPLETE_FILES) {
		fputs("_files", out);
	} else if (spec->complete == COMPLETE_DIRECTORIES) {
		fputs("_files -/", out);
	} else if (spec->complete == COMPLETE_PROCESSES) {
		fputs("_sequence _pids", out);
	}
}

/* One written form of an option; `suffix` says where its value stands. */
static void zsh_form(FILE *out, const struct option_spec *spec, const char *dashes, const char *name,
		     const char *suffix)
{
	bool repeats = spec->type == OPTION_TEXTS || spec->type == OPTION_NUMBERS;
	fprintf(out, " \\\n\t\t\t'%s%s%s%s[", repeats ? "*" : "", dashes, name, spec->value ? suffix : "");
	zsh_text(out, spec->help);
	fputc(']', out);
	if (spec->value) {
		fprintf(out, "%s:%s:", spec->value_optional ? ":" : "", spec->value);
		zsh_action(out, spec);
	}
	fputc('\'', out);
}

static void zsh_options(FILE *out, const struct option_spec *specs)
{
	for (const struct option_spec *spec = specs; !option_is_end(spec); spec++) {
		const char letter[] = {spec->short_name, '\0'};
		if (spec->short_name)
			zsh_form(out, spec, "-", letter, spec->value_optional ? "-" : "+");
		if (spec->long_name)
			zsh_form(out, spec, "--", spec->long_name, spec->value_optional ? "=-" : "=");
		if (spec->negatable)
			zsh_form(out, spec, "--no-", spec->long_name, "");
	}
}

static void zsh_arguments(FILE *out, const struct command *command)
{
	switch (command->complete) {
	case COMPLETE_PROGRAMS:
		fputs(" \\\n\t\t\t'(-)1:program:_command_names -e' \\\n\t\t\t'*::argument:_normal'", out);
		break;
	case COMPLETE_COMMANDS:
		fputs(" \\\n\t\t\t'1:command:(${list%%:*})'", out);
		break;
	case COMPLETE_FILES:
		fputs(" \\\n\t\t\t'*:file:_files'", out);
		break;
	case COMPLETE_DIRECTORIES:
	case COMPLETE_PROCESSES:
	case COMPLETE_NOTHING:
		break;
	}
}

void completion_zsh(FILE *out)
{
	fputs("#compdef mapwright\n"
	      "# zsh completion for mapwright. Made by: mapwright help --completion zsh\n\n"
	      "_mapwright() {\n"
	      "\tlocal curcontext=\"$curcontext\" state state_descr line\n"
	      "\ttypeset -A opt_args\n"
	      "\tlocal -a list=(\n",
	      out);
	for (const struct command *const *c = commands; *c; c++) {
		fprintf(out, "\t\t'%s:", (*c)->name);
		zsh_text(out, (*c)->summary);
		fputs("'\n", out);
	}
	fputs("\t)\n"
	      "\t_arguments -C '1:command:->command' '*::argument:->argument' && return\n"
	      "\tcase $state in\n"
	      "\tcommand)\n\t\t_describe -t commands command list\n\t\t;;\n"
	      "\targument)\n\t\tcase $line[1] in\n",
	      out);
	for (const struct command *const *c = commands; *c; c++) {
		fprintf(out, "\t\t%s)\n\t\t\t_arguments -s -S", (*c)->name);
		zsh_options(out, (*c)->options);
		zsh_options(out, command_common_options);
		zsh_arguments(out, *c);
		fputs("\n\t\t\t;;\n", out);
	}
	fputs("\t\tesac\n\t\t;;\n\tesac\n}\n\n"
	      "# Sourced, it registers itself; found in fpath, it is the function's body.\n"
	      "if [[ $funcstack[1] = _mapwright ]]; then\n\t_mapwright \"$@\"\n"
	      "else\n\tcompdef _mapwright mapwright\nfi\n",
	      out);
}
