/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/container.h"

#include "base/error.h"
#include "content/container_family.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

/*
 * In this order they look at each component of a cgroup path. One that knows its own by a mark comes
 * before one that has to look on the disk or takes what is left.
 */
static const struct container_family *const families[] = {
	&container_docker,  &container_podman, &container_crio, &container_containerd,
	&container_flatpak, &container_snap,   &container_lxc,	&container_nspawn,
	&container_runc,    &container_crun,   &container_systemd,
};

/* ---- the object ------------------------------------------------------------------------------ */

void container_deinit(struct container *c)
{
	for (size_t i = 0; i < CONTAINER_N_TEXTS; i++)
		free(c->text[i]);
	*c = (struct container){};
}

const char *container_runtime(const struct container *c)
{
	return c->family ? c->family->name : "";
}

bool container_is_unit(const struct container *c)
{
	return c->family && c->family->is_unit;
}

int container_set(struct container *c, enum container_text which, const char *text, size_t n)
{
	size_t limit = which == CONTAINER_LAYERS ? CONTAINER_LAYERS_MAX : CONTAINER_TEXT_MAX;
	if (!n || n >= limit || memchr(text, 0, n))
		return 0;
	char *copy = strndup(text, n);
	if (!copy)
		return -ENOMEM;
	free(c->text[which]);
	c->text[which] = copy;
	return 0;
}

bool container_merge(struct container *c, struct container *other)
{
	bool any = false;
	for (size_t i = 0; i < CONTAINER_N_TEXTS; i++) {
		if (c->text[i] || !other->text[i])
			continue;
		c->text[i] = take_ptr(other->text[i]);
		any = true;
	}
	return any;
}

static bool is_id_prefix(const char *id, const char *wanted)
{
	size_t n = strlen(wanted);
	return n >= 4 && strspn(wanted, "0123456789abcdef") == n && strncmp(id, wanted, n) == 0;
}

static bool is_called(const struct container *c, const char *wanted)
{
	const char *id = c->text[CONTAINER_ID], *name = c->text[CONTAINER_NAME];
	if (name && strcmp(name, wanted) == 0)
		return true;
	return id && (strcmp(id, wanted) == 0 || is_id_prefix(id, wanted));
}

bool container_matches(const struct container *c, const char *wanted)
{
	if (!c->family)
		return false;
	size_t n = strlen(c->family->name);
	bool is_runtime = strncmp(wanted, c->family->name, n) == 0 && wanted[n] == ':';
	return is_called(c, wanted) || (is_runtime && is_called(c, wanted + n + 1));
}

/* ---- recognizing ----------------------------------------------------------------------------- */

/* Containers lie in each other: the deepest component that is one counts. */
static int match_path(const struct container_clues *k, const struct cgroup_path *path, bool units,
		      struct container *c)
{
	for (size_t i = path->n; i-- > 0;) {
		for (size_t f = 0; f < ARRAY_SIZE(families); f++) {
			const struct container_family *family = families[f];
			if (family->is_unit != units || !family->match_cgroup)
				continue;
			int r = family->match_cgroup(k, path, i, c);
			if (r == 0)
				continue;
			c->family = family;
			return r;
		}
	}
	return 0;
}

static int match_paths(const struct container_clues *k, bool units, struct container *c)
{
	int r = 0;
	for (size_t i = 0; i < k->n_paths && r == 0; i++)
		r = match_path(k, &k->paths[i], units, c);
	return r;
}

static int match_root(const struct container_clues *k, struct container *c)
{
	int r = 0;
	for (size_t f = 0; f < ARRAY_SIZE(families) && r == 0; f++) {
		if (!families[f]->match_root)
			continue;
		r = families[f]->match_root(k, c);
		if (r != 0)
			c->family = families[f];
	}
	return r;
}

static int set_layers(const struct container_clues *k, struct container *c)
{
	char layers[CONTAINER_LAYERS_MAX], lower[CONTAINER_LAYERS_MAX];
	int n = snprintf(layers, sizeof layers, "%s", k->upper);
	static const char *const names[] = {"lowerdir", "lowerdir+"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *at = k->root->options;
		while (mount_option_next(&at, names[i], lower, sizeof lower) &&
		       (size_t)n < sizeof layers)
			n += snprintf(layers + n, sizeof layers - (size_t)n, "%s%s", n ? ":" : "",
				      lower);
	}
	size_t size = strnlen(layers, sizeof layers - 1);
	return container_set(c, CONTAINER_LAYERS, layers, size);
}

/* Where the machine itself has the root, unless it is the machine's own. */
static int set_root(const struct container_clues *k, struct container *c)
{
	char path[CONTAINER_TEXT_MAX];
	int r = 0;
	if (!k->root || container_is_unit(c))
		return 0;
	if (strcmp(k->root->type, "overlay") == 0)
		r = set_layers(k, c);
	if (r == 0 && host_files_find_mounted(k->host, k->root->major, k->root->minor, k->root->root,
					      path, sizeof path))
		r = container_set(c, CONTAINER_ROOTFS, path, strlen(path));
	return r;
}

int container_identify(const struct container_clues *k, struct container *ret)
{
	*ret = (struct container){};
	int r = match_paths(k, false, ret);
	if (r == 0)
		r = match_root(k, ret);
	if (r == 0)
		r = match_paths(k, true, ret);
	if (r > 0 && set_root(k, ret) < 0)
		r = -ENOMEM;
	if (r < 0)
		container_deinit(ret);
	return r;
}

/* ---- files ----------------------------------------------------------------------------------- */

static uint8_t number_of(const struct container_family *family)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (families[i] == family)
			return (uint8_t)i;
	}
	return UINT8_MAX;
}

size_t container_open_files(const struct container_clues *k, const struct container *c,
			    struct container_question *question, int *fds)
{
	*question = (struct container_question){};
	if (!c->family || !c->family->open)
		return 0;
	question->family = number_of(c->family);
	if (getrandom(&question->seed, sizeof question->seed, GRND_NONBLOCK) < 0)
		question->seed = (uintptr_t)question;
	if (c->text[CONTAINER_ID])
		snprintf(question->id, sizeof question->id, "%s", c->text[CONTAINER_ID]);
	struct container_files files = {.k = k, .question = question, .fds = fds};
	c->family->open(k, c, &files);
	question->n_files = (uint8_t)files.n;
	return files.n;
}

int container_read(const struct container_question *question, const int *fds, size_t n_fds,
		   struct container_answer *ret, struct mw_error *e)
{
	if (question->family >= ARRAY_SIZE(families) || question->n_files != n_fds ||
	    !families[question->family]->read)
		return error_set(e, -EINVAL, "no question about a container");
	return families[question->family]->read(question, fds, ret, e);
}

/* A file may say nothing that would break a line or a terminal. */
static bool is_printable(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (iscntrl((unsigned char)text[i]))
			return false;
	}
	return true;
}

int container_take_answer(struct container *c, const struct container_answer *answer)
{
	for (size_t i = 0; i < CONTAINER_LAYERS; i++) {
		const char *text = answer->text[i];
		size_t n = strnlen(text, CONTAINER_TEXT_MAX);
		/* What the kernel says of the root is true; files tell where it says nothing. */
		if (i == CONTAINER_ROOTFS && c->text[i])
			continue;
		if (is_printable(text, n) && container_set(c, (enum container_text)i, text, n) < 0)
			return -ENOMEM;
	}
	return c->text[CONTAINER_NAME] != NULL;
}
