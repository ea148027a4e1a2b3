/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Guards: a variable marked with one of these is released when it goes out of scope, unless
 * take_ptr() or take_fd() moved it out before.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_free_   _cleanup_(cleanup_free)
#define _cleanup_close_  _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

/* Defines cleanup_NAME() for a type whose destructor takes NULL. */
#define DEFINE_CLEANUP(type, destroy)                                                              \
	static inline void cleanup_##destroy(type *p)                                              \
	{                                                                                          \
		if (*p)                                                                            \
			destroy(*p);                                                               \
	}

#define take_ptr(p)                                                                                \
	({                                                                                         \
		__auto_type _taken = (p);                                                          \
		(p) = NULL;                                                                        \
		_taken;                                                                            \
	})

#define take_fd(fd)                                                                                \
	({                                                                                         \
		int _taken = (fd);                                                                 \
		(fd) = -1;                                                                         \
		_taken;                                                                            \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))

#endif
