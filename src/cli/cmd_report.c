/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/error.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "cli/profile_view.h"
#include "cli/terminal.h"
#include "output/report.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

struct arguments {
	const char *input;
	const char *sort;
	bool call_graph;
	bool children;
	bool inlines;
	const char *store;
	bool stdio; /* what perf users type; there is no other form */
	double percent_limit;
	int colour; /* enum colour_when */
};

static const struct option_choice sort_keys[] = {
	{"comm", "name of the thread"},
	{"pid", "process"},
	{"tid", "thread"},
	{"dso", "file the code is from"},
	{"sym", "function"},
	{"srcline", "source file and line"},
	{"srcfile", "source file"},
	{"cgroup", "control group"},
	{"cpu", "CPU"},
	{"container", "container or unit, as RUNTIME:NAME"},
	{"image", "image of the container"},
	{"pod", "pod of the container, as NAMESPACE/NAME"},
	{},
};

#define AT(field) .offset = offsetof(struct arguments, field)

static const struct option_spec options[] = {
	{OPTION_TEXT, 'i', "input", "FILE", AT(input), .complete = COMPLETE_FILES, .group = "Input",
	 .help = "The profile; the same as naming it without -i. - is standard input. Default: "
		 "mapwright.mwp."},

	{OPTION_TEXT, 's', "sort", "KEYS", AT(sort), .choices = sort_keys, .group = "What to show",
	 .help = "One row for each combination of these keys, in this order: comm, pid, tid, dso, sym, "
		 "srcline, srcfile, cgroup, cpu, container, image, pod. Default: comm,dso,sym."},
	{OPTION_FLAG, 'g', "call-graph", AT(call_graph), .negatable = true,
	 .help = "Show below each row who called it, and how often."},
	{OPTION_FLAG, 0, "children", AT(children), .negatable = true,
	 .help = "With -g: count for each function what the functions that it called took too, and sort "
		 "by it. That is the default."},
	{OPTION_FLAG, 0, "inline", AT(inlines), .negatable = true,
	 .help = "With -g: show calls that were inlined, where debug information tells them. That is the default."},
	{OPTION_PERCENT, 0, "percent-limit", "PERCENT", AT(percent_limit),
	 .help = "Leave out rows below this share. Default: 0."},

	{OPTION_TEXT, 0, "store", "DIR", AT(store), .complete = COMPLETE_DIRECTORIES,
	 .help = "Where source lines are looked up that the profile does not have. Default: the store of mapwright "
		 "record."},
	{OPTION_FLAG, 0, "stdio", AT(stdio), .group = "How to show it",
	 .help = "Write text. This is what report does anyway."},
	{OPTION_CHOICE, 0, "color", "WHEN", AT(colour), .choices = colour_choices,
	 .help = "Use colours always, never, or (auto) on a terminal unless NO_COLOR is set."},
	{},
};

static const struct arguments defaults = {.children = true, .inlines = true, .colour = COLOUR_AUTO};

static const char *const description[] = {
	"Shows who used the CPU, in which file, in which function. Above the table: the machine, what was "
	"counted, how many samples there are, what was lost and why, and what the recorder itself cost. "
	"Below it: what has no name, by reason, and what would help.",
	"The profile holds the names; it gives the same report on any machine. On a terminal the report "
	"goes through a pager.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright report", "the profile mapwright.mwp in this directory"},
	{"mapwright report -g --no-children build.mwp", "with callers, by what each function took itself"},
	{"mapwright report --sort comm,pid --percent-limit 1", "which processes took one percent or more"},
	{"mapwright report --sort container,image", "which containers took how much"},
	{"ssh host cat run.mwp | mapwright report -", "a profile from elsewhere"},
	{},
};

static int write_report(const struct profile *profile, const void *context, struct mw_error *e)
{
	int r = report_write(profile, context, stdout);
	if (r < 0 && !e->msg[0])
		error_errno(e, r, "standard output");
	return r;
}

static int fill(const struct arguments *a, struct report_options *ret, struct mw_error *e)
{
	*ret = (struct report_options){
		.call_graph = a->call_graph,
		.no_children = !a->children,
		.percent_limit = a->percent_limit,
		.colour = colour_wanted(a->colour, isatty(STDOUT_FILENO)),
		.width = isatty(STDOUT_FILENO) ? (unsigned)terminal_width(STDOUT_FILENO, 0) : 0,
	};
	return a->sort ? report_parse_sort(a->sort, ret, e) : 0;
}

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	if (a->input && in->argc)
		return command_misuse(in->command, "two profiles: %s and %s", a->input, in->argv[0]);
	const char *file = in->argc ? in->argv[0] : a->input ? a->input : PROFILE_DEFAULT_FILE;
	struct report_options report;
	struct mw_error e = {};
	if (fill(a, &report, &e) < 0)
		return command_misuse(in->command, "--sort: %s", e.msg);

	struct pager pager = pager_start();
	bool left_early_is_fine = pager.pid;
	bool needs_lines = report_wants_lines(&report);
	const struct profile_view_options how = {
		.lines = needs_lines || (a->call_graph && a->inlines),
		.inlines = a->call_graph && a->inlines,
		.store = a->store,
	};
	int r = profile_view_with(file, &how, write_report, &report, &e);
	pager_finish(&pager);
	return profile_view_status(r == -EPIPE && left_early_is_fine ? 0 : r, &e);
}

const struct command cmd_report = {
	.name = "report",
	.summary = "Show a profile: who used the CPU, in which file, in which function",
	.usage = "[FILE]",
	.description = description,
	.options = options,
	.examples = examples,
	.defaults = &defaults,
	.options_size = sizeof(struct arguments),
	.max_arguments = 1,
	.complete = COMPLETE_FILES,
	.run = run,
};
