/*
 * What stands above the rows of page H: the title, what has to be known
 * besides, and how many blocks there are of each kind.
 */
#include <stdio.h>

#include "since.h"

#define SUM_TEXT 64
#define STATE_TEXT (sizeof ((struct page_state *)NULL)->word + 2)

/* "1,496 KiB/2,543", of a sample "~1,496 KiB/~2,543". */
static void
sum_text(const struct page_view *v, double blocks, double bytes,
    char out[SUM_TEXT])
{
	char size[24], n[32];

	base_human_bytes(size, sizeof size, (uint64_t)(bytes + 0.5));
	page_diff_count(n, v, blocks);
	snprintf(out, SUM_TEXT, "%s%s/%s", page_about(v->look->sample), size,
	    n);
}

/*
 * At the mark: "1,496 KiB/2,543"; under a filter ">=" when some of them had been
 * freed before they could be judged, and "?" when nobody judged them.
 */
static void
was_text(const struct page *page, const struct page_view *v,
    const struct page_since *s, char out[SUM_TEXT + 2])
{
	const struct page_moment *m = &page->marked->mark;
	bool all = !page_choice_filters(page);
	size_t len = 0;

	if (!all && page->marked->uncopied) {
		snprintf(out, SUM_TEXT, "?");
		return;
	}
	out[0] = '\0';
	if (!all && page_since_early(page) > 0)
		base_append_text(out, SUM_TEXT, &len, ">=");
	if (all)
		sum_text(v, (double)m->est_blocks, (double)m->est_bytes,
		    out + len);
	else
		sum_text(v, s->shown.was, s->shown.was_bytes, out + len);
}

/*
 * What came and what went.  By block what realloc has moved is neither; the
 * groups have it as one of each, which is said.
 */
static void
counts_text(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, char *out,
    size_t cap, size_t *len)
{
	const struct page_since_moved *moved = &s->shown.moved;
	double came = s->shown.total.came, went = s->shown.total.went;
	char n[32], m[32];

	if (d->by_block) {
		came -= (double)moved->blocks;
		went -= (double)(moved->blocks - moved->early);
	}
	page_diff_count(n, v, came);
	page_diff_count(m, v, went);
	base_append(out, cap, len, "%s new  %s freed", n,
	    page->marked->uncopied ? "?" : m);
	if (moved->blocks == 0)
		return;
	base_group_digits(n, sizeof n, d->by_block ? moved->grown :
	    moved->blocks);
	base_group_digits(m, sizeof m, moved->blocks - moved->grown);
	if (!d->by_block)
		base_append(out, cap, len, "  %s by realloc", n);
	else if (moved->grown > 0)
		base_append(out, cap, len, "  %s grown", n);
	if (d->by_block && moved->blocks > moved->grown)
		base_append(out, cap, len, "  %s %s", m,
		    moved->blocks - moved->grown == moved->shrunk ? "shrunk" :
		    "shrunk or moved");
}

/* "  ENDED 15:03:58 signal 11": a picture of what goes on needs no word for it. */
static void
state_text(const struct page *page, const struct page_view *v, int cols,
    char out[STATE_TEXT])
{
	struct page_state st;

	page_state_get(page, v, &st);
	out[0] = '\0';
	if (!st.plain)
		snprintf(out, STATE_TEXT, "  %s", cols < PAGE_WIDE_COLS ? st.brief : st.word);
}

static void
title_text(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, int cols,
    char *out, size_t cap)
{
	const struct page_moment *m = &page->marked->mark;
	const char *part = page_choice_filters(page) ? ", filtered" : "";
	struct page_moment now = { .wall_ms = s->shown.wall_ms };
	bool known = page_since_known(page, s);
	char from[12], to[12], was[SUM_TEXT + 2], is[SUM_TEXT];
	char state[STATE_TEXT];
	size_t len = 0;

	state_text(page, v, cols, state);
	page_moment_text(page, v, m, from);
	page_moment_text(page, v, &now, to);
	if (known && cols < PAGE_WIDE_COLS) {
		base_append(out, cap, &len, "H DIFF%s  %s  ", state, from);
		counts_text(d, page, v, s, out, cap, &len);
		base_append(out, cap, &len, "  %s%s", page_diff_view_name(d),
		    part);
		return;
	}
	base_append(out, cap, &len, "H DIFF%s  mark %s", state, from);
	if (known) {
		was_text(page, v, s, was);
		sum_text(v, s->shown.blocks, s->shown.bytes, is);
		base_append(out, cap, &len, " -> now %s   %s -> %s blocks   ",
		    to, was, is);
		counts_text(d, page, v, s, out, cap, &len);
	}
	base_append(out, cap, &len, "   view: %s%s", page_diff_view_name(d),
	    part);
}

/* Why what realloc has moved may be one block freed and one new all the same. */
static void
moves_notice(const struct page *page, const struct page_view *v, char *out,
    size_t cap, size_t *len)
{
	const struct page_chains *c = page->marked->chains;
	const char *so = "is one freed and one new. ";
	char n[32];

	if (page->marked->mark.blocks == 0 || v->look->classic)
		return;
	if (v->look->sample != 0) {
		base_append(out, cap, len, "Of a sample no realloc is "
		    "followed: its block %s", so);
	} else if (c == NULL || c->blind) {
		base_append(out, cap, len, "Some reallocs since the mark were "
		    "not seen: a block of theirs %s", so);
	} else if (c->missed > 0) {
		base_group_digits(n, sizeof n, c->missed);
		base_append(out, cap, len, "%s reallocs were not followed: "
		    "a block of theirs %s", n, so);
	} else if (c->forgot && v->look != v->live) {
		base_append(out, cap, len, "Of an older picture not all "
		    "reallocs are known: a block of theirs %s", so);
	}
}

/* What has to be known besides, a sentence each. */
static void
notices(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, char *out,
    size_t cap)
{
	const struct page_marked *m = page->marked;
	double more = (double)m->mark.est_bytes - m->old_est_bytes -
	    (double)s->shown.moved.early_bytes;
	uint64_t lost = page_lost_for_good(v->look);
	char n[32], bytes[24];
	size_t len = 0;

	out[0] = '\0';
	if (page_moment_is_incomplete(&m->mark, v)) {
		base_group_digits(n, sizeof n, lost > m->mark.lost ?
		    lost - m->mark.lost : 0);
		base_append(out, cap, &len, lost > m->mark.lost ?
		    "INCOMPLETE: %s records were lost since the mark. " :
		    "INCOMPLETE: the list was full. ", n);
	}
	if (m->uncopied)
		base_append(out, cap, &len, "Too many blocks at the mark: "
		    "which are freed is not known. ");
	else if (page_since_early(page) > 0) {
		page_diff_count(n, v, (double)page_since_early(page));
		base_human_bytes(bytes, sizeof bytes, more > 0 ?
		    (uint64_t)(more + 0.5) : 0);
		base_append(out, cap, &len, "%s more, %s%s, were freed before "
		    "the mark was copied: they are in no row. ", n,
		    page_about(v->look->sample), bytes);
	}
	if (d->by_block)
		moves_notice(page, v, out, cap, &len);
	if (s->cut)
		base_append(out, cap, &len, "Too many callers: some are "
		    "summed as one without a name. ");
}

static void
listed_text(const struct page_diff *d, const struct page_view *v,
    const struct page_since *s, char *out, size_t cap)
{
	const struct page_since_found *f = &s->shown;
	uint64_t left = f->came.all - f->came.n + f->grown.all - f->grown.n +
	    f->other.all - f->other.n + f->went.all - f->went.n;
	char n[32], m[32];
	size_t len = 0;

	page_diff_count(n, v, (double)f->came.all);
	page_diff_count(m, v, (double)f->went.all);
	base_append(out, cap, &len, "%s%s%s new, %s freed",
	    d->of.key != 0 ? d->of_name : "", d->of.key != 0 ? ": " : "",
	    n, m);
	base_group_digits(n, sizeof n, f->grown.all);
	base_group_digits(m, sizeof m, f->other.all);
	if (f->grown.all > 0)
		base_append(out, cap, &len, ", %s grown", n);
	if (f->other.all > 0)
		base_append(out, cap, &len, ", %s shrunk or moved", m);
	if (left > 0) {
		page_diff_count(n, v, (double)left);
		base_append(out, cap, &len, ", %s of them not listed", n);
	}
}

void
page_diff_head(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, int rows,
    struct page_picture *pic)
{
	char text[768];
	int max = rows >= 2 * PAGE_DIFF_BAR_ROWS ? 3 :
	    rows >= PAGE_DIFF_BAR_ROWS ? 2 : 1;
	struct page_chosen chosen;

	title_text(d, page, v, s, pic->cols, text, sizeof text);
	picture_wrap(pic, text, max, PAGE_NEW);
	if (rows < PAGE_DIFF_BAR_ROWS)
		return;
	if (page_choice_filters(page)) {
		page_since_chosen(page, s, &chosen);
		picture_line(pic);
		page_choice_put_sums(page, v, &chosen, pic);
	}
	notices(d, page, v, s, text, sizeof text);
	if (text[0] != '\0')
		picture_wrap(pic, text, max, PAGE_WARN);
	if (!d->by_block)
		return;
	listed_text(d, v, s, text, sizeof text);
	picture_line(pic);
	picture_text(pic, text, pic->cols, PICTURE_FREE);
}
