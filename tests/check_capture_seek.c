/* Captures: the list at a moment is that of a replay from the start. */
#include <sys/resource.h>

#include "capture_rig.h"

#define EVENTS 60000
#define TIMES 1000

static struct rec *all;
static int64_t last_ms;

/* A capture of all events, with many checkpoints. */
static struct capture *
capture_of(size_t n, uint64_t checkpoint_events)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd(), .checkpoint_events = checkpoint_events,
	    .segment_bytes = 100000 });
	uint32_t part = rig_part(w, "program");

	for (size_t at = 0; at < n; at += 5000)
		rig_put(w, part, all + at, 5000, at + 1, last_ms);
	rig_finish(w);
	return rig_open(rig_path);
}

static void
begin(void)
{
	rig_begin();
	last_ms = 0;
	all = rig_events(EVENTS, &last_ms);
}

static void
end(void)
{
	free(all);
	rig_end();
}

/* How many events are before the moment. */
static size_t
events_until(int64_t ms)
{
	size_t n = 0;

	while (n < EVENTS && rec_ms_near(&all[n], last_ms) <= ms)
		n++;
	return n;
}

static int
compare(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

CASE("seek", .setup = begin, .teardown = end, .seconds = 120);

TEST(a_random_moment_equals_a_replay_from_the_start)
{
	struct capture *c = capture_of(EVENTS, 5000);
	struct blklist *want = rig_oracle();
	size_t until[TIMES], done = 0;

	for (size_t i = 0; i < TIMES; i++)
		until[i] = events_until(RIG_MS +
		    any((unsigned)(last_ms - RIG_MS)));
	qsort(until, TIMES, sizeof until[0], compare);
	for (size_t i = 0; i < TIMES; i++) {
		bool by_seq = any(2) == 0 || until[i] == 0;
		struct capture_when when = { .at = by_seq ? CAPTURE_AT_SEQ :
		    CAPTURE_AT_MS, .seq = until[i] + 1 };
		struct capture_list *got;
		uint64_t seq;
		int64_t ms;

		for (size_t k = 0; k < until[i]; k++)
			if (rec_ms_near(&all[k], last_ms) > when.ms)
				when.ms = rec_ms_near(&all[k], last_ms);
		rig_apply(want, all + done, until[i] - done, done + 1, last_ms);
		done = until[i];
		ck_assert_int_eq(capture_seek(c, 1, &when, &got), 0);
		ck_assert(capture_list_at(got, &seq, &ms));
		ck_assert_uint_eq(seq, done + 1);
		rig_same_list(got, want);
		capture_list_free(got);
	}
	blklist_free(want);
	capture_close(c);
}

TEST(a_list_goes_forward)
{
	struct capture *c = capture_of(EVENTS, 20000);
	struct blklist *want = rig_oracle();
	struct capture_list *got;
	size_t done = 0;

	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_SEQ, .seq = 1 }, &got), 0);
	while (done < EVENTS) {
		size_t n = 1 + any(4000);

		if (n > EVENTS - done)
			n = EVENTS - done;
		rig_apply(want, all + done, n, done + 1, last_ms);
		done += n;
		ck_assert_int_eq(capture_forward(c, got, &(struct capture_when){
		    .at = CAPTURE_AT_SEQ, .seq = done + 1 }), 0);
		rig_same_list(got, want);
	}
	ck_assert_int_eq(capture_forward(c, got, &(struct capture_when){
	    .at = CAPTURE_AT_SEQ, .seq = 3 }), -EINVAL);
	capture_list_free(got);
	blklist_free(want);
	capture_close(c);
}

TEST(the_peak_is_where_most_was_held)
{
	struct capture *c = capture_of(EVENTS, 7000);
	struct blklist *want = rig_oracle();
	struct capture_list *got;
	uint64_t most = 0, at = 0, seq;
	int64_t ms;

	for (size_t i = 0; i < EVENTS; i++) {
		rig_apply(want, &all[i], 1, i + 1, last_ms);
		if (blklist_counts(want)->live_bytes <= most)
			continue;
		most = blklist_counts(want)->live_bytes;
		at = i + 1;
	}
	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_PEAK }, &got), 0);
	capture_list_at(got, &seq, &ms);
	ck_assert_uint_eq(seq, at + 1);
	ck_assert_uint_eq(capture_list_totals(got)->bytes, most);
	ck_assert_uint_eq(capture_list_totals(got)->peak_seq, at);
	capture_list_free(got);
	blklist_free(want);
	capture_close(c);
}

TEST(moments_before_the_beginning_are_refused)
{
	struct capture *c = capture_of(5000, 7000);
	struct capture_list *got;

	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_MS, .ms = 3 }, &got), -ENOENT);
	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_SEQ, .seq = 0 }, &got), -ENOENT);
	ck_assert_int_eq(capture_seek(c, 2, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), -ENOENT);
	capture_close(c);
}

/* The oldest files go; what is left begins with all that it needs. */
TEST(a_ring_drops_its_oldest_files)
{
	struct capture_opts opts = { .ring = 200000, .segment_bytes = 30000,
		.plain = true };
	struct capture_writer *w;
	struct capture_part_info p;
	struct capture_about about;
	struct capture_list *got;
	struct blklist *want = rig_oracle();
	struct stream_site s;
	uint64_t frame[3] = { 4096, 8192, 12288 };
	struct capture *c;
	char dir[100];

	snprintf(dir, sizeof dir, "%s/ring", rig_dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	opts.fd = open(dir, O_RDONLY | O_DIRECTORY);
	w = rig_writer(&opts);
	rig_part(w, "program");
	capture_writer_site(w, 1, 5, &(struct stream_site){ .frame = frame,
	    .depth = 3, .end = RING_END_DEPTH });
	capture_writer_mark(w, 1, 1, RIG_MS, "begin");
	for (size_t at = 0; at < EVENTS; at += 500)
		rig_put(w, 1, all + at, 500, at + 1, last_ms);
	rig_finish(w);

	c = rig_open(dir);
	capture_about(c, &about);
	ck_assert_uint_gt(about.oldest, 1);
	ck_assert_uint_le(about.bytes, 300000);
	ck_assert_uint_eq(capture_damages(c), 0);
	ck_assert(capture_part(c, 1, &p));
	ck_assert_uint_gt(p.complete_seq, 1);
	ck_assert_uint_lt(p.complete_seq, EVENTS);
	ck_assert(capture_site(c, 1, 5, &s));
	ck_assert_uint_eq(capture_marks(c), 1);
	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_SEQ, .seq = p.complete_seq }, &got), 0);
	rig_apply(want, all, p.complete_seq - 1, 1, last_ms);
	rig_same_list(got, want);
	ck_assert_int_eq(capture_forward(c, got, &(struct capture_when){
	    .at = CAPTURE_AT_END }), 0);
	rig_apply(want, all + p.complete_seq - 1, EVENTS + 1 - p.complete_seq,
	    p.complete_seq, last_ms);
	rig_same_list(got, want);
	capture_list_free(got);
	blklist_free(want);
	capture_close(c);
}

/* Threads that are told again and again take no room, and are in each file. */
TEST(threads_and_shared_stores_stay_in_a_ring)
{
	struct capture_opts opts = { .ring = 200000, .segment_bytes = 30000,
		.plain = true };
	struct capture_writer *w;
	uint64_t frame[3] = { 4096, 8192, 12288 };
	struct capture_about about;
	struct stream_site s;
	struct capture *c;
	const char *name;
	char dir[100];
	uint32_t no, tid;

	snprintf(dir, sizeof dir, "%s/ring", rig_dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	opts.fd = open(dir, O_RDONLY | O_DIRECTORY);
	w = rig_writer(&opts);
	rig_part(w, "parent");
	capture_writer_site(w, 1, 5, &(struct stream_site){ .frame = frame,
	    .depth = 3, .end = RING_END_DEPTH });
	ck_assert_int_eq(capture_writer_part(w, &(struct capture_part){
	    .parent = 1, .store = 1, .first = 1, .ms = RIG_MS }, &no), 0);
	ck_assert_int_eq(capture_writer_state(w, no, 1, RIG_MS, NULL), 0);
	capture_writer_end_part(w, 1, RIG_MS, 0, "exited");
	for (size_t at = 0; at < EVENTS; at += 500) {
		rig_put(w, no, all + at, 500, at + 1, last_ms);
		for (unsigned i = 1; i <= 50; i++)
			capture_writer_thread(w, no, i, 100 + i, "worker");
	}
	rig_finish(w);
	c = rig_open(dir);
	capture_about(c, &about);
	ck_assert_uint_gt(about.oldest, 1);
	ck_assert_uint_eq(capture_damages(c), 0);
	ck_assert(capture_site(c, no, 5, &s));
	ck_assert(capture_thread(c, no, 50, &tid, &name));
	ck_assert_uint_eq(tid, 150);
	ck_assert_str_eq(name, "worker");
	ck_assert_uint_le(about.bytes, 300000);
	capture_close(c);
}

CASE("memory", .setup = rig_begin, .teardown = rig_end, .tags = TAG_KERNEL,
    .seconds = 120);

#ifndef SANITIZED
/* More than 40 MB of events that nothing can shrink. */
static void
write_large(void)
{
	struct capture_writer *w = rig_writer(&(struct capture_opts){
	    .fd = rig_fd(), .plain = true, .checkpoint_events = 500000 });
	static struct rec r[1000];
	uint64_t seq = 1;

	rig_part(w, "large");
	for (unsigned round = 0; round < 2500; round++, seq += NELEM(r)) {
		for (size_t i = 0; i < NELEM(r); i++) {
			uint64_t addr = (uint64_t)any(4000) << 20 |
			    (uint64_t)any(4000) << 4;

			r[i] = (struct rec){ { rec_w0(addr, REC_FLAGS(
			    i % 2 ? REC_FREE : REC_ALLOC, 0), TYPE_MALLOC),
			    rec_w1(any(1u << 31), 1), rec_w2(0, RIG_MS),
			    rec_w3((uint64_t)any(1u << 31) << 16, 1) } };
			if (i % 2)
				r[i].w[0] = (r[i - 1].w[0] & REC_ADDR_MASK) |
				    rec_op_bits(REC_FREE);
		}
		rig_put(w, 1, r, NELEM(r), seq, RIG_MS);
	}
	rig_finish(w);
}

TEST(a_capture_of_four_times_the_memory_is_analysed)
{
	static struct capture_event e[1000];
	struct rlimit old, few;
	struct capture_list *got;
	struct capture *c;
	struct stat st;
	size_t n, events = 0;

	write_large();
	ck_assert_int_eq(stat(rig_path, &st), 0);
	ck_assert_int_gt(st.st_size, 40 << 20);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &old), 0);
	few = old;
	few.rlim_cur = rig_address_space() + (size_t)st.st_size / 4;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
	c = rig_open(rig_path);
	do {
		ck_assert_int_eq(capture_next(c, e, NELEM(e), &n), 0);
		for (size_t i = 0; i < n; i++)
			events += e[i].what == CAPTURE_EVENT;
	} while (n > 0);
	ck_assert_uint_eq(events, 2500000);
	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), 0);
	ck_assert_uint_eq(capture_list_totals(got)->allocs, 1250000);
	capture_list_free(got);
	capture_close(c);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &old), 0);
}
#endif
