/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/go.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "unwind/rule.h"

#include <string.h>

#define TABLE_MAX     (UINT64_C(256) << 20)
#define FUNCTIONS_MAX (UINT32_C(1) << 22)
#define PAIRS_MAX     65536 /* of one function */
#define DEPTH_MAX     (1 << 30)

#define MAGIC_1_16 0xfffffffa
#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1

/* runtime.funcFlag */
#define FLAG_TOP_FRAME 1
#define FLAG_SP_WRITE  2
#define FLAG_ASSEMBLY  4

struct go_table {
	struct cursor bytes;
	uint32_t magic;
	uint8_t quantum;
	uint64_t n_functions;
	uint64_t text;	    /* that functions are relative to; 0 before 1.18 */
	uint64_t names;	    /* offsets */
	uint64_t pctab;
	uint64_t functions; /* also of what offsets of functions are relative to */
};

struct go_function {
	uint64_t begin; /* addresses */
	uint64_t end;
	uint32_t name;	 /* offset in names */
	uint32_t depths; /* offset in pctab; 0: none */
	uint8_t flags;
};

static int read_header(struct go_table *table)
{
	struct cursor c = table->bytes;
	table->magic = cursor_u32(&c);
	cursor_u16(&c);
	table->quantum = cursor_u8(&c);
	uint8_t pointer_size = cursor_u8(&c);
	if (pointer_size != 8 || (table->magic != MAGIC_1_16 && table->magic != MAGIC_1_18 &&
				  table->magic != MAGIC_1_20))
		return -ENOTSUP;
	table->n_functions = cursor_u64(&c);
	cursor_u64(&c); /* count of files */
	if (table->magic != MAGIC_1_16)
		table->text = cursor_u64(&c);
	table->names = cursor_u64(&c);
	cursor_u64(&c); /* compilation units */
	cursor_u64(&c); /* names of files */
	table->pctab = cursor_u64(&c);
	table->functions = cursor_u64(&c);
	return cursor_ok(&c) && table->n_functions <= FUNCTIONS_MAX && table->quantum ? 0
										      : -EBADMSG;
}

/* The start of function number i, or the end of the last one, and where its description is. */
static bool read_place(const struct go_table *table, uint64_t i, uint64_t *address,
		       uint64_t *description)
{
	bool is_narrow = table->magic != MAGIC_1_16;
	struct cursor c = table->bytes;
	uint64_t at;
	if (__builtin_add_overflow(table->functions, i * (is_narrow ? 8 : 16), &at))
		return false;
	cursor_seek(&c, at);
	*address = is_narrow ? table->text + cursor_u32(&c) : cursor_u64(&c);
	if (i < table->n_functions)
		*description = is_narrow ? cursor_u32(&c) : cursor_u64(&c);
	return cursor_ok(&c);
}

static bool read_function(const struct go_table *table, uint64_t i, struct go_function *ret)
{
	uint64_t description, unused, at;
	struct cursor c = table->bytes;
	if (!read_place(table, i, &ret->begin, &description) ||
	    !read_place(table, i + 1, &ret->end, &unused) ||
	    __builtin_add_overflow(table->functions, description, &at))
		return false;
	cursor_seek(&c, at);
	cursor_bytes(&c, table->magic == MAGIC_1_16 ? 8 : 4); /* entry */
	ret->name = cursor_u32(&c);
	cursor_bytes(&c, 8); /* args, deferreturn */
	ret->depths = cursor_u32(&c);
	cursor_bytes(&c, 16); /* pcfile, pcln, npcdata, unit */
	if (table->magic == MAGIC_1_20)
		cursor_u32(&c); /* first line */
	cursor_u8(&c);		/* which of those that the runtime knows */
	ret->flags = cursor_u8(&c);
	return cursor_ok(&c) && ret->end > ret->begin;
}

static uint32_t read_varint(struct cursor *c)
{
	uint64_t value = cursor_uleb(c);
	if (value > UINT32_MAX)
		c->failed = true;
	return (uint32_t)value;
}

static struct unwind_rule rule_of_function(const struct go_function *f, int32_t depth)
{
	struct unwind_rule rule = rule_of_depth(depth + 8);
	/* Compiled code keeps the frame pointer right below the return address. */
	if (depth >= 8)
		rule.saved[0] = f->flags & FLAG_ASSEMBLY ? UNWIND_UNDEFINED : -2;
	/* Go keeps no other register through calls. */
	for (unsigned i = 1; i < UNWIND_N_SAVED; i++)
		rule.saved[i] = UNWIND_UNDEFINED;
	return rule;
}

static int add_depths(const struct go_table *table, const struct go_function *f, plain_list *ret)
{
	struct cursor c = table->bytes;
	uint64_t at, begin = f->begin;
	int64_t depth = -1;
	if (__builtin_add_overflow(table->pctab, f->depths, &at) || !cursor_seek(&c, at))
		return 0;
	for (uint32_t i = 0; i < PAIRS_MAX && begin < f->end; i++) {
		uint32_t change = read_varint(&c);
		if (!change && i)
			return 0;
		depth += change & 1 ? ~(int64_t)(change >> 1) : (int64_t)(change >> 1);
		uint64_t end = begin + (uint64_t)read_varint(&c) * table->quantum;
		end = MIN(end, f->end);
		if (!cursor_ok(&c) || depth < 0 || depth > DEPTH_MAX || depth % 8)
			return 0;
		if (end <= begin)
			continue;
		int r = plain_add(ret, begin, end, rule_of_function(f, (int32_t)depth));
		if (r < 0)
			return r;
		begin = end;
	}
	return 0;
}

static const char *name_of(const struct go_table *table, const struct go_function *f)
{
	struct cursor c = table->bytes;
	uint64_t at;
	if (__builtin_add_overflow(table->names, f->name, &at) || !cursor_seek(&c, at))
		return "";
	const char *name = cursor_string(&c);
	return name ? name : "";
}

/* The functions that ask the vdso for the time, on the stack of the runtime. */
static bool is_clock(const char *name)
{
	static const char *const names[] = {"runtime.nanotime1", "runtime.walltime", "time.now"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Where mov %rsp, %r12 ends, with which they keep their stack pointer; 0: it is not there. */
static uint64_t find_kept(const struct unwind_build *build, const struct go_function *f)
{
	static const uint8_t keep[] = {0x49, 0x89, 0xe4};
	uint8_t code[64];
	uint64_t offset;
	size_t size = (size_t)MIN(f->end - f->begin, sizeof code);
	if (elf_address_to_offset(build->elf, f->begin, &offset) != 1 ||
	    source_read(&build->elf->source, offset, code, size) < 0)
		return 0;
	const uint8_t *at = memmem(code, size, keep, sizeof keep);
	return at ? f->begin + (uint64_t)(at - code) + sizeof keep : 0;
}

/* By the stack pointer as it was kept, from there on; by its depth before. */
static int add_clock(const struct unwind_build *build, const struct go_table *table,
		     const struct go_function *f, plain_list *ret)
{
	uint64_t kept = find_kept(build, f);
	struct unwind_rule rule = {.kind = UNWIND_UNSUPPORTED};
	plain_list depths = {};
	int r = add_depths(table, f, &depths);
	vec_foreach(range, &depths) {
		if (r < 0 || range->address >= kept)
			break;
		rule = range->rule;
		r = plain_add(ret, range->address, MIN(range->end, kept), rule);
	}
	vec_deinit(&depths);
	if (r < 0)
		return r;
	if (rule.kind == UNWIND_RULE) {
		rule.cfa_register = 12;
		rule.flags |= UNWIND_RULE_SWITCHES;
	}
	return plain_add(ret, MAX(kept, f->begin), f->end, rule);
}

static int add_plain_rule(const struct go_function *f, enum unwind_kind kind, plain_list *ret)
{
	return plain_add(ret, f->begin, f->end, (struct unwind_rule){.kind = (uint8_t)kind});
}

/* mcall leaves the goroutine's stack for the scheduler's for good: what runs on it has no caller. */
static int add_function(const struct unwind_build *build, const struct go_table *table,
			const struct go_function *f, plain_list *ret)
{
	if (f->flags & FLAG_TOP_FRAME)
		return add_plain_rule(f, UNWIND_END, ret);
	if (f->flags & FLAG_SP_WRITE) {
		const char *name = name_of(table, f);
		if (is_clock(name))
			return add_clock(build, table, f, ret);
		bool is_mcall = strcmp(name, "runtime.mcall") == 0;
		return add_plain_rule(f, is_mcall ? UNWIND_END : UNWIND_UNSUPPORTED, ret);
	}
	return f->depths ? add_depths(table, f, ret)
			 : plain_add(ret, f->begin, f->end, rule_of_function(f, 0));
}

static int open_table(struct elf *elf, struct go_table *ret, uint8_t **data)
{
	const struct elf_section *section = elf_find_section(elf, ".gopclntab");
	uint64_t size;
	if (!section)
		section = elf_find_section(elf, ".data.rel.ro.gopclntab");
	if (!section)
		return -ENODATA;
	int r = elf_section_data(elf, section, TABLE_MAX, data, &size, NULL);
	if (r < 0)
		return r;
	*ret = (struct go_table){.bytes = cursor_init(*data, size, false)};
	return read_header(ret);
}

int go_find(const struct unwind_build *build, plain_list *ret)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct go_table table;
	if (build->elf->machine != EM_X86_64)
		return 0;
	int r = open_table(build->elf, &table, &data);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (!table.text && table.magic != MAGIC_1_16) { /* set when it is loaded */
		const struct elf_section *text = elf_find_section(build->elf, ".text");
		table.text = text ? text->address : 0;
	}
	for (uint64_t i = 0; i < table.n_functions; i++) {
		struct go_function f;
		r = read_function(&table, i, &f) ? add_function(build, &table, &f, ret) : 0;
		if (r < 0)
			return r == -EFBIG ? 0 : r;
	}
	return 0;
}
