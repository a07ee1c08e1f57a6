/*
 * The seven diagnostics of the 2004 note, as page K's status line shows them:
 * each moves when its cause is there, and no other does.
 *
 * The way is the real one: bytes of classic records go into a pipe, a node
 * reads them as a device, a page's session reads the node, and the picture is
 * looked at.  The page sits on the node's socket, or comes through a bridge as
 * one from another machine does.
 */
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../src/nodes/bridge/bridge.h"
#include "../src/nodes/demo/demo.h"
#include "../src/nodes/keeper/node.h"
#include "../src/nodes/pageknode/pageknode.h"
#include "../src/nodes/serve/serve.h"
#include "../src/nodes/session/state.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/picture/picture.h"
#include "harness.h"

#define LIST_MAX 8		/* aRecMax of keeper and page */
#define START_MS INT64_C(1780000000000)	/* some day of 2026 */

static struct node node;
static uv_loop_t loop;
static struct nodes_link *link_of;
static struct nodes_session *session;
static struct page page;
static struct page_picture pic;
static int device;		/* the end that is written to */
static int64_t ms;		/* of the next record */
static uint64_t sent;		/* records */
static uint64_t captured;	/* the sum of what the line said of each cycle */

/* --- the line ------------------------------------------------------------- */

enum word {
	REC, ACT, FREE, TYP, DUP, FULL,		/* the note's, but for the time */
	LOST, UNK, BAD, EARLIER, FAILED, STACKLESS, MISSED,
	WORDS
};

static const struct {
	const char *form;
	bool behind;		/* the word stands behind its number */
} words[WORDS] = {
	[REC] = { " rec ", true }, [ACT] = { " act ", false },
	[FREE] = { " free ", false }, [TYP] = { " typ ", false },
	[DUP] = { " dup ", false }, [FULL] = { " full ", false },
	[LOST] = { " lost ", false }, [UNK] = { " unk ", false },
	[BAD] = { " bad ", false }, [EARLIER] = { " earlier ", false },
	[FAILED] = { " failed ", false }, [STACKLESS] = { " stackless ", false },
	[MISSED] = { " missed ", false },
};

struct status_line {
	uint64_t cost_us, max_us;
	uint64_t n[WORDS];
};

static uint64_t
cost(const char *text)
{
	char *end;
	double n = strtod(text, &end);

	return (uint64_t)(n * (*end == 'u' ? 1 : *end == 'm' ? 1e3 : 1e6));
}

static void
read_line(struct status_line *l)
{
	const char *text = NULL, *at;
	int i;

	ck_assert_int_eq(page_compose(&page, session, 240, 12, &pic), 0);
	for (i = 0; i < pic.rows; i++)
		if (strstr(pic.line[i].text, " rec ") != NULL)
			text = pic.line[i].text;
	ck_assert_ptr_nonnull(text);
	l->cost_us = cost(text);
	at = strstr(text, " max ");
	ck_assert_ptr_nonnull(at);
	l->max_us = cost(at + 5);
	for (i = 0; i < WORDS; i++) {
		at = strstr(text, words[i].form);
		ck_assert_msg(at != NULL, "no '%s' in '%s'", words[i].form,
		    text);
		if (words[i].behind)
			while (at[-1] >= '0' && at[-1] <= '9')
				at--;
		else
			at += strlen(words[i].form);
		l->n[i] = strtoull(at, NULL, 10);
	}
}

/* --- a node, a line into it, and a page ------------------------------------- */

static struct {
	int fd, node;
	uint8_t first[256];
	size_t len;
	pthread_t thread;
	bool runs;
} bridge;

static void *
pass(void *arg)
{
	(void)arg;
	ck_assert_int_eq(bridge_pass(bridge.fd, bridge.fd, bridge.node,
	    bridge.first, bridge.len), 0);
	close(bridge.fd);
	close(bridge.node);
	return NULL;
}

/* The descriptor of a page that comes over the network. */
static int
bridge_up(int to_node)
{
	struct wire_msg limit = { .type = WIRE_LIMIT, .limit = {
		.roles = UINT32_MAX, .away = true,
		.origin = wire_text("192.0.2.7") } };
	int fds[2];

	ck_assert_int_eq(wire_encode(&limit, bridge.first,
	    sizeof bridge.first, &bridge.len), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	bridge.fd = fds[1];
	bridge.node = to_node;
	ck_assert_int_eq(pthread_create(&bridge.thread, NULL, pass, NULL), 0);
	bridge.runs = true;
	return fds[0];
}

/* One cycle of the page, to its last answer: so none is ever missed. */
static void
cycle(void)
{
	struct status_line l;

	nodes_session_cycle(session);
	/* What it says now is of the cycle that has just ended. */
	if (nodes_session_look(session)->list != NULL) {
		read_line(&l);
		captured += l.n[REC];
	}
	do
		uv_run(&loop, UV_RUN_ONCE);
	while (session_is_resolving(session) ||
	    session_in_flight(session, SESSION_ASK_DATA) > 0 ||
	    session_in_flight(session, SESSION_ASK_PART) > 0);
}

static void
cycles_until(uint64_t records)
{
	uint64_t known = nodes_session_look(session)->work.total_records, now;

	while (known < records) {
		cycle();
		now = nodes_session_look(session)->work.total_records;
		/* Until the node looks at its device again. */
		if (now == known)
			uv_run(&loop, UV_RUN_ONCE);
		known = now;
	}
	/* The last one's records are told by the next. */
	cycle();
}

static void
put(unsigned op, uint32_t addr, unsigned type)
{
	struct rec rec = { .w = { rec_w0(addr, REC_FLAGS(op, 0), type),
		rec_w1(0x30, 0), 0, 0 } };
	uint8_t bytes[REC_CLASSIC_SIZE];

	ck_assert_int_eq(stream_classic_encode(&rec, ms++, bytes), 0);
	ck_assert_int_eq(write(device, bytes, sizeof bytes), sizeof bytes);
	sent++;
}

/* Two blocks are there before anything happens. */
#define FIRST 0x1000
#define SECOND 0x2000

static void
up(bool away)
{
	struct nodes_session_opts opts = { .max = LIST_MAX };
	int fds[2], in[2];

	setlocale(LC_ALL, "C.UTF-8");
	ms = START_MS;
	sent = captured = 0;
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	device = in[1];
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	ck_assert_int_eq(node_init(&node, &loop, &(struct node_opts){
		.fd = -1, .device.fd = in[0], .max = LIST_MAX }), 0);
	ck_assert_int_eq(device_start(&node), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	ck_assert_int_eq(serve_add(&node, fds[1]), 0);
	bridge.runs = false;
	ck_assert_int_eq(nodes_link_open(&link_of, &loop,
	    away ? bridge_up(fds[0]) : fds[0]), 0);
	page_init(&page, &(struct page_opts){ .layout = PAGE_WIDE });
	ck_assert_int_eq(nodes_session_open(&session, link_of, &opts,
	    page_news, &page), 0);
	while (nodes_session_look(session)->list == NULL ||
	    !nodes_session_look(session)->settled)
		cycle();
	ck_assert_int_eq(TAILQ_FIRST(&node.serve->conns)->page.away, away);
	put(REC_ALLOC, FIRST, 0x01);
	put(REC_ALLOC, SECOND, 0x09);
	cycles_until(sent);
	ck_assert_uint_eq(captured, sent);
	captured = sent = 0;
}

static void
down(void)
{
	nodes_session_close(session);
	nodes_link_close(link_of);
	page_fini(&page);
	page_picture_fini(&pic);
	node_close(&node);
	uv_run(&loop, UV_RUN_DEFAULT);
	node_fini(&node);
	if (bridge.runs)
		pthread_join(bridge.thread, NULL);
	close(device);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
}

/* --- causes ----------------------------------------------------------------- */

struct event {
	unsigned op;
	uint32_t addr;
	unsigned type;
};

#define A REC_ALLOC
#define F REC_FREE

static const struct cause {
	const char *what;
	struct event event[10];
	int moves[WORDS];	/* but for REC and FREE, which follow */
} causes[] = {
	{ "nothing", { { 0 } }, { 0 } },
	{ "a block", { { A, 0x3000, 0x01 } }, { [ACT] = 1 } },
	{ "one of each type of the note's", { { A, 0x3000, 0x01 },
	    { A, 0x4000, 0x09 }, { A, 0x5000, 0x0c }, { A, 0x6000, 0x0e } },
	    { [ACT] = 4 } },
	{ "a free", { { F, FIRST, 0x01 } }, { [ACT] = -1 } },
	{ "a block that comes and goes", { { A, 0x3000, 0x01 },
	    { F, 0x3000, 0x01 } }, { [ACT] = 0 } },
	/* The last record waits for quiet: these two come together. */
	{ "one that is cancelled before the next", { { A, 0x3000, 0x01 },
	    { F, 0x3000, 0x01 }, { A, 0x4000, 0x01 } }, { [ACT] = 1 } },
	{ "a type that is none", { { A, 0x3000, 0x7e } },
	    { [ACT] = 1, [TYP] = 1 } },
	{ "two that are none, and one that is", { { A, 0x3000, 0x7e },
	    { A, 0x4000, 0x01 }, { A, 0x5000, 0x7d } },
	    { [ACT] = 3, [TYP] = 2 } },
	{ "an address that is listed", { { A, FIRST, 0x01 } },
	    { [DUP] = 1 } },
	{ "the same one twice", { { A, 0x3000, 0x01 }, { A, FIRST, 0x0c },
	    { A, FIRST, 0x0e } }, { [ACT] = 1, [DUP] = 2 } },
	{ "as many as there is room for", { { A, 0x3000, 0x01 },
	    { A, 0x4000, 0x01 }, { A, 0x5000, 0x01 }, { A, 0x6000, 0x01 },
	    { A, 0x7000, 0x01 }, { A, 0x8000, 0x01 } }, { [ACT] = 6 } },
	{ "two more than that", { { A, 0x3000, 0x01 }, { A, 0x4000, 0x01 },
	    { A, 0x5000, 0x01 }, { A, 0x6000, 0x01 }, { A, 0x7000, 0x01 },
	    { A, 0x8000, 0x01 }, { A, 0x9000, 0x01 }, { A, 0xa000, 0x01 } },
	    { [ACT] = 6, [FULL] = 2 } },
	{ "a free that makes room in time", { { A, 0x3000, 0x01 },
	    { A, 0x4000, 0x01 }, { A, 0x5000, 0x01 }, { A, 0x6000, 0x01 },
	    { A, 0x7000, 0x01 }, { A, 0x8000, 0x01 }, { F, FIRST, 0x01 },
	    { A, 0x9000, 0x01 } }, { [ACT] = 6 } },
	/* Not one of the seven. */
	{ "a free of what is not listed", { { F, 0x3000, 0x01 } },
	    { [UNK] = 1 } },
	{ "all of them", { { A, 0x3000, 0x7e }, { A, FIRST, 0x01 },
	    { A, 0x4000, 0x01 }, { A, 0x5000, 0x01 }, { A, 0x6000, 0x01 },
	    { A, 0x7000, 0x01 }, { A, 0x8000, 0x01 }, { A, 0x9000, 0x01 },
	    { F, SECOND, 0x09 } },
	    { [ACT] = 5, [TYP] = 1, [DUP] = 1, [FULL] = 1 } },
};

#define NCAUSES ((int)BASE_NELEM(causes))

static void
expect_moves(const struct status_line *before, const struct status_line *after,
    const int moves[WORDS], const char *what)
{
	for (int i = ACT; i < WORDS; i++) {
		int want = i == FREE ? -moves[ACT] : moves[i];
		int have = (int)(int64_t)(after->n[i] - before->n[i]);

		ck_assert_msg(have == want, "%s:%smoved by %d, not %d", what,
		    words[i].form, have, want);
	}
	ck_assert_uint_eq(after->n[ACT] + after->n[FREE], LIST_MAX);
}

CASE("seven");

/* The last of a burst is believed when it has been quiet, in another cycle. */
LOOP_TEST(counter_moves_when_its_cause_is_there_and_only_then, 0, 2 * NCAUSES)
{
	const struct cause *c = &causes[_i % NCAUSES];
	struct status_line before, after, idle;
	size_t i;

	up(_i >= NCAUSES);
	read_line(&before);
	ck_assert_uint_eq(before.n[REC], 0);
	for (i = 0; i < BASE_NELEM(c->event) && c->event[i].addr != 0; i++)
		put(c->event[i].op, c->event[i].addr, c->event[i].type);
	cycles_until(2 + sent);
	read_line(&after);
	expect_moves(&before, &after, c->moves, c->what);
	ck_assert_msg(captured == sent, "%s: the cycles say %d records, and %d "
	    "were sent", c->what, (int)captured, (int)sent);
	/* A cycle in which nothing comes says so, and nothing else moves. */
	cycle();
	read_line(&idle);
	ck_assert_uint_eq(idle.n[REC], 0);
	expect_moves(&after, &idle, (const int[WORDS]){ 0 }, "afterwards");
	down();
}

/* Bytes that are no records are lost records, and none of the seven. */
LOOP_TEST(garbage_moves_none_of_the_seven, 0, 2)
{
	struct status_line before, after;
	int moves[WORDS] = { 0 };

	up(_i == 1);
	read_line(&before);
	ck_assert_int_eq(write(device, "\377\377\377\377\377", 5), 5);
	for (unsigned i = 0; i < 6; i++)
		put(i % 2 == 0 ? REC_ALLOC : REC_FREE, 0x3000 + i / 2, 0x01);
	while (nodes_session_look(session)->work.total_records < 2 + sent - 1)
		cycle();
	/* The numbers of STATS come once a second. */
	do {
		cycle();
		read_line(&after);
	} while (after.n[BAD] == before.n[BAD]);
	ck_assert_uint_gt(after.n[LOST], before.n[LOST]);
	moves[LOST] = (int)(after.n[LOST] - before.n[LOST]);
	moves[BAD] = (int)(after.n[BAD] - before.n[BAD]);
	/* The first one behind the gap is in doubt, and its free not known. */
	moves[EARLIER] = (int)(after.n[EARLIER] - before.n[EARLIER]);
	moves[UNK] = (int)(after.n[UNK] - before.n[UNK]);
	expect_moves(&before, &after, moves, "garbage");
	down();
}

/* What a cycle costs is the sum of reading and painting, and the highest stays. */
LOOP_TEST(cycle_time_moves_with_the_work_of_the_cycle_alone, 0, 2)
{
	struct status_line before, busy, after;

	up(_i == 1);
	read_line(&before);
	page.numbers.sampled = false;		/* as if a second had gone by */
	page.numbers.drawn_us = 7000000;
	read_line(&busy);
	ck_assert_uint_ge(busy.cost_us, 7000000);
	ck_assert_uint_ge(busy.max_us, 7000000);
	expect_moves(&before, &busy, (const int[WORDS]){ 0 }, "work");
	page.numbers.sampled = false;
	page.numbers.drawn_us = 0;
	read_line(&after);
	ck_assert_uint_lt(after.cost_us, 7000000);
	ck_assert_uint_ge(after.max_us, 7000000);
	/* An error costs no time of its own. */
	put(REC_ALLOC, FIRST, 0x01);
	cycles_until(2 + sent);
	read_line(&busy);
	expect_moves(&after, &busy, (const int[WORDS]){ [DUP] = 1 },
	    "no work");
	ck_assert_uint_lt(busy.cost_us, 7000000);
	down();
}

/* Beside the seven: what the node counts of itself comes the same way. */
LOOP_TEST(numbers_of_the_node_reach_the_page, 0, 2)
{
	const struct nodes_look *look;

	up(_i == 1);
	friendly_get(&node.friendly, 0x1234);
	friendly_get(&node.friendly, 0x1234);
	friendly_get(&node.friendly, 0x1234);
	do {
		cycle();
		look = nodes_session_look(session);
	} while (look->node.numbers[WIRE_N_FRIENDLY_HITS] == 0);
	ck_assert_uint_eq(look->node.numbers[WIRE_N_FRIENDLY_HITS], 2);
	ck_assert_uint_eq(look->node.numbers[WIRE_N_FRIENDLY_MISSES], 1);
	ck_assert_uint_eq(look->node.numbers[WIRE_N_FRIENDLY_UNKNOWN], 1);
	down();
}
