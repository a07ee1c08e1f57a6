/*
 * What lies around a block: before and behind it in memory, before and after it
 * at its address, and beside it in time.
 */
#include <stdio.h>

#include "detail_parts.h"
#include "free.h"

#define PAGE_BITS 12
#define PAGE_BYTES (UINT64_C(1) << PAGE_BITS)

static int
addr_cols(const struct page_view *v)
{
	return v->look->classic ? 8 : 12;
}

/* "7f3c04001040      1,024 malloc" */
static void
put_blk(const struct page_view *v, const struct blk *b,
    struct page_picture *pic)
{
	char size[32];

	base_group_digits(size, sizeof size, b->size);
	picture_printf(pic, "%0*llx %10s ", addr_cols(v),
	    (unsigned long long)b->addr, size);
	picture_text(pic, page_descr(v->look, b), 8, PICTURE_LEFT);
}

/* --- memory ------------------------------------------------------------- */

bool
page_detail_neighbour(const struct page_detail *d, const struct page_view *v,
    bool behind, struct blk *out)
{
	const struct blklist *list = v->look->list;
	struct page_walk w;
	struct blk b;

	if (list == NULL || v->look->window ||
	    d->stream_no != v->look->stream_no)
		return false;
	page_walk_begin_behind(&w, list, BLKLIST_BY_ADDRESS, !behind,
	    &d->blk);
	if (page_walk_next(&w, list, &b, 1) == 0 || d->layer !=
	    (v->look->levels && blk_layer(&b)))
		return false;
	*out = b;
	return true;
}

/* A heap's own words lie between blocks, so that no gap is often 16 bytes. */
static void
put_gap(const struct page_view *v, const struct blk *lower,
    const struct blk *upper, struct page_picture *pic)
{
	uint64_t apart = upper->addr - lower->addr;
	uint64_t used = detail_used(v->look, lower);
	char gap[32];

	if (used > apart) {
		picture_put(pic, " overlaps");
		return;
	}
	base_group_digits(gap, sizeof gap, apart - used);
	picture_printf(pic, " %s between", gap);
}

static void
put_neighbour(const struct page_detail *d, const struct page_view *v,
    bool behind, struct page_picture *pic)
{
	struct blk b;

	if (!page_detail_neighbour(d, v, behind, &b))
		return;
	picture_line(pic);
	picture_printf(pic, "    %s ", behind ? "behind" : "before");
	picture_fold(pic, FOLD_AT);
	put_blk(v, &b, pic);
	if (behind)
		put_gap(v, &d->blk, &b, pic);
	else
		put_gap(v, &b, &d->blk, pic);
}

static void
put_pages(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	uint64_t used = detail_used(v->look, &d->blk);
	uint64_t first = d->blk.addr >> PAGE_BITS;
	uint64_t last = (d->blk.addr + (used > 0 ? used - 1 : 0)) >>
	    PAGE_BITS;
	char pages[32];

	base_group_digits(pages, sizeof pages, last - first + 1);
	picture_printf(pic, "byte %llu of page %09llx",
	    (unsigned long long)(d->blk.addr & (PAGE_BYTES - 1)),
	    (unsigned long long)first);
	if (last > first)
		picture_printf(pic, ", %s pages", pages);
}

void
detail_put_memory(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const struct wire_region *region = d->stream_no ==
	    v->look->stream_no ? page_free_region(v->look, d->blk.addr) :
	    NULL;

	detail_put_label("memory", pic);
	/* The machines of classic streams have none that we know. */
	if (!v->look->classic)
		put_pages(d, v, pic);
	if (region != NULL) {
		picture_printf(pic, v->look->classic ? "in region " :
		    ", in region ");
		picture_text(pic, region->name[0] != '\0' ? region->name :
		    "without a name", WIRE_REGION_NAME + 4, PICTURE_FREE);
	}
	if (v->look->window) {
		detail_put_sentence("its neighbours are not known: the list "
		    "is not here whole", pic);
		return;
	}
	put_neighbour(d, v, false, pic);
	put_neighbour(d, v, true, pic);
}

/* --- history ------------------------------------------------------------ */

static void
put_life_end(const struct page_detail *d, const struct page_view *v,
    const struct nodes_life *l, bool last, struct page_picture *pic)
{
	char age[8];

	if (l->blk.seq == d->blk.seq)
		picture_put(pic, "this block");
	if (!l->ended) {
		if (last && l->blk.seq != d->blk.seq)
			picture_put(pic, "lives now");
		else if (!last)
			picture_printf(pic, "%snobody saw its end",
			    l->blk.seq == d->blk.seq ? ", " : "");
		return;
	}
	if (l->blk.seq == d->blk.seq)
		picture_put(pic, ", ");
	picture_put(pic, "freed");
	if (l->end.ms != 0) {
		page_cell_age(age, l->end.ms > l->blk.ms ?
		    (uint64_t)(l->end.ms - l->blk.ms) / 1000 : 0);
		picture_printf(pic, " after %s", age);
	}
	detail_put_end(v, &l->end, pic);
}

static void
put_life(const struct page_detail *d, const struct page *page,
    const struct page_view *v, const struct nodes_life *l, bool last,
    struct page_picture *pic)
{
	char clock[DETAIL_CLOCK], size[32];
	const char *thread = page_cell_thread(v, &l->blk);

	detail_clock(page, v->look, l->blk.ms, clock);
	base_group_digits(size, sizeof size, l->blk.size);
	picture_line(pic);
	picture_printf(pic, "    %-12s %9s ", clock, size);
	picture_fold(pic, FOLD_AT);
	picture_text(pic, page_descr(v->look, &l->blk), 8, PICTURE_LEFT);
	if (pic->cols < ONE_LINE_COLS) {
		picture_line(pic);
		picture_put(pic, "      ");
		picture_fold(pic, FOLD_AT);
	} else {
		picture_put(pic, " ");
		picture_text(pic, thread, 10, PICTURE_LEFT);
		picture_put(pic, " ");
	}
	put_life_end(d, v, l, last, pic);
}

/* How far what is told can be relied on. */
static void
put_since(const struct page *page, const struct page_view *v,
    const struct nodes_lives *l, struct page_picture *pic)
{
	char clock[DETAIL_CLOCK], left_out[32];

	detail_clock(page, v->look, l->since_ms, clock);
	picture_printf(pic, "of this address, watched since %s", clock);
	if (l->left_out > 0) {
		base_group_digits(left_out, sizeof left_out, l->left_out);
		picture_line(pic);
		picture_fold(pic, FOLD_AT);
		picture_printf(pic, "    %s earlier ones are left out",
		    left_out);
	}
	if (l->gaps || v->look->window)
		detail_put_sentence("records were lost or skipped since: "
		    "others may have been there", pic);
}

void
detail_put_history(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	const struct nodes_lives *l = v->lives;
	size_t i;

	if (l == NULL || d->stream_no != v->look->stream_no)
		return;
	detail_put_label("history", pic);
	put_since(page, v, l, pic);
	for (i = 0; i < l->n; i++)
		put_life(d, page, v, &l->life[i], i + 1 == l->n, pic);
}

/* --- born together ------------------------------------------------------ */

static void
put_other(struct page_detail *d, const struct page_view *v,
    const struct blk *b, bool beside, struct page_picture *pic)
{
	unsigned layer = v->look->levels && blk_layer(b);
	struct blk now;
	bool gone = !v->look->window && (blklist_get(v->look->list, layer,
	    b->addr, &now) < 0 || now.seq != b->seq);
	int line;

	picture_line(pic);
	line = pic->rows - 1;
	picture_put(pic, "    ");
	picture_fold(pic, FOLD_AT);
	put_blk(v, b, pic);
	if (gone)
		picture_put(pic, " freed");
	if (beside)
		page_cell_function(v, b, 1, pic->cols - picture_col(pic) - 1,
		    pic);
	if (d->first_born == 0)
		d->first_born = line;
	if (d->among && b->seq == d->among_seq && b->addr == d->among_addr) {
		d->at = line;
		picture_mark_line(pic, PAGE_CURSOR);
	} else if (gone) {
		picture_mark_line(pic, PAGE_STALE);
	}
}

/* "2 of its cycle, thread and callers", "; 256 listed" */
static void
put_count(uint64_t all, size_t listed, const char *what,
    struct page_picture *pic)
{
	char n[32];

	base_group_digits(n, sizeof n, all);
	picture_printf(pic, "%s %s", all > 0 ? n : "none other", what);
	if (listed < all)
		picture_printf(pic, "; %zu listed", listed);
}

void
detail_put_born(struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const struct page_born_found *f = &d->born.shown;
	size_t i;

	d->first_born = 0;
	if (d->stream_no != v->look->stream_no || v->look->list == NULL)
		return;
	detail_put_label("together", pic);
	if (!d->born.known) {
		picture_printf(pic, v->look->window ? "not known: the list is "
		    "not here whole" : "looking for who was born with it");
		return;
	}
	put_count(f->all, f->n, v->look->classic ? "born in its cycle" :
	    "born in its cycle, of its thread and callers", pic);
	for (i = 0; i < f->n; i++)
		put_other(d, v, &f->blk[i], false, pic);
	if (f->all_beside == 0)
		return;
	detail_put_label("beside", pic);
	put_count(f->all_beside, f->nbeside,
	    "of that cycle and thread, by other callers", pic);
	for (i = 0; i < f->nbeside; i++)
		put_other(d, v, &f->beside[i], true, pic);
}
