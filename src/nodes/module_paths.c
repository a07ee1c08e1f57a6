/*
 * What the loader was told is the path of most modules.  It has none for the
 * program itself, a relative one for a library found by way of a relative
 * folder, and a long one is cut to fit the target's area: those are looked up
 * in /proc while the process lives.
 */
#include "module_paths.h"
#include "proc.h"

static void
name_one(struct keeper *k, unsigned no)
{
	struct stream_module m;
	char path[PROC_PATH];

	if (!stream_sites_get_module(k->sites, no, &m) ||
	    (m.path[0] == '/' && !m.cut))
		return;
	if (m.path[0] == '\0') {
		if (k->exe != NULL)
			stream_sites_set_path(k->sites, no, k->exe);
		return;
	}
	if (k->pid != 0 && keeper_is_live(k) &&
	    proc_maps_path(k->pid, m.start, path) == 0)
		stream_sites_set_path(k->sites, no, path);
}

void
module_paths_find(struct keeper *k)
{
	unsigned n = k->sites != NULL ? stream_sites_modules(k->sites) : 0;

	while (k->modules_named < n)
		name_one(k, ++k->modules_named);
}
