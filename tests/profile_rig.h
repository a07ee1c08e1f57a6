/*
 * A program of our own making, its stacks and its words, and a profile of it.
 * Shared by the tests of profiles.
 */
#ifndef TESTS_PROFILE_RIG_H
#define TESTS_PROFILE_RIG_H

#include <stdio.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/profile/profile.h"
#include "../src/stream/ring.h"
#include "harness.h"

#define NOW 100000		/* milliseconds: when blocks have their ages */

/*
 * Frames are named by what lies there: lines innermost first, '<' between an
 * inlined function and the one that it is inlined in.  Module 0 has no words.
 */
static const struct place_words {
	uint64_t frame;
	const char *functions, *file, *module;
	uint32_t known;
} places[] = {
	{ 0x10, "main", "/src/main.c", "/bin/prog", WIRE_K_LINE },
	{ 0x11, "serve", "/src/serve.c", "/bin/prog", WIRE_K_LINE },
	{ 0x12, "parse<handle", "/src/parse.c", "/bin/prog", WIRE_K_LINE },
	{ 0x13, "zmalloc", "/src/zmalloc.c", "/bin/prog", WIRE_K_LINE },
	{ 0x14, "cache", "/src/cache.c", "/bin/prog", WIRE_K_LINE },
	{ 0x15, "walk", "/src/walk.c", "/bin/prog", WIRE_K_LINE },
	{ 0x16, "walk", "/src/walk.c", "/bin/prog", WIRE_K_LINE },
	{ 0x17, "", "", "/lib/libfoo.so", WIRE_K_NO_SYMBOL },
	{ 0x18, "init", "", "/lib/libfoo.so", WIRE_K_NO_LINE },
	{ 0x19, "init", "", "/lib/libbar.so", WIRE_K_NO_LINE },
	{ 0x1a, "xmalloc", "/src/x.c", "/bin/prog", WIRE_K_LINE },
	{ 0x1b, "evil;name\n\033[2J\xff;", "/src/a\nb.c", "/bin/prog",
	    WIRE_K_LINE },
	{ 0x1c, "late", "", "/lib/liblate.so", WIRE_K_NO_LINE },
	{ 0x1d, "walk", "/src/other.c", "/bin/prog", WIRE_K_LINE },
};

/* Stacks by site, innermost first. */
static const struct site {
	uint64_t frame[6];
	unsigned depth, end;
} sites[] = {
	[1] = { { 0x13, 0x12, 0x11, 0x10 }, 4, RING_END_OUTERMOST },
	[2] = { { 0x14, 0x11, 0x10 }, 3, RING_END_OUTERMOST },
	[3] = { { 0x13, 0x14, 0x11, 0x10 }, 4, RING_END_OUTERMOST },
	[4] = { { 0x15, 0x16, 0x15, 0x11, 0x10 }, 5, RING_END_OUTERMOST },
	[5] = { { 0x13, 0x1a }, 2, RING_END_DEPTH },
	[6] = { { 0x17, 0x10 }, 2, RING_END_OUTERMOST },
	[7] = { { 0x18, 0x10 }, 2, RING_END_OUTERMOST },
	[8] = { { 0x19, 0x10 }, 2, RING_END_NO_TABLE },
	[9] = { { 0x1b, 0x10 }, 2, RING_END_OUTERMOST },
	[10] = { { 0x1c, 0x11, 0x10 }, 3, RING_END_OUTERMOST },
	[11] = { { 0x14, 0x15, 0x14, 0x11, 0x10 }, 5, RING_END_OUTERMOST },
};

/* What the fake knows by now, and how often it was asked. */
static struct {
	bool no_stacks;
	bool no_words;
	bool late;		/* 0x1c is known */
	bool fetching;
	unsigned asked;
	unsigned stacks;	/* asked for */
	unsigned which;		/* sites of them, a bit each */
} fake;

static inline bool
fake_stack(void *arg, uint64_t caller, struct stream_site *out)
{
	static uint64_t plain;

	(void)arg;
	if (!rec_is_site(caller)) {
		plain = caller;
		*out = (struct stream_site){ &plain, 1, RING_END_DEPTH };
		return true;
	}
	fake.stacks++;
	fake.which |= 1u << rec_site(caller) % 32;
	if (fake.no_stacks || rec_site(caller) >= BASE_NELEM(sites))
		return false;
	*out = (struct stream_site){ sites[rec_site(caller)].frame,
		sites[rec_site(caller)].depth, sites[rec_site(caller)].end };
	return true;
}

static inline struct wire_text
text(const char *s, size_t len)
{
	return (struct wire_text){ s, len };
}

static inline const struct wire_words *
fake_words(void *arg, uint64_t frame)
{
	static struct wire_words w;
	const struct place_words *p = NULL;
	const char *f;

	(void)arg;
	fake.asked++;
	for (size_t i = 0; i < BASE_NELEM(places); i++)
		if (places[i].frame == frame)
			p = &places[i];
	if (fake.no_words || p == NULL)
		return NULL;
	w = (struct wire_words){ .frame = frame, .known = p->known,
		.offset = 0x1000 + frame,
		.module = text(p->module, strlen(p->module)) };
	if (frame == 0x1c && !fake.late) {
		w.known = WIRE_K_PENDING;
		return &w;
	}
	w.fetching = fake.fetching;
	for (f = p->functions; *f != '\0'; f += strspn(f, "<")) {
		size_t len = strcspn(f, "<");

		w.line[w.n++] = (struct wire_inline){ text(f, len),
			text(p->file, strlen(p->file)),
			(uint32_t)frame + 100 };
		f += len;
	}
	return &w;
}

static const struct profile_words words = { fake_stack, fake_words, NULL };

static struct profile *p;
static struct symbol_wrappers *wrappers;
static struct profile_group rows[64];
static size_t got, groups;

static inline void
setup(void)
{
	memset(&fake, 0, sizeof fake);
	ck_assert_int_eq(profile_new(&p), 0);
	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	ck_assert_int_eq(symbol_wrappers_add(wrappers,
	    "none zmalloc xmalloc"), 0);
	profile_set_wrappers(p, wrappers);
}

static inline void
teardown(void)
{
	profile_free(p);
	symbol_wrappers_free(wrappers);
}

static inline void
put(unsigned site, unsigned blocks, uint64_t bytes)
{
	for (unsigned i = 0; i < blocks; i++)
		ck_assert_int_eq(profile_add(p, rec_site_caller(site), bytes,
		    NOW - 1000 * (int64_t)site - i), 0);
}

/* All sites, site n with n blocks of 100 bytes. */
static inline void
put_all(void)
{
	for (unsigned n = 1; n < BASE_NELEM(sites); n++)
		put(n, n, 100);
}

/* Rows [offs, offs + n) of a ranking; how many groups there are in all. */
static inline size_t
group_rows(enum profile_by by, enum profile_measure measure, size_t offs,
    struct profile_group *out, size_t n, size_t *written)
{
	struct profile_ranking *r;
	size_t left, all;

	ck_assert_int_eq(profile_ranking_new(&r), 0);
	ck_assert_int_eq(profile_ranking_begin(r, p, by, measure, NOW), 0);
	ck_assert_int_eq(profile_ranking_count(r, SIZE_MAX, &left), 0);
	ck_assert_uint_eq(left, 0);
	ck_assert_int_eq(profile_ranking_rows(r, offs, out, n, written), 0);
	all = profile_ranking_size(r);
	profile_ranking_free(r);
	return all;
}

static inline void
group(enum profile_by by, enum profile_measure measure)
{
	groups = group_rows(by, measure, 0, rows, BASE_NELEM(rows), &got);
	ck_assert_uint_eq(got, groups);
}

static inline const struct profile_group *
named(const char *name)
{
	const struct profile_group *found = NULL;

	for (size_t i = 0; i < got; i++)
		if (strcmp(rows[i].name, name) == 0) {
			ck_assert_msg(found == NULL, "two are called %s", name);
			found = &rows[i];
		}
	return found;
}

static inline const struct profile_group *
must(const char *name)
{
	const struct profile_group *g = named(name);

	ck_assert_msg(g != NULL, "no group is called %s", name);
	return g;
}

/* For profile_folded(): the sum of its lines, into a uint64_t. */
static inline int
weigh(void *arg, const char *line)
{
	*(uint64_t *)arg += strtoull(strrchr(line, ' ') + 1, NULL, 10);
	return 0;
}

#endif
