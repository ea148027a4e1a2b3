/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file handle made from the inode key: device, inode and generation. It needs no process and no
 * path, and the generation rules out that the inode is another file's by now. On overlayfs the key is
 * the layer's, so the handle opens the layer's file from here.
 *
 * Handle types are the kernel's (include/linux/exportfs.h, fs/btrfs/export.h): 32-bit inode and
 * generation serves ext4, xfs, squashfs, erofs; xfs with large inode numbers and btrfs have their own.
 */
#include "base/cleanup.h"
#include "content/finder.h"
#include "proc/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/sysmacros.h>

#define HANDLE_INO32_GEN	    1
#define HANDLE_XFS_INO64_GEN	    0x81
#define HANDLE_BTRFS_WITHOUT_PARENT 0x4d
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

struct handle {
	struct file_handle head;
	uint8_t bytes[24];
};

static void put(struct handle *h, const void *value, unsigned size)
{
	memcpy(h->bytes + h->head.handle_bytes, value, size);
	h->head.handle_bytes += size;
}

static struct handle make_handle(const struct file_request *request)
{
	const struct inode_key *key = &request->key;
	struct handle h = {.head.handle_type = HANDLE_INO32_GEN};
	uint32_t inode32 = (uint32_t)key->inode;
	if (request->magic == BTRFS_SUPER_MAGIC) {
		h.head.handle_type = HANDLE_BTRFS_WITHOUT_PARENT;
		put(&h, &key->inode, 8);
		put(&h, &key->subvolume, 8);
		put(&h, &key->generation, 4);
	} else if (request->magic == XFS_SUPER_MAGIC && key->inode > UINT32_MAX) {
		h.head.handle_type = HANDLE_XFS_INO64_GEN;
		put(&h, &key->inode, 8);
		put(&h, &key->generation, 4);
	} else {
		put(&h, &inode32, 4);
		put(&h, &key->generation, 4);
	}
	return h;
}

/*
 * A directory on the file system with this device, of our own mounts. The kernel's device number is
 * major << 20 | minor; on btrfs mountinfo has the one of the file system, as the key does.
 */
static int open_mount(const struct finder_context *context, uint32_t device)
{
	_cleanup_free_ char *text = NULL;
	int r = mountinfo_read(context->proc, 0, &text);
	if (r < 0)
		return r;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) < 0 || (m.major << 20 | m.minor) != device)
			continue;
		/* O_PATH would not do: open_by_handle_at wants a real one. Closed again at once. */
		int fd = open(m.point, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
		if (fd >= 0)
			return fd;
	}
	return -ENODEV;
}

static int find(const struct finder_context *context, const struct file_request *request)
{
	_cleanup_close_ int mount = open_mount(context, request->key.device);
	if (mount < 0)
		return mount;
	struct handle h = make_handle(request);
	int fd = open_by_handle_at(mount, &h.head, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const struct finder finder_handle = {"handle", find};
