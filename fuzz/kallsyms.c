/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel symbols from any text; the names found for its own addresses. */
#include "base/cleanup.h"
#include "fuzz.h"
#include "symbols/kernel.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernel_symbols *symbols = NULL;
	struct mw_error e = {};
	int r = kernel_symbols_parse((const char *)data, size, &symbols, &e);
	must(r <= 0 && e.code == r);
	if (r < 0)
		return 0;
	must(kernel_symbols_count(symbols) > 0);
	_cleanup_free_ char *text = strndup((const char *)data, size);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		struct kernel_symbol symbol;
		uint64_t address = strtoull(line, NULL, 16);
		if (!kernel_symbols_find(symbols, address, &symbol))
			continue;
		must(symbol.start <= address && address < symbol.end);
		must(symbol.end - symbol.start <= 1 << 20);
		must(strlen(symbol.name) < size && (!symbol.module || strlen(symbol.module) < size));
	}
	kernel_symbols_close(symbols);
	return 0;
}
