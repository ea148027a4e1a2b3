/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From ELF files to unwinding tables: what is read, what it becomes, and what is left out. */
#include "elf/elf.h"
#include "lib/cfi_builder.h"
#include "lib/test.h"
#include "unwind/extract_unwind.h"
#include "unwind/unwind_table.h"

#include <string.h>
#include <sys/mman.h>

struct made {
	struct unwind_table table;
	struct extract_unwind_result result;
	struct elf elf;
	int fd;
};

/* Takes the descriptor. Negative: what extract_unwind() returned. */
static int make_with(struct made *made, int fd, const int *debug_fds, size_t n)
{
	struct mw_error e;
	_cleanup_close_ int out = memfd_create("table", MFD_CLOEXEC);
	*made = (struct made){.fd = fd};
	int r = extract_unwind(fd, debug_fds, n, out, &made->result, &e);
	if (r < 0) {
		assert_int_equal(e.code, r);
		assert_int_equal(lseek(out, 0, SEEK_END), 0);
		close(fd);
		return r;
	}
	assert_int_equal(unwind_table_open(&made->table, out, NULL), 0);
	assert_int_equal(unwind_table_check(&made->table, NULL), 0);
	assert_int_equal(made->table.size, made->result.size);
	assert_int_equal(elf_open(&made->elf, fd, NULL), 0);
	return 0;
}

static void make(struct made *made, int fd)
{
	assert_int_equal(make_with(made, fd, NULL, 0), 0);
}

static void drop(struct made *made)
{
	unwind_table_close(&made->table);
	elf_deinit(&made->elf);
	close(made->fd);
}

/* Code at the entry has a rule without being asked. */
static struct elf_builder without_entry(void)
{
	struct elf_builder elf = elf_builder_init();
	elf.entry = 0;
	return elf;
}

static struct unwind_rule rule_at(const struct made *made, uint64_t address)
{
	uint64_t offset;
	assert_int_equal(elf_address_to_offset(&made->elf, address, &offset), 1);
	return *unwind_table_find(&made->table, offset);
}

static void is_depth(const struct made *made, uint64_t address, int depth)
{
	struct unwind_rule rule = rule_at(made, address);
	assert_int_equal(rule.kind, UNWIND_RULE);
	assert_int_equal(rule.cfa, UNWIND_CFA_REGISTER);
	assert_int_equal(rule.cfa_register, 7);
	assert_int_equal(rule.cfa_offset, depth);
	assert_int_equal(rule.return_in, UNWIND_RETURN_MEMORY);
	assert_int_equal(rule.return_at, -1);
}

static void is_kind(const struct made *made, uint64_t address, enum unwind_kind kind)
{
	assert_int_equal(rule_at(made, address).kind, kind);
}

/* One function at TEXT_ADDRESS with a program. */
static void make_one(struct made *made, const uint8_t *program, size_t n)
{
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	cfi_builder_fde(&b, cie, TEXT_ADDRESS, 0x40, program, n);
	make(made, cfi_builder_program(&b, NULL));
}

static const uint8_t push_rbp[] = {
	DW_CFA_advance_loc | 1,
	DW_CFA_def_cfa_offset,
	16,
	DW_CFA_offset | 6,
	2,
	DW_CFA_advance_loc | 3,
	DW_CFA_def_cfa_register,
	6,
	DW_CFA_advance_loc | 32,
	DW_CFA_def_cfa,
	7,
	8,
};

/* ---- what every function has ----------------------------------------------------------------- */

static void follows_a_function_from_its_first_to_its_last_instruction(void **state)
{
	struct made m;
	make_one(&m, push_rbp, sizeof push_rbp);
	is_depth(&m, 0x1000, 8);
	is_depth(&m, 0x1001, 16);
	assert_int_equal(rule_at(&m, 0x1001).saved[0], -2);
	assert_int_equal(rule_at(&m, 0x1000).saved[0], UNWIND_SAME);
	struct unwind_rule rule = rule_at(&m, 0x1004);
	assert_int_equal(rule.cfa_register, 6);
	assert_int_equal(rule.cfa_offset, 16);
	is_depth(&m, 0x1024, 8);
	is_depth(&m, 0x103f, 8);
	is_kind(&m, 0x1040, UNWIND_NO_RULE);
	assert_int_equal(m.result.n_functions, 1);
	assert_int_equal(m.result.n_unsupported, 0);
	assert_int_equal(m.result.sources & UNWIND_FROM_EH_FRAME, UNWIND_FROM_EH_FRAME);
	drop(&m);
}

static void has_no_rule_before_between_and_behind_functions(void **state)
{
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	cfi_builder_fde(&b, cie, 0x1100, 0x10, NULL, 0);
	cfi_builder_fde(&b, cie, 0x1010, 0x10, NULL, 0);
	make(&m, cfi_builder_program(&b, NULL));
	is_kind(&m, 0x1000, UNWIND_NO_RULE);
	is_depth(&m, 0x1010, 8);
	is_depth(&m, 0x101f, 8);
	is_kind(&m, 0x1020, UNWIND_NO_RULE);
	is_kind(&m, 0x10ff, UNWIND_NO_RULE);
	is_depth(&m, 0x110f, 8);
	is_kind(&m, 0x1110, UNWIND_NO_RULE);
	assert_int_equal(unwind_table_find(&m.table, UINT64_MAX)->kind, UNWIND_NO_RULE);
	assert_int_equal(unwind_table_find(&m.table, UINT32_MAX)->kind, UNWIND_NO_RULE);
	assert_int_equal(unwind_table_find(&m.table, 0)->kind, UNWIND_NO_RULE);
	drop(&m);
}

static void goes_back_to_a_state_that_was_remembered(void **state)
{
	struct made m;
	make_one(&m,
		 PROGRAM(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 3, 3,
			 DW_CFA_advance_loc | 1, DW_CFA_remember_state, DW_CFA_def_cfa_offset, 8,
			 DW_CFA_restore | 3, DW_CFA_advance_loc | 1, DW_CFA_restore_state));
	is_depth(&m, 0x1001, 32);
	assert_int_equal(rule_at(&m, 0x1001).saved[1], -3);
	is_depth(&m, 0x1002, 8);
	assert_int_equal(rule_at(&m, 0x1002).saved[1], UNWIND_SAME);
	is_depth(&m, 0x1003, 32);
	assert_int_equal(rule_at(&m, 0x1003).saved[1], -3);
	drop(&m);
}

static void reads_every_instruction_that_advances_or_defines(void **state)
{
	struct made m;
	make_one(&m, PROGRAM(DW_CFA_advance_loc1, 1, DW_CFA_def_cfa_sf, 7, 0x7e, /* -2 * -8 */
			     DW_CFA_advance_loc2, 1, 0, DW_CFA_def_cfa_offset_sf, 0x7d, /* 24 */
			     DW_CFA_advance_loc4, 1, 0, 0, 0, DW_CFA_GNU_args_size, 0x90, 1,
			     DW_CFA_offset_extended, 6, 3, DW_CFA_offset_extended_sf, 3, 4,
			     DW_CFA_GNU_negative_offset_extended, 12, 1, DW_CFA_advance_loc | 1,
			     DW_CFA_same_value, 6, DW_CFA_undefined, 3, DW_CFA_restore_extended, 12,
			     DW_CFA_val_offset, 13, 2, DW_CFA_val_offset_sf, 14, 2, DW_CFA_register,
			     15, 0, DW_CFA_MIPS_advance_loc8, 1, 0, 0, 0, 0, 0, 0, 0,
			     DW_CFA_def_cfa_offset, 0x80, 2));
	is_depth(&m, 0x1001, 16);
	is_depth(&m, 0x1002, 24);
	struct unwind_rule rule = rule_at(&m, 0x1003);
	assert_int_equal(rule.saved[0], -3);
	assert_int_equal(rule.saved[1], -4);
	assert_int_equal(rule.saved[2], 1);
	rule = rule_at(&m, 0x1004);
	assert_int_equal(rule.saved[0], UNWIND_SAME);
	assert_int_equal(rule.saved[1], UNWIND_UNDEFINED);
	assert_int_equal(rule.saved[2], UNWIND_SAME);
	assert_int_equal(rule.saved[3], UNWIND_UNDEFINED);
	assert_int_equal(rule.saved[4], UNWIND_UNDEFINED);
	assert_int_equal(rule.saved[5], UNWIND_UNDEFINED);
	is_depth(&m, 0x1005, 256);
	drop(&m);
}

static void knows_the_bottom_of_the_stack(void **state)
{
	struct made m;
	make_one(&m, PROGRAM(DW_CFA_undefined, 16));
	is_kind(&m, 0x1000, UNWIND_END);
	drop(&m);
}

static void takes_a_return_address_from_a_register(void **state)
{
	struct made m;
	make_one(&m, PROGRAM(DW_CFA_register, 16, 5, DW_CFA_def_cfa_offset, 0));
	struct unwind_rule rule = rule_at(&m, 0x1000);
	assert_int_equal(rule.kind, UNWIND_RULE);
	assert_int_equal(rule.return_in, UNWIND_RETURN_REGISTER);
	assert_int_equal(rule.return_register, 5);
	drop(&m);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static void expresses_a_realigned_stack(void **state)
{
	struct made m;
	/* gcc: the base lies at rbp - 8, rbp at rbp, r15 at rbp - 24. */
	make_one(&m, PROGRAM(DW_CFA_def_cfa_expression, 3, DW_OP_breg0 + 6, 0x78, DW_OP_deref,
			     DW_CFA_expression, 6, 2, DW_OP_breg0 + 6, 0, DW_CFA_expression, 15, 2,
			     DW_OP_breg0 + 6, 0x68));
	struct unwind_rule rule = rule_at(&m, 0x1000);
	assert_int_equal(rule.kind, UNWIND_RULE);
	assert_int_equal(rule.cfa, UNWIND_CFA_MEMORY);
	assert_int_equal(rule.cfa_register, 6);
	assert_int_equal(rule.cfa_offset, -8);
	assert_int_equal(rule.cfa_offset2, 0);
	assert_int_equal(rule.base_register, 6);
	assert_int_equal(rule.base_mask, 1 | 1 << 5);
	assert_int_equal(rule.saved[0], 0);
	assert_int_equal(rule.saved[5], -3);
	drop(&m);
}

static void expresses_a_base_kept_on_the_stack(void **state)
{
	struct made m;
	/* Hand-written code: the old stack pointer lies at rsp + 152. */
	make_one(&m, PROGRAM(DW_CFA_def_cfa_expression, 6, DW_OP_breg0 + 7, 0x98, 1, DW_OP_deref,
			     DW_OP_plus_uconst, 8));
	struct unwind_rule rule = rule_at(&m, 0x1000);
	assert_int_equal(rule.cfa, UNWIND_CFA_MEMORY);
	assert_int_equal(rule.cfa_register, 7);
	assert_int_equal(rule.cfa_offset, 152);
	assert_int_equal(rule.cfa_offset2, 8);
	drop(&m);
}

static void a_register_ends_an_expression(void **state)
{
	struct made m;
	make_one(&m,
		 PROGRAM(DW_CFA_def_cfa_offset, 24, DW_CFA_def_cfa_expression, 3, DW_OP_breg0 + 6,
			 0, DW_OP_deref, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_register, 7,
			 DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 8));
	assert_int_equal(rule_at(&m, 0x1000).cfa, UNWIND_CFA_MEMORY);
	is_depth(&m, 0x1004, 24);
	is_depth(&m, 0x1008, 8);
	drop(&m);
}

static void expresses_what_linkers_write_for_the_plt(void **state)
{
	struct made m;
	make_one(&m, PROGRAM(DW_CFA_def_cfa_expression, 11, DW_OP_breg0 + 7, 8, DW_OP_breg0 + 16, 0,
			     DW_OP_lit0 + 15, DW_OP_and, DW_OP_lit0 + 11, DW_OP_ge, DW_OP_lit0 + 3,
			     DW_OP_shl, DW_OP_plus));
	struct unwind_rule rule = rule_at(&m, 0x1000);
	assert_int_equal(rule.kind, UNWIND_RULE);
	assert_int_equal(rule.cfa, UNWIND_CFA_PLT);
	assert_int_equal(rule.cfa_register, 7);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.cfa_offset2, 11);
	drop(&m);
}

#define CONTEXT(number, low, high) DW_CFA_expression, (number), 3, DW_OP_breg0 + 7, (low), (high)

static void recognizes_the_kernels_signal_frame(void **state)
{
	static const uint8_t data[] = {DW_EH_PE_pcrel | DW_EH_PE_sdata4};
	struct builder_cie signal = usual_cie;
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	signal.augmentation = "zRS";
	signal.augmentation_data = data;
	uint32_t cie = cfi_builder_cie(&b, &signal);
	/* The base is *(rsp + 160), the return address at rsp + 168, rbp at rsp + 120. */
	cfi_builder_fde(&b, cie, 0x1000, 0x10,
			PROGRAM(DW_CFA_def_cfa_expression, 4, DW_OP_breg0 + 7, 0xa0, 1, DW_OP_deref,
				CONTEXT(16, 0xa8, 1), CONTEXT(6, 0xf8, 0)));
	cfi_builder_fde(&b, cie, 0x1010, 0x10,
			PROGRAM(DW_CFA_def_cfa_expression, 4, DW_OP_breg0 + 7, 0xa0, 1, DW_OP_deref,
				CONTEXT(16, 0xa8, 1), CONTEXT(6, 0xf0, 0)));
	cfi_builder_fde(&b, cie, 0x1020, 0x10, NULL, 0);
	make(&m, cfi_builder_program(&b, NULL));
	struct unwind_rule rule = rule_at(&m, 0x1000);
	assert_int_equal(rule.kind, UNWIND_SIGNAL);
	assert_int_equal(rule.cfa_offset, 40);
	rule = rule_at(&m,
		       0x1010); /* another layout is no such frame, but has a base all the same */
	assert_int_equal(rule.kind, UNWIND_RULE);
	assert_int_equal(rule.flags, UNWIND_RULE_INTERRUPTED);
	assert_int_equal(rule.return_at, 21);
	assert_int_equal(rule.base_mask, 1 | 1 << UNWIND_N_SAVED);
	is_depth(&m, 0x1020, 8);
	assert_int_equal(rule_at(&m, 0x1020).flags, UNWIND_RULE_INTERRUPTED);
	drop(&m);
}

static void says_what_it_cannot_express(void **state)
{
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	/* A product. */
	cfi_builder_fde(&b, cie, 0x1000, 0x10,
			PROGRAM(DW_CFA_def_cfa_expression, 4, DW_OP_breg0 + 7, 8, DW_OP_dup, 0x1e));
	/* The stack pointer is not the base. */
	cfi_builder_fde(&b, cie, 0x1010, 0x10, PROGRAM(DW_CFA_val_offset, 7, 1));
	/* The return address in a vector register. */
	cfi_builder_fde(&b, cie, 0x1020, 0x10, PROGRAM(DW_CFA_register, 16, 33));
	/*
	 * A place that is not aligned costs only the register; of the return address, everything.
	 */
	struct builder_cie bytes = usual_cie;
	bytes.data_align = -1;
	bytes.program = (const uint8_t[]){DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 8};
	uint32_t fine = cfi_builder_cie(&b, &bytes);
	cfi_builder_fde(&b, fine, 0x1030, 0x10, PROGRAM(DW_CFA_offset | 6, 12));
	cfi_builder_fde(&b, fine, 0x1040, 0x10, PROGRAM(DW_CFA_offset | 16, 12));
	make(&m, cfi_builder_program(&b, NULL));
	is_kind(&m, 0x1000, UNWIND_UNSUPPORTED);
	is_kind(&m, 0x1010, UNWIND_UNSUPPORTED);
	is_kind(&m, 0x1020, UNWIND_UNSUPPORTED);
	is_depth(&m, 0x1030, 8);
	assert_int_equal(rule_at(&m, 0x1030).saved[0], UNWIND_UNDEFINED);
	is_kind(&m, 0x1040, UNWIND_UNSUPPORTED);
	assert_int_equal(m.result.n_unsupported, 4);
	drop(&m);
}

/* ---- forms of sections ----------------------------------------------------------------------- */

static void reads_every_encoding_of_addresses(void **state)
{
	static const uint8_t encodings[] = {
		DW_EH_PE_absptr,
		DW_EH_PE_udata2,
		DW_EH_PE_udata4,
		DW_EH_PE_udata8,
		DW_EH_PE_uleb128,
		DW_EH_PE_sdata2,
		DW_EH_PE_sdata4,
		DW_EH_PE_sdata8,
		DW_EH_PE_sleb128,
		DW_EH_PE_pcrel,
		DW_EH_PE_pcrel | DW_EH_PE_sdata2,
		DW_EH_PE_pcrel | DW_EH_PE_sdata8,
	};
	for (size_t i = 0; i < ARRAY_SIZE(encodings); i++) {
		struct cfi_builder b = {.address = FRAMES_ADDRESS};
		struct builder_cie cie = usual_cie;
		struct made m;
		cie.augmentation_data = cie.augmentation_data ? &encodings[i] : NULL;
		cie.pointers = encodings[i];
		/* Unsigned and relative to a higher place there is no way down to the code. */
		cfi_builder_fde(&b, cfi_builder_cie(&b, &cie), 0x1010, 0x20, NULL, 0);
		make(&m, cfi_builder_program(&b, NULL));
		is_kind(&m, 0x100f, UNWIND_NO_RULE);
		is_depth(&m, 0x1010, 8);
		is_kind(&m, 0x1030, UNWIND_NO_RULE);
		drop(&m);
	}
}

static void reads_every_version_and_augmentation(void **state)
{
	static const uint8_t personality[] = {DW_EH_PE_pcrel | DW_EH_PE_sdata4 | DW_EH_PE_indirect,
					      1,
					      2,
					      3,
					      4,
					      DW_EH_PE_pcrel | DW_EH_PE_sdata4,
					      DW_EH_PE_pcrel | DW_EH_PE_sdata4};
	static const uint8_t unknown[] = {DW_EH_PE_pcrel | DW_EH_PE_sdata4, 9, 9, 9};
	struct builder_cie forms[] = {usual_cie, usual_cie, usual_cie, usual_cie, usual_cie};
	forms[1].version = 3;
	forms[2].augmentation = "eh";
	forms[2].augmentation_size = 0;
	forms[2].pointers = DW_EH_PE_absptr;
	forms[3].augmentation = "zPLR";
	forms[3].augmentation_data = personality;
	forms[3].augmentation_size = sizeof personality;
	forms[4].augmentation = "zRX";
	forms[4].augmentation_data = unknown;
	forms[4].augmentation_size = sizeof unknown;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct cfi_builder b = {.address = FRAMES_ADDRESS};
		struct made m;
		cfi_builder_fde(&b, cfi_builder_cie(&b, &forms[i]), 0x1010, 0x20, NULL, 0);
		make(&m, cfi_builder_program(&b, NULL));
		is_depth(&m, 0x1010, 8);
		is_kind(&m, 0x1030, UNWIND_NO_RULE);
		drop(&m);
	}
}

static void reads_debug_frame_of_every_version_in_32_and_64_bits(void **state)
{
	for (unsigned i = 0; i < 6; i++) {
		static const uint8_t versions[] = {1, 3, 4};
		struct cfi_builder b = {.is_debug_frame = true, .is_dwarf64 = i >= 3};
		struct builder_cie cie = usual_cie;
		struct made m;
		cie.version = versions[i % 3];
		cie.augmentation = "";
		cie.augmentation_size = 0;
		cie.pointers = DW_EH_PE_absptr;
		cfi_builder_cie(&b, &cie);
		uint32_t second = cfi_builder_cie(&b, &cie);
		cfi_builder_fde(&b, second, 0x1010, 0x20, NULL, 0);
		make(&m, cfi_builder_program(&b, NULL));
		is_depth(&m, 0x102f, 8);
		assert_int_equal(m.result.sources & UNWIND_FROM_DEBUG_FRAME,
				 UNWIND_FROM_DEBUG_FRAME);
		drop(&m);
	}
}

static void add_debug_frame(struct elf_builder *elf, uint64_t begin, uint64_t size)
{
	struct cfi_builder b = {.is_debug_frame = true};
	struct builder_cie cie = usual_cie;
	cie.version = 4;
	cie.augmentation = "";
	cie.augmentation_size = 0;
	cie.pointers = DW_EH_PE_absptr;
	cfi_builder_fde(&b, cfi_builder_cie(&b, &cie), begin, size,
			PROGRAM(DW_CFA_def_cfa_offset, 64));
	cfi_builder_section(&b, elf);
}

static void add_id(struct elf_builder *elf, uint8_t byte)
{
	struct buffer notes = {};
	uint8_t id[20];
	memset(id, byte, sizeof id);
	elf_builder_note(elf, &notes, "GNU", 4, NT_GNU_BUILD_ID, id, sizeof id, 4);
	elf_builder_notes(elf, ".note.gnu.build-id", &notes, 4);
	buffer_deinit(&notes);
}

/* A debug file's code is where the program's is, but it has no bytes. */
static int debug_file(uint8_t id)
{
	struct elf_builder elf = without_entry();
	elf_builder_text(&elf, TEXT_ADDRESS, TEXT_SIZE);
	add_id(&elf, id);
	add_debug_frame(&elf, 0x1000, 0x100);
	int fd = elf_builder_fd(&elf);
	elf_builder_deinit(&elf);
	return fd;
}

static void a_separate_debug_file_fills_what_eh_frame_leaves_free(void **state)
{
	struct elf_builder elf = without_entry();
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	elf_builder_text(&elf, TEXT_ADDRESS, TEXT_SIZE);
	add_id(&elf, 7);
	cfi_builder_fde(&b, cfi_builder_cie(&b, &usual_cie), 0x1040, 0x40, NULL, 0);
	cfi_builder_section(&b, &elf);
	int debug[2] = {debug_file(8), debug_file(7)};
	assert_int_equal(make_with(&m, elf_builder_fd(&elf), debug, 2), 0);
	is_depth(&m, 0x1000, 64);
	is_depth(&m, 0x103f, 64);
	is_depth(&m, 0x1040, 8);
	is_depth(&m, 0x107f, 8);
	is_depth(&m, 0x1080, 64);
	is_depth(&m, 0x10ff, 64);
	is_kind(&m, 0x1100, UNWIND_NO_RULE);
	assert_int_equal(m.result.n_functions, 2); /* nothing of the other file */
	drop(&m);
	close(debug[0]);
	close(debug[1]);
	elf_builder_deinit(&elf);
}

static void finds_eh_frame_by_its_header_without_section_headers(void **state)
{
	struct elf_builder elf = without_entry();
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct buffer header = {};
	struct made m;
	elf_builder_text(&elf, TEXT_ADDRESS, TEXT_SIZE);
	cfi_builder_fde(&b, cfi_builder_cie(&b, &usual_cie), 0x1040, 0x40, NULL, 0);
	cfi_builder_end(&b);
	buffer_u64(&b.out, 0x6666666666666666); /* what follows in the segment */
	cfi_builder_section(&b, &elf);
	buffer_u8(&header, 1);
	buffer_u8(&header, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	buffer_u8(&header, DW_EH_PE_omit);
	buffer_u8(&header, DW_EH_PE_omit);
	buffer_u32(&header, FRAMES_ADDRESS - (0x9000 + 4));
	uint32_t section = elf_builder_section(&elf, (struct builder_section){.name = ".x",
									      .type = SHT_PROGBITS,
									      .flags = SHF_ALLOC,
									      .address = 0x9000,
									      .data = header.data,
									      .size = header.n,
									      .align = 8});
	elf_builder_segment(&elf, (struct builder_segment){.type = PT_GNU_EH_FRAME,
							   .flags = PF_R,
							   .section = section});
	elf.no_section_headers = true;
	make(&m, elf_builder_fd(&elf));
	is_depth(&m, 0x1040, 8);
	is_kind(&m, 0x1080, UNWIND_NO_RULE);
	assert_int_equal(m.result.n_damaged, 0);
	drop(&m);
	buffer_deinit(&header);
	elf_builder_deinit(&elf);
}

static void goes_on_behind_an_end_in_the_middle(void **state)
{
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	cfi_builder_fde(&b, cie, 0x1000, 0x10, NULL, 0);
	cfi_builder_end(&b);
	cfi_builder_end(&b);
	cfi_builder_fde(&b, cie, 0x1010, 0x10, NULL, 0);
	make(&m, cfi_builder_program(&b, NULL));
	is_depth(&m, 0x1000, 8);
	is_depth(&m, 0x101f, 8);
	drop(&m);
}

static void rows_are_offsets_of_the_file_in_each_executable_segment(void **state)
{
	struct elf_builder elf = without_entry();
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	elf_builder_text(&elf, 0x5000, 0x100);
	elf_builder_text(&elf, 0x3000, 0x100);
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	cfi_builder_fde(&b, cie, 0x3000, 0x100, NULL, 0);
	cfi_builder_fde(&b, cie, 0x5000, 0x200, PROGRAM(DW_CFA_def_cfa_offset, 16)); /* too long */
	cfi_builder_fde(&b, cie, 0x7000, 0x100, NULL, 0); /* in no segment */
	cfi_builder_fde(&b, cie, 0, 0x100, NULL, 0);	  /* the linker dropped the function */
	cfi_builder_section(&b, &elf);
	make(&m, elf_builder_fd(&elf));
	is_depth(&m, 0x3000, 8);
	is_depth(&m, 0x30ff, 8);
	is_depth(&m, 0x5000, 16);
	is_depth(&m, 0x50ff, 16);
	assert_int_equal(m.result.n_functions, 2);
	drop(&m);
	elf_builder_deinit(&elf);
}

static void of_functions_that_overlap_each_ends_where_the_next_begins(void **state)
{
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	cfi_builder_fde(&b, cie, 0x1020, 0x40, PROGRAM(DW_CFA_def_cfa_offset, 16));
	cfi_builder_fde(&b, cie, 0x1000, 0x100, NULL, 0);
	cfi_builder_fde(&b, cie, 0x1020, 0x60, PROGRAM(DW_CFA_def_cfa_offset, 24)); /* the second */
	make(&m, cfi_builder_program(&b, NULL));
	is_depth(&m, 0x101f, 8);
	is_depth(&m, 0x1020, 16);
	is_depth(&m, 0x105f, 16);
	is_kind(&m, 0x1060, UNWIND_NO_RULE);
	drop(&m);
}

/* ---- code that is read itself ---------------------------------------------------------------- */

static void make_text(struct made *made, const uint8_t *code, size_t n, uint64_t at)
{
	static uint8_t text[TEXT_SIZE];
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	memset(text, 0xcc, sizeof text);
	memcpy(text + (at - TEXT_ADDRESS), code, n);
	cfi_builder_fde(&b, cfi_builder_cie(&b, &usual_cie), 0x1000, 0x10, NULL, 0);
	make(made, cfi_builder_program(&b, text));
}

static void knows_the_return_of_signal_handlers_by_its_bytes(void **state)
{
	struct made m;
	make_text(&m, PROGRAM(0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05), 0x1100);
	is_kind(&m, 0x10fe, UNWIND_NO_RULE);
	struct unwind_rule rule = rule_at(&m, 0x10ff); /* the return address, less one */
	assert_int_equal(rule.kind, UNWIND_SIGNAL);
	assert_int_equal(rule.cfa_offset, 40);
	is_kind(&m, 0x1108, UNWIND_SIGNAL);
	is_kind(&m, 0x1109, UNWIND_NO_RULE);
	assert_int_equal(m.result.sources, UNWIND_FROM_EH_FRAME | UNWIND_FROM_KNOWN_CODE);
	drop(&m);
}

static void knows_where_clone3_returns_in_two_threads(void **state)
{
	for (uint8_t number = 0xb2; number <= 0xb3; number++) {
		struct made m;
		make_text(&m,
			  PROGRAM(0xb8, number, 0x01, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c,
				  0x18, 0x74, 0x01, 0xc3, 0x31, 0xed),
			  0x1100);
		is_kind(&m, 0x1104, UNWIND_NO_RULE);
		if (number == 0xb3)
			is_depth(&m, 0x1107, 8);
		else
			is_kind(&m, 0x1107, UNWIND_NO_RULE);
		is_kind(&m, 0x110f, UNWIND_NO_RULE);
		drop(&m);
	}
}

static void the_code_at_the_entry_is_the_bottom(void **state)
{
	uint8_t code[TEXT_SIZE] = {};
	struct elf_builder elf = without_entry();
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	code[0x120] = 0xf4; /* hlt */
	uint32_t text = elf_builder_text(&elf, TEXT_ADDRESS, TEXT_SIZE);
	memcpy(elf.sections.items[text].copy, code, sizeof code);
	cfi_builder_fde(&b, cfi_builder_cie(&b, &usual_cie), 0x1180, 0x10, NULL, 0);
	cfi_builder_section(&b, &elf);
	elf.entry = 0x1100;
	make(&m, elf_builder_fd(&elf));
	is_kind(&m, 0x10ff, UNWIND_NO_RULE);
	is_kind(&m, 0x1100, UNWIND_END);
	is_kind(&m, 0x1120, UNWIND_END);
	is_kind(&m, 0x1121, UNWIND_NO_RULE);
	drop(&m);
	elf.entry = 0x1130; /* to the next function with rules */
	make(&m, elf_builder_fd(&elf));
	is_kind(&m, 0x117f, UNWIND_END);
	is_depth(&m, 0x1180, 8);
	drop(&m);
	elf.entry = 0x1180; /* has rules */
	make(&m, elf_builder_fd(&elf));
	is_depth(&m, 0x1180, 8);
	drop(&m);
	elf.entry = 0x1200; /* to the next symbol; not far without one */
	make(&m, elf_builder_fd(&elf));
	is_kind(&m, 0x12ff, UNWIND_END);
	is_kind(&m, 0x1300, UNWIND_NO_RULE);
	drop(&m);
	elf_builder_symbol(&elf,
			   (struct builder_symbol){"start", 0x1200, 0, STT_FUNC, STB_GLOBAL, 1});
	elf_builder_symbol(&elf,
			   (struct builder_symbol){"next", 0x1220, 0, STT_FUNC, STB_LOCAL, 1});
	elf_builder_symbols(&elf, ".symtab", SHT_SYMTAB);
	make(&m, elf_builder_fd(&elf));
	is_kind(&m, 0x121f, UNWIND_END);
	is_kind(&m, 0x1220, UNWIND_NO_RULE);
	drop(&m);
	elf_builder_deinit(&elf);
}

static void a_function_with_rules_that_looks_like_one_keeps_them(void **state)
{
	struct made m;
	make_text(&m, PROGRAM(0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05), 0x1002);
	is_depth(&m, 0x1002, 8);
	is_depth(&m, 0x1004, 8);
	drop(&m);
}

static void walks_code_full_of_frame_pointers_by_them(void **state)
{
	uint8_t code[TEXT_SIZE];
	struct elf_builder elf = without_entry();
	struct cfi_builder b = {.address = 0x20000};
	struct made m;
	memset(code, 0x90, sizeof code);
	for (size_t i = 0; i < sizeof code; i += 0x80) {
		memcpy(code + i, (const uint8_t[]){0x55, 0x48, 0x89, 0xe5}, 4);
		memcpy(code + i + 0x40, (const uint8_t[]){0x5d, 0xc3}, 2);
	}
	uint32_t text = elf_builder_text(&elf, 0x10000, sizeof code);
	memcpy(elf.sections.items[text].copy, code, sizeof code);
	elf_builder_text(&elf, TEXT_ADDRESS, TEXT_SIZE);
	cfi_builder_fde(&b, cfi_builder_cie(&b, &usual_cie), 0x1000, 0x10, NULL, 0);
	cfi_builder_section(&b, &elf);
	make(&m, elf_builder_fd(&elf));
	is_depth(&m, 0x10080, 8);
	is_depth(&m, 0x10081, 16);
	assert_int_equal(rule_at(&m, 0x10083).saved[0], -2);
	is_kind(&m, 0x10084, UNWIND_FRAME_POINTER);
	is_kind(&m, 0x100c0, UNWIND_FRAME_POINTER);
	is_depth(&m, 0x100c1, 8);
	is_kind(&m, 0x100c2, UNWIND_FRAME_POINTER);
	is_kind(&m, 0x1100, UNWIND_NO_RULE); /* nothing there looks like a function */
	drop(&m);
	elf_builder_deinit(&elf);
}

static void reads_the_depth_of_stubs_that_have_no_rules(void **state)
{
	static const uint8_t lazy[] = {
		0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0,	   0x0f, 0x1f, 0x40, 0,
		0xff, 0x25, 0, 0, 0, 0, 0x68, 0,    0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
		0xff, 0x25, 0, 0, 0, 0, 0x68, 1,    0, 0, 0, 0xe9, 0xd0, 0xff, 0xff, 0xff,
	};
	struct elf_builder elf = without_entry();
	struct made m;
	uint32_t plt = elf_builder_section(
		&elf, (struct builder_section){.name = ".plt",
					       .type = SHT_PROGBITS,
					       .flags = SHF_ALLOC | SHF_EXECINSTR,
					       .address = 0x1000,
					       .data = lazy,
					       .size = sizeof lazy,
					       .align = 16});
	elf_builder_segment(&elf, (struct builder_segment){
					  .type = PT_LOAD, .flags = PF_R | PF_X, .section = plt});
	make(&m, elf_builder_fd(&elf));
	is_depth(&m, 0x1000, 16);
	is_depth(&m, 0x1005, 16);
	is_depth(&m, 0x1006, 24);
	is_depth(&m, 0x1010, 8);
	is_depth(&m, 0x1016, 8);
	is_depth(&m, 0x101b, 16);
	is_depth(&m, 0x1020, 8);
	is_depth(&m, 0x102b, 16);
	assert_int_equal(m.result.sources, UNWIND_FROM_STUBS);
	drop(&m);
	elf_builder_deinit(&elf);
}

static void reads_the_depth_of_init(void **state)
{
	static const uint8_t init[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0x48,
				       0x8b, 0x05, 0,	 0,    0,    0,	   0x48, 0x85, 0xc0,
				       0x74, 0x02, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	struct elf_builder elf = without_entry();
	struct made m;
	uint32_t section = elf_builder_section(
		&elf, (struct builder_section){.name = ".init",
					       .type = SHT_PROGBITS,
					       .flags = SHF_ALLOC | SHF_EXECINSTR,
					       .address = 0x1000,
					       .data = init,
					       .size = sizeof init,
					       .align = 16});
	elf_builder_segment(&elf, (struct builder_segment){.type = PT_LOAD,
							   .flags = PF_R | PF_X,
							   .section = section});
	make(&m, elf_builder_fd(&elf));
	is_depth(&m, 0x1000, 8);
	is_depth(&m, 0x1007, 8);
	is_depth(&m, 0x1008, 16);
	is_depth(&m, 0x1015, 16); /* what the call returns to, less one */
	is_depth(&m, 0x1019, 16);
	is_depth(&m, 0x101a, 8);
	drop(&m);
	elf_builder_deinit(&elf);
}

static void knows_what_calls_destructors(void **state)
{
	struct made m;
	make_text(&m,
		  PROGRAM(0xf3, 0x0f, 0x1e, 0xfa, 0x80, 0x3d, 1, 2, 3, 4, 0, 0x75, 0x2b, 0x55, 0x48,
			  0x83, 0x3d, 1, 2, 3, 4, 0, 0x48, 0x89, 0xe5, 0x74, 0x0c, 0x48, 0x8b, 0x3d,
			  1, 2, 3, 4, 0xe8, 1, 2, 3, 4, 0xe8, 1, 2, 3, 4, 0xc6, 0x05, 1, 2, 3, 4, 1,
			  0x5d, 0xc3, 0x0f, 0x1f, 0, 0xc3),
		  0x1100);
	is_kind(&m, 0x10ff, UNWIND_NO_RULE);
	is_depth(&m, 0x1100, 8);
	is_depth(&m, 0x110d, 8);
	is_depth(&m, 0x110e, 16);
	assert_int_equal(rule_at(&m, 0x1126).saved[0], -2);
	is_depth(&m, 0x1133, 16);
	is_depth(&m, 0x1134, 8);
	is_depth(&m, 0x1138, 8);
	is_kind(&m, 0x1139, UNWIND_NO_RULE);
	drop(&m);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void a_damaged_program_costs_the_rest_of_its_function(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t n;
	} damaged[] = {
		{{DW_CFA_restore_state}, 1},
		{{0x3f}, 1},
		{{DW_CFA_def_cfa_offset}, 1},
		{{DW_CFA_def_cfa_expression, 100, 0}, 3},
		{{DW_CFA_advance_loc4, 1}, 2},
		{{DW_CFA_def_cfa_offset, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 12},
		{{DW_CFA_set_loc, 0, 0x88, 0xff, 0xff}, 5}, /* backwards */
		{{DW_CFA_AARCH64_negate_ra_state}, 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		struct cfi_builder b = {.address = FRAMES_ADDRESS};
		struct made m;
		uint8_t program[24] = {DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 32,
				       DW_CFA_advance_loc | 4};
		memcpy(program + 4, damaged[i].bytes, damaged[i].n);
		/* No room for the padding that would be read as operands. */
		size_t n = 4 + damaged[i].n;
		uint32_t cie = cfi_builder_cie(&b, &usual_cie);
		while ((b.out.n + 17 + n) % 8)
			memmove(program + 1, program, n), program[0] = DW_CFA_nop, n++;
		cfi_builder_fde(&b, cie, 0x1000, 0x10, program, n);
		cfi_builder_fde(&b, cie, 0x1010, 0x10, NULL, 0);
		make(&m, cfi_builder_program(&b, NULL));
		is_depth(&m, 0x1003, 8);
		is_depth(&m, 0x1004, 32);
		is_kind(&m, 0x1008, UNWIND_UNSUPPORTED);
		is_kind(&m, 0x100f, UNWIND_UNSUPPORTED);
		is_depth(&m, 0x1010, 8);
		assert_int_equal(m.result.n_damaged, 1);
		drop(&m);
	}
}

static void an_entry_with_a_wrong_length_ends_the_section(void **state)
{
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	cfi_builder_fde(&b, cie, 0x1000, 0x10, NULL, 0);
	uint32_t bad = cfi_builder_fde(&b, cie, 0x1010, 0x10, NULL, 0);
	memset(b.out.data + bad, 0xee, 4);
	make(&m, cfi_builder_program(&b, NULL));
	is_depth(&m, 0x1000, 8);
	is_kind(&m, 0x1010, UNWIND_NO_RULE);
	assert_int_equal(m.result.n_damaged, 1);
	drop(&m);
}

static void a_wrong_cie_costs_its_functions(void **state)
{
	struct builder_cie wrong[6] = {usual_cie, usual_cie, usual_cie,
				       usual_cie, usual_cie, usual_cie};
	wrong[0].version = 9;
	wrong[1].augmentation = "armcc+"; /* unknown, and nothing says how long its data are */
	wrong[2].code_align = 0;
	wrong[3].return_register = 77;
	wrong[4].program = (const uint8_t[]){DW_CFA_restore | 3, 0, 0, 0, 0};
	wrong[5].augmentation_data = (const uint8_t[]){DW_EH_PE_indirect | DW_EH_PE_sdata4};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct cfi_builder b = {.address = FRAMES_ADDRESS};
		struct made m;
		uint32_t right = cfi_builder_cie(&b, &usual_cie);
		cfi_builder_fde(&b, right, 0x1000, 0x10, NULL, 0);
		cfi_builder_fde(&b, cfi_builder_cie(&b, &wrong[i]), 0x1010, 0x10, NULL, 0);
		make(&m, cfi_builder_program(&b, NULL));
		is_depth(&m, 0x1000, 8);
		is_kind(&m, 0x1010, UNWIND_NO_RULE);
		assert_int_equal(m.result.n_damaged, 1);
		drop(&m);
	}
}

static void an_fde_that_names_no_cie_is_left_out(void **state)
{
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct made m;
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	uint32_t fde = cfi_builder_fde(&b, cie, 0x1000, 0x10, NULL, 0);
	cfi_builder_fde(&b, fde, 0x1010, 0x10, NULL, 0);	/* an FDE */
	cfi_builder_fde(&b, cie + 3, 0x1020, 0x10, NULL, 0);	/* the middle of something */
	cfi_builder_fde(&b, 0x70000000, 0x1030, 0x10, NULL, 0); /* outside */
	make(&m, cfi_builder_program(&b, NULL));
	is_depth(&m, 0x1000, 8);
	is_kind(&m, 0x1010, UNWIND_NO_RULE);
	assert_int_equal(m.result.n_damaged, 3);
	drop(&m);
}

static void refuses_what_it_makes_no_tables_of(void **state)
{
	struct made m;
	struct elf_builder elf = without_entry();
	elf_builder_text(&elf, TEXT_ADDRESS, TEXT_SIZE);
	assert_int_equal(make_with(&m, elf_builder_fd(&elf), NULL, 0), -ENODATA);
	elf.machine = EM_386;
	elf.is32 = true;
	assert_int_equal(make_with(&m, elf_builder_fd(&elf), NULL, 0), -ENOTSUP);
	elf_builder_deinit(&elf);
	assert_int_equal(make_with(&m, memory_file("#!/bin/sh", 9), NULL, 0), -EBADMSG);
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	buffer_u64(&b.out, 0xeeeeeeee);
	assert_int_equal(make_with(&m, cfi_builder_program(&b, NULL), NULL, 0), -EBADMSG);
}

static void survives_a_file_cut_at_any_byte(void **state)
{
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	uint32_t cie = cfi_builder_cie(&b, &usual_cie);
	cfi_builder_fde(&b, cie, 0x1000, 0x40, push_rbp, sizeof push_rbp);
	_cleanup_close_ int fd = cfi_builder_program(&b, NULL);
	off_t size = lseek(fd, 0, SEEK_END);
	_cleanup_free_ uint8_t *bytes = malloc((size_t)size);
	assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
	for (off_t n = 0; n < size; n += n < 512 || n > size - 1024 ? 1 : 61) {
		struct made m;
		if (make_with(&m, memory_file(bytes, (size_t)n), NULL, 0) == 0)
			drop(&m);
	}
}

/* ---- aarch64 --------------------------------------------------------------------------------- */

static void follows_a_function_of_aarch64(void **state)
{
	struct elf_builder elf = without_entry();
	struct cfi_builder b = {.address = FRAMES_ADDRESS};
	struct builder_cie cie = usual_cie;
	struct made m;
	cie.code_align = 4;
	cie.return_register = 30;
	cie.program = (const uint8_t[]){DW_CFA_def_cfa, 31, 0, DW_CFA_nop, DW_CFA_nop};
	/* paciasp; stp x29, x30, [sp, -32]!; mov x29, sp */
	cfi_builder_fde(&b, cfi_builder_cie(&b, &cie), 0x1000, 0x40,
			PROGRAM(DW_CFA_advance_loc | 1, DW_CFA_AARCH64_negate_ra_state,
				DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 32,
				DW_CFA_offset | 29, 4, DW_CFA_offset | 30, 3,
				DW_CFA_advance_loc | 1, DW_CFA_def_cfa_register, 29));
	elf.machine = EM_AARCH64;
	elf_builder_text(&elf, TEXT_ADDRESS, TEXT_SIZE);
	cfi_builder_section(&b, &elf);
	make(&m, elf_builder_fd(&elf));
	struct unwind_rule rule = rule_at(&m, 0x1000);
	assert_int_equal(rule.kind, UNWIND_RULE);
	assert_int_equal(rule.cfa_register, 31);
	assert_int_equal(rule.return_in, UNWIND_RETURN_REGISTER);
	assert_int_equal(rule.return_register, 30);
	assert_int_equal(rule.flags, 0);
	assert_int_equal(rule_at(&m, 0x1004).flags, UNWIND_RULE_SIGNED);
	rule = rule_at(&m, 0x100c);
	assert_int_equal(rule.cfa_register, 29);
	assert_int_equal(rule.cfa_offset, 32);
	assert_int_equal(rule.return_at, -3);
	assert_int_equal(rule.saved[0], -4);
	assert_int_equal(rule.flags, UNWIND_RULE_SIGNED);
	drop(&m);
	elf_builder_deinit(&elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_a_function_from_its_first_to_its_last_instruction),
		cmocka_unit_test(has_no_rule_before_between_and_behind_functions),
		cmocka_unit_test(goes_back_to_a_state_that_was_remembered),
		cmocka_unit_test(reads_every_instruction_that_advances_or_defines),
		cmocka_unit_test(knows_the_bottom_of_the_stack),
		cmocka_unit_test(takes_a_return_address_from_a_register),
		cmocka_unit_test(expresses_a_realigned_stack),
		cmocka_unit_test(expresses_a_base_kept_on_the_stack),
		cmocka_unit_test(a_register_ends_an_expression),
		cmocka_unit_test(expresses_what_linkers_write_for_the_plt),
		cmocka_unit_test(recognizes_the_kernels_signal_frame),
		cmocka_unit_test(says_what_it_cannot_express),
		cmocka_unit_test(reads_every_encoding_of_addresses),
		cmocka_unit_test(reads_every_version_and_augmentation),
		cmocka_unit_test(reads_debug_frame_of_every_version_in_32_and_64_bits),
		cmocka_unit_test(a_separate_debug_file_fills_what_eh_frame_leaves_free),
		cmocka_unit_test(finds_eh_frame_by_its_header_without_section_headers),
		cmocka_unit_test(goes_on_behind_an_end_in_the_middle),
		cmocka_unit_test(rows_are_offsets_of_the_file_in_each_executable_segment),
		cmocka_unit_test(of_functions_that_overlap_each_ends_where_the_next_begins),
		cmocka_unit_test(knows_the_return_of_signal_handlers_by_its_bytes),
		cmocka_unit_test(knows_where_clone3_returns_in_two_threads),
		cmocka_unit_test(the_code_at_the_entry_is_the_bottom),
		cmocka_unit_test(a_function_with_rules_that_looks_like_one_keeps_them),
		cmocka_unit_test(walks_code_full_of_frame_pointers_by_them),
		cmocka_unit_test(reads_the_depth_of_stubs_that_have_no_rules),
		cmocka_unit_test(reads_the_depth_of_init),
		cmocka_unit_test(knows_what_calls_destructors),
		cmocka_unit_test(a_damaged_program_costs_the_rest_of_its_function),
		cmocka_unit_test(an_entry_with_a_wrong_length_ends_the_section),
		cmocka_unit_test(a_wrong_cie_costs_its_functions),
		cmocka_unit_test(an_fde_that_names_no_cie_is_left_out),
		cmocka_unit_test(refuses_what_it_makes_no_tables_of),
		cmocka_unit_test(survives_a_file_cut_at_any_byte),
		cmocka_unit_test(follows_a_function_of_aarch64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
