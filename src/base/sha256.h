/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-256 (FIPS 180-4), of bytes in memory given piece by piece. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

struct sha256 {
	uint32_t state[8];
	uint64_t n;        /* bytes so far */
	uint8_t block[64]; /* the last n % 64 of them */
};

struct sha256 sha256_init(void);
void sha256_add(struct sha256 *sha, const void *data, size_t n);
void sha256_finish(struct sha256 *sha, uint8_t ret[SHA256_SIZE]);

#endif
