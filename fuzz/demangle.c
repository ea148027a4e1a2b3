/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of any kind, into buffers of any size. */
#include "base/cleanup.h"
#include "fuzz.h"

#include <mapwright/mapwright.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *name = strndup((const char *)data, size);
	static const size_t sizes[] = {0, 1, 16, 4096};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_free_ char *text = malloc(sizes[i] + 1);
		text[sizes[i]] = 'x';
		int r = mw_demangle(name, text, sizes[i]);
		must(r == 0 || r == 1);
		must(text[sizes[i]] == 'x');
		must(sizes[i] == 0 || strlen(text) < sizes[i]);
		must(r == 1 || sizes[i] == 0 || strncmp(text, name, sizes[i] - 1) == 0);
	}
	return 0;
}
