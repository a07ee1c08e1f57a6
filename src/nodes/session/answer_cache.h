/*
 * answers: a cache of the node's answers by the number that was asked about, and
 * which numbers are to be asked about next.
 *
 * Vocabulary
 *	key	what is asked about; any number.
 *	wanted	to be asked: a queue, bounded.
 *	batch	the keys of the one question that is on its way.
 *	pending	wanted or in the batch.
 *	due	when a key may be asked about, for the first time or again.
 *
 * Example
 *	e = answers_get(c, key, now);		wants it when it is due
 *	if (e == NULL || e->value == NULL)
 *		...				not there yet
 *	n = answers_take(c);			c->batch[0 .. n) go to the node
 *	... the answer ...
 *	answers_put(c, c->batch[0], value, ANSWERS_NEVER);
 *	answers_miss(c, c->batch[1], NULL, now);	the node does not know yet
 *	answers_settle(c, now);			the rest is wanted again, first
 *
 * The time is the caller's.  A value is freed when another one takes its
 * place, by answers_tidy(), answers_reset() and answers_fini(), and by nothing
 * else: what was got stays good until then.
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
#define ANSWERS_TRIES 8		/* of a key that the node does not know yet */
#define ANSWERS_RETRY_MS 1000	/* before the second; then twice as long each time */
#define ANSWERS_NEVER INT64_MAX	/* due never again */

struct answers_entry {
	uint64_t key;
	int64_t due_ms;
	void *value;		/* one heap block; NULL: not known */
	bool pending;
	uint8_t tries;		/* answers that did not say it, ANSWERS_TRIES at most */
};

/* Entries stay where they are, for a stack may be the key itself. */
struct answers_slot {
	uint64_t key;
	struct answers_entry *entry;	/* owned */
};

struct answers {
	bool open;			/* there is somebody to ask */
	struct hashmap entries;		/* of struct answers_slot */
	size_t keep;			/* entries at most */
	bool full;			/* one was turned away */
	uint64_t hits, misses;		/* of answers_get(): was there a value? */
	uint64_t *wanted;		/* ANSWERS_WANTED_MAX of them, from head on */
	size_t head, nwanted;
	uint64_t batch[ANSWERS_BATCH];
	size_t nbatch;			/* 0: no question is on its way */
};

int answers_init(struct answers *, size_t keep);
void answers_fini(struct answers *);
/* Forgets everything, and is no longer open. */
void answers_reset(struct answers *);

/*
 * The entry of a key, made when there is none; NULL when the cache is full or
 * memory is out.  get wants it as well, when it is due, there is somebody to
 * ask and the queue has room.
 */
const struct answers_entry *answers_entry(struct answers *, uint64_t key);
const struct answers_entry *answers_get(struct answers *, uint64_t key,
    int64_t now_ms);

/* Makes the next batch, unless there is one; returns how many keys it has. */
size_t answers_take(struct answers *);

/*
 * The answer for a key of the batch.  put owns `value`, and frees it when the
 * key was not asked about.
 */
void answers_put(struct answers *, uint64_t key, void *value, int64_t due_ms);
/*
 * The node does not know yet: asked again, each time later.  `value` is what
 * there is to say meanwhile; with NULL the one from before stays.
 */
void answers_miss(struct answers *, uint64_t key, void *value, int64_t now_ms);

/*
 * The question is answered.  What of the batch was not is wanted again before
 * all others; when nothing was, all of it is missed.
 */
void answers_settle(struct answers *, int64_t now_ms);
/* It was not answered, and need not count: due again from then on. */
void answers_put_off(struct answers *, int64_t due_ms);

/* A full cache of which nothing is pending begins again; true if it did. */
bool answers_tidy(struct answers *);

size_t answers_pending(const struct answers *);

#endif
