/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Addresses from the command line, a file or standard input, as they come: what is there is handed out
 * before more is waited for, so that a program may ask and read answers in turn.
 *
 *	0x1149		hexadecimal, as addr2line takes it: with or without 0x
 */
#ifndef CLI_ADDRESS_INPUT_H
#define CLI_ADDRESS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_input {
	char *const *argv; /* addresses; NULL: from the descriptor */
	int fd;
	const char *name; /* of the input, for messages */
	bool is_lenient;  /* what is no address is 0, without a word, as for addr2line */
	uint64_t line;
	uint64_t n_bad;   /* lines that were no addresses */
	bool at_end;
	size_t start, n;  /* what is read and not handed out */
	char buffer[1 << 16];
};

/* 0, or -EINVAL: not a hexadecimal number of 64 bits. */
int address_parse(const char *text, uint64_t *ret);
/*
 * Up to max addresses; how many, 0 at the end, or -errno of reading. Lines that are no addresses are
 * told on standard error, counted and left out.
 */
long address_input_next(struct address_input *input, uint64_t *ret, size_t max);

#endif
