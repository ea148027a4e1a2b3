/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What makes a SQLite database a profile: see docs/FORMAT.md. */
#ifndef PROFILE_SCHEMA_H
#define PROFILE_SCHEMA_H

/* "mwpf" */
#define SCHEMA_APPLICATION_ID 0x6d777066

/* Larger chunks are damaged; a writer ends one at about 8 MiB. */
#define SCHEMA_CHUNK_MAX ((size_t)64 << 20)

enum schema_chunk_kind {
	SCHEMA_CHUNK_RECORDS = 1, /* zstd-compressed sections of profile/codec.h */
};

#endif
