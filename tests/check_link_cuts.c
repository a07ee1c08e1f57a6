/*
 * Pages of a real node whose connections are cut at any byte: what was made is
 * what was delivered, cancelled and lost, and every list is the node's.
 *
 * Node and pages share a loop; between them lie proxies that carry bytes by
 * hand and break off when they have carried as many as they were given.
 */
#include <signal.h>
#include <stdio.h>

#include "../src/nodes/nodes.h"
#include "chance.h"
#include "node_harness.h"

#define VIEWERS 2
#define SLOTS 3000
/* In each run; a thread sanitizer takes a minute for what takes a second. */
#ifdef SANITIZED
#define EVENTS 50000
#else
#define EVENTS 1000000
#endif
#define PIECE 65536

static uint64_t seed;

static uint64_t
draw(uint64_t n)
{
	return chance_next(&seed) % n;
}

/* --- proxies -------------------------------------------------------------- */

struct pipe {
	uint8_t bytes[PIECE];
	size_t n;
};

struct viewer {
	struct nodes_link *link;
	struct nodes_session *session;
	int page, node;			/* our ends; -1 none */
	struct pipe up, down;
	uint64_t budget;		/* bytes until it breaks off */
	unsigned outage;		/* turns until a try succeeds */
	bool steady;
	unsigned cuts;
	uint64_t base;			/* made before it came */
};

static struct viewer viewers[VIEWERS];

static void
hang_up(struct viewer *v)
{
	if (v->page < 0)
		return;
	close(v->page);
	close(v->node);
	v->page = v->node = -1;
	v->cuts++;
	/* Now and then it takes longer than the retained queue lasts. */
	v->outage = draw(50) == 0 ? 150 : (unsigned)draw(3);
}

/* As far as its bytes go; what is left lies in the pipe. */
static bool
carry(struct viewer *v, int from, int to, struct pipe *p)
{
	size_t room = sizeof p->bytes - p->n;
	ssize_t n = room > 0 ? read(from, p->bytes + p->n, room) : -1;
	size_t most;
	bool any = n > 0;

	if (n == 0) {
		hang_up(v);
		return true;
	}
	if (n > 0)
		p->n += (size_t)n;
	most = p->n < v->budget ? p->n : (size_t)v->budget;
	n = most > 0 ? write(to, p->bytes, most) : 0;
	if (n > 0) {
		v->budget -= (uint64_t)n;
		p->n -= (size_t)n;
		memmove(p->bytes, p->bytes + n, p->n);
		any = true;
	}
	if (v->budget == 0) {
		hang_up(v);
		return true;
	}
	return any;
}

static bool
carry_both(struct viewer *v)
{
	bool any;

	if (v->page < 0)
		return false;
	any = carry(v, v->page, v->node, &v->up);
	if (v->page >= 0)
		any |= carry(v, v->node, v->page, &v->down);
	return any;
}

static void
pair(int fds[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, fds), 0);
}

static int
start(void *arg)
{
	struct viewer *v = arg;
	int page[2], away[2];

	if (v->page >= 0)
		hang_up(v);
	pair(page);
	pair(away);
	ck_assert_int_eq(serve_add(&node, away[1]), 0);
	v->page = page[1];
	v->node = away[0];
	v->up.n = v->down.n = 0;
	/* As many cuts within a HELLO as within a long row of replies. */
	v->budget = v->steady ? UINT64_MAX : 1 + draw(UINT64_C(1) <<
	    (4 + draw(15)));
	return page[0];
}

/* When is for turn() to say, so that a seed makes the same run each time. */
static uint32_t
not_by_itself(void *arg, unsigned tries)
{
	(void)arg;
	(void)tries;
	return 3600000;
}

static void
knock(struct viewer *v)
{
	if (v->session == NULL || v->page >= 0)
		return;
	if (v->outage > 0) {
		v->outage--;
		return;
	}
	while (v->page < 0) {
		nodes_link_retry(v->link);
		uv_run(&loop, UV_RUN_ONCE);
	}
}

/* --- a node that is written to -------------------------------------------- */

static struct keeper *k;
static bool used[SLOTS];

static void
write_some(unsigned n)
{
	static struct rec batch[KEEPER_BATCH];

	while (n > 0) {
		unsigned m = n < KEEPER_BATCH ? n : KEEPER_BATCH;

		for (unsigned i = 0; i < m; i++) {
			/* Half of all happens in a few places, and cancels. */
			unsigned at = (unsigned)draw(draw(2) ? SLOTS : 20);
			uint64_t addr = 0x10000 + 16 * (uint64_t)at;

			batch[i] = used[at] ? freeing(addr) :
			    allocation(addr, 1 + draw(4096));
			used[at] = !used[at];
		}
		keeper_take(k, batch, m, 1000, NULL, NULL, 0);
		n -= m;
	}
}

static void
on_news(void *arg)
{
	(void)arg;
}

static void
turn(void)
{
	unsigned quiet = 0;

	/* There is no such process, and it is not to be looked for. */
	k->visits.silent_since_ms = mono_ms(mono_now());
	for (unsigned i = 0; i < VIEWERS; i++) {
		knock(&viewers[i]);
		if (viewers[i].session != NULL)
			nodes_session_cycle(viewers[i].session);
	}
	while (quiet < 3) {
		quiet++;
		uv_run(&loop, UV_RUN_NOWAIT);
		for (unsigned i = 0; i < VIEWERS; i++)
			if (carry_both(&viewers[i]))
				quiet = 0;
	}
}

static bool
is_whole(const struct viewer *v)
{
	const struct nodes_look *look = nodes_session_look(v->session);

	return look->state == NODES_LIVE && look->settled && !look->window &&
	    look->link.up;
}

/* From here on nothing is cut. */
static void
calm(struct viewer *v)
{
	v->steady = true;
	v->outage = 0;
	v->budget = UINT64_MAX;
	while (!is_whole(v))
		turn();
	/* The last records, and numbers of the last second. */
	for (unsigned i = 0; i < 2 * NODES_HZ; i++)
		turn();
}

static void
view(struct viewer *v, bool steady)
{
	static const struct nodes_session_opts opts = { .max = 4096 };
	struct nodes_way way = { .start = start, .arg = v,
		.delay_ms = not_by_itself };

	v->page = v->node = -1;
	v->steady = true;
	ck_assert_int_eq(nodes_link_keep(&v->link, &loop, &way), 0);
	ck_assert_int_eq(nodes_session_open(&v->session, v->link, &opts,
	    on_news, NULL), 0);
	calm(v);
	v->base = keeper_next(k) - 1;
	v->steady = steady;
	if (!steady)
		v->budget = 100000;
}

static void
leave(struct viewer *v)
{
	nodes_session_close(v->session);
	nodes_link_close(v->link);
	v->session = NULL;
	hang_up(v);
}

static void
assert_list(const struct viewer *v)
{
	static struct blk want[SLOTS], have[SLOTS];
	const struct blklist *list = nodes_session_look(v->session)->list;
	size_t n = blklist_window(k->list, BLKLIST_BY_ADDRESS, false, 0, want,
	    SLOTS);

	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(blklist_window(list, BLKLIST_BY_ADDRESS, false, 0,
	    have, SLOTS), n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(have[i].addr, want[i].addr);
		ck_assert_uint_eq(have[i].size, want[i].size);
		ck_assert_uint_eq(have[i].seq, want[i].seq);
		ck_assert_int_eq(have[i].ms, want[i].ms);
	}
}

static void
assert_sums(const struct viewer *v)
{
	const struct nodes_look *look = nodes_session_look(v->session);
	uint64_t sum = look->work.total_records, before = 0;

	for (unsigned c = 0; c < STREAM_CAUSES; c++) {
		/* What lies under no cause was within what was overwritten. */
		if (c > 0)
			sum += look->loss.lost[c];
		if (c != STREAM_OVERWRITTEN && c != STREAM_LINK)
			before += look->loss.lost[c];
	}
	ck_assert_uint_eq(sum, keeper_next(k) - 1 - v->base);
	ck_assert_uint_eq(before, keeper_lost(k));
	ck_assert_uint_eq(look->loss.lost[STREAM_RESTART], 0);
}

static void
setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(viewers, 0, sizeof viewers);
	memset(used, 0, sizeof used);
	for (unsigned i = 0; i < VIEWERS; i++)
		viewers[i].page = viewers[i].node = -1;
	node_up(NULL);
	k = new_keeper("ALLOCLOG.target.42", 42);
}

static void
teardown(void)
{
	for (unsigned i = 0; i < VIEWERS; i++)
		if (viewers[i].session != NULL)
			leave(&viewers[i]);
	node_down();
}

/* --- rules ---------------------------------------------------------------- */

static const struct {
	uint64_t seed;
	bool losses;		/* before the keeper, too */
	bool window;		/* rows and totals are enough for the first page */
} runs[] = {
	{ 1, false, false }, { 2, true, false }, { 3, false, true },
	{ 4, true, false }, { 5, false, true }, { 6, false, false },
	{ 7, true, false }, { 8, false, true }, { 9, false, false },
	{ 10, false, true },
};

CASE("link_cuts", .setup = setup, .teardown = teardown, .seconds = 120);

LOOP_TEST(made_is_delivered_and_lost_whatever_is_cut, 0, (int)BASE_NELEM(runs))
{
	static const struct nodes_view rows = { .order = BLKLIST_BY_AGE,
		.rows = 30 };
	uint64_t events = check_events(EVENTS), cuts = 0;

	seed = check_seed(runs[_i].seed * UINT64_C(0x9e3779b97f4a7c15));
	for (unsigned i = 0; i < VIEWERS; i++)
		view(&viewers[i], false);
	if (runs[_i].window)
		nodes_session_view(viewers[0].session, &rows);
	while (keeper_next(k) < events) {
		write_some((unsigned)draw(draw(100) == 0 ? 90000 : 3000));
		if (runs[_i].losses && draw(20) == 0)
			keeper_lose(k, STREAM_RING_FULL, 1 + draw(100));
		turn();
	}
	nodes_session_view(viewers[0].session, NULL);
	for (unsigned i = 0; i < VIEWERS; i++)
		calm(&viewers[i]);
	for (unsigned i = 0; i < VIEWERS; i++) {
		assert_list(&viewers[i]);
		assert_sums(&viewers[i]);
		cuts += viewers[i].cuts;
	}
	ck_assert_uint_gt(cuts, events / 10000);
}

TEST(page_that_comes_back_has_all_and_changes_nothing_for_another)
{
	const struct nodes_look *other;
	uint64_t total;
	unsigned no;

	seed = check_seed(77);
	view(&viewers[0], true);
	view(&viewers[1], true);
	write_some(50000);
	turn();
	other = nodes_session_look(viewers[1].session);
	no = other->stream_no;
	leave(&viewers[0]);
	for (unsigned i = 0; i < 10; i++) {
		write_some(3000);
		turn();
	}
	total = other->work.total_records;
	view(&viewers[0], true);
	assert_list(&viewers[0]);
	assert_list(&viewers[1]);
	assert_sums(&viewers[1]);
	other = nodes_session_look(viewers[1].session);
	ck_assert_uint_eq(other->work.total_records, total);
	ck_assert_uint_eq(other->stream_no, no);
	/* Each has a count of its own, from where it came. */
	write_some(100);
	turn();
	ck_assert_uint_eq(nodes_session_look(viewers[0].session)->
	    work.total_records, 100);
	ck_assert_uint_eq(nodes_session_look(viewers[1].session)->
	    work.total_records, total + 100);
	ck_assert_uint_eq(other->work.missed_cycles, 0);
}
