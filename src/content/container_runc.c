/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runc and crun, started by themselves. The cgroup is any name, and anyone to whom cgroups are delegated
 * can make one of that name; so the task must have a root of its own, and the state directory proves it:
 *
 *	/run/runc/ID/state.json     rootfs, labels "bundle=DIR", "ANNOTATION=VALUE"
 *	/run/crun/ID/status         rootfs, bundle
 *	/run/crun/ID/config.json    the OCI file, with the annotations
 *
 * Those of users are in /run/user/UID. Under systemd the cgroup is "runc-ID.scope".
 */
#include "base/error.h"
#include "content/container_family.h"
#include "content/container_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IMAGE "org.opencontainers.image.ref.name"

enum role {
	ROLE_STATE,
	ROLE_CONFIG,
};

struct oci_runtime {
	const char *name;
	const char *state; /* its file in the state directory */
};

static const struct oci_runtime runc = {"runc", "state.json"};
static const struct oci_runtime crun = {"crun", "status"};

/* Where the state of a container of this id is; false if there is none. */
static bool find_state(const struct container_clues *k, const struct oci_runtime *runtime,
		       const char *id, char *buf, size_t size)
{
	char directories[2][64], path[512];
	snprintf(directories[0], sizeof directories[0], "/run/%s", runtime->name);
	snprintf(directories[1], sizeof directories[1], "/run/user/%u/%s", container_user_of(k),
		 runtime->name);
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		if (snprintf(buf, size, "%s/%s", directories[i], id) >= (int)size ||
		    snprintf(path, sizeof path, "%s/%s", buf, runtime->state) >= (int)sizeof path)
			return false;
		_cleanup_close_ int fd = host_files_open(k->host, path);
		if (fd >= 0)
			return true;
	}
	return false;
}

static int match(const struct container_clues *k, const char *name,
		 const struct oci_runtime *runtime, struct container *c)
{
	char prefix[16], id[256], state[320];
	const char *inner;
	if (!k->root ||
	    host_files_is_own_root(k->host, k->root->major, k->root->minor, k->root->root))
		return 0;
	snprintf(prefix, sizeof prefix, "%s-", runtime->name);
	size_t n = container_strip(name, prefix, ".scope", &inner);
	if (!n && (container_strip(name, "", ".slice", &inner) || name[0] == '.'))
		return 0;
	if (snprintf(id, sizeof id, "%.*s", n ? (int)n : 255, n ? inner : name) >= (int)sizeof id ||
	    !find_state(k, runtime, id, state, sizeof state))
		return 0;
	int r = container_set_text(c, CONTAINER_ID, id);
	return r < 0 ? r : container_set_text(c, CONTAINER_NAME, id);
}

static int match_runc(const struct container_clues *k, const struct cgroup_path *path, size_t i,
		      struct container *c)
{
	return match(k, path->names[i], &runc, c);
}

static int match_crun(const struct container_clues *k, const struct cgroup_path *path, size_t i,
		      struct container *c)
{
	return match(k, path->names[i], &crun, c);
}

static void open_runc(const struct container_clues *k, const struct container *c,
		      struct container_files *files)
{
	char state[320];
	if (find_state(k, &runc, c->text[CONTAINER_ID], state, sizeof state))
		container_files_add(files, ROLE_STATE, "%s/state.json", state);
}

static void open_crun(const struct container_clues *k, const struct container *c,
		      struct container_files *files)
{
	char state[320];
	if (!find_state(k, &crun, c->text[CONTAINER_ID], state, sizeof state))
		return;
	container_files_add(files, ROLE_STATE, "%s/status", state);
	container_files_add(files, ROLE_CONFIG, "%s/config.json", state);
}

static void take_labels(struct container_answer *a, const json_t *labels)
{
	size_t i;
	json_t *item;
	json_array_foreach(labels, i, item) {
		const char *value = json_string_value(item);
		if (value && strncmp(value, IMAGE "=", sizeof IMAGE) == 0)
			container_answer_set(a, CONTAINER_IMAGE, value + sizeof IMAGE);
	}
}

static int read_runc(const struct container_question *q, const int *fds,
		     struct container_answer *ret, struct mw_error *e)
{
	json_t *json = container_json_load(fds[0], q->seed, e);
	if (!json)
		return -EBADMSG;
	const json_t *config = json_object_get(json, "config");
	container_answer_set(ret, CONTAINER_ROOTFS, container_json_text(config, "rootfs"));
	take_labels(ret, json_object_get(config, "labels"));
	json_decref(json);
	return 0;
}

static int read_crun(const struct container_question *q, const int *fds,
		     struct container_answer *ret, struct mw_error *e)
{
	for (size_t i = 0; i < q->n_files; i++) {
		json_t *json = container_json_load(fds[i], q->seed, e);
		if (!json)
			return -EBADMSG;
		if (q->roles[i] == ROLE_STATE)
			container_answer_set(ret, CONTAINER_ROOTFS,
					     container_json_text(json, "rootfs"));
		else
			container_answer_set(
				ret, CONTAINER_IMAGE,
				container_json_text(json_object_get(json, "annotations"), IMAGE));
		json_decref(json);
	}
	return 0;
}

const struct container_family container_runc = {
	.name = "runc",
	.match_cgroup = match_runc,
	.open = open_runc,
	.read = read_runc,
};

const struct container_family container_crun = {
	.name = "crun",
	.match_cgroup = match_crun,
	.open = open_crun,
	.read = read_crun,
};
