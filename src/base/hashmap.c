#include "hashmap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

#define FIRST_BITS 8

uint64_t
hash_of_bytes(uint64_t seed, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static size_t
mask_of(const struct hashindex *x)
{
	return ((size_t)1 << x->bits) - 1;
}

/* Its slot, or the free one where the search for it ends. */
static size_t
slot_of(const struct hashindex *x, uint32_t hash, uint32_t number)
{
	size_t i = hashindex_home(x, hash);

	while (x->slot[i].number != 0 && x->slot[i].number != number + 1)
		i = (i + 1) & mask_of(x);
	return i;
}

static bool
has_room(const struct hashindex *x, size_t n)
{
	return x->bits != 0 && n <= (size_t)1 << (x->bits - 1);
}

int
hashindex_reserve(struct hashindex *x, size_t n)
{
	struct hashindex to = { .n = x->n, .bits = FIRST_BITS };

	if (has_room(x, n))
		return 0;
	if (n > HASHMAP_MAX)
		return -ENOMEM;
	while (!has_room(&to, n))
		to.bits++;
	to.slot = calloc((size_t)1 << to.bits, sizeof *to.slot);
	if (to.slot == NULL)
		return -ENOMEM;
	for (size_t i = 0; x->bits != 0 && i <= mask_of(x); i++)
		if (x->slot[i].number != 0)
			to.slot[slot_of(&to, x->slot[i].hash,
			    x->slot[i].number - 1)] = x->slot[i];
	free(x->slot);
	*x = to;
	return 0;
}

int
hashindex_put(struct hashindex *x, uint32_t hash, uint32_t number)
{
	size_t i;

	if (!has_room(x, (size_t)x->n + 1) &&
	    hashindex_reserve(x, (size_t)x->n + 1) < 0)
		return -ENOMEM;
	i = hashindex_home(x, hash);
	while (x->slot[i].number != 0)
		i = (i + 1) & mask_of(x);
	x->slot[i] = (struct hashindex_slot){ hash, number + 1 };
	x->n++;
	return 0;
}

/* Moves slots behind it up, so that no search ends at the gap. */
void
hashindex_remove(struct hashindex *x, uint32_t hash, uint32_t number)
{
	size_t gap = slot_of(x, hash, number), i = gap, mask = mask_of(x);

	assert(x->slot[gap].number != 0);
	for (;;) {
		i = (i + 1) & mask;
		if (x->slot[i].number == 0)
			break;
		/* One whose home lies behind the gap stays. */
		if (((i - hashindex_home(x, x->slot[i].hash)) & mask) <
		    ((i - gap) & mask))
			continue;
		x->slot[gap] = x->slot[i];
		gap = i;
	}
	x->slot[gap].number = 0;
	x->n--;
}

void
hashindex_renumber(struct hashindex *x, const uint32_t *to)
{
	for (size_t i = 0; x->n > 0 && i <= mask_of(x); i++)
		if (x->slot[i].number != 0)
			x->slot[i].number = to[x->slot[i].number - 1] + 1;
}

void
hashindex_clear(struct hashindex *x)
{
	if (x->n > 0)
		memset(x->slot, 0, sizeof *x->slot << x->bits);
	x->n = 0;
}

void
hashindex_fini(struct hashindex *x)
{
	free(x->slot);
	*x = (struct hashindex){ 0 };
}

size_t
hashindex_memory(const struct hashindex *x)
{
	return x->bits != 0 ? sizeof *x->slot << x->bits : 0;
}

int64_t
hashmap_put(struct hashmap *m, uint64_t key, bool *added)
{
	int64_t at = hashmap_find(m, key);
	char *item;

	assert(m->size >= sizeof key);
	if (added != NULL)
		*added = false;
	if (at >= 0)
		return at;
	if (m->n >= HASHMAP_MAX ||
	    base_grow(&m->item, &m->cap, m->n + 1, m->size) < 0 ||
	    hashindex_put(&m->index, hash_of_key(key), (uint32_t)m->n) < 0)
		return -ENOMEM;
	if (added != NULL)
		*added = true;
	item = hashmap_item(m, m->n);
	memset(item, 0, m->size);
	memcpy(item, &key, sizeof key);
	return (int64_t)m->n++;
}

void
hashmap_remove(struct hashmap *m, size_t at)
{
	size_t last = --m->n;
	uint32_t hash = hash_of_key(hashmap_key(m, last));

	hashindex_remove(&m->index, hash_of_key(hashmap_key(m, at)),
	    (uint32_t)at);
	if (at == last)
		return;
	m->index.slot[slot_of(&m->index, hash, (uint32_t)last)].number =
	    (uint32_t)at + 1;
	memcpy(hashmap_item(m, at), hashmap_item(m, last), m->size);
}

void
hashmap_clear(struct hashmap *m)
{
	hashindex_clear(&m->index);
	m->n = 0;
}

void
hashmap_fini(struct hashmap *m)
{
	free(m->item);
	hashindex_fini(&m->index);
	*m = (struct hashmap){ .size = m->size };
}

#define CHUNK 65536

struct intern_chunk {
	struct intern_chunk *next;
	size_t cap, used;
	char bytes[];
};

static bool
is_same(const void *of, uint32_t number, const void *key)
{
	const struct intern_text *a = (const struct intern_text *)of + number;
	const struct intern_text *b = key;

	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static char *
copy_bytes(struct intern *t, const void *bytes, size_t len)
{
	struct intern_chunk *c = t->chunk;
	size_t cap = len >= CHUNK ? len + 1 : CHUNK;
	char *copy;

	if (c == NULL || c->cap - c->used <= len) {
		c = malloc(sizeof *c + cap);
		if (c == NULL)
			return NULL;
		*c = (struct intern_chunk){ .next = t->chunk, .cap = cap };
		t->chunk = c;
	}
	copy = c->bytes + c->used;
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	c->used += len + 1;
	return copy;
}

static int64_t
add_text(struct intern *t, uint32_t hash, const void *bytes, size_t len)
{
	void *text = t->text;
	char *copy;

	if (t->n >= HASHMAP_MAX ||
	    base_grow(&text, &t->cap, t->n + 1, sizeof *t->text) < 0)
		return -ENOMEM;
	t->text = text;
	if (hashindex_reserve(&t->index, t->n + 1) < 0 ||
	    (copy = copy_bytes(t, bytes, len)) == NULL)
		return -ENOMEM;
	t->text[t->n] = (struct intern_text){ copy, len };
	(void)hashindex_put(&t->index, hash, (uint32_t)t->n);
	return (int64_t)t->n++;
}

int64_t
intern_put(struct intern *t, const void *bytes, size_t len)
{
	uint32_t hash = hash_of_key(hash_of_bytes(0, bytes, len));
	int64_t found = hashindex_find(&t->index, hash, is_same, t->text,
	    &(struct intern_text){ (char *)(uintptr_t)bytes, len });

	return found >= 0 ? found : add_text(t, hash, bytes, len);
}

void
intern_fini(struct intern *t)
{
	struct intern_chunk *c, *next;

	for (c = t->chunk; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	free(t->text);
	hashindex_fini(&t->index);
	*t = (struct intern){ 0 };
}
