/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Profiles made in code. Whatever fails here fails the test. */
#ifndef TESTS_LIB_PROFILE_BUILDER_H
#define TESTS_LIB_PROFILE_BUILDER_H

#include "profile/profile.h"

/* Frames for build_samples(). */
#define FRAME_OF_FILE(n, offset)                                                                   \
	((struct frame){.kind = FRAME_FILE, .file = (n), .address = (offset)})
#define FRAME_OF_KERNEL(a)   ((struct frame){.kind = FRAME_KERNEL, .address = (a)})
#define FRAME_OF_JIT(a)	     ((struct frame){.kind = FRAME_JIT, .address = (a)})
#define FRAME_OF_RAW(a)	     ((struct frame){.kind = FRAME_RAW, .address = (a)})
#define FRAME_OF_REASON(why) ((struct frame){.kind = FRAME_RAW, .reason = (why)})
#define FRAMES(...)                                                                                \
	(const struct frame[]){__VA_ARGS__},                                                       \
		sizeof((const struct frame[]){__VA_ARGS__}) / sizeof(struct frame)

struct profile *build_empty(void);
/* Adds samples of 1 ms each, one after the other from a time on, of a stack given leaf first. */
void build_samples(struct profile *p, const char *command, uint32_t pid, uint64_t time,
		   unsigned count, const struct frame *frames, size_t n_frames);
uint32_t build_file(struct profile *p, const char *path, const char *id, enum mw_reason reason);
/* Names each frame of a file at an offset. */
void build_name(struct profile *p, uint8_t kind, uint32_t file, uint64_t address, const char *name,
		const char *module);
/* A small profile that has one of everything. */
struct profile *build_sampler(void);
/* A compile as the recorder sees one: n samples, nearly all stacks distinct. */
struct profile *build_compile(unsigned n);

#endif
