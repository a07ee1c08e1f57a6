/*
 * Segments of the two regions.
 *
 * A region has units of 8 bytes, and a header is one unit: every remainder of a
 * cut is a segment, perhaps of no bytes.  Two bits for each unit, beside the
 * region, say whether a segment begins there and whether it is a block.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/base.h"
#include "allocp.h"

/*
 * Addresses below 4 GiB fit a classic record.  MAP_32BIT is x86-64's alone.
 * Elsewhere places are tried in turn: MAP_FIXED_NOREPLACE takes none that is in
 * use, and an older kernel takes the address as a hint, so the result is
 * checked.
 */

#define BELOW_LIMIT (UINT64_C(1) << 32)
/* Above the null page and the usual place of programs. */
#define BELOW_FIRST UINT64_C(0x10000000)
#define BELOW_STEP UINT64_C(0x01000000)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

static void *
map_below_at(uint64_t hint, size_t bytes, int flags)
{
	void *p = mmap((void *)(uintptr_t)hint, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if ((uint64_t)(uintptr_t)p + bytes < BELOW_LIMIT)
		return p;
	munmap(p, bytes);
	return NULL;
}

/* Zeroed pages below 4 GiB, for munmap(), or NULL. */
static void *
below_map(size_t bytes)
{
	void *p;

#ifdef MAP_32BIT
	p = map_below_at(0, bytes, MAP_32BIT);
#else
	/* Every address of a 32-bit process. */
	p = map_below_at(0, bytes, 0);
#endif
	for (uint64_t at = BELOW_FIRST; p == NULL && at + bytes < BELOW_LIMIT;
	    at += BELOW_STEP)
		p = map_below_at(at, bytes, MAP_FIXED_NOREPLACE);
	return p;
}

#define UNIT ALLOCP_ALIGN
#define UNITS_MAX (ALLOCP_REGION_MAX / UNIT)
#define WORD 64

/* High nibble of a mark, as in rFlag; the low one is a block's slack. */
#define MARK_BLOCK 0xa0
#define MARK_FREE 0xf0

struct header {
	uint16_t units;			/* of the segment, this one included, less 1 */
	uint8_t type;
	uint8_t mark;
	uint32_t check;			/* over the rest and the place */
};

_Static_assert(sizeof(struct header) == ALLOCP_HEAD &&
    ALLOCP_HEAD == UNIT, "a header is one unit");
_Static_assert(UNITS_MAX - 1 <= UINT16_MAX, "a segment's length fits");

struct region {
	uint8_t *base;
	uint32_t units;
	uint64_t begins[UNITS_MAX / WORD];
	uint64_t given[UNITS_MAX / WORD];
};

struct allocp {
	struct region region[ALLOCP_REGIONS];
	allocp_told_cb told;
	void *arg;
	struct allocp_counts counts;
};

static bool
has_bit(const uint64_t *bits, uint32_t at)
{
	return (bits[at / WORD] >> at % WORD & 1) != 0;
}

static void
set_bit(uint64_t *bits, uint32_t at)
{
	bits[at / WORD] |= UINT64_C(1) << at % WORD;
}

static void
clear_bit(uint64_t *bits, uint32_t at)
{
	bits[at / WORD] &= ~(UINT64_C(1) << at % WORD);
}

static uint32_t
end_of(const struct region *r, uint32_t at)
{
	uint64_t word;
	uint32_t w;

	at++;
	for (w = at / WORD; w * WORD < r->units; w++) {
		word = r->begins[w];
		if (w == at / WORD)
			word &= UINT64_MAX << at % WORD;
		if (word != 0)
			return w * WORD + (uint32_t)__builtin_ctzll(word);
	}
	return r->units;
}

static uint32_t
segment_before(const struct region *r, uint32_t at)
{
	do
		at--;
	while (!has_bit(r->begins, at));
	return at;
}

static uint32_t
address(const struct region *r, uint32_t at)
{
	return (uint32_t)(uintptr_t)(r->base + (size_t)at * UNIT);
}

static struct header *
header(const struct region *r, uint32_t at)
{
	return (struct header *)(void *)(r->base + (size_t)at * UNIT);
}

/* Detects accidental writes, not attacks. */
static uint32_t
checksum(const struct region *r, uint32_t at, const struct header *h)
{
	uint64_t v = (uint64_t)address(r, at) << 32 |
	    (uint32_t)h->units << 16 | (uint32_t)h->type << 8 | h->mark;

	return (uint32_t)(v * UINT64_C(0x9e3779b97f4a7c15) >> 32) ^
	    UINT32_C(0xa110c909);
}

static void
write_header(struct region *r, uint32_t at, uint32_t end, uint8_t mark,
    uint8_t type)
{
	struct header h = { .units = (uint16_t)(end - at - 1), .type = type,
		.mark = mark };

	h.check = checksum(r, at, &h);
	*header(r, at) = h;
}

static bool
is_sound(const struct region *r, uint32_t at, uint32_t end)
{
	const struct header *h = header(r, at);

	return h->check == checksum(r, at, h) && h->units == end - at - 1 &&
	    (h->mark & 0xf0) == (has_bit(r->given, at) ? MARK_BLOCK : MARK_FREE);
}

/* Repairs a header before it is used. */
static void
repair_header(struct allocp *a, struct region *r, uint32_t at, uint32_t end)
{
	if (is_sound(r, at, end))
		return;
	a->counts.damaged++;
	if (has_bit(r->given, at))
		write_header(r, at, end, MARK_BLOCK, ALLOCP_LOST);
	else
		write_header(r, at, end, MARK_FREE, 0);
}

static size_t
bytes_of(const struct header *h)
{
	return (size_t)h->units * UNIT - (h->mark & 0x0f);
}

static int
region_init(struct region *r, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (size == 0 || size > ALLOCP_REGION_MAX)
		return -EINVAL;
	size = (size + page - 1) / page * page;
	r->base = below_map(size);
	if (r->base == NULL)
		return -ENOMEM;
	r->units = (uint32_t)(size / UNIT);
	set_bit(r->begins, 0);
	write_header(r, 0, r->units, MARK_FREE, 0);
	return 0;
}

int
allocp_new(struct allocp **out, const struct allocp_opts *o)
{
	struct allocp *a = calloc(1, sizeof *a);
	int r = 0;

	if (a == NULL)
		return -ENOMEM;
	a->told = o->told;
	a->arg = o->arg;
	for (int i = 0; i < ALLOCP_REGIONS && r == 0; i++)
		r = region_init(&a->region[i], o->size[i]);
	if (r < 0) {
		allocp_free(a);
		return r;
	}
	*out = a;
	return 0;
}

void
allocp_free(struct allocp *a)
{
	if (a == NULL)
		return;
	for (int i = 0; i < ALLOCP_REGIONS; i++)
		if (a->region[i].base != NULL)
			munmap(a->region[i].base,
			    (size_t)a->region[i].units * UNIT);
	free(a);
}

static void
tell_outcome(const struct allocp *a, enum allocp_op op, uint32_t addr,
    size_t size, uint8_t type, unsigned level)
{
	if (a->told != NULL)
		a->told(a->arg, &(struct allocp_event){ .op = op, .addr = addr,
		    .size = size, .type = type, .level = (uint8_t)level });
}

/* The first free segment of so many units, in address order. */
static bool
find_free(struct allocp *a, struct region *r, uint32_t units, uint32_t *at,
    uint32_t *end)
{
	for (*at = 0; *at < r->units; *at = *end) {
		*end = end_of(r, *at);
		repair_header(a, r, *at, *end);
		if (!has_bit(r->given, *at) && *end - *at >= units)
			return true;
	}
	return false;
}

static void *
cut_block(struct region *r, uint32_t at, uint32_t end, size_t size, uint8_t type)
{
	uint32_t last = at + 1 + (uint32_t)((size + UNIT - 1) / UNIT);
	void *block = r->base + ((size_t)at + 1) * UNIT;

	if (last < end) {
		set_bit(r->begins, last);
		write_header(r, last, end, MARK_FREE, 0);
	}
	set_bit(r->given, at);
	write_header(r, at, last,
	    (uint8_t)(MARK_BLOCK | ((last - at - 1) * UNIT - size)), type);
	memset(block, 0, (last - at - 1) * UNIT);
	return block;
}

void *
AllocP(struct allocp *a, size_t size, uint8_t type)
{
	uint32_t at, end;

	for (unsigned i = 0; i < ALLOCP_REGIONS && size <= ALLOCP_SIZE_MAX;
	    i++) {
		struct region *r = &a->region[i];
		uint32_t units = 1 + (uint32_t)((size + UNIT - 1) / UNIT);
		void *block;

		if (!find_free(a, r, units, &at, &end))
			continue;
		block = cut_block(r, at, end, size, type);
		a->counts.allocs++;
		tell_outcome(a, ALLOCP_ALLOC, address(r, at + 1), size, type,
		    i + 1);
		return block;
	}
	a->counts.failed++;
	tell_outcome(a, ALLOCP_ALLOC, 0, size, type, ALLOCP_FAILED);
	return NULL;
}

static struct region *
find_block(struct allocp *a, const void *p, uint32_t *at)
{
	for (int i = 0; i < ALLOCP_REGIONS; i++) {
		struct region *r = &a->region[i];
		/* Wraps for what lies before the region. */
		size_t off = (size_t)((uintptr_t)p - (uintptr_t)r->base);

		if (off > (size_t)r->units * UNIT || off < UNIT ||
		    off % UNIT != 0)
			continue;
		*at = (uint32_t)(off / UNIT) - 1;
		if (has_bit(r->begins, *at) && has_bit(r->given, *at))
			return r;
	}
	return NULL;
}

static void
join_free(struct allocp *a, struct region *r, uint32_t at, uint32_t end)
{
	uint32_t prev, next;

	if (end < r->units && !has_bit(r->given, end)) {
		next = end_of(r, end);
		repair_header(a, r, end, next);
		clear_bit(r->begins, end);
		end = next;
	}
	prev = at > 0 ? segment_before(r, at) : 0;
	if (prev < at && !has_bit(r->given, prev)) {
		repair_header(a, r, prev, at);
		clear_bit(r->begins, at);
		at = prev;
	}
	write_header(r, at, end, MARK_FREE, 0);
}

int
FreeP(struct allocp *a, void *p)
{
	struct region *r;
	struct header h;
	uint32_t at, end;

	if (p == NULL)
		return 0;
	r = find_block(a, p, &at);
	if (r == NULL) {
		a->counts.wrong++;
		return -EINVAL;
	}
	end = end_of(r, at);
	repair_header(a, r, at, end);
	h = *header(r, at);
	clear_bit(r->given, at);
	join_free(a, r, at, end);
	a->counts.frees++;
	tell_outcome(a, ALLOCP_FREE, address(r, at + 1), bytes_of(&h), h.type,
	    0);
	return 0;
}

const struct allocp_counts *
allocp_counts(const struct allocp *a)
{
	return &a->counts;
}

void
allocp_region(const struct allocp *a, unsigned no, uint32_t *base,
    size_t *size)
{
	assert(no >= 1 && no <= ALLOCP_REGIONS);
	*base = address(&a->region[no - 1], 0);
	*size = (size_t)a->region[no - 1].units * UNIT;
}

bool
allocp_next(const struct allocp *a, struct allocp_segment *s)
{
	unsigned i = s->region == 0 ? 0 : s->region - 1;
	const struct region *r = &a->region[i];
	const struct header *h;
	uint32_t at = 0, end;

	if (s->region != 0) {
		at = end_of(r, (s->addr - address(r, 0)) / UNIT - 1);
		if (at == r->units) {
			if (++i == ALLOCP_REGIONS)
				return false;
			r = &a->region[i];
			at = 0;
		}
	}
	end = end_of(r, at);
	h = header(r, at);
	*s = (struct allocp_segment){ .region = i + 1,
		.addr = address(r, at + 1), .given = has_bit(r->given, at),
		.size = (size_t)(end - at - 1) * UNIT };
	if (!s->given)
		return true;
	s->type = is_sound(r, at, end) ? h->type : ALLOCP_LOST;
	if (is_sound(r, at, end))
		s->size = bytes_of(h);
	return true;
}
