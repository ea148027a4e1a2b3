/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/run.h"
#include "cli/command.h"
#include "cli/command_store.h"
#include "cli/line_server.h"
#include "cli/message.h"
#include "cli/profile_view.h"
#include "profile/reader.h"
#include "profile/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct arguments {
	const char *store;
	bool json;
};

#define AT(field) .offset = offsetof(struct arguments, field)

static const struct option_spec options[] = {
	{OPTION_TEXT, 0, "store", "DIR", AT(store), .complete = COMPLETE_DIRECTORIES, .group = "Options",
	 .help = COMMAND_STORE_HELP},
	{OPTION_FLAG, 0, "json", AT(json), .help = "Write one JSON object instead of text."},
	{},
};

static const char *const description[] = {
	"Names the frames of a profile again with what is here now: what the store knows, debug files that came "
	"since, and files on this machine that are proved by their ids to be those that ran. Better names, source "
	"lines and inlined calls replace what was there; nothing is lost. Kernel frames stay as they are.",
	"The file is replaced as a whole; if anything fails it stays as it was.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright resymbolize old.mwp", "better names, now that debug information is here"},
	{},
};

/* What a child tells, in memory that is shared with it. */
struct outcome {
	uint64_t n_frames; /* that lie in files */
	uint64_t n_changed;
	uint64_t n_named_before;
	uint64_t n_named;
	uint64_t n_lines;
};

struct job {
	const char *name;
	int in;
	int out;
	int server;
	bool shows_progress;
	struct outcome *outcome;
};

static void show_progress(void *data, size_t done, size_t all)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, done < all ? "\rnaming frames: %zu %%" : "\r\033[K", done * 100 / all);
}

static void count(const struct profile *p, uint64_t *ret_frames, uint64_t *ret_named,
		  uint64_t *ret_lines)
{
	*ret_frames = *ret_named = *ret_lines = 0;
	vec_foreach(f, &p->frames) {
		if (f->at.kind != FRAME_FILE)
			continue;
		++*ret_frames;
		*ret_named += !!f->name.name;
		*ret_lines += !!f->n_lines;
	}
}

static int rename_in_child(void *data, struct mw_error *e)
{
	const struct job *job = data;
	_cleanup_(cleanup_profile_free) struct profile *profile = NULL;
	uint64_t lines_before;
	int r = profile_open(job->in, job->name, &profile, e);
	if (r < 0)
		return r;
	if (profile->damage)
		return error_set(e, -EBADMSG, "%s: %s", job->name, profile->damage);
	count(profile, &job->outcome->n_frames, &job->outcome->n_named_before, &lines_before);
	struct line_finder finder = line_finder_remote(&job->server);
	finder.progress = show_progress;
	r = profile_find_names(profile, &finder);
	if (r < 0)
		return error_errno(e, r, "%s: cannot ask for names", job->name);
	job->outcome->n_changed = (uint64_t)r;
	count(profile, &job->outcome->n_frames, &job->outcome->n_named, &job->outcome->n_lines);
	return profile_save_open(job->out, job->name, profile, e);
}

static int run_child(struct job *job, struct mw_error *e)
{
	const int fds[] = {job->in, job->out, job->server};
	const struct run_isolated_options limits = {
		.fds = fds,
		.n_fds = ARRAY_SIZE(fds),
		.keep_stderr = true,
		.memory_limit = UINT64_C(8) << 30,
	};
	profile_save_prepare();
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	int r = run_isolated(rename_in_child, job, &limits, NULL, e);
	signal(SIGPIPE, before);
	if (r == -ECANCELED || r == -ETIMEDOUT)
		error_prefix(e, r, "%s", job->name);
	return r;
}

/* The new file beside the old one, with its owner and mode. */
static int make_file(const char *name, const struct stat *like, char *temporary, size_t size,
		     struct mw_error *e)
{
	if ((size_t)snprintf(temporary, size, "%s.XXXXXX", name) >= size)
		return error_errno(e, -ENAMETOOLONG, "%s", name);
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return error_errno(e, -errno, "%s: cannot write beside it", name);
	/* Of another's file root keeps the owner; for others it becomes their own, as with every editor. */
	if (fchown(fd, like->st_uid, like->st_gid) < 0 && geteuid() == 0)
		message_warning("%s: its owner cannot be kept", name);
	fchmod(fd, like->st_mode & 07777);
	return fd;
}

static int replace(struct job *job, struct mw_error *e)
{
	char temporary[4096];
	struct stat st;
	if (fstat(job->in, &st) < 0)
		return error_errno(e, -errno, "%s", job->name);
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, "%s: not a regular file", job->name);
	_cleanup_close_ int out = job->out =
		make_file(job->name, &st, temporary, sizeof temporary, e);
	if (out < 0)
		return out;
	int r = run_child(job, e);
	if (r == 0 && (fsync(out) < 0 || rename(temporary, job->name) < 0))
		r = error_errno(e, -errno, "%s: cannot replace it", job->name);
	if (r < 0)
		unlink(temporary);
	return r;
}

static void summarize(const struct arguments *a, const struct outcome *o)
{
	if (a->json)
		printf("{\"frames\":%" PRIu64 ",\"changed\":%" PRIu64 ",\"named_before\":%" PRIu64
		       ",\"named\":%" PRIu64 ",\"with_lines\":%" PRIu64 "}\n",
		       o->n_frames, o->n_changed, o->n_named_before, o->n_named, o->n_lines);
	else
		printf("%" PRIu64 " frames in files: %" PRIu64 " have names (%" PRIu64
		       " before), %" PRIu64 " have lines; %" PRIu64 " changed\n",
		       o->n_frames, o->n_named, o->n_named_before, o->n_lines, o->n_changed);
}

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	struct mw_error e = {};
	const char *name = in->argc ? in->argv[0] : PROFILE_DEFAULT_FILE;
	struct job job = {.name = name, .out = -1};
	_cleanup_close_ int fd = job.in = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	job.outcome = mmap(NULL, sizeof *job.outcome, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct line_server server = LINE_SERVER_INIT;
	const struct line_server_options how = {.store = a->store, .take_in = true, .log = &in->log};
	int r = fd < 0 ? error_errno(&e, -errno, "%s", name) : 0;
	if (job.outcome == MAP_FAILED)
		r = error_set(&e, -ENOMEM, "out of memory");
	if (r == 0)
		r = line_server_start(&how, &server, &e);
	job.server = server.fd;
	if (r == 0)
		r = replace(&job, &e);
	line_server_stop(&server);
	if (r == 0)
		summarize(a, job.outcome);
	if (job.outcome != MAP_FAILED)
		munmap(job.outcome, sizeof *job.outcome);
	return profile_view_status(r, &e);
}

const struct command cmd_resymbolize = {
	.name = "resymbolize",
	.summary = "Name a profile again, with debug information that is here now",
	.usage = "[FILE]",
	.description = description,
	.options = options,
	.examples = examples,
	.options_size = sizeof(struct arguments),
	.max_arguments = 1,
	.complete = COMPLETE_FILES,
	.run = run,
};
