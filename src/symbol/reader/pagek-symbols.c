/*
 * pagek-symbols: reads a request, answers it, until there is none.
 *
 * It limits itself before it reads the first file, so that a file that makes
 * it grow or loop for ever costs this process and nothing else.
 */
#include "reader.h"

#include "../../base/base.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define MEMORY_MAX ((rlim_t)2 << 30)
#define FILES_MAX 256
/* It writes no file but a copy of the vdso. */
#define FILE_SIZE_MAX ((rlim_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static void
set_limit(int what, rlim_t most)
{
	struct rlimit r;

	if (getrlimit(what, &r) < 0)
		return;
	if (r.rlim_max == RLIM_INFINITY || r.rlim_max > most)
		r.rlim_max = most;
	r.rlim_cur = r.rlim_max;
	setrlimit(what, &r);
}

static void
limit_self(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "pagek-symbols");
	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_NOFILE, FILES_MAX);
	set_limit(RLIMIT_FSIZE, FILE_SIZE_MAX);
#ifndef SANITIZED
	/* Sanitizers reserve more address space. */
	set_limit(RLIMIT_AS, MEMORY_MAX);
#endif
	/* libdw would ask servers. */
	unsetenv("DEBUGINFOD_URLS");
}

static volatile sig_atomic_t seconds_left;
static pid_t parent;

static void
on_second(int sig)
{
	(void)sig;
	if (getppid() != parent || --seconds_left <= 0)
		_exit(1);
}

/*
 * For a node that is gone: it kills us earlier.  PR_SET_PDEATHSIG would also
 * tell the end of the thread that started us.
 */
static void
limit_time(unsigned seconds)
{
	const struct itimerval every = {
		.it_interval.tv_sec = seconds > 0,
		.it_value.tv_sec = seconds > 0,
	};

	seconds_left = (sig_atomic_t)seconds;
	setitimer(ITIMER_REAL, &every, NULL);
}

static void
watch_time(void)
{
	struct sigaction sa = { .sa_handler = on_second,
		.sa_flags = SA_RESTART };

	parent = getppid();
	sigaction(SIGALRM, &sa, NULL);
}

/* All of it, or false at the end of the input. */
static bool
read_all(void *to, size_t n)
{
	uint8_t *at = to;

	while (n > 0) {
		ssize_t got = read(STDIN_FILENO, at, n);

		if (got == 0 || (got < 0 && errno != EINTR))
			return false;
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
	return true;
}

static bool
serve_one(unsigned seconds)
{
	static struct packet_request request;
	static struct packet_answer answer;
	struct packet_out out = { 0 };
	uint8_t *bytes;
	uint32_t len;
	bool ok;

	if (!read_all(&len, sizeof(len)) || len > PACKET_MAX ||
	    (bytes = malloc(len)) == NULL)
		return false;
	ok = read_all(bytes, len) &&
	    packet_get_request(bytes, len, &request) == 0;
	if (ok) {
		limit_time(seconds);
		symread_look(&request, &answer);
		limit_time(0);
		ok = packet_put_answer(&out, &answer) == 0 &&
		    base_write_all(STDOUT_FILENO, out.byte, out.len) == 0;
		packet_answer_fini(&answer);
	}
	packet_out_fini(&out);
	free(bytes);
	return ok;
}

static int
print_usage(void)
{
	fprintf(stderr, "pagek-symbols is started by pageknode: "
	    "it reads symbols of programs.\n"
	    "usage: pagek-symbols serve SECONDS [FOLDER:...]\n"
	    "       pagek-symbols fetch BUILD-ID\n");
	return 2;
}

int
main(int argc, char **argv)
{
	unsigned long seconds;

	if (argc == 3 && strcmp(argv[1], "fetch") == 0)
		return symread_fetch_main(argv[2]);
	if ((argc != 3 && argc != 4) || strcmp(argv[1], "serve") != 0)
		return print_usage();
	seconds = strtoul(argv[2], NULL, 10);
	if (seconds == 0 || seconds > 86400)
		return print_usage();
	if (argc == 4)
		symread_set_path(argv[3]);
	limit_self();
	watch_time();
	while (serve_one((unsigned)seconds))
		continue;
	/* Freeing what libdw holds would only take time. */
	_exit(0);
}
