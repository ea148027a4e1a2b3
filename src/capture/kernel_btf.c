/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/kernel_btf.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

DEFINE_CLEANUP(struct btf *, btf__free)

/* NULL and errno if it cannot be read. */
static struct btf *load(void)
{
	return access(KERNEL_BTF_PATH, R_OK) < 0 ? NULL : btf__parse(KERNEL_BTF_PATH, NULL);
}

int64_t kernel_btf_size(void)
{
	uint16_t magic = 0;
	struct stat st;
	_cleanup_close_ int fd = open(KERNEL_BTF_PATH, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	ssize_t n = io_pread(fd, &magic, sizeof magic, 0);
	return n == sizeof magic && magic == BTF_MAGIC ? st.st_size : -EBADMSG;
}

bool kernel_btf_has_function(const char *name)
{
	_cleanup_(cleanup_btf__free) struct btf *btf = load();
	return btf && btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) >= 0;
}

static bool has_member(const struct btf *btf, const struct btf_type *type, const char *member)
{
	for (unsigned i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *m = &btf_members(type)[i];
		const char *name = btf__name_by_offset(btf, m->name_off);
		if (!name)
			continue;
		if (strcmp(name, member) == 0)
			return true;
		const struct btf_type *inner = btf__type_by_id(btf, m->type);
		if (!name[0] && inner && btf_is_composite(inner) && has_member(btf, inner, member))
			return true;
	}
	return false;
}

bool kernel_btf_has_member(const char *type, const char *member)
{
	_cleanup_(cleanup_btf__free) struct btf *btf = load();
	int id = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT) : -ENOENT;
	return id >= 0 && has_member(btf, btf__type_by_id(btf, (uint32_t)id), member);
}
