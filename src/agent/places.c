/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/places.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "content/container.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define ROOT_ID 1
/* Ids of our own have the top bit: the kernel's are inode numbers of cgroupfs. */
#define OWN_ID (UINT64_C(1) << 63)
/* Remembered answers: kernel ids, or processes on a hybrid host. Older ones are asked anew. */
#define N_ANSWERS 4096
/* A process may be moved to another cgroup, mostly right after its start. Its answer grows old after */
#define FIRST_ASK_NS UINT64_C(50000000)
/* this time, then after twice as long, up to this. */
#define LAST_ASK_NS UINT64_C(10000000000)
#define MAX_PLACES (1 << 16)
/* A container that is being set up is looked at again so often, each time after twice as long. */
#define MAX_TRIES      4
#define FIRST_RETRY_NS UINT64_C(200000000)
/* ... and so often while nobody in it lives when it is looked at. */
#define MAX_LOOKS 40
#define NONE	       UINT32_MAX

enum state {
	STATE_AGAIN,   /* to be looked at (again) */
	STATE_READING, /* a child reads the runtime's files */
	STATE_FINAL,
};

struct place {
	uint64_t cgroup; /* as the profile has it */
	uint64_t mount_namespace;
	uint64_t start_time; /* of the process it was last seen with */
	uint64_t next_try;
	uint32_t pid;
	uint32_t tid;
	uint32_t container; /* in `containers`, or NONE */
	uint8_t tries;
	uint8_t looks;
	uint8_t state;
};

/* A question that found the server busy. Its files may be gone soon, so they stay open. */
struct question {
	struct container_question text;
	int fds[CONTAINER_FILES_MAX];
	size_t n_fds;
	uint32_t place;
};

#define MAX_QUESTIONS 16

struct known {
	struct container container;
	uint32_t number; /* in the profile */
	bool is_wanted;
};

/* What places_see() found out for a kernel id, or for one process. */
struct answer {
	uint64_t id;
	uint64_t mount_namespace;
	uint64_t start_time;
	uint64_t cgroup; /* 0: free */
	uint64_t asked;  /* by the time of the sample */
	uint64_t lasts;  /* ns; 0: for ever, as the kernel's id tells the cgroup */
	uint32_t pid;
	uint32_t place; /* NONE: there was no room */
	bool in_cgroup; /* in one of those that are wanted */
};

struct places {
	struct places_options o;
	struct host_files host;
	VEC(struct place) places;
	struct hash_index place_index;
	VEC(struct known) containers;
	struct hash_index container_index; /* by runtime and id */
	VEC(struct question) questions; /* that wait, the oldest first */
	size_t n_reading;
	size_t n_again;
	struct places_counts counts;
	struct answer answers[N_ANSWERS];
};

/* ---- life ------------------------------------------------------------------------------------ */

int places_new(const struct places_options *options, struct places **ret)
{
	struct places *p = calloc(1, sizeof *p);
	if (!p)
		return -ENOMEM;
	p->o = *options;
	int r = host_files_init(&p->host, options->proc, options->log);
	if (r < 0) {
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static void close_files(const struct question *q)
{
	for (size_t i = 0; i < q->n_fds; i++)
		close(q->fds[i]);
}

void places_free(struct places *p)
{
	if (!p)
		return;
	vec_foreach(question, &p->questions)
		close_files(question);
	vec_deinit(&p->questions);
	vec_foreach(known, &p->containers)
		container_deinit(&known->container);
	vec_deinit(&p->containers);
	vec_deinit(&p->places);
	hash_index_deinit(&p->place_index);
	hash_index_deinit(&p->container_index);
	host_files_deinit(&p->host);
	free(p);
}

size_t places_unfinished(const struct places *p)
{
	return p->n_reading;
}

struct places_counts places_get_counts(const struct places *p)
{
	struct places_counts counts = p->counts;
	vec_foreach(known, &p->containers) {
		counts.containers += !container_is_unit(&known->container);
		counts.named += !container_is_unit(&known->container) &&
				known->container.text[CONTAINER_NAME];
	}
	return counts;
}

void places_list(const struct places *p, void (*found)(void *data, const char *text), void *data)
{
	vec_foreach(known, &p->containers) {
		const struct container *c = &known->container;
		const char *name = c->text[CONTAINER_NAME];
		char text[CONTAINER_TEXT_MAX + 16];
		if (!name)
			name = c->text[CONTAINER_ID] ? c->text[CONTAINER_ID] : "";
		snprintf(text, sizeof text, "%s:%s", container_runtime(c), name);
		found(data, text);
	}
}

/* ---- the job, in the child ------------------------------------------------------------------- */

static int job_container(const int *fds, size_t n_fds, const void *args, size_t args_size,
			 void *reply, size_t reply_size, struct mw_error *e)
{
	if (args_size != sizeof(struct container_question))
		return -EINVAL;
	return container_read(args, fds, n_fds, reply, e);
}

const struct run_job places_job = {
	.name = "mw-container",
	.fn = job_container,
	.reply_size = sizeof(struct container_answer),
	.memory_limit = UINT64_C(512) << 20,
	.file_size_limit = 1,
	.cpu_seconds = 5,
	.deadline_ms = 5000,
};

/* ---- containers ------------------------------------------------------------------------------ */

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* By what a container is known from the start: its id, or where none is known yet, its root. */
static enum container_text key_of(const struct container *c)
{
	return c->text[CONTAINER_ID] ? CONTAINER_ID : CONTAINER_LAYERS;
}

static bool container_equal(const void *context, uint32_t number, const void *key)
{
	const struct places *p = context;
	const struct container *a = &p->containers.items[number].container, *b = key;
	enum container_text which = key_of(b);
	return a->family == b->family && is_same_text(a->text[which], b->text[which]);
}

static uint64_t container_hash(const struct container *c)
{
	const char *text = c->text[key_of(c)];
	return hash_bytes(text ? text : "", text ? strlen(text) : 0, (uintptr_t)c->family);
}

static bool is_wanted(const struct places *p, const struct container *c)
{
	for (size_t i = 0; i < p->o.n_containers; i++) {
		if (container_matches(c, p->o.containers[i]))
			return true;
	}
	return false;
}

static void fill_texts(const struct container *c, const char **texts)
{
	static const enum profile_container_text places[CONTAINER_N_TEXTS] = {
		[CONTAINER_ID] = PROFILE_CONTAINER_ID,
		[CONTAINER_NAME] = PROFILE_CONTAINER_NAME,
		[CONTAINER_IMAGE] = PROFILE_CONTAINER_IMAGE,
		[CONTAINER_POD] = PROFILE_CONTAINER_POD,
		[CONTAINER_NAMESPACE] = PROFILE_CONTAINER_NAMESPACE,
		[CONTAINER_ROOTFS] = PROFILE_CONTAINER_ROOTFS,
		[CONTAINER_LAYERS] = PROFILE_CONTAINER_LAYERS,
	};
	texts[PROFILE_CONTAINER_RUNTIME] = container_runtime(c);
	for (size_t i = 0; i < CONTAINER_N_TEXTS; i++)
		texts[places[i]] = c->text[i];
}

/* Takes the container over. *ret is its number in `containers`. */
static int add_container(struct places *p, struct container *c, uint32_t *ret)
{
	uint64_t hash = container_hash(c);
	struct known known = {.container = *c, .is_wanted = is_wanted(p, c)};
	const char *texts[PROFILE_CONTAINER_N_TEXTS];
	fill_texts(c, texts);
	int r = profile_add_container(p->o.profile, texts, &known.number);
	if (r == 0)
		r = hash_index_add(&p->container_index, hash, (uint32_t)p->containers.n);
	if (r == 0)
		r = vec_push(&p->containers, known);
	if (r == 0) {
		*ret = (uint32_t)(p->containers.n - 1);
		*c = (struct container){};
	}
	return r;
}

static int tell_profile(struct places *p, struct known *known)
{
	const char *texts[PROFILE_CONTAINER_N_TEXTS];
	fill_texts(&known->container, texts);
	known->is_wanted = is_wanted(p, &known->container);
	return profile_set_container(p->o.profile, known->number, texts);
}

/* The first look at one may have been before it had its root. */
static int intern_container(struct places *p, struct container *c, uint32_t *ret)
{
	*ret = hash_index_find(&p->container_index, container_hash(c), container_equal, p, c);
	if (*ret == HASH_INDEX_NONE)
		return add_container(p, c, ret);
	struct known *known = &p->containers.items[*ret];
	return container_merge(&known->container, c) ? tell_profile(p, known) : 0;
}

/* ---- looking at a place ---------------------------------------------------------------------- */

static void set_state(struct places *p, struct place *place, enum state state)
{
	p->n_again -= place->state == STATE_AGAIN;
	p->n_reading -= place->state == STATE_READING;
	place->state = (uint8_t)state;
	p->n_again += state == STATE_AGAIN;
	p->n_reading += state == STATE_READING;
}

/* It is not yet what it may become. */
static void try_again(struct places *p, struct place *place)
{
	if (++place->tries >= MAX_TRIES) {
		set_state(p, place, STATE_FINAL);
		return;
	}
	place->next_try = clock_now_ns() + (FIRST_RETRY_NS << (place->tries - 1));
	set_state(p, place, STATE_AGAIN);
}

/* Whether the process sees the machine's own mounts: then it is not in a container to be. */
static bool sees_host(const struct places *p, const struct place *place)
{
	char own[64], host[64];
	return proc_readlink(p->o.proc, place->pid, "ns/mnt", own, sizeof own) > 0 &&
	       proc_readlink(p->o.proc, 1, "ns/mnt", host, sizeof host) > 0 &&
	       strcmp(own, host) == 0;
}

/* 0 or -errno; -EAGAIN: the server is busy. */
static int submit(struct places *p, const struct question *q)
{
	return run_server_submit(p->o.server, p->o.job, q->fds, q->n_fds, &q->text, sizeof q->text,
				 PLACES_TICKET | q->place);
}

/* The files that tell more, to a child. 1 if it was asked or will be, 0 if not, -ENOMEM. */
static int ask_child(struct places *p, const struct container_clues *k, const struct known *known,
		     uint32_t number)
{
	struct question q = {.place = number};
	q.n_fds = container_open_files(k, &known->container, &q.text, q.fds);
	if (!q.n_fds)
		return 0;
	int r = p->questions.n ? -EAGAIN : submit(p, &q);
	if (r == -EAGAIN && p->questions.n < MAX_QUESTIONS) {
		r = vec_push(&p->questions, q);
		if (r == 0)
			return 1;
	}
	close_files(&q);
	return r == -ENOMEM ? r : r == 0;
}

/* In the turn in which they came. */
static void submit_questions(struct places *p)
{
	size_t done = 0;
	for (; done < p->questions.n; done++) {
		const struct question *q = &p->questions.items[done];
		int r = submit(p, q);
		if (r == -EAGAIN)
			break;
		if (r < 0) /* it will be looked at again */
			set_state(p, &p->places.items[q->place], STATE_AGAIN);
		close_files(q);
	}
	p->questions.n -= done;
	if (done && p->questions.n)
		memmove(p->questions.items, p->questions.items + done,
			p->questions.n * sizeof p->questions.items[0]);
}

static void finish_look(struct places *p, struct place *place, const struct known *known)
{
	bool is_complete = known->container.text[CONTAINER_NAME] &&
			   (!container_is_unit(&known->container) || sees_host(p, place));
	if (is_complete)
		set_state(p, place, STATE_FINAL);
	else
		try_again(p, place);
}

static int put_place(struct places *p, struct place *place, uint32_t container)
{
	if (place->container == container)
		return 0;
	place->container = container;
	return profile_set_place(p->o.profile, place->cgroup, place->mount_namespace,
				 p->containers.items[container].number);
}

static int take_container(struct places *p, uint32_t number, const struct container_clues *k,
			  struct container *c)
{
	struct place *place = &p->places.items[number];
	uint32_t container;
	int r = intern_container(p, c, &container);
	if (r == 0)
		r = put_place(p, place, container);
	if (r < 0)
		return r;
	const struct known *known = &p->containers.items[container];
	r = known->container.text[CONTAINER_IMAGE] ? 0 : ask_child(p, k, known, number);
	if (r < 0)
		return r;
	if (r > 0)
		set_state(p, place, STATE_READING);
	else
		finish_look(p, place, known);
	return 0;
}

/* 1: of a living task; 0: the task is gone, but its cgroup has a path; -ESRCH, -ENOMEM. */
static int read_clues(struct places *p, const struct place *place, struct container_clues **ret)
{
	if (proc_is_same_process(p->o.proc, place->pid, place->start_time) &&
	    container_clues_read(&p->host, place->pid, place->tid, ret) == 0)
		return 1;
	uint32_t cgroup;
	int r = profile_intern_cgroup(p->o.profile, place->cgroup, &cgroup);
	if (r < 0)
		return r;
	uint32_t path = p->o.profile->cgroups.items[cgroup].path;
	return path ? container_clues_of_path(&p->host, profile_string(p->o.profile, path), ret)
		    : -ESRCH;
}

/* Nobody lives in it just now: what is known now may be all, but others will come. */
static void look_again(struct places *p, struct place *place)
{
	if (++place->looks >= MAX_LOOKS)
		set_state(p, place, STATE_FINAL);
	else
		place->next_try = clock_now_ns() + FIRST_RETRY_NS;
}

static int look(struct places *p, uint32_t number)
{
	struct place *place = &p->places.items[number];
	_cleanup_(cleanup_container_clues_free) struct container_clues *k = NULL;
	struct container c = {};
	int r = read_clues(p, place, &k);
	if (r < 0) {
		look_again(p, place);
		return r == -ENOMEM ? r : 0;
	}
	bool lives = r > 0;
	r = container_identify(k, &c);
	if (r > 0)
		r = take_container(p, number, k, &c);
	else if (r == 0 && lives && sees_host(p, place))
		set_state(p, place, STATE_FINAL);
	else if (r == 0 && lives)
		try_again(p, place);
	else
		look_again(p, place);
	container_deinit(&c);
	return r == -ENOMEM ? r : 0;
}

int places_take_result(struct places *p, const struct run_result *result)
{
	uint64_t number = result->ticket & ~PLACES_TICKET;
	if (number >= p->places.n)
		return 0;
	struct place *place = &p->places.items[number];
	if (place->state != STATE_READING)
		return 0;
	struct known *known = &p->containers.items[place->container];
	if (result->outcome != RUN_DONE || result->reply_size != sizeof(struct container_answer)) {
		log_debug(p->o.log, "container %s: %s",
			  known->container.text[CONTAINER_ID] ? known->container.text[CONTAINER_ID]
							      : "without an id",
			  result->error.msg);
		p->counts.failed++;
		finish_look(p, place, known);
		return 0;
	}
	int r = container_take_answer(&known->container, result->reply);
	if (r >= 0)
		r = tell_profile(p, known);
	finish_look(p, place, known);
	return r < 0 ? r : 0;
}

int places_go_on(struct places *p)
{
	submit_questions(p);
	if (!p->n_again)
		return 0;
	uint64_t now = clock_now_ns();
	int r = 0;
	for (uint32_t i = 0; i < p->places.n && r == 0; i++) {
		const struct place *place = &p->places.items[i];
		if (place->state == STATE_AGAIN && place->next_try <= now)
			r = look(p, i);
	}
	return r;
}

void places_give_up(struct places *p)
{
	vec_foreach(place, &p->places)
		set_state(p, place, STATE_FINAL);
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool place_equal(const void *context, uint32_t number, const void *key)
{
	const struct places *p = context;
	const struct place *a = &p->places.items[number], *b = key;
	return a->cgroup == b->cgroup && a->mount_namespace == b->mount_namespace;
}

static uint64_t place_hash(uint64_t cgroup, uint64_t mount_namespace)
{
	return hash_u64(mount_namespace ^ hash_u64(cgroup));
}

static uint32_t find_place(const struct places *p, uint64_t cgroup, uint64_t mount_namespace)
{
	struct place key = {.cgroup = cgroup, .mount_namespace = mount_namespace};
	return hash_index_find(&p->place_index, place_hash(cgroup, mount_namespace), place_equal, p,
			       &key);
}

/* NONE in *ret if there is no room. */
static int see_place(struct places *p, const struct sample *sample, uint64_t cgroup, uint32_t *ret)
{
	*ret = find_place(p, cgroup, sample->mount_namespace);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (p->places.n >= MAX_PLACES) {
		p->counts.full++;
		return 0;
	}
	struct place place = {
		.cgroup = cgroup,
		.mount_namespace = sample->mount_namespace,
		.start_time = sample->task.start_time,
		.pid = sample->task.pid,
		.tid = sample->task.tid,
		.container = NONE,
		.state = STATE_AGAIN,
	};
	int r = vec_push(&p->places, place);
	if (r < 0)
		return r;
	p->n_again++;
	*ret = (uint32_t)(p->places.n - 1);
	r = hash_index_add(&p->place_index, place_hash(cgroup, sample->mount_namespace), *ret);
	return r < 0 ? r : look(p, *ret);
}

/* The next look will be at whoever lives. */
static void see_again(struct place *place, const struct sample *sample)
{
	place->pid = sample->task.pid;
	place->tid = sample->task.tid;
	place->start_time = sample->task.start_time;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Asks /proc; if the process is gone already, the kernel by the cgroup's id. */
static uint64_t ask_cgroup(struct places *p, const struct sample *sample, bool *ret_is_known)
{
	_cleanup_free_ char *path = NULL;
	uint64_t id = sample->cgroup;
	*ret_is_known = proc_is_same_process(p->o.proc, sample->task.pid, sample->task.start_time) &&
			proc_cgroup(p->o.proc, sample->task.pid, &path) == 0;
	if (!*ret_is_known && id != ROOT_ID)
		*ret_is_known = cgroup_path_of_id(p->o.proc, id, &path) == 0;
	if (!*ret_is_known)
		return id;
	if (id == ROOT_ID && strcmp(path, "/") != 0)
		id = OWN_ID | hash_bytes(path, strlen(path), 0);
	profile_set_cgroup(p->o.profile, id, path);
	return id;
}

static int ask(struct places *p, const struct sample *sample, struct answer *answer)
{
	bool is_known;
	answer->cgroup = ask_cgroup(p, sample, &is_known);
	for (size_t i = 0; i < p->o.n_cgroups && !answer->in_cgroup; i++)
		answer->in_cgroup =
			cgroup_target_has(&p->o.cgroups[i], p->o.proc, sample->task.pid);
	int r = see_place(p, sample, answer->cgroup, &answer->place);
	/* Who lives at the next sample may be asked then. */
	return r < 0 ? r : is_known;
}

static enum places_verdict verdict_of(const struct places *p, const struct place *place)
{
	if (!p->o.n_containers)
		return p->o.n_cgroups ? PLACES_OTHER : PLACES_WANTED;
	if (place && place->container != NONE && p->containers.items[place->container].is_wanted)
		return PLACES_WANTED;
	return place && place->state != STATE_FINAL ? PLACES_UNDECIDED : PLACES_OTHER;
}

enum places_verdict places_verdict(const struct places *p, uint64_t cgroup,
				   uint64_t mount_namespace)
{
	uint32_t place = find_place(p, cgroup, mount_namespace);
	return verdict_of(p, place == HASH_INDEX_NONE ? NULL : &p->places.items[place]);
}

/* What the answer to a sample is kept by. */
static struct answer question_of(const struct places *p, const struct sample *sample)
{
	struct answer a = {.id = sample->cgroup, .mount_namespace = sample->mount_namespace};
	if (a.id != ROOT_ID && !p->o.n_cgroups)
		return a;
	a.pid = sample->task.pid; /* the id says too little of this process */
	a.start_time = sample->task.start_time;
	a.lasts = FIRST_ASK_NS;
	return a;
}

static struct answer *slot_of(struct places *p, const struct answer *a)
{
	uint64_t hash = hash_u64(place_hash(a->id, a->mount_namespace) ^
				 hash_u64(a->start_time ^ a->pid));
	return &p->answers[hash % N_ANSWERS];
}

static bool is_answer(const struct answer *a, const struct answer *question)
{
	return a->id == question->id && a->pid == question->pid &&
	       a->start_time == question->start_time &&
	       a->mount_namespace == question->mount_namespace;
}

static bool is_fresh(const struct answer *a, uint64_t now)
{
	return a->cgroup && (!a->lasts || now < a->asked + a->lasts);
}

/* The answer to a sample, from the table or asked for now. 0 or -ENOMEM. */
static int answer(struct places *p, const struct sample *sample, struct answer *ret)
{
	struct answer question = question_of(p, sample);
	struct answer *slot = slot_of(p, &question);
	bool is_known = slot->cgroup && is_answer(slot, &question);
	if (is_known && is_fresh(slot, sample->time)) {
		*ret = *slot;
		return 0;
	}
	if (is_known)
		question.lasts = MIN(slot->lasts * 2, LAST_ASK_NS);
	question.asked = sample->time;
	int r = ask(p, sample, &question);
	if (r < 0)
		return r;
	if (r == 0 && is_known) /* gone meanwhile: what was known of it stays true */
		question = *slot;
	*ret = question;
	*slot = question;
	if (r == 0 && !is_known)
		slot->cgroup = 0;
	return 0;
}

int places_see(struct places *p, const struct sample *sample, uint64_t *ret_cgroup,
	       enum places_verdict *ret_verdict)
{
	struct answer a;
	int r = answer(p, sample, &a);
	if (r < 0)
		return r;
	struct place *place = a.place == NONE ? NULL : &p->places.items[a.place];
	if (place && place->state == STATE_AGAIN)
		see_again(place, sample);
	*ret_cgroup = a.cgroup;
	*ret_verdict = a.in_cgroup ? PLACES_WANTED : verdict_of(p, place);
	return 0;
}
