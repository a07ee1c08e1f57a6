#include <stdio.h>
#include <string.h>

#include "../blocks/free_blocks.h"
#include "../rows/rows.h"
#include "layout.h"

struct counter {
	const char *letter;	/* in the classic line */
	const char *word;	/* in the wide one */
	uint64_t (*value)(const struct page *, const struct page_view *);
	const char *help;
	bool after;		/* the word stands after the number */
	bool begins;		/* a group, set off by a second blank */
	bool alarm;		/* shown reversed when it has moved */
	bool spare;		/* left out while it is zero */
	bool list;		/* counted by the list: not known without one */
	bool bytes;
	bool classic;		/* the wide layout has it in another line */
};

#define COUNTER(name, value) \
	static uint64_t \
	name(const struct page *page, const struct page_view *v) \
	{ \
		(void)page; \
		return value; \
	}

COUNTER(n_records, v->look->work.cycle_records)
COUNTER(n_active, v->counts->aRecActive)
COUNTER(n_free, v->counts->aRecMax - v->counts->aRecActive)
COUNTER(n_illegal, page_errors(v->look, v->counts).illegal_type)
COUNTER(n_duplicate, page_errors(v->look, v->counts).duplicate)
COUNTER(n_full, v->look->loss.full)
COUNTER(n_lost, page_lost_for_good(v->look))
COUNTER(n_unknown, page_errors(v->look, v->counts).unknown_free)
COUNTER(n_bad, v->look->loss.bad_records)
COUNTER(n_earlier, page_errors(v->look, v->counts).earlier)
COUNTER(n_failed, page_errors(v->look, v->counts).failed)
COUNTER(n_missed, page->numbers.missed + v->look->work.missed_cycles)
COUNTER(n_stackless,
    v->look->keeper != NULL ? v->look->keeper[WIRE_N_SITES_FULL] : 0)

static uint64_t
n_largest(const struct page *page, const struct page_view *v)
{
	struct page_free f;

	page_free_sum(page, v, v->look->regions.n, &f);
	return f.largest;
}

static const struct counter counters[] = {
	{ "r", "rec", n_records,
	    "records captured in the last cycle",
	    .after = true, .begins = true },
	{ "a", "act", n_active,
	    "blocks active in the list",
	    .begins = true, .list = true },
	{ "f", "free", n_free,
	    "free entries of the list",
	    .list = true },
	{ "t", "typ", n_illegal,
	    "records of an illegal type; the block is listed",
	    .begins = true, .alarm = true, .list = true },
	{ "d", "dup", n_duplicate,
	    "allocations of a listed address: replaced",
	    .alarm = true, .list = true },
	{ "o", "full", n_full,
	    "allocations not inserted: the list was full",
	    .alarm = true, .list = true },
	{ "l", "lost", n_lost,
	    "records lost and not recovered",
	    .alarm = true },
	{ "u", "unk", n_unknown,
	    "frees of unknown addresses",
	    .alarm = true, .spare = true, .list = true },
	{ "b", "bad", n_bad,
	    "bad records, skipped",
	    .alarm = true, .spare = true },
	{ "e", "earlier", n_earlier,
	    "frees of blocks older than the list",
	    .spare = true, .list = true },
	{ "x", "failed", n_failed,
	    "requests that failed",
	    .alarm = true, .spare = true, .list = true },
	{ "s", "stackless", n_stackless,
	    "events whose stack found no room: their caller alone is known",
	    .alarm = true, .spare = true },
	{ "m", "missed", n_missed,
	    "cycles missed",
	    .alarm = true, .spare = true },
	{ "g", "gap", n_largest,
	    "bytes of the largest free block of known regions",
	    .spare = true, .list = true, .bytes = true, .classic = true },
};

#define NCOUNTERS BASE_NELEM(counters)
_Static_assert(NCOUNTERS <= PAGE_COUNTERS, "struct page has room for them");

#define MOVED_MS 10000
#define SAMPLE_NS INT64_C(1000000000)

/* The session's worst cycle counts unless it came before costs were reset. */
static void
raise_worst_cost(struct page *page, const struct page_view *v, uint64_t cost)
{
	struct page_numbers *numbers = &page->numbers;
	uint64_t session = v->look->work.cycle_us_max;

	if (session > numbers->session_max_us &&
	    session > numbers->cost_max_us)
		numbers->cost_max_us = session;
	if (cost > numbers->cost_max_us)
		numbers->cost_max_us = cost;
}

static void
sample_second(struct page *page, const struct page_view *v)
{
	struct page_numbers *numbers = &page->numbers;
	int64_t ns = mono_diff_ns(v->now, numbers->sample_at);
	uint64_t records = v->look->work.total_records;
	uint64_t cost = v->look->work.cycle_us + numbers->drawn_us;

	raise_worst_cost(page, v, cost);
	if (numbers->sampled && ns < SAMPLE_NS)
		return;
	/* While records are skipped there is no rate. */
	numbers->rated = numbers->sampled && v->look->settled &&
	    !v->look->behind && records >= numbers->sample_records;
	if (numbers->rated)
		numbers->rate = (uint64_t)((double)(records -
		    numbers->sample_records) * 1e9 / (double)ns + 0.5);
	numbers->drawn_rate = (uint64_t)((double)(numbers->drawn_bytes -
	    numbers->drawn_before) * 1e9 / (double)(ns > 0 ? ns : 1));
	numbers->drawn_before = numbers->drawn_bytes;
	numbers->cost_us = cost;
	numbers->sample_at = v->now;
	numbers->sample_records = records;
	numbers->sampled = true;
}

static void
sample_peak(struct page *page, const struct page_view *v)
{
	struct page_numbers *numbers = &page->numbers;
	uint64_t n = page_view_bytes(v);

	if (numbers->peak_stream != v->look->stream_no) {
		numbers->peak_stream = v->look->stream_no;
		numbers->peak_reset = false;
	}
	if (n > numbers->peak_bytes)
		numbers->peak_bytes = n;
}

void
page_peak_anew(struct page *page, const struct page_view *v)
{
	struct page_numbers *numbers = &page->numbers;

	numbers->peak_reset = true;
	numbers->peak_bytes = page_view_bytes(v);
	numbers->peak_stream = v->look->stream_no;
}

/* The list's peak begins with the session; the keeper's has what was before. */
uint64_t
page_view_peak(const struct page *page, const struct page_view *v)
{
	const struct page_numbers *numbers = &page->numbers;
	bool sampled = v->look->sample != 0;
	uint64_t listed = sampled ? v->counts->est_peak_bytes :
	    v->counts->peak_bytes;
	uint64_t counted = 0;

	if (numbers->peak_reset && numbers->peak_stream == v->look->stream_no)
		return numbers->peak_bytes;
	if (v->look->keeper != NULL && !page->opts.session.since_click)
		counted = v->look->keeper[sampled ? WIRE_N_EST_PEAK_BYTES :
		    WIRE_N_PEAK_BYTES];
	return counted > listed ? counted : listed;
}

void
page_sample(struct page *page, const struct page_view *v)
{
	struct page_numbers *numbers = &page->numbers;
	uint64_t n;
	size_t i;

	if (!page->state.known || page->state.is != v->live->state) {
		page->state.known = true;
		page->state.is = v->live->state;
		page->state.at = v->now;
	}
	if (page->state.opened_wall_ms == 0 && v->live->state == NODES_LIVE)
		page->state.opened_wall_ms = v->look->node_wall_ms;
	if (v->look != v->live)
		return;
	sample_peak(page, v);
	sample_second(page, v);
	for (i = 0; i < NCOUNTERS; i++) {
		n = counters[i].value(page, v);
		if (!numbers->counted)
			numbers->moved_ms[i] = INT64_MIN / 2;
		else if (n != numbers->last[i])
			numbers->moved_ms[i] = v->look->now_ms;
		numbers->last[i] = n;
	}
	numbers->counted = true;
}

struct strip {
	char text[512];
	size_t len;
	struct page_span span[PAGE_COUNTERS];
	int nspan;
};

struct form {
	int digits;		/* of a number; 0: exact and grouped */
	bool max;		/* the highest cost too */
	bool all;		/* spare counters even while they are zero */
};

static void
number_text(char out[32], int digits, bool bytes, uint64_t n)
{
	char fit[24], *p = fit;

	if (digits == 0) {
		base_group_digits(out, 32, n);
		return;
	}
	if (bytes)
		base_format_bytes(fit, digits, n);
	else if (n < 10000)
		base_format_count(fit, digits, n);
	else
		base_format_grouped(fit, digits, n);
	while (*p == ' ')
		p++;
	base_copy_text(out, 32, p);
}

void
page_cost_text(char out[12], uint64_t us)
{
	size_t len = 0;

	if (us < 1000)
		base_append(out, 12, &len, "%uus", (unsigned)us);
	else if (us < 10000)
		base_append(out, 12, &len, "%u.%ums", (unsigned)(us / 1000),
		    (unsigned)(us % 1000 / 100));
	else if (us < 1000000)
		base_append(out, 12, &len, "%ums", (unsigned)(us / 1000));
	else if (us < 100000000)
		base_append(out, 12, &len, "%u.%us", (unsigned)(us / 1000000),
		    (unsigned)(us % 1000000 / 100000));
	else
		base_append(out, 12, &len, "*");
}

void
page_rate_text(char out[16], uint64_t n)
{
	static const char units[] = "kMGT";
	uint64_t tenths = n;
	size_t i, len = 0;

	if (n < 1000) {
		base_append(out, 16, &len, "%u /s", (unsigned)n);
		return;
	}
	tenths = n / 100;
	for (i = 0; tenths >= 10000 && units[i + 1] != '\0'; i++)
		tenths /= 1000;
	if (tenths < 1000)
		base_append(out, 16, &len, "%u.%u %c/s",
		    (unsigned)(tenths / 10), (unsigned)(tenths % 10),
		    units[i]);
	else if (tenths < 10000)
		base_append(out, 16, &len, "%u %c/s", (unsigned)(tenths / 10),
		    units[i]);
	else
		base_append(out, 16, &len, "*");
}

static void
mark_moved(const struct page *page, const struct page_view *v, size_t i,
    size_t from, struct strip *out)
{
	if (!counters[i].alarm || !page->numbers.counted ||
	    v->look->now_ms - page->numbers.moved_ms[i] >= MOVED_MS)
		return;
	out->span[out->nspan++] = (struct page_span){
		.from = (uint16_t)from,
		.to = (uint16_t)out->len,
		.mark = PAGE_STATUS,
	};
}

static void
put_text(struct strip *out, const char *text)
{
	base_append_text(out->text, sizeof out->text, &out->len, text);
}

static void
put_number(const struct counter *c, const char *number, bool words,
    struct strip *out)
{
	if (!words) {
		put_text(out, c->letter);
		put_text(out, number);
		return;
	}
	put_text(out, c->after ? number : c->word);
	put_text(out, " ");
	put_text(out, c->after ? c->word : number);
}

static void
add_counters(const struct page *page, const struct page_view *v,
    const struct form *form, bool words, struct strip *out)
{
	const struct counter *c;
	char number[32];
	uint64_t n;
	size_t i, from;

	for (i = 0; i < NCOUNTERS; i++) {
		c = &counters[i];
		n = c->value(page, v);
		if ((c->spare && n == 0 && !form->all) ||
		    (c->classic && words))
			continue;
		if (c->list && !page_view_known(v))
			strcpy(number, "-");
		else
			number_text(number, form->digits, c->bytes, n);
		if (out->len > 0)
			put_text(out, words && c->begins ? "  " : " ");
		from = out->len;
		put_number(c, number, words, out);
		mark_moved(page, v, i, from, out);
	}
}

static void
put_strip(const struct strip *s, struct page_picture *pic)
{
	int i;

	picture_put(pic, s->text);
	for (i = 0; i < s->nspan; i++)
		picture_mark(pic, s->span[i].from, s->span[i].to,
		    s->span[i].mark);
}

/* High digits of the cursor's or first address: a narrow row has the low 8. */
static void
high_text(const struct page *page, const struct page_view *v, int cols,
    char out[16])
{
	struct blk b;
	size_t len = 0;

	out[0] = '\0';
	if (v->look->classic || v->look->list == NULL ||
	    cols >= PAGE_MIN_COLS + 4)
		return;
	if (page_block_at_cursor(page, v, &b))
		base_append(out, 16, &len, "%04X",
		    (unsigned)(b.addr >> 32));
}

void
page_status_classic(struct page *page, const struct page_view *v,
    const struct page_state *state, struct page_picture *pic)
{
	/* Digits go first, then the cost, more digits, and the state. */
	static const struct {
		struct form form;
		bool word, cost;
	} tries[] = {
		{ { .digits = 6 }, true, true },
		{ { .digits = 4 }, true, true },
		{ { .digits = 4 }, true, false },
		{ { .digits = 3 }, true, false },
		{ { .digits = 3 }, false, false },
		{ { .digits = 2 }, false, false },
	};
	struct strip s = { 0 };
	char cost[12], high[16];
	size_t i;

	page_cost_text(cost, page->numbers.cost_us);
	high_text(page, v, pic->cols, high);
	for (i = 0; i < BASE_NELEM(tries); i++) {
		s.len = 0;
		s.text[0] = '\0';
		s.nspan = 0;
		if (tries[i].word)
			base_append(s.text, sizeof s.text, &s.len, "%s",
			    state->name);
		if (tries[i].cost)
			base_append(s.text, sizeof s.text, &s.len, "%s%s",
			    s.len > 0 ? " " : "", cost);
		if (high[0] != '\0')
			base_append(s.text, sizeof s.text, &s.len, "%s%s",
			    s.len > 0 ? " " : "", high);
		add_counters(page, v, &tries[i].form, false, &s);
		if (s.len <= (size_t)pic->cols)
			break;
	}
	put_strip(&s, pic);
}

static void
drawn_text(const struct page *page, int cols, char out[32])
{
	uint64_t kb = (page->numbers.drawn_rate + 500) / 1000;

	out[0] = '\0';
	if (!page_is_on_screen(page) || cols < PAGE_FULL_COLS)
		return;
	if (kb == 0)
		snprintf(out, 32, "  drawn <1 kB/s");
	else
		snprintf(out, 32, "  drawn %.18s kB/s", base_digits(kb).text);
}

void
page_status_wide(struct page *page, const struct page_view *v,
    const struct page_state *state, struct page_picture *pic)
{
	static const struct form forms[] = {
		{ .digits = 0, .max = true, .all = true },
		{ .digits = 0, .max = true },
		{ .digits = 6, .max = true },
		{ .digits = 5, .max = false },
		{ .digits = 4, .max = false },
	};
	struct strip s = { 0 };
	char cost[12], max[12], drawn[32];
	size_t i;

	drawn_text(page, pic->cols, drawn);
	page_cost_text(cost, page->numbers.cost_us);
	page_cost_text(max, page->numbers.cost_max_us);
	for (i = 0; i < BASE_NELEM(forms); i++) {
		s.len = 0;
		s.nspan = 0;
		put_text(&s, cost);
		if (forms[i].max) {
			put_text(&s, " max ");
			put_text(&s, max);
		}
		add_counters(page, v, &forms[i], true, &s);
		put_text(&s, drawn);
		if (s.len <= (size_t)pic->cols) {
			put_strip(&s, pic);
			return;
		}
	}
	page_status_classic(page, v, state, pic);
}

#define HELP_AT 15		/* after the longest word */

void
page_counters_help(struct page_picture *pic)
{
	char name[32];
	size_t i;

	picture_entry(pic, "us ms", HELP_AT,
	    "cost of a cycle that drew: reading, composing, drawing");
	for (i = 0; i < NCOUNTERS; i++) {
		snprintf(name, sizeof name, "%s %s", counters[i].letter,
		    counters[i].word);
		picture_entry(pic, name, HELP_AT, counters[i].help);
	}
}
