/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/doctor.h"

#include "base/cleanup.h"
#include "base/sandbox.h"
#include "capture/probe.h"
#include "proc/maps.h"
#include "store/store.h"
#include "symbols/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

static int say(int result, char *detail, size_t size, const char *text)
{
	snprintf(detail, size, "%s", text);
	return result;
}

/* The mapping of our own code is opened as a sampled one would be. */
static int probe_map_files(const struct log *log, char *detail, size_t size)
{
	struct proc proc = PROC_INIT;
	_cleanup_free_ char *maps = NULL;
	uint32_t pid = (uint32_t)getpid();
	int r = proc_init(&proc, "/proc", NULL);
	if (r == 0)
		r = maps_read(&proc, pid, pid, &maps);
	struct map_line m;
	char *rest = maps;
	if (r == 0 && map_line_parse(strsep(&rest, "\n"), &m) == 0) {
		char path[96];
		snprintf(path, sizeof path, "%u/map_files/%" PRIx64 "-%" PRIx64, pid, m.start, m.end);
		_cleanup_close_ int fd = openat(proc.dir, path, O_PATH | O_CLOEXEC);
		r = fd < 0 ? -errno : 0;
	}
	proc_deinit(&proc);
	return say(r, detail, size, r < 0 ? strerror(-r) : "opened a mapping of our own");
}

static int probe_handles(const struct log *log, char *detail, size_t size)
{
	struct {
		struct file_handle head;
		char bytes[MAX_HANDLE_SZ];
	} handle = {.head.handle_bytes = MAX_HANDLE_SZ};
	int mount;
	if (name_to_handle_at(AT_FDCWD, "/", &handle.head, &mount, 0) < 0)
		return say(-errno, detail, size, strerror(errno));
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = open_by_handle_at(root, &handle.head, O_PATH | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;
	return say(r, detail, size, r < 0 ? strerror(-r) : "opened / by its handle");
}

static int probe_kernel_symbols(const struct log *log, char *detail, size_t size)
{
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct kernel_symbols *symbols = NULL;
	struct mw_error e = {};
	int r = kernel_symbols_open(root, &symbols, &e);
	if (r < 0)
		return say(r, detail, size, e.msg);
	snprintf(detail, size, "%zu symbols", kernel_symbols_count(symbols));
	kernel_symbols_close(symbols);
	return 0;
}

static int probe_store(const struct log *log, char *detail, size_t size)
{
	struct store_options options = {};
	struct store *store = NULL;
	struct mw_error e = {};
	int r = store_open(&options, &store, &e);
	if (r < 0)
		return say(r, detail, size, e.msg);
	say(0, detail, size, store_directory(store));
	store_close(store);
	return 0;
}

static const struct feature other_features[] = {
	{"map-files", "opening what a process has mapped, deleted and replaced files too",
	 "run as root in the initial user namespace (CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE)", false,
	 probe_map_files},
	{"file-handles", "opening files of tasks that are gone, by inode and generation",
	 "run as root (CAP_DAC_READ_SEARCH)", false, probe_handles},
	{"kernel-symbols", "names of kernel functions",
	 "sysctl kernel.kptr_restrict=0, and run as root", false, probe_kernel_symbols},
	{"store", "keeping symbols from one recording to the next",
	 "name a directory of your own with --store", false, probe_store},
	{},
};

static void examine(const struct feature *features, const struct log *log, doctor_found_fn found,
		    void *data)
{
	for (const struct feature *f = features; f->name; f++) {
		char detail[512] = "";
		int r = f->probe(log, detail, sizeof detail);
		struct doctor_finding finding = {
			.name = f->name,
			.purpose = f->purpose,
			.detail = detail[0] ? detail : NULL,
			.remedy = r < 0 ? f->remedy : NULL,
			.state = r >= 0	       ? DOCTOR_PRESENT
				 : f->is_needed ? DOCTOR_MISSING
						: DOCTOR_DEGRADED,
		};
		found(data, &finding);
	}
}

/* Each protection around the parsers of foreign files is a finding of its own. */
static void examine_sandbox(doctor_found_fn found, void *data)
{
	unsigned present = sandbox_probe();
	for (unsigned i = 0; i < SANDBOX_N_PROTECTIONS; i++) {
		enum sandbox_protection bit = (enum sandbox_protection)(1U << i);
		char name[64];
		snprintf(name, sizeof name, "sandbox-%s", sandbox_protection_name(bit));
		struct doctor_finding finding = {
			.name = name,
			.purpose = sandbox_protection_sentence(bit),
			.remedy = present & bit ? NULL : "the other protections hold without it",
			.state = present & bit ? DOCTOR_PRESENT : DOCTOR_DEGRADED,
		};
		found(data, &finding);
	}
}

int doctor_examine(const struct log *log, doctor_found_fn found, void *data, struct mw_error *e)
{
	examine(capture_features, log, found, data);
	examine(other_features, log, found, data);
	examine_sandbox(found, data);
	return 0;
}
