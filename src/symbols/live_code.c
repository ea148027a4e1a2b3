/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/live_code.h"

#include "base/cleanup.h"
#include "base/run.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Shared with the child. */
struct job {
	int fd;
	int out;
	struct perf_map_request request;
	struct perf_map_reply reply;
};

void live_code_deinit(struct live_code *code)
{
	perf_map_file_deinit(&code->file);
	perf_map_deinit(&code->map);
}

static int read_part(void *context, struct mw_error *e)
{
	struct job *job = context;
	return perf_map_read(job->fd, job->out, &job->request, &job->reply, e);
}

/* Appends what a child says. */
static int take_part(struct live_code *code, const struct job *job)
{
	_cleanup_(perf_map_deinit) struct perf_map part = {};
	uint32_t names = (uint32_t)code->map.names.n;
	int r = perf_map_take(job->out, &job->reply, &part);
	buffer_bytes(&code->map.names, part.names.data, part.names.n);
	for (size_t i = 0; r == 0 && i < part.entries.n; i++) {
		struct perf_map_entry entry = part.entries.items[i];
		entry.name += names;
		r = vec_push(&code->map.entries, entry);
	}
	return code->map.names.failed ? -ENOMEM : r;
}

static int read_all(struct live_code *code, struct job *job)
{
	const int fds[] = {job->fd, job->out};
	const struct run_isolated_options options = {.fds = fds,
						     .n_fds = ARRAY_SIZE(fds),
						     .memory_limit = UINT64_C(512) << 20,
						     .file_size_limit = UINT64_C(256) << 20,
						     .cpu_seconds = 5,
						     .deadline_ms = 5000};
	for (;;) {
		uint64_t before = job->request.known;
		job->reply = (struct perf_map_reply){};
		if (ftruncate(job->out, 0) < 0 || lseek(job->out, 0, SEEK_SET) < 0)
			return -errno;
		int r = run_isolated(read_part, job, &options, NULL, NULL);
		if (r == 0)
			r = take_part(code, job);
		if (r < 0 || job->reply.is_rewritten || job->reply.consumed <= before ||
		    job->reply.consumed + PERF_MAP_LINE_MAX >= job->request.size)
			return r;
		job->request.known = job->reply.consumed;
		job->request.known_hash = job->reply.hash;
		job->request.in_line = job->reply.in_line;
	}
}

static int read_map(struct live_code *code, const struct log *log)
{
	struct job *job =
		mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job == MAP_FAILED)
		return -ENOMEM;
	_cleanup_close_ int fd = job->fd = perf_map_file_open(&code->file);
	_cleanup_close_ int out = job->out = memfd_create("perf-map", MFD_CLOEXEC);
	perf_map_deinit(&code->map);
	code->map = (struct perf_map){};
	job->request = (struct perf_map_request){.size = code->file.state.size};
	int r = fd < 0 || out < 0 || job->request.size > PERF_MAP_MAX ? -EBADF
								      : read_all(code, job);
	if (r < 0)
		log_debug(log, "perf map: cannot be read: %s", strerror(-r));
	munmap(job, sizeof *job);
	return r;
}

static void look(struct live_code *code, const struct proc *proc, const struct log *log,
		 uint32_t pid)
{
	struct perf_map_state now;
	code->place.pid = code->place.tid = pid;
	if (!code->place.start_time)
		proc_start_time(proc, pid, &code->place.start_time);
	int r = perf_map_file_find(proc, log, &code->place, &code->file);
	if (r < 0 || perf_map_file_look(&code->file, &now) < 0) {
		perf_map_deinit(&code->map);
		return;
	}
	if (r == 0 && code->has_read && memcmp(&now, &code->file.state, sizeof now) == 0)
		return;
	code->file.state = now;
	code->has_read = read_map(code, log) == 0;
	if (!code->has_read)
		perf_map_deinit(&code->map);
}

const struct perf_map_entry *live_code_find(struct live_code *code, const struct proc *proc,
					    const struct log *log, uint32_t pid, bool refresh,
					    uint64_t address)
{
	if (refresh)
		look(code, proc, log, pid);
	return perf_map_find(&code->map, address);
}
