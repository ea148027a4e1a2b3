/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * File numbers: each inode key gets one at its first sight, and is announced to user space then.
 */
#ifndef BPF_FILES_H
#define BPF_FILES_H

#include "area.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct file_key);
	__type(value, __u32);
} files SEC(".maps");

__u32 next_file = FILE_FIRST;

struct path_walk {
	struct file_record *record;
	struct dentry *dentry;
	__u32 size;
};

/* One component, and on to the directory it is in; the file system's root is its own parent. */
static long add_component(__u64 i, struct path_walk *w)
{
	struct dentry *dentry = w->dentry;
	struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
	__u32 at = w->size;
	if (!parent || parent == dentry || at > FILE_PATH_MAX - FILE_NAME_MAX)
		return 1;
	long n = bpf_probe_read_kernel_str(w->record->path + at, FILE_NAME_MAX,
					   BPF_CORE_READ(dentry, d_name.name));
	if (n <= 0)
		return 1;
	w->size = at + n;
	w->dentry = parent;
	return 0;
}

static __always_inline void add_root(struct file_record *r)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *root = BPF_CORE_READ(task, fs, root.dentry, d_inode);
	r->mount_namespace = mount_namespace_id(task);
	r->root_inode = BPF_CORE_READ(root, i_ino);
	r->root_device = BPF_CORE_READ(root, i_sb, s_dev);
}

/* On overlayfs the program is a file of the overlay, and what is mapped one of a layer. */
static __always_inline bool is_program(struct area *area)
{
	struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	struct dentry *dentry = BPF_CORE_READ(mm, exe_file, f_path.dentry);
	if (BPF_CORE_READ(mm, exe_file, f_inode, i_sb, s_magic) != OVERLAYFS_MAGIC)
		return (__u64)dentry == area->dentry;
	__u64 start = BPF_CORE_READ(mm, start_code);
	return start >= area->start && start < area->end;
}

static __always_inline void announce_file(struct area *area, __u32 number, __u64 start_time)
{
	struct file_record *r = bpf_ringbuf_reserve(&ring, sizeof *r, 0);
	if (!r) {
		/* Forget the number: the next frame in this file tries again. */
		count(COUNT_FILE_RING_FULL);
		bpf_map_delete_elem(&files, &area->key);
		return;
	}
	__u64 id = bpf_get_current_pid_tgid();
	r->header.type = RECORD_FILE;
	r->header.size = sizeof *r;
	r->number = number;
	r->pid = id >> 32;
	r->tid = (__u32)id;
	r->is_program = is_program(area);
	r->start_time = start_time;
	r->map_start = area->start;
	r->map_end = area->end;
	r->magic = area->magic;
	r->key = area->key;
	add_root(r);
	struct path_walk walk = {.record = r, .dentry = (void *)area->dentry};
	bpf_loop(FILE_PATH_DEPTH, add_component, &walk, 0);
	r->path_size = walk.size;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
}

/* The number of the area's file, given and announced at its first sight; FILE_NONE if the table is
 * full. */
__noinline int file_number(struct area *area, __u64 start_time)
{
	if (!area)
		return FILE_NONE;
	if (area->kind == AREA_VDSO)
		return FILE_VDSO;
	struct file_key key = area->key;
	__u32 *known = bpf_map_lookup_elem(&files, &key);
	if (known)
		return *known;
	__u32 number = __sync_fetch_and_add(&next_file, FILE_STEP);
	long r = bpf_map_update_elem(&files, &key, &number, BPF_NOEXIST);
	if (r == 0) {
		announce_file(area, number, start_time);
		return number;
	}
	known = bpf_map_lookup_elem(&files, &key); /* another CPU was faster */
	if (known)
		return *known;
	count(COUNT_FILES_FULL);
	return FILE_NONE;
}

#endif
