/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/extract_unwind.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "elf/identity.h"
#include "unwind/unwind_build.h"

/* What is alive between reading the file and writing the result. */
struct job {
	struct elf elf;
	struct unwind_build build;
	struct buffer out;
};

static void job_deinit(struct job *job)
{
	buffer_deinit(&job->out);
	unwind_build_deinit(&job->build);
	elf_deinit(&job->elf);
}

/* A debug file that is damaged, another's or of no use costs nothing but itself. */
static int add_debug_file(struct job *job, int fd, const struct elf_identity *identity,
			  struct mw_error *e)
{
	struct elf debug;
	int r = elf_open(&debug, fd, NULL);
	if (r == 0)
		r = elf_load_sections(&debug, NULL);
	if (r < 0) {
		elf_deinit(&debug);
		return r == -ENOMEM ? error_set(e, r, "out of memory") : 0;
	}
	if ((elf_find_section(&debug, ".debug_frame") ||
	     elf_find_section(&debug, ".zdebug_frame")) &&
	    elf_debug_file_belongs(&debug, identity))
		r = unwind_build_add_debug(&job->build, &debug, e);
	elf_deinit(&debug);
	return r;
}

static int build(struct job *job, int elf_fd, const int *debug_fds, size_t n_debug_fds,
		 struct mw_error *e)
{
	struct elf_identity identity;
	int r = elf_open(&job->elf, elf_fd, e);
	if (r == 0)
		r = unwind_build_init(&job->build, &job->elf, e);
	if (r == 0)
		r = unwind_build_add_file(&job->build, e);
	if (r == 0 && n_debug_fds)
		r = elf_identify(&job->elf, &identity, e);
	for (size_t i = 0; r == 0 && i < n_debug_fds; i++)
		r = add_debug_file(job, debug_fds[i], &identity, e);
	if (r == 0)
		r = unwind_build_finish(&job->build, &job->out, e);
	return r;
}

int extract_unwind(int elf_fd, const int *debug_fds, size_t n_debug_fds, int out_fd,
		   struct extract_unwind_result *ret, struct mw_error *e)
{
	struct job job = {};
	int r = build(&job, elf_fd, debug_fds, n_debug_fds, e);
	if (r == 0) {
		r = io_write(out_fd, job.out.data, job.out.n);
		if (r < 0)
			error_errno(e, r, "cannot write the unwinding table");
	}
	if (r == 0) {
		const struct unwind_header *h = &job.build.image.header;
		*ret = (struct extract_unwind_result){
			.size = job.out.n,
			.n_rows = h->n_rows,
			.n_rules = h->n_rules,
			.n_functions = h->n_functions,
			.n_unsupported = h->n_unsupported,
			.n_damaged = h->n_damaged,
			.sources = h->sources,
		};
	}
	job_deinit(&job);
	return r;
}
