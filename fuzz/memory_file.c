/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory_file.h"

#include "base/io.h"

#include <stdlib.h>
#include <sys/mman.h>

int fuzz_memory_file(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || io_write(fd, data, size) < 0)
		abort();
	return fd;
}
