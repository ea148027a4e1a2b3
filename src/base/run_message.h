/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What passes over the socket between the caller of the fork server and the server itself. */
#ifndef BASE_RUN_MESSAGE_H
#define BASE_RUN_MESSAGE_H

#include "base/run.h"

#include <stddef.h>
#include <stdint.h>

struct run_request {
	uint64_t ticket;
	uint32_t job;
	uint32_t args_size;
	uint32_t n_fds;
	uint32_t unused;
	_Alignas(max_align_t) uint8_t args[RUN_ARGS_MAX];
};

struct run_response {
	uint64_t ticket;
	uint32_t outcome;
	int32_t value;
	struct mw_error error;
	uint32_t reply_size;
	_Alignas(max_align_t) uint8_t reply[RUN_REPLY_MAX];
};

#define RUN_REQUEST_HEAD  offsetof(struct run_request, args)
#define RUN_RESPONSE_HEAD offsetof(struct run_response, reply)

struct run_fds {
	int items[RUN_FDS_MAX];
	size_t n;
};

void run_fds_close(struct run_fds *fds);

/* Without waiting: -EAGAIN if the socket is full. */
int run_request_send(int socket, struct run_request *request, const int *fds);
/*
 * 1: a request, 0: none waits, -EPIPE: the caller is gone, -EMFILE: a request, but not its
 * descriptors.
 */
int run_request_receive(int socket, struct run_request *request, struct run_fds *ret);

#endif
