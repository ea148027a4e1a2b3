/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finders and proofs on real files, with requests made as the sampler would make them. */
#include "content/content.h"
#include "lib/test.h"
#include "lib/tree.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

struct fixture {
	struct tree tree;
	struct proc proc;
	struct finder_context context;
	char path[128];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	tree_init(&f->tree);
	tree_write(&f->tree, "file", "some content");
	snprintf(f->path, sizeof f->path, "%s/file", f->tree.path);
	assert_int_equal(proc_init(&f->proc, "/proc", NULL), 0);
	f->context.proc = &f->proc;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	proc_deinit(&f->proc);
	tree_deinit(&f->tree);
	free(f);
	return 0;
}

static struct file_request request_for(int fd)
{
	struct statx s;
	struct statfs fs;
	assert_int_equal(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &s), 0);
	assert_int_equal(fstatfs(fd, &fs), 0);
	struct file_request r = {
		.key = {
			.inode = s.stx_ino,
			.size = s.stx_size,
			.ctime_sec = s.stx_ctime.tv_sec,
			.ctime_nsec = s.stx_ctime.tv_nsec,
			.mtime_sec = s.stx_mtime.tv_sec,
			.mtime_nsec = s.stx_mtime.tv_nsec,
			.device = s.stx_dev_major << 20 | s.stx_dev_minor,
			.links = s.stx_nlink,
		},
		.magic = (uint64_t)fs.f_type,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.name = "file",
	};
	uint32_t generation = 0;
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
		r.key.generation = generation;
	return r;
}

static void *map(int fd, struct file_request *request)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	request->map_start = (uintptr_t)p;
	request->map_end = (uintptr_t)p + 4096;
	return p;
}

static void a_deleted_file_is_opened_through_its_mapping(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(unlink(f->path), 0);
	struct file_request request = request_for(fd);
	void *p = map(fd, &request);
	struct pin pin;
	enum mw_reason reason;
	int r = pin_open(&f->context, &request, &pin, &reason);
	munmap(p, 4096);
	if (r == -ENOENT && geteuid() != 0)
		skip();
	assert_int_equal(r, 0);
	char content[32] = "";
	assert_int_equal(read(pin.fd, content, sizeof content), 12);
	assert_string_equal(content, "some content");
	pin_mark_extracted(&pin);
	assert_int_equal(pin.fd, -1);
}

static void a_file_is_opened_by_its_handle_when_its_task_is_gone(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	struct file_request request = request_for(fd);
	if (request.magic != 0xef53 || geteuid() != 0)
		skip(); /* handles of this kind are ext4's, and root's */
	request.pid = request.tid = 999999999;
	struct pin pin;
	enum mw_reason reason;
	assert_int_equal(pin_open(&f->context, &request, &pin, &reason), 0);
	assert_string_equal(pin.path, f->path);
	pin_mark_extracted(&pin);

	request.key.generation++; /* the inode number is in use, by another file */
	assert_int_equal(pin_open(&f->context, &request, &pin, &reason), -ENOENT);
	assert_int_equal(reason, MW_REASON_FILE_GONE);
}

static void a_file_that_was_written_to_is_not_proved(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open(f->path, O_RDWR | O_CLOEXEC);
	struct file_request request = request_for(fd);
	assert_int_equal(content_is_proved(fd, NULL, &request, NULL), 1);
	struct file_request later = request;
	later.key.ctime_nsec ^= 1;
	later.key.mtime_nsec ^= 1;
	assert_int_equal(content_is_proved(fd, NULL, &later, NULL), 0);
	later = request;
	later.key.size++;
	assert_int_equal(content_is_proved(fd, NULL, &later, NULL), 0);
}

static void a_file_that_was_unlinked_since_may_have_been_written_to_before(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open(f->path, O_RDWR | O_CLOEXEC);
	struct file_request request = request_for(fd);
	request.pid = request.tid = (uint32_t)getpid();
	assert_int_equal(proc_start_time(f->context.proc, request.pid, &request.start_time), 0);
	request.key.ctime_nsec ^= 1; /* as if the change time had moved on since */
	request.key.links++;
	assert_int_equal(content_is_proved(fd, f->context.proc, &request, NULL), 0);
}

static void an_unlink_of_a_program_that_still_runs_does_no_harm(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct file_request request = request_for(fd);
	request.pid = request.tid = (uint32_t)getpid();
	assert_int_equal(proc_start_time(f->context.proc, request.pid, &request.start_time), 0);
	request.key.ctime_nsec ^= 1;
	request.key.links++;
	assert_int_equal(content_is_proved(fd, f->context.proc, &request, NULL), 1);
	request.start_time += UINT64_C(1000000000); /* another process of that number */
	assert_int_equal(content_is_proved(fd, f->context.proc, &request, NULL), 0);
}

static void a_file_whose_modification_time_was_set_back_is_not_proved(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open(f->path, O_RDWR | O_CLOEXEC);
	struct file_request request = request_for(fd);
	request.key.ctime_nsec ^= 1;
	assert_int_equal(content_is_proved(fd, NULL, &request, NULL), 0);
}

static void another_inode_is_not_proved_whatever_its_times(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	struct file_request request = request_for(fd);
	request.key.inode++;
	assert_int_equal(content_is_proved(fd, NULL, &request, NULL), 0);
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
	struct fixture *f = *state;
	char path[160];
	snprintf(path, sizeof path, "%s/fifo", f->tree.path);
	assert_int_equal(mkfifo(path, 0600), 0);
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	_cleanup_close_ int regular = open(f->path, O_RDONLY | O_CLOEXEC);
	struct file_request request = request_for(regular);
	assert_int_equal(content_is_proved(fd, NULL, &request, NULL), 0);
}

static void a_file_system_that_may_never_answer_is_left_alone(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	struct file_request request = request_for(fd);
	request.magic = 0x65735546; /* FUSE */
	struct pin pin;
	enum mw_reason reason;
	assert_int_equal(pin_open(&f->context, &request, &pin, &reason), -EWOULDBLOCK);
	assert_int_equal(reason, MW_REASON_TIMEOUT);
}

static void a_pin_notices_writes_but_not_unlinks(void **state)
{
	struct fixture *f = *state;
	struct pin pin = PIN_INIT;
	pin.fd = open(f->path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pin_remember(&pin), 0);
	struct timespec times[2] = {{.tv_sec = pin.key.mtime_sec, .tv_nsec = pin.key.mtime_nsec},
				    {.tv_sec = pin.key.mtime_sec, .tv_nsec = pin.key.mtime_nsec}};
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(pin_is_unchanged(&pin), 1);

	assert_int_equal(pin_remember(&pin), 0);
	assert_int_equal(pwrite(pin.fd, "other content", 12, 0), 12);
	assert_int_equal(futimens(pin.fd, times), 0);
	assert_int_equal(pin_is_unchanged(&pin), 0);
	pin_mark_extracted(&pin);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_deleted_file_is_opened_through_its_mapping),
		TEST(a_file_is_opened_by_its_handle_when_its_task_is_gone),
		TEST(a_file_that_was_written_to_is_not_proved),
		TEST(a_file_that_was_unlinked_since_may_have_been_written_to_before),
		TEST(an_unlink_of_a_program_that_still_runs_does_no_harm),
		TEST(another_inode_is_not_proved_whatever_its_times),
		TEST(what_is_no_regular_file_is_not_opened),
		TEST(a_file_system_that_may_never_answer_is_left_alone),
		TEST(a_file_whose_modification_time_was_set_back_is_not_proved),
		TEST(a_pin_notices_writes_but_not_unlinks),
	};
	return cmocka_run_group_tests_name("content", tests, NULL, NULL);
}
