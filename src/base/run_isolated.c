/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/run.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/run_child.h"
#include "base/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ISOLATED_FDS_MAX 16

static _Noreturn void isolated_main(int (*fn)(void *context, struct mw_error *e), void *context,
				    const struct run_isolated_options *o, pid_t parent,
				    struct run_area *area)
{
	int keep[ISOLATED_FDS_MAX + 2];
	size_t n = o->n_fds;
	if (n)
		memcpy(keep, o->fds, n * sizeof *keep);
	if (o->keep_stdout)
		keep[n++] = STDOUT_FILENO;
	if (o->keep_stderr)
		keep[n++] = STDERR_FILENO;
	struct sandbox_options options = {
		.keep = keep,
		.n_keep = n,
		.read_beneath = o->read_beneath,
		.n_read_beneath = o->n_read_beneath,
		.memory_limit = o->memory_limit,
		.file_size_limit = o->file_size_limit,
		.cpu_seconds = o->cpu_seconds,
		.become_nobody = true,
		.parent = parent,
	};
	run_child_reset_signals();
	int r = sandbox_enter(&options, &area->error);
	if (r >= 0)
		r = fn(context, &area->error);
	if (o->keep_stdout && fflush(stdout) != 0 && r >= 0)
		r = error_errno(&area->error, -errno, "standard output");
	area->value = r;
	area->finished = 1;
	_exit(0);
}

/*
 * Waits for the child; true if its deadline came first and it was killed. One that cannot be killed
 * yet is left to whoever reaps our children after us.
 */
static bool wait_for_child(pid_t pid, unsigned deadline_ms, int *ret_status)
{
	_cleanup_close_ int pidfd = deadline_ms ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (pidfd >= 0) {
		uint64_t deadline = run_now_ms() + deadline_ms;
		struct pollfd fd = {.fd = pidfd, .events = POLLIN};
		int r;
		do
			r = poll(&fd, 1, run_ms_until(deadline));
		while (r < 0 && errno == EINTR);
		if (r == 0) {
			run_child_kill_within(pid, pidfd);
			return true;
		}
	}
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	return false;
}

int run_isolated(int (*fn)(void *context, struct mw_error *e), void *context,
		 const struct run_isolated_options *options, enum run_outcome *ret_outcome,
		 struct mw_error *e)
{
	if (ret_outcome)
		*ret_outcome = RUN_FAILED;
	if (options->n_fds > ISOLATED_FDS_MAX)
		return error_set(e, -EINVAL, "more than %d descriptors", ISOLATED_FDS_MAX);
	struct run_area *area = run_area_new(0);
	if (!area)
		return error_errno(e, -errno, "no memory for an isolated process");
	if (options->keep_stdout)
		fflush(stdout); /* or the child would write it once more */
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0)
		isolated_main(fn, context, options, parent, area);
	if (pid < 0) {
		int code = error_errno(e, -errno, "cannot start an isolated process");
		run_area_free(area, 0);
		return code;
	}
	int status = 0;
	bool overdue = wait_for_child(pid, options->deadline_ms, &status);
	struct run_ending ending;
	run_area_read_ending(area, status, overdue, "the isolated process", &ending);
	run_area_free(area, 0);
	if (ret_outcome)
		*ret_outcome = ending.outcome;
	if (ending.outcome == RUN_DONE)
		return ending.value;
	if (e)
		*e = ending.error;
	return ending.error.code;
}
