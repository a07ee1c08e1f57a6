/*
 * moment: finds a part of a capture by the word of --part, and a moment of it by
 * that of --at or :at.  Commands and the node that replays a capture share it.
 * capture_seek() then finds the list at that moment.
 *
 *	moment_part(c, "redis-server", &no, &found);
 *	moment_parse(c, no, "+90s", &when);
 *	capture_seek(c, no, &when, &list);
 */
#ifndef CAPTURE_MOMENT_H
#define CAPTURE_MOMENT_H

#include "capture.h"

/*
 * Finds the part that has most events among those with that number, process id or
 * name (NULL: all).  *found: how many these are.  -ENOENT: none.
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
 * Reads a time of the clock or a date, a duration from the beginning, `begin`, `end`,
 * `peak`, or the name of a mark.  -EINVAL: it is none of these.  -ERANGE: it is outside
 * the capture; *when is the capture's beginning or end.
 */
int moment_parse(const struct capture *, uint32_t part, const char *word,
    struct capture_when *);

#endif
