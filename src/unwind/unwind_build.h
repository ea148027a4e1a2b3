/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From an ELF file to its unwinding table.
 *
 * Sources of rules, the best first; each covers what those before it left free (spans.h):
 *   1. .eh_frame of the file
 *   2. .debug_frame of the file, then of its separate debug files
 *   3. small pieces of code without rules that can be read: procedure linkage tables, .init, .fini
 *   4. code of C libraries that is known by its bytes: what signal handlers return to, a thread's
 * start
 *   5. Go's table of its functions
 *   6. the code at the entry, which nobody calls
 *   7. large pieces of code that keep frame pointers
 * What none of them covers has no rule, and a walk says so.
 */
#ifndef UNWIND_UNWIND_BUILD_H
#define UNWIND_UNWIND_BUILD_H

#include "base/buffer.h"
#include "elf/elf.h"
#include "unwind/eh_frame.h"
#include "unwind/spans.h"
#include "unwind/unwind_image.h"

#define UNWIND_SOURCES_MAX 16

/* A range whose rule needs no program. */
struct plain_range {
	uint64_t address;
	uint64_t end;
	struct unwind_rule rule;
};

typedef VEC(struct plain_range) plain_list;

struct unwind_build {
	struct elf *elf;		     /* the file; not owned */
	VEC(struct elf_program_header) code; /* its executable segments, by address */
	span_list spans;
	struct frame_section sections[UNWIND_SOURCES_MAX];
	uint32_t n_sections;
	plain_list plain;
	struct unwind_image image;
};

void unwind_build_deinit(struct unwind_build *build);
/* -ENOTSUP: no rules are made for its machine. The view must outlive the build. */
int unwind_build_init(struct unwind_build *build, struct elf *elf, struct mw_error *e);
/* The file's own sources. A damaged one costs itself and is counted. */
int unwind_build_add_file(struct unwind_build *build, struct mw_error *e);
/* .debug_frame of a separate debug file of the file. */
int unwind_build_add_debug(struct unwind_build *build, struct elf *debug, struct mw_error *e);
/* The image. -ENODATA: there is nothing to unwind by; -EFBIG: a table has no room for it. */
int unwind_build_finish(struct unwind_build *build, struct buffer *ret, struct mw_error *e);

/* For the sources: a range of virtual addresses with one rule. 0 or -ENOMEM. */
int plain_add(plain_list *list, uint64_t address, uint64_t end, struct unwind_rule rule);

#endif
