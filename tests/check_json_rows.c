/*
 * The writer of rows: one document in each of its forms, whatever text is in
 * it.
 */
#include "../src/base/base.h"
#include "../src/pagek/cli/options.h"
#include "../src/pagek/documents/documents.h"
#include "harness.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct json json;
static char *text;
static size_t len;

static void
begin(enum text_format format, bool again, bool ascii)
{
	struct options o = { .format = format };

	o.page.ascii = ascii;
	if (again)
		o.source[OPTION_BATCH] = SOURCE_LINE;
	json = (struct json){ 0 };
	json_open(&json, open_memstream(&text, &len), &o);
}

static void
expect(const char *want)
{
	fclose(json.out);
	ck_assert_str_eq(text, want);
	free(text);
}

/* --- a document in each form -------------------------------------------------- */

struct row {
	const char *name;
	uint64_t size;
	int status;		/* wait status */
};

#define COLUMNS 6
#define ROW(member) offsetof(struct row, member)

static bool
get_size(const void *row, size_t at, struct field_value *v)
{
	return field_u64(row, at, v) && v->n > 0;
}

static bool
get_exit(const void *row, size_t at, struct field_value *v)
{
	const struct row *r = row;

	(void)at;
	v->i = WEXITSTATUS(r->status);
	return WIFEXITED(r->status);
}

static bool
get_signal(const void *row, size_t at, struct field_value *v)
{
	const struct row *r = row;

	(void)at;
	v->i = WTERMSIG(r->status);
	return WIFSIGNALED(r->status);
}

static const struct field statuses[] = {
	{ .key = "exit", .kind = FIELD_SIGNED, .get = get_exit,
	    .optional = true },
	{ .key = "signal", .kind = FIELD_SIGNED, .get = get_signal,
	    .optional = true },
};
static const struct field_table status_table = FIELD_TABLE(statuses);

/* A list within a row, whose keys are those of columns. */
static const struct row inner = { .name = "inner" };
static const struct field inners[] = {
	{ .key = "name", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(name) },
};
static const struct field_table inner_table = FIELD_TABLE(inners);

static bool
get_inner(const void *row, size_t at, struct field_value *v)
{
	(void)row;
	(void)at;
	v->list.row = &inner;
	v->list.rows = 1;
	v->list.size = sizeof inner;
	return true;
}

/* JSON has the size behind the name, CSV before it. */
static const struct field fields[] = {
	{ .key = "size", .get = get_size, .at = ROW(size), .rank = 1 },
	{ .key = "name", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(name) },
	{ .key = "stack", .kind = FIELD_LIST, .get = get_inner,
	    .sub = &inner_table, .rank = 1 },
	{ .key = "status", .kind = FIELD_OBJECT, .get = field_member,
	    .sub = &status_table, .rank = 1 },
	{ .key = "lost", .kind = FIELD_HEAD, .head = "lost" },
	{ .key = "taken", .kind = FIELD_HEAD, .head = "time" },
};
static const struct field_table table = FIELD_TABLE(fields);

static void
put_row(const char *name, uint64_t size, int status)
{
	struct row row = { .name = name, .size = size, .status = status };

	json_row(&json, &row, 0);
}

static void
put_document(uint64_t lost, bool rows)
{
	json_document(&json, "t/1", &table, 0);
	json_time(&json, "time", 1089725439007);
	json_number(&json, "lost", lost);
	json_number(&json, "size", 12345);		/* of the head: no column */
	json_rows(&json, "rows");
	if (rows) {
		put_row("a", 7, 0);
		put_row(NULL, 0, 11);
	}
	json_rows_end(&json);
	json_end(&json);
}

static const struct {
	enum text_format format;
	bool again, rows;
	const char *want;
} forms[] = {
	{ FORMAT_JSON, false, true, "{\n"
	    "  \"schema\": \"t/1\",\n"
	    "  \"time\": \"2004-07-13T13:30:39.007Z\",\n"
	    "  \"lost\": 3,\n"
	    "  \"size\": 12345,\n"
	    "  \"rows\": [\n"
	    "    {\"name\": \"a\", \"size\": 7, \"stack\": [{\"name\": "
	    "\"inner\"}], \"status\": {\"exit\": 0}},\n"
	    "    {\"name\": null, \"size\": null, \"stack\": [{\"name\": "
	    "\"inner\"}], \"status\": {\"signal\": 11}}\n"
	    "  ]\n"
	    "}\n" },
	{ FORMAT_NDJSON, false, true,
	    "{\"schema\": \"t/1\", \"time\": \"2004-07-13T13:30:39.007Z\", "
	    "\"lost\": 3, \"size\": 12345}\n"
	    "{\"name\": \"a\", \"size\": 7, \"stack\": [{\"name\": "
	    "\"inner\"}], \"status\": {\"exit\": 0}}\n"
	    "{\"name\": null, \"size\": null, \"stack\": [{\"name\": "
	    "\"inner\"}], \"status\": {\"signal\": 11}}\n" },
	/* Of pictures that come again and again each is a line. */
	{ FORMAT_NDJSON, true, true,
	    "{\"schema\": \"t/1\", \"time\": \"2004-07-13T13:30:39.007Z\", "
	    "\"lost\": 3, \"size\": 12345, \"rows\": ["
	    "{\"name\": \"a\", \"size\": 7, \"stack\": [{\"name\": "
	    "\"inner\"}], \"status\": {\"exit\": 0}}, "
	    "{\"name\": null, \"size\": null, \"stack\": [{\"name\": "
	    "\"inner\"}], \"status\": {\"signal\": 11}}]}\n" },
	{ FORMAT_CSV, false, true,
	    "size,name,status_exit,status_signal,lost,taken\r\n"
	    "7,a,0,,3,2004-07-13T13:30:39.007Z\r\n"
	    ",,,11,3,2004-07-13T13:30:39.007Z\r\n" },
	{ FORMAT_JSON, false, false, "{\n"
	    "  \"schema\": \"t/1\",\n"
	    "  \"time\": \"2004-07-13T13:30:39.007Z\",\n"
	    "  \"lost\": 3,\n"
	    "  \"size\": 12345,\n"
	    "  \"rows\": []\n"
	    "}\n" },
	{ FORMAT_NDJSON, false, false,
	    "{\"schema\": \"t/1\", \"time\": \"2004-07-13T13:30:39.007Z\", "
	    "\"lost\": 3, \"size\": 12345}\n" },
	{ FORMAT_CSV, false, false,
	    "size,name,status_exit,status_signal,lost,taken\r\n" },
};

CASE("json rows");

LOOP_TEST(a_document_has_the_same_values_in_each_form, 0, BASE_NELEM(forms))
{
	begin(forms[_i].format, forms[_i].again, false);
	put_document(3, forms[_i].rows);
	expect(forms[_i].want);
}

TEST(a_heading_is_written_once_whatever_comes)
{
	begin(FORMAT_CSV, true, false);
	put_document(3, true);
	put_document(4, true);
	expect("size,name,status_exit,status_signal,lost,taken\r\n"
	    "7,a,0,,3,2004-07-13T13:30:39.007Z\r\n"
	    ",,,11,3,2004-07-13T13:30:39.007Z\r\n"
	    "7,a,0,,4,2004-07-13T13:30:39.007Z\r\n"
	    ",,,11,4,2004-07-13T13:30:39.007Z\r\n");
}

/* --- texts ----------------------------------------------------------------------- */

static const struct {
	const char *text, *json, *csv;
	bool ascii;
} texts[] = {
	{ "plain", "\"plain\"", "plain", false },
	{ "", "\"\"", "", false },
	{ "a,b", "\"a,b\"", "\"a,b\"", false },
	{ "say \"a\"", "\"say \\\"a\\\"\"", "\"say \"\"a\"\"\"", false },
	{ "\"", "\"\\\"\"", "\"\"\"\"", false },
	{ "back\\slash", "\"back\\\\slash\"", "back\\slash", false },
	{ "two\nlines", "\"two\\u000alines\"", "two\\x0Alines", false },
	{ "\r", "\"\\u000d\"", "\\x0D", false },
	{ "\t\x1b[2J\x7f", "\"\\u0009\\u001b[2J\\u007f\"",
	    "\\x09\\x1B[2J\\x7F", false },
	{ "bad\xff\xc3", "\"bad\\ufffd\\ufffd\"", "bad\\xFF\\xC3", false },
	{ "caf\xc3\xa9", "\"caf\xc3\xa9\"", "caf\xc3\xa9", false },
	{ "caf\xc3\xa9", "\"caf\\u00e9\"", "caf?", true },
	{ "\xf0\x9f\x98\x80", "\"\\ud83d\\ude00\"", "?", true },
	/* What turns a line around. */
	{ "\xe2\x80\xae" "x", "\"\\u202ex\"", "?x", false },
};

static bool
get_text(const void *row, size_t at, struct field_value *v)
{
	field_pointer(row, at, v);
	return true;
}

static const struct field text_fields[] = {
	{ .key = "a", .kind = FIELD_TEXT, .get = get_text, .at = ROW(name) },
	{ .key = "b", .get = field_u64, .at = ROW(size) },
};
static const struct field_table text_table = FIELD_TABLE(text_fields);

LOOP_TEST(any_text_is_one_value, 0, BASE_NELEM(texts))
{
	static const enum text_format formats[] = { FORMAT_NDJSON,
		FORMAT_CSV };
	char want[256];

	for (int f = 0; f < 2; f++) {
		begin(formats[f], false, texts[_i].ascii);
		json_document(&json, "t/1", &text_table, 0);
		json_rows(&json, "rows");
		json_row(&json, &(struct row){ .name = texts[_i].text,
		    .size = 1 }, 0);
		json_rows_end(&json);
		json_end(&json);
		snprintf(want, sizeof want, f == 0 ?
		    "{\"schema\": \"t/1\"}\n{\"a\": %s, \"b\": 1}\n" :
		    "a,b\r\n%s,1\r\n", f == 0 ? texts[_i].json :
		    texts[_i].csv);
		expect(want);
	}
}

TEST(a_text_that_is_too_long_is_cut_and_moves_no_cell)
{
	static char huge[2 * JSON_CELLS];
	size_t cells = 0;

	memset(huge, 'x', sizeof huge - 1);
	begin(FORMAT_CSV, false, false);
	json_document(&json, "t/1", &table, 0);
	json_number(&json, "lost", 3);
	json_rows(&json, "rows");
	put_row(huge, 7, 1 << 8);
	put_row("next", 8, 2 << 8);
	json_rows_end(&json);
	json_end(&json);
	fclose(json.out);
	for (const char *p = strstr(text, "\r\n") + 2; *p != '\r'; p++)
		cells += *p == ',';
	ck_assert_uint_eq(cells, COLUMNS - 1);
	/* The values of the head are not lost for it, nor the next row. */
	ck_assert_ptr_nonnull(strstr(text, "x,,,3,\r\n8,next,2,,3,\r\n"));
	free(text);
}

/* --- numbers ----------------------------------------------------------------------- */

TEST(numbers_are_the_same_in_every_locale)
{
	/* One with a decimal comma, where the machine has it. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	begin(FORMAT_NDJSON, false, false);
	json_begin(&json, NULL, '[', false);
	json_number(&json, NULL, UINT64_MAX);
	json_signed(&json, NULL, INT64_MIN);
	json_share(&json, NULL, 1, 3);
	json_share(&json, NULL, 1, 0);
	json_share(&json, NULL, 2, 1);
	json_bool(&json, NULL, false);
	json_known(&json, NULL, false, 5);
	json_time(&json, NULL, -1);
	json_time(&json, NULL, INT64_MAX);
	json_end(&json);
	expect("[18446744073709551615, -9223372036854775808, 0.333333, null, "
	    "2.000000, false, null, "
	    "\"1969-12-31T23:59:59.999Z\", "
	    "\"292278994-08-17T07:12:55.807Z\"]\n");
}

static const struct {
	enum field_kind kind;
	struct field_value value;
	const char *text;
} values[] = {
	{ FIELD_NUMBER, { .n = UINT64_MAX }, "18446744073709551615" },
	{ FIELD_SIGNED, { .i = INT64_MIN }, "-9223372036854775808" },
	{ FIELD_HEX, { .n = UINT64_MAX }, "0xffffffffffffffff" },
	{ FIELD_HEX, { .n = 0 }, "0x0" },
	{ FIELD_NODE, { .n = 0x59 }, "0059" },
	{ FIELD_SHARE, { .share = 1.0 / 3 }, "0.333333" },
	{ FIELD_BOOL, { .n = 1 }, "true" },
	{ FIELD_TIME, { .i = 1089725439007 }, "2004-07-13T13:30:39.007Z" },
};

LOOP_TEST(each_kind_has_one_text, 0, (int)BASE_NELEM(values))
{
	char out[FIELD_TEXT_MAX];

	field_text(values[_i].kind, &values[_i].value, out);
	ck_assert_str_eq(out, values[_i].text);
}

/* --- subsets ------------------------------------------------------------------ */

static const struct field animals[] = {
	{ .key = "kind", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(name), .subset = 1 | 2 },
	{ .key = "wings", .get = field_u64, .at = ROW(size), .subset = 2 },
	{ .key = "legs", .get = field_u64, .at = ROW(size) },
};
static const struct field_table animal_table = FIELD_TABLE(animals);

static const struct {
	enum text_format format;
	unsigned subset;
	const char *want;
} subsets[] = {
	{ FORMAT_NDJSON, 1 | 2, "{\"schema\": \"t/1\"}\n"
	    "{\"kind\": \"cat\", \"legs\": 4}\n"
	    "{\"kind\": \"bee\", \"wings\": 4, \"legs\": 4}\n" },
	{ FORMAT_CSV, 1 | 2, "kind,wings,legs\r\ncat,,4\r\nbee,4,4\r\n" },
	/* A document without the second has no column for it. */
	{ FORMAT_CSV, 1, "kind,legs\r\ncat,4\r\nbee,4\r\n" },
};

LOOP_TEST(a_row_has_the_fields_of_its_subset, 0, (int)BASE_NELEM(subsets))
{
	struct row row = { .name = "cat", .size = 4 };

	begin(subsets[_i].format, false, false);
	json_document(&json, "t/1", &animal_table, subsets[_i].subset);
	json_rows(&json, "rows");
	json_row(&json, &row, 1);
	row.name = "bee";
	json_row(&json, &row, 2);
	json_rows_end(&json);
	json_end(&json);
	expect(subsets[_i].want);
}

/* --- columns ------------------------------------------------------------------ */

static void
no_cell(const void *row, char out[FIELD_CELL])
{
	(void)row;
	out[0] = '\0';
}

static const struct field columns[] = {
	{ .column = { .title = "C", .gap = 1, .width = 3, .rank = 2,
	    .keep = 10, .place = 1, .cell = no_cell } },
	{ .column = { .title = "A", .gap = 1, .width = 5, .rank = 0,
	    .keep = 10, .figure = true, .cell = no_cell } },
	{ .column = { .title = "B", .gap = 1, .width = 9, .rank = 1,
	    .keep = 10, .least = 2, .need = 1, .cell = no_cell } },
};
static const struct field_table column_table = FIELD_TABLE(columns);

static const struct {
	int cols;
	unsigned have;
	bool sampled;
	const char *titles;
	int left;
} plans[] = {
	{ 11, 1, false, "", 11 },
	/* A lower rank has no room: the next one may. */
	{ 15, 1, false, "B", 12 },
	{ 16, 1, false, "A", 10 },
	{ 16, 1, true, "B", 13 },
	{ 17, 1, true, "A", 10 },
	/* What would be left out is there with its least width. */
	{ 19, 1, false, "AB", 10 },
	{ 26, 1, false, "AB", 10 },
	{ 30, 1, false, "ABC", 10 },
	{ 30, 0, false, "AC", 20 },
};

LOOP_TEST(columns_have_room_by_rank_and_stand_by_place, 0,
    (int)BASE_NELEM(plans))
{
	struct field_plan plan;
	char titles[8] = "";

	field_plan(&column_table, 0, plans[_i].cols, plans[_i].have,
	    plans[_i].sampled, &plan);
	for (size_t i = 0; i < plan.n; i++)
		strcat(titles, plan.column[i]->column.title);
	ck_assert_str_eq(titles, plans[_i].titles);
	ck_assert_int_eq(plan.left, plans[_i].left);
}

/* --- chosen fields ------------------------------------------------------------ */

static const struct {
	enum text_format format;
	const char *want;
} chosen[] = {
	{ FORMAT_JSON, "{\n"
	    "  \"schema\": \"t/1\",\n"
	    "  \"time\": \"2004-07-13T13:30:39.007Z\",\n"
	    "  \"lost\": 3,\n"
	    "  \"size\": 12345,\n"
	    "  \"rows\": [\n"
	    "    {\"name\": \"a\", \"size\": 7},\n"
	    "    {\"name\": null, \"size\": null}\n"
	    "  ]\n"
	    "}\n" },
	{ FORMAT_NDJSON,
	    "{\"schema\": \"t/1\", \"time\": \"2004-07-13T13:30:39.007Z\", "
	    "\"lost\": 3, \"size\": 12345}\n"
	    "{\"name\": \"a\", \"size\": 7}\n"
	    "{\"name\": null, \"size\": null}\n" },
	/* In the order that was asked for. */
	{ FORMAT_CSV, "size,lost,name\r\n7,3,a\r\n,3,\r\n" },
};

LOOP_TEST(of_a_row_the_chosen_fields_alone_are_written, 0,
    (int)BASE_NELEM(chosen))
{
	begin(chosen[_i].format, false, false);
	json.chosen = "size,lost,name";
	put_document(3, true);
	expect(chosen[_i].want);
}

static const struct {
	const char *list, *why;		/* NULL: it is good */
} lists[] = {
	{ "size", NULL },
	{ "size,name,status_exit,taken", NULL },
	{ "stack,size", NULL },
	{ "", "names none; there are " },
	{ "siz", "no field 'siz': did you mean 'size'?" },
	{ "size,", NULL },
	{ "size,,name", "no field ''; there are " },
	{ "colour", "no field 'colour'; there are " },
	{ "colour", " and stack" },
	{ "size,name,size", "'size' is named twice" },
	{ "a\x1b", "no field 'a\\x1B'" },
};

LOOP_TEST(a_field_that_there_is_not_is_told, 0, (int)BASE_NELEM(lists))
{
	char why[256] = "";
	bool good = field_list_check(lists[_i].list, &table, 0, "stack", why,
	    sizeof why);

	ck_assert_msg(good == (lists[_i].why == NULL), "%s: %s",
	    lists[_i].list, why);
	ck_assert_msg(good || strstr(why, lists[_i].why) != NULL, "%s", why);
}
