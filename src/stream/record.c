/*
 * Records as bytes, in both formats.
 *
 * The time of a classic record is BCD: yr mo da hr mn sc, the 15 Hz cycle of
 * the second, and the millisecond of the cycle.  Cycle n begins at millisecond
 * n * 1000 / 15 rounded down, so its last millisecond is 65 or 66.  66 in a
 * short cycle is accepted as the first millisecond of the next one.
 */
#include "stream.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#define CYCLES 15
#define CYCLE_MS_LAST 66

/* Two-digit years below this one are of the 21st century. */
#define CENTURY_PIVOT 70

enum {
	T_YEAR, T_MONTH, T_DAY, T_HOUR, T_MINUTE, T_SECOND, T_CYCLE, T_MS,
	T_FIELDS
};

static const struct {
	uint8_t least, most;
} time_limits[T_FIELDS] = {
	[T_YEAR] = { 0, 99 },
	[T_MONTH] = { 1, 12 },
	[T_DAY] = { 1, 31 },
	[T_HOUR] = { 0, 23 },
	[T_MINUTE] = { 0, 59 },
	[T_SECOND] = { 0, 59 },
	[T_CYCLE] = { 0, CYCLES - 1 },
	[T_MS] = { 0, CYCLE_MS_LAST },
};

static int
cycle_start(int cycle)
{
	return cycle * 1000 / CYCLES;
}

static int
time_decode(const uint8_t in[T_FIELDS], int64_t *ms)
{
	int f[T_FIELDS];
	struct tm tm;
	time_t s;

	for (int i = 0; i < T_FIELDS; i++) {
		unsigned high = in[i] >> 4, low = in[i] & 0xf;

		if (high > 9 || low > 9)
			return -EILSEQ;
		f[i] = (int)(high * 10 + low);
		if (f[i] < time_limits[i].least || f[i] > time_limits[i].most)
			return -EILSEQ;
	}
	tm = (struct tm) {
		.tm_year = f[T_YEAR] + (f[T_YEAR] < CENTURY_PIVOT ? 100 : 0),
		.tm_mon = f[T_MONTH] - 1,
		.tm_mday = f[T_DAY],
		.tm_hour = f[T_HOUR],
		.tm_min = f[T_MINUTE],
		.tm_sec = f[T_SECOND],
	};
	s = timegm(&tm);
	/* timegm() normalises a day that its month does not have. */
	if (tm.tm_mday != f[T_DAY])
		return -EILSEQ;
	*ms = (int64_t)s * 1000 + cycle_start(f[T_CYCLE]) + f[T_MS];
	return 0;
}

static int
time_encode(int64_t ms, uint8_t out[T_FIELDS])
{
	int f[T_FIELDS], in_second = (int)(ms % 1000);
	time_t s = (time_t)(ms / 1000);
	struct tm tm;

	if (ms < 0 || gmtime_r(&s, &tm) == NULL ||
	    tm.tm_year >= CENTURY_PIVOT + 100)
		return -ERANGE;

	f[T_YEAR] = tm.tm_year % 100;
	f[T_MONTH] = tm.tm_mon + 1;
	f[T_DAY] = tm.tm_mday;
	f[T_HOUR] = tm.tm_hour;
	f[T_MINUTE] = tm.tm_min;
	f[T_SECOND] = tm.tm_sec;
	/* The last cycle that begins no later than this millisecond. */
	f[T_CYCLE] = (in_second * CYCLES + CYCLES - 1) / 1000;
	f[T_MS] = in_second - cycle_start(f[T_CYCLE]);
	for (int i = 0; i < T_FIELDS; i++)
		out[i] = (uint8_t)(f[i] / 10 << 4 | f[i] % 10);
	return 0;
}

int
stream_classic_decode(const uint8_t in[REC_CLASSIC_SIZE], struct rec *r,
    int64_t *ms)
{
	uint32_t addr = (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 |
	    (uint32_t)in[2] << 8 | in[3];
	unsigned op = in[6] >> 4;
	int error;

	if (op != REC_ALLOC && op != REC_FREE)
		return -EILSEQ;
	if ((error = time_decode(in + 8, ms)) < 0)
		return error;
	*r = (struct rec) { .w = {
		rec_w0(addr, in[6], in[7]),
		rec_w1((uint64_t)in[4] << 8 | in[5], 0),
	} };
	return 0;
}

int
stream_classic_encode(const struct rec *r, int64_t ms,
    uint8_t out[REC_CLASSIC_SIZE])
{
	uint64_t addr = rec_addr(r), size = rec_size(r);
	uint8_t bcd[T_FIELDS];
	int error;

	if (rec_op(r) != REC_ALLOC && rec_op(r) != REC_FREE)
		return -EINVAL;
	if (addr > UINT32_MAX || size > UINT16_MAX)
		return -ERANGE;
	if ((error = time_encode(ms, bcd)) < 0)
		return error;
	out[0] = (uint8_t)(addr >> 24);
	out[1] = (uint8_t)(addr >> 16);
	out[2] = (uint8_t)(addr >> 8);
	out[3] = (uint8_t)addr;
	out[4] = (uint8_t)(size >> 8);
	out[5] = (uint8_t)size;
	out[6] = (uint8_t)rec_flags(r);
	out[7] = (uint8_t)rec_type(r);
	for (int i = 0; i < T_FIELDS; i++)
		out[8 + i] = bcd[i];
	return 0;
}

#define WORDS (REC_WIDE_SIZE / 8)

_Static_assert(sizeof(struct rec) == REC_WIDE_SIZE, "a record is its words");

void
stream_wide_encode(const struct rec *r, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < WORDS; k++) {
			uint64_t word = htole64(r[i].w[k]);

			memcpy(out + (i * WORDS + k) * 8, &word, 8);
		}
	}
}

void
stream_wide_decode(const uint8_t *in, size_t n, struct rec *r)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < WORDS; k++) {
			uint64_t word;

			memcpy(&word, in + (i * WORDS + k) * 8, 8);
			r[i].w[k] = le64toh(word);
		}
	}
}
