/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "cli/command.h"
#include "config.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

struct arguments {
	bool json;
};

/* What a build can leave out; each is a line of meson_options.txt. */
static const struct {
	const char *name;
	bool present;
	const char *purpose;
} features[] = {
	{"bpf", HAVE_BPF, "recording"},
	{"seccomp", HAVE_SECCOMP, "system call filters around the parsers of foreign files"},
};

static const struct option_spec options[] = {
	{OPTION_FLAG, 0, "json", .offset = offsetof(struct arguments, json), .group = "Options",
	 .help = "Write one JSON object instead of text."},
	{},
};

static const char *const description[] = {
	"Shows the version, and which optional features were built in.",
	NULL,
};

static void write_text(void)
{
	printf("mapwright %s\n", mw_version());
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		printf("%-7s %-10s %s\n", features[i].present ? "with" : "without",
		       features[i].name, features[i].purpose);
}

static int write_json(void)
{
	json_t *object = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		json_object_set_new(object, features[i].name, json_boolean(features[i].present));
	json_t *whole = json_pack("{s:s, s:s, s:o}", "version", mw_version(), "build",
				  MAPWRIGHT_BUILD, "features", object);
	int r = json_dumpf(whole, stdout, JSON_INDENT(2));
	json_decref(whole);
	putchar('\n');
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	if (a->json)
		return write_json();
	write_text();
	return EXIT_DONE;
}

const struct command cmd_version = {
	.name = "version",
	.summary = "Show the version and what was built in",
	.usage = "",
	.description = description,
	.options = options,
	.options_size = sizeof(struct arguments),
	.run = run,
};
