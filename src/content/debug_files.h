/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that may have the symbols of a stripped one, where gdb and the distributions put them:
 *
 *	/usr/lib/debug/.build-id/93/ac61ec....debug      by build ID
 *	DIR/LINK   DIR/.debug/LINK   /usr/lib/debug/DIR/LINK      by debug link
 *
 * in the root of the task and in ours, and beside them what several of them share (.gnu_debugaltlink).
 * These are candidates: whoever reads one proves it, by build ID or checksum.
 */
#ifndef CONTENT_DEBUG_FILES_H
#define CONTENT_DEBUG_FILES_H

#include "base/log.h"
#include "elf/alt_link.h"
#include "elf/identity.h"
#include "proc/proc.h"

#define DEBUG_FILES_MAX 5

struct debug_file_request {
	const struct elf_identity *identity;
	const char *path; /* of the stripped file, as its task or we see it */
	int fd;           /* of the stripped file, which is never its own debug file */
	uint32_t pid;     /* the task; it may be gone */
	uint32_t tid;
};

/*
 * Opens the file that a link in one of the debug files (or in the file itself) means, which is then to
 * be proved by its build ID; -1 if there is none. debug_fds: where the link may be from.
 */
int debug_files_open_alt(const struct proc *proc, const struct log *log,
			 const struct debug_file_request *request, const struct elf_alt_link *link,
			 const int *debug_fds, size_t n_debug_fds);
/* Opens up to DEBUG_FILES_MAX candidates for reading, which the caller closes. Returns how many. */
size_t debug_files_open(const struct proc *proc, const struct log *log,
			const struct debug_file_request *request, int *ret);

#endif
