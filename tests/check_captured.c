/*
 * Captures as sources of exports: their events, and the sums of their stacks, are
 * those of the list at the same moment.
 */
#include "../src/capture/format.h"
#include "../src/export/export.h"
#include "capture_rig.h"

#define EVENTS 60000

/* What an export says, as its readers add it up. */
struct read {
	struct hashmap held;	/* struct held */
	uint64_t allocs, frees, lost, bytes;
};

struct held {
	uint64_t place, size;
};

static struct captured *x;
static struct capture *c;
static struct capture_names *names;
static struct capture_list *list;
static const struct blk *row;
static size_t rows;
static struct rec *all;
static int64_t last_ms;

static void
begin(void)
{
	rig_begin();
	last_ms = 0;
	all = rig_events(EVENTS, &last_ms);
}

static void
close_export(void)
{
	captured_free(x);
	capture_names_free(names);
	capture_list_free(list);
	x = NULL;
	names = NULL;
	list = NULL;
}

static void
end(void)
{
	close_export();
	capture_close(c);
	c = NULL;
	free(all);
	rig_end();
}

static void
open_export(uint32_t part, const struct capture_when *when)
{
	struct captured_opts o = { .c = c, .part = part, .target = "prog",
		.frees = true };

	ck_assert_int_eq(capture_names_new(&names, c, part,
	    &(struct symbols_opts){ .reader = "" }), 0);
	ck_assert_int_eq(capture_seek(c, part, when, &list), 0);
	(void)capture_list_at(list, &o.to, &o.ms);
	o.row = row = capture_list_rows(list, &rows);
	o.rows = rows;
	o.names = names;
	ck_assert_int_eq(captured_new(&x, &o), 0);
}

static int
read_event(void *arg, const struct export_event *e)
{
	struct read *r = arg;
	uint64_t place = e->address | (uint64_t)e->layer << 63;
	int64_t at = hashmap_find(&r->held, place);

	if (e->kind == EXPORT_LOST) {
		r->lost += e->size;
		return 0;
	}
	r->allocs += e->kind == EXPORT_ALLOC;
	r->frees += e->kind == EXPORT_FREE;
	if (at >= 0)
		hashmap_remove(&r->held, (size_t)at);
	if (e->kind == EXPORT_FREE)
		return 0;
	r->bytes += e->size;
	((struct held *)hashmap_add(&r->held, place))->size = e->size;
	ck_assert_uint_lt(e->stack, captured_source(x)->stacks);
	return 0;
}

static void
read_export(struct read *r)
{
	const struct export_source *s = captured_source(x);

	*r = (struct read){ .held.size = sizeof(struct held) };
	ck_assert_int_eq(s->events(s, read_event, r), 0);
}

/* The blocks that are held behind all events are those of the list. */
static void
check_held(struct read *r)
{
	ck_assert_uint_eq(r->held.n, rows);
	for (size_t i = 0; i < rows; i++) {
		const struct held *h = hashmap_get(&r->held, row[i].addr |
		    (uint64_t)blk_layer(&row[i]) << 63);

		ck_assert_ptr_nonnull(h);
		ck_assert_uint_eq(h->size, row[i].size);
	}
}

static struct export_stack
sum_stacks(void)
{
	const struct export_source *s = captured_source(x);
	struct export_stack sum = { 0 };

	for (size_t i = 0; i < s->stacks; i++) {
		sum.live_blocks += s->stack[i].live_blocks;
		sum.live_bytes += s->stack[i].live_bytes;
		sum.all_blocks += s->stack[i].all_blocks;
		sum.all_bytes += s->stack[i].all_bytes;
	}
	return sum;
}

static void
check_moment(uint32_t part, const struct capture_when *when)
{
	const struct capture_totals *t;
	struct export_stack sum;
	uint64_t again;
	struct read r;

	open_export(part, when);
	t = capture_list_totals(list);
	sum = sum_stacks();
	ck_assert_uint_eq(sum.live_blocks, t->blocks);
	ck_assert_uint_eq(sum.live_bytes, t->bytes);
	/* As in the case below. */
	again = sum.all_blocks - t->allocs;
	ck_assert_uint_le(again, 3);
	ck_assert(again > 0 || sum.all_bytes == t->alloc_bytes);
	/* It can be read more than once. */
	for (int i = 0; i < 2; i++) {
		read_export(&r);
		ck_assert_uint_eq(r.allocs, sum.all_blocks);
		ck_assert_uint_eq(r.bytes, sum.all_bytes);
		ck_assert_uint_eq(r.frees, t->frees + again);
		ck_assert_uint_eq(r.lost, 0);
		check_held(&r);
		hashmap_fini(&r.held);
	}
	close_export();
}

CASE("captured", .setup = begin, .teardown = end, .seconds = 120);

/* Reallocs that failed, ranges, both layers and replaced blocks are among them. */
TEST(an_export_has_the_totals_of_its_moment)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd(), .checkpoint_events = 7000,
	    .segment_bytes = 100000 });
	uint32_t part = rig_part(w, "program"), other = rig_part(w, "other");
	const struct capture_totals *t;

	for (size_t at = 0; at < EVENTS; at += 5000) {
		rig_put(w, part, all + at, 5000, at + 1, last_ms);
		if (at < 10000)
			rig_put(w, other, all + at, 5000, at + 1, last_ms);
	}
	rig_finish(w);
	c = rig_open(rig_path);
	for (int i = 0; i < check_rounds(30); i++)
		check_moment(part, &(struct capture_when){ .at = CAPTURE_AT_SEQ,
		    .seq = 1 + any(EVENTS) });
	check_moment(part, &(struct capture_when){ .at = CAPTURE_AT_PEAK });
	check_moment(part, &(struct capture_when){ .at = CAPTURE_AT_END });
	check_moment(other, &(struct capture_when){ .at = CAPTURE_AT_END });
	ck_assert_int_eq(capture_seek(c, part, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &list), 0);
	t = capture_list_totals(list);
	ck_assert_uint_gt(t->duplicate, 0);
	ck_assert_uint_gt(t->unknown_free, 0);
}

static struct rec
record(unsigned op, unsigned type, uint64_t size)
{
	return (struct rec){ { rec_w0(0x5000, REC_FLAGS(op, op == REC_ALLOC),
	    type), rec_w1(size, 1), rec_w2(0, RIG_MS), rec_w3(0x401000, 0) } };
}

/*
 * The address has had another block before the realloc is known to have failed: no
 * program does that, but a file may say so.  The block is allocated once more.
 */
TEST(a_block_that_comes_back_late_is_allocated_again)
{
	struct rec r[] = {
		record(REC_ALLOC, TYPE_MALLOC, 100),
		record(REC_FREE, TYPE_BY_REALLOC, 0),
		record(REC_ALLOC, TYPE_MALLOC, 200),
		record(REC_FREE, TYPE_FREE, 0),
		record(REC_UNDO, TYPE_BY_REALLOC, 0),
	};
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	uint32_t part = rig_part(w, "program");
	struct read got;

	rig_put(w, part, r, NELEM(r), 1, RIG_MS);
	rig_finish(w);
	c = rig_open(rig_path);
	open_export(part, &(struct capture_when){ .at = CAPTURE_AT_END });
	ck_assert_uint_eq(capture_list_totals(list)->bytes, 100);
	read_export(&got);
	check_held(&got);
	ck_assert_uint_eq(got.allocs, 3);
	ck_assert_uint_eq(got.frees, 2);
	ck_assert_uint_eq(sum_stacks().all_bytes, got.bytes);
	hashmap_fini(&got.held);
}

/* Blocks that were there before, and events that are not in the file. */
static void
write_gap(struct blklist *want, uint32_t *part)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	static struct blk held[2000];
	size_t n;

	ck_assert_int_eq(capture_writer_part(w, &(struct capture_part){
	    .stream = "1", .comm = "late", .exe = "", .cwd = "",
	    .began = CAPTURE_JOINED, .first = 1001, .ms = RIG_MS,
	    .wall_ns = INT64_C(1800000000) * 1000000000 }, part), 0);
	rig_apply(want, all, 1000, 1, last_ms);
	n = blklist_window(want, BLKLIST_BY_ADDRESS, false, 0, held, 2000);
	ck_assert_int_eq(capture_writer_blocks(w, *part, held, n), 0);
	ck_assert_int_eq(capture_writer_state(w, *part, 1001, RIG_MS, NULL), 0);
	rig_put(w, *part, all + 1000, 1000, 1001, last_ms);
	capture_writer_lost(w, *part, 2001, 0, 500);
	rig_put(w, *part, all + 2500, 10, 2501, last_ms);
	rig_apply(want, all + 1000, 1510, 1001, last_ms);
	n = blklist_window(want, BLKLIST_BY_ADDRESS, false, 0, held, 2000);
	ck_assert_int_eq(capture_writer_blocks(w, *part, held, n), 0);
	ck_assert_int_eq(capture_writer_state(w, *part, 2511, last_ms, NULL), 0);
	rig_put(w, *part, all + 2510, 2490, 2511, last_ms);
	rig_apply(want, all + 2510, 2490, 2511, last_ms);
	rig_finish(w);
	c = rig_open(rig_path);
}

TEST(blocks_come_and_go_where_events_are_lost)
{
	struct blklist *want = rig_oracle();
	struct export_stack sum;
	uint32_t part;
	struct read r;

	write_gap(want, &part);
	open_export(part, &(struct capture_when){ .at = CAPTURE_AT_END });
	sum = sum_stacks();
	ck_assert_uint_eq(sum.live_blocks, capture_list_totals(list)->blocks);
	ck_assert_uint_eq(sum.live_bytes, capture_list_totals(list)->bytes);
	read_export(&r);
	ck_assert_uint_eq(r.lost, 500);
	/* The sums have what the capture has seen, as its totals do. */
	ck_assert_uint_eq(sum.all_blocks, capture_list_totals(list)->allocs);
	ck_assert_uint_eq(sum.all_bytes, capture_list_totals(list)->alloc_bytes);
	ck_assert_uint_gt(r.allocs, sum.all_blocks);
	check_held(&r);
	hashmap_fini(&r.held);
	ck_assert_ptr_nonnull(strstr(captured_source(x)->note,
	    "blocks are older than the capture"));
	ck_assert_ptr_nonnull(strstr(captured_source(x)->note,
	    "INCOMPLETE: 500 events are lost"));
	blklist_free(want);
}

TEST(an_error_of_a_writer_ends_it)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	uint32_t part = rig_part(w, "program");
	FILE *full = fopen("/dev/full", "w");

	rig_put(w, part, all, 10000, 1, last_ms);
	rig_finish(w);
	c = rig_open(rig_path);
	open_export(part, &(struct capture_when){ .at = CAPTURE_AT_END });
	ck_assert_ptr_nonnull(full);
	ck_assert_int_eq(export_heaptrack(captured_source(x), full), -ENOSPC);
	fclose(full);
}

/* --- addresses ---------------------------------------------------------------- */

TEST(a_set_of_addresses_is_in_their_order)
{
	struct addresses a = { 0 };
	static bool in[4096];
	uint64_t base = REC_ADDR_MASK - 4095, got;

	for (int i = 0; i < 20000; i++) {
		unsigned n = any(4096), next;

		if (in[n])
			addresses_remove(&a, base + n);
		else
			ck_assert_int_eq(addresses_add(&a, base + n), 0);
		in[n] = !in[n];
		for (next = n = any(4096); next < 4096 && !in[next];)
			next++;
		ck_assert_int_eq(addresses_next(&a, base + n, &got),
		    next < 4096);
		if (next < 4096)
			ck_assert_uint_eq(got, base + next);
		ck_assert(!addresses_next(&a, REC_ADDR_MASK + 1, &got));
	}
	for (unsigned n = 0; n < 4096; n++)
		if (in[n])
			addresses_remove(&a, base + n);
	ck_assert_uint_eq(a.words.n, 0);
	ck_assert_int_eq(addresses_add(&a, 0), 0);
	ck_assert(addresses_next(&a, 0, &got) && got == 0);
	ck_assert(!addresses_next(&a, 1, &got));
	addresses_fini(&a);
}
