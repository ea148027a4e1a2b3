/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/run_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(RUN_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int run_request_send(int socket, struct run_request *request, const int *fds)
{
	struct iovec part = {request, RUN_REQUEST_HEAD + request->args_size};
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

void run_fds_close(struct run_fds *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		close(fds->items[i]);
	fds->n = 0;
}

static void take_rights(struct msghdr *message, struct run_fds *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n && ret->n < RUN_FDS_MAX; i++)
			memcpy(&ret->items[ret->n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
}

int run_request_receive(int socket, struct run_request *request, struct run_fds *ret)
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
	if (n < (ssize_t)RUN_REQUEST_HEAD)
		return -EPIPE; /* the end, or nothing that we send */
	/* The kernel drops the descriptors for which there are no free numbers, and says so. */
	return message.msg_flags & MSG_CTRUNC || ret->n != request->n_fds ? -EMFILE : 1;
}
