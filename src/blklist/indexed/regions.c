#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "regions.h"

/* Most machines have the instruction; each call counts hundreds of words. */
static inline __attribute__((always_inline)) uint32_t
select_in(const uint64_t *w, uint32_t k)
{
	uint32_t i, n;
	uint64_t rest;

	for (i = 0; k >= (n = (uint32_t)__builtin_popcountll(w[i])); i++)
		k -= n;
	for (rest = w[i]; k > 0; k--)
		rest &= rest - 1;
	return i * 64 + (uint32_t)__builtin_ctzll(rest);
}

static inline __attribute__((always_inline)) uint32_t
rank_in(const uint64_t *w, uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < end / 64; i++)
		n += (uint32_t)__builtin_popcountll(w[i]);
	if (end % 64 != 0)
		n += (uint32_t)__builtin_popcountll(w[end / 64] &
		    ((UINT64_C(1) << end % 64) - 1));
	return n;
}

#ifdef __x86_64__

__attribute__((target("popcnt"))) static uint32_t
select_popcnt(const uint64_t *w, uint32_t k)
{
	return select_in(w, k);
}

__attribute__((target("popcnt"))) static uint32_t
rank_popcnt(const uint64_t *w, uint32_t end)
{
	return rank_in(w, end);
}

#define HAVE_POPCNT __builtin_cpu_supports("popcnt")
#else
#define HAVE_POPCNT 0
#define select_popcnt select_in
#define rank_popcnt rank_in
#endif

uint32_t
bits_select(const uint64_t *w, uint32_t k)
{
	return HAVE_POPCNT ? select_popcnt(w, k) : select_in(w, k);
}

uint32_t
bits_rank(const uint64_t *w, uint32_t end)
{
	return HAVE_POPCNT ? rank_popcnt(w, end) : rank_in(w, end);
}

#define GRANULE_COARSE 4

#define TOPS_BYTES (TOP_MIDDLES * (sizeof(struct middle *) + sizeof(uint32_t)))

/* The first bitmaps and regions are kept even if they become empty. */
#define BITMAPS_FREE 16
#define REGIONS_KEPT 64

static size_t
bitmap_bytes(unsigned granule)
{
	return (size_t)(REGION_BYTES >> granule) / 8;
}

/* Offsets that a vector takes; large blocks never need a bitmap. */
static uint32_t
vector_limit(unsigned granule)
{
	return granule == GRANULE_COARSE ? 32 : granule == 3 ? 64 : 512;
}

static unsigned
granule_for(uint32_t offset)
{
	return offset % 16 == 0 ? GRANULE_COARSE : offset % 8 == 0 ? 3 : 0;
}

static uint64_t *
bitmap_new(struct regions *g, unsigned granule)
{
	uint64_t *bits;

	if (granule == GRANULE_COARSE && g->nspare > 0)
		bits = g->spare[--g->nspare];
	else
		bits = calloc(1, bitmap_bytes(granule));
	if (bits == NULL)
		return NULL;
	g->nbitmaps++;
	g->bytes += bitmap_bytes(granule);
	return bits;
}

/* `zero`: all bits are 0. */
static void
bitmap_free(struct regions *g, uint64_t *bits, unsigned granule, bool zero)
{
	g->nbitmaps--;
	g->bytes -= bitmap_bytes(granule);
	if (granule == GRANULE_COARSE && g->nspare < REGIONS_SPARE && zero)
		g->spare[g->nspare++] = bits;
	else
		free(bits);
}

static void
set_tight(struct regions *g)
{
	g->tight = g->nbitmaps > BITMAPS_FREE || g->nregions > REGIONS_KEPT;
}

int
regions_init(struct regions *g)
{
	*g = (struct regions){ .middle = list_map(TOPS_BYTES) };
	if (g->middle == NULL)
		return -ENOMEM;
	g->count = (uint32_t *)(g->middle + TOP_MIDDLES);
	return 0;
}

static void
region_free(struct regions *g, struct region *r, bool zero)
{
	if (r->is_bits)
		bitmap_free(g, r->bits, r->granule, zero);
	else {
		g->bytes -= r->cap * sizeof(*r->vec);
		free(r->vec);
	}
	g->bytes -= sizeof(*r);
	g->nregions--;
	free(r);
}

static void
widen(uint32_t *from, uint32_t *end, uint32_t at)
{
	if (*from == *end) {
		*from = at;
		*end = at + 1;
	} else if (at < *from) {
		*from = at;
	} else if (at >= *end) {
		*end = at + 1;
	}
}

static void
middle_free(struct regions *g, struct middle *m)
{
	for (unsigned i = m->from; i < m->end; i++)
		if (m->region[i] != NULL)
			region_free(g, m->region[i], m->count[i] == 0);
	list_unmap(m, sizeof(*m));
	g->nmiddles--;
}

void
regions_clear(struct regions *g)
{
	for (unsigned t = g->top_from; t < g->top_end; t++)
		if (g->middle[t] != NULL) {
			middle_free(g, g->middle[t]);
			g->middle[t] = NULL;
			g->count[t] = 0;
		}
	g->top_from = g->top_end = 0;
	while (g->nspare > 0)
		free(g->spare[--g->nspare]);
	set_tight(g);
}

void
regions_fini(struct regions *g)
{
	if (g->middle == NULL)
		return;
	regions_clear(g);
	list_unmap(g->middle, TOPS_BYTES);
}

size_t
regions_memory(const struct regions *g)
{
	return g->bytes + g->nmiddles * sizeof(struct middle) +
	    g->nspare * bitmap_bytes(GRANULE_COARSE) +
	    (g->top_end - g->top_from) * (sizeof(*g->middle) + sizeof(*g->count));
}

static void
region_set(struct region *r, uint32_t offset)
{
	uint32_t bit = offset >> r->granule;

	r->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
	r->part[offset >> REGION_PART_SHIFT]++;
}

/* A bitmap's first offset that is at least `offset`; REGION_BYTES: none. */
static uint32_t
bitmap_next(const struct region *r, uint32_t offset)
{
	uint32_t bit = (offset + (1u << r->granule) - 1) >> r->granule;
	uint32_t end = REGION_BYTES >> r->granule, word = bit >> 6;
	uint64_t w;

	if (bit >= end)
		return REGION_BYTES;
	w = r->bits[word] & ~UINT64_C(0) << (bit & 63);
	while (w == 0)
		if (++word == end >> 6)
			return REGION_BYTES;
		else
			w = r->bits[word];
	return (word * 64 + (uint32_t)__builtin_ctzll(w)) << r->granule;
}

/* Index of the first offset of a vector of n that is at least `offset`. */
static uint32_t
vector_find(const struct region *r, uint32_t n, uint32_t offset)
{
	uint32_t low = 0;

	while (low < n) {
		uint32_t half = low + (n - low) / 2;

		if (r->vec[half] < offset)
			low = half + 1;
		else
			n = half;
	}
	return low;
}

static int
to_bitmap(struct regions *g, struct region *r, uint32_t n, unsigned granule)
{
	struct region was = *r;
	uint64_t *bits = bitmap_new(g, granule);

	if (bits == NULL)
		return -ENOMEM;
	r->bits = bits;
	r->granule = (uint8_t)granule;
	r->is_bits = true;
	r->cap = 0;
	memset(r->part, 0, sizeof(r->part));
	if (was.is_bits) {
		for (uint32_t o = bitmap_next(&was, 0); o != REGION_BYTES;
		    o = bitmap_next(&was, o + 1))
			region_set(r, o);
		bitmap_free(g, was.bits, was.granule, false);
	} else {
		for (uint32_t i = 0; i < n; i++)
			region_set(r, was.vec[i]);
		g->bytes -= was.cap * sizeof(*was.vec);
		free(was.vec);
	}
	set_tight(g);
	return 0;
}

static int
vector_grow(struct regions *g, struct region *r, uint32_t n)
{
	uint32_t cap = r->cap < 4 ? 4 : r->cap * 2, *vec;

	if (n < r->cap)
		return 0;
	vec = realloc(r->vec, cap * sizeof(*vec));
	if (vec == NULL)
		return -ENOMEM;
	g->bytes += (cap - r->cap) * sizeof(*vec);
	r->vec = vec;
	r->cap = cap;
	return 0;
}

static void
to_vector(struct regions *g, struct region *r)
{
	struct region was = *r;
	uint32_t n = 0, *vec = malloc(REGION_FEW * sizeof(*vec));

	if (vec == NULL)
		return;
	for (uint32_t o = bitmap_next(&was, 0); o != REGION_BYTES;
	    o = bitmap_next(&was, o + 1))
		vec[n++] = o;
	for (uint32_t i = 0; i < n; i++)
		was.bits[vec[i] >> was.granule >> 6] = 0;
	r->vec = vec;
	r->cap = REGION_FEW;
	r->is_bits = false;
	g->bytes += REGION_FEW * sizeof(*vec);
	bitmap_free(g, was.bits, was.granule, true);
	set_tight(g);
}

static int
vector_add(struct regions *g, struct region *r, uint32_t n, uint32_t offset)
{
	uint32_t at;
	int err;

	if (granule_for(offset) < r->granule)
		r->granule = (uint8_t)granule_for(offset);
	if (n >= vector_limit(r->granule) ||
	    (r->granule == GRANULE_COARSE && g->nbitmaps < BITMAPS_FREE)) {
		if (to_bitmap(g, r, n, r->granule) == 0) {
			region_set(r, offset);
			return 0;
		}
	}
	err = vector_grow(g, r, n);
	if (err != 0)
		return err;
	at = vector_find(r, n, offset);
	memmove(&r->vec[at + 1], &r->vec[at], (n - at) * sizeof(*r->vec));
	r->vec[at] = offset;
	return 0;
}

static int
region_add(struct regions *g, struct region *r, uint32_t n, uint32_t offset)
{
	int err;

	if (!r->is_bits)
		return vector_add(g, r, n, offset);
	if (granule_for(offset) < r->granule) {
		err = to_bitmap(g, r, n, granule_for(offset));
		if (err != 0)
			return err;
	}
	region_set(r, offset);
	return 0;
}

int
regions_add_slow(struct regions *g, uint64_t key)
{
	unsigned top = regions_top(key), mid = regions_mid(key);
	struct middle *m = g->middle[top];
	struct region *r;
	int err;

	if (m == NULL) {
		m = list_map(sizeof(*m));
		if (m == NULL)
			return -ENOMEM;
		/* Written first: see zeros_map(). */
		m->region[mid] = NULL;
		m->count[mid] = 0;
		g->middle[top] = m;
		g->nmiddles++;
		widen(&g->top_from, &g->top_end, top);
	}
	r = m->region[mid];
	if (r == NULL) {
		r = calloc(1, sizeof(*r));
		if (r == NULL)
			return -ENOMEM;
		r->granule = GRANULE_COARSE;
		m->region[mid] = r;
		widen(&m->from, &m->end, mid);
		g->nregions++;
		g->bytes += sizeof(*r);
		set_tight(g);
	}
	err = region_add(g, r, m->count[mid], regions_offset(key));
	if (err != 0)
		return err;
	m->count[mid]++;
	g->count[top]++;
	return 0;
}

void
regions_del_slow(struct regions *g, uint64_t key)
{
	unsigned top = regions_top(key), mid = regions_mid(key);
	struct middle *m = g->middle[top];
	struct region *r = m->region[mid];
	uint32_t n = m->count[mid];
	uint32_t at = vector_find(r, n, regions_offset(key));

	assert(at < n && r->vec[at] == regions_offset(key));
	memmove(&r->vec[at], &r->vec[at + 1],
	    (n - at - 1) * sizeof(*r->vec));
	m->count[mid]--;
	g->count[top]--;
	if (n == 1 && g->tight)
		regions_shrink(g, key);
}

/* The key's region has few blocks now, or none: makes it small, or frees it. */
void
regions_shrink(struct regions *g, uint64_t key)
{
	unsigned top = regions_top(key), mid = regions_mid(key);
	struct middle *m = g->middle[top];
	struct region *r = m->region[mid];

	if (m->count[mid] > 0) {
		if (r->is_bits && g->nbitmaps > BITMAPS_FREE)
			to_vector(g, r);
		return;
	}
	if (g->nregions <= REGIONS_KEPT && !(r->is_bits &&
	    g->nbitmaps > BITMAPS_FREE))
		return;
	region_free(g, r, true);
	m->region[mid] = NULL;
	if (g->count[top] == 0) {
		middle_free(g, m);
		g->middle[top] = NULL;
	}
	set_tight(g);
}

static uint64_t
key_at(unsigned top, unsigned mid, uint32_t offset)
{
	return (uint64_t)(top >> TOP_SHIFT) << LIST_LAYER_BIT |
	    (uint64_t)(top & (TOP_MIDDLES / 2 - 1)) <<
	    (REGION_SHIFT + MIDDLE_SHIFT) |
	    (uint64_t)mid << REGION_SHIFT | offset;
}

static uint32_t
region_next(const struct region *r, uint32_t n, uint32_t offset)
{
	uint32_t at;

	if (n == 0)
		return REGION_BYTES;
	if (r->is_bits)
		return bitmap_next(r, offset);
	at = vector_find(r, n, offset);
	return at < n ? r->vec[at] : REGION_BYTES;
}

bool
regions_next(const struct regions *g, uint64_t key, uint64_t *found)
{
	unsigned top = regions_top(key), mid = regions_mid(key);
	uint32_t offset = regions_offset(key);

	if (top < g->top_from) {
		top = g->top_from;
		mid = offset = 0;
	}
	for (; top < g->top_end; top++) {
		const struct middle *m = g->middle[top];

		if (m != NULL && g->count[top] > 0)
			for (; mid < m->end; mid++, offset = 0) {
				uint32_t o;

				if (m->count[mid] == 0)
					continue;
				o = region_next(m->region[mid], m->count[mid],
				    offset);
				if (o != REGION_BYTES) {
					*found = key_at(top, mid, o);
					return true;
				}
			}
		mid = 0;
		offset = 0;
	}
	return false;
}

/* The index where the sum of counts exceeds *k; *k gets the remainder. */
static unsigned
count_select(const uint32_t *count, uint32_t *k)
{
	unsigned i = 0;
	uint32_t sum;

	for (;; i += 64) {
		sum = 0;
		for (unsigned j = 0; j < 64; j++)
			sum += count[i + j];
		if (*k < sum)
			break;
		*k -= sum;
	}
	for (; *k >= count[i]; i++)
		*k -= count[i];
	return i;
}

static uint32_t
count_before(const uint32_t *count, unsigned end)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < end; i++)
		sum += count[i];
	return sum;
}

static size_t
part_words(const struct region *r)
{
	return (1u << REGION_PART_SHIFT >> r->granule) / 64;
}

uint64_t
regions_select(const struct regions *g, uint32_t k)
{
	unsigned top = count_select(g->count, &k);
	const struct middle *m = g->middle[top];
	unsigned mid = count_select(m->count, &k);
	const struct region *r = m->region[mid];
	uint32_t part = 0;

	if (!r->is_bits)
		return key_at(top, mid, r->vec[k]);
	while (k >= r->part[part])
		k -= r->part[part++];
	return key_at(top, mid, (part << REGION_PART_SHIFT) +
	    (bits_select(r->bits + part * part_words(r), k) << r->granule));
}

uint32_t
regions_rank(const struct regions *g, uint64_t key)
{
	unsigned top = regions_top(key), mid = regions_mid(key);
	const struct middle *m = g->middle[top];
	const struct region *r = m->region[mid];
	uint32_t offset = regions_offset(key);
	uint32_t part = offset >> REGION_PART_SHIFT, rank, in_part;

	rank = count_before(g->count, top) + count_before(m->count, mid);
	if (!r->is_bits)
		return rank + vector_find(r, m->count[mid], offset);
	in_part = offset & ((1u << REGION_PART_SHIFT) - 1);
	return rank + count_before(r->part, part) +
	    bits_rank(r->bits + part * part_words(r), in_part >> r->granule);
}

static const char *
region_check(const struct region *r, uint32_t n)
{
	if (r == NULL)
		return n == 0 ? NULL : "a region that is counted is missing";
	if (!r->is_bits) {
		for (uint32_t i = 1; i < n; i++)
			if (r->vec[i] <= r->vec[i - 1])
				return "a region's vector is not ascending";
		return n <= r->cap ? NULL : "a region's vector is too short";
	}
	for (unsigned p = 0; p < REGION_PARTS; p++)
		if (bits_rank(r->bits + p * part_words(r),
		    (uint32_t)part_words(r) * 64) != r->part[p])
			return "a region's part is miscounted";
	return count_before(r->part, REGION_PARTS) == n ? NULL :
	    "a region is miscounted";
}

const char *
regions_check(const struct regions *g)
{
	uint32_t nregions = 0, nbitmaps = 0;
	const char *bad;

	for (unsigned t = 0; t < TOP_MIDDLES; t++) {
		const struct middle *m = g->middle[t];

		if (m == NULL) {
			if (g->count[t] != 0)
				return "a middle that is counted is missing";
			continue;
		}
		if (t < g->top_from || t >= g->top_end)
			return "a middle lies beyond its range";
		for (unsigned i = 0; i < MIDDLE_REGIONS; i++) {
			bad = region_check(m->region[i], m->count[i]);
			if (bad != NULL)
				return bad;
			if (m->region[i] == NULL)
				continue;
			if (i < m->from || i >= m->end)
				return "a region lies beyond its range";
			nregions++;
			nbitmaps += m->region[i]->is_bits;
		}
		if (count_before(m->count, MIDDLE_REGIONS) != g->count[t])
			return "a middle is miscounted";
	}
	if (nregions != g->nregions || nbitmaps != g->nbitmaps)
		return "regions are miscounted";
	return NULL;
}
