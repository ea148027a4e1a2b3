/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/kernel.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/sort.h"
#include "base/vec.h"
#include "elf/identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KALLSYMS_MAX (UINT64_C(256) << 20)
#define NOTES_FILE_MAX (1 << 20)
#define MODULES_MAX  UINT16_MAX
#define PAGE         4096
/* No function of the kernel is longer. */
#define FUNCTION_MAX (1 << 20)
#define END_OF_TEXT  UINT32_MAX

/*
 *	functions  start size name module, ascending, one for each address
 *	names      "\0" "srso_alias_untrain_ret\0" ...
 *	modules    offsets in names; number 0 is the kernel itself
 */
struct function {
	uint64_t start;
	uint32_t size;
	uint32_t name;
	uint16_t module;
};

struct kernel_symbols {
	VEC(struct function) functions;
	struct buffer names;
	VEC(uint32_t) modules;
	uint64_t text; /* address of _text */
};

void kernel_symbols_close(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	vec_deinit(&symbols->functions);
	vec_deinit(&symbols->modules);
	buffer_deinit(&symbols->names);
	free(symbols);
}

DEFINE_CLEANUP(struct kernel_symbols *, kernel_symbols_close)

static const char *name_at(const struct kernel_symbols *symbols, uint32_t offset)
{
	return (const char *)symbols->names.data + offset;
}

/* ---- reading lines --------------------------------------------------------------------------- */

struct text {
	const char *p;
	size_t n;
};

struct line {
	uint64_t address;
	char type;
	struct text name;
	struct text module; /* empty for the kernel itself */
};

/* Up to a separator, which is skipped. */
static struct text take_word(struct text *rest, char separator)
{
	const char *end = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
	struct text word = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
	size_t used = word.n + (end != NULL);
	rest->p += used;
	rest->n -= used;
	return word;
}

static bool parse_hex(struct text digits, uint64_t *ret)
{
	uint64_t v = 0;
	for (size_t i = 0; i < digits.n; i++) {
		unsigned c = (uint8_t)digits.p[i], digit = c - '0';
		if (digit > 9) {
			digit = (c | 0x20) - 'a' + 10;
			if (digit < 10 || digit > 15)
				return false;
		}
		v = v << 4 | digit;
	}
	*ret = v;
	return digits.n > 0 && digits.n <= 16;
}

/* "ffffffffc0203000 t ftrace_trampoline\t[__builtin__ftrace]" */
static bool parse_line(struct text text, struct line *ret)
{
	struct text address = take_word(&text, ' ');
	struct text type = take_word(&text, ' ');
	ret->name = take_word(&text, '\t');
	ret->module = (struct text){};
	if (text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
		ret->module = (struct text){text.p + 1, text.n - 2};
	if (type.n != 1 || !ret->name.n || !parse_hex(address, &ret->address))
		return false;
	ret->type = type.p[0];
	return true;
}

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* ---- building the table ---------------------------------------------------------------------- */

/* One line, as long as they are not sorted. */
struct entry {
	uint64_t address;
	uint32_t name; /* 0: an end, not a name; END_OF_TEXT: nothing that starts there has one */
	uint16_t module;
	char type;
};

struct builder {
	struct kernel_symbols *symbols;
	VEC(struct entry) entries;
	bool has_address; /* of a function, other than 0 */
};

static uint32_t add_text(struct kernel_symbols *symbols, struct text text)
{
	uint32_t offset = (uint32_t)symbols->names.n;
	char *p = (char *)buffer_extend(&symbols->names, text.n + 1);
	if (p)
		memcpy(p, text.p, text.n);
	return offset;
}

static bool is_module(const struct kernel_symbols *symbols, uint32_t i, struct text name)
{
	const char *known = name_at(symbols, symbols->modules.items[i]);
	return strlen(known) == name.n && memcmp(known, name.p, name.n) == 0;
}

/* The symbols of a module stand together, so its number is nearly always that of the line before. */
static int module_number(struct kernel_symbols *symbols, struct text name, uint16_t *inout)
{
	if (name.n == 0)
		*inout = 0;
	if (name.n == 0 || is_module(symbols, *inout, name))
		return 0;
	for (uint32_t i = 0; i < symbols->modules.n; i++) {
		if (is_module(symbols, i, name)) {
			*inout = (uint16_t)i;
			return 0;
		}
	}
	if (symbols->modules.n > MODULES_MAX)
		return -E2BIG;
	int r = vec_push(&symbols->modules, add_text(symbols, name));
	if (r == 0)
		*inout = (uint16_t)(symbols->modules.n - 1);
	return symbols->names.failed ? -ENOMEM : r;
}

static bool ends_with(struct text text, const char *end)
{
	size_t n = strlen(end);
	return text.n >= n && memcmp(text.p + text.n - n, end, n) == 0;
}

/* Labels of the linker script: where a part of the text begins or ends. */
static bool is_marker(struct text name)
{
	static const char *const markers[] = {"_text",      "_stext",           "_sinittext",
					      "_einittext", "_sexittext",       "_eexittext",
					      "_end",       "__init_begin",     "__init_end",
					      "__inittext_begin", "__inittext_end"};
	if (name.p[0] != '_')
		return false;
	if (ends_with(name, "_text_start") || ends_with(name, "_text_end"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(markers); i++) {
		if (strlen(markers[i]) == name.n && memcmp(markers[i], name.p, name.n) == 0)
			return true;
	}
	return false;
}

/* Of the assembler, not of anybody: $a, $d, $x in the kallsyms of ARM, .L labels. */
static bool is_mapping_symbol(struct text name)
{
	return name.p[0] == '$' || (name.n > 1 && name.p[0] == '.' && name.p[1] == 'L');
}

static int add_line(struct builder *b, const struct line *line, uint16_t *module)
{
	if (is_mapping_symbol(line->name))
		return 0;
	int r = module_number(b->symbols, line->module, module);
	if (r < 0)
		return r;
	struct entry entry = {.address = line->address, .module = *module, .type = line->type};
	if (is_text(line->type)) {
		b->has_address = b->has_address || line->address;
		if (line->name.n == 5 && memcmp(line->name.p, "_text", 5) == 0 && !*module)
			b->symbols->text = line->address;
		if (line->name.n == 6 && memcmp(line->name.p, "_etext", 6) == 0)
			entry.name = END_OF_TEXT;
		else if (!is_marker(line->name))
			entry.name = add_text(b->symbols, line->name);
	}
	r = vec_push(&b->entries, entry);
	return b->symbols->names.failed ? -ENOMEM : r;
}

static int add_lines(struct builder *b, struct text text)
{
	uint16_t module = 0;
	while (text.n) {
		struct line line;
		if (!parse_line(take_word(&text, '\n'), &line))
			continue;
		int r = add_line(b, &line, &module);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Of several names of one address: global before weak before local, then the first one. */
static int rank_of(const struct entry *entry)
{
	return entry->type == 'T' ? 0 : entry->type == 't' ? 2 : 1;
}

static const struct entry *best_of(const struct entry *const *group, size_t n)
{
	const struct entry *best = NULL;
	for (size_t i = 0; i < n; i++) {
		if (group[i]->name == END_OF_TEXT)
			return NULL;
		if (group[i]->name && (!best || rank_of(group[i]) < rank_of(best)))
			best = group[i];
	}
	return best;
}

/* How far a function's name reaches, when the next symbol is `next` (NULL: it is the last). */
static uint64_t end_of(const struct entry *entry, const struct entry *next)
{
	if (next && next->module == entry->module && is_text(next->type) &&
	    next->address - entry->address <= FUNCTION_MAX)
		return next->address;
	uint64_t end = (entry->address | (PAGE - 1)) + 1;
	if (end == 0) /* the last page there is */
		end = UINT64_MAX;
	return next ? MIN(end, next->address) : end;
}

static int add_function(struct kernel_symbols *symbols, const struct entry *entry, uint64_t end)
{
	return vec_push(&symbols->functions,
			(struct function){.start = entry->address,
					  .size = (uint32_t)(end - entry->address),
					  .name = entry->name,
					  .module = entry->module});
}

/* Of symbols at one address that lie in different modules, the function's own one counts. */
static const struct entry *next_of(const struct entry *entry, const struct entry *const *group,
				   size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (group[i]->module == entry->module && is_text(group[i]->type))
			return group[i];
	}
	return n ? group[0] : NULL;
}

static size_t group_size(const struct entry *const *sorted, size_t n)
{
	size_t size = n ? 1 : 0;
	while (size < n && sorted[size]->address == sorted[0]->address)
		size++;
	return size;
}

static int add_functions(struct kernel_symbols *symbols, const struct entry *const *sorted, size_t n)
{
	size_t size = group_size(sorted, n);
	while (n) {
		const struct entry *best = best_of(sorted, size);
		const struct entry *const *next = sorted + size;
		size_t next_size = group_size(next, n - size);
		if (best && best->address) {
			uint64_t end = end_of(best, next_of(best, next, next_size));
			int r = add_function(symbols, best, end);
			if (r < 0)
				return r;
		}
		sorted = next;
		n -= size;
		size = next_size;
	}
	return 0;
}

static int sort_and_add(struct builder *b)
{
	size_t n = b->entries.n;
	_cleanup_free_ struct sort_item *order = malloc((n + 1) * sizeof *order);
	_cleanup_free_ const struct entry **sorted = malloc((n + 1) * sizeof *sorted);
	if (!order || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct sort_item){b->entries.items[i].address, i};
	int r = sort_items(order, n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &b->entries.items[order[i].value];
	return add_functions(b->symbols, sorted, n);
}

static int build(struct builder *b, struct text text)
{
	struct kernel_symbols *symbols = b->symbols;
	buffer_u8(&symbols->names, 0);
	int r = vec_push(&symbols->modules, 0); /* the kernel itself has the empty name */
	if (r == 0 && !symbols->names.failed)
		r = add_lines(b, text);
	return r == 0 && symbols->names.failed ? -ENOMEM : r;
}

int kernel_symbols_parse(const char *text, size_t size, struct kernel_symbols **ret,
			 struct mw_error *e)
{
	_cleanup_(cleanup_kernel_symbols_close) struct kernel_symbols *symbols =
		calloc(1, sizeof *symbols);
	struct builder b = {.symbols = symbols};
	int r = -ENOMEM;
	if (symbols)
		r = size > KALLSYMS_MAX ? -EFBIG : build(&b, (struct text){text, size});
	if (r == 0 && b.has_address)
		r = sort_and_add(&b);
	bool has_lines = b.entries.n > 0;
	vec_deinit(&b.entries);
	if (r < 0)
		return error_errno(e, r, "cannot take the kernel's symbols");
	if (has_lines && !b.has_address)
		return error_set(e, -EPERM,
				 "the kernel hides its symbols: all addresses in kallsyms are zero"
				 " (kernel.kptr_restrict)");
	if (!symbols->functions.n)
		return error_set(e, -ENODATA, "kallsyms has no functions");
	*ret = take_ptr(symbols);
	return 0;
}

int kernel_symbols_open(int root, struct kernel_symbols **ret, struct mw_error *e)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = io_read_text(root, "proc/kallsyms", KALLSYMS_MAX, &text, &size);
	if (r < 0)
		return error_errno(e, r, "cannot read /proc/kallsyms");
	return kernel_symbols_parse(text, size, ret, e);
}

/* ---- looking up ------------------------------------------------------------------------------ */

size_t kernel_symbols_count(const struct kernel_symbols *symbols)
{
	return symbols->functions.n;
}

int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			struct kernel_symbol *ret)
{
	const struct function *functions = symbols->functions.items;
	size_t low = 0, high = symbols->functions.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - functions[low - 1].start >= functions[low - 1].size)
		return 0;
	const struct function *f = &functions[low - 1];
	*ret = (struct kernel_symbol){
		.name = name_at(symbols, f->name),
		.module = f->module ? name_at(symbols, symbols->modules.items[f->module]) : NULL,
		.start = f->start,
		.end = f->start + f->size,
	};
	return 1;
}

/* ---- the kernel's own file ------------------------------------------------------------------- */

uint64_t kernel_symbols_text(const struct kernel_symbols *symbols)
{
	return symbols->text;
}

/* Of so many functions that are compared, most must be in the file under the same name. */
#define COMPARED 256

static bool is_name_of(const struct kernel_symbols *symbols, const struct function *f, const char *name)
{
	return name && strcmp(name_at(symbols, f->name), name) == 0;
}

int kernel_symbols_refine(struct kernel_symbols *symbols, uint64_t text,
			  uint64_t (*ask)(const void *context, uint64_t address, const char **name),
			  const void *context)
{
	size_t n = symbols->functions.n, step = n / COMPARED + 1, compared = 0, same = 0;
	for (size_t i = 0; i < n; i += step) {
		const struct function *f = &symbols->functions.items[i];
		const char *name = NULL;
		if (f->module || f->start < symbols->text)
			continue;
		ask(context, f->start - symbols->text + text, &name);
		compared++;
		same += is_name_of(symbols, f, name);
	}
	if (!symbols->text || !compared || same * 2 < compared)
		return -ESTALE;
	int shorter = 0;
	vec_foreach(f, &symbols->functions) {
		const char *name;
		if (f->module || f->start < symbols->text)
			continue;
		uint64_t start = f->start - symbols->text + text, end = ask(context, start, &name);
		if (end > start && end - start < f->size) {
			f->size = (uint32_t)(end - start);
			shorter++;
		}
	}
	return shorter;
}

/* ---- which kernel ---------------------------------------------------------------------------- */

void kernel_identity_read(int root, const struct kernel_symbols *symbols, struct kernel_identity *ret)
{
	_cleanup_free_ char *boot = NULL;
	*ret = (struct kernel_identity){};
	if (kernel_build_id(root, &ret->id, NULL) < 0)
		ret->id = (struct mw_file_id){};
	if (symbols)
		ret->text = symbols->text;
	if (io_read_text(root, "proc/sys/kernel/random/boot_id", 64, &boot, NULL) == 0)
		snprintf(ret->boot, sizeof ret->boot, "%.*s", (int)strcspn(boot, "\n"), boot);
}

/* The kernel image is in one piece, with at most so much from its beginning. Modules are elsewhere. */
#define IMAGE_MAX (UINT64_C(512) << 20)

int kernel_translate(const struct kernel_identity *there, const struct kernel_identity *here,
		     uint64_t address, uint64_t *ret)
{
	*ret = address;
	if (there->boot[0] && strcmp(there->boot, here->boot) == 0)
		return 1;
	if (!there->id.kind || !mw_file_id_equal(&there->id, &here->id) || !there->text || !here->text ||
	    address - there->text >= IMAGE_MAX)
		return 0;
	*ret = address - there->text + here->text;
	return 1;
}

int kernel_build_id(int root, struct mw_file_id *ret, struct mw_error *e)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = io_read_text(root, "sys/kernel/notes", NOTES_FILE_MAX, &text, &size);
	if (r < 0)
		return error_errno(e, r, "cannot read /sys/kernel/notes");
	struct source source = source_of_memory(text, size);
	if (!source_build_id(&source, 0, size, 4, false, ret) || ret->kind != MW_FILE_ID_GNU)
		return error_set(e, -ENODATA, "the running kernel has no build ID");
	return 0;
}
