#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../layout/layout.h"
#include "../page/view.h"
#include "cli.h"
#include "config.h"

#define LIBRARY "liballoclog"

static void
tell_file(const char *what, const char *path)
{
	if (path != NULL)
		tell("%s: %s%s%s", what, path, access(path, R_OK) == 0 ? "" :
		    ": ", access(path, R_OK) == 0 ? "" : strerror(errno));
}

void
tell_files(const struct config *c)
{
	struct nodes_table *nodes;

	if (!output_tells())
		return;
	tell("version: %s", PAGEK_VERSION);
	tell_file("settings", c->path[CONFIG_SYSTEM]);
	tell_file("settings", c->path[CONFIG_USER]);
	if (nodes_table_load(&nodes, true, NULL, NULL) < 0)
		return;
	tell_file("table of nodes", nodes->path[NODES_FILE_SYSTEM]);
	tell_file("table of nodes", nodes->path[NODES_FILE_USER]);
	nodes_table_free(nodes);
}

void
tell_own_node(void)
{
	char path[4096];
	int r;

	if (!output_tells())
		return;
	r = nodes_program("pageknode", path, sizeof path);
	tell("node: of its own, %s", r < 0 ? strerror(-r) : path);
}

static bool
is_library(char *line, struct maps_line *m)
{
	const char *name;

	if (maps_parse(line, m) < 0)
		return false;
	name = strrchr(m->path, '/');
	return name != NULL && strncmp(name + 1, LIBRARY, strlen(LIBRARY)) == 0;
}

static void
tell_library(pid_t pid)
{
	char path[64], *line = NULL;
	bool any = false, found = false;
	struct maps_line m;
	size_t cap = 0;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
	maps = fopen(path, "re");
	if (maps == NULL) {
		tell("library: not known, %s: %s", path, strerror(errno));
		return;
	}
	while (!found && getline(&line, &cap, maps) > 0) {
		any = true;
		found = is_library(line, &m);
	}
	/* A process that is ending has no maps. */
	if (found)
		tell("library: %s%s", m.path, m.deleted ? " (deleted)" : "");
	else
		tell("library: %s", any ? "none that is an object of its own" :
		    "not known, the process has ended");
	free(line);
	fclose(maps);
}

void
tell_target(const struct options *o, const struct nodes_look *look)
{
	static uint32_t told_no;
	char target[PAGE_TARGET_TEXT], number[8];
	bool named;

	if (!output_tells() || !nodes_has_list(look->state) ||
	    look->stream_no == told_no)
		return;
	told_no = look->stream_no;
	page_target_text(look, target);
	snprintf(number, sizeof number, "%04X", look->node.number);
	named = strcmp(look->node.name, number) != 0;
	tell("target: %s, %s, of node %s%s%s", target[0] != '\0' ? target :
	    "the node's own", page_look_state(look), number,
	    named ? " " : "", named ? look->node.name : "");
	/* On another machine, that process id is of another process. */
	if (o->target.kind != TARGET_SSH && !look->classic &&
	    look->target.pid > 0 &&
	    (look->state == NODES_LIVE || look->state == NODES_DORMANT))
		tell_library(look->target.pid);
}
