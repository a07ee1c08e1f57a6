#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../base/base.h"
#include "../blocks/order.h"
#include "debugdata.h"

uint64_t
query_time(const struct dump *d, uint64_t ticks, bool ms)
{
	uint32_t hz = d->source.tick_hz;

	if (!ms || hz == 0)
		return ticks;
	return ticks / hz * 1000 + ticks % hz * 1000 / hz;
}

static const struct {
	const char *key;
	int range;			/* -1: threads */
	bool max;
} matches[] = {
	{ "thread", -1, false },
	{ "size_min", QUERY_SIZE, false },
	{ "size_max", QUERY_SIZE, true },
	{ "seqno_min", QUERY_SEQNO, false },
	{ "seqno_max", QUERY_SEQNO, true },
	{ "time_min", QUERY_TIME, false },
	{ "time_max", QUERY_TIME, true },
	{ "ptr_min", QUERY_PTR, false },
	{ "ptr_max", QUERY_PTR, true },
};

static int
find_match(const char *word, size_t len, char why[DEBUGDATA_WHY])
{
	const char *keys[BASE_NELEM(matches)];
	char key[32], clause[NEAREST_CLAUSE];

	for (size_t i = 0; i < BASE_NELEM(matches); i++) {
		keys[i] = matches[i].key;
		if (strlen(keys[i]) == len && memcmp(keys[i], word, len) == 0)
			return (int)i;
	}
	snprintf(key, sizeof key, "%.*s", (int)(len < 31 ? len : 31), word);
	nearest_clause(clause, key, keys, BASE_NELEM(matches), ": not one of "
	    "thread, size_min, size_max, seqno_min, seqno_max, time_min, "
	    "time_max, ptr_min, ptr_max");
	snprintf(why, DEBUGDATA_WHY, "-F: unknown filter '%s'%s",
	    base_shown(key), clause);
	return -1;
}

static bool
parse_value(const char *text, uint64_t *out)
{
	char *end;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		if (text[2] == '\0' || strspn(text + 2,
		    "0123456789abcdefABCDEF") != strlen(text + 2))
			return false;
		errno = 0;
		*out = strtoull(text + 2, &end, 16);
		return errno == 0;
	}
	return base_parse_size(text, UINT64_MAX, out) == 0;
}

/* The narrowest of several limits counts. */
static void
narrow(struct query *q, int range, bool max, uint64_t value)
{
	if (max && (!q->range[range].has_max || value < q->range[range].max)) {
		q->range[range].has_max = true;
		q->range[range].max = value;
	} else if (!max && (!q->range[range].has_min ||
	    value > q->range[range].min)) {
		q->range[range].has_min = true;
		q->range[range].min = value;
	}
}

static int
add_match(struct query *q, const char *text, char why[DEBUGDATA_WHY])
{
	const char *eq = strchr(text, '=');
	uint64_t value;
	int i;

	if (eq == NULL) {
		snprintf(why, DEBUGDATA_WHY, "-F %s: a filter is KEY=VALUE, as "
		    "in -Fsize_min=1024", base_shown(text));
		return -EINVAL;
	}
	i = find_match(text, (size_t)(eq - text), why);
	if (i < 0)
		return -EINVAL;
	if (!parse_value(eq + 1, &value)) {
		snprintf(why, DEBUGDATA_WHY, "-F%s: '%s' is not a number, as in "
		    "4096, 4k or 0x1000", matches[i].key, base_shown(eq + 1));
		return -EINVAL;
	}
	if (matches[i].range >= 0) {
		narrow(q, matches[i].range, matches[i].max, value);
		return 0;
	}
	if (q->threads == QUERY_THREADS) {
		snprintf(why, DEBUGDATA_WHY, "-Fthread is given more than %d "
		    "times", QUERY_THREADS);
		return -EINVAL;
	}
	q->thread[q->threads++] = value;
	return 0;
}

#define KEYS "pPnNsSatT"
#define KEYS_MORE "uUhHfFcC"

static int
parse_keys(struct query *q, const char *text, char why[DEBUGDATA_WHY])
{
	size_t n = strlen(text), bad = strspn(text, KEYS), keys = 0;

	/* A key that comes again, or its inverse, decides nothing. */
	for (size_t i = 0; i < bad; i++)
		if (strchr(q->keys, text[i]) == NULL)
			q->keys[keys++] = text[i];
	if (n > 0 && bad == n)
		return 0;
	if (n == 0)
		snprintf(why, DEBUGDATA_WHY, "-S needs sort keys: some of "
		    "p P n N s S a t T");
	else
		snprintf(why, DEBUGDATA_WHY, "-S: unknown sort key '%s': the "
		    "keys are p P n N s S a t T",
		    base_shown((const char[]){ text[bad], '\0' }));
	return -EINVAL;
}

/* A sort key of pagek's, in its own direction and reversed. */
static const char *
keys_of_sort(enum page_sort sort)
{
	switch (sort) {
	case PAGE_SORT_AGE:
		return "sS";
	case PAGE_SORT_ADDRESS:
		return "pP";
	case PAGE_SORT_SIZE:
		return "Nn";
	case PAGE_SORT_USED:
		return "Uu";
	case PAGE_SORT_TYPE:
	case PAGE_SORT_DESCR:
		return "aA";
	case PAGE_SORT_THREAD:
		return "hH";
	case PAGE_SORT_FUNCTION:
		return "fF";
	case PAGE_SORT_SITE:
		return "cC";
	case PAGE_SORT_TID:
	case PAGE_SORT_RNOD:
	case PAGE_SORT_REQUESTER:
	case PAGE_SORT_LEVEL:
	case PAGE_SORT_LAYER:
	case PAGE_SORT_MODULE:
	case PAGE_SORT_FILE:
	case PAGE_SORT_LINE:
	case PAGE_SORT_CTYPE:
	case PAGE_SORT_TOUCHED:
	case PAGE_SORT_TOUCHES:
	case PAGE_SORTS:
		break;
	}
	return NULL;
}

static int
parse_sort(struct query *q, const char *text, char why[DEBUGDATA_WHY])
{
	struct page_sorting sorting;
	const char *key;

	/* Words that sort groups only are ignored. */
	if (!page_sorting_parse(text, &sorting))
		sorting = (struct page_sorting){ .n = 1,
			.by[0].sort = PAGE_SORTS };
	for (unsigned i = 0; i < sorting.n && i < QUERY_KEYS; i++) {
		key = keys_of_sort((enum page_sort)sorting.by[i].sort);
		if (key == NULL) {
			snprintf(why, DEBUGDATA_WHY, "--sort=%s: debug data has "
			    "no such field", base_shown(text));
			return -EINVAL;
		}
		q->keys[i] = key[sorting.by[i].reverse];
	}
	return 0;
}

#define ALWAYS (1u << 31)	/* no option collects it */

/* The options that collect the fields of --filter; 0: debug data has no such field. */
static const unsigned collected_by[FILTER_FIELDS] = {
	[FILTER_SIZE] = ALWAYS,
	[FILTER_USED] = MDD_OPT_ACTUAL_SIZE,
	[FILTER_OVERHEAD] = MDD_OPT_ACTUAL_SIZE,
	[FILTER_ADDRESS] = ALWAYS,
	[FILTER_SEQ] = ALWAYS,
	[FILTER_TYPE] = ALWAYS,
	[FILTER_DESCR] = ALWAYS,
	[FILTER_TID] = MDD_OPT_THREAD,
	[FILTER_THREAD] = MDD_OPT_THREAD,
	[FILTER_CALLER] = MDD_OPT_BACKTRACE,
	[FILTER_MODULE] = MDD_OPT_BACKTRACE,
	[FILTER_FUNCTION] = MDD_OPT_BACKTRACE,
	[FILTER_FILE] = MDD_OPT_BACKTRACE,
	[FILTER_LINE] = MDD_OPT_BACKTRACE,
};

static int
check_filter(const struct filter *filter, char why[DEBUGDATA_WHY])
{
	for (unsigned f = 0; f < FILTER_FIELDS; f++) {
		if (collected_by[f] != 0 || !filter_uses(filter, f))
			continue;
		snprintf(why, DEBUGDATA_WHY, "--filter: debug data has no "
		    "field '%s'%s", filter_field_name(f),
		    f == FILTER_AGE || f == FILTER_TIME ? "; -Ftime_min and "
		    "-Ftime_max are of its times" : "");
		return -EINVAL;
	}
	return 0;
}

int
query_parse(struct query *q, const struct options *o, char why[DEBUGDATA_WHY])
{
	const struct events_options *r = &o->events;
	int e = 0;

	*q = (struct query){ .filter = o->filter.compiled, .ms = r->time ==
	    EVENTS_MS };
	for (size_t i = 0; e == 0 && i < r->matches; i++)
		e = add_match(q, r->match[i], why);
	if (e == 0 && r->keys != NULL)
		e = parse_keys(q, r->keys, why);
	else if (e == 0 && option_given(o, OPTION_SORT))
		e = parse_sort(q, o->text[OPTION_SORT], why);
	if (e == 0 && q->filter != NULL)
		e = check_filter(q->filter, why);
	return e;
}

static const struct {
	const char *keys;
	unsigned option;
	const char *what;
} sorted_by[] = {
	{ "tT", MDD_OPT_THREAD, "the sort key t" },
	{ "hH", MDD_OPT_THREAD, "--sort=thread" },
	{ "uU", MDD_OPT_ACTUAL_SIZE, "--sort=used" },
	{ "fF", MDD_OPT_BACKTRACE, "--sort=function" },
	{ "cC", MDD_OPT_BACKTRACE, "--sort=site" },
};

int
query_check(const struct query *q, const struct subject *s,
    char why[DEBUGDATA_WHY])
{
	bool time = q->range[QUERY_TIME].has_min || q->range[QUERY_TIME].has_max;
	char name[32];

	if ((q->threads > 0 && subject_lacks(s, MDD_OPT_THREAD, "-Fthread",
	    why)) || (time && subject_lacks(s, MDD_OPT_TIMESTAMP,
	    q->range[QUERY_TIME].has_min ? "-Ftime_min" : "-Ftime_max", why)))
		return PAGEK_USAGE;
	for (size_t i = 0; i < BASE_NELEM(sorted_by); i++)
		if (strpbrk(q->keys, sorted_by[i].keys) != NULL &&
		    subject_lacks(s, sorted_by[i].option, sorted_by[i].what, why))
			return PAGEK_USAGE;
	if (q->ms && subject_lacks(s, MDD_OPT_TIMESTAMP, "--time=ms", why))
		return PAGEK_USAGE;
	for (unsigned f = 0; q->filter != NULL && f < FILTER_FIELDS; f++) {
		if (collected_by[f] == ALWAYS || !filter_uses(q->filter, f))
			continue;
		snprintf(name, sizeof name, "--filter %s", filter_field_name(f));
		if (subject_lacks(s, collected_by[f], name, why))
			return PAGEK_USAGE;
	}
	for (size_t i = 0; q->ms && i < s->n; i++)
		if (s->dump[i].source.known && s->dump[i].source.tick_hz == 0) {
			snprintf(why, DEBUGDATA_WHY, "--time=ms: %s does not "
			    "tell how long a tick is",
			    base_shown(s->dump[i].name));
			return PAGEK_USAGE;
		}
	return PAGEK_OK;
}

static bool
in_range(const struct query *q, enum query_range i, uint64_t n)
{
	return (!q->range[i].has_min || n >= q->range[i].min) &&
	    (!q->range[i].has_max || n <= q->range[i].max);
}

/* By position: the counter may have wrapped around. */
static bool
is_between(const struct query *q, const struct event *e)
{
	const struct dump *d = e->dump;
	uint64_t n = dump_position(d, e->at->seqno);
	const uint64_t *min = &q->range[QUERY_SEQNO].min;
	const uint64_t *max = &q->range[QUERY_SEQNO].max;

	if (!d->wrapped)
		return in_range(q, QUERY_SEQNO, n);
	if (q->range[QUERY_SEQNO].has_min && (*min > UINT32_MAX ||
	    n < dump_position(d, *min)))
		return false;
	return !q->range[QUERY_SEQNO].has_max || *max > UINT32_MAX ||
	    n <= dump_position(d, *max);
}

static bool
is_of_thread(const struct query *q, const struct event *e)
{
	for (size_t i = 0; i < q->threads; i++)
		if (q->thread[i] == e->at->thread)
			return true;
	return q->threads == 0;
}

struct row_texts {
	const struct event *e;
	const struct callers *callers;
	char text[4200];
};

/* "malloc()" is malloc. */
static const char *
function_word(struct row_texts *t)
{
	size_t n;

	base_copy_text(t->text, sizeof t->text,
	    dump_function(t->e->at->function));
	n = strlen(t->text);
	if (n > 2 && strcmp(t->text + n - 2, "()") == 0)
		t->text[n - 2] = '\0';
	return t->text;
}

static const char *
row_text(void *arg, enum filter_field field)
{
	struct row_texts *t = arg;
	const struct dump_thread *thread;
	const struct dump_module *module;
	const struct named_caller *c;

	switch (field) {
	case FILTER_TYPE:
	case FILTER_DESCR:
		return function_word(t);
	case FILTER_THREAD:
		thread = dump_thread(t->e->dump, t->e->at->thread);
		return thread != NULL ? thread->name : NULL;
	case FILTER_CALLER:
		if (t->e->at->stack[0] == 0)
			return NULL;
		snprintf(t->text, sizeof t->text, "%" PRIu64, t->e->at->stack[0]);
		return t->text;
	case FILTER_MODULE:
		module = dump_module(t->e->dump, t->e->at->stack[0]);
		return module != NULL ? module->path : NULL;
	case FILTER_FUNCTION:
	case FILTER_FILE:
	case FILTER_LINE:
		c = callers_get(t->callers, t->e, 0);
		if (c == NULL || field == FILTER_FUNCTION)
			return c != NULL ? c->function : NULL;
		if (c->file == NULL)
			return NULL;
		if (field == FILTER_LINE)
			snprintf(t->text, sizeof t->text, "%" PRIu32, c->line);
		else
			snprintf(t->text, sizeof t->text, "%s:%" PRIu32, c->file,
			    c->line);
		return t->text;
	default:
		return NULL;
	}
}

static bool
is_filtered(const struct query *q, struct row_texts *t)
{
	const struct event *e = t->e;
	struct filter_block b = { .text = row_text, .arg = t, .number = {
		[FILTER_SIZE] = e->block->size,
		[FILTER_USED] = e->block->actual,
		[FILTER_OVERHEAD] = e->block->actual > e->block->size ?
		    e->block->actual - e->block->size : 0,
		[FILTER_ADDRESS] = e->block->address,
		[FILTER_SEQ] = e->at->seqno,
		[FILTER_TYPE] = e->at->function,
		[FILTER_TID] = e->at->thread } };

	return q->filter == NULL || filter_matches(q->filter, &b);
}

static bool
matches_query(const struct query *q, struct row_texts *t)
{
	const struct event *e = t->e;

	return in_range(q, QUERY_SIZE, e->block->size) &&
	    in_range(q, QUERY_PTR, e->block->address) &&
	    in_range(q, QUERY_TIME, query_time(e->dump, e->at->time, q->ms)) &&
	    is_between(q, e) && is_of_thread(q, e) && is_filtered(q, t);
}

struct order {
	const char *keys;
	const struct callers *callers;
};

static int
compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Unknown texts come last. */
static int
compare_texts(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return (a == NULL) - (b == NULL);
	return strcasecmp(a, b);
}

static const char *
thread_name(const struct event *e)
{
	const struct dump_thread *t = dump_thread(e->dump, e->at->thread);

	return t != NULL ? t->name : NULL;
}

static const char *
caller_name(const struct callers *callers, const struct event *e)
{
	const struct named_caller *c = callers_get(callers, e, 0);

	return c != NULL ? c->function : NULL;
}

static int
compare_by(const struct order *o, char key, const struct event *a,
    const struct event *b)
{
	switch (key | 0x20) {
	case 'p':
		return compare(a->block->address, b->block->address);
	case 'n':
		return compare(a->block->size, b->block->size);
	case 'u':
		return compare(a->block->actual, b->block->actual);
	case 's':
		return compare(a->position, b->position);
	case 'a':
		return compare(a->at->function, b->at->function);
	case 't':
		return compare(a->at->thread, b->at->thread);
	case 'h':
		return compare_texts(thread_name(a), thread_name(b));
	case 'f':
		return compare_texts(caller_name(o->callers, a),
		    caller_name(o->callers, b));
	case 'c':
		return memcmp(a->at->stack, b->at->stack, sizeof a->at->stack);
	}
	return 0;
}

static int
compare_rows(const void *a, const void *b, void *arg)
{
	const struct event *p = a, *q = b;
	const struct order *o = arg;
	int r = 0;

	for (const char *key = o->keys; r == 0 && *key != '\0'; key++) {
		r = compare_by(o, *key, p, q);
		if (*key < 'a')
			r = -r;
	}
	return r != 0 ? r : compare(p->position, q->position);
}

int
query_apply(const struct query *q, struct events *events,
    struct callers *callers)
{
	struct order order = { q->keys, callers };
	struct row_texts t = { .callers = callers };
	size_t n = 0;
	int r = 0;

	/* A filter or an order may need the names of all rows. */
	if (callers != NULL && (q->filter != NULL ||
	    strpbrk(q->keys, "fF") != NULL))
		r = callers_look(callers, events);
	if (r < 0)
		return r;
	for (size_t i = 0; i < events->n; i++) {
		t.e = &events->row[i];
		if (matches_query(q, &t))
			events->row[n++] = events->row[i];
	}
	events->n = n;
	if (q->keys[0] != '\0')
		qsort_r(events->row, n, sizeof *events->row, compare_rows,
		    &order);
	return 0;
}
