/*
 * typed_history: lines typed in this page and in earlier ones.
 *
 * Vocabulary
 *	kind	a word for what a line was typed into: each prompt brings back
 *		its own lines.
 *	file	pagek/history of the user's state, a line "kind text" each, the
 *		last typed the last; not for others to read.
 *
 * Example
 *	struct history h = { 0 };
 *	history_load(&h);
 *	history_add(&h, "command", "sort age");
 *	size_t at = h.n;
 *	history_before(&h, "command", "so", &at);	"sort age"
 *	history_save(&h);
 *	history_fini(&h);
 *
 * A line that was typed again has the place of the last time only.  Several
 * pages may end at once: each adds its own lines to what is there by then.
 */
#ifndef PAGEK_TYPED_HISTORY_H
#define PAGEK_TYPED_HISTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define HISTORY_MAX 500		/* lines that are kept, of all kinds */

struct history_line {
	char *text;		/* "kind text"; owned */
	bool typed;		/* since the file was read */
};

/* All zeros is an empty one. */
struct history {
	struct history_line *line;
	size_t n, cap;
};

/*
 * What pages before have left, in place of what is here.  0 also when there is
 * nothing; -ENOMEM, or what reading says.
 */
int history_load(struct history *);
void history_fini(struct history *);

/* The last from now on.  An empty line is none; without memory it is lost. */
void history_add(struct history *, const char *kind, const char *text);

/*
 * The text of the last line before *at that is of the kind and begins so, and
 * its place into *at; NULL: there is none.  Borrowed until one is added.
 */
const char *history_before(const struct history *, const char *kind,
    const char *begun, size_t *at);
/* Of the first one behind. */
const char *history_after(const struct history *, const char *kind,
    const char *begun, size_t *at);

/*
 * Adds what was typed to the file, which is made with the folders above it.
 * When nothing was, no file is touched.  0, or a negative errno: it is as it
 * was.
 */
int history_save(const struct history *);
/* Where that is: -ENOENT when the user has no place for it. */
int history_path(char path[PATH_MAX]);

#endif
