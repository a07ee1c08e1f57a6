/*
 * Heap stress at the node: one reader of the kernel's files for all pages.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../src/nodes/stress/stress.h"
#include "kernel_files.h"
#include "node_harness.h"

static void
setup(void)
{
	struct node_opts opts = { .fd = -1, .root = root };

	make_root();
	put_file("proc/vmstat", "numa_hit 1000\nnuma_miss 0\nallocstall_normal 40\n"
	    "oom_kill 1\n");
	node_up(&opts);
}

static void
teardown(void)
{
	node_down();
	remove_root();
}

static void
page_up(struct page *p)
{
	page_open(p);
	page_greet(p, WIRE_ROLE_READ);
}

/* A page that has waited for a cycle. */
static void
pass_cycle(void)
{
	node.stress->last_ms -= 1000;
}

static struct stress_sample
ask(struct page *p, struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_STRESS };
	struct stress_sample s;

	page_ask(p, &m, r);
	ck_assert_uint_eq(r->type, WIRE_STRESSED);
	ck_assert_int_eq(stress_get(&s, r->stressed.sample.p,
	    r->stressed.sample.len), 0);
	return s;
}

/* The node sees that pages have gone. */
static void
run_loop(unsigned pages)
{
	while (node.serve->count > pages)
		uv_run(&loop, UV_RUN_NOWAIT);
}

CASE("node_stress", .setup = setup, .teardown = teardown);

TEST(a_page_gets_a_sample_and_why_it_is_no_better)
{
	struct stress_sample s;
	struct wire_msg r;
	struct page p;

	put_file("proc/heapstress", "1 2 3\n");
	page_up(&p);
	ck_assert_ptr_null(node.stress->stress);
	s = ask(&p, &r);
	ck_assert_uint_eq(s.source, STRESS_VMSTAT);
	ck_assert_uint_eq(s.level[0], 1000);
	ck_assert(!s.known[1]);
	ck_assert_uint_eq(s.level[3], 40);
	ck_assert_uint_ge(r.stressed.nwhy, 1);
	ck_assert_ptr_nonnull(memmem(r.stressed.why[0].s,
	    r.stressed.why[0].len, "six numbers", 11));
	ck_assert_int_gt(r.stressed.taken_ms, 0);
	page_close(&p);
}

/* Counts that one page has read are in the totals of the other one. */
TEST(two_pages_lose_no_count_between_them)
{
	static const char *const readings[] = { "5 4 3 2 1 0\n",
		"10 0 0 0 0 7\n", "1 1 1 1 1 1\n" };
	static const uint64_t want[STRESS_LEVELS] = { 16, 5, 4, 3, 2, 8 };
	struct stress_sample first[2], s;
	struct page p[2];
	struct wire_msg r;

	put_file("proc/heapstress", "4373 516 3 0 0 0\n");
	for (unsigned i = 0; i < 2; i++) {
		page_up(&p[i]);
		first[i] = ask(&p[i], &r);
	}
	for (unsigned i = 0; i < BASE_NELEM(readings); i++) {
		put_file("proc/heapstress", readings[i]);
		pass_cycle();
		ask(&p[i % 2], &r);
		put_file("proc/heapstress", "0 0 0 0 0 0\n");
	}
	for (unsigned i = 0; i < 2; i++) {
		pass_cycle();
		s = ask(&p[i], &r);
		stress_spent(&s, &s, &first[i]);
		ck_assert_mem_eq(s.level, want, sizeof want);
		page_close(&p[i]);
	}
}

TEST(samples_within_a_cycle_are_one_reading)
{
	struct stress_sample s;
	struct wire_msg r;
	struct page p;
	int64_t taken;

	put_file("proc/heapstress", "1 0 0 0 0 0\n");
	page_up(&p);
	ask(&p, &r);
	taken = r.stressed.taken_ms;
	/* The cycle does not end. */
	node.stress->last_ms += 1000000;
	s = ask(&p, &r);
	ck_assert_uint_eq(s.level[0], 1);
	ck_assert_int_eq(r.stressed.taken_ms, taken + 1000000);
	node.stress->last_ms -= 1000000 + 1000;
	s = ask(&p, &r);
	ck_assert_uint_eq(s.level[0], 2);
	page_close(&p);
}

TEST(the_reader_is_closed_after_the_last_page)
{
	struct page p, q;
	struct wire_msg r;
	uint64_t reader;

	page_up(&p);
	page_up(&q);
	ask(&p, &r);
	reader = r.stressed.reader;
	ask(&p, &r);
	ask(&q, &r);
	ck_assert_uint_eq(node.stress->viewers, 2);
	page_close(&p);
	run_loop(1);
	node_stress_second(&node, INT64_MAX);
	ck_assert_ptr_nonnull(node.stress->stress);
	page_close(&q);
	run_loop(0);
	node_stress_second(&node, mono_ms(mono_now()));
	ck_assert_ptr_nonnull(node.stress->stress);
	node_stress_second(&node, INT64_MAX);
	ck_assert_ptr_null(node.stress->stress);
	page_up(&p);
	ask(&p, &r);
	ck_assert(r.stressed.reader != reader);
	page_close(&p);
}

/* Counts that are read from it are gone. */
TEST(a_file_that_reading_zeroes_stays_open)
{
	struct stress_sample s;
	struct wire_msg r;
	struct page p;

	put_file("proc/heapstress", "1 2 3 4 5 6\n");
	page_up(&p);
	ask(&p, &r);
	page_close(&p);
	run_loop(0);
	node_stress_second(&node, INT64_MAX);
	ck_assert_ptr_nonnull(node.stress->stress);
	put_file("proc/heapstress", "1 0 0 0 0 0\n");
	pass_cycle();
	page_up(&p);
	s = ask(&p, &r);
	ck_assert_uint_eq(s.level[0], 2);
	ck_assert_uint_eq(s.level[5], 6);
	page_close(&p);
}

TEST(a_page_without_the_role_gets_none)
{
	struct wire_msg m = { .type = WIRE_STRESS }, r;
	struct page p;

	page_open(&p);
	page_greet(&p, WIRE_ROLE_LIST_PUT);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_AUTH);
	ck_assert_ptr_null(node.stress->stress);
	ck_assert_uint_eq(node.stress->viewers, 0);
	page_close(&p);
}

/* --- questions that wait ------------------------------------------------------------ */

static unsigned
waits(void)
{
	const struct node_stress_wait *w;
	unsigned n = 0;

	TAILQ_FOREACH(w, &node.stress->waits, link)
		n++;
	return n;
}

static void
ask_later(struct page *p, uint32_t ms)
{
	unsigned before = waits();

	page_send(p, &(struct wire_msg){ .type = WIRE_STRESS,
	    .stress.wait_ms = ms });
	while (waits() == before)
		uv_run(&loop, UV_RUN_NOWAIT);
}

/* Their time is never over. */
static void
hold_waits(void)
{
	struct node_stress_wait *w;

	TAILQ_FOREACH(w, &node.stress->waits, link)
		w->due_ms = INT64_MAX - 1;
}

/* A descriptor that polls POLLPRI when its other end has sent urgent data. */
static int
make_trigger(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof to;
	int end;

	ck_assert_int_eq(bind(door, (struct sockaddr *)&to, len), 0);
	ck_assert_int_eq(listen(door, 1), 0);
	ck_assert_int_eq(getsockname(door, (struct sockaddr *)&to, &len), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, len), 0);
	end = accept(door, NULL, NULL);
	ck_assert_int_ge(end, 0);
	close(door);
	ck_assert_int_eq(node_stress_set_trigger(&node, fd), 0);
	return end;
}

TEST(a_question_waits_and_others_do_not)
{
	struct page p, q;
	struct wire_msg r;

	page_up(&p);
	page_up(&q);
	ask(&q, &r);
	ask_later(&p, 1000);
	put_file("proc/vmstat", "numa_hit 1234\nnuma_miss 0\n");
	pass_cycle();
	ask(&q, &r);
	ck_assert(!r.stressed.woken);
	ck_assert_uint_eq(waits(), 1);
	ck_assert(page_receive(&p, &r));
	ck_assert_uint_eq(r.type, WIRE_STRESSED);
	ck_assert(!r.stressed.woken);
	page_close(&p);
	page_close(&q);
}

/* Urgent data stay: the descriptor is ready again at once, and samples are not. */
TEST(pressure_wakes_all_who_wait)
{
	struct page p[2];
	struct wire_msg r;
	int64_t taken = 0;
	int end;

	page_up(&p[0]);
	page_up(&p[1]);
	ask(&p[0], &r);
	end = make_trigger();
	ask_later(&p[0], 1000);
	ask_later(&p[1], 1000);
	hold_waits();
	ck_assert_int_eq(send(end, "!", 1, MSG_OOB), 1);
	for (int i = 0; i < 2; i++) {
		ck_assert(page_receive(&p[i], &r));
		ck_assert_uint_eq(r.type, WIRE_STRESSED);
		ck_assert(r.stressed.woken);
	}
	for (int i = 0; i < 3; i++) {
		taken = r.stressed.taken_ms;
		ask_later(&p[1], 1000);
		hold_waits();
		ck_assert(page_receive(&p[1], &r));
		ck_assert(r.stressed.woken);
		ck_assert_int_ge(r.stressed.taken_ms - taken, 1000 / NODE_STRESS_HZ);
	}
	page_close(&p[0]);
	page_close(&p[1]);
	close(end);
}

TEST(a_further_question_ends_the_wait)
{
	struct wire_msg r;
	struct page p;

	page_up(&p);
	ask_later(&p, 1000);
	page_send(&p, &(struct wire_msg){ .type = WIRE_STRESS });
	for (int i = 0; i < 2; i++) {
		ck_assert(page_receive(&p, &r));
		ck_assert_uint_eq(r.type, WIRE_STRESSED);
		ck_assert(!r.stressed.woken);
	}
	ck_assert_uint_eq(waits(), 0);
	page_close(&p);
}

TEST(a_page_may_leave_while_it_waits)
{
	struct page p;
	int end;

	page_up(&p);
	ask_later(&p, 1000);
	end = make_trigger();
	page_close(&p);
	run_loop(0);
	ck_assert_uint_eq(waits(), 0);
	node_stress_second(&node, INT64_MAX);
	ck_assert_ptr_null(node.stress->trigger);
	close(end);
}

TEST(a_file_is_no_trigger)
{
	struct wire_msg r;
	struct page p;
	FILE *fp = tmpfile();

	ck_assert_ptr_nonnull(fp);
	ck_assert_int_eq(node_stress_set_trigger(&node, dup(fileno(fp))), -EPERM);
	fclose(fp);
	page_up(&p);
	ask_later(&p, 50);
	ck_assert(page_receive(&p, &r));
	ck_assert(!r.stressed.woken);
	ck_assert_ptr_null(node.stress->trigger);
	page_close(&p);
}

/* The kernel's own, if it has one. */
TEST(a_node_of_this_machine_has_a_trigger_while_it_is_seen)
{
	struct wire_msg r;
	struct page p;
	const char *why;
	int fd;

	node.opts.root = NULL;
	fd = stress_watch_pressure("/", false, 200000, 2000000, &why);
	page_up(&p);
	ask_later(&p, 50);
	ck_assert_int_eq(node.stress->trigger != NULL, fd >= 0);
	ck_assert(page_receive(&p, &r));
	ck_assert_uint_eq(r.type, WIRE_STRESSED);
	if (fd >= 0)
		close(fd);
	page_close(&p);
	run_loop(0);
	node_stress_second(&node, INT64_MAX);
	ck_assert_ptr_null(node.stress->trigger);
}

/* --- memory of the kernel itself ------------------------------------------------ */

TEST(a_page_that_controls_gets_the_kernels_memory)
{
	struct wire_msg r, m = { .type = WIRE_KERNEL_MEMORY,
		.kernel_memory.table = STRESS_BY_SITE };
	struct stress_memory rows;
	struct page p, reader;

	put_file("proc/allocinfo", "4096 1 mm/a.c:1 func:f\n9000 2 b.c:2 func:g\n");
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_KERNEL_ROWS);
	ck_assert_uint_eq(r.kernel_rows.rows, 2);
	ck_assert_uint_eq(r.kernel_rows.bytes, 13096);
	ck_assert_int_eq(stress_parse_memory(&rows, r.kernel_rows.table,
	    (const char *)r.kernel_rows.lines.p, r.kernel_rows.lines.len), 0);
	ck_assert_uint_eq(rows.n, 2);
	ck_assert_str_eq(((struct stress_site *)rows.row)->function, "g");
	stress_free_memory(&rows);
	m.kernel_memory.table = STRESS_BY_CACHE;
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_ERR);
	ck_assert_uint_eq(r.err.code, WIRE_E_NAME);
	page_up(&reader);
	page_ask(&reader, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_ERR);
	ck_assert_uint_eq(r.err.code, WIRE_E_AUTH);
	page_close(&reader);
	page_close(&p);
}

TEST(a_page_may_leave_before_the_kernels_memory_has_come)
{
	struct wire_msg m = { .type = WIRE_KERNEL_MEMORY };
	struct page p;

	put_file("proc/allocinfo", "4096 1 mm/a.c:1 func:f\n");
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	page_send(&p, &m);
	page_close(&p);
	run_loop(0);
}
