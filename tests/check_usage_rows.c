/*
 * Counts by type as rows: their order, groups and filters.
 */
#include <string.h>

#include "../src/base/base.h"
#include "../src/pagek/usage/usage.h"
#include "harness.h"

static struct usage_list list;

static void
add(const char *type, int64_t num, uint64_t allocated, uint64_t freed,
    uint64_t max)
{
	ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
	    .type = type, .num = num, .allocated = allocated, .freed = freed,
	    .live = (int64_t)(allocated - freed), .max = max }), 0);
}

/* The note's sample; a row of frees alone; rows of a known size. */
static void
begin(void)
{
	list = (struct usage_list){ 0 };
	add("char", 12, 480, 433, 90);
	add("char", 57, 3, 1, 2);
	add("struct T", 1, 100, 0, 100);
	add("char", 9, 103, 103, 0);
	add(NULL, -4, 0, 5, 0);
	ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
	    .type = "zmalloc", .function = "zmalloc", .file = "/src/zmalloc.c",
	    .module = "/bin/redis", .line = 42, .num = 64, .allocated = 10,
	    .freed = 4, .live = 6, .max = 7, .bytes = 384,
	    .allocated_bytes = 640, .short_lived = 3,
	    .known = USAGE_KNOWS_BYTES | USAGE_KNOWS_LIVES }), 0);
	ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
	    .type = "zmalloc", .function = "zmalloc", .file = "/src/zmalloc.c",
	    .module = "/lib/other", .line = 43, .num = 128, .allocated = 2,
	    .freed = 0, .live = 2, .max = 2, .bytes = 256,
	    .allocated_bytes = 256, .known = USAGE_KNOWS_BYTES }), 0);
}

static void
end(void)
{
	usage_list_fini(&list);
}

/* "char:12 char:57", of all rows. */
static const char *
names(void)
{
	static char text[1024];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < list.n; i++) {
		const struct usage_line *r = &list.row[i];

		base_append(text, sizeof text, &len, "%s%s", i > 0 ? " " : "",
		    r->type != NULL ? r->type : "?");
		if (!r->no_num)
			base_append(text, sizeof text, &len, ":%lld",
			    (long long)r->num);
	}
	return text;
}

/* --- order ----------------------------------------------------------------------- */

static const struct {
	const char *word;
	bool reverse;
	const char *names;
} orders[] = {
	{ "order", false, "char:12 char:57 struct T:1 char:9 ?:-4 zmalloc:64 "
	    "zmalloc:128" },
	{ "order", true, "zmalloc:128 zmalloc:64 ?:-4 char:9 struct T:1 char:57 "
	    "char:12" },
	{ "type", false, "char:12 char:57 char:9 struct T:1 zmalloc:64 "
	    "zmalloc:128 ?:-4" },
	{ "num", false, "zmalloc:128 zmalloc:64 char:57 char:12 char:9 "
	    "struct T:1 ?:-4" },
	{ "allocated", false, "char:12 char:9 struct T:1 zmalloc:64 char:57 "
	    "zmalloc:128 ?:-4" },
	{ "live", false, "struct T:1 char:12 zmalloc:64 char:57 zmalloc:128 "
	    "char:9 ?:-4" },
	{ "live", true, "?:-4 char:9 char:57 zmalloc:128 zmalloc:64 char:12 "
	    "struct T:1" },
	/* Unknown numbers come last, also reversed. */
	{ "bytes", false, "zmalloc:64 zmalloc:128 char:12 char:57 struct T:1 "
	    "char:9 ?:-4" },
	{ "bytes", true, "zmalloc:128 zmalloc:64 char:12 char:57 struct T:1 char:9 "
	    "?:-4" },
};

CASE("order", .setup = begin, .teardown = end);

LOOP_TEST(rows_are_sorted, 0, (int)BASE_NELEM(orders))
{
	enum usage_sort sort;

	ck_assert(usage_sort_parse(orders[_i].word, &sort));
	usage_list_sort(&list, sort, orders[_i].reverse);
	ck_assert_str_eq(names(), orders[_i].names);
}

LOOP_TEST(each_order_is_a_field_and_has_a_letter, 1, USAGE_SORTS)
{
	const struct page_sort_row *row = &usage_sort_rows[_i];
	struct page_sorting s;
	enum usage_sort sort;
	bool found = false;

	ck_assert(usage_sort_parse(row->word, &sort) && (int)sort == _i);
	ck_assert(page_sorting_parse_of(usage_sort_rows, USAGE_SORTS,
	    row->letters + 1, &s) && s.by[0].sort == _i && s.by[0].reverse);
	for (size_t i = 0; i < usage_fields.n; i++)
		found |= usage_fields.field[i].key != NULL &&
		    strcmp(usage_fields.field[i].key, row->word) == 0;
	ck_assert_msg(found, "%s", row->word);
}

/* --- groups ----------------------------------------------------------------------- */

CASE("groups", .setup = begin, .teardown = end);

TEST(a_type_is_one_row_with_sums)
{
	ck_assert_int_eq(usage_list_group(&list, USAGE_BY_TYPE), 0);
	ck_assert_str_eq(names(), "char struct T ? zmalloc");
	ck_assert_uint_eq(list.row[0].allocated, 586);
	ck_assert_uint_eq(list.row[0].freed, 537);
	ck_assert_int_eq(list.row[0].live, 49);
	ck_assert_uint_eq(list.row[0].rows, 3);
	ck_assert_uint_eq(list.row[0].max, 92);
	/* Known of one row is not known of both. */
	ck_assert_uint_eq(list.row[3].known, USAGE_KNOWS_BYTES);
	ck_assert_uint_eq(list.row[3].bytes, 640);
	ck_assert_str_eq(list.row[3].file, "/src/zmalloc.c");
	ck_assert_ptr_null(list.row[3].module);
	ck_assert_uint_eq(list.row[3].line, 0);
}

TEST(functions_and_modules_are_groups)
{
	ck_assert_int_eq(usage_list_group(&list, USAGE_BY_MODULE), 0);
	ck_assert_str_eq(names(), "? /bin/redis /lib/other");
	ck_assert_uint_eq(list.row[0].rows, 5);
	usage_list_fini(&list);
	begin();
	ck_assert_int_eq(usage_list_group(&list, USAGE_BY_FUNCTION), 0);
	ck_assert_str_eq(names(), "? zmalloc");
}

TEST(lines_of_a_function_are_groups)
{
	ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
	    .type = "char", .named_by = "template", .function = "zmalloc",
	    .file = "/src/zmalloc.c", .line = 42, .num = 1, .allocated = 1 }), 0);
	ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
	    .type = "a.so+0x1234", .named_by = "address", .num = 1,
	    .allocated = 1 }), 0);
	ck_assert_int_eq(usage_list_group(&list, USAGE_BY_LINE), 0);
	ck_assert_str_eq(names(), "? zmalloc.c:42  zmalloc "
	    "zmalloc.c:43  zmalloc a.so+0x1234");
	ck_assert_uint_eq(list.row[1].allocated, 11);
	ck_assert_str_eq(list.row[1].named_by, "function");
	ck_assert_ptr_null(list.row[0].named_by);
	ck_assert_ptr_null(list.row[3].named_by);
}

TEST(equal_rows_are_one)
{
	add("char", 12, 20, 3, 20);
	ck_assert_int_eq(usage_list_group(&list, USAGE_BY_NONE), 0);
	ck_assert_str_eq(names(), "char:12 char:57 struct T:1 char:9 ?:-4 "
	    "zmalloc:64 zmalloc:128");
	ck_assert_uint_eq(list.row[0].allocated, 500);
	ck_assert_int_eq(list.row[0].live, 64);
}

/* Rounded rows; one of 64 bytes exactly stays. */
TEST(rows_without_a_num_are_one_of_their_name)
{
	usage_list_fini(&list);
	for (int64_t num = 64; num <= 128; num += 64)
		ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
		    .type = "big", .num = num, .no_num = true,
		    .allocated = 1, .live = 1 }), 0);
	add("big", 64, 1, 0, 1);
	ck_assert_int_eq(usage_list_group(&list, USAGE_BY_NONE), 0);
	ck_assert_str_eq(names(), "big big:64");
	ck_assert_uint_eq(list.row[0].allocated, 2);
}

TEST(many_rows_are_grouped_and_their_sums_are_the_same)
{
	char name[24];

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "t%d", i % 5000);
		add(name, i, 2, 1, 1);
	}
	usage_list_sum(&list);
	ck_assert_uint_eq(list.sum.allocated, 40698);
	ck_assert_int_eq(usage_list_group(&list, USAGE_BY_TYPE), 0);
	ck_assert_uint_eq(list.n, 5004);
	usage_list_sum(&list);
	ck_assert_uint_eq(list.sum.allocated, 40698);
	ck_assert_int_eq(list.sum.live, 20152);
}

/* --- filters ------------------------------------------------------------------------ */

static const struct {
	const char *expression, *names;
} filters[] = {
	{ "", "char:12 char:57 struct T:1 char:9 ?:-4 zmalloc:64 zmalloc:128" },
	{ "type=char", "char:12 char:57 char:9" },
	{ "CHAR", "char:12 char:57 char:9" },
	{ "type~struct", "struct T:1" },
	{ "type=\"struct T\"", "struct T:1" },
	{ "type!=char", "struct T:1 ?:-4 zmalloc:64 zmalloc:128" },
	{ "num<0", "?:-4" },
	{ "num=-4", "?:-4" },
	{ "num>=12 & num<=64", "char:12 char:57 zmalloc:64" },
	{ "n=12", "char:12" },
	{ "live<0", "?:-4" },
	{ "live>-6 & live<1", "char:9 ?:-4" },
	{ "allocated>100", "char:12 char:9" },
	{ "allocs>100 & freed>200", "char:12" },
	{ "peak=0", "char:9 ?:-4" },
	/* Unknown bytes are neither few nor many. */
	{ "bytes<1k", "zmalloc:64 zmalloc:128" },
	{ "bytes>=0", "zmalloc:64 zmalloc:128" },
	{ "churn>300", "zmalloc:64" },
	{ "short_lived>=0", "zmalloc:64" },
	{ "function=z*", "zmalloc:64 zmalloc:128" },
	{ "file=zmalloc.c:42", "zmalloc:64" },
	{ "module=other", "zmalloc:128" },
	{ "other", "zmalloc:128" },
	{ "redis | num=9", "char:9 zmalloc:64" },
	{ "zmalloc.c:43", "zmalloc:128" },
};

CASE("filters", .setup = begin, .teardown = end);

LOOP_TEST(rows_are_chosen, 0, (int)BASE_NELEM(filters))
{
	struct filter *filter;
	struct filter_error e;

	ck_assert_msg(filter_new_of(&filter, &filter_usage,
	    filters[_i].expression, &e) == 0, "%s: %s", filters[_i].expression,
	    e.why);
	usage_list_filter(&list, filter);
	filter_free(filter);
	ck_assert_msg(strcmp(names(), filters[_i].names) == 0, "%s: %s",
	    filters[_i].expression, names());
}

static const struct {
	const char *expression, *why;
} wrong[] = {
	{ "size>1k", "no field is called 'size'; put text with operators in "
	    "\"quotes\"" },
	{ "lives>1", "no field is called 'lives'; did you mean 'live'?" },
	{ "num=1-2", "'1-2' is not a number" },
	{ "num=-9223372036854775809", "'-9223372036854775809' is not a number" },
	{ "num=9223372036854775808", "'9223372036854775808' is not a number" },
	{ "allocated>-1", "'-1' is not a number" },
	{ "type>a", "'type' takes = != ~ !~, not '>'" },
};

LOOP_TEST(an_expression_of_other_fields_is_refused, 0, (int)BASE_NELEM(wrong))
{
	struct filter *filter;
	struct filter_error e;

	ck_assert_int_lt(filter_new_of(&filter, &filter_usage,
	    wrong[_i].expression, &e), 0);
	ck_assert_str_eq(e.why, wrong[_i].why);
}

/* --- names of fields ------------------------------------------------------------------ */

TEST(each_field_of_the_filter_is_a_field_of_data)
{
	char words[64][FIELD_NAME], why[1024];
	const char *word;
	size_t from, k;

	for (k = 0; (word = filter_complete(&filter_usage, "", k, &from)) !=
	    NULL; k++) {
		snprintf(words[k], FIELD_NAME, "%s", word);
		ck_assert_msg(field_list_check(words[k], &usage_fields, 0, NULL,
		    why, sizeof why), "%s", why);
		ck_assert_int_eq(strncmp(filter_help(&filter_usage, k), word,
		    strlen(word)), 0);
		ck_assert_uint_lt(strlen(filter_help(&filter_usage, k)), 80);
	}
	ck_assert_uint_eq(k, FILTER_U_FIELDS);
	ck_assert_ptr_null(filter_help(&filter_usage, k));
}
