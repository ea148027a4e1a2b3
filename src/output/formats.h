/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What each format's file offers to the table of output.c. */
#ifndef OUTPUT_FORMATS_H
#define OUTPUT_FORMATS_H

#include "profile/profile.h"

#include <stdio.h>

int folded_write(const struct profile *p, FILE *out);
int json_write(const struct profile *p, FILE *out);

#endif
