/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Docker. Cgroups "/docker/<id>" and "docker-<id>.scope", under "kubepods" plain "<id>". Its data
 * root, /var/lib/docker unless it was told otherwise, shows in the overlay of the root and in what is
 * mounted on /etc/hostname; containers/<id>/config.v2.json is there.
 */
#include "base/error.h"
#include "content/container_family.h"
#include "content/container_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONFIG "config.v2.json"

/* ".../containers/<id>/hostname", the file that Docker mounts on one of its containers' names. */
static size_t find_hostname(const struct container_clues *k, const struct mount_line **ret,
			    const char **ret_id)
{
	vec_foreach(m, &k->mounts) {
		if (strcmp(m->point, "/etc/hostname") != 0)
			continue;
		const char *at = strstr(m->root, "/containers/");
		*ret_id = at ? at + strlen("/containers/") : "";
		size_t n = strcspn(*ret_id, "/");
		if (container_is_hex_id(*ret_id, n) && strcmp(*ret_id + n, "/hostname") == 0) {
			*ret = m;
			return n;
		}
	}
	return 0;
}

static bool has_root(const struct container_clues *k)
{
	const struct mount_line *m;
	const char *id;
	return strstr(k->upper, "/overlay2/") || find_hostname(k, &m, &id);
}

static int match_cgroup(const struct container_clues *k, const struct cgroup_path *path, size_t i,
			struct container *c)
{
	const char *name = path->names[i];
	int r = container_match_hex(c, name, "docker-", ".scope");
	if (r == 0 && i > 0 && strcmp(path->names[i - 1], "docker") == 0)
		r = container_match_hex(c, name, "", "");
	if (r == 0 && container_in_kubernetes(path, i) && has_root(k))
		r = container_match_hex(c, name, "", "");
	if (r > 0 && container_match_pod(c, path, i) < 0)
		return -ENOMEM;
	return r;
}

static int match_root(const struct container_clues *k, struct container *c)
{
	const struct mount_line *m;
	const char *id;
	size_t n = find_hostname(k, &m, &id);
	if (!n)
		return 0;
	return container_set(c, CONTAINER_ID, id, n) < 0 ? -ENOMEM : 1;
}

static bool open_in(struct container_files *files, const struct container *c, const char *root)
{
	return container_files_add(files, 0, "%s/containers/%s/" CONFIG, root,
				   c->text[CONTAINER_ID]);
}

static void open_files(const struct container_clues *k, const struct container *c,
		       struct container_files *files)
{
	char path[CONTAINER_TEXT_MAX], root[CONTAINER_TEXT_MAX];
	const struct mount_line *m;
	const char *id;
	if (container_path_before(k->upper, "/overlay2/", root, sizeof root) &&
	    open_in(files, c, root))
		return;
	if (find_hostname(k, &m, &id) &&
	    host_files_find_mounted(k->host, m->major, m->minor, m->root, path, sizeof path) &&
	    container_path_before(path, "/containers/", root, sizeof root) && open_in(files, c, root))
		return;
	if (open_in(files, c, "/var/lib/docker") ||
	    open_in(files, c, "/var/snap/docker/common/var-lib-docker"))
		return;
	if (container_home_of(k, container_user_of(k), path, sizeof path) &&
	    snprintf(root, sizeof root, "%s/.local/share/docker", path) < (int)sizeof root)
		open_in(files, c, root);
}

static void take_labels(struct container_answer *a, const json_t *labels)
{
	container_answer_set(a, CONTAINER_NAME,
			     container_json_text(labels, "io.kubernetes.container.name"));
	container_answer_set(a, CONTAINER_POD, container_json_text(labels, "io.kubernetes.pod.name"));
	container_answer_set(a, CONTAINER_NAMESPACE,
			     container_json_text(labels, "io.kubernetes.pod.namespace"));
}

static int read_config(const struct container_question *question, const int *fds,
		       struct container_answer *ret, struct mw_error *e)
{
	json_t *json = container_json_load(fds[0], question->seed, e);
	const char *id = container_json_text(json, "ID");
	if (!json || !id || strcmp(id, question->id) != 0) {
		json_decref(json);
		return json ? error_set(e, -EBADMSG, "the file of another container") : -EBADMSG;
	}
	const char *name = container_json_text(json, "Name");
	const json_t *config = json_object_get(json, "Config");
	if (name) {
		name += name[0] == '/';
		if (!container_answer_kubernetes_name(ret, name))
			container_answer_set(ret, CONTAINER_NAME, name);
	}
	container_answer_set(ret, CONTAINER_IMAGE, container_json_text(json, "Image"));
	container_answer_set(ret, CONTAINER_IMAGE, container_json_text(config, "Image"));
	take_labels(ret, json_object_get(config, "Labels"));
	json_decref(json);
	return 0;
}

const struct container_family container_docker = {
	.name = "docker",
	.match_cgroup = match_cgroup,
	.match_root = match_root,
	.open = open_files,
	.read = read_config,
};
