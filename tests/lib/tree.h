/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A temporary directory with files in it, for tests of what is read through a prefix. */
#ifndef TESTS_LIB_TREE_H
#define TESTS_LIB_TREE_H

struct tree {
	char path[64];
};

void tree_init(struct tree *tree);
/* Removes all of it. */
void tree_deinit(struct tree *tree);
/* Writes a file below it; directories are made as needed. */
void tree_write(const struct tree *tree, const char *name, const char *text);

#endif
