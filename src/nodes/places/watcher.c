#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../stream/ring.h"
#include "../host/proc.h"
#include "places.h"

#define RING "/memfd:" RING_AREA_NAME	/* what each target has mapped */
#define ANCESTORS 64

/* The user of a node by its socket, which may be in a folder that is closed to us. */
static bool
socket_user(const char *path, uid_t *uid)
{
	unsigned long n;
	struct stat st;
	long pid;

	if (lstat(path, &st) == 0) {
		*uid = st.st_uid;
		return true;
	}
	if (sscanf(path, "/run/user/%lu/pagek/", &n) == 1 ||
	    sscanf(path, "/tmp/pagek-%lu/", &n) == 1) {
		*uid = (uid_t)n;
		return true;
	}
	return sscanf(strrchr(path, '/'), "/" RUN_SOCKET ".%ld", &pid) == 1 &&
	    proc_uid((pid_t)pid, uid) == 0;
}

/* The pages' socket in a line of /proc/net/unix; NULL: the line has none. */
static const char *
node_socket(char *line)
{
	char *path = strchr(line, '/'), *name, *folder;
	unsigned flags;

	if (path == NULL ||
	    sscanf(line, "%*x: %*x %*x %x", &flags) != 1 ||
	    (flags & 0x10000) == 0)	/* does not listen */
		return NULL;
	path[strcspn(path, "\n")] = '\0';
	name = strrchr(path, '/');
	folder = name - strlen("/pagek");
	if (folder < path || strncmp(folder, "/pagek", strlen("/pagek")) != 0)
		folder = strstr(path, "/pagek-");
	return folder != NULL && nodes_is_socket_name(name + 1) ? path : NULL;
}

/*
 * The process says hello to the daemon at this socket, as far as is known: to
 * PAGEK_NODE, else in XDG_RUNTIME_DIR, else in /tmp.
 */
static bool
may_say_hello(pid_t pid, const char *path)
{
	char text[256], own[sizeof text + 16];
	struct stat a, b;
	unsigned long user;

	if (proc_environ(pid, "PAGEK_NODE", text, sizeof text) == 0 &&
	    strncmp(text, path, strlen(path)) == 0)
		return true;
	if (sscanf(path, "/tmp/pagek-%lu/", &user) == 1 ||
	    proc_environ(pid, "XDG_RUNTIME_DIR", text, sizeof text) < 0)
		return true;
	snprintf(own, sizeof own, "%s/pagek/" DAEMON_SOCKET, text);
	return stat(own, &a) == 0 && stat(path, &b) == 0 ?
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino :
	    strcmp(own, path) == 0;
}

/* The socket of a command's node, else of a daemon that the user's targets say hello to. */
static void
find_socket(pid_t pid, struct nodes_watcher *w)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512], own[32];
	const char *path;
	uid_t uid;

	snprintf(own, sizeof own, "/" RUN_SOCKET ".%ld", (long)w->node);
	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		bool command;

		path = node_socket(line);
		if (path == NULL || strlen(path) >= sizeof w->socket)
			continue;
		command = strcmp(strrchr(path, '/'), own) == 0;
		if (!command && (strcmp(strrchr(path, '/'), "/" DAEMON_SOCKET) != 0 ||
		    !socket_user(path, &uid) || uid != w->uid ||
		    !may_say_hello(pid, path)))
			continue;
		strcpy(w->socket, path);
		if (command)
			break;
	}
	if (f != NULL)
		fclose(f);
}

/* The pageknode that has started the process, or one above it. */
static bool
find_ancestor(pid_t pid, struct nodes_watcher *w)
{
	char comm[16];

	for (int i = 0; i < ANCESTORS && pid > 1; i++) {
		if (proc_parent(pid, &pid) < 0 || pid <= 1)
			return false;
		if (proc_comm(pid, comm) == 0 &&
		    strcmp(comm, "pageknode") == 0 &&
		    proc_uid(pid, &w->uid) == 0) {
			w->node = pid;
			return true;
		}
	}
	return false;
}

static bool
is_found(const char *socket)
{
	bool found = false;
	char **path;
	size_t n = 0;

	if (nodes_find(&path, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		found = found || strcmp(path[i], socket) == 0;
	free(path);
	return found;
}

bool
nodes_watcher(pid_t pid, struct nodes_watcher *out)
{
	static const char system[] = DAEMON_SYSTEM_FOLDER "/" DAEMON_SOCKET;
	struct nodes_watcher w = { .socket = "" };
	int mapped = proc_maps_has(pid, RING);
	struct stat st;
	uid_t user;

	if (mapped == 0 || proc_uid(pid, &user) < 0)
		return false;
	w.uid = user;
	w.sure = find_ancestor(pid, &w);
	find_socket(pid, &w);
	if (mapped > 0 && w.socket[0] == '\0' && stat(system, &st) == 0) {
		strcpy(w.socket, system);
		w.uid = st.st_uid;
	}
	/* A target keeps its ring when its node is gone. */
	w.sure = (w.sure || (mapped > 0 && w.socket[0] != '\0')) &&
	    !is_found(w.socket);
	if (!w.sure)
		w = (struct nodes_watcher){ .uid = user };
	if (!w.sure && (user == geteuid() || geteuid() == 0))
		return false;
	*out = w;
	return true;
}
