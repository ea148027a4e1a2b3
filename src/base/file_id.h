/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_FILE_ID_H
#define BASE_FILE_ID_H

#include <mapwright/mapwright.h>

uint64_t file_id_hash(const struct mw_file_id *id);

#endif
