/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: unwind_truth STOPS [SEED [INTERVAL_US]] -- COMMAND [ARGUMENT...]
 *
 * Runs a command, its input and output /dev/null, and stops one of its tasks, of all processes
 * that come of it, at random moments. Each stack is walked twice: by our tables and by elfutils
 * (libdwfl, what eu-stack is made of), and the two chains of addresses are compared. Prints each
 * that is not the same or does not reach the bottom, and a line of counts:
 *
 *	N stops, N same, N frames, N whole; differ: N guess, N ours-longer, N other; N not compared
 *
 * Only a chain whose addresses are all the same counts as the same. The classes of those that
 * differ:
 *	guess        they part at a frame for which the file has no rule that elfutils reads: it goes on by
 *	             frame pointers, or ends
 *	ours-longer  ours has elfutils' chain and goes on, to the bottom
 *	other        one of the two is wrong
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "unwind/extract_unwind.h"
#include "unwind/walk.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define FRAMES_MAX 4096

/* ---- tables of the files that are met -------------------------------------------------------- */

struct known_file {
	dev_t device;
	ino_t inode;
	bool has_table;
	struct unwind_table table;
};

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	dev_t device;
	ino_t inode;
	bool is_vdso;
	bool is_executable;
	char path[128];
};

struct truth {
	VEC(struct known_file) files;
	VEC(struct mapping) mappings; /* of the task that is looked at */
	VEC(pid_t) tasks;
	pid_t tgid;
	pid_t wanted;	  /* that was told to stop */
	bool has_started; /* the command itself runs */
	unsigned long n, same, frames, whole, guess, longer, other, failed;
};

static bool build_table(int fd, struct unwind_table *ret)
{
	struct extract_unwind_result result;
	struct mw_error e;
	_cleanup_close_ int out = memfd_create("table", MFD_CLOEXEC);
	return out >= 0 && extract_unwind(fd, NULL, 0, out, &result, &e) == 0 &&
	       unwind_table_open(ret, out, &e) == 0;
}

static int open_mapping(const struct truth *t, const struct mapping *m)
{
	char path[96];
	if (!m->is_vdso) {
		snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, t->tgid,
			 m->start, m->end);
		return open(path, O_RDONLY | O_CLOEXEC);
	}
	char bytes[65536];
	size_t n = (size_t)MIN(m->end - m->start, sizeof bytes);
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	struct iovec local = {bytes, n}, remote = {(void *)(uintptr_t)m->start, n};
	if (process_vm_readv(t->tgid, &local, 1, &remote, 1, 0) != (ssize_t)n ||
	    write(fd, bytes, n) != (ssize_t)n)
		perror("vdso");
	return fd;
}

static const struct known_file *file_of(struct truth *t, const struct mapping *m)
{
	vec_foreach(f, &t->files)
	{
		if (f->device == m->device && f->inode == m->inode)
			return f;
	}
	struct known_file file = {.device = m->device, .inode = m->inode};
	_cleanup_close_ int fd = open_mapping(t, m);
	file.has_table = fd >= 0 && build_table(fd, &file.table);
	vec_push(&t->files, file);
	return &t->files.items[t->files.n - 1];
}

static bool read_mappings(struct truth *t)
{
	char path[64], line[4352], permissions[8];
	snprintf(path, sizeof path, "/proc/%d/maps", t->tgid);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	t->mappings.n = 0;
	while (f && fgets(line, sizeof line, f)) {
		struct mapping m = {};
		unsigned major, minor;
		int at = 0;
		if (sscanf(line, "%" PRIx64 "-%" PRIx64 " %7s %" PRIx64 " %x:%x %ju %n", &m.start,
			   &m.end, permissions, &m.offset, &major, &minor, &m.inode, &at) < 7)
			continue;
		m.device = makedev(major, minor);
		m.is_executable = permissions[2] == 'x';
		line[strcspn(line, "\n")] = 0;
		snprintf(m.path, sizeof m.path, "%s", line + at);
		m.is_vdso = strcmp(m.path, "[vdso]") == 0;
		vec_push(&t->mappings, m);
	}
	return t->mappings.n > 0;
}

static const struct mapping *mapping_of(const struct truth *t, uint64_t address)
{
	vec_foreach(m, &t->mappings)
	{
		if (address >= m->start && address < m->end)
			return m;
	}
	return NULL;
}

/* ---- two walks ------------------------------------------------------------------------------- */

static int read_word(void *data, uint64_t address, uint64_t *ret)
{
	const struct truth *t = data;
	struct iovec local = {ret, 8}, remote = {(void *)(uintptr_t)address, 8};
	return process_vm_readv(t->tgid, &local, 1, &remote, 1, 0) == 8 ? 0 : -EFAULT;
}

static void find_code(void *data, uint64_t address, struct walk_code *ret)
{
	struct truth *t = data;
	const struct mapping *m = mapping_of(t, address);
	if (!m || !m->is_executable)
		return;
	ret->kind = WALK_BY_FRAME_POINTER;
	if (!m->inode && !m->is_vdso)
		return;
	const struct known_file *file = file_of(t, m);
	ret->offset = address - m->start + (m->is_vdso ? 0 : m->offset);
	ret->table = &file->table;
	ret->kind = file->has_table ? WALK_BY_TABLE : WALK_BY_FRAME_POINTER;
}

static void registers_of(const struct user_regs_struct *u, struct unwind_registers *ret)
{
	const uint64_t values[16] = {u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi,
				     u->rbp, u->rsp, u->r8,  u->r9,  u->r10, u->r11,
				     u->r12, u->r13, u->r14, u->r15};
	*ret = (struct unwind_registers){.ip = u->rip, .known = 0xffff, .exact = 1};
	memcpy(ret->value, values, sizeof values);
}

struct chain {
	uint64_t addresses[FRAMES_MAX];
	bool has_rule[FRAMES_MAX]; /* of elfutils' chain */
	size_t n;
	char end[96];
	bool is_whole;
};

static void walk_ours(struct truth *t, const struct user_regs_struct *user, struct chain *ret)
{
	static struct walk_frame frames[FRAMES_MAX];
	struct unwind_registers r;
	struct walk_result result;
	struct walk_task task = {UNWIND_MACHINE_X86_64, t, read_word, find_code};
	registers_of(user, &r);
	walk_stack(&task, &r, frames, FRAMES_MAX, &result);
	ret->n = result.n;
	for (size_t i = 0; i < result.n; i++)
		ret->addresses[i] = frames[i].address;
	ret->is_whole = result.is_whole;
	snprintf(ret->end, sizeof ret->end, "%s",
		 result.is_whole ? "bottom" : mw_reason_name(result.reason));
}

static bool has_rule(Dwfl *dwfl, Dwarf_Addr address)
{
	Dwarf_Addr bias;
	Dwarf_Frame *frame;
	Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &frame) != 0)
		return false;
	free(frame);
	return true;
}

static int take_frame(Dwfl_Frame *state, void *data)
{
	struct chain *chain = data;
	Dwarf_Addr pc;
	bool is_exact;
	if (!dwfl_frame_pc(state, &pc, &is_exact) || chain->n == FRAMES_MAX)
		return DWARF_CB_ABORT;
	Dwfl *dwfl = dwfl_thread_dwfl(dwfl_frame_thread(state));
	chain->has_rule[chain->n] = has_rule(dwfl, pc - !is_exact);
	chain->addresses[chain->n++] = pc;
	return DWARF_CB_OK;
}

static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			 const char *file, const char *link, GElf_Word crc, char **ret)
{
	return -1;
}

static bool walk_theirs(const struct truth *t, pid_t tid, struct chain *ret)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = no_debug_file};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	ret->n = 0;
	bool is_open = dwfl && dwfl_linux_proc_report(dwfl, t->tgid) == 0 &&
		       dwfl_report_end(dwfl, NULL, NULL) == 0 &&
		       dwfl_linux_proc_attach(dwfl, t->tgid, true) == 0;
	int r = is_open ? dwfl_getthread_frames(dwfl, tid, take_frame, ret) : 1;
	ret->is_whole = r == 0;
	snprintf(ret->end, sizeof ret->end, "%s", r == 0 ? "bottom" : dwfl_errmsg(-1));
	dwfl_end(dwfl);
	return is_open;
}

/* ours, a line: for who compares it with what the kernel side walked. */
static void print_chain(const struct truth *t, const struct chain *ours, FILE *to)
{
	for (size_t i = 0; i < ours->n; i++) {
		const struct mapping *m = mapping_of(t, ours->addresses[i] - (i ? 1 : 0));
		const char *name = m ? strrchr(m->path, '/') : NULL;
		fprintf(to, "%s%s+%" PRIx64, i ? ";" : "", m ? name ? name + 1 : m->path : "nowhere",
			m ? ours->addresses[i] - m->start + (m->is_vdso ? 0 : m->offset) : 0);
	}
	fprintf(to, " %s\n", ours->end);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void print_address(const struct truth *t, uint64_t address)
{
	const struct mapping *m = mapping_of(t, address);
	const char *name = m ? strrchr(m->path, '/') : NULL;
	printf("%" PRIx64 " %s+%" PRIx64, address, m ? name ? name + 1 : m->path : "nowhere",
	       m ? address - m->start + m->offset : 0);
}

static void print_difference(const struct truth *t, pid_t tid, const struct chain *ours,
			     const struct chain *theirs, size_t common, const char *class)
{
	printf("differs (%s) task %d: ours %zu frames to %s, elfutils %zu to %s; from frame %zu on:\n",
	       class, tid, ours->n, ours->end, theirs->n, theirs->end, common);
	for (size_t j = common ? common - 1 : 0; j < common + 3; j++) {
		printf("\t%zu\t", j);
		if (j < ours->n)
			print_address(t, ours->addresses[j]);
		printf("\t|\t");
		if (j < theirs->n)
			print_address(t, theirs->addresses[j]);
		printf("\n");
	}
}

static const char *classify(struct truth *t, const struct chain *ours, const struct chain *theirs,
			    size_t common)
{
	if (common && !theirs->has_rule[common - 1]) {
		t->guess++;
		return "guess";
	}
	if (common == theirs->n && ours->is_whole) {
		t->longer++;
		return "ours-longer";
	}
	t->other++;
	return "other";
}

static void compare(struct truth *t, pid_t tid, const struct chain *ours,
		    const struct chain *theirs)
{
	size_t common = 0;
	while (common < ours->n && common < theirs->n &&
	       ours->addresses[common] == theirs->addresses[common])
		common++;
	t->n++;
	t->frames += ours->n;
	t->whole += ours->is_whole;
	if (!ours->is_whole) {
		printf("ends with %s after %zu frames, at ", ours->end, ours->n);
		print_address(t, ours->n ? ours->addresses[ours->n - 1] : 0);
		printf("\n");
	}
	if (common == ours->n && common == theirs->n)
		t->same++;
	else
		print_difference(t, tid, ours, theirs, common, classify(t, ours, theirs, common));
}

static pid_t group_of(pid_t tid)
{
	char path[64], line[256];
	pid_t tgid = 0;
	snprintf(path, sizeof path, "/proc/%d/status", tid);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	}
	return tgid;
}

static void look_at(struct truth *t, pid_t tid)
{
	static struct chain ours, theirs;
	struct user_regs_struct user;
	t->tgid = group_of(tid);
	if (!t->tgid || ptrace(PTRACE_GETREGS, tid, 0, &user) < 0 || !read_mappings(t)) {
		t->failed++;
		return;
	}
	if (user.cs != 0x33) /* 32 bits */
		return;
	walk_ours(t, &user, &ours);
	const char *chains = getenv("UNWIND_CHAINS");
	_cleanup_fclose_ FILE *to = chains ? fopen(chains, "ae") : NULL;
	if (to)
		print_chain(t, &ours, to);
	if (walk_theirs(t, tid, &theirs))
		compare(t, tid, &ours, &theirs);
	else
		t->failed++;
}

/* ---- tracing --------------------------------------------------------------------------------- */

static void add_task(struct truth *t, pid_t tid)
{
	vec_foreach(known, &t->tasks)
	{
		if (*known == tid)
			return;
	}
	vec_push(&t->tasks, tid);
}

static void remove_task(struct truth *t, pid_t tid)
{
	for (size_t i = 0; i < t->tasks.n; i++) {
		if (t->tasks.items[i] == tid)
			t->tasks.items[i--] = t->tasks.items[--t->tasks.n];
	}
	if (t->wanted == tid)
		t->wanted = 0;
}

/* A task that has stopped or ended: sees to it that it goes on. */
static void take_event(struct truth *t, pid_t tid, int status)
{
	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		remove_task(t, tid);
		return;
	}
	int event = status >> 16, signal = WSTOPSIG(status);
	add_task(t, tid);
	t->has_started |= event == PTRACE_EVENT_EXEC;
	bool is_wanted = t->wanted == tid;
	if (is_wanted)
		t->wanted = 0;
	if (event == PTRACE_EVENT_STOP) {
		bool is_group_stop = signal != SIGTRAP;
		if (is_wanted && !is_group_stop)
			look_at(t, tid);
		ptrace(is_group_stop ? PTRACE_LISTEN : PTRACE_CONT, tid, 0, 0);
		return;
	}
	ptrace(PTRACE_CONT, tid, 0, event ? 0 : signal);
}

static bool is_running(pid_t tid)
{
	char path[64], text[256];
	snprintf(path, sizeof path, "/proc/%d/stat", tid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	text[MAX(n, 0)] = 0;
	const char *state = strrchr(text, ')');
	return state && state[1] && state[2] == 'R';
}

/* One that runs, mostly; any other now and then. */
static void stop_one(struct truth *t)
{
	if (!t->tasks.n || t->wanted || !t->has_started)
		return;
	size_t first = (size_t)random() % t->tasks.n;
	bool any = random() % 8 == 0;
	for (size_t i = 0; i < t->tasks.n; i++) {
		pid_t tid = t->tasks.items[(first + i) % t->tasks.n];
		if ((any || is_running(tid)) && ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0) {
			t->wanted = tid;
			return;
		}
	}
}

static pid_t start(char **command)
{
	pid_t pid = fork();
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		int nothing = open("/dev/null", O_RDWR);
		for (int fd = 0; fd < 3; fd++)
			dup2(nothing, fd);
		raise(SIGSTOP);
		execvp(command[0], command);
		_exit(127);
	}
	waitpid(pid, NULL, WUNTRACED);
	long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	if (ptrace(PTRACE_SEIZE, pid, 0, options) < 0) {
		perror("ptrace");
		kill(pid, SIGKILL);
		return -1;
	}
	kill(pid, SIGCONT);
	return pid;
}

static void trace(struct truth *t, unsigned long stops, unsigned long interval_us)
{
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	uint64_t next = clock_now_ns();
	while (t->tasks.n && t->n < stops) {
		int status;
		pid_t tid;
		while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
			take_event(t, tid, status);
		if (tid < 0)
			return;
		uint64_t now = clock_now_ns();
		if (now >= next) {
			stop_one(t);
			next = now + (uint64_t)random() % (2 * interval_us) * 1000 + 1000;
		}
		uint64_t wait = next > now ? next - now : 0;
		struct timespec timeout = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
		sigtimedwait(&child, NULL, &timeout);
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: unwind_truth STOPS [SEED [INTERVAL_US]] -- COMMAND...\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct truth t = {};
	unsigned long numbers[3] = {0, 1, 5000};
	int i = 1;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (i > 3)
			return usage();
		numbers[i - 1] = strtoul(argv[i], NULL, 10);
	}
	if (i + 1 >= argc || !numbers[0] || !numbers[2])
		return usage();
	srandom((unsigned)numbers[1]);
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid_t pid = start(argv + i + 1);
	if (pid < 0)
		return 1;
	add_task(&t, pid);
	trace(&t, numbers[0], numbers[2]);
	vec_foreach(tid, &t.tasks) kill(*tid, SIGKILL);
	printf("%lu stops, %lu same, %lu frames, %lu whole; differ: %lu guess, %lu ours-longer, "
	       "%lu other; %lu not compared\n",
	       t.n, t.same, t.frames, t.whole, t.guess, t.longer, t.other, t.failed);
	return 0;
}
