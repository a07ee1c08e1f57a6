#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "free_blocks.h"
#include "blocks.h"

#define WALK_ROWS 256

struct gap {
	uint64_t addr, size;
	uint64_t before;		/* blocks of the list with lower addresses */
};

/* The gaps depend on this.  Compared bytewise, so padding is zeroed. */
struct gaps_key {
	const struct blklist *list;
	uint64_t records, inherited, active, total, frees;
	uint32_t stream_no;
	uint32_t regions;
	struct wire_region region[WIRE_REGIONS_MAX];
};

struct page_gaps {
	struct gaps_key key, now;
	struct gap *gap;		/* ascending, as are their rows */
	size_t n, cap;
	struct page_free sum[WIRE_REGIONS_MAX + 1];	/* the last one: of all regions */
	bool failed;			/* no memory: there are no rows */
};

static void
put_gap(struct page_gaps *g, size_t region, uint64_t from, uint64_t to,
    uint64_t before)
{
	const struct wire_region *r = &g->key.region[region];
	struct page_free *sums[2] = { &g->sum[region],
		&g->sum[WIRE_REGIONS_MAX] };
	uint64_t size = to - from;
	void *gaps = g->gap;

	if (to <= from || size < (uint64_t)r->head + r->align)
		return;
	if (base_grow(&gaps, &g->cap, g->n + 1, sizeof *g->gap) < 0) {
		g->failed = true;
		return;
	}
	g->gap = gaps;
	g->gap[g->n++] = (struct gap){ .addr = from, .size = size,
		.before = before };
	for (size_t i = 0; i < BASE_NELEM(sums); i++) {
		sums[i]->bytes += size;
		sums[i]->blocks++;
		if (size > sums[i]->largest)
			sums[i]->largest = size;
	}
}

static uint64_t
end_of(const struct wire_region *r, const struct blk *b)
{
	uint64_t size = b->size, over = r->align > 1 ? size % r->align : 0;

	return b->addr + size + (over > 0 ? r->align - over : 0);
}

static size_t
blocks_from(const struct blklist *list, unsigned layer, uint64_t addr,
    struct blk *out, size_t n)
{
	if (addr > 0)
		return blklist_after(list, false, layer, addr - 1, out, n);
	return layer > 0 ? blklist_after(list, false, layer - 1,
	    REC_ADDR_MASK, out, n) :
	    blklist_after(list, true, 0, 0, out, n);
}

/* Blocks before b, the first of n; n 0: there is no b, all blocks are before. */
static uint64_t
rank_of(const struct blklist *list, const struct blk *b, size_t n)
{
	int64_t rank;

	if (n == 0)
		return blklist_counts(list)->aRecActive;
	rank = blklist_rank(list, BLKLIST_BY_ADDRESS, blk_layer(b), b->addr);
	return rank > 0 ? (uint64_t)rank : 0;
}

static void
walk_region(struct page_gaps *g, size_t region, unsigned layer)
{
	const struct wire_region *r = &g->key.region[region];
	const struct blklist *list = g->key.list;
	uint64_t at = r->base, end = r->base + r->size, rank, from;
	struct blk rows[WALK_ROWS];
	size_t n, i;

	n = blocks_from(list, layer, r->base, rows, WALK_ROWS);
	rank = rank_of(list, &rows[0], n);
	while (n > 0) {
		for (i = 0; i < n; i++, rank++) {
			if (blk_layer(&rows[i]) != layer || rows[i].addr >= end)
				goto out;
			from = rows[i].addr - r->base < r->head ? r->base :
			    rows[i].addr - r->head;
			put_gap(g, region, at, from, rank);
			from = end_of(r, &rows[i]);
			if (from > at)
				at = from;
		}
		if (n < WALK_ROWS)
			break;
		n = blklist_after(list, false, layer, rows[n - 1].addr, rows,
		    WALK_ROWS);
	}
out:
	put_gap(g, region, at, end, rank);
}

static void
fill_key(struct gaps_key *key, const struct page_view *v)
{
	const struct nodes_look *look = v->look;

	memset(key, 0, sizeof *key);
	key->list = look->list;
	key->records = v->counts->records;
	key->frees = v->counts->frees;
	key->inherited = v->counts->inherited;
	key->active = v->counts->aRecActive;
	key->total = look->work.total_records;
	key->stream_no = look->stream_no;
	key->regions = look->regions.n < WIRE_REGIONS_MAX ?
	    (uint32_t)look->regions.n : WIRE_REGIONS_MAX;
	memcpy(key->region, look->regions.at,
	    key->regions * sizeof *look->regions.at);
}

static bool
is_asked_for(const struct page *page)
{
	return page->opts.free && page->group.kind == 0 &&
	       !page_choice_on(page) &&
	       page_list_order(&page->opts) == BLKLIST_BY_ADDRESS &&
	       page->layout != PAGE_CLASSIC_STRICT;
}

bool
page_free_wanted(const struct page *page, const struct nodes_look *look)
{
	return is_asked_for(page) && look->regions.n > 0 && look->list != NULL;
}

static bool
are_shown(const struct page *page, const struct page_view *v)
{
	return page_free_wanted(page, v->look) && !v->look->window;
}

/* The gaps of the list as it is now; NULL: none are shown. */
static const struct page_gaps *
gaps_of(const struct page *page, const struct page_view *v)
{
	struct page_gaps *g = page->gaps;

	if (g == NULL || !are_shown(page, v))
		return NULL;
	fill_key(&g->now, v);
	if (memcmp(&g->now, &g->key, sizeof g->key) == 0)
		return g->failed ? NULL : g;
	g->key = g->now;
	g->n = 0;
	g->failed = false;
	memset(g->sum, 0, sizeof g->sum);
	for (size_t i = 0; i < g->key.regions; i++)
		walk_region(g, i, v->look->classic ? 0 : 1);
	return g->failed ? NULL : g;
}

void
page_free_begin(struct page *page, const struct page_view *v)
{
	if (page->gaps == NULL && are_shown(page, v))
		page->gaps = calloc(1, sizeof *page->gaps);
}

void
page_free_fini(struct page *page)
{
	if (page->gaps != NULL)
		free(page->gaps->gap);
	free(page->gaps);
	page->gaps = NULL;
}

uint64_t
page_free_rows(const struct page *page, const struct page_view *v)
{
	const struct page_gaps *g = gaps_of(page, v);

	return g != NULL ? g->n : 0;
}

static uint64_t
row_of_gap(const struct page_gaps *g, size_t i)
{
	return g->gap[i].before + i;
}

static uint64_t
blocks_before(const struct page_gaps *g, size_t i)
{
	return g->gap[i].before;
}

static uint64_t
address_of(const struct page_gaps *g, size_t i)
{
	return g->gap[i].addr;
}

/* Gaps whose key, which ascends, is less than `limit`. */
static size_t
count_gaps(const struct page_gaps *g,
    uint64_t (*key)(const struct page_gaps *, size_t), uint64_t limit)
{
	size_t i;

	BASE_FIND_FIRST(i, g->n, key(g, i) >= limit);
	return i;
}

static uint64_t
reverse_row(const struct page *page, const struct page_gaps *g, uint64_t row)
{
	return page_list_reverse(&page->opts) ?
	    g->key.active + g->n - 1 - row : row;
}

uint64_t
page_free_row_of(const struct page *page, const struct page_view *v,
    uint64_t rank)
{
	const struct page_gaps *g = gaps_of(page, v);

	if (g == NULL)
		return page_list_reverse(&page->opts) ?
		    v->counts->aRecActive - 1 - rank : rank;
	return reverse_row(page, g,
	    rank + count_gaps(g, blocks_before, rank + 1));
}

bool
page_free_row_at(const struct page *page, const struct page_view *v,
    uint64_t addr, uint64_t *row)
{
	const struct page_gaps *g = gaps_of(page, v);
	size_t n = g != NULL ? count_gaps(g, address_of, addr + 1) : 0;

	if (n == 0 || addr - g->gap[n - 1].addr >= g->gap[n - 1].size)
		return false;
	*row = reverse_row(page, g, row_of_gap(g, n - 1));
	return true;
}

static struct blk
gap_row(const struct page_gaps *g, size_t i, bool classic)
{
	return (struct blk){
		.addr = g->gap[i].addr,
		.size = g->gap[i].size,
		.ms = INT64_MAX,
		.flags = REC_FLAGS(REC_FREE, classic ? 0 : REC_LAYER_API),
	};
}

size_t
page_free_window(const struct page *page, const struct page_view *v,
    uint64_t at, struct blk *out, size_t n)
{
	const struct page_gaps *g = gaps_of(page, v);
	bool reverse = page_list_reverse(&page->opts);
	bool classic = v->look->classic;
	uint64_t total, low, first;
	size_t from, to, blocks, i, took = 0;

	if (v->look->list == NULL)
		return 0;
	if (g == NULL)
		return blklist_window(v->look->list,
		    page_list_order(&page->opts), reverse, at, out, n);
	total = g->key.active + g->n;
	if (at >= total)
		return 0;
	if (n > total - at)
		n = (size_t)(total - at);
	/* In ascending order these are rows low to low + n. */
	low = reverse ? total - at - n : at;
	from = count_gaps(g, row_of_gap, low);
	to = count_gaps(g, row_of_gap, low + n);
	blocks = n - (to - from);
	first = low - from;
	if (reverse)
		first = g->key.active - first - blocks;
	/* Blocks go to the end of `out`, and are merged forward. */
	if (blocks > 0 && blklist_window(v->look->list, BLKLIST_BY_ADDRESS,
	    reverse, first, out + (to - from), blocks) != blocks)
		return 0;
	for (i = 0; i < n; i++) {
		if (!reverse && from < to && row_of_gap(g, from) == low + i)
			out[i] = gap_row(g, from++, classic);
		else if (reverse && from < to &&
		    row_of_gap(g, to - 1) == low + n - 1 - i)
			out[i] = gap_row(g, --to, classic);
		else
			out[i] = out[n - blocks + took++];
	}
	return n;
}

void
page_free_sum(const struct page *page, const struct page_view *v, size_t i,
    struct page_free *out)
{
	const struct page_gaps *g = gaps_of(page, v);

	*out = (struct page_free){ 0 };
	if (g != NULL)
		*out = g->sum[i < g->key.regions ? i : WIRE_REGIONS_MAX];
}

static const char *
bytes_text(char out[16], int cols, uint64_t bytes)
{
	base_format_bytes(out, cols, bytes);
	return out + strspn(out, " ");
}

void
page_free_text(const struct page *page, const struct page_view *v, int cols,
    char *out, size_t cap)
{
	static const struct {
		const char *between;
		int digits;
	} forms[] = {
		{ ", largest ", 10 },
		{ ", largest ", 4 },
		{ " max ", 4 },
	};
	char sum[16], most[16];
	struct page_free f;
	size_t len, i;

	out[0] = '\0';
	if (!page_free_wanted(page, v->look))
		return;
	page_free_sum(page, v, v->look->regions.n, &f);
	for (i = 0; i < BASE_NELEM(forms); i++) {
		len = 0;
		base_append(out, cap, &len, "free %s%s%s",
		    bytes_text(sum, forms[i].digits, f.bytes),
		    forms[i].between,
		    bytes_text(most, forms[i].digits, f.largest));
		if (v->look->window) {
			len = 0;
			base_append(out, cap, &len, "free -");
		}
		if ((int)len <= cols)
			return;
	}
	out[0] = '\0';
}

const char *
page_free_why(const struct page *page, const struct nodes_look *look)
{
	return is_asked_for(page) ? look->regions.why : "";
}

void
page_free_sentence(const struct nodes_look *look, const struct blk *b,
    char *out, size_t cap)
{
	const struct wire_region *r = page_free_region(look, b->addr);
	char size[32];
	size_t len = 0;

	base_group_digits(size, sizeof size, b->size);
	base_append(out, cap, &len, "free: %s bytes", size);
	if (r == NULL)
		return;
	base_append(out, cap, &len, ", in %s: %s bytes from %llx",
	    r->name[0] != '\0' ? r->name : "a region",
	    base_digits(r->size).text, (unsigned long long)r->base);
}
