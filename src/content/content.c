/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/content.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* The surest first: the mapping itself, what the living task has, then what is left of it. */
static const struct finder *const finders[] = {
	&finder_map_files,
	&finder_exe,
	&finder_task_root,
	&finder_handle,
	&finder_pinned_root,
};

/* Of include/uapi/linux/magic.h and the file systems themselves. */
static const uint64_t blocking_magics[] = {
	0x65735546, /* fuse */
	0x6969,	    /* nfs */
	0xff534d42, /* cifs */
	0xfe534d42, /* smb2 */
	0x517b,	    /* smb */
	0x01021997, /* 9p */
	0x00c36400, /* ceph */
	0x5346414f, /* afs */
	0x73757245, /* coda */
	0x013661fc, /* gfs2, ocfs2's kin wait for their cluster */
	0x7461636f,
};

bool finder_may_block(uint64_t magic)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocking_magics); i++) {
		if (blocking_magics[i] == magic)
			return true;
	}
	return false;
}

/* ---- proof ----------------------------------------------------------------------------------- */

static struct inode_key key_from_statx(const struct statx *s)
{
	return (struct inode_key){
		.inode = s->stx_ino,
		.size = s->stx_size,
		.ctime_sec = s->stx_ctime.tv_sec,
		.ctime_nsec = s->stx_ctime.tv_nsec,
		.mtime_sec = s->stx_mtime.tv_sec,
		.mtime_nsec = s->stx_mtime.tv_nsec,
		.device = s->stx_dev_major << 20 | s->stx_dev_minor,
		.links = s->stx_nlink,
	};
}

/* Attributes as they are cached: a file system that hangs is not asked. */
static int stat_cached(int fd, struct statx *ret)
{
	int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
	return statx(fd, "", flags, STATX_BASIC_STATS, ret) < 0 ? -errno : 0;
}

/* The btrfs tree that a file is in, which has no place in what stat(2) tells; 0 elsewhere. */
static uint64_t ask_subvolume(int fd)
{
	struct btrfs_ioctl_ino_lookup_args args = {.objectid = BTRFS_FIRST_FREE_OBJECTID};
	struct statfs fs;
	if (fstatfs(fd, &fs) < 0 || (uint64_t)fs.f_type != BTRFS_SUPER_MAGIC)
		return 0;
	return ioctl(fd, BTRFS_IOC_INO_LOOKUP, &args) == 0 ? args.treeid : 0;
}

int content_ask_attributes(int fd, struct inode_key *ret)
{
	struct statx s;
	int r = stat_cached(fd, &s);
	if (r == 0)
		*ret = key_from_statx(&s);
	return r;
}

int content_ask_key(int fd, struct inode_key *ret)
{
	int r = content_ask_attributes(fd, ret);
	if (r < 0)
		return r;
	ret->subvolume = ask_subvolume(fd);
	ioctl(fd, FS_IOC_GETVERSION, &ret->generation); /* where there is none it is 0 */
	return 0;
}

/*
 * The change time is the proof. If it has moved on, it may have been a write whose modification time was set
 * back (cp -p, touch -r): not the same, as far as anyone can tell.
 */
static bool is_same_state(const struct inode_key *now, const struct inode_key *then)
{
	return now->size == then->size && now->ctime_sec == then->ctime_sec &&
	       now->ctime_nsec == then->ctime_nsec;
}

/* An unlink (or link) would explain why the change time moved on, too. */
static bool may_be_relinked(const struct inode_key *now, const struct inode_key *then)
{
	return now->size == then->size && now->links != then->links &&
	       now->mtime_sec == then->mtime_sec && now->mtime_nsec == then->mtime_nsec;
}

/*
 * Device and inode as stat(2) gives them are those of the key, except on two file systems: btrfs shows
 * a device of its own for each subvolume, and a file opened through an overlay may show the overlay's
 * device and inode where the key has the layer's.
 */
static bool is_same_inode(int fd, const struct inode_key *now, const struct file_request *request)
{
	const struct inode_key *then = &request->key;
	if (now->device == then->device)
		return now->inode == then->inode;
	if (request->magic == BTRFS_SUPER_MAGIC && now->inode == then->inode)
		return true;
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && (uint64_t)fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Nobody can write to what a process runs: it cannot have been more than a link that was changed. */
static bool is_running_program(const struct proc *proc, const struct file_request *request,
			       const struct inode_key *now)
{
	struct finder_context context = {.proc = proc};
	struct inode_key program;
	if (!proc || !proc_is_same_process(proc, request->pid, request->start_time))
		return false;
	_cleanup_close_ int exe = finder_exe.find(&context, request);
	return exe >= 0 && content_ask_attributes(exe, &program) == 0 &&
	       program.inode == now->inode && program.device == now->device;
}

int content_is_proved(int fd, const struct proc *proc, const struct file_request *request,
		      const struct log *log)
{
	struct statx s;
	int r = stat_cached(fd, &s);
	if (r < 0)
		return r;
	if (!S_ISREG(s.stx_mode)) {
		log_debug(log, "%s: not a regular file", request->name);
		return 0;
	}
	struct inode_key now = key_from_statx(&s);
	if (!is_same_inode(fd, &now, request)) {
		log_debug(log, "%s: another inode (%u:%" PRIu64 ", wanted %u:%" PRIu64 ")",
			  request->name, now.device, now.inode, request->key.device,
			  request->key.inode);
		return 0;
	}
	if (!is_same_state(&now, &request->key) &&
	    !(may_be_relinked(&now, &request->key) && is_running_program(proc, request, &now))) {
		log_debug(log, "%s: written to since", request->name);
		return 0;
	}
	return 1;
}

/*
 * The rest of the proof needs a descriptor that can be asked, not only looked at: btrfs trees repeat
 * inode numbers, and a file can be another one of the same number if its generation differs.
 */
static bool is_proved_by_file_system(int fd, const struct file_request *request,
				     const struct log *log)
{
	uint64_t subvolume = request->key.subvolume ? ask_subvolume(fd) : 0;
	if (subvolume && subvolume != request->key.subvolume) {
		log_debug(log, "%s: in another subvolume", request->name);
		return false;
	}
	uint32_t generation = 0;
	struct statfs fs;
	if (fstatfs(fd, &fs) == 0 && (uint64_t)fs.f_type == request->magic &&
	    ioctl(fd, FS_IOC_GETVERSION, &generation) == 0 && request->magic == EXT4_SUPER_MAGIC &&
	    request->key.generation && generation != request->key.generation) {
		log_debug(log, "%s: the inode is another file's by now", request->name);
		return false;
	}
	return true;
}

/* ---- pins ------------------------------------------------------------------------------------ */

static void set_label(struct pin *pin)
{
	char link[32];
	snprintf(link, sizeof link, "/proc/self/fd/%d", pin->fd);
	ssize_t n = readlink(link, pin->path, sizeof pin->path - 1);
	pin->path[n > 0 ? n : 0] = '\0';
}

int pin_remember(struct pin *pin)
{
	struct statx s;
	int r = stat_cached(pin->fd, &s);
	if (r < 0)
		return r;
	pin->key = key_from_statx(&s);
	set_label(pin);
	return 0;
}

static int open_candidate(int candidate, const struct finder_context *context,
			  const struct file_request *request, struct pin *ret)
{
	int r = content_is_proved(candidate, context->proc, request, context->log);
	if (r <= 0)
		return r < 0 ? r : -ESTALE;
	_cleanup_close_ int fd = io_reopen(candidate);
	if (fd < 0)
		return fd;
	if (!is_proved_by_file_system(fd, request, context->log))
		return -ESTALE;
	ret->fd = take_fd(fd);
	return pin_remember(ret);
}

static bool is_out_of_descriptors(int error)
{
	return error == -EMFILE || error == -ENFILE;
}

int pin_open(const struct finder_context *context, const struct file_request *request,
	     struct pin *ret, enum mw_reason *ret_reason)
{
	*ret = (struct pin)PIN_INIT;
	*ret_reason = MW_REASON_FILE_GONE;
	if (!context->may_block && finder_may_block(request->magic)) {
		*ret_reason = MW_REASON_TIMEOUT;
		return -EWOULDBLOCK;
	}
	int result = -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(finders); i++) {
		_cleanup_close_ int candidate = finders[i]->find(context, request);
		int r = candidate < 0 ? candidate
				      : open_candidate(candidate, context, request, ret);
		log_debug(context->log, "%s (file %u:%" PRIu64 ", task %u): %s: %s", request->name,
			  request->key.device, request->key.inode, request->pid, finders[i]->name,
			  r == 0 ? "opened" : strerror(-r));
		if (r == 0)
			return 0;
		if (is_out_of_descriptors(r))
			return r;
		if (candidate >= 0 && r == -ESTALE) {
			result = -ESTALE;
			*ret_reason = MW_REASON_ID_MISMATCH;
		}
	}
	return result;
}

int pin_is_unchanged(const struct pin *pin)
{
	struct statx s;
	int r = stat_cached(pin->fd, &s);
	if (r < 0)
		return r;
	struct inode_key now = key_from_statx(&s);
	return is_same_state(&now, &pin->key) || may_be_relinked(&now, &pin->key);
}

void pin_mark_extracted(struct pin *pin)
{
	cleanup_close(&pin->fd);
	pin->fd = -1;
}
