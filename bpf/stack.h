/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The walk of a user stack by unwinding tables, in the task whose stack it is.
 *
 * It begins with the registers of the sample. By now the task may have run on for some instructions, so
 * the words at the top of the stack were copied at the sample; what lies deeper is still what it was, but
 * for what functions that returned meanwhile have given back: between the end of the copy and the stack
 * pointer of now. A sample that hit the kernel has the registers with which the task went there, and
 * nothing can have changed.
 *
 * A word that is not in memory ends a step in the middle; the page is asked for where that is allowed,
 * in the loop itself, and the step is taken again: it changes no register before it has read all it needs.
 */
#ifndef BPF_STACK_H
#define BPF_STACK_H

#include "tables.h"
#include "user_frame.h"

/* Pages of one stack that may be waited for. */
#define FAULTS_MAX 64

struct stack_reader {
	struct walk *walk;
	struct sampled *sampled;
};

enum word {
	WORD_READ = 0,
	WORD_RACED,
	WORD_NOT_IN_MEMORY,
};

/* A word of the stack to w->word. */
__noinline int read_word(struct walk *w, struct sampled *s, __u64 address)
{
	if (!w || !s)
		return WORD_NOT_IN_MEMORY;
	__u64 at = address - s->stack_start;
	if (at + 8 <= s->stack_size && at < s->stack_size && !(at & 7)) {
		w->word = s->stack[at / 8 & (STACK_WORDS - 1)];
		return WORD_READ;
	}
	if (address >= w->raced_from && address < w->raced_to) {
		w->reason = REASON_RACED;
		return WORD_RACED;
	}
	if (bpf_probe_read_user(&w->word, sizeof w->word, (void *)address) == 0)
		return WORD_READ;
	w->fault = address;
	w->reason = REASON_STACK_UNREADABLE;
	return WORD_NOT_IN_MEMORY;
}

static __always_inline int unwind_read(struct stack_reader *reader, __u64 address, __u64 *ret)
{
	int r = read_word(reader->walk, reader->sampled, address);
	*ret = reader->walk->word;
	return r == WORD_READ ? 0 : -1;
}

/* How a frame without a rule of its own leads on. 0, or -1 if it does not. */
static __always_inline int choose_frame_pointer(struct walk *w, __u8 guess)
{
	if (guess && settings.walk_by != WALK_AUTO) {
		w->reason = REASON_NO_TABLE;
		return -1;
	}
	w->guesses |= guess;
	w->how = WALK_BY_POINTER;
	return 0;
}

/* The signal trampoline was not called: the address is its first instruction. */
static __always_inline void mark_exact(struct walk *w)
{
	__u32 n = w->n_frames - 1;
	if (n <= USER_FRAMES_MAX)
		w->frames[n].kind |= USER_FRAME_EXACT;
}

/* The stack was made by hand, and begins with this frame: its address is that of a whole function. */
static __always_inline bool is_bottom(struct walk *w, struct sampled *s, __u32 file, __u64 offset)
{
	struct stack_reader reader = {w, s};
	find_rule(file, offset, w->time, &w->rule);
	if (w->rule.kind != UNWIND_RULE || !unwind_is_made_up(WALK_MACHINE, &reader, w->registers.ip)) {
		w->rule.kind = UNWIND_NO_RULE;
		return false;
	}
	mark_exact(w);
	return true;
}

/* The frame of the registers, and how it leads on. Returns enum step. */
static __always_inline int place_frame(struct walk *w, struct sampled *s)
{
	__u64 ip = w->registers.ip;
	__u32 is_exact = w->registers.exact;
	int place = place_address(w, s, ip, is_exact);
	if (place < 0)
		return STEP_END;
	w->is_placed = 1;
	struct area *area = &w->areas[place & (WALK_AREAS - 1)];
	if (area->kind == AREA_ANONYMOUS)
		return choose_frame_pointer(w, 0) < 0 ? STEP_END : STEP_ON;
	__u64 offset = ip - !is_exact - area->start + area->file_offset;
	w->how = WALK_BY_RULE;
	if (find_rule(area->file, offset, w->time, &w->rule) != TABLE_RULE)
		return choose_frame_pointer(w, 1) < 0 ? STEP_END : STEP_ON;
	if (w->rule.kind == UNWIND_NO_RULE && !is_exact && is_bottom(w, s, area->file, offset + 1))
		w->rule.kind = UNWIND_END;
	if (w->rule.kind == UNWIND_SIGNAL || w->rule.flags & UNWIND_RULE_INTERRUPTED)
		mark_exact(w);
	return STEP_ON;
}

static __always_inline __u8 reason_of(const struct walk *w, int result)
{
	switch (result) {
	case UNWIND_BOTTOM: /* no frame pointer tells the bottom from code that has none */
		return w->how == WALK_BY_POINTER ? REASON_NO_TABLE : 0;
	case UNWIND_WITHOUT_RULE:
	case UNWIND_CANNOT:
		return REASON_NO_TABLE;
	case UNWIND_UNREADABLE:
		return w->reason;
	default:
		return w->guesses ? REASON_NO_TABLE : REASON_BROKEN_UNWIND;
	}
}

/* From the registers of the frame placed last to those of its caller. Returns enum unwind_result. */
__noinline int take_step(struct walk *w, struct sampled *s)
{
	if (!w || !s)
		return UNWIND_ASTRAY;
	struct stack_reader reader = {w, s};
	int result = UNWIND_BY_FRAME_POINTER;
	w->fault = 0;
	if (w->how == WALK_BY_RULE)
		result = unwind_step(WALK_MACHINE, &reader, &w->rule, &w->registers);
	if (result == UNWIND_BY_FRAME_POINTER)
		result = unwind_step_frame_pointer(WALK_MACHINE, &reader, &w->registers);
	w->reason = result == UNWIND_ON ? 0 : reason_of(w, result);
	w->is_placed = 0;
	return result;
}

/* A page of the stack that was not in memory. 0 if it is there now. */
static __always_inline int bring_in(struct walk *w)
{
	__u64 word;
	if (!w->fault || w->faults++ >= FAULTS_MAX)
		return -1;
	count(COUNT_FAULTS);
	return bpf_copy_from_user(&word, sizeof word, (void *)w->fault);
}

static __always_inline __u32 max_user_frames(void)
{
	__u32 n = settings.max_user_frames;
	return n && n < USER_FRAMES_MAX ? n : USER_FRAMES_MAX;
}

static long walk_step(__u64 i, struct stack_reader *reader)
{
	struct walk *w = reader->walk;
	struct sampled *s = reader->sampled;
	if (!w->is_placed) {
		if (w->n_frames >= max_user_frames()) {
			w->reason = REASON_CUT_DEPTH;
			return 1;
		}
		if (place_frame(w, s) == STEP_END)
			return 1;
	}
	int result = take_step(w, s);
	if (result == UNWIND_UNREADABLE && bring_in(w) == 0) {
		w->is_placed = 1; /* the same step again */
		w->reason = 0;
		return 0;
	}
	return result != UNWIND_ON;
}

/* DWARF's numbers of the registers. */
static __always_inline void load_registers(struct unwind_registers *r, const struct user_registers *from)
{
#if defined(__TARGET_ARCH_arm64)
	for (int i = 0; i < 32; i++)
		r->value[i] = from->words[i];
	r->known = ~0U;
#else
	static const __u8 at[16] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0};
#pragma unroll
	for (int i = 0; i < 16; i++)
		r->value[i] = from->words[at[i]];
	r->known = 0xffff;
#endif
	r->saved = 0;
	r->ip = from->words[USER_REGISTER_IP];
	r->exact = 1;
	r->signals = 0;
}

/* Which part of the stack a task that ran on since the sample may have given back and used anew. */
static __always_inline void note_race(struct walk *w, struct sampled *s, struct task_struct *task)
{
	struct user_registers now;
	if (read_user_registers(task, &now) < 0)
		return;
	if (now.words[USER_REGISTER_IP] == s->registers.words[USER_REGISTER_IP] &&
	    now.words[USER_REGISTER_SP] == s->registers.words[USER_REGISTER_SP])
		return;
	count(COUNT_MOVED);
	w->raced_from = s->stack_start + s->stack_size;
	w->raced_to = now.words[USER_REGISTER_SP];
}

/* Walks from the sample's registers on; the frames, and a reason where it did not reach the bottom. */
static __always_inline void walk_stack(struct walk *w, struct sampled *s, bool is_from_user_mode)
{
	struct stack_reader reader = {w, s};
	load_registers(&w->registers, &s->registers);
	if (is_from_user_mode)
		note_race(w, s, bpf_get_current_task_btf());
	bpf_loop(USER_FRAMES_MAX + FAULTS_MAX + 2, walk_step, &reader, 0);
	if (w->reason)
		add_reason_frame(w, w->reason);
	count(COUNT_WALKS);
}

#endif
