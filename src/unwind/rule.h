/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a state of call frame information to a rule of a table (bpf/unwind_table.h).
 *
 * What a rule has no room for is said: the whole rule is UNWIND_UNSUPPORTED if the frame's base or
 * the return address cannot be had, and a saved register that cannot is UNWIND_UNDEFINED, so that a
 * walk that needs it ends with a reason rather than at a wrong place.
 */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include "bpf/unwind_table.h"
#include "unwind/cfi.h"

/* The rule for a state of the FDE that cie belongs to; NULL: damaged, UNWIND_UNSUPPORTED. */
struct unwind_rule rule_of(const struct cfi *cfi, const struct cfi_cie *cie,
			   const struct cfi_state *state);
/* A frame of x86-64 that has put so many bytes onto the stack, with the return address. */
struct unwind_rule rule_of_depth(int32_t depth);
/* The kernel's signal frame, as it is found when the handler has returned. */
struct unwind_rule rule_of_signal_frame(uint16_t machine);

#endif
