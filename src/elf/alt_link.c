/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/alt_link.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "elf/identity.h"

/* A cursor over the bytes of a small section, which the caller frees; empty if there is none. */
static struct cursor read_section(struct elf *elf, const char *name, uint8_t **ret_data)
{
	const struct elf_section *section = elf_find_section(elf, name);
	uint64_t size = 0;
	*ret_data = NULL;
	if (section)
		elf_section_data(elf, section, ELF_ALT_LINK_PATH + MW_FILE_ID_MAX + 16, ret_data,
				 &size, NULL);
	return cursor_init(*ret_data, *ret_data ? size : 0, elf->swap);
}

static int take(struct elf_alt_link *link, const char *path, struct cursor *c, uint64_t id_size)
{
	const uint8_t *id = cursor_bytes(c, id_size);
	if (!path || strlen(path) >= sizeof link->path || !id || !id_size ||
	    id_size > sizeof link->id.bytes)
		return 0;
	memcpy(link->path, path, strlen(path) + 1);
	link->id.kind = MW_FILE_ID_GNU;
	link->id.size = (uint8_t)id_size;
	memcpy(link->id.bytes, id, id_size);
	return 1;
}

/* .debug_sup, of the one kind of file or of the other. */
static int read_sup(struct elf *elf, bool is_supplement, struct elf_alt_link *ret)
{
	_cleanup_free_ uint8_t *data;
	struct cursor c = read_section(elf, ".debug_sup", &data);
	if (cursor_u16(&c) != 5 || cursor_u8(&c) != is_supplement)
		return 0;
	const char *path = cursor_string(&c);
	uint64_t id_size = cursor_uleb(&c);
	return take(ret, path, &c, id_size);
}

int elf_read_alt_link(struct elf *elf, struct elf_alt_link *ret)
{
	*ret = (struct elf_alt_link){};
	_cleanup_free_ uint8_t *data;
	struct cursor c = read_section(elf, ".gnu_debugaltlink", &data);
	const char *path = cursor_string(&c);
	int r = path && *path ? take(ret, path, &c, cursor_left(&c)) : read_sup(elf, false, ret);
	return r && ret->path[0];
}

bool elf_is_linked(struct elf *supplement, const struct elf_alt_link *link)
{
	struct elf_alt_link own = {};
	struct elf_identity identity;
	if (read_sup(supplement, true, &own) && mw_file_id_equal(&own.id, &link->id))
		return true;
	return elf_identify(supplement, &identity, NULL) == 0 &&
	       mw_file_id_equal(&identity.id, &link->id);
}
