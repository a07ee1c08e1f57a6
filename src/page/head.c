/* See head.h. */
#include <stdio.h>
#include <string.h>

#include "groups.h"
#include "head.h"
#include "marked.h"
#include "order.h"
#include "still.h"
#include "group_fields.h"

#define GAP 2

static void
say_group(const struct page *page, const struct page_view *v,
    char out[PAGE_HEAD_TEXT])
{
	char title[PAGE_GROUPS_TITLE];

	(void)v;
	page_groups_title(page, ">", title);
	base_copy_text(out, PAGE_HEAD_TEXT, title[0] != '\0' ? title :
	    "none");
}

/* v: from the top down, as the column's own name says. */
static void
say_sort(const struct page *page, const struct page_view *v,
    char out[PAGE_HEAD_TEXT])
{
	bool groups = page_shows_groups(page);
	char arrow[] = { ' ', groups ? page->group_reverse ? '^' : 'v' :
		page_sorting_arrow(&page->opts), '\0' };
	size_t len = 0;

	(void)v;
	base_append_text(out, PAGE_HEAD_TEXT, &len, groups ?
	    page_sum_title(page->group_sort) : page_sort_title(&page->opts));
	base_append_text(out, PAGE_HEAD_TEXT, &len, arrow);
}

static void
say_still(const struct page *page, const struct page_view *v,
    char out[PAGE_HEAD_TEXT])
{
	page_still_text(page, v, 0, out, PAGE_HEAD_TEXT);
}

static const struct page_head_word words[] = {
	{ "group ", 1, say_group },
	{ "sort ", 0, say_sort },
	{ "mark: ", 2, page_mark_say },
	{ "", 0, say_still },
};

#define NWORDS BASE_NELEM(words)

struct said {
	char text[NWORDS][PAGE_HEAD_TEXT];
	int cols[NWORDS];		/* 0: it is left out */
};

/* The word that is most easily done without; NWORDS: none is left. */
static size_t
least(const struct said *s)
{
	size_t i, found = NWORDS;

	for (i = 0; i < NWORDS; i++)
		if (s->cols[i] > 0 && (found == NWORDS ||
		    words[i].rank > words[found].rank))
			found = i;
	return found;
}

static int
all_cols(const struct said *s)
{
	int cols = 0;
	size_t i;

	for (i = 0; i < NWORDS; i++)
		cols += s->cols[i];
	return cols;
}

void
page_head_put(const struct page *page, const struct page_view *v, int cols,
    struct page_picture *pic)
{
	struct said s = { 0 };
	size_t i;

	for (i = 0; i < NWORDS; i++) {
		words[i].text(page, v, s.text[i]);
		if (s.text[i][0] != '\0')
			s.cols[i] = GAP + (int)strlen(words[i].label) +
			    picture_cols(pic, s.text[i]);
	}
	while (all_cols(&s) > cols && (i = least(&s)) < NWORDS)
		s.cols[i] = 0;
	for (i = 0; i < NWORDS; i++) {
		if (s.cols[i] == 0)
			continue;
		picture_blanks(pic, GAP);
		picture_put(pic, words[i].label);
		picture_text(pic, s.text[i], pic->cols, PICTURE_FREE);
	}
}
