/*
 * The writer of rows: one document in each of its forms, whatever text is in
 * it.
 */
#include "../src/base/base.h"
#include "../src/pagek/json.h"
#include "../src/pagek/options.h"
#include "harness.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static struct json json;
static char *text;
static size_t len;

static void
begin(enum text_format format, bool again, bool ascii)
{
	struct options o = { .format = format, .json = true };

	o.page.ascii = ascii;
	if (again)
		o.given[OPTION_BATCH] = true;
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

static const struct json_column columns[] = {
	{ "name", NULL }, { "size", NULL }, { "status_exit", NULL },
	{ "status_signal", NULL }, { "lost", "lost" }, { "taken", "time" },
};

static void
put_row(const char *name, uint64_t size, const char *how, int status)
{
	json_begin(&json, '{', false);
	json_key(&json, "name");
	json_text(&json, name);
	json_key(&json, "size");
	json_known(&json, size > 0, size);
	/* A list within a row, whose keys are those of columns. */
	json_key(&json, "stack");
	json_begin(&json, '[', false);
	json_begin(&json, '{', false);
	json_key(&json, "name");
	json_text(&json, "inner");
	json_end(&json);
	json_end(&json);
	json_key(&json, "status");
	json_begin(&json, '{', false);
	json_key(&json, how);
	json_signed(&json, status);
	json_end(&json);
	json_end(&json);
}

static void
put_document(uint64_t lost, bool rows)
{
	json_document(&json, "t/1", columns, BASE_NELEM(columns));
	json_key(&json, "time");
	json_time(&json, 1089725439007);
	json_key(&json, "lost");
	json_number(&json, lost);
	json_key(&json, "size");
	json_number(&json, 12345);		/* of the head: no column */
	json_rows(&json, "rows");
	if (rows) {
		put_row("a", 7, "exit", 0);
		put_row(NULL, 0, "signal", 11);
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
	    "name,size,status_exit,status_signal,lost,taken\r\n"
	    "a,7,0,,3,2004-07-13T13:30:39.007Z\r\n"
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
	    "name,size,status_exit,status_signal,lost,taken\r\n" },
};

START_TEST(a_document_has_the_same_values_in_each_form)
{
	begin(forms[_i].format, forms[_i].again, false);
	put_document(3, forms[_i].rows);
	expect(forms[_i].want);
}
END_TEST

START_TEST(a_heading_is_written_once_whatever_comes)
{
	begin(FORMAT_CSV, true, false);
	put_document(3, true);
	put_document(4, true);
	expect("name,size,status_exit,status_signal,lost,taken\r\n"
	    "a,7,0,,3,2004-07-13T13:30:39.007Z\r\n"
	    ",,,11,3,2004-07-13T13:30:39.007Z\r\n"
	    "a,7,0,,4,2004-07-13T13:30:39.007Z\r\n"
	    ",,,11,4,2004-07-13T13:30:39.007Z\r\n");
}
END_TEST

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

START_TEST(any_text_is_one_value)
{
	static const struct json_column one[] = { { "a", NULL },
		{ "b", NULL } };
	static const enum text_format formats[] = { FORMAT_NDJSON,
		FORMAT_CSV };
	char want[256];

	for (int f = 0; f < 2; f++) {
		begin(formats[f], false, texts[_i].ascii);
		json_document(&json, "t/1", one, 2);
		json_rows(&json, "rows");
		json_begin(&json, '{', false);
		json_key(&json, "a");
		json_text(&json, texts[_i].text);
		json_key(&json, "b");
		json_number(&json, 1);
		json_end(&json);
		json_rows_end(&json);
		json_end(&json);
		snprintf(want, sizeof want, f == 0 ?
		    "{\"schema\": \"t/1\"}\n{\"a\": %s, \"b\": 1}\n" :
		    "a,b\r\n%s,1\r\n", f == 0 ? texts[_i].json :
		    texts[_i].csv);
		expect(want);
	}
}
END_TEST

START_TEST(a_text_that_is_too_long_is_cut_and_moves_no_cell)
{
	static char huge[2 * JSON_CELLS];
	size_t cells = 0;

	memset(huge, 'x', sizeof huge - 1);
	begin(FORMAT_CSV, false, false);
	json_document(&json, "t/1", columns, BASE_NELEM(columns));
	json_key(&json, "lost");
	json_number(&json, 3);
	json_rows(&json, "rows");
	put_row(huge, 7, "exit", 1);
	put_row("next", 8, "exit", 2);
	json_rows_end(&json);
	json_end(&json);
	fclose(json.out);
	for (const char *p = strstr(text, "\r\n") + 2; *p != '\r'; p++)
		cells += *p == ',';
	ck_assert_uint_eq(cells, BASE_NELEM(columns) - 1);
	/* What the head has said is not lost for it, nor the row behind it. */
	ck_assert_ptr_nonnull(strstr(text, "x,,,,3,\r\nnext,8,2,,3,\r\n"));
	free(text);
}
END_TEST

/* --- numbers ----------------------------------------------------------------------- */

START_TEST(numbers_are_the_same_in_every_locale)
{
	/* One with a decimal comma, where the machine has it. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	begin(FORMAT_NDJSON, false, false);
	json_begin(&json, '[', false);
	json_number(&json, UINT64_MAX);
	json_signed(&json, INT64_MIN);
	json_share(&json, 1, 3);
	json_share(&json, 1, 0);
	json_share(&json, 2, 1);
	json_hex(&json, UINT64_MAX);
	json_hex(&json, 0);
	json_bool(&json, false);
	json_known(&json, false, 5);
	json_time(&json, -1);
	json_time(&json, INT64_MAX);
	json_end(&json);
	expect("[18446744073709551615, -9223372036854775808, 0.333333, null, "
	    "2.000000, \"0xffffffffffffffff\", \"0x0\", false, null, "
	    "\"1969-12-31T23:59:59.999Z\", "
	    "\"292278994-08-17T07:12:55.807Z\"]\n");
}
END_TEST

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

START_TEST(of_a_row_the_chosen_fields_alone_are_written)
{
	begin(chosen[_i].format, false, false);
	json.fields = "size,lost,name";
	put_document(3, true);
	expect(chosen[_i].want);
}
END_TEST

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

START_TEST(a_field_that_there_is_not_is_told)
{
	char why[256] = "";
	bool good = json_fields_good(lists[_i].list, columns,
	    BASE_NELEM(columns), "stack", why, sizeof why);

	ck_assert_msg(good == (lists[_i].why == NULL), "%s: %s",
	    lists[_i].list, why);
	ck_assert_msg(good || strstr(why, lists[_i].why) != NULL, "%s", why);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("json rows");
	TCase *tc = tcase_create("json rows");

	tcase_add_loop_test(tc, a_document_has_the_same_values_in_each_form,
	    0, BASE_NELEM(forms));
	tcase_add_loop_test(tc, of_a_row_the_chosen_fields_alone_are_written,
	    0, (int)BASE_NELEM(chosen));
	tcase_add_loop_test(tc, a_field_that_there_is_not_is_told, 0,
	    (int)BASE_NELEM(lists));
	tcase_add_test(tc, a_heading_is_written_once_whatever_comes);
	tcase_add_loop_test(tc, any_text_is_one_value, 0, BASE_NELEM(texts));
	tcase_add_test(tc,
	    a_text_that_is_too_long_is_cut_and_moves_no_cell);
	tcase_add_test(tc, numbers_are_the_same_in_every_locale);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
