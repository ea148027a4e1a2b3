/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/run_service.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/run_child.h"
#include "base/run_message.h"
#include "base/sandbox.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEFT_MAX 16 /* killed children that have not ended yet */

enum slot_state { SLOT_FREE, SLOT_RUNNING, SLOT_FINISHED };

struct slot {
	enum slot_state state;
	const struct run_job *job;
	uint64_t ticket;
	uint64_t deadline;
	pid_t pid;
	int pidfd;
	struct run_area *area;
	struct run_response response; /* FINISHED: what is to be sent */
};

struct service {
	const struct run_job *jobs;
	pid_t pid;
	int socket;
	struct run_request request;
	struct slot slots[RUN_PARALLEL];
	pid_t left[LEFT_MAX]; /* killed, but not ended yet */
	size_t n_left;
};

static _Noreturn void run_child(const struct service *service, const struct slot *slot,
				const struct run_fds *fds)
{
	const struct run_job *job = slot->job;
	int keep[3 + RUN_FDS_MAX] = {0, 1, 2};
	memcpy(keep + 3, fds->items, fds->n * sizeof *keep);
	struct sandbox_options options = {
		.keep = keep,
		.n_keep = 3 + fds->n,
		.memory_limit = job->memory_limit,
		.file_size_limit = job->file_size_limit,
		.cpu_seconds = job->cpu_seconds,
		.become_nobody = true,
		.parent = service->pid,
	};
	for (size_t i = 0; i < RUN_PARALLEL; i++) {
		if (&service->slots[i] != slot) /* the other result is none of our business */
			run_area_free(service->slots[i].area, RUN_REPLY_MAX);
	}
	prctl(PR_SET_NAME, job->name, 0, 0, 0);
	struct run_area *area = slot->area;
	int r = sandbox_enter(&options, &area->error);
	if (r >= 0)
		r = job->fn(fds->items, fds->n, service->request.args, service->request.args_size,
			    area->reply, job->reply_size, &area->error);
	area->value = r;
	area->finished = 1;
	_exit(0);
}

static void finish_slot(struct slot *slot, const struct run_ending *ending)
{
	struct run_response *response = &slot->response;
	response->ticket = slot->ticket;
	response->outcome = ending->outcome;
	response->value = ending->value;
	response->error = ending->error;
	response->reply_size = 0;
	if (ending->outcome == RUN_DONE) {
		response->reply_size = (uint32_t)slot->job->reply_size;
		memcpy(response->reply, slot->area->reply, slot->job->reply_size);
	}
	slot->state = SLOT_FINISHED;
}

static void refuse(struct slot *slot, int code, const char *what)
{
	struct run_ending ending = {.outcome = RUN_FAILED, .value = code};
	error_errno(&ending.error, code, "%s: %s", slot->job->name, what);
	finish_slot(slot, &ending);
}

static void start_child(struct service *service, struct slot *slot, const struct run_fds *fds)
{
	memset(slot->area, 0, sizeof *slot->area + slot->job->reply_size);
	slot->pid = fork();
	if (slot->pid == 0)
		run_child(service, slot, fds);
	if (slot->pid < 0) {
		refuse(slot, -errno, "cannot start a process");
		return;
	}
	slot->pidfd = (int)syscall(SYS_pidfd_open, slot->pid, 0);
	if (slot->pidfd < 0) {
		int code = -errno;
		run_child_kill(slot->pid);
		refuse(slot, code, "cannot watch a process");
		return;
	}
	unsigned limit = slot->job->deadline_ms ? slot->job->deadline_ms : RUN_DEADLINE_MS;
	slot->deadline = run_now_ms() + limit;
	slot->state = SLOT_RUNNING;
}

/* Takes the next request for this free slot. 0, or -EPIPE at the end. */
static int fill_slot(struct service *service, struct slot *slot)
{
	struct run_request *request = &service->request;
	struct run_fds fds = {};
	int r = run_request_receive(service->socket, request, &fds);
	if (r == 0 || r == -EPIPE) {
		run_fds_close(&fds);
		return r;
	}
	slot->job = &service->jobs[request->job];
	slot->ticket = request->ticket;
	if (r < 0)
		refuse(slot, r, "cannot take descriptors over");
	else
		start_child(service, slot, &fds);
	run_fds_close(&fds);
	return 0;
}

static void reap_left(struct service *service)
{
	size_t n = 0;
	for (size_t i = 0; i < service->n_left; i++) {
		if (waitpid(service->left[i], NULL, WNOHANG) == 0)
			service->left[n++] = service->left[i];
	}
	service->n_left = n;
}

/* The child may still write to its area when it wakes up: nobody else must use that one. */
static void leave_behind(struct service *service, struct slot *slot)
{
	struct run_area *fresh = service->n_left < LEFT_MAX ? run_area_new(RUN_REPLY_MAX) : NULL;
	if (!fresh) {
		run_child_kill(slot->pid);
		return;
	}
	service->left[service->n_left++] = slot->pid;
	run_area_free(slot->area, RUN_REPLY_MAX);
	slot->area = fresh;
}

/* The child has ended, or its time has. */
static void end_slot(struct service *service, struct slot *slot)
{
	int status = 0;
	bool overdue = waitpid(slot->pid, &status, WNOHANG) == 0;
	if (overdue && !run_child_kill_within(slot->pid, slot->pidfd))
		leave_behind(service, slot);
	close(slot->pidfd);
	slot->pidfd = -1;
	struct run_ending ending;
	run_area_read_ending(slot->area, status, overdue, slot->job->name, &ending);
	finish_slot(slot, &ending);
}

/* Sends a finished slot's message if there is room. 0 or -EPIPE. */
static int send_slot(struct service *service, struct slot *slot)
{
	struct run_response *response = &slot->response;
	ssize_t r = send(service->socket, response, RUN_RESPONSE_HEAD + response->reply_size,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (r < 0 && errno == EMSGSIZE) {
		refuse(slot, -EMSGSIZE, "its reply does not fit the socket");
		return 0; /* the next round sends that */
	}
	if (r < 0)
		return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? 0 : -EPIPE;
	slot->state = SLOT_FREE;
	return 0;
}

/* What to wait for: the socket first, then the pidfd of each running slot. Returns the time-out. */
static int prepare_poll(const struct service *service, struct pollfd *fds)
{
	int timeout = -1;
	fds[0] = (struct pollfd){.fd = service->socket};
	for (size_t i = 0; i < RUN_PARALLEL; i++) {
		const struct slot *slot = &service->slots[i];
		fds[1 + i] = (struct pollfd){.fd = -1};
		if (slot->state == SLOT_FREE) {
			fds[0].events |= POLLIN;
		} else if (slot->state == SLOT_FINISHED) {
			fds[0].events |= POLLOUT;
		} else {
			fds[1 + i] = (struct pollfd){.fd = slot->pidfd, .events = POLLIN};
			int rest = run_ms_until(slot->deadline);
			timeout = timeout < 0 ? rest : MIN(timeout, rest);
		}
	}
	return timeout;
}

/* One round over the slots after poll(). 0, or -EPIPE when the caller is gone. */
static int serve(struct service *service, const struct pollfd *fds)
{
	int r = 0;
	reap_left(service);
	for (size_t i = 0; r == 0 && i < RUN_PARALLEL; i++) {
		struct slot *slot = &service->slots[i];
		if (slot->state == SLOT_RUNNING &&
		    (fds[1 + i].revents || run_ms_until(slot->deadline) == 0))
			end_slot(service, slot);
		if (slot->state == SLOT_FINISHED)
			r = send_slot(service, slot);
		if (r == 0 && slot->state == SLOT_FREE && fds[0].revents & POLLIN)
			r = fill_slot(service, slot);
	}
	return r;
}

static void serve_until_hang_up(struct service *service)
{
	for (;;) {
		struct pollfd fds[1 + RUN_PARALLEL];
		int timeout = prepare_poll(service, fds);
		if (poll(fds, ARRAY_SIZE(fds), timeout) < 0 && errno != EINTR)
			break;
		/* POLLHUP alone does not do: what waits in the socket is not wanted any more. */
		if (fds[0].revents & (POLLHUP | POLLERR) || serve(service, fds) < 0)
			break;
	}
	for (size_t i = 0; i < RUN_PARALLEL; i++) {
		if (service->slots[i].state == SLOT_RUNNING)
			run_child_kill_within(service->slots[i].pid, service->slots[i].pidfd);
	}
}

/*
 * Standard input and output become /dev/null, so that no library can take a data descriptor for
 * them. stderr stays where a sanitizer may want to report a finding; elsewhere nothing is to be
 * said there.
 */
static int close_inherited(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;
	int moved = fcntl(socket, F_DUPFD_CLOEXEC, 3); /* clear of 0 to 2 */
	if (moved < 0)
		return -errno;
	for (int fd = 0; fd <= (SANITIZED ? 1 : 2); fd++) {
		if (dup2(null, fd) < 0)
			return -errno;
	}
	if (dup2(moved, 3) < 0 || syscall(SYS_close_range, 4, ~0U, 0) < 0)
		return -errno;
	return fcntl(3, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 3;
}

_Noreturn void run_service_main(const struct run_job *jobs, int socket, pid_t parent)
{
	struct service *service = calloc(1, sizeof *service);
	if (!service)
		_exit(1);
	prctl(PR_SET_NAME, "mapwright-run", 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
	run_child_reset_signals();
	service->jobs = jobs;
	service->pid = getpid();
	service->socket = close_inherited(socket);
	if (service->socket < 0)
		_exit(1);
	for (size_t i = 0; i < RUN_PARALLEL; i++) {
		service->slots[i].pidfd = -1;
		service->slots[i].area = run_area_new(RUN_REPLY_MAX);
		if (!service->slots[i].area)
			_exit(1);
	}
	serve_until_hang_up(service);
	_exit(0);
}
