/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fork server. run_isolated() is tested in test_sandbox.c. */
#include "base/run.h"
#include "lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define MIB ((uint64_t)1 << 20)

/* ---- jobs ------------------------------------------------------------------------------------ */

struct sum {
	uint64_t bytes;
	uint64_t sum;
};

/* Adds the bytes of all its descriptors to those of its arguments. */
static int sum_job(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		   size_t reply_size, struct mw_error *e)
{
	struct sum *sum = reply;
	for (size_t i = 0; i < args_size; i++)
		sum->sum += ((const uint8_t *)args)[i];
	for (size_t i = 0; i < n_fds; i++) {
		uint8_t byte;
		for (off_t at = 0; pread(fds[i], &byte, 1, at) == 1; at++) {
			sum->sum += byte;
			sum->bytes++;
		}
	}
	return (int)n_fds;
}

static int big_job(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		   size_t reply_size, struct mw_error *e)
{
	memset(reply, 0x5a, reply_size);
	return 0;
}

static int spin_job(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		    size_t reply_size, struct mw_error *e)
{
	for (volatile uint64_t i = 0;; i++)
		;
	return 0;
}

static int crash_job(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		     size_t reply_size, struct mw_error *e)
{
	*(volatile int *)(uintptr_t)((getpid() & 0xff0) | 0x10) = 1;
	return 0;
}

static int memory_job(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		      size_t reply_size, struct mw_error *e)
{
	for (int i = 0; i < 4096; i++) {
		if (mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED)
			return -errno;
	}
	return 0;
}

static int fail_job(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		    size_t reply_size, struct mw_error *e)
{
	memset(e, 'x', sizeof *e); /* a hostile child ends no string */
	e->code = -EBADMSG;
	return -EBADMSG;
}

static int read_job(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		    size_t reply_size, struct mw_error *e)
{
	char byte;
	return pread(fds[0], &byte, 1, 0) < 0 ? -errno : 0;
}

/* Looks for descriptors beyond standard input, output, error and its own. */
static int descriptors_job(const int *fds, size_t n_fds, const void *args, size_t args_size,
			   void *reply, size_t reply_size, struct mw_error *e)
{
	int n = 0;
	for (int fd = 3; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n - (int)n_fds;
}

enum { SUM, BIG, SPIN, CRASH, MEMORY, FAIL, DESCRIPTORS, PATIENT, READ, N_JOBS };

static const struct run_job jobs[N_JOBS] = {
	[SUM] = {.name = "sum", .fn = sum_job, .reply_size = sizeof(struct sum)},
	[BIG] = {.name = "big", .fn = big_job, .reply_size = RUN_REPLY_MAX},
	[SPIN] = {.name = "spin", .fn = spin_job, .deadline_ms = 60},
	[CRASH] = {.name = "crash", .fn = crash_job},
	[MEMORY] = {.name = "memory", .fn = memory_job, .memory_limit = 32 * MIB},
	[FAIL] = {.name = "fail", .fn = fail_job},
	[DESCRIPTORS] = {.name = "descriptors", .fn = descriptors_job},
	[PATIENT] = {.name = "patient", .fn = spin_job, .deadline_ms = 60000},
	[READ] = {.name = "read", .fn = read_job, .deadline_ms = 60},
};

/* ---- helpers --------------------------------------------------------------------------------- */

static struct run_server *start(void)
{
	struct run_server *server;
	assert_int_equal(run_server_start(jobs, N_JOBS, &server, NULL), 0);
	return server;
}

/* Waits up to ten seconds for a result; what run_server_receive() says. */
static int receive(struct run_server *server, struct run_result *ret)
{
	for (int i = 0; i < 100; i++) {
		int r = run_server_receive(server, ret);
		if (r != 0)
			return r;
		struct pollfd fd = {.fd = run_server_fd(server), .events = POLLIN};
		poll(&fd, 1, 100);
	}
	return 0;
}

static struct run_result run_one(struct run_server *server, size_t job)
{
	struct run_result result;
	assert_int_equal(run_server_submit(server, job, NULL, 0, NULL, 0, 1000 + job), 0);
	assert_int_equal(receive(server, &result), 1);
	assert_true(result.ticket == 1000 + job);
	return result;
}

static int file_with(const char *text)
{
	int fd = (int)syscall(SYS_memfd_create, "test", MFD_CLOEXEC);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static int count_fds(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	int n = 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static bool has_children(pid_t pid)
{
	char path[64], text[64] = "";
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof text - 1) > 0;
}

/* True when every writer of the pipe is gone within two seconds. */
static bool hangs_up(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return poll(&poll_fd, 1, 2000) == 1 && poll_fd.revents & POLLHUP;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_job_gets_its_descriptors_and_its_reply_comes_back(void **state)
{
	struct run_server *server = start();
	int fds[RUN_FDS_MAX];
	for (size_t i = 0; i < RUN_FDS_MAX; i++)
		fds[i] = file_with("\1\2\3");
	assert_int_equal(run_server_submit(server, SUM, fds, RUN_FDS_MAX, "\12", 1, UINT64_MAX), 0);
	for (size_t i = 0; i < RUN_FDS_MAX; i++)
		close(fds[i]); /* they are the server's by now */
	struct run_result result;
	assert_int_equal(receive(server, &result), 1);
	assert_true(result.ticket == UINT64_MAX);
	assert_int_equal(result.outcome, RUN_DONE);
	assert_int_equal(result.value, RUN_FDS_MAX);
	assert_int_equal(result.reply_size, sizeof(struct sum));
	const struct sum *sum = result.reply;
	assert_int_equal(sum->sum, 10 + RUN_FDS_MAX * 6);
	assert_int_equal(sum->bytes, RUN_FDS_MAX * 3);
	assert_int_equal(run_server_outstanding(server), 0);
	run_server_stop(server);
}

static void a_reply_of_the_largest_size_comes_back_whole(void **state)
{
	struct run_server *server = start();
	struct run_result result = run_one(server, BIG);
	assert_int_equal(result.outcome, RUN_DONE);
	assert_int_equal(result.reply_size, RUN_REPLY_MAX);
	const uint8_t *bytes = result.reply;
	for (size_t i = 0; i < RUN_REPLY_MAX; i++)
		assert_int_equal(bytes[i], 0x5a);
	/* Nor does the next reply in the same place show what the one before left. */
	for (int i = 0; i < 4; i++) {
		result = run_one(server, SUM);
		assert_int_equal(((const struct sum *)result.reply)->sum, 0);
	}
	run_server_stop(server);
}

static void each_way_to_end_is_told_apart(void **state)
{
	struct run_server *server = start();
	for (int round = 0; round < 3; round++) {
		struct run_result result = run_one(server, CRASH);
		assert_int_equal(result.outcome, RUN_CRASHED);
		assert_non_null(strstr(result.error.msg, "crash died of SIGSEGV"));
		result = run_one(server, SPIN);
		assert_int_equal(result.outcome, RUN_TIMED_OUT);
		assert_int_equal(result.error.code, -ETIMEDOUT);
		result = run_one(server, MEMORY);
		assert_int_equal(result.outcome, RUN_OUT_OF_MEMORY);
		result = run_one(server, FAIL);
		assert_int_equal(result.outcome, RUN_FAILED);
		assert_int_equal(result.value, -EBADMSG);
		assert_int_equal(strlen(result.error.msg), sizeof result.error.msg - 1);
		result = run_one(server, SUM);
		assert_int_equal(result.outcome, RUN_DONE);
	}
	assert_false(has_children(run_server_pid(server)));
	run_server_stop(server);
}

static void a_full_queue_refuses_and_each_accepted_ticket_comes_back_once(void **state)
{
	struct run_server *server = start();
	bool seen[200] = {false};
	uint64_t submitted = 0, received = 0, refused = 0;
	int fd = file_with("\1");
	while (received < ARRAY_SIZE(seen)) {
		int r = -EAGAIN;
		if (submitted < ARRAY_SIZE(seen))
			r = run_server_submit(server, submitted % 7 ? SUM : CRASH, &fd, 1, NULL, 0,
					      submitted);
		if (r == 0) {
			submitted++;
			continue;
		}
		assert_int_equal(r, -EAGAIN);
		refused++;
		struct run_result result;
		assert_int_equal(receive(server, &result), 1);
		assert_true(result.ticket < ARRAY_SIZE(seen) && !seen[result.ticket]);
		assert_int_equal(result.outcome, result.ticket % 7 ? RUN_DONE : RUN_CRASHED);
		seen[result.ticket] = true;
		received++;
	}
	assert_true(refused > 0);
	close(fd);
	run_server_stop(server);
}

static void deadlines_are_kept_while_nobody_receives(void **state)
{
	struct run_server *server = start();
	int pipe_fds[2];
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(run_server_submit(server, SPIN, &pipe_fds[1], 1, NULL, 0, i), 0);
	close(pipe_fds[1]);
	assert_true(hangs_up(pipe_fds[0]));
	close(pipe_fds[0]);
	run_server_stop(server);
}

static void descriptors_do_not_pile_up(void **state)
{
	struct run_server *server = start();
	struct run_result result = run_one(server, DESCRIPTORS);
	assert_int_equal(result.value, 0);
	int before = count_fds(run_server_pid(server)), own = count_fds(getpid());
	int fd = file_with("x");
	for (int i = 0; i < 50; i++) {
		size_t job = (size_t[]){SUM, CRASH, FAIL, DESCRIPTORS}[i % 4];
		assert_int_equal(run_server_submit(server, job, &fd, 1, NULL, 0, 1), 0);
		assert_int_equal(receive(server, &result), 1);
	}
	close(fd);
	assert_int_equal(count_fds(run_server_pid(server)), before);
	assert_int_equal(count_fds(getpid()), own);
	run_server_stop(server);
}

static void a_server_without_free_descriptors_says_so_and_goes_on(void **state)
{
	struct run_server *server = start();
	run_one(server, SUM); /* it is up */
	struct rlimit old, none = {.rlim_cur = 4, .rlim_max = 4};
	assert_int_equal(prlimit(run_server_pid(server), RLIMIT_NOFILE, &none, &old), 0);
	int fds[2] = {file_with("\1"), file_with("\2")};
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(run_server_submit(server, SUM, fds, 2, NULL, 0, i), 0);
	for (uint64_t i = 0; i < 8; i++) {
		struct run_result result;
		assert_int_equal(receive(server, &result), 1);
		assert_int_equal(result.outcome, RUN_FAILED);
		assert_int_equal(result.error.code, -EMFILE);
	}
	if (prlimit(run_server_pid(server), RLIMIT_NOFILE, &old, NULL) == 0) { /* as root */
		struct run_result result;
		assert_int_equal(run_server_submit(server, SUM, fds, 2, NULL, 0, 9), 0);
		assert_int_equal(receive(server, &result), 1);
		assert_int_equal(result.outcome, RUN_DONE);
		assert_int_equal(((const struct sum *)result.reply)->sum, 3);
	}
	close(fds[0]);
	close(fds[1]);
	run_server_stop(server);
}

static void jobs_that_cannot_be_are_refused(void **state)
{
	struct run_server *server = start();
	uint8_t args[RUN_ARGS_MAX + 1] = {0};
	int fds[RUN_FDS_MAX + 1] = {0};
	int none = -1;
	assert_int_equal(run_server_submit(server, N_JOBS, NULL, 0, NULL, 0, 1), -EINVAL);
	assert_int_equal(run_server_submit(server, SUM, fds, RUN_FDS_MAX + 1, NULL, 0, 1), -EINVAL);
	assert_int_equal(run_server_submit(server, SUM, NULL, 0, args, sizeof args, 1), -EINVAL);
	assert_int_equal(run_server_submit(server, SUM, &none, 1, NULL, 0, 1), -EBADF);
	assert_int_equal(run_server_outstanding(server), 0);
	assert_int_equal(run_server_submit(server, SUM, NULL, 0, args, RUN_ARGS_MAX, 1), 0);
	struct run_result result;
	assert_int_equal(receive(server, &result), 1);
	assert_int_equal(result.outcome, RUN_DONE);
	run_server_stop(server);

	struct run_job large = {.name = "large", .fn = sum_job, .reply_size = RUN_REPLY_MAX + 1};
	assert_int_equal(run_server_start(&large, 1, &server, NULL), -EINVAL);
}

static void a_dead_server_loses_no_ticket(void **state)
{
	struct run_server *server = start();
	int pipe_fds[2];
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	run_one(server, SUM);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(run_server_submit(server, PATIENT, &pipe_fds[1], 1, NULL, 0, i),
				 0);
	close(pipe_fds[1]);
	while (!has_children(run_server_pid(server)))
		usleep(1000);
	assert_int_equal(kill(run_server_pid(server), SIGKILL), 0);
	assert_true(hangs_up(pipe_fds[0])); /* its children died with it */
	close(pipe_fds[0]);
	struct run_result result;
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(receive(server, &result), 1);
		assert_true(result.ticket == i);
		assert_int_equal(result.outcome, RUN_CRASHED);
		assert_non_null(strstr(result.error.msg, "server died"));
	}
	assert_int_equal(run_server_receive(server, &result), -EPIPE);
	assert_int_equal(run_server_submit(server, SUM, NULL, 0, NULL, 0, 9), -EPIPE);
	run_server_stop(server);
}

static void results_that_were_ready_survive_the_server(void **state)
{
	struct run_server *server = start();
	struct run_result result;
	assert_int_equal(run_server_submit(server, SUM, NULL, 0, "\5", 1, 1), 0);
	struct pollfd fd = {.fd = run_server_fd(server), .events = POLLIN};
	assert_int_equal(poll(&fd, 1, 5000), 1);
	for (uint64_t i = 2; i < 7; i++) /* the last ones lie unread in its socket when it dies */
		assert_int_equal(run_server_submit(server, PATIENT, NULL, 0, NULL, 0, i), 0);
	kill(run_server_pid(server), SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)run_server_pid(server), NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(receive(server, &result), 1);
	assert_true(result.ticket == 1);
	assert_int_equal(result.outcome, RUN_DONE);
	assert_int_equal(((const struct sum *)result.reply)->sum, 5);
	for (uint64_t i = 2; i < 7; i++) {
		assert_int_equal(receive(server, &result), 1);
		assert_true(result.ticket == i && result.outcome == RUN_CRASHED);
	}
	run_server_stop(server);
}

static void stopping_kills_what_still_runs(void **state)
{
	struct run_server *server = start();
	pid_t pid = run_server_pid(server);
	int pipe_fds[2];
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(run_server_submit(server, PATIENT, &pipe_fds[1], 1, NULL, 0, i),
				 0);
	close(pipe_fds[1]);
	while (!has_children(pid))
		usleep(1000);
	run_server_stop(server);
	assert_true(hangs_up(pipe_fds[0]));
	close(pipe_fds[0]);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* A process with a server and a running job is killed: nothing of it may stay. */
static void all_die_with_the_caller(void **state)
{
	int pipe_fds[2], ready[2];
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t caller = fork();
	if (caller == 0) {
		struct run_server *server;
		if (run_server_start(jobs, N_JOBS, &server, NULL) < 0 ||
		    run_server_submit(server, PATIENT, &pipe_fds[1], 1, NULL, 0, 1) < 0)
			_exit(1);
		while (!has_children(run_server_pid(server)))
			usleep(1000);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(pipe_fds[1]);
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(caller, SIGKILL);
	assert_int_equal(waitpid(caller, NULL, 0), caller);
	assert_true(hangs_up(pipe_fds[0]));
	close(pipe_fds[0]);
	close(ready[0]);
	close(ready[1]);
}

/* ---- a file system that does not answer ------------------------------------------------------ */

static void answer(int fuse, uint64_t unique, const void *data, size_t size)
{
	uint8_t message[256];
	struct fuse_out_header head = {.len = (uint32_t)(sizeof head + size), .unique = unique};
	memcpy(message, &head, sizeof head);
	memcpy(message + sizeof head, data, size);
	assert_int_equal(write(fuse, message, head.len), head.len);
}

/*
 * Takes every request, and answers all but reads: whoever waits for one cannot be killed.
 * FOPEN_NOFLUSH: closing asks nobody.
 */
static void serve_silent_file(int fuse)
{
	uint64_t request[16384];
	while (read(fuse, request, sizeof request) > 0) {
		const struct fuse_in_header *head = (const struct fuse_in_header *)request;
		struct fuse_init_out init = {
			.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
		struct fuse_attr_out attr = {.attr_valid = 3600,
					     .attr = {.ino = 1, .size = 4096, .mode = 0100644}};
		struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO | FOPEN_NOFLUSH};
		if (head->opcode == FUSE_INIT)
			answer(fuse, head->unique, &init, sizeof init);
		else if (head->opcode == FUSE_GETATTR)
			answer(fuse, head->unique, &attr, sizeof attr);
		else if (head->opcode == FUSE_OPEN)
			answer(fuse, head->unique, &opened, sizeof opened);
	}
}

/*
 * Mounts a file over one of ours, in a mount namespace of this process alone. Its descriptor, or
 * -1.
 */
static int open_silent_file(pid_t *ret_server)
{
	char path[] = "/tmp/mw-fuse-XXXXXX", options[100];
	_cleanup_close_ int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	int under = mkstemp(path);
	close(under);
	snprintf(options, sizeof options, "fd=%d,rootmode=100644,user_id=0,group_id=0,allow_other",
		 fuse);
	int r = mount("silent", path, "fuse", 0, options);
	*ret_server = r < 0 ? -1 : fork();
	if (*ret_server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* with it, what waits for it ends */
		serve_silent_file(fuse);
		_exit(0);
	}
	int fd = r < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	umount2(path, MNT_DETACH);
	unlink(path);
	return fd;
}

static int survive_a_silent_file(void)
{
	struct run_server *server;
	if (run_server_start(jobs, N_JOBS, &server, NULL) < 0)
		return 1;
	pid_t file_server;
	int fd = open_silent_file(&file_server);
	if (fd < 0)
		return 77;
	for (uint64_t i = 0; i < 6; i++) { /* more than there are slots */
		struct run_result result;
		if (run_server_submit(server, READ, &fd, 1, NULL, 0, i) < 0)
			return 2;
		if (receive(server, &result) != 1 || result.outcome != RUN_TIMED_OUT)
			return 3;
		if (run_server_submit(server, SUM, NULL, 0, "\7", 1, i) < 0)
			return 4;
		if (receive(server, &result) != 1 || result.outcome != RUN_DONE ||
		    ((const struct sum *)result.reply)->sum != 7)
			return 5;
	}
	if (!has_children(run_server_pid(server)))
		return 6; /* then they were no test of this */
	kill(file_server, SIGKILL); /* the file system ends, and they with it */
	waitpid(file_server, NULL, 0);
	close(fd);
	for (int i = 0; i < 100 && has_children(run_server_pid(server)); i++) {
		struct run_result result; /* it reaps whenever it does something */
		if (run_server_submit(server, SUM, NULL, 0, NULL, 0, 1) < 0 ||
		    receive(server, &result) != 1)
			return 7;
	}
	if (has_children(run_server_pid(server)))
		return 8;
	run_server_stop(server);
	return 0;
}

static void a_child_that_cannot_be_killed_stops_nobody(void **state)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(survive_a_silent_file());
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skipped: needs root and /dev/fuse\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void signals_from_the_terminal_do_not_end_server_or_children(void **state)
{
	struct run_server *server = start();
	run_one(server, SUM);
	kill(run_server_pid(server), SIGINT);
	kill(run_server_pid(server), SIGTERM);
	struct run_result result = run_one(server, SUM);
	assert_int_equal(result.outcome, RUN_DONE);
	run_server_stop(server);
}

static void nothing_of_the_caller_stays_open_in_the_server(void **state)
{
	int pipe_fds[2];
	assert_int_equal(pipe2(pipe_fds, 0), 0);
	struct run_server *server = start();
	run_one(server, SUM);
	close(pipe_fds[1]);
	assert_true(hangs_up(pipe_fds[0]));
	close(pipe_fds[0]);
	run_server_stop(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_gets_its_descriptors_and_its_reply_comes_back),
		cmocka_unit_test(a_reply_of_the_largest_size_comes_back_whole),
		cmocka_unit_test(each_way_to_end_is_told_apart),
		cmocka_unit_test(a_full_queue_refuses_and_each_accepted_ticket_comes_back_once),
		cmocka_unit_test(deadlines_are_kept_while_nobody_receives),
		cmocka_unit_test(descriptors_do_not_pile_up),
		cmocka_unit_test(a_server_without_free_descriptors_says_so_and_goes_on),
		cmocka_unit_test(jobs_that_cannot_be_are_refused),
		cmocka_unit_test(a_dead_server_loses_no_ticket),
		cmocka_unit_test(results_that_were_ready_survive_the_server),
		cmocka_unit_test(stopping_kills_what_still_runs),
		cmocka_unit_test(all_die_with_the_caller),
		cmocka_unit_test(a_child_that_cannot_be_killed_stops_nobody),
		cmocka_unit_test(signals_from_the_terminal_do_not_end_server_or_children),
		cmocka_unit_test(nothing_of_the_caller_stays_open_in_the_server),
	};
	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
