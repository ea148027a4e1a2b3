/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Look-ups through the public interface, without text.
 * usage: lookups STORE FILE-ID OFFSETS N-ROUNDS. Prints a name and a number a line.
 */
#include <mapwright/mapwright.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t offsets[1 << 20], sorted[1 << 20];
static struct mw_location locations[1 << 20];

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	struct mw_resolver_options options = {.size = sizeof options, .cache_bytes = 16 << 20};
	struct mw_resolver *r;
	struct mw_file_id id;
	struct mw_location chain[64];
	struct mw_error e;
	if (argc != 5)
		return 2;
	FILE *list = fopen(argv[3], "r");
	int rounds = atoi(argv[4]);
	size_t n = 0;
	while (list && n < 1 << 20 && fscanf(list, "%lx", &offsets[n]) == 1)
		n++;
	double start = now(CLOCK_MONOTONIC);
	options.store = argv[1];
	if (!n || mw_file_id_from_text(argv[2], &id) < 0 || mw_resolver_open(&options, &r, &e) < 0)
		return 1;
	mw_resolver_find(r, &id, offsets[0], chain, 64);
	printf("first %f\n", now(CLOCK_MONOTONIC) - start);

	size_t found = 0;
	start = now(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t i = 0; i < n; i++)
		found += mw_resolver_find(r, &id, offsets[i], chain, 64);
	printf("chains %f %zu\n", now(CLOCK_PROCESS_CPUTIME_ID) - start, found);

	mw_resolver_find_names(r, &id, offsets, n, locations);
	start = now(CLOCK_PROCESS_CPUTIME_ID);
	for (int round = 0; round < rounds; round++)
		found += mw_resolver_find_names(r, &id, offsets, n, locations);
	printf("names_random %f\n", rounds * (double)n / (now(CLOCK_PROCESS_CPUTIME_ID) - start));
	start = now(CLOCK_PROCESS_CPUTIME_ID);
	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i++)
			found += mw_resolver_find_names(r, &id, &offsets[i], 1, locations);
	}
	printf("names_single %f\n", rounds * (double)n / (now(CLOCK_PROCESS_CPUTIME_ID) - start));
	for (size_t i = 0; i < n; i++)
		sorted[i] = offsets[i];
	qsort(sorted, n, sizeof *sorted, compare);
	start = now(CLOCK_PROCESS_CPUTIME_ID);
	for (int round = 0; round < rounds; round++)
		found += mw_resolver_find_names(r, &id, sorted, n, locations);
	printf("names_sorted %f\n", rounds * (double)n / (now(CLOCK_PROCESS_CPUTIME_ID) - start));
	mw_resolver_close(r);
	return found == 0;
}
