/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Taking a file into the store while the caller waits: who is it, and what of it does the store lack?
 * The file and its debug files are read by isolated children; the caller holds descriptors only.
 *
 * The recorder does the same without waiting (agent/first_sight.h).
 */
#ifndef SYMBOLS_INTAKE_H
#define SYMBOLS_INTAKE_H

#include "base/log.h"
#include "proc/proc.h"
#include "store/store.h"
#include "symbols/extract.h"

struct intake {
	struct store *store; /* borrowed, as all of these */
	const struct proc *proc;
	const struct log *log; /* what was tried, and why it was not used */
	unsigned deadline_ms;  /* for making each part; 0: what is usual */
};

struct intake_request {
	int fd;           /* the file, open for reading */
	const char *path; /* a label, as this process sees it; "": none */
	uint32_t pid;     /* in whose root debug files are looked for, too; 0: only in ours */
	uint32_t tid;
	bool lines;       /* lines as well as names */
};

/* What the store has of the file afterwards. */
struct intake_part {
	enum mw_reason reason; /* why there is none; MW_REASON_NONE: there is one, or it was not wanted */
	bool is_new;           /* made just now */
	struct mw_error problem; /* why none could be made, or what of the file is damaged; code 0: all is well */
};

struct intake_result {
	struct elf_identity identity;
	struct mw_file_id store_id;
	struct intake_part names;
	struct intake_part lines;
};

/* Who an open file is. 0 or -errno: it cannot be read. */
int intake_identify(int fd, struct elf_identity *ret, struct mw_error *e);
/* 0, or -errno if the file cannot be identified. A part that cannot be had is no error. */
int intake_file(const struct intake *intake, const struct intake_request *request,
		struct intake_result *ret, struct mw_error *e);
/* The same, and the identity is known already: in ret. */
int intake_identified(const struct intake *intake, const struct intake_request *request,
		      struct intake_result *ret, struct mw_error *e);

/* The id under which the store has, or is to have, what belongs to a file. It is not that of its file id if the
 * store has another content under that. */
struct mw_file_id intake_store_id(struct store *store, const struct elf_identity *identity);
/* What the store should know of a file. Fills a zeroed meta; 0 or -errno. */
int intake_describe(const struct elf_identity *identity, const char *path, struct meta *ret);

#endif
