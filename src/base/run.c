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
#include "base/run.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/run_child.h"
#include "base/run_message.h"
#include "base/run_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTSTANDING_MAX (RUN_PARALLEL + RUN_QUEUE_MAX)
#define STOP_MS		2000

struct run_server {
	const struct run_job *jobs;
	size_t n_jobs;
	pid_t pid;
	int socket;
	bool dead;
	size_t n_outstanding;
	uint64_t outstanding[OUTSTANDING_MAX];
	struct run_request request;
	struct run_response response;
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
	int room =
		4 * (int)sizeof(struct run_response); /* the default may be less than one message */
	setsockopt(other, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	setsockopt(server->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	pid_t parent = getpid();
	server->pid = fork();
	if (server->pid == 0)
		run_service_main(server->jobs, other, parent);
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
	uint64_t deadline = run_now_ms() + STOP_MS;
	while (run_now_ms() < deadline) {
		pid_t r = waitpid(pid, NULL, WNOHANG);
		if (r == pid || (r < 0 && errno != EINTR))
			return;
		struct timespec pause = {.tv_nsec = 1000000};
		nanosleep(&pause, NULL);
	}
	run_child_kill(pid);
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
	struct run_request *request = &server->request;
	request->ticket = ticket;
	request->job = (uint32_t)job;
	request->args_size = (uint32_t)args_size;
	request->n_fds = (uint32_t)n_fds;
	if (args_size)
		memcpy(request->args, args, args_size);
	int r = run_request_send(server->socket, request, fds);
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
	struct run_response *response = &server->response;
	ssize_t n;
	/* ECONNRESET comes once, before what still lies in the socket of a server that died. */
	do
		n = recv(server->socket, response, sizeof *response, MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < (ssize_t)RUN_RESPONSE_HEAD ||
	    (size_t)n != RUN_RESPONSE_HEAD + response->reply_size ||
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
