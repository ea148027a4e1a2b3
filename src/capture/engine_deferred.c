/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bpf/records.h" /* types that the skeleton uses */
#include "bpf/deferred.skel.h"
#include "capture/engine.h"
#include "capture/kernel_btf.h"

static const void *object(size_t *ret_size)
{
	return deferred_bpf__elf_bytes(ret_size);
}

static bool is_offered(void)
{
	return kernel_btf_has_function("bpf_task_work_schedule_resume_impl");
}

const struct engine engine_deferred = {"deferred", object, is_offered, true, true};
