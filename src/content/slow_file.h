/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The content of a file on a file system that may never answer (FUSE, network), copied by a process of
 * its own until a deadline.
 *
 * Even closing a descriptor of such a file can block, so none ever reaches the caller: the copier
 * finds and proves the file as usual, and writes its bytes into memory (a memfd) that both share. When
 * its time is over it is killed; should it be stuck beyond killing, it is left behind.
 */
#ifndef CONTENT_SLOW_FILE_H
#define CONTENT_SLOW_FILE_H

#include "content/finder.h"

#include <sys/types.h>

/* Larger files are not copied. */
#define SLOW_FILE_MAX (UINT64_C(256) << 20)
#define SLOW_FILE_DEADLINE_MS 4000

struct slow_file {
	pid_t pid; /* of the copier; 0: none */
	int fd;	   /* the copy; owned */
	uint64_t deadline; /* CLOCK_MONOTONIC, ns */
	uint64_t size;	   /* that it must have */
};

#define SLOW_FILE_INIT {.fd = -1}

/* Starts copying. 0 or -errno. */
int slow_file_start(const struct finder_context *context, const struct file_request *request,
		    struct slow_file *ret);
/*
 * 1: the copy is whole, *ret_fd is the caller's; 0: not yet; otherwise it is over: -ENOENT it was not
 * found or proved, -ETIMEDOUT. Does not wait.
 */
int slow_file_poll(struct slow_file *s, int *ret_fd);
/* Kills the copier if it still runs. Takes an initialized one, too. */
void slow_file_deinit(struct slow_file *s);

#endif
