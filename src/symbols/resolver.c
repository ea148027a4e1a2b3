/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/resolver.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/store.h"

#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define CACHE_BYTES   ((size_t)4 << 20)
#define CACHE_SLOTS   32768
#define CACHE_STRIPES 64
#define SCRATCH_MAX   ((size_t)64 << 10)
#define TABLES_MAX    16384 /* files; each is up to two mappings of the 65,530 that a process may have */
#define TABLE_SLOTS   32768
#define RETRY_SECONDS 1

/* A file that was asked for. The table may be replaced, never taken away. */
struct known_file {
	struct mw_file_id id;
	_Atomic(struct symbol_table *) table;
	_Atomic int64_t checked; /* seconds: when the store was asked last */
	struct known_file *next; /* in the list of all */
};

/* A table that another one replaced. */
struct replaced {
	struct symbol_table *table;
	struct replaced *next;
};

struct cached {
	const struct symbol_table *table;
	uint32_t index;
	size_t bytes;
	struct gsym_decoded decoded; /* its lists lie behind it */
};

struct mw_resolver {
	struct store *store;
	bool owns_store;
	pthread_mutex_t lock; /* store, and everything that is added */
	struct known_file *files;
	struct replaced *replaced;
	size_t n_files;
	_Atomic(struct known_file *) by_id[TABLE_SLOTS];

	size_t cache_limit;
	_Atomic size_t cache_bytes;
	_Atomic size_t cache_hand;
	struct cached *cache[CACHE_SLOTS];
	pthread_mutex_t stripes[CACHE_STRIPES];
	struct gsym_decoded scratch[CACHE_STRIPES]; /* what is decoded before it is kept, by stripe */
};

int resolver_new(struct store *store, size_t cache_bytes, struct mw_resolver **ret)
{
	struct mw_resolver *r = calloc(1, sizeof *r);
	if (!r)
		return -ENOMEM;
	r->store = store;
	r->cache_limit = cache_bytes ? cache_bytes : CACHE_BYTES;
	pthread_mutex_init(&r->lock, NULL);
	for (size_t i = 0; i < CACHE_STRIPES; i++)
		pthread_mutex_init(&r->stripes[i], NULL);
	*ret = r;
	return 0;
}

int mw_resolver_open(const struct mw_resolver_options *options, struct mw_resolver **ret,
		     struct mw_error *error)
{
	struct mw_resolver_options o = {};
	if (options)
		memcpy(&o, options, MIN(options->size, sizeof o));
	struct store_options how = {.directory = o.store, .read_only = true};
	struct store *store;
	int r = store_open(&how, &store, error);
	if (r < 0)
		return r;
	r = resolver_new(store, o.cache_bytes, ret);
	if (r < 0) {
		store_close(store);
		return error_set(error, r, "out of memory");
	}
	(*ret)->owns_store = true;
	return 0;
}

static void table_free(struct symbol_table *table)
{
	if (table)
		symbol_table_deinit(table);
	free(table);
}

void mw_resolver_close(struct mw_resolver *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		free(r->cache[i]);
	for (struct replaced *next, *at = r->replaced; at; at = next) {
		next = at->next;
		table_free(at->table);
		free(at);
	}
	for (struct known_file *next, *file = r->files; file; file = next) {
		next = file->next;
		table_free(atomic_load(&file->table));
		free(file);
	}
	for (size_t i = 0; i < CACHE_STRIPES; i++) {
		pthread_mutex_destroy(&r->stripes[i]);
		gsym_decoded_deinit(&r->scratch[i]);
	}
	pthread_mutex_destroy(&r->lock);
	if (r->owns_store)
		store_close(r->store);
	free(r);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int64_t seconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

/* What the store knows the id by: the kernel's may be filled up with zeros. Under the lock. */
static struct mw_file_id complete(struct mw_resolver *r, const struct mw_file_id *id)
{
	struct mw_file_id completed;
	if (id->kind == MW_FILE_ID_GNU_PADDED && r->store &&
	    store_complete_id(r->store, id, &completed) == 0)
		return completed;
	return *id;
}

static struct symbol_table *load_table(struct mw_resolver *r, const struct mw_file_id *id)
{
	struct symbol_table *table = calloc(1, sizeof *table);
	if (!table)
		return NULL;
	struct mw_file_id completed = complete(r, id);
	symbol_table_load(table, r->store, &completed);
	return table;
}

static int parts_of(const struct symbol_table *table)
{
	return (table->names.data ? 1 : 0) + (table->lines.data ? 2 : 0);
}

/* Takes a table that has more than the one at hand. Under the lock. */
static void look_again(struct mw_resolver *r, struct known_file *file)
{
	struct symbol_table *before = atomic_load(&file->table);
	_cleanup_free_ struct replaced *replaced = malloc(sizeof *replaced);
	struct symbol_table *table = replaced ? load_table(r, &file->id) : NULL;
	atomic_store(&file->checked, seconds_now());
	if (!table)
		return;
	if (parts_of(table) <= parts_of(before) && table->reason == before->reason) {
		table_free(table);
		return;
	}
	atomic_store(&file->table, table);
	*replaced = (struct replaced){before, r->replaced};
	r->replaced = take_ptr(replaced);
}

static size_t first_slot(const struct mw_file_id *id)
{
	return hash_bytes(id->bytes, id->size, id->kind) & (TABLE_SLOTS - 1);
}

/* The file, or the free slot where it belongs; slots are never emptied. */
static struct known_file *find_file(const struct mw_resolver *r, const struct mw_file_id *id,
				    size_t *ret_slot)
{
	for (size_t i = first_slot(id);; i = (i + 1) & (TABLE_SLOTS - 1)) {
		struct known_file *file = atomic_load_explicit(&r->by_id[i], memory_order_acquire);
		*ret_slot = i;
		if (!file || (file->id.kind == id->kind && file->id.size == id->size &&
			      memcmp(file->id.bytes, id->bytes, id->size) == 0))
			return file;
	}
}

static struct known_file *add_file(struct mw_resolver *r, const struct mw_file_id *id)
{
	size_t slot;
	struct known_file *file = find_file(r, id, &slot);
	if (file || r->n_files == TABLES_MAX)
		return file;
	file = calloc(1, sizeof *file);
	if (!file)
		return NULL;
	file->id = *id;
	struct symbol_table *table = load_table(r, id);
	if (!table) {
		free(file);
		return NULL;
	}
	atomic_init(&file->table, table);
	atomic_init(&file->checked, seconds_now());
	file->next = r->files;
	r->files = file;
	r->n_files++;
	atomic_store_explicit(&r->by_id[slot], file, memory_order_release);
	return file;
}

static struct known_file *get_file(struct mw_resolver *r, const struct mw_file_id *id)
{
	size_t slot;
	struct known_file *file = find_file(r, id, &slot);
	if (file)
		return file;
	pthread_mutex_lock(&r->lock);
	file = add_file(r, id);
	pthread_mutex_unlock(&r->lock);
	return file;
}

/* `wanted` are the parts that are worth another look into the store. */
static const struct symbol_table *get_table(struct mw_resolver *r, const struct mw_file_id *id,
					    int wanted)
{
	struct known_file *file = get_file(r, id);
	if (!file)
		return NULL;
	const struct symbol_table *table = atomic_load_explicit(&file->table, memory_order_acquire);
	if ((parts_of(table) & wanted) == wanted ||
	    seconds_now() - atomic_load_explicit(&file->checked, memory_order_relaxed) <=
		    RETRY_SECONDS)
		return table;
	pthread_mutex_lock(&r->lock);
	if (seconds_now() - atomic_load(&file->checked) > RETRY_SECONDS)
		look_again(r, file);
	pthread_mutex_unlock(&r->lock);
	return atomic_load_explicit(&file->table, memory_order_acquire);
}

const struct symbol_table *resolver_table(struct mw_resolver *r, const struct mw_file_id *id)
{
	return get_table(r, id, 3);
}

void resolver_refresh(struct mw_resolver *r, const struct mw_file_id *id)
{
	struct known_file *file = get_file(r, id);
	pthread_mutex_lock(&r->lock);
	if (file)
		look_again(r, file);
	pthread_mutex_unlock(&r->lock);
}

/* ---- decoded functions ----------------------------------------------------------------------- */

static size_t cache_slot(const struct symbol_table *table, uint32_t index)
{
	return hash_u64((uintptr_t)table ^ (uint64_t)index << 40) % CACHE_SLOTS;
}

/* Puts what was just decoded into a slot that is locked. */
static void cache_put(struct mw_resolver *r, size_t slot, struct cached *cached)
{
	struct cached *before = r->cache[slot];
	atomic_fetch_add(&r->cache_bytes, cached->bytes);
	if (before)
		atomic_fetch_sub(&r->cache_bytes, before->bytes);
	free(before);
	r->cache[slot] = cached;
}

/* One slot after the other is emptied until all fits. No stripe is held by the caller. */
static void cache_shrink(struct mw_resolver *r)
{
	for (size_t n = 0; n < CACHE_SLOTS && atomic_load(&r->cache_bytes) > r->cache_limit; n++) {
		size_t slot = atomic_fetch_add(&r->cache_hand, 1) % CACHE_SLOTS;
		pthread_mutex_lock(&r->stripes[slot % CACHE_STRIPES]);
		struct cached *cached = r->cache[slot];
		if (cached)
			atomic_fetch_sub(&r->cache_bytes, cached->bytes);
		r->cache[slot] = NULL;
		pthread_mutex_unlock(&r->stripes[slot % CACHE_STRIPES]);
		free(cached);
	}
}

/* One piece of memory for all of it, as large as it has to be. */
static struct cached *pack(const struct gsym_decoded *d)
{
	size_t marks = d->marks.n * sizeof *d->marks.items;
	size_t calls = d->calls.n * sizeof *d->calls.items;
	size_t ranges = d->ranges.n * sizeof *d->ranges.items;
	struct cached *cached = malloc(sizeof *cached + marks + calls + ranges);
	if (!cached)
		return NULL;
	uint8_t *at = (uint8_t *)(cached + 1);
	cached->bytes = sizeof *cached + marks + calls + ranges;
	cached->decoded = *d;
	cached->decoded.marks.items = (void *)at;
	cached->decoded.calls.items = (void *)(at + marks);
	cached->decoded.ranges.items = (void *)(at + marks + calls);
	if (marks)
		memcpy(cached->decoded.marks.items, d->marks.items, marks);
	if (calls)
		memcpy(cached->decoded.calls.items, d->calls.items, calls);
	if (ranges)
		memcpy(cached->decoded.ranges.items, d->ranges.items, ranges);
	return cached;
}

static struct cached *decode_new(const struct symbol_table *table, uint32_t index,
				 struct gsym_decoded *scratch)
{
	struct cached *cached = NULL;
	if (gsym_decode(&table->lines.gsym, index, scratch) == 0)
		cached = pack(scratch);
	if (cached) {
		cached->table = table;
		cached->index = index;
	}
	if (gsym_decoded_bytes(scratch) > SCRATCH_MAX) /* the largest one is not kept for ever */
		gsym_decoded_deinit(scratch);
	return cached;
}

static pthread_mutex_t *stripe_of(struct mw_resolver *r, size_t slot)
{
	return &r->stripes[slot % CACHE_STRIPES];
}

/* The decoded function, NULL without memory. Its stripe stays locked until cache_leave(). */
static const struct cached *cache_enter(struct mw_resolver *r, const struct symbol_table *table,
					uint32_t index)
{
	size_t slot = cache_slot(table, index);
	pthread_mutex_lock(stripe_of(r, slot));
	struct cached *cached = r->cache[slot];
	if (cached && cached->table == table && cached->index == index)
		return cached;
	cached = decode_new(table, index, &r->scratch[slot % CACHE_STRIPES]);
	if (cached)
		cache_put(r, slot, cached);
	else
		pthread_mutex_unlock(stripe_of(r, slot));
	return cached;
}

static void cache_leave(struct mw_resolver *r, const struct cached *cached)
{
	if (!cached)
		return;
	pthread_mutex_unlock(stripe_of(r, cache_slot(cached->table, cached->index)));
	if (atomic_load_explicit(&r->cache_bytes, memory_order_relaxed) > r->cache_limit)
		cache_shrink(r);
}

/* ---- look-ups -------------------------------------------------------------------------------- */

static size_t nameless(struct mw_location *ret, enum mw_reason reason)
{
	*ret = (struct mw_location){.reason = (uint16_t)reason};
	return 0;
}

size_t mw_resolver_find(struct mw_resolver *r, const struct mw_file_id *id, uint64_t offset,
			struct mw_location *ret, size_t max)
{
	enum mw_reason reason;
	uint64_t address;
	const struct symbol_table *table = get_table(r, id, 3);
	if (!table)
		return nameless(ret, MW_REASON_EVICTED);
	if (!symbol_table_address(table, offset, &address, &reason))
		return nameless(ret, reason);
	struct mw_location name;
	struct gsym_entry entry;
	int has_name = symbol_table_name(table, address, &name);
	if (table->lines.data && gsym_find(&table->lines.gsym, address, &entry)) {
		const struct cached *cached = cache_enter(r, table, entry.index);
		size_t n = cached ? symbol_table_chain(table, &entry, &cached->decoded, address,
						       &name, ret, max)
				  : 0;
		cache_leave(r, cached);
		if (n)
			return n;
	}
	*ret = name;
	return (size_t)has_name;
}

/* Questions whose memory is fetched together. */
#define TOGETHER 16

static size_t take_name(const struct symbol_table *table, uint64_t address, int found,
			const struct gsym_entry *entry, struct mw_location *ret)
{
	if (!found)
		return (size_t)symbol_table_name(table, address, ret);
	symbol_table_describe(table, entry, address, ret);
	return 1;
}

static size_t find_together(const struct symbol_table *table, const uint64_t *offsets, size_t n,
			    struct mw_location *ret)
{
	const struct gsym *gsym = &table->names.gsym;
	uint64_t addresses[TOGETHER];
	uint32_t located[TOGETHER];
	enum mw_reason reasons[TOGETHER];
	size_t found = 0;
	for (size_t i = 0; i < n; i++) {
		reasons[i] = MW_REASON_NONE;
		located[i] = 0;
		if (symbol_table_address(table, offsets[i], &addresses[i], &reasons[i]))
			located[i] = gsym_locate(gsym, addresses[i]);
	}
	for (size_t i = 0; i < n; i++)
		gsym_prefetch(gsym, located[i]);
	for (size_t i = 0; i < n; i++) {
		struct gsym_entry entry;
		if (reasons[i] != MW_REASON_NONE)
			nameless(&ret[i], reasons[i]);
		else
			found += take_name(table, addresses[i],
					   gsym_take(gsym, located[i], addresses[i], &entry), &entry,
					   &ret[i]);
	}
	return found;
}

/* Up to `end`, as long as they ascend; how many that were. */
static size_t find_ascending(const struct symbol_table *table, const uint64_t *offsets, size_t n,
			     struct mw_location *ret, size_t *ret_found)
{
	uint32_t hint = 0;
	size_t i = 0;
	for (; i < n && (i == 0 || offsets[i] >= offsets[i - 1]); i++) {
		enum mw_reason reason;
		uint64_t address;
		struct gsym_entry entry;
		if (!symbol_table_address(table, offsets[i], &address, &reason))
			nameless(&ret[i], reason);
		else
			*ret_found += take_name(table, address,
						gsym_find_next(&table->names.gsym, address, &hint,
							       &entry),
						&entry, &ret[i]);
	}
	return i;
}

static bool ascends(const uint64_t *offsets, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (offsets[i] < offsets[i - 1])
			return false;
	}
	return n > 1;
}

size_t mw_resolver_find_names(struct mw_resolver *r, const struct mw_file_id *id,
			      const uint64_t *offsets, size_t n, struct mw_location *ret)
{
	const struct symbol_table *table = get_table(r, id, 1);
	size_t found = 0;
	for (size_t i = 0; i < n && (!table || !table->names.data); i++) {
		enum mw_reason reason = MW_REASON_EVICTED;
		uint64_t address;
		if (!table || !symbol_table_address(table, offsets[i], &address, &reason))
			nameless(&ret[i], reason);
		else
			found += (size_t)symbol_table_name(table, address, &ret[i]);
	}
	if (!table || !table->names.data)
		return found;
	for (size_t i = 0; i < n;) {
		size_t together = MIN(n - i, TOGETHER);
		if (ascends(offsets + i, together)) {
			i += find_ascending(table, offsets + i, n - i, ret + i, &found);
			continue;
		}
		found += find_together(table, offsets + i, together, ret + i);
		i += together;
	}
	return found;
}

/* ---- many questions -------------------------------------------------------------------------- */

/*
 * Questions about one function from which on it is decoded: a few, or one where so many are asked that
 * others will come to it.
 */
#define DECODE_FROM	 4
#define MANY_QUESTIONS	 4096
/* Locations of an answer: one for each inlined call, and the function. */
#define CHAIN_MAX ((size_t)GSYM_DEPTH_MAX + 1)

/* What stays from one question to the next. */
struct sorted_walk {
	struct mw_resolver *resolver;
	const struct symbol_table *table;
	const struct sort_item *next, *end;
	const struct cached *cached; /* held */
	struct gsym_entry symbol;    /* the last ones found; of no bytes at first */
	struct gsym_entry function;
	uint32_t names_hint;
	uint32_t lines_hint;
	unsigned flags;
	bool is_long;
	struct mw_location chain[CHAIN_MAX + 1];
};

/* The decoded function if that pays, otherwise NULL. */
static const struct gsym_decoded *enter_function(struct sorted_walk *w, uint64_t key,
						 uint64_t address)
{
	if (w->cached && w->cached->index == w->function.index)
		return &w->cached->decoded;
	cache_leave(w->resolver, w->cached);
	w->cached = NULL;
	/* Keys are as far from each other as their addresses, within a function. */
	if (!w->is_long && (w->end - w->next < DECODE_FROM ||
			    w->next[DECODE_FROM - 1].key - key >= w->function.end - address))
		return NULL;
	w->cached = cache_enter(w->resolver, w->table, w->function.index);
	return w->cached ? &w->cached->decoded : NULL;
}

static bool covers(const struct gsym_entry *entry, uint64_t address)
{
	return address - entry->start < entry->end - entry->start;
}

static size_t find_one(struct sorted_walk *w, uint64_t key, uint64_t address)
{
	const struct symbol_table *t = w->table;
	struct mw_location name = {.reason = (uint16_t)symbol_table_reason(t)};
	if (covers(&w->symbol, address) ||
	    (t->names.data && gsym_find_next(&t->names.gsym, address, &w->names_hint, &w->symbol)))
		symbol_table_describe(t, &w->symbol, address, &name);
	if (!covers(&w->function, address) &&
	    (!t->lines.data ||
	     !gsym_find_next(&t->lines.gsym, address, &w->lines_hint, &w->function))) {
		w->chain[0] = w->chain[1] = name;
		return name.name ? 1 : 0;
	}
	struct mw_location symbol = name;
	if (w->flags & RESOLVER_DEBUG_NAMES)
		name.name = NULL;
	size_t n = symbol_table_chain(t, &w->function, enter_function(w, key, address), address,
				      &name, w->chain, CHAIN_MAX);
	w->chain[MIN(n, CHAIN_MAX)] = symbol;
	return n;
}

int resolver_find_sorted(struct mw_resolver *resolver, const struct symbol_table *table,
			 unsigned flags, const struct sort_item *items, size_t n,
			 resolver_answer_fn fn, void *data)
{
	struct sorted_walk *w = malloc(sizeof *w);
	if (!w)
		return -ENOMEM;
	memset(w, 0, offsetof(struct sorted_walk, chain));
	w->resolver = resolver;
	w->table = table;
	w->flags = flags;
	w->is_long = n >= MANY_QUESTIONS;
	w->next = items;
	w->end = items + n;
	int r = 0;
	while (w->next < w->end && r == 0) {
		const struct sort_item *item = w->next++;
		enum mw_reason reason;
		uint64_t address = item->key;
		size_t found = 0;
		if (!(flags & RESOLVER_ADDRESSES) &&
		    !symbol_table_address(table, item->key, &address, &reason))
			nameless(&w->chain[0], reason);
		else
			found = find_one(w, item->key, address);
		r = fn(data, item->value, w->chain, MIN(found, CHAIN_MAX));
	}
	cache_leave(resolver, w->cached);
	free(w);
	return r;
}

/* ---- stacks from the kernel ------------------------------------------------------------------ */

/* A build ID whose end is zeros may be a shorter one. */
static struct mw_file_id id_of_entry(const struct bpf_stack_build_id *entry)
{
	struct mw_file_id id = {.kind = MW_FILE_ID_GNU, .size = BPF_BUILD_ID_SIZE};
	memcpy(id.bytes, entry->build_id, BPF_BUILD_ID_SIZE);
	if (!id.bytes[BPF_BUILD_ID_SIZE - 1])
		id.kind = MW_FILE_ID_GNU_PADDED;
	return id;
}

struct frames {
	struct mw_stack_frame *items;
	size_t max;
	size_t n;
};

static void add_frame(struct frames *frames, const struct mw_stack_frame *frame)
{
	if (frames->n < frames->max)
		frames->items[frames->n] = *frame;
	frames->n++;
}

static void add_entry(struct mw_resolver *r, const struct bpf_stack_build_id *entry, uint32_t number,
		      struct frames *ret)
{
	struct mw_stack_frame frame = {.entry = number};
	if (entry->status != BPF_STACK_BUILD_ID_VALID) {
		frame.offset = entry->ip;
		frame.location.reason = MW_REASON_NOT_CACHED;
		add_frame(ret, &frame);
		return;
	}
	frame.id = id_of_entry(entry);
	frame.offset = entry->offset;
	struct mw_location chain[GSYM_DEPTH_MAX + 1];
	/* A caller is where its call returns to. Offset 0 has no byte before it and is no code either. */
	uint64_t asked = entry->offset - (number && entry->offset ? 1 : 0);
	size_t n = mw_resolver_find(r, &frame.id, asked, chain, ARRAY_SIZE(chain));
	const struct symbol_table *table = get_table(r, &frame.id, 0);
	if (table)
		frame.id = table->id;
	for (size_t i = 0; i < MAX(MIN(n, ARRAY_SIZE(chain)), 1); i++) {
		frame.location = chain[i];
		add_frame(ret, &frame);
	}
}

size_t mw_resolver_find_stack(struct mw_resolver *r, const struct bpf_stack_build_id *stack,
			      size_t n, struct mw_stack_frame *ret, size_t max)
{
	struct frames frames = {.items = ret, .max = max};
	for (size_t i = 0; i < n && stack[i].status != BPF_STACK_BUILD_ID_EMPTY; i++)
		add_entry(r, &stack[i], (uint32_t)i, &frames);
	return frames.n;
}
