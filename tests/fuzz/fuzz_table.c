/*
 * fuzz_table: any bytes as the two files of nodes.  The first byte says how
 * many of the rest, in sixteenths, are the user's.
 *
 * Claims: the table is in order, without a number, a name or a local node
 * twice; every entry is one that its line could have said again; sentences are
 * few, and safe text of one line.
 */
#include "../../src/base/base.h"
#include "../../src/nodes/places/table.h"
#include "fuzz.h"
#include "sentences.h"

#define LOOKED_AT 64	/* entries of a table, or a large one takes a second */

static void
add(struct nodes_table *t, size_t *cap, enum nodes_file file,
    const uint8_t *p, size_t len)
{
	struct table_in in = { .file = file, .path = "f", .say = hear };

	said = 0;
	claim(table_parse(t, cap, &in, (const char *)p, len) == 0,
	    "memory is all that a file can lack");
	claim(said <= TABLE_SAID_MAX + 1, "sentences are few");
}

/* The entry as a line, read again, is the same. */
static void
comes_back(const struct nodes_entry *e)
{
	struct table_in in = { .file = e->file, .path = "f", .say = hear };
	struct nodes_table again = { 0 };
	const struct nodes_entry *b;
	char line[1024], where[sizeof e->place + 8];
	size_t len = 0, cap = 0;

	nodes_entry_where(e, where, sizeof where);
	base_append(line, sizeof line, &len, "%04X %s %s", e->number, e->name,
	    where);
	if (e->port == NODES_PORT_ACNET)
		base_append(line, sizeof line, &len, " acnet=%u.%u", e->trunk,
		    e->node);
	if (e->port == NODES_PORT_CLASSIC)
		base_append(line, sizeof line, &len, " classic=%u",
		    e->classic);
	if (e->remote[0] != '\0')
		base_append(line, sizeof line, &len, " remote=%s", e->remote);
	claim(table_parse(&again, &cap, &in, line, len) == 0 && again.n == 1,
	    "an entry can be written as a line");
	b = again.entry;
	claim(b->number == e->number && strcmp(b->name, e->name) == 0 &&
	    b->at == e->at && strcmp(b->place, e->place) == 0 &&
	    strcmp(b->remote, e->remote) == 0 && b->port == e->port &&
	    b->trunk == e->trunk && b->node == e->node &&
	    b->classic == e->classic && b->file == e->file,
	    "and comes back as it was");
	free(again.entry);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct nodes_table t = { 0 };
	size_t cap = 0, mine, locals = 0, i;

	if (len == 0)
		return 0;
	mine = (len - 1) * (p[0] % 17) / 16;
	add(&t, &cap, NODES_FILE_USER, p + 1, mine);
	add(&t, &cap, NODES_FILE_SYSTEM, p + 1 + mine, len - 1 - mine);
	claim(t.n <= NODES_TABLE_MAX, "a table is bounded");
	for (i = 0; i < t.n; i++) {
		const struct nodes_entry *e = &t.entry[i];

		claim(i == 0 || t.entry[i - 1].number < e->number,
		    "entries are in order");
		locals += e->at == NODES_AT_LOCAL;
		if (i >= LOOKED_AT)
			continue;
		claim(nodes_table_number(&t, e->number) == e &&
		    nodes_table_name(&t, e->name) == e, "each is found");
		comes_back(e);
	}
	claim(locals <= 1, "one node is local");
	if (t.n > 0)
		nodes_table_nearest(&t, t.entry[0].name + 1);
	free(t.entry);
	return 0;
}
