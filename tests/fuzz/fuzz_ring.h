/*
 * The language of fuzz_ring's scripts.
 */
#ifndef TESTS_FUZZ_FUZZ_RING_H
#define TESTS_FUZZ_FUZZ_RING_H

/* The first byte of a step, modulo their number; the stored scripts know it. */
enum ring_step {
	STEP_POKE,		/* where, how, what */
	STEP_EVENT,		/* ring, flags, slot, how */
	STEP_MANY,		/* ring, how many allocations */
	STEP_RANGE,		/* ring, slot, length */
	STEP_COMMON,		/* flags, slot, how */
	STEP_COMMON_RANGE,	/* whether hidden, slot, length */
	STEP_LAP,		/* slot, how */
	STEP_MODULE,		/* start, pages, length of its id, path's byte */
	STEP_SITE,		/* depth, end, modules */
	STEP_FOLLOW,		/* ring, its leader, where to, where from */
	STEP_INFLIGHT,		/* ring, slot; 254 all, 255 none */
	STEP_WITHIN,		/* the next one happens in the middle of a pass */
	STEP_PASS,
	STEP_PASS_SOME,		/* how many less 1 */
	STEP_ARM,		/* 0 or 1 */
	STEP_TIME,		/* two bytes of milliseconds */
	STEP_START_AT,		/* tickets begin so many before 0 */
	RING_STEPS
};

/* How an event is made. */
#define EVENT_HIDDEN 0x01	/* and not published */
#define EVENT_SKIPS 0x02	/* passes a ticket over */
#define EVENT_AGAIN 0x04	/* has a ticket that is drawn already */
#define EVENT_REALLOC 0x08
#define EVENT_THREAD 0x10	/* of a thread by its slot */
#define EVENT_SITE 0x20		/* of a stack by its slot */

/* What a slot's lap says; the upper four bits are the lap. */
#define LAP_NONE 0x01
#define LAP_MORE 0x02

#endif
