/*
 * Sorting by sequence number.
 */
#include <errno.h>
#include <string.h>

#include "age_sort.h"
#include "list.h"

/*
 * In small pages: a key goes to any of two thousand places at first, and to take
 * a huge page for each of them would be the longest part of all.
 */
int
age_sort_init(struct age_sort *s, uint32_t max)
{
	*s = (struct age_sort){
		.key = list_map(max * sizeof(*s->key)),
		.other = list_map(max * sizeof(*s->other)),
	};
	if (s->key != NULL && s->other != NULL)
		return 0;
	age_sort_fini(s, max);
	return -ENOMEM;
}

void
age_sort_fini(struct age_sort *s, uint32_t max)
{
	list_unmap(s->key, max * sizeof(*s->key));
	list_unmap(s->other, max * sizeof(*s->other));
	s->key = s->other = NULL;
}

void
age_sort_release(struct age_sort *s, uint32_t from, uint32_t to)
{
	list_release(&s->key[from], &s->key[to]);
	list_release(&s->other[from], &s->other[to]);
}

static inline unsigned
key_digit(const struct age_key *k, unsigned shift)
{
	return (unsigned)(age_key_value(k) >> shift) & (AGE_DIGIT_VALUES - 1);
}

static void
count_digits(struct age_sort *s, uint32_t end)
{
	for (; s->at < end; s->at++)
		s->place[key_digit(&s->key[s->at], s->shift)]++;
}

static void
move_keys(struct age_sort *s, uint32_t end)
{
	for (; s->at < end; s->at++) {
		const struct age_key *k = &s->key[s->at];

		s->other[s->place[key_digit(k, s->shift)]++] = *k;
	}
}

/* From how many there are of each to where the first of them goes. */
static void
end_counting(struct age_sort *s)
{
	uint32_t sum = 0, n;

	for (unsigned i = 0; i < AGE_DIGIT_VALUES; i++) {
		n = s->place[i];
		s->place[i] = sum;
		sum += n;
	}
	s->moving = true;
	s->at = 0;
}

static void
end_moving(struct age_sort *s)
{
	struct age_key *was = s->key;

	s->key = s->other;
	s->other = was;
	memset(s->place, 0, sizeof(s->place));
	s->moving = false;
	s->at = 0;
	s->differ &= ~(uint64_t)(AGE_DIGIT_VALUES - 1) << s->shift;
}

bool
age_sort_step(struct age_sort *s, uint32_t *work)
{
	uint32_t end;

	while (s->differ != 0) {
		if (s->at == 0 && !s->moving)
			s->shift = (unsigned)__builtin_ctzll(s->differ);
		end = s->n - s->at < *work ? s->n : s->at + *work;
		*work -= end - s->at;
		(s->moving ? move_keys : count_digits)(s, end);
		if (end < s->n)
			return false;
		(s->moving ? end_moving : end_counting)(s);
	}
	return true;
}
