/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/run_child.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define KILL_MS 100 /* for a killed child to end; what takes longer is left behind */

struct run_area *run_area_new(size_t reply_size)
{
	void *p = mmap(NULL, sizeof(struct run_area) + reply_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

void run_area_free(struct run_area *area, size_t reply_size)
{
	if (area)
		munmap(area, sizeof *area + reply_size);
}

uint64_t run_now_ms(void)
{
	return clock_now_ns() / 1000000;
}

int run_ms_until(uint64_t deadline)
{
	uint64_t now = run_now_ms();
	return now >= deadline ? 0 : (int)MIN(deadline - now, (uint64_t)INT32_MAX);
}

void run_child_reset_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE, SIGXFSZ};
	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		signal(signal_number, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void died(struct run_ending *ending, int status, const char *name)
{
	struct mw_error *e = &ending->error;
	ending->outcome = RUN_CRASHED;
	if (!WIFSIGNALED(status)) {
		error_set(e, -ECANCELED, "%s ended without a result", name);
		return;
	}
	int number = WTERMSIG(status);
	const char *signal_name = sigabbrev_np(number);
	if (number == SIGXCPU) {
		ending->outcome = RUN_TIMED_OUT;
		error_set(e, -ETIMEDOUT, "%s took more time on the CPU than it may", name);
	} else if (number == SIGSYS) {
		error_set(e, -ECANCELED, "%s was killed for a system call it may not make", name);
	} else if (number == SIGKILL) {
		error_set(e, -ECANCELED, "%s was killed, perhaps for lack of memory", name);
	} else {
		error_set(e, -ECANCELED, "%s died of SIG%s", name, signal_name ? signal_name : "?");
	}
}

void run_area_read_ending(const struct run_area *area, int status, bool overdue, const char *name,
			  struct run_ending *ret)
{
	*ret = (struct run_ending){.outcome = RUN_DONE};
	if (overdue) {
		ret->outcome = RUN_TIMED_OUT;
		error_set(&ret->error, -ETIMEDOUT, "%s took longer than it may", name);
		return;
	}
	if (!WIFEXITED(status) || area->finished != 1) {
		died(ret, status, name);
		return;
	}
	ret->value = area->value;
	if (ret->value >= 0)
		return;
	ret->outcome = ret->value == -ENOMEM ? RUN_OUT_OF_MEMORY : RUN_FAILED;
	ret->error = area->error;
	ret->error.msg[sizeof ret->error.msg - 1] = '\0';
	if (ret->error.code != ret->value || !ret->error.msg[0]) /* it wrote no error of its own */
		error_errno(&ret->error, ret->value, "%s", name);
}

void run_child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

bool run_child_kill_within(pid_t pid, int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};
	kill(pid, SIGKILL);
	return poll(&fd, 1, KILL_MS) == 1 && waitpid(pid, NULL, WNOHANG) == pid;
}
