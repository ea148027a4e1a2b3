/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The deferred sampler (Linux 6.18 and later).
 *
 * At the sample, in interrupt context, only what cannot wait is taken: who, when, the kernel's stack,
 * and for a sample in user mode the registers with the top of the user stack, or the addresses on it by
 * frame pointers, and the mapping of the leaf. The rest is left to a task work that runs in the sampled
 * task on its way back to user space, where its address space may be asked and its stack be brought into
 * memory: there the stack is walked, and each address becomes (inode key, offset in the file).
 *
 * Between the two the task may have become another program, or a thread beside it may have changed
 * the address space. The first shows in (thread group, its start time, self_exec_id). The second in
 * the lock sequence of the address space, and, finer, in the lock sequence that each mapping keeps of
 * its own last change: a mapping that was not touched after the sample was there, as it is, at the
 * sample. An address whose mapping cannot be proved so gets the reason "raced", not a name.
 */
#include "off_cpu.h"
#include "stack.h"

extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map, task_work_fn callback, void *aux) __ksym;

/* A user part that was asked for. */
struct pending {
	struct bpf_task_work work;
	__u64 time;
	__u64 ticket;
	__u64 exec_count;
	__u32 tgid;
	__u32 in_user_mode;
	struct sampled sampled;
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

static long place_step(__u64 i, struct stack_reader *reader)
{
	struct sampled *s = reader->sampled;
	if (i >= s->n_addresses || i >= MAX_FRAMES)
		return 1;
	return place_address(reader->walk, s, s->addresses[i], i == 0) == -ENOENT;
}

/* The task is still the program that was sampled. */
static __always_inline bool is_same_image(struct pending *p, struct task_struct *task)
{
	return p->tgid == (__u32)BPF_CORE_READ(task, tgid) &&
	       p->sampled.start_time == BPF_CORE_READ(task, group_leader, start_boottime) &&
	       p->exec_count == BPF_CORE_READ(task, self_exec_id);
}

/* The program that was sampled is no more: only what the sample itself saw can be told. */
static __always_inline void convert_leaf_only(struct pending *p, struct walk *w, __u8 reason)
{
	struct sampled *s = &p->sampled;
	if (p->in_user_mode && s->leaf.kind != AREA_NONE) {
		place_address(w, s, s->by_tables ? s->registers.words[USER_REGISTER_IP]
						 : s->addresses[0], true);
		if (!settings.callers)
			return;
	}
	add_reason_frame(w, reason);
}

static __always_inline void convert_addresses(struct walk *w, struct sampled *s)
{
	struct stack_reader reader = {w, s};
	bpf_loop(MAX_FRAMES, place_step, &reader, 0);
	if (!w->n_frames)
		add_reason_frame(w, REASON_NO_USER_STACK);
	else if (w->n_frames >= stack_room() / 8 && settings.callers)
		add_reason_frame(w, REASON_CUT_DEPTH);
}

/* Whether the stack is walked by tables; then the registers are there. */
static __always_inline bool choose_tables(struct sampled *s, struct task_struct *task)
{
	if (!settings.callers || settings.walk_by == WALK_FRAME_POINTERS)
		return false;
	return read_user_registers(task, &s->registers) == 0 && !is_32_bit(&s->registers);
}

/* A sample in the kernel: where will the task return to? Nothing changes before it does. */
static __always_inline void look_at_return(struct pending *p, struct walk *w,
					   struct task_struct *task)
{
	struct sampled *s = &p->sampled;
	s->sequence = w->sequence_now;
	s->by_tables = choose_tables(s, task);
	if (s->by_tables)
		return;
	long size = bpf_get_task_stack(task, s->addresses, stack_room(), BPF_F_USER_STACK);
	s->n_addresses = n_addresses(size);
}

static __always_inline void convert_all(struct pending *p, struct walk *w, struct task_struct *task)
{
	struct sampled *s = &p->sampled;
	if (!p->in_user_mode)
		look_at_return(p, w, task);
	if (s->by_tables)
		walk_stack(w, s, p->in_user_mode);
	else
		convert_addresses(w, s);
}

static __always_inline void write_user_part(struct user_record *r, __u32 n, struct pending *p,
					    __u64 size)
{
	__u64 now = bpf_ktime_get_ns();
	r->header.type = RECORD_USER;
	r->header.size = size;
	r->ticket = p->ticket;
	r->n_frames = n;
	r->delay_us = (now - p->time) / 1000;
	if (bpf_ringbuf_output(&ring, r, size, wake_up()) < 0)
		count(COUNT_USER_RING_FULL);
	count(COUNT_CALLBACKS);
}

/* There was no room to walk in. */
static __always_inline void write_reason(struct pending *p, __u8 reason)
{
	struct {
		struct user_record record;
		struct user_frame frame;
	} r = {.frame = {.kind = USER_FRAME_RAW, .reason = reason}};
	write_user_part(&r.record, 1, p, sizeof r);
}

static __always_inline void write_walk(struct walk *w, struct pending *p)
{
	__u32 n = w->n_frames;
	if (n > USER_FRAMES_MAX + 1)
		n = USER_FRAMES_MAX + 1;
	__u64 size = bounded(sizeof w->record + n * sizeof w->frames[0],
			     sizeof w->record + sizeof w->frames);
	write_user_part(&w->record, n, p, size);
	count_many(COUNT_FRAMES, n);
}

static __always_inline void take_user_part(struct pending *p)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct walk *w = walk_take();
	if (!w) {
		count(COUNT_WALKS_FULL);
		write_reason(p, REASON_NO_USER_STACK);
		return;
	}
	walk_begin(w, &p->sampled);
	if (!BPF_CORE_READ(task, mm))
		convert_leaf_only(p, w, REASON_EXITING);
	else if (!is_same_image(p, task))
		convert_leaf_only(p, w, REASON_EXEC_RACED);
	else
		convert_all(p, w, task);
	write_walk(w, p);
	walk_release(w);
}

/* More than this is a wait for the disk, in which others run. */
#define RETURN_NS_MAX 1000000

static int on_return_to_user(struct bpf_map *map, void *key, void *value)
{
	__u64 began = bpf_ktime_get_ns();
	take_user_part(value);
	bpf_map_delete_elem(&pending, key);
	count_many(COUNT_RETURN_NS, bounded(bpf_ktime_get_ns() - began, RETURN_NS_MAX));
	return 0;
}

/* ---- the sample, in interrupt context -------------------------------------------------------- */

/* The words from the stack pointer on; at the end of a mapping, those up to the end of the page. */
static __always_inline void copy_stack(struct sampled *s)
{
	__u64 start = s->registers.words[USER_REGISTER_SP] & ~7ULL;
	s->stack_start = start;
	s->stack_size = sizeof s->stack;
	if (bpf_probe_read_user(s->stack, sizeof s->stack, (void *)start) == 0)
		return;
	__u64 left = bounded(4096 - (start & 4095), sizeof s->stack);
	s->stack_size = bpf_probe_read_user(s->stack, left, (void *)start) == 0 ? left : 0;
}

/* Fills a new element with what the sample saw of user space. */
static __always_inline void fill_pending(struct pending *p, struct bpf_perf_event_data *ctx,
					 struct task_struct *task, struct sample_record *r,
					 bool in_user_mode)
{
	struct sampled *s = &p->sampled;
	p->time = r->time;
	p->ticket = r->ticket;
	p->exec_count = BPF_CORE_READ(task, self_exec_id);
	p->tgid = r->pid;
	p->in_user_mode = in_user_mode;
	s->start_time = r->start_time;
	s->sequence = lock_sequence(task);
	if (!in_user_mode)
		return;
	__u64 leaf;
	s->by_tables = choose_tables(s, task);
	if (s->by_tables) {
		copy_stack(s);
		leaf = s->registers.words[USER_REGISTER_IP];
	} else {
		long size = bpf_get_stack(ctx, s->addresses, stack_room(), BPF_F_USER_STACK);
		s->n_addresses = n_addresses(size);
		if (!s->n_addresses)
			return;
		leaf = s->addresses[0];
	}
	find_area(leaf, 1, &s->leaf);
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
			r->ticket = p->ticket;
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

/* ---- the scheduler --------------------------------------------------------------------------- */

static __always_inline void take_off_cpu(struct task_struct *task, __u64 now)
{
	__u32 zero = 0;
	__u64 blocked = off_cpu_end(task, now);
	if (!blocked)
		return;
	count(COUNT_OFF_CPU);
	if (blocked < settings.off_cpu_min) {
		count(COUNT_OFF_CPU_SHORT);
		count_many(COUNT_OFF_CPU_SHORT_NS, blocked);
		return;
	}
	struct sample_record *r = bpf_map_lookup_elem(&off_cpu_scratch, &zero);
	if (!r)
		return;
	fill_off_cpu(r, task, now, blocked);
	if (!task->mm)
		r->user_reason = REASON_EXITING;
	else if (settings.callers)
		ask_for_user_part(0, task, r, false);
	write_sample(r);
}

/* A task that is switched away from in any other state than running (0) waits for something. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	if (!preempt && prev_state)
		off_cpu_begin(prev, now);
	take_off_cpu(next, now);
	return 0;
}
