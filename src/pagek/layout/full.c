#include <stdio.h>
#include <string.h>

#include "../difference/difference.h"
#include "../page/view.h"
#include "../picture/picture.h"
#include "../blocks/free_blocks.h"
#include "../rows/frozen_order.h"
#include "../groups/groups.h"
#include "../blocks/order.h"
#include "../rows/rows.h"
#include "fields.h"
#include "edit_fields.h"
#include "layout.h"

#define RATES_AT 46		/* after the longest numbers of bytes */
#define RATE_COLS 8
#define OFFS_COLS 11
#define NAME_COLS 32		/* of outside text in the line below the rows */

static void
put_spark(const struct page *page, enum page_trend_of of,
    struct page_picture *pic)
{
	uint64_t point[TREND_POINTS];
	size_t n = page_trend_points(page->trend, of, point);

	picture_spark(pic, point, n, 0, TREND_POINTS);
}

static void
put_bytes(const struct page_view *v, const char *word, uint64_t bytes,
    struct page_picture *pic)
{
	char text[24] = "-";

	if (page_view_known(v))
		base_human_bytes(text, sizeof text, bytes);
	picture_put(pic, word);
	picture_put(pic, " ");
	if (page_view_known(v))
		picture_put(pic, page_about(v->look->sample));
	picture_put(pic, text);
	picture_put(pic, " ");
}

static void
put_rate(const struct page *page, const struct page_view *v,
    enum page_trend_of of, const char *word, struct page_picture *pic)
{
	char text[16] = "-";
	uint64_t n;

	if (page_trend_last(page->trend, of, &n))
		page_rate_text(text, v->look->state == NODES_ENDED ? 0 : n);
	picture_put(pic, word);
	picture_put(pic, " ");
	picture_blanks(pic, RATE_COLS - (int)strlen(text));
	picture_put(pic, text);
	picture_put(pic, " ");
	put_spark(page, of, pic);
}

static void
full_trend(struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char digits[32] = "-", text[48];
	size_t len = 0;
	uint64_t blocks = page_view_blocks(v);

	put_bytes(v, "live", page_view_bytes(v), pic);
	put_spark(page, TREND_LIVE, pic);
	put_bytes(v, " peak", page_view_peak(page, v), pic);
	/* A free has no size to scale it by. */
	picture_to(pic, RATES_AT);
	put_rate(page, v, TREND_ALLOCS, v->look->sample != 0 ? "sampled" :
	    "allocs", pic);
	picture_put(pic, "   ");
	put_rate(page, v, TREND_FREES, "frees", pic);
	if (page_view_known(v)) {
		base_group_digits(digits, sizeof digits, blocks);
		base_append_text(text, sizeof text, &len,
		    page_about(v->look->sample));
	}
	base_append_text(text, sizeof text, &len, digits);
	base_append_text(text, sizeof text, &len, blocks == 1 ? " block" :
	    " blocks");
	if (picture_col(pic) + 2 + (int)len > pic->cols)
		return;
	picture_to(pic, pic->cols - (int)len);
	picture_put(pic, text);
}

#define GAP 2			/* before each word */
#define WORD_TEXT PAGE_MARK_TEXT

struct word {
	const char *label;	/* "sort " */
	int rank;		/* the highest is left out first */
	/* Its text, which may be outside text; "" leaves it out. */
	void (*text)(const struct page *, const struct page_view *,
	    char out[WORD_TEXT]);
};

static void
say_group(const struct page *page, const struct page_view *v,
    char out[WORD_TEXT])
{
	char title[PAGE_GROUPS_TITLE];

	(void)v;
	page_groups_title(page, ">", title);
	base_copy_text(out, WORD_TEXT, title[0] != '\0' ? title :
	    "none");
}

static void
say_sort(const struct page *page, const struct page_view *v,
    char out[WORD_TEXT])
{
	bool groups = page_shows_groups(page);
	char arrow[] = { ' ', groups ? page->group.reverse ? '^' : 'v' :
		page_sorting_arrow(&page->opts), '\0' };
	size_t len = 0;

	(void)v;
	base_append_text(out, WORD_TEXT, &len, groups ?
	    page_sum_title(page->group.sort) : page_sort_title(&page->opts));
	base_append_text(out, WORD_TEXT, &len, arrow);
}

static void
say_still(const struct page *page, const struct page_view *v,
    char out[WORD_TEXT])
{
	page_freeze_text(page, v, 0, out, WORD_TEXT);
}

static const struct word words[] = {
	{ "group ", 1, say_group },
	{ "sort ", 0, say_sort },
	{ "mark: ", 2, page_mark_text },
	{ "", 0, say_still },
};

#define NWORDS BASE_NELEM(words)

struct said {
	char text[NWORDS][WORD_TEXT];
	int cols[NWORDS];		/* 0: left out */
};

/* The word with the highest rank; NWORDS: all are left out. */
static size_t
last_rank(const struct said *s)
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

static void
put_words(const struct page *page, const struct page_view *v, int cols,
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
	while (all_cols(&s) > cols && (i = last_rank(&s)) < NWORDS)
		s.cols[i] = 0;
	for (i = 0; i < NWORDS; i++) {
		if (s.cols[i] == 0)
			continue;
		picture_blanks(pic, GAP);
		picture_put(pic, words[i].label);
		picture_text(pic, s.text[i], pic->cols, PICTURE_FREE);
	}
}

static void
full_node(struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char offs[8];

	page_fields_put(page, v, PAGE_FIELD_WIDE, pic);
	picture_put(pic, " ");
	put_words(page, v, pic->cols - picture_col(pic) - OFFS_COLS, pic);
	base_format_grouped(offs, 6, page->offs);
	picture_to(pic, pic->cols - OFFS_COLS - 1);
	page_fields_put_offs(page, offs, pic);
}

static void
put_name(const char *before, const char *name, struct page_picture *pic)
{
	if (name[0] == '\0')
		return;
	picture_put(pic, before);
	picture_text(pic, name, NAME_COLS, PICTURE_FREE);
}

static void
put_birth(const struct page *page, const struct page_view *v,
    const struct blk *b, struct page_picture *pic)
{
	int64_t wall = page_wall_ms(v->look, b->ms);
	struct tm tm;

	if (!page_time_known(v->look))
		return;
	page_wall(page, v->look, wall, &tm);
	picture_printf(pic, ", %02d:%02d:%02d.%d", tm.tm_hour, tm.tm_min,
	    tm.tm_sec, (int)((wall % 1000 + 1000) % 1000 / 100));
}

static void
put_block(const struct page *page, const struct page_view *v,
    const struct blk *b, struct page_picture *pic)
{
	char size[32], used[32], seq[32], rnod[8];

	base_group_digits(size, sizeof size, b->size);
	base_group_digits(used, sizeof used, blk_used(b));
	base_group_digits(seq, sizeof seq, b->seq);
	picture_printf(pic, v->look->classic ? "%08llx  %s" : "%012llx  %s",
	    (unsigned long long)b->addr, size);
	if (page_is_free(b)) {
		picture_printf(pic, " %s", PAGE_FREE_WORD);
		return;
	}
	if (!v->look->classic) {
		picture_put(pic, b->overhead < REC_OVERHEAD_EXACT ?
		    " asked, " : " asked, ~");
		picture_put(pic, used);
		picture_put(pic, " used");
	}
	put_name(", ", page_descr(v->look, b), pic);
	picture_printf(pic, " %02X", b->type);
	put_name(", ", page_cell_thread(v, b), pic);
	page_cell_rnod(rnod, v->look, b);
	if (rnod[0] != '\0') {
		picture_put(pic, ", node ");
		picture_put(pic, rnod);
	}
	picture_put(pic, ", seq ");
	picture_put(pic, seq);
	put_birth(page, v, b, pic);
}

/* The name in full, which may be longer than its column. */
static void
put_group(const struct page *page, struct page_picture *pic)
{
	const struct profile_group *g = NULL;
	char name[PAGE_NAME_MAX];

	if (page->cursor.on && page->groups != NULL)
		g = page_groups_row(page->groups, page->cursor.at);
	if (g == NULL)
		return;
	page_group_name(g, name, sizeof name);
	picture_text(pic, name, pic->cols, PICTURE_FREE);
}

static void
full_about(struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	struct blk b;

	if (page_shows_groups(page))
		put_group(page, pic);
	else if (page_block_at_cursor(page, v, &b))
		put_block(page, v, &b, pic);
}

const struct page_layout_ops page_full = {
	.title = page_wide_title,
	.trend = full_trend,
	.node = full_node,
	.heading = page_columns_heading,
	.row = page_columns_row,
	.mark = page_columns_mark,
	.status = page_status_wide,
	.about = full_about,
};
