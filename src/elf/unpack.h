/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Unpacking of what is compressed inside ELF files. The output is new memory that the caller frees,
 * with a NUL behind it; it never grows over a limit, whatever the input claims or expands to.
 */
#ifndef ELF_UNPACK_H
#define ELF_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/* Exactly `size` bytes: -EBADMSG if the data are damaged or give another size. */
int unpack_zlib(const void *packed, size_t n, uint64_t size, uint8_t **ret);
int unpack_zstd(const void *packed, size_t n, uint64_t size, uint8_t **ret);
/* An xz stream, which does not say its size in front. -EFBIG over limit. */
int unpack_xz(const void *packed, size_t n, uint64_t limit, uint8_t **ret, uint64_t *ret_size);

#endif
