/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/file.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "dwarf/relocate.h"

#include <string.h>

/* Sections up to this size are read as a whole. */
#define WHOLE_MAX (UINT64_C(2) << 20)
/* Compressed ones unpack to this at most. */
#define UNPACKED_MAX (UINT64_C(4) << 30)
/* What a window reads at least, where nothing else is said. */
#define READ_AHEAD (UINT64_C(64) << 10)
#define STRING_MAX (UINT64_C(1) << 20)

static const char *const section_names[DWARF_N_SECTIONS] = {
	[DWARF_INFO] = "info",	       [DWARF_TYPES] = "types",
	[DWARF_ABBREV] = "abbrev",     [DWARF_LINE] = "line",
	[DWARF_STR] = "str",	       [DWARF_LINE_STR] = "line_str",
	[DWARF_RANGES] = "ranges",     [DWARF_RNGLISTS] = "rnglists",
	[DWARF_ADDR] = "addr",	       [DWARF_STR_OFFSETS] = "str_offsets",
};

/* Which of the sections it is; DWARF_N_SECTIONS for all others. */
static enum dwarf_section_kind kind_of(const struct elf *elf, const struct elf_section *section,
				       bool *ret_is_packed)
{
	const char *name = elf_section_name(elf, section);
	bool is_old_packed = strncmp(name, ".zdebug_", 8) == 0;
	if (section->type == SHT_NOBITS || !section->size ||
	    (!is_old_packed && strncmp(name, ".debug_", 7) != 0))
		return DWARF_N_SECTIONS;
	*ret_is_packed = is_old_packed || section->flags & SHF_COMPRESSED;
	name += is_old_packed ? 8 : 7;
	for (size_t i = 0; i < DWARF_N_SECTIONS; i++) {
		if (strcmp(name, section_names[i]) == 0)
			return (enum dwarf_section_kind)i;
	}
	return DWARF_N_SECTIONS;
}

bool dwarf_file_has_any(struct elf *elf)
{
	bool is_packed;
	if (elf_load_sections(elf, NULL) < 0)
		return false;
	vec_foreach(s, &elf->sections) {
		if (kind_of(elf, s, &is_packed) == DWARF_INFO)
			return true;
	}
	return false;
}

/* Joins a further section of the same name. */
static int append(struct dwarf_section *to, uint8_t *data, uint64_t size)
{
	uint64_t total;
	if (__builtin_add_overflow(to->size, size, &total) || total > UNPACKED_MAX)
		return -EFBIG;
	uint8_t *joined = realloc(to->data, total + 1);
	if (!joined)
		return -ENOMEM;
	memcpy(joined + to->size, data, size);
	joined[total] = 0;
	to->data = joined;
	to->size = total;
	return 0;
}

static int note_piece(struct dwarf_file *file, const struct elf_section *section,
		      const struct dwarf_section *to)
{
	if (file->elf->type != ET_REL)
		return 0;
	return vec_push(
		&file->pieces,
		(struct dwarf_piece){.number = (uint32_t)(section - file->elf->sections.items),
				     .kind = (uint8_t)(to - file->sections),
				     .base = to->size});
}

static int read_whole(struct dwarf_file *file, const struct elf_section *section,
		      struct dwarf_section *to, struct mw_error *e)
{
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t size;
	int r = elf_section_data(file->elf, section, UNPACKED_MAX, &data, &size, e);
	if (r < 0 || !size)
		return r;
	r = note_piece(file, section, to);
	if (r < 0)
		return r;
	if (to->size) {
		r = append(to, data, size);
		return r < 0 ? error_errno(e, r, "cannot join sections of debug information") : 0;
	}
	to->data = take_ptr(data);
	to->size = size;
	return 0;
}

static int add_section(struct dwarf_file *file, const struct elf_section *section,
		       struct mw_error *e)
{
	bool is_packed = false, is_relocatable = file->elf->type == ET_REL;
	enum dwarf_section_kind kind = kind_of(file->elf, section, &is_packed);
	struct dwarf_section *to = &file->sections[kind < DWARF_N_SECTIONS ? kind : 0];
	if (kind == DWARF_N_SECTIONS || (to->size && !is_relocatable))
		return 0;
	if (is_packed || is_relocatable || section->size <= WHOLE_MAX)
		return read_whole(file, section, to, e);
	if (!source_has(&file->elf->source, section->offset, section->size))
		return error_at(e, -EBADMSG, section->offset,
				"section %.64s is cut off by the end of the file",
				elf_section_name(file->elf, section));
	*to = (struct dwarf_section){.size = section->size, .offset = section->offset};
	return 0;
}

/* What of a section in use is damaged costs just what needs it. */
static int add_sections(struct dwarf_file *file, struct mw_error *e)
{
	vec_foreach(s, &file->elf->sections) {
		struct mw_error damage = {};
		int r = add_section(file, s, &damage);
		if (r == -ENOMEM)
			return error_set(e, r, "out of memory for debug information");
		if (r < 0 && !file->damage.code)
			file->damage = damage;
	}
	return 0;
}

int dwarf_file_open(struct dwarf_file *file, struct elf *elf, struct mw_error *e)
{
	*file = (struct dwarf_file){.elf = elf, .failure = &file->failed};
	int r = elf_load_sections(elf, e);
	if (r == 0)
		r = add_sections(file, e);
	if (r == 0 && elf->type == ET_REL)
		r = dwarf_relocate(file, e);
	if (r == 0 && !file->sections[DWARF_INFO].size) {
		r = file->damage.code ? file->damage.code : -ENODATA;
		if (file->damage.code && e)
			*e = file->damage;
		else
			error_set(e, r, "no debug information");
	}
	if (r < 0)
		dwarf_file_close(file);
	return r;
}

void dwarf_file_close(struct dwarf_file *file)
{
	for (size_t i = 0; i < DWARF_N_SECTIONS; i++)
		free(file->sections[i].data);
	vec_deinit(&file->pieces);
	*file = (struct dwarf_file){};
}

/* ---- windows --------------------------------------------------------------------------------- */

void dwarf_window_deinit(struct dwarf_window *window)
{
	free(window->bytes);
	*window = (struct dwarf_window){.read_ahead = window->read_ahead};
}

static bool note_failure(const struct dwarf_file *file, int code)
{
	if (code != -EBADMSG && !*file->failure)
		*file->failure = code;
	return false;
}

static bool fill(const struct dwarf_file *file, enum dwarf_section_kind kind,
		 struct dwarf_window *window, uint64_t offset, uint64_t size)
{
	const struct dwarf_section *section = &file->sections[kind];
	uint64_t least = window->read_ahead ? window->read_ahead : READ_AHEAD;
	size = MAX(size, MIN(least, section->size - offset));
	window->section = 0;
	if (size > window->capacity) {
		void *bytes = NULL;
		size_t capacity = 0;
		dwarf_window_deinit(window);
		if (vec_grow(&bytes, &capacity, size, 1) < 0)
			return note_failure(file, -ENOMEM);
		window->bytes = bytes;
		window->capacity = capacity;
	}
	int r = source_read(&file->elf->source, section->offset + offset, window->bytes, size);
	if (r < 0)
		return note_failure(file, r);
	window->start = offset;
	window->size = size;
	window->section = (uint8_t)(kind + 1);
	return true;
}

struct cursor dwarf_bytes(const struct dwarf_file *file, enum dwarf_section_kind kind,
			  struct dwarf_window *window, uint64_t offset, uint64_t size)
{
	const struct dwarf_section *section = &file->sections[kind];
	struct cursor failed = {.failed = true};
	if (offset > section->size || size > section->size - offset)
		return failed;
	if (section->data)
		return cursor_init(section->data + offset, size, file->elf->swap);
	bool is_inside = window->section == kind + 1 && offset >= window->start &&
			 offset - window->start <= window->size &&
			 size <= window->size - (offset - window->start);
	if (!is_inside && !fill(file, kind, window, offset, size))
		return failed;
	return cursor_init(window->bytes + (offset - window->start), size, file->elf->swap);
}

struct cursor dwarf_bytes_at_most(const struct dwarf_file *file, enum dwarf_section_kind kind,
				  struct dwarf_window *window, uint64_t offset, uint64_t size)
{
	uint64_t whole = file->sections[kind].size;
	return dwarf_bytes(file, kind, window, offset,
			   offset < whole ? MIN(size, whole - offset) : size);
}

const char *dwarf_string(const struct dwarf_file *file, enum dwarf_section_kind kind,
			 struct dwarf_window *window, uint64_t offset)
{
	uint64_t whole = file->sections[kind].size;
	if (offset >= whole)
		return NULL;
	for (uint64_t size = 256;; size *= 16) {
		uint64_t n = MIN(size, whole - offset);
		struct cursor c = dwarf_bytes(file, kind, window, offset, n);
		const char *string = cursor_string(&c);
		if (string || n < size || size >= STRING_MAX)
			return string;
	}
}
