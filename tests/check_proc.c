/*
 * What /proc says of a process, which is this test.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/nodes/host/proc.h"
#include "harness.h"

/* What stands between brackets in stat may hold any byte, brackets too. */
static const char *const names[] = {
	"plain", "fifteen letters", "", ")", "a) R 1 2 3", "((((", "\\", "a\\n",
	"a\nb", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\",
	"tab\tbell\a", "\xff\xfe",
};

CASE("stat");

LOOP_TEST(one_look_at_stat_says_what_three_say, 0,
    sizeof names / sizeof names[0])
{
	char comm[16] = "?", one[16] = "?";
	uint64_t start, start_of_one;
	pid_t ppid, ppid_of_one;

	ck_assert_int_eq(prctl(PR_SET_NAME, names[_i]), 0);
	ck_assert_int_eq(proc_comm(getpid(), comm), 0);
	ck_assert_int_eq(proc_stat(getpid(), &ppid, &start), 0);
	ck_assert_int_eq(proc_stat_comm(getpid(), one, &ppid_of_one,
	    &start_of_one), 0);
	ck_assert_str_eq(comm, names[_i]);
	ck_assert_str_eq(one, names[_i]);
	ck_assert_int_eq(ppid, getppid());
	ck_assert_int_eq(ppid_of_one, ppid);
	ck_assert_uint_eq(start_of_one, start);
}

TEST(of_one_that_waits_to_be_reaped_nothing_is_said)
{
	char comm[16] = "as it was";
	uint64_t start = 1;
	pid_t ppid = 1, pid = fork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(proc_stat_comm(pid, comm, &ppid, &start), -ESRCH);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(proc_stat_comm(pid, comm, &ppid, &start), -ENOENT);
	ck_assert_str_eq(comm, "as it was");
	ck_assert_int_eq(ppid, 1);
	ck_assert_uint_eq(start, 1);
}

static const struct {
	const char *program;
	bool execed;
} lasts[] = {
	{ NULL, false },
	{ "/bin/true", true },
};

LOOP_TEST(a_zombie_says_whether_it_ran_another_program, 0,
    (int)(sizeof(lasts) / sizeof(lasts[0])))
{
	struct proc_last last;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0) {
		if (lasts[_i].program != NULL)
			execl(lasts[_i].program, "true", NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(proc_last(pid, &last), 0);
	ck_assert_int_eq(last.ppid, getpid());
	ck_assert_int_eq(last.execed, lasts[_i].execed);
	ck_assert_uint_gt(last.start, 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_lt(proc_last(pid, &last), 0);
}

/* Lines of /proc/PID/stat of Linux 6.18; the parameters are from the flags on. */
#define STAT(state, flags, code, stack) \
	"7 (a) b) " state " 1 7 7 0 -1 " flags " 90 0 0 0 0 0 0 0 20 0 1 0 555 " \
	"2560000 300 18446744073709551615 " code " 94 " stack " 0 0 0 0 0 0 0 0 0 " \
	"17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static const struct {
	const char *stat;
	int result;
	uint64_t program;
	bool execed;
} images[] = {
	{ STAT("R", "4194304", "93", "7000"), 0, 7093, true },
	{ STAT("S", "4194368", "93", "7000"), 0, 7093, false },
	/* This process may not inspect it. */
	{ STAT("S", "4194304", "1", "0"), 0, 1, true },
	/* During exec(2), and during the end. */
	{ STAT("R", "4194304", "0", "0"), 0, 0, true },
	{ STAT("R", "4194308", "0", "0"), 0, 0, true },
	{ STAT("Z", "4194308", "0", "0"), -ESRCH, 0, false },
	{ "7 (a) R 1 7 7 0 -1 64 90", -EIO, 0, false },
	{ "", -EIO, 0, false },
};

LOOP_TEST(a_process_in_exec_or_ending_has_no_program, 0,
    (int)(sizeof(images) / sizeof(images[0])))
{
	struct proc_image image;

	ck_assert_int_eq(proc_parse_image(images[_i].stat, &image),
	    images[_i].result);
	if (images[_i].result != 0)
		return;
	ck_assert_uint_eq(image.program, images[_i].program);
	ck_assert(image.execed == images[_i].execed);
	ck_assert_uint_eq(image.start, 555);
	ck_assert_int_eq(image.ppid, 1);
	ck_assert_str_eq(image.comm, "a) b");
}

TEST(the_program_number_changes_with_an_exec)
{
	char name[] = "cat", *const argv[] = { name, NULL };
	struct proc_image own, forked, cat;
	int to[2], from[2];
	char byte = 'x';
	pid_t pid;

	ck_assert(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		if (read(to[0], &byte, 1) == 1 && dup2(to[0], 0) == 0 &&
		    dup2(from[1], 1) == 1)
			execv("/bin/cat", argv);
		_exit(1);
	}
	ck_assert_int_eq(proc_image(getpid(), &own), 0);
	ck_assert_int_eq(proc_image(pid, &forked), 0);
	ck_assert_uint_ne(own.program, 0);
	ck_assert_uint_eq(forked.program, own.program);
	ck_assert(!forked.execed);
	ck_assert(proc_image_stays(pid, &forked));
	ck_assert_int_eq(write(to[1], "xx", 2), 2);
	ck_assert_int_eq(read(from[0], &byte, 1), 1);
	ck_assert_int_eq(proc_image(pid, &cat), 0);
	ck_assert(cat.execed);
	ck_assert_str_eq(cat.comm, "cat");
	ck_assert(proc_image_stays(pid, &cat));
	ck_assert(!proc_image_stays(pid, &forked));
	close(to[1]);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert(!proc_image_stays(pid, &cat));
	close(to[0]);
	close(from[0]);
	close(from[1]);
}

CASE("environment");

#define NODE "PAGEK_NODE=/nowhere"
#define PRELOAD "LD_PRELOAD=/nowhere/libother.so:/nowhere/liballoclog.so"

static const struct {
	const char *env[3];
	bool takes_none;
} environments[] = {
	{ { NODE, PRELOAD }, false },
	{ { NULL }, true },
	{ { PRELOAD }, true },
	{ { NODE }, true },
	{ { NODE, "LD_PRELOAD=" }, true },
	{ { NODE, "LD_PRELOAD=/nowhere/libother.so" }, true },
};

LOOP_TEST(a_program_without_our_environment_takes_no_preload, 0,
    (int)(sizeof(environments) / sizeof(environments[0])))
{
	char name[] = "cat", *const argv[] = { name, NULL };
	int to[2], from[2];
	char byte = 'x';
	bool none;
	pid_t pid;

	ck_assert(pipe(to) == 0 && pipe(from) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		dup2(open("/dev/null", O_WRONLY), 2);
		close(to[1]);
		execve("/bin/cat", argv,
		    (char *const *)(uintptr_t)environments[_i].env);
		_exit(1);
	}
	/* Its answer comes from the new program. */
	ck_assert_int_eq(write(to[1], &byte, 1), 1);
	ck_assert_int_eq(read(from[0], &byte, 1), 1);
	none = proc_takes_no_preload(pid);
	close(to[1]);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	close(to[0]);
	close(from[0]);
	close(from[1]);
	ck_assert(none == environments[_i].takes_none);
}
