/*
 * pagek-symbols: reads a request, answers it, until there is none.
 *
 * It limits itself before it reads the first file, so that a file that makes
 * it grow or go round for ever costs this process and nothing else.
 */
#include "reader.h"
#include "wrappers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

/* --- names ----------------------------------------------------------------- */

/*
 * Names as their programs write them: of C++ and of Rust, by libiberty, where
 * it was there at build time.
 *
 * A hundred bytes of a mangled name can stand for gigabytes.  The reader's
 * limits of memory and time are what holds that, not a rule about names.
 */

/* No compiler writes longer ones. */
#define MANGLED_MAX 16384

bool
symread_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' ||
	    name[1] == 'D');
}

#ifdef HAVE_IBERTY

/* Without HAVE_DECL_BASENAME its header would declare one of its own. */
#include <libiberty/demangle.h>

static char *
demangle(const char *name)
{
	if (!symread_is_mangled(name) || strlen(name) > MANGLED_MAX)
		return NULL;
	return cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
}

#else

static char *
demangle(const char *name)
{
	(void)name;
	return NULL;
}

#endif

/* "name@VERSION" is what the linker calls it, not the program. */
char *
symread_demangle(const char *name)
{
	size_t len = strcspn(name, "@");
	char *plain, *bare;

	if (len == 0)
		len = strlen(name);
	if (len > MANGLED_MAX)
		len = MANGLED_MAX;
	if ((bare = strndup(name, len)) == NULL)
		return NULL;
	if ((plain = demangle(bare)) == NULL)
		return bare;
	free(bare);
	return plain;
}

/* --- answers --------------------------------------------------------------- */

/*
 * Answering a request: what the reader knows of each address of one file.
 */

#ifndef HAVE_ELFUTILS

void
symread_set_path(const char *path)
{
	(void)path;
}

void
symread_look(const struct packet_request *r, struct packet_answer *a)
{
	(void)r;
	memset(a, 0, sizeof(*a));
	a->file = SYMBOL_NO_READER;
}

#else

/* The symbol alone, where there is no debug information for it. */
static void
symbol_words(const char *symbol, struct symbol_words *w)
{
	for (unsigned k = 0; k <= w->n && k < SYMBOL_INLINES_MAX; k++) {
		free(w->line[k].function);
		free(w->line[k].file);
		memset(&w->line[k], 0, sizeof(w->line[k]));
	}
	w->n = 0;
	w->known = SYMBOL_NO_SYMBOL;
	if (symbol == NULL ||
	    (w->line[0].function = symread_demangle(symbol)) == NULL)
		return;
	w->n = 1;
	w->known = SYMBOL_NO_LINE;
}

static char *
unknown_name(void)
{
	return strdup("??");
}

/* An inlined function without a name is still there. */
static bool
name_all(struct symbol_words *w, const char *symbol)
{
	struct symbol_line *last = &w->line[w->n - 1];

	if (last->function == NULL && symbol != NULL)
		last->function = symread_demangle(symbol);
	if (last->function == NULL)
		return false;
	for (unsigned k = 0; k + 1 < w->n; k++) {
		if (w->line[k].function == NULL &&
		    (w->line[k].function = unknown_name()) == NULL)
			return false;
	}
	return true;
}

static void
find_words(struct image *m, const struct packet_request *r, uint64_t address,
    struct symbol_words *w)
{
	const char *symbol;
	uint64_t pc = address - 1;

	w->address = address;
	w->known = SYMBOL_NO_SYMBOL;
	if (address == 0 || (r->place.by_offset && !symread_offset(m, pc, &pc)))
		return;
	w->address = pc + 1;
	symbol = symread_symbol(m, pc);
	if (!symread_dwarf(m, pc, symbol, w) || !name_all(w, symbol)) {
		symbol_words(symbol, w);
		/* There is debug information, and it cannot be read. */
		if (m->has_debug && m->dwarf == NULL)
			w->known = SYMBOL_DAMAGED;
		return;
	}
	w->known = w->line[0].file != NULL ? SYMBOL_LINE : SYMBOL_NO_LINE;
}

static void
look_up(struct image *m, const struct packet_request *r, uint64_t address,
    struct symbol_words *w)
{
	find_words(m, r, address, w);
	for (unsigned k = 0; k < w->n; k++)
		symbol_fit_name(w->line[k].function);
}

void
symread_look(const struct packet_request *r, struct packet_answer *a)
{
	const unsigned char *id;
	struct image *m;
	GElf_Addr vaddr;
	int n;

	memset(a, 0, sizeof(*a));
	if ((m = symread_image(&r->place, r->debug, &a->file)) == NULL)
		return;
	a->file = SYMBOL_LINE;
	a->bare = !m->has_debug;
	n = dwfl_module_build_id(m->mod, &id, &vaddr);
	if (n > 0 && n <= SYMBOL_BUILD_ID_MAX) {
		a->build_id_len = (unsigned)n;
		memcpy(a->build_id, id, (size_t)n);
	}
	a->n = r->n;
	for (unsigned i = 0; i < r->n; i++)
		look_up(m, r, r->address[i], &a->words[i]);
}

#endif

#define MEMORY_MAX ((rlim_t)2 << 30)
#define FILES_MAX 256
/* It writes no file but a copy of the vdso. */
#define FILE_SIZE_MAX ((rlim_t)1 << 20)

/* --- limits --------------------------------------------------------------- */

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
	/* A sanitizer reserves more address space than that. */
	set_limit(RLIMIT_AS, MEMORY_MAX);
#endif
	/* libdw would ask servers, in the way of the answer. */
	unsetenv("DEBUGINFOD_URLS");
}

/* --- time ----------------------------------------------------------------- */

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
 * Whoever asked gives up before that, and ends us.  This is for when he is gone:
 * nobody is to wait for us then.  The end of a parent would be told by
 * PR_SET_PDEATHSIG, but also that of the one thread of his that has started us.
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

/* --- requests ------------------------------------------------------------- */

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
write_all(const uint8_t *at, size_t n)
{
	while (n > 0) {
		ssize_t put = write(STDOUT_FILENO, at, n);

		if (put < 0 && errno != EINTR)
			return false;
		if (put > 0) {
			at += put;
			n -= (size_t)put;
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
		    write_all(out.byte, out.len);
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
symbol_reader_main(int argc, char **argv)
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
	/* What libdw holds goes with the process; to free it takes longer. */
	_exit(0);
}
