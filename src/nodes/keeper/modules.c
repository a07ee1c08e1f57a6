/*
 * The target knows what the loader was told: most paths, none for the program,
 * relative ones, cut ones. /proc/PID/exe is the loader after "ld.so
 * ./program".
 *
 * The target knows what the loader was told: the path of most modules, none for
 * the program itself, a relative one for a library found by way of a relative
 * folder, and a long one is cut.  /proc/PID/exe is the loader, not the program,
 * after "ld.so ./program".
 *
 * While the process lives and the module is loaded, its maps say more.  The
 * relative path of a module unloaded meanwhile is tried from the process's
 * folder, and from that at its start; build ids are compared by the reader.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../host/proc.h"
#include "keeper.h"
#include "node.h"

/* Skips "./", which paths of the kernel never have. */
static const char *
skip_dots(const char *path)
{
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	return path;
}

/* The path must be a longer form of what was told: another object may be there now. */
static bool
is_longer(const char *path, const struct stream_module *m)
{
	const char *told = skip_dots(m->path);
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

	name = skip_dots(name);
	n = snprintf(out, PROC_PATH, "%s/%s", folder, name);
	return n > 0 && n < PROC_PATH && access(out, R_OK) == 0;
}

static bool
find_path(const struct keeper *k, const struct stream_module *m,
    char out[PROC_PATH])
{
	bool lives = k->image.pid != 0 && keeper_is_live(k);
	char folder[PROC_PATH];

	if (lives && proc_maps_path(k->image.pid, m->start, out) == 0 &&
	    is_longer(out, m))
		return true;
	/* The loader gives no bare names; "linux-vdso.so.1" is the kernel's. */
	if (m->cut || m->path[0] == '/' || strchr(m->path, '/') == NULL)
		return false;
	return (lives && proc_cwd(k->image.pid, folder) == 0 &&
	    is_file_in(folder, m->path, out)) ||
	    (k->process.cwd != NULL &&
	    is_file_in(k->process.cwd, m->path, out));
}

static bool
find_program(const struct keeper *k, const struct stream_module *m,
    char out[PROC_PATH])
{
	return k->image.pid != 0 && keeper_is_live(k) &&
	    proc_maps_path(k->image.pid, m->start, out) == 0 && out[0] == '/';
}

/* Without a build id, only the table of the process's mappings tells files apart. */
static void
name_one(struct keeper *k, unsigned no, bool *without_id)
{
	struct stream_module m;
	char path[PROC_PATH];

	if (!stream_sites_get_module(k->sites, no, &m))
		return;
	*without_id |= m.build_id_len == 0;
	if (m.path[0] == '/' && !m.cut)
		return;
	if (m.path[0] == '\0') {
		if (find_program(k, &m, path))
			stream_sites_set_path(k->sites, no, path);
		else if (k->process.exe != NULL)
			stream_sites_set_path(k->sites, no, k->process.exe);
	} else if (find_path(k, &m, path)) {
		stream_sites_set_path(k->sites, no, path);
	}
}

void
modules_find_paths(struct keeper *k)
{
	unsigned n = k->sites != NULL ? stream_sites_modules(k->sites) : 0;
	bool without_id = false;

	while (k->modules.named < n)
		name_one(k, ++k->modules.named, &without_id);
	if (without_id)
		modules_refresh(k);
}

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
