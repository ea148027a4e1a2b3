/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Call frame information made in memory, right and wrong, and an ELF file around it.
 *
 *	struct cfi_builder b = {.address = FRAMES_ADDRESS};
 *	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
 *	cfi_builder_fde(&b, cie, 0x1000, 0x20, PROGRAM(DW_CFA_advance_loc | 1, ...));
 *	int fd = cfi_builder_program(&b);
 */
#ifndef TESTS_LIB_CFI_BUILDER_H
#define TESTS_LIB_CFI_BUILDER_H

#include "base/buffer.h"
#include "lib/elf_builder.h"
#include "unwind/dwarf.h"

#define PROGRAM(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

#define TEXT_ADDRESS   0x1000
#define TEXT_SIZE      0x1000
#define FRAMES_ADDRESS 0x8000

struct cfi_builder {
	struct buffer out;
	uint64_t address; /* of the section */
	bool is_debug_frame;
	bool is_dwarf64;
	uint8_t pointers; /* of the last CIE */
	bool has_augmentation;
};

struct builder_cie {
	uint8_t version;
	const char *augmentation;
	const uint8_t *augmentation_data; /* without its length */
	size_t augmentation_size;
	uint8_t pointers; /* as augmentation_data says it, for the FDEs */
	int64_t code_align;
	int64_t data_align;
	uint8_t return_register;
	const uint8_t *program;
	size_t program_size;
};

/* "zR" with 32-bit addresses relative to their place; CFA rsp + 8, the return address below it. */
extern const struct builder_cie usual_cie;

/* Offset of the entry. */
uint32_t cfi_builder_cie(struct cfi_builder *b, const struct builder_cie *cie);
uint32_t cfi_builder_fde(struct cfi_builder *b, uint32_t cie, uint64_t begin, uint64_t size,
			 const uint8_t *program, size_t n);
/* The entry that ends .eh_frame. */
void cfi_builder_end(struct cfi_builder *b);

/*
 * x86-64 with code at TEXT_ADDRESS, and the section in a segment of its own. text may be NULL
 * (zeros) or TEXT_SIZE bytes. Ends the builder.
 */
int cfi_builder_program(struct cfi_builder *b, const void *text);
/* Adds the section to a file under construction, with a segment. */
uint32_t cfi_builder_section(struct cfi_builder *b, struct elf_builder *elf);

#endif
