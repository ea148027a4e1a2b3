/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/workload.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What the command gets to end by itself after SIGTERM. */
#define GRACE_MS 2000

/* In the child: waits for the word, then becomes the command. */
static _Noreturn void become_command(char *const *command, int go, int failure)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGXFSZ, SIG_DFL); /* the recorder ignores it */
	char word;
	if (io_read(go, &word, 1) != 1) /* the recorder gave up */
		_exit(1);
	execvp(command[0], command);
	int error = errno;
	io_write(failure, &error, sizeof error);
	_exit(127);
}

int workload_prepare(struct workload *w, char *const *command, struct mw_error *e)
{
	int go[2], failure[2];
	*w = (struct workload)WORKLOAD_INIT;
	if (pipe2(go, O_CLOEXEC) < 0)
		return error_errno(e, -errno, "cannot make a pipe");
	if (pipe2(failure, O_CLOEXEC) < 0) {
		int r = -errno;
		close(go[0]);
		close(go[1]);
		return error_errno(e, r, "cannot make a pipe");
	}
	w->go = go[1];
	w->failure = failure[0];
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		become_command(command, go[0], failure[1]);
	}
	int r = pid < 0 ? -errno : 0;
	close(go[0]);
	close(failure[1]);
	if (r < 0)
		return error_errno(e, r, "cannot fork");
	w->pid = pid;
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return w->pidfd < 0 ? error_errno(e, -errno, "pidfd_open") : 0;
}

int workload_go(struct workload *w, const char *name, struct mw_error *e)
{
	int r = io_write(w->go, "g", 1);
	if (r < 0)
		return error_errno(e, r, "cannot start %s", name);
	int error = 0;
	if (io_read(w->failure, &error, sizeof error) == sizeof error)
		return error_errno(e, -error, "cannot run %s", name);
	return 0;
}

bool workload_has_ended(struct workload *w)
{
	int status;
	if (!w->pid || w->has_ended)
		return true;
	if (wait4(w->pid, &status, WNOHANG, &w->usage) != w->pid)
		return false;
	w->has_ended = true;
	w->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

void workload_deinit(struct workload *w)
{
	cleanup_close(&w->go);
	cleanup_close(&w->failure);
	w->go = w->failure = -1;
	if (!workload_has_ended(w)) {
		kill(w->pid, SIGTERM);
		struct pollfd p = {.fd = w->pidfd, .events = POLLIN};
		if (poll(&p, 1, GRACE_MS) == 0) {
			kill(w->pid, SIGKILL);
			poll(&p, 1, -1);
		}
		workload_has_ended(w);
	}
	cleanup_close(&w->pidfd);
	w->pidfd = -1;
}
