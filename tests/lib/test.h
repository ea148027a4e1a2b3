/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cmocka with the headers it wants before it. Tests are sentences: rejects_a_section_past_the_end. */
#ifndef TESTS_LIB_TEST_H
#define TESTS_LIB_TEST_H

#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
