/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/line_server.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/io.h"
#include "cli/command_store.h"
#include "symbols/subject.h"

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
	uint32_t path_size;
	uint32_t names;
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
	for (size_t i = 0; i < MAX(n, 1); i++) {
		put_string(b, chain[i].name);
		put_string(b, chain[i].directory);
		put_string(b, chain[i].file);
		buffer_uleb(b, chain[i].line);
		buffer_uleb(b, chain[i].start);
		buffer_uleb(b, chain[i].reason);
		buffer_u8(b, chain[i].is_inlined);
	}
	return b->failed ? -ENOMEM : 0;
}

struct server {
	struct line_server_options o;
	struct store *store;
	struct mw_resolver *resolver;
	struct proc proc;
	VEC(struct mw_file_id) seen; /* files that were looked for */
};

static bool was_seen(const struct server *s, const struct mw_file_id *id)
{
	vec_foreach(seen, &s->seen) {
		if (mw_file_id_equal(seen, id))
			return true;
	}
	return false;
}

/* Looks for a file on this machine, once. */
static void take_in(struct server *s, const struct mw_file_id *id, const char *path)
{
	if (was_seen(s, id) || vec_push(&s->seen, *id) < 0)
		return;
	struct subject subject = {.lines = true, .hint = path, .store = s->store,
				  .resolver = s->resolver, .proc = &s->proc, .log = s->o.log};
	subject_open_build_id(&subject, id, NULL);
	subject_deinit(&subject);
}

static int answer(struct server *s, int fd, const struct line_question *q, struct buffer *b)
{
	uint32_t head[2] = {};
	b->n = 0;
	buffer_extend(b, sizeof head);
	const struct line_finder local = line_finder_local(s->resolver);
	int r = local.find(local.data, q, &head[1], put_answer, b);
	if (r < 0 || b->failed || b->n - sizeof head > ANSWER_MAX)
		return -ENOMEM;
	head[0] = (uint32_t)(b->n - sizeof head);
	memcpy(b->data, head, sizeof head);
	return io_write(fd, b->data, b->n);
}

static int serve_one(struct server *s, int fd, const struct question *q, struct sort_item *items,
		     struct buffer *b)
{
	char path[4096];
	if (!q->n || q->n > QUESTIONS_MAX || q->id.size > MW_FILE_ID_MAX ||
	    q->path_size >= sizeof path || read_exactly(fd, path, q->path_size) != 1)
		return -EBADMSG;
	path[q->path_size - 1] = '\0';
	_cleanup_free_ uint64_t *offsets = calloc(q->n, sizeof *offsets);
	if (!offsets || read_exactly(fd, offsets, q->n * sizeof *offsets) != 1)
		return -EBADMSG;
	for (uint32_t i = 0; i < q->n; i++)
		items[i] = (struct sort_item){offsets[i], i};
	if (s->o.take_in)
		take_in(s, &q->id, path);
	const struct line_question question = {&q->id, path, q->names, items, q->n};
	return answer(s, fd, &question, b);
}

static void serve(struct server *s, int fd)
{
	struct sort_item *items = calloc(QUESTIONS_MAX, sizeof *items);
	struct buffer b = {};
	struct question q;
	while (items && read_exactly(fd, &q, sizeof q) > 0) {
		if (serve_one(s, fd, &q, items, &b) < 0)
			break;
	}
}

static void server_main(const struct line_server_options *o, int fd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct server s = {.o = *o, .proc = PROC_INIT};
	const struct store_options options = {.directory = o->store, .read_only = true};
	int r = getppid() == parent ? proc_init(&s.proc, "/proc", NULL) : -EPIPE;
	if (r == 0)
		r = o->take_in ? command_store_open(o->store, true, o->log, &s.store, NULL)
			       : store_open(&options, &s.store, NULL);
	if (r == 0 && resolver_new(s.store, 0, &s.resolver) == 0)
		serve(&s, fd);
	store_close(s.store); /* a temporary one goes */
	_exit(0);
}

int line_server_start(const struct line_server_options *options, struct line_server *ret,
		      struct mw_error *e)
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
		server_main(options, fds[1], parent);
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
	uint64_t n = cursor_uleb(c), present = MAX(n, 1);
	if (n > ARRAY_SIZE(chain))
		return -EBADMSG;
	texts->n = 0;
	for (uint64_t i = 0; i < present; i++) {
		for (size_t j = 0; j < 3; j++)
			places[i][j] = take_string(c, texts);
		chain[i].line = (uint32_t)cursor_uleb(c);
		chain[i].start = cursor_uleb(c);
		chain[i].reason = (uint16_t)cursor_uleb(c);
		chain[i].is_inlined = cursor_u8(c);
	}
	if (!cursor_ok(c) || texts->failed)
		return cursor_ok(c) ? -ENOMEM : -EBADMSG;
	for (uint64_t i = 0; i < present; i++) {
		const char *text[3];
		for (size_t j = 0; j < 3; j++)
			text[j] = (const char *)texts->data + places[i][j];
		chain[i].name = *text[0] ? text[0] : NULL;
		chain[i].directory = text[1];
		chain[i].file = *text[2] ? text[2] : NULL;
	}
	return fn(fn_data, value, chain, n);
}

static int ask(int fd, const struct line_question *question, uint32_t *ret_rank,
	       struct buffer *answer)
{
	size_t path_size = MIN(strlen(question->path) + 1, 4095u);
	struct question q = {.id = *question->id,
			     .n = (uint32_t)question->n,
			     .path_size = (uint32_t)path_size,
			     .names = question->names};
	_cleanup_free_ uint64_t *offsets = calloc(question->n, sizeof *offsets);
	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < question->n; i++)
		offsets[i] = question->items[i].key;
	int r = io_write(fd, &q, sizeof q);
	if (r == 0)
		r = io_write(fd, question->path, path_size);
	if (r == 0)
		r = io_write(fd, offsets, question->n * sizeof *offsets);
	uint32_t head[2] = {};
	if (r == 0)
		r = read_exactly(fd, head, sizeof head) == 1 ? 0 : -EPIPE;
	if (r < 0 || head[0] > ANSWER_MAX)
		return r < 0 ? r : -EBADMSG;
	*ret_rank = head[1];
	uint8_t *bytes = buffer_extend(answer, head[0]);
	if (head[0] && !bytes)
		return -ENOMEM;
	return !head[0] || read_exactly(fd, bytes, head[0]) == 1 ? 0 : -EPIPE;
}

static int find_remotely(void *data, const struct line_question *question, uint32_t *ret_rank,
			 resolver_answer_fn fn, void *fn_data)
{
	const int *fd = data;
	struct buffer answer = {}, texts = {};
	int r = ask(*fd, question, ret_rank, &answer);
	struct cursor c = cursor_init(answer.data, answer.n, false);
	for (size_t i = 0; i < question->n && r == 0 && answer.n; i++)
		r = take_chain(&c, question->items[i].value, &texts, fn, fn_data);
	buffer_deinit(&answer);
	buffer_deinit(&texts);
	return r;
}

struct line_finder line_finder_remote(const int *fd)
{
	return (struct line_finder){.find = find_remotely, .data = (void *)fd};
}
