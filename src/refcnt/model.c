/*
 * Pages are found by leaf, an aligned group of LEAF pages, in an array by
 * address.  A leaf has a cell for each counted page.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "refcnt.h"

#define PAGE_BITS 12
#define LEAF_BITS 6
#define LEAF (1u << LEAF_BITS)		/* pages: the bits of a mask */
#define NEIGHBOUR_FLAGS (REFCNT_COARSE | REFCNT_MOVED)	/* stay with the counts */
#define PLACE_FLAGS (REFCNT_NO_PADDR | REFCNT_NOT_PRESENT | REFCNT_COARSE)

const struct refcnt_source_row refcnt_sources[REFCNT_SOURCES] = {
	[REFCNT_IMPORT] = { "import", "trace of another program", "references",
	    true, true, true },
	[REFCNT_REFS] = { "refs", "accessed bits of page tables", "epochs",
	    false, false, true },
	[REFCNT_GUARD] = { "guard", "first touch of protected pages, 15 times a second",
	    "epochs",
	    true, true, true },
	[REFCNT_WP] = { "wp", "writes to write-protected pages", "epochs",
	    false, true, false },
	[REFCNT_EXACT] = { "exact", "single steps over protected pages",
	    "references", true, true, true },
	[REFCNT_HINT] = { "hint", "faults of automatic NUMA balancing, which moves "
	    "pages", "samples", true, false, false },
};

const char *const refcnt_planes[REFCNT_PLANES] = {
	[REFCNT_HW] = "hw",
	[REFCNT_EXT] = "ext",
	[REFCNT_WIDE] = "wide",
};

/* Behind it: wide, then extended, then hardware counters of the set. */
struct cell {
	uint64_t paddr, page_size, heat, reads, writes;
	uint64_t period;	/* references since the last period's end */
	int64_t since_ms, last_ms;
	int32_t cnodeid;
	uint32_t flags;
	uint32_t due;		/* references until a pending interrupt; 0: none is */
	uint8_t source;
	bool placed;
	uint64_t wide[];
};

struct leaf {
	uint64_t no;		/* of its first page / LEAF */
	uint64_t counted;	/* a bit for each page */
	char *cells;		/* of these pages, in their order */
};

struct refcnt {
	pthread_mutex_t *lock;	/* apart, for const functions */
	struct leaf *leaf;	/* by number */
	size_t leaves, cap;
	size_t pages;
	size_t stride;		/* bytes of a cell */
	unsigned nodes, counters;
	uint32_t hw_max, threshold, latency;
	uint64_t periods;
	int64_t period_ms;
};

static uint32_t *
extended_of(const struct refcnt *r, struct cell *c)
{
	return (uint32_t *)(c->wide + r->counters);
}

static uint32_t *
hardware_of(const struct refcnt *r, struct cell *c)
{
	return extended_of(r, c) + r->counters;
}

static struct cell *
cell_at(const struct refcnt *r, const struct leaf *l, unsigned page)
{
	uint64_t before = l->counted & ((UINT64_C(1) << page) - 1);

	return (struct cell *)(l->cells +
	    (size_t)__builtin_popcountll(before) * r->stride);
}

static size_t
find_leaf(const struct refcnt *r, uint64_t no)
{
	size_t i;

	BASE_FIND_FIRST(i, r->leaves, r->leaf[i].no >= no);
	return i;
}

static struct cell *
find_cell(const struct refcnt *r, uint64_t vaddr)
{
	uint64_t page = vaddr >> PAGE_BITS;
	size_t i = find_leaf(r, page >> LEAF_BITS);

	if (i == r->leaves || r->leaf[i].no != page >> LEAF_BITS ||
	    (r->leaf[i].counted >> page % LEAF & 1) == 0)
		return NULL;
	return cell_at(r, &r->leaf[i], page % LEAF);
}

int
refcnt_new(struct refcnt **out, unsigned nodes, enum refcnt_memory memory)
{
	struct refcnt *r;

	if (nodes == 0 || nodes > REFCNT_NODES)
		return -EINVAL;
	r = calloc(1, sizeof *r);
	if (r == NULL)
		return -ENOMEM;
	r->lock = malloc(sizeof *r->lock);
	if (r->lock == NULL || pthread_mutex_init(r->lock, NULL) != 0) {
		free(r->lock);
		free(r);
		return -ENOMEM;
	}
	r->nodes = nodes;
	r->counters = nodes <= REFCNT_COUNTERS ? nodes : (nodes + 7) / 8;
	r->hw_max = nodes > 16 || memory == REFCNT_PREMIUM ? 0x7ffff : 0x7ff;
	r->threshold = r->hw_max - r->hw_max / 8;
	r->stride = sizeof(struct cell) + r->counters *
	    (sizeof(uint64_t) + 2 * sizeof(uint32_t));
	*out = r;
	return 0;
}

void
refcnt_free(struct refcnt *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->leaves; i++)
		free(r->leaf[i].cells);
	free(r->leaf);
	pthread_mutex_destroy(r->lock);
	free(r->lock);
	free(r);
}

void
refcnt_set_latency(struct refcnt *r, uint32_t references)
{
	pthread_mutex_lock(r->lock);
	r->latency = references;
	pthread_mutex_unlock(r->lock);
}

void
refcnt_sums(const struct refcnt *r, struct refcnt_sums *s)
{
	pthread_mutex_lock(r->lock);
	*s = (struct refcnt_sums){ .nodes = r->nodes, .counters = r->counters,
	    .hw_max = r->hw_max, .hw_bits = r->hw_max == 0x7ff ? 11 : 19,
	    .pages = r->pages,
	    .memory = sizeof *r + r->cap * sizeof *r->leaf +
	    r->pages * r->stride, .periods = r->periods,
	    .period_ms = r->period_ms };
	pthread_mutex_unlock(r->lock);
}

struct span {
	uint64_t first, last;
};

static int
span_of(struct span *s, uint64_t vaddr, uint64_t len)
{
	if (len == 0 || len - 1 > UINT64_MAX - vaddr)
		return -EINVAL;
	s->first = vaddr >> PAGE_BITS;
	s->last = (vaddr + (len - 1)) >> PAGE_BITS;
	return 0;
}

static uint64_t
mask_of(const struct span *s, uint64_t no)
{
	uint64_t mask = UINT64_MAX;

	if (no < s->first >> LEAF_BITS || no > s->last >> LEAF_BITS)
		return 0;
	if (no == s->first >> LEAF_BITS)
		mask &= UINT64_MAX << s->first % LEAF;
	if (no == s->last >> LEAF_BITS)
		mask &= UINT64_MAX >> (LEAF - 1 - s->last % LEAF);
	return mask;
}

/* Checks that these pages can be counted, too.  -EBUSY, -E2BIG. */
static int
check_span(const struct refcnt *r, const struct span *s,
    enum refcnt_source source)
{
	uint64_t pages = s->last - s->first + 1;

	for (size_t i = find_leaf(r, s->first >> LEAF_BITS); i < r->leaves &&
	    r->leaf[i].no <= s->last >> LEAF_BITS; i++)
		for (unsigned page = 0; page < LEAF; page++) {
			const struct leaf *l = &r->leaf[i];

			if ((l->counted & mask_of(s, l->no) &
			    UINT64_C(1) << page) == 0)
				continue;
			if (cell_at(r, l, page)->source != source)
				return -EBUSY;
			pages--;
		}
	return pages > REFCNT_PAGES_MAX - r->pages ? -E2BIG : 0;
}

static void
start_cell(struct cell *c, enum refcnt_source source, int64_t now_ms)
{
	c->source = (uint8_t)source;
	c->page_size = REFCNT_PAGE;
	c->cnodeid = -1;
	c->flags = REFCNT_NO_PADDR;
	c->since_ms = now_ms;
	c->last_ms = -1;
}

/* A leaf that has these pages too.  Without new pages it has the cells of the old one. */
static int
grow_leaf(const struct refcnt *r, struct leaf *out, const struct leaf *old,
    uint64_t mask, enum refcnt_source source, int64_t now_ms)
{
	struct leaf made = { old->no, old->counted | mask, old->cells };

	if (made.counted == old->counted) {
		*out = made;
		return 0;
	}
	made.cells = calloc((size_t)__builtin_popcountll(made.counted),
	    r->stride);
	if (made.cells == NULL)
		return -ENOMEM;
	for (unsigned page = 0; page < LEAF; page++) {
		if (old->counted >> page & 1)
			memcpy(cell_at(r, &made, page), cell_at(r, old, page),
			    r->stride);
		else if (mask >> page & 1)
			start_cell(cell_at(r, &made, page), source, now_ms);
	}
	*out = made;
	return 0;
}

/* Leaves made[0..n) take the place of those of the same numbers from leaf[at] on. */
static void
put_leaves(struct refcnt *r, size_t at, const struct leaf *made, size_t n)
{
	size_t end = at;

	for (; end < r->leaves && r->leaf[end].no <= made[n - 1].no; end++) {
		const struct leaf *l = &made[r->leaf[end].no - made[0].no];

		if (l->cells != r->leaf[end].cells)
			free(r->leaf[end].cells);
		r->pages -= (size_t)__builtin_popcountll(r->leaf[end].counted);
	}
	memmove(r->leaf + at + n, r->leaf + end,
	    (r->leaves - end) * sizeof *made);
	memcpy(r->leaf + at, made, n * sizeof *made);
	r->leaves += n - (end - at);
	for (size_t i = 0; i < n; i++)
		r->pages += (size_t)__builtin_popcountll(made[i].counted);
}

static int
enable_span(struct refcnt *r, const struct span *s, enum refcnt_source source,
    int64_t now_ms)
{
	uint64_t first = s->first >> LEAF_BITS;
	size_t at = find_leaf(r, first), old = at, done = 0;
	size_t n = (size_t)((s->last >> LEAF_BITS) - first) + 1;
	struct leaf *made = calloc(n, sizeof *made);
	void *array = r->leaf;
	int err = made == NULL ? -ENOMEM :
	    base_grow(&array, &r->cap, r->leaves + n, sizeof *made);

	r->leaf = array;
	for (; err == 0 && done < n; done += err == 0) {
		struct leaf none = { .no = first + done };
		bool is = old < r->leaves && r->leaf[old].no == none.no;

		err = grow_leaf(r, &made[done], is ? &r->leaf[old] : &none,
		    mask_of(s, none.no), source, now_ms);
		old += is;
	}
	if (err == 0) {
		put_leaves(r, at, made, n);
		done = 0;
	}
	while (done-- > 0) {
		size_t i = find_leaf(r, made[done].no);

		if (i == r->leaves || r->leaf[i].cells != made[done].cells)
			free(made[done].cells);
	}
	free(made);
	return err;
}

int
refcnt_enable(struct refcnt *r, uint64_t vaddr, uint64_t len,
    enum refcnt_source source, int64_t now_ms)
{
	struct span s;
	int err = span_of(&s, vaddr, len);

	if (err < 0 || (unsigned)source >= REFCNT_SOURCES)
		return -EINVAL;
	if (s.last - s.first >= REFCNT_PAGES_MAX)
		return -E2BIG;
	pthread_mutex_lock(r->lock);
	err = check_span(r, &s, source);
	if (err == 0)
		err = enable_span(r, &s, source, now_ms);
	pthread_mutex_unlock(r->lock);
	return err;
}

/* Takes pages from a leaf.  False: none is left. */
static bool
shrink_leaf(struct refcnt *r, struct leaf *l, uint64_t mask)
{
	struct leaf kept = { l->no, l->counted & ~mask, l->cells };

	for (unsigned page = 0; page < LEAF; page++)
		if (kept.counted >> page & 1)
			memmove(cell_at(r, &kept, page), cell_at(r, l, page),
			    r->stride);
	r->pages -= (size_t)__builtin_popcountll(l->counted & mask);
	*l = kept;
	return l->counted != 0;
}

int
refcnt_disable(struct refcnt *r, uint64_t vaddr, uint64_t len)
{
	struct span s;
	size_t from, to;

	if (span_of(&s, vaddr, len) < 0)
		return -EINVAL;
	pthread_mutex_lock(r->lock);
	from = to = find_leaf(r, s.first >> LEAF_BITS);
	for (; from < r->leaves && r->leaf[from].no <= s.last >> LEAF_BITS;
	    from++) {
		struct leaf *l = &r->leaf[from];

		if (shrink_leaf(r, l, mask_of(&s, l->no)))
			r->leaf[to++] = *l;
		else
			free(l->cells);
	}
	if (from > to)
		memmove(r->leaf + to, r->leaf + from,
		    (r->leaves - from) * sizeof *r->leaf);
	r->leaves -= from - to;
	pthread_mutex_unlock(r->lock);
	return 0;
}

bool
refcnt_counts(const struct refcnt *r, uint64_t vaddr)
{
	bool counts;

	pthread_mutex_lock(r->lock);
	counts = find_cell(r, vaddr) != NULL;
	pthread_mutex_unlock(r->lock);
	return counts;
}

uint64_t
refcnt_counted(const struct refcnt *r, uint64_t vaddr, uint64_t len)
{
	struct span s;
	uint64_t pages = 0;

	if (span_of(&s, vaddr, len) < 0)
		return 0;
	pthread_mutex_lock(r->lock);
	for (size_t i = find_leaf(r, s.first >> LEAF_BITS); i < r->leaves &&
	    r->leaf[i].no <= s.last >> LEAF_BITS; i++)
		pages += (uint64_t)__builtin_popcountll(r->leaf[i].counted &
		    mask_of(&s, r->leaf[i].no));
	pthread_mutex_unlock(r->lock);
	return pages;
}

static void
add_wide(uint64_t *n, uint64_t more)
{
	*n = more > UINT64_MAX - *n ? UINT64_MAX : *n + more;
}

static void
add_extended(uint32_t *n, uint64_t more)
{
	*n = more > UINT32_MAX - *n ? UINT32_MAX : *n + (uint32_t)more;
}

/* The interrupt: the whole set goes to the extended counters. */
static void
flush_set(const struct refcnt *r, struct cell *c)
{
	uint32_t *hw = hardware_of(r, c), *ext = extended_of(r, c);

	for (unsigned i = 0; i < r->counters; i++) {
		add_extended(&ext[i], hw[i]);
		hw[i] = 0;
	}
	c->due = 0;
}

/*
 * References to one counter, as if one by one.  After an interrupt all others
 * are 0: a cycle to the next has always one length, and gives at most what the
 * counter holds.
 */
static void
count_hardware(const struct refcnt *r, struct cell *c, unsigned i, uint64_t refs)
{
	uint32_t *hw = hardware_of(r, c);
	uint64_t cycle = (uint64_t)r->threshold + r->latency;
	uint64_t given = cycle < r->hw_max ? cycle : r->hw_max;

	while (refs > 0) {
		uint64_t step = c->due > 0 ? c->due : r->threshold - hw[i];
		uint64_t taken = refs < step ? refs : step;

		refs -= taken;
		hw[i] = taken < r->hw_max - hw[i] ?
		    hw[i] + (uint32_t)taken : r->hw_max;
		if (c->due > 0)
			c->due -= (uint32_t)taken;
		else if (taken == step)
			c->due = r->latency;
		else
			return;
		if (c->due == 0) {
			flush_set(r, c);
			add_extended(&extended_of(r, c)[i],
			    refs / cycle * given);
			refs %= cycle;
		}
	}
}

static bool
count_cell(const struct refcnt *r, struct cell *c, unsigned node,
    uint64_t reads, uint64_t writes, int64_t now_ms)
{
	unsigned i;

	if (!refcnt_sources[c->source].node)
		node = 0;
	if (node >= r->nodes)
		return false;
	i = r->nodes <= REFCNT_COUNTERS ? node : node / 8;
	count_hardware(r, c, i, reads);
	count_hardware(r, c, i, writes);
	add_wide(&c->wide[i], reads);
	add_wide(&c->wide[i], writes);
	add_wide(&c->period, reads);
	add_wide(&c->period, writes);
	add_wide(&c->reads, reads);
	add_wide(&c->writes, writes);
	if (reads > 0 || writes > 0)
		c->last_ms = now_ms;
	return true;
}

bool
refcnt_count(struct refcnt *r, uint64_t vaddr, unsigned node, uint64_t reads,
    uint64_t writes, int64_t now_ms)
{
	struct cell *c;
	bool counted;

	pthread_mutex_lock(r->lock);
	c = find_cell(r, vaddr);
	counted = c != NULL && count_cell(r, c, node, reads, writes, now_ms);
	pthread_mutex_unlock(r->lock);
	return counted;
}

static void
place_cell(struct cell *c, uint64_t paddr, uint64_t page_size, int32_t cnodeid,
    uint32_t flags)
{
	bool had_frame = (c->flags & REFCNT_NO_PADDR) == 0;
	bool has_frame = (flags & (REFCNT_NO_PADDR | REFCNT_NOT_PRESENT)) == 0;

	/* A page that is not in memory for a while keeps its last place. */
	if (c->placed && ((had_frame && has_frame && c->paddr != paddr) ||
	    (c->cnodeid >= 0 && cnodeid >= 0 && c->cnodeid != cnodeid)))
		flags |= REFCNT_MOVED;
	c->flags = (c->flags & NEIGHBOUR_FLAGS) | flags;
	if ((flags & REFCNT_NOT_PRESENT) != 0 && c->placed) {
		if (had_frame)
			c->flags &= ~(uint32_t)REFCNT_NO_PADDR;
		return;
	}
	c->paddr = flags & REFCNT_NO_PADDR ? 0 : paddr;
	c->page_size = page_size;
	c->cnodeid = cnodeid;
	c->placed = (flags & REFCNT_NOT_PRESENT) == 0;
}

void
refcnt_place(struct refcnt *r, uint64_t vaddr, uint64_t paddr,
    uint64_t page_size, int32_t cnodeid, uint32_t flags)
{
	struct cell *c;

	pthread_mutex_lock(r->lock);
	c = find_cell(r, vaddr);
	if (c != NULL)
		place_cell(c, paddr, page_size, cnodeid, flags & PLACE_FLAGS);
	pthread_mutex_unlock(r->lock);
}

void
refcnt_coarse(struct refcnt *r, uint64_t vaddr)
{
	struct cell *c;

	pthread_mutex_lock(r->lock);
	c = find_cell(r, vaddr);
	if (c != NULL)
		c->flags |= REFCNT_COARSE;
	pthread_mutex_unlock(r->lock);
}

/* 1 to 9 in proportion, rounded up. */
static unsigned
digit_of(uint64_t n, uint64_t hottest)
{
	if (n == 0)
		return 0;
	if (hottest > UINT64_MAX / 16) {
		n = n / 16 + 1;
		hottest = hottest / 16 + 1;
	}
	return (unsigned)((9 * n + hottest - 1) / hottest);
}

/* Each source has its unit, hence its own hottest page. */
static void
find_hottest(const struct refcnt *r, uint64_t hottest[REFCNT_SOURCES])
{
	for (size_t i = 0; i < r->leaves; i++) {
		int cells = __builtin_popcountll(r->leaf[i].counted);

		for (int k = 0; k < cells; k++) {
			struct cell *c = (struct cell *)(r->leaf[i].cells +
			    (size_t)k * r->stride);

			if (hottest[c->source] < c->period)
				hottest[c->source] = c->period;
		}
	}
}

void
refcnt_period(struct refcnt *r, int64_t now_ms)
{
	uint64_t hottest[REFCNT_SOURCES] = { 0 };

	pthread_mutex_lock(r->lock);
	find_hottest(r, hottest);
	for (size_t i = 0; i < r->leaves; i++) {
		int cells = __builtin_popcountll(r->leaf[i].counted);

		for (int k = 0; k < cells; k++) {
			struct cell *c = (struct cell *)(r->leaf[i].cells +
			    (size_t)k * r->stride);

			c->heat = c->heat << 4 |
			    digit_of(c->period, hottest[c->source]);
			c->period = 0;
		}
	}
	r->periods++;
	r->period_ms = now_ms;
	pthread_mutex_unlock(r->lock);
}

static void
copy_set(const struct refcnt *r, struct cell *c, enum refcnt_plane plane,
    struct refcnt_page *p)
{
	const uint32_t *narrow = plane == REFCNT_HW ? hardware_of(r, c) :
	    extended_of(r, c);
	uint64_t most = plane == REFCNT_HW ? r->hw_max :
	    plane == REFCNT_EXT ? UINT32_MAX : UINT64_MAX;

	for (unsigned i = 0; i < r->counters; i++) {
		p->counter[i] = plane == REFCNT_WIDE ? c->wide[i] : narrow[i];
		if (p->counter[i] == most)
			p->flags |= REFCNT_SATURATED;
	}
}

static void
copy_cell(const struct refcnt *r, uint64_t vaddr, struct cell *c,
    enum refcnt_plane plane, struct refcnt_page *p)
{
	const struct refcnt_source_row *source = &refcnt_sources[c->source];

	*p = (struct refcnt_page){ .vaddr = vaddr, .paddr = c->paddr,
	    .page_size = c->page_size, .heat = c->heat, .reads = c->reads,
	    .writes = c->writes, .since_ms = c->since_ms,
	    .last_ms = c->last_ms, .cnodeid = c->cnodeid,
	    .flags = c->flags | REFCNT_VALID,
	    .counters = (uint8_t)r->counters, .source = c->source };
	if (strcmp(source->unit, "references") != 0)
		p->flags |= REFCNT_SAMPLED;
	if (r->nodes > REFCNT_COUNTERS)
		p->flags |= REFCNT_GROUPED;
	if (!source->node)
		p->flags |= REFCNT_NO_NODE;
	copy_set(r, c, plane, p);
}

bool
refcnt_page(const struct refcnt *r, uint64_t vaddr, enum refcnt_plane plane,
    struct refcnt_page *p)
{
	struct cell *c;

	vaddr &= ~(uint64_t)(REFCNT_PAGE - 1);
	pthread_mutex_lock(r->lock);
	c = find_cell(r, vaddr);
	if (c != NULL)
		copy_cell(r, vaddr, c, plane, p);
	else
		*p = (struct refcnt_page){ .vaddr = vaddr,
		    .page_size = REFCNT_PAGE, .last_ms = -1, .cnodeid = -1,
		    .flags = REFCNT_NO_PADDR,
		    .counters = (uint8_t)r->counters };
	pthread_mutex_unlock(r->lock);
	return c != NULL;
}

size_t
refcnt_read_planes(const struct refcnt *r, uint64_t from, uint64_t to,
    struct refcnt_page *const page[REFCNT_PLANES], size_t max)
{
	struct span s;
	size_t n = 0;

	if (from >= to || span_of(&s, from, to - from) < 0)
		return 0;
	pthread_mutex_lock(r->lock);
	for (size_t i = find_leaf(r, s.first >> LEAF_BITS); i < r->leaves; i++) {
		const struct leaf *l = &r->leaf[i];
		uint64_t mask = l->counted & mask_of(&s, l->no);

		if (l->no > s.last >> LEAF_BITS || n == max)
			break;
		for (; mask != 0 && n < max; mask &= mask - 1, n++) {
			unsigned k = (unsigned)__builtin_ctzll(mask);

			for (int p = 0; p < REFCNT_PLANES; p++)
				if (page[p] != NULL)
					copy_cell(r, (l->no << LEAF_BITS | k) <<
					    PAGE_BITS, cell_at(r, l, k),
					    (enum refcnt_plane)p, &page[p][n]);
		}
	}
	pthread_mutex_unlock(r->lock);
	return n;
}

size_t
refcnt_read(const struct refcnt *r, uint64_t from, uint64_t to,
    enum refcnt_plane plane, struct refcnt_page *page, size_t max)
{
	struct refcnt_page *planes[REFCNT_PLANES] = { NULL };

	planes[plane] = page;
	return refcnt_read_planes(r, from, to, planes, max);
}

size_t
refcnt_ranges(const struct refcnt *r, struct refcnt_range *range, size_t max)
{
	struct refcnt_range last = { 0 };
	size_t n = 0;

	pthread_mutex_lock(r->lock);
	for (size_t i = 0; i < r->leaves; i++)
		for (uint64_t mask = r->leaf[i].counted; mask != 0;
		    mask &= mask - 1) {
			unsigned k = (unsigned)__builtin_ctzll(mask);
			const struct cell *c = cell_at(r, &r->leaf[i], k);
			uint64_t at = (r->leaf[i].no << LEAF_BITS | k) <<
			    PAGE_BITS;

			if (n > 0 && last.vaddr + last.len == at &&
			    last.source == c->source) {
				last.len += REFCNT_PAGE;
				if (last.since_ms < c->since_ms)
					last.since_ms = c->since_ms;
			} else {
				last = (struct refcnt_range){ at, REFCNT_PAGE,
				    c->source, c->since_ms };
				n++;
			}
			if (n <= max)
				range[n - 1] = last;
		}
	pthread_mutex_unlock(r->lock);
	return n;
}

bool
refcnt_has(const struct refcnt *r, enum refcnt_source source)
{
	bool has = false;

	pthread_mutex_lock(r->lock);
	for (size_t i = 0; i < r->leaves && !has; i++)
		for (uint64_t mask = r->leaf[i].counted; mask != 0 && !has;
		    mask &= mask - 1)
			has = cell_at(r, &r->leaf[i],
			    (unsigned)__builtin_ctzll(mask))->source == source;
	pthread_mutex_unlock(r->lock);
	return has;
}

size_t
refcnt_spans(const struct refcnt *r)
{
	size_t n = 0;

	pthread_mutex_lock(r->lock);
	for (size_t i = 0; i < r->leaves; i++) {
		const struct leaf *l = &r->leaf[i];
		bool goes_on = i > 0 && l[-1].no + 1 == l->no &&
		    l[-1].counted >> (LEAF - 1) != 0;

		n += (size_t)__builtin_popcountll(l->counted &
		    ~(l->counted << 1 | goes_on));
	}
	pthread_mutex_unlock(r->lock);
	return n;
}

#define COUNTERS_AT REFCNT_ROW_SIZE(0)

void
refcnt_row_put(uint8_t *out, const struct refcnt_page *p)
{
	const uint64_t n[] = { p->vaddr, p->paddr, p->page_size, p->heat,
		p->reads, p->writes, (uint64_t)p->since_ms,
		(uint64_t)p->last_ms };

	for (size_t i = 0; i < BASE_NELEM(n); i++)
		base_put_le(out + 8 * i, n[i], 8);
	base_put_le(out + 64, (uint32_t)p->cnodeid, 4);
	base_put_le(out + 68, p->flags, 4);
	out[72] = p->counters;
	out[73] = p->source;
	for (size_t i = 0; i < p->counters; i++)
		base_put_le(out + COUNTERS_AT + 8 * i, p->counter[i], 8);
}

int
refcnt_row_get(struct refcnt_page *p, const uint8_t *in, unsigned counters)
{
	if (in[72] != counters || counters > REFCNT_COUNTERS ||
	    in[73] >= REFCNT_SOURCES)
		return -EINVAL;
	*p = (struct refcnt_page){
		.vaddr = base_get_le(in, 8), .paddr = base_get_le(in + 8, 8),
		.page_size = base_get_le(in + 16, 8),
		.heat = base_get_le(in + 24, 8),
		.reads = base_get_le(in + 32, 8),
		.writes = base_get_le(in + 40, 8),
		.since_ms = (int64_t)base_get_le(in + 48, 8),
		.last_ms = (int64_t)base_get_le(in + 56, 8),
		.cnodeid = (int32_t)base_get_le(in + 64, 4),
		.flags = (uint32_t)base_get_le(in + 68, 4),
		.counters = in[72], .source = in[73],
	};
	for (size_t i = 0; i < counters; i++)
		p->counter[i] = base_get_le(in + COUNTERS_AT + 8 * i, 8);
	return 0;
}
