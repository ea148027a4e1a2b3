/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A check of the bytes at a sampled address, taken at the sample: of the aligned line that holds the
 * instruction. Code in memory without a file of its own is given a file's name only if the file has
 * the same bytes there (src/agent/inferred.h); this tells for each sample, not only for the moment at
 * which somebody looked. Both sides of the ring compute it here.
 */
#ifndef BPF_CODE_CHECK_H
#define BPF_CODE_CHECK_H

#include <linux/types.h>

#define CODE_LINE_SIZE	128 /* divides every page size: a line never reaches into another page */
#define CODE_LINE_WORDS (CODE_LINE_SIZE / 8)

/* Never 0: that says that the bytes could not be read. */
static inline __attribute__((always_inline)) __u32 code_check(const __u64 *words)
{
	__u64 hash = CODE_LINE_SIZE;
	for (int i = 0; i < CODE_LINE_WORDS; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	__u32 check = (__u32)(hash >> 16);
	return check ? check : 1;
}

/* What of it finds room in a frame that has a file number, too. Of 0 it is 0. */
static inline __attribute__((always_inline)) __u16 code_check_short(__u32 check)
{
	__u16 folded = (__u16)(check ^ check >> 16);
	return folded || !check ? folded : 1;
}

#endif
