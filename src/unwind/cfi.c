/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/cfi.h"

#include "base/cleanup.h"
#include "unwind/dwarf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Real ones have some dozen bytes. */
#define CIE_SIZE_MAX 4096
/* So many are kept; a file with more makes them be read again. */
#define CIES_MAX 65536
/* Of DW_CFA_remember_state; compilers use one. */
#define REMEMBERED_MAX 16

void cfi_deinit(struct cfi *cfi)
{
	vec_deinit(&cfi->cies);
	hash_index_deinit(&cfi->index);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static uint64_t read_pointer_value(struct cursor *c, uint8_t encoding, bool is64)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
		return is64 ? cursor_u64(c) : cursor_u32(c);
	case DW_EH_PE_uleb128:
		return cursor_uleb(c);
	case DW_EH_PE_udata2:
		return cursor_u16(c);
	case DW_EH_PE_udata4:
		return cursor_u32(c);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor_u64(c);
	case DW_EH_PE_sleb128:
		return (uint64_t)cursor_sleb(c);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(c);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)cursor_u32(c);
	default:
		c->failed = true;
		return 0;
	}
}

uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, bool is64, uint64_t address,
		     uint64_t text_base, uint64_t data_base, uint64_t function)
{
	if (encoding == DW_EH_PE_omit)
		return 0;
	uint64_t base = 0;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		base = address + cursor_offset(c);
		break;
	case DW_EH_PE_textrel:
		base = text_base;
		break;
	case DW_EH_PE_datarel:
		base = data_base;
		break;
	case DW_EH_PE_funcrel:
		base = function;
		break;
	case DW_EH_PE_aligned:
		cursor_bytes(c, -(address + cursor_offset(c)) & (is64 ? 7 : 3));
		encoding = DW_EH_PE_absptr;
		break;
	default:
		c->failed = true;
	}
	uint64_t value = base + read_pointer_value(c, encoding, is64);
	return is64 ? value : (uint32_t)value;
}

static uint64_t read_address(const struct cfi *cfi, struct cursor *c, uint8_t encoding,
			     uint64_t function)
{
	return cfi_pointer(c, encoding, cfi->is64, cfi->address, cfi->text_base, cfi->data_base,
			   function);
}

/* ---- entries --------------------------------------------------------------------------------- */

struct entry {
	uint32_t offset;
	bool is_cie;
	uint64_t cie_offset; /* of an FDE */
	uint32_t body;	     /* offset of what follows the CIE pointer */
	uint32_t end;
	bool is_dwarf64;
};

static struct cursor cursor_of(const struct cfi *cfi, uint32_t from, uint32_t to)
{
	struct cursor c = cfi->bytes;
	c.failed = false;
	c.at = c.start + from;
	c.end = c.start + to;
	return c;
}

/* What all entries begin with. 1, 0: an entry of length 0, -EBADMSG: it does not lie in the
 * section. */
static int read_entry(const struct cfi *cfi, uint64_t offset, struct entry *ret)
{
	struct cursor c = cfi->bytes;
	c.failed = false;
	cursor_seek(&c, offset);
	*ret = (struct entry){.offset = (uint32_t)offset};
	uint64_t length = cursor_u32(&c);
	if (!length && cursor_ok(&c))
		return 0;
	if (length == UINT32_MAX) {
		ret->is_dwarf64 = true;
		length = cursor_u64(&c);
	}
	size_t start = cursor_offset(&c);
	if (!cursor_ok(&c) || length > cursor_left(&c))
		return -EBADMSG;
	ret->end = (uint32_t)(start + length);
	c = cursor_of(cfi, (uint32_t)start, ret->end);
	/* .eh_frame has 32 bits there whatever the length has. */
	bool is_wide = ret->is_dwarf64 && cfi->is_debug_frame;
	uint64_t id = is_wide ? cursor_u64(&c) : cursor_u32(&c);
	ret->body = (uint32_t)cursor_offset(&c);
	if (cfi->is_debug_frame) {
		ret->is_cie = id == (is_wide ? UINT64_MAX : UINT32_MAX);
		ret->cie_offset = id;
	} else {
		ret->is_cie = id == 0;
		ret->cie_offset = start - id;
	}
	return cursor_ok(&c) ? 1 : -EBADMSG;
}

static int run_program(const struct cfi *cfi, const struct cfi_cie *cie, struct cfi_bytes program,
		       struct cfi_state *state, const struct cfi_fde *fde, cfi_state_fn fn,
		       void *data);

/*
 * The letters of the augmentation after "z"; one that is not known ends them: "z" has the length.
 */
static void read_augmentation(const struct cfi *cfi, struct cfi_cie *cie, const char *letters,
			      struct cursor *c)
{
	for (; *letters && cursor_ok(c); letters++) {
		switch (*letters) {
		case 'R':
			cie->pointers = cursor_u8(c);
			break;
		case 'P': /* the personality: its size alone matters here */
			read_address(cfi, c, cursor_u8(c), 0);
			break;
		case 'L':
			cursor_u8(c);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* aarch64: signed with the other key */
		case 'G': /* memory tagging */
			break;
		default:
			return;
		}
	}
}

/* True if the header was understood, so that what it says of FDEs is right. */
static bool read_cie_header(const struct cfi *cfi, struct cfi_cie *cie, struct cursor *c)
{
	uint8_t version = cursor_u8(c);
	const char *letters = cursor_string(c);
	if (!letters || (version != 1 && version != 3 && version != 4))
		return false;
	if (strcmp(letters, "eh") == 0) { /* gcc 2: a pointer that nobody needs */
		read_pointer_value(c, DW_EH_PE_absptr, cfi->is64);
		letters += 2;
	}
	if (version >= 4) {
		cie->address_size = cursor_u8(c);
		cie->segment_size = cursor_u8(c);
	}
	cie->code_align = cursor_uleb(c);
	cie->data_align = cursor_sleb(c);
	cie->return_register = version == 1 ? cursor_u8(c) : cursor_uleb(c);
	if (letters[0] == 'z') {
		cie->has_augmentation = true;
		uint64_t size = cursor_uleb(c);
		struct cursor data = *c;
		if (!cursor_bytes(c, size))
			return false;
		data.end = c->at;
		read_augmentation(cfi, cie, letters + 1, &data);
		return cursor_ok(&data);
	}
	/* Without "z" an unknown letter could mean anything. */
	read_augmentation(cfi, cie, letters, c);
	return strspn(letters, "RPLSBG") == strlen(letters);
}

static bool is_usable(const struct cfi *cfi, const struct cfi_cie *cie)
{
	if (cie->segment_size || cie->return_register >= CFI_N_REGISTERS)
		return false;
	if (cie->address_size && cie->address_size != (cfi->is64 ? 8 : 4))
		return false;
	return cie->code_align > 0 && cie->code_align <= 64 && cie->data_align >= -64 &&
	       cie->data_align <= 64;
}

static void read_cie(const struct cfi *cfi, uint64_t offset, struct cfi_cie *ret)
{
	struct entry entry;
	*ret = (struct cfi_cie){.offset = (uint32_t)offset, .is_damaged = true};
	if (read_entry(cfi, offset, &entry) != 1 || !entry.is_cie ||
	    entry.end - entry.offset > CIE_SIZE_MAX)
		return;
	struct cursor c = cursor_of(cfi, entry.body, entry.end);
	if (!read_cie_header(cfi, ret, &c) || !cursor_ok(&c) || !is_usable(cfi, ret))
		return;
	ret->program.offset = (uint32_t)cursor_offset(&c);
	ret->program.size = (uint32_t)cursor_left(&c);
	ret->is_damaged = run_program(cfi, ret, ret->program, &ret->state, NULL, NULL, NULL) < 0;
}

static bool is_cie_at(const void *context, uint32_t number, const void *key)
{
	const struct cfi *cfi = context;
	return cfi->cies.items[number].offset == *(const uint32_t *)key;
}

/* The number of the CIE at an offset, whatever is there. Negative: -ENOMEM. */
static int find_cie(struct cfi *cfi, uint64_t offset, uint32_t *ret)
{
	if (offset > UINT32_MAX)
		offset = UINT32_MAX; /* behind every section: damaged */
	uint32_t key = (uint32_t)offset;
	if (cfi->cies.n && cfi->cies.items[cfi->cies.n - 1].offset == key) {
		*ret = (uint32_t)cfi->cies.n - 1;
		return 0;
	}
	*ret = hash_index_find(&cfi->index, hash_u64(key), is_cie_at, cfi, &key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (cfi->cies.n >= CIES_MAX) {
		cfi->cies.n = 0;
		hash_index_deinit(&cfi->index);
		cfi->index = (struct hash_index){};
	}
	*ret = (uint32_t)cfi->cies.n;
	if (vec_reserve(&cfi->cies, cfi->cies.n + 1) < 0 ||
	    hash_index_add(&cfi->index, hash_u64(key), *ret) < 0)
		return -ENOMEM;
	read_cie(cfi, offset, &cfi->cies.items[cfi->cies.n++]);
	return 0;
}

/* 1, 0: it covers nothing, -EBADMSG, -ENOMEM. */
static int read_fde(struct cfi *cfi, const struct entry *entry, struct cfi_fde *ret)
{
	*ret = (struct cfi_fde){.offset = entry->offset};
	int r = find_cie(cfi, entry->cie_offset, &ret->cie);
	if (r < 0)
		return r;
	const struct cfi_cie *cie = &cfi->cies.items[ret->cie];
	if (cie->is_damaged)
		return -EBADMSG;
	struct cursor c = cursor_of(cfi, entry->body, entry->end);
	ret->begin = read_address(cfi, &c, cie->pointers, 0);
	uint64_t size = read_pointer_value(&c, cie->pointers, cfi->is64);
	if (cie->has_augmentation)
		cursor_bytes(&c, cursor_uleb(&c));
	if (!cursor_ok(&c) || cie->pointers & DW_EH_PE_indirect ||
	    __builtin_add_overflow(ret->begin, size, &ret->end))
		return -EBADMSG;
	ret->program.offset = (uint32_t)cursor_offset(&c);
	ret->program.size = (uint32_t)cursor_left(&c);
	return size > 0;
}

int cfi_read(struct cfi *cfi, uint32_t offset, struct cfi_fde *ret)
{
	struct entry entry;
	int r = read_entry(cfi, offset, &entry);
	if (r == 1 && !entry.is_cie)
		r = read_fde(cfi, &entry, ret);
	return r == 0 ? -EBADMSG : r;
}

int cfi_next(struct cfi *cfi, struct cfi_fde *ret)
{
	while (cursor_left(&cfi->bytes) >= 4) {
		struct entry entry;
		int r = read_entry(cfi, cursor_offset(&cfi->bytes), &entry);
		if (r == 0 && cfi->stops_at_terminator)
			return 0;
		if (r == 0) { /* crtend.o is not always the last object */
			cursor_bytes(&cfi->bytes, 4);
			continue;
		}
		if (r < 0) { /* nobody knows where the next one starts */
			cfi->n_damaged++;
			return 0;
		}
		cursor_seek(&cfi->bytes, entry.end);
		if (entry.is_cie)
			continue;
		r = read_fde(cfi, &entry, ret);
		if (r == 1 || r == -ENOMEM)
			return r;
		cfi->n_damaged += r < 0;
	}
	return 0;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* One run. Without an FDE it is the program of the CIE itself, which has no places. */
struct run {
	const struct cfi *cfi;
	const struct cfi_cie *cie;
	const struct cfi_fde *fde;
	struct cursor c;
	struct cfi_state *state;
	struct cfi_state *remembered; /* REMEMBERED_MAX of them, made at the first use; owned */
	uint32_t n_remembered;
	uint64_t location;
	cfi_state_fn fn;
	void *data;
};

/* On to a place: what was before it has the state until now. 1: the function ends there. */
static int move_to(struct run *run, uint64_t location)
{
	if (!run->fde || location < run->location)
		return -EBADMSG;
	if (location == run->location)
		return 0;
	uint64_t end = MIN(location, run->fde->end);
	int r = run->fn(run->data, run->location, end, run->state);
	run->location = end;
	return r < 0 ? r : end == run->fde->end;
}

static int advance(struct run *run, uint64_t delta)
{
	uint64_t location;
	if (__builtin_mul_overflow(delta, run->cie->code_align, &delta) ||
	    __builtin_add_overflow(run->location, delta, &location))
		return -EBADMSG;
	return move_to(run, location);
}

static void set_register(struct run *run, uint64_t number, enum cfi_where where, int64_t value)
{
	if (number >= CFI_N_REGISTERS)
		return;
	run->state->where[number] = (uint8_t)where;
	run->state->value[number].number = value;
}

static struct cfi_value read_expression(struct run *run)
{
	uint64_t size = cursor_uleb(&run->c);
	struct cfi_value value = {
		.expression = {.offset = (uint32_t)cursor_offset(&run->c), .size = (uint32_t)size}};
	cursor_bytes(&run->c, size);
	return value;
}

static void set_expression(struct run *run, uint64_t number, enum cfi_where where)
{
	struct cfi_value value = read_expression(run);
	if (number >= CFI_N_REGISTERS)
		return;
	run->state->where[number] = (uint8_t)where;
	run->state->value[number] = value;
}

/* Offsets wrap as they may: they are checked when they become rules. */
static int64_t factored(const struct run *run, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)run->cie->data_align);
}

static int restore(struct run *run, uint64_t number)
{
	if (!run->fde) /* there is no first state yet */
		return -EBADMSG;
	if (number < CFI_N_REGISTERS) {
		run->state->where[number] = run->cie->state.where[number];
		run->state->value[number] = run->cie->state.value[number];
	}
	return 0;
}

static int remember(struct run *run)
{
	if (!run->remembered)
		run->remembered = malloc(REMEMBERED_MAX * sizeof *run->remembered);
	if (!run->remembered)
		return -ENOMEM;
	if (run->n_remembered == REMEMBERED_MAX)
		return -EBADMSG;
	run->remembered[run->n_remembered++] = *run->state;
	return 0;
}

static int recall(struct run *run)
{
	if (!run->n_remembered)
		return -EBADMSG;
	*run->state = run->remembered[--run->n_remembered];
	return 0;
}

static void define_cfa(struct run *run, uint64_t number, int64_t offset)
{
	run->state->cfa_is_expression = false;
	run->state->cfa_register = number;
	run->state->cfa_offset = offset;
}

/* Those that change the CFA. 0, or -ENOENT if it is another one. */
static int run_cfa(struct run *run, uint8_t opcode)
{
	struct cursor *c = &run->c;
	struct cfi_state *state = run->state;
	uint64_t number;
	switch (opcode) {
	case DW_CFA_def_cfa:
		number = cursor_uleb(c);
		define_cfa(run, number, (int64_t)cursor_uleb(c));
		return 0;
	case DW_CFA_def_cfa_sf:
		number = cursor_uleb(c);
		define_cfa(run, number, factored(run, (uint64_t)cursor_sleb(c)));
		return 0;
	case DW_CFA_def_cfa_register: /* also the end of an expression, as libgcc takes it */
		define_cfa(run, cursor_uleb(c), state->cfa_offset);
		return 0;
	case DW_CFA_def_cfa_offset:
		state->cfa_offset = (int64_t)cursor_uleb(c);
		return 0;
	case DW_CFA_def_cfa_offset_sf:
		state->cfa_offset = factored(run, (uint64_t)cursor_sleb(c));
		return 0;
	case DW_CFA_def_cfa_expression:
		state->cfa_is_expression = true;
		state->cfa_expression = read_expression(run).expression;
		return 0;
	default:
		return -ENOENT;
	}
}

/* Those that change one register. */
static int run_register(struct run *run, uint8_t opcode)
{
	struct cursor *c = &run->c;
	uint64_t number = cursor_uleb(c);
	switch (opcode) {
	case DW_CFA_offset_extended:
		set_register(run, number, CFI_OFFSET, factored(run, cursor_uleb(c)));
		return 0;
	case DW_CFA_offset_extended_sf:
		set_register(run, number, CFI_OFFSET, factored(run, (uint64_t)cursor_sleb(c)));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		set_register(run, number, CFI_OFFSET, -factored(run, cursor_uleb(c)));
		return 0;
	case DW_CFA_val_offset:
		set_register(run, number, CFI_VAL_OFFSET, factored(run, cursor_uleb(c)));
		return 0;
	case DW_CFA_val_offset_sf:
		set_register(run, number, CFI_VAL_OFFSET, factored(run, (uint64_t)cursor_sleb(c)));
		return 0;
	case DW_CFA_restore_extended:
		return restore(run, number);
	case DW_CFA_undefined:
		set_register(run, number, CFI_UNDEFINED, 0);
		return 0;
	case DW_CFA_same_value:
		set_register(run, number, CFI_SAME, 0);
		return 0;
	case DW_CFA_register:
		set_register(run, number, CFI_REGISTER, (int64_t)cursor_uleb(c));
		return 0;
	case DW_CFA_expression:
		set_expression(run, number, CFI_EXPRESSION);
		return 0;
	case DW_CFA_val_expression:
		set_expression(run, number, CFI_VAL_EXPRESSION);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int run_extended(struct run *run, uint8_t opcode)
{
	struct cursor *c = &run->c;
	bool is_aarch64 = run->cfi->machine == EM_AARCH64;
	switch (opcode) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		return move_to(run, read_address(run->cfi, c, run->cie->pointers,
						 run->fde ? run->fde->begin : 0));
	case DW_CFA_advance_loc1:
		return advance(run, cursor_u8(c));
	case DW_CFA_advance_loc2:
		return advance(run, cursor_u16(c));
	case DW_CFA_advance_loc4:
		return advance(run, cursor_u32(c));
	case DW_CFA_MIPS_advance_loc8:
		return advance(run, cursor_u64(c));
	case DW_CFA_remember_state:
		return remember(run);
	case DW_CFA_restore_state:
		return recall(run);
	case DW_CFA_GNU_args_size:
		cursor_uleb(c);
		return 0;
	case DW_CFA_AARCH64_negate_ra_state:
	case DW_CFA_AARCH64_negate_ra_state_with_pc:
		run->state->is_signed ^= is_aarch64;
		return is_aarch64 ? 0 : -EBADMSG;
	default: {
		int r = run_cfa(run, opcode);
		return r == -ENOENT ? run_register(run, opcode) : r;
	}
	}
}

/* One instruction. 0, 1: the function's end is reached, or negative. */
static int run_one(struct run *run)
{
	uint8_t opcode = cursor_u8(&run->c);
	uint8_t operand = opcode & 0x3f;
	int r = 0;
	switch (opcode & 0xc0) {
	case DW_CFA_advance_loc:
		r = advance(run, operand);
		break;
	case DW_CFA_offset:
		set_register(run, operand, CFI_OFFSET, factored(run, cursor_uleb(&run->c)));
		break;
	case DW_CFA_restore:
		r = restore(run, operand);
		break;
	default:
		r = run_extended(run, opcode);
	}
	return r < 0 || cursor_ok(&run->c) ? r : -EBADMSG;
}

static int run_program(const struct cfi *cfi, const struct cfi_cie *cie, struct cfi_bytes program,
		       struct cfi_state *state, const struct cfi_fde *fde, cfi_state_fn fn,
		       void *data)
{
	struct run run = {
		.cfi = cfi,
		.cie = cie,
		.fde = fde,
		.c = cursor_of(cfi, program.offset, program.offset + program.size),
		.state = state,
		.location = fde ? fde->begin : 0,
		.fn = fn,
		.data = data,
	};
	int r = 0;
	while (r == 0 && cursor_left(&run.c))
		r = run_one(&run);
	free(run.remembered);
	if (!fde || r == 1)
		return r;
	/* What is left has the last state, or none. */
	int rest = 0;
	if ((r == 0 || r == -EBADMSG) && run.location < fde->end)
		rest = fn(data, run.location, fde->end, r == 0 ? state : NULL);
	return rest < 0 ? rest : r;
}

int cfi_run(const struct cfi *cfi, const struct cfi_fde *fde, cfi_state_fn fn, void *data)
{
	const struct cfi_cie *cie = &cfi->cies.items[fde->cie];
	struct cfi_state state = cie->state;
	int r = run_program(cfi, cie, fde->program, &state, fde, fn, data);
	return r > 0 ? 0 : r;
}
