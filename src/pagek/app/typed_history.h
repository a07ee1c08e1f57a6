/*
 * typed_history: lines typed in this page and in earlier ones.
 *
 * Vocabulary
 *	kind	a word for the prompt or field that a line was typed into.
 *	file	pagek/history of the user's state: lines "kind text", the newest
 *		last, with mode 0600.
 *
 * Example
 *	struct history h = { 0 };
 *	history_load(&h);
 *	history_add(&h, "command", "sort age");
 *	size_t at = h.n;
 *	history_find(&h, "command", "so", true, &at);	"sort age"
 *	history_save(&h);
 *	history_fini(&h);
 *
 * A line that is typed again moves to the end.  Several pages may end at once:
 * each appends its own lines.
 */
#ifndef PAGEK_TYPED_HISTORY_H
#define PAGEK_TYPED_HISTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define HISTORY_MAX 500		/* lines of all kinds */

struct history_line {
	char *text;		/* "kind text" */
	bool typed;		/* in this page */
};

/* All zeros is an empty one. */
struct history {
	struct history_line *line;
	size_t n, cap;
};

/* Replaces the lines by those of the file, if there is one. */
int history_load(struct history *);
void history_fini(struct history *);

/* Ignores empty lines; without memory, the line is dropped. */
void history_add(struct history *, const char *kind, const char *text);

/*
 * The next line before *at (back), or after it, of the kind and with the prefix
 * `begun`; sets *at.  NULL: there is none.  Borrowed until the next history_add().
 */
const char *history_find(const struct history *, const char *kind,
    const char *begun, bool back, size_t *at);

/* Appends typed lines to the file, if there are any.  0 or a negative errno. */
int history_save(const struct history *);
/* -ENOENT: the user has no folder for state. */
int history_path(char path[PATH_MAX]);

#endif
