/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of the report.
 *
 * A row is a group and a label. The group is what the sort keys take from the sample (command, pid,
 * cgroup, container, CPU), the label what they take from the frame (file, symbol). So samples are taken group by
 * group: their stacks are summed up once in the stack tree, and each node then adds its sum to the
 * row of its label. With call graphs, the trees of a group's heavy rows are made while its sums are
 * there.
 */
#include "output/report.h"

#include "base/error.h"
#include "output/report_parts.h"
#include "output/text.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define GRAPH_LIMIT 0.5 /* percent, like perf */
#define MAX_TABLES  100 /* events that a report shows */

static const struct key {
	const char *name;
	const char *title;
	bool of_frame;
} keys[REPORT_N_KEYS] = {
	[REPORT_COMM] = {"comm", "Command", false},
	[REPORT_PID] = {"pid", "Pid:Command", false},
	[REPORT_TID] = {"tid", "Tid:Command", false},
	[REPORT_DSO] = {"dso", "Shared Object", true},
	[REPORT_SYM] = {"sym", "Symbol", true},
	[REPORT_CGROUP] = {"cgroup", "Cgroup", false},
	[REPORT_CPU] = {"cpu", "CPU", false},
	[REPORT_CONTAINER] = {"container", "Container", false},
	[REPORT_IMAGE] = {"image", "Image", false},
	[REPORT_POD] = {"pod", "Pod", false},
	[REPORT_SRCLINE] = {"srcline", "Source:Line", true},
	[REPORT_SRCFILE] = {"srcfile", "Source File", true},
};

/* One text for each sort key; those that do not apply are 0. */
struct texts {
	uint32_t of[REPORT_N_KEYS];
};

struct row {
	uint64_t self;
	uint64_t total;
	uint32_t group;
	uint32_t label;
	struct call_tree graph; /* empty if the row is too light */
};

/* What rows are ordered by; apart from them, since this is moved around. */
struct place {
	uint64_t weight;
	uint64_t self;
	uint32_t row;
};

struct entry {
	uint32_t group;
	uint32_t stack;
	uint64_t weight;
};

struct report {
	const struct profile *p;
	struct report_options options;
	struct report_weight weight;
	FILE *out;
	struct labels labels;

	VEC(struct texts) groups;
	struct hash_index group_index;
	struct texts *of_task; /* by task: comm, pid, tid, once it was needed */
	bool *task_labelled;   /* by task */

	VEC(struct texts) row_labels;
	struct hash_index row_label_index;
	uint32_t *row_of_frame; /* by frame */
	uint32_t no_frames;     /* the label of samples without any frame */

	struct stack_sums sums, scratch;
	struct stack_children children;
	uint64_t *label_self, *label_total; /* by label, of the group at hand */
	uint32_t *label_nodes;              /* by label: how many nodes, then where they start */
	VEC(uint32_t) seen;                 /* labels of the group at hand */
	VEC(uint32_t) nodes;                /* of the group at hand, by label in the order of seen */
	VEC(struct entry) entries;
	VEC(struct row) rows;
	VEC(struct place) order;
};

/* ---- options --------------------------------------------------------------------------------- */

static int add_key(struct report_options *options, const char *name, size_t n)
{
	for (size_t i = 0; i < REPORT_N_KEYS; i++) {
		if (strlen(keys[i].name) != n || memcmp(keys[i].name, name, n) != 0)
			continue;
		if (!memchr(options->keys, (int)i, options->n_keys))
			options->keys[options->n_keys++] = (uint8_t)i;
		return 0;
	}
	return -EINVAL;
}

int report_parse_sort(const char *text, struct report_options *options, struct mw_error *e)
{
	options->n_keys = 0;
	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ",");
		if (add_key(options, at, n) < 0)
			return error_set(e, -EINVAL,
					 "unknown sort key '%.*s'; there are "
					 "comm, pid, tid, dso, sym, srcline, srcfile, cgroup, cpu, container, "
					 "image, pod",
					 (int)MIN(n, 100u), at);
		at += n;
		if (!*at)
			return 0;
	}
}

bool report_wants_lines(const struct report_options *options)
{
	return memchr(options->keys, REPORT_SRCLINE, options->n_keys) ||
	       memchr(options->keys, REPORT_SRCFILE, options->n_keys);
}

/* ---- labels of samples and frames ------------------------------------------------------------ */

static bool shows_children(const struct report *r)
{
	return r->options.call_graph && !r->options.no_children;
}

static bool wants(const struct report *r, uint8_t key)
{
	return memchr(r->options.keys, key, r->options.n_keys);
}

static bool group_equal(const void *context, uint32_t entry, const void *key)
{
	const struct report *r = context;
	return memcmp(&r->groups.items[entry], key, sizeof(struct texts)) == 0;
}

static bool row_label_equal(const void *context, uint32_t entry, const void *key)
{
	const struct report *r = context;
	return memcmp(&r->row_labels.items[entry], key, sizeof(struct texts)) == 0;
}

static int intern_group(struct report *r, const struct texts *key, uint32_t *ret)
{
	uint64_t hash = hash_bytes(key, sizeof *key, 0);
	*ret = hash_index_find(&r->group_index, hash, group_equal, r, key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (vec_push(&r->groups, *key) < 0)
		return -ENOMEM;
	*ret = (uint32_t)(r->groups.n - 1);
	return hash_index_add(&r->group_index, hash, *ret);
}

static int intern_row_label(struct report *r, uint32_t object, uint32_t marked,
			    struct texts source, uint32_t *ret)
{
	struct texts key = source;
	if (wants(r, REPORT_DSO))
		key.of[REPORT_DSO] = object;
	if (wants(r, REPORT_SYM))
		key.of[REPORT_SYM] = marked;
	uint64_t hash = hash_bytes(&key, sizeof key, 0);
	*ret = hash_index_find(&r->row_label_index, hash, row_label_equal, r, &key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (vec_push(&r->row_labels, key) < 0)
		return -ENOMEM;
	*ret = (uint32_t)(r->row_labels.n - 1);
	return hash_index_add(&r->row_label_index, hash, *ret);
}

/* Code without a known line is told by its place in the function, as perf does. */
static int label_srcline(struct report *r, size_t frame, uint32_t *ret)
{
	const struct profile_frame *f = &r->p->frames.items[frame];
	const struct profile_line *line = f->n_lines ? &r->p->lines.items[f->first_line] : NULL;
	struct buffer b = {};
	if (line && line->file)
		buffer_printf(&b, "%s:%u", profile_string(r->p, line->file), line->line);
	else if (f->name.name && f->name.start && f->at.address >= f->name.start)
		buffer_printf(&b, "%s+0x%" PRIx64, labels_text(&r->labels, r->labels.symbol[frame]),
			      f->at.address - f->name.start);
	else
		buffer_printf(&b, "%s", labels_text(&r->labels, r->labels.symbol[frame]));
	buffer_u8(&b, 0);
	int error = b.failed ? -ENOMEM : labels_add(&r->labels, (const char *)b.data, ret);
	buffer_deinit(&b);
	return error;
}

static int label_source(struct report *r, size_t frame, struct texts *ret)
{
	const struct profile_frame *f = &r->p->frames.items[frame];
	const struct profile_line *line = f->n_lines ? &r->p->lines.items[f->first_line] : NULL;
	int error = 0;
	if (wants(r, REPORT_SRCLINE))
		error = label_srcline(r, frame, &ret->of[REPORT_SRCLINE]);
	if (error == 0 && wants(r, REPORT_SRCFILE))
		error = labels_add(&r->labels,
				   line && line->file ? profile_string(r->p, line->file) : "[no source]",
				   &ret->of[REPORT_SRCFILE]);
	return error;
}

/* What samples without any frame are called by the keys of the source. */
static int label_no_source(struct report *r, struct texts *ret)
{
	uint32_t text;
	int error = labels_add(&r->labels, "[no source]", &text);
	if (wants(r, REPORT_SRCLINE))
		ret->of[REPORT_SRCLINE] = text;
	if (wants(r, REPORT_SRCFILE))
		ret->of[REPORT_SRCFILE] = text;
	return error;
}

static int label_frames(struct report *r)
{
	uint32_t object = 0, marked = 0;
	r->row_of_frame = calloc(r->p->frames.n + 1, sizeof *r->row_of_frame);
	if (!r->row_of_frame || labels_add(&r->labels, "[none]", &object) < 0 ||
	    labels_add(&r->labels, "[.] [no-user-stack]", &marked) < 0)
		return -ENOMEM;
	struct texts none = {};
	int error = label_no_source(r, &none);
	if (error == 0)
		error = intern_row_label(r, object, marked, none, &r->no_frames);
	for (size_t i = 0; i < r->p->frames.n && error == 0; i++) {
		struct texts source = {};
		error = label_source(r, i, &source);
		if (error == 0)
			error = intern_row_label(r, r->labels.object[i], r->labels.marked[i], source,
						 &r->row_of_frame[i]);
	}
	return error;
}

static int label_task(struct report *r, uint32_t number)
{
	const struct profile_task *task = &r->p->tasks.items[number];
	const char *command = profile_string(r->p, task->command);
	struct texts *texts = &r->of_task[number];
	char text[400];
	int error = 0;
	if (r->task_labelled[number])
		return 0;
	if (wants(r, REPORT_COMM))
		error = labels_add(&r->labels, command, &texts->of[REPORT_COMM]);
	snprintf(text, sizeof text, "%7u:%s", task->key.pid, command);
	if (error == 0 && wants(r, REPORT_PID))
		error = labels_add(&r->labels, text, &texts->of[REPORT_PID]);
	snprintf(text, sizeof text, "%7u:%s", task->key.tid, command);
	if (error == 0 && wants(r, REPORT_TID))
		error = labels_add(&r->labels, text, &texts->of[REPORT_TID]);
	r->task_labelled[number] = true;
	return error;
}

static int label_cgroup(struct report *r, uint32_t number, uint32_t *ret)
{
	const struct profile_cgroup *cgroup = &r->p->cgroups.items[number];
	char text[40];
	snprintf(text, sizeof text, "[cgroup %" PRIu64 "]", cgroup->id);
	return labels_add(&r->labels, cgroup->path ? profile_string(r->p, cgroup->path) : text, ret);
}

/* A container is called by its name, else by its id as far as people read it. */
static int label_container(struct report *r, const struct profile_container *c, struct texts *key)
{
	const char *text[PROFILE_CONTAINER_N_TEXTS];
	struct buffer b = {};
	uint32_t *of = key->of;
	for (size_t i = 0; i < PROFILE_CONTAINER_N_TEXTS; i++)
		text[i] = c ? profile_string(r->p, c->text[i]) : "";
	const char *name = text[PROFILE_CONTAINER_NAME], *id = text[PROFILE_CONTAINER_ID];
	if (c)
		buffer_printf(&b, "%s:%.*s", text[PROFILE_CONTAINER_RUNTIME], name[0] ? INT_MAX : 12,
			      name[0] ? name : id);
	buffer_u8(&b, 0);
	int error = b.failed ? -ENOMEM : 0;
	if (error == 0 && wants(r, REPORT_CONTAINER))
		error = labels_add(&r->labels, c ? (const char *)b.data : "[host]",
				   &of[REPORT_CONTAINER]);
	if (error == 0 && wants(r, REPORT_IMAGE))
		error = labels_add(&r->labels,
				   text[PROFILE_CONTAINER_IMAGE][0] ? text[PROFILE_CONTAINER_IMAGE] : "-",
				   &of[REPORT_IMAGE]);
	b.n = 0;
	if (text[PROFILE_CONTAINER_NAMESPACE][0])
		buffer_printf(&b, "%s/", text[PROFILE_CONTAINER_NAMESPACE]);
	buffer_printf(&b, "%s", text[PROFILE_CONTAINER_POD][0] ? text[PROFILE_CONTAINER_POD] : "-");
	buffer_u8(&b, 0);
	if (error == 0 && wants(r, REPORT_POD))
		error = b.failed ? -ENOMEM
				 : labels_add(&r->labels, (const char *)b.data, &of[REPORT_POD]);
	buffer_deinit(&b);
	return error;
}

static bool wants_container(const struct report *r)
{
	return wants(r, REPORT_CONTAINER) || wants(r, REPORT_IMAGE) || wants(r, REPORT_POD);
}

static int group_of(struct report *r, const struct profile_sample *s, uint32_t *ret)
{
	int error = label_task(r, s->task);
	struct texts key = r->of_task[s->task];
	if (error == 0 && wants(r, REPORT_CGROUP))
		error = label_cgroup(r, s->cgroup, &key.of[REPORT_CGROUP]);
	if (error == 0 && wants_container(r))
		error = label_container(r, profile_container_of(r->p, s), &key);
	if (error == 0 && wants(r, REPORT_CPU)) {
		char text[16];
		snprintf(text, sizeof text, "%03u", s->cpu);
		error = labels_add(&r->labels, text, &key.of[REPORT_CPU]);
	}
	return error < 0 ? error : intern_group(r, &key, ret);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* By group: counts them, then puts each at its place. */
static int order_entries(struct report *r)
{
	struct entry *ordered = calloc(r->entries.n + 1, sizeof *ordered);
	size_t *place = calloc(r->groups.n + 1, sizeof *place);
	int error = -ENOMEM;
	if (ordered && place) {
		vec_foreach(entry, &r->entries)
			place[entry->group + 1]++;
		for (size_t i = 1; i <= r->groups.n; i++)
			place[i] += place[i - 1];
		vec_foreach(entry, &r->entries)
			ordered[place[entry->group]++] = *entry;
		free(r->entries.items);
		r->entries.items = take_ptr(ordered);
		r->entries.capacity = r->entries.n + 1;
		error = 0;
	}
	free(ordered);
	free(place);
	return error;
}

static int collect_entries(struct report *r)
{
	vec_foreach(sample, &r->p->samples) {
		if (sample->event != r->weight.event)
			continue;
		struct entry entry = {.stack = sample->stack,
				      .weight = report_weigh(&r->weight, sample)};
		int error = group_of(r, sample, &entry.group);
		if (error == 0)
			error = vec_push(&r->entries, entry);
		if (error < 0)
			return error;
	}
	return order_entries(r);
}

static uint32_t label_of_node(const struct report *r, uint32_t node)
{
	return node ? r->row_of_frame[r->p->nodes.items[node].frame] : r->no_frames;
}

/* Adds the sums of the group's nodes to their labels. */
static int sum_labels(struct report *r)
{
	const struct stack_sums *sums = &r->sums;
	for (size_t i = 0; i < sums->touched.n; i++) {
		uint32_t node = sums->touched.items[i], label = label_of_node(r, node);
		if (!node && !sums->self[0])
			continue; /* the root of all stacks, and no sample without frames */
		if (!r->label_nodes[label]++ && vec_push(&r->seen, label) < 0)
			return -ENOMEM;
		r->label_self[label] += sums->self[node];
		if (!node)
			r->label_total[label] += sums->self[0];
		else if (shows_children(r) && stack_is_outermost(r->p, r->row_of_frame, node))
			r->label_total[label] += sums->total[node];
	}
	return 0;
}

/* Lists the group's nodes by label. */
static int list_nodes(struct report *r)
{
	const struct stack_sums *sums = &r->sums;
	if (vec_reserve(&r->nodes, sums->touched.n) < 0)
		return -ENOMEM;
	uint32_t end = 0;
	vec_foreach(label, &r->seen)
		r->label_nodes[*label] = end += r->label_nodes[*label];
	r->nodes.n = end;
	for (size_t i = sums->touched.n; i-- > 0;) {
		uint32_t node = sums->touched.items[i];
		if (node || sums->self[0])
			r->nodes.items[--r->label_nodes[label_of_node(r, node)]] = node;
	}
	return 0;
}

/* Where it weighs enough for its graph to have a line. */
static int make_graph(struct report *r, struct row *row, const uint32_t *nodes, size_t n)
{
	uint64_t own = shows_children(r) ? row->total : row->self;
	double limit = r->options.graph_limit / 100 * (double)r->weight.total;
	if (!r->options.call_graph || (double)own < limit || (n && !nodes[0]))
		return 0;
	struct call_source source = {.p = r->p,
				     .sums = &r->sums,
				     .children = &r->children,
				     .rows = r->row_of_frame,
				     .calls = r->labels.symbol,
				     .limit = MAX((uint64_t)(limit + 0.999999), UINT64_C(1)),
				     .scratch = &r->scratch};
	return shows_children(r) ? call_tree_callees(&row->graph, &source, nodes, n)
				 : call_tree_callers(&row->graph, &source, nodes, n);
}

static int add_row(struct report *r, uint32_t group, size_t i)
{
	uint32_t label = r->seen.items[i];
	size_t start = r->label_nodes[label];
	size_t end = i + 1 < r->seen.n ? r->label_nodes[r->seen.items[i + 1]] : r->nodes.n;
	struct row row = {.self = r->label_self[label],
			  .total = r->label_total[label],
			  .group = group,
			  .label = label};
	if (!shows_children(r) && !row.self)
		return 0;
	int error = vec_push(&r->rows, row);
	if (error < 0)
		return error;
	return make_graph(r, &r->rows.items[r->rows.n - 1], r->nodes.items + start, end - start);
}

static void clear_group(struct report *r)
{
	vec_foreach(label, &r->seen) {
		r->label_self[*label] = r->label_total[*label] = 0;
		r->label_nodes[*label] = 0;
	}
	r->seen.n = 0;
	stack_sums_clear(&r->sums);
}

static int make_rows_of_group(struct report *r, size_t start, size_t end)
{
	int error = 0;
	for (size_t i = start; i < end && error == 0; i++)
		error = stack_sums_add(&r->sums, r->entries.items[i].stack,
				       r->entries.items[i].weight);
	stack_sums_finish(&r->sums);
	if (error == 0)
		error = sum_labels(r);
	if (error == 0)
		error = list_nodes(r);
	for (size_t i = 0; i < r->seen.n && error == 0; i++)
		error = add_row(r, r->entries.items[start].group, i);
	clear_group(r);
	return error;
}

static int make_rows(struct report *r)
{
	int error = 0;
	for (size_t start = 0, end; start < r->entries.n && error == 0; start = end) {
		for (end = start; end < r->entries.n &&
				  r->entries.items[end].group == r->entries.items[start].group;)
			end++;
		error = make_rows_of_group(r, start, end);
	}
	return error;
}

static const char *cell(const struct report *r, const struct row *row, uint8_t key)
{
	const struct texts *t = keys[key].of_frame ? &r->row_labels.items[row->label]
						   : &r->groups.items[row->group];
	return labels_text(&r->labels, t->of[key]);
}

static int by_weight(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int order_rows(struct report *r)
{
	r->order.n = 0;
	if (vec_reserve(&r->order, r->rows.n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.items[i];
		uint64_t weight = shows_children(r) ? row->total : row->self;
		r->order.items[r->order.n++] = (struct place){weight, row->self, (uint32_t)i};
	}
	if (r->order.n)
		qsort(r->order.items, r->order.n, sizeof *r->order.items, by_weight);
	return 0;
}

/* ---- printing -------------------------------------------------------------------------------- */

static bool is_shown(const struct report *r, const struct row *row)
{
	uint64_t weight = shows_children(r) ? row->total : row->self;
	return report_percent(weight, r->weight.total) >= r->options.percent_limit;
}

static void measure(const struct report *r, size_t *widths)
{
	for (size_t i = 0; i < r->options.n_keys; i++) {
		uint8_t key = r->options.keys[i];
		widths[i] = strlen(keys[key].title);
		vec_foreach(row, &r->rows) {
			if (is_shown(r, row))
				widths[i] = MAX(widths[i], text_columns(cell(r, row, key)));
		}
	}
}

static void write_titles(const struct report *r, const size_t *widths)
{
	fprintf(r->out, shows_children(r) ? "# Children      Self" : "# Overhead");
	for (size_t i = 0; i < r->options.n_keys; i++) {
		bool last = i + 1 == r->options.n_keys;
		fprintf(r->out, "  %-*s", last ? 0 : (int)widths[i], keys[r->options.keys[i]].title);
	}
	fprintf(r->out, shows_children(r) ? "\n# ........  ........" : "\n# ........");
	for (size_t i = 0; i < r->options.n_keys; i++) {
		fprintf(r->out, "  ");
		for (size_t k = 0; k < widths[i]; k++)
			fputc('.', r->out);
	}
	fprintf(r->out, "\n#\n");
}

/* Writes a text, at most so many columns of it, filled up with blanks to a width. */
static void write_cell(FILE *out, const char *text, size_t room, size_t width)
{
	size_t columns = 0;
	const char *end = text;
	for (; *end && columns < room; columns++) {
		do
			end++;
		while ((*end & 0xc0) == 0x80);
	}
	fwrite_unlocked(text, 1, (size_t)(end - text), out);
	for (; columns < MIN(width, room); columns++)
		putc_unlocked(' ', out);
}

static void write_cells(const struct report *r, const struct row *row, const size_t *widths)
{
	size_t used = shows_children(r) ? 20 : 10;
	size_t limit = r->options.width ? MAX(r->options.width, used + 1) : SIZE_MAX;
	for (size_t i = 0; i < r->options.n_keys && used + 2 < limit; i++) {
		bool last = i + 1 == r->options.n_keys;
		fputs_unlocked("  ", r->out);
		used += 2;
		write_cell(r->out, cell(r, row, r->options.keys[i]), limit - used,
			   last ? 0 : widths[i]);
		used += widths[i];
	}
	putc_unlocked('\n', r->out);
}

static void write_row(const struct report *r, const struct row *row, const size_t *widths)
{
	uint64_t weight = shows_children(r) ? row->total : row->self;
	fputs("  ", r->out);
	if (shows_children(r)) {
		report_write_percent(r->out, row->total, r->weight.total, 8, r->options.colour);
		fputs("  ", r->out);
	}
	report_write_percent(r->out, row->self, r->weight.total, 8, r->options.colour);
	write_cells(r, row, widths);
	if (row->graph.calls.n)
		report_write_graph(&row->graph, &r->labels, weight, r->weight.total,
				   r->options.colour, r->out);
}

static int write_table(struct report *r)
{
	size_t widths[REPORT_N_KEYS];
	uint32_t name;
	int error = labels_add(&r->labels,
			       profile_string(r->p, r->p->events.items[r->weight.event].name), &name);
	if (error < 0)
		return error;
	fprintf(r->out, "#\n# Samples: %" PRIu64 " of event '%s'\n", r->weight.count,
		labels_text(&r->labels, name));
	fprintf(r->out, "# Event count (approx.): %" PRIu64 "\n#\n", r->weight.total);
	measure(r, widths);
	write_titles(r, widths);
	vec_foreach(place, &r->order) {
		const struct row *row = &r->rows.items[place->row];
		if (is_shown(r, row))
			write_row(r, row, widths);
	}
	return 0;
}

/* ---- the report ------------------------------------------------------------------------------ */

static void clear_event(struct report *r)
{
	vec_foreach(row, &r->rows)
		call_tree_deinit(&row->graph);
	r->rows.n = 0;
	r->entries.n = 0;
}

static void report_deinit(struct report *r)
{
	clear_event(r);
	vec_deinit(&r->rows);
	vec_deinit(&r->order);
	vec_deinit(&r->entries);
	vec_deinit(&r->nodes);
	vec_deinit(&r->seen);
	vec_deinit(&r->groups);
	vec_deinit(&r->row_labels);
	hash_index_deinit(&r->group_index);
	hash_index_deinit(&r->row_label_index);
	free(r->of_task);
	free(r->task_labelled);
	free(r->row_of_frame);
	free(r->label_self);
	free(r->label_total);
	free(r->label_nodes);
	stack_sums_deinit(&r->sums);
	stack_sums_deinit(&r->scratch);
	stack_children_deinit(&r->children);
	labels_deinit(&r->labels);
}

static int allocate_tables(struct report *r)
{
	size_t n = r->row_labels.n, n_tasks = r->p->tasks.n + 1;
	r->label_self = calloc(n, sizeof *r->label_self);
	r->label_total = calloc(n, sizeof *r->label_total);
	r->label_nodes = calloc(n, sizeof *r->label_nodes);
	r->of_task = calloc(n_tasks, sizeof *r->of_task);
	r->task_labelled = calloc(n_tasks, sizeof *r->task_labelled);
	return r->label_self && r->label_total && r->label_nodes && r->of_task && r->task_labelled
		       ? 0
		       : -ENOMEM;
}

static int prepare(struct report *r)
{
	int error = labels_init(&r->labels, r->p);
	if (error == 0)
		error = label_frames(r);
	if (error == 0)
		error = allocate_tables(r);
	if (error == 0)
		error = stack_sums_init(&r->sums, r->p);
	r->sums.leaves_only = !shows_children(r);
	if (error == 0 && r->options.call_graph)
		error = stack_sums_init(&r->scratch, r->p);
	if (error == 0 && r->options.call_graph)
		error = stack_children_init(&r->children, r->p);
	return error;
}

static int report_event(struct report *r)
{
	int error = collect_entries(r);
	if (error == 0)
		error = make_rows(r);
	if (error == 0)
		error = order_rows(r);
	if (error == 0)
		error = write_table(r);
	clear_event(r);
	return error < 0 ? error : report_write_nameless(r->p, &r->weight, r->out);
}

/* By event: what its samples weigh. */
static struct report_weight *weigh_events(const struct profile *p)
{
	struct report_weight *weights = calloc(p->events.n + 1, sizeof *weights);
	if (!weights)
		return NULL;
	vec_foreach(sample, &p->samples) {
		weights[sample->event].count += sample->count;
		weights[sample->event].total += sample->value;
	}
	for (uint32_t i = 0; i < p->events.n; i++) {
		weights[i].event = i;
		weights[i].by_count = weights[i].total == 0;
		if (weights[i].by_count)
			weights[i].total = weights[i].count;
	}
	return weights;
}

static int report_events(struct report *r)
{
	_cleanup_free_ struct report_weight *weights = weigh_events(r->p);
	int error = weights ? 0 : -ENOMEM;
	size_t n = 0;
	for (size_t i = 0; i < r->p->events.n && error == 0; i++) {
		if (!weights[i].count || n++ >= MAX_TABLES)
			continue;
		r->weight = weights[i];
		error = report_event(r);
	}
	if (error == 0 && !n)
		fprintf(r->out, "#\n# No samples.\n");
	if (n > MAX_TABLES)
		fprintf(r->out, "#\n# %zu more events are not shown.\n", n - MAX_TABLES);
	return error;
}

static void fill_defaults(struct report_options *options)
{
	static const uint8_t usual[] = {REPORT_COMM, REPORT_DSO, REPORT_SYM};
	if (!options->n_keys) {
		memcpy(options->keys, usual, sizeof usual);
		options->n_keys = ARRAY_SIZE(usual);
	}
	if (options->graph_limit <= 0)
		options->graph_limit = GRAPH_LIMIT;
}

int report_write(const struct profile *p, const struct report_options *options, FILE *out)
{
	struct report_options filled = *options;
	fill_defaults(&filled);
	errno = 0;
	struct report r = {.p = p, .options = filled, .out = out};
	int error = report_write_head(p, out);
	if (error == 0)
		error = prepare(&r);
	if (error == 0)
		error = report_events(&r);
	report_deinit(&r);
	if (error == 0 && (fflush(out) != 0 || ferror(out)))
		error = errno ? -errno : -EIO;
	return error;
}
