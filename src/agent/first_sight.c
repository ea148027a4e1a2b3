/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/first_sight.h"

#include "base/cleanup.h"
#include "base/file_id.h"
#include "base/hash.h"
#include "base/io.h"
#include "content/content.h"
#include "content/debug_files.h"
#include "content/mapped_file.h"
#include "space/snapshot.h"
#include "symbols/extract.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

/* Version of the code that makes names; a higher one makes them anew. */
#define NAMES_BUILDER 1
/* How often a file that could not be opened is tried again, at later samples in other tasks. */
#define MAX_TRIES 5
#define NO_ENTRY  UINT32_MAX

enum state {
	STATE_WAITING,	   /* not open yet: too many are */
	STATE_OPEN,	   /* open, not handed over yet: the server is busy */
	STATE_IDENTIFYING, /* a child looks who it is */
	STATE_IDENTIFIED,  /* names to be extracted, not handed over yet */
	STATE_EXTRACTING,  /* a child writes its names */
	STATE_DONE,
	STATE_FAILED,
};

struct entry {
	struct sight_key key;
	enum state state;
	uint8_t tries;
	uint32_t profile_file;
	struct file_request request; /* name is not kept */
	struct pin *pin;	     /* owned, while open */
	struct elf_identity *identity; /* owned, from identification until the end */
	struct store_writer writer;    /* while extracting */
};

/* Numbers to entries, NO_ENTRY between. */
typedef VEC(uint32_t) entry_list;

struct first_sight {
	struct first_sight_options o;
	VEC(struct entry *) entries; /* owned */
	struct hash_index by_key;
	entry_list by_number; /* sampler's number to entry */
	entry_list by_file;   /* profile's number to entry */
	VEC(uint32_t) waiting;	 /* entries with something to do: WAITING, OPEN, IDENTIFIED */
	size_t n_pins;
	size_t unfinished;
	struct first_sight_counts counts;
};

/* ---- jobs, in the child ---------------------------------------------------------------------- */

static int job_identity(const int *fds, size_t n_fds, const void *args, size_t args_size,
			void *reply, size_t reply_size, struct mw_error *e)
{
	return extract_identity(fds[0], reply, e);
}

static int job_names(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		     size_t reply_size, struct mw_error *e)
{
	/* The file, the table to be written, and what may be its debug files. */
	return extract_names(fds[0], fds + 2, n_fds - 2, fds[1], reply, e);
}

enum job {
	JOB_IDENTITY,
	JOB_NAMES,
};

const struct run_job first_sight_jobs[] = {
	[JOB_IDENTITY] = {
		.name = "mw-identity",
		.fn = job_identity,
		.reply_size = sizeof(struct elf_identity),
		.memory_limit = UINT64_C(256) << 20,
		.file_size_limit = 1,
		.cpu_seconds = 5,
		.deadline_ms = 5000,
	},
	[JOB_NAMES] = {
		.name = "mw-names",
		.fn = job_names,
		.reply_size = sizeof(struct extract_result),
		.memory_limit = UINT64_C(2) << 30,
		.file_size_limit = EXTRACT_GSYM_MAX * 2,
		.cpu_seconds = 20,
		.deadline_ms = 30000,
	},
};
const size_t first_sight_n_jobs = ARRAY_SIZE(first_sight_jobs);

/* ---- life ------------------------------------------------------------------------------------ */

int first_sight_new(const struct first_sight_options *options, struct first_sight **ret)
{
	struct first_sight *f = calloc(1, sizeof *f);
	if (!f)
		return -ENOMEM;
	f->o = *options;
	*ret = f;
	return 0;
}

/* Closes the file and forgets what only extraction needed. */
static void release(struct first_sight *f, struct entry *entry)
{
	if (entry->pin) {
		pin_mark_extracted(entry->pin);
		free(take_ptr(entry->pin));
		f->n_pins--;
	}
	free(take_ptr(entry->identity));
	if (entry->writer.fd >= 0)
		store_abort(f->o.store, &entry->writer);
}

void first_sight_free(struct first_sight *f)
{
	if (!f)
		return;
	vec_foreach(entry, &f->entries) {
		release(f, *entry);
		free(*entry);
	}
	vec_deinit(&f->entries);
	vec_deinit(&f->by_number);
	vec_deinit(&f->by_file);
	vec_deinit(&f->waiting);
	hash_index_deinit(&f->by_key);
	free(f);
}

struct first_sight_counts first_sight_get_counts(const struct first_sight *f)
{
	return f->counts;
}

size_t first_sight_unfinished(const struct first_sight *f)
{
	return f->unfinished;
}

uint32_t first_sight_profile_file(const struct first_sight *f, uint32_t sampler_number)
{
	if (sampler_number >= f->by_number.n)
		return UINT32_MAX;
	uint32_t entry = f->by_number.items[sampler_number];
	return entry == NO_ENTRY ? UINT32_MAX : f->entries.items[entry]->profile_file;
}

bool first_sight_is_finished(const struct first_sight *f, uint32_t profile_file)
{
	if (profile_file >= f->by_file.n || f->by_file.items[profile_file] == NO_ENTRY)
		return true; /* not one of ours */
	return f->entries.items[f->by_file.items[profile_file]]->state >= STATE_DONE;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void finish(struct first_sight *f, struct entry *entry, enum mw_reason reason)
{
	/* A file that is identified keeps its id: the store may have names from another copy. */
	if (reason != MW_REASON_NONE)
		profile_set_file(f->o.profile, entry->profile_file,
				 entry->identity ? &entry->identity->id : NULL, reason);
	release(f, entry);
	entry->state = reason == MW_REASON_NONE ? STATE_DONE : STATE_FAILED;
	f->unfinished--;
}

/* The store shall know why it has no names, so that nobody tries again, and a report can say it. */
static void note_failure(struct first_sight *f, struct entry *entry, enum mw_reason reason,
			 const struct meta *known)
{
	struct meta about = *known; /* shares what it points to */
	about.failures[STORE_NAMES] = (struct meta_failure){
		.reason = reason,
		.builder = NAMES_BUILDER,
		.when = time(NULL),
	};
	struct mw_error e;
	if (store_update(f->o.store, &entry->identity->id, &about, &e) < 0)
		log_debug(f->o.log, "store: %s", e.msg);
}

static int describe(const struct entry *entry, struct meta *ret)
{
	const struct elf_identity *identity = entry->identity;
	ret->id = identity->id;
	ret->elf_type = identity->type;
	ret->elf_machine = identity->machine;
	ret->file_size = identity->file_size;
	for (uint32_t i = 0; i < identity->n_segments; i++) {
		const struct elf_segment *s = &identity->segments[i];
		struct store_segment segment = {s->vaddr, s->offset, s->file_size, s->mem_size,
						s->flags};
		int r = meta_add_segment(ret, &segment);
		if (r < 0)
			return r;
	}
	if (entry->pin && entry->pin->path[0])
		meta_add_path(ret, entry->pin->path);
	return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int put_off(struct first_sight *f, uint32_t number, enum state state)
{
	f->entries.items[number]->state = state;
	return vec_push(&f->waiting, number);
}

static const char *label_of(const struct first_sight *f, const struct file_request *request,
			    const struct pin *pin, char *buf, size_t size)
{
	char name[96];
	snprintf(name, sizeof name, "map_files/%llx-%llx", (unsigned long long)request->map_start,
		 (unsigned long long)request->map_end);
	if (proc_readlink(f->o.proc, request->pid, name, buf, size) > 0)
		return buf;
	return pin && pin->path[0] ? pin->path : request->name;
}

/* Opening failed. Another task may still have the file: then its next sample announces it again. */
static void fail_to_open(struct first_sight *f, struct entry *entry, enum mw_reason reason)
{
	f->counts.not_opened++;
	finish(f, entry, reason);
	if (reason != MW_REASON_TIMEOUT && ++entry->tries < MAX_TRIES && f->o.forget)
		f->o.forget(f->o.data, &entry->key);
}

static int open_entry(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	if (f->n_pins >= f->o.max_pins)
		return put_off(f, number, STATE_WAITING);
	struct finder_context context = {.proc = f->o.proc, .log = f->o.log};
	_cleanup_free_ struct pin *pin = malloc(sizeof *pin);
	if (!pin)
		return -ENOMEM;
	enum mw_reason reason;
	int r = pin_open(&context, &entry->request, pin, &reason);
	if (r == -EMFILE || r == -ENFILE)
		return put_off(f, number, STATE_WAITING);
	if (r < 0) {
		fail_to_open(f, entry, reason);
		return 0;
	}
	entry->pin = take_ptr(pin);
	f->n_pins++;
	return put_off(f, number, STATE_OPEN);
}

static int set_entry(entry_list *list, uint32_t number, uint32_t entry)
{
	int r = vec_reserve(list, (size_t)number + 1);
	if (r < 0)
		return r;
	while (list->n <= number)
		list->items[list->n++] = NO_ENTRY;
	list->items[number] = entry;
	return 0;
}

static uint64_t hash_key(const struct sight_key *key)
{
	return hash_bytes(&key->inode, sizeof key->inode, file_id_hash(&key->id));
}

static bool has_key(const void *context, uint32_t number, const void *key)
{
	const struct first_sight *f = context;
	const struct sight_key *a = &f->entries.items[number]->key, *b = key;
	return memcmp(&a->inode, &b->inode, sizeof a->inode) == 0 && a->id.kind == b->id.kind &&
	       memcmp(a->id.bytes, b->id.bytes, a->id.size) == 0;
}

static int add_entry(struct first_sight *f, const struct sight_key *key, const char *label,
		     uint32_t *ret)
{
	_cleanup_free_ struct entry *entry = calloc(1, sizeof *entry);
	if (!entry)
		return -ENOMEM;
	entry->key = *key;
	entry->writer.fd = -1;
	int r = profile_add_file(f->o.profile, label, key->inode.device, key->inode.inode,
				 &entry->profile_file);
	if (r < 0)
		return r;
	uint32_t number = (uint32_t)f->entries.n;
	r = hash_index_add(&f->by_key, hash_key(key), number);
	if (r == 0)
		r = set_entry(&f->by_file, entry->profile_file, number);
	if (r == 0)
		r = vec_push(&f->entries, entry);
	if (r < 0)
		return r;
	entry = NULL;
	f->unfinished++;
	f->counts.seen++;
	*ret = number;
	return 0;
}

/* The entry of a key, made if it is new. 1: there is something to open. */
static int find_entry(struct first_sight *f, const struct sight_key *key,
		      const struct file_request *request, uint32_t *ret)
{
	*ret = hash_index_find(&f->by_key, hash_key(key), has_key, f, key);
	if (*ret == HASH_INDEX_NONE) {
		char buf[4096];
		const char *label = label_of(f, request, NULL, buf, sizeof buf);
		int r = add_entry(f, key, label, ret);
		return r < 0 ? r : 1;
	}
	struct entry *entry = f->entries.items[*ret];
	if (entry->state != STATE_FAILED || entry->tries >= MAX_TRIES)
		return 0;
	/* It failed before; this task may help. */
	f->unfinished++;
	profile_set_file(f->o.profile, entry->profile_file, NULL, MW_REASON_NONE);
	return 1;
}

static int open_for(struct first_sight *f, uint32_t number, const struct file_request *request)
{
	struct entry *entry = f->entries.items[number];
	entry->request = *request;
	int r = open_entry(f, number);
	entry->request.name = "";
	return r;
}

/* The mapping of a build ID that was seen at an address, if the process still is the same program. */
static int find_mapping(struct first_sight *f, const struct file_sighting *s,
			struct file_request *request)
{
	struct sample sample = {
		.task = {s->pid, s->tid, s->start_time, s->exec_count, 0},
		.image = s->image,
	};
	const struct mapping *m;
	images_find(f->o.images, &sample, s->address, &m);
	if (!m || !m->inode) {
		images_refresh(f->o.images, &sample, UINT64_MAX);
		images_find(f->o.images, &sample, s->address, &m);
	}
	if (!m || !m->inode)
		return -ENOENT;
	request->map_start = m->start;
	request->map_end = m->end;
	return mapped_file_ask(f->o.proc, request);
}

/* Nothing could be opened, but the store may know the one content that has this id. */
static int complete_from_store(struct first_sight *f, struct entry *entry)
{
	struct mw_file_id id;
	if (store_complete_id(f->o.store, &entry->key.id, &id) < 0)
		return -ENOENT;
	int r = profile_set_file(f->o.profile, entry->profile_file, &id, MW_REASON_NONE);
	entry->state = STATE_DONE;
	f->unfinished--;
	return r;
}

static int add_by_id(struct first_sight *f, const struct file_sighting *s,
		     struct file_request *request)
{
	struct sight_key key = {.id = s->id};
	uint32_t number;
	int can_be_asked = find_mapping(f, s, request);
	int r = find_entry(f, &key, request, &number);
	int set = r < 0 ? r : set_entry(&f->by_number, s->number, number);
	if (r <= 0 || set < 0)
		return r < 0 ? r : set;
	struct entry *entry = f->entries.items[number];
	profile_set_file(f->o.profile, entry->profile_file, &s->id, MW_REASON_NONE);
	if (can_be_asked == 0)
		return open_for(f, number, request);
	if (complete_from_store(f, entry) < 0)
		fail_to_open(f, entry, MW_REASON_FILE_GONE);
	return 0;
}

int first_sight_add(struct first_sight *f, const struct file_sighting *s)
{
	struct file_request request = {
		.key = s->key,
		.magic = s->magic,
		.pid = s->pid,
		.tid = s->tid,
		.start_time = s->start_time,
		.map_start = s->map_start,
		.map_end = s->map_end,
		.name = s->name,
	};
	if (s->id.kind != MW_FILE_ID_NONE)
		return add_by_id(f, s, &request);
	struct sight_key key = {.inode = s->key};
	uint32_t number;
	int r = find_entry(f, &key, &request, &number);
	int set = r < 0 ? r : set_entry(&f->by_number, s->number, number);
	return r <= 0 || set < 0 ? (r < 0 ? r : set) : open_for(f, number, &request);
}

int first_sight_add_mapping(struct first_sight *f, const struct task_key *task,
			    const struct mapping *mapping, uint32_t *ret)
{
	struct file_request request = {
		.pid = task->pid,
		.tid = task->tid,
		.start_time = task->start_time,
		.map_start = mapping->start,
		.map_end = mapping->end,
		.name = mapping->name,
	};
	struct sight_key key = {};
	/* A file that cannot be asked is known by what maps says of it, and will not be opened. */
	key.inode.inode = mapping->inode;
	key.inode.device = mapping->major << 20 | mapping->minor;
	if (mapped_file_ask(f->o.proc, &request) == 0)
		key.inode = request.key;
	uint32_t number;
	int r = find_entry(f, &key, &request, &number);
	if (r == 1)
		r = open_for(f, number, &request);
	if (r == 0)
		*ret = f->entries.items[number]->profile_file;
	return r;
}

/* The vdso of every 64-bit process is the one we have in our own memory. */
static int copy_vdso(int *ret)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	if (!start)
		return -ENOENT;
	struct proc proc = PROC_INIT;
	struct snapshot *snapshot = NULL;
	int r = proc_init(&proc, "/proc", NULL);
	if (r == 0)
		r = snapshot_take(&proc, (uint32_t)getpid(), (uint32_t)getpid(), &snapshot);
	const struct mapping *m = r == 0 ? snapshot_find(snapshot, start) : NULL;
	_cleanup_close_ int fd = m ? memfd_create("[vdso]", MFD_CLOEXEC) : -ENOENT;
	if (m && fd >= 0)
		r = io_write(fd, (const void *)(uintptr_t)start, m->end - m->start);
	snapshot_free(snapshot);
	proc_deinit(&proc);
	if (r < 0 || fd < 0)
		return r < 0 ? r : -errno;
	*ret = take_fd(fd);
	return 0;
}

int first_sight_add_vdso(struct first_sight *f, uint32_t *ret_profile_file)
{
	struct sight_key key = {};
	uint32_t number;
	int r = add_entry(f, &key, "[vdso]", &number);
	if (r == 0)
		r = set_entry(&f->by_number, SAMPLER_FILE_VDSO, number);
	if (r < 0)
		return r;
	struct entry *entry = f->entries.items[number];
	*ret_profile_file = entry->profile_file;
	_cleanup_free_ struct pin *pin = calloc(1, sizeof *pin);
	if (!pin)
		return -ENOMEM;
	r = copy_vdso(&pin->fd);
	if (r == 0)
		r = pin_remember(pin);
	if (r < 0) {
		finish(f, entry, MW_REASON_FILE_GONE);
		return 0;
	}
	entry->pin = take_ptr(pin);
	f->n_pins++;
	return put_off(f, number, STATE_OPEN);
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Hands an open file to a child that looks who it is. -EAGAIN: later. */
static int start_identification(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	int r = run_server_submit(f->o.server, JOB_IDENTITY, &entry->pin->fd, 1, NULL, 0, number);
	if (r == 0)
		entry->state = STATE_IDENTIFYING;
	return r;
}

static size_t open_debug_files(struct first_sight *f, const struct entry *entry, int *ret)
{
	if (entry->identity->has_symtab)
		return 0;
	struct debug_file_request request = {
		.identity = entry->identity,
		.path = entry->pin->path,
		.fd = entry->pin->fd,
		.pid = entry->request.pid,
		.tid = entry->request.tid,
	};
	return debug_files_open(f->o.proc, f->o.log, &request, ret);
}

static bool has_debug_files(struct first_sight *f, const struct entry *entry)
{
	int fds[DEBUG_FILES_MAX];
	size_t n = open_debug_files(f, entry, fds);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return n > 0;
}

static int start_extraction(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	struct mw_error e;
	int r = store_begin(f->o.store, &entry->identity->id, STORE_NAMES, &entry->writer, &e);
	if (r < 0) {
		log_debug(f->o.log, "store: %s", e.msg);
		entry->writer.fd = -1;
		return r;
	}
	int fds[2 + DEBUG_FILES_MAX] = {entry->pin->fd, entry->writer.fd};
	size_t n_debug = open_debug_files(f, entry, fds + 2);
	r = run_server_submit(f->o.server, JOB_NAMES, fds, 2 + n_debug, NULL, 0, number);
	for (size_t i = 0; i < n_debug; i++)
		close(fds[2 + i]);
	if (r < 0) {
		store_abort(f->o.store, &entry->writer);
		entry->writer.fd = -1;
		return r;
	}
	entry->state = STATE_EXTRACTING;
	return 0;
}

/* Makes one entry go on, if it can now. -EAGAIN: it stays in the queue. */
static int go_on(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	int r = 0;
	switch (entry->state) {
	case STATE_WAITING:
		if (f->n_pins >= f->o.max_pins)
			return -EAGAIN;
		return open_entry(f, number);
	case STATE_OPEN:
		r = start_identification(f, number);
		break;
	case STATE_IDENTIFIED:
		r = start_extraction(f, number);
		break;
	default:
		return 0;
	}
	if (r == -EAGAIN || r == -EMFILE || r == -ENFILE)
		return -EAGAIN;
	if (r < 0)
		finish(f, entry, MW_REASON_PARSER_FAILED);
	return 0;
}

void first_sight_go_on(struct first_sight *f)
{
	/* What is put off again while we look lands behind the end, and is looked at next time. */
	size_t n = f->waiting.n, kept = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t number = f->waiting.items[i];
		if (go_on(f, number) == -EAGAIN)
			f->waiting.items[kept++] = number;
	}
	size_t added = f->waiting.n - n;
	memmove(f->waiting.items + kept, f->waiting.items + n, added * sizeof f->waiting.items[0]);
	f->waiting.n = kept + added;
}

static enum mw_reason reason_of_outcome(const struct run_result *result)
{
	switch (result->outcome) {
	case RUN_TIMED_OUT:
		return MW_REASON_TIMEOUT;
	case RUN_FAILED:
		return result->value == -ENODATA ? MW_REASON_STRIPPED : MW_REASON_PARSER_FAILED;
	default:
		return MW_REASON_PARSER_FAILED;
	}
}

/* Whether the store already has what this file could give, or knows that it gives nothing. */
static bool is_known(struct first_sight *f, const struct entry *entry)
{
	struct meta meta = {};
	if (store_lookup(f->o.store, &entry->identity->id, &meta, NULL) != 1)
		return false;
	/* Another size under one build ID: the one may be stripped, the other not. */
	bool same_size = meta.file_size == entry->identity->file_size;
	const struct meta_part *names = &meta.parts[STORE_NAMES];
	const struct meta_failure *failure = &meta.failures[STORE_NAMES];
	bool known = same_size && ((names->present && names->builder >= NAMES_BUILDER) ||
				   (failure->reason == MW_REASON_STRIPPED &&
				    failure->builder >= NAMES_BUILDER));
	/* Debug files may have come since it was last seen. */
	if (known && names->rank < SYMBOL_SOURCE_SYMTAB && has_debug_files(f, entry))
		known = false;
	meta_deinit(&meta);
	return known;
}

/* A file that was opened for the sake of a build ID must have it. */
static bool is_expected(const struct entry *entry, const struct mw_file_id *id)
{
	const struct mw_file_id *padded = &entry->key.id;
	if (padded->kind == MW_FILE_ID_NONE)
		return true;
	struct mw_file_id as_kernel = {.kind = padded->kind, .size = padded->size};
	memcpy(as_kernel.bytes, id->bytes, MIN(id->size, padded->size));
	return id->kind == MW_FILE_ID_GNU && mw_file_id_equal(&as_kernel, padded);
}

static int take_identity(struct first_sight *f, uint32_t number, const struct run_result *result)
{
	struct entry *entry = f->entries.items[number];
	const struct elf_identity *identity = result->reply;
	if (result->outcome != RUN_DONE || result->reply_size != sizeof *identity ||
	    !elf_identity_is_valid(identity)) {
		log_debug(f->o.log, "identity: %s", result->error.msg);
		f->counts.failed++;
		finish(f, entry, reason_of_outcome(result));
		return 0;
	}
	if (pin_is_unchanged(entry->pin) != 1 || !is_expected(entry, &identity->id)) {
		finish(f, entry, MW_REASON_RACED);
		return 0;
	}
	entry->identity = malloc(sizeof *entry->identity);
	if (!entry->identity)
		return -ENOMEM;
	*entry->identity = *identity;
	f->counts.identified++;
	profile_set_file(f->o.profile, entry->profile_file, &identity->id, MW_REASON_NONE);
	if (is_known(f, entry)) {
		finish(f, entry, MW_REASON_NONE);
		return 0;
	}
	return put_off(f, number, STATE_IDENTIFIED);
}

static int commit_names(struct first_sight *f, struct entry *entry,
			const struct extract_result *extracted, struct meta *about)
{
	struct mw_error e;
	struct gsym_splits splits = {};
	int r = extract_take_splits(entry->writer.fd, extracted, &splits, &e);
	vec_foreach(split, &splits.list) {
		if (r == 0)
			r = meta_add_piece(about, split->address, split->start);
	}
	gsym_splits_deinit(&splits);
	meta_sort_pieces(about);
	if (r == -E2BIG) /* so many pieces that only their starts are lost */
		r = 0;
	struct store_commit commit = {
		.rank = extracted->source,
		.builder = NAMES_BUILDER,
		.source = symbol_source_name(extracted->source),
		.about = about,
	};
	if (r == 0)
		r = store_commit(f->o.store, &entry->writer, &commit, &e);
	entry->writer.fd = -1;
	if (r < 0)
		log_debug(f->o.log, "store: %s", e.msg);
	return r < 0 ? r : 0;
}

static void take_names(struct first_sight *f, struct entry *entry, const struct run_result *result)
{
	enum mw_reason reason = MW_REASON_NONE;
	struct meta about = {};
	int r = describe(entry, &about);
	if (pin_is_unchanged(entry->pin) != 1) {
		reason = MW_REASON_RACED;
	} else if (r < 0 || result->outcome != RUN_DONE ||
		   result->reply_size != sizeof(struct extract_result)) {
		log_debug(f->o.log, "%s: names: %s", entry->pin->path, result->error.msg);
		reason = reason_of_outcome(result);
		f->counts.failed += reason != MW_REASON_STRIPPED;
		note_failure(f, entry, reason, &about);
	} else if (commit_names(f, entry, result->reply, &about) < 0) {
		reason = MW_REASON_EVICTED;
	} else {
		f->counts.extracted++;
	}
	meta_deinit(&about);
	finish(f, entry, reason);
}

int first_sight_take_results(struct first_sight *f)
{
	struct run_result result;
	int r;
	while ((r = run_server_receive(f->o.server, &result)) == 1) {
		struct entry *entry = f->entries.items[result.ticket];
		if (entry->state == STATE_IDENTIFYING) {
			r = take_identity(f, (uint32_t)result.ticket, &result);
			if (r < 0)
				return r;
		} else if (entry->state == STATE_EXTRACTING) {
			take_names(f, entry, &result);
		}
	}
	first_sight_go_on(f);
	return r;
}

void first_sight_give_up(struct first_sight *f, enum mw_reason reason)
{
	vec_foreach(entry, &f->entries) {
		if ((*entry)->state < STATE_DONE)
			finish(f, *entry, reason);
	}
	f->waiting.n = 0;
}
