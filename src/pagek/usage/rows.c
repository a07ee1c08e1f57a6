#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "usage.h"

const char *const usage_groupings[USAGE_GROUPINGS] = {
	[USAGE_BY_NONE] = "none",
	[USAGE_BY_TYPE] = "type",
	[USAGE_BY_FUNCTION] = "function",
	[USAGE_BY_LINE] = "line",
	[USAGE_BY_MODULE] = "module",
	[USAGE_BY_SIZE] = "size",
};

/* -ENOMEM */
static int
keep_text(struct usage_list *list, const char **text)
{
	int64_t no;

	if (*text == NULL)
		return 0;
	no = intern_put(&list->texts, *text, strlen(*text));
	if (no < 0)
		return -ENOMEM;
	*text = intern_text(&list->texts, (size_t)no);
	return 0;
}

int
usage_list_add(struct usage_list *list, const struct usage_line *row)
{
	struct usage_line kept = *row;
	const char **text[] = { &kept.type, &kept.named_by, &kept.function,
		&kept.file, &kept.module };
	void *array = list->row;
	int err = base_grow(&array, &list->cap, list->n + 1, sizeof kept);

	if (err < 0)
		return err;
	list->row = array;
	for (size_t i = 0; i < BASE_NELEM(text); i++)
		if (keep_text(list, text[i]) < 0)
			return -ENOMEM;
	kept.order = (uint32_t)list->n;
	if (kept.rows == 0)
		kept.rows = 1;
	list->row[list->n++] = kept;
	return 0;
}

void
usage_list_fini(struct usage_list *list)
{
	free(list->row);
	intern_fini(&list->texts);
	*list = (struct usage_list){ 0 };
}

static const char *
or_other(const char *a, const char *b)
{
	return a != NULL && b != NULL && (a == b || strcmp(a, b) == 0) ? a : NULL;
}

static void
add_counts(struct usage_line *a, const struct usage_line *b)
{
	a->allocated += b->allocated;
	a->freed += b->freed;
	a->max += b->max;
	a->live += b->live;
	a->held_before += b->held_before;
	a->bytes += b->bytes;
	a->allocated_bytes += b->allocated_bytes;
	a->short_lived += b->short_lived;
	a->then += b->then;
	a->then_bytes += b->then_bytes;
	a->rows += b->rows;
	a->known &= b->known;
}

static void
merge_rows(struct usage_line *a, const struct usage_line *b)
{
	add_counts(a, b);
	a->type = or_other(a->type, b->type);
	a->named_by = or_other(a->named_by, b->named_by);
	a->function = or_other(a->function, b->function);
	if (or_other(a->file, b->file) == NULL || a->line != b->line)
		a->line = 0;
	a->file = or_other(a->file, b->file);
	a->module = or_other(a->module, b->module);
	a->no_num |= b->no_num || a->num != b->num;
}

/* The size becomes that of its class, and the type "33-64".  -ENOMEM. */
static int
classify_row(struct usage_list *list, struct usage_line *r)
{
	uint64_t high = 1;
	char text[48];

	if ((r->known & USAGE_KNOWS_BYTES) == 0 || r->num < 0) {
		r->type = NULL;
		r->no_num = true;
		return 0;
	}
	while (high < (uint64_t)r->num)
		high *= 2;
	r->num = (int64_t)high;
	r->no_num = false;
	/* "0-1", "2-2", "3-4", "5-8" */
	snprintf(text, sizeof text, "%" PRIu64 "-%" PRIu64, high > 1 ?
	    high / 2 + 1 : 0, high);
	r->type = text;
	return keep_text(list, &r->type);
}

/* The type becomes "file:line  function", as far as that is known.  -ENOMEM. */
static int
place_row(struct usage_list *list, struct usage_line *r)
{
	const char *slash = r->file != NULL ? strrchr(r->file, '/') : NULL;
	char *text;
	int err;

	if (r->function == NULL || r->file == NULL || r->line == 0) {
		r->type = r->function != NULL ? r->function :
		    r->named_by != NULL && strcmp(r->named_by, "address") == 0 ?
		    r->type : NULL;
		return 0;
	}
	if (asprintf(&text, "%s:%" PRIu32 "  %s", slash != NULL ? slash + 1 :
	    r->file, r->line, r->function) < 0)
		return -ENOMEM;
	r->type = text;
	err = keep_text(list, &r->type);
	free(text);
	return err;
}

static const char *
group_name(const struct usage_line *r, enum usage_grouping by)
{
	return by == USAGE_BY_FUNCTION ? r->function :
	    by == USAGE_BY_MODULE ? r->module : r->type;
}

struct key {
	const struct usage_line *row;
	enum usage_grouping by;
};

static bool
same_key(const void *of, uint32_t number, const void *key)
{
	const struct usage_line *a = (const struct usage_line *)of + number;
	const struct key *k = key;
	const char *x = group_name(a, k->by), *y = group_name(k->row, k->by);

	return (k->by != USAGE_BY_NONE || (a->no_num == k->row->no_num &&
	    (a->no_num || a->num == k->row->num))) &&
	    (x == y || (x != NULL && y != NULL && strcmp(x, y) == 0));
}

static uint32_t
hash_of(const struct key *k)
{
	const char *name = group_name(k->row, k->by);
	uint64_t num = k->by == USAGE_BY_NONE && !k->row->no_num ?
	    (uint64_t)k->row->num : 0;

	return hash_of_key(name != NULL ? hash_of_bytes(num, name, strlen(name)) :
	    num);
}

int
usage_list_group(struct usage_list *list, enum usage_grouping by)
{
	struct hashindex index = { 0 };
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < list->n && err == 0; i++) {
		struct usage_line r = list->row[i];
		struct key key = { &r, by };
		uint32_t hash;
		int64_t at;

		err = by == USAGE_BY_SIZE ? classify_row(list, &r) :
		    by == USAGE_BY_LINE ? place_row(list, &r) : 0;
		if (err < 0)
			break;
		hash = hash_of(&key);
		at = hashindex_find(&index, hash, same_key, list->row, &key);
		if (at >= 0) {
			merge_rows(&list->row[at], &r);
			continue;
		}
		err = hashindex_put(&index, hash, (uint32_t)n);
		list->row[n++] = r;
	}
	hashindex_fini(&index);
	if (err < 0)
		return err;
	list->n = n;
	list->kind = by;
	for (size_t i = 0; i < n && by != USAGE_BY_NONE; i++) {
		struct usage_line *r = &list->row[i];

		r->type = group_name(r, by);
		r->no_num |= by != USAGE_BY_SIZE;
		if (by != USAGE_BY_TYPE)
			r->named_by = r->type != NULL && (by ==
			    USAGE_BY_FUNCTION || (by == USAGE_BY_LINE &&
			    r->function != NULL)) ? "function" : NULL;
	}
	return 0;
}

void
usage_list_sum(struct usage_list *list)
{
	list->sum = (struct usage_line){ .known = USAGE_KNOWS_BYTES |
		USAGE_KNOWS_LIVES | USAGE_KNOWS_THEN };
	for (size_t i = 0; i < list->n; i++)
		add_counts(&list->sum, &list->row[i]);
	if (list->n == 0)
		list->sum.known = 0;
}

struct filtered {
	const struct usage_line *row;
	char room[4200];
};

static const char *
number_text(struct filtered *f, bool known, uint64_t n)
{
	if (!known)
		return NULL;
	snprintf(f->room, sizeof f->room, "%" PRIu64, n);
	return f->room;
}

static const char *
signed_text(struct filtered *f, bool known, int64_t n)
{
	if (!known)
		return NULL;
	snprintf(f->room, sizeof f->room, "%" PRId64, n);
	return f->room;
}

static const char *
file_text(struct filtered *f)
{
	if (f->row->file == NULL || f->row->line == 0)
		return f->row->file;
	snprintf(f->room, sizeof f->room, "%s:%" PRIu32, f->row->file,
	    f->row->line);
	return f->room;
}

static const char *
text_of(void *arg, enum filter_field field)
{
	struct filtered *f = arg;
	const struct usage_line *r = f->row;

	switch ((enum filter_usage_field)field) {
	case FILTER_U_TYPE:
		return r->type;
	case FILTER_U_NUM:
		return signed_text(f, !r->no_num, r->num);
	case FILTER_U_ALLOCATED:
		return number_text(f, true, r->allocated);
	case FILTER_U_FREED:
		return number_text(f, true, r->freed);
	case FILTER_U_LIVE:
		return signed_text(f, true, r->live);
	case FILTER_U_MAX:
		return number_text(f, true, r->max);
	case FILTER_U_BYTES:
		return number_text(f, r->known & USAGE_KNOWS_BYTES, r->bytes);
	case FILTER_U_ALLOCATED_BYTES:
		return number_text(f, r->known & USAGE_KNOWS_BYTES,
		    r->allocated_bytes);
	case FILTER_U_SHORT_LIVED:
		return number_text(f, r->known & USAGE_KNOWS_LIVES,
		    r->short_lived);
	case FILTER_U_FUNCTION:
		return r->function;
	case FILTER_U_FILE:
		return file_text(f);
	case FILTER_U_MODULE:
		return r->module;
	case FILTER_U_FIELDS:
		break;
	}
	return NULL;
}

void
usage_list_filter(struct usage_list *list, const struct filter *filter)
{
	struct filtered *f = filter != NULL ? malloc(sizeof *f) : NULL;
	struct filter_block block = { .text = text_of, .arg = f };
	size_t n = 0;

	if (f == NULL)
		return;
	for (size_t i = 0; i < list->n; i++) {
		f->row = &list->row[i];
		if (filter_matches(filter, &block))
			list->row[n++] = list->row[i];
	}
	list->n = n;
	free(f);
}

const struct page_sort_row usage_sort_rows[USAGE_SORTS] = {
	[USAGE_SORT_ORDER] = { "order", "oO", NULL, true, "first use, the first one "
	    "first" },
	[USAGE_SORT_TYPE] = { "type", "tT", "TYPE", true, "name" },
	[USAGE_SORT_NUM] = { "num", "Nn", "NUM", false, "number of elements or "
	    "bytes, the largest first" },
	[USAGE_SORT_ALLOCATED] = { "allocated", "Aa", "ALLOCD", false,
	    "allocations, the most first" },
	[USAGE_SORT_FREED] = { "freed", "Ff", "FREED", false, "frees, the most "
	    "first" },
	[USAGE_SORT_LIVE] = { "live", "Ll", "LIVE", false, "number in use, the most "
	    "first" },
	[USAGE_SORT_MAX] = { "max", "Mm", "MAX", false, "most in use at once, the "
	    "most first" },
	[USAGE_SORT_BYTES] = { "bytes", "Bb", "BYTES", false, "bytes in use, the "
	    "most first" },
	[USAGE_SORT_ALLOCATED_BYTES] = { "allocated_bytes", "Cc", "CHURN", false,
	    "bytes allocated in all, the most first" },
	[USAGE_SORT_SHORT_LIVED] = { "short_lived", "Ss", "SHORT", false,
	    "objects that lived less than a cycle, the most first" },
	[USAGE_SORT_THEN_BYTES] = { "then_bytes", "Hh", "THEN", false,
	    "bytes held when the bytes of all rows were highest, the most first" },
};

bool
usage_sort_parse(const char *word, enum usage_sort *sort)
{
	for (unsigned i = 0; i < USAGE_SORTS; i++)
		if (strcmp(word, usage_sort_rows[i].word) == 0) {
			*sort = (enum usage_sort)i;
			return true;
		}
	return false;
}

static uint64_t
ordered(int64_t n)
{
	return (uint64_t)n ^ UINT64_C(1) << 63;
}

/* False: it is unknown, and comes last. */
static bool
key_of(const struct usage_line *r, enum usage_sort sort, uint64_t *key)
{
	bool known = true;

	*key = 0;
	switch (sort) {
	case USAGE_SORT_NUM:
		*key = ordered(r->num);
		known = !r->no_num;
		break;
	case USAGE_SORT_ALLOCATED:
		*key = r->allocated;
		break;
	case USAGE_SORT_FREED:
		*key = r->freed;
		break;
	case USAGE_SORT_LIVE:
		*key = ordered(r->live);
		break;
	case USAGE_SORT_MAX:
		*key = r->max;
		break;
	case USAGE_SORT_BYTES:
		*key = r->bytes;
		known = (r->known & USAGE_KNOWS_BYTES) != 0;
		break;
	case USAGE_SORT_ALLOCATED_BYTES:
		*key = r->allocated_bytes;
		known = (r->known & USAGE_KNOWS_BYTES) != 0;
		break;
	case USAGE_SORT_SHORT_LIVED:
		*key = r->short_lived;
		known = (r->known & USAGE_KNOWS_LIVES) != 0;
		break;
	case USAGE_SORT_THEN_BYTES:
		*key = r->then_bytes;
		known = (r->known & USAGE_KNOWS_THEN) != 0;
		break;
	case USAGE_SORT_ORDER:
	case USAGE_SORT_TYPE:
	case USAGE_SORTS:
		break;
	}
	return known;
}

struct comparison {
	enum usage_sort sort;
	bool reverse;
};

static int
compare_names(const struct usage_line *x, const struct usage_line *y)
{
	if (x->type == NULL || y->type == NULL)
		return (x->type == NULL) - (y->type == NULL);
	return strcmp(x->type, y->type);
}

static int
compare_rows(const void *a, const void *b, void *arg)
{
	const struct usage_line *x = a, *y = b;
	const struct comparison *c = arg;
	int by_order = (x->order > y->order) - (x->order < y->order), r;
	uint64_t p, q;
	bool p_known = key_of(x, c->sort, &p), q_known = key_of(y, c->sort, &q);

	if (p_known != q_known)
		return p_known ? -1 : 1;
	r = c->sort == USAGE_SORT_ORDER ? by_order :
	    c->sort == USAGE_SORT_TYPE ? compare_names(x, y) :
	    (p < q) - (p > q);
	if (r == 0)
		return by_order;
	return c->reverse ? -r : r;
}

void
usage_list_sort(struct usage_list *list, enum usage_sort sort, bool reverse)
{
	struct comparison c = { sort, reverse };

	if (list->n > 1)
		qsort_r(list->row, list->n, sizeof *list->row, compare_rows, &c);
}
