/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A mapping of the current task, asked for by an address.
 */
#ifndef BPF_AREA_H
#define BPF_AREA_H

#include "common.h"
#include "file_key.h"

/* A mapping as far as a frame needs it. */
struct area {
	__u64 start;
	__u64 end;
	__u64 file_offset; /* of start */
	struct file_key key;
	__u64 dentry; /* kernel pointer, valid while the mapping is */
	__u64 flags;
	__u64 magic; /* of the file system */
	__u32 lock_sequence;
	__u32 file; /* its number, once it was asked for */
	__u16 kind; /* enum area_kind */
	__u8 is_proved; /* it was there, as it is, at the sample */
	__u8 is_memory; /* a file that is only memory: memfd, shared anonymous memory, huge pages */
};

enum area_kind {
	AREA_NONE = 0,
	AREA_FILE,
	AREA_VDSO,
	AREA_ANONYMOUS,
};

/*
 * Global functions are verified once, each by itself, and what they return is any number to their
 * callers: that keeps the verifier from following every branch of these through every frame.
 */
__noinline int read_file(__u64 file_address, struct area *area)
{
	struct file *file = (void *)file_address;
	if (!area)
		return AREA_NONE;
	area->dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	area->magic = BPF_CORE_READ(inode, i_sb, s_magic);
	area->is_memory = (area->magic == TMPFS_MAGIC || area->magic == HUGETLBFS_MAGIC) &&
			  BPF_CORE_READ(inode, i_nlink) == 0;
	read_key(inode, &area->key);
	/*
	 * Who has it mapped shared and writable can change it without a trace in its times: that is
	 * memory in which code is made, not a file in one state.
	 */
	return BPF_CORE_READ(inode, i_mapping, i_mmap_writable.counter) > 0 ? AREA_ANONYMOUS
									     : AREA_FILE;
}

/* The vdso of a 32-bit program is another file than the one we know: plain code. */
__noinline int kind_without_file(__u64 mm_address, __u64 start)
{
	struct mm_struct *mm = (void *)mm_address;
	if (!bpf_core_field_exists(mm->context.vdso))
		return AREA_ANONYMOUS;
	bool is_64_bit = BPF_CORE_READ(mm, task_size) > 1ULL << 32;
	bool is_vdso = (__u64)BPF_CORE_READ(mm, context.vdso) == start;
	return is_vdso && is_64_bit ? AREA_VDSO : AREA_ANONYMOUS;
}

/* Called by bpf_find_vma with the mapping that holds the address, its address space locked. */
static long read_area(struct task_struct *task, struct vm_area_struct *vma, struct area *area)
{
	area->start = BPF_CORE_READ(vma, vm_start);
	area->end = BPF_CORE_READ(vma, vm_end);
	area->flags = BPF_CORE_READ(vma, vm_flags);
	area->lock_sequence =
		bpf_core_field_exists(vma->vm_lock_seq) ? BPF_CORE_READ(vma, vm_lock_seq) : 0;
	area->file_offset = BPF_CORE_READ(vma, vm_pgoff) << 12;

	__u64 file = (__u64)BPF_CORE_READ(vma, vm_file);
	if (file)
		area->kind = read_file(file, area);
	else
		area->kind = kind_without_file((__u64)BPF_CORE_READ(task, mm), area->start);
	if (area->kind == AREA_VDSO)
		area->file_offset = 0;
	return 0;
}

#define ENOENT 2
#define EBUSY  16

struct find {
	__u64 address;
	struct area area;
	long result;
};

static long find_area_try(__u64 i, struct find *find)
{
	find->result = bpf_find_vma(bpf_get_current_task_btf(), find->address, read_area,
				    &find->area, 0);
	return find->result != -EBUSY;
}

/*
 * The mapping of the current task that holds an address. 0, -ENOENT, or -EBUSY when the address space
 * was locked at each try; in interrupt context there should be one.
 */
__noinline int find_area(__u64 address, __u32 tries, struct area *ret)
{
	struct find find = {.address = address, .result = -EBUSY};
	if (!ret)
		return -ENOENT;
	bpf_loop(tries, find_area_try, &find, 0);
	*ret = find.area;
	count(COUNT_FOUND);
	if (find.result == -EBUSY)
		count(COUNT_BUSY);
	return find.result;
}

#endif
