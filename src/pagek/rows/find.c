#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../blocks/choice.h"
#include "find.h"
#include "frozen_order.h"
#include "rows.h"

#define CHUNK 64
#define ADDRESS_DIGITS 6	/* fewer digits are a word */
#define ROUNDS 75		/* of waiting for names: about 5 s of cycles */

struct page_find {
	struct page_row_filter *filter;
	char text[FILTER_MAX];
	bool back, on, round;
	bool groups;		/* the rows are groups, found by their names */
	uint64_t at;		/* the next row; going back, one behind it */
	uint64_t looked, of;	/* rows, of about so many */
	uint64_t most;		/* rows to look at: the list may grow for ever */
	uint64_t before;	/* rows on the other side of the start */
	uint64_t again;		/* those of them that were looked at */
	uint64_t unsure;	/* rows of this round whose name is not known */
	unsigned rounds;
	struct blk seen[CHUNK];	/* the last rows, in the order of the search */
	size_t nseen;
};

static bool
is_address(const char *text)
{
	const char *digits = strncmp(text, "0x", 2) == 0 ? text + 2 : text;
	size_t n = strspn(digits, "0123456789abcdefABCDEF");

	return n >= ADDRESS_DIGITS && n <= 16 && digits[n] == '\0';
}

static void
quote(const char *text, char *out, size_t cap)
{
	size_t n = 0;

	out[n++] = '"';
	for (; *text != '\0' && n + 3 < cap; text++) {
		if (*text == '"' || *text == '\\')
			out[n++] = '\\';
		out[n++] = *text;
	}
	out[n++] = '"';
	out[n] = '\0';
}

static int
new_filter(
    struct page_row_filter **out, const char *text, struct filter_error *e)
{
	char other[2 * FILTER_MAX];
	struct filter_error unused;
	int r;

	if (is_address(text)) {
		snprintf(other, sizeof other, "%s | addr=%s", text, text);
		return page_row_filter_new(out, other, e);
	}
	r = page_row_filter_new(out, text, e);
	if (r != -EINVAL || strpbrk(text, "=<>&|!~") != NULL ||
	    strlen(text) >= FILTER_MAX / 2)
		return r;
	quote(text, other, sizeof other);
	return page_row_filter_new(out, other, &unused) == 0 ? 0 : r;
}

static int
set_text(struct page *page, const char *text, struct filter_error *e)
{
	struct page_row_filter *filter = NULL;
	int r;

	if (page->find == NULL)
		page->find = calloc(1, sizeof *page->find);
	if (page->find == NULL)
		return -ENOMEM;
	if (strlen(text) >= sizeof page->find->text)
		text = "";
	if (text[strspn(text, " ")] == '\0') {
		e->at = 0;
		snprintf(e->why, sizeof e->why, "there is nothing to look for");
		return -EINVAL;
	}
	r = new_filter(&filter, text, e);
	/* A part of a group's name need not be an expression. */
	if (r < 0 && (r != -EINVAL || !page_shows_groups(page)))
		return r;
	page_row_filter_free(page->find->filter);
	page->find->filter = filter;
	snprintf(page->find->text, sizeof page->find->text, "%s", text);
	return 0;
}

/* Finds the place again: the list may have changed since the last step. */
static void
find_place(struct page *page, const struct page_view *v, uint64_t total)
{
	struct page_find *f = page->find;
	uint64_t row;
	size_t i;

	for (i = f->nseen; i > 0; i--)
		if (page_rows_find_block(page_rows_ops(page), page, v,
		    &f->seen[i - 1], &row)) {
			f->at = f->back ? row : row + 1;
			break;
		}
	if (f->at > total)
		f->at = total;
}

static void
begin_round(struct page *page, const struct page_view *v)
{
	const struct page_rows_ops *rows = page_rows_ops(page);
	struct page_find *f = page->find;
	uint64_t row;

	f->round = false;
	f->looked = f->again = f->unsure = 0;
	f->nseen = 0;
	f->at = page->offs;
	if (page->cursor.on && page->cursor.known && v->look->list != NULL &&
	    rows->locate(page, v, rows->total(page, v), &row))
		f->at = f->back ? row : row + 1;
	else if (page->cursor.on)
		f->at = f->back ? page->cursor.at : page->cursor.at + 1;
	f->of = rows->total(page, v);
	f->most = 2 * f->of + CHUNK;
	f->before = f->back ? f->of - (f->at < f->of ? f->at : f->of) : f->at;
}

static void
begin_groups(struct page *page)
{
	struct page_find *f = page->find;
	uint64_t at = page->cursor.on ? page->cursor.at : page->offs;

	f->round = false;
	f->looked = f->unsure = 0;
	f->at = f->back ? at : at + page->cursor.on;
	f->of = page->groups != NULL ? page->groups->rows : 0;
}

int
page_find_begin(struct page *page, const struct page_view *v, const char *text,
    bool back, struct filter_error *e)
{
	struct page_find *f;
	int r;

	if (text != NULL) {
		r = set_text(page, text, e);
		if (r < 0)
			return r;
	}
	f = page->find;
	if (f == NULL || f->text[0] == '\0' ||
	    (f->filter == NULL && !page_shows_groups(page)))
		return -ENOENT;
	f->groups = page_shows_groups(page);
	f->back = back;
	f->on = true;
	f->rounds = 0;
	if (f->groups)
		begin_groups(page);
	else
		begin_round(page, v);
	return 0;
}

static void
move_cursor(struct page *page, const struct page_view *v, const struct blk *b,
    uint64_t row)
{
	page->find->on = false;
	page_refreeze(page);
	page->found.total = page_rows_ops(page)->total(page, v);
	page_move_to(page, row);
	page_cursor_set(page, b);
	page->cursor.known = page->cursor.on;
	page_freeze_briefly(page, v);
}

static bool
look_at_rows(struct page *page, const struct page_view *v, uint64_t lo,
    const struct blk *b, size_t n)
{
	struct page_find *f = page->find;
	size_t i, k;

	f->nseen = 0;
	for (i = 0; i < n; i++) {
		k = f->back ? n - 1 - i : i;
		f->seen[f->nseen++] = b[k];
		f->looked++;
		f->again += f->round;
		if (page_row_filter_matches(f->filter, &b[k])) {
			move_cursor(page, v, &b[k], lo + k);
			return true;
		}
	}
	f->at = f->back ? lo : lo + n;
	return false;
}

static void
wrap_at_end(struct page_find *f, uint64_t total)
{
	if (f->back ? f->at > 0 : f->at < total)
		return;
	f->at = f->back ? total : 0;
	f->round = true;
}

/* No row has matched; another round may find a name requested in this one. */
static enum page_find_state
end_round(struct page *page, const struct page_view *v)
{
	struct page_find *f = page->find;

	f->unsure += page_row_filter_sums(f->filter).unsure;
	if (f->unsure > 0 && ++f->rounds < ROUNDS) {
		begin_round(page, v);
		return PAGE_FIND_ON;
	}
	f->on = false;
	return PAGE_FIND_NONE;
}

static bool
names_text(const struct page *page, const struct page_view *v, uint64_t row)
{
	struct page_groups *g = page->groups;
	const struct profile_group *group;
	struct page_group_words words;
	struct page_group_at at;

	if (!page_groups_at(g, row, &at))
		return false;
	group = page_groups_at_row(g, &at);
	if (group == NULL)
		return false;
	page_group_say(page, v, page_group_level(page, at.what == ROW_BELOW),
	    group, &words);
	return strcasestr(words.name, page->find->text) != NULL ||
	    strcasestr(words.where, page->find->text) != NULL;
}

static enum page_find_state
step_groups(struct page *page, const struct page_view *v, int64_t ns)
{
	struct page_find *f = page->find;
	struct mono begun = mono_now();
	uint64_t total, row;

	if (!page_groups_at_hand(page, v))
		return PAGE_FIND_ON;
	total = page->groups->rows;
	do {
		if (f->looked++ >= total) {
			f->unsure = page->groups->missing;
			f->on = false;
			return PAGE_FIND_NONE;
		}
		wrap_at_end(f, total);
		row = f->back ? --f->at : f->at++;
		if (!names_text(page, v, row))
			continue;
		f->on = false;
		page->found.total = total;
		page_move_to(page, row);
		page_remember_cursor(page, v);
		page_freeze_briefly(page, v);
		return PAGE_FIND_HERE;
	} while (mono_now().ns - begun.ns < ns);
	return PAGE_FIND_ON;
}

enum page_find_state
page_find_step(struct page *page, const struct page_view *v, int64_t ns)
{
	const struct page_rows_ops *rows = page_rows_ops(page);
	struct page_find *f = page->find;
	struct mono begun = mono_now();
	struct blk b[CHUNK];
	uint64_t total, lo;
	size_t n;

	if (f == NULL || !f->on)
		return PAGE_FIND_OFF;
	if (f->groups && page_shows_groups(page))
		return step_groups(page, v, ns);
	if (v->look->window || (page_choice_on(page) &&
	    page_choice_waits(page)))
		return PAGE_FIND_ON;
	if (page_shows_groups(page) || v->look->list == NULL) {
		f->on = false;
		return PAGE_FIND_OFF;
	}
	total = rows->total(page, v);
	find_place(page, v, total);
	page_row_filter_begin(f->filter, v);
	do {
		wrap_at_end(f, total);
		if (f->looked > f->most || (f->round && f->again >= f->before))
			return end_round(page, v);
		lo = f->back ? (f->at > CHUNK ? f->at - CHUNK : 0) : f->at;
		n = f->back ? (size_t)(f->at - lo) : CHUNK;
		n = rows->window(page, v, lo, b, n);
		if (n == 0)
			return end_round(page, v);
		if (look_at_rows(page, v, lo, b, n))
			return PAGE_FIND_HERE;
	} while (mono_now().ns - begun.ns < ns);
	f->unsure += page_row_filter_sums(f->filter).unsure;
	return PAGE_FIND_ON;
}

void
page_find_stop(struct page *page)
{
	if (page->find != NULL)
		page->find->on = false;
}

bool
page_find_is_on(const struct page *page)
{
	return page->find != NULL && page->find->on;
}

bool
page_find_went_round(const struct page *page)
{
	return page->find != NULL && page->find->round;
}

unsigned
page_find_percent(const struct page *page)
{
	const struct page_find *f = page->find;

	if (f == NULL || f->of == 0 || f->looked >= f->of)
		return 0;
	return (unsigned)(f->looked * 100 / f->of);
}

uint64_t
page_find_unsure(const struct page *page)
{
	return page->find != NULL ? page->find->unsure : 0;
}

const char *
page_find_text(const struct page *page)
{
	return page->find != NULL && page->find->text[0] != '\0' ?
	    page->find->text : NULL;
}

void
page_find_free(struct page_find *f)
{
	if (f == NULL)
		return;
	page_row_filter_free(f->filter);
	free(f);
}
