/*
 * Two tasks that allocate and free with all functions there are, and keep a log
 * of it.  At the end the log is sent to the second serial line, one event a line:
 *
 *	alloc ADDRESS SIZE USED FUNCTION by THREAD HANDLE in CALLER LINE at T0 T1 seqno S0 S1
 *	free ADDRESS FUNCTION by ...
 *
 * Time and sequence number are between the two that are given.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "new.h"

extern "C" {
#include "target.h"
/* A debugger may stop here: all is done. */
void finished(void);
}

/* --- the log ----------------------------------------------------------------- */

struct event {
	uintptr_t ptr;
	size_t size;			/* (size_t)-1: a free */
	size_t used;
	const char *function, *caller;
	unsigned line;
	const void *by;			/* a task; NULL: before there is one */
	uint32_t time[2], seqno[2];
};

static event events[1024];
static unsigned n_events;
static const size_t FREE = (size_t)-1;

static uint32_t
next_seqno()
{
#if MDD_DEBUGDATA
	return *(volatile uint32_t *)&mdd_root.seqno;
#else
	return 0;
#endif
}

/* The state before a call of an allocation function, and after it. */
class call {
public:
	call(const char *function, const char *caller, unsigned line)
	{
		e.function = function;
		e.caller = caller;
		e.line = line;
		e.by = task_handle();
		e.time[0] = tick_count();
		e.seqno[0] = next_seqno();
	}

	void
	done(uintptr_t ptr, size_t size, size_t used)
	{
		uint32_t before = interrupts_off();

		e.ptr = ptr;
		e.size = size;
		e.used = used;
		e.time[1] = tick_count();
		e.seqno[1] = next_seqno();
		if (n_events < sizeof events / sizeof events[0])
			events[n_events++] = e;
		interrupts_restore(before);
	}

private:
	event e;
};

#define ALLOCATED(p, size, function, expression) do { \
	call c(function, __func__, __LINE__); \
	p = expression; \
	c.done((uintptr_t)p, size, malloc_usable_size((void *)p)); \
} while (0)
#define FREED(p, function, statement) do { \
	call c(function, __func__, __LINE__); \
	uintptr_t old = (uintptr_t)p; \
	statement; \
	c.done(old, FREE, 0); \
} while (0)

static void
send_log()
{
	static char line[200];
	int n;

	for (unsigned i = 0; i < n_events; i++) {
		const event &e = events[i];

		if (e.size == FREE)
			n = snprintf(line, sizeof line, "free 0x%08lx %s",
			    (unsigned long)e.ptr, e.function);
		else
			n = snprintf(line, sizeof line, "alloc 0x%08lx %u %u %s",
			    (unsigned long)e.ptr, (unsigned)e.size,
			    (unsigned)e.used, e.function);
		n += snprintf(line + n, sizeof line - (size_t)n,
		    " by %s 0x%08lx in %s %u at %lu %lu seqno %lu %lu\n",
		    e.by != NULL ? task_name(e.by) : "nobody",
		    (unsigned long)e.by, e.caller, e.line, (unsigned long)e.time[0],
		    (unsigned long)e.time[1], (unsigned long)e.seqno[0],
		    (unsigned long)e.seqno[1]);
		uart_send(1, line, (unsigned)n);
	}
#if MDD_DEBUGDATA
	n = snprintf(line, sizeof line,
	    "record %lu event %lu missed %lu unknown %lu replaced %lu\n",
	    (unsigned long)mdd_root.record_bytes,
	    (unsigned long)mdd_root.event_bytes,
	    (unsigned long)mdd_root.missed, (unsigned long)mdd_root.unknown,
	    (unsigned long)mdd_root.replaced);
	uart_send(1, line, (unsigned)n);
#endif
	uart_send(1, "end\n", 4);
}

/* --- the work ---------------------------------------------------------------- */

struct packet {
	packet *next;
	char bytes[40];
};

static const unsigned ROUNDS = 60;
static volatile unsigned ended;
static char *early;

/* Before there is a task. */
__attribute__((noinline)) static void
early_block()
{
	ALLOCATED(early, 100, "malloc()", (char *)malloc(100));
}

__attribute__((noinline)) static char *
message(unsigned round)
{
	char *text;

	ALLOCATED(text, round + 1, "malloc()", (char *)malloc(round + 1));
	text[round] = 0;
	return text;
}

/* newlib's own call: its caller is inside the library. */
__attribute__((noinline)) static char *
copy_name(const char *name)
{
	char *text;

	ALLOCATED(text, strlen(name) + 1, "strdup", strdup(name));
	return text;
}

__attribute__((noinline)) static void
grow(void *&p, unsigned size)
{
	call f("realloc_free", __func__, __LINE__ + 3);
	call c("realloc()", __func__, __LINE__ + 2);
	uintptr_t old = (uintptr_t)p;
	void *q = realloc(p, size);

	f.done(old, FREE, 0);
	c.done((uintptr_t)q, size, malloc_usable_size(q));
	p = q;
}

__attribute__((noinline)) static void
drop(void *p)
{
	FREED(p, "free()", free(p));
}

static void
wait_tick()
{
	uint32_t now = tick_count();

	while (tick_count() == now)
		task_yield();
}

static packet *list;

static void
writer()
{
	void *table, *aligned;

	ALLOCATED(table, 48, "calloc()", calloc(6, 8));
	ALLOCATED(aligned, 500, "memalign()", memalign(64, 500));
	for (unsigned round = 0; round < ROUNDS; round++) {
		packet *p;
		char *text = message(round);

		ALLOCATED(p, sizeof(packet), "new", new packet);
		p->next = list;
		list = p;
		grow(table, 56 + 8 * round);
		if (round % 4 != 0)
			drop(text);
		if (round % 3 == 0)
			wait_tick();
	}
	FREED(aligned, "free()", free(aligned));
	ended++;
	for (;;)
		task_yield();
}

static void
reader()
{
	char *name = copy_name(task_name(task_handle()));

	for (unsigned round = 0; round < ROUNDS; round++) {
		char *buffer, *quiet;
		packet *some, *one;

		ALLOCATED(buffer, 64 + round, "new[]", new char[64 + round]);
		ALLOCATED(quiet, 9, "new(nothrow)[]", new(std::nothrow) char[9]);
		ALLOCATED(one, sizeof(packet), "new(nothrow)", new(std::nothrow) packet);
		ALLOCATED(some, 3 * sizeof(packet), "new[]", new packet[3]);
		FREED(some, "delete[]", delete[] some);
		FREED(one, "delete", delete one);
		if (round % 5 != 0)
			FREED(buffer, "delete[]", delete[] buffer);
		FREED(quiet, "delete[]", delete[] quiet);
		if (round % 4 == 0)
			wait_tick();
	}
	drop(name);
	while (ended == 0)
		task_yield();
	send_log();
	finished();
	for (;;)
		task_yield();
}

static const task tasks[TASKS_MAX] = {
	{ "writer", writer },
	{ "reader", reader },
};

__attribute__((noinline)) void
finished(void)
{
	__asm__ volatile("");
}

int
main()
{
	early_block();
	tasks_begin(tasks, TASKS_MAX);
}
