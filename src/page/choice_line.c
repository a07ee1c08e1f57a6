/*
 * What is said of a choice: how much there is of it, and how far it has come.
 */
#include <string.h>

#include "choice.h"

#define TEXT_KEEP 12		/* columns of the filter's text */

void
page_choice_waiting(const struct page *page, char *out, size_t cap)
{
	struct page_chosen s;
	size_t len = 0;

	out[0] = '\0';
	if (!page_choice_waits(page) || page_choice_filters(page))
		return;
	page_choice_sums(page, &s);
	if (s.sorting)
		base_append(out, cap, &len, "sorting");
	else
		base_append(out, cap, &len, "sorting: %u %%", s.percent);
}

/* Shorter and shorter, as long as the filter keeps its room. */
static void
sums_text(const struct page_chosen *s, const char *about, int form, char *out,
    size_t cap)
{
	char n[32], of[32], bytes[24], listed[32], unsure[32];
	size_t len = 0;

	out[0] = '\0';
	if (!s->known) {
		base_append(out, cap, &len, "%s%u %%", form == 0 ?
		    "looked through " : "", s->percent);
		return;
	}
	base_group_digits(n, sizeof n, s->blocks);
	base_group_digits(of, sizeof of, s->of);
	base_human_bytes(bytes, sizeof bytes, s->bytes);
	base_group_digits(listed, sizeof listed, s->listed);
	base_group_digits(unsure, sizeof unsure, s->unsure);
	if (form == 2) {
		base_fit_count(n, 4, s->blocks);
		base_fit_count(of, 4, s->of);
	}
	base_append(out, cap, &len, "%s%s of %s%s", about,
	    n + strspn(n, " "), about, of + strspn(of, " "));
	if (form == 0)
		base_append(out, cap, &len, " %s, %s%s", s->what != NULL ?
		    s->what : "blocks", about, bytes);
	if (s->cut && form < 2)
		base_append(out, cap, &len, ", %s listed", listed);
	if (s->unsure > 0)
		base_append(out, cap, &len, form < 2 ? ", %s unsure" : "?",
		    unsure);
}

void
page_choice_put_sums(const struct page *page, const struct page_view *v,
    const struct page_chosen *s, struct page_picture *pic)
{
	const char *text = page_choice_filter_text(page);
	const char *about = page_about(v->look->sample);
	char sums[160];
	int form = 0, room;

	do {
		sums_text(s, about, form, sums, sizeof sums);
		room = pic->cols - (int)strlen(sums) - 2;
	} while (room < TEXT_KEEP + (int)strlen("filter ") && ++form < 3);
	picture_put(pic, "filter ");
	picture_text(pic, text != NULL ? text : "", room -
	    (int)strlen("filter "), PICTURE_FREE);
	picture_printf(pic, "  %s", sums);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
}

void
page_choice_put(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	struct page_chosen s;

	page_choice_sums(page, &s);
	page_choice_put_sums(page, v, &s, pic);
}
