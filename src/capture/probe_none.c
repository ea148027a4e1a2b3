/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The features of a build without BPF: there is no recording. */
#include "capture/probe.h"

#include <errno.h>
#include <stdio.h>

static int probe(const struct log *log, char *detail, size_t size)
{
	snprintf(detail, size, "this build is without it");
	return -ENOSYS;
}

const struct feature capture_features[] = {
	{"bpf", "recording", "build with -Dbpf=enabled (libbpf, clang, bpftool)", true, probe},
	{},
};
