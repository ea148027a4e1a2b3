/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ELF view: sections and their contents, notes, dynamic segment, conversions, identity. */
#include "elf/elf.h"

#include "base/cleanup.h"
#include "elf/notes.h"
#include "fuzz.h"
#include "memory_file.h"
#include "symbols/extract.h"

#include <string.h>

#define CONTENTS_MAX (1 << 20)

static void read_sections(struct elf *elf)
{
	struct mw_error e = {};
	int r = elf_load_sections(elf, &e);
	must(r == 0 || e.code == r);
	size_t n = 0;
	vec_foreach(s, &elf->sections) {
		uint8_t *data;
		uint64_t size;
		must(strlen(elf_section_name(elf, s)) <= elf->section_names_size);
		if (n++ < 64 && elf_section_data(elf, s, CONTENTS_MAX, &data, &size, NULL) == 0) {
			must(size <= CONTENTS_MAX && (size == 0 || data[size] == 0));
			free(data);
		}
	}
	elf_find_section(elf, ".gnu_debugdata");
}

static void read_notes(const struct elf *elf)
{
	size_t walks = 0;
	vec_foreach(h, &elf->program_headers) {
		struct notes notes;
		struct note note;
		if (walks++ == 16)
			break;
		notes_init(&notes, &elf->source, h->offset, h->file_size, h->align, elf->swap);
		while (notes_next(&notes, &note))
			must(source_has(&elf->source, note.offset, note.size));
	}
}

static void convert(const struct elf *elf, const struct elf_identity *identity, uint64_t offset)
{
	uint64_t address, other;
	uint32_t flags;
	int found = elf_offset_to_address(elf, offset, &address, &flags);
	if (!identity->n_segments_left_out) {
		must(elf_identity_offset_to_address(identity, offset, &other, &flags) == found);
		must(!found || address == other);
	}
	elf_address_to_offset(elf, offset, &other);
	elf_identity_address_to_offset(identity, offset, &other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_memory_file(data, size);
	struct elf_identity identity;
	struct elf elf;
	must(extract_identity(fd, &identity, NULL) == 0);
	must(elf_identity_is_valid(&identity));
	if (elf_open(&elf, fd, NULL) < 0)
		return 0;
	must(elf_identify(&elf, &identity, NULL) == 0);
	for (uint64_t i = 0; i < 64; i++)
		convert(&elf, &identity, i << i % 60);
	static const int64_t tags[] = {DT_SYMTAB, DT_STRTAB, DT_HASH};
	uint64_t values[ARRAY_SIZE(tags)];
	elf_dynamic(&elf, tags, ARRAY_SIZE(tags), values, NULL);
	read_notes(&elf);
	read_sections(&elf);
	elf_deinit(&elf);
	return 0;
}
