/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/symbolizer.h"

#include "base/cleanup.h"
#include "base/file_id.h"
#include "store/store.h"
#include "symbols/gsym.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Tables that are mapped at once; each costs address space and the pages that were touched. */
#define N_TABLES 64

struct table {
	struct mw_file_id id;
	uint64_t used; /* 0: the place is free */
	struct meta meta;
	void *data; /* mapped; NULL if there is no table */
	size_t size;
	struct gsym gsym;
	enum mw_reason reason; /* why there is none */
};

struct symbolizer {
	struct store *store;
	const struct kernel_symbols *kernel;
	uint64_t clock;
	struct table tables[N_TABLES];
};

int symbolizer_new(struct store *store, const struct kernel_symbols *kernel,
		   struct symbolizer **ret)
{
	struct symbolizer *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->store = store;
	s->kernel = kernel;
	*ret = s;
	return 0;
}

static void table_deinit(struct table *t)
{
	if (t->data)
		munmap(t->data, t->size);
	meta_deinit(&t->meta);
	*t = (struct table){};
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < N_TABLES; i++)
		table_deinit(&s->tables[i]);
	free(s);
}

static int map_names(struct table *t, int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	t->data = data;
	t->size = (size_t)st.st_size;
	return gsym_init(&t->gsym, data, t->size, NULL);
}

/* Why the store has no names of this content; it remembers what was tried. */
static enum mw_reason reason_without_names(const struct meta *meta)
{
	enum mw_reason reason = meta->failures[STORE_NAMES].reason;
	return reason == MW_REASON_NONE ? MW_REASON_FILE_GONE : reason;
}

static void table_load(struct symbolizer *s, struct table *t, const struct mw_file_id *id)
{
	t->id = *id;
	_cleanup_close_ int fd = -ENOENT;
	if (s->store)
		fd = store_open_part(s->store, id, STORE_NAMES, &t->meta, NULL);
	if (fd >= 0) {
		if (map_names(t, fd) < 0)
			t->reason = MW_REASON_PARSER_FAILED;
		return;
	}
	t->reason = MW_REASON_FILE_GONE;
	if (s->store && store_lookup(s->store, id, &t->meta, NULL) == 1)
		t->reason = reason_without_names(&t->meta);
}

static struct table *find_table(struct symbolizer *s, const struct mw_file_id *id)
{
	struct table *oldest = &s->tables[0];
	for (size_t i = 0; i < N_TABLES; i++) {
		struct table *t = &s->tables[i];
		if (t->used && mw_file_id_equal(&t->id, id)) {
			t->used = ++s->clock;
			return t;
		}
		if (t->used < oldest->used)
			oldest = t;
	}
	table_deinit(oldest);
	table_load(s, oldest, id);
	oldest->used = ++s->clock;
	return oldest;
}

void symbolizer_forget_failures(struct symbolizer *s)
{
	for (size_t i = 0; i < N_TABLES; i++) {
		if (s->tables[i].used && s->tables[i].reason != MW_REASON_NONE)
			table_deinit(&s->tables[i]);
	}
}

void symbolizer_forget(struct symbolizer *s, const struct mw_file_id *id)
{
	for (size_t i = 0; i < N_TABLES; i++) {
		if (s->tables[i].used && mw_file_id_equal(&s->tables[i].id, id))
			table_deinit(&s->tables[i]);
	}
}

static struct symbol nameless(enum mw_reason reason)
{
	return (struct symbol){.reason = reason};
}

struct symbol symbolizer_find(struct symbolizer *s, const struct mw_file_id *id, uint64_t offset)
{
	const struct table *t = find_table(s, id);
	/* By the segments, not by the size: a stripped copy with the same id is shorter. */
	if (t->meta.segments.n && !meta_offset_is_code(&t->meta, offset))
		return nameless(t->meta.file_size && offset >= t->meta.file_size
					? MW_REASON_NOT_IN_FILE
					: MW_REASON_GHOST);
	if (t->reason != MW_REASON_NONE)
		return nameless(t->reason);

	uint64_t address, start_offset;
	struct gsym_entry entry;
	if (!meta_offset_to_address(&t->meta, offset, &address))
		return nameless(MW_REASON_GHOST);
	if (!gsym_find(&t->gsym, address, &entry))
		return nameless(MW_REASON_NO_SYMBOL_THERE);
	uint64_t start = meta_piece_start(&t->meta, entry.start);
	if (!meta_address_to_offset(&t->meta, start, &start_offset))
		start_offset = offset - (address - start);
	return (struct symbol){.name = entry.name, .start = start_offset};
}

struct symbol symbolizer_find_kernel(struct symbolizer *s, uint64_t address)
{
	struct kernel_symbol found;
	if (!s->kernel)
		return nameless(MW_REASON_HIDDEN_KERNEL);
	if (!kernel_symbols_find(s->kernel, address, &found))
		return nameless(MW_REASON_NO_SYMBOL_THERE);
	return (struct symbol){.name = found.name, .module = found.module, .start = found.start};
}
