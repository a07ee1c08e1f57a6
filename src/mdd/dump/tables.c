/*
 * The tables of a target: root, shards with their slabs, threads, history.
 *
 * Their data may be damaged: each address is looked up in the memory of the
 * file, which also limits each count, and no link is followed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "layout.h"
#include "tables.h"

#define RECORD_MAX 256		/* bytes of a record or of a past one, at most */

struct tables {
	struct dump *d;
	struct memory *m;
	struct layout at;
	uint64_t root;
	uint8_t bytes[LAYOUT_ROOT_MAX];	/* the root */
	unsigned record_bytes, past_bytes;
	uint32_t slab_first;
	uint64_t budget;		/* records that may still be made */
	uint64_t current;		/* sum of the shards' counts */
	size_t cap_records;
};

#define ROOT_NUMBER(t, name) memory_u32((t)->m, (t)->bytes + (t)->at.root.name)
#define ROOT_ADDRESS(t, name) \
	memory_word((t)->m, (t)->bytes + (t)->at.root.name)

struct cursor {
	const struct memory *m;
	const uint8_t *p;
};

static uint32_t
next_u32(struct cursor *c)
{
	c->p += 4;
	return memory_u32(c->m, c->p - 4);
}

static uint64_t
next_word(struct cursor *c)
{
	c->p += c->m->word_bytes;
	return memory_word(c->m, c->p - c->m->word_bytes);
}

static void
next_moment(struct cursor *c, const struct dump_source *s,
    struct dump_moment *out)
{
	if (s->options & MDD_OPT_TIMESTAMP) {
		out->time = next_u32(c);
		out->time |= (uint64_t)next_u32(c) << 32;
	}
	if (s->options & MDD_OPT_THREAD) {
		out->thread = next_u32(c);
		if (c->m->word_bytes == 8)
			next_u32(c);
	}
	for (unsigned i = 0; i < s->levels; i++)
		out->stack[i] = next_word(c);
}

/* Returns the link's upper bits. */
static uint32_t
next_record(struct cursor *c, const struct dump_source *s,
    struct dump_record *out)
{
	uint32_t link;

	memset(out, 0, sizeof *out);
	out->address = next_word(c);
	out->size = next_word(c);
	link = next_u32(c);
	out->alloc.function = link % DUMP_FUNCTIONS;
	out->alloc.seqno = next_u32(c);
	if (s->options & MDD_OPT_ACTUAL_SIZE)
		out->actual = next_word(c);
	next_moment(c, s, &out->alloc);
	return link >> MDD_FUNCTION_BITS;
}

static bool
is_allocation(uint32_t function)
{
	return function < MDD_FREE && (function == MDD_UNKNOWN ||
	    dump_function(function) != dump_function(MDD_UNKNOWN));
}

/* NULL, or the contradiction in the record. */
static const char *
wrong_in_record(const struct tables *t, const struct dump_record *r)
{
	uint64_t last = t->m->word_bytes == 4 ? UINT32_MAX : UINT64_MAX;

	if (r->size > last - r->address)
		return "its size goes beyond the last address";
	if (r->actual != 0 && r->actual < r->size)
		return "its actual size is less than the requested one";
	if (!is_allocation(r->alloc.function))
		return "its function is none that allocates";
	if (r->alloc.thread > ROOT_NUMBER(t, threads))
		return "its thread is not in the table of threads";
	return NULL;
}

static void
check_record(struct tables *t, uint64_t at, const char *wrong,
    struct dump_record *r)
{
	if (wrong == NULL)
		wrong = wrong_in_record(t, r);
	if (wrong == NULL)
		return;
	r->unsure = true;
	dump_problem(t->d, "record at 0x%" PRIx64 ": %s", at, wrong);
}

/* The slots of slab k below `used`, from *first on. */
static uint64_t
slab_slots(uint32_t slab_first, unsigned k, uint64_t used, uint64_t *first)
{
	uint64_t n = (uint64_t)slab_first << k;

	*first = slab_first * ((UINT64_C(1) << k) - 1);
	return *first >= used ? 0 : used - *first < n ? used - *first : n;
}

static bool
lacks(struct tables *t, const char *what, uint64_t address, uint64_t there,
    uint64_t of)
{
	dump_problem(t->d, "%s at 0x%" PRIx64 ": the file has %" PRIu64 " of %"
	    PRIu64, what, address, there, of);
	return false;
}

static int
add_record(struct tables *t, const struct dump_record *r)
{
	void *array = t->d->record;
	int e = base_grow(&array, &t->cap_records, t->d->nrecords + 1, sizeof *r);

	if (e < 0)
		return e;
	t->d->record = array;
	t->d->record[t->d->nrecords++] = *r;
	return 0;
}

/* Reads n slots; `used` limits their links. */
static int
read_slab(struct tables *t, uint64_t address, uint64_t n, uint32_t used)
{
	uint8_t bytes[RECORD_MAX];
	struct dump_record r;
	uint32_t link;
	int e;

	for (uint64_t i = 0; i < n; i++, address += t->record_bytes) {
		struct cursor c = { t->m, bytes };

		if (t->budget == 0) {
			dump_problem(t->d, "slab at 0x%" PRIx64 ": there are "
			    "more records than the file has memory for",
			    address);
			return 0;
		}
		if (memory_read(t->m, address, bytes, t->record_bytes) <
		    t->record_bytes) {
			lacks(t, "records", address, 0, n - i);
			return 0;
		}
		t->budget--;
		if (memory_word(t->m, bytes) == 0)
			continue;
		link = next_record(&c, &t->d->source, &r);
		if (link == MDD_LINK_MOVING) {
			r.unsure = true;
			t->d->counts.in_flight++;
		}
		check_record(t, address, link != MDD_LINK_MOVING && link > used ?
		    "its link is beyond the table" : NULL, &r);
		e = add_record(t, &r);
		if (e < 0)
			return e;
	}
	return 0;
}

#define SHARD_NUMBER(t, p, name) memory_u32((t)->m, (p) + (t)->at.shard.name)
#define SHARD_ADDRESS(t, p, name) \
	memory_word((t)->m, (p) + (t)->at.shard.name)

static int
read_slabs(struct tables *t, uint64_t shard, const uint8_t *p)
{
	uint32_t used = SHARD_NUMBER(t, p, used);
	uint64_t first, n, slab, listed = 0;
	unsigned k;
	int e;

	for (k = 0; k < MDD_SLABS; k++) {
		n = slab_slots(t->slab_first, k, used, &first);
		if (n == 0)
			break;
		listed += n;
		slab = memory_word(t->m, p + t->at.shard.slab +
		    k * t->m->word_bytes);
		if (slab == 0) {
			lacks(t, "slab of the shard", shard, 0, n);
			continue;
		}
		e = read_slab(t, slab, n, used);
		if (e < 0)
			return e;
	}
	if (listed < used)
		dump_problem(t->d, "shard at 0x%" PRIx64 ": it counts %" PRIu32
		    " slots, and has %" PRIu64, shard, used, listed);
	return 0;
}

static int
read_shard(struct tables *t, uint64_t address, const uint8_t *p)
{
	struct dump_counts *n = &t->d->counts;
	uint32_t current = SHARD_NUMBER(t, p, current);
	size_t before = t->d->nrecords, problems = t->d->nproblems;
	bool busy = SHARD_NUMBER(t, p, busy) != 0;
	int e;

	n->busy += busy;
	n->pending += SHARD_NUMBER(t, p, pending);
	n->current += current;
	n->allocs += SHARD_ADDRESS(t, p, allocs);
	n->frees += SHARD_ADDRESS(t, p, frees);
	n->dynamic_bytes += SHARD_ADDRESS(t, p, dynamic_bytes);
	e = read_slabs(t, address, p);
	if (e < 0)
		return e;
	/* Missing records are reported already. */
	if (!busy && SHARD_NUMBER(t, p, moving) == 0 && problems == t->d->nproblems &&
	    t->d->nrecords - before != current)
		dump_problem(t->d, "shard at 0x%" PRIx64 ": it counts %" PRIu32
		    " allocations, and %zu are in its slabs", address, current,
		    t->d->nrecords - before);
	return 0;
}

static int
read_shards(struct tables *t)
{
	uint64_t address = ROOT_ADDRESS(t, shard);
	uint32_t n = ROOT_NUMBER(t, shards), bytes = t->at.shard.bytes;
	uint8_t p[LAYOUT_ROOT_MAX];
	int e = 0;

	if (n > LAYOUT_SHARDS_MAX) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": %" PRIu32 " shards "
		    "are more than %d", t->root, n, LAYOUT_SHARDS_MAX);
		n = LAYOUT_SHARDS_MAX;
	}
	for (uint32_t i = 0; e == 0 && i < n; i++, address += bytes) {
		if (memory_read(t->m, address, p, bytes) < bytes) {
			lacks(t, "shards", address, 0, n - i);
			break;
		}
		e = read_shard(t, address, p);
	}
	return e;
}

static int
read_threads(struct tables *t)
{
	uint32_t n = ROOT_NUMBER(t, threads), bytes = t->at.thread.bytes;
	uint64_t first, in_slab, slab;
	uint8_t p[128];
	size_t cap = 0;
	void *array = NULL;
	int e;

	for (unsigned k = 0; k < MDD_SLABS; k++) {
		in_slab = slab_slots(t->slab_first, k, n, &first);
		slab = memory_word(t->m, t->bytes + t->at.root.thread_slab +
		    k * t->m->word_bytes);
		for (uint64_t i = 0; i < in_slab; i++, slab += bytes) {
			struct dump_thread *th;

			if (t->budget == 0 ||
			    memory_read(t->m, slab, p, bytes) < bytes) {
				lacks(t, "threads", slab, first + i, n);
				return 0;
			}
			t->budget--;
			e = base_grow(&array, &cap, t->d->nthreads + 1,
			    sizeof *th);
			if (e < 0)
				return e;
			t->d->thread = array;
			th = &t->d->thread[t->d->nthreads++];
			memset(th, 0, sizeof *th);
			th->number = memory_u32(t->m, p + t->at.thread.number);
			th->ended = memory_u32(t->m, p + t->at.thread.ended) != 0;
			th->handle = memory_word(t->m, p + t->at.thread.handle);
			memcpy(th->name, p + t->at.thread.name, MDD_NAME);
		}
	}
	return 0;
}

static bool
is_free(uint32_t function)
{
	return function >= MDD_FREE && function < DUMP_FUNCTIONS &&
	    dump_function(function) != dump_function(MDD_UNKNOWN);
}

static void
take_past(struct tables *t, uint64_t address, uint32_t index,
    const uint8_t *bytes)
{
	struct cursor c = { t->m, bytes };
	struct dump_past past;
	uint32_t link;

	memset(&past, 0, sizeof past);
	link = next_record(&c, &t->d->source, &past.block);
	past.free.seqno = next_u32(&c);
	past.free.function = next_u32(&c) % DUMP_FUNCTIONS;
	next_moment(&c, &t->d->source, &past.free);
	if (past.block.address == 0 ||
	    link != ((index + 1) & MDD_LINK_MASK)) {
		t->d->counts.in_flight++;
		return;
	}
	check_record(t, address, !is_free(past.free.function) ?
	    "its second function is none that frees" :
	    past.free.thread > ROOT_NUMBER(t, threads) ?
	    "the thread of its free is not in the table of threads" : NULL,
	    &past.block);
	t->d->past[t->d->npast++] = past;
}

static int
read_history(struct tables *t)
{
	uint32_t records = ROOT_NUMBER(t, history_records);
	uint32_t start = ROOT_NUMBER(t, history_start);
	uint32_t n = ROOT_NUMBER(t, history_next) - start, lacking = 0;
	uint64_t base = ROOT_ADDRESS(t, history), address;
	uint64_t there = t->m->bytes / t->past_bytes;
	uint8_t bytes[RECORD_MAX];

	if (base == 0 || records == 0 || n == 0)
		return 0;
	if (n > records) {
		t->d->counts.overwritten = n - records;
		start += n - records;
		n = records;
	}
	/* The file's memory limits the number of records, too. */
	if (n > there + 1) {
		lacking = (uint32_t)(n - there - 1);
		n -= lacking;
	}
	t->d->past = malloc(n * sizeof *t->d->past);
	if (t->d->past == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		address = base + (uint64_t)((start + i) % records) *
		    t->past_bytes;
		if (memory_read(t->m, address, bytes, t->past_bytes) <
		    t->past_bytes)
			lacking++;
		else
			take_past(t, address, start + i, bytes);
	}
	if (lacking > 0)
		lacks(t, "history", base, n - (n < lacking ? n : lacking), n);
	return 0;
}

/* False: the root cannot be used. */
static bool
find_order(struct tables *t)
{
	uint32_t order, version;

	if (memory_read(t->m, t->root, t->bytes, 20) < 20) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": the file does not "
		    "have that memory", t->root);
		return false;
	}
	if (memcmp(t->bytes, MDD_MAGIC, sizeof MDD_MAGIC - 1) != 0) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": no debug data is "
		    "there", t->root);
		return false;
	}
	/* The first fields have the same offsets for each word size. */
	t->m->big_endian = false;
	order = memory_u32(t->m, t->bytes + t->at.root.order);
	t->m->big_endian = order == __builtin_bswap32(MDD_ORDER);
	if (order != MDD_ORDER && !t->m->big_endian) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": 0x%08" PRIx32
		    " is no byte order", t->root, order);
		return false;
	}
	version = ROOT_NUMBER(t, version);
	if (version != MDD_VERSION) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": the tables are of "
		    "version %" PRIu32 ", and this program reads version %u",
		    t->root, version, MDD_VERSION);
		return false;
	}
	t->m->word_bytes = ROOT_NUMBER(t, word_bytes);
	if (t->m->word_bytes != 4 && t->m->word_bytes != 8) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": words of %u bytes",
		    t->root, t->m->word_bytes);
		return false;
	}
	return true;
}

static void
take_root(struct tables *t)
{
	struct dump_source *s = &t->d->source;
	struct dump_counts *n = &t->d->counts;

	s->known = true;
	s->big_endian = t->m->big_endian;
	s->word_bytes = t->m->word_bytes;
	s->options = ROOT_NUMBER(t, options);
	s->levels = ROOT_NUMBER(t, levels);
	s->tick_hz = ROOT_NUMBER(t, tick_hz);
	s->run = ROOT_NUMBER(t, run);
	s->process = ROOT_NUMBER(t, process);
	s->history_records = ROOT_NUMBER(t, history_records);
	n->seqno = ROOT_NUMBER(t, seqno);
	n->missed = ROOT_NUMBER(t, missed);
	n->unknown = ROOT_NUMBER(t, unknown);
	n->replaced = ROOT_NUMBER(t, replaced);
	n->static_bytes = ROOT_ADDRESS(t, static_bytes);
}

static bool
has_size(struct tables *t, const char *what, uint32_t bytes, uint32_t expected)
{
	if (bytes == expected)
		return true;
	dump_problem(t->d, "root at 0x%" PRIx64 ": %s of %" PRIu32 " bytes, and "
	    "its options make %" PRIu32, t->root, what, bytes, expected);
	return false;
}

static bool
check_root(struct tables *t)
{
	struct dump_source *s = &t->d->source;
	uint32_t slabs = ROOT_NUMBER(t, slabs);

	t->slab_first = ROOT_NUMBER(t, slab_first);
	if (s->levels > MDD_LEVELS ||
	    (s->levels > 0) != ((s->options & MDD_OPT_BACKTRACE) != 0)) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": options 0x%x and %u "
		    "levels do not fit", t->root, s->options, s->levels);
		s->levels = 0;
		s->options &= ~(unsigned)MDD_OPT_BACKTRACE;
		return false;
	}
	if (slabs != MDD_SLABS || t->slab_first == 0 ||
	    t->slab_first > LAYOUT_FIRST_MAX) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": %" PRIu32 " slabs, "
		    "the first of %" PRIu32 " records", t->root, slabs,
		    t->slab_first);
		return false;
	}
	return true;
}

static int
read_tables(struct tables *t)
{
	const struct dump_source *s = &t->d->source;
	unsigned word = s->word_bytes;
	int e = 0;

	t->record_bytes = layout_record_bytes(s->options, s->levels, word);
	t->past_bytes = t->record_bytes + 8 +
	    layout_moment_bytes(s->options, s->levels, word);
	t->budget = t->m->bytes / t->record_bytes;
	if (has_size(t, "records", ROOT_NUMBER(t, record_bytes),
	    t->record_bytes) && has_size(t, "shards",
	    ROOT_NUMBER(t, shard_bytes), t->at.shard.bytes))
		e = read_shards(t);
	t->budget = t->m->bytes / t->at.thread.bytes;
	if (e == 0 && (s->options & MDD_OPT_THREAD) && has_size(t, "threads",
	    ROOT_NUMBER(t, thread_bytes), t->at.thread.bytes))
		e = read_threads(t);
	if (e == 0 && (s->options & MDD_OPT_HISTORY) && has_size(t,
	    "past records", ROOT_NUMBER(t, event_bytes), t->past_bytes))
		e = read_history(t);
	return e;
}

static int
take_heap(struct tables *t)
{
	uint64_t lo = ROOT_ADDRESS(t, heap_low), hi = ROOT_ADDRESS(t, heap_high);

	if (lo == 0 && hi == 0)
		return 0;
	if (lo >= hi) {
		dump_problem(t->d, "root at 0x%" PRIx64 ": the heap ends before "
		    "it begins", t->root);
		return 0;
	}
	t->d->heap = malloc(sizeof *t->d->heap);
	if (t->d->heap == NULL)
		return -ENOMEM;
	t->d->heap[0] = (struct dump_range){ lo, hi };
	t->d->nheap = 1;
	return 0;
}

int
tables_read(struct dump *d, struct memory *m, uint64_t root)
{
	struct tables t = { .d = d, .m = m, .root = root };
	size_t there;
	int e;

	m->word_bytes = 4;
	lay_out(&t.at, 4);
	if (!find_order(&t))
		return 0;
	lay_out(&t.at, m->word_bytes);
	there = memory_read(m, root, t.bytes, t.at.root.bytes);
	if (there < t.at.root.bytes) {
		lacks(&t, "bytes of the root", root, there, t.at.root.bytes);
		return 0;
	}
	take_root(&t);
	e = take_heap(&t);
	if (e == 0 && check_root(&t))
		e = read_tables(&t);
	return e;
}
