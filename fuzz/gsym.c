/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The GSYM reader over any bytes. */
#include "symbols/gsym_decode.h"

#include "base/cleanup.h"
#include "fuzz.h"

#include <string.h>

static void check(const struct gsym *gsym, const struct gsym_entry *entry)
{
	const char *end = (const char *)gsym->data + gsym->size;
	must(entry->name >= (const char *)gsym->data && entry->name < end);
	must(entry->name + strlen(entry->name) < end);
}

/* What is decoded and what is searched agree, and lie in the bytes. */
static void check_places(const struct gsym *gsym, const struct gsym_entry *entry,
			 struct gsym_decoded *decoded, uint64_t address)
{
	struct gsym_row row = {}, searched;
	struct gsym_inlining calls[8];
	const char *directory, *name;
	if (gsym_decoded_row(decoded, address, &row))
		must(row.address <= address);
	gsym_search(gsym, entry, address, &searched, calls, ARRAY_SIZE(calls));
	must(searched.file == row.file && searched.line == row.line);
	if (gsym_file(gsym, row.file, &directory, &name))
		must(*directory || *name);
	gsym_discriminator(gsym, row.file);
	uint32_t n = 0;
	for (uint32_t call = gsym_decoded_call(decoded, address); call != GSYM_NO_CALL; n++) {
		must(call + 1 < decoded->calls.n && n <= GSYM_DEPTH_MAX);
		gsym_string(gsym, decoded->calls.items[call].name);
		call = decoded->calls.items[call].caller;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsym gsym;
	struct gsym_entry entry;
	struct gsym_decoded decoded = {};
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
			must(gsym_decode(&gsym, found.index, &decoded) == 0);
			if (near[j] - found.start <= UINT32_MAX) /* LLVM's sizes have 32 bits */
				check_places(&gsym, &found, &decoded, near[j]);
		}
	}
	gsym_decoded_deinit(&decoded);
	return 0;
}
