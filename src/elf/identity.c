/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/identity.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sha256.h"
#include "elf/notes.h"

#include <string.h>

#define GO_BUILD_ID_TYPE 4
#define GNU_BUILD_ID_MAX 64
#define HTL_PART         4096

/* ---- build IDs from notes -------------------------------------------------------------------- */

/* The first id of each kind so far, and what the search may still cost. */
struct search {
	const struct source *source;
	bool swap;
	struct mw_file_id gnu;
	struct mw_file_id go;
	uint32_t n_notes; /* of all walks: a file may have very many segments over the same notes */
};

static bool is_all_zero(const struct mw_file_id *id)
{
	for (size_t i = 0; i < id->size; i++) {
		if (id->bytes[i])
			return false;
	}
	return true;
}

/* rules_go links everything with this text for an id. */
static bool is_redacted(const struct mw_file_id *id)
{
	return id->size == 8 && memcmp(id->bytes, "redacted", 8) == 0;
}

static bool has_name(const struct note *note, const char name[4])
{
	return note->name_size == 4 && memcmp(note->name, name, 4) == 0;
}

static struct mw_file_id read_id(const struct source *source, const struct note *note, uint8_t kind)
{
	struct mw_file_id id = {.kind = kind, .size = (uint8_t)note->size};
	if (source_read(source, note->offset, id.bytes, note->size) < 0)
		return (struct mw_file_id){};
	return id;
}

static void take_note(struct search *search, const struct note *note)
{
	if (has_name(note, "GNU\0") && note->type == NT_GNU_BUILD_ID && !search->gnu.kind &&
	    note->size > 0 && note->size <= GNU_BUILD_ID_MAX) {
		search->gnu = read_id(search->source, note, MW_FILE_ID_GNU);
		if (is_all_zero(&search->gnu))
			search->gnu.kind = MW_FILE_ID_NONE;
	}
	if (has_name(note, "Go\0\0") && note->type == GO_BUILD_ID_TYPE && !search->go.kind &&
	    note->size > 0 && note->size <= MW_FILE_ID_MAX) {
		search->go = read_id(search->source, note, MW_FILE_ID_GO);
		if (is_all_zero(&search->go) || is_redacted(&search->go))
			search->go.kind = MW_FILE_ID_NONE;
	}
}

/* One walk with one padding. True if the notes filled the range exactly, so the padding was right. */
static bool walk(struct search *search, uint64_t offset, uint64_t size, uint64_t align)
{
	struct notes notes;
	struct note note;
	notes_init(&notes, search->source, offset, size, align, search->swap);
	notes.n = search->n_notes;
	while (!search->gnu.kind && notes_next(&notes, &note))
		take_note(search, &note);
	search->n_notes = notes.n;
	return search->gnu.kind || notes.is_whole;
}

/*
 * Looks through one range of notes. The alignment of a segment does not say how its notes are padded:
 * binutils pads by 8 in segments aligned to 8, others by 4. The one that fits the range is right, and
 * if neither does (the range is cut, or mixed) a build ID that either finds is taken.
 */
static void search_range(struct search *search, uint64_t offset, uint64_t size, uint64_t align)
{
	if (align != 8) {
		walk(search, offset, size, 4);
		return;
	}
	struct search by8 = *search;
	if (walk(&by8, offset, size, 8) && by8.gnu.kind) {
		*search = by8;
		return;
	}
	search->n_notes = by8.n_notes;
	walk(search, offset, size, 4);
	if (!search->go.kind)
		search->go = by8.go;
}

int source_build_id(const struct source *source, uint64_t offset, uint64_t size, uint64_t align,
		    bool swap, struct mw_file_id *ret)
{
	struct search search = {.source = source, .swap = swap};
	search_range(&search, offset, size, align);
	*ret = search.gnu.kind ? search.gnu : search.go;
	return ret->kind != MW_FILE_ID_NONE;
}

struct range {
	uint64_t offset;
	uint64_t size;
	uint64_t align;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

typedef VEC(struct range) range_list;

static void search_ranges(struct search *search, range_list *ranges)
{
	if (ranges->n)
		qsort(ranges->items, ranges->n, sizeof *ranges->items, compare_ranges);
	vec_foreach(range, ranges) {
		if (search->gnu.kind)
			return;
		search_range(search, range->offset, range->size, range->align);
	}
}

static int search_segments(struct search *search, const struct elf *elf)
{
	range_list ranges = {};
	int r = 0;
	vec_foreach(h, &elf->program_headers) {
		if (h->type == PT_NOTE && r == 0)
			r = vec_push(&ranges, (struct range){h->offset, h->file_size, h->align});
	}
	search_ranges(search, &ranges);
	vec_deinit(&ranges);
	return r;
}

static int search_sections(struct search *search, struct elf *elf)
{
	range_list ranges = {};
	int r = elf_load_sections(elf, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	vec_foreach(s, &elf->sections) {
		if (s->type == SHT_NOTE && !(s->flags & SHF_COMPRESSED) && r == 0)
			r = vec_push(&ranges, (struct range){s->offset, s->size, s->align});
	}
	search_ranges(search, &ranges);
	vec_deinit(&ranges);
	return r;
}

/* ---- HTLHASH --------------------------------------------------------------------------------- */

int source_htlhash(const struct source *source, struct mw_file_id *ret)
{
	uint8_t part[HTL_PART], digest[SHA256_SIZE];
	size_t n = MIN(source->size, sizeof part);
	struct sha256 sha = sha256_init();
	int r = source_read(source, 0, part, n);
	if (r < 0)
		return r;
	sha256_add(&sha, part, n);
	r = source_read(source, source->size - n, part, n);
	if (r < 0)
		return r;
	sha256_add(&sha, part, n);
	uint8_t size[8];
	for (int i = 0; i < 8; i++)
		size[i] = (uint8_t)(source->size >> (56 - 8 * i));
	sha256_add(&sha, size, sizeof size);
	sha256_finish(&sha, digest);
	*ret = (struct mw_file_id){.kind = MW_FILE_ID_HTL, .size = 16};
	memcpy(ret->bytes, digest, 16);
	return 0;
}

/* Of larger files this much is read. */
#define CONTENT_MAX (UINT64_C(512) << 20)

static int hash_everything(const struct source *source, struct sha256 *sha)
{
	uint8_t part[65536];
	for (uint64_t at = 0; at < MIN(source->size, CONTENT_MAX);) {
		size_t n = (size_t)MIN(source->size - at, sizeof part);
		int r = source_read(source, at, part, n);
		if (r < 0)
			return r;
		sha256_add(sha, part, n);
		at += n;
	}
	return 0;
}

/* Of all executable segments together, and of all others, this much is read. */
#define LOADED_MAX ((size_t)65536)
#define PAGE	   ((size_t)4096)

/* Where the header of a file tells of its sections, stripping changes it. */
#define SECTIONS_BEGIN 0x20
#define SECTIONS_END   0x40

static int hash_page(const struct source *source, uint64_t offset, size_t n, struct sha256 *sha)
{
	uint8_t page[PAGE];
	int r = source_read(source, offset, page, n);
	if (r < 0)
		return r;
	for (uint64_t i = offset; i < SECTIONS_END && i - offset < n; i++) {
		if (i >= SECTIONS_BEGIN)
			page[i - offset] = 0;
	}
	sha256_add(sha, page, n);
	return 0;
}

/* Head, tail, and pages at equal distances between. */
static int hash_segment(const struct source *source, const struct elf_segment *s, size_t budget,
			struct sha256 *sha)
{
	const uint64_t about[] = {s->vaddr, s->offset, s->file_size, s->mem_size, s->flags};
	sha256_add(sha, about, sizeof about);
	if (s->offset >= source->size)
		return 0;
	uint64_t size = MIN(s->file_size, source->size - s->offset);
	uint64_t n = MIN((size + PAGE - 1) / PAGE, MAX(budget / PAGE, 2));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = size <= n * PAGE ? i * PAGE
			      : i == n - 1     ? size - PAGE
					       : i * ((size - PAGE) / (n - 1));
		int r = hash_page(source, s->offset + at, (size_t)MIN(size - at, PAGE), sha);
		if (r < 0)
			return r;
	}
	return 0;
}

static int hash_loaded(const struct source *source, const struct elf_identity *identity,
		       struct sha256 *sha)
{
	uint32_t n_code = 0;
	for (uint32_t i = 0; i < identity->n_segments; i++)
		n_code += (identity->segments[i].flags & PF_X) != 0;
	uint32_t n_other = identity->n_segments - n_code;
	for (uint32_t i = 0; i < identity->n_segments; i++) {
		const struct elf_segment *s = &identity->segments[i];
		size_t budget = LOADED_MAX / MAX(s->flags & PF_X ? n_code : n_other, 1u);
		int r = hash_segment(source, s, budget, sha);
		if (r < 0)
			return r;
	}
	return 0;
}

int elf_identify_content(const struct source *source, struct elf_identity *identity)
{
	uint8_t digest[SHA256_SIZE];
	struct sha256 sha = sha256_init();
	int r = identity->id.kind == MW_FILE_ID_HTL ? hash_everything(source, &sha)
						    : hash_loaded(source, identity, &sha);
	if (r < 0)
		return r;
	sha256_finish(&sha, digest);
	memcpy(identity->content, digest, ELF_CONTENT_SIZE);
	return 0;
}

struct mw_file_id elf_store_id(const struct mw_file_id *id, const uint8_t content[ELF_CONTENT_SIZE])
{
	struct mw_file_id store_id = *id;
	if (id->kind == MW_FILE_ID_HTL && id->size + ELF_CONTENT_SIZE <= MW_FILE_ID_MAX) {
		memcpy(store_id.bytes + id->size, content, ELF_CONTENT_SIZE);
		store_id.size = (uint8_t)(id->size + ELF_CONTENT_SIZE);
	}
	return store_id;
}

struct mw_file_id elf_store_id_of_another(const struct mw_file_id *id,
					  const uint8_t content[ELF_CONTENT_SIZE])
{
	struct mw_file_id store_id = {.kind = MW_FILE_ID_HTL, .size = SHA256_SIZE};
	struct sha256 sha = sha256_init();
	sha256_add(&sha, &id->kind, 1);
	sha256_add(&sha, id->bytes, id->size);
	sha256_add(&sha, content, ELF_CONTENT_SIZE);
	sha256_finish(&sha, store_id.bytes);
	return store_id;
}

/* ---- the identity ---------------------------------------------------------------------------- */

static int find_id(struct elf *elf, struct mw_file_id *ret, struct mw_error *e)
{
	struct search search = {.source = &elf->source, .swap = elf->swap};
	int r = search_segments(&search, elf);
	if (r == 0 && !search.gnu.kind)
		r = search_sections(&search, elf);
	if (r < 0)
		return error_errno(e, r, "cannot look for the build ID");
	if (search.gnu.kind || search.go.kind) {
		*ret = search.gnu.kind ? search.gnu : search.go;
		return 0;
	}
	r = source_htlhash(&elf->source, ret);
	return r < 0 ? error_errno(e, r, "cannot read the file to identify it") : 0;
}

static void add_segment(struct elf_identity *identity, const struct elf_program_header *h)
{
	if (identity->n_segments == ELF_IDENTITY_SEGMENTS) {
		identity->n_segments_left_out++;
		return;
	}
	identity->segments[identity->n_segments++] = (struct elf_segment){
		.vaddr = h->vaddr,
		.offset = h->offset,
		.file_size = h->file_size,
		.mem_size = h->mem_size,
		.flags = h->flags,
	};
}

static void add_segments(struct elf_identity *identity, const struct elf *elf)
{
	size_t n = 0;
	vec_foreach(h, &elf->program_headers)
		n += h->type == PT_LOAD;
	bool fits = n <= ELF_IDENTITY_SEGMENTS;
	vec_foreach(h, &elf->program_headers) {
		if (h->type == PT_LOAD && (fits || h->flags & PF_X))
			add_segment(identity, h);
	}
	if (fits)
		return;
	vec_foreach(h, &elf->program_headers) {
		if (h->type == PT_LOAD && !(h->flags & PF_X))
			add_segment(identity, h);
	}
}

/* Sections that lie so close to each other are one segment. */
#define SECTION_GAP 4096

/*
 * A relocatable object (a kernel module) is loaded by nobody as it is. Its code is where it is in the file:
 * addresses in it are offsets.
 */
static void add_sections(struct elf_identity *identity, struct elf *elf)
{
	struct elf_program_header all = {.type = PT_LOAD, .flags = PF_R | PF_X};
	vec_foreach(s, &elf->sections) {
		if (!(s->flags & SHF_EXECINSTR) || s->type == SHT_NOBITS || !s->size ||
		    !source_has(&elf->source, s->offset, s->size))
			continue;
		bool is_near = s->offset >= all.offset &&
			       s->offset - all.offset <= all.file_size + SECTION_GAP;
		if (all.file_size && !is_near) {
			add_segment(identity, &all);
			all.file_size = 0;
		}
		if (!all.file_size)
			all.offset = all.vaddr = s->offset;
		all.file_size = MAX(all.file_size, s->offset + s->size - all.offset);
		all.mem_size = all.file_size;
	}
	if (all.file_size)
		add_segment(identity, &all);
}

int elf_identify(struct elf *elf, struct elf_identity *ret, struct mw_error *e)
{
	bool is_little = elf->swap != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	*ret = (struct elf_identity){
		.elf_class = elf->is64 ? ELFCLASS64 : ELFCLASS32,
		.byte_order = is_little ? ELFDATA2LSB : ELFDATA2MSB,
		.is_truncated = elf->is_truncated,
		.type = elf->type,
		.machine = elf->machine,
		.file_size = elf->source.size,
	};
	add_segments(ret, elf);
	const struct elf_section *symtab = elf_load_sections(elf, NULL) == 0
						   ? elf_find_section_of_type(elf, SHT_SYMTAB)
						   : NULL;
	ret->has_symtab = symtab && symtab->size;
	if (elf->type == ET_REL && !ret->n_segments && elf->sections_state == 0)
		add_sections(ret, elf);
	ret->has_alt_link = elf_find_section(elf, ".gnu_debugaltlink") != NULL;
	elf_read_debug_link(elf, &ret->debug_link);
	return find_id(elf, &ret->id, e);
}

/* ---- conversions ----------------------------------------------------------------------------- */

int elf_identity_offset_to_address(const struct elf_identity *identity, uint64_t offset,
				   uint64_t *ret, uint32_t *ret_flags)
{
	const struct elf_segment *found = NULL;
	for (uint32_t i = 0; i < identity->n_segments; i++) {
		const struct elf_segment *s = &identity->segments[i];
		if (offset < s->offset || offset - s->offset >= s->file_size)
			continue;
		if (!found || (!(found->flags & PF_X) && s->flags & PF_X))
			found = s;
	}
	if (!found)
		return 0;
	*ret = found->vaddr + (offset - found->offset);
	if (ret_flags)
		*ret_flags = found->flags;
	return 1;
}

int elf_identity_address_to_offset(const struct elf_identity *identity, uint64_t address,
				   uint64_t *ret)
{
	for (uint32_t i = 0; i < identity->n_segments; i++) {
		const struct elf_segment *s = &identity->segments[i];
		if (address < s->vaddr || address - s->vaddr >= s->file_size)
			continue;
		*ret = s->offset + (address - s->vaddr);
		return 1;
	}
	return 0;
}

bool elf_identity_is_valid(const struct elf_identity *identity)
{
	return identity->n_segments <= ELF_IDENTITY_SEGMENTS &&
	       identity->id.size <= MW_FILE_ID_MAX && identity->id.size > 0 &&
	       identity->id.kind > MW_FILE_ID_NONE && identity->id.kind <= MW_FILE_ID_HTL &&
	       memchr(identity->debug_link.name, '\0', sizeof identity->debug_link.name) &&
	       !strchr(identity->debug_link.name, '/');
}

/* A debug file is what a stripped file's packager says it is, unless both say who they are. */
bool elf_debug_file_belongs(struct elf *debug, const struct elf_identity *identity)
{
	struct elf_identity other;
	uint32_t crc;
	if (elf_identify(debug, &other, NULL) < 0)
		return false;
	if (other.id.kind == MW_FILE_ID_GNU && identity->id.kind == MW_FILE_ID_GNU)
		return mw_file_id_equal(&other.id, &identity->id);
	return identity->debug_link.name[0] && source_crc32(&debug->source, &crc) == 0 &&
	       crc == identity->debug_link.crc;
}
