/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/shared.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <sys/stat.h>

static char *directory_at(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? realpath(path, NULL) : NULL;
}

char *shared_directory(void)
{
	/* Tests run in the build directory, which lies in the project or in a worktree of it. */
	static const char *const places[] = {"../shared/corpus/..", "../../shared/corpus/..",
					     "../../../shared/corpus/.."};
	const char *given = getenv("MAPWRIGHT_SHARED");
	if (given)
		return directory_at(given);
	char *found = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(places) && !found; i++)
		found = directory_at(places[i]);
	return found;
}
