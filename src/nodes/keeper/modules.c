/*
 * What the loader was told is the path of most modules.  It has none for the
 * program itself, a relative one for a library found by way of a relative
 * folder, and a long one is cut to fit the target's area.  What was executed is
 * not the program where that was given to the loader, as in "ld.so ./program".
 *
 * While the process lives and the module is loaded its maps say more.  A
 * relative path of what was unloaded meanwhile is one from where the process
 * is, or from where it was at the start, if there is such a file; whoever
 * reads that compares build ids.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../host/proc.h"
#include "modules.h"
#include "node.h"

/* Without "./": a path of the kernel has none. */
static const char *
plain(const char *path)
{
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	return path;
}

/*
 * What lies at its place may be another object by now, so it has to be the
 * longer form of what was told.
 */
static bool
is_longer(const char *path, const struct stream_module *m)
{
	const char *told = plain(m->path);
	size_t len = strlen(path), n = strlen(told);

	if (path[0] == '[')		/* "[vdso]": of no file, never unloaded */
		return strchr(told, '/') == NULL;
	if (m->cut)
		return strncmp(path, told, n) == 0;
	return len > n && path[len - n - 1] == '/' &&
	    strcmp(path + len - n, told) == 0;
}

static bool
is_file_in(const char *folder, const char *name, char out[PROC_PATH])
{
	int n;

	name = plain(name);
	n = snprintf(out, PROC_PATH, "%s/%s", folder, name);
	return n > 0 && n < PROC_PATH && access(out, R_OK) == 0;
}

static bool
find(const struct keeper *k, const struct stream_module *m,
    char out[PROC_PATH])
{
	bool lives = k->image.pid != 0 && keeper_is_live(k);
	char folder[PROC_PATH];

	if (lives && proc_maps_path(k->image.pid, m->start, out) == 0 &&
	    is_longer(out, m))
		return true;
	/* A bare name is none of the loader's, but "linux-vdso.so.1". */
	if (m->cut || m->path[0] == '/' || strchr(m->path, '/') == NULL)
		return false;
	return (lives && proc_cwd(k->image.pid, folder) == 0 &&
	    is_file_in(folder, m->path, out)) ||
	    (k->image.cwd != NULL && is_file_in(k->image.cwd, m->path, out));
}

/* What lies where the program was loaded. */
static bool
find_program(const struct keeper *k, const struct stream_module *m,
    char out[PROC_PATH])
{
	return k->image.pid != 0 && keeper_is_live(k) &&
	    proc_maps_path(k->image.pid, m->start, out) == 0 && out[0] == '/';
}

static void
name_one(struct keeper *k, unsigned no)
{
	struct stream_module m;
	char path[PROC_PATH];

	if (!stream_sites_get_module(k->sites, no, &m) ||
	    (m.path[0] == '/' && !m.cut))
		return;
	if (m.path[0] == '\0') {
		if (find_program(k, &m, path))
			stream_sites_set_path(k->sites, no, path);
		else if (k->image.exe != NULL)
			stream_sites_set_path(k->sites, no, k->image.exe);
	} else if (find(k, &m, path)) {
		stream_sites_set_path(k->sites, no, path);
	}
}

void
modules_find_paths(struct keeper *k)
{
	unsigned n = k->sites != NULL ? stream_sites_modules(k->sites) : 0;

	while (k->modules.named < n)
		name_one(k, ++k->modules.named);
}

/* --- the module table --------------------------------------------------- */

struct reading {
	uv_work_t work;
	struct keeper *keeper;		/* a reference */
	pid_t pid;
};

static void
read_modules(uv_work_t *work)
{
	struct reading *r = work->data;
	struct keeper *k = r->keeper;

	pthread_mutex_lock(&k->modules.lock);
	if (k->modules.table != NULL ||
	    symbol_modules_new(&k->modules.table) == 0)
		symbol_modules_read(k->modules.table, r->pid);
	pthread_mutex_unlock(&k->modules.lock);
}

static void
modules_read(uv_work_t *work, int status)
{
	struct reading *r = work->data;

	(void)status;
	keeper_unref(r->keeper);
	free(r);
}

void
modules_refresh(struct keeper *k)
{
	struct reading *r;

	if (k->image.pid == 0 || !keeper_is_live(k))
		return;
	r = malloc(sizeof *r);
	if (r == NULL)
		return;
	r->work.data = r;
	r->keeper = k;
	r->pid = k->image.pid;
	keeper_ref(k);
	uv_queue_work(k->node->loop, &r->work, read_modules, modules_read);
}
