/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/probe.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "capture/cpu_events.h"
#include "capture/engine.h"
#include "capture/kernel_btf.h"
#include "capture/sampler.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

static int found(int result, char *detail, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int found(int result, char *detail, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(detail, size, format, args);
	va_end(args);
	return result;
}

/* ---- privileges ------------------------------------------------------------------------------ */

struct capability {
	unsigned number;
	const char *name;
};

/* What root has, and others can be given: BPF programs, events of all tasks, foreign files. */
static const struct capability needed_capabilities[] = {
	{CAP_BPF, "CAP_BPF"},
	{CAP_PERFMON, "CAP_PERFMON"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
};

static int probe_privileges(const struct log *log, char *detail, size_t size)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};
	if (syscall(SYS_capget, &header, data) < 0)
		return found(-errno, detail, size, "capget: %s", strerror(errno));
	char missing[160] = "";
	for (size_t i = 0; i < ARRAY_SIZE(needed_capabilities); i++) {
		const struct capability *c = &needed_capabilities[i];
		if (data[c->number / 32].effective & 1U << c->number % 32)
			continue;
		size_t n = strlen(missing);
		snprintf(missing + n, sizeof missing - n, "%s%s", n ? ", " : "", c->name);
	}
	if (missing[0])
		return found(-EPERM, detail, size, "missing: %s", missing);
	return found(0, detail, size, "all capabilities that recording uses");
}

/* ---- what the kernel's BTF says -------------------------------------------------------------- */

static int probe_btf(const struct log *log, char *detail, size_t size)
{
	int64_t n = kernel_btf_size();
	if (n < 0)
		return found((int)n, detail, size, "%s: %s", KERNEL_BTF_PATH, strerror((int)-n));
	return found(0, detail, size, "%.1f MiB in %s", (double)n / (1 << 20), KERNEL_BTF_PATH);
}

static int probe_task_work(const struct log *log, char *detail, size_t size)
{
	bool is_there = engine_deferred.is_offered();
	return found(is_there ? 0 : -ENOSYS, detail, size, "BPF task work: %s",
		     is_there ? "there" : "not in this kernel (Linux 6.18 has it)");
}

static int probe_lock_sequence(const struct log *log, char *detail, size_t size)
{
	bool of_space = kernel_btf_has_member("mm_struct", "mm_lock_seq");
	bool of_mapping = kernel_btf_has_member("vm_area_struct", "vm_lock_seq");
	return found(of_space && of_mapping ? 0 : -ENOSYS, detail, size,
		     "of the address space: %s; of each mapping: %s", of_space ? "yes" : "no",
		     of_mapping ? "yes" : "no");
}

/* ---- by doing it ----------------------------------------------------------------------------- */

static int ignore_sample(void *data, const struct sample *sample)
{
	return 0;
}

static int ignore_file(void *data, const struct file_sighting *sighting)
{
	return 0;
}

static int probe_engine(const struct engine *engine, const struct log *log, char *detail,
			size_t size)
{
	if (!engine->is_offered())
		return found(-ENOSYS, detail, size, "this kernel lacks what it is built on");
	const struct event event = {.frequency = 1};
	struct sampler_options options = {.size = sizeof options, .engine = engine,
					  .events = &event, .n_events = 1, .callers = true,
					  .log = log};
	struct sampler_handler handler = {NULL, ignore_sample, ignore_file};
	struct sampler *sampler = NULL;
	struct mw_error e = {};
	int r = sampler_open(&options, &handler, &sampler, &e);
	sampler_free(sampler);
	return found(r, detail, size, "%s", r < 0 ? e.msg : "loaded, verified, and unloaded again");
}

static int probe_deferred(const struct log *log, char *detail, size_t size)
{
	return probe_engine(&engine_deferred, log, detail, size);
}

static int probe_immediate(const struct log *log, char *detail, size_t size)
{
	return probe_engine(&engine_immediate, log, detail, size);
}

static int probe_event(const char *name, char *detail, size_t size)
{
	struct event event = {.frequency = 99};
	struct mw_error e;
	int r = event_parse(name, &event, &e);
	if (r == 0)
		r = cpu_events_probe(&event);
	return found(r, detail, size, "%s: %s", name, r < 0 ? strerror(-r) : "there");
}

static int probe_clock(const struct log *log, char *detail, size_t size)
{
	return probe_event("cpu-clock", detail, size);
}

static int probe_cycles(const struct log *log, char *detail, size_t size)
{
	return probe_event("cycles", detail, size);
}

const struct feature capture_features[] = {
	{"privileges", "BPF programs, events of all tasks, files of other users",
	 "run as root", true, probe_privileges},
	{"btf", "finding the kernel's fields without building for this kernel",
	 "use a kernel with CONFIG_DEBUG_INFO_BTF", true, probe_btf},
	{"task-work", "asking a task's address space on its way back to user space",
	 "nothing: the immediate engine does without, at a higher cost and with more reasons", false,
	 probe_task_work},
	{"lock-sequence", "proving that a mapping is the one of the sample",
	 "use a kernel with CONFIG_PER_VMA_LOCK (6.4 and later)", false, probe_lock_sequence},
	{"engine-deferred", "taking samples exactly, also in files without build ID",
	 "mapwright doctor -v shows what the verifier says", false, probe_deferred},
	{"engine-immediate", "taking samples on kernels before 6.18",
	 "mapwright doctor -v shows what the verifier says", true, probe_immediate},
	{"cpu-clock", "sampling by time where there are no hardware counters",
	 "perf_event_open must be allowed (kernel.perf_event_paranoid, seccomp)", true, probe_clock},
	{"cycles", "sampling by CPU cycles",
	 "nothing: virtual machines often have no PMU; cpu-clock is used instead", false,
	 probe_cycles},
	{},
};

int probe_needed(const char **ret_remedy, struct mw_error *e)
{
	/* What follows is tried by the recording itself, which explains it better. */
	static const char last[] = "btf";
	for (const struct feature *f = capture_features; f->name; f++) {
		char detail[256] = "";
		int r = f->is_needed ? f->probe(NULL, detail, sizeof detail) : 0;
		if (r < 0) {
			*ret_remedy = f->remedy;
			return error_set(e, r, "cannot record: no %s here (%s; %s)", f->name,
					 f->purpose, detail);
		}
		if (strcmp(f->name, last) == 0)
			break;
	}
	return 0;
}
