/*
 * sums FILE: what a capture holds, as tests look at it: a line for each part in
 * the form of pagek's --report, so that tests/count/compare reads it, then on
 * standard error a line about the whole and one for each damage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/base.h"
#include "../../src/capture/capture.h"

#define EVENTS 4096

struct sum {
	uint64_t events, callers, frees;	/* callers: frees that have one */
};

static struct sum *
count_events(struct capture *c, uint32_t parts, uint64_t *all)
{
	struct sum *sums = calloc(parts + 1, sizeof *sums);
	static struct capture_event ev[EVENTS];
	size_t n;
	int err = 0;

	*all = 0;
	while (sums != NULL && (err = capture_next(c, ev, EVENTS, &n)) == 0 &&
	    n > 0)
		for (size_t i = 0; i < n; i++) {
			struct sum *s = &sums[ev[i].part];

			if (ev[i].what != CAPTURE_EVENT)
				continue;
			++*all;
			s->events++;
			if (rec_op(&ev[i].rec) != REC_FREE)
				continue;
			s->frees++;
			s->callers += rec_caller(&ev[i].rec) != 0;
		}
	if (err < 0)
		fprintf(stderr, "events: %s\n", strerror(-err));
	return sums;
}

/* The blocks with which the part began. */
static size_t
first_rows(struct capture *c, uint32_t part, uint64_t first)
{
	struct capture_list *list;
	size_t n = 0;

	if (capture_seek(c, part, &(struct capture_when){ .at = CAPTURE_AT_SEQ,
	    .seq = first }, &list) < 0)
		return 0;
	(void)capture_list_rows(list, &n);
	capture_list_free(list);
	return n;
}

static void
print_part(struct capture *c, uint32_t part, const struct sum *sum)
{
	const struct capture_totals *t;
	struct capture_part_info info;
	struct capture_list *list;
	uint64_t seq, lost = 0;
	const struct blk *row;
	uint64_t bytes = 0;
	size_t n = 0;
	char comm[64];
	int64_t ms;
	bool known;

	if (!capture_part(c, part, &info))
		return;
	if (capture_seek(c, part, &(struct capture_when){ .at =
	    CAPTURE_AT_END }, &list) < 0) {
		fprintf(stderr, "part %u has no end\n", part);
		return;
	}
	t = capture_list_totals(list);
	known = capture_list_at(list, &seq, &ms);
	for (unsigned i = 0; i < STREAM_CAUSES; i++)
		lost += t->lost[i];
	row = capture_list_rows(list, &n);
	for (size_t i = 0; i < n; i++)
		bytes += row[i].size;
	base_safe_text(comm, sizeof comm, info.part.comm,
	    strlen(info.part.comm), true);
	printf("{\"pid\": %" PRId64 ", \"comm\": \"%s\", \"allocs\": %" PRIu64
	    ", \"frees\": %" PRIu64 ", \"failed\": %" PRIu64
	    ", \"inherited_blocks\": %zu, \"live_blocks\": %zu, "
	    "\"live_bytes\": %" PRIu64 ", \"lost\": %" PRIu64
	    ", \"duplicate\": %" PRIu64 ", \"unknown_free\": %" PRIu64
	    ", \"illegal_type\": 0, \"full\": 0, \"complete\": %s, "
	    "\"reason\": \"\", \"blocks\": %" PRIu64 ", \"bytes\": %" PRIu64
	    ", \"peak_bytes\": %" PRIu64 ", \"events\": %" PRIu64
	    ", \"frees_with_caller\": %" PRIu64 ", \"free_records\": %" PRIu64
	    ", \"part\": %u, \"parent\": %u, \"began\": %u, \"sites\": %u, "
	    "\"modules\": %u, \"ended\": %s, \"status\": %d}\n",
	    info.part.pid, comm, t->allocs, t->frees, t->failed,
	    first_rows(c, part, info.part.first), n, bytes, lost, t->duplicate,
	    t->unknown_free, known ? "true" : "false", t->blocks, t->bytes,
	    t->peak_bytes, sum->events, sum->callers, sum->frees, part,
	    info.part.parent, info.part.began, capture_sites(c, part),
	    capture_modules(c, part), info.ended ? "true" : "false",
	    info.status);
	capture_list_free(list);
}

int
main(int argc, char **argv)
{
	struct capture_about about;
	char why[CAPTURE_WHY];
	struct capture *c;
	struct sum *sums;
	uint64_t events;

	if (argc != 2)
		return 2;
	if (capture_open(&c, argv[1], why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 5;
	}
	capture_about(c, &about);
	sums = count_events(c, about.parts, &events);
	for (uint32_t part = 1; sums != NULL && part <= about.parts; part++)
		print_part(c, part, &sums[part]);
	capture_about(c, &about);
	fprintf(stderr, "parts %u events %" PRIu64 " segments %" PRIu64
	    " oldest %" PRIu64 " gaps %" PRIu64 " lost %" PRIu64
	    " damages %zu %s: %s\n", about.parts, events, about.segments,
	    about.oldest, about.gaps, about.lost, capture_damages(c),
	    about.ended ? "ended" : "open", about.ended ? about.reason : "");
	for (size_t i = 0; i < capture_damages(c); i++)
		fprintf(stderr, "damage: %s\n", capture_damage(c, i));
	free(sums);
	capture_close(c);
	return 0;
}
