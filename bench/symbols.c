/*
 * symbols: what a page and its node feel while ten thousand stacks of a busy
 * program get their names.
 *
 * Starts COMMAND under a node of its own, with stacks of 16 frames, and shows
 * it as the screen would.  Once the command has made SITES stacks the page's
 * groups are turned on, by function, over a list with one block for each of
 * them: the names of all are new to the page, to the node and to the reader,
 * and the command's own records go on coming in.  A second page asks the node
 * a short question all the while.  Prints, from there until every name is
 * known,
 *
 *	sites	stacks that got their names, and how many cycles that took
 *	turn	the longest turn of the page's loop: no cycle waits longer
 *	compose	the longest page_compose()
 *	session	the longest cycle of the session: READs and what they bring
 *	answer	the longest that the other page waited for its answer: the
 *		node's longest turn is shorter
 *	keeper	the longest pass of the target's keeper of those seen
 *	missed	cycles in which the READ of the one before had no answer yet
 *	late	cycles that the page itself came too late for
 *
 *	make && make build/bench/symbols
 *	build/bench/symbols SITES COMMAND...
 *
 * Times are in milliseconds; 66.7 are a cycle.  Ends with 1 when a name did not
 * come within two minutes, or the command made fewer stacks.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/pagek/layout/layout.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/rows/rows.h"
#include "../src/stream/record.h"

#define COLS 120
#define ROWS 40
#define BY_FUNCTION 1
#define STACK 16
#define LIMIT_S 120
#define PROBE_MS 5

struct bench {
	uv_loop_t *loop;
	uv_timer_t timer;
	struct nodes_session *session;
	struct page page;
	struct page_picture pic;
	struct mono begun;
	uint64_t n;			/* cycle that is next */
	uint64_t late;			/* cycles skipped */
	uint32_t wanted;		/* sites */
	struct blklist *list;		/* a block for each; NULL: not yet */
	uint64_t from;			/* the cycle in which it was made ... */
	uint64_t missed, late_from;	/* ... and the session's count and ours by then */
	int64_t turn_ns, compose_ns;
	uint64_t session_us, keeper_us;
	bool done, failed;
};

/* The other page, on a thread of its own. */
struct probe {
	uv_thread_t thread;
	uv_timer_t timer;
	struct nodes_link *link;
	char path[256];
	struct mono asked;
	bool asking;
	unsigned answers;
	int64_t longest_ns;
	_Atomic bool stop;
};

static double
ms(int64_t ns)
{
	return (double)ns / 1e6;
}

/* --- the other page ------------------------------------------------------- */

static void
on_answer(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct probe *p = arg;
	int64_t ns = mono_diff_ns(mono_now(), p->asked);

	(void)t;
	(void)n;
	p->asking = false;
	if (err < 0)
		return;
	p->answers++;
	if (ns > p->longest_ns)
		p->longest_ns = ns;
}

static void
on_probe(uv_timer_t *timer)
{
	struct probe *p = timer->data;

	if (atomic_load(&p->stop)) {
		uv_close((uv_handle_t *)timer, NULL);
		nodes_link_close(p->link);
		return;
	}
	if (p->asking)
		return;
	p->asked = mono_now();
	p->asking = nodes_targets(p->link, on_answer, p) == 0;
}

static void
probe_run(void *arg)
{
	struct probe *p = arg;
	uv_loop_t loop;

	if (uv_loop_init(&loop) < 0)
		return;
	if (nodes_connect(&p->link, &loop, p->path) == 0) {
		uv_timer_init(&loop, &p->timer);
		p->timer.data = p;
		uv_timer_start(&p->timer, on_probe, PROBE_MS, PROBE_MS);
		uv_run(&loop, UV_RUN_DEFAULT);
	}
	uv_loop_close(&loop);
}

/* --- the page ------------------------------------------------------------- */

/* The groups' list: one block for each stack. */
static void
begin_naming(struct bench *b)
{
	struct blklist_batch batch = { .n = 1, .seq = 1 };
	struct rec rec;

	if (blklist_new(&b->list, BLKLIST_INDEXED, b->wanted) < 0) {
		b->failed = true;
		return;
	}
	for (uint32_t i = 1; i <= b->wanted; i++) {
		rec = (struct rec){ .w = {
			rec_w0((uint64_t)i << 8, REC_FLAGS(REC_ALLOC, 0),
			    TYPE_MALLOC), rec_w1(64, 1), rec_w2(i, 0),
			rec_w3(rec_site_caller(i), 0) } };
		batch.rec = &rec;
		batch.seq = i;
		blklist_apply(b->list, &batch);
	}
	page_set_group(&b->page, BY_FUNCTION);
	b->from = b->n;
	b->missed = nodes_session_look(b->session)->work.missed_cycles;
	b->late_from = b->late;
	b->turn_ns = b->compose_ns = 0;
	b->session_us = b->keeper_us = 0;
}

static void
paint(struct bench *b)
{
	struct mono begin = mono_now();
	struct nodes_look look;
	struct page_view v;
	int64_t ns;

	b->page.news = false;
	page_view_live(&v, b->session);
	if (b->list != NULL) {
		look = *v.look;
		look.list = b->list;
		v.look = &look;
		v.counts = blklist_counts(b->list);
	}
	if (page_compose_view(&b->page, &v, COLS, ROWS, &b->pic) < 0)
		b->failed = true;
	ns = mono_diff_ns(mono_now(), begin);
	if (ns > b->compose_ns)
		b->compose_ns = ns;
}

static bool
all_named(const struct bench *b)
{
	const struct page_groups *g = b->page.groups;

	return g != NULL && g->pass.started && g->missing == 0 &&
	    nodes_session_symbols_pending(b->session) == 0;
}

static void
look_around(struct bench *b)
{
	const struct nodes_look *look = nodes_session_look(b->session);
	struct stream_site st;

	if (look->work.cycle_us > b->session_us)
		b->session_us = look->work.cycle_us;
	if (look->keeper[WIRE_N_CYCLE_US] > b->keeper_us)
		b->keeper_us = look->keeper[WIRE_N_CYCLE_US];
	b->failed = b->failed || !look->link.up;
	if (b->list != NULL)
		b->done = all_named(b);
	else if (look->settled && nodes_session_stack(b->session,
	    /* Another one each second: what is not known is asked for later and later. */
	    rec_site_caller(b->wanted + (uint32_t)(b->n / NODES_HZ)), &st))
		begin_naming(b);
	else
		b->failed = b->failed || look->command.tree_ended;
}

static void
on_cycle(uv_timer_t *timer)
{
	struct bench *b = timer->data;
	int64_t now = mono_ms_since(b->begun), due;

	nodes_session_cycle(b->session);
	paint(b);
	look_around(b);
	while ((due = (int64_t)(++b->n * 1000 / NODES_HZ)) <= now)
		b->late++;
	uv_update_time(b->loop);
	now = mono_ms_since(b->begun);
	uv_timer_start(timer, on_cycle, due > now ? (uint64_t)(due - now) : 0,
	    0);
}

/* One turn of the loop, and how long of it was work. */
static void
turn(struct bench *b)
{
	uint64_t idle = uv_metrics_idle_time(b->loop);
	struct mono begin = mono_now();
	int64_t ns;

	uv_run(b->loop, UV_RUN_ONCE);
	ns = mono_diff_ns(mono_now(), begin) -
	    (int64_t)(uv_metrics_idle_time(b->loop) - idle);
	if (ns > b->turn_ns)
		b->turn_ns = ns;
}

static void
print(const struct bench *b, const struct probe *p)
{
	const struct nodes_look *look = nodes_session_look(b->session);

	printf("sites %u of %llu cycles, turn %.1f, compose %.1f, session "
	    "%.1f, answer %.1f of %u, keeper %.1f, missed %llu, late %llu\n",
	    b->wanted, (unsigned long long)(b->n - b->from), ms(b->turn_ns),
	    ms(b->compose_ns), (double)b->session_us / 1e3, ms(p->longest_ns),
	    p->answers, (double)b->keeper_us / 1e3,
	    (unsigned long long)(look->work.missed_cycles - b->missed),
	    (unsigned long long)(b->late - b->late_from));
}

static void
watch(struct bench *b, struct probe *p)
{
	const struct nodes_look *look;
	bool probing = false;

	while (!b->done && !b->failed && mono_ms_since(b->begun) < LIMIT_S * 1000) {
		turn(b);
		look = nodes_session_look(b->session);
		if (probing || b->list == NULL || look->node.socket[0] == '\0')
			continue;
		snprintf(p->path, sizeof p->path, "%s", look->node.socket);
		probing = uv_thread_create(&p->thread, probe_run, p) == 0;
	}
	atomic_store(&p->stop, true);
	if (probing)
		uv_thread_join(&p->thread);
}

int
main(int argc, char **argv)
{
	static struct bench b;
	static struct probe p;
	struct page_opts opts = { .layout = PAGE_WIDE };
	struct nodes_session_opts session = { 0 };
	struct node_opts start = {
		NODE_OPTS_NONE,
		.argv = argv + 2,
		.stack = STACK,
		.free_stacks = true,
		.own_session = true,
	};
	struct nodes_link *link;

	setlocale(LC_ALL, "");
	if (argc > 2)
		b.wanted = (uint32_t)strtoul(argv[1], NULL, 10);
	if (b.wanted == 0) {
		fprintf(stderr, "usage: symbols SITES COMMAND...\n");
		return 2;
	}
	b.loop = uv_default_loop();
	uv_loop_configure(b.loop, UV_METRICS_IDLE_TIME);
	page_init(&b.page, &opts);
	if (nodes_start(&link, b.loop, &start) < 0 ||
	    nodes_session_open(&b.session, link, &session, page_news,
	    &b.page) < 0) {
		fprintf(stderr, "symbols: cannot start\n");
		return 1;
	}
	b.begun = mono_now();
	uv_timer_init(b.loop, &b.timer);
	b.timer.data = &b;
	uv_timer_start(&b.timer, on_cycle, 0, 0);
	watch(&b, &p);
	if (b.done)
		print(&b, &p);
	else
		fprintf(stderr, b.list == NULL ? "symbols: too few stacks\n" :
		    "symbols: not all of them have names\n");
	/* Whatever it is still doing. */
	nodes_session_end_target(b.session);
	uv_close((uv_handle_t *)&b.timer, NULL);
	nodes_session_close(b.session);
	nodes_link_close(link);
	uv_run(b.loop, UV_RUN_DEFAULT);
	page_picture_fini(&b.pic);
	page_fini(&b.page);
	if (b.list != NULL)
		blklist_free(b.list);
	return b.done ? 0 : 1;
}
