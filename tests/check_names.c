/*
 * One set of names: a field is called the same in documents, filters, sort keys
 * and metrics.  Walks the program's tables; a new row is compared as well.
 */
#include <string.h>

#include "../src/filter/expr.h"
#include "../src/pagek/blocks/order.h"
#include "../src/pagek/commands/snapshot/snapshot.h"
#include "../src/pagek/documents/documents.h"
#include "../src/pagek/documents/shown_export.h"
#include "../src/pagek/layout/fields.h"
#include "../src/pagek/panels/nodes_page.h"
#include "harness.h"

static const struct table {
	const char *name;
	const struct field_table *t;
	bool placed;		/* its rows have a place in a source file */
} tables[] = {
	{ "blocks", &page_block_fields, true },
	{ "groups", &page_group_fields, true },
	{ "tree", &tree_node_fields, true },
	{ "difference", &page_diff_fields, true },
	{ "blocks of the difference", &page_diff_block_fields, true },
	{ "targets", &page_target_fields, false },
	{ "nodes", &page_node_fields, false },
	{ "counters", &page_keeper_counters, false },
	{ "counts", &page_counts_fields, false },
	{ "losses", &page_look_loss, false },
	{ "modes", &page_look_modes, false },
	{ "target", &page_look_target, false },
};

static const struct field *
find(const struct field_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->field[i].key != NULL &&
		    field_is_key_of(t->field[i].key, name))
			return &t->field[i];
	return NULL;
}

/* --- blocks --------------------------------------------------------------- */

CASE("names of blocks' fields");

LOOP_TEST(each_filter_field_is_a_key, 0, FILTER_FIELDS)
{
	ck_assert_msg(find(&page_block_fields, expr_fields[_i].name) != NULL,
	    "%s", expr_fields[_i].name);
}

/* Keys of documents that no filter has, and why. */
static const struct {
	const char *key, *why;
} documents_only[] = {
	{ "kind", "free memory is no block" },
	{ "region", "of free memory" },
	{ "stack", "a list" },
	{ "ctype_from", "how sure ctype is" },
	{ "touch_blocks", "of the pages, not of the block" },
	{ "complete", "of the document" },
	{ "lost", "of the document" },
	{ "taken", "of the document" },
};

LOOP_TEST(each_key_is_a_filter_field_unless_it_says_why, 0, 64)
{
	const char *key;
	bool only = false;

	if ((size_t)_i >= page_block_fields.n ||
	    (key = page_block_fields.field[_i].key) == NULL)
		return;
	ck_assert_uint_le(page_block_fields.n, 64);
	for (size_t i = 0; i < BASE_NELEM(documents_only); i++)
		only |= strcmp(documents_only[i].key, key) == 0;
	ck_assert_msg((filter_name(key) != NULL) != only, "%s", key);
}

/* Filter fields that no order has, and why. */
static const struct {
	enum filter_field field;
	const char *why;
} no_order[] = {
	{ FILTER_OVERHEAD, "used and size have theirs" },
	{ FILTER_WEIGHT, "a larger block has a smaller one" },
	{ FILTER_CALLER, "site is the order of callers" },
	{ FILTER_STACK_END, "few stacks end early" },
};

LOOP_TEST(each_filter_field_is_a_sort_key_unless_it_says_why, 0, FILTER_FIELDS)
{
	const struct expr_field *f = &expr_fields[_i];
	struct page_sorting s;
	bool none = false;

	for (size_t i = 0; i < BASE_NELEM(no_order); i++)
		none |= no_order[i].field == (enum filter_field)_i;
	ck_assert_msg(page_sorting_parse(f->name, &s) != none, "%s", f->name);
}

TEST(time_and_number_have_the_order_of_age)
{
	static const char *const words[] = { "time", "born", "allocated", "seq",
		"sequence" };
	struct page_sorting s;

	for (size_t i = 0; i < BASE_NELEM(words); i++) {
		ck_assert(page_sorting_parse(words[i], &s));
		ck_assert(s.n == 1 && s.by[0].sort == PAGE_SORT_AGE &&
		    !s.by[0].reverse);
	}
}

LOOP_TEST(each_sort_key_is_a_key_and_a_filter_field, 0, PAGE_SORTS)
{
	const char *word = page_sort_rows[_i].word;

	/* Blocks of one site have no field in common. */
	if (_i == PAGE_SORT_SITE)
		return;
	ck_assert_msg(find(&page_block_fields, word) != NULL, "%s", word);
	ck_assert_ptr_nonnull(filter_name(word));
	ck_assert_str_eq(filter_name(word), word);
}

static void
assert_read_everywhere(const char *name, const char *word)
{
	const struct field *f = find(&page_block_fields, word);
	char why[1024], key[FIELD_NAME], expression[64];
	struct page_sorting a, b;
	struct filter_error e;
	struct filter *filter;

	ck_assert_msg(field_list_check(word, &page_block_fields, 0, NULL, why,
	    sizeof why), "%s", why);
	field_next(&page_block_fields, word, key);
	ck_assert_msg(find(&page_block_fields, name) != NULL &&
	    strcmp(key, f != NULL ? f->key :
	    find(&page_block_fields, name)->key) == 0, "%s: %s", word, key);
	snprintf(expression, sizeof expression, "%s=%s", word,
	    expr_fields[expr_field_find(&filter_blocks, name,
	    strlen(name))].example);
	ck_assert_msg(filter_new(&filter, expression, &e) == 0, "%s: %s",
	    expression, e.why);
	filter_free(filter);
	if (!page_sorting_parse(name, &a))
		return;
	ck_assert_msg(page_sorting_parse(word, &b), "%s", word);
	/* Letters keep their meaning: "fn" is function, then size. */
	ck_assert(page_sorting_equal(&a, &b) || b.n == strlen(word));
}

LOOP_TEST(each_other_name_is_read_everywhere, 0, FILTER_FIELDS)
{
	const struct expr_field *f = &expr_fields[_i];

	assert_read_everywhere(f->name, f->name);
	for (size_t i = 0; i < EXPR_ALIASES && f->alias[i] != NULL; i++)
		assert_read_everywhere(f->name, f->alias[i]);
}

/* --- groups --------------------------------------------------------------- */

CASE("names of other rows");

LOOP_TEST(each_sort_key_of_groups_is_a_key, 0, PROFILE_THREAD + 1)
{
	const char *word = page_sum_word((enum profile_measure)_i);
	enum profile_measure by;

	/* Type and thread are those of the group's blocks. */
	ck_assert_msg(find(&page_group_fields, word) != NULL ||
	    find(&page_block_fields, word) != NULL, "%s", word);
	ck_assert_int_eq(page_sum_called(word, &by), 0);
	ck_assert_int_eq((int)by, _i);
}

TEST(old_sort_keys_of_groups_are_read)
{
	static const struct {
		const char *word;
		enum profile_measure by;
	} old[] = {
		{ "count", PROFILE_BLOCKS },
		{ "age", PROFILE_AGE },
		{ "oldest_age_ms", PROFILE_AGE },
	};
	enum profile_measure by;

	for (size_t i = 0; i < BASE_NELEM(old); i++) {
		ck_assert_int_eq(page_sum_called(old[i].word, &by), 0);
		ck_assert_int_eq((int)by, (int)old[i].by);
	}
}

LOOP_TEST(rows_with_a_function_have_its_file_and_line, 0, BASE_NELEM(tables))
{
	static const char *const keys[] = { "module", "file", "line" };

	for (size_t i = 0; tables[_i].placed && i < BASE_NELEM(keys); i++)
		ck_assert_msg(find(tables[_i].t, keys[i]) != NULL, "%s: %s",
		    tables[_i].name, keys[i]);
}

/* Types are in hex everywhere, and a number nowhere a text. */
static void
assert_same_kind(const struct table *a, const struct table *b)
{
	for (size_t i = 0; i < a->t->n; i++)
		for (size_t j = 0; j < b->t->n; j++) {
			const struct field *f = &a->t->field[i];
			const struct field *g = &b->t->field[j];

			if (f->key == NULL || g->key == NULL ||
			    f->kind >= FIELD_OBJECT ||
			    g->kind >= FIELD_OBJECT ||
			    strcmp(f->key, g->key) != 0)
				continue;
			ck_assert_msg(f->kind == g->kind, "%s: %s and %s",
			    f->key, a->name, b->name);
		}
}

LOOP_TEST(a_key_has_values_of_one_kind, 0, BASE_NELEM(tables))
{
	for (size_t i = 0; i <= (size_t)_i; i++)
		assert_same_kind(&tables[_i], &tables[i]);
}

TEST(a_type_is_in_hex)
{
	ck_assert_int_eq(find(&page_block_fields, "type")->kind, FIELD_HEX);
}

TEST(a_counter_has_the_name_of_its_key)
{
	for (size_t i = 0; i < page_keeper_counters.n; i++) {
		const struct field *f = &page_keeper_counters.field[i];
		char name[FIELD_NAME];

		if (f->key == NULL)
			continue;
		snprintf(name, sizeof name, "%s", f->key);
		for (char *c = name; *c != '\0'; c++)
			*c = *c == '_' ? ' ' : *c;
		ck_assert_str_eq(f->name, name);
	}
}

/* --- metrics -------------------------------------------------------------- */

static bool
ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len > n && strcmp(s + len - n, end) == 0;
}

/* A counter ends in _total, and a number of bytes in its unit. */
static void
assert_metric(const struct field_metric *m, const char *name,
    const struct field_table *a, const struct field_table *b)
{
	char key[FIELD_NAME];

	snprintf(key, sizeof key, "%s", name);
	if (find(a, key) != NULL || find(b, key) != NULL)
		return;
	ck_assert_int_eq(ends_with(key, "_total"),
	    strcmp(m->type, "counter") == 0);
	if (ends_with(key, "_total"))
		key[strlen(key) - strlen("_total")] = '\0';
	else if (ends_with(key, "_bytes"))
		key[strlen(key) - strlen("_bytes")] = '\0';
	ck_assert_msg(find(a, key) != NULL || find(b, key) != NULL,
	    "pagek_%s: no key %s", m->name, key);
}

TEST(a_metric_has_the_name_of_its_key)
{
	size_t n = 0;

	for (size_t i = 0; i < page_target_fields.n; i++) {
		const struct field_metric *m = &page_target_fields.field[i].metric;

		if (m->name == NULL)
			continue;
		assert_metric(m, m->name, &page_target_fields,
		    &page_keeper_counters);
		/* Its own field is not another one. */
		if (page_target_fields.field[i].key != NULL)
			ck_assert_int_eq(strncmp(m->name,
			    page_target_fields.field[i].key,
			    strlen(page_target_fields.field[i].key)), 0);
		n++;
	}
	ck_assert_uint_gt(n, 8);
	for (size_t i = 0; i < PROM_TYPE_METRICS; i++) {
		const char *name = prom_type_metrics[i].name;

		ck_assert_int_eq(strncmp(name, "type_", 5), 0);
		assert_metric(&prom_type_metrics[i], name + 5,
		    &page_sum_fields, &page_sum_fields);
	}
}
