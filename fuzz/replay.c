/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs a harness over files, and over all files of directories, without a fuzzer: so that `make
 * check` sees that what was found once stays mended. Prints nothing if all is well.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

static int n_files;

static int replay(const char *path, const struct stat *st, int type)
{
	if (type != FTW_F)
		return 0;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = (size_t)st->st_size;
	/* Exactly as large as the file, so that the sanitizer sees a read behind its end. */
	_cleanup_free_ uint8_t *data = malloc(size ? size : 1);
	if (fd < 0 || !data || io_read(fd, data, size) != (ssize_t)size) {
		fprintf(stderr, "cannot read %s\n", path);
		return -1;
	}
	LLVMFuzzerTestOneInput(data, size);
	n_files++;
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (ftw(argv[i], replay, 16) != 0)
			return 1;
	}
	if (n_files == 0) {
		fprintf(stderr, "no files to run\n");
		return 1;
	}
	return 0;
}
