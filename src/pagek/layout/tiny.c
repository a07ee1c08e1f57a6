#include <stdio.h>
#include <string.h>

#include "../page/view.h"
#include "layout.h"

struct facts {
	char node[8];
	char count[8];
	const char *state;	/* one word */
	const char *said;	/* with its details */
};

static void
get_facts(const struct page_view *v, const struct page_state *st,
    struct facts *f)
{
	char fit[8];

	base_format_grouped(fit, v->look->sample != 0 ? 4 : 5,
	    page_view_blocks(v));
	if (page_view_known(v))
		snprintf(f->count, sizeof f->count, "%s%s",
		    page_about(v->look->sample), fit + strspn(fit, " "));
	else
		snprintf(f->count, sizeof f->count, "-");
	snprintf(f->node, sizeof f->node, "%04X", v->look->node.number);
	f->state = st->name;
	f->said = st->plain ? st->name : st->brief;
}

/* The longest form that fits; false: none does. */
static bool
say_all(const struct facts *f, int cols, char *out, size_t cap)
{
	snprintf(out, cap, "%s %s %s blocks", f->node, f->said, f->count);
	if ((int)strlen(out) > cols)
		snprintf(out, cap, "%s %s %s", f->node, f->said, f->count);
	return (int)strlen(out) <= cols;
}

static void
put_fact(struct page_picture *pic, const char *text, enum page_mark mark)
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
	get_facts(v, st, &f);
	if (say_all(&f, pic->cols, line, sizeof line)) {
		put_fact(pic, line, st->mark);
		if (rows != 1 && v->look->target.name[0] != '\0') {
			picture_line(pic);
			picture_text(pic, v->look->target.name, pic->cols,
			    PICTURE_FREE);
		}
	} else {
		put_fact(pic, (int)strlen(f.said) <= pic->cols ? f.said :
		    f.state, st->mark);
		if (rows != 1)
			put_fact(pic, f.count, PAGE_PLAIN);
		if (rows == 0 || rows > 2)
			put_fact(pic, f.node, PAGE_PLAIN);
	}
	while (!picture_failed(pic) && rows > 0 && pic->rows < rows - 1)
		picture_line(pic);
}
