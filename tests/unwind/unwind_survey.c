/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: unwind_survey FILE...: builds the unwinding table of each file and says what is in it,
 * one line a file, and a sum. Reads and checks what it built. Files that are no ELF files are
 * passed over.
 *
 *	time_ms bytes rows rules functions unsupported damaged sources FILE
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "unwind/extract_unwind.h"
#include "unwind/unwind_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct sums {
	uint64_t files, bytes, rows, unsupported, damaged, by_register[32], by_kind[8], by_cfa[4];
	uint64_t by_return[2];
};

static void count_rules(const struct unwind_table *table, struct sums *sums)
{
	const struct unwind_header *h = unwind_table_header(table);
	const struct unwind_row *rows =
		(const void *)(table->data + (size_t)h->first_row * UNWIND_BLOCK_SIZE);
	const struct unwind_rule *rules =
		(const void *)(table->data + (size_t)h->first_rule * UNWIND_BLOCK_SIZE);
	for (uint32_t i = 0; i < h->n_rows; i++) {
		const struct unwind_rule *rule = &rules[rows[i].rule];
		sums->by_kind[rule->kind & 7]++;
		if (rule->kind != UNWIND_RULE)
			continue;
		sums->by_cfa[rule->cfa & 3]++;
		sums->by_register[rule->cfa_register & 31]++;
		sums->by_return[rule->return_in & 1]++;
	}
}

static int survey(const char *path, struct sums *sums)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = memfd_create("table", MFD_CLOEXEC);
	struct extract_unwind_result result;
	struct unwind_table table;
	struct mw_error e;
	if (fd < 0 || out < 0)
		return 0;
	uint64_t start = clock_now_ns();
	int r = extract_unwind(fd, NULL, 0, out, &result, &e);
	double ms = (double)(clock_now_ns() - start) / 1e6;
	if (r < 0) {
		if (r != -EINVAL && !(r == -EBADMSG && strstr(e.msg, "not an ELF file")))
			printf("# %s: %s\n", path, e.msg);
		return 0;
	}
	if (unwind_table_open(&table, out, &e) < 0 || unwind_table_check(&table, &e) < 0) {
		printf("%s: %s\n", path, e.msg);
		return 1;
	}
	count_rules(&table, sums);
	unwind_table_close(&table);
	printf("%.1f %llu %u %u %u %u %u %x %s\n", ms, (unsigned long long)result.size,
	       result.n_rows, result.n_rules, result.n_functions, result.n_unsupported,
	       result.n_damaged, result.sources, path);
	sums->files++;
	sums->bytes += result.size;
	sums->rows += result.n_rows;
	sums->unsupported += result.n_unsupported;
	sums->damaged += result.n_damaged;
	return 0;
}

int main(int argc, char **argv)
{
	struct sums sums = {};
	int bad = 0;
	for (int i = 1; i < argc; i++)
		bad |= survey(argv[i], &sums);
	printf("# %llu files, %llu bytes, %llu rows, %llu unsupported, %llu damaged entries\n",
	       (unsigned long long)sums.files, (unsigned long long)sums.bytes,
	       (unsigned long long)sums.rows, (unsigned long long)sums.unsupported,
	       (unsigned long long)sums.damaged);
	for (int i = 0; i < 8; i++)
		printf("# kind %d: %llu rows\n", i, (unsigned long long)sums.by_kind[i]);
	for (int i = 0; i < 4; i++)
		printf("# base %d: %llu rows\n", i, (unsigned long long)sums.by_cfa[i]);
	for (int i = 0; i < 32; i++) {
		if (sums.by_register[i])
			printf("# register %d: %llu rows\n", i,
			       (unsigned long long)sums.by_register[i]);
	}
	printf("# return address in a register: %llu rows\n",
	       (unsigned long long)sums.by_return[1]);
	return bad;
}
