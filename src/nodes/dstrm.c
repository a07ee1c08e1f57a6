/*
 * The table DSTRM, and the lookup by name over all tables of the node.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "dstrm.h"
#include "keeper.h"
#include "keeper_kept.h"
#include "node.h"

static void
draw_epoch(struct dstrm_row *row)
{
	uint8_t old[WIRE_EPOCH];

	memcpy(old, row->epoch, sizeof old);
	/*
	 * 16 bytes come whole once the pool is up, and it is: we are a user's
	 * program.
	 */
	if (getrandom(row->epoch, sizeof row->epoch, 0) !=
	    (ssize_t)sizeof row->epoch ||
	    memcmp(old, row->epoch, sizeof old) == 0)
		row->epoch[0]++;
}

int
dstrm_add(struct dstrm *t, const char *name, struct keeper *keeper,
    uint32_t *index)
{
	uint32_t i;

	if (strlen(name) >= DSTRM_NAME)
		return -ENAMETOOLONG;
	for (i = 0; i < t->entries && t->row[i].keeper != NULL; i++)
		continue;
	if (i == DSTRM_ROWS)
		return -ENOSPC;
	if (i == t->entries)
		t->entries++;
	t->row[i].keeper = keeper;
	strcpy(t->row[i].name, name);
	draw_epoch(&t->row[i]);
	*index = i;
	return 0;
}

int
dstrm_restore(struct dstrm *t, uint32_t index, const char *name,
    const uint8_t epoch[WIRE_EPOCH], struct keeper *keeper)
{
	struct dstrm_row *row;

	if (index >= DSTRM_ROWS || t->row[index].keeper != NULL)
		return -EEXIST;
	row = &t->row[index];
	row->keeper = keeper;
	snprintf(row->name, sizeof row->name, "%s", name);
	memcpy(row->epoch, epoch, sizeof row->epoch);
	if (index >= t->entries)
		t->entries = index + 1;
	return 0;
}

void
dstrm_remove(struct dstrm *t, uint32_t index)
{
	if (index >= t->entries)
		return;
	t->row[index].keeper = NULL;
	t->row[index].name[0] = '\0';
	/* The old index must be stale at once, not only when it is used again. */
	draw_epoch(&t->row[index]);
}

/* True when row a is the better answer to a name that both have. */
static bool
newer(const struct dstrm_row *a, const struct dstrm_row *b)
{
	bool live_a = keeper_is_live(a->keeper);
	bool live_b = keeper_is_live(b->keeper);

	if (live_a != live_b)
		return live_a;
	/* Spares overtake each other, connections do not. */
	if (a->keeper->arrival != b->keeper->arrival)
		return a->keeper->arrival > b->keeper->arrival;
	return a->keeper->stream > b->keeper->stream;
}

int
dstrm_find(const struct dstrm *t, const char *name, size_t len,
    uint32_t *index)
{
	const struct dstrm_row *best = NULL;

	for (uint32_t i = 0; i < t->entries; i++) {
		const struct dstrm_row *row = &t->row[i];

		if (row->keeper == NULL || strlen(row->name) != len ||
		    memcmp(row->name, name, len) != 0)
			continue;
		if (best == NULL || newer(row, best))
			best = row;
	}
	if (best == NULL)
		return -ENOENT;
	*index = (uint32_t)(best - t->row);
	return 0;
}

int
dstrm_rename(struct dstrm *t, uint32_t index, const char *name)
{
	if (dstrm_at(t, index) == NULL)
		return -ENOENT;
	if (strlen(name) >= DSTRM_NAME)
		return -ENAMETOOLONG;
	strcpy(t->row[index].name, name);
	draw_epoch(&t->row[index]);
	return 0;
}

void
dstrm_renew(struct dstrm *t, uint32_t index)
{
	if (dstrm_at(t, index) != NULL)
		draw_epoch(&t->row[index]);
}

const struct dstrm_row *
dstrm_at(const struct dstrm *t, uint32_t index)
{
	if (index >= t->entries || t->row[index].keeper == NULL)
		return NULL;
	return &t->row[index];
}

int
dstrm_get(const struct dstrm *t, uint32_t index,
    const uint8_t epoch[WIRE_EPOCH], struct keeper **keeper)
{
	const struct dstrm_row *row = dstrm_at(t, index);

	if (row == NULL)
		return -ENOENT;
	if (memcmp(row->epoch, epoch, WIRE_EPOCH) != 0)
		return -ESTALE;
	*keeper = row->keeper;
	return 0;
}

/* --- the tables that a name can be looked up in ------------------------- */

static int
streams_find(const struct node *node, const char *name, size_t len,
    uint32_t *index)
{
	return dstrm_find(&node->dstrm, name, len, index);
}

static int
streams_at(const struct node *node, uint32_t index, struct wire_named *named)
{
	const struct dstrm_row *row = dstrm_at(&node->dstrm, index);
	struct keeper *k;

	if (row == NULL)
		return -ENOENT;
	k = row->keeper;
	keeper_kept_show(k);
	memcpy(named->epoch, row->epoch, WIRE_EPOCH);
	named->format = k->classic ? WIRE_CLASSIC : WIRE_WIDE;
	named->record_size = k->classic ? REC_CLASSIC_SIZE : REC_WIDE_SIZE;
	named->oldest = keeper_oldest(k);
	named->next = keeper_next(k);
	named->address_bits = k->classic ? 32 : REC_ADDR_BITS;
	named->state = k->state;
	named->name = wire_text(row->name);
	named->entries = node->dstrm.entries;
	named->levels = k->levels;
	return 0;
}

static int
types_find(const struct node *node, const char *name, size_t len,
    uint32_t *index)
{
	for (unsigned code = 0; code < 256; code++) {
		const char *known = node->types.by_code[code].name;

		if (len == 0 || strlen(known) != len ||
		    memcmp(known, name, len) != 0)
			continue;
		*index = code;
		return 0;
	}
	return -ENOENT;
}

static int
types_at(const struct node *node, uint32_t index, struct wire_named *named)
{
	if (index >= 256 || node->types.by_code[index].name[0] == '\0')
		return -ENOENT;
	memcpy(named->epoch, node->boot, WIRE_EPOCH);
	named->name = wire_text(node->types.by_code[index].name);
	named->entries = 256;
	return 0;
}

static int
latbl_find(const struct node *node, const char *name, size_t len,
    uint32_t *index)
{
	return own_app_find(node, name, len, index);
}

static int
latbl_at(const struct node *node, uint32_t index, struct wire_named *named)
{
	const char *name = own_app_name(node, index);

	if (name == NULL)
		return -ENOENT;
	memcpy(named->epoch, node->boot, WIRE_EPOCH);
	named->name = wire_text(name);
	named->entries = OWN_APPS;
	return 0;
}

static const struct table {
	const char *name;
	int (*find)(const struct node *, const char *name, size_t len,
	    uint32_t *index);
	int (*at)(const struct node *, uint32_t index, struct wire_named *);
} tables[] = {
	{ .name = "DSTRM", .find = streams_find, .at = streams_at },
	{ .name = "types", .find = types_find, .at = types_at },
	{ .name = "LATBL", .find = latbl_find, .at = latbl_at },
};

int
dstrm_lookup(struct node *node, const struct wire_name *ask,
    struct wire_named *named)
{
	const struct table *t = NULL;
	uint32_t index = ask->index;
	int r;

	for (size_t i = 0; i < BASE_NELEM(tables); i++)
		if (strlen(tables[i].name) == ask->table.len &&
		    memcmp(tables[i].name, ask->table.s, ask->table.len) == 0)
			t = &tables[i];
	if (t == NULL)
		return -ENOENT;
	if (ask->name.len > 0) {
		r = t->find(node, ask->name.s, ask->name.len, &index);
		if (r < 0)
			return r;
	}
	memset(named, 0, sizeof *named);
	r = t->at(node, index, named);
	if (r < 0)
		return r;
	named->index = index;
	return 0;
}
