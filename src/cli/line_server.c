/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/line_server.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/io.h"
#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define QUESTIONS_MAX 65536
#define ANSWER_MAX    ((uint32_t)256 << 20)

struct question {
	struct mw_file_id id;
	uint32_t n;
};

/* Exactly n bytes: 1, 0 at the end of the stream, -errno. */
static int read_exactly(int fd, void *buf, size_t n)
{
	ssize_t r = io_read(fd, buf, n);
	if (r < 0)
		return (int)r;
	return r == 0 ? 0 : (size_t)r == n ? 1 : -EPIPE;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void put_string(struct buffer *b, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	buffer_uleb(b, n);
	buffer_bytes(b, text ? text : "", n);
}

static int put_answer(void *data, uint64_t value, const struct mw_location *chain, size_t n)
{
	struct buffer *b = data;
	buffer_uleb(b, n);
	for (size_t i = 0; i < n; i++) {
		put_string(b, chain[i].name);
		put_string(b, chain[i].directory);
		put_string(b, chain[i].file);
		buffer_uleb(b, chain[i].line);
		buffer_u8(b, chain[i].is_inlined);
	}
	return b->failed ? -ENOMEM : 0;
}

static int answer(struct mw_resolver *resolver, int fd, const struct question *q,
		  const struct sort_item *items, struct buffer *b)
{
	b->n = 0;
	buffer_u32(b, 0);
	const struct line_finder local = line_finder_local(resolver);
	int r = local.find(local.data, &q->id, items, q->n, put_answer, b);
	if (r < 0 || b->failed || b->n - 4 > ANSWER_MAX)
		return -ENOMEM;
	uint32_t n = (uint32_t)(b->n - 4);
	memcpy(b->data, &n, sizeof n);
	return io_write(fd, b->data, b->n);
}

static int serve(struct mw_resolver *resolver, int fd)
{
	_cleanup_free_ struct sort_item *items = calloc(QUESTIONS_MAX, sizeof *items);
	_cleanup_free_ uint64_t *offsets = calloc(QUESTIONS_MAX, sizeof *offsets);
	struct buffer b = {};
	struct question q;
	int r = items && offsets ? 1 : -ENOMEM;
	while (r > 0 && (r = read_exactly(fd, &q, sizeof q)) > 0) {
		if (!q.n || q.n > QUESTIONS_MAX || q.id.size > MW_FILE_ID_MAX)
			break;
		r = read_exactly(fd, offsets, q.n * sizeof *offsets);
		for (uint32_t i = 0; i < q.n; i++)
			items[i] = (struct sort_item){offsets[i], i};
		if (r > 0)
			r = answer(resolver, fd, &q, items, &b) < 0 ? -EPIPE : 1;
	}
	buffer_deinit(&b);
	return r;
}

static void server_main(const char *directory, int fd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	const struct store_options options = {.directory = directory, .read_only = true};
	struct store *store;
	struct mw_resolver *resolver;
	if (getppid() == parent && store_open(&options, &store, NULL) == 0 &&
	    resolver_new(store, 0, &resolver) == 0)
		serve(resolver, fd);
	_exit(0);
}

int line_server_start(const char *directory, struct line_server *ret, struct mw_error *e)
{
	*ret = (struct line_server)LINE_SERVER_INIT;
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return error_errno(e, -errno, "cannot start a reader of the store");
	pid_t parent = getpid();
	fflush(NULL);
	ret->pid = fork();
	int code = -errno;
	if (ret->pid == 0) {
		close(fds[0]);
		server_main(directory, fds[1], parent);
	}
	close(fds[1]);
	if (ret->pid < 0) {
		close(fds[0]);
		ret->pid = 0;
		return error_errno(e, code, "cannot start a reader of the store");
	}
	ret->fd = fds[0];
	return 0;
}

void line_server_stop(struct line_server *server)
{
	if (server->fd >= 0)
		close(server->fd);
	server->fd = -1;
	while (server->pid > 0 && waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
		;
	server->pid = 0;
}

/* ---- the child that asks --------------------------------------------------------------------- */

/* Copies a string behind the others, for it has no end of its own; returns its place. */
static uint32_t take_string(struct cursor *c, struct buffer *texts)
{
	uint64_t n = cursor_uleb(c);
	const uint8_t *bytes = cursor_bytes(c, n);
	uint32_t place = (uint32_t)texts->n;
	if (bytes)
		buffer_bytes(texts, bytes, n);
	buffer_u8(texts, 0);
	return place;
}

static int take_chain(struct cursor *c, uint64_t value, struct buffer *texts, resolver_answer_fn fn,
		      void *fn_data)
{
	struct mw_location chain[GSYM_DEPTH_MAX + 1] = {};
	uint32_t places[GSYM_DEPTH_MAX + 1][3];
	uint64_t n = cursor_uleb(c);
	if (n > ARRAY_SIZE(chain))
		return -EBADMSG;
	texts->n = 0;
	for (uint64_t i = 0; i < n; i++) {
		for (size_t j = 0; j < 3; j++)
			places[i][j] = take_string(c, texts);
		chain[i].line = (uint32_t)cursor_uleb(c);
		chain[i].is_inlined = cursor_u8(c);
	}
	if (!cursor_ok(c) || texts->failed)
		return cursor_ok(c) ? -ENOMEM : -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		const char *text[3];
		for (size_t j = 0; j < 3; j++)
			text[j] = (const char *)texts->data + places[i][j];
		chain[i].name = text[0];
		chain[i].directory = text[1];
		chain[i].file = *text[2] ? text[2] : NULL;
	}
	return fn(fn_data, value, chain, n);
}

static int ask(int fd, const struct mw_file_id *id, const struct sort_item *items, size_t n,
	       struct buffer *answer)
{
	struct question q = {.id = *id, .n = (uint32_t)n};
	_cleanup_free_ uint64_t *offsets = calloc(n, sizeof *offsets);
	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		offsets[i] = items[i].key;
	int r = io_write(fd, &q, sizeof q);
	if (r == 0)
		r = io_write(fd, offsets, n * sizeof *offsets);
	uint32_t size;
	if (r == 0)
		r = read_exactly(fd, &size, sizeof size) == 1 ? 0 : -EPIPE;
	if (r < 0 || size > ANSWER_MAX)
		return r < 0 ? r : -EBADMSG;
	uint8_t *bytes = buffer_extend(answer, size);
	if (size && !bytes)
		return -ENOMEM;
	return !size || read_exactly(fd, bytes, size) == 1 ? 0 : -EPIPE;
}

static int find_remotely(void *data, const struct mw_file_id *id, const struct sort_item *items,
			 size_t n, resolver_answer_fn fn, void *fn_data)
{
	const int *fd = data;
	struct buffer answer = {}, texts = {};
	int r = ask(*fd, id, items, n, &answer);
	struct cursor c = cursor_init(answer.data, answer.n, false);
	for (size_t i = 0; i < n && r == 0 && answer.n; i++)
		r = take_chain(&c, items[i].value, &texts, fn, fn_data);
	buffer_deinit(&answer);
	buffer_deinit(&texts);
	return r;
}

struct line_finder line_finder_remote(const int *fd)
{
	return (struct line_finder){.find = find_remotely, .data = (void *)fd};
}
