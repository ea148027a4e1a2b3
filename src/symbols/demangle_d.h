/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether libiberty's demangler of D names ends in a moment. It has no limits of its own: a name of
 * a hundred bytes can keep it busy for days, or take all memory, in three ways:
 *
 *   - A function type inside a qualified name is read on trial, and again where that failed: twice
 * for each level, _D1aFC1aFC1aFC1a...
 *   - A template argument that begins with a number of several digits is tried with each way to cut
 * it, level by level, __T1aS123...
 *   - Back references write again what they refer to, which may have back references: Q...
 *
 * So the work is estimated before, from above; names as compilers make them are far below the
 * limit.
 */
#ifndef SYMBOLS_DEMANGLE_D_H
#define SYMBOLS_DEMANGLE_D_H

#include <stdbool.h>
#include <stddef.h>

/* "_D" and an identifier: _D3std5stdio7writelnFAyaZv. */
bool demangle_is_d(const char *name);
bool demangle_d_is_cheap(const char *name, size_t length);

#endif
