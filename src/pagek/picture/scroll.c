/* See scroll.h. */
#include <string.h>

#include "scroll.h"

void
page_scroll_cut(struct page_scroll *s, struct page_picture *pic, int window)
{
	int i, most;

	s->window = window > 1 ? window : 1;
	s->lines = pic->rows - 1;
	most = s->lines - s->window;
	if (s->top > most)
		s->top = most;
	if (s->top < 0)
		s->top = 0;
	for (i = 0; i < s->window && s->top + i + 1 < pic->rows; i++)
		pic->line[i + 1] = pic->line[s->top + i + 1];
	if (pic->rows > i + 1)
		pic->rows = i + 1;
}

void
page_scroll_to(struct page_scroll *s, int at, int window)
{
	if (at < s->top)
		s->top = at;
	if (at >= s->top + window)
		s->top = at - window + 1;
}

/* The first of them go when there is not room for all; two blanks part them. */
static const char *
fitting(const char *keys, int room)
{
	const char *next;

	while ((int)strlen(keys) > room && (next = strstr(keys, "  ")) != NULL)
		keys = next + 2;
	return (int)strlen(keys) <= room ? keys : "";
}

void
page_overlay_title(const char *keys, struct page_picture *pic)
{
	keys = fitting(keys, pic->cols - picture_col(pic) - 2);
	if (keys[0] != '\0')
		picture_to(pic, pic->cols - (int)strlen(keys));
	picture_put(pic, keys);
	picture_mark_line(pic, PAGE_HEADING);
}

void
page_overlay_keys(const char *keys, struct page_picture *pic)
{
	picture_put(pic, fitting(keys, pic->cols));
}
