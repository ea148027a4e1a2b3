/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A runtime that makes containers: how its cgroups and roots look, and what its files say.
 * docs/HOWTO-add-runtime.md says how to add one.
 */
#ifndef CONTENT_CONTAINER_FAMILY_H
#define CONTENT_CONTAINER_FAMILY_H

#include "base/cleanup.h"
#include "base/vec.h"
#include "content/container.h"
#include "proc/mountinfo.h"

#include <stdbool.h>
#include <sys/types.h>

#define CGROUP_PATHS_MAX      16
#define CGROUP_COMPONENTS_MAX 48

/* "/docker/<id>" as {"docker", "<id>"}; components ".." are left out. */
struct cgroup_path {
	char *names[CGROUP_COMPONENTS_MAX];
	size_t n;
};

struct container_clues {
	const struct host_files *host;
	uint32_t pid;
	uint32_t tid;
	uid_t owner; /* of the process, for the runtimes of users */

	struct cgroup_path paths[CGROUP_PATHS_MAX]; /* distinct; the one that names it best first */
	size_t n_paths;
	char *cgroups; /* owned; the paths point into it */

	VEC(struct mount_line) mounts; /* the first ones; "/" is among them if it is a mount */
	char *mountinfo;               /* owned; they point into it */
	const struct mount_line *root; /* the mount of "/"; NULL unknown */
	char upper[CONTAINER_TEXT_MAX]; /* of the overlay that the root is; "" */
};

struct container_files {
	const struct container_clues *k;
	struct container_question *question;
	int *fds;
	size_t n;
};

struct container_family {
	const char *name;
	/* Only where no other family recognizes the task. */
	bool is_unit;
	/*
	 * Whether component i of a cgroup path is a container of this family. Sets its id and what else
	 * the path says. 1, 0 or -ENOMEM. May be NULL.
	 */
	int (*match_cgroup)(const struct container_clues *k, const struct cgroup_path *path, size_t i,
			    struct container *c);
	/* The same by the mounts alone, where no cgroup tells. May be NULL. */
	int (*match_root)(const struct container_clues *k, struct container *c);
	/* Adds the files that tell more. NULL: there are none. */
	void (*open)(const struct container_clues *k, const struct container *c,
		     struct container_files *files);
	/* In the child: reads them. 0 or -errno. */
	int (*read)(const struct container_question *question, const int *fds,
		    struct container_answer *ret, struct mw_error *e);
};

extern const struct container_family container_docker;
extern const struct container_family container_podman;
extern const struct container_family container_crio;
extern const struct container_family container_containerd;
extern const struct container_family container_runc;
extern const struct container_family container_crun;
extern const struct container_family container_lxc;
extern const struct container_family container_nspawn;
extern const struct container_family container_flatpak;
extern const struct container_family container_snap;
extern const struct container_family container_systemd;

/* ---- what families share --------------------------------------------------------------------- */

/* Sets a text that ends in NUL. 1 or -ENOMEM, as match functions return. */
int container_set_text(struct container *c, enum container_text which, const char *text);
/* 64 hex digits, as nearly all runtimes make ids. */
#define CONTAINER_HEX_ID 64
bool container_is_hex_id(const char *text, size_t n);
/* What is left of a name without a prefix and a suffix (may be ""): its size, 0 if it has not both. */
size_t container_strip(const char *name, const char *prefix, const char *suffix, const char **ret);
/* Prefix, hex id, suffix: sets the id. 1, 0 or -ENOMEM. */
int container_match_hex(struct container *c, const char *name, const char *prefix,
			const char *suffix);
/* Whether component i lies below one of the kubelet's ("kubepods.slice", "kubelet-kubepods.slice"). */
bool container_in_kubernetes(const struct cgroup_path *path, size_t i);
/* Component i lies in the cgroup of a pod, whose id becomes the pod's text. 1, 0 or -ENOMEM. */
int container_match_pod(struct container *c, const struct cgroup_path *path, size_t i);
/* "k8s_NAME_POD_NAMESPACE_UID_ATTEMPT", as dockershim and CRI-O name containers. True if it is one. */
bool container_answer_kubernetes_name(struct container_answer *a, const char *name);

/* Opens one file and adds it, in its role. True if it was there. */
bool container_files_add(struct container_files *files, uint8_t role, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* What comes before a part of a path ("/overlay2/"): true if it is there and buf has it. */
bool container_path_before(const char *path, const char *part, char *buf, size_t size);
/* The user's home directory by /etc/passwd of the machine, for the runtimes of users. */
bool container_home_of(const struct container_clues *k, uid_t user, char *buf, size_t size);
/* The user whose slice or manager a cgroup path lies in, or the owner of the process. */
uid_t container_user_of(const struct container_clues *k);

/* In the child: NULL or too long leaves what is there. */
void container_answer_set(struct container_answer *a, enum container_text which, const char *text);

#endif
