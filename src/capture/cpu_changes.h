/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Word from the kernel that a CPU went offline or came online (uevents). A look at the list of CPUs
 * does not tell of one that was away in between, and whose counters are dead since.
 */
#ifndef CAPTURE_CPU_CHANGES_H
#define CAPTURE_CPU_CHANGES_H

#include <stddef.h>
#include <stdint.h>

/* It may be any: words were lost. */
#define CPU_CHANGES_ANY UINT32_MAX

/* A descriptor, or -errno: a network namespace of somebody else's user namespace hears nothing. */
int cpu_changes_open(void);
/* The next CPU that went or came, or CPU_CHANGES_ANY: 1; 0: nothing more for now. */
int cpu_changes_next(int fd, uint32_t *ret);
/*
 * The CPU that a uevent is about: "offline@/devices/system/cpu/cpu1", followed by NUL and fields that
 * say the same. 1, or 0 if it is about something else.
 */
int cpu_changes_parse(const char *text, size_t size, uint32_t *ret);

#endif
