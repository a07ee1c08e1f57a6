/*
 * intern: texts, or bytes of any kind, that are stored once and have a number.
 *
 * Numbers begin at 0 and go up in the order in which texts were first put.  Two
 * texts are equal when their numbers are, and when the pointers to their copies
 * are.  A copy has a NUL behind it and stays where it is until the table is
 * cleared.
 *
 * Example
 *	struct intern names = { 0 };
 *
 *	no = intern_put(&names, name, strlen(name));
 *	if (no < 0)
 *		return -ENOMEM;
 *	puts(intern_text(&names, no));
 *	intern_fini(&names);
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "hashmap.h"

struct intern_chunk;

/* All zeros is an empty one. */
struct intern {
	struct intern_text {
		char *bytes;
		size_t len;
	} *text;		/* by number */
	size_t n, cap;
	struct hashindex index;
	struct intern_chunk *chunk;
};

/* The number of that text, added if it is not there.  -ENOMEM. */
int64_t intern_put(struct intern *, const void *bytes, size_t len);
/* The number, or -1. */
int64_t intern_find(const struct intern *, const void *bytes, size_t len);

/* The copy; number < n.  Borrowed until the table is cleared. */
static inline const char *
intern_text(const struct intern *t, size_t number)
{
	return t->text[number].bytes;
}

/* Forgets all texts and frees their memory; the table may be used again. */
void intern_fini(struct intern *);

#endif
