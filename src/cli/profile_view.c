/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/profile_view.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/run.h"
#include "cli/command.h"
#include "cli/line_server.h"
#include "cli/message.h"
#include "profile/inlines.h"
#include "profile/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* A profile in memory is a few times its file; nobody's file may take the machine's last page. */
#define MEMORY_LIMIT (UINT64_C(8) << 30)

/* A pipe cannot be read twice or at an offset: what comes from it is put into memory. */
static int copy_input(int input, struct mw_error *e)
{
	_cleanup_close_ int fd = memfd_create("profile", MFD_CLOEXEC);
	if (fd < 0)
		return error_errno(e, -errno, "standard input");
	_cleanup_free_ char *block = malloc(1 << 20);
	if (!block)
		return error_errno(e, -ENOMEM, "standard input");
	for (uint64_t size = 0; size <= PROFILE_FILE_MAX;) {
		ssize_t n = io_read(input, block, 1 << 20);
		int r = n > 0 ? io_write(fd, block, (size_t)n) : (int)n;
		if (r < 0)
			return error_errno(e, r, "standard input");
		if (n == 0)
			return take_fd(fd);
		size += (uint64_t)n;
	}
	return error_errno(e, -EFBIG, "standard input");
}

/* The descriptor of the file's content, or -errno. */
static int open_input(const char *file, struct mw_error *e)
{
	if (strcmp(file, "-") == 0)
		return copy_input(STDIN_FILENO, e);
	/* Not to wait for a writer, should it be a FIFO. */
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_errno(e, -errno, "%s", file);
	struct stat st;
	if (fstat(fd, &st) < 0)
		return error_errno(e, -errno, "%s", file);
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, "%s: not a regular file", file);
	return take_fd(fd);
}

struct job {
	const char *name;
	int fd;
	struct profile_view_options options;
	int line_server; /* -1: none */
	profile_view_fn view;
	const void *context;
};

static void show_progress(void *data, size_t done, size_t all)
{
	/* Of what is quickly done nobody needs to be told. */
	static const size_t many = 100000;
	if (all < many || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, done < all ? "\rsource lines: %zu %%" : "\r\033[K", done * 100 / all);
}

/* Lines are an addition: what cannot be had is no error. */
static int add_lines(const struct job *job, struct profile *profile)
{
	int r = 0;
	if (job->options.lines && job->line_server >= 0) {
		struct line_finder finder = line_finder_remote(&job->line_server);
		finder.progress = show_progress;
		r = profile_find_lines(profile, UINT32_MAX, &finder);
	}
	if (r != -ENOMEM && job->options.inlines)
		r = profile_expand_inlines(profile);
	if (r == -E2BIG)
		message_warning("%s: so many inlined calls that none are shown", job->name);
	return r == -ENOMEM ? r : 0;
}

static int view_in_child(void *data, struct mw_error *e)
{
	const struct job *job = data;
	_cleanup_(cleanup_profile_free) struct profile *profile = NULL;
	int r = profile_open(job->fd, job->name, &profile, e);
	if (r < 0)
		return r;
	if (profile->damage)
		message_warning("%s: %s", job->name, profile->damage);
	r = add_lines(job, profile);
	if (r < 0)
		return error_errno(e, r, "%s", job->name);
	r = job->view(profile, job->context, e);
	if (r == 0 && fflush(stdout) != 0)
		r = error_errno(e, -errno, "standard output");
	return r;
}

int profile_view(const char *file, profile_view_fn view, const void *context, struct mw_error *e)
{
	return profile_view_with(file, NULL, view, context, e);
}

int profile_view_with(const char *file, const struct profile_view_options *how,
		      profile_view_fn view, const void *context, struct mw_error *e)
{
	_cleanup_close_ int fd = open_input(file, e);
	if (fd < 0)
		return fd;
	struct job job = {.name = strcmp(file, "-") == 0 ? "standard input" : file,
			  .fd = fd,
			  .options = how ? *how : (struct profile_view_options){},
			  .view = view,
			  .context = context};
	struct line_server server = LINE_SERVER_INIT;
	const struct line_server_options reader = {.store = job.options.store};
	if (job.options.lines && line_server_start(&reader, &server, e) < 0)
		return e->code;
	job.line_server = server.fd;
	const int fds[] = {fd, server.fd};
	const struct run_isolated_options options = {
		.fds = fds,
		.n_fds = server.fd >= 0 ? 2 : 1,
		.keep_stdout = true,
		.keep_stderr = true,
		.memory_limit = MEMORY_LIMIT,
	};
	/* The C library would read the time zone's file when it is first asked for local time. */
	tzset();
	/* A reader who leaves makes writing fail; a child killed by it would look like a crash. */
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	int r = run_isolated(view_in_child, &job, &options, NULL, e);
	signal(SIGPIPE, before);
	line_server_stop(&server);
	if (r == -ECANCELED || r == -ETIMEDOUT)
		error_prefix(e, r, "%s", job.name);
	return r;
}

static const char *hint_of(int r)
{
	switch (r) {
	case -ENOENT:
		return "mapwright record makes a profile";
	case -ENOMSG:
		return "report and export read what mapwright record wrote";
	case -ENOTSUP:
		return "it is of a newer mapwright than this one";
	default:
		return NULL;
	}
}

int profile_view_status(int r, const struct mw_error *e)
{
	if (r == 0)
		return EXIT_DONE;
	/* Whoever read our output has closed it: end as every program does then. */
	if (r == -EPIPE)
		raise(SIGPIPE);
	else
		message_failure(e, hint_of(r));
	return EXIT_FAILED;
}
