/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A perf map of any bytes, in one piece and in two: the same entries, all sound, and a timeline that
 * finds the later one. The first byte says where it is cut.
 */
#include "base/cleanup.h"
#include "fuzz.h"
#include "symbols/code_timeline.h"

#include <string.h>

static void check_found(const struct perf_map *map)
{
	struct code_timeline timeline = {};
	struct code_span span;
	if (code_timeline_append(&timeline, map, 0, 1) < 0) {
		code_timeline_deinit(&timeline);
		return;
	}
	code_timeline_extend(&timeline, 2);
	vec_foreach(entry, &map->entries) {
		must(entry->start < entry->end && entry->name < map->names.n);
		const struct perf_map_entry *latest = perf_map_find(map, entry->start);
		must(latest && latest >= entry);
		must(code_timeline_find(&timeline, entry->start, 2, &span) == CODE_NAMED);
		must(strcmp(span.name, perf_map_name(map, latest)) == 0);
		code_timeline_until(&timeline, &span);
		if (entry - map->entries.items > 64)
			break;
	}
	code_timeline_deinit(&timeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	struct perf_map whole = {}, parts = {};
	const char *text = (const char *)data + 1;
	size_t n = size - 1, cut = n * data[0] / 256;
	must(perf_map_parse(&whole, text, n, true) == 0);
	must(whole.consumed == n);
	must(perf_map_parse(&parts, text, cut, false) == 0);
	must(parts.consumed <= cut);
	must(perf_map_parse(&parts, text + parts.consumed, n - parts.consumed, true) == 0);
	must(parts.entries.n == whole.entries.n && parts.names.n == whole.names.n);
	must(!whole.names.n || memcmp(parts.names.data, whole.names.data, whole.names.n) == 0);
	check_found(&whole);
	perf_map_deinit(&whole);
	perf_map_deinit(&parts);
	return 0;
}
