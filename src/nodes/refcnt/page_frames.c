/*
 * Counts by frame: those of all targets together, in files for the whole machine.
 * A frame keeps its counts when another page gets it, as in the note.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../places/places.h"
#include "../../refcnt/hint/hint.h"
#include "worker.h"

struct frames {
	pthread_mutex_t lock;		/* of table and written_ms */
	struct refcnt *counts;		/* by physical address */
	struct refcnt_table *table;
	int64_t written_ms;
	_Atomic bool full;		/* some frames are not counted */
};

int
node_refcnt_folder(char out[NODE_REFCNT_FOLDER])
{
	char folder[NODE_REFCNT_FOLDER - sizeof "/refcnt"];
	bool system = geteuid() == 0 && getenv("XDG_RUNTIME_DIR") == NULL;
	int err = system ? nodes_system_folder() :
	    nodes_folder(folder, sizeof folder);

	if (system)
		snprintf(folder, sizeof folder, "%s", DAEMON_SYSTEM_FOLDER);
	if (err == 0)
		snprintf(out, NODE_REFCNT_FOLDER, "%s/refcnt", folder);
	return err;
}

/* One file for the machine, whatever the folder of this node is. */
static const char balancing_file[] = DAEMON_SYSTEM_FOLDER "/numa_balancing";

int
node_refcnt_balancing_file(const char **out)
{
	*out = balancing_file;
	return nodes_system_folder();
}

/* One target may have files of several memory nodes. */
static void
keep_dead(void *arg, const struct refcnt_dead *dead)
{
	struct node_refcnt *all = arg;
	struct refcnt_dead *d = all->dead;

	while (d < all->dead + all->ndead &&
	    (d->pid != dead->pid || d->started != dead->started))
		d++;
	if (d == all->dead + NODE_REFCNT_TARGETS)
		return;
	if (d == all->dead + all->ndead)
		all->ndead++;
	else if (d->wall_ms > dead->wall_ms)
		return;
	*d = *dead;
}

void
node_refcnt_remove_dead(struct node_refcnt *all)
{
	char folder[NODE_REFCNT_FOLDER];

	if (node_refcnt_folder(folder) == 0)
		refcnt_table_remove_dead(folder, keep_dead, all);
	if (geteuid() == 0)
		balancing_restore("/", balancing_file);
}

int
frames_new(struct frames **out, const struct refcnt_topology *topology)
{
	struct refcnt_table_options opts = { .topology = topology };
	struct frames *f = calloc(1, sizeof *f);
	char folder[NODE_REFCNT_FOLDER];
	int err;

	if (f == NULL)
		return -ENOMEM;
	err = node_refcnt_folder(folder);
	opts.folder = folder;
	if (err == 0)
		err = refcnt_new(&f->counts, topology->nodes, REFCNT_STANDARD);
	if (err == 0)
		err = refcnt_table_new(&f->table, &opts);
	if (err < 0) {
		refcnt_free(f->counts);
		free(f);
		return err;
	}
	pthread_mutex_init(&f->lock, NULL);
	*out = f;
	return 0;
}

void
frames_free(struct frames *f)
{
	if (f == NULL)
		return;
	refcnt_table_free(f->table);
	refcnt_free(f->counts);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void
frames_count(struct frames *f, const struct refcnt_page *page, unsigned node,
    uint64_t n, bool coarse, int64_t now_ms)
{
	if (f == NULL || (page->flags & REFCNT_NO_PADDR) != 0 || page->paddr == 0)
		return;
	if (!refcnt_counts(f->counts, page->paddr)) {
		if (refcnt_enable(f->counts, page->paddr, REFCNT_PAGE,
		    (enum refcnt_source)page->source, now_ms) < 0) {
			f->full = true;
			return;
		}
		refcnt_place(f->counts, page->paddr, page->paddr, page->page_size,
		    page->cnodeid, 0);
	}
	refcnt_count(f->counts, page->paddr, node, n, 0, now_ms);
	if (coarse)
		refcnt_coarse(f->counts, page->paddr);
}

bool
frames_are_full(const struct frames *f)
{
	return f != NULL && f->full;
}

/* Another node may write the machine's files: then it does. */
void
frames_write(struct frames *f, int64_t now_ms)
{
	char why[REFCNT_WHY];

	if (f == NULL)
		return;
	pthread_mutex_lock(&f->lock);
	if (now_ms - f->written_ms >= NODE_REFCNT_PERIOD_LEAST) {
		f->written_ms = now_ms;
		refcnt_period(f->counts, now_ms);
		(void)refcnt_table_write(f->table, f->counts, why);
	}
	pthread_mutex_unlock(&f->lock);
}
