#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../page/calls.h"
#include "../picture/picture.h"
#include "refcnt_page.h"

#define HEAD_ROWS 6		/* of a screen that has the line of sums */
#define BAR_ROWS 8		/* of one that has a key bar */
#define RUN_COLS 4
#define PAGE_COLS (12 + 1 + RUN_COLS)
#define HOME_COLS 5		/* with the gap */
#define NODE_COLS 8		/* with the gap */
#define BLOCK_COLS 18		/* with the gap */
#define BLOCK_GAP 2
#define BLOCK_LEAST 10		/* with fewer columns there is none */

int
page_refcnt_take(struct page_refcnt *t, const struct refcnt_copy *copy,
    enum refcnt_plane plane)
{
	struct refcnt_list list = { .plane = plane, .diff = REFCNT_HINT_DIFF,
		.least = REFCNT_HINT_LEAST };
	int err = refcnt_list_make(&list, copy, t->filter);

	if (err < 0) {
		refcnt_list_fini(&list);
		/* The old lines may be of pages that are no more. */
		refcnt_list_fini(&t->list);
		return err;
	}
	refcnt_list_sort(&list, t->sort, t->reverse);
	refcnt_list_fini(&t->list);
	t->list = list;
	if (t->shift >= copy->counters)
		t->shift = 0;
	return 0;
}

void
page_refcnt_clear(struct page_refcnt *t)
{
	refcnt_list_fini(&t->list);
	t->list.copy = NULL;
	t->at = 0;
	t->rows = (struct page_list){ 0 };
	t->shift = 0;
}

void
page_refcnt_fini(struct page_refcnt *t)
{
	page_refcnt_clear(t);
	filter_free(t->filter);
	t->filter = NULL;
}

static uint64_t
address_of(const struct page_refcnt *t, size_t i)
{
	return t->list.copy->page[t->list.line[i].at].vaddr;
}

/* The cursor stays on its page, or on the run that has it. */
static void
follow_row(struct page_refcnt *t)
{
	for (size_t i = 0; t->at != 0 && i < t->list.n; i++)
		if (t->at - address_of(t, i) <
		    t->list.line[i].pages * (uint64_t)REFCNT_PAGE) {
			t->rows.selected = i;
			return;
		}
	page_list_clamp(&t->rows, t->list.n);
}

const struct refcnt_row *
page_refcnt_row(const struct page_refcnt *t, struct refcnt_row *room)
{
	if (t->rows.selected >= t->list.n)
		return NULL;
	*room = (struct refcnt_row){ &t->list, &t->list.line[t->rows.selected] };
	return room;
}

void
page_refcnt_move(struct page_refcnt *t, int delta, bool scroll)
{
	page_list_move(&t->rows, t->list.n, delta, scroll);
	t->at = t->list.n > 0 ? address_of(t, t->rows.selected) : 0;
}

bool
page_refcnt_shift(struct page_refcnt *t, int delta)
{
	unsigned counters = t->list.copy != NULL ? t->list.copy->counters : 0;

	if (delta < 0 ? t->shift == 0 : t->shift + t->shown >= counters)
		return false;
	t->shift = delta < 0 ? t->shift - 1 : t->shift + 1;
	return true;
}

/* A block may begin on the page before. */
void
page_refcnt_filter_of(const struct refcnt_row *r, char *out, size_t cap)
{
	uint64_t from = refcnt_row_page(r)->vaddr;
	uint64_t to = from + r->line->pages * (uint64_t)REFCNT_PAGE;
	struct blk first;
	size_t blocks;

	if (refcnt_row_blocks(r, &blocks, &first) && blocks > 0 && first.addr < from)
		from = first.addr;
	snprintf(out, cap, "address>=%" PRIx64 " & address<%" PRIx64, from, to);
}

struct columns {
	struct field_plan of;
	unsigned counters;	/* columns of counters */
	int block;		/* columns, with the gap; 0: no room */
};

static void
plan_columns(const struct page_refcnt *t, int cols, struct columns *c)
{
	int left, most;

	field_plan(&refcnt_fields, REFCNT_ROW_RUN, cols, t->list.has_writes ?
	    REFCNT_KNOWS_WRITES : 0, false, &c->of);
	left = c->of.left - PAGE_COLS - HOME_COLS;
	c->counters = 0;
	if (t->list.has_nodes) {
		most = left >= BLOCK_COLS + 2 * NODE_COLS ? left - BLOCK_COLS : left;
		c->counters = t->list.copy->counters - t->shift;
		if (most < (int)c->counters * NODE_COLS)
			c->counters = most > 0 ? (unsigned)(most / NODE_COLS) : 0;
	}
	left -= (int)c->counters * NODE_COLS;
	c->block = left >= BLOCK_LEAST ? left : 0;
}

size_t
page_refcnt_beside(const struct page_refcnt *t, int cols, bool right)
{
	struct columns c;

	plan_columns(t, cols, &c);
	return page_sort_beside(refcnt_sort_rows, REFCNT_SORTS, &c.of,
	    REFCNT_SORT_PAGE, REFCNT_SORT_HOME + 1, t->sort, right);
}

/* The values of most columns fall; addresses and homes rise. */
static void
put_title(const struct page_refcnt *t, const char *title, bool sorted,
    int width, bool right, struct page_picture *pic)
{
	page_sort_put_title(title, sorted, (t->sort <= REFCNT_SORT_HOME) ==
	    t->reverse, width, right, pic);
}

static void
put_heading(const struct page_refcnt *t, struct page_picture *pic)
{
	char node[REFCNT_NODE_TEXT];
	struct columns c;

	plan_columns(t, pic->cols, &c);
	picture_line(pic);
	put_title(t, "PAGE", t->sort == REFCNT_SORT_PAGE, PAGE_COLS, false, pic);
	put_title(t, "HOME", t->sort == REFCNT_SORT_HOME, HOME_COLS, true, pic);
	for (unsigned i = 0; i < c.counters; i++) {
		refcnt_node_text(&t->list.copy->page[0], t->shift + i, node);
		put_title(t, node, false, NODE_COLS, true, pic);
	}
	for (size_t i = 0; i < c.of.n; i++) {
		const struct field *f = c.of.column[i];

		picture_put(pic, " ");
		put_title(t, f->column.title, page_sort_is_of(
		    &refcnt_sort_rows[t->sort], f),
		    f->column.width, f->column.right, pic);
	}
	if (c.block > 0)
		picture_printf(pic, "%*sBLOCK", BLOCK_GAP, "");
	picture_mark_line(pic, PAGE_HEADING);
}

static void
put_page(const struct refcnt_row *r, struct page_picture *pic)
{
	size_t len = 0, more = r->line->pages - 1;
	char text[48], short_of[RUN_COLS + 1];

	base_append(text, sizeof text, &len, "%012" PRIx64,
	    refcnt_row_page(r)->vaddr);
	base_format_count(short_of, RUN_COLS, more);
	if (more > 0)
		base_append(text, sizeof text, &len, "+%s",
		    short_of + strspn(short_of, " "));
	picture_text(pic, text, PAGE_COLS, PICTURE_LEFT);
}

static void
put_home(const struct refcnt_row *r, struct page_picture *pic)
{
	const struct refcnt_copy_page *p = refcnt_row_page(r);
	char text[16] = "-";

	if (p->home >= 0)
		snprintf(text, sizeof text, "n%" PRId32, p->home);
	picture_text(pic, text, HOME_COLS, PICTURE_RIGHT);
}

static void
put_counter(const struct refcnt_row *r, unsigned i, struct page_picture *pic)
{
	const uint64_t *n = refcnt_copy_counters(r->of->copy, r->line->at);
	bool pegged = refcnt_is_pegged(r, i);
	char text[24];

	if ((refcnt_row_page(r)->flags & REFCNT_NO_NODE) != 0) {
		picture_text(pic, "-", NODE_COLS, PICTURE_RIGHT);
		return;
	}
	base_format_grouped(text, NODE_COLS - 1 - pegged, n[i]);
	picture_printf(pic, " %s%s", text, pegged ? "P" : "");
}

static void
put_block(const struct refcnt_row *r, int width, struct page_picture *pic)
{
	const struct page_view *v = r->of->v;
	char text[PAGE_NAME_MAX + 64];
	struct page_call call;
	size_t blocks, len = 0;
	struct blk b;

	picture_blanks(pic, BLOCK_GAP);
	width -= BLOCK_GAP;
	if (!refcnt_row_blocks(r, &blocks, &b)) {
		picture_text(pic, "?", width, PICTURE_FREE);
		return;
	}
	if (blocks != 1) {
		snprintf(text, sizeof text, blocks == 0 ? "-" : "%s blocks",
		    base_digits(blocks).text);
		picture_text(pic, text, width, PICTURE_FREE);
		return;
	}
	base_append_text(text, sizeof text, &len, page_descr(v->look, &b));
	picture_text(pic, text, width, PICTURE_FREE);
	width -= picture_width(text, picture_is_ascii(pic)) + 1;
	if (width > 3 && page_calls_origin(v, b.caller, &call)) {
		picture_put(pic, " ");
		page_put_call(&call, width, pic);
	}
}

static void
put_row(const struct page_refcnt *t, const struct refcnt_line *line,
    const struct columns *c, struct page_picture *pic)
{
	struct refcnt_row r = { &t->list, line };

	picture_line(pic);
	put_page(&r, pic);
	put_home(&r, pic);
	for (unsigned i = 0; i < c->counters; i++)
		put_counter(&r, t->shift + i, pic);
	for (size_t i = 0; i < c->of.n; i++) {
		picture_put(pic, " ");
		c->of.column[i]->column.put(&r, c->of.column[i]->column.width,
		    pic);
	}
	if (c->block > 0)
		put_block(&r, c->block, pic);
}

static void
sources_text(const struct refcnt_copy *c, char *out, size_t cap, size_t *len)
{
	uint32_t told = 0;

	for (size_t i = 0; i < c->ranges; i++) {
		struct refcnt_copy_page p = { .source = (uint8_t)c->range[i].source };
		const struct refcnt_source_row *s = refcnt_row_source(&p);

		if ((told >> (p.source & 31) & 1) != 0)
			continue;
		told |= UINT32_C(1) << (p.source & 31);
		base_append(out, cap, len, "%s%s counts %s", *len > 0 ? ", " : "",
		    s->name, s->unit);
	}
	if (c->period_ms != 0)
		base_append(out, cap, len, ", period %g s", c->period_ms / 1000.0);
	base_append(out, cap, len, "   ");
}

static const char *
plane_name(enum refcnt_plane plane)
{
	static const char *const names[REFCNT_PLANES] = {
		[REFCNT_HW] = "hardware counters (P pegged)",
		[REFCNT_EXT] = "extended counters",
		[REFCNT_WIDE] = "wide counters",
	};

	return names[plane];
}

static void
sums_text(const struct page_refcnt *t, char *out, size_t cap)
{
	const struct refcnt_copy *c = t->list.copy;
	size_t len = 0;

	out[0] = '\0';
	sources_text(c, out, cap, &len);
	base_append(out, cap, &len, "%s page%s counted", base_digits(c->n).text,
	    c->n == 1 ? "" : "s");
	if (t->filter != NULL)
		base_append(out, cap, &len, ", filtered: %s of ",
		    base_digits(t->list.n).text);
	base_append(out, cap, &len, "%s%s row%s   %s", t->filter != NULL ? "" :
	    ", ", base_digits(t->list.of).text, t->list.of == 1 ? "" : "s",
	    plane_name(t->list.plane));
	if (t->list.has_nodes)
		base_append(out, cap, &len, "   move if remote - home > %" PRIu64
		    " and remote >= %" PRIu64, t->list.diff, t->list.least);
}

/* The state stays where the names have no room. */
static void
put_title_line(const struct page_refcnt_head *h, struct page_picture *pic)
{
	int at = pic->cols - (int)strlen(h->state), room;
	char text[256];
	size_t len = 0;

	picture_line(pic);
	picture_put(pic, "R PAGE REFERENCES  ");
	base_append(text, sizeof text, &len, "%s%s%s", h->node,
	    h->node[0] != '\0' ? "  " : "", h->target);
	room = at - 2 - picture_col(pic);
	if (room > 0)
		picture_text(pic, text, room, PICTURE_FREE);
	if (at > picture_col(pic))
		picture_to(pic, at);
	picture_put(pic, h->state);
	picture_mark_line(pic, PAGE_NEW);
}

static void
put_head(const struct page_refcnt *t, const struct page_refcnt_head *h,
    int rows, struct page_picture *pic)
{
	bool one = rows != 0 && rows < 2 * BAR_ROWS;
	bool has_cpus = h->virtual[0] != '\0';
	char sums[512], text[1024];
	size_t len = 0;

	put_title_line(h, pic);
	if (rows != 0 && rows < HEAD_ROWS)
		return;
	if (t->list.copy != NULL && t->list.copy->ranges > 0) {
		sums_text(t, sums, sizeof sums);
		base_append(text, sizeof text, &len, "%s%s%s%s", one &&
		    has_cpus ? "processors for nodes   " : "", sums, !one &&
		    has_cpus ? "   nodes are processors: " : "", one ? "" :
		    h->virtual);
		picture_wrap(pic, text, one ? 1 : 3, PAGE_PLAIN);
	}
	if (t->filter != NULL) {
		picture_line(pic);
		picture_put(pic, "filter ");
		picture_text(pic, filter_text(t->filter), pic->cols - 7,
		    PICTURE_FREE);
	}
	if (h->notice[0] != '\0')
		picture_wrap(pic, h->notice, 2, PAGE_WARN);
}

static void
put_rows(struct page_refcnt *t, int room, struct page_picture *pic)
{
	struct columns c;

	plan_columns(t, pic->cols, &c);
	t->shown = c.counters;
	page_list_begin(&t->rows, t->list.n, room, pic);
	for (size_t i = t->rows.top; i < t->list.n && room-- > 0; i++) {
		put_row(t, &t->list.line[i], &c, pic);
		if (i == t->rows.selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
}

static void
put_all_rows(struct page_refcnt *t, struct page_picture *pic)
{
	struct columns c;

	plan_columns(t, pic->cols, &c);
	for (size_t i = 0; i < t->list.n; i++)
		put_row(t, &t->list.line[i], &c, pic);
}

int
page_refcnt_compose(struct page_refcnt *t, const struct page_refcnt_head *h,
    bool ascii, int cols, int rows, struct page_picture *pic)
{
	bool bar = rows >= BAR_ROWS;
	int r;

	t->rows.first = 0;
	t->list.v = h->v;
	picture_begin(pic, cols, ascii);
	put_head(t, h, rows, pic);
	if (t->list.copy == NULL || t->list.copy->ranges == 0) {
		picture_wrap(pic, h->advice, rows == 0 ? 20 : rows - bar -
		    pic->rows - 1, PAGE_PLAIN);
	} else {
		follow_row(t);
		put_heading(t, pic);
		if (rows == 0)
			put_all_rows(t, pic);
		else
			put_rows(t, rows - (pic->rows + 1) - bar, pic);
	}
	if (bar)
		page_overlay_bar("s sort  f filter  p plane  a count  A end  "
		    "Enter blocks  Esc close", rows, pic);
	r = picture_end(pic);
	if (r == 0 && rows != 0)
		page_list_edges(&t->rows, t->list.n, pic);
	return r;
}
