/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mappings as files of the profile: executable memory without a file is one for each mapping of each
 * process image, a mapped file is what first sight makes of it.
 *
 * That a file was mapped where a sample was does not say which content it had then: it may have been
 * written over since. So the file is looked at again after the sample, once for all samples of a tick, and must
 * have stood still (content/still_files.h). Only the program that a process runs cannot be written to.
 */
#ifndef AGENT_AREAS_H
#define AGENT_AREAS_H

#include "agent/first_sight.h"
#include "profile/profile.h"
#include "space/images.h"

struct areas;

/* Borrows all three, and proc. */
int areas_new(struct profile *profile, struct first_sight *first_sight, struct images *images,
	      const struct proc *proc, struct areas **ret);
void areas_free(struct areas *areas);

enum area_answer {
	AREA_FOUND,
	AREA_CODE,   /* as memory that anybody may change; found, too */
	AREA_LATER,  /* a later look may tell */
	AREA_RACED,  /* the file was another, or was written to, and it cannot be told when */
};

/* The profile's number of a mapping of the sample's task. The answer, or -ENOMEM. */
int areas_find(struct areas *areas, const struct sample *sample, const struct mapping *mapping,
	       uint32_t *ret);
/* The same for an address that is known to be in executable memory without a file. 0 or -ENOMEM. */
int areas_find_code(struct areas *areas, const struct sample *sample, uint64_t address,
		    uint32_t *ret);

#endif
