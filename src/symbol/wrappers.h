/*
 * wrappers: functions that only pass a request for memory on, so that the one
 * who asked is further out.
 *
 * Vocabulary
 *	pattern		of function names, as fnmatch(3) has them, against the
 *			demangled name without its arguments and template
 *			arguments: "zmalloc", "std::*allocate*".
 *	skipped		a frame whose function matches a pattern, with nothing
 *			but skipped frames inside of it.  Skipped frames are
 *			shown, as skipped; they are not counted as callers.
 *
 * Example
 *	symbol_wrappers_new(&w);		with the patterns that we come with
 *	symbol_wrappers_add(w, "my_alloc*");
 *	while (i < n && symbol_wrappers_match(w, function[i]))
 *		i++;
 */
#ifndef SYMBOL_WRAPPERS_H
#define SYMBOL_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>

struct symbol_wrappers;

int symbol_wrappers_new(struct symbol_wrappers **);
void symbol_wrappers_free(struct symbol_wrappers *);

/*
 * Patterns, ',' or blanks between, but that the blank of "operator new" is
 * its own; "none" empties the list.  -ENOMEM, -EINVAL for an empty one: the
 * list is as it was.
 */
int symbol_wrappers_add(struct symbol_wrappers *, const char *patterns);

bool symbol_wrappers_match(const struct symbol_wrappers *,
    const char *function);

/* The k-th pattern, NULL behind the last; borrowed. */
const char *symbol_wrappers_pattern(const struct symbol_wrappers *, size_t k);

/*
 * The name without return type, arguments, template arguments and the
 * compiler's clones (".cold", ".constprop.0"): what patterns meet, and what a
 * narrow column shows.  Clips bytes: still outside text.
 */
void symbol_short_name(const char *function, char *out, size_t cap);

/*
 * Shortens a name of more than SYMBOL_NAME_MAX bytes in place.  Its short name
 * stays what it was, if that has room, and names that differ go on differing:
 *	A<std::map<...#9c41d2aa>, int>::f(int)
 */
void symbol_fit_name(char *function);

#endif
