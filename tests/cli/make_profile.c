/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* usage: make_profile FILE. Writes the sample profile of the unit tests, for tests of the program. */
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "profile/writer.h"

int main(int argc, char **argv)
{
	struct profile *p = build_sampler();
	int r = argc == 2 ? profile_save(argv[1], p, NULL) : -1;
	profile_free(p);
	return r < 0;
}
