/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * One address of a user stack to a frame: the file and the offset in it, or why not.
 */
#ifndef BPF_USER_FRAME_H
#define BPF_USER_FRAME_H

#include "files.h"

#define LOCK_TRIES 16

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

#endif
