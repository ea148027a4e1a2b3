/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FUZZ_MEMORY_FILE_H
#define FUZZ_MEMORY_FILE_H

#include <stddef.h>

/* The bytes as a file without a name; the caller closes it. */
int fuzz_memory_file(const void *data, size_t size);

#endif
