/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The runtimes' files (JSON, LXC's config, flatpak's info): what the child makes of them, and what is
 * taken over from it. The first byte chooses the runtime, the second says which file is what; files are
 * divided by a record separator.
 */
#include "content/container.h"
#include "fuzz.h"
#include "memory_file.h"

#include <string.h>
#include <unistd.h>

#define ID	  "489ce0ef7fef0384916f24419f34f037f421877cabc9e9979571556b5398ea41"
#define LAYER	  "1e568543061703ff14c87a7e30b4dce563cc1a788a202b5016482b4532dbaf36"
#define SEPARATOR 0x1e

static size_t make_files(const uint8_t *data, size_t size, int *fds)
{
	size_t n = 0;
	while (n < CONTAINER_FILES_MAX) {
		const uint8_t *end = size ? memchr(data, SEPARATOR, size) : NULL;
		size_t length = end ? (size_t)(end - data) : size;
		fds[n++] = fuzz_memory_file(data, length);
		if (!end)
			break;
		data += length + 1;
		size -= length + 1;
	}
	return n;
}

/* What is taken over can be printed, compared and sent on. */
static void take(const struct container_answer *answer)
{
	struct container c = {};
	must(container_take_answer(&c, answer) >= 0);
	for (size_t i = 0; i < CONTAINER_N_TEXTS; i++) {
		const char *text = c.text[i];
		must(!text || (text[0] && strlen(text) < CONTAINER_TEXT_MAX));
		for (; text && *text; text++)
			must((uint8_t)*text >= ' ' && *text != 0x7f);
	}
	container_deinit(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	int fds[CONTAINER_FILES_MAX];
	struct container_question question = {.seed = 1, .family = data[0] % 12, .layer = LAYER};
	struct container_answer answer = {};
	struct mw_error e = {};
	if (data[1] & 0x80)
		strcpy(question.id, ID);
	for (unsigned i = 0; i < CONTAINER_FILES_MAX; i++)
		question.roles[i] = data[1] >> i & 1;
	size_t n = make_files(data + 2, size - 2, fds);
	question.n_files = (uint8_t)n;
	int r = container_read(&question, fds, n, &answer, &e);
	must(r >= 0 || e.msg[0] || e.code);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	take(&answer);
	return 0;
}
