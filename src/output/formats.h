/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The formats that there are; output.c lists them. */
#ifndef OUTPUT_FORMATS_H
#define OUTPUT_FORMATS_H

#include "output/output.h"

extern const struct output_format output_folded;
extern const struct output_format output_json;

#endif
