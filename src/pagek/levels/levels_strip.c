/* The line of page K: the note's six numbers of the last second, and pressure. */
#include <stdio.h>

#include "../../base/base.h"
#include "levels.h"

struct strip {
	char text[320];
	size_t len;
};

static void
add_share(const struct levels_spent *p, const char *word, uint64_t us,
    struct strip *out)
{
	char share[LEVELS_TEXT];

	levels_percent_text((double)us / ((double)p->ms * 1000), share);
	base_append(out->text, sizeof out->text, &out->len, " %s %s", word,
	    p->s.pressure_known ? share : "n/a");
}

/* named: each number has its level before it. */
static void
add_levels(const struct levels_spent *p, bool named, struct strip *out)
{
	char count[LEVELS_TEXT];

	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		levels_count_text(&p->s, i, count);
		if (named)
			base_append(out->text, sizeof out->text, &out->len,
			    "  %zu: %s", i + 1, count);
		else
			base_append(out->text, sizeof out->text, &out->len,
			    " %s", count);
	}
}

static void
make_strip(const struct levels_spent *p, int form, struct strip *out)
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
	return levels_watch_ratio(s) ? PAGE_WARN : PAGE_PLAIN;
}

void
page_levels_strip(const struct page_levels *l, struct page_picture *pic)
{
	const char *trouble = page_levels_trouble(l);
	struct levels_spent p;
	struct strip s = { .len = 0 };
	int from;

	page_levels_spent(l, LEVELS_SECOND, &p);
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
