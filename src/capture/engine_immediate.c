/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bpf/records.h" /* types that the skeleton uses */
#include "bpf/immediate.skel.h"
#include "capture/engine.h"
#include "capture/kernel_btf.h"

static const void *object(size_t *ret_size)
{
	return immediate_bpf__elf_bytes(ret_size);
}

/* What it needs is old, but for the cookie of a perf event (5.15), which has no name in BTF. */
static bool is_offered(void)
{
	return kernel_btf_has_member("task_struct", "self_exec_id");
}

const struct engine engine_immediate = {"immediate", object, is_offered, false, false};
