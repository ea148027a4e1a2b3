/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What every engine's program has in common: settings, ring, counters, who is a target, and the part
 * of a sample that interrupt context can tell. An engine adds how the user part comes about,
 * and ends with DEFINE_SAMPLER().
 */
#ifndef BPF_COMMON_H
#define BPF_COMMON_H

#include "code_check.h"
#include "kernel.h"
#include "records.h"

/* enum mw_reason of the public header, as far as it is decided here; checked by capture/sampler.c */
#include "reasons.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Fixed by user space before loading. */
const volatile struct settings settings SEC(".rodata.settings") = {.max_frames = MAX_FRAMES};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20); /* user space may ask for another size */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, N_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct target);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_record);
} scratch SEC(".maps");

__u64 next_ticket = 1;

static __always_inline void count_many(__u32 which, __u64 many)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &which);
	if (n)
		__sync_fetch_and_add(n, many);
}

static __always_inline void count(__u32 which)
{
	count_many(which, 1);
}

/* Bytes that a stack may take. */
static __always_inline __u32 stack_room(void)
{
	__u32 n = settings.callers ? settings.max_frames : 1;
	return (n > MAX_FRAMES ? MAX_FRAMES : n) * 8;
}

/*
 * A size that the verifier can see to be at most a limit. The compiler may know that it is, and would
 * leave the comparison out; then the verifiers before 6.4, who follow less, do not know.
 */
static __always_inline __u64 bounded(__u64 size, __u64 limit)
{
	barrier_var(size);
	return size > limit ? limit : size;
}

/* What bpf_get_stack returned, as a number of addresses. BPF has no signed division. */
static __always_inline __u32 n_addresses(long size)
{
	return size > 0 ? (__u32)size / 8 : 0;
}

/*
 * Samples do not wake the reader, who comes by himself ten times a second, unless the ring fills up.
 * New files do: they may be gone soon.
 */
static __always_inline __u64 wake_up(void)
{
	__u64 used = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 size = bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE);
	return used > size / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline __u32 lock_sequence(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	if (mm && bpf_core_field_exists(mm->mm_lock_seq))
		return BPF_CORE_READ(mm, mm_lock_seq.sequence);
	return 0;
}

static __always_inline __u64 mount_namespace_id(struct task_struct *task)
{
	struct mnt_namespace *ns = BPF_CORE_READ(task, nsproxy, mnt_ns);
	if (!ns)
		return 0;
	if (bpf_core_field_exists(ns->ns.ns_id))
		return BPF_CORE_READ(ns, ns.ns_id);
	struct mnt_namespace___6_17 *old = (void *)ns;
	return bpf_core_field_exists(old->seq) ? BPF_CORE_READ(old, seq) : 0;
}

struct code_line {
	__u64 words[CODE_LINE_WORDS];
};

/*
 * The check of the code at an address of the current task; 0 if it is not in memory now. Of a caller
 * it is the line that holds the call.
 */
__noinline int line_check(struct code_line *line, __u64 address, __u32 is_leaf)
{
	if (!line)
		return 0;
	address -= !is_leaf;
	address &= ~(CODE_LINE_SIZE - 1ULL);
	if (bpf_probe_read_user(line, sizeof *line, (void *)address) < 0)
		return 0;
	return code_check(line->words);
}

/* ---- whom to sample ------------------------------------------------------------------------- */

static __always_inline bool matches(__u64 kind, __u32 id)
{
	__u64 key = kind << 32 | id;
	struct target *t = bpf_map_lookup_elem(&targets, &key);
	return t && !t->waits_for_exec;
}

/* Deeper ones than this are not looked at. */
#define CGROUP_DEPTH_MAX 32

static __always_inline bool is_target_cgroup(__u64 id)
{
	for (int i = 0; i < CGROUPS_MAX; i++) {
		if (i < settings.n_cgroups && settings.cgroups[i] == id)
			return true;
	}
	return false;
}

/* Whether the current task's cgroup, or one above it, is a target. */
static __always_inline bool in_target_cgroup(void)
{
	if (!settings.n_cgroups)
		return false;
	for (int level = 0; level < CGROUP_DEPTH_MAX; level++) {
		__u64 id = bpf_get_current_ancestor_cgroup_id(level);
		if (!id)
			break;
		if (is_target_cgroup(id))
			return true;
	}
	return false;
}

static __always_inline bool is_target(__u32 tgid, __u32 tid)
{
	return settings.all_tasks || matches(TARGET_PROCESS, tgid) || matches(TARGET_THREAD, tid) ||
	       in_target_cgroup();
}

/* ---- the sample, in interrupt context -------------------------------------------------------- */

static __always_inline void fill_sample(struct bpf_perf_event_data *ctx,
					struct task_struct *task, struct sample_record *r)
{
	__u64 id = bpf_get_current_pid_tgid();
	r->header.type = RECORD_SAMPLE;
	r->time = bpf_ktime_get_ns();
	r->period = ctx->sample_period;
	r->ticket = 0;
	r->start_time = BPF_CORE_READ(task, group_leader, start_boottime);
	r->cgroup = bpf_get_current_cgroup_id();
	r->mount_namespace = mount_namespace_id(task);
	r->pid = id >> 32;
	r->tid = (__u32)id;
	r->exec_count = BPF_CORE_READ(task, self_exec_id);
	r->image = BPF_CORE_READ(task, mm, start_code) ^ BPF_CORE_READ(task, mm, start_stack);
	r->cpu = bpf_get_smp_processor_id();
	r->event = bpf_get_attach_cookie(ctx);
	r->n_kernel = 0;
	r->user_reason = 0;
	r->sequence = lock_sequence(task);
	r->unused2 = 0;
	bpf_get_current_comm(r->command, sizeof r->command);
}

static __always_inline void write_sample(struct sample_record *r)
{
	__u32 n = r->n_kernel;
	if (n > MAX_FRAMES)
		n = MAX_FRAMES;
	__u64 size = bounded(sizeof *r - sizeof r->kernel + n * 8, sizeof *r);
	r->header.size = size;
	count(bpf_ringbuf_output(&ring, r, size, wake_up()) < 0 ? COUNT_RING_FULL : COUNT_SAMPLES);
}

/* What is not to become a sample. */
static __always_inline bool is_skipped(__u64 id)
{
	if ((__u32)id == 0 && !settings.count_idle) {
		count(COUNT_IDLE);
		return true;
	}
	if (!is_target(id >> 32, (__u32)id)) {
		count(COUNT_OTHER_TASKS);
		return true;
	}
	return false;
}

typedef void (*user_part_fn)(struct bpf_perf_event_data *ctx, struct task_struct *task,
			     struct sample_record *r, bool in_user_mode);

/* user_part sees to it that the user part will come, and gives the sample its ticket or reason. */
static __always_inline int take_sample(struct bpf_perf_event_data *ctx, user_part_fn user_part)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0;
	count(COUNT_HITS);
	if (is_skipped(bpf_get_current_pid_tgid()))
		return 0;
	struct sample_record *r = bpf_map_lookup_elem(&scratch, &zero);
	if (!r)
		return 0;
	fill_sample(ctx, task, r);
	bool in_user_mode = (__s64)PT_REGS_IP(&ctx->regs) > 0;
	if (!in_user_mode)
		r->n_kernel = n_addresses(bpf_get_stack(ctx, r->kernel, stack_room(), 0));
	if (!(BPF_CORE_READ(task, flags) & PF_KTHREAD)) {
		if (!BPF_CORE_READ(task, mm))
			r->user_reason = REASON_EXITING;
		else if (in_user_mode || settings.callers)
			user_part(ctx, task, r, in_user_mode);
	}
	write_sample(r);
	return 0;
}

#define DEFINE_SAMPLER(user_part)                                                                  \
	SEC("perf_event")                                                                          \
	int on_sample(struct bpf_perf_event_data *ctx)                                             \
	{                                                                                          \
		return take_sample(ctx, user_part);                                                \
	}

/* ---- targets have children, and end ---------------------------------------------------------- */

static __always_inline void add_target(__u64 kind, __u32 id)
{
	__u64 key = kind << 32 | id;
	struct target target = {};
	if (bpf_map_update_elem(&targets, &key, &target, BPF_ANY) < 0)
		count(COUNT_TARGETS_FULL);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = parent->tgid, child_tgid = child->tgid;
	if (parent_tgid != child_tgid && matches(TARGET_PROCESS, parent_tgid))
		add_target(TARGET_PROCESS, child_tgid);
	if (matches(TARGET_THREAD, parent->pid))
		add_target(TARGET_THREAD, child->pid);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	__u64 key = TARGET_PROCESS << 32 | (__u32)task->tgid;
	struct target *t = bpf_map_lookup_elem(&targets, &key);
	if (t)
		t->waits_for_exec = 0;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u64 thread = TARGET_THREAD << 32 | (__u32)task->pid;
	bpf_map_delete_elem(&targets, &thread);
	if (BPF_CORE_READ(task, signal, live.counter) == 0) {
		__u64 process = TARGET_PROCESS << 32 | (__u32)task->tgid;
		bpf_map_delete_elem(&targets, &process);
	}
	return 0;
}

#endif
