/*
 * sandbox: whether a target has locked itself in since it said hello; see
 * "locked" in stream/ring.h.
 *
 * Known limit
 *	A look takes in SANDBOX_THREADS of a target's threads: one of the others
 *	that has locked itself in alone is found by a later one.
 */
#ifndef NODES_KEEPER_SANDBOX_H
#define NODES_KEEPER_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keeper;

#define SANDBOX_THREADS 16

struct sandbox {
	bool known;
	uint64_t at_hello;		/* proc_seccomp() of its first thread; 0: free */
	size_t next;			/* place of the thread to look at next */
	bool blind;			/* not all could be read since the first one was */
	bool locked;			/* for good: nobody gets out of a filter */
	uint64_t looks;			/* at all threads: what the target is told */
};

/*
 * While it waits for its welcome.  free: it says so itself, which is believed
 * where it could be seen: what is told it later rests on our looking.
 */
void sandbox_begin(struct keeper *, bool free);

/* From then on, about once a second. */
void sandbox_look(struct keeper *);

#endif
