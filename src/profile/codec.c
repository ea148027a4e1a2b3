/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/codec.h"

#include "base/cursor.h"
#include "base/error.h"

#include <string.h>

enum tag {
	TAG_STRINGS = 1,
	TAG_FILES,
	TAG_CGROUPS,
	TAG_EVENTS,
	TAG_TASKS,
	TAG_FRAMES,
	TAG_NAMES,
	TAG_NODES,
	TAG_SAMPLES,
	TAG_FACTS,
	TAG_TALLIES,
	TAG_CONTAINERS, /* since 1.1 */
	TAG_PLACES,
	TAG_CODES, /* since 1.2 */
	TAG_LINES,
};

/* A chunk is closed once it has so many bytes. */
#define CHUNK_SIZE ((size_t)8 << 20)

/* What a reader takes before it calls a file hostile. */
#define MAX_SMALL_ENTRIES ((size_t)4 << 20)
#define MAX_FACTS	  ((size_t)1 << 10) /* they are searched one by one */
#define MAX_STRINGS	  ((size_t)16 << 20)
#define MAX_TASKS	  ((size_t)PROFILE_TASKS_MAX)
#define MAX_FRAMES	  ((size_t)PROFILE_FRAMES_MAX)
#define MAX_NODES	  ((size_t)PROFILE_NODES_MAX)
#define MAX_LINES	  ((size_t)64 << 20)
#define MAX_SAMPLES	  ((size_t)64 << 20)
/* How far a number may point behind the end of its table: more than a missing chunk explains. */
#define MAX_GAP		  ((size_t)1 << 20)

static const char missing_text[] = "[missing]";

/* ---- encoding -------------------------------------------------------------------------------- */

static void buffer_sleb(struct buffer *b, int64_t v)
{
	for (;;) {
		uint8_t byte = v & 0x7f;
		v >>= 7;
		bool done = (v == 0 && !(byte & 0x40)) || (v == -1 && byte & 0x40);
		buffer_u8(b, byte | (done ? 0 : 0x80));
		if (done)
			return;
	}
}

/* Adds a section to out and empties it. An empty one is left out. */
static void end_section(struct buffer *out, enum tag tag, struct buffer *section)
{
	if (section->n) {
		buffer_u8(out, tag);
		buffer_uleb(out, section->n);
		buffer_bytes(out, section->data, section->n);
	}
	out->failed = out->failed || section->failed;
	section->n = 0;
}

/* True if there is room left in the chunk. */
static bool has_room(const struct buffer *out, const struct buffer *section)
{
	return !out->failed && !section->failed && out->n + section->n < CHUNK_SIZE;
}

static void encode_string(struct buffer *b, const struct profile *p, size_t number)
{
	const char *text = profile_string(p, (uint32_t)number);
	size_t n = strlen(text);
	buffer_uleb(b, n);
	buffer_bytes(b, text, n);
}

static void encode_file(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_file *f = &p->files.items[number];
	buffer_uleb(b, number);
	buffer_u8(b, f->id.kind);
	buffer_u8(b, f->id.size);
	buffer_bytes(b, f->id.bytes, f->id.size);
	buffer_uleb(b, f->path);
	buffer_uleb(b, f->device);
	buffer_uleb(b, f->inode);
	buffer_u8(b, f->reason);
}

static void encode_cgroup(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_cgroup *c = &p->cgroups.items[number];
	buffer_uleb(b, number);
	buffer_uleb(b, c->id);
	buffer_uleb(b, c->path);
}

static void encode_container(struct buffer *b, const struct profile *p, size_t number)
{
	buffer_uleb(b, number);
	for (size_t i = 0; i < PROFILE_CONTAINER_N_TEXTS; i++)
		buffer_uleb(b, p->containers.items[number].text[i]);
}

static void encode_place(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_place *place = &p->places.items[number];
	buffer_uleb(b, place->cgroup);
	buffer_uleb(b, place->mount_namespace);
	buffer_uleb(b, place->container);
}

static void encode_code(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_code *code = &p->codes.items[number];
	buffer_uleb(b, number);
	buffer_uleb(b, code->file);
	buffer_uleb(b, code->name);
	buffer_uleb(b, code->start);
	buffer_uleb(b, code->end);
	buffer_uleb(b, code->from);
	buffer_uleb(b, code->until);
}

static void encode_event(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_event *event = &p->events.items[number];
	buffer_uleb(b, number);
	buffer_uleb(b, event->name);
	buffer_uleb(b, event->unit);
	buffer_uleb(b, event->period);
	buffer_uleb(b, event->frequency);
}

static void encode_task(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_task *t = &p->tasks.items[number];
	buffer_uleb(b, t->key.pid);
	buffer_uleb(b, t->key.tid);
	buffer_uleb(b, t->key.start_time);
	buffer_uleb(b, t->key.exec_count);
	buffer_uleb(b, t->command);
}

static void encode_frame(struct buffer *b, const struct profile *p, size_t number)
{
	const struct frame *f = &p->frames.items[number].at;
	buffer_u8(b, f->kind);
	buffer_u8(b, f->flags);
	buffer_u8(b, f->reason);
	buffer_uleb(b, f->file);
	buffer_uleb(b, f->address);
}

static void encode_name(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_name *n = &p->frames.items[number].name;
	buffer_uleb(b, number + p->forgotten_frames);
	buffer_uleb(b, n->name);
	buffer_uleb(b, n->module);
	buffer_uleb(b, n->start);
	buffer_u8(b, n->reason);
}

/* The empty stack is never forgotten. */
static uint64_t node_in_file(const struct profile *p, size_t number)
{
	return number ? number + p->forgotten_nodes : 0;
}

static void encode_lines(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_frame *f = &p->frames.items[number];
	buffer_uleb(b, number + p->forgotten_frames);
	buffer_uleb(b, f->n_lines);
	for (uint32_t i = 0; i < f->n_lines; i++) {
		const struct profile_line *l = &p->lines.items[f->first_line + i];
		buffer_uleb(b, l->name);
		buffer_uleb(b, l->file);
		buffer_uleb(b, l->line);
	}
}

static void encode_node(struct buffer *b, const struct profile *p, size_t number)
{
	const struct profile_node *n = &p->nodes.items[number];
	buffer_uleb(b, node_in_file(p, number) - node_in_file(p, n->caller));
	buffer_uleb(b, n->frame + (number ? (uint64_t)p->forgotten_frames : 0));
}

typedef void encode_fn(struct buffer *b, const struct profile *p, size_t number);

/*
 * Entries *from to end, which follow each other without gaps; the first number goes before them, by
 * which those that were forgotten count.
 */
static void encode_run(struct buffer *out, const struct profile *p, enum tag tag, encode_fn *encode,
		       size_t *from, size_t end, uint32_t forgotten)
{
	struct buffer section = {};
	if (*from < end && has_room(out, &section))
		buffer_uleb(&section, *from + (*from || tag != TAG_NODES ? forgotten : 0));
	for (; *from < end && has_room(out, &section); ++*from)
		encode(&section, p, *from);
	end_section(out, tag, &section);
	buffer_deinit(&section);
}

/* New entries from *from to end, then changed ones before it; each carries its number. */
static void encode_numbered(struct buffer *out, const struct profile *p, enum tag tag,
			    encode_fn *encode, size_t *from, size_t end, size_t *change,
			    const uint32_t *changed, size_t n_changed)
{
	struct buffer section = {};
	for (; *from < end && has_room(out, &section); ++*from)
		encode(&section, p, *from);
	for (; *change < n_changed && has_room(out, &section); ++*change)
		encode(&section, p, changed[*change]);
	end_section(out, tag, &section);
	buffer_deinit(&section);
}

static void encode_samples(struct buffer *out, const struct profile *p, size_t *from)
{
	struct buffer section = {};
	uint64_t bucket = 0;
	for (; *from < p->samples.n && has_room(out, &section); ++*from) {
		const struct profile_sample *s = &p->samples.items[*from];
		buffer_sleb(&section, (int64_t)(s->bucket - bucket));
		bucket = s->bucket;
		buffer_uleb(&section, (uint64_t)s->task + p->forgotten_tasks);
		buffer_uleb(&section, s->cgroup);
		buffer_uleb(&section, s->mount_namespace);
		buffer_uleb(&section, s->cpu);
		buffer_uleb(&section, s->event);
		buffer_uleb(&section, node_in_file(p, s->stack));
		buffer_uleb(&section, s->count);
		buffer_uleb(&section, s->value);
	}
	end_section(out, TAG_SAMPLES, &section);
	buffer_deinit(&section);
}

static void encode_facts(struct buffer *out, const struct profile *p, bool *ret_done)
{
	struct buffer section = {};
	vec_foreach(fact, &p->facts) {
		buffer_uleb(&section, fact->key);
		buffer_uleb(&section, fact->value);
	}
	end_section(out, TAG_FACTS, &section);
	vec_foreach(tally, &p->tallies) {
		buffer_u8(&section, tally->kind);
		buffer_uleb(&section, tally->name);
		buffer_uleb(&section, tally->count);
	}
	end_section(out, TAG_TALLIES, &section);
	buffer_deinit(&section);
	*ret_done = true;
}

bool codec_encode(const struct profile *p, struct codec_mark *m, struct buffer *out)
{
	size_t none = 0;
	encode_run(out, p, TAG_STRINGS, encode_string, &m->strings, p->strings.texts.n, 0);
	encode_numbered(out, p, TAG_FILES, encode_file, &m->files, p->files.n, &m->changed_files,
			p->changed_files.items, p->changed_files.n);
	encode_numbered(out, p, TAG_CGROUPS, encode_cgroup, &m->cgroups, p->cgroups.n,
			&m->changed_cgroups, p->changed_cgroups.items, p->changed_cgroups.n);
	encode_numbered(out, p, TAG_CONTAINERS, encode_container, &m->containers, p->containers.n,
			&m->changed_containers, p->changed_containers.items,
			p->changed_containers.n);
	encode_numbered(out, p, TAG_PLACES, encode_place, &m->places, p->places.n,
			&m->changed_places, p->changed_places.items, p->changed_places.n);
	encode_numbered(out, p, TAG_EVENTS, encode_event, &m->events, p->events.n, &none, NULL, 0);
	encode_run(out, p, TAG_TASKS, encode_task, &m->tasks, p->tasks.n,
		   p->forgotten_tasks);
	encode_run(out, p, TAG_FRAMES, encode_frame, &m->frames, p->frames.n,
		   p->forgotten_frames);
	encode_numbered(out, p, TAG_NAMES, encode_name, &none, 0, &m->changed_names,
			p->changed_names.items, p->changed_names.n);
	encode_numbered(out, p, TAG_LINES, encode_lines, &none, 0, &m->changed_lines,
			p->changed_lines.items, p->changed_lines.n);
	encode_numbered(out, p, TAG_CODES, encode_code, &m->codes, p->codes.n, &m->changed_codes,
			p->changed_codes.items, p->changed_codes.n);
	encode_run(out, p, TAG_NODES, encode_node, &m->nodes, p->nodes.n,
		   p->forgotten_nodes);
	encode_samples(out, p, &m->samples);
	if (p->changed_facts && !m->facts && has_room(out, &(struct buffer){}))
		encode_facts(out, p, &m->facts);
	return out->n > 0;
}

/* ---- decoding -------------------------------------------------------------------------------- */

void codec_decoder_deinit(struct codec_decoder *d)
{
	vec_deinit(&d->strings);
}

static int too_many(struct mw_error *e, const char *what)
{
	return error_set(e, -EBADMSG, "more %s than a profile can have", what);
}

/*
 * How many entries a table of n lacks to have `wanted`. These are made up, since a missing chunk may
 * have defined them; -EBADMSG if no missing chunk could explain so many.
 */
static int find_gap(struct codec_decoder *d, size_t n, uint64_t wanted, size_t max,
		    const char *what, struct mw_error *e)
{
	if (wanted <= n)
		return 0;
	uint64_t gap = wanted - n;
	if (wanted > max || gap > MAX_GAP - d->made_up)
		return too_many(e, what);
	d->made_up += gap;
	d->p->unknown_references++;
	return (int)gap;
}

static int need_file(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	const struct profile_file file = {.reason = MW_REASON_PARSER_FAILED};
	int gap = find_gap(d, d->p->files.n, n, MAX_SMALL_ENTRIES, "files", e);
	for (; gap > 0; gap--) {
		if (vec_push(&d->p->files, file) < 0)
			return -ENOMEM;
	}
	return gap;
}

static int need_cgroup(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	int gap = find_gap(d, d->p->cgroups.n, n, MAX_SMALL_ENTRIES, "cgroups", e);
	for (; gap > 0; gap--) {
		if (vec_push(&d->p->cgroups, (struct profile_cgroup){}) < 0)
			return -ENOMEM;
	}
	return gap;
}

static int need_container(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	int gap = find_gap(d, d->p->containers.n, n, MAX_SMALL_ENTRIES, "containers", e);
	for (; gap > 0; gap--) {
		if (vec_push(&d->p->containers, (struct profile_container){}) < 0)
			return -ENOMEM;
	}
	return gap;
}

static int need_event(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	struct profile_event event = {};
	int gap = find_gap(d, d->p->events.n, n, MAX_SMALL_ENTRIES, "events", e);
	if (gap > 0 && profile_add_string(d->p, missing_text, &event.name) < 0)
		return -ENOMEM;
	for (; gap > 0; gap--) {
		if (vec_push(&d->p->events, event) < 0)
			return -ENOMEM;
	}
	return gap;
}

static int need_task(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	struct profile_task task = {};
	int gap = find_gap(d, d->p->tasks.n, n, MAX_TASKS, "tasks", e);
	if (gap > 0 && profile_add_string(d->p, missing_text, &task.command) < 0)
		return -ENOMEM;
	for (; gap > 0; gap--) {
		if (vec_push(&d->p->tasks, task) < 0)
			return -ENOMEM;
	}
	return gap;
}

static int need_frame(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	const struct profile_frame frame = {
		.at = {.kind = FRAME_RAW, .reason = MW_REASON_PARSER_FAILED}};
	int gap = find_gap(d, d->p->frames.n, n, MAX_FRAMES, "frames", e);
	for (; gap > 0; gap--) {
		if (vec_push(&d->p->frames, frame) < 0)
			return -ENOMEM;
	}
	return gap;
}

static int need_code(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	int gap = find_gap(d, d->p->codes.n, n, MAX_SMALL_ENTRIES, "pieces of code", e);
	for (; gap > 0; gap--) {
		if (vec_push(&d->p->codes, (struct profile_code){}) < 0)
			return -ENOMEM;
	}
	return gap;
}

/* A stack that is made up is a single frame that is made up. */
static int need_node(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	int gap = find_gap(d, d->p->nodes.n, n, MAX_NODES, "stacks", e);
	struct profile_node node = {.frame = (uint32_t)d->p->frames.n};
	int r = gap > 0 ? need_frame(d, d->p->frames.n + 1, e) : gap;
	for (; r == 0 && gap > 0; gap--)
		r = vec_push(&d->p->nodes, node);
	return r;
}

static int need_string(struct codec_decoder *d, uint64_t n, struct mw_error *e)
{
	int gap = find_gap(d, d->strings.n, n, MAX_STRINGS, "strings", e);
	for (; gap > 0; gap--) {
		if (vec_push(&d->strings, 0) < 0)
			return -ENOMEM;
	}
	return gap;
}

/* A number of a string in the file to that of the pool. */
static int decode_string_number(struct codec_decoder *d, struct cursor *c, uint32_t *ret,
				struct mw_error *e)
{
	uint64_t number = cursor_uleb(c);
	if (number >= MAX_STRINGS)
		return too_many(e, "strings");
	int r = need_string(d, number + 1, e);
	if (r == 0)
		*ret = d->strings.items[number];
	return r;
}

/* A number below max. Its table's need_...() says how far behind the end it may point. */
static int decode_number(struct cursor *c, size_t max, uint32_t *ret, struct mw_error *e,
			 const char *what)
{
	uint64_t number = cursor_uleb(c);
	bool fits = number < max;
	*ret = fits ? (uint32_t)number : 0;
	return fits ? 0 : too_many(e, what);
}

static int decode_u32(struct cursor *c, uint32_t *ret, struct mw_error *e, const char *what)
{
	uint64_t value = cursor_uleb(c);
	if (value > UINT32_MAX)
		return error_set(e, -EBADMSG, "%s out of range", what);
	*ret = (uint32_t)value;
	return 0;
}

static int cut_section(struct mw_error *e, const char *what)
{
	return error_set(e, -EBADMSG, "cut short in the %s", what);
}

static int decode_strings(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	uint32_t number;
	int r = decode_number(c, MAX_STRINGS, &number, e, "strings");
	if (r == 0)
		r = need_string(d, number, e);
	for (; r == 0 && cursor_left(c); number++) {
		uint64_t n = cursor_uleb(c);
		const char *text = (const char *)cursor_bytes(c, n);
		if (!text)
			return cut_section(e, "strings");
		if (memchr(text, 0, n) || number >= MAX_STRINGS)
			return error_set(e, -EBADMSG, "string %u makes no sense", number);
		uint32_t known;
		r = strings_add(&d->p->strings, text, n, &known);
		if (r == 0 && number < d->strings.n)
			d->strings.items[number] = known;
		else if (r == 0)
			r = vec_push(&d->strings, known);
	}
	return r;
}

static int decode_file(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_file file = {};
	uint32_t number;
	int r = decode_number(c, MAX_SMALL_ENTRIES, &number, e, "files");
	if (r < 0)
		return r;
	file.id.kind = cursor_u8(c);
	file.id.size = cursor_u8(c);
	const uint8_t *bytes = cursor_bytes(c, file.id.size);
	if (bytes && file.id.size <= MW_FILE_ID_MAX)
		memcpy(file.id.bytes, bytes, file.id.size);
	if (file.id.kind > MW_FILE_ID_GNU_PADDED || file.id.size > MW_FILE_ID_MAX)
		return error_set(e, -EBADMSG, "the id of file %u makes no sense", number);
	r = decode_string_number(d, c, &file.path, e);
	if (r == 0)
		r = decode_u32(c, &file.device, e, "device");
	file.inode = cursor_uleb(c);
	file.reason = cursor_u8(c);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "files");
	if (r == 0)
		r = need_file(d, number, e);
	if (r == 0 && number == d->p->files.n)
		return vec_push(&d->p->files, file);
	if (r == 0)
		d->p->files.items[number] = file;
	return r;
}

static int decode_cgroup(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_cgroup cgroup = {};
	uint32_t number;
	int r = decode_number(c, MAX_SMALL_ENTRIES, &number, e, "cgroups");
	cgroup.id = cursor_uleb(c);
	if (r == 0)
		r = decode_string_number(d, c, &cgroup.path, e);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "cgroups");
	if (r == 0)
		r = need_cgroup(d, number, e);
	if (r == 0 && number == d->p->cgroups.n)
		return vec_push(&d->p->cgroups, cgroup);
	if (r == 0)
		d->p->cgroups.items[number] = cgroup;
	return r;
}

static int decode_container(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_container container = {};
	uint32_t number;
	int r = decode_number(c, MAX_SMALL_ENTRIES, &number, e, "containers");
	for (size_t i = 0; i < PROFILE_CONTAINER_N_TEXTS && r == 0; i++)
		r = decode_string_number(d, c, &container.text[i], e);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "containers");
	if (r == 0)
		r = need_container(d, number, e);
	if (r == 0 && number == d->p->containers.n)
		return vec_push(&d->p->containers, container);
	if (r == 0)
		d->p->containers.items[number] = container;
	return r;
}

static int decode_code(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_code code = {};
	uint32_t number;
	int r = decode_number(c, MAX_SMALL_ENTRIES, &number, e, "pieces of code");
	if (r == 0)
		r = decode_number(c, MAX_SMALL_ENTRIES, &code.file, e, "files");
	if (r == 0)
		r = decode_string_number(d, c, &code.name, e);
	code.start = cursor_uleb(c);
	code.end = cursor_uleb(c);
	code.from = cursor_uleb(c);
	code.until = cursor_uleb(c);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "pieces of code");
	if (r == 0)
		r = need_file(d, (uint64_t)code.file + 1, e);
	if (r == 0)
		r = need_code(d, number, e);
	if (r == 0 && number == d->p->codes.n)
		return vec_push(&d->p->codes, code);
	if (r == 0)
		d->p->codes.items[number] = code;
	return r;
}

static int decode_place(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_place place = {};
	int r = decode_number(c, MAX_SMALL_ENTRIES, &place.cgroup, e, "cgroups");
	place.mount_namespace = cursor_uleb(c);
	if (r == 0)
		r = decode_number(c, MAX_SMALL_ENTRIES, &place.container, e, "containers");
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "places");
	if (r == 0)
		r = need_cgroup(d, (uint64_t)place.cgroup + 1, e);
	if (r == 0)
		r = need_container(d, (uint64_t)place.container + 1, e);
	if (r == 0 && d->p->places.n >= MAX_SMALL_ENTRIES)
		return too_many(e, "places");
	if (r == 0)
		r = profile_put_place(d->p, &place);
	d->p->changed_places.n = 0; /* nobody writes it back */
	return r;
}

static int decode_event(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_event event = {};
	uint32_t number;
	int r = decode_number(c, MAX_SMALL_ENTRIES, &number, e, "events");
	if (r == 0)
		r = decode_string_number(d, c, &event.name, e);
	if (r == 0)
		r = decode_string_number(d, c, &event.unit, e);
	event.period = cursor_uleb(c);
	event.frequency = cursor_uleb(c);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "events");
	if (r == 0)
		r = need_event(d, number, e);
	if (r == 0 && number == d->p->events.n)
		return vec_push(&d->p->events, event);
	if (r == 0)
		d->p->events.items[number] = event;
	return r;
}

static int decode_task(struct codec_decoder *d, struct cursor *c, uint32_t number,
		       struct mw_error *e)
{
	struct profile_task task = {};
	int r = decode_u32(c, &task.key.pid, e, "pid");
	if (r == 0)
		r = decode_u32(c, &task.key.tid, e, "tid");
	task.key.start_time = cursor_uleb(c);
	if (r == 0)
		r = decode_u32(c, &task.key.exec_count, e, "exec count");
	if (r == 0)
		r = decode_string_number(d, c, &task.command, e);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "tasks");
	if (r == 0 && number == d->p->tasks.n)
		return vec_push(&d->p->tasks, task);
	if (r == 0)
		d->p->tasks.items[number] = task;
	return r;
}

static int decode_frame(struct codec_decoder *d, struct cursor *c, uint32_t number,
			struct mw_error *e)
{
	struct profile_frame frame = {};
	frame.at.kind = cursor_u8(c);
	frame.at.flags = cursor_u8(c) & (uint8_t)~FRAME_INLINED;
	frame.at.reason = cursor_u8(c);
	int r = decode_number(c, MAX_SMALL_ENTRIES, &frame.at.file, e, "files");
	frame.at.address = cursor_uleb(c);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "frames");
	if (r == 0 && frame.at.kind > FRAME_RAW)
		return error_set(e, -EBADMSG, "the kind of frame %u makes no sense", number);
	if (r == 0 && frame_has_file(&frame.at))
		r = need_file(d, (uint64_t)frame.at.file + 1, e);
	if (r == 0 && number == d->p->frames.n)
		return vec_push(&d->p->frames, frame);
	if (r == 0) /* an entry that was made up may have counted samples */
		d->p->frames.items[number].at = frame.at;
	return r;
}

static int decode_name(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_name name = {};
	uint32_t number;
	int r = decode_number(c, MAX_FRAMES, &number, e, "frames");
	if (r == 0)
		r = decode_string_number(d, c, &name.name, e);
	if (r == 0)
		r = decode_string_number(d, c, &name.module, e);
	name.start = cursor_uleb(c);
	name.reason = cursor_u8(c);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "names");
	if (r == 0)
		r = need_frame(d, (uint64_t)number + 1, e);
	if (r == 0)
		d->p->frames.items[number].name = name;
	return r;
}

static int decode_lines(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_line lines[PROFILE_LINES_MAX] = {};
	uint32_t number, n;
	int r = decode_number(c, MAX_FRAMES, &number, e, "frames");
	if (r == 0)
		r = decode_number(c, PROFILE_LINES_MAX + 1, &n, e, "lines of a frame");
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		r = decode_string_number(d, c, &lines[i].name, e);
		if (r == 0)
			r = decode_string_number(d, c, &lines[i].file, e);
		if (r == 0)
			r = decode_u32(c, &lines[i].line, e, "line");
	}
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "lines");
	if (r == 0)
		r = need_frame(d, (uint64_t)number + 1, e);
	if (r == 0 && d->p->lines.n > MAX_LINES)
		return too_many(e, "lines");
	if (r == 0)
		r = profile_set_lines(d->p, number, lines, n);
	d->p->changed_lines.n = 0; /* it comes from the file */
	return r;
}

/* A caller is always another, earlier node: whoever follows callers comes to an end. */
static int decode_node(struct codec_decoder *d, struct cursor *c, uint32_t number,
		       struct mw_error *e)
{
	uint64_t back = cursor_uleb(c);
	struct profile_node node = {};
	int r = decode_number(c, MAX_FRAMES, &node.frame, e, "frames");
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "stacks");
	if (r == 0 && (number == 0 ? back != 0 : back == 0 || back > number))
		return error_set(e, -EBADMSG, "the caller of stack %u makes no sense", number);
	node.caller = (uint32_t)(number - back);
	if (r == 0 && number)
		r = need_frame(d, (uint64_t)node.frame + 1, e);
	if (r == 0 && number == d->p->nodes.n)
		return vec_push(&d->p->nodes, node);
	if (r == 0)
		d->p->nodes.items[number] = node;
	return r;
}

typedef int decode_fn(struct codec_decoder *d, struct cursor *c, uint32_t number,
		      struct mw_error *e);
typedef int need_fn(struct codec_decoder *d, uint64_t n, struct mw_error *e);

/* Entries that follow each other without gaps, after the number of the first. */
static int decode_run(struct codec_decoder *d, struct cursor *c, size_t max, need_fn *need,
		      decode_fn *decode, const char *what, struct mw_error *e)
{
	uint32_t number;
	int r = decode_number(c, max, &number, e, what);
	if (r == 0)
		r = need(d, number, e);
	for (; r == 0 && cursor_left(c); number++)
		r = number < max ? decode(d, c, number, e) : too_many(e, what);
	return r;
}

static void count_sample(struct profile *p, const struct profile_sample *s)
{
	p->total_count += s->count;
	p->total_value += s->value;
	if (!s->stack)
		return;
	struct profile_frame *leaf = &p->frames.items[p->nodes.items[s->stack].frame];
	leaf->self_count += s->count;
	leaf->self_value += s->value;
}

static int decode_sample(struct codec_decoder *d, struct cursor *c, uint64_t *bucket,
			 struct mw_error *e)
{
	*bucket += (uint64_t)cursor_sleb(c);
	struct profile_sample s = {.bucket = *bucket};
	int r = decode_number(c, MAX_TASKS, &s.task, e, "tasks");
	if (r == 0)
		r = decode_number(c, MAX_SMALL_ENTRIES, &s.cgroup, e, "cgroups");
	s.mount_namespace = cursor_uleb(c);
	if (r == 0)
		r = decode_u32(c, &s.cpu, e, "cpu");
	if (r == 0)
		r = decode_number(c, MAX_SMALL_ENTRIES, &s.event, e, "events");
	if (r == 0)
		r = decode_number(c, MAX_NODES, &s.stack, e, "stacks");
	s.count = cursor_uleb(c);
	s.value = cursor_uleb(c);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "samples");
	if (r == 0)
		r = need_task(d, (uint64_t)s.task + 1, e);
	if (r == 0)
		r = need_cgroup(d, (uint64_t)s.cgroup + 1, e);
	if (r == 0)
		r = need_event(d, (uint64_t)s.event + 1, e);
	if (r == 0)
		r = need_node(d, (uint64_t)s.stack + 1, e);
	if (r == 0 && d->p->samples.n >= MAX_SAMPLES)
		return too_many(e, "samples");
	if (r == 0)
		r = vec_push(&d->p->samples, s);
	if (r == 0)
		count_sample(d->p, &s);
	return r;
}

static int decode_fact(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_fact fact = {};
	int r = decode_string_number(d, c, &fact.key, e);
	if (r == 0)
		r = decode_string_number(d, c, &fact.value, e);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "facts");
	if (r < 0)
		return r;
	vec_foreach(known, &d->p->facts) {
		if (known->key == fact.key) {
			known->value = fact.value;
			return 0;
		}
	}
	if (d->p->facts.n >= MAX_FACTS)
		return too_many(e, "facts");
	return vec_push(&d->p->facts, fact);
}

static int decode_tally(struct codec_decoder *d, struct cursor *c, struct mw_error *e)
{
	struct profile_tally tally = {.kind = cursor_u8(c)};
	int r = decode_string_number(d, c, &tally.name, e);
	tally.count = cursor_uleb(c);
	if (r == 0 && !cursor_ok(c))
		r = cut_section(e, "counters");
	if (r < 0)
		return r;
	vec_foreach(known, &d->p->tallies) {
		if (known->kind == tally.kind && known->name == tally.name) {
			known->count = tally.count;
			return 0;
		}
	}
	if (d->p->tallies.n >= MAX_FACTS)
		return too_many(e, "counters");
	return vec_push(&d->p->tallies, tally);
}

static int decode_each(struct codec_decoder *d, struct cursor *c, struct mw_error *e,
		       int (*decode)(struct codec_decoder *, struct cursor *, struct mw_error *))
{
	int r = 0;
	while (r == 0 && cursor_left(c))
		r = decode(d, c, e);
	return r;
}

static int decode_section(struct codec_decoder *d, enum tag tag, struct cursor *c,
			  struct mw_error *e)
{
	uint64_t bucket = 0;
	int r = 0;
	switch (tag) {
	case TAG_STRINGS:
		return decode_strings(d, c, e);
	case TAG_FILES:
		return decode_each(d, c, e, decode_file);
	case TAG_CGROUPS:
		return decode_each(d, c, e, decode_cgroup);
	case TAG_EVENTS:
		return decode_each(d, c, e, decode_event);
	case TAG_TASKS:
		return decode_run(d, c, MAX_TASKS, need_task, decode_task, "tasks", e);
	case TAG_FRAMES:
		return decode_run(d, c, MAX_FRAMES, need_frame, decode_frame, "frames", e);
	case TAG_NAMES:
		return decode_each(d, c, e, decode_name);
	case TAG_LINES:
		return decode_each(d, c, e, decode_lines);
	case TAG_NODES:
		return decode_run(d, c, MAX_NODES, need_node, decode_node, "stacks", e);
	case TAG_SAMPLES:
		while (r == 0 && cursor_left(c))
			r = decode_sample(d, c, &bucket, e);
		return r;
	case TAG_FACTS:
		return decode_each(d, c, e, decode_fact);
	case TAG_TALLIES:
		return decode_each(d, c, e, decode_tally);
	case TAG_CONTAINERS:
		return decode_each(d, c, e, decode_container);
	case TAG_PLACES:
		return decode_each(d, c, e, decode_place);
	case TAG_CODES:
		return decode_each(d, c, e, decode_code);
	}
	return 0; /* from a later minor version */
}

int codec_decode(struct codec_decoder *d, const void *data, size_t size, struct mw_error *e)
{
	struct cursor c = cursor_init(data, size, false);
	while (cursor_left(&c)) {
		uint8_t tag = cursor_u8(&c);
		uint64_t n = cursor_uleb(&c);
		const uint8_t *bytes = cursor_bytes(&c, n);
		if (!bytes)
			return error_at(e, -EBADMSG, cursor_offset(&c), "section %u is cut short",
					tag);
		struct cursor section = cursor_init(bytes, n, false);
		int r = decode_section(d, tag, &section, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int codec_decode_end(struct codec_decoder *d)
{
	struct profile *p = d->p;
	_cleanup_free_ uint16_t *depth = calloc(p->nodes.n, sizeof *depth);
	if (!depth)
		return -ENOMEM;
	for (size_t i = 1; i < p->nodes.n; i++) {
		struct profile_node *node = &p->nodes.items[i];
		if (depth[node->caller] >= PROFILE_DEPTH_MAX) {
			node->caller = 0;
			p->unknown_references++;
		}
		depth[i] = (uint16_t)(depth[node->caller] + 1);
	}
	return 0;
}
