/*
 * A page of a node that is a process of its own, and is killed, stopped and
 * started again while its stream is written to.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "node_harness.h"
#include "watcher.h"

#define SLOTS 2000
#define TURN_MS 2		/* between cycles: nobody looks at this page */

/* What the node's process and the test tell each other. */
static struct shared {
	_Atomic bool go, stop, stopped;
	_Atomic uint64_t made;
	uint64_t blocks, sum;		/* of its list, once stopped */
} *shared;

static char folder[64], path[108];

/* --- the node ------------------------------------------------------------- */

static uint64_t
mix(uint64_t sum, const struct blk *b)
{
	return sum + (b->addr * 31 + b->size * 17 + b->seq) *
	    UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t
sum_of(const struct blklist *list, uint64_t *blocks)
{
	static struct blk row[SLOTS];
	uint64_t sum = 0;
	size_t n = blklist_window(list, BLKLIST_BY_ADDRESS, false, 0, row,
	    SLOTS);

	for (size_t i = 0; i < n; i++)
		sum = mix(sum, &row[i]);
	*blocks = n;
	return sum;
}

static void
write_some(struct keeper *k, unsigned n)
{
	static bool used[SLOTS];
	static uint32_t random = 1;
	struct rec batch[256];

	for (unsigned i = 0; i < n; i++) {
		unsigned at = (random = random * 1103515245 + 12345) >> 8;
		uint64_t addr = 0x10000 + 16 * (uint64_t)(at % SLOTS);

		batch[i] = used[at % SLOTS] ? freeing(addr) :
		    allocation(addr, 1 + at % 999);
		used[at % SLOTS] = !used[at % SLOTS];
	}
	keeper_take(k, batch, n, 1000, NULL, NULL, 0);
}

static void
on_turn(uv_timer_t *timer)
{
	struct keeper *k = timer->data;

	/* There is no such process, and it is not to be looked for. */
	k->visits.silent_since_ms = mono_ms(mono_now());
	if (shared->stop && !shared->stopped) {
		shared->sum = sum_of(k->list, &shared->blocks);
		shared->stopped = true;
	}
	for (unsigned i = 0; i < 20 && shared->go && !shared->stop; i++) {
		write_some(k, 256);
		shared->made = keeper_next(k) - 1;
	}
}

/* Until it is killed. */
static void
be_node(const char *stream)
{
	uv_timer_t timer;
	struct keeper *k;

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	node_up(&(struct node_opts){ .fd = -1, .daemon = true });
	k = new_keeper(stream, 42);
	ck_assert_int_eq(serve_listen(&node, path), 0);
	uv_timer_init(&loop, &timer);
	timer.data = k;
	uv_timer_start(&timer, on_turn, 1, 1);
	uv_run(&loop, UV_RUN_DEFAULT);
	_exit(1);
}

static pid_t
start_node(const char *stream)
{
	pid_t pid;

	shared->go = shared->stop = shared->stopped = false;
	shared->made = 0;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		be_node(stream);
	return pid;
}

static void
kill_node(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* --- the page ------------------------------------------------------------- */

static uv_loop_t ours;

/* A socket that nobody listens at yet is tried again. */
static void
open_page(void)
{
	static const struct nodes_session_opts opts = { .max = 4096 };

	ck_assert_int_eq(uv_loop_init(&ours), 0);
	while (nodes_connect(&link_, &ours, path) < 0)
		usleep(1000);
	watcher_begin(&ours, &opts, TURN_MS);
}

static void
close_page(void)
{
	watcher_end();
	uv_run(&ours, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&ours), 0);
}

static void
setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	strcpy(folder, "/tmp/check_node_restart.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/node", folder);
}

static void
teardown(void)
{
	unlink(path);
	rmdir(folder);
	munmap(shared, sizeof *shared);
}

static uint64_t
lost(void)
{
	uint64_t sum = 0;

	for (unsigned c = 1; c < STREAM_CAUSES; c++)
		sum += look()->loss.lost[c];
	return sum;
}

static bool
is_live(unsigned after)
{
	return look()->stream_no > after && look()->state == NODES_LIVE &&
	    look()->settled;
}

/* --- rules ---------------------------------------------------------------- */

#define LIFE 150000		/* events at most until it is killed */

/* Half that many in the middle; twelve of them are enough to see one go wrong. */
static unsigned
lives(void)
{
	return (unsigned)(check_events(12 * LIFE / 2) / (LIFE / 2));
}

CASE(TAG_KERNEL, .setup = setup, .teardown = teardown, .seconds = 60);

TEST(killed_node_comes_back_as_live)
{
	/* Records of each life: at any point of the page's reading. */
	uint64_t before = 0, lost_before = 0, blocks, life, delivered, sum;
	unsigned no = 0, random = 99;
	pid_t pid;

	pid = start_node("ALLOCLOG.target.42");
	open_page();
	for (unsigned i = 0, n = lives(); i < n; i++) {
		UNTIL(is_live(no));
		no = look()->stream_no;
		before = look()->work.total_records;
		lost_before = lost();
		shared->go = true;
		random = random * 1103515245 + 12345;
		life = 1 + (random >> 8) % LIFE;
		UNTIL(shared->made >= life);
		if (i == n - 1)
			break;
		kill_node(pid);
		UNTIL(!look()->link.up);
		ck_assert_int_eq(look()->state, NODES_UNREACHABLE);
		ck_assert(look()->link.returns);
		ck_assert_uint_gt(blklist_counts(look()->list)->aRecMax, 0);
		delivered = look()->work.total_records - before;
		ck_assert_uint_le(delivered + lost() - lost_before,
		    shared->made + 256);
		pid = start_node("ALLOCLOG.target.42");
	}
	shared->stop = true;
	UNTIL(shared->stopped && look()->work.total_records - before + lost() -
	    lost_before >= shared->made && look()->settled);
	ck_assert_uint_eq(look()->work.total_records - before + lost() -
	    lost_before, shared->made);
	sum = sum_of(look()->list, &blocks);
	ck_assert_uint_eq(blocks, shared->blocks);
	ck_assert_uint_eq(sum, shared->sum);
	ck_assert(look()->complete);
	close_page();
	kill_node(pid);
}

/* Another page, until it is killed. */
static pid_t
start_page(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_page();
	uv_run(&ours, UV_RUN_DEFAULT);
	_exit(1);
}

/* At any point of their greeting, their snapshot and their reading. */
TEST(killed_pages_leave_nothing_behind)
{
	uint64_t before, blocks, sum, next;
	unsigned no, random = 7;
	pid_t pid = start_node("ALLOCLOG.target.42"), other[3] = { 0 };

	open_page();
	UNTIL(is_live(0));
	no = look()->stream_no;
	before = look()->work.total_records;
	shared->go = true;
	for (unsigned i = 0, n = lives(); i < n; i++) {
		pid_t *p = &other[i % BASE_NELEM(other)];

		if (*p != 0) {
			ck_assert_int_eq(kill(*p, SIGKILL), 0);
			ck_assert_int_eq(waitpid(*p, NULL, 0), *p);
		}
		*p = start_page();
		random = random * 1103515245 + 12345;
		next = shared->made + 1 + (random >> 8) % LIFE;
		UNTIL(shared->made >= next);
	}
	for (unsigned i = 0; i < BASE_NELEM(other); i++)
		if (other[i] != 0)
			kill_node(other[i]);
	shared->stop = true;
	UNTIL(shared->stopped && look()->work.total_records - before + lost() >=
	    shared->made && look()->settled);
	ck_assert_uint_eq(look()->work.total_records - before + lost(),
	    shared->made);
	sum = sum_of(look()->list, &blocks);
	ck_assert_uint_eq(blocks, shared->blocks);
	ck_assert_uint_eq(sum, shared->sum);
	ck_assert(look()->complete);
	ck_assert_uint_eq(look()->stream_no, no);
	close_page();
	/* One that comes now has all of it, too. */
	open_page();
	UNTIL(is_live(0));
	sum = sum_of(look()->list, &blocks);
	ck_assert_uint_eq(sum, shared->sum);
	close_page();
	kill_node(pid);
}

TEST(stopped_node_is_unreachable_until_it_goes_on)
{
	uint64_t before, blocks, sum;
	int64_t now;
	pid_t pid = start_node("ALLOCLOG.target.42");

	open_page();
	UNTIL(is_live(0));
	before = look()->work.total_records;
	shared->go = true;
	for (unsigned i = 0; i < 3; i++) {
		UNTIL(shared->made > 20000 * (i + 1));
		ck_assert_int_eq(kill(pid, SIGSTOP), 0);
		UNTIL(look()->state == NODES_UNREACHABLE);
		ck_assert(look()->link.up);
		now = look()->now_ms;
		ck_assert_int_eq(kill(pid, SIGCONT), 0);
		UNTIL(look()->state == NODES_LIVE);
		ck_assert_int_ge(look()->now_ms, now);
	}
	shared->stop = true;
	UNTIL(shared->stopped && look()->settled && look()->work.total_records -
	    before + lost() >= shared->made);
	ck_assert_uint_eq(look()->work.total_records - before + lost(),
	    shared->made);
	sum = sum_of(look()->list, &blocks);
	ck_assert_uint_eq(sum, shared->sum);
	close_page();
	kill_node(pid);
}

TEST(node_without_the_target_says_so)
{
	uint64_t blocks;
	pid_t pid = start_node("ALLOCLOG.target.42");

	open_page();
	UNTIL(is_live(0));
	shared->go = true;
	UNTIL(look()->work.total_records > 1000);
	blocks = blklist_counts(look()->list)->aRecActive;
	ck_assert_uint_gt(blocks, 0);
	kill_node(pid);
	pid = start_node("ALLOCLOG.other.42");
	UNTIL(look()->state == NODES_NO_ALLOCLOG);
	ck_assert_uint_gt(blklist_counts(look()->list)->aRecActive, 0);
	ck_assert_ptr_nonnull(strstr(look()->reason, "ALLOCLOG.target.42"));
	close_page();
	kill_node(pid);
}

/* Named as `pagek run` names it: by its process. */
static void
name_by_process(const char *run, pid_t pid)
{
	snprintf(path, sizeof path, "%s/run.%d", run, (int)pid);
}

TEST(node_of_one_command_does_not_come_back)
{
	char run[80];
	pid_t pid;

	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
	ck_assert_int_eq(nodes_folder(run, sizeof run), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		name_by_process(run, getpid());
		be_node("ALLOCLOG.target.42");
	}
	name_by_process(run, pid);
	open_page();
	UNTIL(is_live(0));
	kill_node(pid);
	/* Once by the end of the connection, which may be before its own. */
	UNTIL(!look()->link.up && !look()->link.returns);
	ck_assert_int_eq(look()->state, NODES_UNREACHABLE);
	UNTIL(strstr(look()->reason, "will not restart") != NULL);
	close_page();
	unlink(path);
	rmdir(run);
}
