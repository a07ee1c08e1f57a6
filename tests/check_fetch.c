/*
 * Debug files fetched by libdebuginfod from a server on this machine: the
 * look-up does not wait for it.
 */
#include "symbol_rig.h"
#include "harness.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/*
 * Serves files below the current folder, /buildid/ID/debuginfo as debuginfod
 * has them; of those of some size the second half waits for a file "go".
 */
static const char server[] =
    "import http.server, os, sys, time\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "    def log_message(self, *a): pass\n"
    "    def do_GET(self):\n"
    "        open('asked', 'a').write(self.path + '\\n')\n"
    "        try: d = open('.' + self.path, 'rb').read()\n"
    "        except OSError: return self.send_error(404)\n"
    "        self.send_response(200)\n"
    "        self.send_header('Content-Length', str(len(d)))\n"
    "        self.end_headers()\n"
    "        n = len(d) // 2\n"
    "        self.wfile.write(d[:n])\n"
    "        self.wfile.flush()\n"
    "        while not os.path.exists('go'): time.sleep(0.01)\n"
    "        self.wfile.write(d[n:])\n"
    "s = http.server.HTTPServer(('127.0.0.1', 0), H)\n"
    "open('port.new', 'w').write(str(s.server_port))\n"
    "os.rename('port.new', 'port')\n"
    "s.serve_forever()\n";

static pid_t server_pid;
static struct symbol_place place;

/* A limit against hanging, not a time that is asserted. */
#define TRIES 3000

static void
pause_a_little(void)
{
	usleep(10000);
}

static void
start_server(void)
{
	char url[64];
	FILE *f = NULL;
	int port;

	write_file("server.py", server);
	ck_assert_int_ge(server_pid = fork(), 0);
	if (server_pid == 0) {
		if (chdir(dir) == 0)
			execlp("python3", "python3", "server.py", NULL);
		_exit(126);
	}
	for (int i = 0; f == NULL && i < TRIES; i++) {
		f = fopen(in_dir("port"), "r");
		if (f == NULL)
			pause_a_little();
	}
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &port), 1);
	fclose(f);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", in_dir("cache"), 1);
	unsetenv("DEBUGINFOD_PROGRESS");
}

/* A program without symbols; with debug information of some size to fetch. */
static void
build(void)
{
	static char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s/s", dir);
	write_file("s.c",
	    "__attribute__((noinline)) int g(int n) { __asm__ volatile(\"\"); return n; }\n"
	    "__attribute__((noinline)) int\n"
	    "f(int n)\n"
	    "{\n"
	    "	return g(n) + 1;\n"
	    "}\n"
	    "int main(int n, char **v) { (void)v; return f(n) == 0; }\n");
	must("gcc -O1 -g s.c -o s && nm s | sed -n 's/ T f$//p' >f && "
	    "head -c 4000000 /dev/urandom >noise && "
	    "objcopy --add-section .noise=noise s && "
	    "id=$(readelf -n s | sed -n 's/.*Build ID: //p') && "
	    "mkdir -p buildid/$id && "
	    "objcopy --only-keep-debug s buildid/$id/debuginfo && strip s && "
	    "objcopy -R .noise s");
	place = place_in("s", number_of("cat f") + 5);
	place.path = path;
	ck_assert_uint_gt(place.build_id_len, 0);
}

/*
 * A reader whose answer, when there is a file "hold", waits until what is
 * fetched has come: whoever fetches lives on until the client has ended it.
 */
static const char slow_reader[] =
    "import os, subprocess, sys, time\n"
    "real, words = sys.argv[1], sys.argv[2:]\n"
    "if words and words[0] == 'fetch':\n"
    "    open('fetcher', 'w').write(str(os.getpid()))\n"
    "    subprocess.call([real] + words)\n"
    "    while True: time.sleep(10)\n"
    "p = subprocess.Popen([real] + words, stdout=subprocess.PIPE)\n"
    "while True:\n"
    "    d = os.read(p.stdout.fileno(), 65536)\n"
    "    if not d: sys.exit(0)\n"
    "    if os.path.exists('hold'):\n"
    "        open('go', 'w')\n"
    "        while not os.path.exists('fetcher'): time.sleep(0.01)\n"
    "        while os.path.exists('/proc/' + open('fetcher').read()):\n"
    "            time.sleep(0.01)\n"
    "    os.write(1, d)\n";

static const char *
slow_reader_path(void)
{
	static char path[PATH_MAX];
	char script[2 * PATH_MAX];

	write_file("slow.py", slow_reader);
	snprintf(script, sizeof(script),
	    "#!/bin/sh\ncd '%s' && exec python3 slow.py '%s' \"$@\"\n", dir,
	    reader_path());
	write_file("slow", script);
	must("chmod +x slow");
	return strcpy(path, in_dir("slow"));
}

static void
setup(void)
{
	make_dir();
	build();
	start_server();
	open_symbols(&(struct symbols_opts) {
		.reader = reader_path(),
		.fetch = true,
	});
}

static bool
has_child(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/*
 * No child is left.  One that was killed may take long to go where much else
 * runs: the next run of a reader takes it along then.
 */
static void
teardown(void)
{
	words_teardown();
	kill(server_pid, SIGKILL);
	waitpid(server_pid, NULL, 0);
	for (int i = 0; has_child() && i < 10; i++) {
		open_symbols(&(struct symbols_opts) { .reader = "/bin/true" });
		look(place);
		symbols_free(symbols);
		symbols = NULL;
		pause_a_little();
	}
	ck_assert(!has_child());
}

static bool
can_fetch(void)
{
	void *lib = dlopen("libdebuginfod.so.1", RTLD_LAZY);

	if (HAVE_NAMES && lib != NULL)
		return true;
	printf("skipped: no elfutils or no libdebuginfod\n");
	return false;
}

/* Looks until nothing is on its way any more. */
static enum symbol_known
look_until_it_is_here(void)
{
	for (int i = 0; i < TRIES; i++) {
		enum symbol_known known = look(place);

		if (!words.fetching)
			return known;
		pause_a_little();
	}
	ck_abort_msg("it does not come");
}

CASE("Fetch", .setup = setup, .teardown = teardown, .seconds = 120);

TEST(lookup_does_not_wait_for_the_debug_file_and_uses_it_when_it_is_here)
{
	struct symbols_fetch f = { .kb = 0 };

	if (!can_fetch())
		return;
	ck_assert_int_eq(look(place), SYMBOL_NO_SYMBOL);
	ck_assert(words.fetching);
	for (int i = 0; f.kb == 0 && i < TRIES; i++) {
		ck_assert(symbols_fetching(symbols, &f));
		ck_assert_str_eq(f.module, "s");
		pause_a_little();
	}
	ck_assert_uint_gt(f.kb, 0);
	ck_assert_uint_ge(f.of_kb, 3900);
	ck_assert_uint_lt(f.kb, f.of_kb);
	/* It is half here: nothing else is held up by it. */
	ck_assert_int_eq(look(place), SYMBOL_NO_SYMBOL);
	ck_assert(words.fetching);
	write_file("go", "");
	ck_assert_int_eq(look_until_it_is_here(), SYMBOL_LINE);
	ck_assert_str_eq(function(), "f");
	ck_assert_uint_eq(words.line[0].line, 5);
	/* Who fetched it may take a moment longer to say that it is done. */
	for (int i = 0; symbols_fetching(symbols, &f) && i < TRIES; i++)
		pause_a_little();
	ck_assert(!symbols_fetching(symbols, &f));
}

TEST(debug_file_of_a_file_that_is_gone_is_fetched)
{
	if (!can_fetch())
		return;
	write_file("go", "");
	must("rm s");
	ck_assert_int_eq(look(place), SYMBOL_NO_FILE);
	ck_assert(words.fetching);
	ck_assert_int_eq(look_until_it_is_here(), SYMBOL_LINE);
	ck_assert_str_eq(function(), "f");
}

/* With the file there, without symbols, and with the file gone. */
LOOP_TEST(debug_file_that_comes_during_a_lookup_is_used_in_it, 0, 2)
{
	if (!can_fetch())
		return;
	symbols_free(symbols);
	open_symbols(&(struct symbols_opts) {
		.reader = slow_reader_path(),
		.timeout_ms = 60000,
		.fetch = true,
	});
	if (_i == 1)
		must("rm s");
	look(place);
	ck_assert(words.fetching);
	write_file("hold", "");
	place.address++;
	ck_assert_int_eq(look(place), SYMBOL_LINE);
	ck_assert_str_eq(function(), "f");
	must("rm hold");
	ck_assert_int_eq(look(place), SYMBOL_LINE);
}

TEST(what_no_server_has_is_asked_for_once)
{
	if (!can_fetch())
		return;
	write_file("go", "");
	must("rm -r buildid");
	ck_assert_int_eq(look_until_it_is_here(), SYMBOL_NO_SYMBOL);
	for (int i = 0; i < 5; i++) {
		look(place);
		ck_assert(!words.fetching);
	}
	ck_assert_uint_eq(number_of("wc -l <asked"), 1);
}

TEST(debug_file_of_another_build_is_not_used)
{
	if (!can_fetch())
		return;
	write_file("go", "");
	must("gcc -O2 -g s.c -DX -o t -Wl,--build-id=0x1234 && "
	    "objcopy --only-keep-debug t buildid/*/debuginfo");
	ck_assert_int_eq(look_until_it_is_here(), SYMBOL_NO_SYMBOL);
	ck_assert_uint_eq(words.n, 0);
}

TEST(to_free_ends_what_is_on_its_way)
{
	if (!can_fetch())
		return;
	look(place);
	ck_assert(words.fetching);
	symbols_free(symbols);
	symbols = NULL;
}

/*
 * A process that is killed in the middle of a fetch.  Another one has its pipes
 * open still: whoever fetches does not find out by what he writes.
 */
static _Noreturn void
look_and_be_killed(void)
{
	struct symbols_fetch f = { .kb = 0 };
	char text[16];
	pid_t holder;

	look(place);
	for (int i = 0; f.kb == 0 && i < TRIES; i++) {
		symbols_fetching(symbols, &f);
		pause_a_little();
	}
	if (f.kb == 0 || (holder = fork()) < 0)
		_exit(1);
	if (holder == 0)
		for (;;)
			pause();
	snprintf(text, sizeof(text), "%x", (unsigned)holder);
	write_file("holder", text);
	kill(getpid(), SIGKILL);
	_exit(1);
}

static void
wait_for_orphan(void)
{
	pid_t pid = 0;

	for (int i = 0; (pid = waitpid(-1, NULL, WNOHANG)) == 0 && i < TRIES;
	    i++)
		pause_a_little();
	ck_assert_int_gt(pid, 0);
}

TEST(nobody_outlives_one_that_was_killed)
{
	pid_t pid;
	int status;

	if (!can_fetch())
		return;
	/* Orphans come to us: the reader, whoever fetches, and the holder. */
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_ge(pid = fork(), 0);
	if (pid == 0)
		look_and_be_killed();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	wait_for_orphan();
	pid = (pid_t)number_of("cat holder");
	/* Else it was the holder. */
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	wait_for_orphan();
	wait_for_orphan();
}

LOOP_TEST(nothing_is_fetched_unless_it_is_configured, 0, 3)
{
	struct symbols_fetch f;

	symbols_free(symbols);
	if (_i == 0)
		unsetenv("DEBUGINFOD_URLS");
	else if (_i == 1)
		setenv("DEBUGINFOD_URLS", "  ", 1);
	open_symbols(&(struct symbols_opts) {
		.reader = reader_path(),
		.fetch = _i < 2,
	});
	if (HAVE_NAMES)
		ck_assert_int_eq(look(place), SYMBOL_NO_SYMBOL);
	ck_assert(!words.fetching);
	ck_assert(!symbols_fetching(symbols, &f));
	ck_assert_int_ne(access(in_dir("asked"), F_OK), 0);
}
