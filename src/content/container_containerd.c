/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * containerd: under Kubernetes "cri-containerd-<id>.scope", "...slice:cri-containerd:<id>", or a plain
 * "<id>" below "kubepods"; nerdctl's "nerdctl-<id>.scope"; and "/NAMESPACE/ID" of ctr, which is like
 * any other two directories: the root tells.
 *
 * The bundle of a container, with the OCI config.json, is in containerd's state directory, under
 * io.containerd.runtime.v2.task/NAMESPACE/ID. Its root is mounted there, so the machine's own mounts
 * tell of a bundle wherever it is. (The image of a container made by ctr is only in containerd's own
 * data base, which is not read.)
 */
#include "base/error.h"
#include "content/container_family.h"
#include "content/container_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TASKS "/io.containerd.runtime.v2.task/"

static int match_names(const struct cgroup_path *path, size_t i, struct container *c)
{
	static const char *const forms[][2] = {{"cri-containerd-", ".scope"},
					       {"cri-containerd-", ""},
					       {"nerdctl-", ".scope"}};
	const char *name = path->names[i];
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		int r = container_match_hex(c, name, forms[f][0], forms[f][1]);
		if (r != 0)
			return r;
	}
	const char *mark = strstr(name, ":cri-containerd:");
	if (mark)
		return container_match_hex(c, mark, ":cri-containerd:", "");
	/* Docker and CRI-O were asked before: in a pod, what is left is this. */
	return container_in_kubernetes(path, i) ? container_match_hex(c, name, "", "") : 0;
}

static int match_cgroup(const struct container_clues *k, const struct cgroup_path *path, size_t i,
			struct container *c)
{
	int r = match_names(path, i, c);
	if (r > 0 && container_match_pod(c, path, i) < 0)
		return -ENOMEM;
	return r;
}

/* ".../io.containerd.runtime.v2.task/NAMESPACE/ID", where the machine has the root mounted. */
static bool find_bundle(const struct container_clues *k, char *buf, size_t size)
{
	char rootfs[CONTAINER_TEXT_MAX];
	return k->root &&
	       host_files_find_mounted(k->host, k->root->major, k->root->minor, k->root->root, rootfs,
				       sizeof rootfs) &&
	       strstr(rootfs, TASKS) && container_path_before(rootfs, "/rootfs", buf, size);
}

static int match_root(const struct container_clues *k, struct container *c)
{
	char bundle[CONTAINER_TEXT_MAX];
	if (!find_bundle(k, bundle, sizeof bundle))
		return 0;
	const char *id = strrchr(bundle, '/') + 1;
	int r = container_set_text(c, CONTAINER_ID, id);
	return r < 0 ? r : container_set_text(c, CONTAINER_NAME, id);
}

static void open_files(const struct container_clues *k, const struct container *c,
		       struct container_files *files)
{
	static const char *const states[] = {"/run/containerd", "/run/k3s/containerd",
					     "/var/snap/microk8s/common/run/containerd"};
	static const char *const namespaces[] = {"k8s.io", "default"};
	char bundle[CONTAINER_TEXT_MAX];
	if (find_bundle(k, bundle, sizeof bundle) &&
	    container_files_add(files, 0, "%s/config.json", bundle))
		return;
	for (size_t s = 0; s < ARRAY_SIZE(states); s++) {
		for (size_t n = 0; n < ARRAY_SIZE(namespaces); n++) {
			if (container_files_add(files, 0, "%s" TASKS "%s/%s/config.json", states[s],
						namespaces[n], c->text[CONTAINER_ID]))
				return;
		}
	}
}

static int read_config(const struct container_question *q, const int *fds,
		       struct container_answer *ret, struct mw_error *e)
{
	static const struct {
		const char *key;
		enum container_text which;
	} known[] = {
		{"io.kubernetes.cri.container-name", CONTAINER_NAME},
		{"io.kubernetes.cri.image-name", CONTAINER_IMAGE},
		{"io.kubernetes.cri.sandbox-name", CONTAINER_POD},
		{"io.kubernetes.cri.sandbox-namespace", CONTAINER_NAMESPACE},
		{"nerdctl/name", CONTAINER_NAME},
	};
	json_t *json = container_json_load(fds[0], q->seed, e);
	if (!json)
		return -EBADMSG;
	const json_t *annotations = json_object_get(json, "annotations");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		container_answer_set(ret, known[i].which,
				     container_json_text(annotations, known[i].key));
	/* The container that holds a pod's namespaces has no name of its own. */
	const char *type = container_json_text(annotations, "io.kubernetes.cri.container-type");
	if (type && strcmp(type, "sandbox") == 0 && !ret->text[CONTAINER_NAME][0])
		container_answer_set(ret, CONTAINER_NAME, "POD");
	json_decref(json);
	return 0;
}

const struct container_family container_containerd = {
	.name = "containerd",
	.match_cgroup = match_cgroup,
	.match_root = match_root,
	.open = open_files,
	.read = read_config,
};
