/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/source_files.h"

#include "base/cleanup.h"
#include "symbols/gsym.h"

#include <string.h>

void source_files_deinit(struct source_files *files)
{
	strings_deinit(&files->parts);
	vec_deinit(&files->list);
	map_deinit(&files->numbers);
	map_deinit(&files->variants);
}

/* The bytes of a path that are its directory, without the slash; the root keeps its own. */
static size_t directory_size(const char *path, size_t n, size_t *ret_name)
{
	const char *slash = memrchr(path, '/', n);
	if (!slash) {
		*ret_name = 0;
		return 0;
	}
	*ret_name = (size_t)(slash - path) + 1;
	return slash == path ? 1 : (size_t)(slash - path);
}

int source_files_add(struct source_files *files, const char *path, size_t n, uint32_t *ret)
{
	struct source_file file = {};
	size_t name, size = directory_size(path, n, &name);
	int r = strings_add(&files->parts, path, size, &file.directory);
	if (r == 0)
		r = strings_add(&files->parts, path + name, n - name, &file.name);
	if (r < 0)
		return r;
	uint64_t key = (uint64_t)file.directory << 32 | file.name;
	*ret = map_find(&files->numbers, key);
	if (*ret != MAP_NONE)
		return 0;
	*ret = (uint32_t)files->list.n + 1;
	r = vec_push(&files->list, file);
	return r < 0 ? r : map_add(&files->numbers, key, *ret);
}

int source_files_add_variant(struct source_files *files, uint32_t number, uint32_t discriminator,
			     uint32_t *ret)
{
	*ret = number;
	if (!number || !discriminator)
		return 0;
	uint64_t key = (uint64_t)number << 32 | discriminator;
	*ret = map_find(&files->variants, key);
	if (*ret != MAP_NONE)
		return 0;
	struct source_file file = files->list.items[number - 1];
	file.discriminator = discriminator;
	*ret = (uint32_t)files->list.n + 1;
	int r = vec_push(&files->list, file);
	return r < 0 ? r : map_add(&files->variants, key, *ret);
}

void source_files_write_discriminators(const struct source_files *files, struct buffer *ret)
{
	if (!files->variants.n)
		return;
	buffer_u32(ret, 0);
	vec_foreach(file, &files->list)
		buffer_u32(ret, file->discriminator);
	buffer_u32(ret, (uint32_t)files->list.n + 1);
	buffer_u32(ret, 0);
	buffer_bytes(ret, GSYM_DISCRIMINATORS, strlen(GSYM_DISCRIMINATORS));
}

static int write_parts(const struct strings *parts, uint64_t limit, struct buffer *strings,
		       uint32_t *offsets)
{
	for (uint32_t i = 0; i < parts->texts.n; i++) {
		const char *text = strings_get(parts, i);
		size_t size = strlen(text) + 1;
		if (strings->n > limit || size > limit - strings->n)
			return -EFBIG;
		offsets[i] = *text ? (uint32_t)strings->n : 0;
		if (*text)
			buffer_bytes(strings, text, size);
	}
	return strings->failed ? -ENOMEM : 0;
}

int source_files_write(const struct source_files *files, uint64_t limit, struct buffer *strings,
		       struct buffer *ret_table)
{
	_cleanup_free_ uint32_t *offsets = calloc(files->parts.texts.n + 1, sizeof *offsets);
	if (!offsets)
		return -ENOMEM;
	int r = write_parts(&files->parts, MIN(limit, UINT32_MAX), strings, offsets);
	if (r < 0)
		return r;
	buffer_u32(ret_table, (uint32_t)files->list.n + 1);
	buffer_u64(ret_table, 0);
	vec_foreach(file, &files->list) {
		buffer_u32(ret_table, offsets[file->directory]);
		buffer_u32(ret_table, offsets[file->name]);
	}
	return ret_table->failed ? -ENOMEM : 0;
}
