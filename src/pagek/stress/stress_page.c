#include <stdio.h>
#include <string.h>

#include "../../base/base.h"
#include "../page/view.h"
#include "stress.h"

#define BAR_ROWS 8		/* a lower page has rows in place of a key bar */
#define NAME_LEAST 16
#define NAME_MOST 24
#define REMARK_COLS 26
#define NOTICES 6
#define MANY 20		/* lines, more than a sentence takes */
#define EDGE 2			/* for the marks of rows that are not shown */
#define CLOCK_AT 11		/* in a date */

static const char *const waiting[] = { "some tasks waited, us",
	"all tasks waited, us" };

/* The article's words, shortened, and what has changed since its kernel. */
static const char *const meanings[STRESS_LEVELS] = {
	"Satisfied at once, by the default criteria: the ideal request.",
	"Satisfied after one failure: kswapd was woken to free pages in the "
	    "background, and the criteria were lowered. This is normal. Many of "
	    "them beside level 1 suggest that the reserves are used faster than "
	    "kswapd frees pages.",
	"Satisfied only by the lowest criteria, from the reserves: considerable "
	    "stress.",
	"Satisfied only after the request itself freed or moved pages. Requests "
	    "that cannot wait have failed by then, the others were delayed: "
	    "extreme stress, on the verge of failure.",
	"Satisfied only after a process was killed for its memory: the last "
	    "resort.",
	"Failed. Drivers and the kernel keep pools for this, and a request that "
	    "must not wait or asks for huge pages may fail without harm. Other "
	    "failures mean that the system is in a very bad way.",
};

/* Level 2 has its own rule. */
static const char *const alarms[STRESS_LEVELS] = { NULL, NULL, "STRESS",
	"EXTREME STRESS", "OOM KILL", "FAILURES" };

struct table {
	const struct page_stress *l;
	const struct page_stress_head *h;
	struct page_stress_spent spent[PAGE_STRESS_PERIODS];
	bool shown[PAGE_STRESS_PERIODS];	/* the period has a column */
	int name, trend;		/* columns; trend 0: none */
	bool share, remark;
	struct page_list rows;
};

static bool
is_known(const struct page_stress_spent *p, size_t row)
{
	return row < STRESS_LEVELS ? p->s.known[row] : p->s.pressure_known;
}

static uint64_t
number_of(const struct page_stress_spent *p, size_t row)
{
	return row == PAGE_STRESS_SOME ? p->s.some_us : row == PAGE_STRESS_ALL ?
	    p->s.full_us : p->s.level[row];
}

static void
number_text(const struct page_stress_spent *p, size_t row, int width,
    char out[STRESS_TEXT])
{
	uint64_t n = number_of(p, row);
	char mark = row < STRESS_LEVELS ? stress_mark_of(&p->s, row) : '\0';
	char number[32];

	if (p->none || !is_known(p, row)) {
		snprintf(out, STRESS_TEXT, p->none ? "-" : "n/a");
		return;
	}
	if (p->mean && mark == '\0' && n > 0)
		mark = '~';
	base_format_grouped(number, width - (mark != '\0'), n);
	snprintf(out, STRESS_TEXT, "%.1s%s", &mark,
	    number + strspn(number, " "));
}

static void
share_text(const struct table *p, size_t row, char out[STRESS_TEXT])
{
	const struct page_stress_spent *w = &p->spent[PAGE_STRESS_WINDOW];

	if (row < STRESS_LEVELS)
		stress_share_text(&w->s, row, out);
	else
		stress_percent_text(w->ms > 0 && w->s.pressure_known ?
		    (double)number_of(w, row) / ((double)w->ms * 1000) : 0,
		    out);
}

static const char *
remark_of(const struct table *p, size_t row, enum page_mark *mark)
{
	const struct page_stress_spent *w = &p->spent[PAGE_STRESS_WINDOW];

	*mark = PAGE_WARN;
	if (row == 1 && stress_watch_ratio(&w->s))
		return stress_watch_words;
	if (row < 2 || row >= STRESS_LEVELS || !w->s.known[row] ||
	    w->s.level[row] == 0)
		return "";
	*mark = row > 2 ? PAGE_BAD : PAGE_WARN;
	return alarms[row];
}

static const struct {
	const char *title;
	int width;
} periods[PAGE_STRESS_PERIODS] = {
	[PAGE_STRESS_SECOND] = { "THIS SEC", 9 },
	[PAGE_STRESS_WINDOW] = { "WINDOW", 11 },
	[PAGE_STRESS_MARK] = { "SINCE MK", 12 },
};

#define SHARE_COLS 6
#define TREND_TITLE "LAST 60 s"

static void
plan_columns(struct table *p, int cols)
{
	static const int folds[] = { 1, 2, 3, 4, 5 };
	int left = cols, room;

	for (int i = 0; i < PAGE_STRESS_PERIODS; i++) {
		p->shown[i] = left - periods[i].width - 1 >= NAME_LEAST ||
		    (i == 0 && left > periods[i].width + 1);
		if (p->shown[i])
			left -= periods[i].width + 1;
	}
	p->share = left - SHARE_COLS - 1 >= NAME_LEAST;
	if (p->share)
		left -= SHARE_COLS + 1;
	p->name = left < NAME_MOST ? left : NAME_MOST;
	room = left - p->name;
	p->remark = room >= REMARK_COLS + PAGE_STRESS_TREND / 5 + 3;
	if (p->remark)
		room -= REMARK_COLS + 2;
	p->trend = 0;
	for (size_t i = 0; i < BASE_NELEM(folds) && p->trend == 0; i++)
		if (room > PAGE_STRESS_TREND / folds[i])
			p->trend = PAGE_STRESS_TREND / folds[i];
	/* Every second column is for the name. */
	if (p->trend == 0 && p->name >= NAME_LEAST + PAGE_STRESS_TREND / 5 + 1)
		p->trend = PAGE_STRESS_TREND / 5;
}

static void
put_heading(const struct table *p, struct page_picture *pic)
{
	picture_line(pic);
	picture_text(pic, "LEVEL", p->name, PICTURE_LEFT);
	for (int i = 0; i < PAGE_STRESS_PERIODS; i++)
		if (p->shown[i]) {
			picture_put(pic, " ");
			picture_text(pic, periods[i].title, periods[i].width,
			    PICTURE_RIGHT);
		}
	if (p->share) {
		picture_put(pic, " ");
		picture_text(pic, "SHARE", SHARE_COLS, PICTURE_RIGHT);
	}
	if (p->trend > 0) {
		picture_put(pic, " ");
		picture_text(pic, TREND_TITLE, p->trend, PICTURE_LEFT);
	}
	picture_mark_line(pic, PAGE_HEADING);
}

static void
put_trend(const struct table *p, size_t row, struct page_picture *pic)
{
	uint64_t point[PAGE_STRESS_TREND];
	size_t n;

	picture_put(pic, " ");
	n = page_stress_trend(p->l, row, PAGE_STRESS_TREND / (size_t)p->trend,
	    point);
	if (is_known(&p->spent[PAGE_STRESS_MARK], row))
		picture_spark(pic, point, n, 0, p->trend);
	else
		picture_blanks(pic, p->trend);
}

static void
put_name(const struct table *p, size_t row, struct page_picture *pic)
{
	char text[64];

	if (row < STRESS_LEVELS)
		snprintf(text, sizeof text, "%zu %s", row + 1,
		    stress_levels[row].name);
	else
		snprintf(text, sizeof text, "%s", waiting[row - PAGE_STRESS_SOME]);
	picture_text(pic, text, p->name, PICTURE_LEFT);
}

static void
put_row(const struct table *p, size_t row, struct page_picture *pic)
{
	char text[STRESS_TEXT];
	enum page_mark mark;
	const char *remark = remark_of(p, row, &mark);
	int from;

	picture_line(pic);
	put_name(p, row, pic);
	for (int i = 0; i < PAGE_STRESS_PERIODS; i++) {
		if (!p->shown[i])
			continue;
		picture_put(pic, " ");
		from = picture_col(pic);
		number_text(&p->spent[i], row, periods[i].width, text);
		picture_text(pic, text, periods[i].width, PICTURE_RIGHT);
		if (i == PAGE_STRESS_SECOND && row >= 2 && row < STRESS_LEVELS &&
		    number_of(&p->spent[i], row) > 0)
			picture_mark(pic, from, picture_col(pic), mark);
	}
	if (p->share) {
		share_text(p, row, text);
		picture_put(pic, " ");
		picture_text(pic, text, SHARE_COLS, PICTURE_RIGHT);
	}
	if (p->trend > 0)
		put_trend(p, row, pic);
	if (p->remark && remark[0] != '\0') {
		picture_put(pic, "  ");
		from = picture_col(pic);
		picture_put(pic, remark);
		picture_mark(pic, from, picture_col(pic), mark);
	}
}

static void
seconds_text(char out[8], int64_t seconds)
{
	if (seconds <= 90)
		snprintf(out, 8, "%ds", (int)seconds);
	else
		page_cell_age(out, (uint64_t)seconds);
}

/*
 * "  window 60s", "  window 12s of 60s", "  window 5m08s": a window is as long as its
 * samples are apart.  "": there is no room for it.
 */
static void
window_text(const struct table *p, int room, char out[32])
{
	char want[8], have[8];
	int64_t want_s = page_stress_window_ms(p->l) / 1000;
	int64_t have_s = (p->spent[PAGE_STRESS_WINDOW].ms + 500) / 1000;

	seconds_text(want, want_s);
	seconds_text(have, have_s);
	if (have_s < want_s)
		snprintf(out, 32, "  window %s of %s", have, want);
	if (have_s >= want_s || (int)strlen(out) > room)
		snprintf(out, 32, "  window %s", have_s > want_s + 1 ? have :
		    want);
	if ((int)strlen(out) > room)
		out[0] = '\0';
}

static void
put_title(const struct table *p, struct page_picture *pic)
{
	const char *kernel = page_stress_kernel(p->l);
	int room = pic->cols - (int)strlen(p->h->state) - 2, from;
	char window[32];

	picture_line(pic);
	picture_put(pic, "S HEAP STRESS");
	window_text(p, room - picture_col(pic), window);
	room -= (int)strlen(window);
	if (p->h->node[0] != '\0' && room > picture_col(pic) + 6) {
		picture_put(pic, "  ");
		picture_text(pic, p->h->node, room - picture_col(pic),
		    PICTURE_FREE);
	}
	if (kernel[0] != '\0' && picture_cols(pic, kernel) +
	    (int)strlen("  Linux ") <= room - picture_col(pic)) {
		picture_put(pic, "  Linux ");
		picture_text(pic, kernel, STRESS_KERNEL, PICTURE_FREE);
	}
	picture_put(pic, window);
	if (pic->cols - (int)strlen(p->h->state) > picture_col(pic))
		picture_to(pic, pic->cols - (int)strlen(p->h->state));
	from = picture_col(pic);
	picture_put(pic, p->h->state);
	picture_mark(pic, from, picture_col(pic), p->h->state_mark);
}

static void
put_source(const struct table *p, struct page_picture *pic)
{
	const char *source = page_stress_known(p->l) ?
	    stress_sources[page_stress_source(p->l)].text : "not known yet";
	char text[STRESS_TEXT] = "", at[PAGE_DATE_TEXT], age[8];
	bool first;
	int64_t ms = page_stress_mark_ms(p->l, &first);
	size_t len = 0;

	if (page_stress_known(p->l)) {
		page_cell_date(ms, p->h->utc, at);
		page_cell_age(age, (uint64_t)p->spent[PAGE_STRESS_MARK].ms / 1000);
		base_append(text, sizeof text, &len, "  %s %s, %s",
		    first ? "since" : "mark", at + CLOCK_AT, age);
	}
	picture_line(pic);
	picture_put(pic, "source: ");
	picture_text(pic, source, pic->cols - picture_col(pic), PICTURE_FREE);
	if (picture_col(pic) + (int)len <= pic->cols)
		picture_put(pic, text);
}

/* At most as many lines; each sentence takes two at most. */
static int
put_sentence(const char *text, enum page_mark mark, int room,
    struct page_picture *pic)
{
	return room > 0 && text[0] != '\0' ?
	    picture_wrap(pic, text, room < 2 ? room : 2, mark) : 0;
}

static int
put_remarks(const struct table *p, int room, struct page_picture *pic)
{
	char text[STRESS_TEXT];
	enum page_mark mark, worst = PAGE_WARN;
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < PAGE_STRESS_ROWS && !p->remark; i++) {
		const char *remark = remark_of(p, i, &mark);

		if (remark[0] == '\0')
			continue;
		base_append(text, sizeof text, &len, "%s%zu %s",
		    len > 0 ? "   " : "", i + 1, remark);
		if (mark == PAGE_BAD)
			worst = mark;
	}
	return put_sentence(text, worst, room, pic);
}

/* Reasons to doubt the counts, the worst first, and the legend. */
static int
put_notices(const struct table *p, int room, struct page_picture *pic)
{
	const struct stress_sample *since = &p->spent[PAGE_STRESS_MARK].s;
	const char *trouble = page_stress_trouble(p->l), *legend;
	char text[STRESS_TEXT], more[1024];
	size_t at = 0;
	int n = 0;
	bool any;

	n += put_sentence(trouble, PAGE_BAD, room, pic);
	if (!page_stress_known(p->l))
		return n + (trouble[0] != '\0' ? 0 : put_sentence(
		    "waiting for the node's counts", PAGE_WARN, room, pic));
	n += put_remarks(p, room - n, pic);
	while (stress_doubt(&p->spent[PAGE_STRESS_MARK], &at, text))
		n += put_sentence(text, PAGE_WARN, room - n, pic);
	stress_failures_text(since, more, sizeof more);
	n += put_sentence(more, PAGE_PLAIN, room - n, pic);
	stress_charge_text(since, "", p->h->ascii, more, sizeof more, &any);
	if (any)
		n += put_sentence(more, PAGE_PLAIN, room - n, pic);
	stress_kills_text(since, text);
	n += put_sentence(text, PAGE_PLAIN, room - n, pic);
	legend = stress_legend(since);
	if (legend != NULL)
		n += put_sentence(legend, PAGE_STALE, room - n, pic);
	return n;
}

static void
put_meanings(const struct table *p, int room, bool all, struct page_picture *pic)
{
	char text[STRESS_TEXT];

	if (all || room > STRESS_LEVELS) {
		picture_line(pic);
		for (size_t i = 0; i < STRESS_LEVELS; i++) {
			snprintf(text, sizeof text, "%zu %s", i + 1,
			    stress_levels[i].meaning);
			picture_line(pic);
			picture_text(pic, text, pic->cols, PICTURE_FREE);
		}
		picture_wrap(pic, stress_caution, all ? 3 : room -
		    STRESS_LEVELS - 1, PAGE_STALE);
	} else if (room > 0 && p->h->selected < STRESS_LEVELS) {
		picture_wrap(pic, meanings[p->h->selected], room, PAGE_PLAIN);
	}
}

static int
put_why(const char *why, int room, struct page_picture *pic)
{
	char text[sizeof "not used: " + STRESS_NONE * STRESS_WHY];

	if (why[0] == '\0' || room <= 0)
		return 0;
	snprintf(text, sizeof text, "not used: %s", why);
	return picture_wrap(pic, text, room, PAGE_STALE);
}

static void
put_rows(struct table *p, int room, bool cursor, struct page_picture *pic)
{
	struct page_list *l = &p->rows;

	l->selected = p->h->selected;
	page_list_begin(l, PAGE_STRESS_ROWS, room, pic);
	for (size_t i = l->top; i < PAGE_STRESS_ROWS && i < l->top + l->window;
	    i++) {
		put_row(p, i, pic);
		if (cursor && i == p->h->selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
}

int
page_stress_compose(const struct page_stress *l, const struct page_stress_head *h,
    int cols, int rows, struct page_picture *pic)
{
	bool bar = rows >= BAR_ROWS, text = rows == 0;
	struct table p = { .l = l, .h = h };
	int room, r;

	for (int i = 0; i < PAGE_STRESS_PERIODS; i++)
		page_stress_spent(l, (enum page_stress_period)i, &p.spent[i]);
	picture_begin(pic, cols, h->ascii);
	put_title(&p, pic);
	if (text || rows >= BAR_ROWS)
		put_source(&p, pic);
	/* Without the heading, which is to come. */
	room = text ? PAGE_STRESS_ROWS : rows - (pic->rows + 1) - 1 - bar;
	plan_columns(&p, room < PAGE_STRESS_ROWS ? pic->cols - EDGE : pic->cols);
	put_heading(&p, pic);
	put_rows(&p, room, !text, pic);
	/* The line being written is not in pic->rows yet. */
	room = text ? MANY : rows - (pic->rows + 1) - bar;
	room -= put_notices(&p, room < NOTICES ? room : NOTICES, pic);
	room -= put_why(page_stress_why(l), text ? MANY : room < 2 ? room : 2,
	    pic);
	put_meanings(&p, room, text, pic);
	if (bar)
		page_overlay_bar("Space pause  x reset  Enter meaning  b memory  "
		    "m mark  { } window  Esc close", rows, pic);
	r = picture_end(pic);
	if (r == 0 && !text)
		page_list_edges(&p.rows, PAGE_STRESS_ROWS, pic);
	return r;
}

int
page_stress_explain(const struct page_stress *l, struct page_scroll *scroll,
    bool ascii, int cols, int rows, struct page_picture *pic)
{
	const char *why = page_stress_why(l);
	int r;

	picture_begin(pic, cols, ascii);
	picture_line(pic);
	picture_put(pic, "S HEAP STRESS");
	page_overlay_title("j k move  Esc back", pic);
	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		picture_line(pic);
		picture_printf(pic, "%zu %s", i + 1, stress_levels[i].name);
		picture_mark_line(pic, PAGE_NEW);
		picture_wrap(pic, meanings[i], MANY, PAGE_PLAIN);
	}
	picture_line(pic);
	picture_wrap(pic, "A level is the deepest stage that a request had reached "
	    "when it was satisfied. A request is a call of the kernel's page "
	    "allocator, or a page of a bulk call, whatever its size.", MANY,
	    PAGE_PLAIN);
	picture_wrap(pic, stress_caution, MANY, PAGE_WARN);
	picture_line(pic);
	picture_printf(pic, "source: %s",
	    stress_sources[page_stress_source(l)].text);
	put_why(why, MANY, pic);
	r = picture_end(pic);
	if (r == 0)
		page_scroll_cut(scroll, pic, rows - 1);
	return r;
}
