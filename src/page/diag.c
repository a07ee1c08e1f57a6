/*
 * See diag.h.  The table says what there is and where it comes from; all else
 * is one way of asking, remembering and writing.
 */
#include <stddef.h>
#include <string.h>

#include "diag.h"
#include "own_use.h"

#define NAME_COLS 17
#define NUMBER_COLS 13
#define MOVED_COLS 5
#define WHAT_FOLD 4	/* where what a number is goes on below it */
#define MOVED_NS INT64_C(10000000000)	/* for so long it is marked */
#define WEIGH_NS INT64_C(1000000000)

enum unit { COUNT, BYTES, MICROSECONDS };

/* False: that is not known. */
typedef bool (*number_of)(const struct page_diag *,
    const struct page_diag_from *, size_t at, uint64_t *);

struct number {
	const char *name;	/* NULL value: the title of those that follow */
	const char *what;
	number_of value;
	size_t at;
	bool gauge;
	enum unit unit;
};

/* --- where they come from ----------------------------------------------- */

static bool
of_list(const struct page_diag *d, const struct page_diag_from *f, size_t at,
    uint64_t *n)
{
	(void)d;
	if (f->counts != NULL)
		*n = *(const uint64_t *)((const char *)f->counts + at);
	return f->counts != NULL;
}

static bool
of_active(const struct page_diag *d, const struct page_diag_from *f, size_t at,
    uint64_t *n)
{
	(void)d;
	if (f->counts != NULL)
		*n = at == 0 ? f->counts->aRecActive :
		    f->counts->aRecMax - f->counts->aRecActive;
	return f->counts != NULL;
}

static bool
of_keeper(const struct page_diag *d, const struct page_diag_from *f,
    size_t at, uint64_t *n)
{
	(void)d;
	if (f->look->keeper != NULL)
		*n = f->look->keeper[at];
	return f->look->keeper != NULL;
}

static bool
of_node(const struct page_diag *d, const struct page_diag_from *f, size_t at,
    uint64_t *n)
{
	(void)d;
	if (f->look->node != NULL)
		*n = f->look->node[at];
	return f->look->node != NULL;
}

static bool
of_lost(const struct page_diag *d, const struct page_diag_from *f, size_t at,
    uint64_t *n)
{
	(void)d;
	*n = f->look->lost[at];
	return true;
}

enum { CYCLE_RECORDS, TOTAL_RECORDS, MENDED, BAD_RECORDS, SESSION_US,
	SESSION_US_MAX, SESSION_MISSED, STALE_MS, TRIES };

static bool
of_session(const struct page_diag *d, const struct page_diag_from *f,
    size_t at, uint64_t *n)
{
	const struct nodes_look *look = f->look;

	(void)d;
	switch (at) {
	case CYCLE_RECORDS:
		*n = look->cycle_records;
		return true;
	case TOTAL_RECORDS:
		*n = look->total_records;
		return true;
	case MENDED:
		*n = look->mended;
		return true;
	case BAD_RECORDS:
		*n = look->bad_records;
		return true;
	case SESSION_US:
		*n = look->cycle_us;
		return true;
	case SESSION_US_MAX:
		*n = look->cycle_us_max;
		return true;
	case SESSION_MISSED:
		*n = look->missed_cycles;
		return true;
	case STALE_MS:
		*n = look->stale_ms > 0 ? (uint64_t)look->stale_ms : 0;
		return true;
	case TRIES:
		*n = look->tries;
		return true;
	default:
		return false;
	}
}

enum { SENT, RECEIVED, HITS, MISSES, KEPT, PENDING };

static bool
of_effort(const struct page_diag *d, const struct page_diag_from *f,
    size_t at, uint64_t *n)
{
	const struct nodes_effort *e = f->effort;

	(void)d;
	if (e == NULL)
		return false;
	*n = at == SENT ? e->sent : at == RECEIVED ? e->received :
	    at == HITS ? e->hits : at == MISSES ? e->misses :
	    at == KEPT ? e->kept : f->pending;
	return true;
}

enum { PAGE_CYCLES, PAGE_CYCLES_PAINTED, PAGE_MISSED, PAGE_DRAWN };

static bool
of_page(const struct page_diag *d, const struct page_diag_from *f, size_t at,
    uint64_t *n)
{
	(void)d;
	*n = at == PAGE_CYCLES ? f->costs->of[COST_CYCLE].n :
	    at == PAGE_CYCLES_PAINTED ? f->costs->of[COST_PICTURE].n :
	    at == PAGE_MISSED ? f->page->numbers.missed :
	    f->page->numbers.drawn_bytes;
	return true;
}

enum { MEMORY_LIST, MEMORY_PAGE };

static bool
of_memory(const struct page_diag *d, const struct page_diag_from *f,
    size_t at, uint64_t *n)
{
	if (at == MEMORY_PAGE) {
		*n = d->memory;
		return d->memory != 0;
	}
	if (f->look->list == NULL)
		return false;
	*n = blklist_memory(f->look->list);
	return true;
}

/* --- the table ---------------------------------------------------------- */

#define IN_LIST(field) offsetof(struct blklist_counts, field)

static const struct number numbers[] = {
	{ .name = "the page" },
	{ .name = "cycles", .what = "since they were counted anew",
	    .value = of_page, .at = PAGE_CYCLES, .gauge = true },
	{ .name = "cycles painted",
	    .what = "that drew; the others waited for a slow terminal",
	    .value = of_page, .at = PAGE_CYCLES_PAINTED, .gauge = true },
	{ .name = "missed cycles", .what = "the page's own timer came too late",
	    .value = of_page, .at = PAGE_MISSED },
	{ .name = "drawn", .what = "bytes that the terminal was sent",
	    .value = of_page, .at = PAGE_DRAWN, .gauge = true, .unit = BYTES },
	{ .name = "memory", .what = "of the whole page",
	    .value = of_memory, .at = MEMORY_PAGE,
	    .gauge = true, .unit = BYTES },
	{ .name = "memory of list", .what = "with its indexes",
	    .value = of_memory, .at = MEMORY_LIST,
	    .gauge = true, .unit = BYTES },
	{ .name = "the link" },
	{ .name = "received", .what = "bytes from the node",
	    .value = of_effort, .at = RECEIVED, .gauge = true, .unit = BYTES },
	{ .name = "sent", .what = "bytes to the node",
	    .value = of_effort, .at = SENT, .gauge = true, .unit = BYTES },
	{ .name = "tries", .what = "to come back, in vain",
	    .value = of_session, .at = TRIES },
	{ .name = "stale for", .what = "ms since the list was up to date",
	    .value = of_session, .at = STALE_MS, .gauge = true },
	{ .name = "names" },
	{ .name = "name hits",
	    .what = "names, stacks and words that were there",
	    .value = of_effort, .at = HITS, .gauge = true },
	{ .name = "name misses", .what = "that were not, or not yet",
	    .value = of_effort, .at = MISSES },
	{ .name = "names kept", .what = "names, stacks and words",
	    .value = of_effort, .at = KEPT },
	{ .name = "names pending", .what = "asked for and not answered",
	    .value = of_effort, .at = PENDING, .gauge = true },
	{ .name = "the session" },
	{ .name = "records", .what = "taken in, with pairs that were left out",
	    .value = of_session, .at = TOTAL_RECORDS },
	{ .name = "last cycle", .what = "records captured in it",
	    .value = of_session, .at = CYCLE_RECORDS, .gauge = true },
	{ .name = "work", .what = "of the last cycle",
	    .value = of_session, .at = SESSION_US,
	    .gauge = true, .unit = MICROSECONDS },
	{ .name = "work, worst", .what = "since the session began",
	    .value = of_session, .at = SESSION_US_MAX, .unit = MICROSECONDS },
	{ .name = "answers missed", .what = "cycles whose answer came too late",
	    .value = of_session, .at = SESSION_MISSED },
	{ .name = "bad records", .what = "skipped: they make no sense",
	    .value = of_session, .at = BAD_RECORDS },
	{ .name = "mended", .what = "lost after the keeper, and made good",
	    .value = of_session, .at = MENDED },
	{ .name = "lost before", .what = "by the keeper, before this session",
	    .value = of_lost, .at = 0 },
	{ .name = "lost: ring full", .what = "the target had no room",
	    .value = of_lost, .at = STREAM_RING_FULL },
	{ .name = "lost: too late",
	    .what = "gone from the queue before they were read",
	    .value = of_lost, .at = STREAM_OVERWRITTEN },
	{ .name = "lost: writer died", .what = "or stalled in the middle",
	    .value = of_lost, .at = STREAM_WRITER_DIED },
	{ .name = "lost: corrupt", .what = "they made no sense",
	    .value = of_lost, .at = STREAM_CORRUPT },
	{ .name = "lost: restart", .what = "of the keeper",
	    .value = of_lost, .at = STREAM_RESTART },
	{ .name = "lost: link", .what = "it dropped them",
	    .value = of_lost, .at = STREAM_LINK },
	{ .name = "lost: sample", .what = "blocks that could not be remembered",
	    .value = of_lost, .at = STREAM_SAMPLE_FULL },
	{ .name = "lost: other",
	    .what = "of causes that this page does not know",
	    .value = of_lost, .at = STREAM_OTHER },
	{ .name = "the list" },
	{ .name = "active", .what = "blocks that are listed",
	    .value = of_active, .at = 0, .gauge = true },
	{ .name = "free", .what = "entries for more",
	    .value = of_active, .at = 1, .gauge = true },
	{ .name = "records", .what = "applied or cancelled",
	    .value = of_list, .at = IN_LIST(records) },
	{ .name = "allocations", .what = "that succeeded",
	    .value = of_list, .at = IN_LIST(allocs) },
	{ .name = "frees", .what = "less those undone",
	    .value = of_list, .at = IN_LIST(frees) },
	{ .name = "failed", .what = "requests that failed",
	    .value = of_list, .at = IN_LIST(failed) },
	{ .name = "cancelled", .what = "pairs left out within a batch",
	    .value = of_list, .at = IN_LIST(cancelled) },
	{ .name = "unknown frees", .what = "of addresses that are not listed",
	    .value = of_list, .at = IN_LIST(unknown_free) },
	{ .name = "earlier", .what = "frees of blocks older than the list",
	    .value = of_list, .at = IN_LIST(earlier) },
	{ .name = "duplicate",
	    .what = "allocations of a listed address: replaced",
	    .value = of_list, .at = IN_LIST(duplicate) },
	{ .name = "illegal type",
	    .what = "records of a type that is none; listed",
	    .value = of_list, .at = IN_LIST(illegal_type) },
	{ .name = "full", .what = "allocations not inserted: the list was full",
	    .value = of_list, .at = IN_LIST(full) },
	{ .name = "late",
	    .what = "records older than the block they would undo",
	    .value = of_list, .at = IN_LIST(late) },
	{ .name = "unknown undos", .what = "of frees that nobody saw",
	    .value = of_list, .at = IN_LIST(unknown_undo) },
	{ .name = "taken over", .what = "blocks put in without a record",
	    .value = of_list, .at = IN_LIST(inherited) },
	{ .name = "live bytes", .what = "of the blocks that are listed",
	    .value = of_list, .at = IN_LIST(live_bytes),
	    .gauge = true, .unit = BYTES },
	{ .name = "peak bytes", .what = "the highest that was",
	    .value = of_list, .at = IN_LIST(peak_bytes), .unit = BYTES },
	{ .name = "the keeper" },
	{ .name = "records",
	    .what = "seen by the keeper since the target's start",
	    .value = of_keeper, .at = WIRE_N_RECORDS },
	{ .name = "allocations", .what = "that succeeded",
	    .value = of_keeper, .at = WIRE_N_ALLOCS },
	{ .name = "frees", .what = "less those undone",
	    .value = of_keeper, .at = WIRE_N_FREES },
	{ .name = "failed", .what = "requests that failed",
	    .value = of_keeper, .at = WIRE_N_FAILED },
	{ .name = "inherited",
	    .what = "blocks taken over from a parent at fork",
	    .value = of_keeper, .at = WIRE_N_INHERITED },
	{ .name = "live blocks", .what = "in the keeper's list",
	    .value = of_keeper, .at = WIRE_N_LIVE_BLOCKS, .gauge = true },
	{ .name = "live bytes", .what = "in the keeper's list",
	    .value = of_keeper, .at = WIRE_N_LIVE_BYTES,
	    .gauge = true, .unit = BYTES },
	{ .name = "peak bytes", .what = "the highest that was",
	    .value = of_keeper, .at = WIRE_N_PEAK_BYTES, .unit = BYTES },
	{ .name = "at most", .what = "no more was held at once; by threads",
	    .value = of_keeper, .at = WIRE_N_PEAK_MOST, .unit = BYTES },
	{ .name = "room for blocks", .what = "aRecMax of the keeper's list",
	    .value = of_keeper, .at = WIRE_N_MAX, .gauge = true },
	{ .name = "lost", .what = "records lost before they reached the keeper",
	    .value = of_keeper, .at = WIRE_N_LOST },
	{ .name = "duplicate",
	    .what = "allocations of a listed address: replaced",
	    .value = of_keeper, .at = WIRE_N_DUPLICATE },
	{ .name = "unknown frees", .what = "of addresses that are not listed",
	    .value = of_keeper, .at = WIRE_N_UNKNOWN_FREE },
	{ .name = "earlier", .what = "frees of blocks older than the list",
	    .value = of_keeper, .at = WIRE_N_EARLIER },
	{ .name = "illegal type", .what = "records of a type that is none",
	    .value = of_keeper, .at = WIRE_N_ILLEGAL_TYPE },
	{ .name = "full", .what = "allocations not inserted: the list was full",
	    .value = of_keeper, .at = WIRE_N_FULL },
	{ .name = "bad records", .what = "skipped: they make no sense",
	    .value = of_keeper, .at = WIRE_N_BAD },
	{ .name = "last pass", .what = "of the keeper over the rings",
	    .value = of_keeper, .at = WIRE_N_CYCLE_US,
	    .gauge = true, .unit = MICROSECONDS },
	{ .name = "held back", .what = "records that wait for an earlier one",
	    .value = of_keeper, .at = WIRE_N_HELD, .gauge = true },
	{ .name = "stackless", .what = "events whose stack found no room",
	    .value = of_keeper, .at = WIRE_N_SITES_FULL },
	{ .name = "walks", .what = "events whose stack the target had to walk",
	    .value = of_keeper, .at = WIRE_N_WALKS },
	{ .name = "pairs", .what = "allocations and frees in one record",
	    .value = of_keeper, .at = WIRE_N_PAIRS },
	{ .name = "not sure",
	    .what = "1: the list began with what may not be right",
	    .value = of_keeper, .at = WIRE_N_UNSURE, .gauge = true },
	{ .name = "sample period",
	    .what = "mean bytes between samples; 0: every event",
	    .value = of_keeper, .at = WIRE_N_SAMPLE, .gauge = true },
	{ .name = "est. blocks", .what = "live, as estimated from a sample",
	    .value = of_keeper, .at = WIRE_N_EST_BLOCKS, .gauge = true },
	{ .name = "est. bytes", .what = "live, as estimated from a sample",
	    .value = of_keeper, .at = WIRE_N_EST_BYTES,
	    .gauge = true, .unit = BYTES },
	{ .name = "armed at",
	    .what = "ms since 1970; 0: logged since its start",
	    .value = of_keeper, .at = WIRE_N_ARMED_MS, .gauge = true },
	{ .name = "est. peak bytes", .what = "the highest estimate",
	    .value = of_keeper, .at = WIRE_N_EST_PEAK_BYTES, .unit = BYTES },
	{ .name = "stayed", .what = "records not cancelled within their batch",
	    .value = of_keeper, .at = WIRE_N_STAY },
	{ .name = "skipped bytes", .what = "of a device, in no record",
	    .value = of_keeper, .at = WIRE_N_SKIPPED, .unit = BYTES },
	{ .name = "the node" },
	{ .name = "numbers known", .what = "of nodes: translated before",
	    .value = of_node, .at = WIRE_N_FRIENDLY_HITS },
	{ .name = "numbers asked", .what = "of nodes: looked up",
	    .value = of_node, .at = WIRE_N_FRIENDLY_MISSES },
	{ .name = "numbers unknown", .what = "looked up in vain: shown raw",
	    .value = of_node, .at = WIRE_N_FRIENDLY_UNKNOWN },
	{ .name = "oldest number",
	    .what = "seconds since the oldest was looked up",
	    .value = of_node, .at = WIRE_N_FRIENDLY_OLDEST_S, .gauge = true },
	{ .name = "requests", .what = "for data that are served now",
	    .value = of_node, .at = WIRE_N_REQUESTS },
	{ .name = "requests lapsed", .what = "nothing more was asked",
	    .value = of_node, .at = WIRE_N_REQUESTS_LAPSED },
	{ .name = "listings", .what = "stored there",
	    .value = of_node, .at = WIRE_N_LISTINGS },
	{ .name = "listings refused", .what = "not stored",
	    .value = of_node, .at = WIRE_N_LISTINGS_REFUSED },
	{ .name = "up for", .what = "seconds since the node was started",
	    .value = of_node, .at = WIRE_N_UP_S, .gauge = true },
	{ .name = "images gone", .what = "ended, without a row by now",
	    .value = of_node, .at = WIRE_N_GONE },
	{ .name = "peak of those", .what = "the most that one of them held",
	    .value = of_node, .at = WIRE_N_GONE_PEAK, .unit = BYTES },
	{ .name = "at most", .what = "none of those held more at once",
	    .value = of_node, .at = WIRE_N_GONE_PEAK_MOST, .unit = BYTES },
	{ .name = "lost of those", .what = "their records",
	    .value = of_node, .at = WIRE_N_GONE_LOST },
	{ .name = "full of those", .what = "blocks that their lists refused",
	    .value = of_node, .at = WIRE_N_GONE_FULL },
	{ .name = "missed of those", .what = "they had no stream",
	    .value = of_node, .at = WIRE_N_GONE_MISSED },
};

_Static_assert(BASE_NELEM(numbers) <= PAGE_DIAG_MAX, "there is room for each");

const char *
page_diag_name(size_t i)
{
	return i >= BASE_NELEM(numbers) ? NULL :
	    numbers[i].value != NULL ? numbers[i].name : "";
}

/* --- changes ------------------------------------------------------------ */

static void
weigh(struct page_diag *d, struct mono now)
{
	if (d->weighed && mono_diff_ns(now, d->weighed_at) < WEIGH_NS)
		return;
	if (own_use_memory(&d->memory) < 0)
		d->memory = 0;
	d->weighed = true;
	d->weighed_at = now;
}

void
page_diag_sample(struct page_diag *d, const struct page_diag_from *f)
{
	bool same = d->sampled && d->stream_no == f->look->stream_no, known;
	uint64_t n = 0;
	size_t i;

	if (d->looked)
		weigh(d, f->now);
	d->looked = false;
	for (i = 0; i < BASE_NELEM(numbers); i++) {
		if (numbers[i].value == NULL)
			continue;
		known = numbers[i].value(d, f, numbers[i].at, &n);
		if (!same || !d->number[i].known) {
			d->number[i].moved = false;
		} else if (known && n != d->number[i].value) {
			d->number[i].moved = true;
			d->number[i].at = f->now;
		}
		d->number[i].known = known;
		if (known)
			d->number[i].value = n;
	}
	d->sampled = true;
	d->sampled_at = f->now;
	d->stream_no = f->look->stream_no;
}

/* --- the lines ---------------------------------------------------------- */

static void
number_text(enum unit unit, uint64_t n, char out[32])
{
	if (unit == BYTES) {
		base_human_bytes(out, 32, n);
	} else if (unit == MICROSECONDS) {
		page_cost_text(out, n);
	} else {
		base_group_digits(out, 32, n);
		if (strlen(out) > NUMBER_COLS)
			base_fit_count(out, NUMBER_COLS, n);
	}
}

/* Where it has no room that a number moves is shown by its mark. */
static bool
has_moved(const struct page_picture *pic)
{
	return pic->cols >= 2 + NAME_COLS + 1 + NUMBER_COLS + 1 + MOVED_COLS;
}

static void
put_number(const struct page_diag *d, size_t i, struct page_picture *pic)
{
	const struct number *row = &numbers[i];
	char text[32] = "-", age[8] = "";
	int64_t ns = mono_diff_ns(d->sampled_at, d->number[i].at);

	if (d->number[i].known)
		number_text(row->unit, d->number[i].value, text);
	if (!row->gauge && d->number[i].moved)
		page_cell_age(age, ns > 0 ? (uint64_t)(ns / 1000000000) : 0);
	picture_line(pic);
	picture_printf(pic, "  %-*s %*s", NAME_COLS, row->name, NUMBER_COLS,
	    text);
	if (has_moved(pic))
		picture_printf(pic, " %*s", MOVED_COLS, age);
	if (age[0] != '\0' && ns < MOVED_NS)
		picture_mark(pic, 2, picture_col(pic), PAGE_STATUS);
	picture_fold(pic, WHAT_FOLD);
	picture_printf(pic, "  %s", row->what);
}

void
page_diag_put(struct page_diag *d, const struct page_diag_from *f,
    struct page_picture *pic)
{
	size_t i;

	if (!d->sampled)
		page_diag_sample(d, f);
	d->looked = true;
	for (i = 0; i < BASE_NELEM(numbers); i++) {
		if (numbers[i].value != NULL) {
			put_number(d, i, pic);
			continue;
		}
		picture_line(pic);
		picture_printf(pic, "%-*s", NAME_COLS + 2, numbers[i].name);
		picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
		if (i == 0 && has_moved(pic))
			picture_printf(pic, " %*s %*s", NUMBER_COLS, "",
			    MOVED_COLS, "moved");
	}
}
