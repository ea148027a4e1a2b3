/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/option.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const struct option_set *sets;
	size_t n_sets;
	struct option_problem *problem;
	int argc;
	char **argv;
	int at;
};

/* An option as it was found on the command line. */
struct match {
	const struct option_spec *spec;
	void *values;
	bool negated;
	char name[80]; /* as people may write it, for messages */
};

#define for_each_spec(set, spec, sets, n_sets)                                                     \
	for (const struct option_set *set = (sets); set < (sets) + (n_sets); set++)                \
		for (const struct option_spec *spec = set->specs; !option_is_end(spec); spec++)

bool option_choice_at(const struct option_spec *spec, size_t i, struct option_choice *ret)
{
	if (spec->choice_at)
		return spec->choice_at(i, ret);
	if (!spec->choices || !spec->choices[i].name)
		return false;
	*ret = spec->choices[i];
	return true;
}

static int refuse(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(struct parser *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(p->problem->text, sizeof p->problem->text, format, args);
	va_end(args);
	return -EINVAL;
}

/* ---- the nearest name ------------------------------------------------------------------------ */

#define NAME_MAX_COMPARED 40

/* Edit distance with swapped neighbours as one edit ("frqe" for "freq"). */
static unsigned distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	if (la > NAME_MAX_COMPARED || lb > NAME_MAX_COMPARED)
		return NAME_MAX_COMPARED;
	unsigned d[NAME_MAX_COMPARED + 1][NAME_MAX_COMPARED + 1];
	for (size_t i = 0; i <= la; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			unsigned change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			unsigned best = MIN(change, MIN(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, d[i - 2][j - 2] + 1);
			d[i][j] = best;
		}
	}
	return d[la][lb];
}

const char *option_nearest(const char *typed, const char *const *names, size_t n)
{
	const char *nearest = NULL;
	unsigned least = UINT32_MAX;
	for (size_t i = 0; i < n; i++) {
		/* As near as a typing error: "dur" for "duration", "frequency" for "freq". */
		size_t common = MIN(strlen(typed), strlen(names[i]));
		bool beginning = common >= 3 && strncmp(names[i], typed, common) == 0;
		unsigned d = beginning ? 1 : distance(typed, names[i]);
		if (d < least) {
			least = d;
			nearest = names[i];
		}
	}
	return least <= MAX(strlen(typed) / 3, 1) ? nearest : NULL;
}

static void suggest_option(struct parser *p, const char *typed)
{
	VEC(const char *) names = {};
	for_each_spec(set, spec, p->sets, p->n_sets) {
		if (spec->long_name && vec_push(&names, spec->long_name) < 0)
			break;
	}
	bool negated = strncmp(typed, "no-", 3) == 0;
	const char *nearest = option_nearest(typed, names.items, names.n);
	if (nearest)
		snprintf(p->problem->hint, sizeof p->problem->hint, "did you mean --%s?", nearest);
	else if (negated && (nearest = option_nearest(typed + 3, names.items, names.n)))
		snprintf(p->problem->hint, sizeof p->problem->hint, "did you mean --no-%s?", nearest);
	vec_deinit(&names);
}

static void suggest_choice(struct parser *p, const struct option_spec *spec, const char *typed)
{
	VEC(const char *) names = {};
	char *hint = p->problem->hint;
	size_t size = sizeof p->problem->hint;
	size_t used = (size_t)snprintf(hint, size, "possible are");
	struct option_choice c;
	for (size_t i = 0; option_choice_at(spec, i, &c); i++) {
		if (used < size)
			used += (size_t)snprintf(hint + used, size - used, "%s %s", i ? "," : "",
						 c.name);
		if (vec_push(&names, c.name) < 0)
			break;
	}
	const char *nearest = option_nearest(typed, names.items, names.n);
	if (nearest)
		snprintf(hint, size, "did you mean %s?", nearest);
	vec_deinit(&names);
}

/* ---- values ---------------------------------------------------------------------------------- */

static int check_range(struct parser *p, const struct match *m, const char *text, uint64_t value)
{
	const struct option_spec *spec = m->spec;
	if (value >= spec->min && (!spec->max || value <= spec->max))
		return 0;
	if (spec->type == OPTION_TIME)
		return refuse(p, "%s: \"%s\" is too %s", m->name, text,
			      value < spec->min ? "short" : "long");
	if (!spec->max)
		return refuse(p, "%s: %s is less than %llu", m->name, text,
			      (unsigned long long)spec->min);
	return refuse(p, "%s: %s is not from %llu to %llu", m->name, text,
		      (unsigned long long)spec->min, (unsigned long long)spec->max);
}

static int refuse_value(struct parser *p, const struct match *m, const char *text, int code)
{
	static const char *const kinds[] = {
		[OPTION_NUMBER] = "a number",
		[OPTION_NUMBERS] = "a number",
		[OPTION_BYTES] = "a size such as 8M",
		[OPTION_TIME] = "a time such as 10s or 500ms",
		[OPTION_PERCENT] = "a percentage from 0 to 100",
	};
	if (code == -ERANGE && m->spec->type != OPTION_PERCENT)
		return refuse(p, "%s: %s is too large", m->name, text);
	return refuse(p, "%s: \"%s\" is not %s", m->name, text, kinds[m->spec->type]);
}

static int store_scalar(struct parser *p, const struct match *m, const char *text, uint64_t *ret)
{
	const struct option_spec *spec = m->spec;
	uint64_t value = 0;
	int r = spec->type == OPTION_NUMBER  ? value_read_number(text, &value)
		: spec->type == OPTION_BYTES ? value_read_bytes(text, spec->unit, &value)
					     : value_read_time(text, &value);
	if (r < 0)
		return refuse_value(p, m, text, r);
	r = check_range(p, m, text, value);
	if (r == 0)
		*ret = value;
	return r;
}

static int store_choice(struct parser *p, const struct match *m, const char *text, int *ret)
{
	struct option_choice c;
	for (size_t i = 0; option_choice_at(m->spec, i, &c); i++) {
		if (strcmp(c.name, text) == 0) {
			*ret = (int)i;
			return 0;
		}
	}
	suggest_choice(p, m->spec, text);
	return refuse(p, "%s: there is no \"%s\"", m->name, text);
}

static int store_number(struct parser *p, const struct match *m, const char *item, void *list)
{
	struct option_numbers *numbers = list;
	uint64_t value;
	int r = value_read_number(item, &value);
	if (r < 0)
		return refuse_value(p, m, item, r);
	if (value > UINT32_MAX)
		return refuse_value(p, m, item, -ERANGE);
	r = check_range(p, m, item, value);
	return r < 0 ? r : vec_push(numbers, (uint32_t)value);
}

static int store_text(struct parser *p, const struct match *m, const char *item, void *list)
{
	struct option_texts *texts = list;
	_cleanup_free_ char *copy = strdup(item);
	if (!copy || vec_push(texts, copy) < 0)
		return -ENOMEM;
	take_ptr(copy);
	return 0;
}

/* Where the item that starts here ends; commas inside / / belong to it (cpu/event=1,umask=2/). */
static char *item_end(char *item)
{
	bool inside = false;
	for (; *item && (*item != ',' || inside); item++)
		inside ^= *item == '/';
	return item;
}

typedef int (*store_item_fn)(struct parser *p, const struct match *m, const char *item, void *list);

static int store_list(struct parser *p, const struct match *m, const char *text,
		      store_item_fn store, void *list)
{
	_cleanup_free_ char *copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	for (char *item = copy;;) {
		char *end = item_end(item);
		bool last = !*end;
		*end = '\0';
		if (!*item)
			return refuse(p, "%s: \"%s\" has an empty item", m->name, text);
		int r = store(p, m, item, list);
		if (r < 0 || last)
			return r;
		item = end + 1;
	}
}

static int store(struct parser *p, const struct match *m, const char *text)
{
	void *field = (char *)m->values + m->spec->offset;
	switch (m->spec->type) {
	case OPTION_FLAG:
		*(bool *)field = !m->negated;
		return 0;
	case OPTION_NUMBER:
	case OPTION_BYTES:
	case OPTION_TIME:
		return store_scalar(p, m, text, field);
	case OPTION_PERCENT: {
		int r = value_read_percent(text, field);
		return r < 0 ? refuse_value(p, m, text, r) : 0;
	}
	case OPTION_TEXT:
		*(const char **)field = text;
		return 0;
	case OPTION_CHOICE:
		return store_choice(p, m, text, field);
	case OPTION_NUMBERS:
		return store_list(p, m, text, store_number, field);
	case OPTION_TEXTS:
		return store_list(p, m, text, store_text, field);
	}
	return -EINVAL;
}

/* ---- options --------------------------------------------------------------------------------- */

/*
 * Stores what follows an option. `attached` is the value written together with it, or NULL: then it
 * is the next argument, except where a value is optional.
 */
static int take_value(struct parser *p, const struct match *m, const char *attached)
{
	if (!attached && m->spec->value_optional)
		attached = m->spec->absent;
	if (!attached) {
		if (p->at >= p->argc)
			return refuse(p, "%s needs a value: %s", m->name, m->spec->value);
		attached = p->argv[p->at++];
	}
	return store(p, m, attached);
}

/* 0: no such option; 1: found; 2: several begin so. */
static int match_long(const struct parser *p, const char *name, struct match *ret)
{
	int n = 0;
	for_each_spec(set, spec, p->sets, p->n_sets) {
		if (!spec->long_name)
			continue;
		for (int negated = 0; negated <= spec->negatable; negated++) {
			char full[64];
			snprintf(full, sizeof full, "%s%s", negated ? "no-" : "", spec->long_name);
			if (strncmp(full, name, strlen(name)) != 0)
				continue;
			bool whole = strlen(full) == strlen(name);
			if (n++ == 0 || whole) {
				*ret = (struct match){spec, set->values, negated, ""};
				snprintf(ret->name, sizeof ret->name, "--%s", full);
			}
			if (whole)
				return 1;
		}
	}
	return MIN(n, 2);
}

static int parse_long(struct parser *p, char *text)
{
	char name[64];
	const char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value - text) : strlen(text);
	snprintf(name, sizeof name, "%.*s", (int)MIN(length, sizeof name - 1), text);
	value = value ? value + 1 : NULL;

	struct match m;
	int found = name[0] ? match_long(p, name, &m) : 0;
	if (found == 1 && length >= sizeof name)
		found = 0;
	if (found == 0) {
		suggest_option(p, name);
		return refuse(p, "unknown option --%s", name);
	}
	if (found == 2)
		return refuse(p, "--%s could be more than one option", name);
	if (m.spec->type != OPTION_FLAG)
		return take_value(p, &m, value);
	if (value)
		return refuse(p, "%s takes no value", m.name);
	return store(p, &m, NULL);
}

static bool match_short(const struct parser *p, char name, struct match *ret)
{
	for_each_spec(set, spec, p->sets, p->n_sets) {
		if (spec->short_name != name)
			continue;
		*ret = (struct match){spec, set->values, false, {'-', name}};
		return true;
	}
	return false;
}

/* "-agF99": flags, and at last perhaps one option with its value. */
static int parse_cluster(struct parser *p, char *letters)
{
	for (char *at = letters; *at; at++) {
		struct match m;
		if (!match_short(p, *at, &m)) {
			/* "-freq" is a long name with one dash too few. */
			if (at == letters && at[1])
				suggest_option(p, letters);
			return refuse(p, "unknown option -%c", *at);
		}
		if (m.spec->type != OPTION_FLAG)
			return take_value(p, &m, at[1] ? at + 1 : NULL);
		int r = store(p, &m, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

int option_parse(const struct option_set *sets, size_t n_sets, bool stop_early, int argc, char **argv,
		 struct option_problem *ret_problem)
{
	struct parser p = {sets, n_sets, ret_problem, argc, argv, 0};
	int left = 0;
	*ret_problem = (struct option_problem){};
	while (p.at < argc) {
		char *word = argv[p.at++];
		int r = 0;
		if (strcmp(word, "--") == 0)
			break;
		if (strncmp(word, "--", 2) == 0) {
			r = parse_long(&p, word + 2);
		} else if (word[0] == '-' && word[1]) {
			r = parse_cluster(&p, word + 1);
		} else if (stop_early) {
			p.at--;
			break;
		} else {
			argv[left++] = word;
		}
		if (r < 0)
			return r;
	}
	while (p.at < argc)
		argv[left++] = argv[p.at++];
	if (left < argc)
		argv[left] = NULL;
	return left;
}

static void texts_deinit(struct option_texts *texts)
{
	vec_foreach(item, texts)
		free(*item);
	vec_deinit(texts);
}

void option_set_deinit(const struct option_set *set)
{
	for (const struct option_spec *spec = set->specs; !option_is_end(spec); spec++) {
		void *field = (char *)set->values + spec->offset;
		if (spec->type == OPTION_NUMBERS)
			vec_deinit((struct option_numbers *)field);
		else if (spec->type == OPTION_TEXTS)
			texts_deinit(field);
	}
}
