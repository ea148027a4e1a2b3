/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether this build carries the run time of a sanitizer, which makes system calls and takes memory
 * of its own. gcc does not tell of -fsanitize=undefined alone; that one needs neither.
 */
#ifndef BASE_SANITIZER_H
#define BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
