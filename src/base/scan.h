/*
 * scan: long work that is done in portions, beside all else.
 *
 * Vocabulary
 *	portion		what is done at once, limited in units or in time.
 *	unit		the caller's: a block, a row, a nanosecond by estimate.
 *	budget		what is left of the portion.
 *	cost		the time that all portions of a scan took together.
 *	due		the next scan is due when the last one has cost no more
 *			than one part in SCAN_BUSY of the time since.
 *
 * If the data changes meanwhile, the caller decides whether to go on from where
 * it was or to begin anew.
 *
 * Example
 *	if (!s.runs && has_changed(list) && scan_is_due(&s, now)) {
 *		scan_begin(&s);
 *		begin_walk(&walk, list);
 *	}
 *	if (s.runs) {
 *		scan_portion(&s, 40000, 0);
 *		while (scan_has_budget(&s) && (n = next(&walk, rows)) > 0) {
 *			use(rows, n);
 *			scan_spend(&s, n);
 *		}
 *		scan_pause(&s);
 *		if (n == 0)
 *			scan_done(&s, now);
 *	}
 */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include "base.h"

#define SCAN_BUSY 10

/* All zeros: no scan yet. */
struct scan {
	bool runs;		/* it has begun and is not done */
	int64_t units;		/* budget of the portion */
	struct mono until;	/* its end in time */
	struct mono begun;	/* its beginning */
	int64_t spent_ns;	/* by the portions of this scan */
	int64_t cost_ns;	/* of the last scan */
	struct mono ended;	/* when that was done */
};

static inline void
scan_begin(struct scan *s)
{
	s->runs = true;
	s->spent_ns = 0;
}

/* 0: no limit of that kind. */
static inline void
scan_portion(struct scan *s, int64_t units, int64_t ns)
{
	s->begun = mono_now();
	s->units = units > 0 ? units : INT64_MAX;
	s->until.ns = ns > 0 && ns < INT64_MAX / 2 ? s->begun.ns + ns :
	    INT64_MAX;
}

static inline void
scan_spend(struct scan *s, int64_t units)
{
	s->units -= units;
}

/* Reads the clock only if the portion is limited in time. */
static inline bool
scan_has_budget(const struct scan *s)
{
	return s->units > 0 &&
	    (s->until.ns == INT64_MAX || mono_now().ns < s->until.ns);
}

/* Ends a portion: counts its time. */
static inline void
scan_pause(struct scan *s)
{
	s->spent_ns += mono_diff_ns(mono_now(), s->begun);
}

/* Ends the scan; `now`, of scan_is_due(), may be the portion's beginning. */
static inline void
scan_done(struct scan *s, struct mono now)
{
	s->runs = false;
	s->cost_ns = s->spent_ns;
	s->spent_ns = 0;
	s->ended.ns = now.ns + s->cost_ns;
}

/* Adds a further cost to the last scan. */
static inline void
scan_charge(struct scan *s, int64_t ns)
{
	s->cost_ns += ns;
	s->ended.ns += ns;
}

static inline bool
scan_is_due(const struct scan *s, struct mono now)
{
	return mono_diff_ns(now, s->ended) >= SCAN_BUSY * s->cost_ns;
}

/* 100 when there is nothing to do. */
static inline unsigned
scan_percent(uint64_t done, uint64_t of)
{
	return done < of ? (unsigned)(done * 100 / of) : 100;
}

#endif
