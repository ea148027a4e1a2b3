/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/kernel_image.h"

#include "base/cleanup.h"
#include "base/file_id.h"
#include "base/io.h"
#include "symbols/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void kernel_image_deinit(struct kernel_image *image) { symbol_table_deinit(&image->table); }

/* A regular file of the host, for reading. */
static int open_candidate(int root, const char *path)
{
	_cleanup_close_ int place = openat(root, path, O_PATH | O_CLOEXEC);
	struct stat st;
	if (place < 0 || fstat(place, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	return io_reopen(place);
}

/* Takes it in if it is the one. */
static int try(const struct intake *intake, int root, const char *path, const struct mw_file_id *id,
	       bool lines)
{
	_cleanup_close_ int fd = open_candidate(root, path);
	if (fd < 0)
		return fd;
	struct intake_request request = {.fd = fd, .path = path, .lines = lines};
	struct intake_result result = {};
	int r = intake_identify(fd, &result.identity, NULL);
	if (r < 0)
		return r;
	if (!mw_file_id_equal(&result.identity.id, id)) {
		log_debug(intake->log, "kernel: /%s is another one's", path);
		return -ESTALE;
	}
	r = intake_identified(intake, &request, &result, NULL);
	log_debug(intake->log, "kernel: /%s %s", path, r < 0 ? "cannot be read" : "is taken");
	return r;
}

static int take_in(const struct intake *intake, int root, const char *release,
		   const struct mw_file_id *id, bool lines)
{
	static const char *const by_release[] = {
		"usr/lib/debug/boot/vmlinux-%s",
		"usr/lib/debug/lib/modules/%s/vmlinux",
		"boot/vmlinux-%s",
		"lib/modules/%s/vmlinux",
		"lib/modules/%s/build/vmlinux",
	};
	char text[MW_FILE_ID_TEXT_MAX], path[MW_FILE_ID_TEXT_MAX + 512];
	mw_file_id_to_text(id, text, sizeof text);
	const char *hex = text + strlen("gnu:");
	snprintf(path, sizeof path, "usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	int r = try(intake, root, path, id, lines);
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(by_release); i++) {
		snprintf(path, sizeof path, by_release[i], release);
		r = try(intake, root, path, id, lines);
	}
	return r;
}

/* The first executable segment. */
static uint64_t find_text(const struct meta *meta)
{
	uint64_t text = 0;
	vec_foreach(s, &meta->segments) {
		if (s->flags & 1 && (!text || s->vaddr < text)) /* PF_X */
			text = s->vaddr;
	}
	return text;
}

int kernel_image_open(struct store *store, const struct proc *proc, const struct log *log, int root,
		      const char *release, const struct mw_file_id *id, bool lines,
		      struct kernel_image *ret)
{
	const struct intake intake = {.store = store, .proc = proc, .log = log};
	if (id->kind != MW_FILE_ID_GNU || id->size < 2 || strchr(release, '/'))
		return -ENOENT;
	int r = take_in(&intake, root, release, id, lines);
	symbol_table_load(&ret->table, store, id); /* it may be there from earlier */
	ret->text = find_text(&ret->table.meta);
	if (ret->table.names.data && ret->text)
		return 0;
	kernel_image_deinit(ret);
	return r < 0 && r != -ESTALE ? r : -ENOENT;
}

int kernel_image_name(const struct kernel_image *image, uint64_t text, uint64_t address,
		      struct mw_location *ret)
{
	return symbol_table_name(&image->table, address - text + image->text, ret);
}

static uint64_t end_of(const void *context, uint64_t address, const char **name)
{
	const struct kernel_image *image = context;
	struct gsym_entry entry;
	if (gsym_find(&image->table.names.gsym, address, &entry) != 1 || entry.start != address)
		return 0;
	*name = entry.name;
	return entry.end;
}

int kernel_image_refine(const struct kernel_image *image, struct kernel_symbols *symbols)
{
	return kernel_symbols_refine(symbols, image->text, end_of, image);
}
