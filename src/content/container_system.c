/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Containers and sandboxes whose cgroups and mounts say all there is to say: systemd-nspawn, snap, and
 * the units of systemd.
 *
 *	/machine.slice/machine-NAME.scope/payload      nspawn; NAME as systemd escapes it, "a\x2db"
 *	/run/host/incoming <- .../nspawn/propagate/NAME     its mount, also without a cgroup
 *	snap.PACKAGE.APP-<uuid>.scope                  snap
 *	/system.slice/ssh.service                      a unit
 */
#include "content/container_family.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- nspawn ---------------------------------------------------------------------------------- */

/* "a\x2db" is "a-b". */
static void unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; to++) {
		unsigned value;
		int n = 0;
		if (sscanf(from, "\\x%2x%n", &value, &n) == 1 && n == 4 && value) {
			*to = (char)value;
			from += n;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static int set_machine(struct container *c, const char *name, size_t n)
{
	char text[256];
	if (!n || n >= sizeof text)
		return 0;
	snprintf(text, sizeof text, "%.*s", (int)n, name);
	unescape(text);
	int r = container_set_text(c, CONTAINER_ID, text);
	return r < 0 ? r : container_set_text(c, CONTAINER_NAME, text);
}

static int match_machine(const struct container_clues *k, const struct cgroup_path *path, size_t i,
			 struct container *c)
{
	const char *name, *text = path->names[i];
	size_t n = container_strip(text, "machine-", ".scope", &name);
	/* Of libvirt: virtual machines, and containers of its own making. */
	if (n && (strncmp(name, "qemu\\x2d", 8) == 0 || strncmp(name, "lxc\\x2d", 7) == 0))
		return 0;
	if (!n)
		n = container_strip(text, "systemd-nspawn@", ".service", &name);
	return set_machine(c, name, n);
}

static int match_machine_root(const struct container_clues *k, struct container *c)
{
	vec_foreach(m, &k->mounts) {
		const char *at = strstr(m->root, "/nspawn/propagate/");
		if (at && strcmp(m->point, "/run/host/incoming") == 0) {
			at += strlen("/nspawn/propagate/");
			return set_machine(c, at, strlen(at));
		}
	}
	return 0;
}

const struct container_family container_nspawn = {
	.name = "nspawn",
	.match_cgroup = match_machine,
	.match_root = match_machine_root,
};

/* ---- snap ------------------------------------------------------------------------------------ */

/* "/snap/firefox/1234/usr/lib/firefox/firefox": the revision is that of the program's own file. */
static int set_snap_image(const struct container_clues *k, const char *package, struct container *c)
{
	char exe[CONTAINER_TEXT_MAX], prefix[300], image[300];
	if (proc_readlink(k->host->proc, k->pid, "exe", exe, sizeof exe) < 0)
		return 1;
	snprintf(prefix, sizeof prefix, "/snap/%s/", package);
	const char *at = strstr(exe, prefix);
	size_t n = at ? strcspn(at + strlen(prefix), "/") : 0;
	if (!n || n > 20)
		return 1;
	snprintf(image, sizeof image, "%.255s_%.*s.snap", package, (int)n, at + strlen(prefix));
	return container_set_text(c, CONTAINER_IMAGE, image);
}

static int match_snap(const struct container_clues *k, const struct cgroup_path *path, size_t i,
		      struct container *c)
{
	const char *name;
	size_t n = container_strip(path->names[i], "snap.", ".scope", &name);
	if (!n)
		n = container_strip(path->names[i], "snap.", ".service", &name);
	size_t package = n ? strcspn(name, ".") : 0;
	char text[256];
	if (!package || package >= n || package >= sizeof text)
		return 0;
	snprintf(text, sizeof text, "%.*s", (int)package, name);
	if (container_set(c, CONTAINER_ID, name, n) < 0 ||
	    container_set_text(c, CONTAINER_NAME, text) < 0)
		return -ENOMEM;
	return set_snap_image(k, text, c);
}

const struct container_family container_snap = {
	.name = "snap",
	.match_cgroup = match_snap,
};

/* ---- units ----------------------------------------------------------------------------------- */

static int match_unit(const struct container_clues *k, const struct cgroup_path *path, size_t i,
		      struct container *c)
{
	const char *name = path->names[i], *rest;
	if (!container_strip(name, "", ".service", &rest) && !container_strip(name, "", ".scope", &rest))
		return 0;
	int r = container_set_text(c, CONTAINER_ID, name);
	return r < 0 ? r : container_set_text(c, CONTAINER_NAME, name);
}

const struct container_family container_systemd = {
	.name = "systemd",
	.is_unit = true,
	.match_cgroup = match_unit,
};
