/*
 * chain: see chain.h.  Allocates nothing, so that only what the programs keep
 * is there to be compared.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chain.h"

#define WAYS 64
#define BLOCKS 1024
#define STORE 60000
#define TEXT 65536

struct pmem {
	void *block;
	const char *name;
	int at, n;	/* its lines in store[] */
	int forks;	/* how many forks before */
};

static struct chain_way ways[WAYS];
static int ways_used;
static struct pmem kept[BLOCKS];
static int kept_used;
static struct chain_line store[STORE];
static int store_used;
static char text[TEXT];
static size_t text_used;
static int text_lock;
static const char *case_name = "";
static int forks;

__thread struct chain_way *chain_now;

static void
must(int fine, const char *what)
{
	if (fine)
		return;
	dprintf(2, "chain: %s\n", what);
	_exit(99);
}

struct chain_way *
chain_way_new(void)
{
	int i = __atomic_fetch_add(&ways_used, 1, __ATOMIC_RELAXED);

	must(i < WAYS, "too many ways");
	return &ways[i];
}

void
chain_push(const char *function, const char *file, int line, int kind)
{
	struct chain_way *w = chain_now;

	must(w != NULL && w->n < CHAIN_LINES, "no way");
	/* A handler that comes in between pushes above and pops again. */
	w->line[w->n] = (struct chain_line) { function, file, line, kind };
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->n++;
}

void
chain_pop(void)
{
	chain_now->n--;
}

int
chain_mark(void)
{
	return chain_now->n;
}

void
chain_reset(int mark)
{
	chain_now->n = mark;
}

void
chain_case(const char *name)
{
	case_name = name;
}

/* A copy: names are in the object that they are of, which may go. */
static const char *
copy(const char *s)
{
	const char *p;

	if (s == NULL)
		return NULL;
	while (__atomic_exchange_n(&text_lock, 1, __ATOMIC_ACQUIRE))
		;
	for (p = text; p < text + text_used; p += strlen(p) + 1)
		if (strcmp(p, s) == 0)
			break;
	if (p == text + text_used) {
		must(text_used + strlen(s) < TEXT, "too many names");
		strcpy(text + text_used, s);
		text_used += strlen(s) + 1;
	}
	__atomic_store_n(&text_lock, 0, __ATOMIC_RELEASE);
	return p;
}

void
chain_keep(void *block)
{
	int i = __atomic_fetch_add(&kept_used, 1, __ATOMIC_RELAXED);
	int n = chain_now->n;
	int at = __atomic_fetch_add(&store_used, n, __ATOMIC_RELAXED);

	must(block != NULL, "an allocation failed");
	must(i < BLOCKS && at + n <= STORE, "too much to keep");
	kept[i] = (struct pmem) { block, case_name, at, n, forks };
	for (int l = 0; l < n; l++) {
		store[at + l] = chain_now->line[l];
		store[at + l].function = copy(store[at + l].function);
		store[at + l].file = copy(store[at + l].file);
	}
}

void
chain_thread(void)
{
	chain_now = chain_way_new();
	chain_push("libc.so.6", NULL, 0, CHAIN_MODULE);
}

void
chain_forked(void)
{
	forks++;
}

void
chain_tell(void)
{
	static const char *const kinds[] = { "apart", "inlined", "module",
		"prefix", "bare", "unsure" };
	const char *out = getenv("CHAINS_OUT");
	char part[600], whole[500];
	int fd;

	if (out == NULL)
		return;
	snprintf(whole, sizeof(whole), "%s.%ld", out, (long)getpid());
	snprintf(part, sizeof(part), "%s.part", whole);
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd != -1, "cannot write what is kept");
	for (int i = 0; i < kept_used; i++) {
		struct pmem *k = &kept[i];

		dprintf(fd,
		    "{\"address\":\"0x%lx\",\"case\":\"%s\",\"inherited\":%s,\"way\":[",
		    (unsigned long)k->block, k->name,
		    k->forks < forks ? "true" : "false");
		for (int l = k->n - 1; l >= 0; l--) {
			struct chain_line *line = &store[k->at + l];

			dprintf(fd, "[\"%s\",\"%s\",%d,\"%s\"]%s",
			    kinds[line->kind], line->function, line->line,
			    line->file != NULL ? line->file : "",
			    l > 0 ? "," : "");
		}
		dprintf(fd, "]}\n");
	}
	close(fd);
	rename(part, whole);
}

void
chain_wait(void)
{
	/* Who watches ends us; a program that is left alone ends by the clock. */
	alarm(600);
	while (getenv("CHAINS_OUT") != NULL)
		pause();
}

void
chain_tell_and_wait(void)
{
	chain_tell();
	chain_wait();
}

/* The way of main: what calls it is _start and libc. */
__attribute__((constructor)) static void
begin(void)
{
	chain_now = chain_way_new();
	chain_push("_start", NULL, 0, CHAIN_APART);
	chain_push("libc.so.6", NULL, 0, CHAIN_MODULE);
}
