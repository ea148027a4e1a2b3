/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The registers with which a task left user space, or with which a sample found it there: both lie at
 * the same place, where the kernel keeps them while it runs for the task.
 */
#ifndef BPF_USER_REGISTERS_H
#define BPF_USER_REGISTERS_H

#include "kernel.h"
#include "unwind_table.h"

#if defined(__TARGET_ARCH_arm64)
#define WALK_MACHINE	 UNWIND_MACHINE_AARCH64
#define USER_REGISTERS_N 33 /* x0 to x30, sp, pc: the first of struct user_pt_regs */
#define USER_REGISTER_IP 32
#define USER_REGISTER_SP 31
#else
#define WALK_MACHINE	 UNWIND_MACHINE_X86_64
#define USER_REGISTERS_N 21 /* struct pt_regs */
#define USER_REGISTER_IP 16
#define USER_REGISTER_CS 17
#define USER_REGISTER_SP 19
#define CS_32_BIT	 0x23
#endif

/* As the kernel has them. */
struct user_registers {
	__u64 words[USER_REGISTERS_N];
};

static __always_inline int read_user_registers(struct task_struct *task, struct user_registers *ret)
{
	return bpf_probe_read_kernel(ret, sizeof *ret, (void *)bpf_task_pt_regs(task));
}

static __always_inline bool is_32_bit(const struct user_registers *r)
{
#ifdef USER_REGISTER_CS
	return r->words[USER_REGISTER_CS] == CS_32_BIT;
#else
	return false;
#endif
}

#endif
