/*
 * Functions and lines of an executable, from PREFIX-objdump.  It prints
 *
 *	00008000 <worker(int)>:
 *	/src/consume.cxx:96
 *	    8004:	bl 8100
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/base.h"
#include "debugdata.h"

extern char **environ;

struct disassembly {
	char *function, *file;		/* heap; NULL: not known */
	uint32_t line;
};

static void
replace(char **old, const char *text, size_t len)
{
	free(*old);
	*old = text != NULL ? strndup(text, len) : NULL;
}

/* "00008000 <worker(int)>:" */
static bool
take_label(struct disassembly *d, const char *line)
{
	size_t digits = strspn(line, "0123456789abcdef"), len = strlen(line);

	if (digits < 4 || strncmp(line + digits, " <", 2) != 0 || len < 3 ||
	    strcmp(line + len - 2, ">:") != 0)
		return false;
	replace(&d->function, line + digits + 2, len - digits - 4);
	replace(&d->file, NULL, 0);
	return true;
}

/* "/src/consume.cxx:96", perhaps with " (discriminator 2)" */
static bool
take_source(struct disassembly *d, char *line)
{
	char *end = strstr(line, " (discriminator"), *colon;

	if (isspace((unsigned char)line[0]))
		return false;
	if (end != NULL)
		*end = '\0';
	colon = strrchr(line, ':');
	if (colon == NULL || colon == line || colon[1] == '\0' ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return false;
	replace(&d->file, line, (size_t)(colon - line));
	d->line = (uint32_t)strtoul(colon + 1, NULL, 10);
	return true;
}

/* "    8004:	bl 8100" */
static bool
is_instruction(const char *line, uint64_t *address)
{
	size_t blanks = strspn(line, " "), digits;

	digits = strspn(line + blanks, "0123456789abcdef");
	if (blanks == 0 || digits == 0 || line[blanks + digits] != ':')
		return false;
	*address = strtoull(line + blanks, NULL, 16);
	return true;
}

static int
read_lines(FILE *in, objdump_cb take, void *arg)
{
	struct disassembly d = { .line = 0 };
	char *line = NULL;
	size_t cap = 0;
	uint64_t address;
	ssize_t n;
	int e = 0;

	while (e == 0 && (n = getline(&line, &cap, in)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (is_instruction(line, &address))
			e = take(arg, address, d.function, d.file, d.line);
		else if (!take_label(&d, line))
			take_source(&d, line);
	}
	free(line);
	free(d.function);
	free(d.file);
	return e;
}

static int
start(const char *name, const char *program, pid_t *pid, FILE **in)
{
	const char *argv[] = { name, "-d", "-l", "-C", "--no-show-raw-insn",
		program, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2], e;

	*in = NULL;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	e = posix_spawnp(pid, name, &actions, NULL,
	    (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (e == 0)
		*in = fdopen(fds[0], "r");
	if (*in == NULL)
		close(fds[0]);
	return -e;
}

int
objdump_read(const char *prefix, const char *program, objdump_cb take,
    void *arg, char why[DEBUGDATA_WHY])
{
	char name[256];
	int status = 0, e;
	FILE *in;
	pid_t pid;

	snprintf(name, sizeof name, "%s-objdump", prefix);
	e = start(name, program, &pid, &in);
	if (e < 0) {
		snprintf(why, DEBUGDATA_WHY, "cannot run '%s' for names: %s",
		    base_shown(name), strerror(-e));
		return e;
	}
	e = in != NULL ? read_lines(in, take, arg) : -ENOMEM;
	if (in != NULL)
		fclose(in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (e == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
		snprintf(why, DEBUGDATA_WHY, "'%s' has failed", base_shown(name));
		return -EIO;
	}
	return e;
}
