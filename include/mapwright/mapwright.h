/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mapwright: which bytes of which file was this address, and what are they called?
 *
 * The whole public interface. It compiles alone, as C and as C++.
 *
 * Conventions
 *   - Functions return 0 or a positive, documented outcome; negative is -errno.
 *   - Functions that read files or formats take a `struct mw_error *` as last argument. It belongs
 *     to the caller, may be NULL, and is written only on failure. Nothing is allocated for it.
 *   - Not finding a name is an outcome (0), never an error.
 *   - One object, one thread, unless its description says otherwise. The library has no mutable
 *     globals and never prints.
 */
#ifndef MAPWRIGHT_H
#define MAPWRIGHT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MW_PUBLIC __attribute__((visibility("default")))
#else
#define MW_PUBLIC
#endif

/** The version of the library as it runs, "MAJOR.MINOR.PATCH"; static, never NULL. */
MW_PUBLIC const char *mw_version(void);

/* ---- errors ---------------------------------------------------------------------------------- */

/**
 * What went wrong, for people. `code` is the negative errno that the function returned; `offset` is
 * the byte of the input at fault, or MW_NO_OFFSET; `msg` names the file, the place and the cause in
 * one line without a final full stop.
 */
struct mw_error {
	int code;
	uint64_t offset;
	char msg[480];
};
#define MW_NO_OFFSET UINT64_MAX

/* ---- reasons --------------------------------------------------------------------------------- */

/**
 * Why a frame has no name. The numbers are part of the profile format (docs/FORMAT.md): a new reason
 * is added at the end and raises the format's minor version.
 */
enum mw_reason {
	MW_REASON_NONE = 0,         /* it has a name, or nobody has asked yet */
	MW_REASON_NO_MAPPING,       /* nothing was mapped at the address */
	MW_REASON_NOT_IN_FILE,      /* mapped, but the file has no such bytes */
	MW_REASON_FILE_GONE,        /* the file could not be opened before it was gone */
	MW_REASON_ID_MISMATCH,      /* a file was found, but with other content */
	MW_REASON_STRIPPED,         /* the file has no symbols at all */
	MW_REASON_NO_SYMBOL_THERE,  /* the file has symbols, none covers the address */
	MW_REASON_JIT_NO_MAP,       /* code without a file, and nobody left a map of it */
	MW_REASON_RACED,            /* the mapping changed between sample and look-up */
	MW_REASON_BROKEN_UNWIND,    /* the walk of the stack left the code here */
	MW_REASON_HIDDEN_KERNEL,    /* the kernel does not show its symbols */
	MW_REASON_EXEC_RACED,       /* the task became another program before its stack was read */
	MW_REASON_EXITING,          /* the task had already given up its memory */
	MW_REASON_NO_USER_STACK,    /* the user part of the stack was not delivered */
	MW_REASON_GHOST,            /* the address is not in an executable part of the file */
	MW_REASON_LOCK_CONTENDED,   /* the address space was locked at each try */
	MW_REASON_NOT_CACHED,       /* the kernel did not have the file's header in memory */
	MW_REASON_CUT_DEPTH,        /* the stack was deeper than the limit */
	MW_REASON_EVICTED,          /* a bounded table was full */
	MW_REASON_PARSER_FAILED,    /* the file is damaged or hostile: its parser gave up */
	MW_REASON_TIMEOUT,          /* opening or parsing took longer than allowed */
	MW_REASON_DEBUGINFOD_PENDING, /* a debuginfod server has been asked */
	MW_REASON_OTHER_KERNEL,     /* a kernel address of another kernel than this one */
	MW_REASON_NO_TABLE,         /* no unwinding table for this code */
	MW_REASON_STACK_UNREADABLE, /* the stack's memory could not be read */
	MW_N_REASONS
};

/** The reason as users type and read it ("file-gone"); NULL if there is no such reason. */
MW_PUBLIC const char *mw_reason_name(enum mw_reason reason);
/** One sentence for people that says what it means; NULL if there is no such reason. */
MW_PUBLIC const char *mw_reason_sentence(enum mw_reason reason);
/** What one can do about it, or NULL where nothing helps. */
MW_PUBLIC const char *mw_reason_hint(enum mw_reason reason);

/* ---- file ids -------------------------------------------------------------------------------- */

enum mw_file_id_kind {
	MW_FILE_ID_NONE = 0,
	MW_FILE_ID_GNU,        /* GNU build ID note, 1 to 64 bytes */
	MW_FILE_ID_GO,         /* Go build ID, the text itself */
	MW_FILE_ID_HTL,        /* HTLHASH, 16 bytes: OpenTelemetry's hash of head, tail and length */
	MW_FILE_ID_GNU_PADDED, /* 20 bytes from the kernel that may end in padding */
};
#define MW_FILE_ID_MAX 128

/** Identity of a file's content. Two files with equal ids are the same code, wherever they lie. */
struct mw_file_id {
	uint8_t kind; /* enum mw_file_id_kind */
	uint8_t size; /* bytes used */
	uint8_t bytes[MW_FILE_ID_MAX];
};

/** Longest text form, with its final NUL. */
#define MW_FILE_ID_TEXT_MAX (16 + 2 * MW_FILE_ID_MAX)

/**
 * Writes the text form ("gnu:93ac61ec...") to buf, cut to size like snprintf. Returns the length of
 * the whole text. In "go:" ids each byte outside [A-Za-z0-9_.=-/] is written as %XX.
 */
MW_PUBLIC size_t mw_file_id_to_text(const struct mw_file_id *id, char *buf, size_t size);
/** Reads a text form; a bare run of hex digits is a GNU build ID. Returns 0, or -EINVAL. */
MW_PUBLIC int mw_file_id_from_text(const char *text, struct mw_file_id *ret);
/** 1 if both are ids and equal, 0 otherwise. A padded id equals only a padded one; see the store. */
MW_PUBLIC int mw_file_id_equal(const struct mw_file_id *a, const struct mw_file_id *b);

/* ---- symbols of one file --------------------------------------------------------------------- */

/** The symbol table of one file, ready for look-ups. Read-only after opening: safe for any threads. */
struct mw_symbols;

struct mw_symbol {
	const char *name;  /* as the file has it, mangled; valid as long as the table */
	uint64_t start;    /* virtual address in the ELF file where the function starts */
	uint64_t end;      /* first address after the piece that covers the address asked for */
};

/**
 * Opens the symbol table of an ELF file, or a GSYM file (told apart by content). Reads the descriptor
 * and leaves it open; it may be closed afterwards. The bytes are parsed in this process: give hostile
 * files to a process of your own that may die. Returns 0, -ENODATA if the file has no symbols,
 * -EBADMSG if it is damaged, or another -errno.
 */
MW_PUBLIC int mw_symbols_open(int fd, struct mw_symbols **ret, struct mw_error *error);
MW_PUBLIC void mw_symbols_close(struct mw_symbols *symbols);
/** Looks a virtual address of the ELF file up. 1: found; 0: no symbol covers it. */
MW_PUBLIC int mw_symbols_find(const struct mw_symbols *symbols, uint64_t address,
			      struct mw_symbol *ret);
/**
 * Demangles a C++ or Rust name into buf, cut to size. Returns 1, or 0 and the name as it is if it is
 * not a mangled name (or too costly to demangle).
 */
MW_PUBLIC int mw_demangle(const char *name, char *buf, size_t size);

/* ---- names, lines and inlined calls from the store ------------------------------------------- */

/**
 * Answers for (file id, file offset) from a store: what `mapwright record`, `resolve` and `store add`
 * put there. Safe for any number of threads at once. Memory for what was decoded is bounded, no
 * descriptor is kept per file, and nothing is allocated for a look-up.
 */
struct mw_resolver;

struct mw_resolver_options {
	size_t size;           /* sizeof(struct mw_resolver_options) */
	const char *store;     /* directory; NULL: the caller's own, as of the command line */
	size_t cache_bytes;    /* for decoded functions; 0: 4 MiB */
};

/**
 * A function at an address, or a call that was inlined there. Strings are valid until the resolver is
 * closed.
 */
struct mw_location {
	const char *name;      /* as the file has it, mangled; NULL: `reason` says why */
	const char *directory; /* of the source file; NULL: unknown, "" if `file` is all there is */
	const char *file;      /* the source file's name; NULL: unknown */
	uint64_t address;      /* where the function starts, as the ELF file counts (not if inlined) */
	uint64_t start;        /* the same as an offset in the file */
	uint32_t line;         /* in the source; 0: unknown */
	uint16_t reason;       /* enum mw_reason */
	uint8_t is_inlined;    /* 1: inlined into the next one */
	uint8_t unused;
	uint32_t discriminator; /* tells blocks of code of one line apart; 0: there is but one */
};

/**
 * Opens a store for reading; it is not changed, and need not be writable. options may be NULL.
 * -ENOENT: there is none.
 */
MW_PUBLIC int mw_resolver_open(const struct mw_resolver_options *options, struct mw_resolver **ret,
			       struct mw_error *error);
MW_PUBLIC void mw_resolver_close(struct mw_resolver *resolver);
/**
 * The function at an offset of a file, and the calls that were inlined there, the innermost first; the
 * last one is the function. For the address of a caller give the byte before it. Returns how many
 * there are, of which the first `max` are in ret; 0: there is no name, and ret[0].reason says why
 * (max is at least 1).
 */
MW_PUBLIC size_t mw_resolver_find(struct mw_resolver *resolver, const struct mw_file_id *id,
				  uint64_t offset, struct mw_location *ret, size_t max);
/**
 * Functions only, for n offsets of one file; fastest if they are ascending. ret[i] is the answer for
 * offsets[i]. Returns how many have a name.
 */
MW_PUBLIC size_t mw_resolver_find_names(struct mw_resolver *resolver, const struct mw_file_id *id,
					const uint64_t *offsets, size_t n, struct mw_location *ret);

/** One frame of a stack from the kernel. */
struct mw_stack_frame {
	struct mw_file_id id;        /* as in the store; as given if the store does not know it */
	uint64_t offset;             /* of the file; of an entry that is only an address: the address */
	uint32_t entry;              /* which of the entries it is from */
	uint32_t unused;
	struct mw_location location; /* name or reason */
};

struct bpf_stack_build_id; /* of <linux/bpf.h> */

/**
 * The frames of a stack as a BPF program gets it with BPF_F_USER_BUILD_ID, or a stack map with
 * BPF_F_STACK_BUILD_ID: up to n entries, the leaf first, ended by BPF_STACK_BUILD_ID_EMPTY. Each entry
 * gives one frame and one more for each inlined call. Entries behind the first are taken as addresses
 * of callers. The kernel fills short build IDs with zeros: they are completed if exactly one file in
 * the store fits. An entry without a build ID (BPF_STACK_BUILD_ID_IP) has the reason `not-cached`; an
 * offset that is not code, since nothing was mapped at that address, has `ghost`. Returns how many
 * frames there are, of which the first `max` are in ret.
 */
MW_PUBLIC size_t mw_resolver_find_stack(struct mw_resolver *resolver,
					const struct bpf_stack_build_id *stack, size_t n,
					struct mw_stack_frame *ret, size_t max);

#ifdef __cplusplus
}
#endif
#endif
