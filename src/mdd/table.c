/*
 * Tables: an array with an index over its keys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "profile.h"

#define FIRST_BITS 8

static void
fill(struct table *t, size_t size)
{
	size_t mask = ((size_t)1 << t->bits) - 1;

	for (size_t i = 0; i < t->n; i++) {
		size_t at = table_home(t, table_key(t, size, i));

		while (t->slot[at] != 0)
			at = (at + 1) & mask;
		t->slot[at] = (uint32_t)i + 1;
	}
}

/* Makes room for one more. */
static int
grow(struct table *t, size_t size)
{
	unsigned bits = t->bits == 0 ? FIRST_BITS : t->bits;
	uint32_t *slot;
	int r;

	if (t->n >= TABLE_MAX)
		return -ENOMEM;
	r = base_grow(&t->item, &t->cap, t->n + 1, size);
	if (r < 0)
		return -ENOMEM;
	/* Half of the slots are free. */
	while (t->n + 1 > (size_t)1 << (bits - 1))
		bits++;
	if (bits == t->bits)
		return 0;
	slot = calloc((size_t)1 << bits, sizeof *slot);
	if (slot == NULL)
		return -ENOMEM;
	free(t->slot);
	t->slot = slot;
	t->bits = bits;
	fill(t, size);
	return 0;
}

int64_t
table_put(struct table *t, size_t size, uint64_t key, bool *added)
{
	int64_t found = table_find(t, size, key);
	size_t at, mask;
	char *item;

	*added = found < 0;
	if (found >= 0)
		return found;
	if (grow(t, size) < 0)
		return -ENOMEM;
	mask = ((size_t)1 << t->bits) - 1;
	for (at = table_home(t, key); t->slot[at] != 0; at = (at + 1) & mask)
		continue;
	item = (char *)t->item + t->n * size;
	memset(item, 0, size);
	memcpy(item, &key, sizeof key);
	t->slot[at] = (uint32_t)++t->n;
	return (int64_t)t->n - 1;
}

void
table_clear(struct table *t)
{
	if (t->bits != 0)
		memset(t->slot, 0, sizeof *t->slot << t->bits);
	t->n = 0;
}

void
table_fini(struct table *t)
{
	free(t->item);
	free(t->slot);
	*t = (struct table){ 0 };
}
