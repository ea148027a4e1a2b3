/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/symbol_rank.h"

#include <elf.h>
#include <string.h>

#define COMPARED 256

/* glibc's own aliases of its public functions, for calls from inside. */
static bool is_glibc_internal(const char *name)
{
	return strncmp(name, "__GI_", 5) == 0;
}

uint8_t symbol_rank(const char *name, uint8_t type, uint8_t bind)
{
	if (is_glibc_internal(name))
		return SYMBOL_RANK_LABEL + 3;
	uint8_t kind = type == STT_FUNC ? 0 : type == STT_GNU_IFUNC ? 3 : SYMBOL_RANK_LABEL;
	uint8_t binding = bind == STB_LOCAL ? 2 : bind == STB_WEAK ? 1 : 0;
	return kind + binding;
}

bool symbol_rank_is_resolver(uint8_t rank)
{
	return rank >= 3 && rank < SYMBOL_RANK_LABEL;
}

/*
 * Mapping symbols tell where code and data begin inside a section: $a $t $d (ARM), $x $d (AArch64,
 * RISC-V, C-SKY), also "$d.17", and RISC-V's "$xrv64i2p0".
 */
static bool is_mapping_symbol(const char *name)
{
	if (name[0] != '$' || !name[1] || !strchr("adtxbfpm", name[1]))
		return false;
	return name[2] == '\0' || name[2] == '.' || strncmp(name, "$xrv", 4) == 0;
}

bool symbol_name_counts(const char *name, uint8_t type)
{
	if (name[0] == '\0' || strncmp(name, ".L", 2) == 0)
		return false;
	if (type != STT_NOTYPE)
		return true;
	return !is_mapping_symbol(name) && strncmp(name, ".annobin", 8) != 0;
}

static int underscores(const char *name)
{
	int n = 0;
	while (n < 8 && name[n] == '_')
		n++;
	return n;
}

int symbol_name_compare(const char *a, const char *b)
{
	if (a == b)
		return 0;
	int difference = underscores(a) - underscores(b);
	return difference ? difference : strncmp(a, b, COMPARED);
}
