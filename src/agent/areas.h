/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mappings as files of the profile: executable memory without a file is one for each mapping of each
 * process image, a mapped file is what first sight makes of it.
 */
#ifndef AGENT_AREAS_H
#define AGENT_AREAS_H

#include "agent/first_sight.h"
#include "profile/profile.h"
#include "space/images.h"

struct areas;

/* Borrows all three. */
int areas_new(struct profile *profile, struct first_sight *first_sight, struct images *images,
	      struct areas **ret);
void areas_free(struct areas *areas);

/* The profile's number of a mapping of the sample's task. 0 or -ENOMEM. */
int areas_find(struct areas *areas, const struct sample *sample, const struct mapping *mapping,
	       uint32_t *ret);
/* The same for an address that is known to be in executable memory without a file. */
int areas_find_code(struct areas *areas, const struct sample *sample, uint64_t address,
		    uint32_t *ret);

#endif
