/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/tree.h"

#include "lib/test.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void tree_init(struct tree *tree)
{
	snprintf(tree->path, sizeof tree->path, "/tmp/mwtree.XXXXXX");
	assert_non_null(mkdtemp(tree->path));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void tree_deinit(struct tree *tree)
{
	nftw(tree->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void tree_write(const struct tree *tree, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", tree->path, name);
	for (char *slash = path + strlen(tree->path) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	_cleanup_fclose_ FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}
