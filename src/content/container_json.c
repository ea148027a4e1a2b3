/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/container_json.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "content/host_files.h"

#include <errno.h>
#include <sys/stat.h>

/* Limits in OCI files are unsigned 64-bit numbers, which would be an error as integers. */
#define FLAGS JSON_DECODE_INT_AS_REAL

/* Jansson would open /dev/urandom for a seed of its own, and the sandbox kills for that. */
static void seed_tables(uint64_t seed)
{
	json_object_seed((size_t)(seed | 1));
}

json_t *container_json_load(int fd, uint64_t seed, struct mw_error *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || st.st_size < 0 || (uint64_t)st.st_size > HOST_FILE_MAX) {
		error_set(e, -EFBIG, "larger than any list of containers");
		return NULL;
	}
	_cleanup_free_ char *text = malloc((size_t)st.st_size + 1);
	ssize_t n = text ? io_pread(fd, text, (size_t)st.st_size, 0) : -ENOMEM;
	if (n < 0) {
		error_errno(e, (int)n, "cannot read");
		return NULL;
	}
	seed_tables(seed);
	json_error_t cause;
	json_t *json = json_loadb(text, (size_t)n, FLAGS, &cause);
	if (!json)
		error_at(e, -EBADMSG, (uint64_t)cause.position, "%s", cause.text);
	return json;
}

const char *container_json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

json_t *container_json_inner(const json_t *object, const char *key)
{
	const json_t *text = json_object_get(object, key);
	if (!json_is_string(text))
		return NULL;
	return json_loadb(json_string_value(text), json_string_length(text), FLAGS, NULL);
}
