/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/command_store.h"
#include "cli/message.h"
#include "output/text.h"
#include "store/root.h"
#include "symbols/resolver.h"
#include "symbols/subject.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct arguments {
	const char *store;
	uint64_t store_size;
	bool json;
};

#define AT(field) .offset = offsetof(struct arguments, field)

static const struct option_spec options[] = {
	{OPTION_TEXT, 0, "store", "DIR", AT(store), .complete = COMPLETE_DIRECTORIES, .group = "Options",
	 .help = COMMAND_STORE_HELP},
	{OPTION_BYTES, 0, "store-size", "SIZE", AT(store_size), .min = 64 << 10,
	 .help = "With gc: what the store may take on disk. Default: 2G."},
	{OPTION_FLAG, 0, "json", AT(json), .help = "Write JSON: ls one object a line, the others one object."},
	{},
};

static const char *const description[] = {
	"What is known of the files that were recorded or asked about: their functions, source lines and "
	"inlined calls, by the files' content.",
	"ls lists the files, those not used for the longest time first. add FILE... reads files and puts them in. gc "
	"removes what is broken or left over, and what was not used for the longest time if the store is over its "
	"size. verify reads everything and ends with status 1 if something is broken. path FILE-ID says where a "
	"file's entry lies.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright store ls", "what the store knows"},
	{"mapwright store add /usr/bin/*", "names and lines of programs, before they are needed"},
	{"mapwright store gc --store-size 500M", "make it smaller"},
	{},
};

struct job {
	struct invocation *in;
	const struct arguments *a;
	struct store *store;
	uint64_t n;
	uint64_t n_broken;
	uint64_t bytes;
};

/* ---- ls -------------------------------------------------------------------------------------- */

static const char *path_of(const struct meta *meta)
{
	return meta->paths.n ? meta->paths.items[0] : "";
}

static json_t *parts_as_json(const struct meta *meta)
{
	json_t *parts = json_object();
	for (int i = 0; i < STORE_N_PARTS; i++) {
		const struct meta_part *part = &meta->parts[i];
		const struct meta_failure *failure = &meta->failures[i];
		json_t *value = NULL;
		if (part->present)
			value = json_pack("{s:s, s:I, s:I, s:I}", "source", part->source, "rank",
					  (json_int_t)part->rank, "builder",
					  (json_int_t)part->builder, "bytes",
					  (json_int_t)part->size);
		else if (failure->reason != MW_REASON_NONE)
			value = json_pack("{s:s?}", "reason", mw_reason_name(failure->reason));
		if (value)
			json_object_set_new(parts, store_part_name((enum store_part)i), value);
	}
	return parts;
}

static void list_as_json(const struct store_entry *entry, const struct meta *meta, const char *id)
{
	json_t *paths = json_array();
	vec_foreach(path, &meta->paths) {
		json_t *text = json_string(*path); /* NULL: no UTF-8 */
		json_array_append_new(paths, text ? text : json_null());
	}
	json_t *whole = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "file_id", id, "bytes",
				  (json_int_t)entry->bytes, "used", (json_int_t)entry->used,
				  "file_size", (json_int_t)meta->file_size, "paths", paths, "parts",
				  parts_as_json(meta));
	json_dumpf(whole, stdout, JSON_COMPACT);
	json_decref(whole);
	putchar('\n');
}

static void list_as_text(const struct store_entry *entry, const struct meta *meta, const char *id)
{
	char when[32] = "-";
	struct tm tm;
	time_t used = (time_t)entry->used;
	if (localtime_r(&used, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
	_cleanup_(buffer_deinit) struct buffer line = {};
	buffer_printf(&line, "%-44s %8" PRIu64 "K  %s  ", id, (entry->bytes + 1023) / 1024, when);
	for (int i = 0; i < STORE_N_PARTS; i++) {
		const struct meta_part *part = &meta->parts[i];
		if (part->present)
			buffer_printf(&line, "%s(%s) ", store_part_name((enum store_part)i),
				      part->source);
	}
	text_escape(&line, path_of(meta));
	printf("%.*s\n", (int)line.n, line.failed ? "" : (const char *)line.data);
}

static int list_one(void *data, const struct store_entry *entry)
{
	struct job *job = data;
	struct meta meta = {};
	char id[MW_FILE_ID_TEXT_MAX];
	if (store_lookup(job->store, &entry->id, &meta, NULL) != 1)
		return 0; /* it has gone meanwhile, or is broken: verify tells */
	mw_file_id_to_text(&entry->id, id, sizeof id);
	if (job->a->json)
		list_as_json(entry, &meta, id);
	else
		list_as_text(entry, &meta, id);
	meta_deinit(&meta);
	job->n++;
	job->bytes += entry->bytes;
	return ferror(stdout) ? -EIO : 0;
}

static int list(struct job *job, struct mw_error *e)
{
	int r = store_each(job->store, list_one, job, e);
	if (r == 0 && !job->a->json)
		printf("%" PRIu64 " files, %" PRIu64 "K in %s\n", job->n, (job->bytes + 1023) / 1024,
		       store_directory(job->store));
	return r;
}

/* ---- add ------------------------------------------------------------------------------------- */

static void added(const struct job *job, const char *path, const struct subject_file *file)
{
	struct meta meta = {};
	char id[MW_FILE_ID_TEXT_MAX];
	mw_file_id_to_text(&file->id, id, sizeof id);
	store_lookup(job->store, &file->store_id, &meta, NULL);
	const struct meta_part *names = &meta.parts[STORE_NAMES], *lines = &meta.parts[STORE_LINES];
	if (job->a->json) {
		json_t *whole = json_pack("{s:s, s:s*, s:o}", "file_id", id, "path",
					  path, "parts", parts_as_json(&meta));
		json_dumpf(whole, stdout, JSON_COMPACT);
		json_decref(whole);
		putchar('\n');
	} else {
		_cleanup_(buffer_deinit) struct buffer line = {};
		text_escape(&line, path);
		printf("%.*s: %s, names: %s, lines: %s\n", (int)line.n, (const char *)line.data, id,
		       names->present ? names->source : "none",
		       lines->present ? lines->source : "none");
	}
	meta_deinit(&meta);
}

static int add_one(struct job *job, const struct proc *proc, const char *path)
{
	struct mw_error e = {};
	struct mw_resolver *resolver = NULL;
	int r = resolver_new(job->store, 0, &resolver);
	struct subject subject = {.lines = true, .store = job->store, .resolver = resolver,
				  .proc = proc, .log = &job->in->log};
	if (r == 0)
		r = subject_open_file(&subject, path, &e);
	if (r < 0) {
		progress_clear(&job->in->progress);
		message_failure(&e, NULL);
		job->n_broken++;
	} else {
		job->n++;
		progress_clear(&job->in->progress);
		added(job, path, subject.files.items[0]);
	}
	subject_deinit(&subject);
	mw_resolver_close(resolver);
	return r == -ENOMEM ? r : 0;
}

static int add(struct job *job, struct mw_error *e)
{
	struct proc proc = PROC_INIT;
	int r = proc_init(&proc, "/proc", e);
	for (int i = 1; i < job->in->argc && r == 0; i++) {
		char line[256];
		snprintf(line, sizeof line, "reading %d of %d: %s", i, job->in->argc - 1,
			 job->in->argv[i]);
		progress_show(&job->in->progress, line);
		r = add_one(job, &proc, job->in->argv[i]);
	}
	progress_clear(&job->in->progress);
	proc_deinit(&proc);
	return r < 0 ? error_set(e, r, "out of memory") : job->n_broken > 0;
}

/* ---- gc, verify, path ------------------------------------------------------------------------ */

static int collect(struct job *job, struct mw_error *e)
{
	struct store_usage usage;
	int r = store_gc(job->store, &usage, e);
	if (r < 0)
		return r;
	if (job->a->json)
		printf("{\"bytes\":%" PRIu64 ",\"entries\":%" PRIu64 ",\"evicted\":%" PRIu64
		       ",\"cleaned\":%" PRIu64 "}\n",
		       usage.bytes, usage.entries, usage.evicted, usage.cleaned);
	else
		printf("%" PRIu64 " files, %" PRIu64 "K; removed: %" PRIu64
		       " for room, %" PRIu64 " that were broken or left over\n",
		       usage.entries, (usage.bytes + 1023) / 1024, usage.evicted, usage.cleaned);
	return 0;
}

/* What is wrong with a table, NULL: nothing. Reads all of it. */
static const char *find_fault(const struct mapped_gsym *mapped)
{
	struct gsym_decoded decoded = {};
	struct gsym_entry entry;
	const char *fault = NULL;
	uint64_t end = 0;
	for (uint32_t i = 0; i < mapped->gsym.n && !fault; i++) {
		if (!gsym_get(&mapped->gsym, i, &entry))
			fault = "an entry cannot be read";
		else if (entry.start < end)
			fault = "entries are not in order";
		else if (gsym_decode(&mapped->gsym, i, &decoded) < 0)
			fault = "out of memory";
		end = fault ? 0 : entry.start;
	}
	gsym_decoded_deinit(&decoded);
	return fault;
}

static void report_fault(struct job *job, const struct mw_file_id *id, const char *what,
			 const char *fault)
{
	char text[MW_FILE_ID_TEXT_MAX];
	mw_file_id_to_text(id, text, sizeof text);
	job->n_broken++;
	if (job->a->json)
		printf("{\"file_id\":\"%s\",\"part\":\"%s\",\"fault\":\"%s\"}\n", text, what, fault);
	else
		printf("%s: %s: %s\n", text, what, fault);
}

static int verify_one(void *data, const struct store_entry *entry)
{
	struct job *job = data;
	struct meta meta = {};
	job->n++;
	if (store_lookup(job->store, &entry->id, &meta, NULL) != 1) {
		report_fault(job, &entry->id, "meta", "cannot be read");
		return 0;
	}
	for (int i = 0; i < STORE_N_PARTS; i++) {
		_cleanup_close_ int fd = -1;
		if (meta.parts[i].present)
			fd = store_open_part(job->store, &entry->id, (enum store_part)i, NULL, NULL);
		if (meta.parts[i].present && fd < 0)
			report_fault(job, &entry->id, store_part_name((enum store_part)i),
				     "is not the file that its meta describes");
	}
	struct symbol_table table = {};
	symbol_table_load(&table, job->store, &entry->id);
	const char *names = find_fault(&table.names), *lines = find_fault(&table.lines);
	if (names)
		report_fault(job, &entry->id, "names", names);
	if (lines)
		report_fault(job, &entry->id, "lines", lines);
	symbol_table_deinit(&table);
	meta_deinit(&meta);
	return 0;
}

static int verify(struct job *job, struct mw_error *e)
{
	int r = store_each(job->store, verify_one, job, e);
	if (r == 0 && !job->a->json)
		printf("%" PRIu64 " files, %" PRIu64 " faults\n", job->n, job->n_broken);
	if (r == 0 && job->n_broken && !job->a->json)
		message_hint("mapwright store gc removes what is broken; it is made again when it is needed");
	return r < 0 ? r : job->n_broken > 0;
}

static int show_path(struct job *job, struct mw_error *e)
{
	struct mw_file_id id;
	const char *text = job->in->argv[1];
	if (mw_file_id_from_text(text, &id) < 0)
		return error_set(e, -EINVAL, "%s: not a file id", text);
	if (id.kind == MW_FILE_ID_GNU_PADDED) {
		struct mw_file_id padded = id;
		if (store_complete_id(job->store, &padded, &id) < 0)
			return error_set(e, -ENOENT, "%s: not one file in the store", text);
	}
	struct meta meta = {};
	int r = store_lookup(job->store, &id, &meta, e);
	meta_deinit(&meta);
	if (r < 0)
		return r;
	if (r == 0)
		return error_set(e, -ENOENT, "%s: not in the store", text);
	char path[ROOT_ENTRY_MAX];
	root_entry_path(&id, path);
	if (job->a->json)
		printf("{\"path\":\"%s/%s\"}\n", store_directory(job->store), path);
	else
		printf("%s/%s\n", store_directory(job->store), path);
	return 0;
}

static const struct action {
	const char *name;
	int (*run)(struct job *job, struct mw_error *e);
	int least, most; /* arguments */
} actions[] = {
	{"ls", list, 0, 0},	{"add", add, 1, INT32_MAX},    {"gc", collect, 0, 0},
	{"verify", verify, 0, 0}, {"path", show_path, 1, 1},
};

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	}
	return NULL;
}

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	if (!in->argc)
		return command_misuse(in->command, "say what: ls, add, gc, verify or path");
	const struct action *action = find_action(in->argv[0]);
	if (!action)
		return command_misuse(in->command, "%s is none of ls, add, gc, verify, path",
				      in->argv[0]);
	if (in->argc - 1 < action->least || in->argc - 1 > action->most)
		return command_misuse(in->command, "%s: %s", action->name,
				      action->least ? "of what?" : "takes no arguments");
	struct mw_error e = {};
	struct job job = {.in = in, .a = a};
	const struct store_options how = {.directory = a->store,
					  .size_limit = a->store_size,
					  .allow_read_only = action->run != add && action->run != collect,
					  .log = &in->log};
	int r = store_open(&how, &job.store, &e);
	if (r == 0)
		r = action->run(&job, &e);
	if (r < 0)
		message_failure(&e, NULL);
	store_close(job.store);
	return r == 0 ? EXIT_DONE : EXIT_FAILED;
}

const struct command cmd_store = {
	.name = "store",
	.summary = "Look at, fill and clean the store of symbols",
	.usage = "ls | add FILE... | gc | verify | path FILE-ID",
	.description = description,
	.options = options,
	.examples = examples,
	.options_size = sizeof(struct arguments),
	.max_arguments = -1,
	.complete = COMPLETE_FILES,
	.run = run,
};
