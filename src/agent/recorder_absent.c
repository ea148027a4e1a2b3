/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recorder of a build without BPF: everything but recording works there. */
#include "agent/recorder.h"

#include "base/error.h"

#include <errno.h>

int record_run(const struct record_options *options, struct mw_error *e)
{
	const struct record_listener *listener = options->listener;
	if (listener && listener->hint)
		listener->hint(listener->data, "build it with libbpf, clang and bpftool (-Dbpf=enabled)");
	return error_set(e, -EOPNOTSUPP, "this mapwright was built without recording");
}
