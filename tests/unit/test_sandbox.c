/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a child in the sandbox can and cannot do; through run_isolated(), which has its tests here
 * too.
 */
#include "base/run.h"
#include "base/sandbox.h"
#include "base/sanitizer.h"
#include "lib/test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MIB ((uint64_t)1 << 20)

static int isolated(int (*fn)(void *, struct mw_error *), void *context, enum run_outcome *outcome,
		    struct mw_error *e)
{
	struct run_isolated_options options = {
		.memory_limit = 64 * MIB, .file_size_limit = MIB, .deadline_ms = 20000};
	return run_isolated(fn, context, &options, outcome, e);
}

/* The function must be killed by the filter of system calls, where there is one. */
static void assert_forbidden(int (*fn)(void *, struct mw_error *), void *context)
{
	enum run_outcome outcome;
	struct mw_error e = {};
	int r = isolated(fn, context, &outcome, &e);
	if (sandbox_probe() & SANDBOX_SECCOMP) {
		assert_int_equal(outcome, RUN_CRASHED);
		assert_int_equal(r, -ECANCELED);
		assert_non_null(strstr(e.msg, "system call"));
	} else {
		assert_int_equal(outcome, RUN_FAILED);
	}
}

static int open_a_file(void *context, struct mw_error *e)
{
	return open("/etc/passwd", O_RDONLY) < 0 ? -errno : 0;
}

static int make_a_file(void *context, struct mw_error *e)
{
	return open("/tmp/mapwright-must-not-be", O_RDWR | O_CREAT, 0600) < 0 ? -errno : 0;
}

static int exec_a_program(void *context, struct mw_error *e)
{
	char *const argv[] = {(char *)"true", NULL};
	execv("/bin/true", argv);
	return -errno;
}

static int make_a_socket(void *context, struct mw_error *e)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -errno;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	return connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

static int fork_a_child(void *context, struct mw_error *e)
{
	return fork() < 0 ? -errno : 0;
}

static int kill_the_parent(void *context, struct mw_error *e)
{
	return kill(*(pid_t *)context, SIGURG) < 0 ? -errno : 0;
}

static int map_code(void *context, struct mw_error *e)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	return p == MAP_FAILED ? -errno : -ENOTSUP;
}

static int make_memory_code(void *context, struct mw_error *e)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return mprotect(p, 4096, PROT_READ | PROT_EXEC) < 0 ? -errno : -ENOTSUP;
}

static int trace_the_parent(void *context, struct mw_error *e)
{
	return ptrace(PTRACE_SEIZE, *(pid_t *)context, 0, 0) < 0 ? -errno : 0;
}

static void calls_that_parsing_does_not_take_kill_the_child(void **state)
{
	pid_t self = getpid();
	assert_forbidden(make_a_file, NULL);
	assert_forbidden(exec_a_program, NULL);
	assert_forbidden(make_a_socket, NULL);
	assert_forbidden(fork_a_child, NULL);
	assert_forbidden(kill_the_parent, &self);
	assert_forbidden(map_code, NULL);
	assert_forbidden(make_memory_code, NULL);
	assert_forbidden(trace_the_parent, &self);
	assert_int_equal(access("/tmp/mapwright-must-not-be", F_OK), -1);
}

/* A sanitizer opens files of its own, so there it is Landlock that refuses. */
static void a_file_cannot_be_opened(void **state)
{
	if (!SANITIZED) {
		assert_forbidden(open_a_file, NULL);
		return;
	}
	if (!(sandbox_probe() & SANDBOX_LANDLOCK)) {
		print_message("skipped: no Landlock on this kernel\n");
		skip();
	}
	enum run_outcome outcome;
	struct mw_error e;
	assert_int_equal(isolated(open_a_file, NULL, &outcome, &e), -EACCES);
	assert_int_equal(outcome, RUN_FAILED);
}

static int open_beneath(void *context, struct mw_error *e)
{
	const char *dir = context;
	char path[200];
	snprintf(path, sizeof path, "%s/inside", dir);
	_cleanup_close_ int fd = open(path, O_RDONLY);
	char c;
	if (fd < 0 || read(fd, &c, 1) != 1 || c != 'x')
		return -errno;
	return open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 7 : -EEXIST;
}

static void only_what_lies_beneath_an_allowed_directory_opens(void **state)
{
	if (!(sandbox_probe() & SANDBOX_LANDLOCK)) {
		print_message("skipped: no Landlock on this kernel\n");
		skip();
	}
	char dir[] = "/tmp/mw-test-XXXXXX";
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	_cleanup_close_ int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dir_fd, "inside", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	struct run_isolated_options options = {.read_beneath = &dir_fd, .n_read_beneath = 1};
	struct mw_error e = {};
	assert_int_equal(run_isolated(open_beneath, dir, &options, NULL, &e), 7);
	unlinkat(dir_fd, "inside", 0);
	rmdir(dir);
}

/* ---- memory, time, crashes ------------------------------------------------------------------- */

static int take_memory(void *context, struct mw_error *e)
{
	for (int i = 0; i < 4096; i++) {
		void *p =
			mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static int take_some_memory(void *context, struct mw_error *e)
{
	void *p = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? -errno : 0;
}

static void too_much_memory_is_an_outcome_of_its_own(void **state)
{
	enum run_outcome outcome;
	struct mw_error e;
	assert_int_equal(isolated(take_memory, NULL, &outcome, &e), -ENOMEM);
	assert_int_equal(outcome, RUN_OUT_OF_MEMORY);
	assert_non_null(strstr(e.msg, "memory"));
}

/* The limit is beyond what the caller has already: a big caller must not starve its child. */
static void what_the_caller_holds_does_not_count(void **state)
{
	void *big = mmap(NULL, 4096 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);
	assert_ptr_not_equal(big, MAP_FAILED);
	enum run_outcome outcome;
	struct mw_error e;
	assert_int_equal(isolated(take_some_memory, NULL, &outcome, &e), 0);
	munmap(big, 4096 * MIB);
}

static int spin(void *context, struct mw_error *e)
{
	for (volatile uint64_t i = 0;; i++)
		;
	return 0;
}

static void a_spinning_child_ends_at_its_deadline(void **state)
{
	struct run_isolated_options options = {.deadline_ms = 50};
	enum run_outcome outcome;
	struct mw_error e;
	assert_int_equal(run_isolated(spin, NULL, &options, &outcome, &e), -ETIMEDOUT);
	assert_int_equal(outcome, RUN_TIMED_OUT);
}

static void a_spinning_child_ends_when_its_cpu_time_is_used_up(void **state)
{
	struct run_isolated_options options = {.cpu_seconds = 1};
	enum run_outcome outcome;
	struct mw_error e;
	assert_int_equal(run_isolated(spin, NULL, &options, &outcome, &e), -ETIMEDOUT);
	assert_int_equal(outcome, RUN_TIMED_OUT);
	assert_non_null(strstr(e.msg, "CPU"));
}

static int write_out_of_bounds(void *context, struct mw_error *e)
{
	*(volatile int *)(uintptr_t)((getpid() & 0xff0) | 0x10) = 1; /* never mapped */
	return 0;
}

static int call_abort(void *context, struct mw_error *e)
{
	abort();
}

static int call_exit(void *context, struct mw_error *e)
{
	_exit(0);
}

static void a_crash_says_what_it_died_of(void **state)
{
	enum run_outcome outcome;
	struct mw_error e;
	assert_int_equal(isolated(write_out_of_bounds, NULL, &outcome, &e), -ECANCELED);
	assert_int_equal(outcome, RUN_CRASHED);
	assert_non_null(strstr(e.msg, "SIGSEGV"));
	assert_int_equal(isolated(call_abort, NULL, &outcome, &e), -ECANCELED);
	assert_non_null(strstr(e.msg, "SIGABRT"));
	assert_int_equal(isolated(call_exit, NULL, &outcome, &e), -ECANCELED);
	assert_int_equal(outcome, RUN_CRASHED);
}

/* ---- what is left ---------------------------------------------------------------------------- */

static int count_descriptors(void *context, struct mw_error *e)
{
	int n = 0;
	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void only_the_named_descriptors_are_open(void **state)
{
	int fds[] = {open("/dev/null", O_RDWR), 900};
	assert_int_equal(dup2(fds[0], fds[1]), 900);
	struct run_isolated_options options = {.fds = fds, .n_fds = 2, .keep_stdout = true};
	assert_int_equal(run_isolated(count_descriptors, NULL, &options, NULL, NULL), 3);
	options.n_fds = 0;
	options.keep_stdout = false;
	assert_int_equal(run_isolated(count_descriptors, NULL, &options, NULL, NULL), 0);
	close(fds[0]);
	close(fds[1]);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int read_and_write(void *context, struct mw_error *e)
{
	const int *fds = context;
	char text[16] = "";
	struct stat st;
	if (pread(fds[0], text, sizeof text, 0) != 5 || strcmp(text, "bytes") != 0)
		return -EIO;
	if (fstat(fds[0], &st) < 0 || st.st_size != 5)
		return -EIO;
	if (pwrite(fds[1], text, 5, 0) != 5 || ftruncate(fds[1], 3) < 0)
		return -errno;
	void *map = mmap(NULL, 5, PROT_READ, MAP_PRIVATE, fds[0], 0);
	if (map == MAP_FAILED || memcmp(map, "bytes", 5) != 0)
		return -EIO;
	static int many[4096];
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (int)(i * 7919 % 4096);
	qsort(many, ARRAY_SIZE(many), sizeof *many, compare);
	char *block = malloc(8 * MIB);
	if (!block)
		return -ENOMEM;
	memset(block, 1, 8 * MIB);
	free(block);
	return 42;
}

static void parsing_has_what_it_needs(void **state)
{
	int fds[] = {(int)syscall(SYS_memfd_create, "in", 0),
		     (int)syscall(SYS_memfd_create, "out", 0)};
	assert_int_equal(write(fds[0], "bytes", 5), 5);
	struct run_isolated_options options = {
		.fds = fds, .n_fds = 2, .memory_limit = 64 * MIB, .cpu_seconds = 10};
	struct mw_error e = {};
	assert_int_equal(run_isolated(read_and_write, fds, &options, NULL, &e), 42);
	char text[16] = "";
	assert_int_equal(pread(fds[1], text, sizeof text, 0), 3);
	assert_string_equal(text, "byt");
	close(fds[0]);
	close(fds[1]);
}

static int grow_a_file(void *context, struct mw_error *e)
{
	int fd = *(int *)context;
	if (ftruncate(fd, (off_t)(8 * MIB)) == 0 || errno != EFBIG)
		return -EIO;
	return pwrite(fd, "x", 1, (off_t)(2 * MIB)) < 0 ? -errno : 0;
}

static void a_file_over_its_limit_is_an_error_not_a_crash(void **state)
{
	char path[] = "/tmp/mw-test-XXXXXX"; /* a memfd has no such limit on ftruncate */
	int fd = mkstemp(path);
	unlink(path);
	struct run_isolated_options options = {.fds = &fd, .n_fds = 1, .file_size_limit = MIB};
	assert_int_equal(run_isolated(grow_a_file, &fd, &options, NULL, NULL), -EFBIG);
	close(fd);
}

/* sandbox_enter() itself, with its answer: everything that the probe promised is in force. */
static void what_the_probe_promises_is_in_force(void **state)
{
	unsigned promised = sandbox_probe();
	pid_t self = getpid();
	pid_t child = fork();
	if (child == 0) {
		struct sandbox_options options = {.become_nobody = true, .parent = self};
		int r = sandbox_enter(&options, NULL);
		_exit(r == (int)promised ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	for (unsigned bit = 1; bit < 1U << SANDBOX_N_PROTECTIONS; bit <<= 1) {
		assert_non_null(sandbox_protection_name(bit));
		assert_non_null(sandbox_protection_sentence(bit));
	}
	assert_null(sandbox_protection_name(1U << SANDBOX_N_PROTECTIONS));
}

static int fail_with_words(void *context, struct mw_error *e)
{
	e->code = -EBADMSG;
	e->offset = 77;
	snprintf(e->msg, sizeof e->msg, "section 3 is past the end");
	return -EBADMSG;
}

static int fail_without_words(void *context, struct mw_error *e)
{
	return -EBADMSG;
}

static void the_error_of_the_function_comes_back(void **state)
{
	enum run_outcome outcome;
	struct mw_error e = {};
	assert_int_equal(isolated(fail_with_words, NULL, &outcome, &e), -EBADMSG);
	assert_int_equal(outcome, RUN_FAILED);
	assert_string_equal(e.msg, "section 3 is past the end");
	assert_int_equal(e.offset, 77);
	assert_int_equal(isolated(fail_without_words, NULL, &outcome, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "Bad message"));
	assert_int_equal(isolated(fail_without_words, NULL, NULL, NULL), -EBADMSG);
}

static int print_a_line(void *context, struct mw_error *e)
{
	printf("from the child\n");
	return 0;
}

static void what_is_printed_comes_out_once_and_in_order(void **state)
{
	int saved = dup(STDOUT_FILENO);
	int fd = (int)syscall(SYS_memfd_create, "stdout", 0);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	printf("from the parent, ");
	struct run_isolated_options options = {.keep_stdout = true};
	int r = run_isolated(print_a_line, NULL, &options, NULL, NULL);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	char text[100] = "";
	pread(fd, text, sizeof text - 1, 0);
	close(fd);
	assert_int_equal(r, 0);
	assert_string_equal(text, "from the parent, from the child\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_parsing_does_not_take_kill_the_child),
		cmocka_unit_test(a_file_cannot_be_opened),
		cmocka_unit_test(only_what_lies_beneath_an_allowed_directory_opens),
		cmocka_unit_test(too_much_memory_is_an_outcome_of_its_own),
		cmocka_unit_test(what_the_caller_holds_does_not_count),
		cmocka_unit_test(a_spinning_child_ends_at_its_deadline),
		cmocka_unit_test(a_spinning_child_ends_when_its_cpu_time_is_used_up),
		cmocka_unit_test(a_crash_says_what_it_died_of),
		cmocka_unit_test(only_the_named_descriptors_are_open),
		cmocka_unit_test(parsing_has_what_it_needs),
		cmocka_unit_test(a_file_over_its_limit_is_an_error_not_a_crash),
		cmocka_unit_test(what_the_probe_promises_is_in_force),
		cmocka_unit_test(the_error_of_the_function_comes_back),
		cmocka_unit_test(what_is_printed_comes_out_once_and_in_order),
	};
	return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
