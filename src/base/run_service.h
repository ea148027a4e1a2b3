/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_RUN_SERVICE_H
#define BASE_RUN_SERVICE_H

#include "base/run.h"

/* The fork server itself, in a process of its own: serves requests from the socket until it hangs
 * up. */
_Noreturn void run_service_main(const struct run_job *jobs, int socket, pid_t parent);

#endif
