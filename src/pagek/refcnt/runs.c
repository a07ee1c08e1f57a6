#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "refcnt.h"

static bool
is_run(const struct refcnt_copy *c, size_t a, size_t b)
{
	const struct refcnt_copy_page *p = &c->page[a], *q = &c->page[b];

	return q->vaddr - p->vaddr == (b - a) * (uint64_t)REFCNT_PAGE &&
	    p->heat == q->heat && p->reads == q->reads &&
	    p->writes == q->writes && p->since_ms == q->since_ms &&
	    p->last_ms == q->last_ms && p->home == q->home &&
	    p->flags == q->flags && p->source == q->source &&
	    memcmp(refcnt_copy_counters(c, a), refcnt_copy_counters(c, b),
	    c->counters * sizeof(uint64_t)) == 0;
}

/* *first: the first page that is counted, or SIZE_MAX. */
static bool
is_of_another_source(const struct refcnt_copy *c, size_t *first, size_t i)
{
	if ((c->page[i].flags & REFCNT_VALID) == 0)
		return false;
	if (*first == SIZE_MAX)
		*first = i;
	return c->page[i].source != c->page[*first].source;
}

static bool matches(const struct refcnt_row *, const struct filter *);

int
refcnt_list_make(struct refcnt_list *list, const struct refcnt_copy *c,
    const struct filter *filter)
{
	struct refcnt_line line;
	void *lines = list->line;
	size_t first = SIZE_MAX;
	int err = 0;

	list->copy = c;
	list->n = list->of = 0;
	list->has_nodes = list->has_writes = list->is_mixed = false;
	for (size_t i = 0; i < c->n && err == 0; i += line.pages) {
		line = (struct refcnt_line){ .at = i, .pages = 1 };
		while (!list->single && i + line.pages < c->n &&
		    is_run(c, i, i + line.pages))
			line.pages++;
		list->of++;
		list->has_nodes |= (c->page[i].flags & REFCNT_NO_NODE) == 0;
		list->has_writes |= refcnt_row_source(&c->page[i])->write;
		list->is_mixed |= is_of_another_source(c, &first, i);
		if (filter != NULL && !matches(&(struct refcnt_row){ list, &line },
		    filter))
			continue;
		err = base_grow(&lines, &list->cap, list->n + 1, sizeof line);
		list->line = lines;
		if (err == 0)
			list->line[list->n++] = line;
	}
	return err;
}

void
refcnt_list_fini(struct refcnt_list *list)
{
	free(list->line);
	list->line = NULL;
	list->n = list->cap = list->of = 0;
	list->has_nodes = list->has_writes = false;
}

const struct refcnt_source_row *
refcnt_row_source(const struct refcnt_copy_page *p)
{
	static const struct refcnt_source_row unknown = { .name = "unknown",
		.text = "a source that this page does not know",
		.unit = "references" };

	return p->source < REFCNT_SOURCES ? &refcnt_sources[p->source] : &unknown;
}

static unsigned
nodes_a_counter(const struct refcnt_copy_page *p)
{
	return (p->flags & REFCNT_GROUPED) != 0 ? 8 : 1;
}

void
refcnt_node_text(const struct refcnt_copy_page *p, unsigned counter,
    char out[REFCNT_NODE_TEXT])
{
	unsigned by = nodes_a_counter(p);

	if (by == 1)
		snprintf(out, REFCNT_NODE_TEXT, "n%u", counter);
	else
		snprintf(out, REFCNT_NODE_TEXT, "n%u-%u", counter * by,
		    counter * by + by - 1);
}

/* The greatest counter of a saturated set is the one at its maximum. */
bool
refcnt_is_pegged(const struct refcnt_row *r, unsigned counter)
{
	const struct refcnt_copy *c = r->of->copy;
	const uint64_t *n = refcnt_copy_counters(c, r->line->at);

	if ((refcnt_row_page(r)->flags & REFCNT_SATURATED) == 0)
		return false;
	for (unsigned i = 0; i < c->counters; i++)
		if (n[i] > n[counter])
			return false;
	return true;
}

/* The counter that refers most from afar; false: the page stays. */
static bool
find_better_home(const struct refcnt_row *r, unsigned home, unsigned *better)
{
	const uint64_t *n = refcnt_copy_counters(r->of->copy, r->line->at);
	unsigned most = home == 0 && r->of->copy->counters > 1;

	for (unsigned i = 0; i < r->of->copy->counters; i++)
		if (i != home && n[i] > n[most])
			most = i;
	*better = most;
	return most != home && n[most] > n[home] &&
	    n[most] - n[home] > r->of->diff && n[most] >= r->of->least;
}

enum hint { HINT_NONE, HINT_HOME, HINT_MOVE };

static enum hint
hint_of(const struct refcnt_row *r, unsigned *better)
{
	const struct refcnt_copy_page *p = refcnt_row_page(r);
	unsigned home = p->home >= 0 ? (unsigned)p->home / nodes_a_counter(p) :
	    REFCNT_COUNTERS;

	if ((p->flags & REFCNT_NO_NODE) != 0 || p->count == 0 ||
	    home >= r->of->copy->counters)
		return HINT_NONE;
	return find_better_home(r, home, better) ? HINT_MOVE : HINT_HOME;
}

void
refcnt_hint(const struct refcnt_row *r, char out[REFCNT_HINT_TEXT])
{
	char node[REFCNT_NODE_TEXT];
	unsigned better;
	enum hint hint = hint_of(r, &better);

	if (hint == HINT_MOVE)
		refcnt_node_text(refcnt_row_page(r), better, node);
	snprintf(out, REFCNT_HINT_TEXT, "%s%s", hint == HINT_MOVE ? "-> " :
	    hint == HINT_HOME ? "home" : "", hint == HINT_MOVE ? node : "");
}

int64_t
refcnt_idle_ms(const struct refcnt_row *r)
{
	const struct refcnt_copy_page *p = refcnt_row_page(r);
	int64_t ms = r->of->copy->now_ms - (p->last_ms >= 0 ? p->last_ms :
	    p->since_ms);

	return ms > 0 ? ms : 0;
}

void
refcnt_heat_text(uint64_t heat, char out[REFCNT_HEAT + 1])
{
	for (unsigned i = 0; i < REFCNT_HEAT; i++)
		out[REFCNT_HEAT - 1 - i] = (char)('0' + refcnt_heat(heat, i) % 10);
	out[REFCNT_HEAT] = '\0';
}

void
refcnt_flags_text(uint32_t flags, char out[REFCNT_FLAGS_TEXT])
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ REFCNT_VALID, "valid" }, { REFCNT_SAMPLED, "sampled" },
		{ REFCNT_NO_PADDR, "no_paddr" },
		{ REFCNT_NOT_PRESENT, "not_present" }, { REFCNT_MOVED, "moved" },
		{ REFCNT_SATURATED, "saturated" }, { REFCNT_COARSE, "coarse" },
		{ REFCNT_GROUPED, "grouped" }, { REFCNT_NO_NODE, "no_node" },
	};
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < BASE_NELEM(names); i++)
		if ((flags & names[i].bit) != 0)
			base_append(out, REFCNT_FLAGS_TEXT, &len, "%s%s",
			    len > 0 ? "," : "", names[i].name);
}

bool
refcnt_row_blocks(const struct refcnt_row *r, size_t *blocks, struct blk *first)
{
	const struct page_view *v = r->of->v;
	uint64_t from = refcnt_row_page(r)->vaddr;
	uint64_t to = from + r->line->pages * (uint64_t)REFCNT_PAGE;

	if (v == NULL || v->look->list == NULL || v->look->window ||
	    v->look->state == NODES_DORMANT)
		return false;
	*blocks = refcnt_blocks_there(v->look->list, from, to, first);
	return true;
}

struct asked {
	const struct refcnt_row *row;
	char room[REFCNT_FLAGS_TEXT];
};

static const char *
number_text(struct asked *a, bool known, uint64_t n)
{
	if (!known)
		return NULL;
	snprintf(a->room, sizeof a->room, "%" PRIu64, n);
	return a->room;
}

static const char *
text_of(void *arg, enum filter_field field)
{
	struct asked *a = arg;
	const struct refcnt_copy_page *p = refcnt_row_page(a->row);

	switch ((enum filter_refcnt_field)field) {
	case FILTER_R_PAGE:
		return number_text(a, true, p->vaddr);
	case FILTER_R_PAGES:
		return number_text(a, true, a->row->line->pages);
	case FILTER_R_HOME:
		return number_text(a, p->home >= 0, (uint64_t)p->home);
	case FILTER_R_COUNT:
		return number_text(a, true, p->count);
	case FILTER_R_READS:
		return number_text(a, refcnt_row_source(p)->read &&
		    refcnt_row_source(p)->write, p->reads);
	case FILTER_R_WRITES:
		return number_text(a, refcnt_row_source(p)->write, p->writes);
	case FILTER_R_TOUCHED:
		return number_text(a, true, (uint64_t)refcnt_idle_ms(a->row));
	case FILTER_R_HEAT:
		return number_text(a, true, refcnt_heat(p->heat, 0));
	case FILTER_R_HINT:
		refcnt_hint(a->row, a->room);
		return a->room;
	case FILTER_R_SOURCE:
		return refcnt_row_source(p)->name;
	case FILTER_R_FLAGS:
		refcnt_flags_text(p->flags & ~REFCNT_VALID, a->room);
		return a->room;
	case FILTER_R_FIELDS:
		break;
	}
	return NULL;
}

static bool
matches(const struct refcnt_row *r, const struct filter *filter)
{
	struct asked a = { .row = r };
	struct filter_block b = { .text = text_of, .arg = &a };

	return filter_matches(filter, &b);
}

const struct page_sort_row refcnt_sort_rows[REFCNT_SORTS] = {
	[REFCNT_SORT_PAGE] = { "page", "pP", "PAGE", false, "lowest address first" },
	[REFCNT_SORT_HOME] = { "home", "oO", "HOME", false, "by the node it lies on" },
	[REFCNT_SORT_COUNT] = { "count", "cC", "TOTAL", false, "most references first" },
	[REFCNT_SORT_READS] = { "reads", "", "READS", false, "most reads first" },
	[REFCNT_SORT_WRITES] = { "writes", "", "WRITES", false, "most writes first" },
	[REFCNT_SORT_TOUCHED] = { "touched", "tT", "TOUCH", false,
	    "longest without a reference first" },
	[REFCNT_SORT_HEAT] = { "heat", "eE", "HEAT", false, "hottest of the last period first" },
	[REFCNT_SORT_HINT] = { "hint", "iI", "HINT", false, "pages that should move first" },
};

static uint64_t
key_of(const struct refcnt_list *list, const struct refcnt_line *line,
    enum refcnt_sort sort)
{
	struct refcnt_row r = { list, line };
	const struct refcnt_copy_page *p = refcnt_row_page(&r);
	unsigned better;

	switch (sort) {
	case REFCNT_SORT_HOME:
		return ~(uint64_t)(int64_t)p->home;
	case REFCNT_SORT_COUNT:
		return p->count;
	case REFCNT_SORT_READS:
		return p->reads;
	case REFCNT_SORT_WRITES:
		return p->writes;
	case REFCNT_SORT_TOUCHED:
		return (uint64_t)refcnt_idle_ms(&r);
	case REFCNT_SORT_HEAT:
		return refcnt_heat(p->heat, 0);
	case REFCNT_SORT_HINT:
		return hint_of(&r, &better);
	case REFCNT_SORT_PAGE:
	case REFCNT_SORTS:
		break;
	}
	return ~p->vaddr;
}

struct comparison {
	const struct refcnt_list *list;
	enum refcnt_sort sort;
	bool reverse;
};

static int
compare_lines(const void *a, const void *b, void *arg)
{
	const struct refcnt_line *x = a, *y = b;
	const struct comparison *c = arg;
	uint64_t p = key_of(c->list, x, c->sort), q = key_of(c->list, y, c->sort);

	if (p == q && c->sort == REFCNT_SORT_COUNT) {
		p = c->list->copy->page[x->at].heat;
		q = c->list->copy->page[y->at].heat;
	}
	if (p == q)
		return (x->at > y->at) - (x->at < y->at);
	return (p < q) != c->reverse ? 1 : -1;
}

void
refcnt_list_sort(struct refcnt_list *list, enum refcnt_sort sort, bool reverse)
{
	struct comparison c = { list, sort, reverse };

	if (list->n > 1)
		qsort_r(list->line, list->n, sizeof *list->line, compare_lines,
		    &c);
}
