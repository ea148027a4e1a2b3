/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Time that tasks are blocked: from the switch away from one that waits to the switch back to it. There
 * a sample is taken of it, which weighs that time; its kernel stack is that of the wait, and its user
 * part comes as that of any sample does.
 *
 * All of this runs under the scheduler's lock. What each switch does is to write or read one slot of an
 * array, by the task's number: no lock, nothing to be allocated. The rest is only for waits that are
 * long enough, which bounds their number; the others are added up. Two tasks whose numbers are the same
 * in their lower bits share a slot, and the wait of the first is lost then, and counted.
 */
#ifndef BPF_OFF_CPU_H
#define BPF_OFF_CPU_H

#include "common.h"

#define OFF_CPU_SLOTS 65536

struct off_cpu_slot {
	__u64 since;
	__u32 tid; /* 0: nobody */
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OFF_CPU_SLOTS);
	__type(key, __u32);
	__type(value, struct off_cpu_slot);
} off_cpu SEC(".maps");

/* Not `scratch`: a sample may interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_record);
} off_cpu_scratch SEC(".maps");

static __always_inline struct off_cpu_slot *off_cpu_slot(__u32 tid)
{
	__u32 key = tid & (OFF_CPU_SLOTS - 1);
	return bpf_map_lookup_elem(&off_cpu, &key);
}

/* The current task is about to wait. */
static __always_inline void off_cpu_begin(struct task_struct *task, __u64 now)
{
	__u32 tid = task->pid;
	if (task->flags & PF_KTHREAD || !tid || !is_target(task->tgid, tid))
		return;
	struct off_cpu_slot *slot = off_cpu_slot(tid);
	if (!slot)
		return;
	if (slot->tid && slot->tid != tid)
		count(COUNT_OFF_CPU_LOST);
	slot->since = now;
	slot->tid = tid;
}

/* How long the task that comes back was away; 0 if that is not known. */
static __always_inline __u64 off_cpu_end(struct task_struct *task, __u64 now)
{
	__u32 tid = task->pid;
	struct off_cpu_slot *slot = off_cpu_slot(tid);
	if (!slot || !tid || slot->tid != tid)
		return 0;
	slot->tid = 0;
	return now - slot->since;
}

static __always_inline void fill_off_cpu(struct sample_record *r, struct task_struct *task,
					 __u64 now, __u64 blocked)
{
	r->header.type = RECORD_SAMPLE;
	r->time = now;
	r->period = blocked;
	r->ticket = 0;
	r->start_time = BPF_CORE_READ(task, group_leader, start_boottime);
	r->cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	r->mount_namespace = mount_namespace_id(task);
	r->pid = task->tgid;
	r->tid = task->pid;
	r->exec_count = task->self_exec_id;
	r->image = BPF_CORE_READ(task, mm, start_code) ^ BPF_CORE_READ(task, mm, start_stack);
	r->cpu = bpf_get_smp_processor_id();
	r->event = settings.off_cpu_event;
	r->user_reason = 0;
	r->sequence = lock_sequence(task);
	r->unused2 = 0;
	bpf_probe_read_kernel(r->command, sizeof r->command, task->comm);
	r->n_kernel = n_addresses(bpf_get_task_stack(task, r->kernel, stack_room(), 0));
}

#endif
