/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options of a command line, as tables.
 *
 * One table says everything about an option: how it is written, where its value goes, what people
 * read about it, what a shell may offer for it. The parser, --help, the man pages and the completions
 * all read the same table, so none can fall behind.
 *
 * Forms accepted, as perf's users know them: -F 99, -F99, --freq 99, --freq=99, flags in a cluster
 * (-ag, -agF 99), --no-NAME for negatable flags, unique beginnings of long names (--percent), and --
 * as the end of all options. A repeated option: the last one wins, lists grow.
 *
 * Values are written into a struct of the caller at the offset that the table gives.
 */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
	OPTION_FLAG,    /* bool */
	OPTION_NUMBER,  /* uint64_t from min to max; k, M, G are powers of 1000 */
	OPTION_BYTES,   /* uint64_t from min to max; B, K, M, G are powers of 1024, bare: times `unit` */
	OPTION_TIME,    /* uint64_t, ns from min to max; ns, us, ms, s, m, h, bare: seconds */
	OPTION_PERCENT, /* double from 0 to 100 */
	OPTION_TEXT,    /* const char *, points into argv */
	OPTION_CHOICE,  /* int: the place in `choices` */
	OPTION_NUMBERS, /* struct option_numbers: 1,2,3, may be repeated */
	OPTION_TEXTS,   /* struct option_texts: a,b, may be repeated; commas inside / / do not split */
};

/* What a shell offers for a value or an argument. */
enum option_completion {
	COMPLETE_NOTHING,
	COMPLETE_FILES,
	COMPLETE_DIRECTORIES,
	COMPLETE_COMMANDS,  /* of mapwright */
	COMPLETE_PROGRAMS,  /* and then their own arguments */
	COMPLETE_PROCESSES,
};

struct option_choice {
	const char *name;
	const char *help; /* may be NULL */
};

struct option_numbers {
	uint32_t *items; /* owned */
	size_t n;
	size_t capacity;
};

struct option_texts {
	char **items; /* owned, each too */
	size_t n;
	size_t capacity;
};

struct option_spec {
	enum option_type type;
	char short_name;       /* 0: none */
	const char *long_name; /* NULL: none; a table ends where both names are missing */
	const char *value;     /* how the value is called ("FILE"); NULL for flags */
	const char *help;
	const char *group;     /* heading it stands under; NULL: the one before's */
	size_t offset;         /* of the value in the caller's struct */
	uint64_t min;
	uint64_t max;          /* 0: no limit (OPTION_NUMBERS: 32 bits) */
	uint64_t unit;         /* OPTION_BYTES: what a bare number counts; 0: bytes */
	/*
	 * OPTION_CHOICE: what is allowed; elsewhere: what completion offers. Either a table that ends
	 * in a NULL name, or, where the choices are known to others, a function that fills number i
	 * and returns false after the last.
	 */
	const struct option_choice *choices;
	bool (*choice_at)(size_t i, struct option_choice *ret);
	enum option_completion complete;
	bool negatable;        /* OPTION_FLAG: --no-NAME exists too */
	bool value_optional;   /* only -gVALUE and --NAME=VALUE carry one; without: `absent` */
	const char *absent;    /* the value that is meant when none is written */
};

static inline bool option_is_end(const struct option_spec *spec)
{
	return !spec->short_name && !spec->long_name;
}

/* Choice number i; false after the last, or if any value is good. */
bool option_choice_at(const struct option_spec *spec, size_t i, struct option_choice *ret);

/* A table and the struct that its offsets point into. */
struct option_set {
	const struct option_spec *specs;
	void *values;
};

/* Why a command line was refused, for people. */
struct option_problem {
	char text[256];
	char hint[256]; /* empty: none */
};

/*
 * Reads options from argv[0..argc) into the sets. `stop_early`: the first argument that is no option
 * ends the options, as a command to run does; otherwise options and arguments may be mixed. What is
 * left is moved to the front of argv, and ends in NULL if argv did. Returns how many are left, -EINVAL
 * with *ret_problem filled, or -ENOMEM.
 */
int option_parse(const struct option_set *sets, size_t n_sets, bool stop_early, int argc, char **argv,
		 struct option_problem *ret_problem);

/* Releases the lists that a set's values own. */
void option_set_deinit(const struct option_set *set);

/* Of the names, the one that `typed` was probably meant to be, or NULL. */
const char *option_nearest(const char *typed, const char *const *names, size_t n);

#endif
