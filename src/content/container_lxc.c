/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * LXC and what is made of it (LXD, Incus): cgroup "lxc.payload.NAME", in older versions
 * "lxc.payload/NAME" or "lxc/NAME". /var/lib/lxc/NAME/config says which template it was made from:
 *
 *	# Template used to create this container: /usr/share/lxc/templates/lxc-download
 *	# Parameters passed to the template: -d debian -r bookworm -a amd64
 *	lxc.rootfs.path = dir:/var/lib/lxc/web/rootfs
 */
#include "base/error.h"
#include "base/io.h"
#include "content/container_family.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_LIMIT ((size_t)256 << 10)

static int match_cgroup(const struct container_clues *k, const struct cgroup_path *path, size_t i,
			struct container *c)
{
	const char *name = path->names[i], *inner;
	if (container_strip(name, "lxc.payload.", "", &inner)) {
		name = inner;
	} else if (!i || (strcmp(path->names[i - 1], "lxc") != 0 &&
			  strcmp(path->names[i - 1], "lxc.payload") != 0)) {
		return 0;
	}
	int r = container_set_text(c, CONTAINER_ID, name);
	return r < 0 ? r : container_set_text(c, CONTAINER_NAME, name);
}

static void open_files(const struct container_clues *k, const struct container *c,
		       struct container_files *files)
{
	container_files_add(files, 0, "/var/lib/lxc/%s/config", c->text[CONTAINER_ID]);
}

struct template {
	char *name;
	char *parameters;
};

static void read_line(char *line, struct container_answer *a, struct template *template)
{
	static const char made_by[] = "# Template used to create this container: ";
	static const char made_with[] = "# Parameters passed to the template: ";
	if (strncmp(line, made_by, strlen(made_by)) == 0) {
		char *slash = strrchr(line, '/');
		template->name = slash ? slash + 1 : line + strlen(made_by);
	} else if (strncmp(line, made_with, strlen(made_with)) == 0) {
		template->parameters = line + strlen(made_with);
	} else if (strncmp(line, "lxc.rootfs", strlen("lxc.rootfs")) == 0) {
		char *value = strchr(line, '/'); /* after "dir:", if that is there */
		container_answer_set(a, CONTAINER_ROOTFS, value);
	}
}

static int read_config(const struct container_question *q, const int *fds,
		       struct container_answer *ret, struct mw_error *e)
{
	_cleanup_free_ char *text = malloc(CONFIG_LIMIT);
	ssize_t n = text ? io_pread(fds[0], text, CONFIG_LIMIT - 1, 0) : -ENOMEM;
	if (n < 0)
		return error_errno(e, (int)n, "cannot read");
	text[n] = '\0';
	struct template template = {};
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;)
		read_line(line, ret, &template);
	char image[CONTAINER_TEXT_MAX];
	if (template.name &&
	    snprintf(image, sizeof image, "%s%s%s", template.name, template.parameters ? " " : "",
		     template.parameters ? template.parameters : "") < (int)sizeof image)
		container_answer_set(ret, CONTAINER_IMAGE, image);
	return 0;
}

const struct container_family container_lxc = {
	.name = "lxc",
	.match_cgroup = match_cgroup,
	.open = open_files,
	.read = read_config,
};
