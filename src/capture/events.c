/*
 * A block of events is decoded without any other.  Its columns are
 *
 *	symbols		each new pair of flags, type and caller, in the order in
 *			which they come
 *	sequence	the symbol of each event: 0 the one that followed the last
 *			two symbols before, else its number + 1
 *	threads		runs: how many events, thread
 *	times		runs: how many events, difference to the run before
 *	addresses	0: an allocation at the address that this thread freed last
 *			of those of its class of sizes; even: twice the distance to
 *			the last event of this address; odd: a new one, as the
 *			difference to the last new one
 *	sizes		only where not that of the symbol's last event: events
 *			skipped, size
 *	overheads	likewise, where not that of the last event of this size
 *	requesters	likewise, of the thread's last event
 *
 * so that a program that does the same again and again is nearly all zeros.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "format.h"

#define PREDICTIONS 4096	/* of the sequence, a power of two */
#define CLASSES 4096		/* of freed sizes by thread, a power of two */
#define OVERHEADS 8192		/* sizes, a power of two; they may share one */
#define REQUESTERS 1024		/* threads, a power of two; they may share one */
#define NONE UINT16_MAX
#define SLOTS (2 * FORMAT_EVENTS_MAX)
_Static_assert(FORMAT_EVENTS_MAX < NONE, "events are numbered by 16 bits");

enum column {
	C_SYMBOLS,
	C_SEQUENCE,
	C_THREADS,
	C_TIMES,
	C_ADDRESSES,
	C_SIZES,
	C_OVERHEADS,
	C_REQUESTERS,
};
_Static_assert(C_REQUESTERS + 1 == FORMAT_COLUMNS, "all columns");

struct symbol {
	uint64_t caller;
	uint64_t size;		/* of its last event */
	uint16_t head;		/* flags, type << 8 */
};

/* State of both encoder and decoder, the same after each event of a block. */
struct model {
	struct symbol symbol[FORMAT_EVENTS_MAX];
	unsigned symbols;
	uint16_t predicted[PREDICTIONS];
	uint16_t last[2];
	uint16_t freed[CLASSES];		/* the last event that freed, + 1; 0: none */
	uint16_t below[FORMAT_EVENTS_MAX];	/* the one freed before it, likewise */
	uint16_t class[FORMAT_EVENTS_MAX];	/* of an allocation's size; NONE: no allocation */
	bool taken[FORMAT_EVENTS_MAX];		/* an allocation has the freed address */
	uint16_t overhead[OVERHEADS];
	uint16_t requester[REQUESTERS];
	uint64_t newest;			/* address */
};

struct events_coder {
	struct model m;
	uint16_t symbol_slot[SLOTS];	/* number + 1 */
	uint16_t addr_slot[SLOTS];	/* the last event of an address, + 1 */
	struct bytes col[FORMAT_COLUMNS];
};

int
events_coder_new(struct events_coder **out)
{
	struct events_coder *e = calloc(1, sizeof *e);

	if (e == NULL)
		return -ENOMEM;
	*out = e;
	return 0;
}

void
events_coder_free(struct events_coder *e)
{
	if (e == NULL)
		return;
	for (unsigned i = 0; i < FORMAT_COLUMNS; i++)
		bytes_fini(&e->col[i]);
	free(e);
}

static void
model_reset(struct model *m)
{
	m->symbols = 0;
	memset(m->predicted, 0xff, sizeof m->predicted);
	m->last[0] = m->last[1] = 0;
	memset(m->freed, 0, sizeof m->freed);
	memset(m->taken, 0, sizeof m->taken);
	memset(m->overhead, 0, sizeof m->overhead);
	memset(m->requester, 0, sizeof m->requester);
	m->newest = 0;
}

static uint16_t *
predicted_symbol(struct model *m)
{
	uint32_t h = m->last[0] * UINT32_C(0x9e3779b1) ^
	    m->last[1] * UINT32_C(0x85ebca6b);

	return &m->predicted[h >> 16 & (PREDICTIONS - 1)];
}

static void
follow_symbol(struct model *m, uint16_t *predicted, uint16_t symbol)
{
	*predicted = symbol;
	m->last[1] = m->last[0];
	m->last[0] = symbol;
}

static bool
is_alloc(unsigned head)
{
	return (head >> 4 & 0xf) == REC_ALLOC &&
	    (head & REC_LEVEL_MASK) != REC_LEVEL_FAILED;
}

static bool
is_free(unsigned head)
{
	return (head >> 4 & 0xf) == REC_FREE;
}

static uint16_t
class_of(uint64_t size, unsigned thread)
{
	return (uint16_t)((((size + 8) >> 4) + thread * 977u) & (CLASSES - 1));
}

/* The overhead of the last event of this size, of allocations and others. */
static uint16_t *
usual_overhead(struct model *m, unsigned head, uint64_t size)
{
	return &m->overhead[(size << 1 | is_alloc(head)) & (OVERHEADS - 1)];
}

/* The freed address that an allocation of the class would get; its event + 1. */
static uint16_t
freed_on_top(struct model *m, uint16_t class)
{
	uint16_t top = m->freed[class];

	while (top != 0 && m->taken[top - 1])
		top = m->below[top - 1];
	m->freed[class] = top;
	return top;
}

/* Event i, of an address that event `from` - 1 had before (0: none has). */
static void
follow_address(struct model *m, unsigned head, unsigned i, uint16_t from,
    uint16_t class)
{
	m->class[i] = NONE;
	if (is_alloc(head)) {
		m->class[i] = class;
		if (from != 0)
			m->taken[from - 1] = true;
	} else if (is_free(head) && from != 0 && m->class[from - 1] != NONE) {
		class = m->class[from - 1];
		m->below[i] = m->freed[class];
		m->freed[class] = (uint16_t)(i + 1);
	}
}

static size_t
slot_of(uint64_t key)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & (SLOTS - 1);
}

static uint16_t
find_symbol(struct events_coder *e, const struct rec *r)
{
	struct model *m = &e->m;
	uint16_t head = (uint16_t)(r->w[0] >> 48);
	uint64_t caller = rec_caller(r);
	size_t s = slot_of(caller ^ (uint64_t)head << 48 ^ caller << 20);
	uint64_t before = m->symbols > 0 ? m->symbol[m->symbols - 1].caller : 0;

	for (; e->symbol_slot[s] != 0; s = (s + 1) & (SLOTS - 1)) {
		const struct symbol *y = &m->symbol[e->symbol_slot[s] - 1];

		if (y->caller == caller && y->head == head)
			return (uint16_t)(e->symbol_slot[s] - 1);
	}
	e->symbol_slot[s] = (uint16_t)(m->symbols + 1);
	m->symbol[m->symbols] = (struct symbol){ .caller = caller,
		.head = head };
	bytes_varint(&e->col[C_SYMBOLS], head);
	bytes_varint(&e->col[C_SYMBOLS], zigzag(caller - before));
	return (uint16_t)m->symbols++;
}

/* The place of the last event of the address, for the caller to replace. */
static uint16_t *
find_address(struct events_coder *e, const struct rec *all, uint64_t addr)
{
	size_t s = slot_of(addr);

	while (e->addr_slot[s] != 0 && rec_addr(&all[e->addr_slot[s] - 1]) != addr)
		s = (s + 1) & (SLOTS - 1);
	return &e->addr_slot[s];
}

static void
put_address(struct events_coder *e, const struct rec *all, unsigned i)
{
	struct model *m = &e->m;
	uint64_t addr = rec_addr(&all[i]), by = addr - m->newest;
	unsigned head = (unsigned)(all[i].w[0] >> 48);
	uint16_t class = class_of(rec_size(&all[i]), rec_thread(&all[i]));
	uint16_t *place = find_address(e, all, addr), from = *place;
	struct bytes *col = &e->col[C_ADDRESSES];

	if (is_alloc(head) && from != 0 && freed_on_top(m, class) == from)
		bytes_varint(col, 0);
	else if (from != 0)
		bytes_varint(col, (uint64_t)(i + 1 - from) << 1);
	else if ((by & 15) == 0)
		bytes_varint(col, zigzag((uint64_t)((int64_t)by >> 4)) << 2 | 1);
	else
		bytes_varint(col, zigzag(by) << 2 | 3);
	if (from == 0)
		m->newest = addr;
	follow_address(m, head, i, from, class);
	*place = (uint16_t)(i + 1);
}

/* A column of runs: the length of the one before, then what the next one is. */
struct run {
	uint64_t value;
	unsigned since;
};

static void
put_run(struct bytes *col, struct run *run, unsigned i, uint64_t value,
    bool signed_)
{
	if (i > 0 && value == run->value)
		return;
	if (i > 0)
		bytes_varint(col, i - run->since);
	bytes_varint(col, signed_ ? zigzag(value - run->value) : value);
	run->value = value;
	run->since = i;
}

/* A column of exceptions: how many events came since the last one, then it. */
static void
put_exception(struct bytes *col, unsigned *since, unsigned i, uint64_t value)
{
	bytes_varint(col, i - *since);
	bytes_varint(col, value);
	*since = i + 1;
}

static void
put_columns(struct bytes *out, struct bytes *col)
{
	for (unsigned k = 0; k < FORMAT_COLUMNS; k++) {
		out->failed |= col[k].failed;
		bytes_varint(out, col[k].n);
		bytes_put(out, col[k].p, col[k].n);
		col[k].n = 0;
		col[k].failed = false;
	}
}

void
events_encode(struct events_coder *e, struct bytes *out, const struct rec *all,
    const uint16_t *info, size_t n, int64_t ms)
{
	struct model *m = &e->m;
	struct bytes *col = e->col;
	struct run thread = { .since = 0 }, time = { .value = (uint64_t)ms };
	unsigned sizes = 0, overheads = 0, requesters = 0;

	model_reset(m);
	memset(e->symbol_slot, 0, sizeof e->symbol_slot);
	memset(e->addr_slot, 0, sizeof e->addr_slot);
	for (unsigned i = 0; i < n; i++) {
		const struct rec *r = &all[i];
		uint16_t no = find_symbol(e, r), *next = predicted_symbol(m);
		uint16_t overhead = (uint16_t)rec_overhead(r);
		uint16_t *added = usual_overhead(m, (unsigned)(r->w[0] >> 48),
		    rec_size(r));
		uint16_t who = info != NULL ? info[i] : 0;
		uint16_t *usual = &m->requester[rec_thread(r) & (REQUESTERS - 1)];
		struct symbol *y = &m->symbol[no];

		bytes_varint(&col[C_SEQUENCE], no == *next ? 0 : no + 1u);
		follow_symbol(m, next, no);
		put_run(&col[C_THREADS], &thread, i, rec_thread(r), false);
		put_run(&col[C_TIMES], &time, i, r->w[2], true);
		put_address(e, all, i);
		if (rec_size(r) != y->size)
			put_exception(&col[C_SIZES], &sizes, i, rec_size(r));
		if (overhead != *added)
			put_exception(&col[C_OVERHEADS], &overheads, i, overhead);
		if (who != *usual)
			put_exception(&col[C_REQUESTERS], &requesters, i, who);
		y->size = rec_size(r);
		*added = overhead;
		*usual = who;
	}
	put_columns(out, col);
}

static void
get_columns(struct cursor *in, struct cursor *col)
{
	for (unsigned k = 0; k < FORMAT_COLUMNS; k++) {
		size_t n = (size_t)cursor_varint(in);
		const uint8_t *p = cursor_bytes(in, n);

		col[k] = (struct cursor){ .p = p, .end = p != NULL ? p + n : NULL };
	}
}

static bool
columns_done(const struct cursor *col)
{
	for (unsigned k = 0; k < FORMAT_COLUMNS; k++)
		if (!cursor_done(&col[k]))
			return false;
	return true;
}

/* The events up to the next run or exception; a column that has ended has none. */
static unsigned
next_place(struct cursor *c, unsigned i)
{
	uint64_t n;

	if (c->p == c->end)
		return UINT_MAX;
	n = cursor_varint(c);
	if (n >= FORMAT_EVENTS_MAX)
		c->bad = true;
	return i + (unsigned)(n & UINT16_MAX);
}

/* The event's symbol; NULL: nonsense. */
static struct symbol *
get_symbol(struct model *m, struct cursor *col)
{
	uint16_t *next = predicted_symbol(m);
	uint64_t v = cursor_varint(&col[C_SEQUENCE]);
	uint64_t no = v == 0 ? *next : v - 1;

	if (no > m->symbols || no >= FORMAT_EVENTS_MAX)
		return NULL;
	if (no == m->symbols) {
		uint64_t before = no > 0 ? m->symbol[no - 1].caller : 0;
		uint64_t head = cursor_varint(&col[C_SYMBOLS]);

		m->symbol[no] = (struct symbol){ .head = (uint16_t)head,
			.caller = (before + cursor_zigzag(&col[C_SYMBOLS])) &
			    REC_ADDR_MASK };
		m->symbols++;
	}
	follow_symbol(m, next, (uint16_t)no);
	return &m->symbol[no];
}

static bool
get_address(struct model *m, struct cursor *c, struct rec *all, unsigned i,
    unsigned head, uint64_t size, unsigned thread)
{
	uint64_t v = cursor_varint(c), by = zigzag_back(v >> 2), addr;
	uint16_t class = class_of(size, thread), from = 0;

	if (v == 0 && is_alloc(head))
		from = freed_on_top(m, class);
	else if ((v & 1) == 0 && v >> 1 <= i)
		from = (uint16_t)(i + 1 - (v >> 1));
	if ((v & 1) == 0 && (from == 0 || from > i))
		return false;
	if (from != 0)
		addr = rec_addr(&all[from - 1]);
	else
		addr = m->newest = (m->newest + (v & 2 ? by : by << 4)) &
		    REC_ADDR_MASK;
	follow_address(m, head, i, from, class);
	all[i].w[0] = addr | (uint64_t)head << 48;
	return true;
}

int
events_decode(struct events_coder *e, const uint8_t *in, size_t len,
    struct rec *all, uint16_t *info, size_t n, int64_t ms)
{
	struct cursor whole = { .p = in, .end = in + len }, col[FORMAT_COLUMNS];
	struct model *m = &e->m;
	uint64_t thread = 0, time = (uint64_t)ms;
	unsigned threads = 0, times = 0, sizes, overheads, requesters;

	if (n > FORMAT_EVENTS_MAX)
		return -EBADMSG;
	get_columns(&whole, col);
	if (!cursor_done(&whole))
		return -EBADMSG;
	model_reset(m);
	sizes = next_place(&col[C_SIZES], 0);
	overheads = next_place(&col[C_OVERHEADS], 0);
	requesters = next_place(&col[C_REQUESTERS], 0);
	for (unsigned i = 0; i < n; i++) {
		struct symbol *y = get_symbol(m, col);
		uint16_t *who, *added;

		if (y == NULL)
			return -EBADMSG;
		if (i == threads) {
			thread = cursor_varint(&col[C_THREADS]) & UINT16_MAX;
			threads = next_place(&col[C_THREADS], i);
		}
		if (i == times) {
			time += cursor_zigzag(&col[C_TIMES]);
			times = next_place(&col[C_TIMES], i);
		}
		if (i == sizes) {
			y->size = cursor_varint(&col[C_SIZES]) & REC_ADDR_MASK;
			sizes = next_place(&col[C_SIZES], i + 1);
		}
		added = usual_overhead(m, y->head, y->size);
		if (i == overheads) {
			*added = (uint16_t)cursor_varint(&col[C_OVERHEADS]);
			overheads = next_place(&col[C_OVERHEADS], i + 1);
		}
		who = &m->requester[thread & (REQUESTERS - 1)];
		if (i == requesters) {
			*who = (uint16_t)cursor_varint(&col[C_REQUESTERS]);
			requesters = next_place(&col[C_REQUESTERS], i + 1);
		}
		if (!get_address(m, &col[C_ADDRESSES], all, i, y->head,
		    y->size, (unsigned)thread))
			return -EBADMSG;
		all[i].w[1] = rec_w1(y->size, (unsigned)thread);
		all[i].w[2] = time;
		all[i].w[3] = rec_w3(y->caller, *added);
		info[i] = *who;
	}
	return columns_done(col) ? 0 : -EBADMSG;
}

static void
put_row(struct bytes *col, const struct blk *b, const struct blk *before)
{
	bytes_varint(&col[0], zigzag(b->seq - before->seq));
	bytes_varint(&col[1], zigzag(b->addr - before->addr));
	bytes_varint(&col[2], b->size);
	bytes_varint(&col[3], zigzag((uint64_t)b->ms - (uint64_t)before->ms));
	bytes_varint(&col[4], zigzag(b->caller - before->caller));
	bytes_varint(&col[5], b->thread);
	bytes_varint(&col[6], b->overhead);
	bytes_varint(&col[7], b->flags | (unsigned)b->type << 8 |
	    (uint64_t)b->info << 16);
}

void
rows_encode(struct bytes *out, const struct blk *const *row, size_t n)
{
	static const struct blk none;
	struct bytes col[FORMAT_COLUMNS] = { { .n = 0 } };

	for (size_t i = 0; i < n; i++)
		put_row(col, row[i], i > 0 ? row[i - 1] : &none);
	put_columns(out, col);
	for (unsigned k = 0; k < FORMAT_COLUMNS; k++)
		bytes_fini(&col[k]);
}

int
rows_decode(struct cursor *in, struct blk *row, size_t n)
{
	struct cursor col[FORMAT_COLUMNS];
	struct blk b = { .seq = 0 };

	get_columns(in, col);
	if (!cursor_done(in))
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		uint64_t rest;

		b.seq += cursor_zigzag(&col[0]);
		b.addr = (b.addr + cursor_zigzag(&col[1])) & REC_ADDR_MASK;
		b.size = cursor_varint(&col[2]);
		b.ms = (int64_t)((uint64_t)b.ms + cursor_zigzag(&col[3]));
		b.caller = (b.caller + cursor_zigzag(&col[4])) & REC_ADDR_MASK;
		b.thread = (uint16_t)cursor_varint(&col[5]);
		b.overhead = (uint16_t)cursor_varint(&col[6]);
		rest = cursor_varint(&col[7]);
		b.flags = (uint8_t)rest;
		b.type = (uint8_t)(rest >> 8);
		b.info = (uint16_t)(rest >> 16);
		row[i] = b;
	}
	return columns_done(col) ? 0 : -EBADMSG;
}
