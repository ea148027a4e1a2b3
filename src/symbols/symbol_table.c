/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/symbol_table.h"

#include "base/cleanup.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Bytes of a table that is worth resting. */
#define LARGE ((size_t)1 << 20)

static void unmap(struct mapped_gsym *mapped)
{
	if (mapped->data)
		munmap(mapped->data, mapped->size);
	free(mapped->steps);
	*mapped = (struct mapped_gsym){};
}

static int map(struct mapped_gsym *mapped, int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	/* Look-ups go anywhere: what the kernel would read around them only takes memory. */
	madvise(data, (size_t)st.st_size, MADV_RANDOM);
	mapped->data = data;
	mapped->size = (size_t)st.st_size;
	int r = gsym_init(&mapped->gsym, data, mapped->size, NULL);
	if (r < 0) {
		unmap(mapped);
		return r;
	}
	uint32_t n = gsym_count_steps(&mapped->gsym);
	mapped->steps = n ? malloc(n * sizeof *mapped->steps) : NULL;
	if (mapped->steps) { /* without memory it is only slower */
		gsym_make_steps(&mapped->gsym, mapped->steps);
		mapped->gsym.steps = mapped->steps;
		mapped->gsym.n_steps = n;
	}
	return 0;
}

/* 1: mapped, 0: there is none, negative: it cannot be used. *meta is replaced by the one it belongs to. */
static int load_part(struct symbol_table *t, struct store *store, enum store_part part,
		     struct mapped_gsym *mapped)
{
	struct meta meta = {};
	_cleanup_close_ int fd = store_open_part(store, &t->id, part, &meta, NULL);
	if (fd < 0)
		return 0;
	meta_deinit(&t->meta);
	t->meta = meta;
	int r = map(mapped, fd);
	return r < 0 ? r : 1;
}

void symbol_table_load(struct symbol_table *t, struct store *store, const struct mw_file_id *id)
{
	t->id = *id;
	t->reason = MW_REASON_FILE_GONE;
	if (!store)
		return;
	int lines = load_part(t, store, STORE_LINES, &t->lines);
	/* Last, for its meta has the pieces that belong to exactly these names. */
	int names = load_part(t, store, STORE_NAMES, &t->names);
	if (lines == 1 || names == 1) {
		t->reason = MW_REASON_NONE;
	} else if (lines < 0 || names < 0) {
		t->reason = MW_REASON_PARSER_FAILED;
	} else if (store_lookup(store, id, &t->meta, NULL) == 1) {
		enum mw_reason tried = t->meta.failures[STORE_NAMES].reason;
		t->reason = tried != MW_REASON_NONE ? tried : MW_REASON_FILE_GONE;
	}
}

static void rest(const struct mapped_gsym *mapped)
{
	if (mapped->data && mapped->size > LARGE)
		madvise(mapped->data, mapped->size, MADV_DONTNEED);
}

void symbol_table_rest(const struct symbol_table *table)
{
	rest(&table->names);
	rest(&table->lines);
}

void symbol_table_deinit(struct symbol_table *t)
{
	unmap(&t->names);
	unmap(&t->lines);
	meta_deinit(&t->meta);
	*t = (struct symbol_table){};
}

int symbol_table_address(const struct symbol_table *t, uint64_t offset, uint64_t *ret,
			 enum mw_reason *ret_reason)
{
	/* By the segments, not by the size: a stripped copy with the same id is shorter. */
	if (t->meta.segments.n && !meta_offset_is_code(&t->meta, offset))
		*ret_reason = t->meta.file_size && offset >= t->meta.file_size
				      ? MW_REASON_NOT_IN_FILE
				      : MW_REASON_GHOST;
	else if (t->reason != MW_REASON_NONE)
		*ret_reason = t->reason;
	else if (!t->meta.segments.n) /* only its debug file was ever seen, which has other offsets */
		*ret_reason = MW_REASON_FILE_GONE;
	else if (!meta_offset_to_address(&t->meta, offset, ret))
		*ret_reason = MW_REASON_GHOST;
	else
		return 1;
	return 0;
}

enum mw_reason symbol_table_reason(const struct symbol_table *t)
{
	return t->reason != MW_REASON_NONE ? t->reason : MW_REASON_NO_SYMBOL_THERE;
}

void symbol_table_describe(const struct symbol_table *t, const struct gsym_entry *entry,
			   uint64_t address, struct mw_location *ret)
{
	uint64_t start = meta_piece_start(&t->meta, entry->start), offset;
	*ret = (struct mw_location){.name = entry->name, .address = start, .start = start};
	if (meta_address_to_offset(&t->meta, start, &offset))
		ret->start = offset;
	else if (meta_address_to_offset(&t->meta, address, &offset))
		ret->start = offset - (address - start);
}

int symbol_table_name(const struct symbol_table *t, uint64_t address, struct mw_location *ret)
{
	struct gsym_entry entry;
	if ((t->names.data && gsym_find(&t->names.gsym, address, &entry)) ||
	    (t->lines.data && gsym_find(&t->lines.gsym, address, &entry))) {
		symbol_table_describe(t, &entry, address, ret);
		return 1;
	}
	*ret = (struct mw_location){.reason = (uint16_t)symbol_table_reason(t)};
	return 0;
}

static void set_place(const struct gsym *gsym, uint32_t file, uint32_t line,
		      struct mw_location *ret)
{
	if (gsym_file(gsym, file, &ret->directory, &ret->file)) {
		ret->line = line;
		ret->discriminator = gsym_discriminator(gsym, file);
	}
}

/* What the next location of a chain is made of. */
struct chain {
	const struct gsym *gsym;
	struct mw_location *ret;
	size_t max;
	size_t n;
	uint32_t file; /* where the code of the next one is */
	uint32_t line;
};

static inline void add_call(struct chain *chain, const struct gsym_inlining *call)
{
	if (chain->n < chain->max) {
		struct mw_location *l = &chain->ret[chain->n];
		*l = (struct mw_location){.name = gsym_string(chain->gsym, call->name),
					  .is_inlined = 1};
		set_place(chain->gsym, chain->file, chain->line, l);
	}
	chain->file = call->file;
	chain->line = call->line;
	chain->n++;
}

static void start_chain(struct chain *chain, const struct gsym_row *row)
{
	chain->file = row->file;
	chain->line = row->line;
}

static void search_chain(struct chain *chain, const struct gsym_entry *entry, uint64_t address)
{
	struct gsym_row row;
	struct gsym_inlining calls[GSYM_DEPTH_MAX];
	size_t n = gsym_search(chain->gsym, entry, address, &row, calls, GSYM_DEPTH_MAX);
	start_chain(chain, &row);
	for (size_t i = 0; i < n; i++)
		add_call(chain, &calls[i]);
}

static void decoded_chain(struct chain *chain, const struct gsym_decoded *decoded, uint64_t address)
{
	struct gsym_row row = {};
	gsym_decoded_row(decoded, address, &row);
	start_chain(chain, &row);
	uint32_t number = gsym_decoded_call(decoded, address);
	while (number != GSYM_NO_CALL) {
		const struct gsym_inlining *call = &decoded->calls.items[number];
		add_call(chain, call);
		number = call->caller;
	}
}

size_t symbol_table_chain(const struct symbol_table *t, const struct gsym_entry *entry,
			  const struct gsym_decoded *decoded, uint64_t address,
			  const struct mw_location *name, struct mw_location *ret, size_t max)
{
	struct chain chain = {.gsym = &t->lines.gsym, .ret = ret, .max = max};
	if (decoded)
		decoded_chain(&chain, decoded, address);
	else
		search_chain(&chain, entry, address);
	if (chain.n < max) {
		struct mw_location *l = &ret[chain.n];
		if (name->name)
			*l = *name;
		else
			symbol_table_describe(t, entry, address, l);
		set_place(chain.gsym, chain.file, chain.line, l);
	}
	return chain.n + 1;
}
