/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "elf/alt_link.h"
#include "symbols/code_map.h"
#include "symbols/debug_file.h"
#include "symbols/extract.h"
#include "symbols/lines_builder.h"
#include "symbols/plt.h"

const char *lines_source_name(uint32_t source)
{
	static const char *const names[] = {"none", "split-skeleton", "debug_info-partly",
					    "debug_info"};
	return source < ARRAY_SIZE(names) ? names[source] : "none";
}

/* What is alive between reading the files and writing the result. */
struct job {
	struct elf elf, debug, other;
	struct elf *with_lines; /* elf or debug */
	struct elf_identity identity;
	struct dwarf_file file, supplement;
	struct code_map code;
	struct symbol_list list;
	function_list symbols;
	uint32_t debug_file;
	struct lines_output out;
};

static void job_deinit(struct job *job)
{
	gsym_splits_deinit(&job->out.splits);
	vec_deinit(&job->symbols);
	symbol_list_deinit(&job->list);
	code_map_deinit(&job->code);
	dwarf_file_close(&job->supplement);
	dwarf_file_close(&job->file);
	elf_deinit(&job->other);
	elf_deinit(&job->debug);
	elf_deinit(&job->elf);
}

/* ---- the files ------------------------------------------------------------------------------- */

/* True if a debug file is this file's and has debug information; it stays open then. */
static bool take_debug_file(struct job *job, int fd)
{
	if (elf_open(&job->debug, fd, NULL) < 0)
		return false;
	if (dwarf_file_has_any(&job->debug) && elf_debug_file_belongs(&job->debug, &job->identity))
		return true;
	elf_deinit(&job->debug);
	return false;
}

static int open_debug_information(struct job *job, const int *debug_fds, size_t n_debug_fds,
				  struct mw_error *e)
{
	job->with_lines = &job->elf;
	for (size_t i = 0; i < n_debug_fds && !job->debug_file; i++) {
		if (take_debug_file(job, debug_fds[i])) {
			job->with_lines = &job->debug;
			job->debug_file = (uint32_t)i + 1;
		}
	}
	return dwarf_file_open(&job->file, job->with_lines, e);
}

/* The supplementary file, if it is the one that was meant. 0 or -ENOMEM; else it is not used. */
static int open_supplement(struct job *job, int fd)
{
	struct elf_alt_link link;
	if (fd < 0 || !elf_read_alt_link(job->with_lines, &link) ||
	    elf_open(&job->other, fd, NULL) < 0 || !elf_is_linked(&job->other, &link))
		return 0;
	int r = dwarf_file_open(&job->supplement, &job->other, NULL);
	if (r == 0)
		job->file.supplement = &job->supplement;
	return r == -ENOMEM ? r : 0;
}

/* ---- the work -------------------------------------------------------------------------------- */

static int collect_symbols(struct job *job, const int *debug_fds, size_t n_debug_fds)
{
	int r = debug_file_symbols(&job->list, &job->elf, debug_fds, n_debug_fds, &job->identity,
				   NULL);
	if (r == 0)
		r = plt_add(&job->list, &job->elf);
	if (r == 0)
		r = symbol_list_choose(&job->list, &job->symbols, NULL);
	/* Without symbols there are still the functions of the debug information. */
	return r == -ENOMEM ? r : 0;
}

static int is_code(const void *context, uint64_t address, uint64_t *ret_end)
{
	return code_map_find(context, address, ret_end);
}

static int open_all(struct job *job, int elf_fd, const int *debug_fds, size_t n_debug_fds,
		    int alt_fd, struct mw_error *e)
{
	int r = elf_open(&job->elf, elf_fd, e);
	if (r == 0)
		r = elf_identify(&job->elf, &job->identity, e);
	if (r == 0)
		r = open_debug_information(job, debug_fds, n_debug_fds, e);
	if (r < 0)
		return r;
	r = open_supplement(job, alt_fd);
	if (r == 0)
		r = collect_symbols(job, debug_fds, n_debug_fds);
	if (r == 0)
		r = code_map_init(&job->code, &job->elf);
	return r < 0 ? error_set(e, r, "out of memory for lines and calls") : 0;
}

static int write_splits(const struct job *job, int out_fd, struct mw_error *e)
{
	const struct gsym_splits *splits = &job->out.splits;
	int r = splits->list.n ? io_write(out_fd, splits->list.items,
					  splits->list.n * sizeof *splits->list.items)
			       : 0;
	return r < 0 ? error_errno(e, r, "cannot write the split functions") : 0;
}

static struct extract_result result_of(const struct job *job)
{
	const struct dwarf_summary *summary = &job->out.summary;
	struct extract_result result = {
		.gsym_size = job->out.size,
		.n_functions = job->out.n_functions,
		.n_splits = job->out.splits.list.n,
		.source = LINES_SOURCE_DWARF,
		.debug_file = job->debug_file,
		.damage = job->file.damage.code ? job->file.damage : summary->damage,
	};
	if (job->out.misses_other && !result.damage.code)
		error_set(&result.damage, -ENOENT,
			  "the supplementary file of its debug information is not there");
	if (summary->n_skeletons)
		result.source = summary->n_skeletons == summary->n_units ? LINES_SOURCE_SKELETON
									 : LINES_SOURCE_PARTLY;
	else if (job->out.misses_other)
		result.source = LINES_SOURCE_PARTLY;
	if (summary->n_skeletons && !result.damage.code)
		error_set(
			&result.damage, -ENOENT,
			"functions and inlined calls of %llu of %llu units are in split files (.dwo),"
			" which are not read",
			(unsigned long long)summary->n_skeletons,
			(unsigned long long)summary->n_units);
	return result;
}

int extract_lines(int elf_fd, const int *debug_fds, size_t n_debug_fds, int alt_fd, int out_fd,
		  struct extract_result *ret, struct mw_error *e)
{
	struct job job = {};
	int r = open_all(&job, elf_fd, debug_fds, n_debug_fds, alt_fd, e);
	if (r == 0) {
		struct lines_input input = {
			.file = &job.file,
			.symbols = job.symbols.items,
			.n_symbols = job.symbols.n,
			.code = {is_code, &job.code, debug_file_bias(&job.elf, job.with_lines)},
			.id = &job.identity.id,
			.limit = EXTRACT_LINES_MAX,
		};
		r = lines_build(&input, out_fd, &job.out, e);
	}
	/* A section that could not be read is why there is nothing, or why units make no sense. */
	if ((r == -ENODATA || r == -EBADMSG) && job.file.damage.code) {
		r = job.file.damage.code;
		if (e)
			*e = job.file.damage;
	}
	if (r == 0)
		r = write_splits(&job, out_fd, e);
	if (r == 0)
		*ret = result_of(&job);
	job_deinit(&job);
	return r;
}
