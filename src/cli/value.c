/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers are read by hand rather than with strtod and strtoull: those accept signs, spaces, hex and
 * infinity, follow the locale, and wrap "-1" around to a very long recording.
 */
#include "cli/value.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits and perhaps decimal places, as whole + fraction / scale; places after the ninth are cut. */
static int read_decimal(const char **text, uint64_t *ret_whole, uint64_t *ret_fraction,
			uint64_t *ret_scale)
{
	const char *p = *text;
	uint64_t whole = 0, fraction = 0, scale = 1;
	if (!digit(*p))
		return -EINVAL;
	for (; digit(*p); p++) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			return -ERANGE;
	}
	if (*p == '.') {
		if (!digit(*++p))
			return -EINVAL;
		for (; digit(*p); p++) {
			if (scale >= UINT64_C(1000000000))
				continue;
			fraction = fraction * 10 + (uint64_t)(*p - '0');
			scale *= 10;
		}
	}
	*text = p;
	*ret_whole = whole;
	*ret_fraction = fraction;
	*ret_scale = scale;
	return 0;
}

/* What the unit multiplies by; 0 if there is no such unit. */
static uint64_t find_factor(const char *name, const struct unit *units, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(name, units[i].name) == 0)
			return units[i].factor;
	}
	return 0;
}

static int read_with_unit(const char *text, const struct unit *units, size_t n, uint64_t *ret)
{
	uint64_t whole, fraction, scale;
	int r = read_decimal(&text, &whole, &fraction, &scale);
	if (r < 0)
		return r;
	uint64_t factor = find_factor(text, units, n);
	if (!factor)
		return -EINVAL;
	/* A fraction of something that cannot be divided ("1.5" samples) is no value. */
	if (scale > 1 && factor == 1)
		return -EINVAL;
	unsigned __int128 value =
		(unsigned __int128)whole * factor + (unsigned __int128)fraction * factor / scale;
	if (value > UINT64_MAX)
		return -ERANGE;
	*ret = (uint64_t)value;
	return 0;
}

int value_read_number(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{"", 1},
		{"k", 1000},
		{"K", 1000},
		{"M", 1000000},
		{"G", 1000000000},
	};
	return read_with_unit(text, units, ARRAY_SIZE(units), ret);
}

int value_read_bytes(const char *text, uint64_t unit, uint64_t *ret)
{
	const struct unit units[] = {
		{"", unit ? unit : 1},
		{"B", 1},
		{"k", 1 << 10},
		{"K", 1 << 10},
		{"M", 1 << 20},
		{"G", 1 << 30},
	};
	return read_with_unit(text, units, ARRAY_SIZE(units), ret);
}

int value_read_time(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{"", UINT64_C(1000000000)},
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", UINT64_C(1000000000)},
		{"m", UINT64_C(60000000000)},
		{"h", UINT64_C(3600000000000)},
	};
	return read_with_unit(text, units, ARRAY_SIZE(units), ret);
}

int value_read_percent(const char *text, double *ret)
{
	uint64_t whole, fraction, scale;
	int r = read_decimal(&text, &whole, &fraction, &scale);
	if (r < 0)
		return r;
	if (*text && strcmp(text, "%") != 0)
		return -EINVAL;
	double value = (double)whole + (double)fraction / (double)scale;
	if (value > 100)
		return -ERANGE;
	*ret = value;
	return 0;
}
