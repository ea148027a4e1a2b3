/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/terminal.h"
#include "lib/test.h"

#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int terminal_run(int (*fn)(void), char *text, size_t size)
{
	const struct winsize window = {.ws_row = 24, .ws_col = 40};
	int terminal;
	pid_t pid = forkpty(&terminal, NULL, NULL, &window);
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("TERM", "xterm", 1);
		exit(fn());
	}
	size_t n = 0;
	char block[512];
	ssize_t got;
	/* Reading fails with EIO once nobody has the terminal open any more. */
	while ((got = read(terminal, block, sizeof block)) > 0) {
		size_t taken = MIN((size_t)got, size - 1 - n);
		memcpy(text + n, block, taken);
		n += taken;
	}
	text[n] = '\0';
	close(terminal);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
