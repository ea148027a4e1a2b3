/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the programs in the kernel hand to user space through the ring buffer, and the settings and
 * counters both sides share.
 *
 * A sample is two records. RECORD_SAMPLE is written at the sample, with the kernel's stack. The user
 * part comes as RECORD_USER when the task is on its way back to user space; both carry the same
 * ticket, and samples of one stay in the kernel share one ticket. RECORD_FILE introduces a file
 * number before the first frame that uses it.
 */
#ifndef BPF_RECORDS_H
#define BPF_RECORDS_H

#include <linux/types.h>

#define MAX_FRAMES	127  /* kernel.perf_event_max_stack as it comes */
#define USER_FRAMES_MAX 1024 /* of a user part that is walked by tables */

/* How callers are found in user space. */
enum walk_by {
	WALK_FRAME_POINTERS = 0,
	WALK_TABLES,
	WALK_AUTO, /* by tables; by frame pointers where there is none */
};

/* What user space decides before loading. */
#define CGROUPS_MAX 8

struct settings {
	__u8 all_tasks;  /* else: those of the targets map */
	__u8 count_idle; /* idle CPUs give samples too */
	__u8 callers;    /* whole stacks, not only leaves */
	__u8 n_cgroups;  /* of those below */
	__u32 max_frames; /* of the kernel part of a stack, at most MAX_FRAMES */
	__u32 max_user_frames; /* at most USER_FRAMES_MAX; by frame pointers, MAX_FRAMES */
	__u32 walk_by;    /* enum walk_by; deferred engine */
	__u32 off_cpu_event; /* deferred engine: its number */
	__u64 off_cpu_min;   /* ns; shorter waits are only added up */
	__u32 unused;
	__u32 n_walks;    /* deferred engine: user parts that can be walked at once */
	__u64 cgroups[CGROUPS_MAX]; /* ids: tasks in these, and below them, are targets too */
};

enum record_type {
	RECORD_SAMPLE = 1,
	RECORD_USER,
	RECORD_FILE,     /* deferred engine */
	RECORD_BUILD_ID, /* immediate engine: the same for its way of knowing files */
	RECORD_TABLE,    /* a file's unwinding table is wanted */
};

struct record_header {
	__u32 type;
	__u32 size; /* of the whole record */
};

struct sample_record {
	struct record_header header;
	__u64 time;       /* CLOCK_MONOTONIC, ns */
	__u64 period;
	__u64 ticket;     /* of the user part; 0: there is none to come, see user_reason */
	__u64 start_time; /* of the thread group, CLOCK_BOOTTIME, ns */
	__u64 cgroup;
	__u64 mount_namespace;
	__u64 image;      /* start_code ^ start_stack: random, so it tells a program from its successor */
	__u32 pid;
	__u32 tid;
	__u32 exec_count;
	__u32 cpu;
	__u32 event;
	__u16 n_kernel;
	__u8 user_reason; /* enum mw_reason: why there is no ticket; 0 for kernel threads */
	__u8 unused;
	__u32 sequence; /* changes with the address space, odd during a change; 0 unknown */
	__u32 unused2;
	char command[16];
	__u64 kernel[MAX_FRAMES]; /* the first n_kernel are there; leaf first */
};

enum user_frame_kind {
	USER_FRAME_FILE = 0, /* value is the offset in file `file` */
	USER_FRAME_CODE = 1, /* value is an address in executable memory without a file */
	USER_FRAME_RAW = 2,  /* value is any other address */
};

/* Or'ed to the kind. */
#define USER_FRAME_EXACT   0x80 /* the address is that of the next instruction, not where a call returns to */
#define USER_FRAME_GUESSED 0x40 /* found by frame pointers where there was no table */
#define USER_FRAME_KINDS   0x0f

struct user_frame {
	__u64 value;
	__u32 file; /* of code without a file, and of addresses that are not decided: code_check() */
	__u8 kind;
	__u8 reason;
	__u16 check; /* of a file that is only memory: code_check_short() */
};

/* Its frames follow it, leaf first. */
struct user_record {
	struct record_header header;
	__u64 ticket;
	__u32 n_frames; /* at most USER_FRAMES_MAX + 1 */
	__u32 delay_us; /* from the (first) sample to this record */
};

/* Written once for a file number, until its table is there or is known not to exist. */
struct table_record {
	struct record_header header;
	__u32 number;
	__u32 unused;
};

/* The same fields as struct inode_key in src/base/frame.h. */
struct file_key {
	__u64 inode;
	__u64 size;
	__u64 subvolume;
	__s64 ctime_sec;
	__s64 mtime_sec;
	__u32 ctime_nsec;
	__u32 mtime_nsec;
	__u32 generation;
	__u32 device;
	__u32 links;
	__u32 unused;
};

/*
 * The path of a file inside its file system, last component first, each ending in NUL; for people, and
 * for finding the file in a root that is still at hand. Cut at either bound.
 */
#define FILE_PATH_DEPTH 32
#define FILE_PATH_MAX	1024
#define FILE_NAME_MAX	256 /* of one component, with its NUL */

struct file_record {
	struct record_header header;
	__u32 number;
	__u32 pid;
	__u32 tid;
	__u32 is_program; /* what the process runs, which nobody can write to meanwhile */
	__u64 magic;      /* of the file system, as statfs gives it */
	__u64 start_time; /* of the thread group that was seen with it */
	__u64 map_start;  /* the mapping it was seen through */
	__u64 map_end;
	__u64 mount_namespace; /* of the task */
	__u64 root_inode;      /* its root directory */
	__u32 root_device;
	__u32 path_size; /* bytes used of path */
	struct file_key key;
	char path[FILE_PATH_MAX];
};

#define BUILD_ID_SIZE 20 /* of the kernel: longer ones are cut, shorter ones padded with zeros */

struct build_id_record {
	struct record_header header;
	__u32 number;
	__u32 pid;
	__u32 tid;
	__u32 exec_count;
	__u64 start_time;
	__u64 image;   /* as in the sample */
	__u64 address; /* where it was seen in that process */
	__u8 build_id[BUILD_ID_SIZE];
	__u32 unused2;
};

/* In the first block of a table in the kernel, behind all that a header needs: when it was last used. */
struct table_use {
	__u64 time; /* CLOCK_MONOTONIC, ns */
};
#define TABLE_USE_AT 504

/* File numbers that the kernel side does not give away. */
#define FILE_NONE  0
#define FILE_VDSO  1
#define FILE_FIRST 2
/* They come from the kernel side, even ones, and odd ones from user space, for files that it knows before
 * they are sampled. */
#define FILE_STEP  2
#define FILE_FIRST_RESERVED 3
/* Immediate engine, set by user space: the build ID is that of several files, frames come as addresses. */
#define FILE_BY_ADDRESS 0xffffffffU

/* Counted for each CPU; user space adds them up. Every one that is a loss is shown. */
enum counter {
	COUNT_HITS,           /* the program ran */
	COUNT_IDLE,           /* ... on an idle CPU that nobody asked for */
	COUNT_OTHER_TASKS,    /* ... in a task that is not a target */
	COUNT_SAMPLES,        /* sample records written */
	COUNT_RING_FULL,      /* sample records lost: ring full */
	COUNT_USER_RING_FULL, /* user parts lost: ring full */
	COUNT_FILE_RING_FULL, /* file records put off: ring full */
	COUNT_PENDING_FULL,   /* user parts not asked for: table full */
	COUNT_REFUSED,        /* ... the kernel refused the task work */
	COUNT_TICKETS,        /* user parts asked for */
	COUNT_CALLBACKS,      /* ... and delivered */
	COUNT_FILES_FULL,     /* frames without a file number: table full */
	COUNT_FOUND,          /* addresses looked up in an address space */
	COUNT_BUSY,           /* ... that found it locked at each try */
	COUNT_TARGETS_FULL,   /* children of targets that are not watched: table full */
	COUNT_WALKS_FULL,     /* user parts without callers: too many were walked at once */
	COUNT_WALKS,          /* user parts walked by tables */
	COUNT_FRAMES,         /* ... their frames */
	COUNT_FAULTS,         /* ... words of the stack that had to be brought into memory */
	COUNT_MOVED,          /* ... of tasks that had run on since the sample */
	COUNT_RETURN_NS,      /* time in task work, which the kernel's statistics of programs leave out */
	COUNT_OFF_CPU,        /* waits that ended */
	COUNT_OFF_CPU_SHORT,  /* ... too soon to become a sample, */
	COUNT_OFF_CPU_SHORT_NS, /* and their time */
	COUNT_OFF_CPU_LOST,   /* waits lost to another task with the same slot */
	N_COUNTERS
};

/* What a task is a target by; the key of the targets map is kind << 32 | id. */
#define TARGET_PROCESS 0ULL
#define TARGET_THREAD  1ULL

struct target {
	__u32 waits_for_exec; /* no target yet: it becomes one at its next exec */
};

#endif
