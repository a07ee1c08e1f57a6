/*
 * How often a group's processes were held up or killed for its limits, which
 * do not move the levels of the page allocator.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "stress.h"

#define GROUP_BYTES ((size_t)16 << 10)

enum charge_file {
	EVENTS,
	STAT,
	PRESSURE,
	FAILCNT,
	OOM_CONTROL,
	FILES
};

static const char *const file_names[FILES] = {
	[EVENTS] = "memory.events",
	[STAT] = "memory.stat",
	[PRESSURE] = "memory.pressure",
	[FAILCNT] = "memory.failcnt",
	[OOM_CONTROL] = "memory.oom_control",
};

/* A group of version 1 has only the last two files, one of version 2 the others. */
static const struct {
	enum charge_file file;
	enum stress_charge_key key;
	const char *name;		/* in the file; "": the file is one number */
} rows[] = {
	{ EVENTS, STRESS_CHARGE_HIGH, "high" },
	{ EVENTS, STRESS_CHARGE_MAX, "max" },
	{ EVENTS, STRESS_CHARGE_OOM, "oom" },
	{ EVENTS, STRESS_CHARGE_OOM_KILL, "oom_kill" },
	{ STAT, STRESS_CHARGE_SCANNED, "pgscan_direct" },
	{ STAT, STRESS_CHARGE_STOLEN, "pgsteal_direct" },
	{ FAILCNT, STRESS_CHARGE_FAILCNT, "" },
	{ OOM_CONTROL, STRESS_CHARGE_OOM_KILL, "oom_kill" },
};

const struct stress_charge_row stress_charges[STRESS_CHARGES] = {
	[STRESS_CHARGE_HIGH] = { "charge_high", "over the high limit" },
	[STRESS_CHARGE_MAX] = { "charge_max", "at the limit" },
	[STRESS_CHARGE_FAILCNT] = { "charge_failcnt", "at the limit" },
	[STRESS_CHARGE_OOM] = { "charge_oom", "out of memory" },
	[STRESS_CHARGE_OOM_KILL] = { "charge_oom_kill", "processes killed" },
	[STRESS_CHARGE_SCANNED] = { "charge_pgscan_direct",
	    "pages scanned by requests" },
	[STRESS_CHARGE_STOLEN] = { "charge_pgsteal_direct",
	    "pages freed by requests" },
	[STRESS_CHARGE_SOME] = { "charge_some_us", "us waited" },
	[STRESS_CHARGE_FULL] = { "charge_full_us", "us all waited" },
};

/* "memory" in "cpu,memory". */
static bool
has_memory(const char *controllers)
{
	static const char word[] = "memory";
	size_t len;

	for (; *controllers != '\0'; controllers += len + (controllers[len] == ',')) {
		len = strcspn(controllers, ",");
		if (len == sizeof word - 1 && memcmp(controllers, word, len) == 0)
			return true;
	}
	return false;
}

/* In a container the groups above may not be seen, and the group is the root. */
static void
set_folder(const char *root, struct stress_group *g)
{
	const char *base = g->version == 1 ? "sys/fs/cgroup/memory" :
	    "sys/fs/cgroup";
	char name[STRESS_GROUP * 2];
	int fd;

	snprintf(g->folder, sizeof g->folder, "%s%s", base, g->name);
	snprintf(name, sizeof name, "%s/cgroup.procs", g->folder);
	fd = stress_open_file(root, name);
	if (fd >= 0)
		close(fd);
	else if (fd == -ENOENT)
		snprintf(g->folder, sizeof g->folder, "%s", base);
}

/* Lines "ID:CONTROLLERS:PATH"; version 2 has ID 0 and no controllers. */
int
stress_find_group(const char *root, pid_t pid, struct stress_group *out)
{
	char name[64], *text = malloc(GROUP_BYTES), *rest = text, *line, *path;
	struct stress_group g = { .version = 0 };
	size_t len;
	int err;

	if (text == NULL)
		return -ENOMEM;
	if (pid == 0)
		snprintf(name, sizeof name, "proc/self/cgroup");
	else
		snprintf(name, sizeof name, "proc/%d/cgroup", (int)pid);
	err = stress_read_file(root, name, text, GROUP_BYTES - 1, &len);
	if (err == 0)
		text[len] = '\0';
	while (err == 0 && (line = strsep(&rest, "\n")) != NULL) {
		char *controllers = strchr(line, ':');
		unsigned version;

		path = controllers != NULL ? strchr(++controllers, ':') : NULL;
		if (path == NULL)
			continue;
		*path++ = '\0';
		version = has_memory(controllers) ? 1 :
		    controllers[0] == '\0' ? 2 : 0;
		if (version == 0 || g.version == 1 || path[0] != '/' ||
		    strstr(path, "/..") != NULL || strlen(path) >= sizeof g.name)
			continue;
		g.version = version;
		strcpy(g.name, path);
	}
	free(text);
	if (err == 0 && g.version == 0)
		err = -ENOENT;
	if (err < 0)
		return err;
	set_folder(root, &g);
	*out = g;
	return 0;
}

static void
take_charge_file(enum charge_file file, const char *text, size_t len,
    struct stress_charge *out)
{
	uint64_t some, full;

	for (size_t i = 0; i < BASE_NELEM(rows); i++)
		if (rows[i].file == file && stress_read_key(text, len,
		    rows[i].name, &out->n[rows[i].key]))
			out->known[rows[i].key] = true;
	if (file == PRESSURE && stress_read_pressure(text, len, &some, &full)) {
		out->n[STRESS_CHARGE_SOME] = some;
		out->n[STRESS_CHARGE_FULL] = full;
		out->known[STRESS_CHARGE_SOME] = true;
		out->known[STRESS_CHARGE_FULL] = true;
	}
}

void
stress_read_charge(const char *root, const struct stress_group *g,
    struct stress_charge *out)
{
	char name[STRESS_GROUP * 2], *text = malloc(GROUP_BYTES);
	enum charge_file first = g->version == 1 ? FAILCNT : EVENTS,
	    end = g->version == 1 ? FILES : FAILCNT;
	size_t len;

	*out = (struct stress_charge){ .known = { false } };
	if (text == NULL || g->version == 0) {
		free(text);
		return;
	}
	for (enum charge_file f = first; f < end; f++) {
		snprintf(name, sizeof name, "%s/%s", g->folder, file_names[f]);
		if (stress_read_file(root, name, text, GROUP_BYTES, &len) == 0)
			take_charge_file(f, text, len, out);
	}
	free(text);
}
