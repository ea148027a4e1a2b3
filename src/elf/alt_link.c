/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/alt_link.h"

#include "base/cleanup.h"
#include "base/cursor.h"

int elf_read_alt_link(struct elf *elf, struct elf_alt_link *ret)
{
	*ret = (struct elf_alt_link){};
	const struct elf_section *section = elf_find_section(elf, ".gnu_debugaltlink");
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t size;
	if (!section ||
	    elf_section_data(elf, section, ELF_ALT_LINK_PATH + sizeof ret->id.bytes, &data, &size,
			     NULL) < 0 ||
	    !data)
		return 0;
	struct cursor c = cursor_init(data, size, elf->swap);
	const char *path = cursor_string(&c);
	size_t id_size = cursor_left(&c);
	if (!path || !*path || strlen(path) >= sizeof ret->path || !id_size ||
	    id_size > sizeof ret->id.bytes)
		return 0;
	memcpy(ret->path, path, strlen(path) + 1);
	ret->id.kind = MW_FILE_ID_GNU;
	ret->id.size = (uint8_t)id_size;
	memcpy(ret->id.bytes, cursor_bytes(&c, id_size), id_size);
	return 1;
}
