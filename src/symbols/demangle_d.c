/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/demangle_d.h"

#include "base/cleanup.h"

#include <stdint.h>
#include <string.h>

#define LENGTH_MAX 2048 /* its depth grows with the length */
#define WORK_MAX   (UINT64_C(1) << 18)

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool demangle_is_d(const char *name)
{
	return strncmp(name, "_D", 2) == 0 &&
	       ((is_digit(name[2]) && name[2] != '0') || strcmp(name, "_Dmain") == 0);
}

static size_t count_digits(const char *p)
{
	size_t n = 0;
	while (is_digit(p[n]))
		n++;
	return n;
}

/* Ways to cut the numbers behind S, which begin an argument: a factor for each one. */
static uint64_t cuts_of(const char *name)
{
	uint64_t ways = 1;
	for (const char *p = strchr(name, 'S'); p && ways <= WORK_MAX; p = strchr(p + 1, 'S')) {
		size_t digits = count_digits(p + 1);
		ways *= digits > 1 ? digits : 1;
	}
	return ways;
}

/* The text of an identifier, which is not looked into; 0 for what only looks like one. */
static size_t skip_identifier(const char *p, size_t left)
{
	size_t digits = count_digits(p), n = 0;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (size_t)(p[i] - '0') > left ? left : n * 10 + (size_t)(p[i] - '0');
	const char *text = p + digits;
	if (digits + n > left || strncmp(text, "__T", 3) == 0 || strncmp(text, "__U", 3) == 0)
		return digits;
	return digits + n;
}

/* Function types: each may be read twice. Where numbers can be cut, any letter may begin one. */
static unsigned count_functions(const char *name, size_t length, bool is_ambiguous)
{
	unsigned n = 0;
	for (size_t i = 2; i < length;) {
		if (!is_ambiguous && is_digit(name[i])) {
			i += skip_identifier(name + i, length - i);
			continue;
		}
		n += strchr("FUWVRYM", name[i]) != NULL;
		i++;
	}
	return n;
}

/*
 * Characters that are read with all back references followed. What one refers to ends before
 * itself, since it may not be in what it refers to. total[i] is the sum up to i.
 */
static uint64_t unfolded(const char *name, size_t length)
{
	uint64_t total[LENGTH_MAX + 1];
	total[0] = 0;
	for (size_t i = 0; i < length; i++) {
		uint64_t work = 1;
		if (name[i] == 'Q') {
			size_t back = 0, at = i + 1;
			while (at < length && name[at] >= 'A' && name[at] <= 'Z')
				back = MIN(back * 26 + (size_t)(name[at++] - 'A'), length);
			if (at < length && name[at] >= 'a' && name[at] <= 'z')
				back = back * 26 + (size_t)(name[at] - 'a');
			if (back && back <= i && !is_digit(name[i - back]))
				work += total[i] - total[i - back];
		}
		total[i + 1] = MIN(total[i] + work, WORK_MAX + 1);
	}
	return total[length];
}

bool demangle_d_is_cheap(const char *name, size_t length)
{
	if (length > LENGTH_MAX)
		return false;
	uint64_t cuts = cuts_of(name);
	unsigned functions = count_functions(name, length, cuts > 1);
	uint64_t work = unfolded(name, length);
	return functions <= 16 && cuts <= WORK_MAX && work <= WORK_MAX &&
	       (work << functions) <= WORK_MAX && cuts <= WORK_MAX / (work << functions);
}
