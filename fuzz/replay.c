/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a harness over the files of a directory, without a fuzzer: what was found once stays tested. */
#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#define INPUT_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In a block of exactly its size, so that a read past the end is seen. */
static int replay(int dir, const char *name)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = io_read_text(dir, name, INPUT_MAX, &text, &size);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(-r));
		return r;
	}
	_cleanup_free_ uint8_t *exact = malloc(size ? size : 1);
	if (!exact)
		return -1;
	memcpy(exact, text, size);
	return LLVMFuzzerTestOneInput(exact, size);
}

int main(int argc, char **argv)
{
	size_t n = 0;
	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		if (!dir) {
			perror(argv[i]);
			return 1;
		}
		for (struct dirent *d; (d = readdir(dir));) {
			if (d->d_name[0] == '.')
				continue;
			if (replay(dirfd(dir), d->d_name) < 0)
				return 1;
			n++;
		}
		closedir(dir);
	}
	printf("%zu inputs\n", n);
	return n ? 0 : 1;
}
