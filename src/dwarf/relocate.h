/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Relocations of the debug sections of a relocatable object (.o, kernel module), for the machines
 * whose compilers leave such: absolute addresses, and the sums and differences of RISC-V and
 * LoongArch.
 */
#ifndef DWARF_RELOCATE_H
#define DWARF_RELOCATE_H

#include "dwarf/file.h"

/*
 * Applies them to the sections that were read. -EOPNOTSUPP: none of this machine's are known.
 * Single ones that are of another kind, or point out of their section, are left out.
 */
int dwarf_relocate(struct dwarf_file *file, struct mw_error *e);

#endif
