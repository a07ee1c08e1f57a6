#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer_cache.h"

static struct answers_entry *
find_entry(const struct answers *c, uint64_t key)
{
	const struct answers_slot *slot = hashmap_get(&c->entries, key);

	return slot != NULL ? slot->entry : NULL;
}

int
answers_init(struct answers *c, size_t keep)
{
	memset(c, 0, sizeof *c);
	c->keep = keep;
	c->entries.size = sizeof(struct answers_slot);
	c->wanted = calloc(ANSWERS_WANTED_MAX, sizeof *c->wanted);
	return c->wanted != NULL ? 0 : -ENOMEM;
}

static void
drop_entries(struct answers *c)
{
	const struct answers_slot *slot = c->entries.item;

	for (size_t i = 0; i < c->entries.n; i++) {
		free(slot[i].entry->value);
		free(slot[i].entry);
	}
	hashmap_clear(&c->entries);
	c->full = false;
}

void
answers_reset(struct answers *c)
{
	drop_entries(c);
	c->open = false;
	c->head = c->nwanted = c->nbatch = 0;
}

void
answers_fini(struct answers *c)
{
	answers_reset(c);
	hashmap_fini(&c->entries);
	free(c->wanted);
}

static struct answers_entry *
add_entry(struct answers *c, uint64_t key)
{
	struct answers_entry *e = calloc(1, sizeof *e);
	struct answers_slot *slot;

	if (e == NULL)
		return NULL;
	slot = hashmap_add(&c->entries, key);
	if (slot == NULL) {
		free(e);
		return NULL;
	}
	e->key = key;
	return slot->entry = e;
}

static struct answers_entry *
find_or_add_entry(struct answers *c, uint64_t key)
{
	struct answers_entry *e = find_entry(c, key);

	if (e == NULL && c->entries.n >= c->keep)
		c->full = true;
	else if (e == NULL)
		e = add_entry(c, key);
	return e;
}

const struct answers_entry *
answers_entry(struct answers *c, uint64_t key)
{
	return find_or_add_entry(c, key);
}

const struct answers_entry *
answers_get(struct answers *c, uint64_t key, int64_t now_ms)
{
	struct answers_entry *e = find_or_add_entry(c, key);

	if (e != NULL && e->value != NULL)
		c->hits++;
	else
		c->misses++;
	if (e == NULL || e->pending || !c->open || now_ms < e->due_ms ||
	    c->nwanted == ANSWERS_WANTED_MAX)
		return e;
	e->pending = true;
	c->wanted[(c->head + c->nwanted++) % ANSWERS_WANTED_MAX] = key;
	return e;
}

size_t
answers_take(struct answers *c)
{
	if (!c->open || c->nbatch > 0)
		return 0;
	while (c->nwanted > 0 && c->nbatch < ANSWERS_BATCH) {
		c->batch[c->nbatch++] = c->wanted[c->head];
		c->head = (c->head + 1) % ANSWERS_WANTED_MAX;
		c->nwanted--;
	}
	return c->nbatch;
}

static struct answers_entry *
find_pending(const struct answers *c, uint64_t key)
{
	struct answers_entry *e = find_entry(c, key);

	return e != NULL && e->pending ? e : NULL;
}

/* The pending entry with its new value; NULL: none. */
static struct answers_entry *
set_value(struct answers *c, uint64_t key, void *value)
{
	struct answers_entry *e = find_pending(c, key);

	if (e == NULL) {
		free(value);
		return NULL;
	}
	if (value != NULL) {
		free(e->value);
		e->value = value;
	}
	e->pending = false;
	return e;
}

void
answers_put(struct answers *c, uint64_t key, void *value, int64_t due_ms)
{
	struct answers_entry *e = set_value(c, key, value);

	if (e != NULL)
		e->due_ms = due_ms;
}

void
answers_miss(struct answers *c, uint64_t key, void *value, int64_t now_ms)
{
	struct answers_entry *e = set_value(c, key, value);

	if (e == NULL)
		return;
	e->due_ms = ANSWERS_NEVER;
	if (e->tries < ANSWERS_TRIES && ++e->tries < ANSWERS_TRIES)
		e->due_ms = now_ms + ((int64_t)ANSWERS_RETRY_MS <<
		    (e->tries - 1));
}

/* Puts a key at the head of the queue; if that is full, it is no longer pending. */
static void
want_first(struct answers *c, uint64_t key)
{
	struct answers_entry *e = find_pending(c, key);

	if (e == NULL)
		return;
	if (c->nwanted == ANSWERS_WANTED_MAX) {
		e->pending = false;
		return;
	}
	c->head = (c->head + ANSWERS_WANTED_MAX - 1) % ANSWERS_WANTED_MAX;
	c->wanted[c->head] = key;
	c->nwanted++;
}

void
answers_settle(struct answers *c, int64_t now_ms)
{
	size_t i, open = 0, n = c->nbatch;

	for (i = 0; i < n; i++)
		open += find_pending(c, c->batch[i]) != NULL;
	c->nbatch = 0;
	for (i = n; i-- > 0;) {
		if (open == n)
			answers_miss(c, c->batch[i], NULL, now_ms);
		else
			want_first(c, c->batch[i]);
	}
}

void
answers_put_off(struct answers *c, int64_t due_ms)
{
	struct answers_entry *e;
	size_t i;

	for (i = 0; i < c->nbatch; i++) {
		e = find_pending(c, c->batch[i]);
		if (e == NULL)
			continue;
		e->pending = false;
		e->due_ms = due_ms;
	}
	c->nbatch = 0;
}

bool
answers_tidy(struct answers *c)
{
	if (!c->full || answers_pending(c) > 0)
		return false;
	drop_entries(c);
	return true;
}

size_t
answers_pending(const struct answers *c)
{
	return c->nwanted + c->nbatch;
}
