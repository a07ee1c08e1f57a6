/*
 * seed_ring: writes the scripts of fuzz_ring's stored corpus that are made by
 * hand: good- are what a producer may do, wrong- what none does.  The files
 * found- beside them were found by running.
 *
 *	make corpus-seed
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/stream/record.h"
#include "fuzz_ring.h"

#define ALLOC REC_FLAGS(REC_ALLOC, 1)
#define FREE REC_FLAGS(REC_FREE, 1)
#define FAILED REC_FLAGS(REC_ALLOC, REC_LEVEL_FAILED)
#define NAMED REC_FLAGS(REC_ALLOC, REC_LAYER_API | 1)
#define UNDO REC_FLAGS(REC_UNDO, 1)
#define CONTROL REC_FLAGS(REC_CONTROL, 0)

struct script {
	const char *name;
	uint8_t step[64];
};

/* Rings by their place in take_ring(): 0 1 2 small, 3 4 large, 5 to 8 middle. */
static const struct script scripts[] = {
	{ "good-nothing", { STEP_PASS } },
	{ "good-blocks", {
	    STEP_EVENT, 0, ALLOC, 1, 0, STEP_EVENT, 1, FREE, 1, 0,
	    STEP_EVENT, 0, ALLOC, 1, 0, STEP_PASS,
	    STEP_EVENT, 1, FREE, 1, 0 } },
	{ "good-many", {
	    STEP_MANY, 0, 255, STEP_PASS_SOME, 9, STEP_MANY, 1, 255,
	    STEP_MANY, 3, 200, STEP_PASS_SOME, 99, STEP_PASS,
	    STEP_MANY, 5, 100 } },
	{ "good-controls-and-failures", {
	    STEP_EVENT, 0, CONTROL, 1, 0, STEP_EVENT, 0, FAILED, 1, 0,
	    STEP_COMMON, CONTROL, 1, 0, STEP_COMMON, FAILED, 1, 0, STEP_PASS,
	    STEP_WITHIN, STEP_EVENT, 0, ALLOC, 2, 0 } },
	{ "good-range", {
	    STEP_EVENT, 0, NAMED, 3, 0, STEP_EVENT, 1, NAMED, 4, 0,
	    STEP_RANGE, 1, 0, 20, STEP_EVENT, 0, NAMED, 3, 0, STEP_PASS } },
	{ "good-range-of-everything", {
	    STEP_EVENT, 0, NAMED, 3, 0, STEP_RANGE, 0, 0, 255, STEP_PASS,
	    STEP_COMMON_RANGE, 0, 0, 255, STEP_EVENT, 0, NAMED, 3, 0 } },
	{ "good-common", {
	    STEP_COMMON, ALLOC, 1, 0, STEP_COMMON, FREE, 1, 0, STEP_PASS,
	    STEP_COMMON, ALLOC, 2, EVENT_HIDDEN, STEP_COMMON, ALLOC, 2, 0,
	    STEP_PASS, STEP_LAP, 2, 0, STEP_PASS } },
	{ "good-common-range", {
	    STEP_COMMON, NAMED, 1, 0, STEP_COMMON_RANGE, 0, 0, 30,
	    STEP_COMMON, NAMED, 1, 0, STEP_PASS } },
	{ "good-common-range-late", {
	    STEP_COMMON_RANGE, 1, 0, 30, STEP_COMMON, NAMED, 1, 0, STEP_PASS,
	    STEP_LAP, 0, 0, STEP_PASS } },
	{ "good-common-reallocs", {
	    STEP_COMMON, ALLOC, 3, EVENT_THREAD, STEP_COMMON, FREE, 3,
	    EVENT_THREAD | EVENT_REALLOC, STEP_COMMON, UNDO, 3, EVENT_THREAD,
	    STEP_PASS, STEP_COMMON, FREE, 3, EVENT_THREAD | EVENT_REALLOC } },
	{ "good-hole", {
	    STEP_INFLIGHT, 0, 1, STEP_EVENT, 0, ALLOC, 1, EVENT_HIDDEN,
	    STEP_EVENT, 1, ALLOC, 1, 0, STEP_PASS, STEP_PASS,
	    STEP_EVENT, 1, FREE, 1, 0, STEP_PASS, STEP_INFLIGHT, 0, 255,
	    STEP_PASS, STEP_EVENT, 1, ALLOC, 1, 0, STEP_PASS } },
	{ "good-hole-within", {
	    STEP_EVENT, 0, ALLOC, 1, EVENT_SKIPS, STEP_EVENT, 1, ALLOC, 2, 0,
	    STEP_PASS, STEP_WITHIN, STEP_EVENT, 1, ALLOC, 1, EVENT_SKIPS,
	    STEP_WITHIN, STEP_INFLIGHT, 2, 254, STEP_PASS } },
	{ "good-follow", {
	    STEP_EVENT, 0, ALLOC, 1, 0, STEP_FOLLOW, 3, 0, 0, 0,
	    STEP_EVENT, 3, FREE, 1, 0, STEP_PASS } },
	{ "good-follow-back", {
	    STEP_MANY, 0, 90, STEP_FOLLOW, 3, 0, 0, 0, STEP_MANY, 3, 90,
	    STEP_PASS_SOME, 20, STEP_PASS, STEP_FOLLOW, 0, 3, 0, 0,
	    STEP_MANY, 0, 90, STEP_PASS_SOME, 20 } },
	{ "good-site", {
	    STEP_MODULE, 1, 2, 20, 'a', STEP_MODULE, 9, 2, 0, 0,
	    STEP_SITE, 5, 1, 3, STEP_SITE, 64, 2, 0, STEP_EVENT, 0, ALLOC, 1,
	    EVENT_SITE, STEP_EVENT, 0, ALLOC, 2, EVENT_SITE, STEP_PASS,
	    STEP_COMMON, FREE, 1, EVENT_SITE } },
	{ "good-sleep", {
	    STEP_ARM, 0, STEP_EVENT, 0, ALLOC, 1, 0, STEP_COMMON, ALLOC, 2, 0,
	    STEP_RANGE, 0, 0, 9, STEP_PASS, STEP_ARM, 1, STEP_TIME, 9, 0,
	    STEP_PASS, STEP_EVENT, 0, ALLOC, 3, 0, STEP_PASS } },
	{ "good-sleep-with-records-in-hand", {
	    STEP_EVENT, 0, ALLOC, 1, EVENT_SKIPS, STEP_COMMON, ALLOC, 1,
	    EVENT_SKIPS, STEP_PASS_SOME, 0, STEP_ARM, 0, STEP_PASS,
	    STEP_ARM, 1, STEP_PASS } },
	{ "good-tickets-wrap", {
	    STEP_START_AT, 2, STEP_MANY, 0, 100, STEP_MANY, 1, 100, STEP_PASS,
	    STEP_MANY, 0, 100, STEP_EVENT, 0, FREE, 1, EVENT_SKIPS } },
	{ "wrong-ticket-twice", {
	    STEP_EVENT, 0, ALLOC, 1, 0, STEP_EVENT, 1, ALLOC, 1, EVENT_AGAIN,
	    STEP_PASS } },
	{ "wrong-op", {
	    STEP_EVENT, 0, 0x31, 1, 0, STEP_PASS } },
	{ "wrong-op-in-common", {
	    STEP_COMMON, 0x07, 1, 0, STEP_PASS } },
	{ "wrong-head", {
	    STEP_EVENT, 0, ALLOC, 1, 0, STEP_PASS,
	    STEP_POKE, 1, 0, 0, 1, 0xff, STEP_PASS } },
	{ "wrong-head-beyond", {
	    STEP_POKE, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, STEP_PASS } },
	{ "wrong-losses", {
	    STEP_POKE, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, STEP_PASS } },
	{ "wrong-inflight", {
	    STEP_POKE, 1, 0, 1, 3, 0xff, 0xff, STEP_PASS } },
	{ "wrong-leader-itself", { STEP_FOLLOW, 0, 0, 0, 0, STEP_PASS } },
	{ "wrong-leader-never-comes", {
	    STEP_FOLLOW, 3, 0, 9, 0, STEP_EVENT, 3, ALLOC, 1, 0, STEP_PASS,
	    STEP_PASS } },
	{ "wrong-leaders-in-a-ring", {
	    STEP_FOLLOW, 3, 0, 1, 0, STEP_FOLLOW, 0, 3, 1, 0,
	    STEP_EVENT, 3, ALLOC, 1, 0, STEP_EVENT, 0, ALLOC, 1, 0, STEP_PASS,
	    STEP_PASS } },
	{ "wrong-site", {
	    STEP_SITE, 65, 1, 0, STEP_EVENT, 0, ALLOC, 1, EVENT_SITE,
	    STEP_PASS } },
	{ "wrong-site-of-no-module", {
	    STEP_SITE, 5, 1, 3, STEP_EVENT, 0, ALLOC, 1, EVENT_SITE,
	    STEP_PASS } },
	{ "wrong-module", {
	    STEP_MODULE, 1, 2, 33, 'a', STEP_SITE, 5, 1, 2,
	    STEP_EVENT, 0, ALLOC, 1, EVENT_SITE, STEP_PASS } },
	{ "wrong-range-of-nothing", {
	    STEP_EVENT, 0, NAMED, 1, 0, STEP_RANGE, 0, 0, 255,
	    STEP_POKE, 1, 0, 0, 1, 0xc0, STEP_PASS } },
	{ "wrong-lap", {
	    STEP_COMMON, ALLOC, 1, 0, STEP_LAP, 0, 0x20, STEP_PASS } },
	/* A record that waits for its turn becomes a ticket of a range. */
	{ "wrong-slot-taken-twice", {
	    STEP_COMMON_RANGE, 1, 0, 1, STEP_LAP, 1, 0, STEP_PASS,
	    STEP_LAP, 1, LAP_MORE, STEP_LAP, 0, 0, STEP_PASS, STEP_PASS } },
	{ "wrong-slot-taken-twice-in-wait", {
	    STEP_COMMON, CONTROL, 9, EVENT_HIDDEN, STEP_COMMON, ALLOC, 1,
	    EVENT_SKIPS, STEP_PASS_SOME, 0, STEP_LAP, 1, LAP_MORE,
	    STEP_POKE, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0x7f, 0xe8, 0,
	    STEP_POKE, 3, 1, 0, 3, 1, 0, STEP_LAP, 0, 0, STEP_PASS,
	    STEP_EVENT, 0, ALLOC, 1, EVENT_AGAIN, STEP_PASS } },
};

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seed_ring FOLDER\n");
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		const struct script *s = &scripts[i];
		size_t len = sizeof(s->step);
		char path[512];
		FILE *f;

		while (len > 1 && s->step[len - 1] == 0)
			len--;
		snprintf(path, sizeof(path), "%s/%s", argv[1], s->name);
		f = fopen(path, "wb");
		if (f == NULL || fwrite(s->step, 1, len, f) != len ||
		    fclose(f) != 0) {
			perror(path);
			return EXIT_FAILURE;
		}
	}
	return EXIT_SUCCESS;
}
