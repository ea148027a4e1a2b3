/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening the content behind an inode key: the ordered chain of finders, each candidate proved. */
#ifndef CONTENT_CONTENT_H
#define CONTENT_CONTENT_H

#include "content/finder.h"

/*
 * An open file whose content is what was mapped. Held only until its symbols are in the store: a held
 * descriptor keeps a mount busy, and nobody's umount shall fail because of us.
 */
struct pin {
	int fd; /* for reading; owned */
	struct inode_key key; /* as the file is now */
	char path[4096]; /* a label for people, as this process sees it; "" unknown */
};

#define PIN_INIT {.fd = -1}

/*
 * Tries one finder after the other. 0: *ret is open. Otherwise -errno and the reason for the frames:
 * -ENOENT file-gone, -ESTALE id-mismatch (something was found, with other content), -EWOULDBLOCK
 * timeout (it lies where opening might never end), -EMFILE/-ENFILE (nothing is proved by that: try
 * again later).
 */
int pin_open(const struct finder_context *context, const struct file_request *request,
	     struct pin *ret, enum mw_reason *ret_reason);
/*
 * The key that the sampler would give for an open file: what stat(2) tells, made what the kernel has.
 * The device of a file on btrfs is the subvolume's own, not that of the key.
 */
int content_ask_key(int fd, struct inode_key *ret);
/* What of the key stat(2) tells by itself, from what is cached; an O_PATH descriptor will do. */
int content_ask_attributes(int fd, struct inode_key *ret);
/* For a descriptor that did not come from pin_open(): remembers its state, and its path as label. */
int pin_remember(struct pin *pin);
/*
 * To be asked after the content was read: 1 if nothing was written meanwhile, as far as can be told. (An
 * unlink meanwhile does no harm, nor does a write that is followed by one if the time was set back in between:
 * who reads twice must see the same. A rename cannot be told from a write whose time was set back, and does.)
 */
int pin_is_unchanged(const struct pin *pin);
/* The symbols are in the store, or never will be: closes. */
void pin_mark_extracted(struct pin *pin);

/*
 * 1 if an open file is the one of the key, in that state. Its change time is the proof. If that has
 * moved on, while modification time and size have not and the number of names is another, then the file
 * was linked or unlinked since; or it was written to, its modification time set back, and then unlinked.
 * The latter can be ruled out if it is the program that the request's process still runs. proc may be NULL.
 */
int content_is_proved(int fd, const struct proc *proc, const struct file_request *request,
		      const struct log *log);

#endif
