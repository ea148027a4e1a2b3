/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/debug_file.h"

#include "symbols/extract.h"

static const struct elf_program_header *first_load(const struct elf *elf)
{
	vec_foreach(h, &elf->program_headers) {
		if (h->type == PT_LOAD)
			return h;
	}
	return NULL;
}

uint64_t debug_file_bias(const struct elf *elf, const struct elf *debug)
{
	const struct elf_program_header *here = first_load(elf), *there = first_load(debug);
	return here && there ? here->vaddr - there->vaddr : 0;
}

/* Symbols from a debug file. 0, or negative if it is not the file's, or gives none. */
static int collect_from(struct symbol_list *list, const struct elf *elf, int debug_fd,
			const struct elf_identity *identity)
{
	struct elf debug;
	int r = elf_open(&debug, debug_fd, NULL);
	if (r < 0)
		return r;
	r = elf_debug_file_belongs(&debug, identity) ? symbol_list_collect(list, &debug, NULL)
						 : -ESTALE;
	uint64_t bias = debug_file_bias(elf, &debug);
	elf_deinit(&debug);
	if (r < 0)
		symbol_list_deinit(list);
	vec_foreach(symbol, &list->symbols) {
		symbol->start += bias;
		symbol->end += bias;
	}
	return r;
}

int debug_file_symbols(struct symbol_list *list, struct elf *elf, const int *debug_fds,
		       size_t n_debug_fds, const struct elf_identity *identity, struct mw_error *e)
{
	for (size_t i = 0; i < n_debug_fds; i++) {
		if (collect_from(list, elf, debug_fds[i], identity) == 0)
			return 0;
	}
	return symbol_list_collect(list, elf, e);
}

int extract_alt_link(int elf_fd, const int *debug_fds, size_t n_debug_fds, struct elf_alt_link *ret)
{
	struct elf elf, debug;
	struct elf_identity identity;
	*ret = (struct elf_alt_link){};
	if (elf_open(&elf, elf_fd, NULL) < 0)
		return 0;
	int found = elf_identify(&elf, &identity, NULL) == 0 ? elf_read_alt_link(&elf, ret) : 0;
	for (size_t i = 0; i < n_debug_fds && found == 0; i++) {
		if (elf_open(&debug, debug_fds[i], NULL) < 0)
			continue;
		if (elf_debug_file_belongs(&debug, &identity))
			found = elf_read_alt_link(&debug, ret);
		elf_deinit(&debug);
	}
	elf_deinit(&elf);
	return found;
}
