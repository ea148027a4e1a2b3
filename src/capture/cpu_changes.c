/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/cpu_changes.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KERNEL_GROUP 1 /* who hears what the kernel itself says; udev's words are in the other */

int cpu_changes_open(void)
{
	_cleanup_close_ int fd =
		socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
		return -errno;
	return take_fd(fd);
}

int cpu_changes_parse(const char *text, size_t size, uint32_t *ret)
{
	static const char *const beginnings[] = {"offline@/devices/system/cpu/cpu",
						 "online@/devices/system/cpu/cpu"};
	size_t length = strnlen(text, size);
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		size_t n = strlen(beginnings[i]);
		if (length <= n || length > n + 9 || strncmp(text, beginnings[i], n) != 0)
			continue;
		uint32_t cpu = 0;
		for (size_t at = n; at < length; at++) {
			if (text[at] < '0' || text[at] > '9')
				return 0;
			cpu = cpu * 10 + (uint32_t)(text[at] - '0');
		}
		*ret = cpu;
		return 1;
	}
	return 0;
}

int cpu_changes_next(int fd, uint32_t *ret)
{
	char text[256]; /* the beginning says all */
	for (;;) {
		struct sockaddr_nl from = {};
		socklen_t size = sizeof from;
		ssize_t n = recvfrom(fd, text, sizeof text, 0, (struct sockaddr *)&from, &size);
		if (n < 0 && errno == ENOBUFS) {
			*ret = CPU_CHANGES_ANY;
			return 1;
		}
		if (n < 0)
			return 0;
		if (from.nl_pid == 0 && cpu_changes_parse(text, (size_t)n, ret)) /* 0: the kernel */
			return 1;
	}
}
