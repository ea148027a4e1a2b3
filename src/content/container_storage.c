/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Podman and CRI-O, which share a library, containers/storage, and its layout:
 *
 *	ROOT/overlay/<layer>/diff                             upper directory of the container's root
 *	ROOT/overlay-containers/containers.json               id, names, image, layer, metadata
 *	ROOT/overlay-containers/volatile-containers.json      the same of those that go with a reboot
 *	ROOT/overlay-images/images.json                       id, names
 *	ROOT/overlay-containers/<id>/userdata/config.json     the OCI file: its pod, among the annotations
 *
 * ROOT is /var/lib/containers/storage, below the user's home for Podman without root, or anything
 * (--root); the mount of the container's root says. Where Podman makes no cgroups (without root on
 * cgroups of version 1) the layer in that mount leads to the container.
 */
#include "base/error.h"
#include "content/container_family.h"
#include "content/container_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum role {
	ROLE_CONTAINERS,
	ROLE_IMAGES,
	ROLE_CONFIG,
};

/* ---- recognizing ----------------------------------------------------------------------------- */

/* Drivers that show in the root's mount: the directory of layers, and what comes after a layer in it. */
static const struct driver {
	const char *name;
	const char *part;
	const char *tail;
} drivers[] = {
	{"overlay", "/overlay/", "/diff"},
	{"vfs", "/vfs/dir/", ""},
	{"btrfs", "/btrfs/subvolumes/", ""},
};

struct storage {
	const struct driver *driver;
	char root[CONTAINER_TEXT_MAX];
	char layer[CONTAINER_HEX_ID + 1];
};

static bool find_in(const char *path, const struct driver *driver, struct storage *ret)
{
	if (!container_path_before(path, driver->part, ret->root, sizeof ret->root))
		return false;
	const char *layer = path + strlen(ret->root) + strlen(driver->part);
	size_t n = strcspn(layer, "/");
	if (!container_is_hex_id(layer, n) || strcmp(layer + n, driver->tail) != 0)
		return false;
	snprintf(ret->layer, sizeof ret->layer, "%.*s", (int)n, layer);
	ret->driver = driver;
	return true;
}

static bool find_storage(const struct container_clues *k, struct storage *ret)
{
	*ret = (struct storage){};
	if (!k->root)
		return false;
	if (strcmp(k->root->type, "overlay") == 0)
		return find_in(k->upper, &drivers[0], ret);
	char path[CONTAINER_TEXT_MAX];
	if (!host_files_find_mounted(k->host, k->root->major, k->root->minor, k->root->root, path,
				     sizeof path))
		return false;
	return find_in(path, &drivers[1], ret) || find_in(path, &drivers[2], ret);
}

/* "machine-libpod_pod_<id>.slice", or the id alone above the container; people see 12 digits of it. */
static int match_podman_pod(struct container *c, const struct cgroup_path *path, size_t i)
{
	if (!i)
		return 1;
	const char *parent = path->names[i - 1];
	const char *mark = strstr(parent, "libpod_pod_");
	const char *id = mark ? mark + strlen("libpod_pod_") : parent;
	size_t n = strcspn(id, ".");
	if (!container_is_hex_id(id, n))
		return 1;
	return container_set(c, CONTAINER_POD, id, 12) < 0 ? -ENOMEM : 1;
}

static int match_podman(const struct container_clues *k, const struct cgroup_path *path, size_t i,
			struct container *c)
{
	static const char *const forms[][2] = {
		{"libpod-", ""}, {"libpod-", ".scope"}, {"libpod-payload-", ""}};
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		int r = container_match_hex(c, path->names[i], forms[f][0], forms[f][1]);
		if (r != 0)
			return r < 0 ? r : match_podman_pod(c, path, i);
	}
	return 0;
}

static int match_podman_root(const struct container_clues *k, struct container *c)
{
	struct storage storage;
	if (!find_storage(k, &storage))
		return 0;
	char path[CONTAINER_TEXT_MAX + 80];
	snprintf(path, sizeof path, "%s/%s-containers/containers.json", storage.root,
		 storage.driver->name);
	_cleanup_close_ int fd = host_files_open(k->host, path);
	return fd >= 0;
}

static int match_crio(const struct container_clues *k, const struct cgroup_path *path, size_t i,
		      struct container *c)
{
	struct storage storage;
	int r = container_match_hex(c, path->names[i], "crio-", ".scope");
	if (r == 0)
		r = container_match_hex(c, path->names[i], "crio-", "");
	if (r == 0 && container_in_kubernetes(path, i) && find_storage(k, &storage))
		r = container_match_hex(c, path->names[i], "", "");
	if (r > 0 && container_match_pod(c, path, i) < 0)
		return -ENOMEM;
	return r;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool open_in(struct container_files *files, const char *root, const char *driver, const char *id)
{
	bool any = container_files_add(files, ROLE_CONTAINERS, "%s/%s-containers/containers.json",
				       root, driver);
	any |= container_files_add(files, ROLE_CONTAINERS,
				   "%s/%s-containers/volatile-containers.json", root, driver);
	if (any)
		container_files_add(files, ROLE_IMAGES, "%s/%s-images/images.json", root, driver);
	if (any && id)
		container_files_add(files, ROLE_CONFIG, "%s/%s-containers/%s/userdata/config.json", root,
				    driver, id);
	return any;
}

static void open_files(const struct container_clues *k, const struct container *c,
		       struct container_files *files)
{
	struct storage storage;
	char home[CONTAINER_TEXT_MAX], root[CONTAINER_TEXT_MAX];
	if (find_storage(k, &storage)) {
		snprintf(files->question->layer, sizeof files->question->layer, "%s", storage.layer);
		if (open_in(files, storage.root, storage.driver->name, c->text[CONTAINER_ID]))
			return;
	}
	uid_t user = container_user_of(k);
	if (user && container_home_of(k, user, home, sizeof home) &&
	    snprintf(root, sizeof root, "%s/.local/share/containers/storage", home) <
		    (int)sizeof root &&
	    open_in(files, root, "overlay", c->text[CONTAINER_ID]))
		return;
	open_in(files, "/var/lib/containers/storage", "overlay", c->text[CONTAINER_ID]);
}

/* ---- in the child ---------------------------------------------------------------------------- */

/* The container of the question in a list; NULL. Without an id the layer is asked for. */
static const json_t *find_container(const json_t *list, const struct container_question *q)
{
	const char *key = q->id[0] ? "id" : "layer";
	const char *wanted = q->id[0] ? q->id : q->layer;
	size_t i;
	json_t *item;
	json_array_foreach(list, i, item) {
		const char *value = container_json_text(item, key);
		if (value && wanted[0] && strcmp(value, wanted) == 0)
			return item;
	}
	return NULL;
}

static const char *first_text(const json_t *list)
{
	return json_string_value(json_array_get(list, 0));
}

/* Podman: name. CRI-O: name "k8s_NAME_POD_NAMESPACE_UID_ATTEMPT" and metadata-name. */
static void take_metadata(struct container_answer *a, const json_t *item)
{
	json_t *metadata = container_json_inner(item, "metadata");
	const char *name = container_json_text(metadata, "name");
	if (!name)
		name = first_text(json_object_get(item, "names"));
	if (name && !container_answer_kubernetes_name(a, name))
		container_answer_set(a, CONTAINER_NAME, name);
	container_answer_set(a, CONTAINER_IMAGE, container_json_text(metadata, "image-name"));
	json_decref(metadata);
}

static void take_container(struct container_answer *a, const json_t *item, char *image, size_t size)
{
	const char *id = container_json_text(item, "id");
	const char *image_id = container_json_text(item, "image");
	take_metadata(a, item);
	if (id && container_is_hex_id(id, strlen(id)))
		container_answer_set(a, CONTAINER_ID, id);
	if (image_id && strlen(image_id) < size)
		strcpy(image, image_id);
}

static void take_image(struct container_answer *a, const json_t *list, const char *wanted)
{
	size_t i;
	json_t *item;
	json_array_foreach(list, i, item) {
		const char *id = container_json_text(item, "id");
		if (id && strcmp(id, wanted) == 0) {
			container_answer_set(a, CONTAINER_IMAGE,
					     first_text(json_object_get(item, "names")));
			return;
		}
	}
}

/* Podman's way to say which pod: of its name only its database knows. People see 12 digits of the id. */
static void take_config(struct container_answer *a, const json_t *config)
{
	const char *pod = container_json_text(json_object_get(config, "annotations"),
					      "io.kubernetes.cri-o.SandboxID");
	char shown[13];
	if (!pod || !container_is_hex_id(pod, strlen(pod)) ||
	    strcmp(pod, a->text[CONTAINER_ID]) == 0 || a->text[CONTAINER_POD][0])
		return;
	snprintf(shown, sizeof shown, "%.12s", pod);
	container_answer_set(a, CONTAINER_POD, shown);
}

static int read_files(const struct container_question *q, const int *fds,
		      struct container_answer *ret, struct mw_error *e)
{
	char image[CONTAINER_TEXT_MAX] = "";
	bool found = false;
	for (size_t i = 0; i < q->n_files; i++) {
		bool is_images = q->roles[i] == ROLE_IMAGES, is_config = q->roles[i] == ROLE_CONFIG;
		if (is_images && (ret->text[CONTAINER_IMAGE][0] || !image[0]))
			continue;
		json_t *list = container_json_load(fds[i], q->seed, e);
		const json_t *item = is_images || is_config ? NULL : find_container(list, q);
		if (is_config)
			take_config(ret, list);
		else if (is_images)
			take_image(ret, list, image);
		else if (item)
			take_container(ret, item, image, sizeof image);
		found = found || item;
		json_decref(list);
	}
	if (!found)
		return e && e->code ? e->code : error_set(e, -ENOENT, "the container is in no list");
	container_answer_set(ret, CONTAINER_IMAGE, ret->text[CONTAINER_IMAGE][0] ? NULL : image);
	return 0;
}

const struct container_family container_podman = {
	.name = "podman",
	.match_cgroup = match_podman,
	.match_root = match_podman_root,
	.open = open_files,
	.read = read_files,
};

const struct container_family container_crio = {
	.name = "cri-o",
	.match_cgroup = match_crio,
	.open = open_files,
	.read = read_files,
};
