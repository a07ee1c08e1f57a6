#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../layout/layout.h"
#include "usage_page.h"

#define BAR_ROWS 8		/* a lower page has rows in place of a key bar */
#define HEAD_ROWS 6		/* a lower page has one line above its rows */

struct dated {
	uint64_t key;
	uint64_t change;		/* of the last reading that had it */
};

struct maximum {
	struct dated of;
	uint64_t max;
};

struct trend {
	struct dated of;
	struct usage_trend points;
};

static uint64_t
mix(uint64_t hash, uint64_t n)
{
	return (hash ^ n) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

static uint64_t
key_of_counts(const struct usage_row *r)
{
	return mix(mix(mix(r->caller, r->size), r->type), r->kind) | 1;
}

static uint64_t
key_of_line(const struct usage_line *r)
{
	uint64_t hash = r->type != NULL ? hash_of_bytes(0, r->type,
	    strlen(r->type)) : 0;

	return mix(mix(hash, (uint64_t)r->num), r->no_num) | 1;
}

/* Drops what the last reading had not; rows that come and go would fill the map. */
static void
forget_others(struct hashmap *m, uint64_t change)
{
	for (size_t i = m->n; i-- > 0;)
		if (((struct dated *)hashmap_item(m, i))->change != change)
			hashmap_remove(m, i);
}

/* The rows with this viewer's maxima.  The caller frees them; NULL: no memory. */
static struct usage_row *
with_maxima(struct page_usage *u, const struct page_usage_taken *t)
{
	struct usage_row *row = malloc((t->n + 1) * sizeof *row);
	bool first = u->change == 0;
	struct maximum *m;
	uint64_t most;

	if (row == NULL)
		return NULL;
	u->maxima.size = sizeof *m;
	for (size_t i = 0; i < t->n; i++) {
		row[i] = t->row[i];
		m = hashmap_add(&u->maxima, key_of_counts(&row[i]));
		if (m == NULL)
			continue;
		/* The maxima of the first reading are from before this viewer. */
		most = first || row[i].high < row[i].live ? row[i].live :
		    row[i].high;
		if (u->change != t->change && m->max < most)
			m->max = most;
		m->of.change = t->change;
		row[i].most = m->max;
	}
	forget_others(&u->maxima, t->change);
	return row;
}

void
page_usage_reset(struct page_usage *u)
{
	hashmap_clear(&u->maxima);
	u->change = 0;
	u->reset_ms = 0;
}

static void
take_trends(struct page_usage *u, uint64_t change)
{
	struct trend *t;

	u->trends.size = sizeof *t;
	for (size_t i = 0; i < u->list.n; i++) {
		struct usage_line *r = &u->list.row[i];

		t = hashmap_add(&u->trends, key_of_line(r));
		if (t == NULL || t->of.change == change)
			continue;
		t->of.change = change;
		memmove(t->points.bytes, t->points.bytes + 1,
		    sizeof t->points.bytes - sizeof t->points.bytes[0]);
		t->points.bytes[USAGE_TREND - 1] = r->bytes;
		if (t->points.n < USAGE_TREND)
			t->points.n++;
	}
	/* Other groups keep theirs for a while. */
	if (u->trends.n > USAGE_ROWS && u->trends.n / 2 > u->list.n)
		forget_others(&u->trends, change);
	/* Pointers stay until the next row is added. */
	for (size_t i = 0; i < u->list.n; i++) {
		t = hashmap_get(&u->trends, key_of_line(&u->list.row[i]));
		u->list.row[i].trend = t != NULL ? &t->points : NULL;
	}
}

static int
make_list(struct page_usage *u, struct usage_list *list,
    const struct page_usage_taken *t)
{
	struct usage_row *row = with_maxima(u, t);
	int err = row == NULL ? -ENOMEM : usage_list_name(list, t->namer,
	    t->types, row, t->n);

	free(row);
	return err;
}

static bool
has_ctype(const struct usage_line *r)
{
	return r->named_by != NULL && (strcmp(r->named_by, "template") == 0 ||
	    strcmp(r->named_by, "call") == 0 ||
	    strcmp(r->named_by, "symbol") == 0 ||
	    strcmp(r->named_by, "new") == 0);
}

int
page_usage_show(struct page_usage *u, struct usage_list *list, uint64_t change)
{
	int err = usage_list_group(list, u->by);

	if (err < 0) {
		usage_list_fini(list);
		return err;
	}
	usage_list_sum(list);
	u->sum = list->sum;
	u->of = list->n;
	usage_list_fini(&u->list);
	u->list = *list;
	u->typed = false;
	for (size_t i = 0; i < u->list.n; i++)
		u->typed |= has_ctype(&u->list.row[i]);
	take_trends(u, change);
	usage_list_filter(&u->list, u->filter);
	usage_list_sort(&u->list, u->sort, u->reverse);
	u->change = change;
	return 0;
}

int
page_usage_take(struct page_usage *u, const struct page_usage_taken *t)
{
	struct usage_list list = { 0 };
	int err = make_list(u, &list, t);

	if (err < 0) {
		usage_list_fini(&list);
		return err;
	}
	if (u->reset_ms == 0)
		u->reset_ms = base_wall_ms();
	return page_usage_show(u, &list, t->change);
}

void
page_usage_clear(struct page_usage *u)
{
	usage_list_fini(&u->list);
	hashmap_clear(&u->maxima);
	hashmap_clear(&u->trends);
	u->change = u->names = u->at = 0;
	u->reset_ms = 0;
	u->rows = (struct page_list){ 0 };
	u->of = 0;
	u->sum = (struct usage_line){ 0 };
}

void
page_usage_fini(struct page_usage *u)
{
	page_usage_clear(u);
	hashmap_fini(&u->maxima);
	hashmap_fini(&u->trends);
	filter_free(u->filter);
	u->filter = NULL;
}

/* The cursor stays on its row, wherever that has moved. */
static void
follow_row(struct page_usage *u)
{
	for (size_t i = 0; u->at != 0 && i < u->list.n; i++)
		if (key_of_line(&u->list.row[i]) == u->at) {
			u->rows.selected = i;
			return;
		}
	page_list_clamp(&u->rows, u->list.n);
}

const struct usage_line *
page_usage_row(const struct page_usage *u)
{
	return u->rows.selected < u->list.n ? &u->list.row[u->rows.selected] : NULL;
}

void
page_usage_move(struct page_usage *u, int delta, bool scroll)
{
	page_list_move(&u->rows, u->list.n, delta, scroll);
	u->at = u->list.n > 0 ? key_of_line(page_usage_row(u)) : 0;
}

static void
add_term(char *out, size_t cap, size_t *len, const char *field, const char *text)
{
	base_append(out, cap, len, "%s=\"", field);
	for (; *text != '\0'; text++)
		base_append(out, cap, len, "%s%c", *text == '"' || *text == '\\' ?
		    "\\" : "", *text);
	base_append(out, cap, len, "\"");
}

static const char *
filter_field_of(const struct usage_line *r)
{
	if (has_ctype(r))
		return "ctype";
	return r->named_by != NULL && (strcmp(r->named_by, "program") == 0 ||
	    strcmp(r->named_by, "allocator") == 0) ? "type" : "function";
}

/* False: some bytes would not come back as they are, or there is no name. */
static bool
is_plain(const char *text)
{
	if (text == NULL || text[0] == '\0')
		return false;
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			return false;
	return true;
}

/* A row of blocks of no one name. */
static bool
has_no_name(const struct usage_line *r)
{
	return r->type == NULL || strcmp(r->type, "(other)") == 0 ||
	    strcmp(r->type, "(unknown)") == 0;
}

static bool
add_name(const struct page_usage *u, const struct usage_line *r, char *out,
    size_t cap, size_t *len)
{
	const char *field = u->by == USAGE_BY_MODULE ? "module" :
	    u->by == USAGE_BY_FUNCTION ? "function" : filter_field_of(r);
	bool typed = u->typed && u->by <= USAGE_BY_TYPE;

	if (!is_plain(r->type) || (u->by <= USAGE_BY_TYPE &&
	    r->named_by == NULL && has_no_name(r)))
		return false;
	/* Rows of several sources that have named them alike. */
	if (r->named_by == NULL && u->by <= USAGE_BY_TYPE) {
		add_term(out, cap, len, "(ctype", r->type);
		add_term(out, cap, len, " | type", r->type);
		add_term(out, cap, len, " | function", r->type);
		base_append(out, cap, len, " & ctype=\"\")");
		return true;
	}
	add_term(out, cap, len, field, r->type);
	/* Other blocks of the function are in rows of their types. */
	if (typed && strcmp(field, "function") == 0)
		add_term(out, cap, len, " & ctype", "");
	return true;
}

static bool
add_line(const struct usage_line *r, char *out, size_t cap, size_t *len)
{
	if (!is_plain(r->function) || !is_plain(r->file) || r->line == 0)
		return false;
	add_term(out, cap, len, "function", r->function);
	add_term(out, cap, len, " & file", r->file);
	base_append(out, cap, len, " & line=%" PRIu32, r->line);
	return true;
}

bool
page_usage_filter_of(const struct page_usage *u, const struct usage_line *r,
    char *out, size_t cap)
{
	size_t len = 0;

	out[0] = '\0';
	if (u->by == USAGE_BY_SIZE && r->type != NULL) {
		base_append(out, cap, &len, r->num > 1 ? "size>%lld & size<=%lld" : "size>=%lld & size<=%lld",
		    (long long)(r->num > 1 ? r->num / 2 : 0),
		    (long long)r->num);
		return true;
	}
	if (u->by == USAGE_BY_LINE ? !add_line(r, out, cap, &len) :
	    !add_name(u, r, out, cap, &len))
		return false;
	if (!r->no_num)
		base_append(out, cap, &len, " & size=%llu",
		    (unsigned long long)r->num);
	/* A text that was cut is another filter, or none. */
	return len + 1 < cap;
}

static void
plan_columns(int cols, struct field_plan *plan)
{
	field_plan(&usage_fields, 0, cols, 0, false, plan);
}

size_t
page_usage_beside(const struct page_usage *u, int cols, bool right)
{
	struct field_plan plan;

	plan_columns(cols, &plan);
	return page_sort_beside(usage_sort_rows, USAGE_SORTS, &plan,
	    USAGE_SORT_TYPE, USAGE_SORT_TYPE + 1, u->sort, right);
}

static void
put_title(const struct page_usage *u, const char *title, bool sorted,
    int width, bool right, struct page_picture *pic)
{
	page_sort_put_title(title, sorted, (u->sort == USAGE_SORT_TYPE) ==
	    u->reverse, width, right, pic);
}

static void
put_heading(const struct page_usage *u, struct page_picture *pic)
{
	static const char *const titles[USAGE_GROUPINGS] = { "TYPE", "TYPE",
		"FUNCTION", "LINE", "MODULE", "SIZE" };
	struct field_plan plan;

	plan_columns(pic->cols, &plan);
	picture_line(pic);
	put_title(u, titles[u->by], u->sort == USAGE_SORT_TYPE, plan.left, false,
	    pic);
	for (size_t i = 0; i < plan.n; i++) {
		const struct field *f = plan.column[i];

		picture_put(pic, " ");
		put_title(u, f->column.title, page_sort_is_of(
		    &usage_sort_rows[u->sort], f),
		    f->column.width, f->column.right, pic);
	}
	picture_mark_line(pic, PAGE_HEADING);
}

static void
put_name(const struct usage_line *r, int width, struct page_picture *pic)
{
	picture_text(pic, r->type == NULL ? "(unknown)" : r->type[0] != '\0' ?
	    r->type : "\"\"", width, PICTURE_LEFT);
}

static void
put_row(const struct usage_line *r, struct page_picture *pic)
{
	struct field_plan plan;
	char text[FIELD_CELL];

	plan_columns(pic->cols, &plan);
	picture_line(pic);
	put_name(r, plan.left, pic);
	for (size_t i = 0; i < plan.n; i++) {
		const struct field *f = plan.column[i];

		picture_put(pic, " ");
		if (f->column.put != NULL) {
			f->column.put(r, f->column.width, pic);
			continue;
		}
		field_cell(f, r, text);
		picture_text(pic, text, f->column.width, f->column.right ?
		    PICTURE_RIGHT : PICTURE_LEFT);
	}
}

static void
title_text(const struct page_usage *u, const struct page_usage_head *h,
    int cols, char *out, size_t cap)
{
	char at[PAGE_DATE_TEXT];
	size_t len = 0;

	base_append(out, cap, &len, "U USAGE  %s%s%s%s%s", h->node,
	    h->node[0] != '\0' ? "  " : "", h->target,
	    h->target[0] != '\0' ? "  " : "", h->state);
	if (u->reset_ms != 0) {
		page_cell_date(u->reset_ms, h->utc, at);
		base_append(out, cap, &len, "  max since %s", cols < 100 ?
		    at + 11 : at);
	}
	if (h->since_ms == 0)
		return;
	page_cell_date(h->since_ms, h->utc, at);
	base_append(out, cap, &len, h->from_start ?
	    "  counted from the start" : "  counted since %s", cols < 100 ?
	    at + 11 : at);
}

static void
sums_text(const struct page_usage *u, const struct page_usage_head *h,
    char *out, size_t cap)
{
	const char *about = page_about(h->sample);
	char bytes[24], churn[24];
	size_t len = 0;

	base_human_bytes(bytes, sizeof bytes, u->sum.bytes);
	base_human_bytes(churn, sizeof churn, u->sum.allocated_bytes);
	base_append(out, cap, &len, "%s%s of ", base_digits(u->list.n).text,
	    u->filter != NULL ? ", filtered," : "");
	base_append(out, cap, &len, "%s rows", base_digits(u->of).text);
	if (u->by != USAGE_BY_NONE)
		base_append(out, cap, &len, " by %s", usage_groupings[u->by]);
	base_append(out, cap, &len, "   live %s%s", about,
	    base_digits((uint64_t)u->sum.live).text);
	base_append(out, cap, &len, " in %s%s", about, bytes);
	if (h->rss != 0) {
		base_human_bytes(bytes, sizeof bytes, h->rss);
		base_append(out, cap, &len, ", RSS %s", bytes);
	}
	base_append(out, cap, &len, "   allocated %s%s", about,
	    base_digits(u->sum.allocated).text);
	base_append(out, cap, &len, ", %s%s   short-lived %s%s", about, churn,
	    about, base_digits(u->sum.short_lived).text);
}

static void
put_head(const struct page_usage *u, const struct page_usage_head *h, int rows,
    struct page_picture *pic)
{
	int lines = rows == 0 || rows >= 2 * BAR_ROWS ? 2 : 1;
	char text[512];

	title_text(u, h, pic->cols, text, sizeof text);
	picture_wrap(pic, text, lines, PAGE_NEW);
	if (rows != 0 && rows < HEAD_ROWS)
		return;
	sums_text(u, h, text, sizeof text);
	picture_wrap(pic, text, lines, PAGE_PLAIN);
	if (u->filter != NULL) {
		picture_line(pic);
		picture_put(pic, "filter ");
		picture_text(pic, filter_text(u->filter), pic->cols - 7,
		    PICTURE_FREE);
	}
	if (h->notice[0] != '\0')
		picture_wrap(pic, h->notice, 2, PAGE_WARN);
}

static void
put_rows(struct page_usage *u, int room, struct page_picture *pic)
{
	page_list_begin(&u->rows, u->list.n, room, pic);
	for (size_t i = u->rows.top; i < u->list.n && room-- > 0; i++) {
		put_row(&u->list.row[i], pic);
		if (i == u->rows.selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
}

int
page_usage_compose(struct page_usage *u, const struct page_usage_head *h,
    bool ascii, int cols, int rows, struct page_picture *pic)
{
	bool bar = rows >= BAR_ROWS;
	int r;

	u->rows.first = 0;
	follow_row(u);
	picture_begin(pic, cols, ascii);
	put_head(u, h, rows, pic);
	put_heading(u, pic);
	if (rows == 0)
		for (size_t i = 0; i < u->list.n; i++)
			put_row(&u->list.row[i], pic);
	else
		put_rows(u, rows - (pic->rows + 1) - bar, pic);
	if (bar)
		page_overlay_bar("s sort  r reverse  b group  f filter  x reset max  "
		    "Enter blocks  Esc close", rows, pic);
	r = picture_end(pic);
	if (r == 0 && rows != 0)
		page_list_edges(&u->rows, u->list.n, pic);
	return r;
}
