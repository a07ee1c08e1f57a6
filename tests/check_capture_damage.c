/*
 * Captures that are cut off, changed, written by a process that is killed, or on
 * a disk that is full: never a wrong record, and what is missing is said.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../src/capture/format.h"
#include "capture_rig.h"

#define EVENTS 600
#define FILE_MAX (1 << 16)

static struct rec *all;
static int64_t last_ms;
static uint8_t file[FILE_MAX];
static size_t len;

/* A block, or the head of a segment (kind 0), of the file. */
static struct place {
	size_t at, end;
	unsigned kind;
	size_t events, before;	/* in it, and in all blocks before */
	unsigned segment;
} place[200];
static size_t places;

static void
find_places(void)
{
	unsigned segment = 0;
	size_t events = 0;

	places = 0;
	for (size_t at = 0; at < len; at = place[places++].end) {
		struct block_head b = { .len = 0 };

		ck_assert_uint_lt(places, NELEM(place));
		if (capture_magic(file + at, len - at)) {
			place[places] = (struct place){ .at = at,
				.end = at + FORMAT_SEGMENT_HEAD,
				.before = events, .segment = ++segment };
			continue;
		}
		ck_assert(format_get_block(file + at, &b));
		place[places] = (struct place){ .at = at, .kind = b.kind,
			.end = at + FORMAT_BLOCK_HEAD + b.len,
			.events = b.kind == FORMAT_EVENTS ? b.count : 0,
			.before = events, .segment = segment };
		events += place[places].events;
	}
}

static void
load_file(void)
{
	int fd = open(rig_path, O_RDONLY);

	len = (size_t)read(fd, file, sizeof file);
	close(fd);
	ck_assert_uint_lt(len, sizeof file);
	find_places();
}

static void
store_file(size_t n)
{
	int fd = open(rig_path, O_WRONLY | O_TRUNC);

	ck_assert_int_eq(write(fd, file, n), (ssize_t)n);
	close(fd);
}

/* A small file of some segments, with all kinds of blocks. */
static void
begin(void)
{
	struct capture_writer *w;
	uint64_t frame[2] = { 4096, 8192 };

	rig_begin();
	last_ms = 0;
	all = rig_events(EVENTS, &last_ms);
	w = rig_writer(&(struct capture_opts){ .fd = rig_fd(),
	    .segment_bytes = 1500, .checkpoint_events = 300 });
	rig_part(w, "program");
	capture_writer_site(w, 1, 1, &(struct stream_site){ .frame = frame,
	    .depth = 2, .end = RING_END_OUTERMOST });
	capture_writer_thread(w, 1, 1, 4711, "main");
	capture_writer_clock(w, RIG_MS, 1);
	rig_put(w, 1, all, EVENTS, 1, last_ms);
	capture_writer_mark(w, 1, EVENTS, last_ms, "mark");
	capture_writer_end_part(w, 1, last_ms, 0, "exited");
	rig_finish(w);
	load_file();
}

static void
end(void)
{
	free(all);
	rig_end();
}

/* All events are those that were written; returns how many. */
static size_t
read_events(struct capture *c)
{
	static struct capture_event e[EVENTS + 100];
	size_t n, events = 0;

	do {
		ck_assert_int_eq(capture_next(c, e, NELEM(e), &n), 0);
		for (size_t i = 0; i < n; i++) {
			const struct rec *r;

			if (e[i].what != CAPTURE_EVENT)
				continue;
			ck_assert_uint_ge(e[i].seq, 1);
			ck_assert_uint_le(e[i].seq, EVENTS);
			r = &all[e[i].seq - 1];
			ck_assert_uint_eq(e[i].rec.w[0], r->w[0]);
			ck_assert_uint_eq(e[i].rec.w[1], r->w[1]);
			ck_assert_uint_eq(e[i].rec.w[3], r->w[3]);
			ck_assert_int_eq(e[i].ms, rec_ms_near(r, last_ms));
			events++;
		}
	} while (n > 0);
	return events;
}

static bool
says(const struct capture *c, size_t offset)
{
	char want[64];

	snprintf(want, sizeof want, ": offset %zu: ", offset);
	for (size_t i = 0; i < capture_damages(c); i++)
		if (strstr(capture_damage(c, i), want) != NULL)
			return true;
	return false;
}

/* A list that counts as complete is that of all events, whatever is missing before. */
static void
check_end(struct capture *c, uint64_t missing)
{
	static struct capture_totals whole;
	struct capture_totals t;
	struct capture_list *l;
	uint64_t seq;
	int64_t ms;
	bool known;

	if (capture_seek(c, 1, &(struct capture_when){ .at = CAPTURE_AT_END },
	    &l) < 0)
		return;
	known = capture_list_at(l, &seq, &ms);
	if (known && seq == EVENTS + 1) {
		t = *capture_list_totals(l);
		ck_assert_uint_eq(t.lost[0], missing);
		t.lost[0] = 0;
		if (whole.allocs == 0)
			whole = t;
		ck_assert_mem_eq(&whole, &t, sizeof whole);
	}
	capture_list_free(l);
}

CASE("bytes", .setup = begin, .teardown = end, .seconds = 200);

/* A sanitizer sees what it can see at each eleventh byte, too. */
static size_t
stride(void)
{
	return check_rounds(30) < 30 ? 11 : 1;
}

TEST(a_file_that_is_cut_anywhere_is_read_up_to_there)
{
	struct capture *c = rig_open(rig_path);
	char why[CAPTURE_WHY];

	ck_assert_uint_eq(read_events(c), EVENTS);
	check_end(c, 0);
	capture_close(c);
	for (size_t i = 0; i < FORMAT_SEGMENT_HEAD; i++) {
		store_file(i);
		ck_assert_int_eq(capture_open(&c, rig_path, why), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(why, "not a capture"));
	}
	for (size_t p = 1; p < places; p++)
		for (size_t cut = place[p].at; cut < place[p].end;
		    cut += stride()) {
			store_file(cut);
			c = rig_open(rig_path);
			ck_assert_uint_eq(read_events(c), place[p].before);
			ck_assert_int_eq(says(c, place[p].at),
			    cut > place[p].at);
			check_end(c, 0);
			capture_close(c);
		}
}

/* --- a writer that is killed, and another one that goes on ------------------------ */

static const struct capture_opts small_segments = { .segment_bytes = 1500,
	.checkpoint_events = 300 };

static struct capture_writer *
go_on_writer(void)
{
	struct capture_opts o = small_segments;

	o.fd = open(rig_path, O_RDWR);
	ck_assert_int_ge(o.fd, 0);
	return rig_writer(&o);
}

/* The list before event `seq`, as a node that goes on has it. */
static void
put_list(struct capture_writer *w, const struct blklist *l, uint64_t seq)
{
	static struct blk row[4096];
	size_t n = blklist_window(l, BLKLIST_BY_AGE, false, 0, row, NELEM(row));

	ck_assert_uint_lt(n, NELEM(row));
	ck_assert_int_eq(capture_writer_blocks(w, 1, row, n), 0);
	ck_assert_int_eq(capture_writer_state(w, 1, seq, seq == 1 ? RIG_MS - 10 :
	    rec_ms_near(&all[seq - 2], last_ms), NULL), 0);
}

/* Goes on at event `first`; false: the part has no place to go on from. */
static bool
write_rest(uint64_t first)
{
	const struct capture_part part = { .stream = "4711", .comm = "program",
		.pid = 4711, .first = first, .ms = last_ms };
	struct capture_writer *w = go_on_writer();
	struct blklist *l = rig_oracle();
	uint32_t no = 0, store = 0;
	bool goes_on = capture_writer_resume(w, &part, &no, &store) == 0;

	if (goes_on) {
		ck_assert_uint_eq(no, 1);
		ck_assert_uint_eq(store, 1);
		rig_apply(l, all, first - 1, 1, last_ms);
		put_list(w, l, first);
		rig_put(w, 1, all + first - 1, EVENTS - first + 1, first,
		    last_ms);
		capture_writer_end_part(w, 1, last_ms, 0, "exited");
	}
	rig_finish(w);
	blklist_free(l);
	return goes_on;
}

static void
check_whole(uint64_t skipped)
{
	struct capture *c = rig_open(rig_path);
	struct blklist *l = rig_oracle();
	struct capture_about about;
	struct capture_list *end;
	uint64_t seq;
	int64_t ms;

	capture_about(c, &about);
	ck_assert_uint_eq(capture_damages(c), 0);
	ck_assert_uint_eq(read_events(c), EVENTS - skipped);
	ck_assert_uint_eq(about.lost, skipped);
	ck_assert_uint_eq(about.parts, 1);
	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &end), 0);
	ck_assert(capture_list_at(end, &seq, &ms));
	rig_apply(l, all, EVENTS, 1, last_ms);
	ck_assert_uint_eq(capture_list_totals(end)->lost[0], skipped);
	ck_assert_uint_eq(capture_list_totals(end)->blocks,
	    blklist_counts(l)->aRecActive);
	if (skipped == 0)
		rig_same_list(end, l);
	capture_list_free(end);
	blklist_free(l);
	capture_close(c);
}

/* Wherever the kill was, events after it follow, and those between are a gap. */
TEST(a_recording_that_is_killed_goes_on_in_its_file)
{
	unsigned tried = 0;

	for (size_t p = 2; p < places; p++) {
		const size_t at[] = { place[p].at, place[p].at + 1,
			(place[p].at + place[p].end) / 2, place[p].end - 1 };
		uint64_t before = place[p].before, skip = p % 3 * 10;

		if (before + skip >= EVENTS)
			continue;
		for (size_t i = 0; i < NELEM(at); i++) {
			store_file(at[i]);
			ck_assert(write_rest(before + skip + 1));
			check_whole(skip);
			tried++;
		}
	}
	ck_assert_uint_gt(tried, 50);
}

/* Events that come again, in an order that may be another, have a part of their own. */
TEST(numbers_that_are_in_the_file_are_not_written_again)
{
	struct capture_part_info i;
	struct capture *c;
	size_t p = places / 2;

	store_file(place[p].at);
	ck_assert(!write_rest(place[p].before - 5));
	c = rig_open(rig_path);
	ck_assert_uint_eq(read_events(c), place[p].before);
	ck_assert(capture_part(c, 1, &i) && i.ended);
	ck_assert_ptr_nonnull(strstr(i.reason, "the node was killed"));
	capture_close(c);
}

TEST(what_has_its_end_or_is_no_capture_does_not_go_on)
{
	static const char other[] = "this is not a capture, but it has some bytes "
	    "in it, more than a head has, so that it could be one";
	struct capture_opts o = small_segments;
	struct capture_writer *w;

	o.fd = open(rig_path, O_RDWR);
	ck_assert_int_eq(capture_writer_new(&w, &o), -EEXIST);
	memcpy(file, other, sizeof other);
	store_file(len);
	ck_assert_int_eq(capture_writer_new(&w, &o), -EEXIST);
	close(o.fd);
}

/* The folder is a user's, and the node may be the system's. */
TEST(the_last_file_of_a_ring_is_cut_if_nobody_else_has_it)
{
	struct capture_opts o = { .ring = 1 << 20 };
	char path[128], other[128];
	struct capture_writer *w;
	size_t n = 0;
	int fd;

	while (place[n + 1].segment == 1)
		n++;
	snprintf(path, sizeof path, "%s/ring", rig_dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	o.fd = open(path, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof path, "%s/ring/00000001.pkc", rig_dir);
	snprintf(other, sizeof other, "%s/other", rig_dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	ck_assert_int_eq(write(fd, file, place[n].end - 1),
	    (ssize_t)place[n].end - 1);
	close(fd);

	ck_assert_int_eq(link(path, other), 0);
	ck_assert_int_eq(capture_writer_new(&w, &o), -EEXIST);
	ck_assert_int_eq(unlink(other), 0);

	signal(SIGIO, SIG_IGN);
	fd = open(path, O_RDONLY);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
		ck_assert_int_eq(capture_writer_new(&w, &o), -EACCES);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), (off_t)place[n].end - 1);
	close(fd);

	w = rig_writer(&o);
	ck_assert_uint_eq(capture_writer_parts(w), 1);
	rig_finish(w);
}

static bool
is_passed(size_t p, size_t at)
{
	return at >= place[p].at + FORMAT_BLOCK_HEAD &&
	    (place[p].kind == FORMAT_EVENTS || place[p].kind == FORMAT_STATE ||
	    place[p].kind == FORMAT_CHECKPOINT || place[p].kind == FORMAT_GAP);
}

/*
 * All events but those of the block, if its head is whole; else events before the
 * place in its segment, and of the segments after it.
 */
static size_t
events_without(size_t p, size_t at)
{
	size_t n = place[p].before;

	if (is_passed(p, at))
		return EVENTS - place[p].events;

	for (size_t i = p + 1; i < places; i++)
		if (place[i].segment > place[p].segment)
			n += place[i].events;
	return n;
}

static void
try_flip(size_t p, size_t at, unsigned bit)
{
	char why[CAPTURE_WHY] = "";
	struct capture *c;
	size_t events;
	int err;

	file[at] ^= (uint8_t)(1 << bit);
	store_file(len);
	err = capture_open(&c, rig_path, why);
	if (p == 0) {
		ck_assert_int_lt(err, 0);
		ck_assert_str_ne(why, "");
	} else {
		ck_assert_int_eq(err, 0);
		events = read_events(c);
		check_end(c, EVENTS - events);
		ck_assert_msg(says(c, place[p].at) &&
		    events == events_without(p, at), "byte %zu bit %u", at,
		    bit);
		capture_close(c);
	}
	file[at] ^= (uint8_t)(1 << bit);
}

/* Bytes 44 to 59 of a segment's head are zeros that nobody reads. */
TEST(a_bit_that_is_flipped_is_never_a_wrong_record)
{
	bool full = check_is_long();

	for (size_t p = 0; p < places; p++)
		for (size_t at = place[p].at; at < place[p].end; at += stride())
			for (unsigned bit = 0; bit < 8; bit++)
				if (full || bit == at % 8)
					try_flip(p, at, bit);
}

TEST(an_unknown_kind_is_skipped_and_counted)
{
	struct capture_about about;
	struct capture *c;
	size_t changed = 0;

	for (size_t p = 0; p < places; p++) {
		if (place[p].kind != FORMAT_SITES)
			continue;
		base_put_le(file + place[p].at + 12, 999, 2);
		base_put_le(file + place[p].at + 44,
		    format_crc32c(file + place[p].at, 44), 4);
		changed++;
	}
	ck_assert_uint_eq(changed, 1);
	store_file(len);
	c = rig_open(rig_path);
	capture_about(c, &about);
	ck_assert_uint_eq(about.unknown, 1);
	ck_assert_uint_eq(read_events(c), EVENTS);
	ck_assert_uint_eq(capture_damages(c), 0);
	capture_close(c);
}

static const struct {
	size_t at, n;
	uint64_t value;
	int err;
	const char *says;
} heads[] = {
	{ 8, 4, 1, -ENOTSUP, "another version" },
	{ 8, 4, 3, -ENOTSUP, "another version" },
	{ 12, 4, 0x04030201, -ENOTSUP, "another version" },
	{ 0, 1, '{', -EBADMSG, "not a capture" },
};

LOOP_TEST(another_version_order_or_kind_of_file_is_refused, 0, NELEM(heads))
{
	char why[CAPTURE_WHY];
	struct capture *c;

	base_put_le(file + heads[_i].at, heads[_i].value, heads[_i].n);
	base_put_le(file + 60, format_crc32c(file, 60), 4);
	store_file(len);
	ck_assert_int_eq(capture_open(&c, rig_path, why), heads[_i].err);
	ck_assert_ptr_nonnull(strstr(why, heads[_i].says));
	ck_assert_int_eq(capture_open(&c, rig_dir, why), -EBADMSG);
	ck_assert_int_eq(capture_open(&c, "/nonexistent", why), -ENOENT);
}

/* --- hostile numbers --------------------------------------------------------- */

static int hostile_fd;
static size_t hostile_len;

static void
put_hostile(const void *p, size_t n)
{
	ck_assert_int_eq(write(hostile_fd, p, n), (ssize_t)n);
	hostile_len += n;
}

static void
put_block_at(unsigned kind, uint32_t part, uint64_t first, uint32_t count,
    const struct bytes *b)
{
	static uint8_t packed[FORMAT_BLOCK_MAX];
	struct block_head head = { .kind = (uint16_t)kind, .part = part,
		.count = count, .first = first, .ms = RIG_MS,
		.len = (uint32_t)b->n, .decoded = (uint32_t)b->n };
	const uint8_t *p = b->p;
	uint8_t bytes[FORMAT_BLOCK_HEAD];
	struct pack *pack;
	size_t n;

	ck_assert_int_eq(pack_new(&pack), 0);
	n = b->n > 4096 ? pack_shrink(pack, packed, sizeof packed, b->p, b->n) :
	    0;
	pack_free(pack);
	if (n > 0) {
		head.flags = FORMAT_ZSTD;
		head.len = (uint32_t)n;
		p = packed;
	}
	head.crc = format_crc32c(p, head.len);
	format_put_block(bytes, &head);
	put_hostile(bytes, sizeof bytes);
	put_hostile(p, head.len);
}

static void
put_block(unsigned kind, uint32_t part, uint32_t count, const struct bytes *b)
{
	put_block_at(kind, part, 1, count, b);
}

static void
begin_hostile(void)
{
	uint8_t head[FORMAT_SEGMENT_HEAD];

	hostile_fd = rig_fd();
	format_put_segment(head, &(struct segment_head){ .id = 1, .number = 1 });
	put_hostile(head, sizeof head);
}

static void
put_hostile_part(uint32_t no)
{
	struct bytes b = { .n = 0 };

	define_part(&b, &(struct capture_part){ .stream = "1", .comm = "c",
	    .exe = "", .cwd = "" });
	put_block(FORMAT_PART, no, 1, &b);
	bytes_fini(&b);
}

static void
put_events(uint64_t first, uint32_t n)
{
	struct events_coder *coder;
	struct bytes b = { .n = 0 };

	ck_assert_int_eq(events_coder_new(&coder), 0);
	events_encode(coder, &b, all, NULL, n, RIG_MS);
	put_block_at(FORMAT_EVENTS, 1, first, n, &b);
	events_coder_free(coder);
	bytes_fini(&b);
}

static void
put_gap(uint64_t first, uint64_t count)
{
	struct bytes b = { .n = 0 };

	bytes_varint(&b, 0);
	bytes_varint(&b, count);
	put_block_at(FORMAT_GAP, 1, first, 1, &b);
	bytes_fini(&b);
}

/* Of these numbers the file below has events. */
static bool
is_there(uint64_t seq)
{
	return seq < 10 || (seq >= 100 && seq < 105) || seq == 200;
}

static const uint64_t starts[] = { 0, 3, 10, 100, 104, 105, 106, 150, 200, 201 };

LOOP_TEST(numbers_that_go_back_give_no_event_that_is_not_there, 0, NELEM(starts))
{
	struct capture_event e[4];
	uint64_t seq = starts[_i], from;
	struct capture *c;
	size_t n;

	begin_hostile();
	put_hostile_part(1);
	put_events(100, 5);
	put_gap(105, 0);
	put_gap(105, 0);
	put_events(0, 10);
	put_events(200, 1);
	close(hostile_fd);
	c = rig_open(rig_path);
	do {
		from = seq;
		ck_assert_int_eq(capture_read(c, 1, &seq, e, NELEM(e), &n), 0);
		ck_assert_uint_le(n, NELEM(e));
		for (size_t i = 0; i < n; i++) {
			ck_assert_uint_eq(e[i].seq, from + i);
			ck_assert(e[i].what == CAPTURE_GAP ||
			    is_there(e[i].seq));
		}
	} while (n > 0);
	ck_assert_uint_ge(seq, 201);
	capture_close(c);
}

static const struct {
	unsigned options, flags;
	int err;
} undos[] = {
	{ 0, 0, -EBADMSG },
	{ 0, REC_FLAGS(REC_ALLOC, 1), 0 },
	{ CAPTURE_CLASSIC, 1, -EBADMSG },
	{ CAPTURE_CLASSIC, REC_LAYER_API, -EBADMSG },
	{ CAPTURE_CLASSIC, REC_FLAGS(REC_ALLOC, REC_LAYER_API), 0 },
};

/* An undo of it would put a row that is none. */
LOOP_TEST(a_free_to_undo_has_a_row, 0, NELEM(undos))
{
	struct blk b = { .addr = 0x5000, .size = 16,
		.flags = (uint8_t)undos[_i].flags };
	const struct blk *row = &b;
	struct capture_list *l;
	struct bytes text = { .n = 0 };
	struct cursor in;
	size_t n;

	ck_assert_int_eq(capture_list_new(&l, undos[_i].options), 0);
	for (unsigned i = 0; i < 3; i++)	/* one, of thread 1, by its row */
		bytes_varint(&text, 1);
	rows_encode(&text, &row, 1);
	in = (struct cursor){ .p = text.p, .end = text.p + text.n };
	ck_assert_int_eq(list_decode_undo(l, &in), undos[_i].err);
	ck_assert_int_eq(capture_list_apply(l, &(struct capture_event){
	    .seq = 1, .ms = RIG_MS, .rec = { { rec_w0(0x5000,
	    REC_FLAGS(REC_UNDO, 0), TYPE_MALLOC), rec_w1(16, 1), 0, 0 } } }), 0);
	ck_assert_ptr_nonnull(capture_list_rows(l, &n));
	ck_assert_uint_eq(n, undos[_i].err == 0);
	ck_assert_uint_eq(n, capture_list_totals(l)->blocks);
	capture_list_free(l);
	bytes_fini(&text);
}

#ifndef SANITIZED
/* The highest number of each kind, and nothing else. */
static void
put_high_numbers(uint32_t no)
{
	uint64_t frame[1] = { 4096 };
	struct bytes b = { .n = 0 };

	put_hostile_part(no);
	define_module(&b, UINT16_MAX, &(struct stream_module){ .path = "m" });
	put_block(FORMAT_MODULES, no, 1, &b);
	b.n = 0;
	define_thread(&b, UINT16_MAX, 1, "t");
	put_block(FORMAT_THREADS, no, 1, &b);
	b.n = 0;
	define_requester(&b, UINT16_MAX, &(struct blklist_info){ .node = 1 });
	put_block(FORMAT_REQUESTERS, no, 1, &b);
	b.n = 0;
	define_site(&b, STREAM_SITES_MAX, &(struct stream_site){
	    .frame = frame, .depth = 1, .end = RING_END_DEPTH });
	put_block(FORMAT_SITES, no, 1, &b);
	bytes_fini(&b);
}

/* Long names, which shrink to a few bytes each. */
static void
put_long_names(uint32_t no)
{
	char name[CAPTURE_TEXT_MAX];
	struct bytes b = { .n = 0 };
	uint32_t n;

	put_hostile_part(no);
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	for (n = 0; b.n < FORMAT_BLOCK_MAX - sizeof name; n++)
		define_thread(&b, n, 1, name);
	put_block(FORMAT_THREADS, no, n, &b);
	bytes_fini(&b);
}

static const struct {
	void (*put)(uint32_t part);
	size_t bytes;		/* of the file */
	size_t memory;		/* that may be taken for it */
	unsigned damages;
} hostiles[] = {
	{ put_high_numbers, 250 << 10, (size_t)64 << 20, 0 },
	{ put_long_names, 1 << 20, (size_t)450 << 20, 1 },
};

LOOP_TEST(a_small_file_does_not_ask_for_much_memory, 0, NELEM(hostiles))
{
	struct stream_module m;
	struct stream_site s;
	struct rlimit old, few;
	char why[CAPTURE_WHY];
	const char *name;
	uint32_t tid;
	struct capture *c;

	if (!pack_is_there() && _i == 1)
		return;
	begin_hostile();
	for (uint32_t no = 1; hostile_len < hostiles[_i].bytes; no++)
		hostiles[_i].put(no);
	close(hostile_fd);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &old), 0);
	few = old;
	few.rlim_cur = rig_address_space() + hostiles[_i].memory;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
	ck_assert_msg(capture_open(&c, rig_path, why) == 0, "%s", why);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &old), 0);
	ck_assert(capture_thread(c, 1, _i == 0 ? UINT16_MAX : 1, &tid, &name));
	ck_assert(_i != 0 || capture_module(c, 1, UINT16_MAX, &m));
	ck_assert(_i != 0 || capture_site(c, 1, STREAM_SITES_MAX, &s));
	/* It says where it stops. */
	ck_assert_uint_eq(capture_damages(c), hostiles[_i].damages);
	if (hostiles[_i].damages > 0)
		ck_assert_ptr_nonnull(strstr(capture_damage(c, 0),
		    "more memory"));
	capture_close(c);
}
#endif

/* --- killed ----------------------------------------------------------------- */

#define KILLED_EVENTS 200000

static void
write_for_ever(const struct capture_opts *opts)
{
	struct capture_writer *w = rig_writer(opts);

	rig_part(w, "program");
	for (uint64_t seq = 1;; seq += KILLED_EVENTS)
		rig_put(w, 1, all, KILLED_EVENTS, seq, last_ms);
}

static off_t
size_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_size;
}

/* Kills a writer at a point of the file that is chosen at random, and reads. */
static void
kill_once(void)
{
	static struct capture_event e[1000];
	int fd = rig_fd();
	off_t until = 200 + (off_t)any(400000);
	struct capture_about about;
	uint64_t next = 1;
	struct capture *c;
	pid_t pid = fork();
	size_t n;

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		write_for_ever(&(struct capture_opts){ .fd = fd,
		    .segment_bytes = 100000, .checkpoint_events = 20000 });
	while (size_of(fd) < until)
		sched_yield();
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	close(fd);
	c = rig_open(rig_path);
	capture_about(c, &about);
	ck_assert(!about.ended);
	do {
		ck_assert_int_eq(capture_next(c, e, NELEM(e), &n), 0);
		for (size_t i = 0; i < n; i++) {
			const struct rec *r;

			if (e[i].what == CAPTURE_STATE)
				continue;
			ck_assert_uint_eq(e[i].what, CAPTURE_EVENT);
			ck_assert_uint_eq(e[i].seq, next);
			r = &all[(next++ - 1) % KILLED_EVENTS];
			ck_assert_uint_eq(e[i].rec.w[0], r->w[0]);
			ck_assert_uint_eq(e[i].rec.w[1], r->w[1]);
			ck_assert_uint_eq(e[i].rec.w[3], r->w[3]);
		}
	} while (n > 0);
	ck_assert_uint_le(capture_damages(c), 1);
	capture_close(c);
}

static void
begin_killed(void)
{
	rig_begin();
	last_ms = 0;
	all = rig_events(KILLED_EVENTS, &last_ms);
}

CASE("killed", .setup = begin_killed, .teardown = end, .seconds = 600);

TEST(a_killed_writer_leaves_a_file_of_whole_blocks)
{
	int rounds = check_is_long() ? 1000 : check_rounds(30);

	for (int i = 0; i < rounds; i++)
		kill_once();
}

/* --- full disks ---------------------------------------------------------------- */

static void
wait_until_resumed(struct capture_writer *w)
{
	struct capture_progress look;

	do {
		usleep(1000);
		capture_writer_look(w, &look);
	} while (look.stopped != 0);
}

/*
 * Events until it stops, and some more; how many.  A retry that finds room for a
 * few bytes goes on until more events come.
 */
static size_t
fill_from(struct capture_writer *w, size_t n)
{
	struct capture_progress look;

	do {
		ck_assert_uint_lt(n + 5000, KILLED_EVENTS);
		rig_put(w, 1, all + n, 1000, n + 1, last_ms);
		n += 1000;
		do {
			usleep(1000);
			capture_writer_look(w, &look);
		} while (look.waiting > 0 && look.stopped == 0);
	} while (look.stopped == 0);
	ck_assert_ptr_nonnull(strstr(look.why, "recording goes on when"));
	rig_put(w, 1, all + n, 2000, n + 1, last_ms);
	return n + 2000;
}

static size_t
fill(struct capture_writer *w)
{
	return fill_from(w, 0);
}

static int64_t
latest_of(size_t n)
{
	int64_t ms = RIG_MS - 10;

	for (size_t i = 0; i < n; i++)
		if (rec_ms_near(&all[i], last_ms) > ms)
			ms = rec_ms_near(&all[i], last_ms);
	return ms;
}

static void
check_moment(struct capture *c, struct capture_when when, size_t n, bool whole)
{
	struct blklist *want = rig_oracle();
	struct capture_list *got;
	uint64_t seq;
	int64_t ms;

	rig_apply(want, all, n, 1, last_ms);
	ck_assert_int_eq(capture_seek(c, 1, &when, &got), 0);
	ck_assert_int_eq(capture_list_at(got, &seq, &ms), whole);
	ck_assert_uint_eq(seq, n + 1);
	if (!whole)
		ck_assert_int_eq(capture_list_since(got), latest_of(n + 1));
	rig_same_list(got, want);
	capture_list_free(got);
	blklist_free(want);
}

/* A moment from the first missing event on has the list before it, and says so. */
static void
check_gap(struct capture *c)
{
	static struct capture_event e[1000];
	size_t n, i;

	capture_rewind(c);
	do {
		ck_assert_int_eq(capture_next(c, e, NELEM(e), &n), 0);
		ck_assert_uint_gt(n, 0);
		for (i = 0; i < n && e[i].what != CAPTURE_GAP; i++)
			continue;
	} while (i == n);
	n = e[i].seq - 1;
	check_moment(c, (struct capture_when){ CAPTURE_AT_SEQ,
	    .seq = n + 1 }, n, true);
	check_moment(c, (struct capture_when){ CAPTURE_AT_SEQ,
	    .seq = n + 2 }, n, false);
	check_moment(c, (struct capture_when){ CAPTURE_AT_MS,
	    .ms = latest_of(n + 1) }, n, false);
	if (latest_of(n) < latest_of(n + 1))
		check_moment(c, (struct capture_when){ CAPTURE_AT_MS,
		    .ms = latest_of(n + 1) - 1 }, n, true);
}

/* The gap is in the file, and the list is right at its end. */
static void
check_resumed(size_t n)
{
	struct blklist *want = rig_oracle();
	struct capture_about about;
	struct capture_list *got;
	struct capture *c = rig_open(rig_path);
	uint64_t seq;
	int64_t ms;

	capture_about(c, &about);
	/* A retry may find room for a few bytes. */
	ck_assert_uint_ge(about.gaps, 1);
	ck_assert_uint_gt(about.lost, 0);
	ck_assert_uint_eq(about.events + about.lost, n);
	ck_assert_uint_ge(about.segments, 2);
	ck_assert(about.ended);
	ck_assert_uint_eq(capture_damages(c), 0);
	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), 0);
	ck_assert(capture_list_at(got, &seq, &ms));
	ck_assert_uint_eq(seq, n + 1);
	ck_assert_uint_eq(capture_list_totals(got)->lost[0], about.lost);
	rig_apply(want, all, n, 1, last_ms);
	rig_same_list(got, want);
	capture_list_free(got);
	blklist_free(want);
	check_gap(c);
	capture_close(c);
}

CASE("full", .setup = begin_killed, .teardown = end, .tags = TAG_KERNEL,
    .seconds = 120);

TEST(a_file_that_may_not_grow_stops_the_recording_until_it_may)
{
	struct capture_writer *w;
	struct rlimit old, small;
	size_t n;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	w = rig_writer(&(struct capture_opts){ .fd = rig_fd(), .retry_ms = 50 });
	rig_part(w, "program");
	small = old;
	small.rlim_cur = 30000;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	n = fill(w);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
	wait_until_resumed(w);
	rig_put(w, 1, all + n, 2000, n + 1, last_ms);
	rig_finish(w);
	check_resumed(n + 2000);
}

static void
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

/* A tmpfs of that size at rig_dir, in a namespace of this process; or false. */
static bool
mount_small(const char *size)
{
	char users[40], groups[40], opts[40];

	snprintf(users, sizeof users, "0 %u 1", (unsigned)getuid());
	snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getgid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	write_text("/proc/self/uid_map", users);
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/gid_map", groups);
	snprintf(opts, sizeof opts, "size=%s", size);
	return mount("none", rig_dir, "tmpfs", 0, opts) == 0;
}

/* Without the right to mount there is nothing to test. */
TEST(a_full_disk_stops_the_recording_until_there_is_room)
{
	struct capture_writer *w;
	char filler[100];
	size_t n;
	int fd;

	if (!mount_small("400k"))
		return;
	snprintf(filler, sizeof filler, "%s/filler", rig_dir);
	fd = open(filler, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(posix_fallocate(fd, 0, 250000), 0);
	close(fd);
	w = rig_writer(&(struct capture_opts){ .fd = rig_fd(), .retry_ms = 50,
	    .segment_bytes = 100000 });
	rig_part(w, "program");
	n = fill(w);
	ck_assert_int_eq(unlink(filler), 0);
	wait_until_resumed(w);
	rig_put(w, 1, all + n, 2000, n + 1, last_ms);
	rig_finish(w);
	check_resumed(n + 2000);
	ck_assert_int_eq(umount(rig_dir), 0);
}

/* Others take what the recording left, down to the last byte. */
static void
fill_up(void)
{
	static const char zeros[4096];
	char path[100];
	int fd;

	snprintf(path, sizeof path, "%s/others", rig_dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	while (write(fd, zeros, sizeof zeros) > 0)
		continue;
	close(fd);
}

/* It takes most of a small disk, and what did not fit is counted in the file. */
LOOP_TEST(a_disk_that_stays_full_costs_only_what_is_counted, 0, 2)
{
	struct capture_writer *w;
	struct capture_about about;
	struct capture_list *got;
	struct capture *c;
	uint64_t seq;
	int64_t ms;
	size_t n;

	if (!mount_small("600k"))
		return;
	w = rig_writer(&(struct capture_opts){ .fd = rig_fd(), .retry_ms = 50,
	    .keep_free = _i == 0 ? 0 : 10 });
	rig_part(w, "program");
	n = fill(w);
	fill_up();
	n = fill_from(w, n);
	capture_writer_end_part(w, 1, last_ms, 0, "exited");
	ck_assert_int_eq(capture_writer_finish(w, "the test is over", 30000,
	    NULL), -ENOSPC);
	c = rig_open(rig_path);
	capture_about(c, &about);
	ck_assert_uint_eq(capture_damages(c), 0);
	ck_assert(about.ended);
	ck_assert_uint_gt(about.bytes, 300 << 10);
	ck_assert_uint_eq(about.events + about.lost, n);
	ck_assert_int_eq(capture_seek(c, 1, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &got), 0);
	ck_assert(!capture_list_at(got, &seq, &ms));
	ck_assert_uint_eq(capture_list_totals(got)->lost[0], about.lost);
	capture_list_free(got);
	check_gap(c);
	capture_close(c);
	ck_assert_int_eq(umount(rig_dir), 0);
}

TEST(recording_does_not_begin_on_a_disk_that_is_almost_full)
{
	struct capture_writer *w;
	int fd = rig_fd();

	ck_assert_int_eq(capture_writer_new(&w, &(struct capture_opts){
	    .fd = fd, .keep_free = 100 }), -ENOSPC);
	close(fd);
}
