/*
 * regions: the order of address.
 *
 * Vocabulary
 *	region		2 MiB of a layer's addresses, and which of them are
 *			blocks': a bitmap or, for few, a sorted vector of
 *			offsets.
 *	granule		bytes of one bit of a bitmap: 16; 8 or 1 once an address
 *			needs it.
 *	middle		the table of the 8,192 regions of 16 GiB, with the
 *			number of blocks in each.
 *	top		the table of all middles, layer 1 after layer 0, with
 *			the number of blocks in each.
 *
 * The counts of both tables and of 32 parts of each region find the k-th
 * address without reading most regions.
 */
#ifndef BLKLIST_REGIONS_H
#define BLKLIST_REGIONS_H

#include "../list.h"

#define REGION_SHIFT 21
#define REGION_BYTES (UINT32_C(1) << REGION_SHIFT)
#define REGION_PART_SHIFT 16
#define REGION_PARTS (1u << (REGION_SHIFT - REGION_PART_SHIFT))
#define MIDDLE_SHIFT 13
#define MIDDLE_REGIONS (1u << MIDDLE_SHIFT)
#define TOP_SHIFT (REC_ADDR_BITS - REGION_SHIFT - MIDDLE_SHIFT)
#define TOP_MIDDLES (2u << TOP_SHIFT)

/* A bitmap with no more blocks than this may become a vector again. */
#define REGION_FEW 8

struct region {
	union {
		uint64_t *bits;
		uint32_t *vec;		/* offsets, ascending */
	};
	uint32_t cap;			/* of vec */
	uint8_t granule;		/* log2 of its bytes: 4, 3 or 0 */
	bool is_bits;
	uint32_t part[REGION_PARTS];	/* set bits of each */
};

/* Only [from, end) is read: the rest has no memory yet. */
struct middle {
	uint32_t from, end;		/* all regions are in this range */
	uint32_t count[MIDDLE_REGIONS];
	struct region *region[MIDDLE_REGIONS];
};

#define REGIONS_SPARE 16

struct regions {
	struct middle **middle;		/* TOP_MIDDLES of them */
	uint32_t *count;		/* of blocks in each */
	uint32_t top_from, top_end;	/* all middles are in this range */
	uint32_t nmiddles, nregions, nbitmaps;
	bool tight;			/* there are so many that empty ones are freed */
	size_t bytes;			/* of regions, their bitmaps and vectors */
	uint64_t *spare[REGIONS_SPARE];	/* zeroed bitmaps of the coarse granule */
	unsigned nspare;
};

int regions_init(struct regions *);
void regions_fini(struct regions *);
void regions_clear(struct regions *);
size_t regions_memory(const struct regions *);

int regions_add_slow(struct regions *, uint64_t key);
void regions_del_slow(struct regions *, uint64_t key);
void regions_shrink(struct regions *, uint64_t key);

/* The lowest key that is at least `key`; false if there is none. */
bool regions_next(const struct regions *, uint64_t key, uint64_t *found);
/* The k-th lowest key; there is one. */
uint64_t regions_select(const struct regions *, uint32_t k);
/* How many keys are lower than this one, which is there. */
uint32_t regions_rank(const struct regions *, uint64_t key);
/* Checks all counts: NULL, or a sentence. */
const char *regions_check(const struct regions *);

static inline unsigned
regions_top(uint64_t key)
{
	return (unsigned)(key >> (REGION_SHIFT + MIDDLE_SHIFT) &
	    (TOP_MIDDLES / 2 - 1)) |
	    (unsigned)(key >> LIST_LAYER_BIT & 1) << TOP_SHIFT;
}

static inline unsigned
regions_mid(uint64_t key)
{
	return (unsigned)(key >> REGION_SHIFT) & (MIDDLE_REGIONS - 1);
}

static inline uint32_t
regions_offset(uint64_t key)
{
	return (uint32_t)key & (REGION_BYTES - 1);
}

static inline bool
region_takes(const struct region *r, uint32_t offset)
{
	return r != NULL && r->is_bits &&
	    (offset & ((1u << r->granule) - 1)) == 0;
}

/* The key is not there yet.  0 or -ENOMEM. */
static inline int
regions_add(struct regions *g, uint64_t key)
{
	unsigned top = regions_top(key), mid = regions_mid(key);
	uint32_t offset = regions_offset(key), bit;
	struct middle *m = g->middle[top];
	struct region *r;

	if (__builtin_expect(m == NULL, 0))
		return regions_add_slow(g, key);
	r = m->region[mid];
	if (__builtin_expect(!region_takes(r, offset), 0))
		return regions_add_slow(g, key);
	bit = offset >> r->granule;
	r->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
	r->part[offset >> REGION_PART_SHIFT]++;
	m->count[mid]++;
	g->count[top]++;
	return 0;
}

/* The key is there. */
static inline void
regions_del(struct regions *g, uint64_t key)
{
	unsigned top = regions_top(key), mid = regions_mid(key);
	uint32_t offset = regions_offset(key), bit;
	struct middle *m = g->middle[top];
	struct region *r = m->region[mid];

	if (__builtin_expect(!r->is_bits, 0)) {
		regions_del_slow(g, key);
		return;
	}
	bit = offset >> r->granule;
	r->bits[bit >> 6] &= ~(UINT64_C(1) << (bit & 63));
	r->part[offset >> REGION_PART_SHIFT]--;
	g->count[top]--;
	if (__builtin_expect(--m->count[mid] <= REGION_FEW && g->tight, 0))
		regions_shrink(g, key);
}

/* False if the key is not there; true if it is or may be. */
static inline bool
regions_may_have(const struct regions *g, uint64_t key)
{
	const struct middle *m = g->middle[regions_top(key)];
	const struct region *r;
	uint32_t bit;

	if (__builtin_expect(m == NULL, 0))
		return false;
	r = m->region[regions_mid(key)];
	if (__builtin_expect(r == NULL, 0))
		return false;
	if (__builtin_expect(!r->is_bits, 0))
		return true;
	bit = regions_offset(key) >> r->granule;
	return r->bits[bit >> 6] >> (bit & 63) & 1;
}

static inline __attribute__((always_inline)) void
regions_prefetch(const struct regions *g, uint64_t key)
{
	const struct middle *m = g->middle[regions_top(key)];
	const struct region *r;

	if (m == NULL)
		return;
	r = m->region[regions_mid(key)];
	if (r == NULL || !r->is_bits)
		return;
	__builtin_prefetch(&r->bits[regions_offset(key) >> r->granule >> 6], 1);
}

/* Position of the k-th set bit, from 0; there is one. */
uint32_t bits_select(const uint64_t *, uint32_t k);
/* Set bits in [0, end). */
uint32_t bits_rank(const uint64_t *, uint32_t end);

#endif
