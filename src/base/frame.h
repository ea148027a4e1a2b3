/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a sample is, for everyone: capture and perfdata deliver samples in this shape through one
 * callback, profile stores them, symbols name their frames.
 *
 * A sample holds addresses and file numbers, never names. File numbers are given by whoever delivers
 * the sample (its `files` table) and are meaningless elsewhere.
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include <mapwright/mapwright.h>

#include <stdbool.h>

enum frame_kind {
	FRAME_FILE,   /* `address` is an offset in file number `file` */
	FRAME_KERNEL, /* `address` is a kernel address */
	FRAME_JIT,    /* executable memory without a file; `address` as it was in the process. `file`
		       * is the number of that memory: one mapping of one process image */
	FRAME_RAW,    /* any other address of the process, or none (0) if only the reason is known */
};

/*
 * The address is where a call will return to: the instruction that was running is the one before it,
 * so look-ups use address - 1. Every frame but the leaf and what a signal interrupted.
 */
#define FRAME_RETURN 0x1
/*
 * FRAME_FILE: what ran was memory that is not this file's, but it lies where the file's code would lie
 * and has its bytes (agent/inferred.h).
 */
#define FRAME_INFERRED 0x2
/*
 * A user frame that was found by frame pointers, for want of an unwinding table: the code between may
 * have kept none, and then callers are missing.
 */
#define FRAME_GUESSED 0x4
/*
 * Of a profile that is looked at, never of a file: a call that was inlined, made a frame of its own
 * (profile/inlines.h).
 */
#define FRAME_INLINED 0x80

/* Frames of a sample, at most: a kernel part of 127, a user part of 1024 and a reason for each. */
#define SAMPLE_FRAMES_MAX 1153

struct frame {
	uint64_t address;
	uint32_t file;  /* FRAME_FILE, FRAME_JIT; else 0 */
	uint8_t kind;   /* enum frame_kind */
	uint8_t flags;
	uint8_t reason; /* enum mw_reason: why it will have no name, as far as the sampler knows */
	uint8_t unused;
};

static inline bool frame_has_file(const struct frame *f)
{
	return f->kind == FRAME_FILE || f->kind == FRAME_JIT;
}

/* The address to look up in a symbol table: inside the instruction that was running. */
static inline uint64_t frame_lookup_address(const struct frame *f)
{
	return f->address - (f->flags & FRAME_RETURN && f->address ? 1 : 0);
}

/*
 * Which file object in which state, before its content is known: as the kernel's inode has it. On
 * overlayfs it is the layer's. `subvolume` tells btrfs trees apart, whose inode numbers repeat.
 */
struct inode_key {
	uint64_t inode;
	uint64_t size;
	uint64_t subvolume; /* btrfs root id, 0 elsewhere */
	int64_t ctime_sec;
	int64_t mtime_sec;
	uint32_t ctime_nsec;
	uint32_t mtime_nsec;
	uint32_t generation;
	uint32_t device;     /* as the kernel encodes it: major << 20 | minor */
	uint32_t links;      /* names it has */
	uint32_t unused;     /* 0: keys are compared and hashed as bytes */
};

/* One image of one process: pid alone is reused, and exec makes another image of the same process. */
struct task_key {
	uint32_t pid; /* thread group, as the initial pid namespace counts */
	uint32_t tid;
	uint64_t start_time; /* of the thread group, ns since boot */
	uint32_t exec_count; /* the kernel's self_exec_id */
	uint32_t unused;
};

struct sample {
	uint64_t time;  /* ns, CLOCK_MONOTONIC */
	uint64_t value; /* what the event counted since the last sample: its weight */
	struct task_key task;
	char command[16];   /* the thread's name at the sample; NUL-terminated */
	uint64_t cgroup;    /* id in the unified hierarchy, 0 unknown */
	uint64_t mount_namespace; /* 64-bit id, 0 unknown */
	uint64_t image;     /* random for each exec (start_code ^ start_stack), 0 unknown: what is read
			     * from /proc later is of the same program only if it is equal */
	uint32_t sequence;  /* another one whenever the address space was changed, odd during a change;
			     * 0 unknown */
	uint32_t cpu;
	uint32_t event;     /* number of the event in the recording */
	const struct frame *frames; /* leaf first: kernel part, then user part */
	/* Of each frame: what the bytes there were at the sample (bpf/code_check.h), 0 unknown; the short
	 * form in FRAME_FILE. NULL: nothing is known. */
	const uint32_t *checks;
	uint32_t n_frames;
};

#endif
