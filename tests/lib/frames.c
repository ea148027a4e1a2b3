/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/frames.h"

#include "base/io.h"
#include "lib/elf_builder.h"
#include "lib/test.h"
#include "symbols/gsym_decode.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CALLS_MAX 64

struct frames frames_of(int fd, int debug_fd, int alt_fd)
{
	struct frames f = {};
	_cleanup_close_ int out = memory_file("", 0);
	f.result = extract_lines(fd, &debug_fd, debug_fd >= 0, alt_fd, out, &f.about, &f.error);
	if (f.result < 0) {
		assert_int_equal(f.error.code, f.result);
		assert_true(f.error.msg[0]);
		return f;
	}
	struct mw_error e = {};
	if (extract_take_splits(out, &f.about, &f.splits, &e) < 0)
		fail_msg("%s", e.msg);
	f.bytes = malloc(f.about.gsym_size + 1);
	assert_non_null(f.bytes);
	assert_int_equal(io_pread(out, f.bytes, f.about.gsym_size, 0), f.about.gsym_size);
	if (gsym_init(&f.gsym, f.bytes, f.about.gsym_size, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(f.gsym.n, f.about.n_functions);
	return f;
}

void frames_deinit(struct frames *frames)
{
	gsym_splits_deinit(&frames->splits);
	free(frames->bytes);
	*frames = (struct frames){};
}

static void put_frame(FILE *out, const struct frames *f, const char *name, uint32_t file,
		      uint32_t line)
{
	const char *directory, *base;
	bool has_file = gsym_file(&f->gsym, file, &directory, &base);
	fprintf(out, "%s%s ", ftell(out) ? " < " : "", name);
	if (has_file)
		fprintf(out, "%s%s%s:%u", directory, *directory ? "/" : "", base, line);
	else
		fprintf(out, "-");
}

const char *frames_at(const struct frames *f, uint64_t address)
{
	static char text[8192];
	struct gsym_entry entry;
	struct gsym_row row = {};
	struct gsym_inlining calls[CALLS_MAX];
	text[0] = 0;
	if (!gsym_find(&f->gsym, address, &entry))
		return text;
	size_t n = gsym_search(&f->gsym, &entry, address, &row, calls, CALLS_MAX);
	FILE *out = fmemopen(text, sizeof text, "w");
	assert_non_null(out);
	uint32_t file = row.file, line = row.line;
	for (size_t i = 0; i < MIN(n, CALLS_MAX); i++) {
		put_frame(out, f, gsym_string(&f->gsym, calls[i].name), file, line);
		file = calls[i].file;
		line = calls[i].line;
	}
	put_frame(out, f, entry.name, file, line);
	fclose(out);
	return text;
}

void assert_frames(const struct frames *frames, uint64_t address, const char *expected)
{
	const char *text = frames_at(frames, address);
	if (strcmp(text, expected) != 0)
		fail_msg("%#llx is \"%s\" instead of \"%s\"", (unsigned long long)address, text,
			 expected);
}
