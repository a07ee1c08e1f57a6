/*
 * Lists that pagek list has written, read again: the three formats are one list,
 * two lists differ as their blocks do, and what is no list is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/pagek/difference/saved_list.h"
#include "harness.h"

static struct saved_diff d;
static char why[128];

static void
begin(void)
{
	saved_diff_init(&d);
}

static void
end(void)
{
	saved_diff_fini(&d);
}

static int
read_into(enum saved_side side, const char *text)
{
	return saved_list_read(&d, side, text, strlen(text), why, sizeof why);
}

#define HEAD "{\"schema\": \"pagek.blocks/2\", " \
	"\"time\": \"2026-11-20T15:04:05.123Z\", " \
	"\"target\": {\"name\": \"a\", \"size\": 7, \"complete\": false, " \
	"\"state\": \"LIVE\"}, \"complete\": true, \"state\": \"ENDED\""

static const char json[] = HEAD ", \"blocks\": [\n"
    "{\"address\": \"0x1000\", \"size\": 16, \"weight\": 1.000000, "
    "\"time\": \"2026-11-20T15:00:00.000Z\", \"seq\": 1, "
    "\"function\": \"f(char, \\\"x\\\")\", "
    "\"stack\": [{\"address\": \"0x9\", \"function\": \"no\"}]},\n"
    "{\"address\": \"0x2000\", \"size\": 32, \"weight\": 2.500000, "
    "\"seq\": 2, \"function\": null}\n]}\n";

static const char ndjson[] = HEAD ", \"blocks\": null}\n"
    "{\"address\": \"0x1000\", \"size\": 16, \"weight\": 1.0, \"seq\": 1, "
    "\"function\": \"f(char, \\\"x\\\")\"}\n"
    "{\"seq\": 2, \"function\": null, \"address\": \"0x2000\", "
    "\"size\": 32, \"weight\": 2.5}\n";

static const char csv[] =
    "address,size,weight,time,seq,function,complete,lost,taken\n"
    "0x1000,16,1.0,2026-11-20T15:00:00.000Z,1,\"f(char, \"\"x\"\")\",true,0,"
    "2026-11-20T15:04:05.123Z\n"
    "0x2000,32,2.5,,2,,true,0,2026-11-20T15:04:05.123Z\n";

static const char *const forms[] = { json, ndjson, csv };

CASE("reading", .setup = begin, .teardown = end);

LOOP_TEST(the_three_formats_are_one_list, 0, BASE_NELEM(forms))
{
	const struct saved_list *l = &d.list[SAVED_NEW];

	ck_assert_int_eq(read_into(SAVED_OLD, json), 0);
	ck_assert_int_eq(read_into(SAVED_NEW, forms[_i]), 0);
	ck_assert_uint_eq(l->n, 2);
	ck_assert_str_eq(l->time, "2026-11-20T15:04:05.123Z");
	ck_assert(!l->incomplete);
	ck_assert(l->blocks == 3.5 && l->bytes == 16 + 80);
	ck_assert_int_eq(saved_diff_compare(&d), 0);
	ck_assert_uint_eq(d.same, 2);
	ck_assert_uint_eq(d.n, 0);
	ck_assert_uint_eq(d.functions.n, 2);
}

#define ONE "{\"address\": \"0x1000\", \"size\": 16, \"seq\": 1, " \
	"\"function\": \"f\"}"

/* Of a list that was saved with --limit or --filter, or that was cut. */
TEST(a_list_says_how_many_blocks_it_should_have)
{
	const struct saved_list *l = &d.list[SAVED_OLD];

	ck_assert_int_eq(read_into(SAVED_OLD, HEAD ", \"counts\": "
	    "{\"aRecActive\": 6, \"size\": 9}, \"filter\": null, \"matched\": "
	    "null}\n" ONE "\n"), 0);
	ck_assert(l->total_known);
	ck_assert_uint_eq(l->total, 6);
	ck_assert_uint_eq(l->n, 1);
	ck_assert_str_eq(l->filter, "");
	ck_assert_int_eq(read_into(SAVED_NEW, HEAD ", \"counts\": "
	    "{\"aRecActive\": 6}, \"filter\": \"size>1\", \"matched\": 1, "
	    "\"blocks\": [" ONE "]}"), 0);
	l = &d.list[SAVED_NEW];
	ck_assert(l->total_known);
	ck_assert_uint_eq(l->total, 1);
	ck_assert_str_eq(l->filter, "size>1");
}

TEST(csv_does_not_say_how_many_blocks_it_should_have)
{
	ck_assert_int_eq(read_into(SAVED_OLD, csv), 0);
	ck_assert(!d.list[SAVED_OLD].total_known);
}

static const struct {
	const char *text, *why;
} wrong[] = {
	{ "", "it is empty" },
	{ " \n\t", "it is empty" },
	{ "[]", "it is not a list of blocks" },
	{ "[{\"address\": \"0x1\", \"size\": 1, \"seq\": 1, "
	    "\"function\": \"f\"}]", "it is not a list of blocks" },
	{ "{\"blocks\": []}", "it is not a list of blocks" },
	{ "{\"address\": \"0x1\"}", "it is not a list of blocks" },
	{ "pagek.baseline/1\n", "it is not a list of blocks" },
	{ "{}", "it is not a list of blocks" },
	{ "{\"schema\": \"pagek.tree/1\"}", "it is not a list of blocks" },
	{ HEAD ", \"blocks\": [", "its JSON is damaged" },
	{ HEAD ", \"blocks\": [{\"address\": \"0x1\", \"si", "its JSON is damaged" },
	{ HEAD ", \"blocks\": [{\"address\": \"0x1\", \"size\": 1}]}",
	    "its blocks lack address, size, seq or function: save it without "
	    "--fields" },
	{ HEAD ", \"blocks\": [{\"size\": 1}]}",
	    "its blocks lack address, size, seq or function: save it without "
	    "--fields" },
	{ HEAD ", \"blocks\": [{\"address\": \"x\", \"size\": 1, \"seq\": 1, "
	    "\"function\": \"f\"}]}", "a block has an invalid number" },
	{ HEAD ", \"blocks\": [{\"address\": \"0x1\", \"size\": -1, \"seq\": 1, "
	    "\"function\": \"f\"}]}", "a block has an invalid number" },
	{ "address,size,seq,function\n0x1,1,1\n", "a line has more or fewer "
	    "values than the first one has names" },
	{ "size,address\n", "its blocks lack address, size, seq or function: "
	    "save it without --fields" },
	{ "address,size\n0x1,1\n", "its blocks lack address, size, seq or "
	    "function: save it without --fields" },
};

LOOP_TEST(what_is_no_list_is_refused_with_the_reason, 0, BASE_NELEM(wrong))
{
	ck_assert_int_eq(read_into(SAVED_OLD, wrong[_i].text), -EINVAL);
	if (wrong[_i].why != NULL)
		ck_assert_str_eq(why, wrong[_i].why);
	ck_assert_uint_gt(strlen(why), 0);
}

TEST(brackets_without_end_are_refused)
{
	char *text = malloc(200001);

	ck_assert_ptr_nonnull(text);
	strcpy(text, "{\"a\": ");
	memset(text + 6, '[', 200000 - 6);
	text[200000] = '\0';
	ck_assert_int_eq(read_into(SAVED_OLD, text), -EINVAL);
	free(text);
}

/* Wherever the file was cut, it is refused or the blocks before are there. */
LOOP_TEST(a_file_that_was_cut_is_no_crash, 0, BASE_NELEM(forms))
{
	size_t len = strlen(forms[_i]);
	char *part;

	for (size_t n = 0; n < len; n++) {
		part = malloc(n + 1);
		ck_assert_ptr_nonnull(part);
		memcpy(part, forms[_i], n);
		saved_diff_fini(&d);
		saved_diff_init(&d);
		(void)saved_list_read(&d, SAVED_OLD, part, n, why, sizeof why);
		ck_assert_uint_le(d.list[SAVED_OLD].n, 2);
		free(part);
	}
}

TEST(a_list_that_lost_records_is_incomplete)
{
	ck_assert_int_eq(read_into(SAVED_OLD,
	    "address,size,seq,function,complete\n0x1,1,1,f,false\n"), 0);
	ck_assert(d.list[SAVED_OLD].incomplete);
	ck_assert_int_eq(read_into(SAVED_NEW,
	    "address,size,seq,function,complete\n0x1,1,1,f,true\n"), 0);
	ck_assert(!d.list[SAVED_NEW].incomplete);
}

TEST(names_of_functions_are_safe_text)
{
	ck_assert_int_eq(read_into(SAVED_NEW,
	    "address,size,seq,function\n0x1,1,1,a\033[2Jb\n"), 0);
	ck_assert_int_eq(saved_diff_compare(&d), 0);
	ck_assert_uint_eq(d.n, 1);
	ck_assert_str_eq(d.row[0]->name, "a\\x1B[2Jb");
}

CASE("comparing", .setup = begin, .teardown = end);

/* f has one more, g another block at the same address, h is as it was. */
TEST(functions_have_what_came_and_went)
{
	const struct saved_function *f, *g;

	ck_assert_int_eq(read_into(SAVED_OLD, "address,size,seq,function\n"
	    "0x1000,100,1,f\n0x2000,50,2,g\n0x3000,8,3,h\n"), 0);
	ck_assert_int_eq(read_into(SAVED_NEW, "address,size,seq,function\n"
	    "0x1000,100,1,f\n0x4000,200,9,f\n0x2000,40,8,g\n0x3000,8,3,h\n"),
	    0);
	ck_assert_int_eq(saved_diff_compare(&d), 0);
	ck_assert_uint_eq(d.n, 2);
	ck_assert_uint_eq(d.same, 2);
	f = d.row[0];
	g = d.row[1];
	ck_assert_str_eq(f->name, "f");
	ck_assert(saved_net(f) == 200 && f->new_blocks == 1 &&
	    f->freed_blocks == 0 && f->bytes[SAVED_NEW] == 300);
	ck_assert_str_eq(g->name, "g");
	ck_assert(saved_net(g) == -10 && g->new_blocks == 1 &&
	    g->freed_blocks == 1);
	ck_assert(d.new_blocks == 2 && d.freed_blocks == 1);
}

/* Its blocks are all others, but g holds what it did. */
TEST(of_a_program_that_was_started_anew_only_sums_differ)
{
	ck_assert_int_eq(read_into(SAVED_OLD, "address,size,seq,function\n"
	    "0x1000,100,1,f\n0x2000,50,2,g\n"), 0);
	ck_assert_int_eq(read_into(SAVED_NEW, "address,size,seq,function\n"
	    "0x7000,120,1,f\n0x8000,50,2,g\n"), 0);
	ck_assert_int_eq(saved_diff_compare(&d), 0);
	ck_assert_uint_eq(d.same, 0);
	ck_assert_uint_eq(d.n, 1);
	ck_assert_str_eq(d.row[0]->name, "f");
	ck_assert(saved_net(d.row[0]) == 20);
}

TEST(a_list_of_no_blocks_is_one)
{
	ck_assert_int_eq(read_into(SAVED_OLD, HEAD ", \"blocks\": []}"), 0);
	ck_assert_int_eq(read_into(SAVED_NEW, "address,size,seq,function\n"), 0);
	ck_assert_int_eq(saved_diff_compare(&d), 0);
	ck_assert_uint_eq(d.n, 0);
}

/* The state is its target's. */
TEST(a_list_says_whether_its_target_had_ended)
{
	ck_assert_int_eq(read_into(SAVED_OLD, json), 0);
	ck_assert(!d.list[SAVED_OLD].ended);
	ck_assert_int_eq(read_into(SAVED_NEW, "{\"schema\": \"pagek.blocks/2\", "
	    "\"target\": {\"pid\": 7, \"state\": \"ENDED\"}, "
	    "\"blocks\": []}"), 0);
	ck_assert(d.list[SAVED_NEW].ended);
}
