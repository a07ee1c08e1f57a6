/*
 * Cycles while ten thousand stacks get their names: a session and another
 * page, on a node in this process whose reader of symbols stands still
 * whenever a cycle is made.  What waited for the reader would wait for ever.
 * The linker takes symbols_look() from here.
 */
#include <stdio.h>

#include "../src/profile/profile.h"
#include "../src/nodes/session/state.h"
#include "../src/symbol/symbol.h"
#include "node_harness.h"

#define SITES 10000
#define DEPTH 3
#define AT_ONCE 4096		/* callers looked at in a cycle, as the page does */
#define ASKED_MAX (2 * (4096 + WIRE_SYMS_MAX))	/* stacks and frames, by a session at a time */
#define BIAS UINT64_C(0x7f0000400000)

/* --- a reader that waits for a word of the test -------------------------- */

struct symbols {
	uv_sem_t begun, go;
	size_t places;
};

static struct symbols reader;

int
symbols_new(struct symbols **out, const struct symbols_opts *opts)
{
	(void)opts;
	*out = &reader;
	return 0;
}

void
symbols_stop(struct symbols *s)
{
	(void)s;
}

void
symbols_free(struct symbols *s)
{
	ck_assert_ptr_eq(s, &reader);
}

void
symbols_look(struct symbols *s, const struct symbol_place *place, size_t n,
    struct symbol_words *words)
{
	uv_sem_post(&s->begun);
	uv_sem_wait(&s->go);
	for (size_t i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof name, "f%llx",
		    (unsigned long long)place[i].address);
		words[i] = (struct symbol_words){ .known = SYMBOL_LINE,
			.address = place[i].address, .n = 1,
			.line = { { .function = strdup(name),
			    .file = strdup("/src/f.c"), .line = 7 } } };
	}
	s->places += n;
}

void
symbol_words_fini(struct symbol_words *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		free(w->line[i].function);
		free(w->line[i].file);
	}
}

bool
symbols_fetching(struct symbols *s, struct symbols_fetch *f)
{
	(void)s;
	(void)f;
	return false;
}

/* --- a session and another page ------------------------------------------ */

static struct keeper *keeper;
static struct page other;
static struct nodes_link *link_of;
static struct nodes_session *session;
static struct profile *profile;
static uint64_t taken;		/* records that the keeper has */

static void
on_news(void *arg)
{
	(void)arg;
}

static void
put_sites(void)
{
	struct stream_module m = { .start = BIAS, .end = BIAS + 0x1000000,
		.bias = BIAS, .build_id_len = 3, .build_id = "abc",
		.path = "/lib/a.so" };
	uint64_t frame[DEPTH];
	uint32_t no;
	unsigned module;

	ck_assert_int_eq(stream_sites_put_module(keeper->sites, &m, &module),
	    0);
	for (unsigned i = 0; i < SITES; i++) {
		/* An innermost frame of its own, and callers shared by some. */
		frame[0] = frame_make(BIAS + 0x100000 + i, module);
		frame[1] = frame_make(BIAS + 0x1000 + i % 500, module);
		frame[2] = frame_make(BIAS + 0x10, module);
		ck_assert_int_eq(stream_sites_put(keeper->sites, frame, DEPTH,
		    RING_END_OUTERMOST, &no), 0);
		ck_assert_int_eq(profile_add(profile, rec_site_caller(no), 16,
		    1000), 0);
	}
}

static void
setup(void)
{
	int fds[2];

	memset(&reader, 0, sizeof reader);
	uv_sem_init(&reader.begun, 0);
	uv_sem_init(&reader.go, 0);
	taken = 0;
	node_up(NULL);
	strcpy(node.serve->lookup.program, "reader");
	keeper = new_keeper("ALLOCLOG", 0);
	ck_assert_int_eq(profile_new(&profile), 0);
	put_sites();
	page_open(&other);
	page_greet(&other, WIRE_ROLE_READ);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, fds), 0);
	ck_assert_int_eq(serve_add(&node, fds[1]), 0);
	ck_assert_int_eq(nodes_link_open(&link_of, &loop, fds[0]), 0);
	ck_assert_int_eq(nodes_session_open(&session, link_of,
	    &(struct nodes_session_opts){ .stream = "ALLOCLOG" }, on_news,
	    NULL), 0);
}

static void
teardown(void)
{
	nodes_session_close(session);
	nodes_link_close(link_of);
	page_close(&other);
	profile_free(profile);
	node_down();
	uv_sem_destroy(&reader.begun);
	uv_sem_destroy(&reader.go);
}

/* The other page's READ is answered: with the newest record. */
static void
read_other(void)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = taken,
		.max = 100 } };

	memcpy(m.read.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	page_ask(&other, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_DATA);
	ck_assert_uint_eq(r.data.first, taken);
	ck_assert_uint_eq(r.data.count, 1);
}

static uint64_t
records_seen(void)
{
	return blklist_counts(nodes_session_look(session)->list)->records;
}

/* Of names there may be more to come, and of standing: not of records. */
static void
wait_for_reads(void)
{
	while (session_in_flight(session, SESSION_ASK_DATA) > 0 ||
	    session_in_flight(session, SESSION_ASK_STREAM) > 0 ||
	    session_in_flight(session, SESSION_ASK_NODE) > 0)
		uv_run(&loop, UV_RUN_NOWAIT);
}

/* A record comes, and both are told of it before the next cycle. */
static void
make_cycle(void)
{
	take(keeper, allocation(0x10000 + taken * 64, 32));
	taken++;
	nodes_session_cycle(session);
	wait_for_reads();
	ck_assert_uint_eq(records_seen(), taken);
	read_other();
}

/* The reader begins with the next places; false: nothing is asked of it. */
static bool
reader_begins(void)
{
	while (uv_sem_trywait(&reader.begun) != 0) {
		if (nodes_session_symbols_pending(session) == 0)
			return false;
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	return true;
}

CASE("names", .setup = setup, .teardown = teardown, .seconds = 30);

TEST(no_cycle_waits_for_the_names_of_ten_thousand_stacks)
{
	struct profile_words words = nodes_profile_words;
	unsigned held = 0;	/* cycles made while the reader stood still */
	int lacking;

	words.arg = session;
	while (!nodes_session_look(session)->settled)
		uv_run(&loop, UV_RUN_NOWAIT);
	wait_for_reads();
	do {
		lacking = profile_resolve_some(profile, &words, AT_ONCE);
		ck_assert_int_ge(lacking, 0);
		ck_assert_uint_le(nodes_session_symbols_pending(session),
		    ASKED_MAX);
		make_cycle();
		if (reader_begins()) {
			make_cycle();
			held++;
			uv_sem_post(&reader.go);
		}
	} while (lacking > 0);
	ck_assert_uint_eq(nodes_session_look(session)->work.missed_cycles, 0);
	ck_assert_uint_eq(reader.places, SITES + 500 + 1);
	ck_assert_uint_ge(held, reader.places / WIRE_SYMS_MAX);
}
