/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a .mwp file. It may come from anyone: the file is read into memory, SQLite sees only that
 * memory, read-only and with everything off that a schema could abuse, and each number is checked.
 * Opens nothing, so it works in a sandbox that holds just the descriptor.
 */
#ifndef PROFILE_READER_H
#define PROFILE_READER_H

#include "profile/profile.h"

/* Larger files are refused (-EFBIG). */
#define PROFILE_FILE_MAX (UINT64_C(4) << 30)

/* True if these first bytes of a file (at least 72) are those of a profile. */
bool profile_is_profile(const void *head, size_t size);

/*
 * Reads a profile. fd may be any regular file or memfd, its offset is not used and not moved; name is
 * for messages. Returns 0, or 1 if the file is cut short or damaged and only a part could be read:
 * p->damage says which and why. Fails with -ENOMSG if it is no profile, -ENOTSUP if its major version
 * is newer, -EBADMSG if nothing of it can be read, -EFBIG, -ENOMEM or what reading gave.
 */
int profile_open(int fd, const char *name, struct profile **ret, struct mw_error *e);
/* The same for bytes in memory. */
int profile_open_memory(const void *data, size_t size, const char *name, struct profile **ret,
			struct mw_error *e);

#endif
