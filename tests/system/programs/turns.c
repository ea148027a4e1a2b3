/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * turns HOW SECONDS SLICE RIGHT OTHER: two libraries of the same layout, with the functions right_work
 * and other_work, take turns of SLICE seconds of CPU time each, SECONDS in all. Which one has its turn
 * is known for certain, and told by the caller: under_right or under_other. The command name is turns
 * and BURN_TAG.
 *
 *   loaded       each is loaded and unloaded again; it often lands where the other was
 *   unlinked     both are loaded at the start and their files removed
 *   mapped       the code of each is mapped over that of the other, at one address
 *   start        the same, at the address where this program's own code starts
 *   written      a file mapped once is overwritten with the content of each
 *   shared       memory that is mapped twice, to be written to and to be executed, holds each
 *   filed        the same with a file on the disk
 *   once         the same, and the mapping to be written to is there only during the turn of right_work:
 *                the other's code is written last through it
 *   gone         the file holds right_work for one turn; then it is overwritten, its time is set back, it is
 *                unlinked, a file `gone` appears, and other_work has the rest
 *   restored     the same as written, and the time of the last change is set back each time
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE_SIZE 4096

typedef long work_fn(long);

struct side {
	const char *path;
	const char *function;
	void (*under)(work_fn *work);
	char *content;
	size_t size;
	off_t code; /* where the function's page is in the file */
	work_fn *work; /* while it stays loaded */
};

static double slice;
static volatile long sink;

static double cpu_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void take_name(void)
{
	char tagged[32];
	const char *tag = getenv("BURN_TAG");
	snprintf(tagged, sizeof tagged, "turns%s", tag ? tag : "");
	prctl(PR_SET_NAME, tagged);
}

/* The callers differ in more than their names, lest the compiler makes them one. */
__attribute__((noinline, noclone)) static void under_right(work_fn *work)
{
	for (double end = cpu_time() + slice; cpu_time() < end;)
		sink += work(100000);
}

__attribute__((noinline, noclone)) static void under_other(work_fn *work)
{
	for (double end = cpu_time() + slice; cpu_time() < end;)
		sink -= work(100000);
}

/* The file's content, and where its function lies, by asking the dynamic loader. */
static void read_side(struct side *s)
{
	int fd = open(s->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", s->path);
	s->size = (size_t)st.st_size;
	s->content = malloc(s->size);
	if (!s->content || read(fd, s->content, s->size) != st.st_size)
		err(1, "%s", s->path);
	close(fd);

	void *library = dlopen(s->path, RTLD_NOW);
	void *function = library ? dlsym(library, s->function) : NULL;
	Dl_info info;
	if (!function || !dladdr(function, &info))
		errx(1, "%s: no %s", s->path, s->function);
	Elf64_Addr address = (Elf64_Addr)((char *)function - (char *)info.dli_fbase);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)s->content;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(s->content + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *p = &segments[i];
		if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
			s->code = (off_t)(address - p->p_vaddr + p->p_offset);
	}
	dlclose(library);
}

static void turn_loaded(struct side *s)
{
	void *library = dlopen(s->path, RTLD_NOW);
	s->under((work_fn *)dlsym(library, s->function));
	dlclose(library);
}

static void turn_unlinked(struct side *s)
{
	if (!s->work) {
		s->work = (work_fn *)dlsym(dlopen(s->path, RTLD_NOW), s->function);
		unlink(s->path);
	}
	s->under(s->work);
}

static void *map_code(const struct side *s, int fd, void *at)
{
	void *page = mmap(at, PAGE_SIZE, PROT_READ | PROT_EXEC,
			  at ? MAP_PRIVATE | MAP_FIXED : MAP_PRIVATE, fd, s->code);
	if (page == MAP_FAILED)
		err(1, "mmap %s", s->path);
	return page;
}

static void turn_mapped(struct side *s)
{
	static void *page;
	int fd = open(s->path, O_RDONLY | O_CLOEXEC);
	page = map_code(s, fd, page);
	close(fd);
	s->under((work_fn *)page);
}

static void turn_written(struct side *s, int restore)
{
	static const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	static void *page;
	int fd = open("overwritten.so", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (pwrite(fd, s->content, s->size, 0) != (ssize_t)s->size)
		err(1, "overwritten.so");
	if (restore && futimens(fd, times) < 0)
		err(1, "futimens");
	if (!page) /* of a descriptor through which nobody could write */
		page = map_code(s, open("overwritten.so", O_RDONLY | O_CLOEXEC), NULL);
	close(fd);
	s->under((work_fn *)page);
}

extern char _init[];
/* The first page of this program's code is not needed once it runs: _init is full of nothing. */
__asm__(".pushsection .init\n.fill 8192, 1, 0x90\n.popsection\n");

static void turn_at_start(struct side *s)
{
	int fd = open(s->path, O_RDONLY | O_CLOEXEC);
	void *page = (void *)((unsigned long)_init & ~(PAGE_SIZE - 1UL));
	map_code(s, fd, page);
	close(fd);
	s->under((work_fn *)page);
}

static void turns_gone(struct side *first, struct side *second, double seconds)
{
	static const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	int fd = open("gone.so", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (pwrite(fd, first->content, first->size, 0) != (ssize_t)first->size || futimens(fd, times) < 0)
		err(1, "gone.so");
	work_fn *work = (work_fn *)map_code(first, fd, NULL);
	first->under(work);
	if (pwrite(fd, second->content, second->size, 0) != (ssize_t)second->size || futimens(fd, times) < 0)
		err(1, "gone.so");
	unlink("gone.so");
	close(open("gone", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	slice = seconds - slice;
	second->under(work);
}

static int shared_file(const struct side *s)
{
	int fd = open("shared.so", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (fd < 0 || ftruncate(fd, (off_t)s->size) < 0)
		err(1, "shared.so");
	return fd;
}

static char *map_shared(const struct side *s, int fd)
{
	char *memory = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

static void turn_filed(struct side *s)
{
	static void *page;
	static char *memory;
	if (!page) {
		int fd = shared_file(s);
		memory = map_shared(s, fd);
		page = map_code(s, fd, NULL);
		close(fd);
	}
	memcpy(memory, s->content, s->size);
	s->under((work_fn *)page);
}

/* Each page is touched once, by the first of the two; what the second writes leaves no trace. */
static void turns_once(struct side *first, struct side *second)
{
	static void *page;
	int fd = shared_file(first);
	char *memory = map_shared(first, fd);
	memcpy(memory, first->content, first->size);
	if (!page)
		page = map_code(first, fd, NULL);
	close(fd);
	first->under((work_fn *)page);
	memcpy(memory, second->content, second->size);
	munmap(memory, first->size);
	second->under((work_fn *)page);
}

static void turn_shared(struct side *s)
{
	static void *page;
	static char *memory;
	if (!page) {
		int fd = memfd_create("shared.so", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)s->size) < 0)
			err(1, "memfd");
		memory = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		page = map_code(s, fd, NULL);
	}
	memcpy(memory, s->content, s->size);
	s->under((work_fn *)page);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		errx(2, "usage: turns HOW SECONDS SLICE RIGHT OTHER");
	const char *how = argv[1];
	double seconds = atof(argv[2]);
	slice = atof(argv[3]);
	struct side sides[] = {
		{.path = argv[4], .function = "right_work", .under = under_right},
		{.path = argv[5], .function = "other_work", .under = under_other},
	};
	take_name();
	read_side(&sides[0]);
	read_side(&sides[1]);
	if (sides[0].code != sides[1].code || sides[0].size != sides[1].size)
		errx(1, "the layouts differ");
	if (strcmp(how, "gone") == 0) {
		turns_gone(&sides[0], &sides[1], seconds);
		return 0;
	}
	double end = cpu_time() + seconds;
	for (int i = 0; cpu_time() < end; i = !i) {
		if (strcmp(how, "once") == 0)
			turns_once(&sides[0], &sides[1]);
		else if (strcmp(how, "start") == 0)
			turn_at_start(&sides[i]);
		else if (strcmp(how, "filed") == 0)
			turn_filed(&sides[i]);
		else if (strcmp(how, "loaded") == 0)
			turn_loaded(&sides[i]);
		else if (strcmp(how, "unlinked") == 0)
			turn_unlinked(&sides[i]);
		else if (strcmp(how, "mapped") == 0)
			turn_mapped(&sides[i]);
		else if (strcmp(how, "shared") == 0)
			turn_shared(&sides[i]);
		else
			turn_written(&sides[i], strcmp(how, "restored") == 0);
	}
	return 0;
}
