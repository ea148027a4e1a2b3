/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Extraction: what comes out is a right GSYM file with disjoint entries, or an error. */
#include "base/cleanup.h"
#include "base/io.h"
#include "fuzz.h"
#include "memory_file.h"
#include "symbols/extract.h"
#include "symbols/gsym.h"

#include <string.h>

static void check(const uint8_t *bytes, const struct extract_result *result,
		  const struct gsym_splits *splits)
{
	struct gsym gsym;
	struct gsym_entry entry, found;
	must(gsym_init(&gsym, bytes, result->gsym_size, NULL) == 0);
	must(gsym.n == result->n_functions && gsym.n > 0);
	uint64_t end = 0;
	for (uint32_t i = 0; i < gsym.n; i++) {
		must(gsym_get(&gsym, i, &entry) == 1);
		must(entry.start >= end && entry.end > entry.start);
		must(gsym_find(&gsym, entry.end - 1, &found) == 1 && found.start == entry.start);
		must(gsym_splits_find(splits, entry.start) <= entry.start);
		end = entry.end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_memory_file(data, size);
	_cleanup_close_ int out = fuzz_memory_file("", 0);
	struct extract_result result;
	struct mw_error e = {};
	int r = extract_names(fd, NULL, 0, out, &result, &e);
	must(r <= 0 && e.code == r);
	if (r < 0)
		return 0;
	struct gsym_splits splits = {};
	must(extract_take_splits(out, &result, &splits, NULL) == 0);
	must(splits.list.n == result.n_splits);
	_cleanup_free_ uint8_t *bytes = malloc(result.gsym_size);
	must(io_pread(out, bytes, result.gsym_size, 0) == (ssize_t)result.gsym_size);
	check(bytes, &result, &splits);
	gsym_splits_deinit(&splits);
	return 0;
}
