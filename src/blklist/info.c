/*
 * Requesters, each once: aInfo of a block is an index into this table.
 */
#include <errno.h>
#include <search.h>
#include <string.h>

#include "list.h"

#define INFO_NODE_BYTES 48	/* what tsearch(3) takes for each, about */

static int
info_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct blklist_info));
}

static void
info_keep(void *entry)
{
	(void)entry;
}

/* A copy that memcmp can compare: nothing behind the name's end. */
static struct blklist_info
info_plain(const struct blklist_info *info)
{
	struct blklist_info plain;

	memset(&plain, 0, sizeof(plain));
	memcpy(plain.name, info->name, strnlen(info->name,
	    sizeof(info->name) - 1));
	if (plain.name[0] == '\0')
		plain.node = info->node;
	return plain;
}

uint16_t
blklist_info_intern(struct blklist *l, const struct blklist_info *info)
{
	struct list_infos *t = &l->infos;
	struct blklist_info plain = info_plain(info), **found;

	if (plain.name[0] == '\0' && plain.node == 0)
		return 0;
	if (t->entry == NULL) {
		t->entry = list_map(LIST_INFO_MAX * sizeof(*t->entry));
		if (t->entry == NULL)
			return 0;
	}
	if (t->n == 0)
		t->n = 1;
	found = tfind(&plain, &t->tree, info_compare);
	if (found != NULL)
		return (uint16_t)(*found - t->entry);
	if (t->n == LIST_INFO_MAX)
		return 0;
	t->entry[t->n] = plain;
	if (tsearch(&t->entry[t->n], &t->tree, info_compare) == NULL)
		return 0;
	return (uint16_t)t->n++;
}

const struct blklist_info *
blklist_info_get(const struct blklist *l, uint16_t i)
{
	return i == 0 || i >= l->infos.n ? NULL : &l->infos.entry[i];
}

uint16_t
list_info_find(struct blklist *l, struct list_chunk *c, unsigned i)
{
	while (c->ninfo > 0 && c->info->at < c->at + i) {
		c->info++;
		c->ninfo--;
	}
	if (c->ninfo == 0 || c->info->at != c->at + i)
		return 0;
	return blklist_info_intern(l, &c->info->info);
}

void
list_infos_fini(struct blklist *l)
{
	struct list_infos *t = &l->infos;

	tdestroy(t->tree, info_keep);
	if (l->memory == NULL)
		list_unmap(t->entry, LIST_INFO_MAX * sizeof(*t->entry));
}

int
list_infos_reopen(struct blklist *l, uint32_t n)
{
	struct list_infos *t = &l->infos;

	for (uint32_t i = 1; i < n; i++) {
		struct blklist_info *e = &t->entry[i], **found;

		if (e->name[sizeof(e->name) - 1] != '\0')
			return -ESTALE;
		found = tsearch(e, &t->tree, info_compare);
		if (found == NULL)
			return -ENOMEM;
		if (*found != e)
			return -ESTALE;
	}
	t->n = n;
	return 0;
}

size_t
list_infos_memory(const struct list_infos *t)
{
	return t->n * (sizeof(*t->entry) + INFO_NODE_BYTES);
}
