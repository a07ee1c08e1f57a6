/*
 * pagek nodes: the table of nodes, as it is in its files.  Nobody is asked.
 */
#include <string.h>

#include "../base/base.h"
#include "commands.h"
#include "json.h"

#define NAME_COLUMNS 16
#define WHERE_COLUMNS 24

/* Blanks up to a column: characters count, not their bytes. */
static int
blanks(const char *text, int columns)
{
	for (; *text != '\0'; text++)
		columns -= ((unsigned char)*text & 0xc0) != 0x80;
	return columns > 0 ? columns : 0;
}

static void
put_row(FILE *out, const struct nodes_table *t, const struct nodes_entry *e,
    bool ascii)
{
	const char *path = t->path[e->file];
	char name[4 * NODES_NAME_MAX], where[sizeof e->place + 8];
	char place[sizeof where * 4], file[512], friendly[8] = "-";

	base_safe_text(name, sizeof name, e->name, strlen(e->name), ascii);
	nodes_entry_where(e, where, sizeof where);
	base_safe_text(place, sizeof place, where, strlen(where), ascii);
	base_safe_text(file, sizeof file, path, strlen(path), ascii);
	if (e->port != NODES_PORT_NONE)
		snprintf(friendly, sizeof friendly, "%04X",
		    nodes_entry_friendly(e));
	fprintf(out, "%04X   %s%*s %s%*s %-8s %s:%u\n", e->number,
	    name, blanks(name, NAME_COLUMNS), "", place,
	    blanks(place, WHERE_COLUMNS), "", friendly, file, e->line);
}

static void
put_table(FILE *out, const struct nodes_table *t, bool ascii)
{
	fprintf(out, "%-6s %-*s %-*s %-8s %s\n", "NUMBER", NAME_COLUMNS,
	    "NAME", WHERE_COLUMNS, "WHERE", "FRIENDLY", "FILE");
	for (size_t i = 0; i < t->n && output_going(out); i++)
		put_row(out, t, &t->entry[i], ascii);
}

/* What would fill it. */
static void
say_empty(const struct nodes_table *t)
{
	const char *path = t->path[NODES_FILE_USER];

	if (path == NULL)
		path = t->path[NODES_FILE_SYSTEM];
	complain("no node has a number: write '0590 linac-a ssh:linac-a' or "
	    "the like into %s; see nodes(5)", path);
}

int
cmd_nodes(const struct options *o, uv_loop_t *loop)
{
	struct nodes_table *t;
	FILE *out;
	int r;

	(void)loop;
	r = nodes_table_load(&t, true, complain_said, NULL);
	if (r < 0) {
		complain("cannot read the table of nodes: %s", strerror(-r));
		return PAGEK_FAILED;
	}
	out = output_open(o->output);
	if (out == NULL) {
		nodes_table_free(t);
		return PAGEK_FAILED;
	}
	if (o->json)
		json_nodes(out, t, o->page.ascii);
	else if (t->n > 0)
		put_table(out, t, o->page.ascii);
	if (t->n == 0)
		say_empty(t);
	nodes_table_free(t);
	return output_close(out, o->output, PAGEK_OK);
}
