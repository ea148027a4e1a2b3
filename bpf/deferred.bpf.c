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
#include "user_frame.h"

extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map, task_work_fn callback, void *aux) __ksym;

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

/* ---- the user part, in task work ------------------------------------------------------------- */

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
