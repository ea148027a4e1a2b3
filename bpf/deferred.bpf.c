/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The deferred sampler (Linux 6.18 and later).
 *
 * At the sample, in interrupt context, only what cannot wait is taken: who, when, the kernel's stack,
 * and for a sample in user mode the addresses of the user stack and the mapping of the leaf. The rest
 * is left to a task work that runs in the sampled task on its way back to user space, where its
 * address space may be asked: there each address becomes (inode key, offset in the file).
 *
 * Between the two the task may have become another program, or a thread beside it may have changed
 * the address space. The first shows in (thread group, its start time, self_exec_id). The second in
 * the lock sequence of the address space, and, finer, in the lock sequence that each mapping keeps of
 * its own last change: a mapping that was not touched after the sample was there, as it is, at the
 * sample. An address whose mapping cannot be proved so gets the reason "raced", not a name.
 */
#include "common.h"

#define LOCK_TRIES 16

extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map, task_work_fn callback, void *aux) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct file_key);
	__type(value, __u32);
} files SEC(".maps");

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
	__u16 kind; /* enum area_kind */
	__u16 is_memory; /* a file that is only memory: memfd, shared anonymous memory, huge pages */
};

enum area_kind {
	AREA_NONE = 0,
	AREA_FILE,
	AREA_VDSO,
	AREA_ANONYMOUS,
};

/* Turning one stack into frames: what is asked, and the frame that comes of it. */
struct walk {
	struct area leaf;    /* as the sample saw it; AREA_NONE if it could not be had */
	struct area area;    /* of the last address: neighbours often share it */
	__u64 start_time;
	__u32 sequence;      /* of the address space at the sample */
	__u32 sequence_now;
	struct user_frame frame;
	struct code_line line;
};

/* A user part that was asked for: what the sample must remember, and room to build the record. */
struct pending {
	struct bpf_task_work work;
	__u64 time;
	__u64 exec_count;
	__u32 tgid;
	__u32 n_addresses; /* 0: the sample was in the kernel, the stack is read on the way out */
	struct walk walk;
	__u64 addresses[MAX_FRAMES];
	struct user_record record;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct pending);
} pending SEC(".maps");

/*
 * What a new element of `pending` is made from: all zero, never written. As plain bytes, since the
 * verifier lets nobody copy a task work item.
 */
struct empty_pending {
	char bytes[sizeof(struct pending)];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct empty_pending);
} empty_pending SEC(".maps");

__u32 next_file = FILE_FIRST;

/* ---- reading the kernel ---------------------------------------------------------------------- */

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

/* ---- files ----------------------------------------------------------------------------------- */

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
	r->unused = 0;
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
	__u32 number = __sync_fetch_and_add(&next_file, 1);
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

/* ---- the user part, in task work ------------------------------------------------------------- */

static __always_inline void set_file_frame(struct walk *w, struct area *area, __u64 address,
					   __u32 is_leaf)
{
	struct user_frame *frame = &w->frame;
	frame->value = address - area->start + area->file_offset;
	frame->kind = USER_FRAME_FILE;
	frame->file = file_number(area, w->start_time);
	frame->reason = frame->file == FILE_NONE ? REASON_EVICTED : 0;
	frame->check = area->is_memory ? code_check_short(line_check(&w->line, address, is_leaf)) : 0;
}

static __always_inline void set_address_frame(struct user_frame *frame, __u8 kind, __u64 address,
					      __u8 reason)
{
	frame->value = address;
	frame->kind = kind;
	frame->file = FILE_NONE;
	frame->reason = reason;
	frame->check = 0;
}

static __always_inline void set_code_frame(struct walk *w, __u64 address, __u32 is_leaf)
{
	set_address_frame(&w->frame, USER_FRAME_CODE, address, 0);
	w->frame.file = line_check(&w->line, address, is_leaf);
}

/* Nothing at all changed since the sample. */
static __always_inline bool is_space_unchanged(const struct walk *w)
{
	return w->sequence_now == w->sequence && !(w->sequence & 1);
}

/* Nothing was changed in this mapping after the sample. Sequences wrap: compare their distance. */
static __always_inline bool is_as_at_sample(const struct walk *w, const struct area *area)
{
	return is_space_unchanged(w) || (__s32)(area->lock_sequence - w->sequence) < 0;
}

enum step {
	STEP_ON = 0,
	STEP_END, /* what is above was made up by frame pointers that are none */
};

/* The leaf was asked for at the sample itself: nothing can be truer. */
static __always_inline int convert_sampled_leaf(struct walk *w, __u64 address)
{
	w->area = w->leaf;
	if (!(w->leaf.flags & VM_EXEC)) {
		set_address_frame(&w->frame, USER_FRAME_RAW, address, REASON_GHOST);
		return STEP_END;
	}
	if (w->leaf.kind == AREA_ANONYMOUS)
		set_code_frame(w, address, true);
	else
		set_file_frame(w, &w->leaf, address, true);
	return STEP_ON;
}

/* An address that lies in no code. For a caller that means the walk went astray at it. */
static __always_inline int end_outside_code(struct walk *w, __u64 address, bool is_leaf,
					    bool proved, __u8 leaf_reason)
{
	if (!is_leaf) /* the address says nothing, and each would make another stack */
		set_address_frame(&w->frame, USER_FRAME_RAW, 0, REASON_BROKEN_UNWIND);
	else
		set_address_frame(&w->frame, USER_FRAME_RAW, address,
				  proved ? leaf_reason : REASON_RACED);
	return STEP_END;
}

/* One address of the stack to w->frame. Returns enum step. */
__noinline int convert(struct walk *w, __u64 address, __u32 is_leaf)
{
	if (!w)
		return STEP_END;
	if (is_leaf && w->leaf.kind != AREA_NONE)
		return convert_sampled_leaf(w, address);

	struct area *area = &w->area;
	if (area->kind == AREA_NONE || address < area->start || address >= area->end) {
		int r = find_area(address, LOCK_TRIES, area);
		if (r == -EBUSY) {
			set_address_frame(&w->frame, USER_FRAME_RAW, address,
					  REASON_LOCK_CONTENDED);
			return STEP_ON;
		}
		if (r != 0)
			area->kind = AREA_NONE;
	}
	if (area->kind == AREA_NONE)
		return end_outside_code(w, address, is_leaf, is_space_unchanged(w),
					REASON_NO_MAPPING);
	bool proved = is_as_at_sample(w, area);
	if (!(area->flags & VM_EXEC))
		return end_outside_code(w, address, is_leaf, proved, REASON_GHOST);
	if (!proved)
		set_address_frame(&w->frame, USER_FRAME_RAW, address, REASON_RACED);
	else if (area->kind == AREA_ANONYMOUS)
		set_code_frame(w, address, is_leaf);
	else
		set_file_frame(w, area, address, is_leaf);
	return STEP_ON;
}

struct steps {
	struct pending *pending;
	__u32 n;
};

static long convert_step(__u64 i, struct steps *steps)
{
	struct pending *p = steps->pending;
	if (i >= p->n_addresses || i >= MAX_FRAMES)
		return 1;
	int end = convert(&p->walk, p->addresses[i], i == 0);
	p->record.frames[i] = p->walk.frame;
	steps->n = i + 1;
	return end == STEP_END;
}

/* The task is still the program that was sampled. */
static __always_inline bool is_same_image(struct pending *p, struct task_struct *task)
{
	return p->tgid == (__u32)BPF_CORE_READ(task, tgid) &&
	       p->walk.start_time == BPF_CORE_READ(task, group_leader, start_boottime) &&
	       p->exec_count == BPF_CORE_READ(task, self_exec_id);
}

static __always_inline __u32 add_reason_frame(struct pending *p, __u32 n, __u8 reason)
{
	if (n > MAX_FRAMES)
		return n;
	set_address_frame(&p->record.frames[n], USER_FRAME_RAW, 0, reason);
	return n + 1;
}

/* The program that was sampled is no more: only what the sample itself saw can be told. */
static __always_inline __u32 convert_leaf_only(struct pending *p, __u8 reason)
{
	__u32 n = 0;
	if (p->n_addresses && p->walk.leaf.kind != AREA_NONE) {
		convert(&p->walk, p->addresses[0], true);
		p->record.frames[0] = p->walk.frame;
		n = 1;
		if (!settings.callers)
			return n;
	}
	return add_reason_frame(p, n, reason);
}

static __always_inline __u32 convert_all(struct pending *p, struct task_struct *task)
{
	p->walk.sequence_now = lock_sequence(task);
	if (!p->n_addresses) { /* the sample was in the kernel: where will the task return to? */
		long size = bpf_get_task_stack(task, p->addresses, stack_room(), BPF_F_USER_STACK);
		p->n_addresses = n_addresses(size);
		p->walk.sequence = p->walk.sequence_now;
	}
	struct steps steps = {.pending = p};
	bpf_loop(MAX_FRAMES, convert_step, &steps, 0);
	__u32 n = steps.n;
	if (!n)
		return add_reason_frame(p, 0, REASON_NO_USER_STACK);
	if (n >= settings.max_frames && settings.callers)
		return add_reason_frame(p, n, REASON_CUT_DEPTH);
	return n;
}

static int on_return_to_user(struct bpf_map *map, void *key, void *value)
{
	struct pending *p = value;
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 n;
	if (!BPF_CORE_READ(task, mm))
		n = convert_leaf_only(p, REASON_EXITING);
	else if (!is_same_image(p, task))
		n = convert_leaf_only(p, REASON_EXEC_RACED);
	else
		n = convert_all(p, task);

	struct user_record *r = &p->record;
	if (n > MAX_FRAMES + 1)
		n = MAX_FRAMES + 1;
	__u64 size = bounded(sizeof *r - sizeof r->frames + n * sizeof r->frames[0], sizeof *r);
	r->header.type = RECORD_USER;
	r->header.size = size;
	r->n_frames = n;
	r->delay_us = (bpf_ktime_get_ns() - p->time) / 1000;
	if (bpf_ringbuf_output(&ring, r, size, wake_up()) < 0)
		count(COUNT_USER_RING_FULL);
	count(COUNT_CALLBACKS);
	bpf_map_delete_elem(&pending, key);
	return 0;
}

/* ---- the sample, in interrupt context -------------------------------------------------------- */

/* Fills a new element with what the sample saw of user space. */
static __always_inline void fill_pending(struct pending *p, struct bpf_perf_event_data *ctx,
					 struct task_struct *task, struct sample_record *r,
					 bool in_user_mode)
{
	p->time = r->time;
	p->walk.start_time = r->start_time;
	p->exec_count = BPF_CORE_READ(task, self_exec_id);
	p->tgid = r->pid;
	p->walk.sequence = lock_sequence(task);
	p->record.ticket = r->ticket;
	if (!in_user_mode)
		return;
	long size = bpf_get_stack(ctx, p->addresses, stack_room(), BPF_F_USER_STACK);
	p->n_addresses = n_addresses(size);
	if (p->n_addresses)
		find_area(p->addresses[0], 1, &p->walk.leaf);
}

/*
 * Sees to it that the user part will come, and gives the sample its ticket. All samples of one stay
 * in the kernel return to the same place: they share one. A sample in user mode has its own.
 */
static __always_inline void ask_for_user_part(struct bpf_perf_event_data *ctx,
					      struct task_struct *task, struct sample_record *r,
					      bool in_user_mode)
{
	__u64 ticket = __sync_fetch_and_add(&next_ticket, 1);
	__u64 key = (__u64)r->tid << 32 | (in_user_mode ? (__u32)ticket | 1 : 0);
	struct pending *p = bpf_map_lookup_elem(&pending, &key);
	if (p && !in_user_mode) {
		if (p->exec_count == BPF_CORE_READ(task, self_exec_id))
			r->ticket = p->record.ticket;
		else
			r->user_reason = REASON_EXEC_RACED;
		return;
	}
	__u32 zero = 0;
	struct empty_pending *empty = bpf_map_lookup_elem(&empty_pending, &zero);
	if (!empty)
		return;
	if (bpf_map_update_elem(&pending, &key, empty, BPF_NOEXIST) < 0 ||
	    !(p = bpf_map_lookup_elem(&pending, &key))) {
		count(COUNT_PENDING_FULL);
		r->user_reason = REASON_NO_USER_STACK;
		return;
	}
	r->ticket = ticket;
	fill_pending(p, ctx, task, r, in_user_mode);
	if (bpf_task_work_schedule_resume_impl(task, &p->work, &pending, on_return_to_user, 0) < 0) {
		count(COUNT_REFUSED);
		r->ticket = 0;
		r->user_reason = REASON_NO_USER_STACK;
		bpf_map_delete_elem(&pending, &key);
		return;
	}
	count(COUNT_TICKETS);
}

DEFINE_SAMPLER(ask_for_user_part)
