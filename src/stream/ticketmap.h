/*
 * ticketmap: a hash from (shard, ticket) to a value other than 0.  Private to
 * this room.  Open addressing with the gap closed at a removal, so that no
 * amount of traffic wears it out; grows, never shrinks.  The seed is random:
 * keys come from a target that may choose them.
 */
#ifndef STREAM_TICKETMAP_H
#define STREAM_TICKETMAP_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct ticketmap_entry {
	uint64_t key;		/* shard << 32 | ticket */
	uint64_t value;		/* 0: empty */
};

struct ticketmap {
	struct ticketmap_entry *entries;
	uint64_t seed;		/* odd */
	uint32_t used;
	uint32_t mask;		/* size - 1; entries is NULL before the first put */
	unsigned shift;
};

static inline uint64_t
ticketmap_key(unsigned shard, uint32_t ticket)
{
	return (uint64_t)shard << 32 | ticket;
}

static inline uint32_t
ticketmap_home(const struct ticketmap *m, uint64_t key)
{
	return (uint32_t)((key * m->seed) >> m->shift);
}

/* Borrowed; NULL if absent. */
static inline struct ticketmap_entry *
ticketmap_get(const struct ticketmap *m, uint64_t key)
{
	if (m->used == 0)
		return NULL;
	for (uint32_t i = ticketmap_home(m, key);; i = (i + 1) & m->mask) {
		if (m->entries[i].value == 0)
			return NULL;
		if (m->entries[i].key == key)
			return &m->entries[i];
	}
}

static inline int
ticketmap_resize(struct ticketmap *m, unsigned bits)
{
	struct ticketmap to = {
		.seed = m->seed,
		.used = m->used,
		.mask = (UINT32_C(1) << bits) - 1,
		.shift = 64 - bits,
	};

	to.entries = calloc((size_t)to.mask + 1, sizeof(*to.entries));
	if (to.entries == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; m->entries != NULL && i <= m->mask; i++) {
		uint32_t at;

		if (m->entries[i].value == 0)
			continue;
		at = ticketmap_home(&to, m->entries[i].key);
		while (to.entries[at].value != 0)
			at = (at + 1) & to.mask;
		to.entries[at] = m->entries[i];
	}
	free(m->entries);
	*m = to;
	return 0;
}

/* -EEXIST when the key is there already, -ENOMEM. */
static inline int
ticketmap_put(struct ticketmap *m, uint64_t key, uint64_t value)
{
	uint32_t i;
	int err;

	if (m->entries == NULL || m->used >= m->mask / 2) {
		err = ticketmap_resize(m,
		    m->entries == NULL ? 8 : 64 - m->shift + 1);
		if (err != 0)
			return err;
	}
	i = ticketmap_home(m, key);
	for (; m->entries[i].value != 0; i = (i + 1) & m->mask)
		if (m->entries[i].key == key)
			return -EEXIST;
	m->entries[i] = (struct ticketmap_entry) { key, value };
	m->used++;
	return 0;
}

/* Removes an entry that ticketmap_get() gave. */
static inline void
ticketmap_remove(struct ticketmap *m, struct ticketmap_entry *entry)
{
	uint32_t gap = (uint32_t)(entry - m->entries), i = gap;

	for (;;) {
		i = (i + 1) & m->mask;
		if (m->entries[i].value == 0)
			break;
		/* An entry moves into the gap unless its home lies behind it. */
		if (((i - ticketmap_home(m, m->entries[i].key)) & m->mask) <
		    ((i - gap) & m->mask))
			continue;
		m->entries[gap] = m->entries[i];
		gap = i;
	}
	m->entries[gap].value = 0;
	m->used--;
}

#endif
