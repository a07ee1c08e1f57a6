/*
 * The reader as a process: what is asked and answered, and what becomes of
 * the rest when it goes down, hangs or talks nonsense.
 *
 * The test program is also the reader of its own tests: with "serve" as its
 * first argument it does what the real one does, except for files of certain
 * names.
 */
#include "symbol_rig.h"

#include "../src/symbol/packet.h"
#include "../src/symbol/reader/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* --- the reader of these tests ------------------------------------------ */

static bool
read_exactly(void *to, size_t n)
{
	for (uint8_t *p = to; n > 0;) {
		ssize_t got = read(0, p, n);

		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

static void
say(const void *p, size_t n)
{
	if (write(1, p, n) != (ssize_t)n)
		_exit(1);
}

/* Answers every request with one function, whose name is the reader's pid. */
static void
answer(const struct packet_request *r)
{
	struct packet_answer a = { .file = SYMBOL_LINE, .n = r->n };
	struct packet_out out = { 0 };

	for (unsigned i = 0; i < r->n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%jd", (intmax_t)getpid());
		a.words[i].known = SYMBOL_NO_LINE;
		a.words[i].address = r->address[i];
		a.words[i].n = 1;
		a.words[i].line[0].function = strdup(name);
	}
	if (packet_put_answer(&out, &a) == 0)
		say(out.byte, out.len);
	packet_out_fini(&out);
	packet_answer_fini(&a);
}

static void
say_number(uint32_t n)
{
	say(&n, sizeof(n));
}

/* Returns when there is nothing more to be read. */
static void
misbehave(const char *name, const struct packet_request *r)
{
	static uint8_t zeros[4096];

	if (strstr(name, "crash") != NULL) {
		kill(getpid(), SIGKILL);
	} else if (strstr(name, "exit") != NULL) {
		_exit(0);
	} else if (strstr(name, "hang") != NULL) {
		for (;;)
			pause();
	} else if (strstr(name, "half") != NULL) {
		say_number(100);
		say(zeros, 10);
		for (;;)
			pause();
	} else if (strstr(name, "huge") != NULL) {
		say_number(UINT32_MAX);
	} else if (strstr(name, "zeros") != NULL) {
		say_number(sizeof(zeros));
		say(zeros, sizeof(zeros));
	} else if (strstr(name, "empty") != NULL) {
		say_number(0);
	} else if (strstr(name, "less") != NULL) {
		struct packet_request less = *r;

		less.n = 0;
		answer(&less);
	} else {
		answer(r);
	}
}

/*
 * Runs before main() and never returns to it.  A sanitizer's search for leaks at
 * exit() would keep the process from being reaped.
 */
static void __attribute__((constructor))
be_reader(int argc, char **argv)
{
	static struct packet_request r;
	static uint8_t bytes[1 << 20];
	uint32_t len;

	if (argc < 2 || strcmp(argv[1], "serve") != 0)
		return;
	while (read_exactly(&len, sizeof(len)) && len <= sizeof(bytes) &&
	    read_exactly(bytes, len)) {
		if (packet_get_request(bytes, len, &r) < 0)
			_exit(1);
		misbehave(r.place.path, &r);
	}
	_exit(0);
}

/* --- the rules ---------------------------------------------------------- */

static void
start(unsigned timeout_ms)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	ck_assert_int_gt(n, 0);
	self[n] = '\0';
	open_symbols(&(struct symbols_opts) {
		.reader = self,
		.timeout_ms = timeout_ms,
	});
}

static void
setup(void)
{
	start(10000);
}

static void
teardown(void)
{
	symbol_words_fini(&words);
	symbols_free(symbols);
	/* Nothing is left behind. */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

static enum symbol_known
look_at(const char *path, uint64_t address)
{
	return look((struct symbol_place) { .path = path, .address = address });
}

static pid_t
reader_pid(void)
{
	ck_assert_uint_eq(words.n, 1);
	return (pid_t)atoi(words.line[0].function);
}

static const char *const bad[] = {
	"/crash", "/exit", "/huge", "/zeros", "/empty", "/less",
};

CASE("Client", .setup = setup, .teardown = teardown, .seconds = 120);

LOOP_TEST(file_that_brings_the_reader_down_is_damaged_and_no_other, 0,
    BASE_NELEM(bad))
{
	ck_assert_int_eq(look_at(bad[_i], 1), SYMBOL_DAMAGED);
	ck_assert_uint_eq(words.n, 0);
	ck_assert_int_eq(look_at("/good", 1), SYMBOL_NO_LINE);
	/* From then on, without another reader. */
	pid_t pid = reader_pid();
	ck_assert_int_eq(look_at(bad[_i], 2), SYMBOL_DAMAGED);
	ck_assert_int_eq(look_at("/good", 2), SYMBOL_NO_LINE);
	ck_assert_int_eq(reader_pid(), pid);
}

LOOP_TEST(bad_file_among_others_costs_only_its_own_words, 0, BASE_NELEM(bad))
{
	struct symbol_place p[6] = {
		{ .path = "/a", .address = 1 },
		{ .path = bad[_i], .address = 2 },
		{ .path = "/b", .address = 3 },
		{ .path = NULL, .address = 4 },
		{ .path = bad[_i], .address = 5 },
		{ .path = "/a", .address = 6 },
	};
	struct symbol_words w[6];

	symbols_look(symbols, p, 6, w);
	for (size_t i = 0; i < 6; i++) {
		ck_assert_int_eq(w[i].known, p[i].path == NULL ?
		    SYMBOL_NO_MODULE : p[i].path == bad[_i] ?
		    SYMBOL_DAMAGED : SYMBOL_NO_LINE);
		ck_assert_uint_eq(w[i].address, i + 1);
		symbol_words_fini(&w[i]);
	}
}

static const char *const slow[] = { "/hang", "/half" };

LOOP_TEST(file_that_takes_too_long_is_damaged, 0, BASE_NELEM(slow))
{
	symbols_free(symbols);
	start(100);
	ck_assert_int_eq(look_at(slow[_i], 1), SYMBOL_DAMAGED);
	/* On a busy machine, any file may count as slow. */
	for (uint64_t at = 1; look_at("/good", at) == SYMBOL_DAMAGED; at++)
		;
	ck_assert_int_eq(look_at(slow[_i], 2), SYMBOL_DAMAGED);
}

TEST(reader_killed_between_requests_is_nobodys_fault)
{
	pid_t pid;

	ck_assert_int_eq(look_at("/good", 1), SYMBOL_NO_LINE);
	pid = reader_pid();
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(look_at("/other", 1), SYMBOL_NO_LINE);
	ck_assert_int_ne(reader_pid(), pid);
}

TEST(readers_that_go_down_too_often_are_waited_for)
{
	enum symbol_known known = SYMBOL_DAMAGED;
	unsigned n;

	for (n = 0; n < 100 && known == SYMBOL_DAMAGED; n++) {
		char path[32];

		snprintf(path, sizeof(path), "/crash%u", n);
		known = look_at(path, 1);
	}
	ck_assert_int_eq(known, SYMBOL_PENDING);
	ck_assert_uint_gt(n, 5);
	ck_assert_uint_lt(n, 50);
}

TEST(no_reader_is_said)
{
	symbols_free(symbols);
	open_symbols(&(struct symbols_opts) { .reader = "/nonexistent" });
	ck_assert_int_eq(look_at("/good", 1), SYMBOL_NO_READER);
	symbols_free(symbols);
	open_symbols(&(struct symbols_opts) { .reader = NULL });
	ck_assert_int_eq(look_at("/good", 1), SYMBOL_NO_READER);
	ck_assert_int_eq(look_at(NULL, 1), SYMBOL_NO_MODULE);
}

TEST(what_was_found_is_not_asked_for_again)
{
	pid_t pid;

	ck_assert_int_eq(look_at("/good", 1), SYMBOL_NO_LINE);
	pid = reader_pid();
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(look_at("/good", 1), SYMBOL_NO_LINE);
	ck_assert_int_eq(reader_pid(), pid);
	ck_assert_int_eq(look_at("/good", 2), SYMBOL_NO_LINE);
	ck_assert_int_ne(reader_pid(), pid);
	/* Other content at the same path is another file. */
	ck_assert_int_eq(look((struct symbol_place) { .path = "/good",
	    .address = 1, .build_id_len = 2, .build_id = { 1, 2 } }),
	    SYMBOL_NO_LINE);
	ck_assert_int_ne(reader_pid(), pid);
}

TEST(many_places_and_files_are_all_answered)
{
	enum { N = 20000, FILES = 500 };
	struct symbol_place *p = calloc(N, sizeof(*p));
	struct symbol_words *w = calloc(N, sizeof(*w));
	static char path[FILES][16];

	for (int i = 0; i < N; i++) {
		snprintf(path[i % FILES], 16, "/f%d", i % FILES);
		p[i].path = path[i % FILES];
		p[i].address = (uint64_t)i;
	}
	for (int round = 0; round < 2; round++) {
		symbols_look(symbols, p, N, w);
		for (int i = 0; i < N; i++) {
			ck_assert_int_eq(w[i].known, SYMBOL_NO_LINE);
			ck_assert_uint_eq(w[i].address, (uint64_t)i);
			symbol_words_fini(&w[i]);
		}
	}
	free(p);
	free(w);
}

/* More than are kept: it forgets, and goes on. */
TEST(cache_is_bounded_by_modules_and_by_words)
{
	enum { N = 64, ROUNDS = 1500 };
	struct symbol_place p[N];
	struct symbol_words w[N];
	char path[N][32];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N; i++) {
			snprintf(path[i], sizeof(path[i]), "/%d",
			    round % 300 == 0 ? round * N + i : 0);
			p[i] = (struct symbol_place) {
				.path = path[i],
				.address = (uint64_t)(round * N + i),
			};
		}
		symbols_look(symbols, p, N, w);
		for (int i = 0; i < N; i++) {
			ck_assert_int_eq(w[i].known, SYMBOL_NO_LINE);
			ck_assert_uint_eq(w[i].address, p[i].address);
			symbol_words_fini(&w[i]);
		}
	}
}

static void *
look_often(void *arg)
{
	uintptr_t bad_ones = 0;

	(void)arg;
	for (int i = 0; i < 200; i++) {
		struct symbol_place p[2] = {
			{ .path = "/a", .address = (uint64_t)i },
			{ .path = i % 50 == 0 ? "/crash" : "/b",
			    .address = (uint64_t)i },
		};
		struct symbol_words w[2];

		symbols_look(symbols, p, 2, w);
		bad_ones += w[0].known != SYMBOL_NO_LINE;
		bad_ones += w[1].known !=
		    (i % 50 == 0 ? SYMBOL_DAMAGED : SYMBOL_NO_LINE);
		symbol_words_fini(&w[0]);
		symbol_words_fini(&w[1]);
	}
	return (void *)bad_ones;
}

TEST(any_thread_may_look)
{
	pthread_t thread[4];

	for (size_t i = 0; i < BASE_NELEM(thread); i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, look_often,
		    NULL), 0);
	for (size_t i = 0; i < BASE_NELEM(thread); i++) {
		void *bad_ones;

		ck_assert_int_eq(pthread_join(thread[i], &bad_ones), 0);
		ck_assert_ptr_null(bad_ones);
	}
}

static void *
look_at_hang(void *arg)
{
	*(enum symbol_known *)arg = look_at("/hang", 1);
	return NULL;
}

/* Its time would be longer than this test's. */
TEST(who_waits_for_the_reader_is_let_go_by_a_stop)
{
	enum symbol_known known;
	pthread_t thread;

	symbols_free(symbols);
	start(1000000);
	ck_assert_int_eq(pthread_create(&thread, NULL, look_at_hang, &known),
	    0);
	while (waitpid(-1, NULL, WNOHANG) < 0)
		usleep(1000);
	symbols_stop(symbols);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(known, SYMBOL_PENDING);
	ck_assert_int_eq(look_at("/good", 1), SYMBOL_PENDING);
}

static pthread_barrier_t barrier;

static void *
look_and_stay(void *arg)
{
	*(enum symbol_known *)arg = look_at("/good", 1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* The run of a command learns so that its tree has ended. */
TEST(who_waits_for_children_of_its_own_thread_does_not_meet_the_reader)
{
	enum symbol_known known;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, look_and_stay, &known),
	    0);
	pthread_barrier_wait(&barrier);
	ck_assert_int_eq(known, SYMBOL_NO_LINE);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WNOTHREAD), -1);
	ck_assert_int_eq(errno, ECHILD);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}

TEST(another_one_may_reap_the_reader)
{
	ck_assert_int_eq(look_at("/good", 1), SYMBOL_NO_LINE);
	ck_assert_int_eq(kill(reader_pid(), SIGKILL), 0);
	ck_assert_int_eq(waitpid(-1, NULL, 0), reader_pid());
	ck_assert_int_eq(look_at("/other", 1), SYMBOL_NO_LINE);
	ck_assert_int_eq(kill(reader_pid(), SIGKILL), 0);
	ck_assert_int_eq(waitpid(-1, NULL, 0), reader_pid());
}

/* --- the real one ------------------------------------------------------- */

/* Runs it by hand, with pipes. */
static pid_t
start_real(int *to, int *from)
{
	int in[2], out[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ck_assert_int_ge(pid = fork(), 0);
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(reader_path(), "pagek-symbols", "serve", "10", NULL);
		_exit(126);
	}
	close(in[0]);
	close(out[1]);
	*to = in[1];
	*from = out[0];
	return pid;
}

static void
ends_well(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

CASE("Reader", .seconds = 60);

TEST(reader_ends_when_its_input_does)
{
	int to, from;
	pid_t pid = start_real(&to, &from);

	close(to);
	ends_well(pid);
	close(from);
}

LOOP_TEST(reader_ends_at_what_is_no_request, 0, 5)
{
	static const struct {
		uint32_t len;
		char text[8];
	} nonsense[] = {
		{ 0, "" }, { 1, "\1" }, { 8, "\1\377\377\377\377" },
		{ 8, "\2\0\0\0\0" }, { UINT32_MAX, "" },
	};
	int to, from;
	pid_t pid = start_real(&to, &from);
	char byte;

	ck_assert_int_eq(write(to, &nonsense[_i], 12), 12);
	ends_well(pid);
	ck_assert_int_eq(read(from, &byte, 1), 0);
	close(to);
	close(from);
}

TEST(reader_has_limited_itself)
{
	char path[64], line[512], soft[32], hard[32];
	bool no_new_privileges = false, no_core = false;
	int to, from;
	pid_t pid = start_real(&to, &from);
	struct packet_request r = { .place = { .path = "/nonexistent" } };
	struct packet_out out = { 0 };
	uint32_t len;
	FILE *f;

	/* Once it has answered it has limited itself. */
	ck_assert_int_eq(packet_put_request(&out, &r), 0);
	ck_assert_int_eq(write(to, out.byte, out.len), (ssize_t)out.len);
	ck_assert_int_eq(read(from, &len, sizeof(len)), sizeof(len));
	packet_out_fini(&out);
	snprintf(path, sizeof(path), "/proc/%jd/status", (intmax_t)pid);
	ck_assert_ptr_nonnull(f = fopen(path, "r"));
	while (fgets(line, sizeof(line), f) != NULL)
		no_new_privileges |= strcmp(line, "NoNewPrivs:\t1\n") == 0;
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%jd/limits", (intmax_t)pid);
	ck_assert_ptr_nonnull(f = fopen(path, "r"));
	while (fgets(line, sizeof(line), f) != NULL)
		no_core |= sscanf(line, "Max core file size %31s %31s", soft,
		    hard) == 2 && strcmp(soft, "0") == 0 &&
		    strcmp(hard, "0") == 0;
	fclose(f);
	ck_assert(no_new_privileges);
	ck_assert(no_core);
	close(to);
	close(from);
	ends_well(pid);
}
