/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output/report_parts.h"

#include "output/text.h"
#include "profile/stack_ends.h"

#include <inttypes.h>
#include <string.h>

static const char *fact_or(const struct profile *p, const char *key, const char *missing)
{
	const char *text = profile_fact(p, key);
	return text && *text ? text : missing;
}

static void add_machine(struct buffer *b, const struct profile *p)
{
	const char *build_id = profile_fact(p, PROFILE_FACT_KERNEL_BUILD_ID);
	buffer_printf(b, "# machine:  ");
	text_escape(b, fact_or(p, PROFILE_FACT_HOSTNAME, "[name not recorded]"));
	buffer_printf(b, ", ");
	text_escape(b, fact_or(p, PROFILE_FACT_ARCHITECTURE, "[architecture not recorded]"));
	if (profile_fact(p, PROFILE_FACT_CPUS))
		buffer_printf(b, ", %" PRIu64 " CPUs", profile_fact_number(p, PROFILE_FACT_CPUS, 0));
	buffer_printf(b, ", Linux ");
	text_escape(b, fact_or(p, PROFILE_FACT_KERNEL, "[release not recorded]"));
	if (build_id) {
		buffer_printf(b, " (build ID ");
		text_escape(b, build_id);
		buffer_printf(b, ")");
	}
	buffer_printf(b, "\n");
}

static void add_command(struct buffer *b, const struct profile *p)
{
	const char *command = profile_fact(p, PROFILE_FACT_COMMAND_LINE);
	if (!command)
		return;
	buffer_printf(b, "# command:  ");
	text_escape(b, command);
	buffer_printf(b, "\n");
}

/*
 * "2025-11-29 18:34:58 UTC". By hand, since gmtime() reads the time zone's file, which a sandbox does
 * not have. Years begin in March, so that the day that comes and goes is their last.
 */
static void add_moment(struct buffer *b, uint64_t seconds)
{
	uint64_t days = seconds / 86400 + 719468; /* since 0000-03-01 */
	uint64_t era = days / 146097, day = days % 146097; /* 400 years */
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	uint64_t month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	month = month < 10 ? month + 3 : month - 9;
	year += era * 400 + (month <= 2);
	buffer_printf(b, "%04" PRIu64 "-%02" PRIu64 "-%02" PRIu64, year, month, day + 1);
	buffer_printf(b, " %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " UTC", seconds / 3600 % 24,
		      seconds / 60 % 60, seconds % 60);
}

static void add_time(struct buffer *b, const struct profile *p)
{
	uint64_t start = profile_fact_number(p, PROFILE_FACT_START_REALTIME, 0);
	uint64_t duration = profile_fact_number(p, PROFILE_FACT_DURATION, 0);
	if (!start && !duration)
		return;
	buffer_printf(b, "# time:     ");
	if (start)
		add_moment(b, start / 1000000000);
	if (duration)
		buffer_printf(b, "%s%.3f s", start ? ", " : "", (double)duration / 1e9);
	buffer_printf(b, "\n");
}

static void add_event(struct buffer *b, const struct profile *p)
{
	const char *asked = profile_fact(p, PROFILE_FACT_EVENT_ASKED);
	const char *used = profile_fact(p, PROFILE_FACT_EVENT_USED);
	const char *remark = profile_fact(p, PROFILE_FACT_EVENT_REMARK);
	const struct profile_event *event = p->events.n ? &p->events.items[0] : NULL;
	if (!used && !event)
		return;
	buffer_printf(b, "# event:    ");
	text_escape(b, used ? used : profile_string(p, event->name));
	if (event && event->frequency)
		buffer_printf(b, " at %" PRIu64 " Hz", event->frequency);
	else if (event && event->period)
		buffer_printf(b, ", a sample each %" PRIu64, event->period);
	if (asked && used && strcmp(asked, used) != 0) {
		buffer_printf(b, " instead of ");
		text_escape(b, asked);
	}
	if (remark) {
		buffer_printf(b, ": ");
		text_escape(b, remark);
	}
	buffer_printf(b, "\n");
}

static void add_engine(struct buffer *b, const struct profile *p)
{
	const char *engine = profile_fact(p, PROFILE_FACT_ENGINE);
	if (!engine)
		return;
	buffer_printf(b, "# engine:   ");
	text_escape(b, engine);
	buffer_printf(b, "\n");
}

static uint64_t tally_count(const struct profile *p, const char *name)
{
	vec_foreach(tally, &p->tallies) {
		if (strcmp(profile_string(p, tally->name), name) == 0)
			return tally->count;
	}
	return 0;
}

/* "ring-full 8, throttled 3" of those that are not 0. */
static void add_tallies(struct buffer *b, const struct profile *p, enum profile_tally_kind kind)
{
	const char *separator = "";
	vec_foreach(tally, &p->tallies) {
		if (tally->kind != kind || !tally->count)
			continue;
		buffer_printf(b, "%s", separator);
		text_escape(b, profile_string(p, tally->name));
		buffer_printf(b, " %" PRIu64, tally->count);
		separator = ", ";
	}
}

static void add_lost(struct buffer *b, const struct profile *p)
{
	uint64_t lost = profile_tally_sum(p, PROFILE_LOSS);
	buffer_printf(b, "# lost:     ");
	if (lost) {
		buffer_printf(b, "%" PRIu64 ": ", lost);
		add_tallies(b, p, PROFILE_LOSS);
	} else {
		buffer_printf(b, "nothing");
	}
	buffer_printf(b, "\n");
}

/* Each time that an event fired is a sample, was not wanted, or was lost; if not, that is said too. */
static void add_account(struct buffer *b, const struct profile *p)
{
	uint64_t counted = profile_fact_number(p, PROFILE_FACT_EVENTS_COUNTED, UINT64_MAX);
	if (counted == UINT64_MAX)
		return;
	uint64_t lost = profile_tally_sum(p, PROFILE_LOSS);
	uint64_t known = p->total_count + lost;
	buffer_printf(b, "# counted:  %" PRIu64 " events = %" PRIu64 " samples", counted,
		      p->total_count);
	vec_foreach(tally, &p->tallies) {
		if (tally->kind != PROFILE_SKIPPED || !tally->count)
			continue;
		buffer_printf(b, " + %" PRIu64 " ", tally->count);
		text_escape(b, profile_string(p, tally->name));
		known += tally->count;
	}
	buffer_printf(b, " + %" PRIu64 " lost", lost);
	if (known < counted)
		buffer_printf(b, " + %" PRIu64 " not accounted for", counted - known);
	else if (known > counted)
		buffer_printf(b, " - %" PRIu64 " more than were counted", known - counted);
	buffer_printf(b, "\n");
}

static void add_bytes(struct buffer *b, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double amount = (double)bytes;
	size_t unit = 0;
	for (; amount >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
		amount /= 1024;
	buffer_printf(b, unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}

static void add_cost(struct buffer *b, const struct profile *p)
{
	uint64_t user = profile_fact_number(p, PROFILE_FACT_COST_USER, UINT64_MAX);
	uint64_t system = profile_fact_number(p, PROFILE_FACT_COST_SYSTEM, 0);
	uint64_t bpf = profile_fact_number(p, PROFILE_FACT_COST_KERNEL, 0);
	uint64_t rss = profile_fact_number(p, PROFILE_FACT_COST_RSS, 0);
	uint64_t bytes = profile_fact_number(p, PROFILE_FACT_COST_BYTES, 0);
	uint64_t duration = profile_fact_number(p, PROFILE_FACT_DURATION, 0);
	if (user == UINT64_MAX)
		return;
	double seconds = (double)user / 1e6 + (double)system / 1e6;
	buffer_printf(b, "# recorder: %.3f s CPU (user %.3f, system %.3f)", seconds,
		      (double)user / 1e6, (double)system / 1e6);
	if (duration)
		buffer_printf(b, " = %.2f%% of one CPU", seconds * 1e11 / (double)duration);
	if (bpf)
		buffer_printf(b, ", %.3f s in BPF programs", (double)bpf / 1e9);
	if (rss) {
		buffer_printf(b, ", ");
		add_bytes(b, rss * 1024);
		buffer_printf(b, " memory");
	}
	if (bytes) {
		buffer_printf(b, ", ");
		add_bytes(b, bytes);
		buffer_printf(b, " written");
	}
	buffer_printf(b, "\n");
}

/* "no-table 12, exiting 3" */
static void add_reasons(struct buffer *b, const struct stack_ends *ends)
{
	char text[24];
	const char *separator = "";
	for (unsigned reason = 0; reason < MW_N_REASONS; reason++) {
		if (!ends->reasons[reason])
			continue;
		buffer_printf(b, "%s%s %" PRIu64, separator,
			      text_reason((uint8_t)reason, text, sizeof text), ends->reasons[reason]);
		separator = ", ";
	}
}

/* Which share of user stacks is whole, and why the others are not. */
static int add_stacks(struct buffer *b, const struct profile *p)
{
	struct stack_ends ends;
	const char *how = profile_fact(p, PROFILE_FACT_CALL_GRAPH);
	if (!how)
		return 0;
	int r = stack_ends_count(p, &ends);
	if (r < 0 || !ends.stacks)
		return r;
	bool by_pointers = strcmp(how, "fp") == 0;
	uint64_t cut = ends.stacks - ends.whole - ends.guessed;
	buffer_printf(b, "# stacks:   ");
	if (by_pointers)
		buffer_printf(b, "of programs by frame pointers: callers without them are missing, unseen");
	else
		buffer_printf(b, "%.1f%% of %" PRIu64 " in programs reach the bottom",
			      100.0 * (double)ends.whole / (double)ends.stacks, ends.stacks);
	if (ends.guessed && !by_pointers)
		buffer_printf(b, "; %" PRIu64 " by frame pointers for want of a table", ends.guessed);
	if (cut) {
		buffer_printf(b, "; %" PRIu64 " end before: ", cut);
		add_reasons(b, &ends);
	}
	if (ends.exiting || ends.exec_raced)
		buffer_printf(b, "; beside them %" PRIu64 " in exit and %" PRIu64 " in exec that have none any more",
			      ends.exiting, ends.exec_raced);
	buffer_printf(b, "\n");
	return 0;
}

/* What the unwinding tables cost. */
static void add_unwinding(struct buffer *b, const struct profile *p)
{
	uint64_t loaded = tally_count(p, "unwinding-tables-loaded");
	if (!loaded)
		return;
	buffer_printf(b, "# unwinding: %" PRIu64 " tables, ", loaded);
	add_bytes(b, tally_count(p, "unwinding-tables-max-bytes"));
	buffer_printf(b, " in the kernel");
	uint64_t evicted = tally_count(p, "unwinding-tables-evicted");
	uint64_t refused = tally_count(p, "unwinding-tables-refused");
	if (evicted || refused)
		buffer_printf(b, ", %" PRIu64 " made room for others, %" PRIu64 " found none", evicted,
			      refused);
	uint64_t absent = tally_count(p, "unwinding-tables-absent");
	if (absent)
		buffer_printf(b, ", %" PRIu64 " files have none", absent);
	buffer_printf(b, "\n");
}

/* What the mark of such rows means, if there are any. */
static void add_inferred(struct buffer *b, const struct profile *p)
{
	uint64_t n_frames = 0, n_samples = 0;
	vec_foreach(f, &p->frames) {
		n_frames += !!(f->at.flags & FRAME_INFERRED);
		n_samples += f->at.flags & FRAME_INFERRED ? f->self_count : 0;
	}
	if (!n_frames)
		return;
	buffer_printf(b,
		      "# inferred: [~] marks code that ran from a copy in memory; place and bytes are "
		      "this file's (%" PRIu64 " samples)\n",
		      n_samples);
}

int report_write_head(const struct profile *p, FILE *out)
{
	struct buffer b = {};
	add_machine(&b, p);
	add_command(&b, p);
	add_time(&b, p);
	add_event(&b, p);
	add_engine(&b, p);
	int r = add_stacks(&b, p);
	add_lost(&b, p);
	add_account(&b, p);
	add_cost(&b, p);
	add_unwinding(&b, p);
	add_inferred(&b, p);
	if (p->damage) {
		buffer_printf(&b, "# damaged:  ");
		text_escape(&b, p->damage);
		buffer_printf(&b, "\n");
	}
	if (b.failed)
		r = -ENOMEM;
	if (r == 0)
		fwrite(b.data, 1, b.n, out);
	buffer_deinit(&b);
	return r;
}
