#include <stdio.h>

#include "../../base/base.h"
#include "stress.h"

struct strip {
	char text[320];
	size_t len;
};

static void
add_share(const struct page_stress_spent *p, const char *word, uint64_t us,
    struct strip *out)
{
	char share[STRESS_TEXT];

	stress_percent_text((double)us / ((double)p->ms * 1000), share);
	base_append(out->text, sizeof out->text, &out->len, " %s %s", word,
	    p->s.pressure_known ? share : "n/a");
}

/* named: each number has its level before it. */
static void
add_levels(const struct page_stress_spent *p, bool named, struct strip *out)
{
	char count[STRESS_TEXT];

	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		stress_count_text(&p->s, i, count);
		if (named)
			base_append(out->text, sizeof out->text, &out->len,
			    "  %zu: %s", i + 1, count);
		else
			base_append(out->text, sizeof out->text, &out->len,
			    " %s", count);
	}
}

static void
make_strip(const struct page_stress_spent *p, int form, struct strip *out)
{
	out->len = 0;
	base_append(out->text, sizeof out->text, &out->len, "stress/s");
	add_levels(p, form == 0, out);
	if (form < 2) {
		base_append(out->text, sizeof out->text, &out->len,
		    form == 0 ? "   waited:" : " ");
		add_share(p, "some", p->s.some_us, out);
		add_share(p, "all", p->s.full_us, out);
	}
	if (form == 0)
		base_append(out->text, sizeof out->text, &out->len, "   %s",
		    stress_sources[p->s.source].name);
}

static enum page_mark
mark_of(const struct stress_sample *s)
{
	for (size_t i = STRESS_LEVELS; i-- > 2;)
		if (s->known[i] && s->level[i] > 0)
			return i > 2 ? PAGE_BAD : PAGE_WARN;
	return stress_watch_ratio(s) ? PAGE_WARN : PAGE_PLAIN;
}

void
page_stress_strip(const struct page_stress *l, struct page_picture *pic)
{
	const char *trouble = page_stress_trouble(l);
	struct page_stress_spent p;
	struct strip s = { .len = 0 };
	int from;

	page_stress_spent(l, PAGE_STRESS_SECOND, &p);
	if (trouble[0] != '\0' || p.none) {
		picture_put(pic, "stress/s  ");
		from = picture_col(pic);
		picture_text(pic, trouble[0] != '\0' ? trouble :
		    "counting the first second", pic->cols - from,
		    PICTURE_FREE);
		return;
	}
	for (int form = 0; form < 3; form++) {
		make_strip(&p, form, &s);
		if (picture_width(s.text, true) <= pic->cols)
			break;
	}
	picture_put(pic, s.text);
	picture_mark_line(pic, mark_of(&p.s));
}
