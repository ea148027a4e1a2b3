/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/slow_file.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "content/content.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define CHUNK 65536

static int copy(int from, int to)
{
	char chunk[CHUNK];
	for (;;) {
		ssize_t n = io_read(from, chunk, sizeof chunk);
		int r = n > 0 ? io_write(to, chunk, (size_t)n) : (int)n;
		if (n <= 0 || r < 0)
			return r;
	}
}

/* In the copier, which may block wherever it likes. */
static _Noreturn void find_and_copy(const struct finder_context *context,
				    const struct file_request *request, int to)
{
	struct finder_context patient = {.proc = context->proc, .may_block = true};
	struct pin pin;
	enum mw_reason reason;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "mw-copier");
	if (pin_open(&patient, request, &pin, &reason) < 0)
		_exit(1);
	_exit(copy(pin.fd, to) == 0 && pin_is_unchanged(&pin) == 1 ? 0 : 1);
}

int slow_file_start(const struct finder_context *context, const struct file_request *request,
		    struct slow_file *ret)
{
	if (request->key.size > SLOW_FILE_MAX)
		return -EFBIG;
	_cleanup_close_ int fd = memfd_create("mapwright-copy", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		find_and_copy(context, request, fd);
	*ret = (struct slow_file){
		.pid = pid,
		.fd = take_fd(fd),
		.deadline = clock_now_ns() + SLOW_FILE_DEADLINE_MS * UINT64_C(1000000),
		.size = request->key.size,
	};
	return 0;
}

void slow_file_deinit(struct slow_file *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, WNOHANG);
	}
	cleanup_close(&s->fd);
	*s = (struct slow_file)SLOW_FILE_INIT;
}

int slow_file_poll(struct slow_file *s, int *ret_fd)
{
	int status;
	pid_t r = waitpid(s->pid, &status, WNOHANG);
	if (r == 0 && clock_now_ns() < s->deadline)
		return 0;
	if (r == 0) {
		slow_file_deinit(s);
		return -ETIMEDOUT;
	}
	s->pid = 0;
	struct stat st;
	bool is_whole = r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
			fstat(s->fd, &st) == 0 && (uint64_t)st.st_size == s->size;
	if (is_whole)
		*ret_fd = take_fd(s->fd);
	slow_file_deinit(s);
	return is_whole ? 1 : -ENOENT;
}
