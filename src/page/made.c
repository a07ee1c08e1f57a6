/* See made.h. */
#include <stdlib.h>
#include <string.h>

#include "made.h"

#define SLOTS 512		/* a power of two, above the rows of any terminal */
#define FRESH_NS 1000000000

struct made_row {
	struct blk blk;
	int64_t from, until;	/* of the node's clock: it says the same */
	struct mono at;
	char *text;
	size_t len, cap;	/* cap 0: nothing is there */
	int cols;
};

struct page_made {
	struct page_made_key key;
	struct mono now;
	uint64_t taken, made;
	struct made_row row[SLOTS];
};

struct page_made *
page_made_new(void)
{
	return calloc(1, sizeof(struct page_made));
}

void
page_made_free(struct page_made *m)
{
	size_t i;

	if (m == NULL)
		return;
	for (i = 0; i < SLOTS; i++)
		free(m->row[i].text);
	free(m);
}

static struct made_row *
row_of(struct page_made *m, const struct blk *b)
{
	uint64_t h = (b->addr ^ b->seq << 20) *
	    UINT64_C(0x9e3779b97f4a7c15);

	return &m->row[h >> 32 & (SLOTS - 1)];
}

void
page_made_begin(struct page_made *m, const struct page_made_key *key,
    const struct page_view *v)
{
	size_t i;

	m->now = v->now;
	if (memcmp(&m->key, key, sizeof *key) == 0)
		return;
	m->key = *key;
	for (i = 0; i < SLOTS; i++)
		m->row[i].at = (struct mono){ INT64_MIN / 2 };
}

bool
page_made_put(struct page_made *m, const struct page_view *v,
    const struct blk *b, struct page_picture *pic)
{
	const struct made_row *row = row_of(m, b);
	int64_t ms = page_clock_of(v, PAGE_CLOCK_NODE);

	m->made++;
	if (row->cap == 0 || mono_diff_ns(m->now, row->at) >= FRESH_NS ||
	    ms < row->from || ms >= row->until ||
	    memcmp(&row->blk, b, sizeof *b) != 0)
		return false;
	m->made--;
	m->taken++;
	page_holds_until(v, PAGE_CLOCK_NODE, row->until);
	picture_again(pic, row->text, row->len, row->cols);
	return true;
}

void
page_made_counts(const struct page_made *m, uint64_t *taken, uint64_t *made)
{
	*taken = m != NULL ? m->taken : 0;
	*made = m != NULL ? m->made : 0;
}

void
page_made_keep(struct page_made *m, const struct page_view *v,
    const struct blk *b, const struct page_picture *pic)
{
	struct made_row *row = row_of(m, b);
	void *text = row->text;
	size_t len;
	const char *line = picture_written(pic, &len);

	if (line == NULL || base_grow(&text, &row->cap, len + 1, 1) < 0)
		return;
	row->text = text;
	memcpy(row->text, line, len);
	row->len = len;
	row->cols = picture_col(pic);
	row->blk = *b;
	row->from = page_clock_of(v, PAGE_CLOCK_NODE);
	row->until = v->holds->until[PAGE_CLOCK_NODE];
	row->at = m->now;
}
