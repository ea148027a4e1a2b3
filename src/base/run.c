/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Three kinds of process:
 *
 *   caller   holds struct run_server: one end of the socket, and the tickets that are out. It alone
 *            counts what is accepted, so a dead server loses no ticket.
 *   server   holds the other end and RUN_PARALLEL slots. It takes a job off the socket only when a
 *            slot is free: the queue is the socket itself, and the descriptors of waiting jobs lie
 *            in it.
 *   child    one per running job. Shares one area of memory with its slot, into which it writes
 *            what came out; the server reads it once, after the child's end, and trusts none of it.
 *
 * A slot goes FREE -> RUNNING (a pidfd and a deadline are set) -> FINISHED (its message waits for
 * room in the socket, so a caller who does not read cannot stop the server from keeping deadlines)
 * -> FREE.
 *
 * A child whose time is over is killed, but one that waits for a file of a FUSE server may be
 * beyond the reach of a kill until that server answers. It is left behind then: its slot gets a new
 * area, and it is reaped whenever it ends. Of these there are few at most; with more the server
 * waits.
 *
 * Death: the child is bound to the server and the server to the caller by PR_SET_PDEATHSIG; the
 * server also ends when the socket hangs up. Signals from the terminal are ignored by server and
 * children; the caller decides what they mean.
 */
#include "base/run.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/sandbox.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define OUTSTANDING_MAX (RUN_PARALLEL + RUN_QUEUE_MAX)
#define STOP_MS         2000
#define KILL_MS         100 /* for a killed child to end; what takes longer is left behind */
#define LEFT_MAX        16

/* ---- one child, for the server and for run_isolated() ---------------------------------------- */

/* What a child leaves behind. Foreign to everyone else. */
struct area {
	uint32_t finished; /* the function returned */
	int32_t value;
	struct mw_error error;
	_Alignas(max_align_t) uint8_t reply[]; /* up to RUN_REPLY_MAX */
};

static struct area *area_new(size_t reply_size)
{
	void *p = mmap(NULL, sizeof(struct area) + reply_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void area_free(struct area *area, size_t reply_size)
{
	if (area)
		munmap(area, sizeof *area + reply_size);
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The rest of the time in ms as poll() wants it. */
static int ms_until(uint64_t deadline)
{
	uint64_t now = now_ms();
	return now >= deadline ? 0 : (int)MIN(deadline - now, (uint64_t)INT32_MAX);
}

/* Handlers of the process we were forked from must not run here, nor its mask apply. */
static void reset_signals(void)
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

struct ending {
	enum run_outcome outcome;
	int value;
	struct mw_error error;
};

static void died(struct ending *ending, int status, const char *name)
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

/* What the child that ended with `status` came to. */
static void read_ending(const struct area *area, int status, bool overdue, const char *name,
			struct ending *ret)
{
	*ret = (struct ending){.outcome = RUN_DONE};
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

static void kill_and_reap(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Kills a child; false if it has not ended by the time it should. */
static bool kill_within(pid_t pid, int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};
	kill(pid, SIGKILL);
	return poll(&fd, 1, KILL_MS) == 1 && waitpid(pid, NULL, WNOHANG) == pid;
}

/* ---- messages -------------------------------------------------------------------------------- */

struct request {
	uint64_t ticket;
	uint32_t job;
	uint32_t args_size;
	uint32_t n_fds;
	uint32_t unused;
	_Alignas(max_align_t) uint8_t args[RUN_ARGS_MAX];
};

struct response {
	uint64_t ticket;
	uint32_t outcome;
	int32_t value;
	struct mw_error error;
	uint32_t reply_size;
	_Alignas(max_align_t) uint8_t reply[RUN_REPLY_MAX];
};

#define REQUEST_HEAD  offsetof(struct request, args)
#define RESPONSE_HEAD offsetof(struct response, reply)

union control {
	char bytes[CMSG_SPACE(RUN_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

static int send_request(int socket, struct request *request, const int *fds)
{
	struct iovec part = {request, REQUEST_HEAD + request->args_size};
	union control control = {};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (request->n_fds) {
		struct cmsghdr *rights = &control.align;
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(request->n_fds * sizeof(int));
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(request->n_fds * sizeof(int));
		memcpy(CMSG_DATA(rights), fds, request->n_fds * sizeof(int));
	}
	ssize_t r;
	do
		r = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

struct fds {
	int items[RUN_FDS_MAX];
	size_t n;
};

static void fds_close(struct fds *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		close(fds->items[i]);
	fds->n = 0;
}

static void take_rights(struct msghdr *message, struct fds *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n && ret->n < RUN_FDS_MAX; i++)
			memcpy(&ret->items[ret->n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
}

/*
 * 1: a request, 0: none waits, -EPIPE: the caller is gone, -EMFILE: a request, but not its
 * descriptors.
 */
static int receive_request(int socket, struct request *request, struct fds *ret)
{
	struct iovec part = {request, sizeof *request};
	union control control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	ret->n = 0;
	take_rights(&message, ret);
	if (n < (ssize_t)REQUEST_HEAD)
		return -EPIPE; /* the end, or nothing that we send */
	/* The kernel drops the descriptors for which there are no free numbers, and says so. */
	return message.msg_flags & MSG_CTRUNC || ret->n != request->n_fds ? -EMFILE : 1;
}

/* ---- the server process ---------------------------------------------------------------------- */

enum slot_state { SLOT_FREE, SLOT_RUNNING, SLOT_FINISHED };

struct slot {
	enum slot_state state;
	const struct run_job *job;
	uint64_t ticket;
	uint64_t deadline;
	pid_t pid;
	int pidfd;
	struct area *area;
	struct response response; /* FINISHED: what is to be sent */
};

struct service {
	const struct run_job *jobs;
	pid_t pid;
	int socket;
	struct request request;
	struct slot slots[RUN_PARALLEL];
	pid_t left[LEFT_MAX]; /* killed, but not ended yet */
	size_t n_left;
};

static _Noreturn void run_child(const struct service *service, const struct slot *slot,
				const struct fds *fds)
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
			area_free(service->slots[i].area, RUN_REPLY_MAX);
	}
	prctl(PR_SET_NAME, job->name, 0, 0, 0);
	struct area *area = slot->area;
	int r = sandbox_enter(&options, &area->error);
	if (r >= 0)
		r = job->fn(fds->items, fds->n, service->request.args, service->request.args_size,
			    area->reply, job->reply_size, &area->error);
	area->value = r;
	area->finished = 1;
	_exit(0);
}

static void finish_slot(struct slot *slot, const struct ending *ending)
{
	struct response *response = &slot->response;
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
	struct ending ending = {.outcome = RUN_FAILED, .value = code};
	error_errno(&ending.error, code, "%s: %s", slot->job->name, what);
	finish_slot(slot, &ending);
}

static void start_child(struct service *service, struct slot *slot, const struct fds *fds)
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
		kill_and_reap(slot->pid);
		refuse(slot, code, "cannot watch a process");
		return;
	}
	unsigned limit = slot->job->deadline_ms ? slot->job->deadline_ms : RUN_DEADLINE_MS;
	slot->deadline = now_ms() + limit;
	slot->state = SLOT_RUNNING;
}

/* Takes the next request for this free slot. 0, or -EPIPE at the end. */
static int fill_slot(struct service *service, struct slot *slot)
{
	struct request *request = &service->request;
	struct fds fds = {};
	int r = receive_request(service->socket, request, &fds);
	if (r == 0 || r == -EPIPE) {
		fds_close(&fds);
		return r;
	}
	slot->job = &service->jobs[request->job];
	slot->ticket = request->ticket;
	if (r < 0)
		refuse(slot, r, "cannot take descriptors over");
	else
		start_child(service, slot, &fds);
	fds_close(&fds);
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
	struct area *fresh = service->n_left < LEFT_MAX ? area_new(RUN_REPLY_MAX) : NULL;
	if (!fresh) {
		kill_and_reap(slot->pid);
		return;
	}
	service->left[service->n_left++] = slot->pid;
	area_free(slot->area, RUN_REPLY_MAX);
	slot->area = fresh;
}

/* The child has ended, or its time has. */
static void end_slot(struct service *service, struct slot *slot)
{
	int status = 0;
	bool overdue = waitpid(slot->pid, &status, WNOHANG) == 0;
	if (overdue && !kill_within(slot->pid, slot->pidfd))
		leave_behind(service, slot);
	close(slot->pidfd);
	slot->pidfd = -1;
	struct ending ending;
	read_ending(slot->area, status, overdue, slot->job->name, &ending);
	finish_slot(slot, &ending);
}

/* Sends a finished slot's message if there is room. 0 or -EPIPE. */
static int send_slot(struct service *service, struct slot *slot)
{
	struct response *response = &slot->response;
	ssize_t r = send(service->socket, response, RESPONSE_HEAD + response->reply_size,
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
			int rest = ms_until(slot->deadline);
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
		    (fds[1 + i].revents || ms_until(slot->deadline) == 0))
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
			kill_within(service->slots[i].pid, service->slots[i].pidfd);
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

static _Noreturn void server_main(const struct run_job *jobs, int socket, pid_t parent)
{
	struct service *service = calloc(1, sizeof *service);
	if (!service)
		_exit(1);
	prctl(PR_SET_NAME, "mapwright-run", 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
	reset_signals();
	service->jobs = jobs;
	service->pid = getpid();
	service->socket = close_inherited(socket);
	if (service->socket < 0)
		_exit(1);
	for (size_t i = 0; i < RUN_PARALLEL; i++) {
		service->slots[i].pidfd = -1;
		service->slots[i].area = area_new(RUN_REPLY_MAX);
		if (!service->slots[i].area)
			_exit(1);
	}
	serve_until_hang_up(service);
	_exit(0);
}

/* ---- the caller's side ----------------------------------------------------------------------- */

struct run_server {
	const struct run_job *jobs;
	size_t n_jobs;
	pid_t pid;
	int socket;
	bool dead;
	size_t n_outstanding;
	uint64_t outstanding[OUTSTANDING_MAX];
	struct request request;
	struct response response;
};

static int check_jobs(const struct run_job *jobs, size_t n_jobs, struct mw_error *e)
{
	for (size_t i = 0; i < n_jobs; i++) {
		if (!jobs[i].fn || !jobs[i].name || jobs[i].reply_size > RUN_REPLY_MAX)
			return error_set(e, -EINVAL, "job %zu of the fork server is not valid", i);
	}
	return 0;
}

/* Forks the server, with a socket between it and us. */
static int start_server(struct run_server *server, struct mw_error *e)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(e, -errno, "cannot make a socket for the fork server");
	server->socket = pair[0];
	_cleanup_close_ int other = pair[1];
	int room = 4 * (int)sizeof(struct response); /* the default may be less than one message */
	setsockopt(other, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	setsockopt(server->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	pid_t parent = getpid();
	server->pid = fork();
	if (server->pid == 0)
		server_main(server->jobs, other, parent);
	if (server->pid < 0)
		return error_errno(e, -errno, "cannot start the fork server");
	return 0;
}

int run_server_start(const struct run_job *jobs, size_t n_jobs, struct run_server **ret,
		     struct mw_error *e)
{
	int r = check_jobs(jobs, n_jobs, e);
	if (r < 0)
		return r;
	struct run_server *server = calloc(1, sizeof *server);
	if (!server)
		return error_set(e, -ENOMEM, "no memory for the fork server");
	server->jobs = jobs;
	server->n_jobs = n_jobs;
	server->socket = -1;
	r = start_server(server, e);
	if (r < 0) {
		run_server_stop(server);
		return r;
	}
	*ret = server;
	return 0;
}

/* Waits for the server's end, not for ever: it might be stopped by somebody. */
static void wait_for_server(pid_t pid)
{
	uint64_t deadline = now_ms() + STOP_MS;
	while (now_ms() < deadline) {
		pid_t r = waitpid(pid, NULL, WNOHANG);
		if (r == pid || (r < 0 && errno != EINTR))
			return;
		struct timespec pause = {.tv_nsec = 1000000};
		nanosleep(&pause, NULL);
	}
	kill_and_reap(pid);
}

void run_server_stop(struct run_server *server)
{
	if (!server)
		return;
	if (server->socket >= 0)
		close(server->socket);
	if (server->pid > 0)
		wait_for_server(server->pid);
	free(server);
}

int run_server_fd(const struct run_server *server)
{
	return server->socket;
}

pid_t run_server_pid(const struct run_server *server)
{
	return server->pid;
}

size_t run_server_outstanding(const struct run_server *server)
{
	return server->n_outstanding;
}

int run_server_submit(struct run_server *server, size_t job, const int *fds, size_t n_fds,
		      const void *args, size_t args_size, uint64_t ticket)
{
	if (job >= server->n_jobs || n_fds > RUN_FDS_MAX || args_size > RUN_ARGS_MAX)
		return -EINVAL;
	if (server->dead)
		return -EPIPE;
	if (server->n_outstanding == OUTSTANDING_MAX)
		return -EAGAIN;
	struct request *request = &server->request;
	request->ticket = ticket;
	request->job = (uint32_t)job;
	request->args_size = (uint32_t)args_size;
	request->n_fds = (uint32_t)n_fds;
	if (args_size)
		memcpy(request->args, args, args_size);
	int r = send_request(server->socket, request, fds);
	if (r == -ECONNRESET || r == -EPIPE) {
		server->dead = true;
		return -EPIPE;
	}
	if (r < 0)
		return r == -ENOBUFS ? -EAGAIN : r;
	server->outstanding[server->n_outstanding++] = ticket;
	return 0;
}

static bool take_ticket(struct run_server *server, uint64_t ticket)
{
	for (size_t i = 0; i < server->n_outstanding; i++) {
		if (server->outstanding[i] != ticket)
			continue;
		server->n_outstanding--;
		memmove(server->outstanding + i, server->outstanding + i + 1,
			(server->n_outstanding - i) * sizeof *server->outstanding);
		return true;
	}
	return false;
}

/* A result for one of the tickets that a dead server left. */
static int receive_from_the_dead(struct run_server *server, struct run_result *ret)
{
	server->dead = true;
	if (!server->n_outstanding)
		return -EPIPE;
	*ret = (struct run_result){.ticket = server->outstanding[0], .outcome = RUN_CRASHED};
	take_ticket(server, ret->ticket);
	error_set(&ret->error, -EPIPE, "the fork server died");
	return 1;
}

int run_server_receive(struct run_server *server, struct run_result *ret)
{
	struct response *response = &server->response;
	ssize_t n;
	/* ECONNRESET comes once, before what still lies in the socket of a server that died. */
	do
		n = recv(server->socket, response, sizeof *response, MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < (ssize_t)RESPONSE_HEAD || (size_t)n != RESPONSE_HEAD + response->reply_size ||
	    !take_ticket(server, response->ticket))
		return receive_from_the_dead(server, ret);
	*ret = (struct run_result){
		.ticket = response->ticket,
		.outcome = response->outcome,
		.value = response->value,
		.reply = response->reply,
		.reply_size = response->reply_size,
		.error = response->error,
	};
	return 1;
}

/* ---- run_isolated ---------------------------------------------------------------------------- */

#define ISOLATED_FDS_MAX 16

static _Noreturn void isolated_main(int (*fn)(void *context, struct mw_error *e), void *context,
				    const struct run_isolated_options *o, pid_t parent,
				    struct area *area)
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
	reset_signals();
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
		uint64_t deadline = now_ms() + deadline_ms;
		struct pollfd fd = {.fd = pidfd, .events = POLLIN};
		int r;
		do
			r = poll(&fd, 1, ms_until(deadline));
		while (r < 0 && errno == EINTR);
		if (r == 0) {
			kill_within(pid, pidfd);
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
	struct area *area = area_new(0);
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
		area_free(area, 0);
		return code;
	}
	int status = 0;
	bool overdue = wait_for_child(pid, options->deadline_ms, &status);
	struct ending ending;
	read_ending(area, status, overdue, "the isolated process", &ending);
	area_free(area, 0);
	if (ret_outcome)
		*ret_outcome = ending.outcome;
	if (ending.outcome == RUN_DONE)
		return ending.value;
	if (e)
		*e = ending.error;
	return ending.error.code;
}
