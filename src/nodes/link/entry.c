/*
 * What the table says to a link: where a node is, which is gone to without
 * waiting, and which node we are on ourselves.
 */
#include <errno.h>
#include <stdlib.h>

#include "link.h"

uint16_t
link_here(void)
{
	static bool known;
	static uint16_t number;
	const struct nodes_entry *e;
	struct nodes_table *table;

	if (known)
		return number;
	/* What is wrong with it is said by whoever reads it for its words. */
	if (nodes_table_load(&table, true, NULL, NULL) < 0)
		return 0;
	e = nodes_table_local(table);
	number = e != NULL ? e->number : 0;
	known = true;
	nodes_table_free(table);
	return number;
}

/* This user's node that stands alone, else the newest there is. */
static int
connect_local(struct nodes_link **link, uv_loop_t *loop)
{
	char hello[128], **paths = NULL;
	size_t n = 0, i;
	int r;

	r = nodes_connect_daemon(link, loop, hello, sizeof hello);
	if (r == 0)
		return 0;
	r = nodes_find(&paths, &n);
	if (r < 0)
		return r;
	r = -ENOENT;
	for (i = 0; i < n && r < 0; i++)
		r = nodes_connect(link, loop, paths[i]);
	free(paths);
	return r;
}

int
nodes_connect_entry(struct nodes_link **link, uv_loop_t *loop,
    const struct nodes_entry *e)
{
	struct nodes_ssh ssh = { .host = e->place,
		.program = e->remote[0] != '\0' ? e->remote : NULL };
	int r;

	switch (e->at) {
	case NODES_AT_UNIX:
		r = nodes_connect(link, loop, e->place);
		break;
	case NODES_AT_SSH:
		r = nodes_connect_ssh(link, loop, &ssh);
		break;
	default:
		r = connect_local(link, loop);
	}
	if (r == 0)
		nodes_link_call(*link, e->number, e->name);
	return r;
}
