/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which contents have which file id. A build ID should stand for one content, but nothing forces it to:
 * it can be given to the linker, and whoever patches a file keeps it. An id of which a second content was
 * seen is ambiguous: who knows the id alone knows nothing.
 *
 * Memory: a bounded number of ids. When there is no room those of one content are forgotten; the store
 * still knows the content of what it has.
 */
#ifndef AGENT_CONTENTS_H
#define AGENT_CONTENTS_H

#include "elf/identity.h"

struct contents;

int contents_new(struct contents **ret);
void contents_free(struct contents *contents);

/*
 * A file was identified. 1: its content is not the first that has this id (the store's name for it is
 * elf_store_id_of_another()), 0: it is, or -ENOMEM.
 */
int contents_see(struct contents *contents, const struct mw_file_id *id,
		 const uint8_t content[ELF_CONTENT_SIZE]);
bool contents_is_ambiguous(const struct contents *contents, const struct mw_file_id *id);

#endif
