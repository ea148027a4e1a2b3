/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reader of GSYM version 1 (LLVM's format; llvm/DebugInfo/GSYM), of either byte order, over bytes
 * that somebody else holds. A look-up is a binary search in those bytes and allocates nothing.
 *
 *	header (48 bytes): magic version offset-size uuid-size base n strings-offset strings-size uuid
 *	n address offsets of 1, 2, 4 or 8 bytes, ascending, relative to base
 *	n offsets of function infos (u32)
 *	file table, string table
 *	function infos: size (u32), name (u32 in the strings), then tuples of optional data
 *	of our own, behind all that others read, only if there are any: by number of a file, the
 *	discriminator of the rows that have that number (u32); how many numbers (u32); 0 (u32);
 *	"mwdiscr1". A file comes once for each discriminator, and once for rows without
 */
#ifndef SYMBOLS_GSYM_H
#define SYMBOLS_GSYM_H

#include <mapwright/mapwright.h>

#include <stdbool.h>

#define GSYM_MAGIC       0x4753594du /* "GSYM" */
#define GSYM_VERSION     1
#define GSYM_HEADER_SIZE 48
#define GSYM_UUID_MAX    20
#define GSYM_STEP        64
#define GSYM_DISCRIMINATORS "mwdiscr1"

struct gsym {
	const uint8_t *data; /* not owned */
	uint64_t size;
	bool swap;
	uint8_t offset_size;
	uint8_t uuid_size;
	uint8_t uuid[GSYM_UUID_MAX];
	uint32_t n;
	uint64_t base;
	const uint8_t *offsets;
	const uint8_t *infos;
	const char *strings;
	uint64_t strings_size; /* up to the last NUL: a string that starts inside ends inside */
	const uint8_t *files;  /* pairs of strings: directory, name */
	uint32_t n_files;
	const uint8_t *discriminators; /* by number of a file */
	uint32_t n_discriminators;
	/*
	 * Each GSYM_STEP-th address, for who asks often: a search in it stays in the nearest cache. NULL:
	 * there is none.
	 */
	const uint32_t *steps; /* not owned */
	uint32_t n_steps;
};

struct gsym_entry {
	uint64_t start;
	uint64_t end;
	const char *name; /* in the reader's bytes */
	uint32_t index;
	uint64_t info; /* where its data lie in the bytes */
};

/* True if the bytes begin like a GSYM file of either byte order. */
bool gsym_is_one(const void *data, uint64_t size);
/* -EBADMSG if the tables do not fit the bytes. Entries are checked when they are looked up. */
int gsym_init(struct gsym *gsym, const void *data, uint64_t size, struct mw_error *e);
/* 1: found; 0: no entry covers the address (or the entry is damaged). */
int gsym_find(const struct gsym *gsym, uint64_t address, struct gsym_entry *ret);
/* Entry number i < gsym->n. 1, or 0 if it is damaged. */
int gsym_get(const struct gsym *gsym, uint32_t i, struct gsym_entry *ret);

/*
 * The same for addresses that come in ascending order: *hint is 0 before the first and belongs to the
 * reader. What lies near the last answer is found at once.
 */
int gsym_find_next(const struct gsym *gsym, uint64_t address, uint32_t *hint,
		   struct gsym_entry *ret);
/* How many steps there are, 0 if they would not help; and them, to be put into the gsym. */
uint32_t gsym_count_steps(const struct gsym *gsym);
void gsym_make_steps(const struct gsym *gsym, uint32_t *ret);
/*
 * The same in steps, for many addresses at once, so that one does not wait for another's memory: which
 * entry (number + 1; 0: none), where its data lie, and what they say.
 */
uint32_t gsym_locate(const struct gsym *gsym, uint64_t address);
void gsym_prefetch(const struct gsym *gsym, uint32_t located);
int gsym_take(const struct gsym *gsym, uint32_t located, uint64_t address, struct gsym_entry *ret);
/* A string by its place; "" if there is none. */
const char *gsym_string(const struct gsym *gsym, uint32_t offset);
/* A source file by its number: 1; 0 if there is none, or if it is number 0, which means none. */
int gsym_file(const struct gsym *gsym, uint32_t number, const char **ret_directory,
	      const char **ret_name);

/* What tells blocks of one line apart, by the number of the file of a row; 0: there is but one. */
uint32_t gsym_discriminator(const struct gsym *gsym, uint32_t number);

#endif
