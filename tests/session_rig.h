/*
 * A session on a scripted node (peer.h), and whether its list is the node's.
 * Shared by the tests of the session and of its merging.
 */
#ifndef TESTS_SESSION_RIG_H
#define TESTS_SESSION_RIG_H

#include "peer.h"

#define ROWS 4096

static unsigned news;			/* calls of on_news() */

static inline void
on_news(void *arg)
{
	(void)arg;
	news++;
}

static inline struct nodes_session *
open_session(struct peer *p, const struct nodes_session_opts *opts)
{
	struct nodes_session *s;

	ck_assert_int_eq(nodes_session_open(&s, p->link, opts, on_news, NULL),
	    0);
	return s;
}

/* The peer has two streams: one with two blocks, and one that is still to come. */
static inline void
two_streams(struct peer *p, struct model *first, struct model *second)
{
	model_init(first, "ALLOCLOG.model.42", 42);
	model_init(second, "ALLOCLOG.other.43", 43);
	second->gone = true;
	p->model[0] = first;
	p->model[1] = second;
	p->models = 2;
	model_alloc(first, 0x1000, 10);
	model_alloc(first, 0x2000, 20);
}

/* Literal, so that the test does not lean on the list that is under test elsewhere. */
static const struct nodes_session_opts plain = {
	.kind_given = true, .kind = BLKLIST_LITERAL, .max = 4096,
};

static inline void
assert_same(struct nodes_session *s, const struct model *m,
    const char *what, unsigned which)
{
	const struct nodes_look *look = nodes_session_look(s);
	static struct blk have[ROWS], want[ROWS];
	size_t n, k, i;

	n = blklist_window(m->list, BLKLIST_BY_ADDRESS, false, 0, want, ROWS);
	k = blklist_window(look->list, BLKLIST_BY_ADDRESS, false, 0, have,
	    ROWS);
	ck_assert_msg(n == k, "%s %u: %zu blocks, not %zu", what, which, k, n);
	for (i = 0; i < n; i++)
		ck_assert_msg(have[i].addr == want[i].addr &&
		    have[i].size == want[i].size &&
		    have[i].seq == want[i].seq && have[i].ms == want[i].ms &&
		    have[i].flags == want[i].flags,
		    "%s %u: row %zu: %llx size %llu seq %llu, not %llx size "
		    "%llu seq %llu", what, which, i,
		    (unsigned long long)have[i].addr,
		    (unsigned long long)have[i].size,
		    (unsigned long long)have[i].seq,
		    (unsigned long long)want[i].addr,
		    (unsigned long long)want[i].size,
		    (unsigned long long)want[i].seq);
}

#endif
