/*
 * Where a listing comes from, of which moment it is, and what is to be known
 * of it: the note's seven counters, and whether anything is missing.
 *
 * Numbers are exact and without grouping, for programs read them too.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../page/choice.h"
#include "../page/order.h"
#include "listing_head.h"

struct head {
	char *text;
	size_t len;
	const struct page *page;
	const struct page_view *v;
};

static void line(struct head *, const char *word, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A line; what comes from outside is made safe. */
static void
line(struct head *h, const char *word, const char *fmt, ...)
{
	char text[1024], safe[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	base_safe_text(safe, sizeof safe, text, strlen(text),
	    h->page->opts.ascii);
	base_append(h->text, LISTING_HEAD_MAX, &h->len, "%-9s %s\n", word,
	    safe);
}

/* A list that is just being taken anew is the last one that was whole. */
static bool
is_of_one_moment(const struct nodes_look *look)
{
	return look->settled && !look->behind && !look->window;
}

static void
put_node(struct head *h)
{
	const struct nodes_look *look = h->v->look;
	char number[8];

	snprintf(number, sizeof number, "%04X", look->node_number);
	if (look->node_name == NULL || look->node_name[0] == '\0' ||
	    strcmp(look->node_name, number) == 0)
		line(h, "node", "%s", number);
	else
		line(h, "node", "%s %s", number, look->node_name);
}

static void
put_time(struct head *h)
{
	const struct nodes_look *look = h->v->look;
	char text[64];
	struct tm tm;

	if (look->node_wall_ms == 0) {
		line(h, "time", "not known");
		return;
	}
	page_wall(h->page, look, look->node_wall_ms, &tm);
	if (strftime(text, sizeof text, look->classic ?
	    "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M:%S %z", &tm) == 0)
		text[0] = '\0';
	line(h, "time", "%s", text);
}

static void
put_order(struct head *h)
{
	const struct page_opts *o = &h->page->opts;
	bool reverse;
	enum page_sort sort = page_sorting_first(o, &reverse);

	/* The rows of a part of the list are in an order that the list has. */
	if (h->v->look->window) {
		sort = page_list_order(o) == BLKLIST_BY_AGE ? PAGE_SORT_AGE :
		    PAGE_SORT_ADDRESS;
		reverse = page_list_reverse(o);
	}
	if (sort == PAGE_SORT_AGE)
		line(h, "order", "age, %s first", reverse ? "youngest" :
		    "oldest");
	else if (sort == PAGE_SORT_ADDRESS)
		line(h, "order", "address, %s first", reverse ? "highest" :
		    "lowest");
	else
		line(h, "order", "%s%s", page_sort_rows[sort].word, reverse ?
		    ", reversed" : "");
}

/* Which of them are rows, where they are not all. */
static void
put_choice(struct head *h, const struct page_chosen *s, size_t rows)
{
	const char *filter = page_choice_filter_text(h->page);

	if (!page_choice_filters(h->page))
		return;
	if (filter != NULL)
		line(h, "filter", "%s", filter);
	line(h, "rows", "%zu: %s%llu blocks of %s%llu", rows,
	    page_about(h->v->look->sample), (unsigned long long)s->blocks,
	    page_about(h->v->look->sample), (unsigned long long)s->of);
	if (s->unsure > 0)
		line(h, "unsure", "names that the filter asks for are not "
		    "there of %llu blocks", (unsigned long long)s->unsure);
}

/* Which blocks these are, and whether they are all. */
static void
put_extent(struct head *h, uint64_t first, uint64_t there)
{
	const struct nodes_look *look = h->v->look;
	uint64_t total = page_view_total(h->v);
	char sample[PAGE_SAMPLE_TEXT];

	if (is_of_one_moment(look))
		line(h, "as of", "record %llu", (unsigned long long)
		    look->as_of);
	else
		line(h, "as of", "no one record: the list was being taken");
	if (look->window)
		line(h, "list", "NOT WHOLE: %llu of %llu blocks, from offset "
		    "%llu on; records come faster than they can be read",
		    (unsigned long long)there, (unsigned long long)total, (unsigned long long)first);
	else
		line(h, "list", "%s", is_of_one_moment(look) ? "whole" :
		    "NOT OF ONE MOMENT");
	if (look->sample == 0) {
		line(h, "blocks", "%llu", (unsigned long long)total);
		line(h, "bytes", "%llu", (unsigned long long)
		    h->v->counts->live_bytes);
		return;
	}
	page_sample_text(look->sample, sample);
	line(h, "sample", "%s: %llu blocks listed stand for about %llu",
	    sample, (unsigned long long)total,
	    (unsigned long long)page_view_blocks(h->v));
	line(h, "bytes", "about %llu",
	    (unsigned long long)page_view_bytes(h->v));
}

/* The note's seven, and ours. */
static void
put_counters(struct head *h)
{
	const struct blklist_counts *c = h->v->counts;
	const struct nodes_look *look = h->v->look;
	char cost[12];

	page_cost_text(cost, h->page->numbers.cost_us);
	line(h, "cycle", "%s, %llu records", cost,
	    (unsigned long long)look->cycle_records);
	line(h, "entries", "%u active, %u free", (unsigned)c->aRecActive,
	    (unsigned)(c->aRecMax - c->aRecActive));
	line(h, "errors", "%llu illegal types, %llu duplicates, %llu times "
	    "full, %llu unknown frees, %llu bad records",
	    (unsigned long long)c->illegal_type,
	    (unsigned long long)c->duplicate, (unsigned long long)look->full,
	    (unsigned long long)c->unknown_free,
	    (unsigned long long)look->bad_records);
}

static void
put_lost(struct head *h, const struct page_state *st)
{
	const struct nodes_look *look = h->v->look;
	char lack[PAGE_LACK_TEXT];

	line(h, "lost", "%llu", (unsigned long long)page_lost_for_good(look));
	page_lack_text(look, lack);
	line(h, "complete", "%s%s", look->complete ? "yes" : "NO: ",
	    look->complete ? "" : lack);
	if (st->notice[0] != '\0')
		line(h, "notice", "%s", st->notice);
}

void
listing_head(const struct page *page, const struct page_view *v,
    uint64_t first, const struct page_chosen *chosen, size_t rows,
    char out[LISTING_HEAD_MAX])
{
	struct head h = { .text = out, .page = page, .v = v };
	char target[PAGE_TARGET_TEXT];
	struct page_view then = *v;
	struct page still = *page;
	struct page_state st;

	out[0] = '\0';
	/* Of a paused picture: how things were, and not how they are now. */
	then.live = then.look;
	still.numbers.hz = 0;
	page_state_get(&still, &then, &st);
	page_target_text(v->look, target);
	base_append(out, LISTING_HEAD_MAX, &h.len, LISTING_HEAD_TITLE);
	put_node(&h);
	if (target[0] != '\0')
		line(&h, "target", "%s", target);
	line(&h, "state", "%s", st.word);
	put_time(&h);
	put_order(&h);
	put_extent(&h, first, chosen->of);
	put_choice(&h, chosen, rows);
	put_counters(&h);
	put_lost(&h, &st);
	base_append(out, LISTING_HEAD_MAX, &h.len, "\n");
}
