#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../layout/layout.h"
#include "../layout/fields.h"
#include "../picture/picture.h"
#include "../blocks/free_blocks.h"
#include "diagnostics.h"

#define NAME_COLS 17
#define NUMBER_COLS 13
#define MOVED_COLS 5
#define MOVED_NS INT64_C(10000000000)	/* for so long a change is marked */
#define WEIGH_NS INT64_C(1000000000)
#define WHAT_AT 33	/* column after the three costs */
#define FOLD_AT 4	/* where an explanation continues below its line */
#define ROOMY_COLS 60	/* has room for explanations */

/* Up to COST_STEPS each microsecond has a bucket, then they double in width. */
static size_t
bucket_of(uint64_t us)
{
	unsigned power;
	size_t i;

	if (us < COST_STEPS)
		return (size_t)us;
	power = 63 - (unsigned)__builtin_clzll(us);
	i = (power - 3) * COST_STEPS + (size_t)(us >> (power - 4)) -
	    COST_STEPS;
	return i < COST_BUCKETS ? i : COST_BUCKETS - 1;
}

static uint64_t
bucket_top(size_t i)
{
	unsigned shift;

	if (i < COST_STEPS)
		return i;
	shift = (unsigned)(i / COST_STEPS) - 1;
	return ((uint64_t)(COST_STEPS + i % COST_STEPS + 1) << shift) - 1;
}

void
cost_add(struct cost *c, uint64_t us)
{
	c->n++;
	c->bucket[bucket_of(us)]++;
	if (us > c->worst_us)
		c->worst_us = us;
}

uint64_t
cost_at(const struct cost *c, unsigned per_mille)
{
	/* Rounded up, so that of few cycles the worst counts. */
	uint64_t rank = (c->n * per_mille + 999) / 1000, seen = 0, top;
	size_t i;

	if (c->n == 0)
		return 0;
	for (i = 0; i + 1 < COST_BUCKETS; i++) {
		seen += c->bucket[i];
		if (seen >= rank && seen > 0)
			break;
	}
	top = bucket_top(i);
	return top < c->worst_us ? top : c->worst_us;
}

void
page_costs_begin(struct page_costs *c, struct page *page,
    const struct nodes_look *look)
{
	memset(c, 0, sizeof *c);
	c->since = mono_now();
	c->missed = page->numbers.missed + look->work.missed_cycles;
	page->numbers.cost_max_us = 0;
	page->numbers.session_max_us = look->work.cycle_us_max;
}

static void
put_cost(const char *name, const struct cost *c, const char *what,
    struct page_picture *pic)
{
	char median[12], p99[12], worst[12];

	page_cost_text(median, cost_at(c, 500));
	page_cost_text(p99, cost_at(c, 990));
	page_cost_text(worst, c->worst_us);
	picture_line(pic);
	picture_printf(pic, "  %-8s %6s %6s %6s  ", name, median, p99, worst);
	picture_fold(pic, FOLD_AT);
	picture_put(pic, what);
}

static void
put_keeper(const struct nodes_look *look, struct page_picture *pic)
{
	char pass[12], waiting[32];

	if (look->keeper == NULL)
		return;
	page_cost_text(pass, look->keeper[WIRE_N_CYCLE_US]);
	base_group_digits(waiting, sizeof waiting, look->keeper[WIRE_N_HELD]);
	picture_line(pic);
	picture_printf(pic, "  keeper   %6s  ", pass);
	if (pic->cols >= ROOMY_COLS)
		picture_to(pic, WHAT_AT);
	picture_fold(pic, FOLD_AT);
	picture_printf(pic, "its last pass; %s records wait for their turn",
	    waiting);
}

static void
put_no_free(const char *why, struct page_picture *pic)
{
	if (why[0] == '\0')
		return;
	picture_line(pic);
	picture_put(pic, "  free     ");
	picture_fold(pic, FOLD_AT);
	picture_printf(pic, "not shown: %s", why);
}

void
page_costs_put(const struct page_costs *c, const struct page *page,
    const struct nodes_look *look, struct page_picture *pic)
{
	static const char *const names[COST_KINDS][2] = {
		[COST_SESSION] = { "session", "reading records and blocks" },
		[COST_PICTURE] = { "picture", "composing and drawing it" },
		[COST_CYCLE] = { "cycle", "all that the page does" },
	};
	char cycles[32], painted[32], missed[32];
	int i;

	picture_line(pic);
	picture_put(pic, "DIAGNOSTICS");
	page_overlay_title("j k move  x reset  Esc close", pic);
	base_group_digits(cycles, sizeof cycles, c->of[COST_CYCLE].n);
	base_group_digits(painted, sizeof painted, c->of[COST_PICTURE].n);
	base_group_digits(missed, sizeof missed, page->numbers.missed +
	    look->work.missed_cycles - c->missed);
	picture_line(pic);
	picture_printf(pic, "  %s cycles in %lld s, %s drawn, %s missed",
	    cycles, (long long)(mono_ms_since(c->since) / 1000), painted,
	    missed);
	picture_line(pic);
	picture_put(pic, "           median    p99  worst");
	for (i = 0; i < COST_KINDS; i++)
		put_cost(names[i][0], &c->of[i], names[i][1], pic);
	put_keeper(look, pic);
	put_no_free(page_free_why(page, look), pic);
}

struct diag_row {
	const struct page_diag *d;
	const struct page_diag_from *from;
};

static bool
get_cost(const void *row, size_t at, struct field_value *v)
{
	const struct diag_row *r = row;

	v->n = r->from->costs->of[at].n;
	return true;
}

FIELD_GET(get_missed, diag_row, n, r->from->page->numbers.missed, true)
FIELD_GET(get_drawn, diag_row, n, r->from->page->numbers.drawn_bytes, true)
FIELD_GET(get_page_memory, diag_row, n, r->d->memory, r->d->memory != 0)

static bool
get_list_memory(const void *row, size_t at, struct field_value *v)
{
	const struct diag_row *r = row;

	(void)at;
	if (r->from->look->list != NULL)
		v->n = blklist_memory(r->from->look->list);
	return r->from->look->list != NULL;
}

static bool
get_effort(const void *row, size_t at, struct field_value *v)
{
	const struct diag_row *r = row;

	return r->from->effort != NULL && field_u64(r->from->effort, at, v);
}

FIELD_GET(get_pending, diag_row, n, r->from->pending, r->from->effort != NULL)
FIELD_GET(get_tries, diag_row, n, r->from->look->link.tries, true)

static bool
get_stale(const void *row, size_t at, struct field_value *v)
{
	const struct diag_row *r = row;
	int64_t ms = r->from->look->stale_ms;

	(void)at;
	v->n = ms > 0 ? (uint64_t)ms : 0;
	return true;
}

#define EFFORT(member) offsetof(struct nodes_effort, member)

static const struct field page_fields[] = {
	{ .name = "cycles", .help = "since the counters were reset",
	    .get = get_cost, .at = COST_CYCLE, .gauge = true },
	{ .name = "cycles that drew",
	    .help = "the others waited: --fps, or a slow terminal",
	    .get = get_cost, .at = COST_PICTURE, .gauge = true },
	{ .name = "missed cycles",
	    .help = "the page's own timer came too late", .get = get_missed },
	{ .name = "drawn", .help = "bytes that the terminal was sent",
	    .get = get_drawn, .gauge = true, .unit = FIELD_BYTES },
	{ .name = "memory", .help = "of the whole page",
	    .get = get_page_memory, .gauge = true, .unit = FIELD_BYTES },
	{ .name = "memory of list", .help = "with its indexes",
	    .get = get_list_memory, .gauge = true, .unit = FIELD_BYTES },
};
static const struct field_table page_table = FIELD_TABLE(page_fields);

static const struct field link_fields[] = {
	{ .name = "received", .help = "bytes from the node", .get = get_effort,
	    .at = EFFORT(received), .gauge = true, .unit = FIELD_BYTES },
	{ .name = "sent", .help = "bytes to the node", .get = get_effort,
	    .at = EFFORT(sent), .gauge = true, .unit = FIELD_BYTES },
	{ .name = "tries", .help = "failed reconnects", .get = get_tries },
	{ .name = "stale for", .help = "ms since the list was up to date",
	    .get = get_stale, .gauge = true },
};
static const struct field_table link_table = FIELD_TABLE(link_fields);

static const struct field names_fields[] = {
	{ .name = "name hits",
	    .help = "names, stacks and words found in the cache",
	    .get = get_effort, .at = EFFORT(hits), .gauge = true },
	{ .name = "name misses", .help = "not in the cache",
	    .get = get_effort, .at = EFFORT(misses) },
	{ .name = "names cached",
	    .help = "names, stacks and words in the cache",
	    .get = get_effort, .at = EFFORT(kept) },
	{ .name = "names pending", .help = "requested and not answered",
	    .get = get_pending, .gauge = true },
};
static const struct field_table names_table = FIELD_TABLE(names_fields);

FIELD_GET(get_free_entries, blklist_counts, n, r->aRecMax - r->aRecActive,
    true)

#define LOOK(member) offsetof(struct nodes_look, member)
#define IN_LIST(member) offsetof(struct blklist_counts, member)

static const struct field session_fields[] = {
	{ .name = "records", .help = "read, with pairs that were left out",
	    .get = field_u64, .at = LOOK(work.total_records) },
	{ .name = "last cycle", .help = "records captured in it",
	    .get = field_u64, .at = LOOK(work.cycle_records), .gauge = true },
	{ .name = "work", .help = "of the last cycle", .get = field_u32,
	    .at = LOOK(work.cycle_us), .gauge = true, .unit = FIELD_MICROSECONDS },
	{ .name = "work, worst", .help = "since the session began",
	    .get = field_u32, .at = LOOK(work.cycle_us_max),
	    .unit = FIELD_MICROSECONDS },
	{ .name = "answers missed",
	    .help = "cycles whose answer came too late", .get = field_u64,
	    .at = LOOK(work.missed_cycles) },
	{ .name = "bad records", .help = "skipped: malformed",
	    .get = field_u64, .at = LOOK(loss.bad_records) },
	{ .name = "mended", .help = "lost after the node, recovered",
	    .get = field_u64, .at = LOOK(loss.mended) },
	{ .name = "lost before", .help = "by the node, before this session",
	    .get = field_u64, .at = LOOK(loss.lost[0]) },
	{ .name = "lost: ring full", .help = "the target had no room",
	    .get = field_u64, .at = LOOK(loss.lost[STREAM_RING_FULL]) },
	{ .name = "lost: too late",
	    .help = "gone from the queue before they were read",
	    .get = field_u64, .at = LOOK(loss.lost[STREAM_OVERWRITTEN]) },
	{ .name = "lost: writer died", .help = "or stalled in the middle",
	    .get = field_u64, .at = LOOK(loss.lost[STREAM_WRITER_DIED]) },
	{ .name = "lost: corrupt", .help = "malformed",
	    .get = field_u64, .at = LOOK(loss.lost[STREAM_CORRUPT]) },
	{ .name = "lost: restart", .help = "of the keeper", .get = field_u64,
	    .at = LOOK(loss.lost[STREAM_RESTART]) },
	{ .name = "lost: link", .help = "dropped on the link", .get = field_u64,
	    .at = LOOK(loss.lost[STREAM_LINK]) },
	{ .name = "lost: sample",
	    .help = "blocks that could not be remembered", .get = field_u64,
	    .at = LOOK(loss.lost[STREAM_SAMPLE_FULL]) },
	{ .name = "lost: other",
	    .help = "of causes that this page does not know", .get = field_u64,
	    .at = LOOK(loss.lost[STREAM_OTHER]) },
};
static const struct field_table session_table = FIELD_TABLE(session_fields);

static const struct field list_fields[] = {
	{ .name = "active", .help = "blocks that are listed", .get = field_u32,
	    .at = IN_LIST(aRecActive), .gauge = true },
	{ .name = "free", .help = "entries for more", .get = get_free_entries,
	    .gauge = true },
	{ .name = "records", .help = "applied or cancelled", .get = field_u64,
	    .at = IN_LIST(records) },
	{ .name = "allocations", .help = "that succeeded", .get = field_u64,
	    .at = IN_LIST(allocs) },
	{ .name = "frees", .help = "less those undone", .get = field_u64,
	    .at = IN_LIST(frees) },
	{ .name = "failed", .help = "requests that failed", .get = field_u64,
	    .at = IN_LIST(failed) },
	{ .name = "cancelled", .help = "pairs left out within a batch",
	    .get = field_u64, .at = IN_LIST(cancelled) },
	{ .name = "unknown frees", .help = "of addresses that are not listed",
	    .get = field_u64, .at = IN_LIST(unknown_free) },
	{ .name = "earlier", .help = "frees of blocks older than the list",
	    .get = field_u64, .at = IN_LIST(earlier) },
	{ .name = "duplicate",
	    .help = "allocations of a listed address: replaced",
	    .get = field_u64, .at = IN_LIST(duplicate) },
	{ .name = "illegal type",
	    .help = "records of an unknown type; listed", .get = field_u64,
	    .at = IN_LIST(illegal_type) },
	{ .name = "full",
	    .help = "allocations not inserted: the list was full",
	    .get = field_u64, .at = IN_LIST(full) },
	{ .name = "late",
	    .help = "records older than the block they would undo",
	    .get = field_u64, .at = IN_LIST(late) },
	{ .name = "unknown undos", .help = "of frees that were not seen",
	    .get = field_u64, .at = IN_LIST(unknown_undo) },
	{ .name = "taken over", .help = "blocks put in without a record",
	    .get = field_u64, .at = IN_LIST(inherited) },
	{ .name = "live bytes", .help = "of the blocks that are listed",
	    .get = field_u64, .at = IN_LIST(live_bytes), .gauge = true,
	    .unit = FIELD_BYTES },
	{ .name = "peak bytes", .help = "the highest so far",
	    .get = field_u64, .at = IN_LIST(peak_bytes), .unit = FIELD_BYTES },
};
static const struct field_table list_table = FIELD_TABLE(list_fields);

static const void *
row_of_page(const struct diag_row *r)
{
	return r;
}

static const void *
row_of_session(const struct diag_row *r)
{
	return r->from->look;
}

static const void *
row_of_list(const struct diag_row *r)
{
	return r->from->counts;
}

static const void *
row_of_keeper(const struct diag_row *r)
{
	return &r->from->look->keeper;
}

static const void *
row_of_node(const struct diag_row *r)
{
	return &r->from->look->node.numbers;
}

static const struct section {
	const char *title;
	const struct field_table *fields;
	/* Of its fields; NULL: none is known. */
	const void *(*row)(const struct diag_row *);
} sections[] = {
	{ "the page", &page_table, row_of_page },
	{ "the link", &link_table, row_of_page },
	{ "names", &names_table, row_of_page },
	{ "the session", &session_table, row_of_session },
	{ "the list", &list_table, row_of_list },
	{ "the keeper", &page_keeper_counters, row_of_keeper },
	{ "the node", &page_node_counters, row_of_node },
};

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

static void
sample_number(struct page_diag *d, size_t i, bool same, bool known,
    uint64_t n, struct mono now)
{
	if (!same || !d->number[i].known) {
		d->number[i].moved = false;
	} else if (known && n != d->number[i].value) {
		d->number[i].moved = true;
		d->number[i].at = now;
	}
	d->number[i].known = known;
	if (known)
		d->number[i].value = n;
}

void
page_diag_sample(struct page_diag *d, const struct page_diag_from *f)
{
	bool same = d->sampled && d->stream_no == f->look->stream_no;
	struct diag_row r = { .d = d, .from = f };
	struct field_value v;
	size_t i = 0;

	if (d->looked)
		weigh(d, f->now);
	d->looked = false;
	for (size_t s = 0; s < BASE_NELEM(sections); s++) {
		const struct field_table *t = sections[s].fields;
		const void *row = sections[s].row(&r);

		assert(i + t->n <= PAGE_DIAG_MAX);
		for (size_t k = 0; k < t->n; k++, i++) {
			bool known = row != NULL && field_value(&t->field[k],
			    row, &v);

			sample_number(d, i, same, known, known ? v.n : 0,
			    f->now);
		}
	}
	d->sampled = true;
	d->sampled_at = f->now;
	d->stream_no = f->look->stream_no;
}

static void
number_text(enum field_unit unit, uint64_t n, char out[32])
{
	if (unit == FIELD_BYTES) {
		base_human_bytes(out, 32, n);
	} else if (unit == FIELD_MICROSECONDS) {
		page_cost_text(out, n);
	} else {
		base_format_grouped(out, NUMBER_COLS, n);
		memmove(out, out + strspn(out, " "),
		    strlen(out + strspn(out, " ")) + 1);
	}
}

static bool
has_moved(const struct page_picture *pic)
{
	return pic->cols >= 2 + NAME_COLS + 1 + NUMBER_COLS + 1 + MOVED_COLS;
}

static void
put_number(const struct page_diag *d, size_t i, const struct field *f,
    struct page_picture *pic)
{
	char text[32] = "-", age[8] = "";
	int64_t ns = mono_diff_ns(d->sampled_at, d->number[i].at);

	if (d->number[i].known)
		number_text(f->unit, d->number[i].value, text);
	if (!f->gauge && d->number[i].moved)
		page_cell_age(age, ns > 0 ? (uint64_t)(ns / 1000000000) : 0);
	picture_line(pic);
	picture_printf(pic, "  %-*s %*s", NAME_COLS, f->name, NUMBER_COLS,
	    text);
	if (has_moved(pic))
		picture_printf(pic, " %*s", MOVED_COLS, age);
	if (age[0] != '\0' && ns < MOVED_NS)
		picture_mark(pic, 2, picture_col(pic), PAGE_STATUS);
	picture_fold(pic, FOLD_AT);
	picture_printf(pic, "  %s", f->help);
}

static void
put_title(const char *title, bool first, struct page_picture *pic)
{
	picture_line(pic);
	picture_printf(pic, "%-*s", NAME_COLS + 2, title);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
	if (first && has_moved(pic))
		picture_printf(pic, " %*s %*s", NUMBER_COLS, "", MOVED_COLS,
		    "moved");
}

void
page_diag_put(struct page_diag *d, const struct page_diag_from *f,
    struct page_picture *pic)
{
	size_t i = 0;

	if (!d->sampled)
		page_diag_sample(d, f);
	d->looked = true;
	for (size_t s = 0; s < BASE_NELEM(sections); s++) {
		put_title(sections[s].title, s == 0, pic);
		for (size_t k = 0; k < sections[s].fields->n; k++, i++)
			put_number(d, i, &sections[s].fields->field[k], pic);
	}
}

int
own_use_memory(uint64_t *bytes)
{
	char text[128];
	unsigned long long pages;
	ssize_t n;
	int fd, r;

	fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof text - 1);
	r = n < 0 ? -errno : 0;
	close(fd);
	if (r < 0)
		return r;
	text[n] = '\0';
	if (sscanf(text, "%*u %llu", &pages) != 1)
		return -EPROTO;
	*bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}
