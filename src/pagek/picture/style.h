/*
 * style: what a mark looks like on a terminal, by words: "bold yellow",
 * "white on blue", "reverse".
 *
 *	attributes	bold, dim, reverse, underline
 *	colours		black, red, green, yellow, blue, magenta, cyan, white,
 *			default; behind "on" it is that of the ground
 *
 * "plain" is none of all that.
 */
#ifndef PAGEK_STYLE_H
#define PAGEK_STYLE_H

#include <stdbool.h>
#include <stddef.h>

#include "picture.h"

/* The word of a mark in files: "cursor"; NULL for PAGE_PLAIN, which has none. */
const char *page_mark_word(enum page_mark);
/* PAGE_PLAIN: no mark is called so. */
enum page_mark page_mark_named(const char *word);
/* What it looks like where nobody says otherwise. */
struct page_style page_style_usual(enum page_mark);

/* False: some word of it is none, and that is in *wrong, borrowed from text. */
bool page_style_parse(struct page_style *, const char *text,
    const char **wrong);

#define PAGE_STYLE_TEXT 80
/* As such words. */
void page_style_text(struct page_style, char out[PAGE_STYLE_TEXT]);

/*
 * What is left without colours: what was meant to be seen by its colour alone
 * looks as usual.
 */
struct page_style page_style_bare(enum page_mark, struct page_style);

#endif
