/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Containers by name, over trees that look like the /proc and the disk of machines with each runtime.
 * What the trees hold was taken from runtimes at work (Debian 12: podman 4.3, docker 20.10, containerd
 * 1.6, runc 1.1, LXC 5.0, systemd 252) or from their documentation.
 */
#include "base/run.h"
#include "content/container.h"
#include "lib/shared.h"
#include "lib/test.h"
#include "lib/tree.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define A64 "489ce0ef7fef0384916f24419f34f037f421877cabc9e9979571556b5398ea41"
#define B64 "1e568543061703ff14c87a7e30b4dce563cc1a788a202b5016482b4532dbaf36"
#define C64 "badf125876da608a3dd844ab993bae8fbad84f2ac64acd2dd7bb5442c9b954f1"

#define HOST_MOUNTS                                                                                \
	"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"                         \
	"23 22 0:21 / /proc rw - proc proc rw\n"

struct fixture {
	struct tree tree;
	struct proc proc;
	struct host_files host;
	struct container c;
	struct container_question question;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	char path[128];
	tree_init(&f->tree);
	tree_write(&f->tree, "proc/1/mountinfo", HOST_MOUNTS);
	tree_write(&f->tree, "proc/1/root/etc/passwd",
		   "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann,,:/home/ann:/bin/sh\n");
	snprintf(path, sizeof path, "%s/proc", f->tree.path);
	assert_int_equal(proc_init(&f->proc, path, NULL), 0);
	assert_int_equal(host_files_init(&f->host, &f->proc, NULL), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	container_deinit(&f->c);
	host_files_deinit(&f->host);
	proc_deinit(&f->proc);
	tree_deinit(&f->tree);
	free(f);
	return 0;
}

/* ---- what the tests say ---------------------------------------------------------------------- */

static void given_task(struct fixture *f, const char *cgroup, const char *mounts)
{
	tree_write(&f->tree, "proc/42/cgroup", cgroup);
	tree_write(&f->tree, "proc/42/mountinfo", mounts);
}

static void given_file(struct fixture *f, const char *path, const char *text)
{
	char name[512];
	snprintf(name, sizeof name, "proc/1/root%s", path);
	tree_write(&f->tree, name, text);
}

static int identify(struct fixture *f)
{
	struct container_clues *k;
	assert_int_equal(container_clues_read(&f->host, 42, 42, &k), 0);
	container_deinit(&f->c);
	int r = container_identify(k, &f->c);
	container_clues_free(k);
	return r;
}

/* All steps. 1 if the container has a name then. */
static int identify_by_files(struct fixture *f)
{
	struct container_clues *k;
	int fds[CONTAINER_FILES_MAX];
	struct container_answer answer = {};
	assert_int_equal(container_clues_read(&f->host, 42, 42, &k), 0);
	container_deinit(&f->c);
	assert_int_equal(container_identify(k, &f->c), 1);
	size_t n = container_open_files(k, &f->c, &f->question, fds);
	container_clues_free(k);
	int r = n ? container_read(&f->question, fds, n, &answer, NULL) : 0;
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return r < 0 ? r : container_take_answer(&f->c, &answer);
}

static void is(const struct fixture *f, enum container_text which, const char *expected)
{
	const char *text = f->c.text[which];
	if (!expected)
		assert_null(text);
	else if (!text)
		fail_msg("text %d is not known, expected %s", which, expected);
	else
		assert_string_equal(text, expected);
}

static void is_container(const struct fixture *f, const char *runtime, const char *id,
			 const char *name, const char *image)
{
	assert_string_equal(container_runtime(&f->c), runtime);
	is(f, CONTAINER_ID, id);
	is(f, CONTAINER_NAME, name);
	is(f, CONTAINER_IMAGE, image);
}

static void is_in_pod(const struct fixture *f, const char *pod, const char *name_space)
{
	is(f, CONTAINER_POD, pod);
	is(f, CONTAINER_NAMESPACE, name_space);
}

/* ---- podman ---------------------------------------------------------------------------------- */

#define PODMAN_METADATA                                                                            \
	"{\\\"image-name\\\":\\\"localhost/mwct:1\\\",\\\"image-id\\\":\\\"" C64                   \
	"\\\",\\\"name\\\":\\\"mwname\\\",\\\"created-at\\\":1795979565}"
#define PODMAN_LIST                                                                                \
	"[{\"id\":\"" C64 "\",\"names\":[\"other\"],\"layer\":\"" A64 "\"},"                       \
	"{\"id\":\"" A64 "\",\"names\":[\"mwname\"],\"image\":\"" C64 "\",\"layer\":\"" B64         \
	"\",\"metadata\":\"" PODMAN_METADATA "\",\"flags\":{\"MountLabel\":\"\"}}]"
#define OVERLAY_OF(root)                                                                           \
	"83 53 0:45 / / rw,relatime - overlay overlay rw,lowerdir=" root "/overlay/l/DJZK:" root   \
	"/overlay/l/ABCD,upperdir=" root "/overlay/" B64 "/diff,workdir=" root "/overlay/" B64      \
	"/work,uuid=on\n84 83 0:48 / /proc rw - proc proc rw\n"

static void podman_is_named_from_the_storage_that_its_root_lies_in(void **state)
{
	struct fixture *f = *state;
	given_task(f, "9:name=systemd:/libpod_parent/libpod-" A64 "\n0::/libpod_parent/libpod-" A64 "\n",
		   OVERLAY_OF("/var/tmp/store"));
	given_file(f, "/var/tmp/store/overlay-containers/containers.json", PODMAN_LIST);
	/* The default storage has another container of this id, in another's name. */
	given_file(f, "/var/lib/containers/storage/overlay-containers/containers.json",
		   "[{\"id\":\"" A64 "\",\"names\":[\"decoy\"]}]");
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "podman", A64, "mwname", "localhost/mwct:1");
	is_in_pod(f, NULL, NULL);
	is(f, CONTAINER_LAYERS,
	   "/var/tmp/store/overlay/" B64 "/diff:/var/tmp/store/overlay/l/DJZK:"
	   "/var/tmp/store/overlay/l/ABCD");
	is(f, CONTAINER_ROOTFS, NULL);
}

static void podman_under_systemd_tells_its_pod(void **state)
{
	struct fixture *f = *state;
	given_task(f,
		   "0::/machine.slice/machine-libpod_pod_" C64 ".slice/libpod-" A64
		   ".scope/container\n",
		   OVERLAY_OF("/var/lib/containers/storage"));
	given_file(f, "/var/lib/containers/storage/overlay-containers/volatile-containers.json",
		   "[{\"id\":\"" A64 "\",\"names\":[\"web\"],\"image\":\"" C64 "\"}]");
	given_file(f, "/var/lib/containers/storage/overlay-images/images.json",
		   "[{\"id\":\"" B64 "\",\"names\":[\"no\"]},{\"id\":\"" C64
		   "\",\"names\":[\"docker.io/library/nginx:1\"]}]");
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "podman", A64, "web", "docker.io/library/nginx:1");
	is_in_pod(f, "badf125876da", NULL);
}

static void podman_without_root_is_found_in_the_users_home(void **state)
{
	struct fixture *f = *state;
	given_task(f,
		   "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A64
		   ".scope\n",
		   "83 53 0:45 / / rw - fuse.fuse-overlayfs fuse-overlayfs rw,user_id=0\n");
	given_file(f, "/home/ann/.local/share/containers/storage/overlay-containers/containers.json",
		   PODMAN_LIST);
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "podman", A64, "mwname", "localhost/mwct:1");
}

static void podman_without_a_cgroup_is_found_by_the_layer_of_its_root(void **state)
{
	struct fixture *f = *state;
	given_task(f, "1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n",
		   OVERLAY_OF("/home/ann/.local/share/containers/storage"));
	/* Without its lists an overlay of this form is anybody's. */
	assert_int_equal(identify(f), 1);
	assert_string_equal(container_runtime(&f->c), "systemd");
	given_file(f, "/home/ann/.local/share/containers/storage/overlay-containers/containers.json",
		   PODMAN_LIST);
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "podman", A64, "mwname", "localhost/mwct:1");
}

static void podman_with_the_vfs_driver_is_found_by_its_root_directory(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/\n",
		   "83 53 254:0 /var/lib/containers/storage/vfs/dir/" B64 " / rw - ext4 /dev/vda rw\n");
	given_file(f, "/var/lib/containers/storage/vfs-containers/containers.json", PODMAN_LIST);
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "podman", A64, "mwname", "localhost/mwct:1");
	is(f, CONTAINER_ROOTFS, "/var/lib/containers/storage/vfs/dir/" B64);
}

static void the_monitor_of_a_podman_container_is_not_in_it(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/machine.slice/libpod-conmon-" A64 ".scope\n", HOST_MOUNTS);
	assert_int_equal(identify(f), 1);
	is_container(f, "systemd", "libpod-conmon-" A64 ".scope", "libpod-conmon-" A64 ".scope", NULL);
	assert_true(container_is_unit(&f->c));
}

/* ---- docker ---------------------------------------------------------------------------------- */

#define DOCKER_CONFIG(name, labels)                                                                \
	"{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":10038},\"ID\":\"" A64            \
	"\",\"Path\":\"/bin/prog\",\"Config\":{\"Hostname\":\"489ce0ef7fef\",\"Image\":\"mwd:2\","  \
	"\"Env\":null,\"Labels\":{" labels "}},\"Image\":\"sha256:" C64 "\",\"Name\":\"" name       \
	"\",\"Driver\":\"overlay2\"}"
#define DOCKER_ROOT(root)                                                                          \
	"121 68 0:56 / / rw - overlay overlay rw,lowerdir=" root "/overlay2/l/AGFJ,upperdir=" root \
	"/overlay2/" B64 "/diff,workdir=" root "/overlay2/" B64 "/work\n"

static void docker_is_named_from_its_data_root(void **state)
{
	struct fixture *f = *state;
	given_task(f, "9:name=systemd:/docker/" A64 "\n0::/docker/" A64 "\n", DOCKER_ROOT("/data/docker"));
	given_file(f, "/data/docker/containers/" A64 "/config.v2.json", DOCKER_CONFIG("/dname", ""));
	tree_write(&f->tree, "proc/1/mountinfo",
		   HOST_MOUNTS "99 22 0:56 / /data/docker/overlay2/" B64
			       "/merged rw - overlay overlay rw,lowerdir=x\n");
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "docker", A64, "dname", "mwd:2");
	is(f, CONTAINER_ROOTFS, "/data/docker/overlay2/" B64 "/merged");
}

static void docker_behind_any_snapshotter_is_found_by_its_hostname_file(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/custom/parent\n",
		   "121 68 0:56 / / rw - overlay overlay rw,lowerdir=/s/1/fs,upperdir=/s/2/fs\n"
		   "122 121 8:3 /docker/containers/" A64 "/hostname /etc/hostname rw - xfs /dev/sda3 rw\n");
	tree_write(&f->tree, "proc/1/mountinfo",
		   HOST_MOUNTS "30 22 8:3 / /srv/big\\040disk rw - xfs /dev/sda3 rw\n");
	given_file(f, "/srv/big disk/docker/containers/" A64 "/config.v2.json",
		   DOCKER_CONFIG("/dname", ""));
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "docker", A64, "dname", "mwd:2");
}

static void docker_under_systemd_and_kubernetes_tells_the_pod(void **state)
{
	struct fixture *f = *state;
	given_task(f,
		   "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod8712f785_1a3e_"
		   "41ec_a00b_e2dcc77431cb.slice/docker-" A64 ".scope\n",
		   DOCKER_ROOT("/var/lib/docker"));
	assert_int_equal(identify(f), 1);
	is_container(f, "docker", A64, NULL, NULL);
	is_in_pod(f, "8712f785-1a3e-41ec-a00b-e2dcc77431cb", NULL);
	given_file(f, "/var/lib/docker/containers/" A64 "/config.v2.json",
		   DOCKER_CONFIG("/k8s_app_web-0_prod_8712f785_0",
				 "\"io.kubernetes.container.name\":\"app\","
				 "\"io.kubernetes.pod.name\":\"web-0\","
				 "\"io.kubernetes.pod.namespace\":\"prod\""));
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "docker", A64, "app", "mwd:2");
	is_in_pod(f, "web-0", "prod");
}

static void a_config_that_is_another_containers_lends_no_name(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/docker/" C64 "\n", DOCKER_ROOT("/var/lib/docker"));
	given_file(f, "/var/lib/docker/containers/" C64 "/config.v2.json", DOCKER_CONFIG("/dname", ""));
	assert_int_equal(identify_by_files(f), -EBADMSG);
	is_container(f, "docker", C64, NULL, NULL);
}

/* ---- containerd and CRI-O -------------------------------------------------------------------- */

#define SNAPSHOT                                                                                   \
	"157 80 0:67 / / rw - overlay overlay rw,lowerdir=/cd/io.containerd.snapshotter.v1."       \
	"overlayfs/snapshots/1/fs,upperdir=/cd/io.containerd.snapshotter.v1.overlayfs/snapshots/"  \
	"2/fs,workdir=/cd/io.containerd.snapshotter.v1.overlayfs/snapshots/2/work\n"
/* The limit is what runtimes write for "unlimited": no signed number holds it. */
#define OCI_CONFIG(annotations)                                                                    \
	"{\"ociVersion\":\"1.0.2-dev\",\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_MEMLOCK\","     \
	"\"hard\":18446744073709551615,\"soft\":18446744073709551615}]},\"root\":{\"path\":"        \
	"\"rootfs\"},\"annotations\":{" annotations "},\"linux\":{\"cgroupsPath\":\"/a/b\"}}"
#define CRI_ANNOTATIONS                                                                            \
	"\"io.kubernetes.cri.container-type\":\"container\","                                      \
	"\"io.kubernetes.cri.container-name\":\"app\","                                            \
	"\"io.kubernetes.cri.image-name\":\"registry.k8s.io/app:3\","                              \
	"\"io.kubernetes.cri.sandbox-id\":\"" B64 "\","                                            \
	"\"io.kubernetes.cri.sandbox-name\":\"web-0\","                                            \
	"\"io.kubernetes.cri.sandbox-namespace\":\"prod\""

static void containers_of_ctr_are_told_by_their_snapshot(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/default/ctrname\n", SNAPSHOT);
	tree_write(&f->tree, "proc/1/mountinfo",
		   HOST_MOUNTS "99 22 0:67 / /cdstate/io.containerd.runtime.v2.task/default/ctrname/"
			       "rootfs rw - overlay overlay rw,lowerdir=x\n");
	given_file(f, "/cdstate/io.containerd.runtime.v2.task/default/ctrname/config.json",
		   OCI_CONFIG("\"nerdctl/name\":\"friendly\""));
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "containerd", "ctrname", "friendly", NULL);
	is(f, CONTAINER_ROOTFS, "/cdstate/io.containerd.runtime.v2.task/default/ctrname/rootfs");

	given_task(f, "0::/default/ctrname\n", HOST_MOUNTS);
	assert_int_equal(identify(f), 0);
}

static void containerd_tells_container_pod_and_namespace_of_kubernetes(void **state)
{
	static const char *const cgroups[] = {
		"0::/kubepods.slice/kubepods-pod8712f785_1a3e.slice/cri-containerd-" A64 ".scope\n",
		"0::/kubepods/burstable/pod8712f785-1a3e/" A64 "\n",
		"0::/system.slice/containerd.service/kubepods-burstable-pod8712f785_1a3e.slice:"
		"cri-containerd:" A64 "\n",
		"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod8712f785_1a3e.slice/"
		"cri-containerd-" A64 ".scope\n",
	};
	struct fixture *f = *state;
	given_file(f, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" A64 "/config.json",
		   OCI_CONFIG(CRI_ANNOTATIONS));
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		given_task(f, cgroups[i], SNAPSHOT);
		assert_int_equal(identify(f), 1);
		is_container(f, "containerd", A64, NULL, NULL);
		is_in_pod(f, "8712f785-1a3e", NULL);
		assert_int_equal(identify_by_files(f), 1);
		is_container(f, "containerd", A64, "app", "registry.k8s.io/app:3");
		is_in_pod(f, "web-0", "prod");
	}
}

static void the_container_that_holds_a_pod_is_called_so(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/kubepods/besteffort/podx/" A64 "\n", SNAPSHOT);
	given_file(f, "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" A64 "/config.json",
		   OCI_CONFIG("\"io.kubernetes.cri.container-type\":\"sandbox\","
			      "\"io.kubernetes.cri.sandbox-name\":\"web-0\""));
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "containerd", A64, "POD", NULL);
	is_in_pod(f, "web-0", NULL);
}

static void crio_is_named_from_the_list_of_the_storage(void **state)
{
	static const char list[] =
		"[{\"id\":\"" A64 "\",\"names\":[\"k8s_app_web-0_prod_8712f785_0\"],\"image\":\"" C64
		"\",\"layer\":\"" B64 "\",\"metadata\":\"{\\\"pod-name\\\":\\\"k8s_web-0_prod_8712f785_0"
		"\\\",\\\"image-name\\\":\\\"quay.io/app:3\\\",\\\"name\\\":\\\"k8s_app_web-0_prod_"
		"8712f785_0\\\",\\\"metadata-name\\\":\\\"app\\\"}\"}]";
	static const char *const cgroups[] = {
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8712f785.slice/crio-" A64
		".scope\n",
		"0::/kubepods/burstable/pod8712f785/" A64 "\n",
	};
	struct fixture *f = *state;
	given_file(f, "/var/lib/containers/storage/overlay-containers/volatile-containers.json", list);
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		given_task(f, cgroups[i], OVERLAY_OF("/var/lib/containers/storage"));
		assert_int_equal(identify_by_files(f), 1);
		is_container(f, "cri-o", A64, "app", "quay.io/app:3");
		is_in_pod(f, "web-0", "prod");
	}
}

/* ---- runc, crun, LXC, nspawn ----------------------------------------------------------------- */

static void runc_is_proved_by_its_state_and_takes_the_image_from_its_labels(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/runcname\n", "90 48 8:9 /x/rootfs / rw - ext4 /dev/sdz rw\n");
	assert_int_equal(identify(f), 0);
	given_file(f, "/run/runc/runcname/state.json",
		   "{\"id\":\"runcname\",\"init_process_pid\":11854,\"config\":{\"rootfs\":\"/var/tmp/b/"
		   "rootfs\",\"labels\":[\"org.opencontainers.image.ref.name=foo:1\",\"bundle=/var/tmp/"
		   "b\"]}}");
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "runc", "runcname", "runcname", "foo:1");
	is(f, CONTAINER_ROOTFS, "/var/tmp/b/rootfs");

	given_task(f, "0::/system.slice/runc-runcname.scope\n",
		   "90 48 254:0 /var/tmp/b/rootfs / rw - ext4 /dev/vda rw\n");
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "runc", "runcname", "runcname", "foo:1");
	is(f, CONTAINER_ROOTFS, "/var/tmp/b/rootfs");
	/* A user's cgroup of that name is no container. */
	given_task(f, "0::/user.slice/user-1000.slice/user@1000.service/runcname\n", HOST_MOUNTS);
	assert_int_equal(identify(f), 1);
	assert_string_equal(container_runtime(&f->c), "systemd");
}

static void crun_is_proved_by_its_status(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/user.slice/user-1000.slice/user@1000.service/mine\n",
		   "90 48 8:9 /x / rw - ext4 /dev/sdz rw\n");
	given_file(f, "/run/user/1000/crun/mine/status",
		   "{\"pid\":7,\"process-start-time\":18446744073709551615,\"cgroup-path\":\"/mine\","
		   "\"rootfs\":\"/home/ann/b/rootfs\",\"bundle\":\"/home/ann/b\"}");
	given_file(f, "/run/user/1000/crun/mine/config.json",
		   OCI_CONFIG("\"org.opencontainers.image.ref.name\":\"img:2\""));
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "crun", "mine", "mine", "img:2");
	is(f, CONTAINER_ROOTFS, "/home/ann/b/rootfs");
}

static void lxc_is_named_by_its_cgroup_and_tells_its_template(void **state)
{
	static const char *const cgroups[] = {"0::/lxc.payload.web/system.slice/ssh.service\n",
					      "4:memory:/lxc/web\n", "0::/lxc.payload/web/init.scope\n"};
	struct fixture *f = *state;
	given_file(f, "/var/lib/lxc/web/config",
		   "# Template used to create this container: /usr/share/lxc/templates/lxc-download\n"
		   "# Parameters passed to the template: -d debian -r bookworm -a amd64\n"
		   "lxc.uts.name = web\nlxc.rootfs.path = dir:/var/lib/lxc/web/rootfs\n");
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		given_task(f, cgroups[i], "90 48 8:9 /x / rw - ext4 /dev/sdz rw\n");
		assert_int_equal(identify_by_files(f), 1);
		is_container(f, "lxc", "web", "web", "lxc-download -d debian -r bookworm -a amd64");
		is(f, CONTAINER_ROOTFS, "/var/lib/lxc/web/rootfs");
	}
	given_task(f, "0::/lxc.monitor.web\n", HOST_MOUNTS);
	assert_int_equal(identify(f), 0);
}

static void nspawn_is_named_by_its_scope_or_by_its_mount(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/machine.slice/machine-my\\x2dbox.scope/payload/init.scope\n",
		   "180 140 254:0 /var/lib/machines/my-box / rw - ext4 /dev/vda rw\n");
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "nspawn", "my-box", "my-box", NULL);
	is(f, CONTAINER_ROOTFS, "/var/lib/machines/my-box");

	given_task(f, "9:name=systemd:/payload\n",
		   "180 140 254:0 /var/tmp/ct/mach / rw - ext4 /dev/vda rw\n"
		   "188 180 0:44 /nspawn/propagate/mach /run/host/incoming ro - tmpfs t rw\n");
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "nspawn", "mach", "mach", NULL);
	is(f, CONTAINER_ROOTFS, "/var/tmp/ct/mach");

	given_task(f, "0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n", HOST_MOUNTS);
	assert_int_equal(identify(f), 1);
	assert_string_equal(container_runtime(&f->c), "systemd");
}

/* ---- flatpak, snap, units -------------------------------------------------------------------- */

static void flatpak_tells_application_and_instance(void **state)
{
	struct fixture *f = *state;
	static const char *const cgroups[] = {
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
		"app-flatpak-org.gnome.Maps-4711.scope\n",
		"0::/user.slice/user-1000.slice/session-2.scope\n",
	};
	tree_write(&f->tree, "proc/42/root/.flatpak-info",
		   "[Application]\nname=org.gnome.Maps\nruntime=runtime/org.gnome.Platform/x86_64/45\n"
		   "\n[Instance]\ninstance-id=1234567890\nbranch=stable\narch=x86_64\nname=decoy\n");
	tree_write(&f->tree, "proc/42/task/42/root/.flatpak-info",
		   "[Application]\nname=org.gnome.Maps\n[Instance]\ninstance-id=1234567890\n"
		   "branch=stable\narch=x86_64\nname=decoy\n");
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		given_task(f, cgroups[i], "90 48 0:99 / / rw - tmpfs tmpfs rw\n");
		assert_int_equal(identify_by_files(f), 1);
		is_container(f, "flatpak", "1234567890", "org.gnome.Maps",
			     "app/org.gnome.Maps/x86_64/stable");
	}
}

static void snap_tells_package_application_and_revision(void **state)
{
	struct fixture *f = *state;
	char path[128];
	given_task(f,
		   "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
		   "snap.firefox.firefox-0f1e.scope\n",
		   "90 48 7:3 / / ro - squashfs /dev/loop3 ro\n");
	snprintf(path, sizeof path, "%s/proc/42/exe", f->tree.path);
	assert_int_equal(symlink("/snap/firefox/4848/usr/lib/firefox/firefox", path), 0);
	assert_int_equal(identify_by_files(f), 1);
	is_container(f, "snap", "firefox.firefox-0f1e", "firefox", "firefox_4848.snap");
}

static void the_deepest_container_counts_and_units_only_outside_of_them(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/lxc.payload.web/system.slice/docker-" A64 ".scope\n", SNAPSHOT);
	assert_int_equal(identify(f), 1);
	is_container(f, "docker", A64, NULL, NULL);
	given_task(f, "0::/system.slice/docker-" A64 ".scope/system.slice/ssh.service\n", SNAPSHOT);
	assert_int_equal(identify(f), 1);
	is_container(f, "docker", A64, NULL, NULL);
	given_task(f, "0::/user.slice/user-0.slice/user@0.service/app.slice/dbus.service\n",
		   HOST_MOUNTS);
	assert_int_equal(identify(f), 1);
	is_container(f, "systemd", "dbus.service", "dbus.service", NULL);
	given_task(f, "0::/\n", HOST_MOUNTS);
	assert_int_equal(identify(f), 0);
}

static void an_old_hierarchy_may_name_what_the_unified_one_does_not(void **state)
{
	struct fixture *f = *state;
	given_task(f,
		   "4:memory:/docker/" A64 "\n1:name=systemd:/docker/" A64
		   "\n0::/system.slice/containerd.service\n",
		   HOST_MOUNTS);
	assert_int_equal(identify(f), 1);
	is_container(f, "docker", A64, NULL, NULL);
}

/* ---- hostile --------------------------------------------------------------------------------- */

static void lists_of_any_other_form_name_nothing_and_harm_nothing(void **state)
{
	static const char *const lists[] = {
		"", "[", "{}", "[[[]]]", "null", "[null,1,\"" A64 "\"]", "\"" A64 "\"",
		"[{\"id\":{\"id\":\"" A64 "\"}}]",
		"[{\"id\":\"" A64 "\",\"names\":\"mwname\",\"metadata\":7,\"image\":[1]}]",
		"[{\"id\":\"" A64 "\",\"names\":[[\"x\"]],\"metadata\":\"[[[\",\"image\":\"\"}]",
		"[{\"id\":\"" A64 "\",\"names\":[\"a\\u0000b\"]}]",
		"[{\"id\":\"" A64 "\",\"names\":[\"line\\nbreak\"]}]",
		"[{\"id\":\"" A64 "\",\"names\":[\"\\u001b[31mred\"]}]",
		"[{\"id\":\"" A64 "\",\"names\":[\"\xff\xfe\"]}]",
		"[{\"id\":\"" A64 "\",\"n\":1e99999}]",
		"[{\"id\":\"" A64 "\",\"names\":[\"mwname\"",
	};
	struct fixture *f = *state;
	given_task(f, "0::/libpod_parent/libpod-" A64 "\n", OVERLAY_OF("/s"));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		given_file(f, "/s/overlay-containers/containers.json", lists[i]);
		assert_true(identify_by_files(f) <= 0);
		is_container(f, "podman", A64, NULL, NULL);
	}
}

static char *repeat(const char *text, size_t n)
{
	size_t size = strlen(text);
	char *all = malloc(n * size + 1);
	for (size_t i = 0; i < n; i++)
		memcpy(all + i * size, text, size);
	all[n * size] = '\0';
	return all;
}

static void deep_nesting_is_refused(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/libpod_parent/libpod-" A64 "\n", OVERLAY_OF("/s"));
	static const char *const openings[] = {"[", "{\"a\":", "[{\"id\":"};
	for (size_t i = 0; i < ARRAY_SIZE(openings); i++) {
		_cleanup_free_ char *deep = repeat(openings[i], 1000000);
		given_file(f, "/s/overlay-containers/containers.json", deep);
		assert_true(identify_by_files(f) < 0);
	}
}

static void texts_that_are_too_long_are_left_out(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *name = repeat("n", CONTAINER_TEXT_MAX);
	_cleanup_free_ char *list = NULL;
	assert_true(asprintf(&list, "[{\"id\":\"" A64 "\",\"names\":[\"%s\"],\"image\":\"img\"}]", name) >
		    0);
	given_task(f, "0::/libpod_parent/libpod-" A64 "\n", OVERLAY_OF("/s"));
	given_file(f, "/s/overlay-containers/containers.json", list);
	assert_int_equal(identify_by_files(f), 0);
	is_container(f, "podman", A64, NULL, "img");
}

static void files_that_are_none_too_large_or_elsewhere_are_not_opened(void **state)
{
	struct fixture *f = *state;
	char path[200];
	given_file(f, "/s/overlay-containers/here", "");
	tree_write(&f->tree, "outside.json", "[]");
	snprintf(path, sizeof path, "%s/proc/1/root/s/overlay-containers/fifo", f->tree.path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(host_files_open(&f->host, "/s/overlay-containers/fifo"), -EINVAL);
	assert_int_equal(host_files_open(&f->host, "/s/overlay-containers"), -EINVAL);
	assert_int_equal(host_files_open(&f->host, "s/overlay-containers/here"), -EINVAL);
	assert_true(host_files_open(&f->host, "/s/../../../../../../outside.json") < 0);
	snprintf(path, sizeof path, "%s/proc/1/root/s/link", f->tree.path);
	assert_int_equal(symlink("../../../../outside.json", path), 0);
	assert_true(host_files_open(&f->host, "/s/link") < 0);
	snprintf(path, sizeof path, "%s/proc/1/root/s/overlay-containers/here", f->tree.path);
	assert_int_equal(truncate(path, HOST_FILE_MAX + 1), 0);
	assert_int_equal(host_files_open(&f->host, "/s/overlay-containers/here"), -EFBIG);
	assert_int_equal(truncate(path, HOST_FILE_MAX), 0);
	int fd = host_files_open(&f->host, "/s/overlay-containers/here");
	assert_true(fd >= 0);
	close(fd);
}

static void odd_proc_files_are_survived(void **state)
{
	static const char *const cgroups[] = {"", "\n\n", ":", "::", "0::", "0::/", "1:a:b", "///",
					      "0::/../../..\n", "0:://a//b//\n"};
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		given_task(f, cgroups[i], i % 2 ? "" : "garbage\n1 2 3\n - \n");
		assert_int_equal(identify(f), 0);
	}
	_cleanup_free_ char *deep = repeat("/x.service", 3000);
	_cleanup_free_ char *cgroup = NULL;
	assert_true(asprintf(&cgroup, "0::%s\n", deep) > 0);
	given_task(f, cgroup, "");
	assert_int_equal(identify(f), 1);
	struct container_clues *k;
	assert_int_equal(container_clues_read(&f->host, 43, 43, &k), -ENOENT);
}

/* ---- matching, and the child ----------------------------------------------------------------- */

static void people_mean_a_container_by_name_id_or_runtime(void **state)
{
	struct fixture *f = *state;
	given_task(f, "0::/docker/" A64 "\n", DOCKER_ROOT("/var/lib/docker"));
	given_file(f, "/var/lib/docker/containers/" A64 "/config.v2.json", DOCKER_CONFIG("/dname", ""));
	assert_int_equal(identify_by_files(f), 1);
	static const char *const good[] = {"dname", "489c", "489ce0ef7fef", A64, "docker:dname",
					   "docker:489ce"};
	static const char *const bad[] = {"", "dnam", "dname2", "489", "489d", "docker:", "docker",
					  "podman:dname", A64 "0", "docker:docker:dname"};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(container_matches(&f->c, good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(container_matches(&f->c, bad[i]));
	struct container none = {};
	assert_false(container_matches(&none, ""));
}

static int job(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
	       size_t reply_size, struct mw_error *e)
{
	return container_read(args, fds, n_fds, reply, e);
}

static void the_sandboxed_child_reads_the_files(void **state)
{
	static const struct run_job jobs[] = {{.name = "test-container",
					       .fn = job,
					       .reply_size = sizeof(struct container_answer),
					       .memory_limit = UINT64_C(512) << 20,
					       .cpu_seconds = 5}};
	struct fixture *f = *state;
	struct run_server *server;
	struct container_clues *k;
	int fds[CONTAINER_FILES_MAX];
	given_task(f, "0::/libpod_parent/libpod-" A64 "\n", OVERLAY_OF("/s"));
	given_file(f, "/s/overlay-containers/containers.json", PODMAN_LIST);
	assert_int_equal(run_server_start(jobs, 1, &server, NULL), 0);
	assert_int_equal(container_clues_read(&f->host, 42, 42, &k), 0);
	assert_int_equal(container_identify(k, &f->c), 1);
	size_t n = container_open_files(k, &f->c, &f->question, fds);
	container_clues_free(k);
	assert_int_equal(run_server_submit(server, 0, fds, n, &f->question, sizeof f->question, 1), 0);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	struct run_result result;
	while (run_server_receive(server, &result) == 0)
		usleep(1000);
	if (result.outcome != RUN_DONE)
		fail_msg("%s", result.error.msg);
	assert_int_equal(container_take_answer(&f->c, result.reply), 1);
	is_container(f, "podman", A64, "mwname", "localhost/mwct:1");
	run_server_stop(server);
}

/* ---- the corpus ------------------------------------------------------------------------------ */

static void the_cgroups_of_the_corpus_are_of_the_kinds_it_says(void **state)
{
	static const struct {
		const char *pid;
		const char *runtime;
		const char *id;
	} known[] = {
		{"100", "systemd", "docker.service"},
		{"200", "docker", "b43d92bf1e5c6f78bb9b7bc6f40721280299855ba692092716e3a1b6c0b86f3f"},
		{"300", "containerd",
		 "17db96a24ae1e9dd57143e62b1cb0d2d35e693c65c774c7470e87b0572e07c1a"},
		{"400", "docker", "73051af271105c07e1f493b34856a77e665e3b0b4fc72f76c807dfbffeb881bd"},
		{"500", "docker", "ba7b10d15d16e10e3de7a2dcd408a3d971169ae303f46cfad4c5453c6326fee2"},
		{"550", "systemd", "ssh.service"},
		{"600", "systemd", "springboot.service"},
		{"700", "", NULL},
		{"800", "docker", "cf87ba651579c9231db817909e7865e5747bd7abcac0c57ce23cf4abbaee046b"},
		{"900", "systemd", "python-app.service"},
		{"1000", "systemd", "getty@tty1.service"},
		{"2000", "containerd",
		 "95cbe853416f52d927dec41f1406dd75015ea131244a1ca875a7cd4ebe927ac8"},
		{"3000", "lxc", "first"},
	};
	struct fixture *f = *state;
	_cleanup_free_ char *shared = shared_directory();
	if (!shared)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char path[512], text[8192];
		snprintf(path, sizeof path, "%s/corpus/misc/coroot/cgroup/fixtures/proc/%s/cgroup",
			 shared, known[i].pid);
		_cleanup_fclose_ FILE *file = fopen(path, "r");
		if (!file)
			skip();
		text[fread(text, 1, sizeof text - 1, file)] = '\0';
		given_task(f, text, "");
		assert_int_equal(identify(f), known[i].runtime[0] ? 1 : 0);
		assert_string_equal(container_runtime(&f->c), known[i].runtime);
		is(f, CONTAINER_ID, known[i].id);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(podman_is_named_from_the_storage_that_its_root_lies_in),
		TEST(podman_under_systemd_tells_its_pod),
		TEST(podman_without_root_is_found_in_the_users_home),
		TEST(podman_without_a_cgroup_is_found_by_the_layer_of_its_root),
		TEST(podman_with_the_vfs_driver_is_found_by_its_root_directory),
		TEST(the_monitor_of_a_podman_container_is_not_in_it),
		TEST(docker_is_named_from_its_data_root),
		TEST(docker_behind_any_snapshotter_is_found_by_its_hostname_file),
		TEST(docker_under_systemd_and_kubernetes_tells_the_pod),
		TEST(a_config_that_is_another_containers_lends_no_name),
		TEST(containers_of_ctr_are_told_by_their_snapshot),
		TEST(containerd_tells_container_pod_and_namespace_of_kubernetes),
		TEST(the_container_that_holds_a_pod_is_called_so),
		TEST(crio_is_named_from_the_list_of_the_storage),
		TEST(runc_is_proved_by_its_state_and_takes_the_image_from_its_labels),
		TEST(crun_is_proved_by_its_status),
		TEST(lxc_is_named_by_its_cgroup_and_tells_its_template),
		TEST(nspawn_is_named_by_its_scope_or_by_its_mount),
		TEST(flatpak_tells_application_and_instance),
		TEST(snap_tells_package_application_and_revision),
		TEST(the_deepest_container_counts_and_units_only_outside_of_them),
		TEST(an_old_hierarchy_may_name_what_the_unified_one_does_not),
		TEST(lists_of_any_other_form_name_nothing_and_harm_nothing),
		TEST(deep_nesting_is_refused),
		TEST(texts_that_are_too_long_are_left_out),
		TEST(files_that_are_none_too_large_or_elsewhere_are_not_opened),
		TEST(odd_proc_files_are_survived),
		TEST(people_mean_a_container_by_name_id_or_runtime),
		TEST(the_sandboxed_child_reads_the_files),
		TEST(the_cgroups_of_the_corpus_are_of_the_kinds_it_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
