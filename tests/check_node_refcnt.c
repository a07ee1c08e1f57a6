/*
 * References to pages at the node: ranges on and off, what is counted, and until
 * when.  The target is this process.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../src/nodes/refcnt/worker.h"
#include "../src/refcnt/pk_refcnt.h"
#include "../src/refcnt/writes.h"
#include "../src/stream/guard.h"
#include "../src/stream/feed/feed.h"
#include "../src/stream/ring.h"
#include "node_harness.h"

#define PAGES 16
#define MISSING UINT64_C(0x7fffffff0000)	/* nothing is mapped there */
#define ANYWHERE UINT64_C(0x280000000000)	/* the same, for long ranges */

static struct keeper *k;
static uint8_t *memory;
static struct page p;

static void
setup(void)
{
	node_up(NULL);
	/* This process is no target, which the node would see. */
	uv_timer_stop(&node.life.second);
	k = new_keeper("ALLOCLOG", 0);
	k->image.pid = getpid();
	memory = mmap(NULL, (PAGES + 2) * REFCNT_PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	/* Neighbours of other rights: the mapping is alone. */
	ck_assert_int_eq(mprotect(memory, REFCNT_PAGE, PROT_READ), 0);
	ck_assert_int_eq(mprotect(memory + (PAGES + 1) * REFCNT_PAGE,
	    REFCNT_PAGE, PROT_READ), 0);
	memory += REFCNT_PAGE;
	memset(memory, 1, PAGES * REFCNT_PAGE);
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
}

static void
teardown(void)
{
	page_close(&p);
	node_down();
	munmap(memory - REFCNT_PAGE, (PAGES + 2) * REFCNT_PAGE);
}

static uint64_t
at(unsigned page)
{
	return (uint64_t)(uintptr_t)memory + page * REFCNT_PAGE;
}

static struct wire_msg
count_of(enum wire_count_action action, uint64_t vaddr, uint64_t len)
{
	struct wire_msg m = { .type = WIRE_COUNT, .count.action = action,
		.count.vaddr = vaddr, .count.len = len,
		.count.source = REFCNT_REFS, .count.period_ms = 100 };

	memcpy(m.count.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	return m;
}

static void
switch_pages(enum wire_count_action action, uint64_t vaddr, uint64_t len,
    uint64_t pages)
{
	struct wire_msg r, m = count_of(action, vaddr, len);

	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_COUNTED);
	ck_assert_uint_eq(r.counted.pages, pages);
}

static struct refcnt_page row[4 * PAGES];
static size_t nrows;

static void
ask(uint64_t from, struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_TOUCHES, .touches = {
		.plane = REFCNT_WIDE, .from = from } };

	memcpy(m.touches.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	page_ask(&p, &m, r);
	ck_assert_uint_eq(r->type, WIRE_TOUCHED);
	nrows = 0;
	for (size_t i = 0; i < r->touched.rows.len;
	    i += WIRE_TOUCH_ROW(r->touched.counters))
		ck_assert_int_eq(refcnt_row_get(&row[nrows++],
		    r->touched.rows.p + i, r->touched.counters), 0);
}

/* Runs the loop for a hundredth of a period. */
static void
run_a_moment(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
	usleep(1000);
}

static void
pass_until(uint64_t no, void (*work)(void))
{
	struct wire_msg r;

	for (ask(0, &r); r.touched.no < no; ask(0, &r)) {
		if (work != NULL)
			work();
		run_a_moment();
	}
}

/* Until that many more periods have ended, with something done meanwhile. */
static void
pass_periods(unsigned n, void (*work)(void))
{
	struct wire_msg r;

	ask(0, &r);
	pass_until(r.touched.no + n, work);
}

static void
touch_some(void)
{
	for (unsigned i = 0; i < PAGES; i += 3)
		((volatile uint8_t *)memory)[i * REFCNT_PAGE]++;
}

/* Threads of this process that count, by their name. */
static unsigned
threads(void)
{
	char path[64], name[32];
	const struct dirent *e;
	DIR *dir = opendir("/proc/self/task");
	unsigned n = 0;
	FILE *fp;

	ck_assert_ptr_nonnull(dir);
	while ((e = readdir(dir)) != NULL) {
		snprintf(path, sizeof path, "/proc/self/task/%.20s/comm",
		    e->d_name);
		fp = fopen(path, "re");
		if (fp == NULL)
			continue;
		n += fgets(name, sizeof name, fp) != NULL &&
		    strcmp(name, NODE_REFCNT_THREAD "\n") == 0;
		fclose(fp);
	}
	closedir(dir);
	return n;
}

/* It names itself. */
static void
await_threads(unsigned n)
{
	while (threads() != n)
		usleep(1000);
}

CASE("touches", .setup = setup, .teardown = teardown, .seconds = 60);

TEST(nothing_is_counted_and_no_thread_runs_until_somebody_asks)
{
	struct wire_msg r;

	ask(0, &r);
	ck_assert_uint_eq(nrows, 0);
	ck_assert_uint_eq(r.touched.nranges, 0);
	ck_assert_uint_eq(r.touched.why.len, 0);
	ck_assert_uint_eq(threads(), 0);
	switch_pages(WIRE_COUNT_ON, at(0), 1, 1);
	await_threads(1);
	switch_pages(WIRE_COUNT_OFF, at(0), 1, 0);
	ask(0, &r);
	ck_assert_uint_eq(r.touched.nranges, 0);
	while (!TAILQ_EMPTY(&node.refcnt->all))
		node_refcnt_second(&node);
	ck_assert_uint_eq(threads(), 0);
}

/* The mapping as a whole is mixed, and there is no library here to cut it. */
TEST(touched_pages_are_counted_and_untouched_mappings_are_not)
{
	struct wire_msg r;

	switch_pages(WIRE_COUNT_ON, at(0), PAGES * REFCNT_PAGE, PAGES);
	pass_periods(1, NULL);
	pass_periods(3, touch_some);
	ask(0, &r);
	ck_assert_uint_eq(nrows, PAGES);
	ck_assert_uint_eq(r.touched.nranges, 1);
	ck_assert_uint_ge(r.touched.period_ms, 100);
	ck_assert_str_eq("", r.touched.why.len == 0 ? "" : "why");
	for (unsigned i = 0; i < PAGES; i += 3) {
		ck_assert_uint_ge(row[i].counter[0], 2);
		ck_assert_int_ge(row[i].last_ms, row[i].since_ms);
		ck_assert_uint_ne(row[i].flags & REFCNT_VALID, 0);
	}
	ck_assert_uint_eq(row[0].vaddr, at(0));
}

/* Its asker would not know when it began. */
TEST(a_longer_period_begins_with_the_next_one)
{
	struct wire_msg r, m = count_of(WIRE_COUNT_ON, at(0), 1);
	uint64_t before;

	switch_pages(WIRE_COUNT_ON, at(0), 1, 1);
	pass_periods(1, NULL);
	ask(0, &r);
	before = r.touched.no;
	m.count.period_ms = WIRE_COUNT_PERIOD;
	page_ask(&p, &m, &r);
	/* The one that it finds ends in its time, the next would not. */
	pass_until(before + 1, NULL);
	/* A shorter one at once. */
	switch_pages(WIRE_COUNT_ON, at(0), 1, 1);
	pass_periods(2, NULL);
	ask(0, &r);
	ck_assert_uint_ge(r.touched.no, before + 3);
}

TEST(a_mapping_that_nobody_touches_has_zeros)
{
	struct wire_msg r;

	switch_pages(WIRE_COUNT_ON, at(0), PAGES * REFCNT_PAGE, PAGES);
	pass_periods(4, NULL);
	ask(0, &r);
	ck_assert_uint_eq(nrows, PAGES);
	for (unsigned i = 0; i < PAGES; i++) {
		ck_assert_uint_eq(row[i].counter[0], 0);
		ck_assert_int_eq(row[i].last_ms, -1);
		ck_assert_uint_eq(row[i].heat, 0);
	}
}

TEST(a_range_is_widened_to_whole_pages)
{
	struct wire_msg r;

	switch_pages(WIRE_COUNT_ON, at(1) + 4095, 2, 2);
	ask(0, &r);
	ck_assert_uint_eq(row[0].vaddr, at(1));
	ck_assert_uint_eq(row[1].vaddr, at(2));
	switch_pages(WIRE_COUNT_OFF, at(2) + 7, 1, 1);
	ask(at(2), &r);
	ck_assert_uint_eq(nrows, 0);
	ck_assert_uint_eq(r.touched.nranges, 1);
}

TEST(pages_that_are_not_there_are_told_as_such)
{
	struct wire_msg r;

	switch_pages(WIRE_COUNT_ON, MISSING, 2 * REFCNT_PAGE, 2);
	switch_pages(WIRE_COUNT_ON, at(0), 1, 3);
	pass_periods(2, touch_some);
	ask(0, &r);
	for (size_t i = 0; i < nrows; i++)
		ck_assert_int_eq((row[i].flags & REFCNT_NOT_PRESENT) != 0,
		    row[i].vaddr >= MISSING);
}

static const struct {
	uint64_t vaddr, len;
	unsigned source;
	enum wire_error code;
} bad[] = {
	{ 0x1000, 0, REFCNT_REFS, WIRE_E_NAME },
	{ UINT64_MAX - 10, 100, REFCNT_REFS, WIRE_E_NAME },
	{ 0x1000, UINT64_MAX, REFCNT_REFS, WIRE_E_NAME },
	{ 0x1000, 1, REFCNT_SOURCES, WIRE_E_NAME },
	{ 0x1000, 1, 255, WIRE_E_NAME },
	{ 0x1000, 1, REFCNT_IMPORT, WIRE_E_NAME },
	{ 0, UINT64_MAX, REFCNT_REFS, WIRE_E_NAME },
	{ UINT64_C(1) << 57, 1, REFCNT_REFS, WIRE_E_NAME },
	{ UINT64_C(0xffff800000000000), 4096, REFCNT_REFS, WIRE_E_NAME },
	{ UINT64_MAX - 4095, 4096, REFCNT_REFS, WIRE_E_NAME },
	{ 0, (GUARD_PAGES + 1) * (uint64_t)REFCNT_PAGE, REFCNT_GUARD,
	    WIRE_E_QUOTA },
	{ 0, (GUARD_PAGES + 1) * (uint64_t)REFCNT_PAGE, REFCNT_EXACT,
	    WIRE_E_QUOTA },
	{ 0, ((uint64_t)NODE_REFCNT_PAGES + 1) * REFCNT_PAGE, REFCNT_REFS,
	    WIRE_E_QUOTA },
};

LOOP_TEST(a_bad_range_is_refused_with_a_sentence, 0, BASE_NELEM(bad))
{
	struct wire_msg r, m = count_of(WIRE_COUNT_ON, bad[_i].vaddr,
	    bad[_i].len);

	m.count.source = bad[_i].source;
	page_ask(&p, &m, &r);
	expect_error(&r, bad[_i].code);
	ck_assert_uint_gt(r.err.text.len, 0);
	ask(0, &r);
	ck_assert_uint_eq(r.touched.nranges, 0);
}

/* The source changes a setting of the whole machine. */
TEST(only_root_may_ask_for_samples_of_balancing)
{
	struct node_refcnt_ask wish = { .vaddr = at(0), .len = 1,
		.source = REFCNT_HINT, .uid = 1000 };
	char why[NODE_REFCNT_WHY];
	struct wire_msg r;

	ck_assert_int_eq(node_refcnt_enable(k, &wish, why), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(why, "only root may ask"));
	ask(0, &r);
	ck_assert_uint_eq(r.touched.nranges, 0);
}

TEST(a_page_without_the_role_switches_nothing)
{
	struct wire_msg r, m = count_of(WIRE_COUNT_ON, at(0), 1);
	struct page q;

	page_open(&q);
	page_greet(&q, WIRE_ROLE_READ);
	page_ask(&q, &m, &r);
	expect_error(&r, WIRE_E_AUTH);
	page_close(&q);
}

TEST(a_reader_of_another_user_switches_nothing)
{
	struct wire_msg r, m = count_of(WIRE_COUNT_ON, at(0), 1);

	node.access.system = true;
	k->image.uid = 12345;
	TAILQ_FIRST(&node.serve->conns)->peer = (struct peer){ .uid = 54321,
		.pid = getpid(), .member = true };
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_AUTH);
	k->image.uid = getuid();
}

/* The kernel tells them to nobody without privileges. */
TEST(frames_are_not_told_to_another_user)
{
	struct wire_msg r;

	switch_pages(WIRE_COUNT_ON, at(0), PAGES * REFCNT_PAGE, PAGES);
	pass_periods(2, touch_some);
	node.access.system = true;
	k->image.uid = 54321;
	TAILQ_FIRST(&node.serve->conns)->peer = (struct peer){ .uid = 54321,
		.pid = getpid() };
	ask(0, &r);
	ck_assert_uint_eq(nrows, PAGES);
	for (size_t i = 0; i < nrows; i++) {
		ck_assert_uint_ne(row[i].flags & REFCNT_NO_PADDR, 0);
		ck_assert_uint_eq(row[i].paddr, 0);
	}
	k->image.uid = getuid();
}

/* For privileged nodes only. */
TEST(frames_are_counted_as_coarsely_as_pages)
{
	char root[] = "/tmp/check_refcnt.XXXXXX";
	char folder[NODE_REFCNT_FOLDER], path[NODE_REFCNT_FOLDER + 32];
	pk_refcnt_wide_t set;
	struct wire_msg r;
	pk_rcb *file;

	/* Other nodes write the machine's files too. */
	ck_assert_ptr_nonnull(mkdtemp(root));
	setenv("XDG_RUNTIME_DIR", root, 1);
	switch_pages(WIRE_COUNT_ON, at(0), PAGES * REFCNT_PAGE, PAGES);
	pass_periods(3, touch_some);
	ask(0, &r);
	ck_assert_uint_ne(row[0].flags & REFCNT_COARSE, 0);
	ck_assert_int_eq(node_refcnt_folder(folder), 0);
	snprintf(path, sizeof path, "%s/refcnt.node0", folder);
	if ((row[0].flags & REFCNT_NO_PADDR) == 0) {
		ck_assert_int_eq(pk_rcb_map(&file, path), 0);
		ck_assert_int_eq(pk_rcb_get_wide(file, pk_rcb_index(file,
		    row[0].paddr), &set), 0);
		ck_assert_uint_gt(set.refcnt[0], 0);
		ck_assert_uint_ne(set.flags & PK_REFCNT_COARSE, 0);
		pk_rcb_unmap(file);
	}
	node_refcnt_close(&node);
	rmdir(folder);
	*strrchr(folder, '/') = '\0';
	rmdir(folder);
	rmdir(root);
	unsetenv("XDG_RUNTIME_DIR");
}

/* Of a machine without that folder: 0 done, 1 wrong, 2 not permitted to look. */
static int
make_system_folder(void)
{
	char folder[NODE_REFCNT_FOLDER];
	struct stat st;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/run", "tmpfs", 0, NULL) < 0)
		return 2;
	umask(077);
	unsetenv("XDG_RUNTIME_DIR");
	return node_refcnt_folder(folder) < 0 ||
	    stat("/run/pagek", &st) < 0 || (st.st_mode & 0777) != 0755;
}

/* Other users' programs pass it on their way to the system's node. */
TEST(the_folder_of_the_system_is_made_for_all_users)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(make_system_folder());
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_ne(WEXITSTATUS(status), 1);
}

TEST(a_stream_without_a_process_is_refused)
{
	struct wire_msg r, m = count_of(WIRE_COUNT_ON, at(0), 1);

	k->image.pid = 0;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	m = count_of(WIRE_COUNT_MOVE, at(0), 1);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	k->image.pid = getpid();
}

/* The reason is told with the counts, and they are zeros. */
TEST(a_process_that_is_gone_is_said)
{
	pid_t pid = fork();
	struct wire_msg r;

	if (pid == 0)
		_exit(0);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	k->image.pid = pid;
	switch_pages(WIRE_COUNT_ON, at(0), 1, 1);
	do {
		ask(0, &r);
		run_a_moment();
	} while (r.touched.why.len == 0);
	ck_assert_uint_eq(r.touched.no, 0);
	ck_assert_uint_eq(row[0].counter[0], 0);
	k->image.pid = getpid();
}

TEST(counts_of_an_ended_target_stay_while_its_list_does)
{
	struct wire_msg r;

	switch_pages(WIRE_COUNT_ON, at(0), PAGES * REFCNT_PAGE, PAGES);
	pass_periods(2, touch_some);
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	node_refcnt_second(&node);
	ask(0, &r);
	ck_assert_uint_eq(nrows, PAGES);
	ck_assert_uint_gt(r.touched.why.len, 0);
	ck_assert_uint_ge(row[0].counter[0], 1);
	keeper_drop(k);
	while (!TAILQ_EMPTY(&node.refcnt->all))
		node_refcnt_second(&node);
	ask(0, &r);
	ck_assert_uint_eq(r.touched.nranges, 0);
}

TEST(the_next_answer_goes_on_where_rows_had_no_room)
{
	size_t pages = WIRE_TOUCH_BYTES / WIRE_TOUCH_ROW(1) + 10, sum = 0;
	struct wire_msg r, m = { .type = WIRE_TOUCHES };

	memcpy(m.touches.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	switch_pages(WIRE_COUNT_ON, ANYWHERE, pages * REFCNT_PAGE, pages);
	do {
		page_ask(&p, &m, &r);
		sum += r.touched.rows.len / WIRE_TOUCH_ROW(r.touched.counters);
		m.touches.from = r.touched.next;
	} while (r.touched.next != 0);
	ck_assert_uint_eq(sum, pages);
}

static void
control(unsigned page, uint64_t len, unsigned source, bool on)
{
	struct rec rec = { .w = { rec_w0(at(page), 0, REC_CTL_REFCNT),
		rec_w1(len, 0), rec_refcnt((uint8_t)source, on), 0 } };

	keeper_control(k, &rec);
}

TEST(the_target_itself_may_ask)
{
	struct wire_msg r;

	control(0, 4097, REFCNT_REFS, true);
	control(5, 0, REFCNT_REFS, true);
	control(6, 1, 255, true);
	control(7, (uint64_t)1 << 47, REFCNT_REFS, true);
	ask(0, &r);
	ck_assert_uint_eq(nrows, 2);
	control(1, 1, REFCNT_REFS, false);
	control(9, 1, REFCNT_REFS, false);
	ask(0, &r);
	ck_assert_uint_eq(nrows, 1);
	ck_assert_uint_eq(row[0].vaddr, at(0));
}

/* Each takes the node's time, which is for all targets. */
TEST(a_target_asks_for_so_many_pages_in_a_second)
{
	struct node_refcnt_look look;
	struct mono begun = mono_now();
	struct counted_target *t;
	unsigned rounds = 0;
	bool slow;

	do {
		control(0, NODE_REFCNT_PAGES * (uint64_t)REFCNT_PAGE, REFCNT_REFS,
		    true);
		control(1, NODE_REFCNT_PAGES * (uint64_t)REFCNT_PAGE, REFCNT_REFS,
		    false);
		t = TAILQ_FIRST(&node.refcnt->all);
		ck_assert_ptr_nonnull(t);
	} while (t->left_out == 0 && ++rounds < 30);
	/* It never asks for that many, if each round takes so long. */
	slow = mono_ms_since(begun) / 30 > 300;
	ck_assert(t->left_out > 0 || slow);
	node_refcnt_look(k, &look);
	/* The worker's own reasons go first. */
	ck_assert(t->left_out == 0 || look.why[0] != '\0');
	pthread_mutex_lock(&t->lock);
	if (t->why[0] == '\0' && t->left_out > 0)
		ck_assert_ptr_nonnull(strstr(look.why, "left out"));
	pthread_mutex_unlock(&t->lock);
}

/* Its last records are read after all counting has ended. */
TEST(a_node_that_ends_begins_to_count_nothing)
{
	unsigned before = threads();

	node.life.closing = true;
	control(0, 4097, REFCNT_REFS, true);
	node.life.closing = false;
	ck_assert_uint_eq(threads(), before);
	ck_assert(TAILQ_EMPTY(&node.refcnt->all));
}

/* Every second page. */
TEST(a_target_has_so_many_ranges)
{
	struct node_refcnt_ask ask = { .len = 1, .source = REFCNT_REFS };
	char why[NODE_REFCNT_WHY];

	for (unsigned i = 0; i < NODE_REFCNT_RANGES; i++) {
		ask.vaddr = ANYWHERE + 2 * REFCNT_PAGE * (uint64_t)i;
		ck_assert_int_eq(node_refcnt_enable(k, &ask, why), 0);
	}
	ask.vaddr = 0x1000;
	ck_assert_int_eq(node_refcnt_enable(k, &ask, why), -EDQUOT);
	ck_assert_ptr_nonnull(strstr(why, "switch some off"));
}

/* Nor can its programs ask for more; another user has room, and so has root. */
TEST(one_user_cannot_take_all_pages_of_the_systems_node)
{
	struct node_refcnt_ask ask = { .vaddr = ANYWHERE, .source = REFCNT_REFS,
		.len = NODE_REFCNT_USER_PAGES * (uint64_t)REFCNT_PAGE,
		.uid = 1000 }, more = { .len = 1, .vaddr = 0x1000,
		.source = REFCNT_REFS, .uid = 1000 };
	struct keeper *other = new_keeper("OTHER", 0);
	char why[NODE_REFCNT_WHY];

	node.access.system = true;
	k->image.uid = other->image.uid = 1000;
	other->image.pid = getpid();
	ck_assert_int_eq(node_refcnt_enable(k, &ask, why), 0);
	ck_assert_int_eq(node_refcnt_enable(k, &ask, why), 0);
	ck_assert_int_eq(node_refcnt_enable(k, &more, why), -EDQUOT);
	ck_assert_ptr_nonnull(strstr(why, "of one user"));
	ck_assert_int_eq(node_refcnt_enable(other, &more, why), -EDQUOT);
	control(0, 1, REFCNT_REFS, true);
	ck_assert(!refcnt_counts(TAILQ_FIRST(&node.refcnt->all)->counts, at(0)));
	more.uid = 0;
	ck_assert_int_eq(node_refcnt_enable(k, &more, why), 0);
	other->image.uid = more.uid = 1001;
	ck_assert_int_eq(node_refcnt_enable(other, &more, why), 0);
	node.access.system = false;
	node_refcnt_close(&node);
}

TEST(one_user_has_so_many_counted_targets_at_the_systems_node)
{
	struct node_refcnt_ask ask = { .vaddr = 0x1000, .len = 1,
		.source = REFCNT_REFS, .uid = 1000 };
	char why[NODE_REFCNT_WHY];
	struct keeper *other;
	int r = 0;

	node.access.system = true;
	for (unsigned i = 0; i <= NODE_REFCNT_USER_TARGETS; i++) {
		ck_assert_int_eq(r, 0);
		other = new_keeper("OTHER", 0);
		other->image.uid = 1000;
		other->image.pid = getpid();
		r = node_refcnt_enable(other, &ask, why);
	}
	ck_assert_int_eq(r, -EDQUOT);
	node.access.system = false;
	node_refcnt_close(&node);
}

/* The machine's memory, and a node for each processor. */
TEST(the_memory_of_the_machine_is_told)
{
	struct wire_msg r, m = { .type = WIRE_MEMORY };
	struct wire_memory_node first;

	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_MEMORIES);
	ck_assert_uint_ge(r.memories.rows.len, WIRE_MEMORY_SIZE);
	wire_memory_node_get(&first, r.memories.rows.p);
	ck_assert_uint_gt(first.bytes, 0);
	ck_assert_uint_eq(first.pages, first.bytes / REFCNT_PAGE);
	ck_assert_uint_eq(first.counters, first.sets * r.memories.counters);
	m.memory.nodes = wire_text("cpu");
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_MEMORIES);
	m.memory.nodes = wire_text("cpu/3-1");
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	ck_assert_uint_gt(r.err.text.len, 0);
}

/* Each of them takes a worker, and may take long. */
TEST(a_page_has_one_of_them_at_a_time)
{
	struct wire_msg r, m = { .type = WIRE_MEMORY };

	page_send(&p, &m);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_BUSY);
	page_receive(&p, &r);
	ck_assert_uint_eq(r.type, WIRE_MEMORIES);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_MEMORIES);
}

/* One node: pages are on it already, and there is no other one. */
TEST(pages_are_moved_as_far_as_the_machine_has_nodes)
{
	struct wire_msg r, m = count_of(WIRE_COUNT_MOVE, at(0), REFCNT_PAGE);

	page_ask(&p, &m, &r);
	if (r.type == WIRE_ERR && r.err.code == WIRE_E_INTERNAL)
		return;		/* a kernel without nodes */
	ck_assert_uint_eq(r.type, WIRE_COUNTED);
	ck_assert_uint_eq(r.counted.moved + r.counted.left, 1);
	m.count.node = 511;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	m = count_of(WIRE_COUNT_MOVE, 0, UINT64_MAX);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_QUOTA);
}

/* --- a target that answers ------------------------------------------------------- */

#define MANY 600	/* pages: an epoch of more requests than are waited for here */
#define HELD 4		/* that request is not answered until counting has been ended */

static struct {
	struct stream_feed *feed;
	struct ring_area *area;
	const struct keeper_area *keeper;
	uint8_t *memory;
	_Atomic unsigned asked;
	_Atomic bool ended, gone;
} other;

static void
nothing_heard(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	(void)arg;
	(void)r;
	(void)n;
	(void)near_ms;
}

static void
no_control(void *arg, const struct rec *r, int64_t near_ms)
{
	nothing_heard(arg, r, 1, near_ms);
}

static void
no_loss(void *arg, unsigned cause, uint64_t count)
{
	(void)arg;
	(void)cause;
	(void)count;
}

/* Cuts off one page at each request, so that there is always a next one. */
static void *
answer_slowly(void *arg)
{
	uint32_t last = 0, now;

	(void)arg;
	while (!atomic_load(&other.gone)) {
		now = atomic_load(&other.keeper->cuts.number);
		if (now == last) {
			sched_yield();
			continue;
		}
		if (atomic_fetch_add(&other.asked, 1) < MANY / 2)
			madvise(other.memory + atomic_load(&other.asked) * 2 *
			    REFCNT_PAGE, REFCNT_PAGE, MADV_RANDOM);
		while (atomic_load(&other.asked) == HELD &&
		    !atomic_load(&other.ended))
			sched_yield();
		last = now;
		atomic_store(&other.area->cuts, now);
	}
	return NULL;
}

static void
other_up(void)
{
	static const struct stream_sink sink = { nothing_heard, no_control,
		no_loss };
	int fds[2];

	ck_assert_int_eq(stream_feed_new(&other.feed, fds, false, &sink, NULL),
	    0);
	other.area = mmap(NULL, sizeof *other.area, PROT_READ | PROT_WRITE,
	    MAP_SHARED, fds[0], 0);
	other.keeper = mmap(NULL, sizeof *other.keeper, PROT_READ, MAP_SHARED,
	    fds[1], 0);
	other.memory = mmap(NULL, (MANY + 4) * REFCNT_PAGE,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(other.area != MAP_FAILED && other.keeper != MAP_FAILED &&
	    other.memory != MAP_FAILED);
	close(fds[0]);
	close(fds[1]);
	madvise(other.memory, MANY * REFCNT_PAGE, MADV_NOHUGEPAGE);
	memset(other.memory, 1, MANY * REFCNT_PAGE);
}

/* An epoch would go on for hundreds of them, and the node could not end meanwhile. */
TEST(the_target_is_asked_no_more_when_counting_has_ended)
{
	struct node_refcnt_ask range = { .source = REFCNT_REFS, .period_ms = 100 };
	char why[NODE_REFCNT_WHY];
	struct counted_target *t;
	pthread_t thread;

	other_up();
	range.vaddr = (uintptr_t)other.memory;
	range.len = MANY * REFCNT_PAGE;
	ck_assert_int_eq(node_refcnt_enable(k, &range, why), 0);
	t = TAILQ_FIRST(&node.refcnt->all);
	pthread_mutex_lock(&t->lock);
	t->feed = other.feed;
	pthread_mutex_unlock(&t->lock);
	ck_assert_int_eq(pthread_create(&thread, NULL, answer_slowly, NULL), 0);
	while (atomic_load(&other.asked) < HELD)
		for (unsigned i = 0; i < MANY; i += 3)
			((volatile uint8_t *)other.memory)[i * REFCNT_PAGE]++;
	ck_assert_int_eq(node_refcnt_disable(k, &range, why), 0);
	atomic_store(&other.ended, true);
	node_refcnt_close(&node);
	/* The last one undoes all. */
	ck_assert_uint_le(atomic_load(&other.asked), HELD + 1);
	atomic_store(&other.gone, true);
	pthread_join(thread, NULL);
	stream_feed_free(other.feed);
	munmap(other.area, sizeof *other.area);
	munmap((void *)(uintptr_t)other.keeper, sizeof *other.keeper);
	munmap(other.memory, (MANY + 4) * REFCNT_PAGE);
}

/* --- writes ------------------------------------------------------------------- */

static int
make_userfaultfd(void)
{
	return (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);
}

/* As from the library in the target. */
static void
give(pid_t pid, uint64_t stream, int fd, uint32_t error)
{
	node_refcnt_take(&node, pid, stream, NODE_REFCNT_WRITES, fd, error);
}

static bool
awaits(void)
{
	struct counted_target *t = TAILQ_FIRST(&node.refcnt->all);
	bool does;

	pthread_mutex_lock(&t->lock);
	does = t->awaits[NODE_REFCNT_WRITES];
	pthread_mutex_unlock(&t->lock);
	return does;
}

static void
count_writes(uint64_t vaddr, uint64_t len)
{
	struct wire_msg r, m = count_of(WIRE_COUNT_ON, vaddr, len);

	m.count.source = REFCNT_WP;
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_COUNTED);
	while (!awaits())
		usleep(1000);
}

static void
write_some(void)
{
	touch_some();
	for (unsigned i = 1; i < PAGES; i += 3)
		(void)((volatile uint8_t *)memory)[i * REFCNT_PAGE];
}

TEST(writes_are_counted_by_the_descriptor_of_the_target)
{
	struct wire_msg r;

	if (writes_supported() != 0)
		return;
	count_writes(at(0), PAGES * REFCNT_PAGE);
	give(getpid(), k->stream, make_userfaultfd(), 0);
	do {
		ask(0, &r);
		run_a_moment();
	} while (r.touched.why.len > 0 || r.touched.no == 0);
	pass_periods(3, write_some);
	ask(0, &r);
	for (unsigned i = 0; i < PAGES; i++) {
		ck_assert_uint_eq(row[i].reads, 0);
		ck_assert_uint_eq(row[i].writes, row[i].counter[0]);
		ck_assert(i % 3 == 0 ? row[i].writes >= 2 : row[i].writes == 0);
		ck_assert_uint_eq(row[i].flags & REFCNT_COARSE, 0);
	}
}

TEST(a_target_in_a_sandbox_is_not_asked_for_a_descriptor)
{
	struct wire_msg r, m = count_of(WIRE_COUNT_ON, at(0), 1);

	k->sandbox.at_hello = 1;
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_COUNTED);
	m.count.vaddr = at(1);
	m.count.source = REFCNT_WP;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	ck_assert_uint_gt(r.err.text.len, 0);
}

/* It has a sentence, and no page a count. */
TEST(a_target_that_has_no_descriptor_says_why)
{
	char why[NODE_REFCNT_WHY] = "";
	struct wire_msg r;

	if (writes_supported() != 0)
		return;
	count_writes(at(0), PAGES * REFCNT_PAGE);
	give(getpid(), k->stream, -1, EMFILE);
	do {
		ask(0, &r);
		run_a_moment();
		snprintf(why, sizeof why, "%.*s", (int)r.touched.why.len,
		    r.touched.why.s);
	} while (strstr(why, strerror(EMFILE)) == NULL);
	ck_assert_uint_eq(r.touched.no, 0);
	ck_assert_uint_eq(row[0].counter[0], 0);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* Any process may send some. */
TEST(descriptors_that_nobody_has_asked_for_are_closed)
{
	int fd;

	if (writes_supported() != 0)
		return;
	give(getpid(), k->stream, fd = dup(0), 0);
	ck_assert(!is_open(fd));
	count_writes(at(0), REFCNT_PAGE);
	give(getpid() + 1, k->stream, fd = dup(0), 0);
	ck_assert(!is_open(fd));
	give(getpid(), k->stream + 1, fd = dup(0), 0);
	ck_assert(!is_open(fd));
	give(getpid(), k->stream, -1, UINT32_MAX);
	give(getpid(), k->stream, -1, 0);
}
