/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Seeing and opening: the table of files, and what becomes of a sighting. */
#include "agent/first_sight_entry.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_id.h"
#include "base/io.h"
#include "content/mapped_file.h"
#include "content/writers.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* For so long the store is asked for a build ID that may come to be known. */
#define LOOKS_NS UINT64_C(2000000000)

/* ---- life ------------------------------------------------------------------------------------ */

int first_sight_new(const struct first_sight_options *options, struct first_sight **ret)
{
	struct first_sight *f = calloc(1, sizeof *f);
	if (!f)
		return -ENOMEM;
	f->o = *options;
	int r = contents_new(&f->contents);
	if (r < 0) {
		free(f);
		return r;
	}
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
	f->n_copiers -= entry->slow.pid > 0;
	slow_file_deinit(&entry->slow);
}

void first_sight_free(struct first_sight *f)
{
	if (!f)
		return;
	vec_foreach(entry, &f->entries) {
		if (*entry) {
			release(f, *entry);
			free((*entry)->label);
		}
		free(*entry);
	}
	vec_deinit(&f->entries);
	vec_deinit(&f->by_number);
	vec_deinit(&f->by_file);
	vec_deinit(&f->by_reserved);
	vec_deinit(&f->waiting);
	hash_index_deinit(&f->by_key);
	contents_free(f->contents);
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

bool first_sight_is_finished(const struct first_sight *f, uint32_t profile_file)
{
	if (profile_file >= f->by_file.n || f->by_file.items[profile_file] == NO_ENTRY)
		return true; /* not one of ours */
	return f->entries.items[f->by_file.items[profile_file]]->state >= STATE_DONE;
}

int first_sight_open(struct first_sight *f, uint32_t profile_file, const struct task_key *task,
		     uint64_t map_start, uint64_t map_end, struct pin *ret)
{
	if (profile_file >= f->by_file.n || f->by_file.items[profile_file] == NO_ENTRY)
		return -ENOENT;
	const struct entry *entry = f->entries.items[f->by_file.items[profile_file]];
	struct finder_context context = {.proc = f->o.proc, .log = f->o.log};
	struct file_request request = {
		.pid = task->pid,
		.tid = task->tid,
		.start_time = task->start_time,
		.map_start = map_start,
		.map_end = map_end,
		.name = "",
	};
	enum mw_reason reason;
	int r = mapped_file_ask(f->o.proc, &request);
	request.key = entry->key.inode; /* as it was first seen: the bytes are the same if it is proved */
	return r < 0 ? r : pin_open(&context, &request, ret, &reason);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Known by a build ID alone, which is a whole one, where another content has it too. */
static bool is_withdrawn(const struct first_sight *f, const struct entry *entry)
{
	struct mw_file_id id = entry->key.id;
	id.kind = MW_FILE_ID_GNU;
	return entry->key.id.kind != MW_FILE_ID_NONE && contents_is_ambiguous(f->contents, &id);
}

void entry_tell_profile(struct first_sight *f, const struct entry *entry, enum mw_reason reason)
{
	static const struct mw_file_id none;
	if (entry->profile_file == NO_FILE)
		return;
	bool withdrawn = is_withdrawn(f, entry);
	const struct mw_file_id *id = &entry->id;
	if (id->kind == MW_FILE_ID_NONE && entry->key.id.kind != MW_FILE_ID_NONE)
		id = &entry->key.id; /* the kernel's, padded */
	profile_set_file(f->o.profile, entry->profile_file,
			 id->kind == MW_FILE_ID_NONE ? NULL : id,
			 withdrawn ? MW_REASON_ID_MISMATCH : reason);
	profile_set_store_id(f->o.profile, entry->profile_file, withdrawn ? &none : &entry->store_id);
}

static void tell_changed(struct first_sight *f, const struct entry *entry)
{
	if (entry->profile_file != NO_FILE && f->o.changed)
		f->o.changed(f->o.data, entry->profile_file);
}

void entries_withdraw(struct first_sight *f, const struct mw_file_id *id)
{
	log_debug(f->o.log, "two contents have one file id");
	vec_foreach(entry, &f->entries) {
		if (!*entry || (*entry)->key.id.kind == MW_FILE_ID_NONE || !is_withdrawn(f, *entry))
			continue;
		entry_tell_profile(f, *entry, (*entry)->reason);
		tell_changed(f, *entry);
	}
	if (f->o.ambiguous)
		f->o.ambiguous(f->o.data, id);
}

void entries_rename(struct first_sight *f, const struct entry *entry)
{
	vec_foreach(other, &f->entries) {
		if (*other && *other != entry && (*other)->state >= STATE_DONE &&
		    mw_file_id_equal(&(*other)->store_id, &entry->store_id))
			tell_changed(f, *other);
	}
}

/* A file that is identified keeps its id, names or not: the store may have them from another copy. */
void entry_finish(struct first_sight *f, struct entry *entry, enum mw_reason reason)
{
	entry->reason = reason;
	entry_tell_profile(f, entry, reason);
	entry_give_up_table(f, entry);
	release(f, entry);
	entry->state = reason == MW_REASON_NONE ? STATE_DONE : STATE_FAILED;
	f->unfinished--;
}

/* ---- opening --------------------------------------------------------------------------------- */

int entry_put_off(struct first_sight *f, uint32_t number, enum state state)
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
	if (pin && pin->path[0])
		return pin->path;
	return request->path && request->path[0] ? request->path : request->name;
}

/*
 * Whether two keys are states of one file between which nothing was written. As in content/content.c,
 * only another number of names explains a change time that moved on: the file may have been written to
 * after it ran, and its modification time set back.
 */
static bool is_same_content(const struct inode_key *a, const struct inode_key *b)
{
	bool same_change = a->ctime_sec == b->ctime_sec && a->ctime_nsec == b->ctime_nsec;
	/* tmpfs has generations, and does not tell them to who opens the file: 0. */
	bool same_generation = a->generation == b->generation || !a->generation || !b->generation;
	return a->inode == b->inode && a->device == b->device && a->subvolume == b->subvolume &&
	       same_generation && a->size == b->size &&
	       a->mtime_sec == b->mtime_sec && a->mtime_nsec == b->mtime_nsec &&
	       (same_change || a->links != b->links);
}

static bool changed_later(const struct inode_key *a, const struct inode_key *b)
{
	return a->ctime_sec != b->ctime_sec ? a->ctime_sec > b->ctime_sec
					    : a->ctime_nsec > b->ctime_nsec;
}

/*
 * The file was executed, and opened then, before it was unlinked or renamed. Only such files: while
 * they run nobody can write to them, so an equal modification time cannot have been forged. Between two
 * runs it can: the last one before the sample counts. A later state is not taken, not even of what the
 * sampled process executed: by the time that we looked it may have ended, and the file been written over.
 */
static uint32_t find_twin(const struct first_sight *f, const struct entry *entry)
{
	uint32_t found = NO_ENTRY;
	for (size_t i = 0; i < MIN(f->n_executed, EXECUTED_MAX); i++) {
		const struct entry *other = f->entries.items[f->executed[i]];
		if (!other || other == entry || changed_later(&other->key.inode, &entry->key.inode) ||
		    !is_same_content(&other->key.inode, &entry->key.inode))
			continue;
		if (found == NO_ENTRY || changed_later(&other->key.inode,
						       &f->entries.items[found]->key.inode))
			found = f->executed[i];
	}
	return found;
}

static uint8_t max_tries(const struct entry *entry)
{
	return entry->key.id.kind == MW_FILE_ID_NONE ? MAX_TRIES : MAX_TRIES_BY_ID;
}

/* Opening failed. Another task may still have the file: then its next sample announces it again. */
int entry_fail_to_open(struct first_sight *f, uint32_t number, enum mw_reason reason)
{
	struct entry *entry = f->entries.items[number];
	if (entry->key.id.kind == MW_FILE_ID_NONE) {
		entry->twin = find_twin(f, entry);
		if (entry->twin != NO_ENTRY)
			return entry_put_off(f, number, STATE_TWIN);
	}
	f->counts.not_opened++;
	entry_finish(f, entry, reason);
	if (reason != MW_REASON_TIMEOUT && ++entry->tries < max_tries(entry) && f->o.forget)
		f->o.forget(f->o.data, &entry->key);
	return 0;
}

int entry_open(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	if (f->n_pins >= f->o.max_pins)
		return entry_put_off(f, number, STATE_WAITING);
	struct finder_context context = {
		.proc = f->o.proc, .log = f->o.log, .roots = f->o.roots};
	_cleanup_free_ struct pin *pin = malloc(sizeof *pin);
	if (!pin)
		return -ENOMEM;
	enum mw_reason reason;
	int r = pin_open(&context, &entry->request, pin, &reason);
	/* The state in an inode key shows what was written since; a build ID does not. */
	if (r == 0 && entry->key.id.kind != MW_FILE_ID_NONE) {
		r = writers_shut_out(pin);
		reason = MW_REASON_RACED;
		if (r < 0)
			pin_mark_extracted(pin);
	}
	if (r == -EMFILE || r == -ENFILE)
		return entry_put_off(f, number, STATE_WAITING);
	if (r == -EWOULDBLOCK)
		return entry_put_off(f, number, STATE_SLOW);
	if (r < 0)
		return entry_fail_to_open(f, number, reason);
	entry->pin = take_ptr(pin);
	f->n_pins++;
	return entry_put_off(f, number, STATE_OPEN);
}

int entry_open_again(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	if (++entry->tries >= MAX_TRIES) {
		entry_finish(f, entry, MW_REASON_RACED);
		return 0;
	}
	release(f, entry);
	return entry_put_off(f, number, STATE_WAITING);
}

static int set_number(number_list *list, uint32_t number, uint32_t value)
{
	int r = vec_reserve(list, (size_t)number + 1);
	if (r < 0)
		return r;
	while (list->n <= number)
		list->items[list->n++] = NO_ENTRY;
	list->items[number] = value;
	return 0;
}

/* The sampler's number stands for this entry's file from now on. */
static int set_profile_number(struct first_sight *f, uint32_t sampler_number, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	entry_set_sampler_number(f, entry, sampler_number);
	return set_number(&f->by_number, sampler_number, entry->profile_file);
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

/* The entry gets a number in the profile: it was sampled. */
static int add_to_profile(struct first_sight *f, uint32_t number, const char *label)
{
	struct entry *entry = f->entries.items[number];
	const struct inode_key *inode = &entry->key.inode;
	int r = profile_add_file(f->o.profile, label, inode->device, inode->inode,
				 &entry->profile_file);
	if (r == 0)
		r = set_number(&f->by_file, entry->profile_file, number);
	if (r == 0)
		entry_tell_profile(f, entry, entry->reason);
	return r;
}

static uint32_t number_at(const number_list *list, uint32_t at)
{
	return at < list->n ? list->items[at] : NO_ENTRY;
}

/* The first sample of a file that was never announced. */
static uint32_t take_reserved(struct first_sight *f, uint32_t sampler_number, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	if (entry->profile_file == NO_FILE &&
	    add_to_profile(f, number, entry->label ? entry->label : "") < 0)
		return NO_FILE;
	return set_number(&f->by_number, sampler_number, entry->profile_file) < 0
		       ? NO_FILE
		       : entry->profile_file;
}

uint32_t first_sight_profile_file(struct first_sight *f, uint32_t sampler_number)
{
	uint32_t file = number_at(&f->by_number, sampler_number);
	if (file != NO_FILE)
		return file;
	uint32_t number = number_at(&f->by_reserved, sampler_number);
	if (number == NO_ENTRY || !f->entries.items[number])
		return NO_FILE;
	return take_reserved(f, sampler_number, number);
}

/* Its table is there before its first sample. */
int entry_reserve_number(struct first_sight *f, struct entry *entry)
{
	if (!f->o.reserve || entry->sampler_number || entry->key.id.kind != MW_FILE_ID_NONE ||
	    !entry->key.inode.inode)
		return 0;
	uint32_t number = hash_index_find(&f->by_key, hash_key(&entry->key), has_key, f, &entry->key);
	uint32_t sampler_number = number == HASH_INDEX_NONE ? 0 : f->o.reserve(f->o.data, &entry->key.inode);
	if (!sampler_number)
		return 0;
	entry->sampler_number = sampler_number;
	entry->is_reserved = true;
	return set_number(&f->by_reserved, sampler_number, number);
}

/* What is in work when its turn comes stays. */
static void forget_oldest(struct first_sight *f)
{
	uint32_t number = (uint32_t)f->oldest++;
	struct entry *entry = f->entries.items[number];
	if (!entry || entry->state < STATE_DONE)
		return;
	hash_index_remove(&f->by_key, hash_key(&entry->key), number);
	if (entry->profile_file != NO_FILE)
		f->by_file.items[entry->profile_file] = NO_ENTRY;
	else if (entry->is_reserved) /* its first sample shall announce it */
		f->o.forget(f->o.data, &entry->key);
	free(entry->label);
	free(entry);
	f->entries.items[number] = NULL;
	f->n_entries--;
}

static int add_entry(struct first_sight *f, const struct sight_key *key, uint32_t *ret)
{
	while (f->n_entries >= ENTRIES_MAX && f->oldest < f->entries.n)
		forget_oldest(f);
	_cleanup_free_ struct entry *entry = calloc(1, sizeof *entry);
	if (!entry)
		return -ENOMEM;
	entry->key = *key;
	entry->writer.fd = -1;
	entry->slow = (struct slow_file)SLOW_FILE_INIT;
	entry->profile_file = NO_FILE;
	uint32_t number = (uint32_t)f->entries.n;
	int r = hash_index_add(&f->by_key, hash_key(key), number);
	if (r == 0)
		r = vec_push(&f->entries, entry);
	if (r < 0)
		return r;
	entry = NULL;
	f->n_entries++;
	f->unfinished++;
	f->counts.seen++;
	*ret = number;
	return 0;
}

/* The entry of a key, made if it is new. 1: there is something to open. */
static int find_entry(struct first_sight *f, const struct sight_key *key,
		      const struct file_request *request, uint32_t *ret)
{
	char buf[4096];
	*ret = hash_index_find(&f->by_key, hash_key(key), has_key, f, key);
	bool is_new = *ret == HASH_INDEX_NONE;
	int r = is_new ? add_entry(f, key, ret) : 0;
	if (r < 0)
		return r;
	struct entry *entry = f->entries.items[*ret];
	/* Whose path it is that is mapped there now is not known before the file is identified. */
	if (entry->profile_file == NO_FILE)
		r = add_to_profile(f, *ret,
				   key->id.kind != MW_FILE_ID_NONE
					   ? ""
					   : label_of(f, request, NULL, buf, sizeof buf));
	if (r < 0 || is_new)
		return r < 0 ? r : 1;
	if (entry->state != STATE_FAILED || entry->tries >= max_tries(entry))
		return 0;
	/* It failed before; this task may help. */
	f->unfinished++;
	entry->reason = MW_REASON_NONE;
	entry->table = TABLE_UNDECIDED;
	entry_tell_profile(f, entry, MW_REASON_NONE);
	return 1;
}

static int open_for(struct first_sight *f, uint32_t number, const struct file_request *request)
{
	struct entry *entry = f->entries.items[number];
	entry->request = *request;
	int r = entry_open(f, number);
	entry->request.name = "";
	entry->request.path = NULL;
	return r;
}

/* By the process as it was seen last. */
static int ask_at(const struct first_sight *f, const struct sample *sample, uint64_t address,
		  struct file_request *request)
{
	const struct mapping *m;
	images_find(f->o.images, sample, address, &m);
	if (!m || !m->inode)
		return -ENOENT;
	request->map_start = m->start;
	request->map_end = m->end;
	return mapped_file_ask(f->o.proc, request);
}

/* The mapping of a build ID that was seen at an address, if the process still is the same program. */
static int find_mapping(struct first_sight *f, const struct file_sighting *s,
			struct file_request *request)
{
	struct sample sample = {
		.task = {s->pid, s->tid, s->start_time, s->exec_count, 0},
		.image = s->image,
	};
	int r = ask_at(f, &sample, s->address, request);
	if (r < 0) { /* what was seen last may be long ago, or a library half loaded */
		images_refresh(f->o.images, &sample, UINT64_MAX);
		r = ask_at(f, &sample, s->address, request);
	}
	return r;
}

static int add_by_id(struct first_sight *f, const struct file_sighting *s,
		     struct file_request *request)
{
	struct sight_key key = {.id = s->id};
	uint32_t number;
	int can_be_asked = find_mapping(f, s, request);
	int r = find_entry(f, &key, request, &number);
	int set = r < 0 ? r : set_profile_number(f, s->number, number);
	if (r < 0 || set < 0)
		return r < 0 ? r : set;
	struct entry *entry = f->entries.items[number];
	if (is_withdrawn(f, entry) && f->o.ambiguous) {
		struct mw_file_id id = s->id;
		id.kind = MW_FILE_ID_GNU;
		f->o.ambiguous(f->o.data, &id);
	}
	bool is_looked_for = r == 1 || entry->state == STATE_IN_STORE;
	if (can_be_asked == 0)
		return is_looked_for ? open_for(f, number, request) : 0;
	if (is_looked_for && ++entry->tries < max_tries(entry)) /* the next sample may help */
		f->o.forget(f->o.data, &key);
	if (r == 0)
		return 0;
	entry->looks_until = clock_now_ns() + LOOKS_NS;
	return entry_put_off(f, number, STATE_IN_STORE);
}

/* When the next change of the file would surely have another time. */
static uint64_t settling_time(const struct inode_key *key)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	int64_t age = (int64_t)(t.tv_sec - key->ctime_sec) * 1000000000 + t.tv_nsec - key->ctime_nsec;
	uint64_t now = clock_now_ns();
	if (age < 0) /* it was changed before now, whatever the clock says */
		age = 0;
	struct timespec tick = {};
	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	uint64_t settling = 2 * (uint64_t)tick.tv_nsec; /* the tick itself may come late */
	return (uint64_t)age >= settling ? 0 : now + settling - (uint64_t)age;
}

bool first_sight_is_settled(const struct first_sight *f, uint32_t profile_file, uint64_t time)
{
	if (profile_file >= f->by_file.n || f->by_file.items[profile_file] == NO_ENTRY)
		return true;
	const struct entry *entry = f->entries.items[f->by_file.items[profile_file]];
	return !entry || time >= entry->settled_at;
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
		.path = s->path,
		.root = {s->mount_namespace, s->root_inode, s->root_device, 0},
	};
	roots_see(f->o.roots, &request.root, s->pid, s->tid);
	if (s->id.kind != MW_FILE_ID_NONE)
		return add_by_id(f, s, &request);
	struct sight_key key = {.inode = s->key};
	uint32_t number;
	int r = find_entry(f, &key, &request, &number);
	if (r == 1 && !s->is_program && !f->entries.items[number]->tries)
		f->entries.items[number]->settled_at = settling_time(&s->key);
	int set = r < 0 ? r : set_profile_number(f, s->number, number);
	return r <= 0 || set < 0 ? (r < 0 ? r : set) : open_for(f, number, &request);
}

static bool is_still_mapped(const struct proc *proc, const struct task_key *task,
			    const struct mapping *mapping)
{
	struct snapshot *snapshot;
	if (snapshot_take(proc, task->pid, task->tid, &snapshot) < 0)
		return false;
	const struct mapping *m = snapshot_find(snapshot, mapping->start);
	bool is = m && m->start == mapping->start && m->offset == mapping->offset &&
		  m->inode == mapping->inode && m->major == mapping->major &&
		  m->minor == mapping->minor;
	snapshot_free(snapshot);
	return is;
}

/*
 * By now another file may be mapped at its address: then it has other numbers. On btrfs the device in maps is
 * another than that of stat(2), and on overlayfs all of it can be.
 */
bool first_sight_is_of_mapping(struct first_sight *f, const struct task_key *task,
			       const struct mapping *mapping, const struct inode_key *key, uint64_t magic)
{
	bool same_inode = key->inode == mapping->inode;
	bool same_device = key->device == (mapping->major << 20 | mapping->minor);
	if (same_inode && same_device)
		return true;
	bool may_differ = magic == OVERLAYFS_SUPER_MAGIC || (magic == BTRFS_SUPER_MAGIC && same_inode);
	return may_differ && is_still_mapped(f->o.proc, task, mapping);
}

/* Who the file of a mapping is. */
static int ask_mapping(struct first_sight *f, const struct task_key *task,
		       const struct mapping *mapping, struct file_request *request)
{
	int r = mapped_file_ask(f->o.proc, request);
	if (r < 0)
		return r;
	return first_sight_is_of_mapping(f, task, mapping, &request->key, request->magic) ? 0 : -ESTALE;
}

static struct file_request request_for_mapping(const struct task_key *task,
					       const struct mapping *mapping)
{
	return (struct file_request){
		.pid = task->pid,
		.tid = task->tid,
		.start_time = task->start_time,
		.map_start = mapping->start,
		.map_end = mapping->end,
		.name = mapping->name,
	};
}

int first_sight_add_mapping(struct first_sight *f, const struct task_key *task,
			    const struct mapping *mapping, uint32_t *ret)
{
	struct file_request request = request_for_mapping(task, mapping);
	struct sight_key key = {};
	/* A file that cannot be asked is known by what maps says of it, and will not be opened. */
	key.inode.inode = mapping->inode;
	key.inode.device = mapping->major << 20 | mapping->minor;
	bool is_asked = ask_mapping(f, task, mapping, &request) == 0;
	if (is_asked)
		key.inode = request.key;
	else
		request.key = key.inode;
	uint32_t number;
	int r = find_entry(f, &key, &request, &number);
	if (r == 1)
		r = open_for(f, number, &request);
	if (r < 0)
		return r;
	*ret = f->entries.items[number]->profile_file;
	return is_asked;
}

static bool is_known_key(const struct first_sight *f, const struct sight_key *key)
{
	return hash_index_find(&f->by_key, hash_key(key), has_key, f, key) != HASH_INDEX_NONE;
}

int first_sight_identify_mapping(struct first_sight *f, const struct task_key *task,
				 const struct mapping *mapping)
{
	struct file_request request = request_for_mapping(task, mapping);
	if (mapped_file_ask(f->o.proc, &request) < 0 || finder_may_block(request.magic))
		return 0;
	struct sight_key key = {.inode = request.key};
	if (is_known_key(f, &key))
		return 0;
	uint32_t number;
	int r = add_entry(f, &key, &number);
	if (r < 0)
		return r;
	f->entries.items[number]->identity_only = true;
	r = open_for(f, number, &request);
	return r < 0 ? r : 1;
}

bool first_sight_has_key(const struct first_sight *f, uint32_t profile_file,
			 const struct inode_key *key)
{
	if (profile_file >= f->by_file.n || f->by_file.items[profile_file] == NO_ENTRY)
		return false;
	struct sight_key own = f->entries.items[f->by_file.items[profile_file]]->key;
	own.inode.generation = 0;
	own.inode.subvolume = 0;
	return own.id.kind == MW_FILE_ID_NONE && memcmp(&own.inode, key, sizeof *key) == 0;
}

int first_sight_add_running(struct first_sight *f, const struct task_key *task,
			    const struct mapping *mapping)
{
	char buf[4096];
	struct file_request request = request_for_mapping(task, mapping);
	if (ask_mapping(f, task, mapping, &request) < 0)
		return 0;
	struct sight_key key = {.inode = request.key};
	uint32_t number;
	if (hash_index_find(&f->by_key, hash_key(&key), has_key, f, &key) != HASH_INDEX_NONE)
		return 0;
	int r = add_entry(f, &key, &number);
	if (r < 0)
		return r;
	f->entries.items[number]->label = strdup(label_of(f, &request, NULL, buf, sizeof buf));
	return open_for(f, number, &request);
}

/* 1: the file is new and now pinned, 0: it is known or there is no room, or -ENOMEM. Takes fd. */
static int pin_executed(struct first_sight *f, int fd, uint32_t *ret)
{
	_cleanup_free_ struct pin *pin = malloc(sizeof *pin);
	if (!pin) {
		close(fd);
		return -ENOMEM;
	}
	*pin = (struct pin){.fd = fd};
	struct sight_key key = {};
	if (f->n_pins < f->o.max_pins && content_ask_key(fd, &key.inode) == 0 &&
	    pin_remember(pin) == 0 &&
	    hash_index_find(&f->by_key, hash_key(&key), has_key, f, &key) == HASH_INDEX_NONE &&
	    add_entry(f, &key, ret) == 0) {
		f->entries.items[*ret]->pin = take_ptr(pin);
		f->n_pins++;
		return 1;
	}
	close(fd);
	return 0;
}

int first_sight_add_executed(struct first_sight *f, int fd, uint32_t pid)
{
	uint32_t number;
	int r = pin_executed(f, fd, &number);
	if (r <= 0)
		return r;
	f->counts.executed++;
	f->entries.items[number]->was_executed = true;
	f->entries.items[number]->label = strdup(f->entries.items[number]->pin->path);
	f->entries.items[number]->request.pid = f->entries.items[number]->request.tid = pid;
	f->executed[f->n_executed++ % EXECUTED_MAX] = number;
	return entry_put_off(f, number, STATE_OPEN);
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
	int r = add_entry(f, &key, &number);
	if (r == 0)
		r = add_to_profile(f, number, "[vdso]");
	if (r == 0)
		r = set_profile_number(f, SAMPLER_FILE_VDSO, number);
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
		entry_finish(f, entry, MW_REASON_FILE_GONE);
		return 0;
	}
	entry->pin = take_ptr(pin);
	f->n_pins++;
	return entry_put_off(f, number, STATE_OPEN);
}
