/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/subject.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "content/content.h"
#include "content/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define BUILD_ID_DIRECTORY "/usr/lib/debug/.build-id"
#define KERNEL_HALF	   (UINT64_C(1) << 63)

static void file_free(struct subject_file *file)
{
	if (!file)
		return;
	cleanup_close(&file->fd);
	free(file->path);
	free(file);
}

void subject_deinit(struct subject *s)
{
	vec_foreach(file, &s->files)
		file_free(*file);
	vec_deinit(&s->files);
	snapshot_free(take_ptr(s->snapshot));
	kernel_symbols_close(take_ptr(s->kernel));
	if (s->kind == SUBJECT_PROCESS)
		live_code_deinit(&s->code);
}

static struct subject_file *add_file(struct subject *s, const char *path)
{
	struct subject_file *file = calloc(1, sizeof *file);
	if (!file)
		return NULL;
	file->fd = -1;
	file->path = strdup(path);
	if (!file->path || vec_push(&s->files, file) < 0) {
		file_free(file);
		return NULL;
	}
	return file;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void log_part(const struct subject *s, const char *what, const struct intake_part *part)
{
	if (part->is_new)
		log_debug(s->log, "%s: read from the file, and put into the store", what);
	else if (part->reason == MW_REASON_NONE)
		log_debug(s->log, "%s: in the store", what);
	if (part->problem.code)
		log_debug(s->log, "%s: %s", what, part->problem.msg);
}

/* Has an open file read, and keeps what is known of it. 0 or -errno: it cannot be read at all. */
static int take_in(struct subject *s, struct subject_file *file, int fd, struct intake_result *result,
		   struct mw_error *e)
{
	const struct intake intake = {.store = s->store, .proc = s->proc, .log = s->log,
				      .deadline_ms = s->deadline_ms};
	const struct intake_request request = {.fd = fd, .path = file->path, .pid = s->pid,
					       .tid = s->pid, .lines = s->lines};
	int r = intake_identified(&intake, &request, result, e);
	if (r < 0)
		return r;
	file->id = result->identity.id;
	file->store_id = result->store_id;
	file->elf_class = result->identity.elf_class;
	file->identity = result->identity;
	if (s->keep_open && file->fd < 0)
		file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	file->problem = result->names.problem.code ? result->names.problem : result->lines.problem;
	log_part(s, "names", &result->names);
	if (s->lines)
		log_part(s, "lines", &result->lines);
	if (result->names.is_new || result->lines.is_new)
		resolver_refresh(s->resolver, &file->store_id);
	return 0;
}

/* A regular file, open for reading. The path may be a profile's from anywhere: nothing else is touched. */
static int open_regular(const char *path, struct mw_error *e)
{
	_cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	if (place < 0 || fstat(place, &st) < 0)
		return error_errno(e, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, "%s: not a regular file", path);
	int fd = io_reopen(place);
	return fd < 0 ? error_errno(e, fd, "%s", path) : fd;
}

int subject_open_file(struct subject *s, const char *path, struct mw_error *e)
{
	s->kind = SUBJECT_FILE;
	_cleanup_close_ int fd = open_regular(path, e);
	if (fd < 0)
		return fd;
	char whole[PATH_MAX];
	struct subject_file *file = add_file(s, realpath(path, whole) ? whole : path);
	if (!file)
		return error_set(e, -ENOMEM, "out of memory");
	struct intake_result result = {};
	int r = intake_identify(fd, &result.identity, e);
	if (r == 0 && result.identity.elf_class == ELFCLASSNONE)
		r = error_set(e, -EBADMSG, "not an ELF file");
	if (r == 0)
		r = take_in(s, file, fd, &result, e);
	return r < 0 ? error_prefix(e, r, "%s", path) : 0;
}

/* ---- build IDs ------------------------------------------------------------------------------- */

/* Takes a file in if it has the id. 1, or 0 if not. */
static int try_path(struct subject *s, struct subject_file *file, const char *path)
{
	struct mw_error e = {};
	struct intake_result result = {};
	_cleanup_close_ int fd = open_regular(path, &e);
	if (fd < 0 || intake_identify(fd, &result.identity, &e) < 0) {
		log_debug(s->log, "%s", e.msg);
		return 0;
	}
	if (!mw_file_id_equal(&result.identity.id, &file->id)) {
		char id[MW_FILE_ID_TEXT_MAX];
		mw_file_id_to_text(&result.identity.id, id, sizeof id);
		log_debug(s->log, "%s: another file (%s)", path, id);
		return 0;
	}
	log_debug(s->log, "%s: it is", path);
	free(file->path);
	file->path = strdup(path);
	if (!file->path)
		file->path = strdup("");
	return take_in(s, file, fd, &result, &e) == 0;
}

static void build_id_path(const struct mw_file_id *id, const char *suffix, char ret[PATH_MAX])
{
	char text[MW_FILE_ID_TEXT_MAX];
	mw_file_id_to_text(id, text, sizeof text);
	const char *hex = text + strlen("gnu:");
	snprintf(ret, PATH_MAX, BUILD_ID_DIRECTORY "/%.2s/%s%s", hex, hex + 2, suffix);
}

/*
 * The file itself, or else its debug file, which has names and lines, too, but not where in the file
 * they are.
 */
static void find_build_id(struct subject *s, struct subject_file *file, const struct meta *known)
{
	char path[PATH_MAX];
	if (s->hint && s->hint[0] == '/' && try_path(s, file, s->hint))
		return;
	for (size_t i = 0; i < known->paths.n; i++) {
		if (known->paths.items[i][0] == '/' && try_path(s, file, known->paths.items[i]))
			return;
	}
	if (file->id.kind != MW_FILE_ID_GNU || file->id.size < 2)
		return;
	build_id_path(&file->id, "", path);
	if (try_path(s, file, path))
		return;
	build_id_path(&file->id, ".debug", path);
	try_path(s, file, path);
}

static bool has_enough(const struct subject *s, const struct meta *known)
{
	return known->segments.n && known->parts[STORE_NAMES].present &&
	       (!s->lines || known->parts[STORE_LINES].present);
}

int subject_open_build_id(struct subject *s, const struct mw_file_id *id, struct mw_error *e)
{
	s->kind = SUBJECT_BUILD_ID;
	struct subject_file *file = add_file(s, "");
	if (!file)
		return error_set(e, -ENOMEM, "out of memory");
	file->id = file->store_id = *id;
	if (id->kind == MW_FILE_ID_GNU_PADDED &&
	    store_complete_id(s->store, id, &file->store_id) == 0)
		file->id = file->store_id;
	struct meta known = {};
	int r = store_lookup(s->store, &file->store_id, &known, e);
	log_debug(s->log, r == 1 ? "the store knows the file" : "the store does not know the file");
	if (r == 1 && known.paths.n) {
		free(file->path);
		file->path = strdup(known.paths.items[0]);
	}
	if (r >= 0 && !has_enough(s, &known))
		find_build_id(s, file, &known);
	meta_deinit(&known);
	if (r >= 0 && !file->path)
		r = error_set(e, -ENOMEM, "out of memory");
	return r < 0 ? r : 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

int subject_open_process(struct subject *s, uint32_t pid, struct mw_error *e)
{
	s->kind = SUBJECT_PROCESS;
	s->pid = pid;
	s->code = (struct live_code)LIVE_CODE_INIT;
	int r = snapshot_take(s->proc, pid, pid, &s->snapshot);
	s->snapshot_is_fresh = true;
	if (r == -ENOENT || r == -ESRCH)
		return error_set(e, -ESRCH, "no process %u", pid);
	return r < 0 ? error_errno(e, r, "cannot read the maps of process %u", pid) : 0;
}

void subject_refresh(struct subject *s)
{
	s->snapshot_is_fresh = s->code_is_fresh = false;
}

/* A process that has ended leaves its last maps: what they say was so a moment ago. */
static void take_snapshot(struct subject *s)
{
	struct snapshot *now;
	if (s->snapshot_is_fresh)
		return;
	s->snapshot_is_fresh = true;
	if (snapshot_take(s->proc, s->pid, s->pid, &now) < 0)
		return;
	snapshot_free(s->snapshot);
	s->snapshot = now;
}

/* The vdso of every 64-bit process is the one in our own memory. */
static int copy_vdso(const struct proc *proc)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	struct snapshot *ours = NULL;
	if (!start || snapshot_take(proc, (uint32_t)getpid(), (uint32_t)getpid(), &ours) < 0)
		return -ENOENT;
	const struct mapping *m = snapshot_find(ours, start);
	_cleanup_close_ int fd = m ? memfd_create("[vdso]", MFD_CLOEXEC) : -ENOENT;
	int r = fd;
	if (fd >= 0)
		r = io_write(fd, (const void *)(uintptr_t)start, m->end - m->start);
	snapshot_free(ours);
	return r < 0 ? r : take_fd(fd);
}

/* Opens what is mapped, whatever became of its name, and proves it. The descriptor, or -errno. */
static int open_mapped(struct subject *s, const struct mapping *m, struct subject_file *file)
{
	if (!m->inode)
		return copy_vdso(s->proc);
	struct file_request request = {.pid = s->pid,
				       .tid = s->pid,
				       .map_start = m->start,
				       .map_end = m->end,
				       .name = m->name,
				       .path = m->name};
	int r = mapped_file_ask(s->proc, &request);
	if (r < 0) {
		error_errno(&file->problem, r, "cannot look at what is mapped");
		return r;
	}
	const struct finder_context context = {.proc = s->proc, .log = s->log};
	struct pin pin;
	r = pin_open(&context, &request, &pin, &file->reason);
	if (r < 0)
		error_errno(&file->problem, r, "cannot open what is mapped");
	return r < 0 ? r : pin.fd;
}

static void read_mapped(struct subject *s, const struct mapping *m, struct subject_file *file)
{
	file->reason = MW_REASON_FILE_GONE;
	_cleanup_close_ int fd = open_mapped(s, m, file);
	if (fd < 0)
		return;
	struct intake_result result = {};
	int r = intake_identify(fd, &result.identity, &file->problem);
	if (r == 0)
		r = take_in(s, file, fd, &result, &file->problem);
	file->reason = r < 0 ? MW_REASON_PARSER_FAILED : MW_REASON_NONE;
}

/* The number of the mapped file; UINT32_MAX without memory. */
static uint32_t file_of_mapping(struct subject *s, const struct mapping *m)
{
	for (size_t i = 0; i < s->files.n; i++) {
		const struct subject_file *file = s->files.items[i];
		if (file->inode == m->inode && file->major == m->major &&
		    file->minor == m->minor && strcmp(file->path, m->name) == 0)
			return (uint32_t)i;
	}
	struct subject_file *file = add_file(s, m->name);
	if (!file)
		return UINT32_MAX;
	file->inode = m->inode;
	file->major = m->major;
	file->minor = m->minor;
	read_mapped(s, m, file);
	return (uint32_t)(s->files.n - 1);
}

static struct place nowhere(enum mw_reason reason, const struct mapping *mapping)
{
	return (struct place){.kind = PLACE_NOWHERE, .reason = reason, .mapping = mapping};
}

static struct place place_in_process(struct subject *s, uint64_t address)
{
	if (address >= KERNEL_HALF)
		return (struct place){.kind = PLACE_KERNEL, .key = address};
	take_snapshot(s);
	const struct mapping *m = snapshot_find(s->snapshot, address);
	if (!m)
		return nowhere(MW_REASON_NO_MAPPING, NULL);
	bool is_vdso = strcmp(m->name, "[vdso]") == 0;
	if (!m->inode && !is_vdso)
		return nowhere(m->protection & MAP_EXECUTE ? MW_REASON_JIT_NO_MAP
							   : MW_REASON_GHOST,
			       m);
	uint32_t number = file_of_mapping(s, m);
	if (number == UINT32_MAX)
		return nowhere(MW_REASON_EVICTED, m);
	const struct subject_file *file = s->files.items[number];
	if (file->reason != MW_REASON_NONE) {
		struct place place = nowhere(file->reason, m);
		place.file = number;
		return place;
	}
	return (struct place){.kind = PLACE_FILE,
			      .file = number,
			      .key = address - m->start + (is_vdso ? 0 : m->offset),
			      .mapping = m};
}

struct place subject_place(struct subject *s, uint64_t address)
{
	if (s->kind == SUBJECT_PROCESS)
		return place_in_process(s, address);
	return (struct place){.kind = PLACE_FILE, .key = address};
}

int subject_find_code(struct subject *s, uint64_t address, struct mw_location *ret)
{
	const struct perf_map_entry *entry =
		live_code_find(&s->code, s->proc, s->log, s->pid, !s->code_is_fresh, address);
	s->code_is_fresh = true;
	if (!entry)
		return 0;
	*ret = (struct mw_location){.name = perf_map_name(&s->code.map, entry),
				    .address = entry->start,
				    .start = entry->start};
	return 1;
}

const struct kernel_symbols *subject_kernel(struct subject *s, enum mw_reason *ret_reason)
{
	*ret_reason = MW_REASON_HIDDEN_KERNEL;
	if (!s->kernel_state) {
		_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct mw_error e = {};
		int r = root < 0 ? -errno : kernel_symbols_open(root, &s->kernel, &e);
		if (r < 0)
			log_debug(s->log, "kernel: %s", e.msg);
		s->kernel_state = r < 0 ? r : 1;
	}
	return s->kernel;
}
