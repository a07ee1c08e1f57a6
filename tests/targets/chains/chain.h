/*
 * chain: a program that knows who called whom, to hold against what a monitor
 * says of it.
 *
 * Vocabulary
 *	line		a function on the way to an allocation, with the source
 *			line that it is at; several inlined ones and the function
 *			they are in share one frame of the stack.
 *	way		the lines of the running thread, outermost first: kept
 *			by hand, with no help from the stack.
 *	apart		a function that is never inlined, cloned or merged.
 *	inside		a function that is always inlined.
 *	kept		a block whose address and way are told at the end.
 *
 * Example
 *	APART static void *
 *	middle(size_t n)
 *	{
 *		void *p;
 *
 *		THROUGH(p = leaf(n));
 *		return p;
 *	}
 *
 *	APART static void *leaf(size_t n) { void *p; KEEP(p, malloc(n)); return p; }
 *
 * Each macro is one source line, so that __LINE__ is the line of the call.
 * What is told goes to the file CHAINS_OUT.PID, one JSON object a line, which
 * compare beside this file reads.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif
#define INSIDE __attribute__((always_inline)) inline

enum chain_kind {
	CHAIN_APART,	/* a frame of its own */
	CHAIN_INLINED,	/* inlined in the line outside of it */
	CHAIN_MODULE,	/* one frame or more in the module of that name */
	CHAIN_PREFIX,	/* any lines whose function begins so */
	CHAIN_BARE,	/* a frame in code without a table: nothing outside is known */
	CHAIN_UNSURE,	/* outside of here the stack was damaged on purpose */
};

struct chain_line {
	const char *function;
	const char *file;
	int line; /* 0: not known */
	int kind;
};

#define CHAIN_LINES 600

struct chain_way {
	int n;
	struct chain_line line[CHAIN_LINES];
};

/* The running thread's way.  A coroutine brings its own and puts this back. */
extern __thread struct chain_way *chain_now;

/* An empty way for a thread or a coroutine, from static store. */
struct chain_way *chain_way_new(void);

void chain_push(const char *function, const char *file, int line, int kind);
void chain_pop(void);
/* Where the way is now, and back there: after a longjmp or a throw. */
int chain_mark(void);
void chain_reset(int mark);

void chain_keep(void *block);

/* A name for what follows; shown when a comparison fails. */
void chain_case(const char *name);

/* A new process: what its parent kept is inherited, its file is its own. */
void chain_forked(void);

/* Tells what was kept, then waits for a signal; without CHAINS_OUT neither. */
void chain_tell_and_wait(void);
/* The same in pieces, for a process that has more to do in between. */
void chain_tell(void);
void chain_wait(void);

/* The way of a thread whose outermost frames are libc's. */
void chain_thread(void);

#ifdef __cplusplus
#define CHAIN_HERE __PRETTY_FUNCTION__
#else
#define CHAIN_HERE __func__
#endif

/* Lines of this function are frames of their own ... */
static const int chain_kind_here __attribute__((unused)) = CHAIN_APART;
/* ... or, where this is the first declaration, inlined. */
#define INLINED \
	enum { chain_kind_here = CHAIN_INLINED }

#define THROUGH_AS(name, statement) \
	do { \
		chain_push(name, __FILE__, __LINE__, chain_kind_here); \
		statement; \
		chain_pop(); \
	} while (0)

/* A call that leads towards allocations. */
#define THROUGH(statement) THROUGH_AS(CHAIN_HERE, statement)

/* ... by way of functions of another module, which call back. */
#define THROUGH_MODULE(module, statement) \
	do { \
		chain_push(CHAIN_HERE, __FILE__, __LINE__, chain_kind_here); \
		chain_push(module, NULL, 0, CHAIN_MODULE); \
		statement; \
		chain_pop(); \
		chain_pop(); \
	} while (0)
#define THROUGH_LIBC(statement) THROUGH_MODULE("libc.so.6", statement)

/* An allocation that is kept. */
#define KEEP_AS(name, p, call) \
	do { \
		chain_push(name, __FILE__, __LINE__, chain_kind_here); \
		p = call; \
		chain_keep(p); \
		chain_pop(); \
	} while (0)
#define KEEP(p, call) KEEP_AS(CHAIN_HERE, p, call)
#define KEEP_LIBC(p, call) \
	THROUGH_LIBC(p = call; chain_keep(p))

/* A call that the optimiser makes a jump: then there is no line for it. */
#ifdef __OPTIMIZE__
#define TAIL(type, call) return call
#else
#define TAIL(type, call) \
	do { \
		type tail_; \
		THROUGH(tail_ = call); \
		return tail_; \
	} while (0)
#endif

#ifdef __cplusplus
}
#endif

#endif
