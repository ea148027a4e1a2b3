/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Real files and cases that are not part of the project: ../shared beside it, or MAPWRIGHT_SHARED. */
#ifndef TESTS_LIB_SHARED_H
#define TESTS_LIB_SHARED_H

/* What meson counts as skipped. */
#define TEST_SKIPPED 77

/* The directory, absolute; NULL if there is none. The caller frees it. */
char *shared_directory(void);

#endif
