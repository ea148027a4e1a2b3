/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The inode key: a file in one state, as the kernel holds it.
 */
#ifndef BPF_FILE_KEY_H
#define BPF_FILE_KEY_H

#include "kernel.h"
#include "records.h"

static __always_inline void read_times(struct inode *inode, struct file_key *key)
{
	struct inode___6_7 *older = (void *)inode;
	if (bpf_core_field_exists(inode->i_ctime_sec)) {
		key->mtime_sec = BPF_CORE_READ(inode, i_mtime_sec);
		key->mtime_nsec = BPF_CORE_READ(inode, i_mtime_nsec);
		key->ctime_sec = BPF_CORE_READ(inode, i_ctime_sec);
		/* From 6.13 on the top bit says that the time was queried: not part of the time. */
		key->ctime_nsec = BPF_CORE_READ(inode, i_ctime_nsec) & ~(1U << 31);
	} else if (bpf_core_field_exists(older->__i_ctime)) {
		key->mtime_sec = BPF_CORE_READ(older, __i_mtime.tv_sec);
		key->mtime_nsec = BPF_CORE_READ(older, __i_mtime.tv_nsec);
		key->ctime_sec = BPF_CORE_READ(older, __i_ctime.tv_sec);
		key->ctime_nsec = BPF_CORE_READ(older, __i_ctime.tv_nsec);
	}
}

/* btrfs has one device for all its subvolumes, and inode numbers repeat among them. */
static __always_inline __u64 subvolume_of(struct inode *inode)
{
	if (!bpf_core_type_exists(struct btrfs_inode))
		return 0;
	if (BPF_CORE_READ(inode, i_sb, s_magic) != BTRFS_SUPER_MAGIC)
		return 0;
	struct btrfs_inode *b =
		(void *)inode - bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	return BPF_CORE_READ(b, root, root_key.objectid);
}

static __always_inline void read_key(struct inode *inode, struct file_key *key)
{
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->size = BPF_CORE_READ(inode, i_size);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	key->links = BPF_CORE_READ(inode, i_nlink);
	key->unused = 0;
	key->subvolume = subvolume_of(inode);
	read_times(inode, key);
}

#endif
