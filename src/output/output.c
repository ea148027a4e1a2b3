/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output/output.h"

#include "output/formats.h"

#include <string.h>

static const struct output_format *const formats[] = {
	&output_folded,
	&output_json,
};

const struct output_format *output_format_at(size_t i)
{
	return i < ARRAY_SIZE(formats) ? formats[i] : NULL;
}

const struct output_format *output_format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	}
	return NULL;
}
