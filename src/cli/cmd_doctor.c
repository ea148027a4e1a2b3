/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/doctor.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/terminal.h"
#include "cli/wrap.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

struct arguments {
	bool json;
};

static const struct option_spec options[] = {
	{OPTION_FLAG, 0, "json", .offset = offsetof(struct arguments, json), .group = "Options",
	 .help = "Write one JSON object instead of text."},
	{},
};

static const char *const description[] = {
	"Tries each feature of the kernel and of this build that recording uses, and lists what it is for "
	"and, where it is missing, what to do. Nothing is guessed from version numbers.",
	"Ends with status 1 if something is missing without which nothing can be recorded.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright doctor", "what this machine can do, run as root as recording would be"},
	{},
};

static const char *const states[] = {
	[DOCTOR_PRESENT] = "ok",
	[DOCTOR_DEGRADED] = "degraded",
	[DOCTOR_MISSING] = "missing",
};

/* Where purposes start: right of a state and the longest name. */
#define COLUMN 36

struct listing {
	json_t *json; /* NULL: text */
	int n_missing;
	int n_degraded;
};

static void count(struct listing *l, const struct doctor_finding *f)
{
	l->n_missing += f->state == DOCTOR_MISSING;
	l->n_degraded += f->state == DOCTOR_DEGRADED;
}

static void found_as_text(void *data, const struct doctor_finding *f)
{
	count(data, f);
	int width = MIN(terminal_width(STDOUT_FILENO, 100), 110);
	int at = printf("%-9s %-25s", states[f->state], f->name);
	wrap_text(stdout, f->purpose, at, COLUMN, width);
	if (f->detail)
		wrap_text(stdout, f->detail, 0, COLUMN, width);
	if (f->remedy)
		wrap_text(stdout, f->remedy, printf("%*shint:", COLUMN, ""), COLUMN + 6, width);
}

static void found_as_json(void *data, const struct doctor_finding *f)
{
	struct listing *l = data;
	count(l, f);
	/* An object that could not be made fails the whole listing when it is written. */
	json_array_append_new(l->json, json_pack("{s:s, s:s, s:s, s:s*, s:s*}", "name", f->name,
						 "state", states[f->state], "purpose", f->purpose,
						 "detail", f->detail, "hint", f->remedy));
}

static void summarize(const struct listing *l)
{
	if (l->n_missing)
		printf("\nThis machine cannot record yet: %d missing.\n", l->n_missing);
	else if (l->n_degraded)
		printf("\nThis machine can record, with less: %d degraded.\n", l->n_degraded);
	else
		printf("\nThis machine can record; nothing is missing.\n");
}

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	struct listing l = {.json = a->json ? json_array() : NULL};
	struct mw_error e = {};
	int r = doctor_examine(&in->log, a->json ? found_as_json : found_as_text, &l, &e);
	if (r < 0) {
		json_decref(l.json);
		message_failure(&e, NULL);
		return EXIT_FAILED;
	}
	if (a->json) {
		json_t *whole = json_pack("{s:b, s:o}", "can_record", !l.n_missing, "features", l.json);
		r = json_dumpf(whole, stdout, JSON_INDENT(2));
		json_decref(whole);
		putchar('\n');
	} else {
		summarize(&l);
	}
	return r < 0 || l.n_missing ? EXIT_FAILED : EXIT_DONE;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "Show what this machine offers for recording, and what to do about the rest",
	.usage = "",
	.description = description,
	.options = options,
	.examples = examples,
	.options_size = sizeof(struct arguments),
	.run = run,
};
