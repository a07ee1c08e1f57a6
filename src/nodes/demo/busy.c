/*
 * demo:1 and demo:flood: a server with receivers, workers and a cache.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../keeper/node.h"
#include "busy.h"
#include "server.h"

#define SLOTS 8192		/* places where blocks can be */
#define AT_START 3500		/* blocks there before the clock runs */
#define SPAN_MS (3 * 3600 * 1000)	/* over which they came */
#define STEP_EVENTS 400		/* of one cycle */
#define BATCH 1024
#define FIRST_ADDR UINT64_C(0x7f3c04001040)
#define STRIDE UINT64_C(0x2a0)
#define BIG_ADDR UINT64_C(0x7f3c40000010)
#define BIG_STRIDE UINT64_C(0x40000)
#define BIG_EVERY 64		/* one slot in so many holds big blocks */
#define BUSY_SLOTS 256		/* the first ones: four events of five */
#define KEPT_EVERY 4		/* one slot of so many behind them is never given back */
#define PATIENT_READS NODES_HZ	/* a second of a page's reads */
#define FLOOD_STEPS (3 * NODES_HZ)	/* between two floods */
#define FLOOD_EVENTS (STREAM_QUEUE_RECORDS + 40000)

enum manner {
	USUAL,			/* a few slots are busy, most keep what they have */
	GROWING,		/* allocations alone */
	/*
	 * Hardly a free has its allocation in the same batch, so neither the
	 * queue nor its digest has room for what is left.
	 */
	FLOODING,
};

static const char *const thread_names[] = { "main", "rx-0", "rx-1", "w-0",
	"w-1", "w-2", "log" };

struct busy {
	uint64_t random;
	uint32_t tickets[REC_SHARDS];
	bool used[SLOTS];
	unsigned live;
	int64_t begun_ms;		/* its clock at step 0 */
	uint64_t step;
	unsigned patient;		/* reads up to the end in a row */
	bool running, flood;
	uint64_t caller[SERVER_ASKERS][SERVER_WAYS];
	struct rec rec[BATCH];
	int64_t ms[BATCH];
	struct blklist_batch_info info[BATCH];
	size_t n, ninfo;
};

static uint64_t
draw(struct busy *b, uint64_t below)
{
	/* xorshift64*, of a fixed seed. */
	b->random ^= b->random >> 12;
	b->random ^= b->random << 25;
	b->random ^= b->random >> 27;
	return ((b->random * UINT64_C(2685821657736338717)) >> 33) % below;
}

static uint64_t
addr_of(unsigned slot)
{
	return slot % BIG_EVERY == 0 ?
	    BIG_ADDR + slot / BIG_EVERY * BIG_STRIDE :
	    FIRST_ADDR + slot * STRIDE;
}

static void
flush(struct keeper *k, struct busy *b)
{
	keeper_take(k, b->rec, b->n, k->now_ms, b->ms, b->info, b->ninfo);
	b->n = b->ninfo = 0;
}

static void
emit(struct keeper *k, struct busy *b, unsigned op, unsigned slot,
    unsigned type, uint64_t size, unsigned thread, uint64_t caller,
    int64_t ms)
{
	uint64_t addr = addr_of(slot);
	unsigned low = type >= TYPE_API_FIRST || (op == REC_FREE &&
	    slot % 251 == 0) ? REC_LAYER_API : 0;
	unsigned shard = rec_shard(addr);

	if (b->n == BATCH)
		flush(k, b);
	/* rx-0 works for another node: its blocks carry that requester. */
	if (op == REC_ALLOC && thread == 2)
		b->info[b->ninfo++] = (struct blklist_batch_info){
			.at = b->n, .info = { .node = 0xab86 } };
	b->ms[b->n] = ms;
	b->rec[b->n++] = (struct rec){ .w = {
		rec_w0(addr, REC_FLAGS(op, low), type),
		rec_w1(size, thread),
		rec_w2(b->tickets[shard]++, (uint32_t)ms),
		rec_w3(caller, 1) } };
}

/*
 * What a server has set up it keeps for as long as it runs: without such
 * blocks nothing here would get older than a minute.
 */
static unsigned
draw_slot(struct busy *b, enum manner manner)
{
	unsigned slot = (unsigned)(draw(b, 5) != 0 && manner == USUAL ?
	    draw(b, BUSY_SLOTS) : draw(b, SLOTS));
	bool kept = slot >= BUSY_SLOTS && slot % KEPT_EVERY == 1;

	return kept && manner != GROWING ? slot + 1 : slot;
}

static void
event(struct keeper *k, struct busy *b, int64_t ms, enum manner manner)
{
	unsigned slot = draw_slot(b, manner);
	unsigned thread = 1 +
	    (unsigned)draw(b, BASE_NELEM(thread_names));
	size_t which = draw(b, SERVER_POOL);
	const struct server_asker *asker;
	uint64_t size;

	/* The pool has places of its own. */
	if (slot % 251 == 0)
		which = SERVER_POOL;
	asker = &server_askers[which];
	if (b->used[slot]) {
		if (manner == GROWING)
			return;
		b->used[slot] = false;
		b->live--;
		emit(k, b, REC_FREE, slot, TYPE_FREE, 0, thread,
		    server_free_caller(), ms);
		return;
	}
	size = asker->min + draw(b, (uint64_t)(asker->max - asker->min) + 1);
	if (slot % BIG_EVERY == 0)
		size *= 64;
	b->used[slot] = true;
	b->live++;
	emit(k, b, REC_ALLOC, slot, asker->type, size, thread,
	    b->caller[which][slot % SERVER_WAYS], ms);
}

static void
busy_source(struct keeper *k, int64_t mono)
{
	struct busy *b = k->source_arg;

	(void)mono;
	if (!b->running)
		return;
	b->step++;
	k->now_ms = b->begun_ms + (int64_t)(b->step * 1000 / NODES_HZ);
	for (int i = 0; i < STEP_EVENTS; i++)
		event(k, b, k->now_ms, USUAL);
	if (b->flood && b->step % FLOOD_STEPS == FLOOD_STEPS / 2)
		for (unsigned i = 0; i < FLOOD_EVENTS; i++)
			event(k, b, k->now_ms, FLOODING);
	flush(k, b);
}

static void
busy_read(struct keeper *k, bool caught_up)
{
	struct busy *b = k->source_arg;

	if (caught_up && ++b->patient >= PATIENT_READS)
		b->running = true;
}

static int
name_threads(struct keeper *k)
{
	size_t n = BASE_NELEM(thread_names) + 1;

	k->thread = calloc(n, sizeof *k->thread);
	if (k->thread == NULL)
		return -ENOMEM;
	k->threads = k->thread_cap = n;
	for (size_t i = 1; i < n; i++)
		strcpy(k->thread[i].name, thread_names[i - 1]);
	return 0;
}

int
busy_start(struct keeper *k, bool flood)
{
	struct busy *b = calloc(1, sizeof *b);
	int r;

	if (b == NULL)
		return -ENOMEM;
	k->source_arg = b;
	r = name_threads(k);
	if (r == 0)
		r = server_put(k->sites, b->caller);
	if (r < 0)
		return r;
	stream_types_name(k->types, TYPE_API_FIRST, "CONN",
	    "connection of the pool");
	keeper_types_changed(k);
	b->random = UINT64_C(0x9e3779b97f4a7c15);
	b->flood = flood;
	b->begun_ms = mono_ms(mono_now());
	/* More and more often towards now, as in a program that grows. */
	while (b->live < AT_START) {
		int64_t left = SPAN_MS;

		for (int halvings = (int)(b->live * 8 / AT_START);
		    halvings > 0; halvings--)
			left /= 2;
		k->now_ms = b->begun_ms - left + left / 2 *
		    (int64_t)(b->live % (AT_START / 8 + 1)) / (AT_START / 8);
		event(k, b, k->now_ms, GROWING);
	}
	k->now_ms = b->begun_ms;
	flush(k, b);
	k->source = busy_source;
	k->on_read = busy_read;
	k->source_words = server_words;
	return 0;
}
