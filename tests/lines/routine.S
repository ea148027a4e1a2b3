/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A function of which debug information has lines only. */
	.text
	.globl routine
	.type routine, @function
routine:
	nop
	nop
	ret
	.size routine, . - routine
	.section .note.GNU-stack, "", @progbits
