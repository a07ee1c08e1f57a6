/*
 * answers: a cache of the node's answers by key, and the queue of keys to
 * request next.
 *
 * Vocabulary
 *	key	any number that is asked about.
 *	wanted	the queue of keys to request; bounded.
 *	batch	keys of the one request that is on its way.
 *	pending	wanted or in the batch.
 *	due	time from which a key may be requested (again).
 *
 * Example
 *	e = answers_get(c, key, now);		queues the key if it is due
 *	if (e == NULL || e->value == NULL)
 *		...				unknown so far
 *	n = answers_take(c);			request c->batch[0 .. n)
 *	... the answer ...
 *	answers_put(c, c->batch[0], value, ANSWERS_NEVER);
 *	answers_miss(c, c->batch[1], NULL, now);	not known to the node yet
 *	answers_settle(c, now);			the others are queued again, first
 *
 * The caller has the clock. A value is freed only when another one replaces it
 * and by answers_tidy(), answers_reset() and answers_fini().
 */
#ifndef NODES_SESSION_ANSWER_CACHE_H
#define NODES_SESSION_ANSWER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/hashmap.h"
#include "../../stream/wire/wire.h"

#define ANSWERS_BATCH WIRE_SYMS_MAX
#define ANSWERS_WANTED_MAX 4096
#define ANSWERS_TRIES 8		/* for a key that the node does not know yet */
#define ANSWERS_RETRY_MS 1000	/* before the second try; doubles with each */
#define ANSWERS_NEVER INT64_MAX	/* not due again */

struct answers_entry {
	uint64_t key;
	int64_t due_ms;
	void *value;		/* one heap block; NULL: unknown */
	bool pending;
	uint8_t tries;		/* answers without a value, ANSWERS_TRIES at most */
};

/* Entries do not move: a plain stack points to its key. */
struct answers_slot {
	uint64_t key;
	struct answers_entry *entry;	/* owned */
};

struct answers {
	bool open;			/* keys may be queued */
	struct hashmap entries;		/* of struct answers_slot */
	size_t keep;			/* entries at most */
	bool full;			/* an entry was refused */
	uint64_t hits, misses;		/* of answers_get(), by whether it had a value */
	uint64_t *wanted;		/* ring of ANSWERS_WANTED_MAX keys from head on */
	size_t head, nwanted;
	uint64_t batch[ANSWERS_BATCH];
	size_t nbatch;			/* 0: no request is on its way */
};

int answers_init(struct answers *, size_t keep);
void answers_fini(struct answers *);
/* Removes everything and closes it. */
void answers_reset(struct answers *);

/*
 * The entry of a key, made if missing; NULL if the cache is full or memory is
 * out. answers_get() also queues the key if it is due, the cache is open and
 * the queue has room.
 */
const struct answers_entry *answers_entry(struct answers *, uint64_t key);
const struct answers_entry *answers_get(struct answers *, uint64_t key,
    int64_t now_ms);

/* Makes the next batch and returns its size; 0 while one is on its way. */
size_t answers_take(struct answers *);

/* Stores the answer for a key; takes over `value`, and frees it if the key is not pending. */
void answers_put(struct answers *, uint64_t key, void *value, int64_t due_ms);
/*
 * The node does not know the key yet: it is due again, each time later. `value`
 * is shown meanwhile; NULL keeps the former one.
 */
void answers_miss(struct answers *, uint64_t key, void *value, int64_t now_ms);

/*
 * Ends the batch. Keys without an answer are queued again before all others; if
 * no key got one, all are missed.
 */
void answers_settle(struct answers *, int64_t now_ms);
/* Ends the batch without an answer: its keys are due at due_ms. */
void answers_put_off(struct answers *, int64_t due_ms);

/* Empties a full cache without pending keys; true if it did. */
bool answers_tidy(struct answers *);

size_t answers_pending(const struct answers *);

#endif
