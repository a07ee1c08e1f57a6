/*
 * What a forked child inherits: the parent's list at the cut, whatever the
 * parent did since, in whatever order of the shards it was delivered.
 */
#include <stdlib.h>

#include "../src/nodes/images/images.h"
#include "chance.h"
#include "node_harness.h"

#define ADDRS 300
#define EVENTS 6000
#define DELAY_MAX 300

/* A heap as it really was, beside the records that it made. */
struct life {
	bool live;
	uint64_t size;
	int born;			/* event that allocated it */
};

struct event {
	struct rec rec;
	int delay;			/* of its shard: delivered this much later */
	int at;
	uint64_t seq;
};

static uint64_t seed;

static unsigned
draw(unsigned below)
{
	return (unsigned)(chance_next(&seed) >> 33) % below;
}

static uint64_t
addr_of(unsigned i)
{
	return 0x10000 + (uint64_t)i / 2 * 48;
}

/*
 * Blocks of even numbers are the heap's, of odd ones the API's at the same
 * place.  Each has a thread of its own: between shards there is no order, and
 * a thread's failed realloc must not seem to overlap its next one.
 */
static struct rec
make(unsigned op, unsigned i, unsigned type, uint64_t size)
{
	uint64_t addr = addr_of(i);
	unsigned low = i % 2 != 0 ? REC_LAYER_API : 0;

	return (struct rec){ .w = { rec_w0(addr, REC_FLAGS(op, low), type),
		rec_w1(size, i + 1), rec_w2(tickets[rec_shard(addr)]++, 5000),
		rec_w3(0x4000 + i, 1) } };
}

static int
by_delivery(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at + x->delay != y->at + y->delay)
		return x->at + x->delay < y->at + y->delay ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static struct event events[EVENTS + 4];
static int nevents;

static void
happens(struct rec rec)
{
	events[nevents] = (struct event){ .rec = rec, .at = nevents };
	nevents++;
}

/* One step of the parent's life: an event, or the two of a failed realloc. */
static void
step(struct life *life)
{
	unsigned i = draw(4) == 0 ? draw(ADDRS) : draw(20);

	if (!life[i].live) {
		life[i] = (struct life){ .live = true, .size = 1 + draw(999),
			.born = nevents };
		happens(make(REC_ALLOC, i, TYPE_MALLOC, life[i].size));
	} else if (i % 2 == 0 && draw(8) == 0) {
		happens(make(REC_FREE, i, TYPE_BY_REALLOC, 0));
		happens(make(REC_UNDO, i, 0, 0));
	} else {
		life[i].live = false;
		happens(make(REC_FREE, i, draw(6) == 0 && i % 2 == 0 ?
		    TYPE_BY_REALLOC : TYPE_FREE, 0));
	}
}

static struct keeper *
parent_of(int batch_max)
{
	struct keeper *k;
	int *delay = calloc(REC_SHARDS, sizeof *delay);

	for (int s = 0; s < REC_SHARDS; s++)
		delay[s] = (int)draw(DELAY_MAX);
	for (int i = 0; i < nevents; i++)
		events[i].delay = delay[rec_shard(rec_addr(&events[i].rec))];
	free(delay);
	qsort(events, (size_t)nevents, sizeof events[0], by_delivery);
	k = new_keeper("ALLOCLOG.parent.1", 0);
	ck_assert_int_eq(blklist_remember(k->list, 1u << 18), 0);
	for (int i = 0; i < nevents; ) {
		struct rec batch[512];
		int n = 1 + (int)draw((unsigned)batch_max);

		for (int j = 0; j < n && i + j < nevents; j++) {
			batch[j] = events[i + j].rec;
			events[i + j].seq = keeper_next(k) + (uint64_t)j;
		}
		if (n > nevents - i)
			n = nevents - i;
		keeper_take(k, batch, (size_t)n, 5000, NULL, NULL, 0);
		i += n;
	}
	k->last.due = malloc(sizeof tickets);
	memcpy(k->last.due, tickets, sizeof tickets);
	return k;
}

static struct keeper *
child_of(struct keeper *parent, const uint32_t *cut)
{
	struct keeper *k = new_keeper("ALLOCLOG.child.2", 0);

	k->process.cut = malloc(sizeof tickets);
	memcpy(k->process.cut, cut, sizeof tickets);
	images_inherit(k, parent);
	ck_assert_ptr_null(k->process.cut);
	return k;
}

static uint64_t
seq_of_event(int at)
{
	for (int i = 0; i < nevents; i++)
		if (events[i].at == at)
			return events[i].seq;
	return 0;
}

static void
expect_thread(struct keeper *k, uint16_t thread, const char *want)
{
	char name[64];

	keeper_thread_name(k, thread, name, sizeof name);
	ck_assert_str_eq(name, want);
}

static void
expect_list(struct keeper *child, const struct life *life)
{
	char thread[16];
	uint32_t n = 0;

	for (unsigned i = 0; i < ADDRS; i++) {
		struct blk b;
		int r = blklist_get(child->list, i % 2, addr_of(i), &b);

		ck_assert_msg((r == 0) == life[i].live,
		    "block %u is %s listed", i, r == 0 ? "" : "not");
		if (r != 0)
			continue;
		n++;
		ck_assert_uint_eq(b.size, life[i].size);
		ck_assert_uint_eq(b.seq, seq_of_event(life[i].born));
		ck_assert_uint_eq(b.caller, 0x4000 + i);
		snprintf(thread, sizeof thread, "^#%u", i + 1);
		expect_thread(child, b.thread, thread);
	}
	ck_assert_uint_eq(keeper_counts(child)->aRecActive, n);
	ck_assert_uint_eq(keeper_counts(child)->inherited, n);
	ck_assert_uint_eq(keeper_counts(child)->allocs, 0);
}

CASE("cut", .seconds = 120);

LOOP_TEST(the_child_begins_with_the_blocks_at_the_fork, 0, check_rounds(40))
{
	struct life life[ADDRS] = { 0 }, at_cut[ADDRS];
	uint32_t cut[REC_SHARDS];
	struct keeper *parent, *child;
	int when;

	seed = check_seed(0x1234567 + (uint64_t)_i * 7919);
	/* Tickets wrap around in some of the runs. */
	for (int s = 0; s < REC_SHARDS; s++)
		tickets[s] = _i % 2 != 0 ? UINT32_MAX - 3 : 0;
	nevents = 0;
	when = (int)draw(EVENTS);
	node_up(NULL);
	while (nevents < when)
		step(life);
	memcpy(at_cut, life, sizeof life);
	memcpy(cut, tickets, sizeof cut);
	while (nevents < EVENTS)
		step(life);
	parent = parent_of(_i % 3 == 0 ? 1 : 512);
	child = child_of(parent, cut);
	ck_assert(keeper_complete(child));
	expect_list(child, at_cut);
	/* What the child does now comes after all that it inherited. */
	ck_assert_uint_eq(keeper_next(child), keeper_next(parent));
	node_down();
}

TEST(a_fork_deep_in_the_past_leaves_the_child_unsure)
{
	struct life life[ADDRS] = { 0 };
	uint32_t cut[REC_SHARDS];
	struct keeper *parent, *child;

	seed = check_seed(99);
	node_up(NULL);
	memcpy(cut, tickets, sizeof cut);
	parent = NULL;
	/* One event more after the cut than the queue retains. */
	for (uint32_t done = 0; done <= STREAM_QUEUE_RECORDS; ) {
		struct rec batch[512];
		size_t n = 0;

		nevents = 0;
		while (n < 512) {
			int first = nevents;

			if (nevents > EVENTS - 2)
				nevents = first = 0;
			step(life);
			while (first < nevents && n < 512)
				batch[n++] = events[first++].rec;
		}
		if (parent == NULL) {
			parent = new_keeper("ALLOCLOG.parent.1", 0);
			ck_assert_int_eq(blklist_remember(parent->list,
			    1u << 18), 0);
		}
		keeper_take(parent, batch, n, 5000, NULL, NULL, 0);
		done += (uint32_t)n;
	}
	parent->last.due = malloc(sizeof tickets);
	memcpy(parent->last.due, tickets, sizeof tickets);
	child = child_of(parent, cut);
	ck_assert(!keeper_complete(child));
	ck_assert_str_eq(keeper_lacks(child),
	    "its parent's history does not reach back to the fork");
	node_down();
}

TEST(the_child_of_an_unknown_parent_is_unsure)
{
	struct keeper *child;

	node_up(NULL);
	child = child_of(NULL, tickets);
	ck_assert(!keeper_complete(child));
	ck_assert_str_eq(keeper_lacks(child),
	    "the blocks that it inherited are not known");
	ck_assert_uint_eq(keeper_counts(child)->aRecActive, 0);
	node_down();
}

TEST(the_child_of_a_parent_that_lost_records_is_unsure)
{
	struct keeper *parent, *child;

	node_up(NULL);
	nevents = 0;
	memset(tickets, 0, sizeof tickets);
	happens(make(REC_ALLOC, 4, TYPE_MALLOC, 10));
	parent = parent_of(1);
	keeper_lose(parent, STREAM_RING_FULL, 1);
	child = child_of(parent, tickets);
	ck_assert(!keeper_complete(child));
	ck_assert_str_eq(keeper_lacks(parent), "records were lost");
	ck_assert_str_eq(keeper_lacks(child),
	    "its parent's list was incomplete at the fork");
	/* What is known is listed all the same. */
	ck_assert_uint_eq(keeper_counts(child)->aRecActive, 1);
	node_down();
}

TEST(an_ended_parent_is_inherited_from_while_its_list_is_kept)
{
	struct life life[ADDRS] = { 0 }, at_cut[ADDRS];
	uint32_t cut[REC_SHARDS];
	struct keeper *parent, *child;

	node_up(NULL);
	seed = check_seed(5);
	nevents = 0;
	memset(tickets, 0, sizeof tickets);
	while (nevents < 1000)
		step(life);
	memcpy(at_cut, life, sizeof life);
	memcpy(cut, tickets, sizeof cut);
	while (nevents < 2000)
		step(life);
	parent = parent_of(64);
	images_end_image(parent, WIRE_S_ENDED, 0, NULL);
	ck_assert_ptr_eq(images_find(&node, parent->stream), parent);
	child = child_of(parent, cut);
	ck_assert(keeper_complete(child));
	expect_list(child, at_cut);
	node_down();
}

TEST(a_block_replaced_after_the_fork_is_the_childs_as_it_was)
{
	uint32_t cut[REC_SHARDS];
	struct keeper *parent, *child;
	struct blk b;

	node_up(NULL);
	nevents = 0;
	memset(tickets, 0, sizeof tickets);
	happens(make(REC_ALLOC, 3, TYPE_MALLOC, 10));
	memcpy(cut, tickets, sizeof cut);
	/* The program named it anew without ending it. */
	happens(make(REC_ALLOC, 3, TYPE_MALLOC, 20));
	parent = parent_of(1);
	ck_assert_uint_eq(keeper_counts(parent)->duplicate, 1);
	child = child_of(parent, cut);
	ck_assert_int_eq(blklist_get(child->list, 1, addr_of(3), &b), 0);
	ck_assert_uint_eq(b.size, 10);
	ck_assert_uint_eq(b.seq, 1);
	node_down();
}

TEST(requesters_and_types_are_inherited)
{
	struct blklist_batch_info info = { .info = { .name = "MEMB" } };
	struct keeper *parent, *child;
	struct rec rec;
	struct blk b;

	node_up(NULL);
	memset(tickets, 0, sizeof tickets);
	parent = new_keeper("ALLOCLOG.parent.1", 0);
	ck_assert_int_eq(stream_types_name(parent->declared.types, 0xc3, "CONN",
	    "a connection"), 0);
	rec = make(REC_ALLOC, 3, 0xc3, 10);
	keeper_take(parent, &rec, 1, 5000, NULL, &info, 1);
	parent->last.due = malloc(sizeof tickets);
	memcpy(parent->last.due, tickets, sizeof tickets);
	child = child_of(parent, tickets);
	ck_assert_int_eq(blklist_get(child->list, 1, addr_of(3), &b), 0);
	ck_assert_str_eq(blklist_info_get(child->list, b.info)->name, "MEMB");
	ck_assert_str_eq(child->declared.types->by_code[0xc3].name, "CONN");
	node_down();
}

static uint16_t
thread_of(const struct keeper *k, unsigned i)
{
	struct blk b;

	ck_assert_int_eq(blklist_get(k->list, i % 2, addr_of(i), &b), 0);
	return b.thread;
}

/* Block i is of thread i + 1: see make(). */
static void
thread_allocates(struct keeper *k, unsigned i, const char *name)
{
	const struct rec begins = { .w = { rec_w0(7, REC_FLAGS(REC_CONTROL, 0),
	    REC_CTL_THREAD), rec_w1(0, i + 1) } };

	keeper_control(k, &begins);
	snprintf(k->threads.at[i + 1].name, sizeof k->threads.at[0].name, "%s",
	    name);
	take(k, make(REC_ALLOC, i, TYPE_MALLOC, 10));
}

static struct keeper *
forked_from(struct keeper *parent, const uint32_t *cut)
{
	parent->last.due = malloc(sizeof tickets);
	memcpy(parent->last.due, tickets, sizeof tickets);
	return child_of(parent, cut);
}

TEST(an_inherited_block_has_the_parents_thread_with_a_sign)
{
	uint32_t cut[REC_SHARDS];
	struct keeper *parent, *child, *grandchild;

	node_up(NULL);
	memset(tickets, 0, sizeof tickets);
	parent = new_keeper("ALLOCLOG.parent.1", 0);
	thread_allocates(parent, 0, "main");
	/* Two threads of one name stay two. */
	thread_allocates(parent, 2, "rx");
	thread_allocates(parent, 4, "rx");
	thread_allocates(parent, 6, "");
	memcpy(cut, tickets, sizeof cut);
	/* Freed since: the block comes back, and its thread with it. */
	take(parent, make(REC_FREE, 4, TYPE_FREE, 0));
	child = forked_from(parent, cut);
	expect_thread(child, thread_of(child, 0), "^main");
	expect_thread(child, thread_of(child, 2), "^rx");
	expect_thread(child, thread_of(child, 4), "^rx");
	expect_thread(child, thread_of(child, 6), "^#7");
	ck_assert_uint_ne(thread_of(child, 2), thread_of(child, 4));
	/* The child's threads have the low numbers, and no sign. */
	thread_allocates(child, 1, "child");
	expect_thread(child, thread_of(child, 1), "child");
	expect_thread(child, thread_of(child, 0), "^main");
	grandchild = forked_from(child, tickets);
	expect_thread(grandchild, thread_of(grandchild, 0), "^main");
	expect_thread(grandchild, thread_of(grandchild, 1), "^child");
	expect_thread(grandchild, thread_of(grandchild, 2), "^rx");
	expect_thread(grandchild, thread_of(grandchild, 6), "^#7");
	ck_assert_uint_ne(thread_of(grandchild, 2), thread_of(grandchild, 4));
	node_down();
}

/* A block that was freed and allocated at once is not in the list's memory. */
TEST(a_block_of_a_pair_that_the_fork_divides_has_its_thread)
{
	uint32_t cut[REC_SHARDS];
	struct keeper *parent, *child;
	struct rec pair[2];

	node_up(NULL);
	memset(tickets, 0, sizeof tickets);
	parent = new_keeper("ALLOCLOG.parent.1", 0);
	thread_allocates(parent, 2, "rx");
	pair[0] = make(REC_ALLOC, 4, TYPE_MALLOC, 10);
	pair[0].w[1] = rec_w1(10, 3);
	memcpy(cut, tickets, sizeof cut);
	pair[1] = make(REC_FREE, 4, TYPE_FREE, 0);
	keeper_take(parent, pair, 2, 5000, NULL, NULL, 0);
	ck_assert_uint_eq(keeper_counts(parent)->cancelled, 1);
	child = forked_from(parent, cut);
	expect_thread(child, thread_of(child, 4), "^rx");
	node_down();
}

/* After very many threads, an index is that of the last thread that has it. */
TEST(a_new_thread_of_an_inherited_index_has_its_own_name)
{
	struct keeper *parent, *child;
	uint16_t index;

	node_up(NULL);
	memset(tickets, 0, sizeof tickets);
	parent = new_keeper("ALLOCLOG.parent.1", 0);
	thread_allocates(parent, 0, "main");
	child = forked_from(parent, tickets);
	index = thread_of(child, 0);
	thread_allocates(child, index - 1u, "late");
	expect_thread(child, index, "late");
	node_down();
}

/* More threads than are kept apart: the others are not known. */
TEST(threads_of_an_ancestor_are_bounded)
{
	enum { MORE = KEEPER_INHERITED_MAX + 100 };
	struct keeper *parent, *child;
	unsigned named = 0;
	struct blk b;

	node_up(NULL);
	memset(tickets, 0, sizeof tickets);
	parent = new_keeper("ALLOCLOG.parent.1", 0);
	for (unsigned i = 0; i < MORE; i++)
		take(parent, make(REC_ALLOC, 2 * i, TYPE_MALLOC, 10));
	child = forked_from(parent, tickets);
	ck_assert_uint_eq(keeper_counts(child)->aRecActive, MORE);
	for (unsigned i = 0; i < MORE; i++) {
		ck_assert_int_eq(blklist_get(child->list, 0, addr_of(2 * i), &b), 0);
		named += b.thread != 0;
	}
	ck_assert_uint_eq(named, KEEPER_INHERITED_MAX);
	node_down();
}

static uint32_t
put_stack(struct keeper *k, uint64_t innermost)
{
	uint64_t frame[] = { frame_make(innermost, 1), frame_make(0x400900, 1) };
	struct stream_module m = { .start = 0x400000, .end = 0x500000,
		.path = "/lib/a.so" };
	unsigned module;
	uint32_t no = 0;

	ck_assert_int_eq(stream_sites_put_module(k->sites, &m, &module), 0);
	ck_assert_uint_eq(module, 1);
	ck_assert_int_eq(stream_sites_put(k->sites, frame, 2,
	    RING_END_OUTERMOST, &no), 0);
	return no;
}

static void
expect_stack(const struct keeper *k, uint64_t addr, uint64_t innermost)
{
	struct stream_module m;
	struct stream_site site;
	struct blk b;

	ck_assert_int_eq(blklist_get(k->list, 0, addr, &b), 0);
	ck_assert(rec_is_site(b.caller));
	ck_assert(stream_sites_get(k->sites, rec_site(b.caller), &site));
	ck_assert_uint_eq(site.depth, 2);
	ck_assert_uint_eq(frame_pc(site.frame[0]), innermost);
	ck_assert_uint_eq(frame_pc(site.frame[1]), 0x400900);
	ck_assert(stream_sites_get_module(k->sites,
	    frame_module(site.frame[0]), &m));
	ck_assert_str_eq(m.path, "/lib/a.so");
}

static void
allocate_from(struct keeper *k, uint64_t addr, uint64_t innermost)
{
	struct rec rec = allocation(addr, 16);

	rec.w[3] = rec_w3(rec_site_caller(put_stack(k, innermost)), 1);
	take(k, rec);
}

TEST(an_inherited_block_keeps_its_stack)
{
	uint32_t cut[REC_SHARDS];
	struct keeper *parent, *child, *grandchild;

	node_up(NULL);
	memset(tickets, 0, sizeof tickets);
	parent = new_keeper("ALLOCLOG.parent.1", 0);
	allocate_from(parent, 0x1000, 0x400100);
	allocate_from(parent, 0x2000, 0x400200);
	memcpy(cut, tickets, sizeof cut);
	/* Freed since: the block comes back out of the queue. */
	take(parent, freeing(0x2000));
	allocate_from(parent, 0x3000, 0x400300);
	parent->last.due = malloc(sizeof tickets);
	memcpy(parent->last.due, tickets, sizeof tickets);
	child = child_of(parent, cut);
	expect_stack(child, 0x1000, 0x400100);
	expect_stack(child, 0x2000, 0x400200);
	/* Its own stacks are beside its parent's, not in their place. */
	allocate_from(child, 0x4000, 0x400400);
	allocate_from(parent, 0x5000, 0x400500);
	expect_stack(child, 0x4000, 0x400400);
	expect_stack(parent, 0x5000, 0x400500);
	child->last.due = malloc(sizeof tickets);
	memcpy(child->last.due, tickets, sizeof tickets);
	grandchild = child_of(child, tickets);
	/* The stacks live as long as anybody who names them. */
	images_end_image(parent, WIRE_S_ENDED, 0, NULL);
	images_drop(parent);
	ck_assert_ptr_null(parent->sites);
	images_end_image(child, WIRE_S_ENDED, 0, NULL);
	images_drop(child);
	expect_stack(grandchild, 0x1000, 0x400100);
	expect_stack(grandchild, 0x4000, 0x400400);
	node_down();
}

TEST(without_a_parents_list_a_child_has_stacks_of_its_own)
{
	struct keeper *parent, *child;

	node_up(NULL);
	memset(tickets, 0, sizeof tickets);
	parent = new_keeper("ALLOCLOG.parent.1", 0);
	images_end_image(parent, WIRE_S_ENDED, 0, NULL);
	images_drop(parent);
	child = child_of(parent, tickets);
	allocate_from(child, 0x1000, 0x400100);
	expect_stack(child, 0x1000, 0x400100);
	node_down();
}

TEST(an_image_that_came_by_exec_begins_a_store)
{
	struct keeper *before, *after;

	node_up(NULL);
	before = new_keeper("ALLOCLOG.before.1", 0);
	after = new_keeper("ALLOCLOG.after.1", 0);
	ck_assert_ptr_ne(before->sites, after->sites);
	node_down();
}
