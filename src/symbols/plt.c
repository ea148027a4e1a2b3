/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/plt.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbols/symbol_rank.h"

#include <string.h>

/* What is read of a table: entries of the largest programs are some ten thousand. */
#define RELOCATIONS_MAX ((uint64_t)64 << 20)
#define CODE_MAX	((uint64_t)16 << 20)
#define ENTRIES_MAX	((size_t)1 << 20)
#define NAME_MAX_SIZE	4096
#define RESOLVERS_MAX	1024 /* each is looked for among all symbols; a static libc has a hundred */

#define STRIDE	    16 /* of x86, where the section does not say it */
#define HEADER_NAME "<PLT header>"
#define NO_SYMBOL   UINT32_MAX

/* Whose address is put into a slot. */
struct slot {
	uint64_t address;
	uint64_t resolver; /* its address; 0: none */
	uint32_t symbol;
	uint32_t order; /* among the relocations of the table's own slots */
};

struct entry {
	uint64_t start;
	uint64_t end;
	uint32_t name; /* in the names */
};

struct plt {
	struct symbol_list *list;
	struct elf *elf;
	VEC(struct slot) slots; /* by address */
	VEC(uint32_t) in_order; /* slots of DT_JMPREL, as an entry may push their number */
	VEC(struct entry) entries;
	struct buffer names;
	uint64_t symbols; /* addresses of the dynamic ones, */
	uint64_t strings; /* and of their names; 0: there are none */
	uint64_t strings_size;
	unsigned n_resolvers;
	uint64_t base; /* DT_PLTGOT: what i386 code counts from */
};

static void plt_deinit(struct plt *plt)
{
	vec_deinit(&plt->slots);
	vec_deinit(&plt->in_order);
	vec_deinit(&plt->entries);
	buffer_deinit(&plt->names);
}

/* ---- relocations ----------------------------------------------------------------------------- */

/* Types that fill a slot with a function's address: the table's own, data's, and by a resolver. */
static const struct machine {
	uint16_t machine;
	uint32_t jump_slot;
	uint32_t data_slot;
	uint32_t resolved;
} machines[] = {
	{EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE},
	{EM_386, R_386_JMP_SLOT, R_386_GLOB_DAT, R_386_IRELATIVE},
	{EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE},
};

static const struct machine *machine_of(const struct elf *elf)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		if (machines[i].machine == elf->machine)
			return &machines[i];
	}
	return NULL;
}

static uint64_t word_at(const struct elf *elf, const uint8_t *p)
{
	return elf->is64 ? elf_u64(elf, p) : elf_u32(elf, p);
}

static int add_relocation(struct plt *plt, const struct machine *m, const uint8_t *p,
			  bool has_addend, bool is_own)
{
	const struct elf *elf = plt->elf;
	size_t word = elf->is64 ? 8 : 4;
	uint64_t info = word_at(elf, p + word);
	uint32_t type = elf->is64 ? (uint32_t)info : (uint32_t)info & 0xff;
	struct slot slot = {
		.address = word_at(elf, p),
		.symbol = elf->is64 ? (uint32_t)(info >> 32) : (uint32_t)info >> 8,
		.order = is_own ? (uint32_t)plt->in_order.n : NO_SYMBOL,
	};
	if (is_own && vec_push(&plt->in_order, 0) < 0)
		return -ENOMEM;
	if (type == m->resolved) {
		slot.symbol = NO_SYMBOL;
		slot.resolver = has_addend ? word_at(elf, p + 2 * word) : 0;
	} else if (type != m->jump_slot && type != m->data_slot) {
		return 0;
	}
	return vec_push(&plt->slots, slot);
}

static int add_relocations(struct plt *plt, const struct machine *m, const uint8_t *data,
			   uint64_t size, bool has_addend, bool is_own)
{
	uint64_t each = (plt->elf->is64 ? 8 : 4) * (has_addend ? 3 : 2);
	for (uint64_t at = 0; at + each <= size && plt->slots.n < ENTRIES_MAX; at += each) {
		int r = add_relocation(plt, m, data + at, has_addend, is_own);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_slots(struct plt *plt)
{
	if (plt->slots.n > 1)
		qsort(plt->slots.items, plt->slots.n, sizeof *plt->slots.items, by_address);
	for (size_t i = 0; i < plt->in_order.n; i++)
		plt->in_order.items[i] = NO_SYMBOL;
	for (size_t i = 0; i < plt->slots.n; i++) {
		if (plt->slots.items[i].order != NO_SYMBOL)
			plt->in_order.items[plt->slots.items[i].order] = (uint32_t)i;
	}
}

static const struct slot *find_slot(const struct plt *plt, uint64_t address)
{
	size_t low = 0, high = plt->slots.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (plt->slots.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < plt->slots.n && plt->slots.items[low].address == address;
	return found ? &plt->slots.items[low] : NULL;
}

/* ---- the dynamic segment --------------------------------------------------------------------- */

/* The file's bytes from an address on, at most max; there may be fewer. NULL if there are none. */
static uint8_t *read_at(const struct elf *elf, uint64_t address, uint64_t max, uint64_t *ret_size)
{
	uint64_t offset;
	uint8_t *data = NULL;
	*ret_size = 0;
	vec_foreach(h, &elf->program_headers) {
		if (h->type != PT_LOAD || address < h->vaddr || address - h->vaddr >= h->file_size)
			continue;
		uint64_t inside = address - h->vaddr;
		if (__builtin_add_overflow(h->offset, inside, &offset) ||
		    offset >= elf->source.size)
			return NULL;
		uint64_t size = MIN(MIN(h->file_size - inside, elf->source.size - offset), max);
		if (source_read_new(&elf->source, offset, size, SYMBOL_TABLE_MAX, &data) == 0)
			*ret_size = size;
		return data;
	}
	return NULL;
}

enum {
	TAG_JMPREL,
	TAG_PLTRELSZ,
	TAG_PLTREL,
	TAG_RELA,
	TAG_RELASZ,
	TAG_REL,
	TAG_RELSZ,
	TAG_SYMTAB,
	TAG_STRTAB,
	TAG_STRSZ,
	TAG_PLTGOT,
	N_TAGS
};

static int take_relocations(struct plt *plt, const struct machine *m, uint64_t address,
			    uint64_t size, bool has_addend, bool is_own)
{
	uint64_t n;
	if (!address || !size)
		return 0;
	_cleanup_free_ uint8_t *data = read_at(plt->elf, address, MIN(size, RELOCATIONS_MAX), &n);
	return data ? add_relocations(plt, m, data, n, has_addend, is_own) : 0;
}

/* 1: there is one, 0: there is none, or -ENOMEM. */
static int read_dynamic(struct plt *plt, const struct machine *m)
{
	static const int64_t tags[N_TAGS] = {DT_JMPREL, DT_PLTRELSZ, DT_PLTREL, DT_RELA,
					     DT_RELASZ, DT_REL,	     DT_RELSZ,	DT_SYMTAB,
					     DT_STRTAB, DT_STRSZ,    DT_PLTGOT};
	uint64_t v[N_TAGS];
	if (elf_dynamic(plt->elf, tags, N_TAGS, v, NULL) < 0)
		return 0;
	plt->base = v[TAG_PLTGOT];
	int r = take_relocations(plt, m, v[TAG_JMPREL], v[TAG_PLTRELSZ], v[TAG_PLTREL] != DT_REL,
				 true);
	/* The others can be many. Entries that use them have a section of their own, where there
	 * are sections. */
	bool has_others = elf_load_sections(plt->elf, NULL) < 0 ||
			  elf_find_section(plt->elf, ".plt.got") || !plt->slots.n;
	if (r == 0 && has_others)
		r = take_relocations(plt, m, v[TAG_RELA], v[TAG_RELASZ], true, false);
	if (r == 0 && has_others)
		r = take_relocations(plt, m, v[TAG_REL], v[TAG_RELSZ], false, false);
	plt->symbols = v[TAG_SYMTAB];
	plt->strings = v[TAG_STRTAB];
	plt->strings_size = v[TAG_STRSZ];
	return r < 0 || !plt->slots.n ? r : 1;
}

/* A static program has its resolvers' relocations in a section. */
static int read_static(struct plt *plt, const struct machine *m)
{
	static const char *const names[] = {".rela.plt", ".rela.iplt", ".rela.dyn"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *s = elf_find_section(plt->elf, names[i]);
		_cleanup_free_ uint8_t *data = NULL;
		uint64_t size;
		if (!s || s->type != SHT_RELA ||
		    elf_section_data(plt->elf, s, RELOCATIONS_MAX, &data, &size, NULL) < 0 || !data)
			continue;
		int r = add_relocations(plt, m, data, size, true, i < 2);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/*
 * Reads the name of a dynamic symbol. Few of a program's symbols are called through the table, so
 * the tables are not read as a whole. False if there is none.
 */
static bool read_dynamic_name(const struct plt *plt, uint32_t symbol, char name[NAME_MAX_SIZE])
{
	const struct elf *elf = plt->elf;
	uint8_t bytes[4];
	uint64_t offset, each = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if (!symbol || !elf_address_to_offset(elf, plt->symbols + symbol * each, &offset) ||
	    source_read(&elf->source, offset, bytes, sizeof bytes) < 0)
		return false;
	uint32_t at = elf_u32(elf, bytes);
	if (at >= plt->strings_size || !elf_address_to_offset(elf, plt->strings + at, &offset))
		return false;
	size_t n = (size_t)MIN(plt->strings_size - at, NAME_MAX_SIZE - 1);
	for (size_t size = MIN(n, 64);; size = MIN(size * 8, n)) { /* few names are long */
		if (!source_has(&elf->source, offset, size) ||
		    source_read(&elf->source, offset, name, size) < 0)
			return false;
		name[size] = '\0';
		if (strlen(name) < size || size == n)
			return name[0] != '\0';
	}
}

/* The IFUNC symbol that a resolver is the code of. */
static const char *resolver_name(struct plt *plt, uint64_t resolver)
{
	const struct symbol *best = NULL;
	if (plt->n_resolvers++ >= RESOLVERS_MAX)
		return NULL;
	vec_foreach(s, &plt->list->symbols) {
		if (s->start == resolver && symbol_rank_is_resolver(s->rank) &&
		    (!best || s->rank < best->rank ||
		     (s->rank == best->rank && symbol_name_compare(s->name, best->name) < 0)))
			best = s;
	}
	return best ? best->name : NULL;
}

static int add_named(struct plt *plt, uint64_t start, uint64_t end, const char *name,
		     const char *suffix)
{
	size_t n = strlen(name);
	if (n >= NAME_MAX_SIZE || plt->entries.n >= ENTRIES_MAX)
		return 0;
	struct entry entry = {start, end, (uint32_t)plt->names.n};
	buffer_bytes(&plt->names, name, n);
	buffer_bytes(&plt->names, suffix, strlen(suffix) + 1);
	return plt->names.failed || plt->names.n > UINT32_MAX ? -ENOMEM
							      : vec_push(&plt->entries, entry);
}

static int add_entry(struct plt *plt, uint64_t start, uint64_t end, const struct slot *slot)
{
	char buf[NAME_MAX_SIZE];
	const char *name = slot->resolver ? resolver_name(plt, slot->resolver)
			   : read_dynamic_name(plt, slot->symbol, buf) ? buf
								       : NULL;
	return name ? add_named(plt, start, end, name, "@plt") : 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

struct code {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t address;
	uint64_t stride;
};

static uint32_t u32_at(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool begins_with(const uint8_t *p, const uint8_t *end, const char *bytes, size_t n)
{
	return (size_t)(end - p) >= n && memcmp(p, bytes, n) == 0;
}

/* The number of a relocation that a lazy entry pushes. i386 pushes an offset. */
static const struct slot *slot_by_order(const struct plt *plt, uint32_t pushed)
{
	uint32_t order = plt->elf->is64 ? pushed : pushed / sizeof(Elf32_Rel);
	if (order >= plt->in_order.n || plt->in_order.items[order] == NO_SYMBOL)
		return NULL;
	return &plt->slots.items[plt->in_order.items[order]];
}

/*
 * The slot of an entry of x86: [endbr] [mov $number,%r11d] [bnd] jmp *slot, or, where that is in a
 * table of its own, [endbr] push $number.
 */
static const struct slot *decode_x86(const struct plt *plt, const struct code *c, uint64_t at)
{
	const uint8_t *p = c->bytes + at, *end = c->bytes + MIN(at + c->stride, c->size);
	if (begins_with(p, end, "\xf3\x0f\x1e\xfa", 4) ||
	    begins_with(p, end, "\xf3\x0f\x1e\xfb", 4))
		p += 4;
	if (begins_with(p, end, "\x41\xbb", 2) && end - p >= 6)
		p += 6;
	if (begins_with(p, end, "\xf2", 1))
		p++;
	if (begins_with(p, end, "\x68", 1) && end - p >= 5)
		return slot_by_order(plt, u32_at(p + 1));
	if (end - p < 6 || p[0] != 0xff)
		return NULL;
	uint32_t value = u32_at(p + 2);
	uint64_t next = c->address + (uint64_t)(p + 6 - c->bytes);
	if (plt->elf->is64)
		return p[1] == 0x25 ? find_slot(plt, next + (uint64_t)(int64_t)(int32_t)value)
				    : NULL;
	if (p[1] == 0x25)
		return find_slot(plt, value);
	return p[1] == 0xa3 ? find_slot(plt, (uint32_t)(plt->base + value)) : NULL;
}

/* What leads to the dynamic linker pushes a word of its own first: push *(...). */
static bool is_header_x86(const struct code *c, uint64_t size)
{
	for (uint64_t i = 0; i + 6 <= size; i++) {
		if (c->bytes[i] == 0xff && (c->bytes[i + 1] == 0x35 || c->bytes[i + 1] == 0xb3))
			return true;
	}
	return false;
}

/* How many bytes from the beginning are no entry. */
static int read_x86(struct plt *plt, const struct code *c, uint64_t *ret_first)
{
	*ret_first = c->size;
	for (uint64_t at = 0; at < c->size; at += c->stride) {
		const struct slot *slot = decode_x86(plt, c, at);
		if (!slot)
			continue;
		*ret_first = MIN(*ret_first, at);
		uint64_t end = MIN(at + c->stride, c->size);
		int r = add_entry(plt, c->address + at, c->address + end, slot);
		if (r < 0)
			return r;
	}
	return 0;
}

/* adrp x16; ldr x17, [x16, #n]; add x16, x16, #n; [autia1716]; br x17, perhaps behind a bti c. */
static bool is_bti(uint32_t word) { return (word & 0xffffff3f) == 0xd503241f; }

static const struct slot *decode_arm(const struct plt *plt, const struct code *c, uint64_t at)
{
	const uint8_t *p = c->bytes + at;
	if (c->size - at < 16)
		return NULL;
	uint32_t adrp = u32_at(p), ldr = u32_at(p + 4), last = u32_at(p + 12);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211 ||
	    (last != 0xd61f0220 && last != 0xd503219f))
		return NULL;
	const uint64_t sign = 1 << 20;
	uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	uint64_t page = (c->address + at) & ~UINT64_C(0xfff);
	page += ((pages ^ sign) - sign) << 12;
	return find_slot(plt, page + (uint64_t)(ldr >> 10 & 0xfff) * 8);
}

/* Behind the branch may be padding, which has no name. */
static uint64_t end_of_arm(const struct code *c, uint64_t at)
{
	uint64_t end = at + 16;
	if (u32_at(c->bytes + at + 12) == 0xd503219f && c->size - at >= 20)
		end += 4;
	return end;
}

static int read_arm(struct plt *plt, const struct code *c, uint64_t *ret_first)
{
	*ret_first = c->size;
	for (uint64_t at = 0; at + 16 <= c->size; at += 4) {
		const struct slot *slot = decode_arm(plt, c, at);
		if (!slot)
			continue;
		uint64_t start = at >= 4 && is_bti(u32_at(c->bytes + at - 4)) ? at - 4 : at;
		*ret_first = MIN(*ret_first, start);
		int r = add_entry(plt, c->address + start, c->address + end_of_arm(c, at), slot);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_code(struct plt *plt, const struct code *c, bool may_have_header)
{
	uint64_t first;
	bool is_arm = plt->elf->machine == EM_AARCH64;
	int r = is_arm ? read_arm(plt, c, &first) : read_x86(plt, c, &first);
	if (r < 0 || !may_have_header || first == 0 || first >= c->size)
		return r;
	bool is_header =
		is_arm ? first >= 16 &&
				 u32_at(c->bytes + (is_bti(u32_at(c->bytes)) ? 4 : 0)) == 0xa9bf7bf0
		       : is_header_x86(c, first);
	return is_header ? add_named(plt, c->address, c->address + first, HEADER_NAME, "") : 0;
}

/* ---- where the table is ---------------------------------------------------------------------- */

static bool is_table(const char *name)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.bnd", ".plt.got", ".iplt"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* 1: there are section headers, and what they say counts; 0: there are none; or -ENOMEM. */
static int read_sections(struct plt *plt)
{
	if (elf_load_sections(plt->elf, NULL) < 0)
		return 0;
	vec_foreach(s, &plt->elf->sections) {
		_cleanup_free_ uint8_t *data = NULL;
		const char *name = elf_section_name(plt->elf, s);
		struct code code = {.address = s->address,
				    .stride = s->entry_size == 8 ? 8 : STRIDE};
		if (!(s->flags & SHF_EXECINSTR) || !is_table(name) ||
		    elf_section_data(plt->elf, s, CODE_MAX, &data, &code.size, NULL) < 0 || !data)
			continue;
		code.bytes = data;
		int r = read_code(plt, &code, strcmp(name, ".plt") == 0);
		if (r < 0)
			return r;
	}
	return 1;
}

/* Where the first slots lead to as they are in the file: into the table, until they are bound. */
static uint64_t lowest_target(struct plt *plt)
{
	uint64_t lowest = UINT64_MAX;
	vec_foreach(slot, &plt->slots) {
		uint64_t size;
		if (slot->order == NO_SYMBOL || slot->resolver)
			continue;
		size_t word = plt->elf->is64 ? 8 : 4;
		_cleanup_free_ uint8_t *data = read_at(plt->elf, slot->address, word, &size);
		uint64_t target = size == word ? word_at(plt->elf, data) : 0;
		if (target)
			lowest = MIN(lowest, target);
	}
	return lowest;
}

/* How much from an address on is nothing but entries: of tables in a row, with one entry between at
 * most. */
static uint64_t length_of_run(const struct plt *plt, const struct code *c)
{
	bool is_arm = plt->elf->machine == EM_AARCH64;
	uint64_t end = 0, step = is_arm ? 4 : c->stride;
	for (uint64_t at = 0; at < c->size && (at <= end || at - end <= STRIDE); at += step) {
		if (is_arm ? decode_arm(plt, c, at) != NULL : decode_x86(plt, c, at) != NULL)
			end = MIN(at + (is_arm ? end_of_arm(c, at) - at : c->stride), c->size);
	}
	return end;
}

/*
 * Lazily bound slots lead to their entries (x86: behind the first jump, or to what pushes the
 * number), or all to the header (AArch64).
 */
static int read_by_slots(struct plt *plt)
{
	uint64_t target = lowest_target(plt), size;
	if (target == UINT64_MAX)
		return 0;
	bool is_arm = plt->elf->machine == EM_AARCH64;
	uint64_t first = is_arm ? target + 32 : target & ~(uint64_t)(STRIDE - 1);
	uint64_t flags_of = 0;
	vec_foreach(h, &plt->elf->program_headers) {
		if (h->type == PT_LOAD && first >= h->vaddr && first - h->vaddr < h->file_size)
			flags_of = h->flags;
	}
	if (!(flags_of & PF_X))
		return 0;
	_cleanup_free_ uint8_t *data = read_at(plt->elf, first, CODE_MAX, &size);
	struct code code = {data, size, first, STRIDE};
	if (!data)
		return 0;
	code.size = length_of_run(plt, &code);
	return read_code(plt, &code, false);
}

/* ---- into the list --------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* The first entry that ends behind an address. */
static size_t first_behind(const struct plt *plt, uint64_t address)
{
	size_t low = 0, high = plt->entries.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (plt->entries.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Counts at each entry how many symbols with a size begin to cover it, less those that cease to. */
static void mark_covered(const struct plt *plt, int64_t *changes)
{
	uint64_t start = plt->entries.items[0].start,
		 end = plt->entries.items[plt->entries.n - 1].end;
	vec_foreach(s, &plt->list->symbols) {
		if (!s->has_size || s->start >= s->end || s->start >= end || s->end <= start)
			continue;
		changes[first_behind(plt, s->start)]++;
		size_t last = first_behind(plt, s->end - 1);
		if (last < plt->entries.n && plt->entries.items[last].start < s->end)
			last++;
		changes[last]--;
	}
}

static int add_all(struct plt *plt)
{
	size_t n = plt->entries.n;
	_cleanup_free_ int64_t *changes = calloc(n + 2, sizeof *changes);
	if (!changes)
		return -ENOMEM;
	qsort(plt->entries.items, n, sizeof *plt->entries.items, by_start);
	mark_covered(plt, changes);
	uint8_t *names = plt->names.data;
	int r = vec_push(&plt->list->tables, names);
	if (r < 0)
		return r;
	plt->names = (struct buffer){}; /* the list's now */
	int64_t covered = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct entry *entry = &plt->entries.items[i];
		covered += changes[i];
		if (covered == 0)
			r = vec_push(&plt->list->symbols,
				     (struct symbol){.start = entry->start,
						     .end = entry->end,
						     .name = (const char *)names + entry->name,
						     .rank = SYMBOL_RANK_PLT,
						     .has_size = true});
	}
	return r;
}

int plt_add(struct symbol_list *list, struct elf *elf)
{
	struct plt plt = {.list = list, .elf = elf};
	const struct machine *m = machine_of(elf);
	if (!m || elf->swap || elf->type == ET_REL)
		return 0;
	int r = read_dynamic(&plt, m);
	if (r == 0)
		r = read_static(&plt, m);
	sort_slots(&plt);
	if (r >= 0 && plt.slots.n)
		r = read_sections(&plt);
	if (r == 0 && plt.slots.n)
		r = read_by_slots(&plt);
	if (r >= 0 && plt.entries.n)
		r = add_all(&plt);
	plt_deinit(&plt);
	return r < 0 ? r : 0;
}
