/* See find.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "find.h"
#include "frozen_order.h"
#include "rows.h"

#define CHUNK 64
#define ADDRESS_DIGITS 6	/* less are a word */
#define ROUNDS 75		/* while names are on their way: some 5 s of cycles */

struct page_find {
	struct page_sieve *sieve;
	char text[FILTER_MAX];	/* as it was typed */
	bool back, on, round;
	uint64_t at;		/* the next row, or going back, behind it */
	uint64_t looked, of;	/* rows, of about so many */
	uint64_t most;		/* that are looked at: one end of the list may grow for ever */
	uint64_t before;	/* rows on the other side of where it began ... */
	uint64_t again;		/* ... and those of them looked at by now */
	uint64_t unsure;	/* rows of this round whose name has not come */
	unsigned rounds;
	struct blk seen[CHUNK];	/* the last rows, in the order they were seen */
	size_t nseen;
};

/* --- what is looked for --------------------------------------------------- */

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
new_sieve(struct page_sieve **out, const char *text, struct filter_error *e)
{
	char other[2 * FILTER_MAX];
	struct filter_error unused;
	int r;

	if (is_address(text)) {
		snprintf(other, sizeof other, "%s | addr=%s", text, text);
		return page_sieve_new(out, other, e);
	}
	r = page_sieve_new(out, text, e);
	if (r != -EINVAL || strpbrk(text, "=<>&|!~") != NULL ||
	    strlen(text) >= FILTER_MAX / 2)
		return r;
	quote(text, other, sizeof other);
	return page_sieve_new(out, other, &unused) == 0 ? 0 : r;
}

static int
look_for(struct page *page, const char *text, struct filter_error *e)
{
	struct page_sieve *sieve;
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
	r = new_sieve(&sieve, text, e);
	if (r < 0)
		return r;
	page_sieve_free(page->find->sieve);
	page->find->sieve = sieve;
	snprintf(page->find->text, sizeof page->find->text, "%s", text);
	return 0;
}

/* --- where it is ---------------------------------------------------------- */

/* The row that the block has by now. */
static bool
row_of(struct page *page, const struct page_view *v, const struct blk *b,
    uint64_t *at)
{
	const struct page_rows_ops *rows = page_rows_ops(page);
	unsigned layer = page->cursor.layer;
	uint64_t addr = page->cursor.addr, seq = page->cursor.seq;
	bool is_free = page->cursor.free, found;

	page_hold_block(page, b);
	found = rows->held(page, v, rows->total(page, v), at);
	page->cursor.layer = layer;
	page->cursor.addr = addr;
	page->cursor.seq = seq;
	page->cursor.free = is_free;
	return found;
}

/* The list may have changed since the last step. */
static void
resume(struct page *page, const struct page_view *v, uint64_t total)
{
	struct page_find *f = page->find;
	uint64_t row;
	size_t i;

	for (i = f->nseen; i > 0; i--)
		if (row_of(page, v, &f->seen[i - 1], &row)) {
			f->at = f->back ? row : row + 1;
			break;
		}
	if (f->at > total)
		f->at = total;
}

/* From the cursor on. */
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
	if (page->cursor.on && page->cursor.held && v->look->list != NULL &&
	    rows->held(page, v, rows->total(page, v), &row))
		f->at = f->back ? row : row + 1;
	else if (page->cursor.on)
		f->at = f->back ? page->cursor.at : page->cursor.at + 1;
	f->of = rows->total(page, v);
	f->most = 2 * f->of + CHUNK;
	f->before = f->back ? f->of - (f->at < f->of ? f->at : f->of) : f->at;
}

int
page_find_begin(struct page *page, const struct page_view *v, const char *text,
    bool back, struct filter_error *e)
{
	struct page_find *f;
	int r;

	if (text != NULL) {
		r = look_for(page, text, e);
		if (r < 0)
			return r;
	}
	f = page->find;
	if (f == NULL || f->sieve == NULL)
		return -ENOENT;
	if (page_shows_groups(page))
		return -ENOTSUP;
	f->back = back;
	f->on = true;
	f->rounds = 0;
	begin_round(page, v);
	return 0;
}

/* --- a step --------------------------------------------------------------- */

static void
arrive(struct page *page, const struct page_view *v, const struct blk *b,
    uint64_t row)
{
	page->find->on = false;
	/* Rows that stand still are of another moment than this row's number. */
	page_still_anew(page);
	page->found.total = page_rows_ops(page)->total(page, v);
	page_move_to(page, row);
	page_hold_block(page, b);
	page->cursor.held = page->cursor.on;
	page_still_touch(page, v);
}

/* Rows from `lo` on, in the order of the search; true: one matches. */
static bool
look_at(struct page *page, const struct page_view *v, uint64_t lo,
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
		if (page_sieve_lets(f->sieve, &b[k])) {
			arrive(page, v, &b[k], lo + k);
			return true;
		}
	}
	f->at = f->back ? lo : lo + n;
	return false;
}

/* Round the end, when it has been reached. */
static void
turn_round(struct page_find *f, uint64_t total)
{
	if (f->back ? f->at > 0 : f->at < total)
		return;
	f->at = f->back ? total : 0;
	f->round = true;
}

/*
 * No row has matched.  A name is asked for when a row is looked at, and some
 * have not come yet: then once more, as long as it takes names to come.
 */
static enum page_find_state
end_round(struct page *page, const struct page_view *v)
{
	struct page_find *f = page->find;

	f->unsure += page_sieve_caught(f->sieve).unsure;
	if (f->unsure > 0 && ++f->rounds < ROUNDS) {
		begin_round(page, v);
		return PAGE_FIND_ON;
	}
	f->on = false;
	return PAGE_FIND_NONE;
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
	if (v->look->window || (page_choice_on(page) &&
	    page_choice_waits(page)))
		return PAGE_FIND_ON;
	if (page_shows_groups(page) || v->look->list == NULL) {
		f->on = false;
		return PAGE_FIND_OFF;
	}
	total = rows->total(page, v);
	resume(page, v, total);
	page_sieve_begin(f->sieve, v);
	do {
		turn_round(f, total);
		if (f->looked > f->most || (f->round && f->again >= f->before))
			return end_round(page, v);
		lo = f->back ? (f->at > CHUNK ? f->at - CHUNK : 0) : f->at;
		n = f->back ? (size_t)(f->at - lo) : CHUNK;
		n = rows->window(page, v, lo, b, n);
		if (n == 0)
			return end_round(page, v);
		if (look_at(page, v, lo, b, n))
			return PAGE_FIND_HERE;
	} while (mono_now().ns - begun.ns < ns);
	f->unsure += page_sieve_caught(f->sieve).unsure;
	return PAGE_FIND_ON;
}

/* --- what is asked of it -------------------------------------------------- */

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
	return page->find != NULL && page->find->sieve != NULL ?
	    page->find->text : NULL;
}

void
page_find_free(struct page_find *f)
{
	if (f == NULL)
		return;
	page_sieve_free(f->sieve);
	free(f);
}
