/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BUCKET_NS   UINT64_C(100000000)
#define MAX_FRAMES  (UINT32_C(4) << 20)
#define MAX_NODES   (UINT32_C(16) << 20)
#define MAX_SAMPLES (UINT32_C(1) << 20)
#define KEPT_BYTES  ((size_t)4 << 20)

/* The loss that stands for samples that found a table full. */
#define LOSS_FULL "profile-full"

int profile_new(const struct profile_options *options, struct profile **ret)
{
	_cleanup_(cleanup_profile_free) struct profile *p = calloc(1, sizeof *p);
	if (!p)
		return -ENOMEM;
	if (options)
		p->options = *options;
	if (!p->options.bucket_ns)
		p->options.bucket_ns = BUCKET_NS;
	if (!p->options.max_frames)
		p->options.max_frames = MAX_FRAMES;
	if (!p->options.max_nodes)
		p->options.max_nodes = MAX_NODES;
	if (!p->options.max_samples)
		p->options.max_samples = MAX_SAMPLES;
	if (!p->options.kept_bytes)
		p->options.kept_bytes = KEPT_BYTES;
	uint32_t empty;
	if (profile_add_string(p, "", &empty) < 0 || vec_push(&p->nodes, (struct profile_node){}) < 0)
		return -ENOMEM;
	*ret = take_ptr(p);
	return 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	strings_deinit(&p->strings);
	vec_deinit(&p->files);
	vec_deinit(&p->tasks);
	vec_deinit(&p->cgroups);
	vec_deinit(&p->containers);
	vec_deinit(&p->places);
	vec_deinit(&p->codes);
	vec_deinit(&p->events);
	vec_deinit(&p->frames);
	vec_deinit(&p->nodes);
	vec_deinit(&p->samples);
	vec_deinit(&p->facts);
	vec_deinit(&p->tallies);
	vec_deinit(&p->changed_files);
	vec_deinit(&p->changed_cgroups);
	vec_deinit(&p->changed_containers);
	vec_deinit(&p->changed_places);
	vec_deinit(&p->changed_codes);
	vec_deinit(&p->changed_names);
	vec_deinit(&p->changed_lines);
	vec_deinit(&p->lines);
	hash_index_deinit(&p->task_index);
	hash_index_deinit(&p->cgroup_index);
	hash_index_deinit(&p->place_index);
	hash_index_deinit(&p->frame_index);
	hash_index_deinit(&p->node_index);
	hash_index_deinit(&p->sample_index);
	free(p->damage);
	free(p);
}

int profile_add_string(struct profile *p, const char *text, uint32_t *ret)
{
	return strings_add(&p->strings, text, strlen(text), ret);
}

const char *profile_string(const struct profile *p, uint32_t number)
{
	return strings_get(&p->strings, number);
}

int profile_add_file(struct profile *p, const char *path, uint32_t device, uint64_t inode,
		     uint32_t *ret)
{
	struct profile_file file = {.device = device, .inode = inode};
	int r = profile_add_string(p, path ? path : "", &file.path);
	if (r < 0)
		return r;
	r = vec_push(&p->files, file);
	if (r == 0)
		*ret = (uint32_t)(p->files.n - 1);
	return r;
}

int profile_set_file(struct profile *p, uint32_t file, const struct mw_file_id *id,
		     enum mw_reason reason)
{
	if (file >= p->files.n)
		return -ENOENT;
	struct profile_file *f = &p->files.items[file];
	f->id = id ? *id : (struct mw_file_id){};
	f->reason = (uint8_t)reason;
	return vec_push(&p->changed_files, file);
}

int profile_set_path(struct profile *p, uint32_t file, const char *path)
{
	if (file >= p->files.n)
		return -ENOENT;
	int r = profile_add_string(p, path, &p->files.items[file].path);
	return r < 0 ? r : vec_push(&p->changed_files, file);
}

int profile_set_store_id(struct profile *p, uint32_t file, const struct mw_file_id *id)
{
	if (file >= p->files.n)
		return -ENOENT;
	p->files.items[file].store_id = *id;
	return 0;
}

int profile_add_code(struct profile *p, const struct profile_code *code, uint32_t *ret)
{
	*ret = (uint32_t)p->codes.n;
	return vec_push(&p->codes, *code);
}

int profile_set_code(struct profile *p, uint32_t number, const struct profile_code *code)
{
	if (number >= p->codes.n)
		return -ENOENT;
	p->codes.items[number] = *code;
	return vec_push(&p->changed_codes, number);
}

int profile_add_event(struct profile *p, const char *name, const char *unit, uint64_t period,
		      uint64_t frequency, uint32_t *ret)
{
	struct profile_event event = {.period = period, .frequency = frequency};
	int r = profile_add_string(p, name, &event.name);
	if (r == 0)
		r = profile_add_string(p, unit, &event.unit);
	if (r == 0)
		r = vec_push(&p->events, event);
	if (r == 0)
		*ret = (uint32_t)(p->events.n - 1);
	return r;
}

/* ---- interning ------------------------------------------------------------------------------- */

static bool task_equal(const void *context, uint32_t entry, const void *key)
{
	const struct profile *p = context;
	const struct profile_task *a = &p->tasks.items[entry], *b = key;
	return memcmp(a, b, sizeof *a) == 0;
}

static int intern_task(struct profile *p, const struct sample *sample, uint32_t *ret)
{
	struct profile_task task = {.key = sample->task}; /* without gaps: compared as bytes */
	task.key.unused = 0;
	size_t length = strnlen(sample->command, sizeof sample->command);
	int r = strings_add(&p->strings, sample->command, length, &task.command);
	if (r < 0)
		return r;
	uint64_t hash = hash_bytes(&task, sizeof task, 0);
	*ret = hash_index_find(&p->task_index, hash, task_equal, p, &task);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (p->forgotten_tasks + p->tasks.n >= PROFILE_TASKS_MAX)
		return -ENOSPC;
	r = vec_push(&p->tasks, task);
	if (r < 0)
		return r;
	*ret = (uint32_t)(p->tasks.n - 1);
	return hash_index_add(&p->task_index, hash, *ret);
}

static bool cgroup_equal(const void *context, uint32_t entry, const void *key)
{
	const struct profile *p = context;
	return p->cgroups.items[entry].id == *(const uint64_t *)key;
}

int profile_intern_cgroup(struct profile *p, uint64_t id, uint32_t *ret)
{
	uint64_t hash = hash_u64(id);
	*ret = hash_index_find(&p->cgroup_index, hash, cgroup_equal, p, &id);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	int r = vec_push(&p->cgroups, (struct profile_cgroup){.id = id});
	if (r < 0)
		return r;
	*ret = (uint32_t)(p->cgroups.n - 1);
	return hash_index_add(&p->cgroup_index, hash, *ret);
}

static bool frame_equal(const void *context, uint32_t entry, const void *key)
{
	const struct profile *p = context;
	const struct frame *a = &p->frames.items[entry].at, *b = key;
	return a->address == b->address && a->file == b->file && a->kind == b->kind &&
	       a->flags == b->flags && a->reason == b->reason;
}

/* -ENOSPC if the table is full but for the spare entries. */
static int intern_frame(struct profile *p, const struct frame *frame, uint32_t spare, uint32_t *ret)
{
	struct frame key = *frame;
	if (!frame_has_file(&key))
		key.file = 0;
	key.unused = 0;
	uint64_t rest = (uint64_t)key.file << 32 | (uint32_t)key.kind << 16 |
			(uint32_t)key.flags << 8 | key.reason;
	uint64_t hash = hash_u64(key.address ^ hash_u64(rest));
	*ret = hash_index_find(&p->frame_index, hash, frame_equal, p, &key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (p->frames.n + spare >= p->options.max_frames ||
	    p->forgotten_frames + p->frames.n + spare >= PROFILE_FRAMES_MAX)
		return -ENOSPC;
	int r = vec_push(&p->frames, (struct profile_frame){.at = key});
	if (r < 0)
		return r;
	*ret = (uint32_t)(p->frames.n - 1);
	return hash_index_add(&p->frame_index, hash, *ret);
}

static bool node_equal(const void *context, uint32_t entry, const void *key)
{
	const struct profile *p = context;
	const struct profile_node *a = &p->nodes.items[entry], *b = key;
	return a->caller == b->caller && a->frame == b->frame;
}

static int intern_node(struct profile *p, struct profile_node node, uint32_t spare, uint32_t *ret)
{
	uint64_t hash = hash_u64((uint64_t)node.caller << 32 | node.frame);
	*ret = hash_index_find(&p->node_index, hash, node_equal, p, &node);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (p->nodes.n + spare >= p->options.max_nodes ||
	    p->forgotten_nodes + p->nodes.n + spare >= PROFILE_NODES_MAX)
		return -ENOSPC;
	int r = vec_push(&p->nodes, node);
	if (r < 0)
		return r;
	*ret = (uint32_t)(p->nodes.n - 1);
	return hash_index_add(&p->node_index, hash, *ret);
}

/* The stack of n frames, leaf first, called from another stack. */
static int intern_frames(struct profile *p, const struct frame *frames, uint32_t n, uint32_t spare,
			 uint32_t caller, uint32_t *ret)
{
	uint32_t node = caller;
	for (uint32_t i = n; i-- > 0;) {
		struct profile_node next = {.caller = node};
		int r = intern_frame(p, &frames[i], spare, &next.frame);
		if (r == 0)
			r = intern_node(p, next, spare, &node);
		if (r < 0)
			return r;
	}
	*ret = node;
	return 0;
}

/* The stack of a sample, or the one that says there was no room for it. */
static int intern_stack(struct profile *p, const struct sample *sample, uint32_t *ret)
{
	const struct frame cut = {.kind = FRAME_RAW, .reason = MW_REASON_CUT_DEPTH};
	uint32_t n = sample->n_frames, outer = 0;
	int r = 0;
	if (n > PROFILE_DEPTH_MAX) {
		r = intern_frames(p, &cut, 1, 1, 0, &outer);
		n = PROFILE_DEPTH_MAX - 1;
	}
	if (r == 0)
		r = intern_frames(p, sample->frames, n, 1, outer, ret);
	if (r != -ENOSPC)
		return r;
	/* for which one entry was spared */
	const struct frame evicted = {.kind = FRAME_RAW, .reason = MW_REASON_EVICTED};
	return intern_frames(p, &evicted, 1, 0, 0, ret);
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool sample_equal(const void *context, uint32_t entry, const void *key)
{
	const struct profile *p = context;
	const struct profile_sample *a = &p->samples.items[entry], *b = key;
	return memcmp(a, b, offsetof(struct profile_sample, count)) == 0;
}

/* -ENOSPC if the table is full. */
static int count_sample(struct profile *p, const struct profile_sample *key, uint64_t value)
{
	uint64_t hash = hash_bytes(key, offsetof(struct profile_sample, count), 0);
	uint32_t at = hash_index_find(&p->sample_index, hash, sample_equal, p, key);
	if (at == HASH_INDEX_NONE) {
		if (p->samples.n >= p->options.max_samples)
			return -ENOSPC;
		int r = vec_push(&p->samples, *key);
		if (r < 0)
			return r;
		at = (uint32_t)(p->samples.n - 1);
		r = hash_index_add(&p->sample_index, hash, at);
		if (r < 0) {
			p->samples.n--;
			return r;
		}
	}
	p->samples.items[at].count++;
	p->samples.items[at].value += value;
	return 0;
}

static void add_totals(struct profile *p, const struct sample *sample, uint32_t stack)
{
	p->total_count++;
	p->total_value += sample->value;
	if (sample->time > p->last_time)
		p->last_time = sample->time;
	if (stack) {
		struct profile_frame *leaf = &p->frames.items[p->nodes.items[stack].frame];
		leaf->self_count++;
		leaf->self_value += sample->value;
	}
}

static int lose_sample(struct profile *p)
{
	uint64_t lost = 0;
	vec_foreach(tally, &p->tallies) {
		if (tally->kind == PROFILE_LOSS &&
		    strcmp(profile_string(p, tally->name), LOSS_FULL) == 0)
			lost = tally->count;
	}
	int r = profile_set_tally(p, PROFILE_LOSS, LOSS_FULL, lost + 1);
	return r < 0 ? r : 0;
}

static bool numbers_exist(const struct profile *p, const struct sample *sample)
{
	for (uint32_t i = 0; i < sample->n_frames; i++) {
		const struct frame *f = &sample->frames[i];
		if (frame_has_file(f) && f->file >= p->files.n)
			return false;
	}
	return sample->event < p->events.n;
}

int profile_add_sample(struct profile *p, const struct sample *sample)
{
	if (p->read_only)
		return -EROFS;
	if (!numbers_exist(p, sample))
		return -EINVAL;
	struct profile_sample key;
	memset(&key, 0, sizeof key); /* it is compared and hashed as bytes */
	key.bucket = sample->time / p->options.bucket_ns;
	key.mount_namespace = sample->mount_namespace;
	key.cpu = sample->cpu;
	key.event = sample->event;
	int r = intern_task(p, sample, &key.task);
	if (r == 0)
		r = profile_intern_cgroup(p, sample->cgroup, &key.cgroup);
	if (r == 0)
		r = intern_stack(p, sample, &key.stack);
	if (r == 0)
		r = count_sample(p, &key, sample->value);
	if (r == -ENOSPC)
		return lose_sample(p);
	if (r < 0)
		return r;
	add_totals(p, sample, key.stack);
	return 1;
}

void profile_drop_samples(struct profile *p)
{
	p->samples.n = 0;
	hash_index_deinit(&p->sample_index);
}

int profile_is_large(const struct profile *p)
{
	size_t bytes = p->tasks.n * sizeof *p->tasks.items +
		       p->frames.n * sizeof *p->frames.items +
		       p->lines.n * sizeof *p->lines.items +
		       p->nodes.n * sizeof *p->nodes.items;
	bytes += sizeof(uint64_t) * (p->task_index.n_slots + p->frame_index.n_slots +
				     p->node_index.n_slots);
	if (bytes <= p->options.kept_bytes || p->forgotten_frames >= PROFILE_FRAMES_MAX / 2 ||
	    p->forgotten_nodes >= PROFILE_NODES_MAX / 2)
		return 0;
	return bytes / 2 > p->options.kept_bytes ? 2 : 1;
}

void profile_forget(struct profile *p)
{
	p->forgotten_tasks += (uint32_t)p->tasks.n;
	p->forgotten_frames += (uint32_t)p->frames.n;
	p->forgotten_nodes += (uint32_t)p->nodes.n - 1;
	vec_deinit(&p->tasks);
	vec_deinit(&p->frames);
	vec_deinit(&p->lines);
	p->nodes.n = 1;
	hash_index_deinit(&p->task_index);
	hash_index_deinit(&p->frame_index);
	hash_index_deinit(&p->node_index);
}

/* ---- what is learned later ------------------------------------------------------------------- */

int profile_set_cgroup(struct profile *p, uint64_t id, const char *path)
{
	uint32_t number;
	int r = profile_intern_cgroup(p, id, &number);
	if (r == 0)
		r = profile_add_string(p, path, &p->cgroups.items[number].path);
	return r < 0 ? r : vec_push(&p->changed_cgroups, number);
}

int profile_set_name(struct profile *p, uint32_t frame, const char *name, const char *module,
		     uint64_t start, enum mw_reason reason)
{
	if (frame >= p->frames.n)
		return -ENOENT;
	struct profile_name n = {.start = start, .reason = (uint8_t)reason};
	int r = name ? profile_add_string(p, name, &n.name) : 0;
	if (r == 0 && module)
		r = profile_add_string(p, module, &n.module);
	if (r == 0)
		r = vec_push(&p->changed_names, frame);
	if (r == 0)
		p->frames.items[frame].name = n;
	return r;
}

int profile_set_lines(struct profile *p, uint32_t frame, const struct profile_line *lines, size_t n)
{
	if (frame >= p->frames.n)
		return -ENOENT;
	struct profile_frame *f = &p->frames.items[frame];
	struct profile_line cut[PROFILE_LINES_MAX];
	if (n > PROFILE_LINES_MAX) {
		memcpy(cut, lines, sizeof cut);
		cut[PROFILE_LINES_MAX - 1] = lines[n - 1];
		lines = cut;
		n = PROFILE_LINES_MAX;
	}
	if (f->n_lines == n &&
	    (!n || memcmp(p->lines.items + f->first_line, lines, n * sizeof *lines) == 0))
		return 0;
	int r = vec_reserve(&p->lines, p->lines.n + n);
	if (r == 0)
		r = vec_push(&p->changed_lines, frame);
	if (r < 0)
		return r;
	f->first_line = (uint32_t)p->lines.n;
	f->n_lines = (uint32_t)n;
	if (n)
		memcpy(p->lines.items + p->lines.n, lines, n * sizeof *lines);
	p->lines.n += n;
	return 0;
}

int profile_set_fact(struct profile *p, const char *key, const char *value)
{
	struct profile_fact fact;
	int r = profile_add_string(p, key, &fact.key);
	if (r == 0)
		r = profile_add_string(p, value, &fact.value);
	if (r < 0)
		return r;
	p->changed_facts = true;
	vec_foreach(known, &p->facts) {
		if (known->key == fact.key) {
			known->value = fact.value;
			return 0;
		}
	}
	return vec_push(&p->facts, fact);
}

int profile_set_fact_number(struct profile *p, const char *key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRIu64, value);
	return profile_set_fact(p, key, text);
}

int profile_set_tally(struct profile *p, enum profile_tally_kind kind, const char *name,
		      uint64_t count)
{
	struct profile_tally tally = {.kind = (uint8_t)kind, .count = count};
	int r = profile_add_string(p, name, &tally.name);
	if (r < 0)
		return r;
	p->changed_facts = true;
	vec_foreach(known, &p->tallies) {
		if (known->kind == tally.kind && known->name == tally.name) {
			known->count = count;
			return 0;
		}
	}
	return vec_push(&p->tallies, tally);
}

/* ---- questions ------------------------------------------------------------------------------- */

const char *profile_fact(const struct profile *p, const char *key)
{
	vec_foreach(fact, &p->facts) {
		if (strcmp(profile_string(p, fact->key), key) == 0)
			return profile_string(p, fact->value);
	}
	return NULL;
}

uint64_t profile_fact_number(const struct profile *p, const char *key, uint64_t missing)
{
	const char *text = profile_fact(p, key);
	if (!text || *text < '0' || *text > '9')
		return missing;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	return errno || *end ? missing : value;
}

uint64_t profile_tally_sum(const struct profile *p, enum profile_tally_kind kind)
{
	uint64_t sum = 0;
	vec_foreach(tally, &p->tallies) {
		if (tally->kind == kind)
			sum += tally->count;
	}
	return sum;
}

enum mw_reason profile_frame_reason(const struct profile *p, const struct profile_frame *f)
{
	if (f->name.name)
		return MW_REASON_NONE;
	if (f->name.reason)
		return f->name.reason;
	if (f->at.reason)
		return f->at.reason;
	switch (f->at.kind) {
	case FRAME_FILE: {
		const struct profile_file *file =
			f->at.file < p->files.n ? &p->files.items[f->at.file] : NULL;
		return file && file->reason ? file->reason : MW_REASON_NO_SYMBOL_THERE;
	}
	case FRAME_KERNEL:
		return MW_REASON_NO_SYMBOL_THERE;
	case FRAME_JIT:
		return MW_REASON_JIT_NO_MAP;
	default:
		return MW_REASON_NO_MAPPING;
	}
}

size_t profile_stack_frames(const struct profile *p, uint32_t stack, uint32_t *frames, size_t max)
{
	size_t n = 0;
	for (; stack && stack < p->nodes.n; stack = p->nodes.items[stack].caller, n++) {
		if (n < max)
			frames[n] = p->nodes.items[stack].frame;
	}
	return n;
}
