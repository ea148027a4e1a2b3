/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Unwinding tables: what is built of any file is a right table, and a walk by it over any stack
 * (the file's own bytes) ends within its bounds.
 */
#include "base/cleanup.h"
#include "fuzz.h"
#include "memory_file.h"
#include "unwind/extract_unwind.h"
#include "unwind/walk.h"

#include <string.h>

#define STACK	   UINT64_C(0x10000)
#define CODE	   UINT64_C(0x100000000)
#define FRAMES_MAX 64

struct world {
	const uint8_t *data;
	size_t size;
	struct unwind_table table;
	unsigned long reads;
};

static int read_word(void *data, uint64_t address, uint64_t *ret)
{
	struct world *w = data;
	w->reads++;
	if (address < STACK || address - STACK > w->size || w->size - (address - STACK) < 8)
		return -1;
	memcpy(ret, w->data + (address - STACK), 8);
	/* Most words are made addresses of code, or the walk would be over at once. */
	if (address & 8)
		*ret = CODE + *ret % w->size;
	return 0;
}

static void find_code(void *data, uint64_t address, struct walk_code *ret)
{
	struct world *w = data;
	if (address >= CODE && address - CODE < w->size)
		*ret = (struct walk_code){WALK_BY_TABLE, &w->table, address - CODE, 1};
}

static void walk_from(struct world *w, uint16_t machine, uint64_t offset)
{
	struct walk_frame frames[FRAMES_MAX];
	struct walk_result result;
	struct walk_task task = {machine, w, read_word, find_code};
	struct unwind_registers r = {.ip = CODE + offset, .known = UINT32_MAX, .exact = 1};
	for (unsigned i = 0; i < UNWIND_N_REGISTERS; i++)
		r.value[i] = STACK + i * 8;
	w->reads = 0;
	walk_stack(&task, &r, frames, FRAMES_MAX, &result);
	must(result.n > 0 && result.n <= FRAMES_MAX);
	must(result.is_whole == (result.reason == MW_REASON_NONE));
	must(w->reads <= FRAMES_MAX * 4);
}

static void check(struct world *w)
{
	const struct unwind_header *h = unwind_table_header(&w->table);
	const struct unwind_row *rows =
		(const void *)(w->table.data + (size_t)h->first_row * UNWIND_BLOCK_SIZE);
	must(unwind_table_check(&w->table, NULL) == 0);
	for (uint32_t i = 0; i < h->n_rows && i < 256; i++) {
		const struct unwind_rule *rule = unwind_table_find(&w->table, rows[i].offset);
		must(rule->kind <= UNWIND_FRAME_POINTER);
		if (rows[i].offset < w->size)
			walk_from(w, h->machine, rows[i].offset);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_memory_file(data, size);
	_cleanup_close_ int out = fuzz_memory_file("", 0);
	struct world w = {.data = data, .size = size};
	struct extract_unwind_result result;
	struct mw_error e = {};
	/* It is its own debug file, too. */
	int r = extract_unwind(fd, &fd, 1, out, &result, &e);
	must(r <= 0 && e.code == r);
	if (r < 0)
		return 0;
	must(result.size <= EXTRACT_UNWIND_MAX);
	must(unwind_table_open(&w.table, out, NULL) == 0);
	must(w.table.size == result.size);
	check(&w);
	unwind_table_close(&w.table);
	return 0;
}
