/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Building from debug information: what comes out is a right GSYM file, whose functions are disjoint
 * and whose lines and calls can be read at each of their ends, or an error. The file is its own
 * supplementary file, too, if it says that it is.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "fuzz.h"
#include "memory_file.h"
#include "symbols/extract.h"
#include "symbols/gsym.h"
#include "symbols/gsym_decode.h"

#include <string.h>

static void look_up(const struct gsym *gsym, const struct gsym_entry *entry, uint64_t address)
{
	struct gsym_inlining calls[GSYM_DEPTH_MAX];
	struct gsym_row row;
	size_t n = gsym_search(gsym, entry, address, &row, calls, GSYM_DEPTH_MAX);
	must(n <= GSYM_DEPTH_MAX);
	const char *directory, *name;
	for (size_t i = 0; i < n; i++) {
		must(!calls[i].name || *gsym_string(gsym, calls[i].name));
		must(!calls[i].file || gsym_file(gsym, calls[i].file, &directory, &name));
	}
	must(!row.file || gsym_file(gsym, row.file, &directory, &name));
}

/* Calls lie inside of the function and of each other; each row is found again. */
static void check_function(const struct gsym *gsym, const struct gsym_entry *entry,
			   struct gsym_decoded *decoded)
{
	must(gsym_decode(gsym, entry->index, decoded) == 0);
	for (size_t i = 0; i + 1 < decoded->calls.n; i++) {
		const struct gsym_inlining *call = &decoded->calls.items[i];
		must(call->range.end <= entry->end - entry->start);
		must(call->caller == GSYM_NO_CALL || call->caller < i);
		must(call->end > i && call->end < decoded->calls.n);
	}
	look_up(gsym, entry, entry->start);
	look_up(gsym, entry, entry->start + (entry->end - entry->start) / 2);
	look_up(gsym, entry, entry->end - 1);
}

static void check(const uint8_t *bytes, const struct extract_result *result,
		  const struct gsym_splits *splits)
{
	struct gsym gsym;
	struct gsym_entry entry;
	struct gsym_decoded decoded = {};
	must(gsym_init(&gsym, bytes, result->gsym_size, NULL) == 0);
	must(gsym.n == result->n_functions);
	uint64_t end = 0;
	for (uint32_t i = 0; i < gsym.n; i++) {
		must(gsym_get(&gsym, i, &entry) == 1);
		must(entry.start >= end && entry.end > entry.start);
		must(gsym_splits_find(splits, entry.start) <= entry.start);
		check_function(&gsym, &entry, &decoded);
		end = entry.end;
	}
	gsym_decoded_deinit(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_memory_file(data, size);
	_cleanup_close_ int out = fuzz_memory_file("", 0);
	struct extract_result result;
	struct mw_error e = {};
	int r = extract_lines(fd, NULL, 0, fd, out, &result, &e);
	must(r <= 0 && e.code == r);
	if (r < 0)
		return 0;
	struct gsym_splits splits = {};
	must(extract_take_splits(out, &result, &splits, NULL) == 0);
	_cleanup_free_ uint8_t *bytes = malloc(result.gsym_size);
	must(io_pread(out, bytes, result.gsym_size, 0) == (ssize_t)result.gsym_size);
	check(bytes, &result, &splits);
	gsym_splits_deinit(&splits);
	return 0;
}
