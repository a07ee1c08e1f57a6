/*
 * socketbench: what a page gets over the socket, and what that costs.
 *
 * A node is started for a target that allocates at a steady rate; the session
 * of a page reads it fifteen times a second, over a socket, as pagek does, and
 * nothing is drawn.
 *
 *	short	1M events/s: 90 % of the blocks live for less than 64 events, the
 *		others replace one of 100,000.
 *	grow	1M events/s: 90 % of the blocks live as shortly, the others stay.
 *	stay	1M events/s: every block stays.
 *	fast	10M events/s: any of 64 blocks is freed and allocated again.
 *	fast1k	the same with 1,024 blocks.
 *	fast1m	10M events/s: as short, with 1M blocks.
 *
 * Prints
 *
 *	events	that the page was told of or knows to have missed, in millions a
 *		second
 *	kB/s	read from the socket
 *	lost	records lost before the keeper, and on their way from it to the
 *		page (those are made good by a new snapshot)
 *	missed	cycles whose READ was not answered by the next one
 *	unsettled	cycles in which the list was being taken (anew)
 *	longest	work of the session in one cycle, in ms
 *	answer	the longest that an answer took of those that were in time, in ms
 *	page, node	share of a core
 *
 *	make all build/bench/socketbench
 *	build/bench/socketbench [--json] [--quick] [NAME...]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/nodes/nodes.h"

#define SHORT 32		/* allocations until a short-lived block is freed */
#define SETTLE_S 10		/* at most, until the list is whole for the first time */
#define END_S 5
#define LIST_MAX (1u << 24)

static const struct load {
	const char *name;
	double rate;		/* events a second */
	unsigned live;		/* long-lived blocks ... */
	unsigned long_of_10;	/* ... and how many of ten events are of them */
	bool stays;		/* they are never freed */
} loads[] = {
	{ "short", 1e6, 100000, 1, false },
	{ "grow", 1e6, 0, 1, true },
	{ "stay", 1e6, 0, 10, true },
	{ "fast", 10e6, 64, 10, false },
	{ "fast1k", 10e6, 1024, 10, false },
	{ "fast1m", 10e6, 1000000, 1, false },
};

/* --- the target ---------------------------------------------------------- */

static uint64_t random_state = 1;

static uint64_t
draw(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ (z >> 31);
}

/* volatile: the compiler leaves out a pair that nobody looks at. */
static void *volatile young[SHORT];

static unsigned
step(const struct load *l, void **block)
{
	uint64_t r = draw();
	size_t size = 16 + (r >> 8 & 255);

	if (r % 10 >= l->long_of_10) {
		void *volatile *p = &young[(r >> 32) % SHORT];

		free(*p);
		*p = malloc(size);
		return 2;
	}
	if (l->stays) {
		young[0] = malloc(size);	/* and nobody knows it any more */
		return 1;
	}
	block += (r >> 32) % l->live;
	free(*block);
	*block = malloc(size);
	return 2;
}

/* A millisecond's worth of events at each millisecond. */
static int
target(const struct load *l)
{
	void **block = calloc(l->live + 1, sizeof(*block));
	struct timespec at;
	double due = 0, done = 0;

	/* Whatever becomes of the bench, nobody is left behind. */
	alarm(60);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (block == NULL)
		return 1;
	for (unsigned i = 0; i < l->live; i++)
		block[i] = malloc(64);
	clock_gettime(CLOCK_MONOTONIC, &at);
	for (;;) {
		for (due += l->rate / 1000; done < due;)
			done += step(l, block);
		at.tv_nsec += 1000000;
		if (at.tv_nsec >= 1000000000) {
			at.tv_nsec -= 1000000000;
			at.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
}

/* --- the page ------------------------------------------------------------- */

struct tally {
	uint64_t bytes;
	double page_s, node_s;
	uint64_t events, lost, mended, missed;
};

struct bench {
	uv_loop_t *loop;
	uv_timer_t timer;
	struct nodes_session *session;
	struct mono begun, counted_from;
	int64_t seconds;
	uint64_t n, cycles, unsettled;
	bool counting, done, ended;
	struct tally from;
	struct mono asked;
	bool asking;
	int64_t answer_ns;
	uint32_t longest_us;
};

static double
cpu_of(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &ts) != 0)
		return 0;
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The node is the child that was started last. */
static pid_t
node_pid(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	long pid = 0;

	while (f != NULL && fscanf(f, "%ld", &pid) == 1)
		continue;
	if (f != NULL)
		fclose(f);
	return (pid_t)pid;
}

static uint64_t
bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	unsigned long long n = 0;

	if (f != NULL && fscanf(f, "rchar: %llu", &n) != 1)
		n = 0;
	if (f != NULL)
		fclose(f);
	return n;
}

static struct tally
take_tally(const struct bench *b)
{
	const struct nodes_look *look = nodes_session_look(b->session);
	uint64_t before = 0;

	for (unsigned cause = 0; cause < STREAM_CAUSES; cause++)
		if (cause != STREAM_OVERWRITTEN && cause != STREAM_LINK)
			before += look->loss.lost[cause];
	return (struct tally){
		.bytes = bytes_read(),
		.page_s = cpu_of(getpid()),
		.node_s = cpu_of(node_pid()),
		.events = look->work.total_records,
		.lost = before,
		.mended = look->loss.lost[STREAM_OVERWRITTEN] +
		    look->loss.lost[STREAM_LINK],
		.missed = look->work.missed_cycles,
	};
}

static void
on_answer(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct bench *b = arg;
	int64_t ns = mono_diff_ns(mono_now(), b->asked);

	(void)t;
	(void)n;
	b->asking = false;
	if (err == 0 && b->counting && ns > b->answer_ns)
		b->answer_ns = ns;
}

static void
look_around(struct bench *b)
{
	const struct nodes_look *look = nodes_session_look(b->session);

	b->ended = !look->link.up || look->command.tree_ended;
	if (!b->counting && (look->settled ||
	    mono_ms_since(b->begun) > SETTLE_S * 1000)) {
		b->counting = true;
		b->counted_from = mono_now();
		b->from = take_tally(b);
	}
	if (!b->counting || b->done)
		return;
	b->cycles++;
	b->unsettled += !look->settled;
	/* What the first ones tell of is the snapshot before. */
	if (b->cycles > 2 && look->work.cycle_us > b->longest_us)
		b->longest_us = look->work.cycle_us;
	b->done = mono_ms_since(b->counted_from) >= b->seconds * 1000;
}

static void
on_news(void *arg)
{
	(void)arg;
}

static void
on_cycle(uv_timer_t *timer)
{
	struct bench *b = timer->data;
	int64_t now = mono_ms_since(b->begun), due;
	struct nodes_link **link = b->loop->data;

	nodes_session_cycle(b->session);
	look_around(b);
	if (!b->asking) {
		b->asked = mono_now();
		b->asking = nodes_targets(*link, on_answer, b) == 0;
	}
	do
		due = (int64_t)(++b->n * 1000 / NODES_HZ);
	while (due <= now);
	uv_update_time(b->loop);
	now = mono_ms_since(b->begun);
	uv_timer_start(timer, on_cycle, due > now ? (uint64_t)(due - now) : 0,
	    0);
}

static void
say(const struct bench *b, const struct load *l, bool json)
{
	struct tally t = take_tally(b);
	double s = (double)mono_diff_ns(mono_now(), b->counted_from) / 1e9;

	printf(json ? "{\"bench\": \"socket\", \"load\": \"%s\", "
	    "\"mevents_per_s\": %.2f, \"kb_per_s\": %.0f, \"lost\": %llu, "
	    "\"mended\": %llu, \"missed\": %llu, \"unsettled\": %llu, "
	    "\"cycles\": %llu, \"longest_ms\": %.2f, \"answer_ms\": %.2f, "
	    "\"page_share\": %.3f, \"node_share\": %.3f}\n" :
	    "%-7s %5.2f M events/s  %6.0f kB/s  lost %llu before, %llu on the "
	    "way  missed %llu, unsettled %llu of %llu  longest %.2f ms  "
	    "answer %.2f ms  page %.3f  node %.3f\n",
	    l->name, (double)(t.events - b->from.events + t.mended - b->from.mended) /
	    s / 1e6,
	    (double)(t.bytes - b->from.bytes) / s / 1e3,
	    (unsigned long long)(t.lost - b->from.lost),
	    (unsigned long long)(t.mended - b->from.mended),
	    (unsigned long long)(t.missed - b->from.missed),
	    (unsigned long long)b->unsettled, (unsigned long long)b->cycles,
	    (double)b->longest_us / 1e3, (double)b->answer_ns / 1e6,
	    (t.page_s - b->from.page_s) / s, (t.node_s - b->from.node_s) / s);
	fflush(stdout);
}

static bool
run(const char *self, const struct load *l, bool json, int64_t seconds)
{
	const char *argv[] = { self, "--target", l->name, NULL };
	struct node_opts start = { NODE_OPTS_NONE,
		.argv = (char *const *)(uintptr_t)argv, .own_session = true,
		.max = LIST_MAX };
	struct nodes_session_opts opts = { .max = LIST_MAX };
	struct bench b = { .loop = uv_default_loop(), .seconds = seconds };
	struct nodes_link *link;

	b.loop->data = &link;
	if (nodes_start(&link, b.loop, &start) < 0 ||
	    nodes_session_open(&b.session, link, &opts, on_news, &b) < 0)
		return false;
	b.begun = mono_now();
	uv_timer_init(b.loop, &b.timer);
	b.timer.data = &b;
	uv_timer_start(&b.timer, on_cycle, 0, 0);
	while (!b.done && !b.ended)
		uv_run(b.loop, UV_RUN_ONCE);
	if (b.done)
		say(&b, l, json);
	nodes_session_end_target(b.session);
	b.begun = mono_now();
	b.n = 0;
	while (!b.ended && mono_ms_since(b.begun) < END_S * 1000)
		uv_run(b.loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&b.timer, NULL);
	nodes_session_close(b.session);
	nodes_link_close(link);
	uv_run(b.loop, UV_RUN_DEFAULT);
	return b.done;
}

static bool
asked(int argc, char **argv, const char *name)
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		any = true;
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return !any;
}

int
main(int argc, char **argv)
{
	bool json = false, quick = false, failed = false;
	bool is_target = argc == 3 && strcmp(argv[1], "--target") == 0;

	for (int i = 1; i < argc; i++) {
		json |= strcmp(argv[i], "--json") == 0;
		quick |= strcmp(argv[i], "--quick") == 0;
	}
	for (size_t i = 0; i < BASE_NELEM(loads); i++) {
		const struct load *l = &loads[i];

		if (!asked(argc, argv, l->name))
			continue;
		if (is_target)
			return target(l);
		failed |= !run(argv[0], l, json, quick ? 2 : 8);
	}
	return failed;
}
