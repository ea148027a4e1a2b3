/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The kernel's types, as far as our programs look into them. Offsets are filled in at load time from
 * the running kernel's BTF (CO-RE), so only names and nesting matter here. A type NAME___TEXT is
 * NAME as another kernel version has it.
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
	struct dentry *d_parent;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct fs_struct {
	struct path root;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

typedef struct {
	int counter;
} atomic_t;

struct address_space {
	atomic_t i_mmap_writable;
};

struct inode {
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	long long i_size;
	__s64 i_mtime_sec;
	__s64 i_ctime_sec;
	__u32 i_mtime_nsec;
	__u32 i_ctime_nsec;
	__u32 i_generation;
	unsigned int i_nlink;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct inode___6_7 { /* until 6.11 */
	struct timespec64 __i_mtime;
	struct timespec64 __i_ctime;
};

struct btrfs_key {
	__u64 objectid;
};

struct btrfs_root {
	struct btrfs_key root_key;
};

struct btrfs_inode {
	struct btrfs_root *root;
	struct inode vfs_inode;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	unsigned int vm_lock_seq;
	struct file *vm_file;
};

struct seqcount {
	unsigned int sequence;
};

typedef struct seqcount seqcount_t;

typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct {
	seqcount_t mm_lock_seq;
	unsigned long task_size;
	unsigned long start_code;
	unsigned long start_stack;
	struct file *exe_file;
	mm_context_t context;
};

struct ns_common {
	__u64 ns_id;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct mnt_namespace___6_17 { /* until 6.18 */
	__u64 seq;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct signal_struct {
	atomic_t live;
};

/* Whole, as libbpf compares the prototype of the kernel function that takes one. */
struct bpf_map {
	__u32 id;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	unsigned int flags;
	unsigned int in_execve : 1;
	int pid;
	int tgid;
	__u64 start_boottime;
	__u64 self_exec_id;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct css_set *cgroups;
	char comm[16];
};

#pragma clang attribute pop

/* Not in the headers of libbpf 1.1: a task work item, and what schedules it (Linux 6.18). */
struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));

typedef int (*task_work_fn)(struct bpf_map *map, void *key, void *value);

#define VM_EXEC           0x4UL
#define PF_KTHREAD        0x00200000U
#define BTRFS_SUPER_MAGIC 0x9123683EUL
#define OVERLAYFS_MAGIC   0x794c7630UL
#define TMPFS_MAGIC       0x01021994UL
#define HUGETLBFS_MAGIC   0x958458F6UL

#endif
