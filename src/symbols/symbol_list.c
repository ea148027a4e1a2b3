/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Collecting; the choice is in symbol_choice.c. */
#include "symbols/symbol_list.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "elf/unpack.h"
#include "symbols/symbol_rank.h"

#include <string.h>

#ifndef EF_PPC64_ABI
#define EF_PPC64_ABI 3
#endif

/* What a mini symbol table may unpack to; real ones stay under 10 MiB. */
#define DEBUGDATA_MAX (UINT64_C(128) << 20)

const char *symbol_source_name(uint32_t source)
{
	static const char *const names[] = {"none", "dynamic segment", ".dynsym", ".gnu_debugdata",
					    ".symtab"};
	return source < ARRAY_SIZE(names) ? names[source] : "none";
}

void symbol_list_deinit(struct symbol_list *list)
{
	vec_foreach(table, &list->tables)
		free(*table);
	vec_deinit(&list->tables);
	vec_deinit(&list->symbols);
	*list = (struct symbol_list){};
}

/* The first damage is what the user should hear of; what follows is often its consequence. */
static void note_damage(struct symbol_list *list, const struct mw_error *e)
{
	if (!list->damage.code)
		list->damage = *e;
}

/* ---- where code can be ----------------------------------------------------------------------- */

struct range {
	uint64_t start;
	uint64_t end; /* of an empty one equal to start */
};

/*
 * Symbols whose section number does not fit are looked for in so many ranges: with more, a hostile
 * file could make the search quadratic.
 */
#define SEARCH_MAX 256

/* The executable sections, or, if the file has none, the executable segments. */
struct code_ranges {
	VEC(struct range) sections; /* by section number; empty ones for sections without code */
	VEC(struct range) search;   /* those with code, or the segments */
	/* PowerPC ELFv1: a function's symbol is at its descriptor in .opd, which has the address. */
	uint8_t *opd;
	uint64_t opd_size;
	uint64_t opd_address;
	uint32_t opd_section; /* 0: none */
};

static void code_ranges_deinit(struct code_ranges *code)
{
	vec_deinit(&code->sections);
	vec_deinit(&code->search);
	free(code->opd);
	*code = (struct code_ranges){};
}

static struct range range_of(uint64_t start, uint64_t size)
{
	struct range range = {start, start};
	if (__builtin_add_overflow(start, size, &range.end))
		range.end = UINT64_MAX;
	return range;
}

static int add_to_search(struct code_ranges *code, struct range range)
{
	return code->search.n < SEARCH_MAX ? vec_push(&code->search, range) : 0;
}

static int add_sections(struct code_ranges *code, const struct elf *elf)
{
	int r = 0;
	vec_foreach(s, &elf->sections) {
		bool is_code = s->flags & SHF_ALLOC && s->flags & SHF_EXECINSTR;
		/* In a relocatable object nothing has an address yet; what stands for it is the offset. */
		uint64_t start = elf->type == ET_REL ? s->offset : s->address;
		struct range range = range_of(start, is_code ? s->size : 0);
		r = vec_push(&code->sections, range);
		if (r == 0 && range.start < range.end)
			r = add_to_search(code, range);
		if (r < 0)
			break;
	}
	return r;
}

static int add_segments(struct code_ranges *code, const struct elf *elf)
{
	int r = 0;
	vec_foreach(h, &elf->program_headers) {
		if (h->type == PT_LOAD && h->flags & PF_X && r == 0)
			r = add_to_search(code, range_of(h->vaddr, h->file_size));
	}
	return r;
}

static int load_opd(struct code_ranges *code, struct elf *elf)
{
	if (elf->machine != EM_PPC64 || (elf->flags & EF_PPC64_ABI) == 2)
		return 0;
	const struct elf_section *opd = elf_find_section(elf, ".opd");
	if (!opd)
		return 0;
	int r = elf_section_data(elf, opd, SYMBOL_TABLE_MAX, &code->opd, &code->opd_size, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	code->opd_section = (uint32_t)(opd - elf->sections.items);
	code->opd_address = opd->address;
	return 0;
}

static int code_ranges_init(struct code_ranges *code, struct elf *elf)
{
	*code = (struct code_ranges){};
	int r = elf_load_sections(elf, NULL) == 0 ? add_sections(code, elf) : 0;
	if (r == 0 && !code->search.n) {
		code->sections.n = 0;
		r = add_segments(code, elf);
	}
	return r < 0 ? r : load_opd(code, elf);
}

static const struct range *find_range(const struct code_ranges *code, uint64_t address)
{
	vec_foreach(range, &code->search) {
		if (address >= range->start && address < range->end)
			return range;
	}
	return NULL;
}

/* The code that a symbol's address lies in. Its section number is not needed, but saves a search. */
static const struct range *code_of(const struct code_ranges *code, uint16_t section,
				   uint64_t address)
{
	if (!code->sections.n || section >= SHN_LORESERVE || section == code->opd_section)
		return find_range(code, address);
	if (section >= code->sections.n)
		return NULL;
	const struct range *range = &code->sections.items[section];
	return address >= range->start && address < range->end ? range : NULL;
}

/* ---- symbols of one table -------------------------------------------------------------------- */

struct raw_symbol {
	uint32_t name;
	uint8_t type;
	uint8_t bind;
	uint16_t section;
	uint64_t value;
	uint64_t size;
};

static struct raw_symbol parse_symbol(const struct elf *elf, const uint8_t *p)
{
	struct raw_symbol s = {.name = elf_u32(elf, p)};
	uint8_t info;
	if (elf->is64) {
		info = p[4];
		s.section = elf_u16(elf, p + 6);
		s.value = elf_u64(elf, p + 8);
		s.size = elf_u64(elf, p + 16);
	} else {
		s.value = elf_u32(elf, p + 4);
		s.size = elf_u32(elf, p + 8);
		info = p[12];
		s.section = elf_u16(elf, p + 14);
	}
	s.type = ELF64_ST_TYPE(info);
	s.bind = ELF64_ST_BIND(info);
	return s;
}

static bool may_be_code(const struct raw_symbol *s)
{
	if (s->type != STT_FUNC && s->type != STT_GNU_IFUNC && s->type != STT_NOTYPE)
		return false;
	return s->section != SHN_UNDEF && (s->section < SHN_LORESERVE || s->section == SHN_XINDEX);
}

/* The address of the first instruction. */
static uint64_t code_address(const struct elf *elf, const struct code_ranges *code,
			     const struct raw_symbol *s)
{
	/* Bit 0 tells the instruction set (Thumb, MIPS16), it is no part of the address. */
	if ((elf->machine == EM_ARM || elf->machine == EM_MIPS) && s->type != STT_NOTYPE)
		return s->value & ~UINT64_C(1);
	if (code->opd_section && s->section == code->opd_section) {
		uint64_t offset = s->value - code->opd_address;
		if (offset < code->opd_size && code->opd_size - offset >= 8)
			return elf_u64(elf, code->opd + offset);
	}
	return s->value;
}

struct symbol_table {
	const uint8_t *symbols; /* not owned */
	uint64_t size;
	const char *strings;    /* ends in NUL; owned by the list */
	uint64_t strings_size;
};

static int add_symbol(struct symbol_list *list, const struct elf *elf,
		      const struct code_ranges *code, const struct symbol_table *table,
		      const struct raw_symbol *raw)
{
	if (!may_be_code(raw) || raw->name >= table->strings_size)
		return 0;
	const char *name = table->strings + raw->name;
	if (!symbol_name_counts(name, raw->type))
		return 0;
	uint64_t start = code_address(elf, code, raw);
	if (elf->type == ET_REL && raw->section < elf->sections.n)
		start += elf->sections.items[raw->section].offset;
	const struct range *range = code_of(code, raw->section, start);
	struct range own = range_of(start, raw->size);
	/* Some tools write debug files that no longer say where code is; functions with a size still do. */
	if (!code->search.n && raw->type != STT_NOTYPE && raw->size)
		range = &own;
	if (!range)
		return 0;
	uint64_t end = range->end;
	if (raw->size && raw->size < end - start)
		end = start + raw->size;
	return vec_push(&list->symbols, (struct symbol){
						.start = start,
						.end = end,
						.name = name,
						.rank = symbol_rank(name, raw->type, raw->bind),
						.has_size = raw->size != 0,
					});
}

/* Adds a table's symbols; their number, or -ENOMEM. */
static int64_t add_symbols(struct symbol_list *list, const struct elf *elf,
			   const struct code_ranges *code, const struct symbol_table *table)
{
	size_t before = list->symbols.n;
	size_t entry = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	for (uint64_t at = 0; table->size - at >= entry; at += entry) {
		struct raw_symbol raw = parse_symbol(elf, table->symbols + at);
		int r = add_symbol(list, elf, code, table, &raw);
		if (r < 0)
			return r;
	}
	return (int64_t)(list->symbols.n - before);
}

/* Hands a string table over to the list. */
static int keep_strings(struct symbol_list *list, uint8_t **strings)
{
	int r = vec_push(&list->tables, *strings);
	if (r == 0)
		*strings = NULL;
	return r;
}

static int64_t add_section(struct symbol_list *list, struct elf *elf,
			   const struct code_ranges *code, const struct elf_section *section)
{
	if (!section || section->link >= elf->sections.n)
		return 0;
	_cleanup_free_ uint8_t *symbols = NULL, *strings = NULL;
	struct symbol_table table = {};
	struct mw_error e;
	int r = elf_section_data(elf, section, SYMBOL_TABLE_MAX, &symbols, &table.size, &e);
	if (r == 0)
		r = elf_section_data(elf, &elf->sections.items[section->link], SYMBOL_TABLE_MAX,
				     &strings, &table.strings_size, &e);
	if (r == -ENODATA || (r == 0 && !strings))
		return 0; /* no bytes for it in this file: a file with debug information only */
	if (r < 0) {
		note_damage(list, &e);
		return r == -ENOMEM ? r : 0;
	}
	table.symbols = symbols;
	table.strings = (const char *)strings;
	r = keep_strings(list, &strings);
	return r < 0 ? r : add_symbols(list, elf, code, &table);
}

/* ---- .gnu_debugdata: an ELF file, packed with xz, with the symbols that .dynsym has not ------- */

static int64_t add_inner_file(struct symbol_list *list, const uint8_t *data, uint64_t size)
{
	struct elf inner;
	struct code_ranges code;
	struct mw_error e;
	int r = elf_open_memory(&inner, data, size, &e);
	if (r < 0) {
		error_prefix(&e, r, ".gnu_debugdata");
		note_damage(list, &e);
		return r == -ENOMEM ? r : 0;
	}
	int64_t n = code_ranges_init(&code, &inner);
	if (n == 0)
		n = add_section(list, &inner, &code, elf_find_section_of_type(&inner, SHT_SYMTAB));
	code_ranges_deinit(&code);
	elf_deinit(&inner);
	return n;
}

static int64_t add_debugdata(struct symbol_list *list, struct elf *elf)
{
	const struct elf_section *section = elf_find_section(elf, ".gnu_debugdata");
	if (!section)
		return 0;
	_cleanup_free_ uint8_t *packed = NULL, *data = NULL;
	uint64_t packed_size, size = 0;
	struct mw_error e;
	int r = elf_section_data(elf, section, DEBUGDATA_MAX, &packed, &packed_size, &e);
	if (r == 0) {
		r = unpack_xz(packed, packed_size, DEBUGDATA_MAX, &data, &size);
		if (r < 0)
			error_errno(&e, r, ".gnu_debugdata cannot be unpacked");
	}
	if (r < 0) {
		note_damage(list, &e);
		return r == -ENOMEM ? r : 0;
	}
	return add_inner_file(list, data, size);
}

/* ---- the dynamic segment --------------------------------------------------------------------- */

enum { TAG_SYMTAB, TAG_STRTAB, TAG_STRSZ, TAG_HASH, TAG_GNU_HASH, N_TAGS };

/* Bytes of the file from an address to the end of the segment that is loaded there; 0 if none is. */
static uint64_t bytes_from(const struct elf *elf, uint64_t address, uint64_t *ret_offset)
{
	vec_foreach(h, &elf->program_headers) {
		if (h->type != PT_LOAD || address < h->vaddr || address - h->vaddr >= h->file_size)
			continue;
		uint64_t inside = address - h->vaddr;
		if (__builtin_add_overflow(h->offset, inside, ret_offset) ||
		    *ret_offset >= elf->source.size)
			return 0;
		return MIN(h->file_size - inside, elf->source.size - *ret_offset);
	}
	return 0;
}

/* DT_HASH: the number of chains is the number of symbols. */
static uint64_t count_by_hash(const struct elf *elf, uint64_t address)
{
	uint8_t bytes[8];
	uint64_t offset;
	if (!address || bytes_from(elf, address, &offset) < sizeof bytes ||
	    source_read(&elf->source, offset, bytes, sizeof bytes) < 0)
		return 0;
	return elf_u32(elf, bytes + 4);
}

/* The highest symbol that a bucket points to; the hashed symbols are the last of the table. */
static uint64_t last_of_buckets(const struct elf *elf, const uint8_t *buckets, uint32_t n)
{
	uint64_t last = 0;
	for (uint32_t i = 0; i < n; i++)
		last = MAX(last, elf_u32(elf, buckets + 4 * (uint64_t)i));
	return last;
}

/*
 * DT_GNU_HASH: u32 n_buckets, first symbol, bloom words, bloom shift; bloom filter; buckets; one u32
 * for each hashed symbol, of which bit 0 ends a bucket's run.
 */
static uint64_t count_by_gnu_hash(const struct elf *elf, uint64_t address)
{
	uint64_t offset;
	uint64_t size = address ? bytes_from(elf, address, &offset) : 0;
	_cleanup_free_ uint8_t *bytes = NULL;
	if (size < 16 ||
	    source_read_new(&elf->source, offset, MIN(size, SYMBOL_TABLE_MAX), SIZE_MAX, &bytes) < 0)
		return 0;
	struct cursor c = cursor_init(bytes, MIN(size, SYMBOL_TABLE_MAX), elf->swap);
	uint32_t n_buckets = cursor_u32(&c), first = cursor_u32(&c), n_bloom = cursor_u32(&c);
	cursor_u32(&c);
	cursor_bytes(&c, (uint64_t)n_bloom * (elf->is64 ? 8 : 4));
	const uint8_t *buckets = cursor_bytes(&c, (uint64_t)n_buckets * 4);
	if (!buckets)
		return 0;
	uint64_t last = last_of_buckets(elf, buckets, n_buckets);
	if (last < first)
		return first; /* nothing is hashed, so nothing is defined */
	if (!cursor_bytes(&c, (last - first) * 4))
		return 0;
	do {
		last++;
	} while (!(cursor_u32(&c) & 1) && cursor_ok(&c));
	return last;
}

/*
 * How many bytes the symbol table has. No tag says it; the hash tables do, and a linker puts the
 * strings behind the symbols.
 */
static uint64_t dynamic_table_size(const struct elf *elf, const uint64_t values[N_TAGS],
				   uint64_t most)
{
	uint64_t entry = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t n = count_by_hash(elf, values[TAG_HASH]);
	if (!n)
		n = count_by_gnu_hash(elf, values[TAG_GNU_HASH]);
	if (!n && values[TAG_STRTAB] > values[TAG_SYMTAB])
		n = (values[TAG_STRTAB] - values[TAG_SYMTAB]) / entry;
	return MIN(MIN(n, UINT32_MAX) * entry, most);
}

static int64_t add_dynamic(struct symbol_list *list, struct elf *elf,
			   const struct code_ranges *code)
{
	static const int64_t tags[N_TAGS] = {DT_SYMTAB, DT_STRTAB, DT_STRSZ, DT_HASH, DT_GNU_HASH};
	uint64_t values[N_TAGS], symbols_at, strings_at;
	struct mw_error e = {};
	int r = elf_dynamic(elf, tags, N_TAGS, values, &e);
	if (r < 0)
		return 0; /* a static program has none */
	uint64_t most = bytes_from(elf, values[TAG_SYMTAB], &symbols_at);
	struct symbol_table table = {.size = dynamic_table_size(elf, values, most)};
	table.strings_size = MIN(bytes_from(elf, values[TAG_STRTAB], &strings_at), values[TAG_STRSZ]);
	if (!table.size || !table.strings_size)
		return 0;
	_cleanup_free_ uint8_t *symbols = NULL, *strings = NULL;
	r = source_read_new(&elf->source, symbols_at, table.size, SYMBOL_TABLE_MAX, &symbols);
	if (r == 0)
		r = source_read_new(&elf->source, strings_at, table.strings_size, SYMBOL_TABLE_MAX,
				    &strings);
	if (r < 0) {
		error_errno(&e, r, "cannot read the dynamic symbols");
		note_damage(list, &e);
		return r == -ENOMEM ? r : 0;
	}
	table.symbols = symbols;
	table.strings = (const char *)strings;
	r = keep_strings(list, &strings);
	return r < 0 ? r : add_symbols(list, elf, code, &table);
}

/* ---- the best of the tables ------------------------------------------------------------------ */

/*
 * .symtab has what .dynsym has, unless somebody kept but a few symbols when stripping: then both are
 * used.
 */
static int64_t collect_sections(struct symbol_list *list, struct elf *elf,
				const struct code_ranges *code)
{
	const struct elf_section *symtab = elf_find_section_of_type(elf, SHT_SYMTAB);
	const struct elf_section *dynsym = elf_find_section_of_type(elf, SHT_DYNSYM);
	int64_t n = add_section(list, elf, code, symtab);
	if (n > 0)
		list->source = SYMBOL_SOURCE_SYMTAB;
	if (n > 0 && (!dynsym || dynsym->size <= symtab->size))
		return n;
	if (n == 0) {
		n = add_debugdata(list, elf);
		if (n > 0)
			list->source = SYMBOL_SOURCE_DEBUGDATA;
	}
	if (n < 0)
		return n;
	int64_t more = add_section(list, elf, code, dynsym);
	if (more > 0 && !list->source)
		list->source = SYMBOL_SOURCE_DYNSYM;
	return more < 0 ? more : n + more;
}

static int64_t collect(struct symbol_list *list, struct elf *elf, const struct code_ranges *code)
{
	struct mw_error e;
	int r = elf_load_sections(elf, &e);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && r != -ENODATA)
		note_damage(list, &e);
	int64_t n = r == 0 ? collect_sections(list, elf, code) : 0;
	if (n)
		return n;
	n = add_dynamic(list, elf, code);
	if (n > 0)
		list->source = SYMBOL_SOURCE_DYNAMIC;
	return n;
}

int symbol_list_collect(struct symbol_list *list, struct elf *elf, struct mw_error *e)
{
	struct code_ranges code;
	int64_t n = code_ranges_init(&code, elf);
	if (n == 0)
		n = collect(list, elf, &code);
	code_ranges_deinit(&code);
	if (n < 0)
		return error_set(e, (int)n, "out of memory for the file's symbols");
	if (n > 0)
		return 0;
	if (list->damage.code) {
		if (e)
			*e = list->damage;
		return list->damage.code;
	}
	return error_set(e, -ENODATA, "the file has no function symbols");
}
