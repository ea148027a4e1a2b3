/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the store knows of one file's content, beside the parts themselves: the file `meta` of an
 * entry. The format is described in meta.c.
 */
#ifndef STORE_META_H
#define STORE_META_H

#include "base/buffer.h"
#include "base/vec.h"

#include <mapwright/mapwright.h>

#include <stdbool.h>

#define META_SEGMENTS_MAX 1024
#define META_PATHS_MAX    8
#define META_CONTENT_SIZE 16
#define META_PATH_MAX     4096 /* bytes of one path, with its NUL */
#define META_PIECES_MAX   65536
#define META_SOURCE_MAX   32   /* bytes of a source's name, with its NUL */
#define META_TEXT_MAX     (4 * 1024 * 1024) /* bytes of the file: more than the others allow */

enum store_part {
	STORE_NAMES,  /* names.gsym: functions */
	STORE_LINES,  /* lines.gsym: functions, source lines, inlined calls */
	STORE_UNWIND, /* unwind: unwinding table */
	STORE_CODE,   /* code: bytes of sampled functions */
	STORE_N_PARTS
};

/* A load segment as the ELF file has it; the flags are PF_R 4, PF_W 2, PF_X 1. */
struct store_segment {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t file_size;
	uint64_t mem_size;
	uint32_t flags;
};

/* Which version of a part lies in the store. `present` false: none, and the rest is 0. */
struct meta_part {
	bool present;
	uint32_t rank;    /* how good its source is; the caller's scale, higher is better */
	uint32_t builder; /* version of the code that built it */
	uint64_t size;    /* bytes of its file */
	uint64_t check;   /* of its head and tail: tells a part that is not the one meant here */
	char source[META_SOURCE_MAX]; /* "symtab", "dynsym", ...: [a-z0-9._-], never empty */
};

/* Why a part could not be built, so that it is not tried again each time. */
struct meta_failure {
	enum mw_reason reason; /* MW_REASON_NONE: it did not fail */
	uint32_t builder;
	int64_t when; /* seconds since 1970 */
};

/* A symbol that was split for GSYM: the entry at `address` is a piece of what starts at `start`. */
struct meta_piece {
	uint64_t address;
	uint64_t start;
};

struct meta {
	struct mw_file_id id;
	uint16_t elf_type;    /* ET_*, 0 unknown */
	uint16_t elf_machine; /* EM_*, 0 unknown */
	uint64_t file_size;   /* bytes, 0 unknown */
	bool has_content;     /* what follows is known */
	uint8_t content[META_CONTENT_SIZE]; /* tells contents apart that have one id; elf/identity.h */
	VEC(struct store_segment) segments; /* in the file's order */
	VEC(char *) paths; /* owned; where the content was seen, newest first. Mere labels */
	struct meta_part parts[STORE_N_PARTS];
	struct meta_failure failures[STORE_N_PARTS];
	VEC(struct meta_piece) pieces; /* ascending; they change with STORE_NAMES */
};

/* A zeroed meta is empty and valid. */
void meta_deinit(struct meta *meta);

/* "names", "lines", "unwind", "code"; static. */
const char *store_part_name(enum store_part part);

/* Whether a name may stand as the source of a part. */
bool meta_source_is_valid(const char *source);

/*
 * 0, -ENOMEM, -E2BIG: too many, -EINVAL: one that wraps around. Only of the file that ran: those of
 * a separate debug file have the same id and other offsets.
 */
int meta_add_segment(struct meta *meta, const struct store_segment *segment);
/*
 * Puts a path first; one seen before moves there, the oldest over META_PATHS_MAX goes. -EINVAL: too
 * long or empty.
 */
int meta_add_path(struct meta *meta, const char *path);
/*
 * Pieces in any order; meta_sort_pieces() once after the last. -E2BIG: too many; -EINVAL: start is
 * not below address.
 */
int meta_add_piece(struct meta *meta, uint64_t address, uint64_t start);
/* Sorts, drops doubles. */
void meta_sort_pieces(struct meta *meta);

/* Whether the two are of different contents, as far as both tell. */
bool meta_is_of_another(const struct meta *meta, const struct meta *other);
/*
 * Adds to `meta` what `about` knows: type, machine, size, content and segments if it has them (they
 * replace), its paths, its failures. Parts and pieces are the store's business and are not touched.
 */
int meta_merge(struct meta *meta, const struct meta *about);

/* The text of the file. 0, -ENOMEM, or -E2BIG if it is over a bound. */
int meta_format(const struct meta *meta, struct buffer *ret);
/* Reads it. -EBADMSG if it is not exactly what meta_format() writes; *ret is empty then. */
int meta_parse(const char *text, size_t size, struct meta *ret, struct mw_error *e);

/* The virtual address of a byte of the file; executable segments first. false: in no segment. */
bool meta_offset_to_address(const struct meta *meta, uint64_t offset, uint64_t *ret);
/* The byte of the file at a virtual address. false: in no segment, or not in the file (bss). */
bool meta_address_to_offset(const struct meta *meta, uint64_t address, uint64_t *ret);
/* Whether a byte of the file lies in an executable segment. If not, a frame there is a ghost. */
bool meta_offset_is_code(const struct meta *meta, uint64_t offset);
/* Where the symbol really starts whose entry in the names starts at `address`. */
uint64_t meta_piece_start(const struct meta *meta, uint64_t address);

#endif
