/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * One address of a user stack to a frame: the file and the offset in it, or why not; and the room in
 * which a whole user part is made.
 *
 * That room is some twenty KiB, too much for each sample that waits: a task work takes one of a few
 * and gives it back. It may be preempted or wait for a page meanwhile, so there are more than CPUs.
 */
#ifndef BPF_USER_FRAME_H
#define BPF_USER_FRAME_H

#include "files.h"
#include "user_registers.h"

/* How unwind_step.h reads the stack; stack.h says it. */
struct stack_reader;
#define UNWIND_CONTEXT struct stack_reader
static __always_inline int unwind_read(struct stack_reader *reader, __u64 address, __u64 *ret);
#include "unwind_step.h"

#define LOCK_TRIES 16

#define STACK_WORDS 64 /* of the stack that are taken at the sample */

/* What the sample saw of user space. */
struct sampled {
	struct area leaf; /* AREA_NONE if it could not be had */
	__u64 start_time;
	__u32 sequence;	    /* of the address space */
	__u32 n_addresses;  /* by frame pointers */
	__u32 by_tables;    /* the stack is to be walked from the registers on */
	__u32 unused;
	union {
		__u64 addresses[MAX_FRAMES]; /* by frame pointers */
		struct {
			struct user_registers registers;
			__u64 stack_start;
			__u64 stack_size; /* bytes of stack[] that are there */
			__u64 stack[STACK_WORDS];
		};
	};
};

/* Mappings that were asked for: few are met in one stack, and those many times. */
#define WALK_AREAS 8

/* How the frame that was found last leads to its caller. */
enum walk_how {
	WALK_BY_RULE = 0,
	WALK_BY_POINTER,
};

struct walk {
	__u32 is_taken;
	__u32 n_frames;
	__u32 n_areas; /* ever put into areas[] */
	__u32 sequence_now; /* of the address space */
	__u8 is_placed;	    /* the frame of the registers is in frames[] */
	__u8 how;	    /* enum walk_how */
	__u8 guesses;	    /* a frame pointer was followed for want of a table */
	__u8 reason;	    /* why the walk cannot go on */
	__u32 faults;
	__u64 time;	    /* of the walk */
	__u64 start_time;   /* of the thread group */
	__u64 raced_from;   /* stack that may have been used for something else since the sample */
	__u64 raced_to;
	__u64 fault;	    /* address that is not in memory */
	__u64 word;	    /* what was read last */
	struct unwind_registers registers;
	struct unwind_rule rule;
	struct area areas[WALK_AREAS];
	struct code_line line;
	struct user_record record;
	struct user_frame frames[USER_FRAMES_MAX + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64); /* settings.n_walks */
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

#define WALK_TRIES 16

static __always_inline struct walk *walk_take(void)
{
	__u32 n = settings.n_walks ? settings.n_walks : 1;
	__u32 first = bpf_get_smp_processor_id() * 2;
	for (__u32 i = 0; i < WALK_TRIES; i++) {
		__u32 key = (first + i) % n;
		struct walk *w = bpf_map_lookup_elem(&walks, &key);
		if (w && __sync_val_compare_and_swap(&w->is_taken, 0, 1) == 0)
			return w;
	}
	return 0;
}

static __always_inline void walk_release(struct walk *w)
{
	__sync_lock_test_and_set(&w->is_taken, 0);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static __always_inline void add_frame(struct walk *w, __u64 value, __u32 file, __u8 kind, __u8 reason,
				      __u16 check)
{
	__u32 n = w->n_frames;
	if (n > USER_FRAMES_MAX)
		return;
	struct user_frame *frame = &w->frames[n];
	frame->value = value;
	frame->file = file;
	frame->kind = w->guesses ? kind | USER_FRAME_GUESSED : kind;
	frame->reason = reason;
	frame->check = check;
	w->n_frames = n + 1;
}

static __always_inline void add_reason_frame(struct walk *w, __u8 reason)
{
	w->guesses = 0;
	add_frame(w, 0, FILE_NONE, USER_FRAME_RAW, reason, 0);
}

static __always_inline void add_file_frame(struct walk *w, struct area *area, __u64 address,
					   __u32 is_exact)
{
	if (!area->file)
		area->file = file_number(area, w->start_time);
	__u32 line = area->is_memory ? line_check(&w->line, address, is_exact) : 0;
	add_frame(w, address - area->start + area->file_offset, area->file,
		  is_exact ? USER_FRAME_FILE | USER_FRAME_EXACT : USER_FRAME_FILE,
		  area->file == FILE_NONE ? REASON_EVICTED : 0, code_check_short(line));
}

static __always_inline void add_code_frame(struct walk *w, __u64 address, __u32 is_exact)
{
	add_frame(w, address, line_check(&w->line, address, is_exact),
		  is_exact ? USER_FRAME_CODE | USER_FRAME_EXACT : USER_FRAME_CODE, 0, 0);
}

/* ---- mappings -------------------------------------------------------------------------------- */

/* Nothing at all changed since the sample. */
static __always_inline bool is_space_unchanged(const struct walk *w, const struct sampled *s)
{
	return w->sequence_now == s->sequence && !(s->sequence & 1);
}

/* Nothing was changed in this mapping after the sample. Sequences wrap: compare their distance. */
static __always_inline bool is_as_at_sample(const struct walk *w, const struct sampled *s,
					    const struct area *area)
{
	return is_space_unchanged(w, s) || (__s32)(area->lock_sequence - s->sequence) < 0;
}

/* The place in areas[] of the mapping that holds an address, asked for if need be; or as find_area(). */
__noinline int walk_area(struct walk *w, struct sampled *s, __u64 address)
{
	if (!w || !s)
		return -ENOENT;
	for (__u32 i = 0; i < WALK_AREAS; i++) {
		struct area *known = &w->areas[i];
		if (i < w->n_areas && address >= known->start && address < known->end)
			return i;
	}
	__u32 place = w->n_areas % WALK_AREAS;
	struct area *area = &w->areas[place];
	area->start = area->end = 0; /* should it fail, it is nobody's */
	int r = find_area(address, LOCK_TRIES, area);
	if (r != 0 || area->kind == AREA_NONE) {
		area->start = area->end = 0;
		return r ? r : -ENOENT;
	}
	area->is_proved = is_as_at_sample(w, s, area);
	w->n_areas++;
	return place;
}

enum step {
	STEP_ON = 0,
	STEP_END,
};

/* An address that lies in no code. For a caller that means that the walk went astray at it. */
static __always_inline int end_outside_code(struct walk *w, __u64 address, bool is_leaf,
					    __u8 leaf_reason)
{
	if (!is_leaf) /* the address says nothing, and each would make another stack */
		add_reason_frame(w, w->guesses ? REASON_NO_TABLE : REASON_BROKEN_UNWIND);
	else
		add_frame(w, address, FILE_NONE, USER_FRAME_RAW, leaf_reason, 0);
	return STEP_END;
}

/*
 * One address of the stack to a frame. `place` is what walk_area() said of it. Returns the place, or
 * negative if the mapping is not known for sure; -ENOENT: what is above this was made up.
 */
__noinline int add_address(struct walk *w, struct sampled *s, __u64 address, __u32 is_exact, int place)
{
	if (!w || !s)
		return -ENOENT;
	bool is_leaf = w->n_frames == 0;
	if (place == -EBUSY) {
		add_frame(w, address, FILE_NONE, USER_FRAME_RAW, REASON_LOCK_CONTENDED, 0);
		return -EBUSY;
	}
	if (place < 0) {
		end_outside_code(w, address, is_leaf,
				 is_space_unchanged(w, s) ? REASON_NO_MAPPING : REASON_RACED);
		return -ENOENT;
	}
	struct area *area = &w->areas[place & (WALK_AREAS - 1)];
	if (!(area->flags & VM_EXEC)) {
		end_outside_code(w, address, is_leaf,
				 area->is_proved ? REASON_GHOST : REASON_RACED);
		return -ENOENT;
	}
	if (!area->is_proved) {
		add_frame(w, address, FILE_NONE, USER_FRAME_RAW, REASON_RACED, 0);
		return -EBUSY;
	}
	if (area->kind == AREA_ANONYMOUS)
		add_code_frame(w, address, is_exact);
	else
		add_file_frame(w, area, address, is_exact);
	return place;
}

/*
 * Which mapping an address is in is told by the instruction that was running, the one before a return
 * address. (Not a function of its own: the verifier allows eight calls in each other.)
 */
static __always_inline int place_address(struct walk *w, struct sampled *s, __u64 address,
					 __u32 is_exact)
{
	int place = walk_area(w, s, is_exact ? address : address - 1);
	return add_address(w, s, address, is_exact, place);
}

/* Makes room for a user part. The leaf was asked for at the sample itself: nothing can be truer. */
static __always_inline void walk_begin(struct walk *w, struct sampled *s)
{
	w->n_frames = 0;
	w->n_areas = 0;
	w->is_placed = 0;
	w->guesses = 0;
	w->reason = 0;
	w->faults = 0;
	w->raced_from = w->raced_to = 0;
	w->start_time = s->start_time;
	w->sequence_now = lock_sequence(bpf_get_current_task_btf());
	w->time = bpf_ktime_get_ns();
	if (s->leaf.kind == AREA_NONE)
		return;
	w->areas[0] = s->leaf;
	w->areas[0].is_proved = 1;
	w->n_areas = 1;
}

#endif
