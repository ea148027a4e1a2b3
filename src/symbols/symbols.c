/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The public symbol table of one file. Whatever it was opened from, what is kept is a GSYM in memory:
 * one way to look up, and the same answers as from the store.
 */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "symbols/extract.h"
#include "symbols/gsym.h"

struct mw_symbols {
	struct buffer bytes; /* the GSYM */
	struct gsym gsym;    /* over it */
	struct gsym_splits splits;
};

void mw_symbols_close(struct mw_symbols *symbols)
{
	if (!symbols)
		return;
	gsym_splits_deinit(&symbols->splits);
	buffer_deinit(&symbols->bytes);
	free(symbols);
}

DEFINE_CLEANUP(struct mw_symbols *, mw_symbols_close)

static int read_gsym(struct mw_symbols *symbols, const struct source *source, struct mw_error *e)
{
	if (source->size > EXTRACT_GSYM_MAX)
		return error_set(e, -EFBIG, "a GSYM file of %llu bytes",
				 (unsigned long long)source->size);
	uint8_t *bytes;
	int r = source_read_new(source, 0, source->size, EXTRACT_GSYM_MAX, &bytes);
	if (r < 0)
		return error_errno(e, r, "cannot read the GSYM file");
	symbols->bytes = (struct buffer){.data = bytes, .n = source->size, .capacity = source->size};
	return 0;
}

static int build_from_elf(struct mw_symbols *symbols, int fd, struct mw_error *e)
{
	struct elf elf;
	struct symbol_list list = {};
	function_list functions = {};
	int r = elf_open(&elf, fd, e);
	if (r < 0)
		return r;
	r = symbol_list_collect(&list, &elf, e);
	if (r == 0)
		r = symbol_list_choose(&list, &functions, e);
	if (r == 0)
		r = gsym_write(functions.items, functions.n, NULL, EXTRACT_GSYM_MAX, &symbols->bytes,
			       &symbols->splits, e);
	vec_deinit(&functions);
	symbol_list_deinit(&list);
	elf_deinit(&elf);
	return r;
}

int mw_symbols_open(int fd, struct mw_symbols **ret, struct mw_error *error)
{
	struct source source;
	int r = source_of_fd(fd, &source, error);
	if (r < 0)
		return r;
	_cleanup_(cleanup_mw_symbols_close) struct mw_symbols *symbols = calloc(1, sizeof *symbols);
	if (!symbols)
		return error_set(error, -ENOMEM, "out of memory");
	uint8_t head[GSYM_HEADER_SIZE];
	bool is_gsym = source_read(&source, 0, head, sizeof head) == 0 &&
		       gsym_is_one(head, sizeof head);
	r = is_gsym ? read_gsym(symbols, &source, error) : build_from_elf(symbols, fd, error);
	if (r == 0)
		r = gsym_init(&symbols->gsym, symbols->bytes.data, symbols->bytes.n, error);
	if (r < 0)
		return r;
	if (!symbols->gsym.n)
		return error_set(error, -ENODATA, "the file has no function symbols");
	*ret = take_ptr(symbols);
	return 0;
}

int mw_symbols_find(const struct mw_symbols *symbols, uint64_t address, struct mw_symbol *ret)
{
	struct gsym_entry entry;
	if (!gsym_find(&symbols->gsym, address, &entry))
		return 0;
	*ret = (struct mw_symbol){.name = entry.name,
				  .start = gsym_splits_find(&symbols->splits, entry.start),
				  .end = entry.end};
	return 1;
}
