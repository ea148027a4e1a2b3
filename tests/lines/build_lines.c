/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * build_lines OUT ELF [DEBUG-FILE|- [SUPPLEMENT]]: writes the symbol table with lines and inlined calls,
 * as the isolated child does, and one line about it: functions, bytes, source, and what is missing.
 */
#include "symbols/extract.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int open_argument(int argc, char **argv, int i)
{
	if (argc <= i || strcmp(argv[i], "-") == 0)
		return -1;
	int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		perror(argv[i]);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: build_lines OUT ELF [DEBUG-FILE|- [SUPPLEMENT]]\n");
		return 2;
	}
	int out = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int elf = open_argument(argc, argv, 2), debug = open_argument(argc, argv, 3);
	int other = open_argument(argc, argv, 4);
	struct extract_result result = {};
	struct mw_error e = {};
	if (out < 0 || elf < 0)
		return 2;
	if (extract_lines(elf, &debug, debug >= 0, other, out, &result, &e) < 0) {
		fprintf(stderr, "build_lines: %s: %s\n", argv[2], e.msg);
		return 1;
	}
	if (ftruncate(out, (off_t)result.gsym_size) < 0)
		return 2;
	printf("%llu functions, %llu bytes, %s%s%s\n", (unsigned long long)result.n_functions,
	       (unsigned long long)result.gsym_size, lines_source_name(result.source),
	       result.damage.code ? ", " : "", result.damage.msg);
	return 0;
}
