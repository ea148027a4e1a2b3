/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What addresses are asked of: a file, a build ID, or a living process. Says for each address which
 * file it is in and where, and has files read that the store does not know (symbols/intake.h). Each
 * step goes to the log.
 */
#ifndef SYMBOLS_SUBJECT_H
#define SYMBOLS_SUBJECT_H

#include "base/vec.h"
#include "space/snapshot.h"
#include "symbols/intake.h"
#include "symbols/kernel.h"
#include "symbols/live_code.h"
#include "symbols/resolver.h"

enum subject_kind {
	SUBJECT_FILE,
	SUBJECT_BUILD_ID,
	SUBJECT_PROCESS,
};

/* A file that addresses were found to be in. */
struct subject_file {
	struct mw_file_id id;       /* MW_FILE_ID_NONE: it could not be told */
	struct mw_file_id store_id;
	char *path;                 /* owned; a label */
	uint8_t elf_class;          /* 0: not known */
	int fd;                     /* owned; -1 unless the subject keeps files open */
	struct elf_identity identity; /* if it was read */
	enum mw_reason reason;      /* why it could not be read */
	struct mw_error problem;    /* ..., for people; or why its symbols could not */
	/* SUBJECT_PROCESS: which mapped file it is */
	uint64_t inode;
	uint32_t major;
	uint32_t minor;
};

struct subject {
	enum subject_kind kind;
	bool lines; /* wanted, as well as names */
	const char *hint; /* with a build ID: a path where the file was; may be NULL */
	unsigned deadline_ms; /* for making each part; 0: what is usual */
	bool keep_open; /* files stay open, for who wants to look into them */
	struct store *store; /* borrowed, as these: */
	struct mw_resolver *resolver;
	const struct proc *proc;
	const struct log *log;
	uint32_t pid;
	struct snapshot *snapshot;
	bool snapshot_is_fresh;
	struct live_code code;
	bool code_is_fresh;
	struct kernel_symbols *kernel;
	int kernel_state; /* 0: not asked yet; 1; or -errno */
	VEC(struct subject_file *) files; /* a file and a build ID are number 0 */
};

/* Where an address is. */
struct place {
	enum {
		PLACE_FILE,
		PLACE_KERNEL,
		PLACE_NOWHERE, /* the reason says why */
	} kind;
	uint32_t file;         /* number */
	uint64_t key;          /* PLACE_FILE: what to ask of the file; PLACE_KERNEL: the address */
	enum mw_reason reason;
	const struct mapping *mapping; /* SUBJECT_PROCESS: valid until the next refresh; may be NULL */
};

/* `subject` has store, resolver, proc, log and lines filled in. These say what it is about. */
int subject_open_file(struct subject *subject, const char *path, struct mw_error *e);
int subject_open_build_id(struct subject *subject, const struct mw_file_id *id, struct mw_error *e);
int subject_open_process(struct subject *subject, uint32_t pid, struct mw_error *e);
void subject_deinit(struct subject *subject);

/* The maps of a process are read again for the next address. */
void subject_refresh(struct subject *subject);
/* Never fails; without memory the place is nowhere. */
struct place subject_place(struct subject *subject, uint64_t address);
/*
 * What the process calls code that it made, by its perf map: 1, and the location, whose name is valid until the
 * next refresh; 0: nothing.
 */
int subject_find_code(struct subject *subject, uint64_t address, struct mw_location *ret);
/* The kernel's symbols, NULL if they cannot be had: then with the reason. */
const struct kernel_symbols *subject_kernel(struct subject *subject, enum mw_reason *ret_reason);

#endif
