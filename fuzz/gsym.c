/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The GSYM reader over any bytes. */
#include "symbols/gsym.h"

#include "base/cleanup.h"
#include "fuzz.h"

#include <string.h>

static void check(const struct gsym *gsym, const struct gsym_entry *entry)
{
	const char *end = (const char *)gsym->data + gsym->size;
	must(entry->name >= (const char *)gsym->data && entry->name < end);
	must(entry->name + strlen(entry->name) < end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsym gsym;
	struct gsym_entry entry;
	if (gsym_init(&gsym, data, size, NULL) < 0)
		return 0;
	for (uint32_t i = 0; i < gsym.n; i++) {
		if (!gsym_get(&gsym, i, &entry))
			continue;
		check(&gsym, &entry);
		const uint64_t near[] = {entry.start - 1, entry.start, entry.end - 1, entry.end};
		for (size_t j = 0; j < ARRAY_SIZE(near); j++) {
			struct gsym_entry found;
			if (!gsym_find(&gsym, near[j], &found))
				continue;
			check(&gsym, &found);
			must(found.start <= near[j] && near[j] < found.end);
		}
	}
	return 0;
}
