/*
 * moment: which part of a capture a word means, and which moment of it.  Commands
 * and the node that replays a capture read these words alike.
 *
 *	moment_part(c, "redis-server", &no, &found);
 *	moment_parse(c, no, "+90s", &when);
 *	capture_seek(c, no, &when, &list);
 */
#ifndef MDD_MOMENT_H
#define MDD_MOMENT_H

#include "capture/capture.h"

/*
 * Of the parts with that number, process id or name (NULL: of all), the one that
 * has most events; *found of them there are.  -ENOENT: none.
 */
int moment_part(const struct capture *, const char *word, uint32_t *no,
    unsigned *found);

/* The first and the last millisecond of a capture, marks included. */
void moment_span(const struct capture *, int64_t *begin, int64_t *end);

/*
 * A time of the clock or a date, a duration from the beginning, `begin`, `end`,
 * `peak`, or the name of a mark.  -EINVAL: it is none of these.  -ERANGE: *when is the end of
 * the capture that is nearest to it.
 */
int moment_parse(const struct capture *, uint32_t part, const char *word,
    struct capture_when *);

#endif
