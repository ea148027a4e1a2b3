/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Holds the place of the recorder on the branch of the command line; the real one replaces it. */
#include "agent/recorder.h"

#include "base/error.h"

#include <errno.h>

int record_run(const struct record_options *options, struct mw_error *e)
{
	return error_set(e, -ENOSYS, "the recorder is not part of this build");
}
