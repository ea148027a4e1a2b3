/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/tables.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_id.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/records.h"
#include "unwind/unwind_table.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* What was used so lately is not evicted: the next sample would ask for it again. */
#define IN_USE_NS    UINT64_C(2000000000)
/* What found no room is tried again after this time. */
#define POSTPONED_NS UINT64_C(3000000000)
/* So many wait, each with an open file; the rest is asked for again by later samples. */
#define POSTPONED_MAX 256
#define BATCH_MAX    128

/* A content's table, in the kernel or not any more. */
struct content {
	struct mw_file_id id;
	uint32_t map_id; /* the kernel's; 0: not there */
	uint64_t bytes;
	const struct table_use *use; /* in the array's first page, which is mapped here while it is there */
	VEC(uint32_t) numbers;       /* of files that have it */
};

struct order {
	uint32_t number;
	struct mw_file_id id; /* MW_FILE_ID_NONE: the file has no table */
	int fd;		      /* owned; -1: none */
	uint64_t not_before;
};

typedef VEC(struct order) order_list;

struct attachment {
	uint32_t number;
	int fd; /* of the array; owned, but for that of no table */
};

struct tables {
	/* The thread's own. */
	int tables, wanted; /* maps, borrowed */
	int none;	    /* the array of files without a table */
	uint64_t limit, bytes;
	VEC(struct content *) contents; /* owned */
	struct hash_index by_id;
	VEC(struct attachment) attachments;
	order_list postponed;
	struct tables_counts counts;

	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	order_list orders;
	bool forgets; /* all numbers */
	bool stops;
	struct tables_counts shown; /* counts, after the last round */
};

/* ---- arrays in the kernel -------------------------------------------------------------------- */

static int create_array(uint32_t n_blocks)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "mw_table", sizeof(uint32_t), UNWIND_BLOCK_SIZE,
				n_blocks, &options);
	return fd < 0 ? -errno : fd;
}

static int read_all(int fd, uint8_t *to, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = pread(fd, to + at, size - at, (off_t)at);
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		at += (size_t)n;
	}
	return 0;
}

/* Copies the image into the array; of its mapping only the first page is kept. */
static int fill_array(struct content *content, int array, int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped = (size + page - 1) / page * page;
	uint8_t *to = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, array, 0);
	if (to == MAP_FAILED)
		return -errno;
	struct unwind_table table = {};
	int r = read_all(fd, to, size);
	if (r == 0)
		r = unwind_table_open_memory(&table, to, size, NULL);
	unwind_table_close(&table);
	if (r < 0) {
		munmap(to, mapped);
		return r;
	}
	((struct table_use *)(to + TABLE_USE_AT))->time = clock_now_ns();
	if (mapped > page)
		munmap(to + page, mapped - page);
	mprotect(to, page, PROT_READ);
	content->use = (const struct table_use *)(to + TABLE_USE_AT);
	return 0;
}

static uint32_t map_id_of(int fd)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof info;
	return bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ? 0 : info.id;
}

static void unload(struct tables *t, struct content *content)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (!content->map_id)
		return;
	if (content->numbers.n) {
		uint32_t n = (uint32_t)content->numbers.n;
		LIBBPF_OPTS(bpf_map_batch_opts, options);
		bpf_map_delete_batch(t->tables, content->numbers.items, &n, &options);
	}
	munmap((void *)((uintptr_t)content->use & ~(page - 1)), page);
	content->use = NULL;
	content->map_id = 0;
	content->numbers.n = 0;
	t->bytes -= content->bytes;
}

static struct content *least_used(struct tables *t)
{
	struct content *found = NULL;
	vec_foreach(content, &t->contents) {
		if ((*content)->map_id && (!found || (*content)->use->time < found->use->time))
			found = *content;
	}
	return found;
}

static bool is_being_attached(const struct tables *t, const struct content *content)
{
	vec_foreach(number, &content->numbers) {
		vec_foreach(a, &t->attachments) {
			if (a->number == *number)
				return true;
		}
	}
	return false;
}

/* 0, -ENOSPC: never, -EBUSY: not now. */
static int make_room(struct tables *t, uint64_t bytes)
{
	if (bytes > t->limit)
		return -ENOSPC;
	while (t->bytes + bytes > t->limit) {
		struct content *content = least_used(t);
		if (!content || clock_now_ns() - content->use->time < IN_USE_NS ||
		    is_being_attached(t, content))
			return -EBUSY;
		unload(t, content);
		t->counts.evicted++;
	}
	return 0;
}

/* Returns the descriptor of the new array. */
static int load(struct tables *t, struct content *content, int fd)
{
	struct stat st;
	uint64_t start = clock_now_ns();
	if (fd < 0 || fstat(fd, &st) < 0)
		return -EBADMSG;
	uint64_t size = (uint64_t)st.st_size;
	if (!size || size % UNWIND_BLOCK_SIZE || size / UNWIND_BLOCK_SIZE > UINT32_MAX)
		return -EBADMSG;
	content->bytes = (size + 4095) & ~UINT64_C(4095);
	int r = make_room(t, content->bytes);
	_cleanup_close_ int array = r < 0 ? r : create_array((uint32_t)(size / UNWIND_BLOCK_SIZE));
	if (array < 0)
		return array;
	r = fill_array(content, array, fd, size);
	if (r < 0)
		return r;
	content->map_id = map_id_of(array);
	t->bytes += content->bytes;
	t->counts.loaded++;
	t->counts.bytes_max = MAX(t->counts.bytes_max, t->bytes);
	t->counts.load_max_ns = MAX(t->counts.load_max_ns, clock_now_ns() - start);
	return take_fd(array);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static bool has_id(const void *context, uint32_t place, const void *key)
{
	const struct tables *t = context;
	return mw_file_id_equal(&t->contents.items[place]->id, key);
}

static struct content *find_content(struct tables *t, const struct mw_file_id *id)
{
	uint64_t hash = file_id_hash(id);
	uint32_t place = hash_index_find(&t->by_id, hash, has_id, t, id);
	if (place != HASH_INDEX_NONE)
		return t->contents.items[place];
	struct content *content = calloc(1, sizeof *content);
	if (!content)
		return NULL;
	content->id = *id;
	if (hash_index_add(&t->by_id, hash, (uint32_t)t->contents.n) < 0 ||
	    vec_push(&t->contents, content) < 0) {
		free(content);
		return NULL;
	}
	return content;
}

static int attach(struct tables *t, uint32_t number, struct content *content, int fd)
{
	int r = content ? vec_push(&content->numbers, number) : 0;
	if (r == 0)
		r = vec_push(&t->attachments, (struct attachment){number, fd});
	if (r < 0 && fd != t->none)
		close(fd);
	return r;
}

/* The descriptor of the order's array. */
static int array_for(struct tables *t, struct content *content, const struct order *order)
{
	if (content->map_id) {
		int fd = bpf_map_get_fd_by_id(content->map_id);
		t->counts.shared += fd >= 0;
		return fd < 0 ? -errno : fd;
	}
	return load(t, content, order->fd);
}

/* -EBUSY: the order waits. */
static int carry_out(struct tables *t, const struct order *order)
{
	struct content *content = NULL;
	int fd = t->none;
	if (order->id.kind != MW_FILE_ID_NONE && order->fd >= 0) {
		content = find_content(t, &order->id);
		fd = content ? array_for(t, content, order) : -ENOMEM;
	} else {
		t->counts.absent++;
	}
	if (fd == -EBUSY)
		return fd;
	if (fd < 0) { /* damaged, or larger than all the room: there will be none */
		t->counts.damaged += fd == -EBADMSG;
		t->counts.refused += fd == -ENOSPC;
		content = NULL;
		fd = t->none;
	}
	return attach(t, order->number, content, fd);
}

static void carry_out_all(struct tables *t, order_list *orders)
{
	uint64_t now = clock_now_ns();
	vec_foreach(order, orders) {
		int r = order->not_before > now ? -EBUSY : carry_out(t, order);
		if (r != -EBUSY) {
			cleanup_close(&order->fd);
			continue;
		}
		if (order->not_before <= now) {
			t->counts.refused++;
			order->not_before = now + POSTPONED_NS;
		}
		if (t->postponed.n >= POSTPONED_MAX || vec_push(&t->postponed, *order) < 0) {
			cleanup_close(&order->fd);
			bpf_map_delete_elem(t->wanted, &order->number);
		}
	}
	orders->n = 0;
}

/* Makes what was loaded visible. */
static void publish(struct tables *t)
{
	uint32_t numbers[BATCH_MAX];
	int fds[BATCH_MAX];
	for (size_t at = 0; at < t->attachments.n; at += BATCH_MAX) {
		uint32_t n = (uint32_t)MIN(t->attachments.n - at, (size_t)BATCH_MAX), done = n;
		for (uint32_t i = 0; i < n; i++) {
			numbers[i] = t->attachments.items[at + i].number;
			fds[i] = t->attachments.items[at + i].fd;
		}
		LIBBPF_OPTS(bpf_map_batch_opts, options);
		bpf_map_update_batch(t->tables, numbers, fds, &done, &options);
		for (uint32_t i = 0; i < n; i++) {
			bpf_map_delete_elem(t->wanted, &numbers[i]);
			if (fds[i] != t->none)
				close(fds[i]);
		}
	}
	t->attachments.n = 0;
}

static void forget_all(struct tables *t)
{
	uint32_t number;
	while (bpf_map_get_next_key(t->tables, NULL, &number) == 0)
		bpf_map_delete_elem(t->tables, &number);
	while (bpf_map_get_next_key(t->wanted, NULL, &number) == 0)
		bpf_map_delete_elem(t->wanted, &number);
	vec_foreach(content, &t->contents)
		(*content)->numbers.n = 0;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Waits for orders, or for the time of postponed ones. Returns with the lock held. */
static void wait_for_orders(struct tables *t)
{
	pthread_mutex_lock(&t->lock);
	while (!t->stops && !t->orders.n && !t->forgets) {
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		if (!t->postponed.n)
			pthread_cond_wait(&t->changed, &t->lock);
		else if (pthread_cond_timedwait(&t->changed, &t->lock, &until) == ETIMEDOUT)
			return;
	}
}

static void close_orders(order_list *orders)
{
	vec_foreach(order, orders)
		cleanup_close(&order->fd);
	vec_deinit(orders);
}

static void show_counts(struct tables *t)
{
	pthread_mutex_lock(&t->lock);
	t->shown = t->counts;
	pthread_mutex_unlock(&t->lock);
}

static void *serve(void *data)
{
	struct tables *t = data;
	order_list work = {};
	for (;;) {
		wait_for_orders(t);
		if (t->stops)
			break;
		order_list taken = t->orders, waited = t->postponed;
		bool forgets = t->forgets;
		t->orders = work; /* empty: its room is used again */
		t->postponed = (order_list){};
		t->forgets = false;
		pthread_mutex_unlock(&t->lock);
		if (forgets)
			forget_all(t);
		carry_out_all(t, &waited);
		carry_out_all(t, &taken);
		publish(t);
		vec_deinit(&waited);
		work = taken;
		show_counts(t);
	}
	pthread_mutex_unlock(&t->lock);
	vec_deinit(&work);
	return NULL;
}

static int start_thread(struct tables *t)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return -pthread_create(&t->thread, NULL, serve, t);
}

int tables_new(int tables, int wanted, uint64_t limit, struct tables **ret)
{
	struct tables *t = calloc(1, sizeof *t);
	if (!t)
		return -ENOMEM;
	t->tables = tables;
	t->wanted = wanted;
	t->limit = limit;
	t->none = create_array(1);
	int r = t->none < 0 ? t->none : start_thread(t);
	if (r < 0) {
		cleanup_close(&t->none);
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

static void free_contents(struct tables *t)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	vec_foreach(content, &t->contents) {
		if ((*content)->map_id)
			munmap((void *)((uintptr_t)(*content)->use & ~(page - 1)), page);
		vec_deinit(&(*content)->numbers);
		free(*content);
	}
	vec_deinit(&t->contents);
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stops = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	close_orders(&t->orders);
	close_orders(&t->postponed);
	free_contents(t);
	hash_index_deinit(&t->by_id);
	vec_deinit(&t->attachments);
	cleanup_close(&t->none);
	free(t);
}

int tables_supply(struct tables *t, uint32_t number, const struct mw_file_id *id, int fd)
{
	struct order order = {.number = number, .fd = fd};
	if (id)
		order.id = *id;
	pthread_mutex_lock(&t->lock);
	int r = vec_push(&t->orders, order);
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (r < 0)
		cleanup_close(&order.fd);
	return r;
}

void tables_forget_numbers(struct tables *t)
{
	pthread_mutex_lock(&t->lock);
	t->forgets = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

struct tables_counts tables_get_counts(struct tables *t)
{
	pthread_mutex_lock(&t->lock);
	struct tables_counts counts = t->shown;
	pthread_mutex_unlock(&t->lock);
	return counts;
}
