/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the running kernel's BTF says it has. Each question reads it anew: for probes, not for loops. */
#ifndef CAPTURE_KERNEL_BTF_H
#define CAPTURE_KERNEL_BTF_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_BTF_PATH "/sys/kernel/btf/vmlinux"

/* Its size in bytes, or -errno if there is none (-EBADMSG: what is there is none). */
int64_t kernel_btf_size(void);
bool kernel_btf_has_function(const char *name);
/* Members of unnamed structs inside count as the outer's. */
bool kernel_btf_has_member(const char *type, const char *member);

#endif
