/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/pager.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_PAGER "less"

static bool in_path(const char *program)
{
	const char *path = getenv("PATH");
	for (; path && *path; path += strspn(path, ":")) {
		char file[512];
		size_t n = strcspn(path, ":");
		snprintf(file, sizeof file, "%.*s/%s", (int)n, path, program);
		if (access(file, X_OK) == 0)
			return true;
		path += n;
	}
	return false;
}

/* The shell command that shows the text, or NULL if none is wanted or there is none. */
static const char *pager_command(void)
{
	const char *command = getenv("MAPWRIGHT_PAGER");
	if (!command)
		command = getenv("PAGER");
	if (!command)
		return in_path(DEFAULT_PAGER) ? DEFAULT_PAGER : NULL;
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

static void become_pager(const char *command, int input)
{
	/* -F: leave at once if all fits on the screen; -R: colours; -X: leave the text standing. */
	setenv("LESS", "FRX", 0);
	if (dup2(input, STDIN_FILENO) >= 0)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

struct pager pager_start(void)
{
	const struct pager none = {.output = -1};
	const char *command = isatty(STDOUT_FILENO) ? pager_command() : NULL;
	int ends[2];
	if (!command || pipe2(ends, O_CLOEXEC) < 0)
		return none;
	_cleanup_close_ int read_end = ends[0];
	_cleanup_close_ int write_end = ends[1];
	_cleanup_close_ int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	fflush(stdout);
	if (output < 0)
		return none;
	pid_t pid = fork();
	if (pid == 0)
		become_pager(command, read_end);
	if (pid < 0 || dup2(write_end, STDOUT_FILENO) < 0)
		return none;
	/* ^C is for the pager, and people may leave it before the end of the text. */
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return (struct pager){.pid = pid, .output = take_fd(output)};
}

void pager_finish(struct pager *p)
{
	if (!p->pid)
		return;
	if (fflush(stdout) != 0 && errno == EPIPE)
		clearerr(stdout);
	/* Closes the pipe, which is the end of the text for the pager. */
	dup2(p->output, STDOUT_FILENO);
	close(p->output);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	*p = (struct pager){.output = -1};
}
