/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Work on foreign bytes, done in children that hold nothing but the descriptors they were given.
 *
 * The fork server is a small process, started before the caller has grown and before BPF is loaded.
 * For each job it forks a child, which enters the sandbox and runs one function; the reply, a flat
 * struct, comes back through memory that server and child share. A child that crashes, takes too
 * long or too much memory costs its own job, and nothing else:
 *
 *   caller --(job, descriptors, arguments)--> server --fork--> child in the sandbox
 *   caller <--(ticket, outcome, reply)------- server <-shared memory-/
 *
 * A result comes back for each ticket that was accepted, exactly once, whatever happens to child or
 * server, unless the server is stopped first.
 */
#ifndef BASE_RUN_H
#define BASE_RUN_H

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <sys/types.h>

#define RUN_FDS_MAX     8
#define RUN_ARGS_MAX    4096
#define RUN_REPLY_MAX   (64 * 1024)
#define RUN_PARALLEL    2  /* children at once */
#define RUN_QUEUE_MAX   16 /* jobs that wait for a child, beside those that run */
#define RUN_DEADLINE_MS 10000 /* where a job does not set its own */

enum run_outcome {
	RUN_DONE,          /* the function returned 0 or more; the reply is there */
	RUN_FAILED,        /* it returned -errno, and its error is there */
	RUN_CRASHED,       /* it ended otherwise than by returning, or the server died */
	RUN_TIMED_OUT,     /* over its deadline, or over its time on the CPU */
	RUN_OUT_OF_MEMORY, /* it returned -ENOMEM */
};

/*
 * One kind of work. The function runs in the sandbox; it owns nothing and need not release
 * anything. `fds` are open for as long as it runs. `args` and `reply` are aligned for any type.
 * `reply` is zeroed and has reply_size bytes; what it puts there is foreign to the caller, who must
 * check it like any foreign bytes.
 */
struct run_job {
	const char *name; /* the child's process name, cut at 15 bytes; static */
	int (*fn)(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		  size_t reply_size, struct mw_error *e);
	size_t reply_size;        /* at most RUN_REPLY_MAX */
	uint64_t memory_limit;    /* bytes beyond what the empty child has; 0: no limit */
	uint64_t file_size_limit; /* bytes to which a file may grow; 0: no limit */
	unsigned cpu_seconds;     /* 0: no limit */
	unsigned deadline_ms;     /* from the start of the child; 0: RUN_DEADLINE_MS */
};

struct run_result {
	uint64_t ticket;
	enum run_outcome outcome;
	int value;              /* what the function returned, in RUN_DONE and RUN_FAILED */
	const void *reply;      /* RUN_DONE: the job's reply_size bytes, until the next receive */
	size_t reply_size;
	struct mw_error error;  /* in every other outcome: what happened, for people */
};

struct run_server;

/*
 * Starts the server; `jobs` must stay as they are until it is stopped. From the calling thread's
 * death on the server dies too, so this is for the main thread.
 */
int run_server_start(const struct run_job *jobs, size_t n_jobs, struct run_server **ret,
		     struct mw_error *e);
/* Kills what still runs, and waits for the server's end. Outstanding tickets get no result. */
void run_server_stop(struct run_server *server);
/* Readable when a result waits, or when the server died. */
int run_server_fd(const struct run_server *server);
pid_t run_server_pid(const struct run_server *server);
/*
 * Hands a job over. No descriptors of FUSE or network files: to close one can block for ever, here
 * and in the server; a helper that opens, reads and closes by itself is for those. The descriptors
 * are duplicated: the caller keeps and closes its own, at once if it likes. `ticket` is any number;
 * it comes back with the result. 0, -EAGAIN when too much waits already (receive first), -EPIPE
 * when the server is dead, -EINVAL, or another -errno; the job was not taken then and no result
 * will come.
 */
int run_server_submit(struct run_server *server, size_t job, const int *fds, size_t n_fds,
		      const void *args, size_t args_size, uint64_t ticket);
/*
 * Takes the next result, without waiting: 1, 0 when there is none yet, or -EPIPE when the server is
 * dead and every outstanding ticket has come back (as RUN_CRASHED).
 */
int run_server_receive(struct run_server *server, struct run_result *ret);
/* Tickets for which no result was received yet. */
size_t run_server_outstanding(const struct run_server *server);

struct run_isolated_options {
	const int *fds; /* stay open in the child, under the same numbers */
	size_t n_fds;
	const int *read_beneath; /* see struct sandbox_options */
	size_t n_read_beneath;
	bool keep_stdout;
	bool keep_stderr;
	uint64_t memory_limit; /* as in struct run_job */
	uint64_t file_size_limit;
	unsigned cpu_seconds;
	unsigned deadline_ms; /* 0: none */
};

/*
 * Runs one function in a sandboxed child of this process, which shares a copy of all memory, and
 * waits. stdout is flushed before and in the child at the end. Returns what the function returned
 * (0 to 255, or its -errno with its error), -ETIMEDOUT, or -ECANCELED if it died; *ret_outcome (may
 * be NULL) tells these from errors of the function.
 */
int run_isolated(int (*fn)(void *context, struct mw_error *e), void *context,
		 const struct run_isolated_options *options, enum run_outcome *ret_outcome,
		 struct mw_error *e);

#endif
