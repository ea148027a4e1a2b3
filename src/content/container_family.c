/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the families of containers share. */
#include "content/container_family.h"

#include "base/io.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PASSWD_LIMIT ((size_t)4 << 20)

int container_set_text(struct container *c, enum container_text which, const char *text)
{
	int r = container_set(c, which, text, strlen(text));
	return r < 0 ? r : 1;
}

/* ---- names ----------------------------------------------------------------------------------- */

bool container_is_hex_id(const char *text, size_t n)
{
	return n == CONTAINER_HEX_ID && strspn(text, "0123456789abcdef") >= n;
}

size_t container_strip(const char *name, const char *prefix, const char *suffix, const char **ret)
{
	size_t n = strlen(name), before = strlen(prefix), after = strlen(suffix);
	if (n <= before + after || strncmp(name, prefix, before) != 0 ||
	    strcmp(name + n - after, suffix) != 0)
		return 0;
	*ret = name + before;
	return n - before - after;
}

int container_match_hex(struct container *c, const char *name, const char *prefix,
			const char *suffix)
{
	const char *id;
	size_t n = container_strip(name, prefix, suffix, &id);
	if (!n || !container_is_hex_id(id, n))
		return 0;
	return container_set(c, CONTAINER_ID, id, n) < 0 ? -ENOMEM : 1;
}

/* "kubepods-burstable-pod12ab_34.slice" or "pod12ab-34", with the uid of the pod. */
static size_t find_pod_uid(const char *name, const char **ret)
{
	const char *pods = strstr(name, "kubepods"), *pod = pods ? strstr(pods, "-pod") : NULL;
	if (pod) {
		*ret = pod + strlen("-pod");
		size_t n = strcspn(*ret, ".:");
		return n;
	}
	return container_strip(name, "pod", "", ret);
}

bool container_in_kubernetes(const struct cgroup_path *path, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (strstr(path->names[k], "kubepods"))
			return true;
	}
	return false;
}

int container_match_pod(struct container *c, const struct cgroup_path *path, size_t i)
{
	if (!container_in_kubernetes(path, i) && !strstr(path->names[i], "kubepods"))
		return 0;
	for (size_t k = i + 1; k-- > 0;) {
		const char *uid;
		size_t n = find_pod_uid(path->names[k], &uid);
		char text[80];
		if (!n || n >= sizeof text)
			continue;
		snprintf(text, sizeof text, "%.*s", (int)n, uid);
		for (char *at = text; (at = strchr(at, '_')) != NULL;) /* as systemd has dashes */
			*at = '-';
		return container_set_text(c, CONTAINER_POD, text);
	}
	return 0;
}

bool container_answer_kubernetes_name(struct container_answer *a, const char *name)
{
	static const enum container_text texts[] = {CONTAINER_NAME, CONTAINER_POD,
						    CONTAINER_NAMESPACE};
	if (strncmp(name, "k8s_", 4) != 0)
		return false;
	const char *at = name + 4;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t n = strcspn(at, "_");
		if (!n || at[n] != '_' || n >= CONTAINER_TEXT_MAX)
			return false;
		snprintf(a->text[texts[i]], CONTAINER_TEXT_MAX, "%.*s", (int)n, at);
		at += n + 1;
	}
	return true;
}

void container_answer_set(struct container_answer *a, enum container_text which, const char *text)
{
	if (text && text[0] && strlen(text) < CONTAINER_TEXT_MAX)
		strcpy(a->text[which], text);
}

/* ---- files ----------------------------------------------------------------------------------- */

bool container_files_add(struct container_files *files, uint8_t role, const char *format, ...)
{
	char path[4096];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(path, sizeof path, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof path || files->n == CONTAINER_FILES_MAX)
		return false;
	int fd = host_files_open(files->k->host, path);
	log_debug(files->k->host->log, "container: %s: %s", path, fd < 0 ? strerror(-fd) : "opened");
	if (fd < 0)
		return false;
	files->question->roles[files->n] = role;
	files->fds[files->n++] = fd;
	return true;
}

bool container_path_before(const char *path, const char *part, char *buf, size_t size)
{
	const char *at = strstr(path, part);
	if (path[0] != '/' || !at || (size_t)(at - path) >= size)
		return false;
	snprintf(buf, size, "%.*s", (int)(at - path), path);
	return true;
}

/* ---- users ----------------------------------------------------------------------------------- */

/* name:x:1000:1000:Full Name:/home/name:/bin/sh */
static bool read_passwd_line(char *line, uid_t user, char *buf, size_t size)
{
	char *rest = line, *fields[6] = {};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strsep(&rest, ":");
		if (!fields[i])
			return false;
	}
	char *end;
	unsigned long id = strtoul(fields[2], &end, 10);
	if (end == fields[2] || *end || id != user || fields[5][0] != '/')
		return false;
	return snprintf(buf, size, "%s", fields[5]) < (int)size;
}

bool container_home_of(const struct container_clues *k, uid_t user, char *buf, size_t size)
{
	_cleanup_close_ int fd = host_files_open(k->host, "/etc/passwd");
	_cleanup_free_ char *text = malloc(PASSWD_LIMIT);
	ssize_t n = fd >= 0 && text ? io_pread(fd, text, PASSWD_LIMIT - 1, 0) : -1;
	if (n < 0)
		return false;
	text[n] = '\0';
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		if (read_passwd_line(line, user, buf, size))
			return true;
	}
	return false;
}

uid_t container_user_of(const struct container_clues *k)
{
	for (size_t i = 0; i < k->n_paths; i++) {
		for (size_t c = 0; c < k->paths[i].n; c++) {
			const char *digits, *name = k->paths[i].names[c];
			char *end;
			size_t n = container_strip(name, "user-", ".slice", &digits);
			if (!n)
				n = container_strip(name, "user@", ".service", &digits);
			unsigned long id = n ? strtoul(digits, &end, 10) : 0;
			if (n && end == digits + n && id <= UINT32_MAX)
				return (uid_t)id;
		}
	}
	return k->owner;
}
