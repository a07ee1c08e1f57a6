/*
 * moment: what a target holds at one news, summed by caller, and what is to be
 * said of it then.  The session goes on while names are waited for; this does
 * not.
 *
 * Example: a command that writes one
 *	static int
 *	put(FILE *out, const struct options *o, const struct moment *m)
 *	{
 *		r = moment_groups(m, PROFILE_FUNCTION, PROFILE_BYTES, 10,
 *		    &rows, &n, &all);
 *		...
 *	}
 *	...
 *	return moment_report(o, loop, session, put);
 */
#ifndef PAGEK_MOMENT_H
#define PAGEK_MOMENT_H

#include <stdio.h>

#include "../../mdd/mdd.h"
#include "../rows/group_kinds.h"
#include "../rows/row_filter.h"

#define MOMENT_TEXT 512

struct moment {
	struct profile *profile;
	struct profile_cells *cells;	/* by the tags of a kind; NULL: of a kind without */
	struct nodes_session *session;	/* that it was taken of */
	struct nodes_look look;		/* as it was: texts are the moment's own, and there is no list */
	size_t lacking;			/* callers that still lack names */
	const char *filter;		/* only blocks that it means, the sieve's; NULL: all */
	struct page_caught caught;	/* by it ... */
	uint64_t listed;		/* ... of so many */
	char node[MOMENT_TEXT], target[MOMENT_TEXT], reason[MOMENT_TEXT];
};

/*
 * Borrows the wrappers and the sieve, which may be NULL.  Of a kind whose groups
 * are by a tag their cells are taken as well; NULL: of none.  -ENOMEM.
 */
int moment_init(struct moment *, struct nodes_session *,
    const struct symbol_wrappers *, struct page_sieve *,
    const struct page_group_kind *);
void moment_fini(struct moment *);

/* The measure of a sum, and its share of all: 0 to 1. */
double moment_measure(const struct moment *, enum profile_measure,
    const struct profile_sum *);
double moment_share(const struct moment *, enum profile_measure,
    const struct profile_sum *);

/* How old the oldest block of the sum is, in milliseconds. */
int64_t moment_age(const struct moment *, const struct profile_sum *);

/*
 * What the page calls a group of that kind.  Types and threads have their names
 * from the session, so before it goes to another stream.
 */
void moment_group_say(const struct moment *, const struct page_opts *,
    const struct page_group_kind *, const struct profile_group *,
    struct page_group_words *);

/*
 * The heaviest groups, at most limit of them (0: all), freed with free().
 * -ENOMEM.
 */
int moment_groups(const struct moment *, enum profile_by,
    enum profile_measure, uint64_t limit, struct profile_group **, size_t *n,
    size_t *all);

/*
 * A whole command: takes a moment, waits for its names, has it written to
 * where -o says, and returns the exit status.  put is 0 or a negative errno.
 */
struct options;
int moment_report(const struct options *, uv_loop_t *, struct nodes_session *,
    int (*put)(FILE *, const struct options *, const struct moment *));

struct json;
/*
 * A call tree, schema pagek.tree/1, or a flat table of groups, pagek.groups/1,
 * as the options want it.  -ENOMEM.
 */
int json_tree(struct json *, const struct options *, const struct moment *);
int json_groups(struct json *, const struct options *, const struct moment *);

#endif
