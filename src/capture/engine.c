/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/engine.h"

#include "base/cleanup.h"

#include <bpf/btf.h>

static const struct engine *const engines[] = {
	&engine_deferred,
	&engine_immediate,
};

const struct engine *engine_choose(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		if (engines[i]->is_offered())
			return engines[i];
	}
	return NULL;
}
