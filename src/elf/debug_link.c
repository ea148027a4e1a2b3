/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/debug_link.h"

#include "base/cleanup.h"
#include "base/cursor.h"

#include <string.h>
#include <zlib.h>

/* A name of the longest kind, its padding and the checksum. */
#define LINK_MAX (sizeof((struct elf_debug_link *)NULL)->name + 8)
#define CHUNK	 ((size_t)1 << 20)

int elf_read_debug_link(struct elf *elf, struct elf_debug_link *ret)
{
	*ret = (struct elf_debug_link){};
	if (elf_load_sections(elf, NULL) < 0)
		return 0;
	const struct elf_section *section = elf_find_section(elf, ".gnu_debuglink");
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t size;
	if (!section || elf_section_data(elf, section, LINK_MAX, &data, &size, NULL) < 0 || !data)
		return 0;
	struct cursor c = cursor_init(data, size, elf->swap);
	const char *name = cursor_string(&c);
	if (!name || !*name || strlen(name) >= sizeof ret->name || strchr(name, '/'))
		return 0;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	cursor_align(&c, 4);
	uint32_t crc = cursor_u32(&c);
	if (!cursor_ok(&c))
		return 0;
	memcpy(ret->name, name, strlen(name) + 1);
	ret->crc = crc;
	return 1;
}

int source_crc32(const struct source *source, uint32_t *ret)
{
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK);
	if (!chunk)
		return -ENOMEM;
	uLong crc = crc32(0, NULL, 0);
	for (uint64_t at = 0; at < source->size;) {
		size_t n = (size_t)MIN(source->size - at, CHUNK);
		int r = source_read(source, at, chunk, n);
		if (r < 0)
			return r;
		crc = crc32(crc, chunk, (uInt)n);
		at += n;
	}
	*ret = (uint32_t)crc;
	return 0;
}
