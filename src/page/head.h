/*
 * head: the words above the rows that say what of the list is shown, and how:
 * "group none  sort AGE v".
 *
 * One table has them in their order.  Who adds a way to look at the list adds
 * a row to it: a label and a function that says how it stands.
 */
#ifndef PAGEK_HEAD_H
#define PAGEK_HEAD_H

#include "view.h"

#define PAGE_HEAD_TEXT 64

struct page_head_word {
	const char *label;	/* "sort " */
	int rank;		/* the lowest is left out last */
	/* How it stands; outside text is welcome.  "" leaves it out. */
	void (*text)(const struct page *, const struct page_view *,
	    char out[PAGE_HEAD_TEXT]);
};

/* Those that fit into so many columns, two blanks before each. */
void page_head_put(const struct page *, const struct page_view *, int cols,
    struct page_picture *);

#endif
