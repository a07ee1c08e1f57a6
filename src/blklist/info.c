/*
 * Requesters, each once: aInfo of a block is an index into this table.
 */
#include <errno.h>
#include <string.h>

#include "list.h"

/* A target cannot know which names collide: the table lies anywhere. */
static uint32_t
info_hash(const struct list_infos *t, const struct blklist_info *info)
{
	return hash_of_key(hash_of_bytes((uintptr_t)t->entry, info,
	    sizeof(*info)));
}

static bool
info_same(const void *of, uint32_t number, const void *key)
{
	return memcmp((const struct blklist_info *)of + number, key,
	    sizeof(struct blklist_info)) == 0;
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
	struct blklist_info plain = info_plain(info);
	uint32_t hash;
	int64_t found;

	if (plain.name[0] == '\0' && plain.node == 0)
		return 0;
	if (t->entry == NULL) {
		t->entry = list_map(LIST_INFO_MAX * sizeof(*t->entry));
		if (t->entry == NULL)
			return 0;
	}
	if (t->n == 0)
		t->n = 1;
	hash = info_hash(t, &plain);
	found = hashindex_find(&t->index, hash, info_same, t->entry, &plain);
	if (found >= 0)
		return (uint16_t)found;
	if (t->n == LIST_INFO_MAX || hashindex_put(&t->index, hash, t->n) < 0)
		return 0;
	t->entry[t->n] = plain;
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

	hashindex_fini(&t->index);
	if (l->memory == NULL)
		list_unmap(t->entry, LIST_INFO_MAX * sizeof(*t->entry));
}

int
list_infos_reopen(struct blklist *l, uint32_t n)
{
	struct list_infos *t = &l->infos;

	for (uint32_t i = 1; i < n; i++) {
		const struct blklist_info *e = &t->entry[i];

		if (e->name[sizeof(e->name) - 1] != '\0')
			return -ESTALE;
		if (hashindex_find(&t->index, info_hash(t, e), info_same,
		    t->entry, e) >= 0)
			return -ESTALE;
		if (hashindex_put(&t->index, info_hash(t, e), i) < 0)
			return -ENOMEM;
	}
	t->n = n;
	return 0;
}

size_t
list_infos_memory(const struct list_infos *t)
{
	return t->n * sizeof(*t->entry) + hashindex_memory(&t->index);
}
