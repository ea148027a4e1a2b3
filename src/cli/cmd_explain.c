/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/address_input.h"
#include "cli/command.h"
#include "cli/command_store.h"
#include "cli/message.h"
#include "content/debug_files.h"
#include "output/text.h"
#include "symbols/subject.h"
#include "symbols/survey.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct arguments {
	const char *build_id;
	const char *executable;
	uint64_t pid;
	bool offsets;
	const char *store;
	const char *proc;
	bool json;
};

#define AT(field) .offset = offsetof(struct arguments, field)

static const struct option_spec options[] = {
	{OPTION_NUMBER, 'p', "pid", "PID", AT(pid), .min = 1, .max = INT32_MAX,
	 .complete = COMPLETE_PROCESSES, .group = "What the addresses are of",
	 .help = "A process that lives."},
	{OPTION_TEXT, 'e', "exe", "FILE", AT(executable), .complete = COMPLETE_FILES,
	 .help = "An ELF file. Addresses are its own."},
	{OPTION_TEXT, 0, "build-id", "ID", AT(build_id),
	 .help = "A file by its id. Addresses are offsets in the file."},
	{OPTION_FLAG, 0, "offsets", AT(offsets), .help = "With -e: addresses are offsets in the file."},

	{OPTION_TEXT, 0, "store", "DIR", AT(store), .complete = COMPLETE_DIRECTORIES,
	 .group = "Options", .help = COMMAND_STORE_HELP},
	{OPTION_TEXT, 0, "proc", "DIR", AT(proc), .complete = COMPLETE_DIRECTORIES,
	 .help = "The /proc of the machine. Default: /proc."},
	{OPTION_FLAG, 0, "json", AT(json), .help = "Write one JSON object a line for each address."},
	{},
};

static const char *const description[] = {
	"Shows how an address gets its name, step by step: what is mapped there; how the file was found, with "
	"what each way gave; who the file is; where in it the address lies; what the file and its debug files "
	"offer to name code by, and why what is not used is not; what the store has; and the answer.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright explain -p 1234 0x7f12a4c3d409", "an address that a report or a debugger showed"},
	{"mapwright explain -e ./prog 0x1149", "why this name, or none"},
	{},
};

/* Lines of the log, by what they came from. */
struct lines {
	VEC(char *) items; /* owned */
};

static void keep_line(void *data, const char *line)
{
	struct lines *lines = data;
	char *copy = strdup(line);
	if (copy && vec_push(&lines->items, copy) < 0)
		free(copy);
}

static void lines_deinit(struct lines *lines)
{
	vec_foreach(line, &lines->items)
		free(*line);
	vec_deinit(&lines->items);
}

struct explanation {
	const struct arguments *a;
	struct invocation *in;
	struct subject subject;
	struct mw_resolver *resolver;
	struct store *store;
	struct lines lines; /* what was tried since the last address */
	json_t *json; /* of the address at hand; NULL: text */
};

/* ---- writing, one step a line ---------------------------------------------------------------- */

/* A step, or one more line of it ("" as its name). JSON: steps are texts, several make an array. */
static void say(struct explanation *x, const char *step, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void say(struct explanation *x, const char *step, const char *format, ...)
{
	char text[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	_cleanup_(buffer_deinit) struct buffer line = {};
	text_escape(&line, text);
	buffer_u8(&line, 0);
	if (line.failed)
		return;
	if (!x->json) {
		printf("%-10s %s\n", step, (const char *)line.data);
		return;
	}
	char key[32];
	snprintf(key, sizeof key, "%s", step);
	for (char *blank; (blank = strchr(key, ' ')) != NULL;)
		*blank = '_';
	json_t *list = json_object_get(x->json, key);
	if (!list) {
		list = json_array();
		json_object_set_new(x->json, key, list);
	}
	json_array_append_new(list, json_string((const char *)line.data));
}

static const char *size_text(uint64_t bytes, char *buf, size_t size)
{
	if (bytes >= 10 << 20)
		snprintf(buf, size, "%" PRIu64 " MiB", bytes >> 20);
	else if (bytes >= 10 << 10)
		snprintf(buf, size, "%" PRIu64 " KiB", bytes >> 10);
	else
		snprintf(buf, size, "%" PRIu64 " bytes", bytes);
	return buf;
}

static void say_mapping(struct explanation *x, const struct mapping *m)
{
	if (!m) {
		say(x, "mapping", "nothing is mapped there");
		return;
	}
	say(x, "mapping", "%" PRIx64 "-%" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64 " %s",
	    m->start, m->end, m->protection & MAP_READ ? 'r' : '-',
	    m->protection & MAP_WRITE ? 'w' : '-', m->protection & MAP_EXECUTE ? 'x' : '-',
	    m->protection & MAP_IS_SHARED ? 's' : 'p', m->offset, m->major, m->minor, m->inode,
	    *m->name ? m->name : "(no file)");
}

static void say_survey(struct explanation *x, const char *step, const struct survey *survey)
{
	for (uint32_t i = 0; i < survey->n; i++) {
		const struct survey_source *source = &survey->sources[i];
		char size[32];
		say(x, step, "%-17s %s%s%s", source->name,
		    source->size ? size_text(source->size, size, sizeof size) : "",
		    source->size && source->text[0] ? ", " : "", source->text);
	}
}

static void say_debug_files(struct explanation *x, const struct subject_file *file)
{
	int fds[DEBUG_FILES_MAX];
	const struct log silent = {};
	struct debug_file_request request = {.identity = &file->identity,
					     .path = file->path,
					     .fd = file->fd,
					     .pid = x->subject.pid,
					     .tid = x->subject.pid};
	size_t n = debug_files_open(x->subject.proc, &silent, &request, fds);
	if (!n)
		say(x, "debug", "no other file offers itself by build ID or debug link");
	for (size_t i = 0; i < n; i++) {
		char link[32], path[1024];
		struct survey survey = {};
		struct mw_error e = {};
		snprintf(link, sizeof link, "/proc/self/fd/%d", fds[i]);
		ssize_t length = readlink(link, path, sizeof path - 1);
		path[length > 0 ? length : 0] = '\0';
		if (survey_take_debug(fds[i], &file->identity, &survey, &e) < 0)
			say(x, "debug", "%s: not used: %s", path, e.msg);
		else
			say(x, "debug", "%s: %s: %s", path, survey.is_used ? "used" : "not used",
			    survey.verdict);
		if (survey.is_used)
			say_survey(x, "debug has", &survey);
		close(fds[i]);
	}
}

static void say_store(struct explanation *x, const struct mw_file_id *id)
{
	struct meta meta = {};
	if (store_lookup(x->store, id, &meta, NULL) != 1) {
		say(x, "store", "knows nothing of the file");
		return;
	}
	for (int i = 0; i < STORE_UNWIND; i++) {
		const struct meta_part *part = &meta.parts[i];
		const struct meta_failure *failure = &meta.failures[i];
		const char *name = store_part_name((enum store_part)i);
		char size[32];
		if (part->present)
			say(x, "store", "%s: from %s (rank %u), %s", name, part->source, part->rank,
			    size_text(part->size, size, sizeof size));
		else if (failure->reason != MW_REASON_NONE)
			say(x, "store", "%s: none: %s", name, mw_reason_name(failure->reason));
		else
			say(x, "store", "%s: none", name);
	}
	meta_deinit(&meta);
}

static void say_place(struct explanation *x, const struct subject_file *file, uint64_t key)
{
	const struct symbol_table *table = resolver_table(x->resolver, &file->store_id);
	if (!table)
		return;
	bool is_address = x->a->executable && !x->a->offsets;
	uint64_t offset = key, address = key;
	bool both = is_address ? meta_address_to_offset(&table->meta, key, &offset)
			       : meta_offset_to_address(&table->meta, key, &address);
	if (!both) {
		say(x, "place", "%s 0x%" PRIx64 " is in no segment of the file",
		    is_address ? "address" : "offset", key);
		return;
	}
	say(x, "place", "offset 0x%" PRIx64 " of the file, its address 0x%" PRIx64 ", %s", offset,
	    address,
	    meta_offset_is_code(&table->meta, offset) ? "in an executable segment"
						      : "not in an executable segment");
}

static void say_file(struct explanation *x, const struct subject_file *file)
{
	char id[MW_FILE_ID_TEXT_MAX] = "unknown";
	if (file->id.kind != MW_FILE_ID_NONE)
		mw_file_id_to_text(&file->id, id, sizeof id);
	say(x, "file", "%s", *file->path ? file->path : "(no path known)");
	say(x, "file id", "%s", id);
	vec_foreach(line, &x->lines.items)
		say(x, "tried", "%s", *line);
	if (file->problem.code)
		say(x, "problem", "%s", file->problem.msg);
	if (file->fd < 0)
		return;
	struct survey survey;
	struct mw_error e = {};
	if (survey_take(file->fd, &survey, &e) < 0)
		say(x, "has", "%s", e.msg);
	else
		say_survey(x, "has", &survey);
	say_debug_files(x, file);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int say_answer(void *data, uint64_t value, const struct mw_location *chain, size_t n)
{
	struct explanation *x = data;
	if (!n) {
		const char *sentence = mw_reason_sentence((enum mw_reason)chain[0].reason);
		say(x, "answer", "no name: %s: %s", mw_reason_name((enum mw_reason)chain[0].reason),
		    sentence ? sentence : "");
		const char *hint = mw_reason_hint((enum mw_reason)chain[0].reason);
		if (hint)
			say(x, "hint", "%s", hint);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		const struct mw_location *l = &chain[i];
		char readable[1024];
		mw_demangle(l->name, readable, sizeof readable);
		bool slash = l->file && l->directory && *l->directory;
		char line[16] = "";
		if (l->line)
			snprintf(line, sizeof line, ":%u", l->line);
		say(x, "answer", "%s%s%s%s%s%s%s", readable, l->file ? " at " : "",
		    slash ? l->directory : "", slash ? "/" : "", l->file ? l->file : "", line,
		    l->is_inlined ? ", inlined into" : "");
	}
	return 0;
}

static void explain_kernel(struct explanation *x, uint64_t address)
{
	enum mw_reason reason;
	struct kernel_symbol found;
	const struct kernel_symbols *kernel = subject_kernel(&x->subject, &reason);
	struct mw_location location = {.reason = (uint16_t)reason};
	say(x, "place", "an address of the kernel");
	vec_foreach(line, &x->lines.items)
		say(x, "tried", "%s", *line);
	if (kernel)
		say(x, "source", "/proc/kallsyms, %zu functions", kernel_symbols_count(kernel));
	location.reason = kernel ? MW_REASON_NO_SYMBOL_THERE : (uint16_t)reason;
	size_t n = 0;
	if (kernel && kernel_symbols_find(kernel, address, &found)) {
		location = (struct mw_location){.name = found.name};
		n = 1;
		say(x, "module", "%s", found.module ? found.module : "the kernel itself");
	}
	say_answer(x, 0, &location, n);
}

static void explain_file(struct explanation *x, const struct place *place)
{
	const struct subject_file *file = x->subject.files.items[place->file];
	say_file(x, file);
	say_place(x, file, place->key);
	say_store(x, &file->store_id);
	const struct symbol_table *table = resolver_table(x->resolver, &file->store_id);
	struct sort_item item = {place->key, 0};
	unsigned flags = x->a->executable && !x->a->offsets ? RESOLVER_ADDRESSES : 0;
	if (table)
		resolver_find_sorted(x->resolver, table, flags, &item, 1, say_answer, x);
}

static void explain_nowhere(struct explanation *x, const struct place *place)
{
	struct mw_location location = {.reason = (uint16_t)place->reason};
	if (place->mapping && place->mapping->inode && place->file < x->subject.files.n)
		say_file(x, x->subject.files.items[place->file]);
	say_answer(x, 0, &location, 0);
}

static int explain(struct explanation *x, uint64_t address)
{
	char text[32];
	snprintf(text, sizeof text, "0x%" PRIx64, address);
	if (x->a->json) {
		x->json = json_object();
		json_object_set_new(x->json, "address", json_string(text));
	} else {
		printf("%-10s %s\n", "address", text);
	}
	struct place place = subject_place(&x->subject, address);
	if (x->subject.kind == SUBJECT_PROCESS && place.kind != PLACE_KERNEL)
		say_mapping(x, place.mapping);
	if (place.kind == PLACE_KERNEL)
		explain_kernel(x, address);
	else if (place.kind == PLACE_FILE)
		explain_file(x, &place);
	else
		explain_nowhere(x, &place);
	int r = 0;
	if (x->json) {
		r = json_dumpf(x->json, stdout, JSON_COMPACT);
		json_decref(x->json);
		x->json = NULL;
		putchar('\n');
	}
	return r < 0 || ferror(stdout) ? -EIO : 0;
}

static int open_subject(struct explanation *x, struct mw_error *e)
{
	const struct arguments *a = x->a;
	struct mw_file_id id;
	if (a->executable)
		return subject_open_file(&x->subject, a->executable, e);
	if (a->pid)
		return subject_open_process(&x->subject, (uint32_t)a->pid, e);
	if (mw_file_id_from_text(a->build_id, &id) < 0)
		return error_set(e, -EINVAL, "--build-id: not a file id: %s", a->build_id);
	return subject_open_build_id(&x->subject, &id, e);
}

static int explain_all(struct explanation *x, struct mw_error *e)
{
	int r = open_subject(x, e);
	for (int i = 0; i < x->in->argc && r == 0; i++) {
		uint64_t address;
		if (i && !x->a->json)
			putchar('\n');
		if (address_parse(x->in->argv[i], &address) < 0)
			return error_set(e, -EINVAL, "not an address: %s", x->in->argv[i]);
		r = explain(x, address);
		if (r < 0)
			error_errno(e, r, "standard output");
	}
	return r;
}

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	if (!!a->executable + !!a->build_id + !!a->pid != 1)
		return command_misuse(in->command,
				      "addresses of what? say one of -p PID, -e FILE, --build-id ID");
	if (!in->argc)
		return command_misuse(in->command, "no address");
	struct mw_error e = {};
	struct proc proc = PROC_INIT;
	struct explanation x = {.a = a, .in = in};
	const struct log log = {.write = keep_line, .data = &x.lines};
	int r = proc_init(&proc, a->proc ? a->proc : "/proc", &e);
	if (r == 0)
		r = command_store_open(a->store, !a->build_id, &in->log, &x.store, &e);
	if (r == 0)
		r = resolver_new(x.store, 0, &x.resolver);
	if (r == 0) {
		x.subject = (struct subject){.lines = true, .keep_open = true, .store = x.store,
					     .resolver = x.resolver, .proc = &proc, .log = &log};
		r = explain_all(&x, &e);
	}
	subject_deinit(&x.subject);
	mw_resolver_close(x.resolver);
	store_close(x.store);
	proc_deinit(&proc);
	lines_deinit(&x.lines);
	if (r < 0)
		message_failure(&e, NULL);
	return r == 0 ? EXIT_DONE : EXIT_FAILED;
}

const struct command cmd_explain = {
	.name = "explain",
	.summary = "Show how an address gets its name, or why it has none",
	.usage = "-p PID | -e FILE | --build-id ID ADDRESS...",
	.description = description,
	.options = options,
	.examples = examples,
	.options_size = sizeof(struct arguments),
	.max_arguments = -1,
	.run = run,
};
