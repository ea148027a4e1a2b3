/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/extract.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "symbols/debug_file.h"
#include "symbols/plt.h"

#include <string.h>
#include <sys/stat.h>

static int identify_content(const struct source *source, struct elf_identity *ret,
			    struct mw_error *e)
{
	int r = elf_identify_content(source, ret);
	return r < 0 ? error_errno(e, r, "cannot read the file to identify it") : 0;
}

int extract_identity(int fd, struct elf_identity *ret, struct mw_error *e)
{
	struct elf elf;
	int r = elf_open(&elf, fd, e);
	if (r == 0) {
		r = elf_identify(&elf, ret, e);
		if (r == 0)
			r = identify_content(&elf.source, ret, e);
		elf_deinit(&elf);
		return r;
	}
	if (r != -EBADMSG)
		return r;
	struct source source;
	r = source_of_fd(fd, &source, e);
	if (r < 0)
		return r;
	*ret = (struct elf_identity){.elf_class = ELFCLASSNONE, .file_size = source.size};
	r = source_htlhash(&source, &ret->id);
	if (r < 0)
		return error_errno(e, r, "cannot read the file to identify it");
	return identify_content(&source, ret, e);
}

/* What is alive between reading the file and writing the result. */
struct job {
	struct elf elf;
	struct symbol_list list;
	function_list functions;
	struct buffer out;
	struct gsym_splits splits;
};

static void job_deinit(struct job *job)
{
	gsym_splits_deinit(&job->splits);
	buffer_deinit(&job->out);
	vec_deinit(&job->functions);
	symbol_list_deinit(&job->list);
	elf_deinit(&job->elf);
}

static int build(struct job *job, int elf_fd, const int *debug_fds, size_t n_debug_fds,
		 struct mw_error *e)
{
	struct elf_identity identity;
	int r = elf_open(&job->elf, elf_fd, e);
	if (r == 0)
		r = elf_identify(&job->elf, &identity, e);
	if (r == 0)
		r = debug_file_symbols(&job->list, &job->elf, debug_fds, n_debug_fds, &identity, e);
	if (r == 0)
		r = plt_add(&job->list, &job->elf);
	if (r == 0)
		r = symbol_list_choose(&job->list, &job->functions, e);
	if (r == 0)
		r = gsym_write(job->functions.items, job->functions.n, &identity.id,
			       EXTRACT_GSYM_MAX, &job->out, &job->splits, e);
	return r;
}

static int write_out(const struct job *job, int out_fd, struct mw_error *e)
{
	size_t splits_size = job->splits.list.n * sizeof *job->splits.list.items;
	int r = io_write(out_fd, job->out.data, job->out.n);
	if (r == 0 && splits_size)
		r = io_write(out_fd, job->splits.list.items, splits_size);
	return r < 0 ? error_errno(e, r, "cannot write the names") : 0;
}

int extract_names(int elf_fd, const int *debug_fds, size_t n_debug_fds, int out_fd,
		  struct extract_result *ret, struct mw_error *e)
{
	struct job job = {};
	int r = build(&job, elf_fd, debug_fds, n_debug_fds, e);
	if (r == 0)
		r = write_out(&job, out_fd, e);
	if (r == 0)
		*ret = (struct extract_result){
			.gsym_size = job.out.n,
			.n_functions = job.functions.n,
			.n_splits = job.splits.list.n,
			.source = job.list.source,
			.damage = job.list.damage,
		};
	job_deinit(&job);
	return r;
}

static bool is_ascending(const struct gsym_splits *splits)
{
	for (size_t i = 1; i < splits->list.n; i++) {
		if (splits->list.items[i - 1].address >= splits->list.items[i].address)
			return false;
	}
	return true;
}

int extract_take_splits(int out_fd, const struct extract_result *result, struct gsym_splits *ret,
			struct mw_error *e)
{
	struct stat st;
	if (fstat(out_fd, &st) < 0)
		return error_errno(e, -errno, "cannot ask for the size of the names");
	uint64_t size = (uint64_t)st.st_size;
	if (result->n_splits > EXTRACT_SPLITS_MAX || result->gsym_size > size ||
	    result->n_splits * sizeof(struct gsym_split) != size - result->gsym_size)
		return error_set(e, -EBADMSG, "the names are not as long as their reader says");
	if (result->n_splits) {
		if (vec_reserve(&ret->list, result->n_splits) < 0)
			return error_set(e, -ENOMEM, "out of memory");
		size_t bytes = result->n_splits * sizeof *ret->list.items;
		ssize_t r = io_pread(out_fd, ret->list.items, bytes, result->gsym_size);
		if (r < 0)
			return error_errno(e, (int)r, "cannot read the split functions");
		ret->list.n = (size_t)r == bytes ? result->n_splits : 0;
	}
	if (ret->list.n != result->n_splits || !is_ascending(ret))
		return error_set(e, -EBADMSG, "the list of split functions is damaged");
	if (ftruncate(out_fd, (off_t)result->gsym_size) < 0)
		return error_errno(e, -errno, "cannot cut the names to their size");
	return 0;
}
