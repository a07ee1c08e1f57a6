/*
 * fuzz_raw: any bytes as a line.  Of each piece the first byte says how long
 * it is and what comes behind it: quiet, an end, or nothing.
 *
 * Claims: whatever comes, bytes are records, skipped or held; what is taken is
 * a valid record that stands in the bytes, in their order; little is held.
 */
#include "../../src/stream/stream.h"
#include "fuzz.h"

#define BYTES_MAX 65536

struct line {
	uint8_t b[BYTES_MAX];
	size_t n, at;		/* bytes so far, and those behind the last record */
};

static void
on_record(void *arg, const uint8_t rec[REC_CLASSIC_SIZE])
{
	struct line *l = arg;
	struct rec r;
	int64_t ms;

	claim(stream_classic_decode(rec, &r, &ms) == 0, "a record is valid");
	while (l->at + REC_CLASSIC_SIZE <= l->n &&
	    memcmp(l->b + l->at, rec, REC_CLASSIC_SIZE) != 0)
		l->at++;
	claim(l->at + REC_CLASSIC_SIZE <= l->n, "a record has come, in order");
	l->at += REC_CLASSIC_SIZE;
}

static void
holds(const struct raw *r)
{
	claim(r->n.bytes == REC_CLASSIC_SIZE * r->n.records + r->n.skipped +
	    r->held, "every byte is counted");
	claim(r->held < 6 * REC_CLASSIC_SIZE, "little is held");
	claim(r->n.left_out <= r->n.skipped, "what is left out is skipped");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct line l;
	struct raw r;

	l.n = l.at = 0;
	if (len == 0 || len > BYTES_MAX)
		return 0;
	raw_init(&r, p[0] & 1);
	for (p++, len--; len > 0;) {
		unsigned how = *p >> 6;
		size_t n = (*p & 0x3f) * 4u + (how == 3);

		p++;
		len--;
		if (n > len)
			n = len;
		memcpy(l.b + l.n, p, n);
		l.n += n;
		raw_put(&r, p, n, on_record, &l);
		p += n;
		len -= n;
		if (how == 1)
			raw_quiet(&r, on_record, &l);
		if (how == 2)
			raw_end(&r, on_record, &l);
		holds(&r);
	}
	raw_end(&r, on_record, &l);
	holds(&r);
	claim(r.held == 0, "at the end nothing is held");
	return 0;
}
