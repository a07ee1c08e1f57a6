/*
 * usage_xmemory: counts by type.  Each test runs in a process of its own, so the
 * table is empty at its begin.  tests/live/usage_xmemory.sh replays the sample of
 * the note.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/usage/usage_xmemory.h"
#include "chance.h"
#include "harness.h"

struct T {
	char c[100];
};

/* The caller frees it. */
static char *
print(void (*fn)(FILE *))
{
	char *text = NULL;
	size_t len;
	FILE *fp = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(fp);
	fn(fp);
	ck_assert_int_eq(fclose(fp), 0);
	return text;
}

static void
expect(void (*fn)(FILE *), const char *want)
{
	char *text = print(fn);

	ck_assert_str_eq(text, want);
	free(text);
}

struct usage_row {
	char name[64];
	long long num, allocd, freed, max;
};

/* Of the row, or of totals with a number of 0. */
static struct usage_row
row_of(const char *name, long long num)
{
	char *text = print(dump_usage_xmemory), *save, *line;
	struct usage_row row = { .allocd = -1 };

	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%63[^:]:%lld:%lld:%lld:%lld", row.name, &row.num,
			&row.allocd, &row.freed, &row.max) == 5 &&
		    strcmp(row.name, name) == 0 && row.num == num) {
			free(text);
			return row;
		}
	free(text);
	return (struct usage_row){ .allocd = -1 };
}

CASE("rows");

TEST(functions_and_macros_of_one_name_share_a_row)
{
	struct T *t = xalloc(struct T);
	char name[] = "struct T";

	alloc_usage_xmemory(name, 1);
	expect(dump_usage_xmemory, "struct T:1:2:0:2\n");
	name[7] = 'U';
	alloc_usage_xmemory(name, 1);
	free_usage_xmemory(name, 1);
	expect(dump_usage_xmemory, "struct T:1:2:0:2\nstruct U:1:1:1:1\n");
	xfree(struct T, t);
}

TEST(null_is_not_counted)
{
	xfree(struct T, NULL);
	xnfree(char, 12, NULL);
	expect(dump_usage_xmemory, "");
	ck_assert_ptr_null(xnalloc(struct T, SIZE_MAX / 50));
	expect(dump_usage_xmemory, "");
}

static const struct {
	int64_t num;
	bool fits;
} numbers[] = {
	{ -1, false },
	{ INT64_MIN, false },
	{ INT64_MAX, false },
	{ INT64_MAX / 100 + 1, false },
	{ INT64_C(1) << 45, false },
	{ 0, true },
	{ 1, true },
	{ 100000, true },
};

LOOP_TEST(an_array_that_cannot_be_is_null, 0, BASE_NELEM(numbers))
{
	struct T *p = xnalloc(struct T, numbers[_i].num);
	int error = errno;
	struct usage_row row = row_of("struct T", numbers[_i].num);

	ck_assert_int_eq(p != NULL, numbers[_i].fits);
	ck_assert_int_eq(row.allocd, numbers[_i].fits ? 1 : -1);
	if (p == NULL)
		ck_assert_int_eq(error, ENOMEM);
	xnfree(struct T, numbers[_i].num, p);
	if (numbers[_i].fits)
		ck_assert_int_eq(row_of("struct T", numbers[_i].num).freed, 1);
}

TEST(each_argument_is_evaluated_once)
{
	int n = 11;
	char *p[2] = { NULL }, **next = p;

	p[0] = xnalloc(char, ++n);
	ck_assert_int_eq(n, 12);
	xnfree(char, n++, *next++);
	ck_assert_int_eq(n, 13);
	ck_assert_ptr_eq(next, p + 1);
	expect(dump_usage_xmemory, "char:12:1:1:1\n");
}

TEST(numbers_of_functions_may_be_anything)
{
	static const int num[] = { 0, -1, INT32_MIN, INT32_MAX };

	for (size_t i = 0; i < BASE_NELEM(num); i++)
		alloc_usage_xmemory("n", num[i]);
	expect(dump_usage_xmemory, "n:0:1:0:1\nn:-1:1:0:1\nn:-2147483648:1:0:1\n"
				   "n:2147483647:1:0:1\n");
}

TEST(names_may_be_anything)
{
	static const char begin[] = "(null):1:1:0:1\n:1:1:0:1\na:b%0Ac:1:1:0:1\n"
				    "objects:1:1:0:1\nxxx";
	size_t len = 64 << 10;
	char *name = malloc(len + 1), *text;

	ck_assert_ptr_nonnull(name);
	memset(name, 'x', len);
	name[len] = '\0';
	alloc_usage_xmemory(NULL, 1);
	alloc_usage_xmemory("", 1);
	alloc_usage_xmemory("a:b\nc", 1);
	alloc_usage_xmemory("objects", 1);
	alloc_usage_xmemory(name, 1);
	free_usage_xmemory(name, 1);
	text = print(dump_usage_xmemory);
	ck_assert_int_eq(strncmp(text, begin, sizeof begin - 1), 0);
	ck_assert_uint_gt(strlen(text), len);
	ck_assert_str_eq(text + strlen(text) - 9, ":1:1:1:1\n");
	free(text);
	free(name);
}

TEST(the_free_of_a_type_that_was_never_allocated_has_a_row)
{
	free_usage_xmemory("strange", 1);
	expect(dump_usage_xmemory, "strange:1:0:1:0\n");
	alloc_usage_xmemory("strange", 1);
	expect(dump_usage_xmemory, "strange:1:1:1:0\n");
}

TEST(strict_programs_are_aborted_with_the_name)
{
	char said[256];
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		setenv("PAGEK_USAGE_STRICT", "1", 1);
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		signal(SIGABRT, SIG_DFL);
		alloc_usage_xmemory("known", 1);
		free_usage_xmemory("known", 1);
		free_usage_xmemory("strange", 1);
		_exit(0);
	}
	close(fds[1]);
	n = read(fds[0], said, sizeof said - 1);
	ck_assert_int_gt(n, 0);
	while (n < (ssize_t)sizeof said - 1) {
		ssize_t m = read(fds[0], said + n, sizeof said - 1 - (size_t)n);

		if (m <= 0)
			break;
		n += m;
	}
	said[n] = '\0';
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	ck_assert_ptr_nonnull(strstr(said, "never allocated: strange\n"));
	close(fds[0]);
}

TEST(what_finds_no_place_is_counted_in_other)
{
	char name[32];
	struct usage_row row;

	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "type %u", i);
		alloc_usage_xmemory(name, 1);
	}
	row = row_of("(other)", 0);
	ck_assert_int_eq(row.allocd, 5000 - (USAGE_XMEMORY_ROWS - 3));
	free_usage_xmemory("type 4999", 1);
	free_usage_xmemory("type 0", 1);
	ck_assert_int_eq(row_of("(other)", 0).freed, 1);
	ck_assert_int_eq(row_of("type 0", 1).freed, 1);
}

CASE("totals");

TEST(totals_have_objects_and_bytes)
{
	struct T *t = xalloc(struct T);
	char *c = xnalloc(char, 12);

	xfree(struct T, t);
	expect(totals_usage_xmemory, "objects:2:1:1:2\nbytes:112:100:12:112\n");
	xnfree(char, 12, c);
	reset_max_usage_xmemory(NULL, 0);
	expect(totals_usage_xmemory, "objects:2:2:0:0\nbytes:112:112:0:0\n");
	expect(dump_usage_xmemory, "struct T:1:1:1:0\nchar:12:1:1:0\n");
}

TEST(a_reset_begins_the_max_of_its_row_alone)
{
	char *c[8];
	struct T *t = xalloc(struct T);

	for (unsigned i = 0; i < 8; i++)
		c[i] = xnalloc(char, 3);
	for (unsigned i = 0; i < 6; i++)
		xnfree(char, 3, c[i]);
	xfree(struct T, t);
	reset_max_usage_xmemory("char", 3);
	reset_max_usage_xmemory("no such type", 3);
	expect(dump_usage_xmemory, "struct T:1:1:1:1\nchar:3:8:6:2\n");
	c[0] = xnalloc(char, 3);
	expect(dump_usage_xmemory, "struct T:1:1:1:1\nchar:3:9:6:3\n");
	for (unsigned i = 6; i < 8; i++)
		xnfree(char, 3, c[i]);
	xnfree(char, 3, c[0]);
}

CASE("threads", .seconds = 120);

#define THREADS 8
#define HELD 256			/* more than a grain a thread in all */

struct work {
	pthread_t thread;
	unsigned no;
	unsigned long pairs;
};

static _Atomic long in_use, most;

static void
note_rise(void)
{
	long now = atomic_fetch_add(&in_use, 1) + 1, max = atomic_load(&most);

	while (now > max && !atomic_compare_exchange_weak(&most, &max, now))
		;
}

/* Blocks come and go; those of a round are freed in the next. */
static void *
churn(void *arg)
{
	struct work *w = arg;
	struct T *held[HELD] = { NULL };

	for (unsigned long i = 0; i < w->pairs; i++) {
		unsigned at = (unsigned)(i * 7 + w->no) % HELD;

		if (held[at] != NULL) {
			atomic_fetch_sub(&in_use, 1);
			xfree(struct T, held[at]);
		}
		held[at] = xalloc(struct T);
		note_rise();
		alloc_usage_xmemory("named", (int)w->no);
		free_usage_xmemory("named", (int)w->no);
	}
	for (unsigned at = 0; at < HELD; at++)
		if (held[at] != NULL) {
			atomic_fetch_sub(&in_use, 1);
			xfree(struct T, held[at]);
		}
	return NULL;
}

TEST(eight_threads_are_counted_exactly)
{
	struct work work[THREADS];
	/* 32 operations each time. */
	unsigned long pairs = (unsigned long)check_events(
	    (unsigned)check_rounds(312500));
	struct usage_row row;

	for (unsigned i = 0; i < THREADS; i++) {
		work[i] = (struct work){ .no = i, .pairs = pairs };
		ck_assert_int_eq(
		    pthread_create(&work[i].thread, NULL, churn, &work[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(work[i].thread, NULL);
	row = row_of("struct T", 1);
	ck_assert_int_eq(row.allocd, (long long)pairs * THREADS);
	ck_assert_int_eq(row.freed, row.allocd);
	ck_assert_int_ge(row.max, atomic_load(&most));
	ck_assert_int_le(row.max, HELD * THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		row = row_of("named", i);
		ck_assert_int_eq(row.allocd, (long long)pairs);
		ck_assert_int_eq(row.freed, (long long)pairs);
		ck_assert_int_eq(row.max, 1);
	}
}

static void *
short_life(void *arg)
{
	struct T **t = arg;

	if (*t == NULL) {
		*t = xalloc(struct T);
	} else {
		xfree(struct T, *t);
		*t = NULL;
	}
	return NULL;
}

/* Their levels go on in the next thread: 1,000 of them take the room of one. */
TEST(threads_that_have_ended_stay_counted)
{
	struct T *t = NULL;
	struct usage_row row;
	pthread_t thread;

	for (unsigned i = 0; i < 1000; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, short_life, &t), 0);
		pthread_join(thread, NULL);
	}
	row = row_of("struct T", 1);
	ck_assert_int_eq(row.allocd, 500);
	ck_assert_int_eq(row.freed, 500);
	ck_assert_int_eq(row.max, 1);
}

/* Many slots, because each wait gives the processor to whoever else wants it. */
#define SLOTS 64u
static struct T *_Atomic passed[SLOTS];
#define PASSED 100000

static void *
consume(void *arg)
{
	for (unsigned i = 0; i < PASSED; i++) {
		struct T *t;

		while ((t = atomic_exchange(&passed[i % SLOTS], NULL)) == NULL)
			sched_yield();
		xfree(struct T, t);
	}
	return arg;
}

/* One thread allocates all and the other frees all: few at once. */
TEST(max_is_within_a_grain_a_thread_of_the_peak)
{
	struct usage_row row;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, consume, NULL), 0);
	for (unsigned i = 0; i < PASSED; i++) {
		struct T *t = xalloc(struct T), *none = NULL;

		while (!atomic_compare_exchange_weak(&passed[i % SLOTS],
			   &none, t)) {
			none = NULL;
			sched_yield();
		}
	}
	pthread_join(thread, NULL);
	row = row_of("struct T", 1);
	ck_assert_int_eq(row.allocd, PASSED);
	ck_assert_int_eq(row.freed, PASSED);
	ck_assert_int_ge(row.max, 1);
	ck_assert_int_le(row.max, SLOTS + 2 + 64 * 5);
}

static atomic_bool stop;

static void *
reset_always(void *arg)
{
	while (!atomic_load(&stop))
		reset_max_usage_xmemory(NULL, 0);
	return arg;
}

/* After a reset the max is never below what is in use. */
TEST(resets_beside_allocations_lose_no_count)
{
	struct work work = { .pairs = 200000 };
	struct usage_row row;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, reset_always, NULL), 0);
	ck_assert_int_eq(pthread_create(&work.thread, NULL, churn, &work), 0);
	for (unsigned i = 0; i < 50; i++) {
		row = row_of("struct T", 1);
		if (row.allocd > 0)
			ck_assert_int_ge(row.max, row.allocd - row.freed);
	}
	pthread_join(work.thread, NULL);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	row = row_of("struct T", 1);
	ck_assert_int_eq(row.allocd, (long long)work.pairs);
	ck_assert_int_eq(row.freed, row.allocd);
	ck_assert_int_le(row.max, HELD);
}

TEST(a_forked_child_goes_on)
{
	struct T *t = xalloc(struct T);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct usage_row row;

		xfree(struct T, t);
		row = row_of("struct T", 1);
		_exit(row.allocd == 1 && row.freed == 1 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(row_of("struct T", 1).freed, 0);
	xfree(struct T, t);
}
