/*
 * fuzz_wire: any bytes, through the shape check, libcbor, the codec and the
 * splitter.  A claim that does not hold ends the program.
 *
 * Claims: what the shape check passes, libcbor takes whole; what decodes can
 * be encoded, and that decodes and encodes to the same bytes; an entry of a
 * packed answer that can be taken out can be put back as it was; a splitter
 * gives the same maps however its input is cut.
 *
 * With REPLAY a main() takes files as arguments instead of libFuzzer's.
 */
#include <cbor.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/stream/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
claim(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_wire: does not hold: %s\n", what);
	abort();
}

static void
libcbor_takes_it_whole(const uint8_t *p, size_t len)
{
	struct cbor_load_result r;
	cbor_item_t *item = cbor_load(p, len, &r);

	claim(item != NULL && r.error.code == CBOR_ERR_NONE && r.read == len,
	    "what the shape check passes, libcbor takes whole");
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
	wire_msg_fini(&back);
}

/*
 * Any bytes as the packed part of SITED and of FRAMED, from any place on: what
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

/* -EMSGSIZE, or 0, with the sum of all maps; in pieces of `piece` bytes. */
static int
split(const uint8_t *p, size_t len, size_t piece, uint64_t *sum)
{
	struct wire_frames f;
	size_t room;
	uint8_t *to;
	int err = 0;

	*sum = 0;
	claim(wire_frames_init(&f, WIRE_REQUEST_MAX) == 0, "limits are legal");
	while (len > 0 && err == 0) {
		to = wire_frames_space(&f, len < piece ? len : piece, &room);
		claim(to != NULL, "a drained splitter has room");
		memcpy(to, p, room);
		wire_frames_add(&f, room);
		p += room;
		len -= room;
		err = drain(&f, sum);
	}
	wire_frames_fini(&f);
	return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint64_t sum1, sum2;
	struct wire_msg m;
	int err;

	if (wire_check_shape(p, len) == 0)
		libcbor_takes_it_whole(p, len);
	err = wire_decode(p, len, &m);
	claim(err == 0 || err == -EBADMSG || err == -ENOMSG,
	    "decoding ends in one of three ways");
	if (err == 0) {
		encodes_and_comes_back(&m);
		wire_msg_fini(&m);
	}
	stacks_come_back(p, len);
	words_come_back(p, len);
	err = split(p, len, 7, &sum1);
	claim(split(p, len, WIRE_REPLY_MAX, &sum2) == err && sum1 == sum2,
	    "a splitter gives the same maps however its input is cut");
	return 0;
}

#ifdef REPLAY
static void
replay(const char *path)
{
	static uint8_t buf[1 << 20];
	uint8_t *exact;
	size_t len;
	FILE *f = fopen(path, "rb");

	claim(f != NULL, path);
	len = fread(buf, 1, sizeof buf, f);
	fclose(f);
	/* A sanitizer sees a byte read beyond it only at the end of a block. */
	exact = malloc(len > 0 ? len : 1);
	claim(exact != NULL, path);
	memcpy(exact, buf, len);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
}

int
main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		replay(argv[i]);
	printf("fuzz_wire: %d files\n", argc - 1);
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
