#include <errno.h>
#include <string.h>

#include "../keeper/node.h"
#include "../keeper/takeover_memory.h"
#include "../self_watch/self_watch.h"
#include "answer.h"

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
	takeover_note_shown(k);
	memcpy(named->epoch, row->epoch, WIRE_EPOCH);
	named->format = k->format.classic ? WIRE_CLASSIC : WIRE_WIDE;
	named->record_size = k->format.classic ? REC_CLASSIC_SIZE :
	    REC_WIDE_SIZE;
	named->oldest = keeper_oldest(k);
	named->next = keeper_next(k);
	named->address_bits = k->format.classic ? 32 : REC_ADDR_BITS;
	named->state = k->life.state;
	named->name = wire_text(row->name);
	named->entries = node->dstrm.entries;
	named->levels = k->format.levels;
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
	return self_watch_app_find(node, name, len, index);
}

static int
latbl_at(const struct node *node, uint32_t index, struct wire_named *named)
{
	const char *name = self_watch_app_name(node, index);

	if (name == NULL)
		return -ENOENT;
	memcpy(named->epoch, node->boot, WIRE_EPOCH);
	named->name = wire_text(name);
	named->entries = SELF_APPS;
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
tables_find(struct node *node, const struct wire_name *ask,
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

/* Why the list may lack blocks or have wrong ones; else "". */
static const char *
lack_of(const struct keeper *k)
{
	if (k->list == NULL)
		return "its list was discarded";
	if (k->arming.mode == ARMING_DORMANT)
		return "it is not logged";
	if (k->format.sample != 0)
		return "only a sample of it is logged";
	if (keeper_counts(k)->full != 0)
		return "the node's list was full";
	if (keeper_lost(k) != 0 || k->numbers.bad != 0)
		return "records were lost";
	if (k->trust.since_click || !keeper_complete(k))
		return "some of its blocks may not be listed";
	if (k->declared.regions.overrun)
		return "it has registered too many regions";
	return "";
}

size_t
tables_regions(const struct keeper *k, struct wire_region *out, uint32_t *no,
    const char **why)
{
	*why = lack_of(k);
	*no = k->declared.regions.change << 1 | (*why[0] == '\0');
	if (*why[0] != '\0')
		return 0;
	return k == k->node->own_stream ?
	    self_watch_regions(k->node, out, WIRE_REGIONS_MAX) :
	    region_set_get(&k->declared.regions, out);
}
