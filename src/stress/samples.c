#include <errno.h>
#include <string.h>

#include "../base/base.h"
#include "stress.h"

#define NO_FLAG SIZE_MAX
#define NUMBER(member) offsetof(struct stress_sample, member), NO_FLAG
#define KNOWN(member, flag) \
	offsetof(struct stress_sample, member), \
	offsetof(struct stress_sample, flag)
#define CHARGE(i) KNOWN(charge.n[i], charge.known[i])
#define LEVEL(n) { (n), KNOWN(level[(n) - 1], known[(n) - 1]) }

/* Keys are below 64, never changed and never given again. */
static const struct number {
	unsigned key;
	size_t at, flag;	/* of an uint64_t; of a bool: it is known */
} numbers[] = {
	LEVEL(1), LEVEL(2), LEVEL(3), LEVEL(4), LEVEL(5), LEVEL(6),
	{ 7, KNOWN(requests, requests_known) },
	{ 8, KNOWN(some_us, pressure_known) },
	{ 9, KNOWN(full_us, pressure_known) },
	{ 10, KNOWN(kswapd_runs, kswapd_known) },
	{ 11, NUMBER(stolen) },
	{ 12, NUMBER(missed) },
	{ 13, NUMBER(backwards) },
	{ 14, NUMBER(changes) },
	{ 15, KNOWN(failed[STRESS_FAILED], split_known) },
	{ 16, KNOWN(failed[STRESS_FAILED_LARGE], split_known) },
	{ 17, KNOWN(failed[STRESS_FAILED_NO_WAIT], split_known) },
	{ 18, KNOWN(failed[STRESS_FAILED_NO_WAIT_LARGE], split_known) },
	{ 19, NUMBER(limit_kills) },
	{ 20, CHARGE(STRESS_CHARGE_HIGH) },
	{ 21, CHARGE(STRESS_CHARGE_MAX) },
	{ 22, CHARGE(STRESS_CHARGE_FAILCNT) },
	{ 23, CHARGE(STRESS_CHARGE_OOM) },
	{ 24, CHARGE(STRESS_CHARGE_OOM_KILL) },
	{ 25, CHARGE(STRESS_CHARGE_SCANNED) },
	{ 26, CHARGE(STRESS_CHARGE_STOLEN) },
	{ 27, CHARGE(STRESS_CHARGE_SOME) },
	{ 28, CHARGE(STRESS_CHARGE_FULL) },
};

/* The largest packed sample: a key is one byte, a source's name at most 32. */
_Static_assert(1 + 32 + BASE_NELEM(numbers) * (1 + 10) <=
    STRESS_PACKED_MAX, "a sample fits");

static uint64_t
number_of(const struct stress_sample *s, const struct number *n)
{
	uint64_t v;

	memcpy(&v, (const char *)s + n->at, sizeof v);
	return v;
}

static void
set_number(struct stress_sample *s, const struct number *n, uint64_t v)
{
	memcpy((char *)s + n->at, &v, sizeof v);
}

static bool
is_known(const struct stress_sample *s, const struct number *n)
{
	bool known = true;

	if (n->flag != NO_FLAG)
		memcpy(&known, (const char *)s + n->flag, sizeof known);
	return known;
}

static void
set_known(struct stress_sample *s, const struct number *n, bool known)
{
	if (n->flag != NO_FLAG)
		memcpy((char *)s + n->flag, &known, sizeof known);
}

void
stress_spent(struct stress_sample *out, const struct stress_sample *now,
    const struct stress_sample *base)
{
	struct stress_sample spent = *now;

	for (size_t i = 0; i < BASE_NELEM(numbers); i++) {
		const struct number *n = &numbers[i];
		uint64_t a = number_of(now, n), b = number_of(base, n);
		/* The totals of levels go on when the source changes. */
		bool both = is_known(base, n) || (n->key <= STRESS_LEVELS &&
		    base->source != now->source);

		set_number(&spent, n, a > b ? a - b : 0);
		set_known(&spent, n, both && is_known(now, n));
	}
	*out = spent;
}

enum stress_truth
stress_truth(const struct stress_sample *s, size_t level)
{
	enum stress_truth truth = stress_sources[s->source].truth[level];

	if (!s->known[level])
		return STRESS_UNKNOWN;
	return truth == STRESS_EXACT && s->missed > 0 ? STRESS_CLOSE : truth;
}

static size_t
put_number(uint8_t *out, uint64_t v)
{
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	return n;
}

/* -EBADMSG: cut off, or above the largest. */
static int
get_number(const uint8_t *in, size_t len, size_t *at, uint64_t *v)
{
	uint64_t n = 0;

	for (unsigned shift = 0; *at < len && shift < 64; shift += 7) {
		uint8_t byte = in[(*at)++];

		if (shift == 63 && byte > 1)
			return -EBADMSG;
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*v = n;
			return 0;
		}
	}
	return -EBADMSG;
}

size_t
stress_put(uint8_t out[STRESS_PACKED_MAX], const struct stress_sample *s)
{
	const char *name = stress_sources[s->source].name;
	size_t len = strlen(name);

	out[0] = (uint8_t)len;
	memcpy(out + 1, name, len++);
	for (size_t i = 0; i < BASE_NELEM(numbers); i++)
		if (is_known(s, &numbers[i])) {
			len += put_number(out + len, numbers[i].key);
			len += put_number(out + len, number_of(s, &numbers[i]));
		}
	return len;
}

static int
get_source(const uint8_t *in, size_t len, size_t *at, enum stress_source *source)
{
	if (len == 0 || in[0] > len - 1)
		return -EBADMSG;
	*at = 1 + (size_t)in[0];
	for (unsigned i = 0; i <= STRESS_NONE; i++)
		if (strlen(stress_sources[i].name) == in[0] &&
		    memcmp(stress_sources[i].name, in + 1, in[0]) == 0) {
			*source = (enum stress_source)i;
			return 0;
		}
	return -ENOTSUP;
}

static int
get_pairs(struct stress_sample *s, const uint8_t *in, size_t len, size_t at,
    uint64_t *seen)
{
	uint64_t key, v;

	while (at < len) {
		if (get_number(in, len, &at, &key) < 0 ||
		    get_number(in, len, &at, &v) < 0)
			return -EBADMSG;
		for (size_t i = 0; i < BASE_NELEM(numbers); i++)
			if (numbers[i].key == key) {
				set_number(s, &numbers[i], v);
				set_known(s, &numbers[i], true);
				*seen |= UINT64_C(1) << key;
			}
	}
	return 0;
}

int
stress_get(struct stress_sample *out, const uint8_t *in, size_t len)
{
	struct stress_sample s = { 0 };
	uint64_t seen = 0;
	size_t at;
	int err;

	err = get_source(in, len, &at, &s.source);
	if (err == 0)
		err = get_pairs(&s, in, len, at, &seen);
	if (err < 0)
		return err;
	/* Two numbers with one flag are known together. */
	for (size_t i = 0; i < BASE_NELEM(numbers); i++)
		if ((seen >> numbers[i].key & 1) == 0)
			set_known(&s, &numbers[i], false);
	*out = s;
	return 0;
}

/* Both count since the same boot. */
static bool
goes_on(const struct stress_sample *last, const struct stress_sample *s)
{
	if (s->source != last->source || s->changes + last->changes > 0 ||
	    !stress_sources[s->source].since_boot)
		return false;
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		if (s->known[i] != last->known[i] ||
		    s->level[i] < last->level[i])
			return false;
	return true;
}

void
stress_continue(struct stress_series *series, struct stress_sample *s,
    uint64_t reader)
{
	struct stress_sample total = *s, base = series->raw;
	bool first = series->reader == 0, anew = !first &&
	    reader != series->reader && !goes_on(&series->raw, s);

	if (anew)
		base = *s;
	/* Its first sample has the requests since the last reader's last one. */
	if (anew && s->source == STRESS_FILE && series->raw.source == STRESS_FILE)
		memset(base.level, 0, sizeof base.level);
	/* Modulo 2^64: counters may be a little lower than before. */
	for (size_t i = 0; i < BASE_NELEM(numbers) && !first; i++)
		set_number(&total, &numbers[i],
		    number_of(&series->total, &numbers[i]) +
		    number_of(s, &numbers[i]) - number_of(&base, &numbers[i]));
	total.changes += anew;
	series->reader = reader;
	series->raw = *s;
	series->total = *s = total;
}
