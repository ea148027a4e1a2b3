/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/walk.h"

#define UNWIND_CONTEXT const struct walk_task

static int unwind_read(const struct walk_task *task, uint64_t address, __u64 *ret)
{
	uint64_t value;
	int r = task->read(task->data, address, &value);
	if (r == 0)
		*ret = value;
	return r;
}

#include "bpf/unwind_step.h"

static enum mw_reason reason_of(enum unwind_result result)
{
	switch (result) {
	case UNWIND_ON:
	case UNWIND_BOTTOM:
		return MW_REASON_NONE;
	case UNWIND_WITHOUT_RULE:
	case UNWIND_CANNOT:
	case UNWIND_BY_FRAME_POINTER:
		return MW_REASON_NO_TABLE;
	case UNWIND_UNREADABLE:
		return MW_REASON_STACK_UNREADABLE;
	case UNWIND_ASTRAY:
		break;
	}
	return MW_REASON_BROKEN_UNWIND;
}

/* One constant for each machine, so that each gets a step of its own. */
static enum unwind_result step_by_rule(const struct walk_task *task, const struct unwind_rule *rule,
				       struct unwind_registers *r)
{
	if (task->machine == UNWIND_MACHINE_AARCH64)
		return unwind_step(UNWIND_MACHINE_AARCH64, task, rule, r);
	return unwind_step(UNWIND_MACHINE_X86_64, task, rule, r);
}

static enum unwind_result step_by_frame_pointer(const struct walk_task *task,
						struct unwind_registers *r)
{
	return unwind_step_frame_pointer(task->machine, task, r);
}

static enum unwind_result step(const struct walk_task *task, const struct walk_code *code,
			       struct unwind_registers *r)
{
	switch (code->kind) {
	case WALK_BY_FRAME_POINTER: {
		/* No frame pointer tells the bottom from code that has none. */
		enum unwind_result result = step_by_frame_pointer(task, r);
		return result == UNWIND_BOTTOM ? UNWIND_WITHOUT_RULE : result;
	}
	case WALK_BY_TABLE: {
		uint64_t offset = code->offset;
		enum unwind_result result =
			step_by_rule(task, unwind_table_find(code->table, offset), r);
		return result == UNWIND_BY_FRAME_POINTER ? step_by_frame_pointer(task, r) : result;
	}
	default:
		return UNWIND_WITHOUT_RULE;
	}
}

/*
 * The stack was made by hand, and begins with this frame: its address is that of a whole function.
 */
static bool is_bottom(const struct walk_task *task, const struct walk_code *code,
		      const struct unwind_registers *r)
{
	return code->kind == WALK_BY_TABLE && !r->exact &&
	       unwind_table_find(code->table, code->offset)->kind == UNWIND_NO_RULE &&
	       unwind_table_find(code->table, code->offset + 1)->kind == UNWIND_RULE &&
	       unwind_is_made_up(task->machine, task, r->ip);
}

void walk_stack(const struct walk_task *task, struct unwind_registers *r, struct walk_frame *frames,
		size_t max, struct walk_result *ret)
{
	*ret = (struct walk_result){.reason = MW_REASON_CUT_DEPTH};
	while (ret->n < max) {
		struct walk_code code = {};
		uint64_t before = r->exact ? 0 : 1;
		task->find(task->data, r->ip - before, &code);
		if (code.kind == WALK_NOWHERE) {
			ret->reason = ret->n ? MW_REASON_BROKEN_UNWIND : MW_REASON_NO_MAPPING;
			return;
		}
		frames[ret->n++] = (struct walk_frame){
			.address = r->ip,
			.offset = code.offset + before,
			.file = code.file,
			.kind = (uint8_t)code.kind,
			.is_return = before,
		};
		if (is_bottom(task, &code, r)) {
			frames[ret->n - 1].is_return = false;
			ret->is_whole = true;
			ret->reason = MW_REASON_NONE;
			return;
		}
		enum unwind_result result = step(task, &code, r);
		if (result != UNWIND_ON) {
			ret->is_whole = result == UNWIND_BOTTOM;
			ret->reason = reason_of(result);
			return;
		}
	}
}
