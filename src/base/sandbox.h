/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gives up, for good, what the current process does not need to parse a foreign file: privileges,
 * descriptors, paths, the network, other processes, memory and time without end.
 *
 * What is left: read and write on the descriptors that were kept, memory without execution, the
 * clock, and the end. Any other system call kills the process. Not only calls of our own are meant:
 * a function of the C library that opens a file of its own (a locale, /etc/localtime, a character
 * set) dies too. Such things are loaded before.
 */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <sys/types.h>

/* Protections, as bits. */
enum sandbox_protection {
	SANDBOX_NO_NEW_PRIVILEGES = 0x01,
	SANDBOX_LIMITS = 0x02,       /* memory, time, number of descriptors, size of files */
	SANDBOX_CAPABILITIES = 0x04, /* none left */
	SANDBOX_NOBODY = 0x08,       /* was root, is nobody */
	SANDBOX_LANDLOCK = 0x10,     /* no path but those allowed */
	SANDBOX_DESCRIPTORS = 0x20,  /* all closed but those kept */
	SANDBOX_SECCOMP = 0x40,      /* the list of allowed system calls */
};
#define SANDBOX_N_PROTECTIONS 7

struct sandbox_options {
	const int *keep; /* descriptors that stay open: also 0, 1 and 2 only if named here */
	size_t n_keep;
	const int *read_beneath; /* directories and files that may be opened for reading, with all
				    beneath them. They are closed unless they are kept */
	size_t n_read_beneath;
	uint64_t memory_limit;    /* bytes of address space beyond those used now; 0: no limit */
	uint64_t file_size_limit; /* bytes to which a file may grow; 0: no limit */
	unsigned cpu_seconds;     /* SIGXCPU after these; 0: no limit */
	unsigned max_files;       /* descriptors at once; 0: 64 */
	bool become_nobody;       /* user and group 65534, when root */
	pid_t parent;             /* die when this process, our parent, dies; 0: do not */
};

/*
 * Enters. Returns the protections in force (bits), or -errno; then the process is in a state
 * between and should end. A protection that this kernel or build does not offer is left out and
 * missing from the bits, anything else that fails is an error.
 */
int sandbox_enter(const struct sandbox_options *options, struct mw_error *e);

/* The protections that sandbox_enter() would put in force here, for `doctor`. Changes nothing. */
unsigned sandbox_probe(void);
/* "seccomp" and what it is for, for people; NULL if it is not one of the bits. */
const char *sandbox_protection_name(enum sandbox_protection protection);
const char *sandbox_protection_sentence(enum sandbox_protection protection);

#endif
