/*
 * Threads for work beside the loop, where a user may have few.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/nodes/nodes.h"
#include "harness.h"

#define NOBODYS 54321		/* a user without processes */

/* A thread sanitizer begins threads of its own, which count among the few. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define HAS_ITS_OWN 1
#else
#define HAS_ITS_OWN 0
#endif

static int worked;

static void
work(uv_work_t *w)
{
	(void)w;
	worked++;
}

static void
after(uv_work_t *w, int status)
{
	(void)w;
	(void)status;
}

/* Of a user who may have so many processes and threads. */
static void
work_of(unsigned n)
{
	struct rlimit few = { .rlim_cur = n, .rlim_max = n };
	static uv_work_t w;
	uv_loop_t loop;
	int r;

	if (setuid(NOBODYS) < 0 || setrlimit(RLIMIT_NPROC, &few) < 0 ||
	    uv_loop_init(&loop) < 0)
		_exit(2);
	r = nodes_queue_work(&loop, &w, work, after);
	if (n == 1)
		_exit(r != -EAGAIN);
	if (r < 0)
		_exit(3);
	uv_run(&loop, UV_RUN_DEFAULT);
	_exit(worked != 1 || getenv("UV_THREADPOOL_SIZE") != NULL);
}

CASE(TAG_KERNEL);

LOOP_TEST(who_may_have_few_threads_works_with_one_and_does_not_die_of_it, 1, 8)
{
	int status;
	pid_t pid;

	if (geteuid() != 0 || HAS_ITS_OWN)
		return;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		work_of((unsigned)_i);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
