/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/symbolizer.h"

#include "symbols/symbol_table.h"

#include <errno.h>
#include <stdlib.h>

/* Tables that are mapped at once; each costs address space and the pages that were touched. */
#define N_TABLES 64

struct slot {
	struct symbol_table table;
	uint64_t used; /* 0: the place is free */
};

struct symbolizer {
	struct store *store;
	const struct kernel_symbols *kernel;
	uint64_t clock;
	struct slot slots[N_TABLES];
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

static void slot_deinit(struct slot *slot)
{
	symbol_table_deinit(&slot->table);
	slot->used = 0;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < N_TABLES; i++)
		slot_deinit(&s->slots[i]);
	free(s);
}

static const struct symbol_table *find_table(struct symbolizer *s, const struct mw_file_id *id)
{
	struct slot *oldest = &s->slots[0];
	for (size_t i = 0; i < N_TABLES; i++) {
		struct slot *slot = &s->slots[i];
		if (slot->used && mw_file_id_equal(&slot->table.id, id)) {
			slot->used = ++s->clock;
			return &slot->table;
		}
		if (slot->used < oldest->used)
			oldest = slot;
	}
	slot_deinit(oldest);
	symbol_table_load(&oldest->table, s->store, id);
	oldest->used = ++s->clock;
	return &oldest->table;
}

void symbolizer_forget_failures(struct symbolizer *s)
{
	for (size_t i = 0; i < N_TABLES; i++) {
		if (s->slots[i].used && s->slots[i].table.reason != MW_REASON_NONE)
			slot_deinit(&s->slots[i]);
		else if (s->slots[i].used)
			symbol_table_rest(&s->slots[i].table);
	}
}

void symbolizer_forget(struct symbolizer *s, const struct mw_file_id *id)
{
	for (size_t i = 0; i < N_TABLES; i++) {
		if (s->slots[i].used && mw_file_id_equal(&s->slots[i].table.id, id))
			slot_deinit(&s->slots[i]);
	}
}

static struct symbol nameless(enum mw_reason reason)
{
	return (struct symbol){.reason = reason};
}

struct symbol symbolizer_find(struct symbolizer *s, const struct mw_file_id *id, uint64_t offset)
{
	const struct symbol_table *t = find_table(s, id);
	enum mw_reason reason;
	uint64_t address;
	struct mw_location found;
	if (!symbol_table_address(t, offset, &address, &reason))
		return nameless(reason);
	if (!symbol_table_name(t, address, &found))
		return nameless(found.reason);
	return (struct symbol){.name = found.name, .start = found.start};
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
