/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line for each distinct stack: the command, the frames from the outermost to the leaf, a blank,
 * and how many samples had it. The leaf is last:
 *
 *     prog;_start;main;app::work(int) 60
 *     prog;main;ext4_readdir_[k];[kernel+0xffffffff81000100]_[k] 5
 *     node;[jit+0x7f0000001000] 3
 *     calc;main;cube_[i];square_[i] 7          calls that were inlined into main
 *
 * In names, ';' becomes ':', and what would break a line is escaped (output/text.h). Of several events
 * only the first that has samples is written: their counts have no common sum.
 */
#include "output/formats.h"

#include "output/text.h"

#include <inttypes.h>
#include <string.h>

struct line {
	uint64_t count;
	const char *text; /* in the pool */
};

struct folder {
	const struct profile *p;
	struct strings texts;
	uint32_t *of_frame;   /* by frame: its text */
	uint32_t *of_command; /* by string: its text + 1, or 0 */
	VEC(uint64_t) counts; /* by text of a whole line, in the second pool */
	struct strings lines;
	struct buffer text, escaped;
};

static int intern(struct folder *f, uint32_t *ret)
{
	f->escaped.n = 0;
	buffer_u8(&f->text, 0);
	if (f->text.failed)
		return -ENOMEM;
	text_escape(&f->escaped, (const char *)f->text.data);
	for (size_t i = 0; i < f->escaped.n; i++) {
		if (f->escaped.data[i] == ';')
			f->escaped.data[i] = ':';
	}
	return f->escaped.failed ? -ENOMEM
				 : strings_add(&f->texts, (const char *)f->escaped.data,
					       f->escaped.n, ret);
}

/* What a file is called: by its path, by its id where nobody learned that. */
static const char *place_of(const struct profile_file *file, const char *path, char *buf, size_t size)
{
	if (*path)
		return text_base_name(path);
	if (file->id.kind == MW_FILE_ID_NONE)
		return "no path";
	mw_file_id_to_text(&file->id, buf, size);
	return buf;
}

static void add_nameless(struct folder *f, const struct profile_frame *frame)
{
	const struct profile *p = f->p;
	const char *place = "anon";
	char reason[24], id[MW_FILE_ID_TEXT_MAX];
	const struct profile_file *file;
	switch (frame->at.kind) {
	case FRAME_FILE:
		file = &p->files.items[frame->at.file];
		place = place_of(file, profile_string(p, file->path), id, sizeof id);
		break;
	case FRAME_KERNEL:
		place = frame->name.module ? profile_string(p, frame->name.module) : "kernel";
		break;
	case FRAME_JIT:
		place = "jit";
		break;
	default:
		if (frame->at.address)
			break;
		buffer_printf(&f->text, "[%s]",
			      text_reason((uint8_t)profile_frame_reason(p, frame), reason,
					  sizeof reason));
		return;
	}
	buffer_printf(&f->text, "[%s+0x%" PRIx64 "]", place, frame->at.address);
}

static int fold_frame(struct folder *f, size_t i)
{
	const struct profile_frame *frame = &f->p->frames.items[i];
	f->text.n = 0;
	if (frame->name.name)
		text_demangle(&f->text, profile_string(f->p, frame->name.name));
	else
		add_nameless(f, frame);
	if (frame->at.kind == FRAME_KERNEL)
		buffer_printf(&f->text, "_[k]");
	else if (frame->at.flags & FRAME_INLINED)
		buffer_printf(&f->text, "_[i]");
	return intern(f, &f->of_frame[i]);
}

static int fold_command(struct folder *f, uint32_t command, uint32_t *ret)
{
	if (!f->of_command[command]) {
		uint32_t text = 0;
		f->text.n = 0;
		buffer_printf(&f->text, "%s", profile_string(f->p, command));
		int r = intern(f, &text);
		if (r < 0)
			return r;
		f->of_command[command] = text + 1;
	}
	*ret = f->of_command[command] - 1;
	return 0;
}

/* A sample of a wait says nothing without its length: ns. */
static bool weighs_time(const struct profile *p, const struct profile_sample *s)
{
	return strcmp(profile_string(p, p->events.items[s->event].name), "off-cpu") == 0;
}

static int fold_sample(struct folder *f, const struct profile_sample *s)
{
	uint32_t frames[PROFILE_DEPTH_MAX], command, line;
	int r = fold_command(f, f->p->tasks.items[s->task].command, &command);
	if (r < 0)
		return r;
	size_t n = profile_stack_frames(f->p, s->stack, frames, PROFILE_DEPTH_MAX);
	f->text.n = 0;
	buffer_printf(&f->text, "%s", strings_get(&f->texts, command));
	for (size_t i = MIN(n, (size_t)PROFILE_DEPTH_MAX); i-- > 0;) {
		const char *text = strings_get(&f->texts, f->of_frame[frames[i]]);
		buffer_u8(&f->text, ';');
		buffer_bytes(&f->text, text, strlen(text));
	}
	if (!n)
		buffer_printf(&f->text, ";[no-user-stack]");
	if (f->text.failed)
		return -ENOMEM;
	r = strings_add(&f->lines, (const char *)f->text.data, f->text.n, &line);
	while (r == 0 && f->counts.n <= line)
		r = vec_push(&f->counts, 0);
	if (r == 0)
		f->counts.items[line] += weighs_time(f->p, s) ? s->value : s->count;
	return r;
}

static int by_text(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	return strcmp(x->text, y->text);
}

static int write_lines(struct folder *f, FILE *out)
{
	VEC(struct line) lines = {};
	int r = 0;
	for (size_t i = 0; i < f->counts.n && r == 0; i++) {
		if (f->counts.items[i])
			r = vec_push(&lines, (struct line){f->counts.items[i],
							   strings_get(&f->lines, (uint32_t)i)});
	}
	if (r == 0 && lines.n)
		qsort(lines.items, lines.n, sizeof *lines.items, by_text);
	errno = 0;
	for (size_t i = 0; i < lines.n && r == 0; i++)
		fprintf(out, "%s %" PRIu64 "\n", lines.items[i].text, lines.items[i].count);
	if (r == 0 && (fflush(out) != 0 || ferror(out)))
		r = errno ? -errno : -EIO;
	vec_deinit(&lines);
	return r;
}

static uint32_t first_event(const struct profile *p)
{
	uint32_t first = UINT32_MAX;
	vec_foreach(s, &p->samples)
		first = MIN(first, s->event);
	return first;
}

static int folded_write(const struct profile *p, FILE *out)
{
	struct folder f = {.p = p};
	uint32_t event = first_event(p);
	f.of_frame = calloc(p->frames.n + 1, sizeof *f.of_frame);
	f.of_command = calloc(p->strings.texts.n, sizeof *f.of_command);
	int r = f.of_frame && f.of_command ? 0 : -ENOMEM;
	for (size_t i = 0; i < p->frames.n && r == 0; i++)
		r = fold_frame(&f, i);
	for (size_t i = 0; i < p->samples.n && r == 0; i++) {
		if (p->samples.items[i].event == event)
			r = fold_sample(&f, &p->samples.items[i]);
	}
	if (r == 0)
		r = write_lines(&f, out);
	free(f.of_frame);
	free(f.of_command);
	strings_deinit(&f.texts);
	strings_deinit(&f.lines);
	vec_deinit(&f.counts);
	buffer_deinit(&f.text);
	buffer_deinit(&f.escaped);
	return r;
}

const struct output_format output_folded = {
	"folded", "one line for each stack and its count, for flame graph tools", folded_write};
