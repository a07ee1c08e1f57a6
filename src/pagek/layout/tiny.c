/*
 * A terminal with less room than the note's page: node, state and count in
 * what fits, on one line if they do, else below one another, the state first.
 */
#include <stdio.h>
#include <string.h>

#include "../page/view.h"
#include "layout.h"

struct facts {
	char node[8];
	char count[8];
	const char *state;	/* one word */
	const char *said;	/* with what belongs to it */
};

static void
facts_get(const struct page_view *v, const struct page_state *st,
    struct facts *f)
{
	char fit[8], *digits = fit;

	base_format_count(fit, v->look->sample != 0 ? 4 : 5,
	    page_view_blocks(v));
	while (*digits == ' ')
		digits++;
	if (page_view_known(v))
		snprintf(f->count, sizeof f->count, "%s%s",
		    page_about(v->look->sample), digits);
	else
		snprintf(f->count, sizeof f->count, "-");
	snprintf(f->node, sizeof f->node, "%04X", v->look->node_number);
	f->state = st->name;
	f->said = st->plain ? st->name : st->brief;
}

/* All of them in the longest form that fits; false when none does. */
static bool
one_line(const struct facts *f, int cols, char *out, size_t cap)
{
	snprintf(out, cap, "%s %s %s blocks", f->node, f->said, f->count);
	if ((int)strlen(out) > cols)
		snprintf(out, cap, "%s %s %s", f->node, f->said, f->count);
	return (int)strlen(out) <= cols;
}

static void
fact_line(struct page_picture *pic, const char *text, enum page_mark mark)
{
	picture_line(pic);
	picture_put(pic, text);
	picture_mark(pic, 0, picture_col(pic), mark);
}

void
page_compose_tiny(const struct page *page, const struct page_view *v,
    const struct page_state *st, int rows, struct page_picture *pic)
{
	struct facts f;
	char line[64];

	(void)page;
	facts_get(v, st, &f);
	if (one_line(&f, pic->cols, line, sizeof line)) {
		fact_line(pic, line, st->mark);
		if (rows != 1 && v->look->target_name[0] != '\0') {
			picture_line(pic);
			picture_text(pic, v->look->target_name, pic->cols,
			    PICTURE_FREE);
		}
	} else {
		fact_line(pic, (int)strlen(f.said) <= pic->cols ? f.said :
		    f.state, st->mark);
		if (rows != 1)
			fact_line(pic, f.count, PAGE_PLAIN);
		if (rows == 0 || rows > 2)
			fact_line(pic, f.node, PAGE_PLAIN);
	}
	while (!picture_failed(pic) && rows > 0 && pic->rows < rows - 1)
		picture_line(pic);
}
