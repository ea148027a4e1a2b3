/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What identifies a file's content, and what of its headers every look-up needs. Plain data of a
 * fixed size without pointers: it is sent over a socket by the isolated child that read the file.
 *
 * The file id is the first of
 *   1. the GNU build ID (1 to 64 bytes): the first such note in the order of the file, of the note
 *      segments, or of the note sections if no segment has one;
 *   2. the Go build ID;
 *   3. HTLHASH, OpenTelemetry's process.executable.build_id.htlhash: the first 16 bytes of the
 *      SHA-256 of the first 4096 bytes, the last 4096 bytes (both shorter, and overlapping, in a
 *      small file) and the size as 8 bytes, big endian.
 * Ids that stand for many files are passed over: build IDs of nothing but zeros, and Go's
 * "redacted".
 */
#ifndef ELF_IDENTITY_H
#define ELF_IDENTITY_H

#include "elf/debug_link.h"
#include "elf/elf.h"

#define ELF_IDENTITY_SEGMENTS 64
#define ELF_CONTENT_SIZE      16

/* One PT_LOAD; in a relocatable object, executable sections, whose addresses are their offsets. */
struct elf_segment {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t file_size;
	uint64_t mem_size;
	uint32_t flags; /* PF_X, ... */
	uint32_t unused;
};

struct elf_identity {
	struct mw_file_id id;
	uint8_t elf_class;   /* ELFCLASS32, ELFCLASS64; ELFCLASSNONE: not a (readable) ELF file */
	uint8_t byte_order;  /* ELFDATA2LSB, ELFDATA2MSB */
	uint8_t is_truncated; /* the headers speak of bytes behind the end of the file */
	uint8_t has_symtab;   /* the whole symbol table is in the file itself */
	uint8_t has_alt_link; /* .gnu_debugaltlink: its debug information is partly in another file */
	uint8_t unused[3];
	uint16_t type;       /* ET_EXEC, ET_DYN, ... */
	uint16_t machine;
	uint32_t n_segments;
	/*
	 * PT_LOADs beyond ELF_IDENTITY_SEGMENTS; executable ones are kept first. Not 0 only in files
	 * that no linker made.
	 */
	uint32_t n_segments_left_out;
	uint64_t file_size;
	struct elf_segment segments[ELF_IDENTITY_SEGMENTS];
	/*
	 * What tells contents of one id apart, the first bytes of a SHA-256. HTLHASH leaves the middle of a
	 * file out, and two builds of one program may differ only there: of everything. A build ID may
	 * be forced on a file: of what is loaded, and of large segments of pages all over them. So copies
	 * that were stripped or not are one content.
	 */
	uint8_t content[ELF_CONTENT_SIZE];
	struct elf_debug_link debug_link; /* where the symbols of a stripped file are */
};

/* Fills everything from an open view. Fails only if the file cannot be read. */
int elf_identify(struct elf *elf, struct elf_identity *ret, struct mw_error *e);
/* The GNU build ID in a range of notes, or else the Go build ID. 1: found, 0: neither. */
int source_build_id(const struct source *source, uint64_t offset, uint64_t size, uint64_t align,
		    bool swap, struct mw_file_id *ret);
/* Fills in the content of an identity: reads all of the file if its id is an HTLHASH. 0 or -errno. */
int elf_identify_content(const struct source *source, struct elf_identity *identity);
/*
 * The id under which the store keeps what belongs to exactly this content: the file id, and after an
 * HTLHASH the content.
 */
struct mw_file_id elf_store_id(const struct mw_file_id *id, const uint8_t content[ELF_CONTENT_SIZE]);
/*
 * The id under which the store keeps what belongs to this content where another content has the store id
 * that it would have.
 */
struct mw_file_id elf_store_id_of_another(const struct mw_file_id *id,
					  const uint8_t content[ELF_CONTENT_SIZE]);
/*
 * Whether a file is the separate debug file of the one identified: its build ID is the same, or, if one
 * of the two has none, its checksum is that of the debug link. Reads all of it for the latter.
 */
bool elf_debug_file_belongs(struct elf *debug, const struct elf_identity *identity);
/* The HTLHASH id of any bytes. */
int source_htlhash(const struct source *source, struct mw_file_id *ret);

/*
 * The conversions of elf.h by the segments of an identity. 1, or 0 if no segment loads the byte.
 * ret_flags may be NULL.
 */
int elf_identity_offset_to_address(const struct elf_identity *identity, uint64_t offset,
				   uint64_t *ret, uint32_t *ret_flags);
int elf_identity_address_to_offset(const struct elf_identity *identity, uint64_t address,
				   uint64_t *ret);
/*
 * True if the counts are in range: to be asked of an identity that came from another process before
 * it is used.
 */
bool elf_identity_is_valid(const struct elf_identity *identity);

#endif
