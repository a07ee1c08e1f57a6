#include <stdio.h>
#include <string.h>

#include "../layout/layout.h"
#include "nodes_page.h"

#define SEEN_MS 15000		/* an older answer is shown with its age */
#define TITLE_COL 18		/* of the counts in line 1, if there is room */
#define WIDE_WORDS 60		/* columns from which line 1 has whole words */
#define FOOT_ROWS 8		/* from here on there is a line about the cursor's node ... */
#define TALL_ROWS 16		/* ... and from here on two */

static const struct {
	const char *name;
	const char *counted, *briefly;	/* after a number, in line 1 */
	enum page_mark mark;
	bool aged;			/* shown with its time */
} hows[NODES_HOWS] = {
	[NODES_HOW_UP] = { "up", "up", "up", PAGE_PLAIN, true },
	[NODES_HOW_SLOW] = { "slow", "slow", "slow", PAGE_WARN, true },
	[NODES_HOW_NO_NODE] = { "no node", "without node", "no node",
	    PAGE_STALE, false },
	[NODES_HOW_UNREACHABLE] = { "unreachable", "unreachable", "away",
	    PAGE_BAD, true },
	[NODES_HOW_DENIED] = { "denied", "denied", "denied", PAGE_BAD,
	    false },
	[NODES_HOW_VERSION] = { "version", "of another version", "version",
	    PAGE_BAD, false },
	[NODES_HOW_ASKED] = { "asking", "asked", "asked", PAGE_STALE, false },
	[NODES_HOW_WAITING] = { "waiting", "waiting", "waiting", PAGE_STALE,
	    false },
};

const char *
page_how_name(enum nodes_how how)
{
	return (size_t)how < NODES_HOWS ? hows[how].name : "?";
}

bool
page_how_answers(enum nodes_how how)
{
	return how == NODES_HOW_UP || how == NODES_HOW_SLOW;
}

static bool
is_counted(const struct nodes_surveyed *r)
{
	return r->counted && page_how_answers(r->how);
}

void
page_how_text(const struct nodes_surveyed *r, char out[PAGE_HOW_TEXT])
{
	int64_t ms = r->how_ms > 0 ? r->how_ms : 0;
	char age[12];
	size_t len = 0;

	base_append(out, PAGE_HOW_TEXT, &len, "%s", page_how_name(r->how));
	if ((size_t)r->how < NODES_HOWS && hows[r->how].aged) {
		if (r->how == NODES_HOW_SLOW)
			page_cost_text(age, (uint64_t)ms * 1000);
		else
			page_cell_age(age, (uint64_t)ms / 1000);
		base_append(out, PAGE_HOW_TEXT, &len, " %s", age);
	}
	if (page_how_answers(r->how) && r->seen_ms >= SEEN_MS) {
		page_cell_age(age, (uint64_t)r->seen_ms / 1000);
		base_append(out, PAGE_HOW_TEXT, &len, " seen %s", age);
	}
}

struct entry {
	const struct nodes_surveyed *row;
	const struct nodes_surveyed_target *target;	/* NULL: the node */
	bool open;
};

static void
put_word(struct page_picture *pic, const char *text, int width,
    enum picture_align align)
{
	picture_text(pic, text[0] != '\0' ? text : "-", width, align);
}

static void
put_number(const struct entry *l, int width, struct page_picture *pic)
{
	char text[8] = "";

	if (l->target == NULL && l->row->number != 0)
		snprintf(text, sizeof text, "%04X", l->row->number);
	picture_text(pic, text, width, PICTURE_LEFT);
}

static void
put_name(const struct entry *l, int width, struct page_picture *pic)
{
	if (l->target == NULL)
		put_word(pic, l->row->name, width, PICTURE_LEFT);
	else
		picture_text(pic, "", width, PICTURE_LEFT);
}

static void
target_text(const struct nodes_surveyed_target *t, char *out, size_t cap)
{
	size_t len = 0;

	if (t->pid > 0)
		base_append(out, cap, &len, "%s[%ld]", t->comm, (long)t->pid);
	else
		base_append(out, cap, &len, "%s", t->comm[0] != '\0' ?
		    t->comm : t->name);
}

static void
put_target(const struct entry *l, int width, struct page_picture *pic)
{
	const struct nodes_surveyed *r = l->row;
	char text[160] = "", more[32] = "";
	int cols;

	if (l->target != NULL) {
		target_text(l->target, text, sizeof text);
		picture_text(pic, text, width, PICTURE_LEFT);
		return;
	}
	if (is_counted(r) && r->ntarget > 0 && (r->live > 0 ||
	    r->target[0].pid == 0))
		target_text(&r->target[0], text, sizeof text);
	if (text[0] != '\0' && r->live > 1)
		snprintf(more, sizeof more, " +%s", base_digits(r->live - 1).text);
	cols = picture_col(pic) + width;
	put_word(pic, text, width - (int)strlen(more), PICTURE_FREE);
	picture_put(pic, more);
	picture_to(pic, cols);
}

static bool
target_counts(const struct nodes_surveyed_target *t)
{
	return t->state != WIRE_S_DORMANT && t->state != WIRE_S_NO_DATA;
}

static void
put_live(const struct entry *l, int width, struct page_picture *pic)
{
	const struct nodes_surveyed_target *t = l->target;
	char bytes[24], text[32] = "";

	if (t != NULL ? target_counts(t) : is_counted(l->row)) {
		base_human_bytes(bytes, sizeof bytes, t != NULL ? t->bytes :
		    l->row->bytes);
		snprintf(text, sizeof text, "%s%s", (t != NULL ?
		    t->sample != 0 : l->row->sampled) ? "~" : "", bytes);
	}
	put_word(pic, text, width, PICTURE_RIGHT);
}

static void
put_blocks(const struct entry *l, int width, struct page_picture *pic)
{
	const struct nodes_surveyed_target *t = l->target;
	bool about = t != NULL ? t->sample != 0 : l->row->sampled;
	char fit[24], text[32] = "";

	if (t != NULL ? target_counts(t) : is_counted(l->row)) {
		base_format_grouped(fit, width - about, t != NULL ? t->blocks :
		    l->row->blocks);
		snprintf(text, sizeof text, "%s%s", about ? "~" : "",
		    fit + strspn(fit, " "));
	}
	put_word(pic, text, width, PICTURE_RIGHT);
}

static void
put_rate(const struct entry *l, int width, struct page_picture *pic)
{
	const struct nodes_surveyed_target *t = l->target;
	char fit[24] = "";

	if (t != NULL ? t->rated && target_counts(t) :
	    is_counted(l->row) && l->row->rated)
		base_format_grouped(fit, width,
		    t != NULL ? t->rate : l->row->rate);
	put_word(pic, fit, width, PICTURE_RIGHT);
}

static void
put_trip(const struct entry *l, int width, struct page_picture *pic)
{
	char text[12] = "";

	if (l->target == NULL && l->row->trip_us >= 0 &&
	    page_how_answers(l->row->how))
		page_cost_text(text, (uint64_t)l->row->trip_us);
	if (l->target == NULL)
		put_word(pic, text, width, PICTURE_RIGHT);
	else
		picture_text(pic, "", width, PICTURE_RIGHT);
}

static void
put_how(const struct entry *l, int width, struct page_picture *pic)
{
	char text[PAGE_HOW_TEXT];
	const char *state;
	int from = picture_col(pic);

	if (l->target != NULL) {
		state = page_target_state(l->target->state);
		picture_text(pic, state != NULL ? state : "?", width,
		    PICTURE_LEFT);
		return;
	}
	page_how_text(l->row, text);
	picture_text(pic, text, width, PICTURE_LEFT);
	picture_mark(pic, from, from + (int)strlen(text),
	    hows[l->row->how].mark);
}

static void
put_where(const struct entry *l, int width, struct page_picture *pic)
{
	if (l->target == NULL)
		picture_text(pic, l->row->reason[0] != '\0' ? l->row->reason :
		    l->row->where, width, PICTURE_FREE);
}

/* The columns from each width on, the widest first.  Width 0: the rest. */
static const struct layout {
	int cols;
	struct {
		const char *title;
		int width;
		bool right;
		void (*put)(const struct entry *, int width,
		    struct page_picture *);
	} col[10];
} layouts[] = {
	{ 120, {
	    { "NODE", 4, false, put_number },
	    { "NAME", 16, false, put_name },
	    { "TARGET", 20, false, put_target },
	    { "LIVE", 10, true, put_live },
	    { "BLOCKS", 9, true, put_blocks },
	    { "REC/s", 6, true, put_rate },
	    { "TRIP", 5, true, put_trip },
	    { "STATE", 18, false, put_how },
	    { "WHERE, OR WHY NOT", 0, false, put_where } } },
	{ 80, {
	    { "NODE", 4, false, put_number },
	    { "NAME", 12, false, put_name },
	    { "TARGET", 16, false, put_target },
	    { "LIVE", 10, true, put_live },
	    { "BLOCKS", 7, true, put_blocks },
	    { "REC/s", 5, true, put_rate },
	    { "STATE", 0, false, put_how } } },
	{ 65, {
	    { "NODE", 4, false, put_number },
	    { "NAME", 8, false, put_name },
	    { "TARGET", 14, false, put_target },
	    { "LIVE", 10, true, put_live },
	    { "REC/s", 5, true, put_rate },
	    { "STATE", 0, false, put_how } } },
	{ 50, {
	    { "NODE", 4, false, put_number },
	    { "NAME", 8, false, put_name },
	    { "LIVE", 10, true, put_live },
	    { "REC/s", 5, true, put_rate },
	    { "STATE", 0, false, put_how } } },
	{ 33, {
	    { "NODE", 4, false, put_number },
	    { "NAME", 8, false, put_name },
	    { "STATE", 0, false, put_how } } },
	{ 0, {
	    { "NODE", 4, false, put_number },
	    { "STATE", 0, false, put_how } } },
};

/* Without a column for targets, their names stand in that of nodes. */
static bool
has_targets(const struct layout *l)
{
	for (size_t i = 0; i < BASE_NELEM(l->col) && l->col[i].title != NULL;
	    i++)
		if (l->col[i].put == put_target)
			return true;
	return false;
}

static const struct layout *
layout_for(int cols)
{
	const struct layout *l = layouts;

	while (cols < l->cols)
		l++;
	return l;
}

static int
width_of(const struct layout *l, size_t i, const struct page_picture *pic)
{
	int left = pic->cols - picture_col(pic);

	return l->col[i].width != 0 ? l->col[i].width : left > 0 ? left : 0;
}

static void
put_heading(const struct layout *l, struct page_picture *pic)
{
	picture_line(pic);
	picture_put(pic, " ");
	for (size_t i = 0; i < BASE_NELEM(l->col) && l->col[i].title != NULL;
	    i++) {
		picture_put(pic, " ");
		picture_text(pic, l->col[i].title, width_of(l, i, pic),
		    l->col[i].right ? PICTURE_RIGHT : PICTURE_LEFT);
	}
	picture_mark_line(pic, PAGE_HEADING);
}

static void
put_line(const struct layout *lay, const struct entry *l, bool cursor,
    struct page_picture *pic)
{
	char name[160];

	picture_line(pic);
	picture_put(pic, cursor ? ">" :
	    l->target == NULL && l->open ? "-" : " ");
	for (size_t i = 0; i < BASE_NELEM(lay->col) &&
	    lay->col[i].title != NULL; i++) {
		picture_put(pic, " ");
		if (l->target != NULL && lay->col[i].put == put_name &&
		    !has_targets(lay)) {
			target_text(l->target, name, sizeof name);
			picture_text(pic, name, width_of(lay, i, pic),
			    PICTURE_LEFT);
		} else {
			lay->col[i].put(l, width_of(lay, i, pic), pic);
		}
	}
	if (cursor)
		picture_mark_line(pic, PAGE_CURSOR);
}

static bool
is_open(const struct page_nodes *p, const struct nodes_surveyed *r)
{
	if (!is_counted(r))
		return false;
	for (size_t i = 0; i < p->nopen; i++)
		if (strcmp(p->open[i], r->word) == 0)
			return true;
	return false;
}

static size_t
lines_of(const struct page_nodes *p, const struct nodes_surveyed *r)
{
	return 1 + (is_open(p, r) ? r->ntarget : 0);
}

static size_t
count_lines(const struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t n)
{
	size_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += lines_of(p, row[i]);
	return lines;
}

/* Line `at`, which must exist. */
static struct entry
line_at(const struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t at)
{
	size_t i = 0, lines;

	while (at >= (lines = lines_of(p, row[i]))) {
		at -= lines;
		i++;
	}
	return (struct entry){ .row = row[i], .open = is_open(p, row[i]),
	    .target = at > 0 ? &row[i]->target[at - 1] : NULL };
}

static void
note_row(struct page_nodes *p, const struct entry *l, size_t at)
{
	memcpy(p->at, l->row->word, sizeof p->at);
	snprintf(p->target, sizeof p->target, "%s", l->target != NULL ?
	    l->target->name : "");
	p->line = at;
}

/* The cursor's line; its node if the target is gone; else the old line. */
static size_t
find_line(const struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t n)
{
	size_t at = 0, all = count_lines(p, row, n), i, k;

	for (i = 0; i < n && strcmp(row[i]->word, p->at) != 0; i++)
		at += lines_of(p, row[i]);
	if (i == n)
		return p->at[0] == '\0' || all == 0 ? 0 :
		    p->line < all ? p->line : all - 1;
	for (k = 0; p->target[0] != '\0' && k + 1 < lines_of(p, row[i]); k++)
		if (strcmp(row[i]->target[k].name, p->target) == 0)
			return at + 1 + k;
	return at;
}

void
page_nodes_begin(struct page_nodes *p, uint16_t number)
{
	snprintf(p->at, sizeof p->at, "%04X", number);
	p->target[0] = '\0';
	p->line = 0;
}

void
page_nodes_move(struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t n, int delta)
{
	int64_t all = (int64_t)count_lines(p, row, n);
	int64_t at = (int64_t)find_line(p, row, n) + delta;
	struct entry l;

	if (at >= all)
		at = all - 1;
	if (at < 0)
		at = 0;
	if (all == 0)
		return;
	l = line_at(p, row, (size_t)at);
	note_row(p, &l, (size_t)at);
}

const struct nodes_surveyed *
page_nodes_row(struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t n)
{
	return n == 0 ? NULL : line_at(p, row, find_line(p, row, n)).row;
}

bool
page_nodes_word(struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t n, char out[PAGE_NODES_WORD])
{
	struct entry l;
	size_t len = 0;
	bool own;

	if (n == 0)
		return false;
	l = line_at(p, row, find_line(p, row, n));
	own = strcmp(l.row->word, "local") == 0;
	if (l.target == NULL || (own && l.target->pid <= 0))
		base_append(out, PAGE_NODES_WORD, &len, "%s", l.row->word);
	else if (own)
		base_append(out, PAGE_NODES_WORD, &len, "pid:%ld",
		    (long)l.target->pid);
	else
		base_append(out, PAGE_NODES_WORD, &len, "%s/%s", l.row->word,
		    l.target->name);
	return true;
}

static bool
unfold(struct page_nodes *p, const struct nodes_surveyed *r)
{
	if (!is_counted(r) || r->ntarget == 0)
		return false;
	if (is_open(p, r))
		return true;
	if (p->nopen == PAGE_NODES_OPEN)
		return false;
	memcpy(p->open[p->nopen++], r->word, sizeof p->open[0]);
	return true;
}

bool
page_nodes_unfold(struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t n)
{
	const struct nodes_surveyed *r = page_nodes_row(p, row, n);

	return r != NULL && unfold(p, r);
}

bool
page_nodes_fold(struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t n)
{
	const struct nodes_surveyed *r = page_nodes_row(p, row, n);
	size_t i, n_open = 0, was = p->nopen;

	if (r == NULL)
		return false;
	for (i = 0; i < was; i++)
		if (strcmp(p->open[i], r->word) != 0)
			memmove(p->open[n_open++], p->open[i],
			    sizeof p->open[0]);
	p->nopen = n_open;
	/* The cursor moves from a target to its node. */
	memcpy(p->at, r->word, sizeof p->at);
	p->target[0] = '\0';
	return n_open < was;
}

void
page_nodes_unfold_all(struct page_nodes *p,
    const struct nodes_surveyed *const *row, size_t n)
{
	for (size_t i = 0; i < n; i++)
		unfold(p, row[i]);
}

static void
put_title(const struct nodes_surveyed *const *row, size_t n,
    struct page_picture *pic)
{
	static const enum nodes_how order[] = { NODES_HOW_UP, NODES_HOW_SLOW,
		NODES_HOW_NO_NODE, NODES_HOW_UNREACHABLE, NODES_HOW_DENIED,
		NODES_HOW_VERSION, NODES_HOW_ASKED, NODES_HOW_WAITING };
	size_t count[NODES_HOWS] = { 0 }, i;
	char text[160];
	size_t len = 0;

	for (i = 0; i < n; i++)
		count[row[i]->how]++;
	for (i = 0; i < BASE_NELEM(order); i++)
		if (count[order[i]] > 0)
			base_append(text, sizeof text, &len, "%s%s %s",
			    len > 0 ? " " : "",
			    base_digits(count[order[i]]).text,
			    pic->cols >= WIDE_WORDS ? hows[order[i]].counted :
			    hows[order[i]].briefly);
	if (n == 0)
		base_append(text, sizeof text, &len, "none");
	picture_line(pic);
	picture_put(pic, "G NODES");
	picture_to(pic, TITLE_COL + (int)len <= pic->cols ? TITLE_COL :
	    pic->cols >= WIDE_WORDS ? 9 : 8);
	picture_text(pic, text, pic->cols - picture_col(pic), PICTURE_FREE);
}

static void
about_text(const struct nodes_surveyed *r, char *text, size_t cap)
{
	size_t len = 0;

	/* A reason names the place if that matters. */
	if (r->reason[0] != '\0')
		base_append(text, cap, &len, "%s %s: %s", r->word, r->name,
		    r->reason);
	else
		base_append(text, cap, &len, "%s %s  %s", r->word, r->name,
		    r->where);
	if (is_counted(r))
		base_append(text, cap, &len, "  %s live of %s target%s",
		    base_digits(r->live).text, base_digits(r->targets).text, r->targets == 1 ? "" : "s");
	if (is_counted(r) && r->lost > 0)
		base_append(text, cap, &len, "  %s records lost",
		    base_digits(r->lost).text);
	if (is_counted(r) && r->full > 0)
		base_append(text, cap, &len, "  list full: %s blocks not "
		    "listed", base_digits(r->full).text);
}

static void
put_about(const struct nodes_surveyed *r, int lines, struct page_picture *pic)
{
	char text[800];
	int n = 0;

	if (r != NULL) {
		about_text(r, text, sizeof text);
		n = picture_wrap(pic, text, lines, PAGE_PLAIN);
	}
	for (; n < lines; n++)
		picture_line(pic);
}

static void
put_bar(struct page_picture *pic)
{
	static const char *const keys[] = { "? help", "Enter go there",
		"q quit", "1 page K", "r retry", "Right targets", "Left fold",
		": command" };
	int cols = -2;

	picture_line(pic);
	for (size_t i = 0; i < BASE_NELEM(keys); i++) {
		cols += 2 + (int)strlen(keys[i]);
		if (cols > pic->cols)
			break;
		picture_printf(pic, "%s%s", i > 0 ? "  " : "", keys[i]);
	}
}

static void
put_lines(const struct page_nodes *p, const struct nodes_surveyed *const *row,
    size_t n, size_t from, size_t upto, size_t cursor,
    struct page_picture *pic)
{
	const struct layout *lay = layout_for(pic->cols);
	size_t at = 0, lines, i, k;
	struct entry l;

	for (i = 0; i < n && at < upto; i++, at += lines) {
		lines = lines_of(p, row[i]);
		for (k = from > at ? from - at : 0; k < lines && at + k < upto;
		    k++) {
			l = (struct entry){ .row = row[i], .open = lines > 1,
			    .target = k > 0 ? &row[i]->target[k - 1] : NULL };
			put_line(lay, &l, at + k == cursor, pic);
		}
	}
}

int
page_nodes_compose(struct page_nodes *p,
    const struct nodes_surveyed *const *row, size_t n,
    const struct page_opts *opts, int cols, int rows,
    struct page_picture *pic)
{
	size_t all = count_lines(p, row, n), cursor = find_line(p, row, n);
	bool text = rows == 0, title = text || rows > 1, heading = text ||
	    rows > 3, bar = rows >= FOOT_ROWS;
	int about = rows >= TALL_ROWS ? 2 : bar ? 1 : 0;
	int window = text ? (int)all : rows - title - heading - about - bar;
	struct page_scroll *s = &p->scroll;
	int first = title + heading, r;

	s->window = window;
	page_scroll_to(s, (int)cursor, window);
	if (s->top > (int)all - window)
		s->top = (int)all - window;
	if (s->top < 0 || text)
		s->top = 0;
	p->line = cursor;
	picture_begin(pic, cols, opts->ascii);
	if (title)
		put_title(row, n, pic);
	if (heading)
		put_heading(layout_for(pic->cols), pic);
	put_lines(p, row, n, (size_t)s->top, (size_t)(s->top + window),
	    text ? SIZE_MAX : cursor, pic);
	/* The line being written is not in pic->rows yet. */
	while (!picture_failed(pic) && !text &&
	    pic->rows < rows - about - bar - 1)
		picture_line(pic);
	if (about > 0)
		put_about(page_nodes_row(p, row, n), about, pic);
	if (bar)
		put_bar(pic);
	r = picture_end(pic);
	if (r == 0 && !text && window > 0 && s->top > 0)
		page_scroll_mark(pic, first, false);
	if (r == 0 && !text && window > 0 && s->top + window < (int)all)
		page_scroll_mark(pic, first + window - 1, true);
	return r;
}
