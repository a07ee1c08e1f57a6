/* Captures: all that is written comes back. */
#include <sched.h>
#include <sys/syscall.h>

#include "../src/capture/recording/recording.h"
#include "capture_rig.h"

#define EVENTS ((size_t)check_rounds(96000))

static void
same_event(const struct capture_event *e, const struct rec *r, uint64_t seq,
    int64_t near_ms)
{
	ck_assert_uint_eq(e->what, CAPTURE_EVENT);
	ck_assert_uint_eq(e->seq, seq);
	ck_assert_uint_eq(e->rec.w[0], r->w[0]);
	ck_assert_uint_eq(e->rec.w[1], r->w[1]);
	ck_assert_uint_eq(e->rec.w[3], r->w[3]);
	ck_assert_int_eq(e->ms, rec_ms_near(r, near_ms));
	ck_assert_uint_eq(rec_ms(&e->rec), rec_ms(r));
	ck_assert_uint_eq(rec_ticket(&e->rec), 0);
}

/* Reads all events of a part, of `all`; returns how many. */
static size_t
read_all(struct capture *c, uint32_t part, const struct rec *all,
    int64_t near_ms)
{
	static struct capture_event e[1000];
	size_t n, events = 0;

	do {
		ck_assert_int_eq(capture_next(c, e, NELEM(e), &n), 0);
		for (size_t i = 0; i < n; i++) {
			if (e[i].part != part || e[i].what != CAPTURE_EVENT)
				continue;
			same_event(&e[i], &all[e[i].seq - 1], e[i].seq, near_ms);
			events++;
		}
	} while (n > 0);
	return events;
}

CASE("round_trip", .setup = rig_begin, .teardown = rig_end, .seconds = 60);

/* Compressed and plain. */
LOOP_TEST(every_field_of_every_record_comes_back, 0, 2)
{
	int64_t ms = 0;
	struct rec *all = rig_events(EVENTS, &ms);
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd(), .plain = _i, .checkpoint_events = 20000 });
	uint32_t part = rig_part(w, "program");
	struct blklist *want = rig_oracle();
	struct capture_list *got;
	struct capture_about about;
	struct capture *c;

	rig_put(w, part, all, EVENTS, 1, ms);
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert_uint_eq(read_all(c, part, all, ms), EVENTS);
	capture_about(c, &about);
	ck_assert_uint_eq(about.events, EVENTS);
	ck_assert_uint_eq(about.gaps, 0);
	ck_assert(about.ended);
	ck_assert_str_eq(about.reason, "the test is over");
	ck_assert_uint_eq(capture_damages(c), 0);
	ck_assert_int_eq(capture_seek(c, part, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), 0);
	rig_apply(want, all, EVENTS, 1, ms);
	rig_same_list(got, want);
	capture_list_free(got);
	blklist_free(want);
	capture_close(c);
	free(all);
}

TEST(records_of_any_bits_come_back)
{
	struct rec all[5000];
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	uint32_t part = rig_part(w, "program");
	struct capture *c;

	for (size_t i = 0; i < NELEM(all); i++)
		for (unsigned k = 0; k < 4; k++)
			all[i].w[k] = (uint64_t)any(1u << 31) << 33 |
			    (uint64_t)any(1u << 31) << 2 | any(4);
	rig_put(w, part, all, NELEM(all), 1, INT64_C(1) << 40);
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert_uint_eq(read_all(c, part, all, INT64_C(1) << 40), NELEM(all));
	capture_close(c);
}

/* In all files of a ring they are where they were written. */
LOOP_TEST(samples_of_heap_stress_come_back, 0, 2)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd(), .plain = _i });
	const struct capture_stress *s;
	struct capture *c;

	ck_assert_uint_eq(rig_part(w, "program"), 1);
	for (unsigned i = 0; i < 5; i++)
		capture_writer_stress(w, &(struct capture_stress){
		    .ms = 1000 * i, .kernel = "6.1.0-test",
		    .why = i < 3 ? "" : "the file is gone", .sample = {
			.source = i < 3 ? STRESS_FILE : STRESS_VMSTAT,
			.known = { true, i < 3 }, .level = { 100 * i, i },
			.changes = i / 3 } });
	/* Time goes on only. */
	capture_writer_stress(w, &(struct capture_stress){ .ms = 500,
	    .kernel = "", .why = "" });
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert_uint_eq(capture_damages(c), 0);
	ck_assert_uint_eq(capture_stresses(c), 5);
	for (unsigned i = 0; i < 5; i++) {
		s = capture_stress(c, i);
		ck_assert_int_eq(s->ms, 1000 * i);
		ck_assert_str_eq(s->kernel, "6.1.0-test");
		ck_assert_str_eq(s->why, i < 3 ? "" : "the file is gone");
		ck_assert_uint_eq(s->sample.level[0], 100 * i);
		ck_assert(s->sample.known[1] == (i < 3));
		ck_assert_uint_eq(s->sample.changes, i / 3);
		ck_assert_ptr_eq(capture_stress_at(c, 1000 * i + 999), s);
	}
	ck_assert_ptr_eq(capture_stress_at(c, INT64_MIN), capture_stress(c, 0));
	ck_assert_ptr_eq(capture_stress_at(c, INT64_MAX), capture_stress(c, 4));
	capture_close(c);
}

/* Differences of such times do not fit a number. */
static const int64_t never[] = { -1, INT64_MIN, INT64_MIN / 2, INT64_MAX / 2,
	INT64_MAX };

LOOP_TEST(samples_of_impossible_times_are_left_out, 0, NELEM(never))
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	struct capture_about about;
	struct capture *c;

	ck_assert_uint_eq(rig_part(w, "program"), 1);
	capture_writer_stress(w, &(struct capture_stress){ .ms = never[_i],
	    .kernel = "", .why = "" });
	capture_writer_stress(w, &(struct capture_stress){ .ms = 1000,
	    .kernel = "", .why = "" });
	rig_finish(w);
	c = rig_open(rig_path);
	capture_about(c, &about);
	ck_assert_uint_eq(about.unknown, 1);
	ck_assert_uint_eq(capture_stresses(c), 1);
	ck_assert_int_eq(capture_stress(c, 0)->ms, 1000);
	capture_close(c);
}

TEST(a_capture_without_samples_has_none)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	struct capture *c;

	rig_part(w, "program");
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert_uint_eq(capture_stresses(c), 0);
	ck_assert_ptr_null(capture_stress_at(c, 0));
	capture_close(c);
}

TEST(requesters_come_back)
{
	struct rec all[600];
	struct blklist_batch_info info[NELEM(all)];
	struct program p = { .ms = RIG_MS };
	struct blklist_batch b = { .rec = all, .n = NELEM(all), .seq = 1,
		.near_ms = RIG_MS, .info = info };
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	uint32_t part = rig_part(w, "program");
	static struct capture_event e[NELEM(all) + 1];
	struct capture *c;
	size_t n;

	for (size_t i = 0; i < NELEM(all); i++) {
		all[i] = rig_alloc(&p);
		if (any(2) == 0)
			continue;
		info[b.ninfo] = (struct blklist_batch_info){ .at = i };
		if (any(2) == 0)
			info[b.ninfo].info.node = (uint16_t)(1 + any(9));
		else
			snprintf(info[b.ninfo].info.name, 9, "who%u", any(99));
		b.ninfo++;
	}
	ck_assert_int_eq(capture_writer_records(w, part, &b), 0);
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert_int_eq(capture_next(c, e, NELEM(e), &n), 0);
	ck_assert_uint_eq(n, NELEM(e));
	for (size_t i = 0, k = 0; i < NELEM(all); i++) {
		struct blklist_info got = { .node = 0 };
		bool named = k < b.ninfo && info[k].at == i;

		ck_assert_int_eq(capture_requester(c, part, e[i + 1].info, &got),
		    named);
		if (!named)
			continue;
		ck_assert_str_eq(got.name, info[k].info.name);
		ck_assert_uint_eq(got.node, info[k].info.node);
		k++;
	}
	capture_close(c);
}

TEST(definitions_come_back)
{
	struct capture_part part = { .stream = "7", .comm = "cc1",
		.exe = "/usr/lib/cc1", .cwd = "/home/\xff", .pid = 7, .ppid = 6,
		.uid = 1000, .start_ns = -5, .parent = 1, .store = 1,
		.began = CAPTURE_FORKED, .word_bytes = 4,
		.options = CAPTURE_STACKS | CAPTURE_FREE_STACKS,
		.sample = 512 << 10, .first = 99, .ms = 12, .wall_ns = 34 };
	uint64_t frame[RING_STACK_MAX];
	struct stream_module module = { .start = 4096, .end = 8192,
		.bias = UINT64_MAX - 9, .build_id_len = 20,
		.build_id = { 1, 2, 3 }, .path = "/usr/lib/libc.so.6",
		.cut = true, .seen_ns = 77 };
	struct stream_type type = { .code = TYPE_API_FIRST, .name = "PV",
		.text = "process variables" };
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	struct capture_part_info p;
	struct stream_types types;
	struct stream_module m;
	struct stream_site s;
	const char *name;
	struct capture *c;
	uint32_t no, tid;

	rig_part(w, "make");
	ck_assert_int_eq(capture_writer_part(w, &part, &no), 0);
	ck_assert_uint_eq(no, 2);
	for (unsigned i = 0; i < RING_STACK_MAX; i++)
		frame[i] = frame_make((uint64_t)any(1u << 30) << 16, any(9));
	for (uint32_t i = 1; i <= 3000; i++)
		capture_writer_site(w, 1, i, &(struct stream_site){
		    .frame = frame + i % 20, .depth = 1 + i % 40,
		    .end = RING_END_OUTERMOST });
	capture_writer_module(w, 1, 3, &module);
	module.path = "/usr/lib/libc.so.6 (deleted)";
	capture_writer_module(w, 1, 3, &module);
	capture_writer_thread(w, 2, 65535, 4711, "worker");
	capture_writer_type(w, 2, &type);
	capture_writer_mark(w, 2, 99, 13, "here");
	capture_writer_clock(w, 6000, 5000000000);
	capture_writer_clock(w, 7000, 9000000000);
	capture_writer_end_part(w, 2, 14, 0x7f00, "exited");
	rig_finish(w);

	c = rig_open(rig_path);
	ck_assert(!capture_part(c, 3, &p));
	ck_assert(capture_part(c, 2, &p));
	ck_assert_str_eq(p.part.stream, "7");
	ck_assert_str_eq(p.part.comm, "cc1");
	ck_assert_str_eq(p.part.exe, "/usr/lib/cc1");
	ck_assert_str_eq(p.part.cwd, "/home/\xff");
	ck_assert_int_eq(p.part.pid, part.pid);
	ck_assert_int_eq(p.part.ppid, part.ppid);
	ck_assert_int_eq(p.part.uid, part.uid);
	ck_assert_int_eq(p.part.start_ns, part.start_ns);
	ck_assert_uint_eq(p.part.parent, part.parent);
	ck_assert_uint_eq(p.part.store, part.store);
	ck_assert_uint_eq(p.part.began, part.began);
	ck_assert_uint_eq(p.part.word_bytes, part.word_bytes);
	ck_assert_uint_eq(p.part.options, part.options);
	ck_assert_uint_eq(p.part.sample, part.sample);
	ck_assert_uint_eq(p.part.first, part.first);
	ck_assert_int_eq(p.part.ms, part.ms);
	ck_assert_int_eq(p.part.wall_ns, part.wall_ns);
	ck_assert(p.ended);
	ck_assert_int_eq(p.status, 0x7f00);
	ck_assert_int_eq(p.end_ms, 14);
	ck_assert_str_eq(p.reason, "exited");
	ck_assert_uint_eq(capture_sites(c, 2), 3000);
	for (uint32_t i = 1; i <= 3000; i++) {
		ck_assert(capture_site(c, 2, i, &s));
		ck_assert_uint_eq(s.depth, 1 + i % 40);
		ck_assert_mem_eq(s.frame, frame + i % 20, s.depth * 8);
		ck_assert_int_eq(s.end, RING_END_OUTERMOST);
	}
	ck_assert(!capture_module(c, 1, 2, &m));
	ck_assert(capture_module(c, 2, 3, &m));
	ck_assert_str_eq(m.path, module.path);
	ck_assert_uint_eq(m.start, module.start);
	ck_assert_uint_eq(m.end, module.end);
	ck_assert_uint_eq(m.bias, module.bias);
	ck_assert_uint_eq(m.build_id_len, module.build_id_len);
	ck_assert_mem_eq(m.build_id, module.build_id, sizeof m.build_id);
	ck_assert(m.cut);
	ck_assert_int_eq(m.seen_ns, module.seen_ns);
	ck_assert(capture_thread(c, 2, 65535, &tid, &name));
	ck_assert_uint_eq(tid, 4711);
	ck_assert_str_eq(name, "worker");
	capture_types(c, 2, &types);
	ck_assert_str_eq(types.by_code[TYPE_API_FIRST].name, "PV");
	ck_assert_str_eq(types.by_code[TYPE_API_FIRST].text, type.text);
	ck_assert_str_ne(types.by_code[TYPE_MALLOC].name, "");
	ck_assert_uint_eq(capture_marks(c), 1);
	ck_assert_str_eq(capture_mark(c, 0)->text, "here");
	ck_assert_int_eq(capture_wall_ns(c, 6500), 5500000000);
	ck_assert_int_eq(capture_ms(c, 9001000000), 7001);
	capture_close(c);
}

TEST(parts_of_a_tree_are_one_capture)
{
	int64_t ms = 0;
	struct rec *all = rig_events(EVENTS, &ms);
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd(), .segment_bytes = 60000 });
	struct capture_about about;
	uint32_t part[5];
	struct capture *c;

	for (unsigned i = 0; i < NELEM(part); i++)
		part[i] = rig_part(w, "part");
	for (size_t at = 0; at < EVENTS; at += 1000)
		for (unsigned i = 0; i < NELEM(part); i++)
			rig_put(w, part[i], all + at, 1000, at + 1, ms);
	rig_finish(w);
	c = rig_open(rig_path);
	capture_about(c, &about);
	ck_assert_uint_gt(about.segments, 3);
	for (unsigned i = 0; i < NELEM(part); i++) {
		capture_rewind(c);
		ck_assert_uint_eq(read_all(c, part[i], all, ms), EVENTS);
	}
	ck_assert_uint_eq(capture_damages(c), 0);
	capture_close(c);
	free(all);
}

TEST(a_list_that_was_there_is_the_first_state)
{
	int64_t ms = 0;
	struct rec *all = rig_events(2000, &ms);
	struct capture_totals t = { .allocs = 900, .frees = 3 };
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	struct blklist *want = rig_oracle();
	struct blk row[1000];
	struct capture_list *got;
	struct capture *c;
	uint32_t no;
	size_t n;

	rig_apply(want, all, 1000, 1, ms);
	n = blklist_window(want, BLKLIST_BY_ADDRESS, false, 0, row, 1000);
	ck_assert_uint_gt(n, 0);
	ck_assert_int_eq(capture_writer_part(w, &(struct capture_part){
	    .began = CAPTURE_JOINED, .first = 1001, .ms = ms }, &no), 0);
	ck_assert(capture_writer_wants_state(w, no));
	ck_assert_int_eq(capture_writer_blocks(w, no, row, n), 0);
	t.peak_bytes = blklist_counts(want)->peak_bytes;
	t.allocs = blklist_counts(want)->allocs;
	t.frees = blklist_counts(want)->frees;
	t.failed = blklist_counts(want)->failed;
	t.duplicate = blklist_counts(want)->duplicate;
	t.unknown_free = blklist_counts(want)->unknown_free;
	t.unknown_undo = blklist_counts(want)->unknown_undo;
	ck_assert_int_eq(capture_writer_state(w, no, 1001, ms, &t), 0);
	ck_assert(!capture_writer_wants_state(w, no));
	rig_put(w, no, all + 1000, 1000, 1001, ms);
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert_int_eq(capture_seek(c, no, &(struct capture_when){
	    .at = CAPTURE_AT_SEQ, .seq = 1001 }, &got), 0);
	rig_same_list(got, want);
	capture_list_free(got);
	blklist_free(want);
	capture_close(c);
	free(all);
}

/* Numbers of inherited blocks are negative, and some have the same. */
TEST(rows_come_back_in_the_order_of_age)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	uint32_t part = rig_part(w, "program");
	struct capture_list *got;
	const struct blk *mine;
	struct blk row[3000];
	struct capture *c;
	size_t n;

	for (size_t i = 0; i < NELEM(row); i++)
		row[i] = (struct blk){ .flags = REC_FLAGS(REC_ALLOC, 0),
			.addr = 0x1000 + i * 7919 % NELEM(row) * 16, .size = 1,
			.seq = i % 3 == 0 ? any(1u << 31) : i % 3 == 1 ?
			    any(70000) : (uint64_t)0 - any(5) };
	ck_assert_int_eq(capture_writer_blocks(w, part, row, NELEM(row)), 0);
	ck_assert_int_eq(capture_writer_state(w, part, 1, RIG_MS, NULL), 0);
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert_int_eq(capture_seek(c, part, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), 0);
	mine = capture_list_rows(got, &n);
	ck_assert_uint_eq(n, NELEM(row));
	for (size_t i = 1; i < n; i++) {
		ck_assert_int_le((int64_t)mine[i - 1].seq, (int64_t)mine[i].seq);
		if (mine[i - 1].seq == mine[i].seq)
			ck_assert_uint_lt(mine[i - 1].addr, mine[i].addr);
	}
	capture_list_free(got);
	capture_close(c);
}

/* A list without totals of its own, as after a gap. */
TEST(totals_go_on_behind_a_gap)
{
	int64_t ms = 0;
	struct rec *all = rig_events(3000, &ms);
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	uint32_t part = rig_part(w, "program");
	struct blklist *want = rig_oracle();
	struct capture_list *got;
	struct capture_totals t;
	struct capture *c;
	struct blk row[2000];
	size_t n;

	rig_put(w, part, all, 1000, 1, ms);
	capture_writer_lost(w, part, 1001, STREAM_RING_FULL, 50);
	rig_apply(want, all, 1050, 1, ms);
	n = blklist_window(want, BLKLIST_BY_ADDRESS, false, 0, row, 2000);
	ck_assert_int_eq(capture_writer_blocks(w, part, row, n), 0);
	ck_assert_int_eq(capture_writer_state(w, part, 1051, ms, NULL), 0);
	rig_put(w, part, all + 1050, 1000, 1051, ms);
	rig_finish(w);
	rig_apply(want, all + 1050, 1000, 1051, ms);
	c = rig_open(rig_path);
	ck_assert_int_eq(capture_seek(c, part, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), 0);
	t = *capture_list_totals(got);
	ck_assert_uint_eq(t.blocks, blklist_counts(want)->aRecActive);
	ck_assert_uint_eq(t.bytes, blklist_counts(want)->live_bytes);
	ck_assert_uint_ge(t.allocs + 50, blklist_counts(want)->allocs);
	ck_assert_uint_ge(t.peak_bytes, t.bytes);
	ck_assert_uint_eq(t.lost[STREAM_RING_FULL], 50);
	capture_list_free(got);
	blklist_free(want);
	capture_close(c);
	free(all);
}

/* What a target lost is said, and the list goes on as the node's own did. */
TEST(losses_of_the_stream_are_gaps)
{
	int64_t ms = 0;
	struct rec *all = rig_events(3000, &ms);
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	uint32_t part = rig_part(w, "program");
	struct capture_list *got;
	static struct capture_event e[5000];
	struct capture *c;
	size_t n;
	bool known;
	uint64_t seq;

	rig_put(w, part, all, 1000, 1, ms);
	capture_writer_lost(w, part, 1001, STREAM_RING_FULL, 50);
	rig_put(w, part, all + 1050, 1950, 1051, ms);
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert_int_eq(capture_next(c, e, NELEM(e), &n), 0);
	ck_assert_uint_eq(n, 1 + 1000 + 1 + 1950);
	ck_assert_uint_eq(e[0].what, CAPTURE_STATE);
	ck_assert_uint_eq(e[1001].what, CAPTURE_GAP);
	ck_assert_uint_eq(e[1001].seq, 1001);
	ck_assert_uint_eq(e[1001].rec.w[0], STREAM_RING_FULL);
	ck_assert_uint_eq(e[1001].rec.w[1], 50);
	ck_assert_int_eq(capture_seek(c, part, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), 0);
	known = capture_list_at(got, &seq, &ms);
	ck_assert(known);
	ck_assert_uint_eq(seq, 3001);
	ck_assert_uint_eq(capture_list_totals(got)->lost[STREAM_RING_FULL], 50);
	capture_list_free(got);
	capture_close(c);
	free(all);
}

/*
 * Events for which the queue has no room are counted, each of them, and after
 * the list is told again all is as it should be.
 */
TEST(a_full_queue_is_a_gap)
{
	int64_t ms = 0;
	size_t n = 300000, lost = 0;
	struct rec *all = rig_events(n, &ms);
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd(), .queue_bytes = 200000 });
	uint32_t part = rig_part(w, "program");
	struct blklist *want = rig_oracle();
	struct capture_progress look;
	struct capture_about about;
	struct capture_list *got;
	struct capture *c;
	struct blk row[2048];
	bool known, filled = false;
	uint64_t seq;
	size_t rows;

	for (size_t at = 0; at < n; at += 500) {
		struct blklist_batch b = { .rec = all + at, .n = 500,
			.seq = at + 1, .near_ms = ms };

		if (capture_writer_records(w, part, &b) < 0)
			lost += 500;
		capture_writer_look(w, &look);
		filled |= look.filling;
	}
	ck_assert_uint_gt(lost, 0);
	ck_assert(filled);
	while (!capture_writer_wants_state(w, part))
		continue;
	rig_apply(want, all, n, 1, ms);
	rows = blklist_window(want, BLKLIST_BY_AGE, false, 0, row, NELEM(row));
	ck_assert_int_eq(capture_writer_blocks(w, part, row, rows), 0);
	ck_assert_int_eq(capture_writer_state(w, part, n + 1, ms, NULL), 0);
	capture_writer_look(w, &look);
	ck_assert_uint_eq(look.lost, lost);
	rig_finish(w);
	c = rig_open(rig_path);
	capture_about(c, &about);
	ck_assert_uint_eq(about.events, n - lost);
	ck_assert_uint_eq(about.lost, lost);
	ck_assert_uint_eq(read_all(c, part, all, ms), n - lost);
	ck_assert_int_eq(capture_seek(c, part, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), 0);
	known = capture_list_at(got, &seq, &ms);
	ck_assert(known);
	ck_assert_uint_eq(seq, n + 1);
	ck_assert_uint_eq(capture_list_totals(got)->blocks, rows);
	ck_assert_uint_eq(capture_list_totals(got)->lost[0], lost);
	capture_list_free(got);
	blklist_free(want);
	capture_close(c);
	free(all);
}

/* The last one counts, whether it is shorter or longer. */
TEST(a_stack_that_is_defined_again_is_replaced)
{
	uint64_t first[3] = { 4096, 8192, 12288 }, then[4] = { 5, 6, 7, 8 };
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	uint32_t part = rig_part(w, "program");
	struct stream_site s;
	struct capture *c;

	for (uint32_t no = 1; no <= 3; no++)
		capture_writer_site(w, part, no, &(struct stream_site){
		    .frame = first, .depth = 3, .end = RING_END_OUTERMOST });
	capture_writer_site(w, part, 1, &(struct stream_site){ .frame = then,
	    .depth = 2, .end = RING_END_DEPTH });
	capture_writer_site(w, part, 2, &(struct stream_site){ .frame = then,
	    .depth = 4, .end = RING_END_DEPTH });
	rig_finish(w);
	c = rig_open(rig_path);
	ck_assert(capture_site(c, part, 1, &s));
	ck_assert_uint_eq(s.depth, 2);
	ck_assert_uint_eq(s.frame[1], 6);
	ck_assert_uint_eq(s.end, RING_END_DEPTH);
	ck_assert(capture_site(c, part, 2, &s));
	ck_assert_uint_eq(s.depth, 4);
	ck_assert_uint_eq(s.frame[3], 8);
	ck_assert(capture_site(c, part, 3, &s));
	ck_assert_uint_eq(s.depth, 3);
	ck_assert_uint_eq(s.frame[2], 12288);
	capture_close(c);
}

/* The first part has found no memory; the others keep their numbers. */
TEST(a_part_that_could_not_begin_leaves_the_others_their_numbers)
{
	struct capture_part part = { .stream = "1", .comm = "second", .exe = "",
		.cwd = "", .first = 1, .ms = RIG_MS };
	struct capture_part_info p;
	struct rec r = { { rec_w0(4096, REC_FLAGS(REC_ALLOC, 1), TYPE_MALLOC),
	    rec_w1(10, 1), RIG_MS, 0 } };
	static struct capture_recording rec;
	struct bytes b = { .n = 0 };
	struct capture_about about;
	struct capture *c;

	ck_assert_int_eq(recording_open(&rec, &(struct capture_opts){
	    .fd = rig_fd() }), 0);
	define_part(&b, &part);
	ck_assert_int_eq(recording_part(&rec, 2, 1, RIG_MS, 0, 0, b.p, b.n), 0);
	recording_state(&rec, 1, 1, RIG_MS, NULL);
	recording_state(&rec, 2, 1, RIG_MS, NULL);
	recording_records(&rec, 1, 1, &r, 1);
	recording_records(&rec, 2, 1, &r, 1);
	recording_clock(&rec, RIG_MS, 1);
	recording_flush(&rec);
	/* Its events are counted. */
	ck_assert_uint_eq(recording_absent(&rec), 1);
	recording_end_part(&rec, 1, RIG_MS, 0, NULL, 0);
	recording_end(&rec, "the test is over");
	recording_close(&rec);
	bytes_fini(&b);
	c = rig_open(rig_path);
	capture_about(c, &about);
	ck_assert(!capture_part(c, 1, &p));
	ck_assert(capture_part(c, 2, &p));
	ck_assert_str_eq(p.part.comm, "second");
	ck_assert_uint_eq(p.events, 1);
	ck_assert_uint_eq(about.events, 1);
	capture_close(c);
}

static _Atomic bool disk_waits;

/* In the place of the C library's. */
int
fdatasync(int fd)
{
	while (disk_waits)
		sched_yield();
	return (int)syscall(SYS_fdatasync, fd);
}

TEST(a_disk_that_does_not_answer_is_told_from_a_slow_writer)
{
	int64_t ms = 0;
	struct rec *all = rig_events(1000, &ms);
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd() });
	struct capture_progress look;
	uint32_t part = rig_part(w, "program");

	disk_waits = true;
	rig_put(w, part, all, 1000, 1, ms);
	do
		capture_writer_look(w, &look);
	while (look.disk_ms < 3);
	disk_waits = false;
	do
		capture_writer_look(w, &look);
	while (look.disk_ms != 0);
	rig_finish(w);
	free(all);
}

TEST(only_an_empty_file_or_folder_is_written_to)
{
	struct capture_writer *w;
	int fd = rig_fd(), full = open("/dev/full", O_WRONLY);
	int dir = open(rig_dir, O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(capture_writer_new(&w,
	    &(struct capture_opts){ .fd = full }), -EINVAL);
	ck_assert_int_eq(capture_writer_new(&w,
	    &(struct capture_opts){ .fd = dir }), -EINVAL);
	ck_assert_int_eq(capture_writer_new(&w,
	    &(struct capture_opts){ .fd = fd, .ring = 1 << 20 }), -EINVAL);
	ck_assert_int_eq(capture_writer_new(&w,
	    &(struct capture_opts){ .fd = dir, .ring = 1 << 20 }), -EEXIST);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	ck_assert_int_eq(capture_writer_new(&w,
	    &(struct capture_opts){ .fd = fd }), -EEXIST);
	close(full);
	close(dir);
	close(fd);
}
