#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "dstrm.h"
#include "keeper.h"
#include "node.h"

static void
draw_epoch(struct dstrm_row *row)
{
	uint8_t old[WIRE_EPOCH];

	memcpy(old, row->epoch, sizeof old);
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
	/* Keepers of the pool overtake each other, connections do not. */
	if (a->keeper->image.arrival != b->keeper->image.arrival)
		return a->keeper->image.arrival > b->keeper->image.arrival;
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
