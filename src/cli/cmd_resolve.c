/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "cli/address_input.h"
#include "cli/command.h"
#include "cli/command_store.h"
#include "cli/message.h"
#include "output/answer.h"
#include "symbols/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/*
 * Addresses that are answered together: sorted, they touch each function once. More of them where that is
 * worth their memory, that is where the table is larger by far.
 */
#define BATCH	    131072
#define BATCH_SMALL 16384
#define LARGE_TABLE ((size_t)8 << 20)
#define CACHE_BYTES ((size_t)48 << 20)

struct arguments {
	const char *build_id;
	const char *executable;
	uint64_t pid;
	bool offsets;
	const char *file;
	const char *store;
	const char *proc;
	bool json;
	bool addr2line;
	bool demangle;
	bool mangled;
	bool inlines;
};

#define AT(field) .offset = offsetof(struct arguments, field)

static const struct option_spec options[] = {
	{OPTION_TEXT, 'e', "exe", "FILE", AT(executable), .complete = COMPLETE_FILES,
	 .group = "What the addresses are of",
	 .help = "An ELF file. Addresses are its own, as objdump and addr2line show them."},
	{OPTION_TEXT, 0, "build-id", "ID", AT(build_id),
	 .help = "A file by its id (hexadecimal, or as reports show it: gnu:..., go:..., htl:...). Addresses "
		 "are offsets in the file. It is looked for in the store, and in /usr/lib/debug/.build-id."},
	{OPTION_NUMBER, 'p', "pid", "PID", AT(pid), .min = 1, .max = INT32_MAX,
	 .complete = COMPLETE_PROCESSES,
	 .help = "A process that lives, in whatever root. Addresses are those of its memory, or the kernel's."},
	{OPTION_FLAG, 0, "offsets", AT(offsets), .help = "With -e: addresses are offsets in the file."},

	{OPTION_TEXT, 0, "file", "LIST", AT(file), .complete = COMPLETE_FILES, .group = "Input",
	 .help = "Read the addresses from this file, one a line, - for standard input. That is also where "
		 "they come from if there are none on the command line."},
	{OPTION_TEXT, 0, "store", "DIR", AT(store), .complete = COMPLETE_DIRECTORIES,
	 .help = COMMAND_STORE_HELP},
	{OPTION_TEXT, 0, "proc", "DIR", AT(proc), .complete = COMPLETE_DIRECTORIES,
	 .help = "The /proc of the machine, where mapwright runs in a container. Default: /proc."},

	{OPTION_FLAG, 0, "json", AT(json), .group = "Output",
	 .help = "Write one JSON object a line for each address."},
	{OPTION_FLAG, 0, "addr2line", AT(addr2line),
	 .help = "Write exactly what addr2line -fipa writes (-fipaC with -C), to stand in for it."},
	{OPTION_FLAG, 'C', "demangle", AT(demangle),
	 .help = "Write C++, Rust and D names as in the source. That is the default, except with --addr2line."},
	{OPTION_FLAG, 0, "mangled", AT(mangled), .help = "Write names as the file has them."},
	{OPTION_FLAG, 'i', "inline", AT(inlines), .negatable = true,
	 .help = "Show calls that were inlined. That is the default."},
	{},
};

static const struct arguments defaults = {.inlines = true};

static const char *const description[] = {
	"Says for each address the function, the calls that were inlined there, innermost first, and the "
	"places in the source. A file is read once; from then on the answers come from the store.",
	"Addresses are hexadecimal, with or without 0x. The answers come as the addresses do, so it can be "
	"kept running and asked through pipes. An address without a name has a reason.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright resolve -e ./prog 0x1149 0x11a0", "addresses of a program"},
	{"mapwright resolve --build-id 93ac61ecf00d5b7e 0x1750ce", "an offset in a file that was recorded"},
	{"mapwright resolve -p 1234 0x7f12a4c3d409", "an address in a running process"},
	{"cut -d' ' -f3 trace | mapwright resolve -e ./prog --json", "addresses from elsewhere"},
	{},
};

/* The answer to one question of a batch. */
struct located {
	struct place place;
	uint32_t first; /* location */
	uint32_t n;	/* 0: the location says why there is none */
};

struct resolution {
	struct subject subject;
	struct mw_resolver *resolver;
	struct answer_writer *writer;
	unsigned flags; /* RESOLVER_* */
	/* As much of these as a batch has is touched, and only that takes memory. */
	uint64_t asked[BATCH];
	struct located located[BATCH];
	struct sort_item items[BATCH];
	VEC(struct mw_location) locations;
	struct buffer out;
};

static int keep(void *data, uint64_t value, const struct mw_location *chain, size_t n)
{
	struct resolution *r = data;
	struct located *located = &r->located[value];
	located->first = (uint32_t)r->locations.n;
	located->n = (uint32_t)n;
	/* The symbol comes behind a chain of names from debug information. */
	size_t count = n ? n + !!(r->flags & RESOLVER_DEBUG_NAMES) : 1;
	int result = vec_reserve(&r->locations, r->locations.n + count);
	if (result < 0)
		return result;
	memcpy(r->locations.items + r->locations.n, chain, count * sizeof *chain);
	r->locations.n += count;
	return 0;
}

static int keep_kernel(struct resolution *r, uint64_t value, uint64_t address)
{
	struct kernel_symbol found;
	enum mw_reason reason;
	const struct kernel_symbols *kernel = subject_kernel(&r->subject, &reason);
	struct mw_location location = {.reason = (uint16_t)reason};
	if (!kernel)
		return keep(r, value, &location, 0);
	location.reason = MW_REASON_NO_SYMBOL_THERE;
	if (!kernel_symbols_find(kernel, address, &found))
		return keep(r, value, &location, 0);
	location = (struct mw_location){.name = found.name, .address = found.start,
					.start = found.start};
	const struct mw_location both[] = {location, location};
	return keep(r, value, both, 1);
}

static int keep_nowhere(struct resolution *r, uint64_t value, enum mw_reason reason)
{
	struct mw_location location = {.reason = (uint16_t)reason};
	if (reason == MW_REASON_JIT_NO_MAP && subject_find_code(&r->subject, r->asked[value], &location) == 1)
		return keep(r, value, &location, 1);
	return keep(r, value, &location, 0);
}

/* All questions of a batch that are about one file. */
static int ask_file(struct resolution *r, uint32_t file, size_t n)
{
	size_t n_items = 0;
	for (size_t i = 0; i < n; i++) {
		if (r->located[i].place.kind == PLACE_FILE && r->located[i].place.file == file)
			r->items[n_items++] = (struct sort_item){r->located[i].place.key, i};
	}
	if (!n_items)
		return 0;
	const struct subject_file *f = r->subject.files.items[file];
	const struct symbol_table *table = resolver_table(r->resolver, &f->store_id);
	int result = table ? sort_items(r->items, n_items) : -ENOMEM;
	if (result == 0)
		result = resolver_find_sorted(r->resolver, table, r->flags, r->items, n_items, keep,
					      r);
	return result;
}

static int ask(struct resolution *r, size_t n)
{
	int result = 0;
	r->locations.n = 0;
	subject_refresh(&r->subject);
	for (size_t i = 0; i < n && result == 0; i++) {
		struct place *place = &r->located[i].place;
		*place = subject_place(&r->subject, r->asked[i]);
		if (place->kind == PLACE_KERNEL)
			result = keep_kernel(r, i, place->key);
		else if (place->kind == PLACE_NOWHERE)
			result = keep_nowhere(r, i, place->reason);
	}
	for (size_t i = 0; i < r->subject.files.n && result == 0; i++)
		result = ask_file(r, (uint32_t)i, n);
	return result;
}

static uint64_t offset_of(const struct resolution *r, const struct place *place)
{
	uint64_t offset;
	if (!(r->flags & RESOLVER_ADDRESSES))
		return place->key;
	const struct subject_file *file = r->subject.files.items[place->file];
	const struct symbol_table *table = resolver_table(r->resolver, &file->store_id);
	return table && meta_address_to_offset(&table->meta, place->key, &offset) ? offset
										   : UINT64_MAX;
}

static int flush(struct resolution *r)
{
	if (r->out.failed)
		return -ENOMEM;
	int result = io_write(STDOUT_FILENO, r->out.data, r->out.n);
	r->out.n = 0;
	return result;
}

static void prefetch(const struct resolution *r, const struct located *located)
{
	const struct mw_location *l = r->locations.items + located->first;
	for (uint32_t i = 0; i < located->n; i++) {
		__builtin_prefetch(l[i].name);
		__builtin_prefetch(l[i].name + 64); /* names of C++ are long */
		__builtin_prefetch(l[i].file);
		__builtin_prefetch(l[i].directory);
	}
}

static int answer(struct resolution *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct located *located = &r->located[i];
		/* Names lie anywhere: they are on their way while others are written. */
		if (i + 16 < n)
			prefetch(r, &r->located[i + 16]);
		struct answer a = {.asked = r->asked[i],
				   .offset = UINT64_MAX,
				   .chain = r->locations.items + located->first,
				   .n = located->n,
				   .symbol = r->flags & RESOLVER_DEBUG_NAMES && located->n
						     ? &r->locations.items[located->first +
									   located->n]
						     : NULL};
		if (located->place.kind == PLACE_FILE) {
			const struct subject_file *file =
				r->subject.files.items[located->place.file];
			a.id = &file->id;
			a.path = file->path;
			a.offset = offset_of(r, &located->place);
		}
		answer_write(r->writer, &a, &r->out);
		if (r->out.n >= 1 << 16) {
			int result = flush(r);
			if (result < 0)
				return result;
		}
	}
	return flush(r);
}

static size_t batch_size(const struct resolution *r)
{
	if (r->subject.kind == SUBJECT_PROCESS)
		return BATCH_SMALL;
	const struct subject_file *file = r->subject.files.items[0];
	const struct symbol_table *table = resolver_table(r->resolver, &file->store_id);
	return table && table->lines.size >= LARGE_TABLE ? BATCH : BATCH_SMALL;
}

static int answer_all(struct resolution *r, struct address_input *input, struct mw_error *e)
{
	for (;;) {
		long n = address_input_next(input, r->asked, batch_size(r));
		if (n < 0)
			return error_errno(e, (int)n, "%s", input->name);
		if (n == 0)
			return 0;
		int result = ask(r, (size_t)n);
		if (result < 0)
			return error_set(e, result, "out of memory");
		result = answer(r, (size_t)n);
		if (result < 0)
			return error_errno(e, result, "standard output");
	}
}

static int open_subject(struct resolution *r, const struct arguments *a, struct mw_error *e)
{
	struct mw_file_id id;
	if (a->executable) {
		if (!a->offsets)
			r->flags |= RESOLVER_ADDRESSES;
		return subject_open_file(&r->subject, a->executable, e);
	}
	if (a->pid)
		return subject_open_process(&r->subject, (uint32_t)a->pid, e);
	if (mw_file_id_from_text(a->build_id, &id) < 0)
		return error_set(e, -EINVAL, "--build-id: not a file id: %s", a->build_id);
	return subject_open_build_id(&r->subject, &id, e);
}

/* What could not be read of a file, beside the answers that it gives all the same. */
static void warn_of_problems(const struct subject *subject)
{
	vec_foreach(file, &subject->files) {
		const struct mw_error *problem = &(*file)->problem;
		if (problem->code && problem->code != -ENODATA)
			message_warning("%s: %s", (*file)->path, problem->msg);
	}
}

static int open_input(const struct arguments *a, struct invocation *in, struct address_input *input,
		      struct mw_error *e)
{
	input->is_lenient = a->addr2line;
	input->name = "standard input";
	input->fd = STDIN_FILENO;
	if (in->argc) {
		input->argv = in->argv;
	} else if (a->file && strcmp(a->file, "-") != 0) {
		input->name = a->file;
		input->fd = open(a->file, O_RDONLY | O_CLOEXEC);
		if (input->fd < 0)
			return error_errno(e, -errno, "%s", a->file);
	}
	return 0;
}

static int prepare(struct resolution *r, const struct arguments *a, struct mw_error *e)
{
	int result = open_subject(r, a, e);
	if (result < 0)
		return result;
	if (a->addr2line)
		r->flags |= RESOLVER_DEBUG_NAMES;
	const struct answer_options how = {
		.format = a->addr2line ? ANSWER_ADDR2LINE : a->json ? ANSWER_JSON : ANSWER_TEXT,
		.demangle = a->demangle || (!a->addr2line && !a->mangled),
		.no_inline = !a->inlines,
		.is_32bit = r->subject.files.n && r->subject.files.items[0]->elf_class == ELFCLASS32,
	};
	result = answer_writer_new(&how, &r->writer);
	return result < 0 ? error_set(e, result, "out of memory") : 0;
}

static int resolve(struct resolution *r, struct invocation *in, const struct arguments *a,
		   struct mw_error *e)
{
	_cleanup_free_ struct address_input *input = calloc(1, sizeof *input);
	if (!input)
		return error_set(e, -ENOMEM, "out of memory");
	int result = open_input(a, in, input, e);
	if (result == 0)
		result = prepare(r, a, e);
	if (result < 0)
		return result;
	signal(SIGPIPE, SIG_DFL);
	result = answer_all(r, input, e);
	warn_of_problems(&r->subject);
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	return result < 0 ? result : input->n_bad > 0;
}

static int misuse(struct invocation *in, const struct arguments *a)
{
	if (!!a->executable + !!a->build_id + !!a->pid != 1)
		return command_misuse(in->command,
				      "addresses of what? say one of -e FILE, --build-id ID, -p PID");
	if (a->offsets && !a->executable)
		return command_misuse(in->command, "--offsets goes with -e");
	if (a->json && a->addr2line)
		return command_misuse(in->command, "--json or --addr2line, not both");
	if (a->file && in->argc)
		return command_misuse(in->command, "addresses on the command line or in --file, not both");
	return 0;
}

static int run(struct invocation *in, void *values)
{
	const struct arguments *a = values;
	int status = misuse(in, a);
	if (status)
		return status;
	struct mw_error e = {};
	struct proc proc = PROC_INIT;
	struct store *store = NULL;
	struct resolution *r = calloc(1, sizeof *r);
	int result = r ? proc_init(&proc, a->proc ? a->proc : "/proc", &e)
		       : error_set(&e, -ENOMEM, "out of memory");
	if (result == 0)
		result = command_store_open(a->store, !a->build_id, &in->log, &store, &e);
	if (result == 0)
		result = resolver_new(store, CACHE_BYTES, &r->resolver);
	if (r && result == 0) {
		r->subject = (struct subject){.lines = true, .store = store,
					      .resolver = r->resolver, .proc = &proc,
					      .log = &in->log};
		result = resolve(r, in, a, &e);
	}
	if (r) {
		answer_writer_free(r->writer);
		subject_deinit(&r->subject);
		mw_resolver_close(r->resolver);
		vec_deinit(&r->locations);
		buffer_deinit(&r->out);
	}
	store_close(store);
	proc_deinit(&proc);
	free(r);
	if (result < 0)
		message_failure(&e, NULL);
	return result == 0 ? EXIT_DONE : EXIT_FAILED;
}

const struct command cmd_resolve = {
	.name = "resolve",
	.summary = "Say what addresses are: functions, inlined calls, source lines",
	.usage = "-e FILE | --build-id ID | -p PID [ADDRESS...]",
	.description = description,
	.options = options,
	.examples = examples,
	.defaults = &defaults,
	.options_size = sizeof(struct arguments),
	.max_arguments = -1,
	.run = run,
};
