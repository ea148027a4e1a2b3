/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order in which things are given up matters: each step needs what a later one takes away.
 * Landlock rules need their descriptors, so those are closed after it; a change of user clears the
 * death signal and may raise `dumpable`, so both are set after it; the filter of system calls comes
 * last because it forbids all the others.
 */
#include "base/sandbox.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/sanitizer.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#if HAVE_SECCOMP
#include <seccomp.h>
#endif

#define SANITIZER_MEMORY (UINT64_C(1) << 30)

#define NOBODY          65534
#define KEEP_MAX        32
#define MAX_FILES       64
#define CPU_SECONDS_MAX (UINT32_MAX / 2)

static const struct {
	enum sandbox_protection protection;
	const char *name;
	const char *sentence;
} protections[] = {
	{SANDBOX_NO_NEW_PRIVILEGES, "no-new-privileges",
	 "The parsers of foreign files can gain no privileges."},
	{SANDBOX_LIMITS, "limits", "They have limits on memory, time, descriptors and file sizes."},
	{SANDBOX_CAPABILITIES, "capabilities", "They hold no capabilities."},
	{SANDBOX_NOBODY, "nobody", "They run as user nobody instead of root."},
	{SANDBOX_LANDLOCK, "landlock", "They reach no path in the file system."},
	{SANDBOX_DESCRIPTORS, "descriptors", "They hold only the descriptors they were given."},
	{SANDBOX_SECCOMP, "seccomp", "They can make only the few system calls that parsing takes."},
};
_Static_assert(ARRAY_SIZE(protections) == SANDBOX_N_PROTECTIONS, "one row for each protection");

const char *sandbox_protection_name(enum sandbox_protection protection)
{
	for (size_t i = 0; i < ARRAY_SIZE(protections); i++) {
		if (protections[i].protection == protection)
			return protections[i].name;
	}
	return NULL;
}

const char *sandbox_protection_sentence(enum sandbox_protection protection)
{
	for (size_t i = 0; i < ARRAY_SIZE(protections); i++) {
		if (protections[i].protection == protection)
			return protections[i].sentence;
	}
	return NULL;
}

/* ---- paths: Landlock ------------------------------------------------------------------------- */

/* The header of Debian 12 stops at the second version; these are the numbers of later ones. */
#define ACCESS_FS_TRUNCATE  (UINT64_C(1) << 14) /* version 3, Linux 6.2 */
#define ACCESS_NET_ALL      UINT64_C(0x3)       /* version 4, Linux 6.7: bind and connect */
#define ACCESS_FS_IOCTL_DEV (UINT64_C(1) << 15) /* version 5, Linux 6.10 */
#define SCOPE_ALL           UINT64_C(0x3) /* version 6, Linux 6.12: signals, abstract sockets */

struct ruleset {
	uint64_t access_fs;
	uint64_t access_net;
	uint64_t scoped;
};

static int landlock_version(void)
{
	long r = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return r < 0 ? -errno : (int)r;
}

/* Everything that this version can forbid. A right that is not listed is not restricted. */
static struct ruleset everything(int version, size_t *ret_size)
{
	struct ruleset rules = {.access_fs = LANDLOCK_ACCESS_FS_REFER - 1};
	*ret_size = offsetof(struct ruleset, access_net);
	if (version >= 2)
		rules.access_fs |= LANDLOCK_ACCESS_FS_REFER;
	if (version >= 3)
		rules.access_fs |= ACCESS_FS_TRUNCATE;
	if (version >= 4) {
		rules.access_net = ACCESS_NET_ALL;
		*ret_size = offsetof(struct ruleset, scoped);
	}
	if (version >= 5)
		rules.access_fs |= ACCESS_FS_IOCTL_DEV;
	if (version >= 6) {
		rules.scoped = SCOPE_ALL;
		*ret_size = sizeof rules;
	}
	return rules;
}

static int allow_reading(int ruleset, int fd, struct mw_error *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return error_errno(e, -errno, "descriptor %d to be read beneath", fd);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
		.parent_fd = fd,
	};
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return error_errno(e, -errno, "cannot allow reading beneath descriptor %d", fd);
	return 0;
}

/* 1: in force, 0: this kernel has none. */
static int forbid_paths(const struct sandbox_options *options, struct mw_error *e)
{
	int version = landlock_version();
	if (version == -ENOSYS || version == -EOPNOTSUPP)
		return 0;
	if (version < 0)
		return error_errno(e, version, "cannot ask for Landlock");
	size_t size;
	struct ruleset rules = everything(version, &size);
	_cleanup_close_ int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
	if (fd < 0)
		return error_errno(e, -errno, "cannot make a Landlock ruleset");
	for (size_t i = 0; i < options->n_read_beneath; i++) {
		int r = allow_reading(fd, options->read_beneath[i], e);
		if (r < 0)
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return error_errno(e, -errno, "cannot enforce Landlock");
	return 1;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int compare_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

static int close_between(unsigned first, unsigned last, struct mw_error *e)
{
	if (first <= last && syscall(SYS_close_range, first, last, 0) < 0)
		return error_errno(e, -errno, "cannot close descriptors");
	return 0;
}

static int close_others(const struct sandbox_options *options, struct mw_error *e)
{
	int keep[KEEP_MAX];
	if (options->n_keep > KEEP_MAX)
		return error_set(e, -EINVAL, "more than %d descriptors to keep", KEEP_MAX);
	if (options->n_keep) /* memcpy from NULL is undefined, even of nothing */
		memcpy(keep, options->keep, options->n_keep * sizeof *keep);
	qsort(keep, options->n_keep, sizeof *keep, compare_int);
	unsigned next = 0;
	for (size_t i = 0; i < options->n_keep; i++) {
		if (keep[i] < 0)
			return error_set(e, -EBADF, "a descriptor to keep is not one");
		if ((unsigned)keep[i] < next)
			continue; /* named twice */
		int r = keep[i] > 0 ? close_between(next, (unsigned)keep[i] - 1, e) : 0;
		if (r < 0)
			return r;
		next = (unsigned)keep[i] + 1;
	}
	return close_between(next, ~0U, e);
}

/* ---- privileges ------------------------------------------------------------------------------ */

/* 1: became nobody, 0: this user may not, or the name space has no such user. */
static int become_nobody(struct mw_error *e)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0) {
		if (errno == EPERM || errno == EINVAL)
			return 0;
		return error_errno(e, -errno, "cannot become user %d", NOBODY);
	}
	return 1;
}

/* The bounding set may stay: with no_new_privs no exec can draw from it. */
static int drop_capabilities(struct mw_error *e)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none) < 0)
		return error_errno(e, -errno, "cannot drop capabilities");
	return 0;
}

static int drop_privileges(const struct sandbox_options *options, unsigned *in_force,
			   struct mw_error *e)
{
	int r = options->become_nobody ? become_nobody(e) : 0;
	if (r < 0)
		return r;
	if (r > 0)
		*in_force |= SANDBOX_NOBODY;
	r = drop_capabilities(e);
	if (r < 0)
		return r;
	*in_force |= SANDBOX_CAPABILITIES;
	/* RLIMIT_CORE does not keep a core pattern that is a pipe from running its program. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_errno(e, -errno, "cannot forbid core dumps");
	return 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Bytes of address space in use; 0 when /proc does not tell. */
static uint64_t address_space_used(void)
{
	_cleanup_free_ char *text = NULL;
	uint64_t pages;
	if (io_read_text(AT_FDCWD, "/proc/self/statm", 256, &text, NULL) < 0 ||
	    sscanf(text, "%" SCNu64, &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Never above the hard limit that is there: raising it is a privilege that is gone by now. */
static int set_limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard, struct mw_error *e)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) == 0) {
		limit.rlim_max = MIN(limit.rlim_max, hard);
		limit.rlim_cur = MIN(limit.rlim_max, soft);
		if (setrlimit(resource, &limit) == 0)
			return 0;
	}
	return error_errno(e, -errno, "cannot set limit %d", (int)resource);
}

static int set_limits(const struct sandbox_options *options, uint64_t used, struct mw_error *e)
{
	rlim_t files = options->max_files ? options->max_files : MAX_FILES;
	int r = set_limit(RLIMIT_CORE, 0, 0, e);
	if (r == 0)
		r = set_limit(RLIMIT_NOFILE, files, files, e);
	if (r == 0)
		r = set_limit(RLIMIT_NPROC, 0, 0, e);
	if (r == 0 && options->file_size_limit)
		r = set_limit(RLIMIT_FSIZE, options->file_size_limit, options->file_size_limit, e);
	if (r == 0 && options->cpu_seconds) {
		/* SIGXCPU at the first, which tells; SIGKILL at the second, for who ignores it. */
		rlim_t seconds = MIN(options->cpu_seconds, CPU_SECONDS_MAX);
		r = set_limit(RLIMIT_CPU, seconds, seconds + 2, e);
	}
	uint64_t memory;
	if (r == 0 && options->memory_limit &&
	    !__builtin_add_overflow(options->memory_limit, used + SANITIZED * SANITIZER_MEMORY,
				    &memory))
		r = set_limit(RLIMIT_AS, memory, memory, e);
	return r;
}

static int die_with(pid_t parent, struct mw_error *e)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_errno(e, -errno, "cannot be bound to the parent's life");
	if (getppid() != parent)
		return error_set(e, -ESRCH, "the parent process is gone");
	return 0;
}

/* ---- system calls ---------------------------------------------------------------------------- */

#if HAVE_SECCOMP

static const int allowed[] = {
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev),
	SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(ftruncate), SCMP_SYS(close),
	SCMP_SYS(poll), SCMP_SYS(ppoll),
	SCMP_SYS(mremap), SCMP_SYS(munmap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(futex),
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
	SCMP_SYS(getpid), SCMP_SYS(gettid), /* abort() */
	SCMP_SYS(sysinfo), /* qsort() asks how much memory there is */
#if SANITIZED
	SCMP_SYS(sigaltstack), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(prctl),
	SCMP_SYS(prlimit64), SCMP_SYS(getrlimit), SCMP_SYS(readlink), SCMP_SYS(newfstatat),
#endif
};

/* Calls that are harmless with certain arguments only: any rule that holds allows the call. */
struct argument_rule {
	int call;
	struct scmp_arg_cmp argument;
};

/* glibc's fstat() is newfstatat() with an empty path. */
static const struct argument_rule argument_rules[] = {
	{SCMP_SYS(newfstatat), SCMP_A3_64(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH)},
	{SCMP_SYS(mmap), SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
	{SCMP_SYS(mprotect), SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
	{SCMP_SYS(fcntl), SCMP_A1_64(SCMP_CMP_EQ, F_GETFD)},
	{SCMP_SYS(fcntl), SCMP_A1_64(SCMP_CMP_EQ, F_SETFD)},
	{SCMP_SYS(fcntl), SCMP_A1_64(SCMP_CMP_EQ, F_GETFL)},
	{SCMP_SYS(fcntl), SCMP_A1_64(SCMP_CMP_EQ, F_DUPFD_CLOEXEC)},
	{SCMP_SYS(fcntl), SCMP_A1_64(SCMP_CMP_EQ, F_OFD_SETLK)}, /* of a file that it may write anyway */
	{SCMP_SYS(ioctl), SCMP_A1_64(SCMP_CMP_EQ, TCGETS)},
	{SCMP_SYS(ioctl), SCMP_A1_64(SCMP_CMP_EQ, TIOCGWINSZ)},
};

/* Open for reading: without any flag that would write, make or cut. */
#define WRITING_FLAGS (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

static int add_opening(scmp_filter_ctx filter)
{
	int r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				 SCMP_A2_64(SCMP_CMP_MASKED_EQ, WRITING_FLAGS, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(getdents64), 0);
	if (r == 0 && !SANITIZED)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 0);
	return r;
}

static int add_rules(scmp_filter_ctx filter, bool opening)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(argument_rules); i++) {
		const struct argument_rule *rule = &argument_rules[i];
		r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rule->call, 1, &rule->argument);
	}
	if (r == 0) /* abort() again, and nobody else can be signalled */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				     SCMP_A0_64(SCMP_CMP_EQ, (uint64_t)getpid()));
	if (r == 0 && opening)
		r = add_opening(filter);
	return r;
}

static bool seccomp_offered(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* 1: in force, 0: this kernel has none. */
static int forbid_calls(bool opening, struct mw_error *e)
{
	if (!seccomp_offered())
		return 0;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!filter)
		return error_set(e, -ENOMEM, "no memory for a system call filter");
	int r = add_rules(filter, opening || SANITIZED);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r < 0 ? error_errno(e, r, "cannot load the system call filter") : 1;
}

#else

static bool seccomp_offered(void)
{
	return false;
}

static int forbid_calls(bool opening, struct mw_error *e)
{
	return 0;
}

#endif

/* ---- all of it ------------------------------------------------------------------------------- */

unsigned sandbox_probe(void)
{
	unsigned offered = SANDBOX_NO_NEW_PRIVILEGES | SANDBOX_LIMITS | SANDBOX_CAPABILITIES |
			   SANDBOX_DESCRIPTORS;
	if (geteuid() == 0)
		offered |= SANDBOX_NOBODY;
	if (landlock_version() > 0)
		offered |= SANDBOX_LANDLOCK;
	if (seccomp_offered())
		offered |= SANDBOX_SECCOMP;
	return offered;
}

int sandbox_enter(const struct sandbox_options *options, struct mw_error *e)
{
	unsigned in_force = SANDBOX_NO_NEW_PRIVILEGES | SANDBOX_DESCRIPTORS | SANDBOX_LIMITS;
	tzset(); /* later it would read files */
	uint64_t used = address_space_used();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(e, -errno, "cannot refuse new privileges");
	int landlock = forbid_paths(options, e);
	if (landlock < 0)
		return landlock;
	if (landlock)
		in_force |= SANDBOX_LANDLOCK;
	int r = close_others(options, e);
	if (r == 0)
		r = drop_privileges(options, &in_force, e);
	if (r == 0)
		r = set_limits(options, used, e);
	if (r == 0 && options->parent)
		r = die_with(options->parent, e);
	if (r < 0)
		return r;
	r = forbid_calls(landlock && options->n_read_beneath, e);
	if (r < 0)
		return r;
	if (r)
		in_force |= SANDBOX_SECCOMP;
	return (int)in_force;
}
