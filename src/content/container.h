/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which container a task runs in: by name, image and pod, not only by a number.
 *
 * No daemon is asked. What is known comes from three places, in this order:
 *
 *   1. The paths of the task's cgroups and the mount of its root directory. They name runtime and id,
 *      often more, and are read at once: container_identify().
 *   2. The runtimes' own files on the machine's disk (containers.json, config.v2.json, state.json).
 *      They lie where the root's mount says that the runtime keeps its things, or where it usually
 *      does. container_open_files() opens them, safely and without waiting.
 *   3. These files were written by others, so they are read in an isolated child (base/run.h), which
 *      runs container_read() and sends back a flat struct, for container_take_answer().
 *
 * Each runtime is a struct of functions in a file of its own (content/container_family.h).
 */
#ifndef CONTENT_CONTAINER_H
#define CONTENT_CONTAINER_H

#include "base/cleanup.h"
#include "content/host_files.h"

#include <mapwright/mapwright.h>

enum container_text {
	CONTAINER_ID,        /* as the runtime has it; a unit's name for systemd */
	CONTAINER_NAME,
	CONTAINER_IMAGE,
	CONTAINER_POD,       /* its name, or its id as long as that is all that is known */
	CONTAINER_NAMESPACE, /* of the pod, in Kubernetes */
	CONTAINER_ROOTFS,    /* path of its root directory on the machine */
	CONTAINER_LAYERS,    /* directories of the overlay that is its root: upper, then lower ones, by : */
	CONTAINER_N_TEXTS,
};

#define CONTAINER_TEXT_MAX   1024 /* with the NUL; layers may have four times that */
#define CONTAINER_LAYERS_MAX (4 * CONTAINER_TEXT_MAX)

struct container_family;

struct container {
	const struct container_family *family; /* NULL: in no container */
	char *text[CONTAINER_N_TEXTS];         /* owned; NULL: not known */
};

void container_deinit(struct container *c);
/* "podman", "docker", "containerd", "cri-o", "runc", "crun", "lxc", "nspawn", "flatpak", "snap",
 * "systemd"; "" if there is none. */
const char *container_runtime(const struct container *c);
/* Sets a text. One that is too long, empty or has a NUL inside is ignored. 0 or -ENOMEM. */
int container_set(struct container *c, enum container_text which, const char *text, size_t n);
/* Takes from another look at the same container what this one lacks. True if there was something. */
bool container_merge(struct container *c, struct container *other);
/* Whether people mean this one: by name, by at least four digits of its id, or by RUNTIME:NAME. */
bool container_matches(const struct container *c, const char *wanted);
/* Whether it is only a unit of systemd, whose processes see the machine as it is. */
bool container_is_unit(const struct container *c);

struct container_clues;

/* What /proc says about a task. -errno if it is gone. Borrows host. */
int container_clues_read(const struct host_files *host, uint32_t pid, uint32_t tid,
			 struct container_clues **ret);
/* Where there is no task any more: the path of its cgroup alone. 0 or -ENOMEM. */
int container_clues_of_path(const struct host_files *host, const char *cgroup,
			    struct container_clues **ret);
void container_clues_free(struct container_clues *k);

DEFINE_CLEANUP(struct container_clues *, container_clues_free)

/* 1, or 0 if the task is in no container that we know, or -ENOMEM. */
int container_identify(const struct container_clues *k, struct container *ret);

#define CONTAINER_FILES_MAX 4

/* What the child is told beside its descriptors. */
struct container_question {
	uint64_t seed; /* random: keys of hostile JSON shall not collide in our tables */
	uint8_t family;
	uint8_t n_files;
	uint8_t roles[CONTAINER_FILES_MAX]; /* what each descriptor is, as the family numbers it */
	char id[CONTAINER_TEXT_MAX];
	char layer[72]; /* of containers/storage, where the id is not known; "" */
};

/* What the child found out. Foreign, like what it read. */
struct container_answer {
	char text[CONTAINER_LAYERS][CONTAINER_TEXT_MAX]; /* by enum container_text; "" unknown */
};

/* Opens the files that tell more, which the caller closes. How many; 0 if there is nothing to ask. */
size_t container_open_files(const struct container_clues *k, const struct container *c,
			    struct container_question *question, int *fds);
/* In the child. 0 or -errno. */
int container_read(const struct container_question *question, const int *fds, size_t n_fds,
		   struct container_answer *ret, struct mw_error *e);
/* Takes over what makes sense. 1 if it has a name now, 0 if it has none, -ENOMEM. */
int container_take_answer(struct container *c, const struct container_answer *answer);

#endif
