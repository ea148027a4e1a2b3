/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <mapwright/mapwright.h>

#include "config.h"

const char *mw_version(void)
{
	return MAPWRIGHT_VERSION;
}
