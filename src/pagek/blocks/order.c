#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../base/hashmap.h"
#include "../../filter/filter.h"
#include "../page/calls.h"
#include "order.h"

#define AT_ONCE 1024		/* blocks between two looks at the clock */

const struct page_sort_row page_sort_rows[PAGE_SORTS] = {
#define SORT(id, word_, letters_, title_, text_, help_) \
	[PAGE_SORT_##id] = { \
		.word = word_, \
		.letters = letters_, \
		.title = title_, \
		.text = text_, \
		.help = help_, \
	},
#include "sorts.def"
#undef SORT
};

static bool
parse_letter(const struct page_sort_row *keys, size_t n, char c,
    struct page_sorting *s)
{
	const char *letters;
	size_t i, j;

	for (i = 0; i < n; i++) {
		letters = keys[i].letters;
		if (letters[0] == '\0' || strchr(letters, c) == NULL)
			continue;
		/* A key twice decides nothing: the text is a wrong word. */
		for (j = 0; j < s->n; j++)
			if (s->by[j].sort == i)
				return false;
		s->by[s->n].sort = (uint8_t)i;
		s->by[s->n++].reverse = c == letters[1];
		return true;
	}
	return false;
}

bool
page_sorting_parse(const char *text, struct page_sorting *out)
{
	return page_sorting_parse_of(page_sort_rows, PAGE_SORTS, text, out);
}

static size_t
find_word(const struct page_sort_row *keys, size_t n, const char *word)
{
	size_t i = 0;

	while (i < n && (word == NULL || strcmp(word, keys[i].word) != 0))
		i++;
	return i;
}

static bool
parse_letters(const struct page_sort_row *keys, size_t n, const char *text,
    struct page_sorting *s)
{
	if (text[0] == '\0' || strlen(text) > PAGE_SORTINGS)
		return false;
	for (size_t i = 0; text[i] != '\0'; i++)
		if (!parse_letter(keys, n, text[i], s))
			return false;
	return true;
}

/* The sort key that has the order of that field; NULL: no field. */
static const char *
key_of_field(const char *word)
{
	const char *name = filter_name(word);

	/* The older a block, the lower its number. */
	return name != NULL && (strcmp(name, "time") == 0 ||
	    strcmp(name, "seq") == 0) ? "age" : name;
}

/* A word, letters, or another name of the field; "func" is letters. */
bool
page_sorting_parse_of(const struct page_sort_row *keys, size_t n,
    const char *text, struct page_sorting *out)
{
	struct page_sorting s = { 0 };
	size_t i = find_word(keys, n, text);

	if (i == n && parse_letters(keys, n, text, &s)) {
		*out = s;
		return true;
	}
	if (i == n)
		i = find_word(keys, n, key_of_field(text));
	if (i == n)
		return false;
	*out = (struct page_sorting){ .n = 1 };
	out->by[0].sort = (uint8_t)i;
	return true;
}

bool
page_sort_is_of(const struct page_sort_row *key, const struct field *f)
{
	return f->key != NULL && field_is_key_of(f->key, key->word);
}

size_t
page_sort_beside(const struct page_sort_row *keys, size_t n,
    const struct field_plan *plan, size_t from, size_t upto, size_t sort,
    bool right)
{
	size_t shown[FIELD_COLUMNS + 4], count = 0, at = 0;

	assert(upto - from <= 4);
	while (from < upto)
		shown[count++] = from++;
	for (size_t i = 0; i < plan->n; i++)
		for (size_t s = 0; s < n; s++)
			if (page_sort_is_of(&keys[s], plan->column[i]))
				shown[count++] = s;
	while (at < count && shown[at] != sort)
		at++;
	if (at == count)
		return shown[right ? 0 : count - 1];
	if (right ? at + 1 == count : at == 0)
		return n;
	return shown[right ? at + 1 : at - 1];
}

void
page_sort_put_title(const char *title, bool sorted, bool falls, int width,
    bool right, struct page_picture *pic)
{
	char text[32];

	snprintf(text, sizeof text, "%s%s", title, !sorted ? "" : falls ? " v" :
	    " ^");
	picture_text(pic, text, width, right ? PICTURE_RIGHT : PICTURE_LEFT);
}

void
page_sorting_get(const struct page_opts *o, struct page_sorting *s)
{
	*s = o->sorting;
	if (s->n == 0)
		s->n = 1;
}

void
page_sorting_put(const struct page_sorting *s, struct page_opts *o)
{
	o->sorting = *s;
	if (page_sorting_native(o))
		o->sorting.n = 1;
}

bool
page_sorting_equal(const struct page_sorting *a, const struct page_sorting *b)
{
	unsigned i, n = a->n > 1 ? a->n : 1;

	if (n != (b->n > 1 ? b->n : 1))
		return false;
	for (i = 0; i < n; i++)
		if (a->by[i].sort != b->by[i].sort ||
		    a->by[i].reverse != b->by[i].reverse)
			return false;
	return true;
}

bool
page_sorting_native(const struct page_opts *o)
{
	return o->sorting.by[0].sort <= PAGE_SORT_ADDRESS;
}

enum page_sort
page_sorting_first(const struct page_opts *o, bool *reverse)
{
	struct page_sorting s;

	page_sorting_get(o, &s);
	*reverse = s.by[0].reverse;
	return (enum page_sort)s.by[0].sort;
}

enum blklist_order
page_list_order(const struct page_opts *o)
{
	return o->sorting.by[0].sort == PAGE_SORT_ADDRESS ?
	    BLKLIST_BY_ADDRESS : BLKLIST_BY_AGE;
}

bool
page_list_reverse(const struct page_opts *o)
{
	return o->sorting.by[0].reverse;
}

const char *
page_sort_title(const struct page_opts *o)
{
	bool reverse;
	enum page_sort sort = page_sorting_first(o, &reverse);

	return page_sort_rows[sort].title != NULL ?
	    page_sort_rows[sort].title : "SITE";
}

static bool
is_largest_first(enum page_sort sort)
{
	return sort == PAGE_SORT_AGE || sort == PAGE_SORT_SIZE ||
	    sort == PAGE_SORT_USED || sort == PAGE_SORT_LEVEL ||
	    sort == PAGE_SORT_TOUCHED || sort == PAGE_SORT_TOUCHES;
}

char
page_sorting_arrow(const struct page_opts *o)
{
	bool reverse;
	enum page_sort sort = page_sorting_first(o, &reverse);

	return is_largest_first(sort) != reverse ? 'v' : '^';
}

static int
by_text(const void *a, const void *b, void *arg)
{
	const struct intern *texts = arg;
	const char *x = intern_text(texts, *(const uint32_t *)a);
	const char *y = intern_text(texts, *(const uint32_t *)b);
	int r;

	if (x[0] == '\0' || y[0] == '\0')
		return (x[0] == '\0') - (y[0] == '\0');
	r = strcasecmp(x, y);
	return r != 0 ? r : strcmp(x, y);
}

/* The rank of each text; the caller frees them. */
static int
rank_texts(struct intern *texts, uint32_t **out)
{
	uint32_t *sorted = malloc((texts->n + 1) * sizeof *sorted);
	uint32_t *rank = malloc((texts->n + 1) * sizeof *rank);
	size_t i;

	if (sorted == NULL || rank == NULL) {
		free(sorted);
		free(rank);
		return -ENOMEM;
	}
	for (i = 0; i < texts->n; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, texts->n, sizeof *sorted, by_text, texts);
	for (i = 0; i < texts->n; i++)
		rank[sorted[i]] = (uint32_t)i;
	free(sorted);
	*out = rank;
	return 0;
}

struct named {
	uint64_t caller;
	uint32_t number;	/* of its name among the texts */
	bool unsure;
};

struct item {
	uint64_t key;
	uint32_t place;
};

/* A merge sort for each key, the last key first. */
struct page_order {
	struct page_sorting sorting;
	const struct blk *blk;
	size_t n;
	unsigned pass;		/* keys that are done */
	enum {
		ORDER_KEYS,	/* numbers, or numbers of texts */
		ORDER_RANKS,	/* ranks of these texts */
		ORDER_MERGE,
		ORDER_OVER,
	} step;
	size_t at;		/* items that the step has done */
	size_t run;		/* length of sorted runs */
	struct item *item, *other;
	struct intern texts;
	uint32_t *rank;
	uint64_t unsure;
	struct hashmap named;	/* struct named by caller */
};

int
page_order_begin(struct page_order **out, const struct page_sorting *sorting,
    const struct blk *blk, size_t n)
{
	struct page_order *o = calloc(1, sizeof *o);
	size_t i;

	if (o == NULL)
		return -ENOMEM;
	o->sorting = *sorting;
	o->named.size = sizeof(struct named);
	o->blk = blk;
	o->n = n;
	o->item = malloc((n + 1) * sizeof *o->item);
	o->other = malloc((n + 1) * sizeof *o->other);
	if (o->item == NULL || o->other == NULL) {
		page_order_free(o);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		o->item[i] = (struct item){ .place = (uint32_t)i };
	*out = o;
	return 0;
}

void
page_order_free(struct page_order *o)
{
	if (o == NULL)
		return;
	intern_fini(&o->texts);
	free(o->rank);
	hashmap_fini(&o->named);
	free(o->item);
	free(o->other);
	free(o);
}

/* False: its pages are not counted, and it comes last. */
static bool
number_of_touch(const struct page_view *v, enum page_sort sort,
    const struct blk *b, uint64_t *n)
{
	struct refcnt_touch t;

	if (!page_touch(v, b, &t))
		return false;
	*n = ~(sort == PAGE_SORT_TOUCHES ? t.count : (uint64_t)t.idle_ms);
	return true;
}

static uint64_t
number_of(enum page_sort sort, const struct blk *b)
{
	switch (sort) {
	case PAGE_SORT_AGE:
		/* Sequence numbers may wrap. */
		return b->seq ^ (UINT64_C(1) << 63);
	case PAGE_SORT_ADDRESS:
		return b->addr;
	case PAGE_SORT_SIZE:
		return ~b->size;
	case PAGE_SORT_USED:
		return ~blk_used(b);
	case PAGE_SORT_LEVEL:
		return ~(uint64_t)(b->flags & 0xf);
	case PAGE_SORT_SITE:
		return b->caller;
	case PAGE_SORT_TID:
		return b->thread;
	case PAGE_SORT_LAYER:
		return b->flags & REC_LAYER_API;
	default:
		return b->type;
	}
}

static int
number_text(struct page_order *o, const char *text, uint32_t *number)
{
	int64_t no = intern_put(&o->texts, text, strlen(text));

	if (no < 0)
		return (int)no;
	*number = (uint32_t)no;
	return 0;
}

/* As a row shows it; "" is not known.  A line is in the order of its number. */
static void
call_text(const struct page_call *call, enum page_sort sort, char *out,
    size_t cap)
{
	size_t len;

	out[0] = '\0';
	if (sort == PAGE_SORT_FUNCTION) {
		page_call_function(call, out, cap);
	} else if (sort == PAGE_SORT_MODULE) {
		if (call->words != NULL)
			page_text_copy(out, cap,
			    page_text_base(call->words->module));
	} else if (call->line != NULL && call->line->file.len > 0) {
		page_text_copy(out, cap, page_text_base(call->line->file));
		len = strlen(out);
		if (sort == PAGE_SORT_LINE)
			base_append(out, cap, &len, ":%010u",
			    call->line->line);
	}
}

static int
call_number(struct page_order *o, const struct page_view *v,
    enum page_sort sort, uint64_t caller, uint32_t *number)
{
	char name[PAGE_NAME_MAX + 16] = "";
	struct page_call call;
	struct named *named;
	bool added, known;
	int64_t at;
	int r;

	at = hashmap_put(&o->named, caller, &added);
	if (at < 0)
		return -ENOMEM;
	named = hashmap_item(&o->named, (size_t)at);
	if (added) {
		known = page_calls_origin(v, caller, &call);
		if (sort == PAGE_SORT_CTYPE)
			page_calls_type(v, caller, name, sizeof name);
		else if (known)
			call_text(&call, sort, name, sizeof name);
		r = number_text(o, name, &named->number);
		if (r < 0)
			return r;
		named->unsure = caller != 0 && (!known ||
		    call.words == NULL || call.words->fetching ||
		    call.words->known == WIRE_K_PENDING);
	}
	o->unsure += named->unsure;
	*number = named->number;
	return 0;
}

static int
text_number(struct page_order *o, const struct page_view *v,
    enum page_sort sort, const struct blk *b, uint32_t *number)
{
	char rnod[8], room[PAGE_REQUESTER_TEXT];
	const char *name;

	switch (sort) {
	case PAGE_SORT_FUNCTION:
	case PAGE_SORT_MODULE:
	case PAGE_SORT_FILE:
	case PAGE_SORT_LINE:
	case PAGE_SORT_CTYPE:
		return call_number(o, v, sort, b->caller, number);
	case PAGE_SORT_REQUESTER:
		name = page_requester(room, v->look, b);
		return number_text(o, name != NULL ? name : "", number);
	case PAGE_SORT_THREAD:
		name = page_cell_thread(v, b);
		o->unsure += b->thread != 0 && name[0] == '\0';
		return number_text(o, name, number);
	case PAGE_SORT_RNOD:
		page_cell_rnod(rnod, v->look, b);
		return number_text(o, rnod, number);
	default:
		return number_text(o, page_descr(v->look, b), number);
	}
}

static unsigned
key_of(const struct page_order *o)
{
	return o->sorting.n - 1 - o->pass;
}

static int
make_keys(struct page_order *o, const struct page_view *v)
{
	enum page_sort sort = (enum page_sort)o->sorting.by[key_of(o)].sort;
	bool text = page_sort_rows[sort].text;
	uint64_t turn = o->sorting.by[key_of(o)].reverse && !text ?
	    UINT64_MAX : 0;
	size_t end = o->n - o->at < AT_ONCE ? o->n : o->at + AT_ONCE;
	bool touch = sort == PAGE_SORT_TOUCHED || sort == PAGE_SORT_TOUCHES;
	uint32_t number = 0;
	uint64_t key;
	int r = 0;

	for (; o->at < end && r == 0; o->at++) {
		const struct blk *b = &o->blk[o->item[o->at].place];

		if (text)
			r = text_number(o, v, sort, b, &number);
		if (text)
			key = number;
		else if (!touch)
			key = number_of(sort, b) ^ turn;
		else
			key = number_of_touch(v, sort, b, &key) ? key ^ turn :
			    UINT64_MAX;
		o->item[o->at].key = key;
	}
	if (r < 0 || o->at < o->n)
		return r;
	o->at = 0;
	o->run = 1;
	o->step = text ? ORDER_RANKS : ORDER_MERGE;
	return text ? rank_texts(&o->texts, &o->rank) : 0;
}

static void
make_ranks(struct page_order *o)
{
	size_t end = o->n - o->at < AT_ONCE ? o->n : o->at + AT_ONCE;
	bool reverse = o->sorting.by[key_of(o)].reverse;
	uint64_t rank;

	for (; o->at < end; o->at++) {
		rank = o->rank[o->item[o->at].key];
		o->item[o->at].key = reverse ? ~rank : rank;
	}
	if (o->at < o->n)
		return;
	intern_fini(&o->texts);
	free(o->rank);
	o->rank = NULL;
	hashmap_clear(&o->named);
	o->at = 0;
	o->step = ORDER_MERGE;
}

static void
merge_runs(struct page_order *o)
{
	size_t mid = o->n - o->at < o->run ? o->n : o->at + o->run;
	size_t end = o->n - mid < o->run ? o->n : mid + o->run;
	size_t i = o->at, j = mid, k = o->at;
	struct item *was = o->item;

	while (i < mid && j < end)
		o->other[k++] = was[j].key < was[i].key ? was[j++] : was[i++];
	memcpy(o->other + k, was + i, (mid - i) * sizeof *was);
	memcpy(o->other + k + (mid - i), was + j, (end - j) * sizeof *was);
	o->at = end;
	if (end < o->n)
		return;
	o->item = o->other;
	o->other = was;
	o->at = 0;
	o->run *= 2;
}

static int
do_step(struct page_order *o, const struct page_view *v)
{
	size_t done;
	int r = 0;

	switch (o->step) {
	case ORDER_KEYS:
		return make_keys(o, v);
	case ORDER_RANKS:
		make_ranks(o);
		break;
	case ORDER_MERGE:
		for (done = 0; done < AT_ONCE && o->run < o->n;
		    done += 2 * o->run)
			merge_runs(o);
		if (o->run < o->n)
			break;
		o->step = ++o->pass < o->sorting.n ? ORDER_KEYS : ORDER_OVER;
		o->at = 0;
		break;
	case ORDER_OVER:
		break;
	}
	return r;
}

int
page_order_next(struct page_order *o, const struct page_view *v,
    const struct scan *scan)
{
	int r = 0;

	while (r == 0 && o->step != ORDER_OVER) {
		r = do_step(o, v);
		if (!scan_has_budget(scan))
			break;
	}
	return r < 0 ? r : o->step == ORDER_OVER;
}

uint64_t
page_order_unsure(const struct page_order *o)
{
	return o->unsure;
}

/* Reuses the memory of the items, which are larger. */
uint32_t *
page_order_places(struct page_order *o)
{
	uint32_t *place = (uint32_t *)(void *)o->item, *less;
	size_t i;

	for (i = 0; i < o->n; i++)
		place[i] = o->item[i].place;
	o->item = NULL;
	less = realloc(place, (o->n + 1) * sizeof *place);
	return less != NULL ? less : place;
}
