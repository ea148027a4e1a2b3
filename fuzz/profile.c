/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile from anyone: the whole file, or, since no mutation gets through zstd, the records of one
 * chunk as they are. What could be read must hold together and go through every output.
 */
#include "output/output.h"
#include "output/report.h"
#include "profile/codec.h"
#include "profile/reader.h"

#include "fuzz.h"

/* Larger ones are the same again, only slower. */
#define MAX_NODES_PRINTED 20000

static void check(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.items[i];
		must(s->task < p->tasks.n && s->cgroup < p->cgroups.n && s->event < p->events.n &&
		     s->stack < p->nodes.n);
	}
	for (size_t i = 1; i < p->nodes.n; i++)
		must(p->nodes.items[i].caller < i && p->nodes.items[i].frame < p->frames.n);
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		must(f->at.kind != FRAME_FILE || f->at.file < p->files.n);
		must(f->name.name < p->strings.texts.n && f->name.module < p->strings.texts.n);
		must(f->name.name || profile_frame_reason(p, f) != MW_REASON_NONE);
	}
}

static ssize_t discard(void *cookie, const char *data, size_t size)
{
	return (ssize_t)size;
}

static void print(const struct profile *p)
{
	_cleanup_fclose_ FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = discard});
	if (!out || p->nodes.n > MAX_NODES_PRINTED || p->frames.n > MAX_NODES_PRINTED ||
	    p->samples.n > MAX_NODES_PRINTED)
		return;
	struct report_options options = {.call_graph = true};
	must(report_write(p, &options, out) == 0);
	options.no_children = true;
	must(report_parse_sort("cpu,cgroup,tid,sym", &options, NULL) == 0);
	must(report_write(p, &options, out) == 0);
	for (size_t i = 0; output_format_at(i); i++)
		must(output_format_at(i)->write(p, out) == 0);
}

static void read_records(const uint8_t *data, size_t size)
{
	_cleanup_(cleanup_profile_free) struct profile *p = NULL;
	if (profile_new(NULL, &p) < 0)
		return;
	struct codec_decoder decoder = {.p = p};
	codec_decode(&decoder, data, size, NULL);
	codec_decode_end(&decoder);
	codec_decoder_deinit(&decoder);
	check(p);
	print(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!profile_is_profile(data, size)) {
		read_records(data, size);
		return 0;
	}
	_cleanup_(cleanup_profile_free) struct profile *p = NULL;
	if (profile_open_memory(data, size, "fuzz", &p, NULL) >= 0) {
		check(p);
		print(p);
	}
	return 0;
}
