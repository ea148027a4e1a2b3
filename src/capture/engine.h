/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Engines: how the addresses of a user stack become files. Each is one BPF object with the same maps,
 * programs and settings (bpf/common.h); what they deliver differs in how a file is known at first:
 *
 *   deferred   inode key      exact, also for files without build ID; Linux 6.18
 *   immediate  build ID       what has none is left to user space as an address; Linux 5.15
 */
#ifndef CAPTURE_ENGINE_H
#define CAPTURE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

struct engine {
	const char *name;
	/* The BPF object's bytes; static. */
	const void *(*object)(size_t *ret_size);
	/* Whether the kernel has what it is built on (not yet whether it loads). */
	bool (*is_offered)(void);
	/* Callers can be found by unwinding tables, not only by frame pointers. */
	bool walks_by_tables;
	/* It has the event off-cpu. */
	bool measures_waits;
};

extern const struct engine engine_deferred;
extern const struct engine engine_immediate;

/* The best engine that the kernel offers, or NULL. */
const struct engine *engine_choose(void);

#endif
