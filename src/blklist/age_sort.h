/*
 * Sorting by sequence number, as much at a time as one has time for.  Private.
 *
 * A digit of the numbers at a time, the lowest first: no comparison that cannot
 * be foretold, and the same work whatever order they come in.  Digits in which
 * no two of them differ are passed over, so as a rule there are two or three.
 */
#ifndef BLKLIST_AGE_SORT_H
#define BLKLIST_AGE_SORT_H

#include <stdbool.h>
#include <stdint.h>

#define AGE_DIGIT 11
#define AGE_DIGIT_VALUES (1u << AGE_DIGIT)

/* In parts of 32 bits: there are two of them for each block of a list. */
struct age_key {
	uint32_t low, high;	/* of what is sorted by, as an unsigned number */
	uint32_t which;		/* whose it is */
};

_Static_assert(sizeof(struct age_key) == 12, "without a gap");

struct age_sort {
	struct age_key *key;	/* when it is done, in order */
	struct age_key *other;	/* room for as many */
	uint32_t n;
	uint32_t at;		/* of this digit */
	uint64_t differ;	/* bits from `shift` on in which not all are the same */
	unsigned shift;		/* of this digit */
	bool moving;		/* or counting */
	uint32_t place[AGE_DIGIT_VALUES];	/* how many; then where the next one goes */
};

/* Room for so many at most; none yet.  -ENOMEM. */
int age_sort_init(struct age_sort *, uint32_t max);
void age_sort_fini(struct age_sort *, uint32_t max);
/* All are in order, and these have been used: gives their memory back. */
void age_sort_release(struct age_sort *, uint32_t from, uint32_t to);
/* Looks at *work keys at most and takes them off it; true when all are in order. */
bool age_sort_step(struct age_sort *, uint32_t *work);

static inline uint64_t
age_key_value(const struct age_key *k)
{
	return (uint64_t)k->high << 32 | k->low;
}

/* One more, of a signed number. */
static inline void
age_sort_add(struct age_sort *s, int64_t seq, uint32_t which)
{
	uint64_t value = (uint64_t)seq ^ UINT64_C(1) << 63;

	s->key[s->n++] = (struct age_key){ (uint32_t)value,
		(uint32_t)(value >> 32), which };
	s->differ |= value ^ age_key_value(&s->key[0]);
}

#endif
