/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * copies SECONDS HOW [FILE]: spends so much CPU time in code that was copied onto memory without its
 * file, at the place where it was.
 *
 *   page       right_first's page, onto anonymous memory
 *   whole      all of the text
 *   huge       the part of the text in whole huge pages, onto transparent ones
 *   hugetlb    the same, onto reserved ones; ends with 77 if there are none
 *   memfd      right_first's page, onto a memfd
 *   shared     the same, onto shared anonymous memory
 *
 * What is called burn_right has the bytes of right_first. In what follows the command is burn_other
 * whenever other bytes run, and then no function of this file may be named. BURN_TAG is as for burn.
 *
 *   foreign    other bytes from the beginning, at right_first's place
 *   neighbour  the same at the place of right_second, which is left as it is
 *   rewritten  right_first's bytes for half of the time, then others
 *   flicker    right_first's bytes and others, in turns of a millisecond
 *   beside     right_first's bytes in the middle of FILE's text, mapped for it
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PAGE_SIZE 4096
#define HUGE_SIZE ((size_t)2 << 20)
#define NO_HUGE_PAGES 77

#define MOVABLE(section_name) \
	__attribute__((noinline, noclone, aligned(PAGE_SIZE), section(section_name)))

#ifdef LARGE /* so that whole huge pages are in the text, with the functions in their middle */
#define FILL(name) \
	__asm__(".section " name ",\"ax\",@progbits\n.fill 0x300000, 1, 0xcc\n.previous\n")
#else
#define FILL(name) _Static_assert(1, "")
#endif

FILL(".text.a");
MOVABLE(".text.first") long right_first(long n)
{
	volatile long sum = 0;
	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

MOVABLE(".text.second") long right_second(long n)
{
	volatile long sum = 1;
	for (long i = 1; i < n; i++)
		sum ^= i;
	return sum;
}

/* Keeps whatever follows off the page of right_second. */
MOVABLE(".text.third") long right_third(void)
{
	return 3;
}

FILL(".text.z");

typedef long burn_fn(long);
static volatile long sink;

static double cpu_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double seconds, burn_fn *fn)
{
	for (double end = cpu_time() + seconds; cpu_time() < end;)
		sink += fn(100000);
}

static void become(const char *side)
{
	char name[32];
	const char *tag = getenv("BURN_TAG");
	snprintf(name, sizeof name, "burn_%s%s", side, tag ? tag : "");
	prctl(PR_SET_NAME, name);
}

static void *must(void *p)
{
	if (p == MAP_FAILED) {
		perror("copies");
		exit(1);
	}
	return p;
}

/* Memory beside with the same bytes goes to where they were, in one step: whoever asks for it may run
 * there himself. */
static void put(void *beside, void *at, size_t size)
{
	memcpy(beside, at, size);
	mprotect(beside, size, PROT_READ | PROT_EXEC);
	must(mremap(beside, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at));
}

static void *map(size_t size, int flags, int fd)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
}

static void copy_page(int flags)
{
	put(must(map(PAGE_SIZE, flags | MAP_ANONYMOUS, -1)), (void *)right_first, PAGE_SIZE);
}

static void copy_onto_memfd(void)
{
	int fd = memfd_create("text", 0);
	if (fd < 0 || ftruncate(fd, PAGE_SIZE) < 0)
		exit(1);
	put(must(map(PAGE_SIZE, MAP_SHARED, fd)), (void *)right_first, PAGE_SIZE);
}

/* The segment of this program that holds right_first. */
static int find_text(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t *ret = data, here = (uintptr_t)right_first;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD || here - start >= p->p_memsz)
			continue;
		ret[0] = start & ~(uintptr_t)(PAGE_SIZE - 1);
		ret[1] = (start + p->p_memsz + PAGE_SIZE - 1) & ~(uintptr_t)(PAGE_SIZE - 1);
		return 1;
	}
	return 0;
}

static void copy_text(void)
{
	uintptr_t text[2];
	dl_iterate_phdr(find_text, text);
	size_t size = text[1] - text[0];
	put(must(map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1)), (void *)text[0], size);
}

static void copy_onto_huge_pages(int flags)
{
	uintptr_t text[2];
	dl_iterate_phdr(find_text, text);
	uintptr_t start = (text[0] + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1), end = text[1] & ~(HUGE_SIZE - 1);
	if (start >= end || (uintptr_t)right_first < start || (uintptr_t)right_first >= end)
		exit(1);
	size_t size = end - start;
	char *beside = map(size + HUGE_SIZE, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (beside == MAP_FAILED)
		exit(NO_HUGE_PAGES);
	beside = (char *)(((uintptr_t)beside + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1));
	if (!flags)
		madvise(beside, size, MADV_HUGEPAGE);
	put(beside, (void *)start, size);
}

/* right_first's page as memory that can be rewritten; its own bytes are in it. */
static char *writable_page(void)
{
	static char copy[PAGE_SIZE];
	memcpy(copy, (void *)right_first, PAGE_SIZE);
	char *page = must(mmap((void *)right_first, PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	return memcpy(page, copy, PAGE_SIZE);
}

static void rewrite(double seconds)
{
	char *page = writable_page();
	burn(seconds / 2, right_first);
	become("other");
	memcpy(page, (void *)right_second, PAGE_SIZE);
	burn(seconds / 2, right_first);
}

static void flicker(double seconds)
{
	static char own[PAGE_SIZE];
	memcpy(own, (void *)right_first, PAGE_SIZE);
	char *page = writable_page();
	for (double end = cpu_time() + seconds; cpu_time() < end;) {
		memcpy(page, own, PAGE_SIZE);
		become("right");
		burn(0.001, right_first);
		become("other");
		memcpy(page, (void *)right_second, PAGE_SIZE);
		burn(0.001, right_first);
	}
}

static void burn_foreign(double seconds, burn_fn *at, burn_fn *bytes)
{
	char *page = must(map(PAGE_SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	memcpy(page, (void *)bytes, PAGE_SIZE);
	mprotect(page, PAGE_SIZE, PROT_READ | PROT_EXEC);
	must(mremap(page, PAGE_SIZE, PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at));
	become("other");
	burn(seconds, at);
}

/* The file is mapped as its segments want it, where each is one with its offset. */
static void burn_beside(double seconds, const char *path)
{
	int fd = open(path, O_RDONLY);
	char *image = must(mmap(NULL, 3 * PAGE_SIZE, PROT_READ, MAP_PRIVATE, fd, 0));
	char *page = must(mmap(image + PAGE_SIZE, PAGE_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	memcpy(page, (void *)right_first, PAGE_SIZE);
	mprotect(page, PAGE_SIZE, PROT_READ | PROT_EXEC);
	become("other");
	burn(seconds, (burn_fn *)page);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	double seconds = atof(argv[1]);
	const char *how = argv[2];
	become("right");
	if (strcmp(how, "page") == 0)
		copy_page(MAP_PRIVATE);
	else if (strcmp(how, "shared") == 0)
		copy_page(MAP_SHARED);
	else if (strcmp(how, "memfd") == 0)
		copy_onto_memfd();
	else if (strcmp(how, "whole") == 0)
		copy_text();
	else if (strcmp(how, "huge") == 0)
		copy_onto_huge_pages(0);
	else if (strcmp(how, "hugetlb") == 0)
		copy_onto_huge_pages(MAP_HUGETLB);
	else if (strcmp(how, "foreign") == 0)
		return burn_foreign(seconds, right_first, right_second), 0;
	else if (strcmp(how, "neighbour") == 0)
		return burn_foreign(seconds, right_second, right_first), 0;
	else if (strcmp(how, "rewritten") == 0)
		return rewrite(seconds), 0;
	else if (strcmp(how, "flicker") == 0)
		return flicker(seconds), 0;
	else if (strcmp(how, "beside") == 0 && argc > 3)
		return burn_beside(seconds, argv[3]), 0;
	else
		return 2;
	burn(seconds, right_first);
	return 0;
}
