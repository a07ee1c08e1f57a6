/*
 * fuzz_wire: any bytes, through both decoders, libcbor, the encoder and the
 * splitter.  A claim that does not hold ends the program.
 *
 * Claims: the decoder and its oracle (wire_oracle.h) come to the same verdict
 * and the same message; what the oracle's shape check passes, libcbor takes
 * whole; what decodes can be encoded, and that decodes and encodes to the same bytes; an entry of a
 * packed answer that can be taken out can be put back as it was; a splitter
 * gives the same maps however its input is cut, holds no more than its bound
 * whatever a frame announces, and stays at its refusal.
 */
#include <cbor.h>
#include <errno.h>

#include "../wire_oracle.h"
#include "../wire_same.h"
#include "fuzz.h"

static void
libcbor_takes_it_whole(const uint8_t *p, size_t len)
{
	struct cbor_load_result r;
	cbor_item_t *item = cbor_load(p, len, &r);

	claim(item != NULL && r.error.code == CBOR_ERR_NONE && r.read == len,
	    "libcbor takes whole what the shape check passes");
	cbor_decref(&item);
}

static void
encodes_and_comes_back(const struct wire_msg *m)
{
	static uint8_t one[4 + WIRE_REPLY_MAX], two[4 + WIRE_REPLY_MAX];
	size_t len1, len2;
	struct wire_msg back;

	claim(wire_encode(m, one, sizeof one, &len1) == 0,
	    "what decodes can be encoded");
	claim(wire_decode(one + 4, len1 - 4, &back) == 0,
	    "what was encoded decodes");
	claim(wire_encode(&back, two, sizeof two, &len2) == 0 &&
	    len1 == len2 && memcmp(one, two, len1) == 0,
	    "what was decoded twice encodes to the same bytes");
}

/*
 * Any bytes as the packed parts of SITED and of FRAMED, from any place on: what
 * comes out goes in again as the same bytes.
 */
static void
stacks_come_back(const uint8_t *p, size_t len)
{
	struct wire_bytes b = { p, len };
	uint8_t out[sizeof(struct wire_stack)];
	struct wire_stack st;
	size_t at = 0, from = 0, n;
	int r;

	while ((r = wire_sited_next(b, &at, &st)) == 1) {
		n = 0;
		claim(wire_sited_put(out, sizeof out, &n, &st) &&
		    n == at - from && memcmp(out, p + from, n) == 0,
		    "a stack goes in as it came out");
		claim(n == 0 || !wire_sited_put(out, n - 1, &(size_t){ 0 },
		    &st), "a stack needs all of its bytes");
		from = at;
	}
	claim((r == 0) == (at == len) && from == at,
	    "the end of stacks is the end of their bytes");
}

static void
words_come_back(const uint8_t *p, size_t len)
{
	struct wire_bytes b = { p, len };
	uint8_t out[20 + 256 + WIRE_INLINES_MAX * (4 + 2 * 256)];
	struct wire_words w;
	size_t at = 0, from = 0, n;
	int r;

	while ((r = wire_framed_next(b, &at, &w)) == 1) {
		n = 0;
		claim(wire_framed_put(out, sizeof out, &n, &w) &&
		    n == at - from && memcmp(out, p + from, n) == 0,
		    "words go in as they came out");
		claim(!wire_framed_put(out, n - 1, &(size_t){ 0 }, &w),
		    "words need all of their bytes");
		from = at;
	}
	claim((r == 0) == (at == len) && from == at,
	    "the end of words is the end of their bytes");
}

static void
types_come_back(const uint8_t *p, size_t len)
{
	struct wire_bytes b = { p, len };
	uint8_t out[3 + WIRE_TEXT_MAX];
	struct wire_words w;
	uint32_t frame = 0;
	size_t at = 0, from = 0, n;
	int r;

	while ((r = wire_told_next(b, &at, &frame, &w)) == 1) {
		n = 0;
		claim(wire_told_put(out, sizeof out, &n, frame, &w) &&
		    n == at - from && memcmp(out, p + from, n) == 0,
		    "a type goes in as it came out");
		claim(!wire_told_put(out, n - 1, &(size_t){ 0 }, frame, &w),
		    "a type needs all of its bytes");
		from = at;
	}
	claim((r == 0) == (at == len) && from == at,
	    "the end of types is the end of their bytes");
}

/* Sums up what comes out, so that two ways of cutting can be compared. */
static int
drain(struct wire_frames *f, uint64_t *sum)
{
	const uint8_t *map;
	size_t i, len;
	int got;

	while ((got = wire_frames_next(f, &map, &len)) == 1) {
		*sum = *sum * 31 + len + 1;
		for (i = 0; i < len; i++)
			*sum = *sum * 31 + map[i];
	}
	return got;
}

/*
 * -EMSGSIZE, or 0, with the sum of all maps; in pieces of `piece` bytes, the
 * first of them of `first`.
 */
static int
split(const uint8_t *p, size_t len, size_t limit, size_t first, size_t piece,
    uint64_t *sum)
{
	struct wire_frames f;
	size_t room, want = first > 0 ? first : piece;
	uint8_t *to;
	int err = 0;

	*sum = 0;
	claim(wire_frames_init(&f, limit) == 0, "limits are legal");
	while (len > 0 && err == 0) {
		to = wire_frames_space(&f, len < want ? len : want, &room);
		claim(to != NULL, "a drained splitter has room");
		claim(f.cap <= 2 * limit, "a splitter's room is bounded");
		memcpy(to, p, room);
		wire_frames_add(&f, room);
		p += room;
		len -= room;
		err = drain(&f, sum);
		want = piece;
	}
	claim(err == 0 || drain(&f, sum) == err, "what is refused stays so");
	wire_frames_fini(&f);
	return err;
}

/*
 * As requests and with a limit that more frames meet; cut at one place that
 * the bytes themselves choose, and into bytes.
 */
static void
splits_the_same(const uint8_t *p, size_t len)
{
	static const size_t limits[] = { WIRE_REQUEST_MAX, 64 };
	size_t first = len > 0 ? p[len - 1] : 0;
	uint64_t whole, cut;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		size_t limit = limits[i];
		int err = split(p, len, limit, 0, WIRE_REPLY_MAX, &whole);

		claim(split(p, len, limit, first, WIRE_REPLY_MAX, &cut) ==
		    err && cut == whole && split(p, len, limit, 0, 7, &cut) ==
		    err && cut == whole && split(p, len, limit, 0, 1, &cut) ==
		    err && cut == whole,
		    "a splitter gives the same maps however its input is cut");
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct wire_msg m, oracle;
	int err;

	if (oracle_check_shape(p, len) == 0)
		libcbor_takes_it_whole(p, len);
	err = wire_decode(p, len, &m);
	claim(err == 0 || err == -EBADMSG || err == -ENOMSG,
	    "decoding ends in one of three ways");
	claim(oracle_decode(p, len, &oracle) == err,
	    "both decoders come to one verdict");
	claim(err != -ENOMSG || (m.type == oracle.type && m.id == oracle.id),
	    "an unknown type is the same to both decoders");
	claim(err != 0 || wire_difference(&m, &oracle) == NULL,
	    "a message is the same to both decoders");
	if (err == 0)
		encodes_and_comes_back(&m);
	stacks_come_back(p, len);
	words_come_back(p, len);
	types_come_back(p, len);
	splits_the_same(p, len);
	return 0;
}
