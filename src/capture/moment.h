/*
 * moment: the part of --part, and the moment of --at or :at. capture_seek()
 * then finds the list.
 *
 *	moment_part(c, "redis-server", &no, &found);
 *	moment_parse(c, no, "+90s", &when);
 *	capture_seek(c, no, &when, &list);
 */
#ifndef CAPTURE_MOMENT_H
#define CAPTURE_MOMENT_H

#include "capture.h"

/*
 * The part with most events of that number, process id or name (NULL: all).
 * *found: how many match.  -ENOENT: none.
 */
int moment_part(const struct capture *, const char *word, uint32_t *no,
    unsigned *found);

/* True if the word is the part's process id or name, or NULL. */
bool moment_means(const struct capture_part *, const char *word);

/* The first and the last millisecond of a capture, marks included. */
void moment_span(const struct capture *, int64_t *begin, int64_t *end);

/* The end of a sentence about a word that moment_parse() refuses with -EINVAL. */
#define MOMENT_NONE "not begin, end or peak, no time such as 14:05:30, no " \
	"duration from the beginning such as +90s, and no mark of the capture"

/*
 * A time or date, a duration from the beginning, `begin`, `end`, `peak`, or a
 * mark.  -EINVAL: none of these.  -ERANGE: outside; *when is the capture's
 * beginning or end.
 */
int moment_parse(const struct capture *, uint32_t part, const char *word,
    struct capture_when *);

#endif
