/*
 * Whether two messages are the same, made from wire.def by member, not by the
 * codec's table of offsets.
 */
#ifndef TESTS_WIRE_SAME_H
#define TESTS_WIRE_SAME_H

#include <string.h>

#include "../src/base/base.h"
#include "../src/stream/wire/wire.h"

static inline bool
same_bytes(const void *a, size_t alen, const void *b, size_t blen)
{
	return alen == blen && (alen == 0 || memcmp(a, b, alen) == 0);
}

static inline bool
same_texts(const struct wire_text *a, const struct wire_text *b, size_t n)
{
	for (; n > 0; n--, a++, b++)
		if (!same_bytes(a->s, a->len, b->s, b->len))
			return false;
	return true;
}

static inline bool
same_info(const struct wire_info *a, const struct wire_info *b, size_t n)
{
	for (; n > 0; n--, a++, b++)
		if (a->at != b->at || a->node != b->node ||
		    !same_texts(&a->name, &b->name, 1))
			return false;
	return true;
}

static inline bool
same_lost(const struct wire_lost *a, const struct wire_lost *b)
{
	for (size_t i = 0; i < WIRE_CAUSES; i++)
		if (a[i].count != b[i].count || a[i].exact != b[i].exact)
			return false;
	return true;
}

#define SAME(body, member) (a->body.member == b->body.member)
#define SAME_ALL(body, member) \
	(memcmp(a->body.member, b->body.member, sizeof a->body.member) == 0)
#define SAME_FIRST(body, member, count) \
	(SAME(body, count) && memcmp(a->body.member, b->body.member, \
	    a->body.count * sizeof a->body.member[0]) == 0)

#define SAME_UINT(body, type, member, max) SAME(body, member)
#define SAME_INT(body, type, member) SAME(body, member)
#define SAME_BOOL(body, member) SAME(body, member)
#define SAME_TEXT(body, member) same_texts(&a->body.member, &b->body.member, 1)
#define SAME_BYTES(body, member, max) \
	same_bytes(a->body.member.p, a->body.member.len, b->body.member.p, \
	    b->body.member.len)
#define SAME_ID(body, member) SAME_ALL(body, member)
#define SAME_PAIR(body, type, first, second) \
	(SAME(body, first) && SAME(body, second))
#define SAME_NUMBERS(body, member, count) SAME_ALL(body, member)
#define SAME_LIST(body, type, member, count, n) SAME_FIRST(body, member, count)
#define SAME_TEXTS(body, member, count, n) \
	(SAME(body, count) && \
	    same_texts(a->body.member, b->body.member, a->body.count))
#define SAME_INFO(body, member, count) \
	(SAME(body, count) && \
	    same_info(a->body.member, b->body.member, a->body.count))
#define SAME_LOST(body, member) same_lost(a->body.member, b->body.member)
#define SAME_OR_LAST(body, type, member, last) \
	(SAME(body, member) && SAME(body, last))

/*
 * NULL when two messages are the same, else the first field that is not:
 * "read, key 6".
 */
static inline const char *
wire_difference(const struct wire_msg *a, const struct wire_msg *b)
{
	if (a->type != b->type)
		return "type";
	if (a->id != b->id)
		return "id";
	switch (a->type) {
#define REQUEST(NAME, name, ...) case WIRE_##NAME:
#define REPLY(NAME, name, ...) case WIRE_##NAME:
#define FIELD(body, key, need, kind, ...) \
		if (!SAME_##kind(body, __VA_ARGS__)) \
			return #body ", key " #key;
#define END_FIELDS break;
#include "../src/stream/wire/wire.def"
	}
	return NULL;
}

#undef SAME

#endif
