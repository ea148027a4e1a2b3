/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The profile as one JSON object, field by field as docs/FORMAT.md lists them, written as it is read:
 * nothing is kept in memory beside the profile. Each sample carries its whole stack, so that a
 * consumer needs no second table to read it.
 *
 * JSON is UTF-8 and names are bytes. A text that is no UTF-8 has U+FFFD for each bad byte, and beside
 * the field NAME is NAME_hex with the exact bytes.
 */
#include "output/formats.h"

#include "output/text.h"
#include "profile/stack_ends.h"

#include <inttypes.h>
#include <string.h>

struct json {
	const struct profile *p;
	FILE *out;
	bool comma; /* something is before the next field or item */
	bool failed; /* for want of memory */
};

static void separate(struct json *j)
{
	if (j->comma)
		fputc(',', j->out);
	j->comma = true;
}

static void open_bracket(struct json *j, const char *key, char bracket)
{
	separate(j);
	if (key)
		fprintf(j->out, "\"%s\":", key);
	fputc(bracket, j->out);
	j->comma = false;
}

static void close_bracket(struct json *j, char bracket)
{
	fputc(bracket, j->out);
	j->comma = true;
}

static bool is_utf8(const char *s)
{
	while (*s) {
		size_t n = text_utf8_length(s);
		if (!n)
			return false;
		s += n;
	}
	return true;
}

static void write_escaped(struct json *j, const char *s)
{
	while (*s) {
		size_t n = text_utf8_length(s);
		if (!n)
			fprintf(j->out, "\\ufffd");
		else if (*s == '"' || *s == '\\')
			fprintf(j->out, "\\%c", *s);
		else if ((uint8_t)*s < 0x20 || *s == 0x7f)
			fprintf(j->out, "\\u%04x", (uint8_t)*s);
		else
			fwrite(s, 1, n, j->out);
		s += n ? n : 1;
	}
}

/* A field NAME, and NAME_hex where the text is not UTF-8. */
static void text_field(struct json *j, const char *key, const char *text)
{
	separate(j);
	fputc('"', j->out);
	write_escaped(j, key);
	fprintf(j->out, "\":\"");
	write_escaped(j, text);
	fputc('"', j->out);
	if (is_utf8(text))
		return;
	fprintf(j->out, ",\"");
	write_escaped(j, key);
	fprintf(j->out, "_hex\":\"");
	for (; *text; text++)
		fprintf(j->out, "%02x", (uint8_t)*text);
	fputc('"', j->out);
}

static void string_field(struct json *j, const char *key, uint32_t string)
{
	if (string)
		text_field(j, key, profile_string(j->p, string));
}

static void number_field(struct json *j, const char *key, uint64_t value)
{
	separate(j);
	fprintf(j->out, "\"%s\":%" PRIu64, key, value);
}

static void true_field(struct json *j, const char *key)
{
	separate(j);
	fprintf(j->out, "\"%s\":true", key);
}

/* As text: readers keep numbers as doubles, which have 53 bits. */
static void address_field(struct json *j, const char *key, uint64_t value)
{
	separate(j);
	fprintf(j->out, "\"%s\":\"0x%" PRIx64 "\"", key, value);
}

static void reason_field(struct json *j, uint8_t reason)
{
	char buf[24];
	if (reason)
		text_field(j, "reason", text_reason(reason, buf, sizeof buf));
}

static void file_id_field(struct json *j, const struct profile_file *f)
{
	char id[MW_FILE_ID_TEXT_MAX];
	if (!f->id.kind)
		return;
	mw_file_id_to_text(&f->id, id, sizeof id);
	text_field(j, "file_id", id);
}

static void write_machine(struct json *j)
{
	open_bracket(j, "machine", '{');
	vec_foreach(fact, &j->p->facts)
		text_field(j, profile_string(j->p, fact->key), profile_string(j->p, fact->value));
	close_bracket(j, '}');
}

static void write_events(struct json *j)
{
	open_bracket(j, "events", '[');
	vec_foreach(event, &j->p->events) {
		open_bracket(j, NULL, '{');
		text_field(j, "name", profile_string(j->p, event->name));
		text_field(j, "unit", profile_string(j->p, event->unit));
		number_field(j, "period", event->period);
		number_field(j, "frequency", event->frequency);
		close_bracket(j, '}');
	}
	close_bracket(j, ']');
}

static void write_files(struct json *j)
{
	open_bracket(j, "files", '[');
	vec_foreach(f, &j->p->files) {
		open_bracket(j, NULL, '{');
		file_id_field(j, f);
		text_field(j, "path", profile_string(j->p, f->path));
		number_field(j, "device_major", f->device >> 20);
		number_field(j, "device_minor", f->device & 0xfffff);
		number_field(j, "inode", f->inode);
		reason_field(j, f->reason);
		close_bracket(j, '}');
	}
	close_bracket(j, ']');
}

static const char *const container_fields[PROFILE_CONTAINER_N_TEXTS] = {
	[PROFILE_CONTAINER_RUNTIME] = "runtime", [PROFILE_CONTAINER_ID] = "id",
	[PROFILE_CONTAINER_NAME] = "name",	 [PROFILE_CONTAINER_IMAGE] = "image",
	[PROFILE_CONTAINER_POD] = "pod",	 [PROFILE_CONTAINER_NAMESPACE] = "namespace",
	[PROFILE_CONTAINER_ROOTFS] = "rootfs",	 [PROFILE_CONTAINER_LAYERS] = "layers",
};

/* The first n fields, as far as they are known. */
static void write_container(struct json *j, const char *key, const struct profile_container *c,
			    size_t n)
{
	open_bracket(j, key, '{');
	for (size_t i = 0; i < n; i++)
		string_field(j, container_fields[i], c->text[i]);
	close_bracket(j, '}');
}

static void write_containers(struct json *j)
{
	if (!j->p->containers.n)
		return;
	open_bracket(j, "containers", '[');
	vec_foreach(c, &j->p->containers)
		write_container(j, NULL, c, PROFILE_CONTAINER_N_TEXTS);
	close_bracket(j, ']');
}

static void write_tallies(struct json *j, const char *key, enum profile_tally_kind kind)
{
	open_bracket(j, key, '[');
	vec_foreach(tally, &j->p->tallies) {
		if (tally->kind != kind)
			continue;
		open_bracket(j, NULL, '{');
		text_field(j, "name", profile_string(j->p, tally->name));
		number_field(j, "count", tally->count);
		close_bracket(j, '}');
	}
	close_bracket(j, ']');
}

/* How the user parts of stacks end. */
static void write_user_stacks(struct json *j)
{
	struct stack_ends ends;
	const char *call_graph = profile_fact(j->p, PROFILE_FACT_CALL_GRAPH);
	if (!call_graph)
		return;
	if (stack_ends_count(j->p, &ends) < 0) {
		j->failed = true;
		return;
	}
	open_bracket(j, "user_stacks", '{');
	text_field(j, "call_graph", call_graph);
	number_field(j, "count", ends.stacks);
	if (strcmp(call_graph, "fp") != 0) {
		number_field(j, "whole", ends.whole);
		number_field(j, "guessed", ends.guessed);
	}
	number_field(j, "exiting", ends.exiting);
	number_field(j, "exec_raced", ends.exec_raced);
	open_bracket(j, "ended", '[');
	for (unsigned reason = 0; reason < MW_N_REASONS; reason++) {
		if (!ends.reasons[reason])
			continue;
		open_bracket(j, NULL, '{');
		reason_field(j, (uint8_t)reason);
		number_field(j, "count", ends.reasons[reason]);
		close_bracket(j, '}');
	}
	close_bracket(j, ']');
	close_bracket(j, '}');
}

static void write_frame(struct json *j, const struct profile_frame *f)
{
	static const char *const kinds[] = {
		[FRAME_FILE] = "file",
		[FRAME_KERNEL] = "kernel",
		[FRAME_JIT] = "jit",
		[FRAME_RAW] = "raw",
	};
	open_bracket(j, NULL, '{');
	text_field(j, "kind", kinds[f->at.kind]);
	if (f->at.kind == FRAME_FILE) {
		const struct profile_file *file = &j->p->files.items[f->at.file];
		number_field(j, "file", f->at.file);
		file_id_field(j, file);
		text_field(j, "path", profile_string(j->p, file->path));
		address_field(j, "offset", f->at.address);
	} else if (f->at.kind != FRAME_RAW || f->at.address) {
		address_field(j, "address", f->at.address);
	}
	if (f->at.flags & FRAME_RETURN)
		number_field(j, "return", 1);
	if (f->at.flags & FRAME_INFERRED)
		true_field(j, "inferred");
	if (f->at.flags & FRAME_INLINED)
		true_field(j, "inlined");
	if (f->n_lines) {
		const struct profile_line *line = &j->p->lines.items[f->first_line];
		string_field(j, "source", line->file);
		if (line->line)
			number_field(j, "line", line->line);
	}
	if (f->at.flags & FRAME_GUESSED)
		true_field(j, "guessed");
	if (f->name.name) {
		struct buffer readable = {};
		text_demangle(&readable, profile_string(j->p, f->name.name));
		buffer_u8(&readable, 0);
		j->failed = j->failed || readable.failed;
		text_field(j, "name", readable.failed ? "" : (const char *)readable.data);
		buffer_deinit(&readable);
		string_field(j, "symbol", f->name.name);
		if (f->name.start)
			address_field(j, "start", f->name.start);
	}
	string_field(j, "module", f->name.module);
	reason_field(j, (uint8_t)profile_frame_reason(j->p, f));
	close_bracket(j, '}');
}

static void write_task(struct json *j, const struct profile_task *t)
{
	open_bracket(j, "task", '{');
	number_field(j, "pid", t->key.pid);
	number_field(j, "tid", t->key.tid);
	number_field(j, "start_time_ns", t->key.start_time);
	number_field(j, "exec_count", t->key.exec_count);
	text_field(j, "command", profile_string(j->p, t->command));
	close_bracket(j, '}');
}

static void write_sample(struct json *j, const struct profile_sample *s)
{
	const struct profile *p = j->p;
	const struct profile_cgroup *cgroup = &p->cgroups.items[s->cgroup];
	open_bracket(j, NULL, '{');
	number_field(j, "time_ns", s->bucket * p->options.bucket_ns);
	number_field(j, "count", s->count);
	number_field(j, "value", s->value);
	number_field(j, "event", s->event);
	number_field(j, "cpu", s->cpu);
	write_task(j, &p->tasks.items[s->task]);
	open_bracket(j, "cgroup", '{');
	number_field(j, "id", cgroup->id);
	string_field(j, "path", cgroup->path);
	close_bracket(j, '}');
	number_field(j, "mount_namespace", s->mount_namespace);
	const struct profile_container *container = profile_container_of(p, s);
	if (container) {
		number_field(j, "container_number", (uint64_t)(container - p->containers.items));
		write_container(j, "container", container, PROFILE_CONTAINER_ROOTFS);
	}
	open_bracket(j, "frames", '[');
	for (uint32_t node = s->stack; node; node = p->nodes.items[node].caller)
		write_frame(j, &p->frames.items[p->nodes.items[node].frame]);
	close_bracket(j, ']');
	close_bracket(j, '}');
}

static int json_write(const struct profile *p, FILE *out)
{
	struct json j = {.p = p, .out = out};
	errno = 0;
	open_bracket(&j, NULL, '{');
	text_field(&j, "format", "mapwright-profile");
	number_field(&j, "version", 1);
	number_field(&j, "bucket_ns", p->options.bucket_ns);
	if (p->damage)
		text_field(&j, "damage", p->damage);
	write_machine(&j);
	write_events(&j);
	write_files(&j);
	write_containers(&j);
	write_tallies(&j, "losses", PROFILE_LOSS);
	write_tallies(&j, "skipped", PROFILE_SKIPPED);
	write_tallies(&j, "counters", PROFILE_COUNTER);
	write_user_stacks(&j);
	number_field(&j, "total_count", p->total_count);
	number_field(&j, "total_value", p->total_value);
	open_bracket(&j, "samples", '[');
	for (size_t i = 0; i < p->samples.n && !j.failed && !ferror(out); i++) {
		fputc('\n', out);
		write_sample(&j, &p->samples.items[i]);
	}
	close_bracket(&j, ']');
	close_bracket(&j, '}');
	fputc('\n', out);
	if (fflush(out) != 0 || ferror(out))
		return errno ? -errno : -EIO;
	return j.failed ? -ENOMEM : 0;
}

const struct output_format output_json = {
	"json", "everything that is in the profile, for programs", json_write};
