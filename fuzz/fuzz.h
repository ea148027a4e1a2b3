/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a harness is: one function over bytes, which must return, whatever they are. It is linked
 * with libFuzzer (meson -Dfuzz=true), or with replay.c, which runs it over the kept corpus.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for any input. A failure is a finding. */
static inline void must(int holds)
{
	if (!holds)
		abort();
}

#endif
