/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The store's meta: whatever is taken must be written again just as it was read, must survive a
 * merge, and must answer questions about any address in it.
 */
#include "fuzz.h"
#include "store/meta.h"

#include <string.h>

static void ask(const struct meta *meta)
{
	uint64_t value, back;
	vec_foreach(s, &meta->segments) {
		if (!s->file_size)
			continue;
		must(meta_offset_to_address(meta, s->offset, &value));
		must(meta_offset_to_address(meta, s->offset + s->file_size - 1, &value));
		must(meta_address_to_offset(meta, s->vaddr, &back));
		if (s->flags & 1)
			must(meta_offset_is_code(meta, s->offset));
	}
	vec_foreach(piece, &meta->pieces)
		must(meta_piece_start(meta, piece->address) == piece->start);
}

/* All that `about` knows and a merge takes over; parts and pieces are not among it. */
static void merge(const struct meta *about)
{
	struct meta meta = {.id = about->id};
	must(meta_merge(&meta, about) == 0);
	must(meta.segments.n == about->segments.n && meta.paths.n == about->paths.n);
	for (size_t i = 0; i < meta.paths.n; i++)
		must(strcmp(meta.paths.items[i], about->paths.items[i]) == 0);
	struct buffer text = {};
	must(meta_format(&meta, &text) == 0);
	struct meta again;
	must(meta_parse((const char *)text.data, text.n, &again, NULL) == 0);
	meta_deinit(&again);
	buffer_deinit(&text);
	meta_deinit(&meta);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct meta meta;
	struct mw_error e;
	if (meta_parse((const char *)data, size, &meta, &e) < 0) {
		must(e.code < 0 && e.msg[0]);
		return 0;
	}
	struct buffer text = {};
	must(meta_format(&meta, &text) == 0);
	must(text.n == size && memcmp(text.data, data, size) == 0);
	buffer_deinit(&text);
	ask(&meta);
	merge(&meta);
	meta_deinit(&meta);
	return 0;
}
