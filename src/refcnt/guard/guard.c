#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../stream/guard.h"
#include "guard.h"

#define WORDS (GUARD_PAGES * GUARD_NODES * 2)

/* The ranges that the target was asked to guard. */
struct request {
	uint32_t number;
	unsigned n;
	bool exact;
	struct guard_range range[GUARD_RANGES];
};

struct guard {
	struct guard_area *area;
	unsigned columns, nodes_of_column;
	struct request now, before;
	bool pending;		/* the target still counts by `before`, not by `now` */
	struct refcnt_range *found;
	size_t found_cap;
	uint32_t *last[GUARD_BANKS];	/* the counts at the last read */
};

/* --- the area ---------------------------------------------------------------------- */

static void
write_columns(struct guard *g, const struct refcnt_topology *t)
{
	unsigned nodes = t->nodes > 0 ? t->nodes : 1;
	int32_t node;

	g->nodes_of_column = (nodes + GUARD_NODES - 1) / GUARD_NODES;
	g->columns = (nodes + g->nodes_of_column - 1) / g->nodes_of_column;
	for (unsigned cpu = 0; cpu < GUARD_CPUS; cpu++) {
		node = refcnt_node_of_cpu(t, cpu);
		g->area->column[cpu] = node < 0 ? 0 :
		    (uint8_t)((unsigned)node / g->nodes_of_column);
	}
	g->area->nodes = g->columns;
}

static int
map_area(struct guard *g, int fd)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	void *p;

	if (seals == -1 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &st) != 0 ||
	    st.st_size != (off_t)sizeof *g->area)
		return -EBADF;
	p = mmap(NULL, sizeof *g->area, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	g->area = p;
	return atomic_load(&g->area->version) == GUARD_VERSION ? 0 : -EBADF;
}

int
guard_open(struct guard **out, int descriptor, const struct refcnt_topology *t)
{
	struct guard *g = calloc(1, sizeof *g);
	int err = g == NULL ? -ENOMEM : map_area(g, descriptor);

	close(descriptor);
	for (unsigned i = 0; err == 0 && i < GUARD_BANKS; i++)
		if ((g->last[i] = calloc(WORDS, sizeof *g->last[i])) == NULL)
			err = -ENOMEM;
	if (err < 0) {
		guard_close(g);
		return err;
	}
	write_columns(g, t);
	atomic_store(&g->area->wanted, 1);
	*out = g;
	return 0;
}

void
guard_close(struct guard *g)
{
	if (g == NULL)
		return;
	if (g->area != NULL) {
		atomic_store(&g->area->wanted, 0);
		/* A target ends its guard only after a first request. */
		atomic_fetch_add(&g->area->number, 1);
		munmap(g->area, sizeof *g->area);
	}
	for (unsigned i = 0; i < GUARD_BANKS; i++)
		free(g->last[i]);
	free(g->found);
	free(g);
}

/* --- ranges -------------------------------------------------------------------------- */

/* -E2BIG: only the first ranges fit. */
static int
collect(struct guard *g, const struct refcnt *counted, struct request *r)
{
	size_t n = refcnt_ranges(counted, NULL, 0);
	uint32_t pages = 0, room;
	int err = base_grow((void **)&g->found, &g->found_cap, n + 1,
	    sizeof *g->found);

	r->n = 0;
	r->exact = refcnt_has(counted, REFCNT_EXACT);
	if (err < 0)
		return err;
	n = refcnt_ranges(counted, g->found, g->found_cap);
	for (size_t i = 0; i < n && i < g->found_cap; i++) {
		const struct refcnt_range *f = &g->found[i];
		uint64_t wanted = f->len / REFCNT_PAGE;

		/* The target refuses a request with the last page of the address space. */
		if ((f->source != REFCNT_GUARD && f->source != REFCNT_EXACT) ||
		    f->vaddr + f->len == 0)
			continue;
		room = GUARD_PAGES - pages;
		if (wanted > room)
			err = -E2BIG;
		wanted = wanted < room ? wanted : room;
		if (wanted == 0 || r->n == GUARD_RANGES)
			return -E2BIG;
		r->range[r->n++] = (struct guard_range){ .at = f->vaddr,
			.pages = (uint32_t)wanted, .first = pages };
		pages += (uint32_t)wanted;
	}
	return err;
}

static void
publish(struct guard *g, struct request *r)
{
	unsigned bank;

	r->number = g->now.number + 1;
	bank = r->number % GUARD_BANKS;
	for (size_t i = 0; i < WORDS; i++)
		if (atomic_load(&g->area->count[bank][i]) != 0)
			atomic_store(&g->area->count[bank][i], 0);
	memset(g->last[bank], 0, WORDS * sizeof *g->last[bank]);
	g->area->exact = r->exact;
	g->area->ranges = r->n;
	memcpy(g->area->range, r->range, sizeof r->range);
	g->before = g->now;
	g->now = *r;
	g->pending = true;
	atomic_store(&g->area->number, r->number);
}

int
guard_begin(struct guard *g, const struct refcnt *counted)
{
	struct request r = { 0 };
	int err = collect(g, counted, &r);

	if (err < 0 && err != -E2BIG)
		return err;
	if (g->now.number > 0 && r.exact != g->now.exact)
		return -ESTALE;
	if (!g->pending && (r.n != g->now.n ||
	    memcmp(r.range, g->now.range, sizeof r.range) != 0))
		publish(g, &r);
	return err;
}

void
guard_beat(struct guard *g)
{
	atomic_fetch_add(&g->area->beat, 1);
}

/* --- counts ----------------------------------------------------------------------------- */

static uint32_t
newly(struct guard *g, unsigned bank, size_t place)
{
	uint32_t now = atomic_load(&g->area->count[bank][place]);
	uint32_t more = now - g->last[bank][place];

	g->last[bank][place] = now;
	return more;
}

static void
read_range(struct guard *g, unsigned bank, const struct guard_range *r,
    guard_touched *touched, void *arg)
{
	for (uint32_t i = 0; i < r->pages; i++)
		for (uint32_t k = 0; k < g->columns; k++) {
			size_t place = guard_place(r->first + i, g->columns, k, 0);
			uint32_t reads = newly(g, bank, place);
			uint32_t writes = newly(g, bank, place + 1);

			if (reads != 0 || writes != 0)
				touched(arg, r->at + (uint64_t)i * REFCNT_PAGE,
				    k * g->nodes_of_column, reads, writes);
		}
}

static void
read_counts(struct guard *g, const struct request *r, guard_touched *touched,
    void *arg)
{
	for (unsigned i = 0; i < r->n; i++)
		read_range(g, r->number % GUARD_BANKS, &r->range[i], touched, arg);
}

void
guard_end(struct guard *g, guard_touched *touched, void *arg)
{
	bool heeded = atomic_load(&g->area->heeded) == g->now.number;

	if (g->pending)
		read_counts(g, &g->before, touched, arg);
	if (g->pending && heeded)
		g->pending = false;
	if (!g->pending)
		read_counts(g, &g->now, touched, arg);
}

/* --- sentences ---------------------------------------------------------------------------- */

#define NUMBER "\1"	/* the place of the detail in a sentence */

static const struct {
	const char *text;
	bool again;
} sentences[GUARD_WHYS] = {
	[GUARD_ASKED] = { "the guard has ended", true },
	[GUARD_LEFT] = { "the guard has ended, because the node's heartbeat "
	    "stopped", true },
	[GUARD_KERNEL] = { "the kernel has no Syscall User Dispatch for the target "
	    "(error " NUMBER "), as Linux has from 5.11 on", false },
	[GUARD_MEMORY] = { "the target has not enough mappings left (vm.max_map_count) "
	    "to protect these pages", false },
	[GUARD_SECCOMP] = { "thread " NUMBER " is in a sandbox (seccomp)", false },
	[GUARD_TRACED] = { "process " NUMBER " debugs or traces the target", false },
	[GUARD_BLOCKED] = { "thread " NUMBER " blocks SIGSYS, SIGSEGV or SIGURG (with "
	    "the source exact, or SIGTRAP)", false },
	[GUARD_WAITS] = { "thread " NUMBER " waits in a system call that a signal "
	    "would end", false },
	[GUARD_SLOW] = { "thread " NUMBER " has not answered yet", false },
	[GUARD_THREADS] = { "the target has too many threads, or one (" NUMBER ") that "
	    "the C library does not know", false },
	[GUARD_HANDLER] = { "the program handles signal " NUMBER " itself", false },
	[GUARD_FAULT] = { "the program itself caused signal " NUMBER, false },
	[GUARD_STACK] = { "thread " NUMBER " has its stack or its storage in these "
	    "pages", false },
	[GUARD_CALL] = { "the program has made system call " NUMBER ", which is not "
	    "possible with a guard", false },
	[GUARD_RANGE] = { "the range contains no private memory, such as that of "
	    "malloc(3)", false },
	[GUARD_KERNEL_USES] = { "the program has an io_uring or a context of io_setup(2), "
	    "so the kernel may use these pages between its calls", false },
	[GUARD_LIMIT] = { "the program has a limit for its data (RLIMIT_DATA), so "
	    "that pages might not be opened again", false },
	[GUARD_SMALL] = { "thread " NUMBER " has little room on its stack, or on its "
	    "alternate stack", false },
	[GUARD_CALL_32] = { "the program has made system call " NUMBER " of 32-bit "
	    "programs, which is not possible with a guard", false },
	[GUARD_LEAVES] = { "thread " NUMBER " forks, or starts programs or threads, "
	    "all the time", false },
	[GUARD_ALONE] = { "the program has " NUMBER " threads, and this processor has no "
	    "protection keys: the references of one would be missed while a "
	    "page is open for another", false },
	[GUARD_KEYS] = { "the program uses protection keys (pkey_alloc(2)) itself", false },
	[GUARD_PROC] = { "the target cannot read its own folder in /proc (error "
	    NUMBER ")", false },
};

static void
put_sentence(char *out, size_t cap, const char *text, uint32_t detail)
{
	const char *at = strchr(text, NUMBER[0]);

	if (at == NULL)
		snprintf(out, cap, "%s", text);
	else
		snprintf(out, cap, "%.*s%u%s", (int)(at - text), text, detail,
		    at + 1);
}

static void __attribute__((format(printf, 2, 3)))
append(char out[REFCNT_WHY], const char *format, ...)
{
	size_t n = strlen(out);
	va_list args;

	va_start(args, format);
	vsnprintf(out + n, REFCNT_WHY - n, format, args);
	va_end(args);
}

/* For a guard that counts: its cost, and what it misses. */
static void
explain_cost(const struct guard *g, char out[REFCNT_WHY])
{
	uint32_t ns = atomic_load(&g->area->call_ns);
	uint32_t reference = atomic_load(&g->area->reference_ns);
	uint64_t left = atomic_load(&g->area->left_out);
	uint64_t cut = atomic_load(&g->area->cut);
	uint64_t epochs = atomic_load(&g->area->epochs);
	uint64_t gaps = atomic_load(&g->area->gaps);
	uint64_t us = atomic_load(&g->area->gaps_us);

	append(out, "each system call of the program takes %u.%u us longer",
	    ns / 1000, ns % 1000 / 100);
	if (reference > 0)
		append(out, ", each reference at least %u.%u us", reference / 1000,
		    reference % 1000 / 100);
	if (gaps > 0)
		append(out, "; references may be missing: pages were open in %s gaps, "
		    "%s ms in all", base_digits(gaps).text,
		    base_digits((us + 999) / 1000).text);
	if (cut > 0)
		append(out, "; %s of %s epochs are cut short by its calls",
		    base_digits(cut).text, base_digits(epochs).text);
	if (left > 0)
		append(out, "; %s pages are not private memory and are not counted",
		    base_digits(left).text);
}

bool
guard_explain(const struct guard *g, char why[REFCNT_WHY], bool *again)
{
	uint32_t state = atomic_load(&g->area->state);
	uint32_t reason = atomic_load(&g->area->why);
	uint32_t detail = atomic_load(&g->area->detail);
	const char *text, *things;
	char said[REFCNT_WHY];

	*again = false;
	why[0] = '\0';
	if (reason >= GUARD_WHYS)
		reason = GUARD_NOT;
	text = sentences[reason].text;
	if (text == NULL && state == GUARD_ON) {
		explain_cost(g, why);
		return true;
	}
	if (text == NULL)
		text = "the target is being prepared";
	things = g->now.exact ? "references" : "touches";
	put_sentence(said, sizeof said, text, detail);
	if (state != GUARD_ENDED) {
		snprintf(why, REFCNT_WHY, "%s are not counted %s: %.180s", things,
		    state == GUARD_ON ? "now" : "yet", said);
		return true;
	}
	*again = sentences[reason].again;
	snprintf(why, REFCNT_WHY, "%s are not counted any more: %.180s: use the "
	    "source refs", things, said);
	return false;
}
