#include "stream.h"

#include <string.h>

#define SIZE REC_CLASSIC_SIZE

/* Bytes of a run, and of one at each other alignment. */
#define DECIDED (RAW_RUN * SIZE + SIZE - 1)

_Static_assert(RAW_HELD > SIZE + DECIDED,
    "a decision's bytes fit");

void
raw_init(struct raw *r, bool aligned)
{
	*r = (struct raw){ .adjoins = aligned,
	    .spare = aligned ? 0 : SIZE - 1 };
}

#define DAY_MS INT64_C(86400000)
#define EVER INT64_MAX

static bool
valid_at(const struct raw *r, size_t at, int64_t *ms)
{
	struct rec rec;

	return at + SIZE <= r->held &&
	    stream_classic_decode(r->buf + at, &rec, ms) == 0;
}

/* True for n valid records, each at most `ahead` later; *ms: the first's. */
static bool
run_at(const struct raw *r, size_t at, size_t n, int64_t ahead, int64_t *ms)
{
	int64_t last, next;

	if (!valid_at(r, at, &last))
		return false;
	*ms = last;
	for (; n > 1; n--) {
		at += SIZE;
		if (!valid_at(r, at, &next) || next < last ||
		    next - last > ahead)
			return false;
		last = next;
	}
	return true;
}

static bool
is_soon(int64_t before, int64_t after)
{
	return after >= before && after - before <= RAW_AHEAD_MS;
}

static bool
goes_on(const struct raw *r, int64_t ms)
{
	return r->timed && is_soon(r->ms, ms);
}

/*
 * True if no other alignment has a run, or a record soon after the last one.  A
 * type of A0 or above can pass for a flag, and the numbers of a clock that was
 * never set for another date.
 */
static bool
is_unique(const struct raw *r, size_t at, int64_t ahead)
{
	int64_t ms;

	for (size_t i = 1; i < SIZE; i++)
		if (run_at(r, at + i, RAW_RUN, ahead, &ms) ||
		    (valid_at(r, at + i, &ms) && goes_on(r, ms)))
			return false;
	return true;
}

static void
drop_bytes(struct raw *r, size_t n)
{
	r->held -= n;
	memmove(r->buf, r->buf + n, r->held);
}

static void
skip(struct raw *r, size_t n)
{
	r->n.skipped += n;
	r->adjoins = false;
	drop_bytes(r, n);
}

static void
skip_unlocked(struct raw *r, size_t n)
{
	if (!r->lost && n > r->spare) {
		r->lost = true;
		r->n.slips++;
	}
	r->spare -= n < r->spare ? n : r->spare;
	skip(r, n);
}

static void
take_record(struct raw *r, int64_t ms, raw_take_fn fn, void *arg)
{
	if (memcmp(r->last, r->buf, SIZE) == 0) {
		r->n.doubled++;
		r->n.skipped += SIZE;
	} else {
		fn(arg, r->buf);
		r->n.records++;
		memcpy(r->last, r->buf, SIZE);
	}
	r->timed = true;
	r->ms = ms;
	r->adjoins = true;
	drop_bytes(r, SIZE);
}

static bool
is_free(const struct raw *r)
{
	return r->buf[6] >> 4 == REC_FREE;
}

enum answer {
	NO,
	YES,
	WAIT,			/* for more bytes */
};

static enum answer
is_alone(const struct raw *r, size_t at, int64_t ahead)
{
	int64_t ms;

	if (r->held < at + DECIDED)
		return WAIT;
	return run_at(r, at, RAW_RUN, ahead, &ms) &&
	    is_unique(r, at, ahead) ? YES : NO;
}

/* An earlier time may be of a clock that was set, or of repeated bytes. */
static enum answer
is_followed(const struct raw *r, int64_t ms)
{
	int64_t next;

	if (r->held < 2 * SIZE)
		return WAIT;
	if (!valid_at(r, SIZE, &next))
		return NO;
	return next >= ms ? YES : is_alone(r, SIZE, DAY_MS);
}

static void
lose_lock(struct raw *r)
{
	r->locked = false;
	r->lost = true;
	r->n.slips++;
}

/*
 * Leaves a record that looks valid and that nothing follows.  Its end may be
 * cut, with the next record within it: of an allocation only one byte is
 * skipped.
 */
static void
leave_doubtful(struct raw *r, int64_t ms, raw_take_fn fn, void *arg)
{
	if (is_free(r)) {
		take_record(r, ms, fn, arg);
		r->adjoins = false;
	} else {
		r->n.left_out++;
		skip(r, 1);
	}
}

/* False when more bytes are needed. */
static bool
step_locked(struct raw *r, raw_take_fn fn, void *arg)
{
	enum answer good = NO;
	int64_t ms;

	if (r->held < SIZE)
		return false;
	if (!valid_at(r, 0, &ms) || ms < r->ms) {
		lose_lock(r);
		return true;
	}
	good = goes_on(r, ms) ? YES : is_alone(r, 0, EVER);
	if (good == NO) {
		lose_lock(r);
		return true;
	}
	if (good == YES)
		good = is_followed(r, ms);
	if (good == WAIT)
		return false;
	if (good == YES) {
		take_record(r, ms, fn, arg);
		return true;
	}
	lose_lock(r);
	leave_doubtful(r, ms, fn, arg);
	return true;
}

static void
lock_at_front(struct raw *r, int64_t ms, bool certain, raw_take_fn fn, void *arg)
{
	/* In doubt: it may be the end of a record whose front is damaged. */
	if (certain || is_free(r)) {
		take_record(r, ms, fn, arg);
	} else {
		r->n.left_out++;
		skip(r, SIZE);
	}
	/* Even one left out says where the next one begins, and when. */
	r->adjoins = r->timed = r->locked = true;
	r->lost = false;
	r->spare = 0;
	r->ms = ms;
}

static bool
step_hunting(struct raw *r, raw_take_fn fn, void *arg)
{
	bool first = r->adjoins && !r->timed;
	int64_t ms;

	if (r->held < RAW_RUN * SIZE)
		return false;
	if (!run_at(r, 0, RAW_RUN, first ? EVER : DAY_MS, &ms)) {
		skip_unlocked(r, 1);
		return true;
	}
	if (!goes_on(r, ms) && !first) {
		if (r->held < DECIDED)
			return false;
		if (!is_unique(r, 0, DAY_MS)) {
			skip_unlocked(r, 1);
			return true;
		}
	}
	lock_at_front(r, ms, r->adjoins && (first || goes_on(r, ms)), fn, arg);
	return true;
}

static void
step_all(struct raw *r, raw_take_fn fn, void *arg)
{
	while (r->locked ? step_locked(r, fn, arg) : step_hunting(r, fn, arg))
		continue;
}

void
raw_put(struct raw *r, const uint8_t *p, size_t n, raw_take_fn fn, void *arg)
{
	r->n.bytes += n;
	while (n > 0) {
		size_t room = sizeof r->buf - r->held;
		size_t m = n < room ? n : room;

		memcpy(r->buf + r->held, p, m);
		r->held += m;
		p += m;
		n -= m;
		step_all(r, fn, arg);
	}
}

static bool
quiet_at(const struct raw *r, size_t *at)
{
	size_t n = r->held / SIZE;
	int64_t ms;

	*at = r->held % SIZE;
	if (*at == 0 && n > 0 && r->adjoins && run_at(r, 0, n, EVER, &ms) &&
	    (!r->timed || ms >= r->ms))
		return true;
	if (r->locked)
		return false;
	for (; n >= 2; n--, *at += SIZE)
		if (run_at(r, *at, n, DAY_MS, &ms) && (goes_on(r, ms) ||
		    (n >= RAW_RUN && !r->timed)))
			return true;
	return false;
}

void
raw_quiet(struct raw *r, raw_take_fn fn, void *arg)
{
	bool certain;
	int64_t ms;
	size_t at;

	if (!quiet_at(r, &at))
		return;
	if (at > 0)
		skip_unlocked(r, at);
	certain = r->adjoins;
	for (; valid_at(r, 0, &ms); certain = true)
		lock_at_front(r, ms, certain, fn, arg);
}

void
raw_end(struct raw *r, raw_take_fn fn, void *arg)
{
	int64_t ms;

	raw_quiet(r, fn, arg);
	if (r->held > 0) {
		if (r->locked && valid_at(r, 0, &ms) && goes_on(r, ms))
			leave_doubtful(r, ms, fn, arg);
		if (!r->lost)
			r->n.slips++;
		skip(r, r->held);
	}
	r->locked = r->lost = false;
	r->spare = 0;
	r->adjoins = true;
	r->timed = false;
	memset(r->last, 0, sizeof r->last);
}
