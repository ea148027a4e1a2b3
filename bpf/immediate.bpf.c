/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The immediate sampler (Linux 5.15 and later): everything is taken at the sample, in interrupt
 * context.
 *
 * The kernel converts the addresses of the user stack to (build ID, file offset) by itself. Where it
 * cannot (no build ID, the file's header not in memory, address space locked) the raw address goes to
 * user space, which decides by a snapshot of the process while that lives, or gives the reason. It
 * takes the next mapping above for an address that lies in none; such ghosts are told by the file's
 * segments, in user space too.
 *
 * Written for the verifier of 5.15: plain loops, no callbacks.
 */
#include "common.h"

struct build_id {
	__u8 bytes[BUILD_ID_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct build_id);
	__type(value, __u32);
} files SEC(".maps");

__u32 next_file = FILE_FIRST;

/* The user stack of one sample in its two forms, and the record that is made of them. */
struct stack {
	__u64 addresses[MAX_FRAMES];
	struct bpf_stack_build_id ids[MAX_FRAMES];
	struct code_line line;
	struct user_record record;
	struct user_frame frames[MAX_FRAMES + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack);
} stacks SEC(".maps");

static __always_inline void announce_file(struct build_id *id, __u32 number, __u64 address,
					  struct sample_record *sample)
{
	struct build_id_record *r = bpf_ringbuf_reserve(&ring, sizeof *r, 0);
	if (!r) {
		/* Forget the number: the next frame in this file tries again. */
		count(COUNT_FILE_RING_FULL);
		bpf_map_delete_elem(&files, id);
		return;
	}
	r->header.type = RECORD_BUILD_ID;
	r->header.size = sizeof *r;
	r->number = number;
	r->pid = sample->pid;
	r->tid = sample->tid;
	r->exec_count = sample->exec_count;
	r->start_time = sample->start_time;
	r->image = sample->image;
	r->address = address;
	__builtin_memcpy(r->build_id, id->bytes, sizeof r->build_id);
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
}

/*
 * The number of a file, given and announced at its first sight; FILE_NONE if the table is full. A global
 * function, which is verified once and by itself: inlined, its branches would be followed for each frame.
 */
__noinline int file_number(struct build_id *id, __u64 address, struct sample_record *sample)
{
	if (!id || !sample)
		return FILE_NONE;
	/* Verifiers of Linux 6.1 take a key from the stack, not from a caller's memory. */
	struct build_id key;
	__builtin_memcpy(&key, id, sizeof key);
	__u32 *known = bpf_map_lookup_elem(&files, &key);
	if (known)
		return *known;
	__u32 number = __sync_fetch_and_add(&next_file, 1);
	if (bpf_map_update_elem(&files, &key, &number, BPF_NOEXIST) == 0) {
		announce_file(&key, number, address, sample);
		return number;
	}
	known = bpf_map_lookup_elem(&files, &key); /* another CPU was faster */
	if (known)
		return *known;
	count(COUNT_FILES_FULL);
	return FILE_NONE;
}

/*
 * An id that was filled up with zeros may be that of several files: one of 8 bytes, and one of 9 that
 * begins with it and ends in a zero. Which one it is, user space can tell by the file. One whole id in
 * 65536 looks the same; nobody makes ids of 19 bytes.
 */
static __always_inline bool is_whole_id(const struct bpf_stack_build_id *id)
{
	return id->status == BPF_STACK_BUILD_ID_VALID &&
	       (id->build_id[BUILD_ID_SIZE - 1] || id->build_id[BUILD_ID_SIZE - 2]);
}

static __always_inline void convert(struct stack *s, __u32 i, struct sample_record *sample)
{
	struct bpf_stack_build_id *from = &s->ids[i];
	struct user_frame *frame = &s->frames[i];
	__u32 number = FILE_BY_ADDRESS;
	frame->check = 0;
	if (is_whole_id(from)) {
		struct build_id id;
		__builtin_memcpy(id.bytes, from->build_id, sizeof id.bytes);
		number = (__u32)file_number(&id, s->addresses[i], sample);
	}
	if (number == FILE_BY_ADDRESS) {
		frame->value = s->addresses[i];
		frame->kind = USER_FRAME_RAW; /* without a reason: user space finds out */
		frame->file = line_check(&s->line, s->addresses[i], i == 0);
		frame->reason = 0;
		return;
	}
	frame->value = from->offset;
	frame->kind = USER_FRAME_FILE;
	frame->file = number;
	frame->reason = frame->file == FILE_NONE ? REASON_EVICTED : 0;
}

static __always_inline void add_reason_frame(struct stack *s, __u32 n, __u8 reason)
{
	/* By a mask: verifiers before 6.4 follow ways that are none, on which a comparison says
	 * nothing. MAX_FRAMES is one less than a power of two. */
	barrier_var(n);
	n &= MAX_FRAMES;
	s->frames[n].value = 0;
	s->frames[n].file = FILE_NONE;
	s->frames[n].kind = USER_FRAME_RAW;
	s->frames[n].reason = reason;
	s->frames[n].check = 0;
	s->record.n_frames = n + 1;
}

static __always_inline void write_user_part(struct stack *s, struct sample_record *sample, __u32 n)
{
	struct user_record *r = &s->record;
	r->n_frames = n;
	if (!n)
		add_reason_frame(s, 0, REASON_NO_USER_STACK);
	else if (n >= settings.max_frames && settings.callers)
		add_reason_frame(s, n, REASON_CUT_DEPTH);
	n = r->n_frames;
	if (n > MAX_FRAMES + 1)
		n = MAX_FRAMES + 1;
	__u64 size = bounded(sizeof *r + n * sizeof s->frames[0], sizeof *r + sizeof s->frames);
	r->header.type = RECORD_USER;
	r->header.size = size;
	r->ticket = sample->ticket;
	r->delay_us = 0;
	if (bpf_ringbuf_output(&ring, r, size, wake_up()) < 0)
		count(COUNT_USER_RING_FULL);
	count(COUNT_CALLBACKS);
}

static __always_inline void take_user_part(struct bpf_perf_event_data *ctx,
					   struct task_struct *task, struct sample_record *sample,
					   bool in_user_mode)
{
	__u32 zero = 0;
	/* In the middle of an exec the registers are the old program's and the memory is the new one's. */
	if (!in_user_mode && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve)) {
		sample->user_reason = REASON_EXEC_RACED;
		return;
	}
	struct stack *s = bpf_map_lookup_elem(&stacks, &zero);
	if (!s)
		return;
	sample->ticket = __sync_fetch_and_add(&next_ticket, 1);
	count(COUNT_TICKETS);
	__u32 n_raw = n_addresses(bpf_get_stack(ctx, s->addresses, stack_room(), BPF_F_USER_STACK));
	long size = bpf_get_stack(ctx, s->ids, stack_room() / 8 * sizeof s->ids[0],
				  BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
	__u32 n = size > 0 ? (__u32)size / sizeof s->ids[0] : 0;
	if (n > n_raw)
		n = n_raw;
	if (n > MAX_FRAMES)
		n = MAX_FRAMES;
	for (__u32 i = 0; i < MAX_FRAMES; i++) {
		if (i >= n)
			break;
		convert(s, i, sample);
	}
	write_user_part(s, sample, n);
}

DEFINE_SAMPLER(take_user_part)
