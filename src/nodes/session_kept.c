/*
 * The cache of answers: a hash of entries and a queue of keys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session_kept.h"

#define FIRST_SLOTS 256

static size_t
slot_of(const struct kept *c, uint64_t key)
{
	size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) &
	    (c->nslot - 1);

	while (c->slot[i] != NULL && c->slot[i]->key != key)
		i = (i + 1) & (c->nslot - 1);
	return i;
}

int
kept_init(struct kept *c, size_t keep)
{
	memset(c, 0, sizeof *c);
	c->keep = keep;
	c->slot = calloc(FIRST_SLOTS, sizeof *c->slot);
	c->wanted = calloc(KEPT_WANTED_MAX, sizeof *c->wanted);
	if (c->slot == NULL || c->wanted == NULL) {
		free(c->slot);
		free(c->wanted);
		return -ENOMEM;
	}
	c->nslot = FIRST_SLOTS;
	return 0;
}

static void
drop_entries(struct kept *c)
{
	size_t i;

	for (i = 0; i < c->nslot && c->count > 0; i++) {
		if (c->slot[i] == NULL)
			continue;
		free(c->slot[i]->value);
		free(c->slot[i]);
		c->slot[i] = NULL;
		c->count--;
	}
	c->full = false;
}

void
kept_reset(struct kept *c)
{
	drop_entries(c);
	c->open = false;
	c->head = c->nwanted = c->nbatch = 0;
}

void
kept_fini(struct kept *c)
{
	kept_reset(c);
	free(c->slot);
	free(c->wanted);
}

/* Doubles the table; when there is no memory for it, it stays as it is. */
static void
grow(struct kept *c)
{
	struct kept_entry **old = c->slot, **bigger;
	size_t nold = c->nslot, i;

	bigger = calloc(nold * 2, sizeof *bigger);
	if (bigger == NULL)
		return;
	c->slot = bigger;
	c->nslot = nold * 2;
	for (i = 0; i < nold; i++)
		if (old[i] != NULL)
			c->slot[slot_of(c, old[i]->key)] = old[i];
	free(old);
}

static struct kept_entry *
find_or_add(struct kept *c, uint64_t key)
{
	struct kept_entry *e = c->slot[slot_of(c, key)];

	if (e != NULL)
		return e;
	if (c->count >= c->keep) {
		c->full = true;
		return NULL;
	}
	if (c->count * 2 >= c->nslot)
		grow(c);
	if (c->count + 1 >= c->nslot)
		return NULL;
	e = calloc(1, sizeof *e);
	if (e == NULL)
		return NULL;
	e->key = key;
	c->slot[slot_of(c, key)] = e;
	c->count++;
	return e;
}

const struct kept_entry *
kept_entry(struct kept *c, uint64_t key)
{
	return find_or_add(c, key);
}

const struct kept_entry *
kept_get(struct kept *c, uint64_t key, int64_t now_ms)
{
	struct kept_entry *e = find_or_add(c, key);

	if (e == NULL || e->pending || !c->open || now_ms < e->due_ms ||
	    c->nwanted == KEPT_WANTED_MAX)
		return e;
	e->pending = true;
	c->wanted[(c->head + c->nwanted++) % KEPT_WANTED_MAX] = key;
	return e;
}

/* --- questions ---------------------------------------------------------- */

size_t
kept_take(struct kept *c)
{
	if (!c->open || c->nbatch > 0)
		return 0;
	while (c->nwanted > 0 && c->nbatch < KEPT_BATCH) {
		c->batch[c->nbatch++] = c->wanted[c->head];
		c->head = (c->head + 1) % KEPT_WANTED_MAX;
		c->nwanted--;
	}
	return c->nbatch;
}

static struct kept_entry *
asked(const struct kept *c, uint64_t key)
{
	struct kept_entry *e = c->slot[slot_of(c, key)];

	return e != NULL && e->pending ? e : NULL;
}

/* The entry that was asked about, with its new value; NULL for no such one. */
static struct kept_entry *
take_value(struct kept *c, uint64_t key, void *value)
{
	struct kept_entry *e = asked(c, key);

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
kept_put(struct kept *c, uint64_t key, void *value, int64_t due_ms)
{
	struct kept_entry *e = take_value(c, key, value);

	if (e != NULL)
		e->due_ms = due_ms;
}

void
kept_miss(struct kept *c, uint64_t key, void *value, int64_t now_ms)
{
	struct kept_entry *e = take_value(c, key, value);

	if (e == NULL)
		return;
	e->due_ms = KEPT_NEVER;
	if (e->tries < KEPT_TRIES && ++e->tries < KEPT_TRIES)
		e->due_ms = now_ms + ((int64_t)KEPT_RETRY_MS <<
		    (e->tries - 1));
}

/* Ahead of the queue; when that is full it is not pending any more. */
static void
want_first(struct kept *c, uint64_t key)
{
	struct kept_entry *e = asked(c, key);

	if (e == NULL)
		return;
	if (c->nwanted == KEPT_WANTED_MAX) {
		e->pending = false;
		return;
	}
	c->head = (c->head + KEPT_WANTED_MAX - 1) % KEPT_WANTED_MAX;
	c->wanted[c->head] = key;
	c->nwanted++;
}

void
kept_settle(struct kept *c, int64_t now_ms)
{
	size_t i, open = 0, n = c->nbatch;

	for (i = 0; i < n; i++)
		open += asked(c, c->batch[i]) != NULL;
	c->nbatch = 0;
	for (i = n; i-- > 0;) {
		if (open == n)
			kept_miss(c, c->batch[i], NULL, now_ms);
		else
			want_first(c, c->batch[i]);
	}
}

void
kept_put_off(struct kept *c, int64_t due_ms)
{
	struct kept_entry *e;
	size_t i;

	for (i = 0; i < c->nbatch; i++) {
		e = asked(c, c->batch[i]);
		if (e == NULL)
			continue;
		e->pending = false;
		e->due_ms = due_ms;
	}
	c->nbatch = 0;
}

bool
kept_tidy(struct kept *c)
{
	if (!c->full || kept_pending(c) > 0)
		return false;
	drop_entries(c);
	return true;
}

size_t
kept_pending(const struct kept *c)
{
	return c->nwanted + c->nbatch;
}
