/*
 * fuzz_symbol: any bytes as a program's file.
 *
 * As a fuzzer it looks addresses up in this process, to find faults of our own
 * code: one inside of libdw, libelf or a decompressor is what the reader is a
 * process for, and is counted and left behind, as is a file that takes too
 * long.  What such a file has leaked is lost.
 *
 * Claim: what is answered is an answer, and comes through a packet as it is.
 *
 * With REPLAY a main() gives files to the client and the real reader process,
 * and claims that there is an answer for each, whatever it did to the reader.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../src/base/base.h"
#include "../../src/symbol/packet.h"
#include "../../src/symbol/reader/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
const char *__asan_default_options(void);

static void
claim(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_symbol: does not hold: %s\n", what);
	abort();
}

/* Where the stored programs have their code, and where nothing is. */
static unsigned
addresses(uint64_t *to)
{
	static const uint64_t starts[] = { 0x2c0, 0x2ec, 0x400150, 0x0 };
	unsigned n = 0;

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
		for (uint64_t k = 0; k < 15; k++)
			to[n++] = starts[i] + 1 + k * 3;
	to[n++] = UINT64_MAX;
	return n;
}

static void
claim_words(const struct symbol_words *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		claim(w[i].known > SYMBOL_PENDING &&
		    w[i].known <= SYMBOL_NO_READER, "it is said how much is known");
		claim(w[i].n <= SYMBOL_INLINES_MAX, "lines have an end");
		claim(w[i].n > 0 || (w[i].known != SYMBOL_LINE &&
		    w[i].known != SYMBOL_NO_LINE), "a symbol is named");
		for (unsigned k = 0; k < w[i].n; k++)
			claim(w[i].line[k].function != NULL,
			    "a function has a name");
		claim((w[i].type != NULL) ==
		    (w[i].type_from != SYMBOL_TYPE_UNKNOWN) &&
		    (w[i].type == NULL ||
		    strlen(w[i].type) <= SYMBOL_NAME_MAX),
		    "a type has a name and a source, or neither");
	}
}

#ifndef REPLAY

static sigjmp_buf out_of_it;
static unsigned long theirs, slow;

/* Short enough that libFuzzer itself does not give up. */
#define SECONDS 5

static void
on_fault(int sig, siginfo_t *info, void *context)
{
	static const char *const libraries[] = {
		"libdw", "libelf", "libz.", "libzstd", "liblzma", "libbz2",
		"libc.so",
	};
	const ucontext_t *uc = context;
	Dl_info lib = { .dli_fname = "" };

	(void)info;
	if (sig == SIGALRM) {
		slow++;
		siglongjmp(out_of_it, 1);
	}
#ifdef __x86_64__
	dladdr((void *)uc->uc_mcontext.gregs[REG_RIP], &lib);
#else
	(void)uc;
#endif
	for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
		if (strstr(lib.dli_fname, libraries[i]) != NULL) {
			theirs++;
			siglongjmp(out_of_it, 1);
		}
	}
	fprintf(stderr, "fuzz_symbol: signal %d in %s\n", sig, lib.dli_fname);
	abort();
}

/* Faults come to us; libdw is not built to be looked into. */
const char *
__asan_default_options(void)
{
	return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:"
	    "allow_user_segv_handler=1:detect_leaks=0:"
	    "allocator_may_return_null=1";
}

static void
catch_faults(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGALRM };
	struct sigaction sa = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK,
	};
	static char stack[65536];
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };

	sigaltstack(&own, NULL);
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaction(signals[i], &sa, NULL);
}

static void
comes_through(const struct packet_answer *a)
{
	static struct packet_answer back;
	struct packet_out out = { 0 };

	claim(packet_put_answer(&out, a) == 0, "an answer fits");
	claim(packet_get_answer(out.byte + 4, out.len - 4, &back) == 0,
	    "an answer comes through");
	claim(back.n == a->n && back.file == a->file, "it is the same");
	for (unsigned i = 0; i < a->n; i++)
		claim(back.words[i].n == a->words[i].n &&
		    back.words[i].address == a->words[i].address,
		    "its words are the same");
	packet_answer_fini(&back);
	packet_out_fini(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct packet_request r;
	static struct packet_answer a;
	static bool caught;
	static char path[32];
	static int fd;

	if (!caught)
		catch_faults();
	caught = true;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	claim(fd >= 0 && write(fd, p, len) == (ssize_t)len, "memory");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	r.place.path = path;
	r.place.by_offset = len % 2 == 0;
	r.n = addresses(r.address);
	if (sigsetjmp(out_of_it, 1) == 0) {
		alarm(SECONDS);
		symread_look(&r, &a);
		alarm(0);
		claim_words(a.words, a.n);
		comes_through(&a);
		packet_answer_fini(&a);
	}
	close(fd);
	return 0;
}

#else

static void
replay(struct symbols *s, const char *file)
{
	struct symbol_place p[PACKET_ADDRESSES_MAX] = { { .path = NULL } };
	struct symbol_words w[PACKET_ADDRESSES_MAX];
	uint64_t addr[PACKET_ADDRESSES_MAX];
	char path[PATH_MAX];
	unsigned n = addresses(addr);

	claim(realpath(file, path) != NULL, file);
	for (unsigned i = 0; i < n; i++) {
		p[i].path = path;
		p[i].address = addr[i];
		p[i].by_offset = i % 2;
	}
	symbols_look(s, p, n, w);
	claim_words(w, n);
	for (unsigned i = 0; i < n; i++)
		symbol_words_fini(&w[i]);
}

/* pagek-symbols, in the folder above this program's. */
int
main(int argc, char **argv)
{
	struct symbols_opts o = { .timeout_ms = 5000 };
	char reader[PATH_MAX + 32];
	struct symbols *s;
	ssize_t n = readlink("/proc/self/exe", reader, PATH_MAX - 1);
	int i;

	claim(n > 0, "who we are");
	reader[n] = '\0';
	*strrchr(reader, '/') = '\0';
	strcpy(strrchr(reader, '/'), "/pagek-symbols");
	o.reader = reader;
	for (i = 1; i < argc; i++) {
		/* Each its own, for starts of readers are bounded. */
		claim(symbols_new(&s, &o) == 0, "memory");
		replay(s, argv[i]);
		symbols_free(s);
	}
	printf("fuzz_symbol: %d files\n", argc - 1);
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
