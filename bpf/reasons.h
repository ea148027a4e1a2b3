/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The numbers of enum mw_reason that the kernel side gives; src/capture checks that they agree. */
#ifndef BPF_REASONS_H
#define BPF_REASONS_H

#define REASON_NO_MAPPING       1
#define REASON_RACED            8
#define REASON_BROKEN_UNWIND    9
#define REASON_EXEC_RACED       11
#define REASON_EXITING          12
#define REASON_NO_USER_STACK    13
#define REASON_GHOST            14
#define REASON_LOCK_CONTENDED   15
#define REASON_CUT_DEPTH        17
#define REASON_EVICTED          18
#define REASON_NO_TABLE         23
#define REASON_STACK_UNREADABLE 24

#endif
