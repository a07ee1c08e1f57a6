/*
 * Classic records out of damaged bytes: no record is believed that was not
 * sent, and every byte is in a record or counted as skipped.
 */
#include "../src/base/base.h"
#include "../src/stream/stream.h"
#include "harness.h"

#include <stdio.h>
#include <string.h>

#define SIZE REC_CLASSIC_SIZE
#define SENT_MAX 400
#define BYTES_MAX 16384
#define TAKEN_MAX 1024
#define START_MS INT64_C(1780000000000)	/* some day of 2026 */
#define JUNE_MS INT64_C(1780653600000)	/* the 5th, 2026, 10 o'clock */
#define HOUR INT64_C(3600000)

struct bytes {
	uint8_t b[BYTES_MAX];
	size_t n;
	bool ends[BYTES_MAX + 1];	/* the sender is done with a record there */
};

struct taken {
	uint8_t rec[TAKEN_MAX][SIZE];
	size_t n;
};

static void
on_record(void *arg, const uint8_t rec[SIZE])
{
	struct taken *t = arg;

	ck_assert_uint_lt(t->n, TAKEN_MAX);
	memcpy(t->rec[t->n++], rec, SIZE);
}

static void
make(uint8_t out[SIZE], unsigned op, uint32_t addr, unsigned size,
    unsigned type, int64_t ms)
{
	struct rec rec = { .w = { rec_w0(addr, REC_FLAGS(op, 0), type),
		rec_w1(size, 0), 0, 0 } };

	ck_assert_int_eq(stream_classic_encode(&rec, ms, out), 0);
}

static void
add(struct bytes *b, const uint8_t *p, size_t n)
{
	ck_assert_uint_le(b->n + n, sizeof b->b);
	memcpy(b->b + b->n, p, n);
	b->n += n;
}

static bool
adds_up(const struct raw *r)
{
	return r->n.bytes == SIZE * r->n.records + r->n.skipped + r->held;
}

/* --- tables --------------------------------------------------------------- */

/*
 * A script: a-z and A-Z are records of those allocations and frees, each a
 * second after the one before; digits before them say how many of the next
 * one's bytes there are.  '*' is a byte of noise, '=' the last record again, '|' quiet, '>' two hours and
 * '<' as many back.
 */
static const struct {
	const char *what, *sent, *taken;
	bool joined;		/* in the middle of the stream */
	unsigned skipped, slips, left_out;
} cases[] = {
	{ "nothing", "", "", .skipped = 0 },
	{ "one record", "a", "a", .skipped = 0 },
	{ "many", "abcABdC", "abcABdC", .skipped = 0 },
	{ "a doubled one is one", "ab=c==d|=A=", "abcdA", .skipped = 80 },
	{ "quiet changes nothing", "a|b|cd|A", "abcdA", .skipped = 0 },
	{ "a cut one is left out, and who stands beside it",
	    "abc15defghi", "abcfghi", .skipped = 31, .slips = 1,
	    .left_out = 2 },
	{ "but a free beside it is believed",
	    "abA15dBfgh", "abABfgh", .skipped = 15, .slips = 1,
	    .left_out = 1 },
	{ "noise", "abc***defg", "abefg", .skipped = 35, .slips = 1,
	    .left_out = 2 },
	{ "noise after quiet", "abc|***defg", "abcefg", .skipped = 19,
	    .slips = 1, .left_out = 1 },
	{ "noise of a record's length", "abc|****************defg", "abcefg",
	    .skipped = 32, .slips = 1, .left_out = 1 },
	{ "noise before the first", "*abcdef", "bcdef", .skipped = 17,
	    .slips = 1, .left_out = 1 },
	{ "so is noise of a record's length on a line that was there before",
	    "****************abcdef", "bcdef", .joined = true, .skipped = 32,
	    .slips = 1, .left_out = 1 },
	{ "noise to the end", "abc|************************************",
	    "abc", .skipped = 36, .slips = 1 },
	{ "noise behind the last", "abc|*", "abc", .skipped = 1, .slips = 1 },
	{ "the input is cut", "abc7d", "ab", .skipped = 23, .slips = 1,
	    .left_out = 1 },
	{ "two that go on are enough when it is quiet",
	    "abc|**def|", "abcef", .skipped = 18, .slips = 1, .left_out = 1 },
	{ "a long silence", "abc|>d|ef", "abcdef", .skipped = 0 },
	{ "a long silence, told later", "abc>defghi", "abcdefghi",
	    .skipped = 0 },
	{ "long silences", "abc>d>e>>>>>>>>>>>>>f>>>>>>>>>>>>>g", "abcdefg",
	    .skipped = 0 },
	{ "the clock goes back: the first is in doubt", "abc<defghi",
	    "abcefghi", .skipped = 16, .slips = 1, .left_out = 1 },
	{ "in the middle of one", "9abcdefg", "cdefg", .joined = true,
	    .skipped = 25, .left_out = 1 },
	{ "between two", "abcdefg", "bcdefg", .joined = true, .skipped = 16,
	    .left_out = 1 },
	{ "nothing but noise", "************************************", "",
	    .skipped = 36, .slips = 1 },
};

static void
script(const char *s, struct raw *r, struct bytes *b, struct taken *t)
{
	int64_t ms = START_MS;
	uint8_t rec[SIZE] = { 0 };
	unsigned cut = 0;

	for (; *s != '\0'; s++) {
		size_t from = b->n;

		if (*s >= '0' && *s <= '9') {
			cut = 10 * cut + (unsigned)(*s - '0');
			continue;
		}
		if (*s == '*') {
			add(b, (const uint8_t[]){ 0xc7 }, 1);
		} else if (*s == '>' || *s == '<') {
			ms += *s == '>' ? 2 * HOUR : -2 * HOUR;
		} else if (*s == '=') {
			add(b, rec, SIZE);
		} else if (*s == '|') {
			raw_quiet(r, on_record, t);
		} else {
			bool alloc = *s >= 'a';

			make(rec, alloc ? REC_ALLOC : REC_FREE,
			    0x20000000u + 64 * (unsigned)(*s | 0x20), 24, 0x80,
			    ms += 1000);
			add(b, rec, cut > 0 ? cut : SIZE);
			cut = 0;
		}
		raw_put(r, b->b + from, b->n - from, on_record, t);
		ck_assert(adds_up(r));
	}
	raw_end(r, on_record, t);
}

CASE("raw", .seconds = 60);

LOOP_TEST(damage_is_skipped_and_counted, 0, (int)BASE_NELEM(cases))
{
	static struct bytes b;
	static struct taken t;
	const char *want = cases[_i].taken;
	struct raw r;
	char got[64] = "";

	b.n = t.n = 0;
	raw_init(&r, !cases[_i].joined);
	script(cases[_i].sent, &r, &b, &t);
	for (size_t i = 0; i < t.n; i++)
		got[i] = (char)((((t.rec[i][2] << 8 | t.rec[i][3]) / 64) &
		    0x7f) ^ (t.rec[i][6] >> 4 == REC_FREE ? 0x20 : 0));
	ck_assert_msg(strcmp(got, want) == 0, "%s: '%s', not '%s'",
	    cases[_i].what, got, want);
	ck_assert_msg(r.n.skipped == cases[_i].skipped &&
	    r.n.slips == cases[_i].slips &&
	    r.n.left_out == cases[_i].left_out, "%s: %u, %u, %u",
	    cases[_i].what, (unsigned)r.n.skipped, (unsigned)r.n.slips,
	    (unsigned)r.n.left_out);
	ck_assert(adds_up(&r));
	ck_assert_uint_eq(r.held, 0);
}

/* --- at random ------------------------------------------------------------ */

static uint64_t state;

static unsigned
draw(unsigned below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) %
	    below;
}

struct sent {
	uint8_t rec[SENT_MAX][SIZE];
	size_t n;
};

/* Blocks come and go; some clocks are coarse, and types are any. */
static void
run_firmware(struct sent *s)
{
	static const unsigned steps[] = { 1, 7, 100, 1000, 61000 };
	uint32_t heap = draw(2) ? 0x20001000 : 0x00008000;
	unsigned step = steps[draw(BASE_NELEM(steps))];
	bool used[64] = { false }, any_type = draw(2);
	int64_t ms = START_MS + (int64_t)draw(1u << 31);

	if (step >= 1000)
		ms -= ms % 1000;
	for (s->n = 0; s->n < SENT_MAX; s->n++) {
		unsigned slot = draw(64);

		if (draw(3) == 0)
			ms += step;
		make(s->rec[s->n], used[slot] ? REC_FREE : REC_ALLOC,
		    heap + 72 * slot, 1 + draw(72),
		    any_type ? draw(256) : 0x80, ms);
		used[slot] = !used[slot];
	}
}

static void
add_noise(struct bytes *b, unsigned n)
{
	while (n-- > 0)
		add(b, (const uint8_t[]){ (uint8_t)draw(256) }, 1);
}

/*
 * One in `rare` is damaged: cut at either end or in the middle, with noise
 * inside, before it, or sent twice, whole or in part.  A record and its
 * neighbours have one damage: where one takes and another adds as many bytes,
 * nothing could be seen.
 */
static void
send(const struct sent *s, struct bytes *b, unsigned rare)
{
	bool fresh = true;

	memset(b->ends, 0, sizeof b->ends);
	for (size_t i = 0; i < s->n; i++) {
		const uint8_t *rec = s->rec[i];
		unsigned at = draw(SIZE), n = 1 + draw(15);

		b->ends[b->n] = true;
		if (!fresh || draw(rare) != 0) {
			add(b, rec, SIZE);
			fresh = true;
			continue;
		}
		fresh = false;
		switch (draw(6)) {
		case 0:
			add(b, rec, at);
			if (at + n < SIZE)
				add(b, rec + at + n, SIZE - at - n);
			else if (at == 0)
				add(b, rec, 1);
			break;
		case 1:
			add(b, rec, at);
			add_noise(b, n);
			add(b, rec + at, SIZE - at);
			break;
		case 2:
			add(b, rec, at);
			add_noise(b, draw(4) * SIZE);
			add(b, rec + at, SIZE - at);
			break;
		case 3:
			add_noise(b, draw(200));
			add(b, rec, SIZE);
			break;
		case 4:
			add(b, rec, n);
			add(b, rec, SIZE);
			break;
		case 5:
			add(b, rec, SIZE);
			add(b, rec, SIZE);
			break;
		}
	}
}

static bool
is_alloc(const uint8_t rec[SIZE])
{
	return rec[6] >> 4 == REC_ALLOC;
}

/*
 * What was taken is what was sent, in that order and once; but frees in doubt
 * may be anything.
 */
static void
compare(const struct sent *s, const struct taken *t, size_t *wrong_frees)
{
	size_t at = 0, next;

	for (size_t i = 0; i < t->n; i++) {
		for (next = at; next < s->n; next++)
			if (memcmp(s->rec[next], t->rec[i], SIZE) == 0)
				break;
		if (next < s->n) {
			at = next + 1;
			continue;
		}
		ck_assert_msg(!is_alloc(t->rec[i]), "record %zu: %02x%02x%02x%02x "
		    "was never sent", i, t->rec[i][0], t->rec[i][1],
		    t->rec[i][2], t->rec[i][3]);
		(*wrong_frees)++;
	}
}

static void
feed(struct raw *r, const struct bytes *b, struct taken *t, bool quiet)
{
	size_t at = 0;

	while (at < b->n) {
		size_t n = 1 + draw(draw(4) == 0 ? 700 : 20);

		if (n > b->n - at)
			n = b->n - at;
		while (quiet && !b->ends[at + n] && at + n < b->n)
			n++;
		raw_put(r, b->b + at, n, on_record, t);
		at += n;
		ck_assert(adds_up(r));
		if (quiet && draw(3) == 0)
			raw_quiet(r, on_record, t);
		ck_assert(adds_up(r));
	}
	raw_end(r, on_record, t);
}

/* With _i the sender is quiet at times, and then between two records. */
LOOP_TEST(no_wrong_block_and_every_byte_is_counted, 0, 2)
{
	unsigned seeds = (unsigned)check_events(1000);
	size_t wrong_frees = 0, all = 0, taken = 0;
	static struct sent s;
	static struct bytes b;
	static struct taken t;

	for (unsigned seed = 1; seed <= seeds; seed++) {
		struct raw r;

		state = seed * UINT64_C(0x9e3779b97f4a7c15);
		b.n = t.n = 0;
		run_firmware(&s);
		send(&s, &b, 4 + draw(60));
		raw_init(&r, true);
		feed(&r, &b, &t, _i == 1);
		ck_assert_uint_eq(r.n.bytes, b.n);
		ck_assert_uint_eq(r.n.records, t.n);
		ck_assert_uint_eq(r.n.bytes, SIZE * r.n.records + r.n.skipped);
		compare(&s, &t, &wrong_frees);
		all += s.n;
		taken += t.n;
	}
	/* It would be no art to take nothing. */
	ck_assert_msg(taken * 10 > all * 7, "%zu of %zu", taken, all);
	ck_assert_msg(wrong_frees * 200 < all, "%zu frees of %zu",
	    wrong_frees, all);
}

TEST(sound_bytes_give_all_records_however_they_come)
{
	static struct sent s;
	static struct bytes b;
	static struct taken t;
	struct raw r;

	for (unsigned seed = 1; seed <= 100; seed++) {
		state = seed;
		b.n = t.n = 0;
		run_firmware(&s);
		for (size_t i = 0; i < s.n; i++)
			add(&b, s.rec[i], SIZE);
		raw_init(&r, true);
		feed(&r, &b, &t, seed % 2);
		ck_assert_uint_eq(t.n, s.n);
		ck_assert_mem_eq(t.rec, s.rec, s.n * SIZE);
		ck_assert_uint_eq(r.n.skipped + r.n.slips, 0);
	}
}

/*
 * Read from its second byte on, a record with a type of F0 or above is one
 * too, if its clock has no cycles and its address begins as decimal digits.
 */
TEST(two_alignments_that_look_as_good_are_none)
{
	static struct bytes b;
	static struct taken t;
	uint8_t rec[SIZE];
	struct raw r;

	b.n = t.n = 0;
	for (unsigned i = 0; i < 40; i++) {
		make(rec, REC_ALLOC, 0x20000000u + 64 * i, 24, 0xf1,
		    JUNE_MS + 1000 * i);
		if (i > 30)
			rec[7] = 0x80;
		add(&b, rec, SIZE);
	}
	raw_init(&r, false);
	raw_put(&r, b.b + 1, b.n - 1, on_record, &t);
	raw_end(&r, on_record, &t);
	ck_assert_uint_ge(t.n, 8);
	for (size_t i = 0; i < t.n; i++)
		ck_assert_uint_eq(t.rec[i][0], 0x20);
}

TEST(after_its_end_another_stream_begins)
{
	static struct bytes b;
	static struct taken t;
	struct raw r;

	b.n = t.n = 0;
	raw_init(&r, true);
	script("abc", &r, &b, &t);
	script("def9g", &r, &b, &t);
	script("hi", &r, &b, &t);
	ck_assert_uint_eq(t.n, 7);
	ck_assert_uint_eq(r.n.skipped, 16 + 9);
	ck_assert(adds_up(&r));
}
