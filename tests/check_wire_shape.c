/*
 * The shape of a map: the decoder of one pass and the oracle (wire_oracle.h)
 * agree on every map.  The mutants come from a fixed seed: each run has the same.
 */
#include <cbor.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "harness.h"
#include "wire_oracle.h"
#include "wire_same.h"
#include "wire_samples.h"

#define CORPUS "tests/corpus/wire/"

static uint8_t raw[SAMPLE_FRAME_MAX];

/*
 * The verdict of both decoders, and of the same message.  In a buffer of
 * exactly its size, so that a sanitizer sees a read beyond it.
 */
static int
verdict(const uint8_t *map, size_t len)
{
	struct wire_msg m = { .type = 99, .id = 98 }, oracle = m;
	uint8_t *copy = malloc(len > 0 ? len : 1);
	int err;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, map, len);
	err = wire_decode(copy, len, &m);
	ck_assert_int_eq(err, oracle_decode(copy, len, &oracle));
	ck_assert_uint_eq(m.type, oracle.type);
	ck_assert_uint_eq(m.id, oracle.id);
	if (err == 0)
		ck_assert_msg(wire_difference(&m, &oracle) == NULL, "%s",
		    wire_difference(&m, &oracle));
	else if (err == -EBADMSG)
		ck_assert_uint_eq(m.type, 99);
	free(copy);
	return err;
}

CASE("Core", .seconds = 60);

LOOP_TEST(bomb_is_refused, 0, BASE_NELEM(sample_bombs))
{
	size_t len = sample_raw_get(&sample_bombs[_i], raw);

	ck_assert_int_eq(oracle_check_shape(raw, len), -EBADMSG);
	ck_assert_msg(verdict(raw, len) == -EBADMSG, "%s",
	    sample_bombs[_i].name);
}

LOOP_TEST(edge_of_the_profile_is_allowed, 0, BASE_NELEM(sample_edges))
{
	size_t len = sample_raw_get(&sample_edges[_i], raw);

	ck_assert_msg(verdict(raw, len) == 0, "%s", sample_edges[_i].name);
}

LOOP_TEST(edge_cut_at_any_byte_is_refused, 0, BASE_NELEM(sample_edges))
{
	size_t n, len = sample_raw_get(&sample_edges[_i], raw);

	for (n = 0; n < len; n++)
		ck_assert_int_eq(verdict(raw, n), -EBADMSG);
}

/* By the standard's own table; the low bits decide what may follow. */
LOOP_TEST(first_byte_decides, 0, 256)
{
	unsigned major = (unsigned)_i >> 5, info = _i & 0x1f, n;
	bool fine = false;
	size_t len;

	len = sample_hex(IN_HELLO, raw);
	raw[len++] = (uint8_t)_i;
	n = info < 24 || info > 27 ? 0 : 1u << (info - 24);
	memset(raw + len, 0, n);
	len += n;
	if (major <= 1)
		fine = info <= 27;
	else if (major <= 5)
		fine = info == 0 || (info >= 24 && info <= 26);
	else if (major == 7)
		fine = info == 20 || info == 21 || info == 22;
	ck_assert_int_eq(verdict(raw, len), fine ? 0 : -EBADMSG);
}

static long
peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void
decode(const uint8_t *map, size_t len)
{
	struct wire_msg m;

	(void)wire_decode(map, len, &m);
}

/* A sanitizer keeps what is freed, and knows better than a peak. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PEAK_TELLS 0
#else
#define PEAK_TELLS 1
#endif

/* Whole, and cut at any byte; in a frame, and with a length that is a lie. */
static void
throw_bomb(const uint8_t *map, size_t len)
{
	static const uint32_t lies[] = {
		0, 1, WIRE_REQUEST_MAX, WIRE_REQUEST_MAX + 1, WIRE_REPLY_MAX,
		INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX,
	};
	size_t i, n, room, at;
	struct wire_frames f;
	const uint8_t *out;
	uint32_t announced;
	uint8_t *to;

	for (n = 0; n <= len; n++)
		decode(map, n);
	for (i = 0; i <= BASE_NELEM(lies); i++) {
		announced = i > 0 ? lies[i - 1] : (uint32_t)len;
		ck_assert_int_eq(wire_frames_init(&f, WIRE_REQUEST_MAX), 0);
		to = wire_frames_space(&f, WIRE_LENGTH_SIZE, &room);
		for (at = 0; at < WIRE_LENGTH_SIZE; at++)
			to[at] = (uint8_t)(announced >> (24 - 8 * at));
		wire_frames_add(&f, WIRE_LENGTH_SIZE);
		for (at = 0; at < len; at += room) {
			to = wire_frames_space(&f, len - at, &room);
			if (to == NULL)
				break;
			memcpy(to, map + at, room);
			wire_frames_add(&f, room);
		}
		while (wire_frames_next(&f, &out, &n) == 1)
			decode(out, n);
		wire_frames_fini(&f);
	}
}

static void
throw_bombs(const struct sample_raw *bombs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		throw_bomb(raw, sample_raw_get(&bombs[i], raw));
}

/*
 * As many items as fit into a frame, each as deep and as large as it claims,
 * in an array that has room for them all.
 */
static void
throw_full_frames(void)
{
	static const char *const fills[] = {
		"9a0fffffff", "ba07ffffff", "5a7fffffff", "7affffffff", "81",
		"a100", "9f", "bf", "5f", "7f", "c1", "9b0000000100000001",
		"62c080", "80", "a0", "40", "60", "ff",
	};

	for (size_t i = 0; i < BASE_NELEM(fills); i++) {
		size_t len = sample_hex(IN_HELLO "99ffff", raw), one;

		for (one = 1; len + one <= WIRE_REPLY_MAX; len += one)
			one = sample_hex(fills[i], raw + len);
		decode(raw, len);
		decode(raw, WIRE_REQUEST_MAX);
	}
}

/* Runs in a child, whose peak begins at what it has; returns its growth. */
static long
growth_of_bombs(void)
{
	long before;

	/* Touches the code and the buffer before the first look. */
	memset(raw, 0, sizeof raw);
	throw_bomb(raw, sample_raw_get(&sample_edges[0], raw));
	before = peak_kib();
	throw_bombs(sample_bombs, BASE_NELEM(sample_bombs));
	throw_bombs(sample_wrong, BASE_NELEM(sample_wrong));
	throw_bombs(sample_unknown, BASE_NELEM(sample_unknown));
	throw_full_frames();
	return peak_kib() - before;
}

CASE("Limits", .seconds = 300);

TEST(bombs_take_no_memory)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(growth_of_bombs() < 1024 || !PEAK_TELLS ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* --- mutants ------------------------------------------------------------ */

#define MUTANTS 200000
#define MUTANT_MAX 2048

static uint64_t
random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t
random_below(uint64_t *state, size_t n)
{
	return (size_t)(random_next(state) >> 16) % n;
}

/* A valid map to begin with: a message, or one at the edge of the profile. */
static size_t
parent(uint64_t *state, uint8_t *out)
{
	size_t i = random_below(state, SAMPLE_TYPES + BASE_NELEM(sample_edges));
	uint8_t buf[MUTANT_MAX];
	struct wire_msg m;
	size_t len;

	if (i >= SAMPLE_TYPES)
		return sample_raw_get(&sample_edges[i - SAMPLE_TYPES], out);
	sample_get_some(sample_types[i], &m);
	ck_assert_int_eq(wire_encode(&m, buf, sizeof buf, &len), 0);
	memcpy(out, buf + 4, len - 4);
	return len - 4;
}

/* One change: a bit, a byte, a head that means something, more or less. */
static size_t
mutate(uint64_t *state, uint8_t *p, size_t len)
{
	static const uint8_t heads[] = {
		0x00, 0x17, 0x18, 0x1b, 0x20, 0x3b, 0x40, 0x41, 0x58, 0x5b,
		0x5f, 0x60, 0x61, 0x78, 0x7b, 0x7f, 0x80, 0x81, 0x98, 0x9b,
		0x9f, 0xa0, 0xa1, 0xb8, 0xbb, 0xbf, 0xc0, 0xd8, 0xe0, 0xf4,
		0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xff,
	};
	size_t at = random_below(state, len), n;

	switch (random_below(state, 6)) {
	case 0:
		p[at] ^= (uint8_t)(1u << random_below(state, 8));
		break;
	case 1:
		p[at] = (uint8_t)random_next(state);
		break;
	case 2:
		p[at] = heads[random_below(state, sizeof heads)];
		break;
	case 3:
		memmove(p + at + 1, p + at, len - at);
		p[at] = heads[random_below(state, sizeof heads)];
		len++;
		break;
	case 4:
		memmove(p + at, p + at + 1, len - at - 1);
		len--;
		break;
	default:
		n = 1 + random_below(state, 8);
		if (at + n <= len) {
			memmove(p + at + n, p + at, len - at);
			len += n;
		}
		break;
	}
	return len;
}

/* Passed by the shape check: libcbor takes it whole, and a codec survives it. */
static bool
agrees(const uint8_t *map, size_t len)
{
	struct cbor_load_result r;
	cbor_item_t *item = cbor_load(map, len, &r);
	bool whole = item != NULL && r.error.code == CBOR_ERR_NONE &&
	    r.read == len;

	if (item != NULL)
		cbor_decref(&item);
	return whole;
}

TEST(decoders_agree_on_mutants_and_libcbor_takes_what_passes)
{
	uint64_t state = UINT64_C(0x2004071313300000);
	uint8_t p[MUTANT_MAX];
	unsigned i, passed = 0, decoded = 0;
	size_t len, changes;

	for (i = 0; i < MUTANTS; i++) {
		len = parent(&state, p);
		changes = 1 + random_below(&state, 4);
		for (; changes > 0 && len > 0; changes--)
			len = mutate(&state, p, len);
		decoded += verdict(p, len) == 0;
		if (oracle_check_shape(p, len))
			continue;
		passed++;
		ck_assert_msg(agrees(p, len), "mutant %u", i);
	}
	/* A generator that only makes rubbish would prove nothing. */
	ck_assert_uint_gt(passed, MUTANTS / 10);
	ck_assert_uint_gt(decoded, MUTANTS / 20);
	ck_assert_uint_lt(passed, MUTANTS * 9 / 10);
}

LOOP_TEST(decoders_agree_on_largest_messages_cut_short, 0, SAMPLE_TYPES)
{
	struct wire_msg m;
	size_t n, len;

	sample_get_most(sample_types[_i], &m);
	ck_assert_int_eq(wire_encode(&m, raw, sizeof raw, &len), 0);
	len -= WIRE_LENGTH_SIZE;
	for (n = 0; n <= len; n += n < 512 || len - n < 1024 ? 1 : 997)
		ck_assert_int_eq(verdict(raw + WIRE_LENGTH_SIZE, n),
		    n == len ? 0 : -EBADMSG);
}

/* A small map is cut at any byte. */
TEST(decoders_agree_on_stored_maps_cut_short)
{
	char path[300];
	struct dirent *e;
	unsigned files = 0;
	size_t n, len;
	DIR *d = opendir(CORPUS);
	FILE *f;

	ck_assert_msg(d != NULL, "run from the top of the tree");
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, CORPUS "%s", e->d_name);
		f = fopen(path, "r");
		ck_assert_ptr_nonnull(f);
		len = fread(raw, 1, sizeof raw, f);
		fclose(f);
		files++;
		for (n = 0; n <= len; n += n < 1024 ? 1 : 61)
			(void)verdict(raw, n);
		(void)verdict(raw, len);
	}
	closedir(d);
	ck_assert_uint_gt(files, 200);
}
