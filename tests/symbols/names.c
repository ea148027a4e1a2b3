/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * names [-q] FILE [DEBUG_FILE...]: the names of a file's functions as the store gets them, one
 * piece of code a line: start, end, start of the whole function, name. At the end what could not be
 * used, as a comment. -q: only makes them.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "symbols/extract.h"
#include "symbols/gsym.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void print_all(const void *data, const struct extract_result *result,
		      const struct gsym_splits *splits)
{
	struct gsym gsym;
	struct gsym_entry entry;
	if (gsym_init(&gsym, data, result->gsym_size, NULL) < 0)
		errx(1, "the table is damaged");
	for (uint32_t i = 0; i < gsym.n; i++) {
		if (gsym_get(&gsym, i, &entry) != 1)
			errx(1, "entry %u is damaged", i);
		printf("%" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", entry.start, entry.end,
		       gsym_splits_find(splits, entry.start), entry.name);
	}
	if (result->damage.code)
		printf("# %s\n", result->damage.msg);
}

int main(int argc, char **argv)
{
	bool is_quiet = argc > 1 && strcmp(argv[1], "-q") == 0;
	char **files = argv + 1 + is_quiet;
	int n_files = argc - 1 - is_quiet;
	if (n_files < 1 || n_files > 9)
		errx(2, "usage: names [-q] FILE [DEBUG_FILE...]");
	int debug[8];
	for (int i = 1; i < n_files; i++)
		debug[i - 1] = open_file(files[i]);
	_cleanup_close_ int file = open_file(files[0]);
	_cleanup_close_ int out = memfd_create("names", MFD_CLOEXEC);
	struct extract_result result;
	struct gsym_splits splits = {};
	struct mw_error e = {};
	if (extract_names(file, debug, (size_t)n_files - 1, out, &result, &e) < 0 ||
	    extract_take_splits(out, &result, &splits, &e) < 0)
		errx(1, "%s", e.msg);
	if (is_quiet)
		return 0;
	void *data = mmap(NULL, result.gsym_size, PROT_READ, MAP_PRIVATE, out, 0);
	if (data == MAP_FAILED)
		err(1, "mmap");
	print_all(data, &result, &splits);
	gsym_splits_deinit(&splits);
	return 0;
}
