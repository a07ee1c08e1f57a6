/*
 * Filters: which blocks an expression means, where it is wrong, and what can
 * stand at its end.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/base/base.h"
#include "../src/filter/filter.h"
#include "harness.h"

#define K UINT64_C(1024)

static const char *texts[FILTER_FIELDS];
static unsigned asked_for;		/* a bit for each field */

static const char *
text_of(void *arg, enum filter_field field)
{
	ck_assert_ptr_eq(arg, texts);
	asked_for |= 1u << field;
	return texts[field];
}

/* 1.5 KiB that main() asked for, 90.4 s ago. */
static struct filter_block block;

static void
begin(void)
{
	static const char *const known[FILTER_FIELDS] = {
		[FILTER_TYPE] = "malloc",
		[FILTER_DESCR] = "ACQ\xc3\xa9",
		[FILTER_THREAD] = "worker 1",
		[FILTER_RNOD] = "",
		[FILTER_FUNCTION] = "std::vector<int>::push(int const&)",
		[FILTER_FILE] = "/src/lib/Main.c:42",
		[FILTER_MODULE] = "/usr/lib/libz.so.1",
		[FILTER_WEIGHT] = "12",
		[FILTER_CALLER] = "4198838",
		[FILTER_STACK_END] = "start",
	};

	memcpy(texts, known, sizeof texts);
	asked_for = 0;
	block = (struct filter_block){ .text = text_of, .arg = texts };
	block.number[FILTER_SIZE] = 1536;
	block.number[FILTER_USED] = 1552;
	block.number[FILTER_OVERHEAD] = 16;
	block.number[FILTER_ADDRESS] = UINT64_C(0x7f12a0);
	block.number[FILTER_AGE] = 90400;
	block.number[FILTER_SEQ] = 4711;
	block.number[FILTER_TYPE] = 0x80;
	block.number[FILTER_LAYER] = 0;
	block.number[FILTER_TID] = 2;
}

static struct filter *
made(const char *text)
{
	struct filter_error e;
	struct filter *f = NULL;
	int r = filter_new(&f, text, &e);

	ck_assert_msg(r == 0, "'%s': %s at %zu", text, e.why, e.at);
	return f;
}

static bool
is_meant(const char *text)
{
	struct filter *f = made(text);
	bool meant = filter_matches(f, &block);

	ck_assert_str_eq(filter_text(f), text);
	filter_free(f);
	return meant;
}

/* --- what is meant ------------------------------------------------------- */

static const char *const meant[] = {
	"", " \t ",
	"size=1536", "size=1.5k", "size=0x600", "SIZE=1.5K", "size=1.5KiB",
	"size==1.5kB", "bytes=1536", "size!=1k", "size>1535", "size>=1536",
	"size<=1536", "size<1537", "size < 2k", "used=1552", "size=1536b",
	"overhead=16", "overhead<1k", "weight=12", "weight>=10 & weight<13",
	"caller=4011b6", "caller>4011B5 & caller<0x4011b7", "stack_end=START",
	"addr=7f12a0", "addr=0x7F12A0", "address>7f129f", "seq=4711",
	"seq=0x1267",
	/* Whole seconds, unless a part of one is asked for. */
	"age=90s", "age=90", "age=1m30s", "age=1.5m", "age>=90s", "age<=90s",
	"age>89s", "age<91s", "age>1m", "age<1h30m", "age>90.3s",
	"age=1m30s400ms", "age!=90.5s", "age<2d", "age<1w", "age<1y",
	/* A code or a name. */
	"type=80", "type=0x80", "type=malloc", "type=MALLOC", "type=m*c",
	"type~lo", "type!=84", "type!=new", "type<81", "ty>=80",
	"layer=heap", "layer=0", "layer!=api", "layer!=1", "tid=2",
	/* Texts. */
	"descr=acq\xc3\xa9", "descr=acq?", "descr=?cq*", "descr=*",
	"thread=\"worker 1\"", "thread=worker*", "thread~ork", "thread!~x",
	"thread~w*1", "thread~?", "function=std::*",
	"function~vector<int>", "function~push(int\\ const&)|size=1536",
	"function=std::vector<int>::push(int const&)",
	"func=\"std::vector<int>::push(int const&)\"", "fn~push",
	"file=/src/lib/main.c", "file=main.c", "file=main.*", "file~lib/ma",
	"file=main.c:42", "file=/src/lib/main.c:42", "file~c:4", "main.c:42",
	"file!=ain.c", "module=libz.so*", "mod=/usr/lib/libz.so.1",
	/* Not known. */
	"rnod!=AB86", "rnod!~A", "rnod=\"\"", "!rnod=*", "descr!=\"\"",
	/* Words alone. */
	"worker", "MAIN.C", "\"worker 1\"", "vec*push", "std::vector",
	"worker main.c", "worker&!nobody",
	/* Joints. */
	"size>1k & type=malloc", "size>1k && type=malloc",
	"size>1k and type=malloc", "size>1k type=malloc", "size>1k AND tid=2",
	"size>2k | tid=2", "size>2k || tid=2", "size>2k or tid=2",
	"!size>2k", "not size>2k", "!!tid=2", "not not tid=2", "! ! !tid=3",
	"!(size>2k)", "!(size>1k & tid=3)", "(size>1k)(tid=2)", "(((tid=2)))",
	"size>2k & tid=3 | seq=4711", "seq=4711 | size>2k & tid=3",
	"(size>2k | tid=2) & seq=4711", "size>1k&tid=2&seq=4711",
	"!(size>2k | !(tid=2 & !seq=1))", "tid=3|tid=4|tid=2",
	"size>1k\n&\ttid=2", "not(tid=3)", "(size!=1k)!tid=3",
	"size>=0", "size<=16383P",
};

CASE("meaning", .setup = begin);

LOOP_TEST(means_this_block, 0, BASE_NELEM(meant))
{
	ck_assert_msg(is_meant(meant[_i]), "'%s'", meant[_i]);
}

static const char *const not_meant[] = {
	"size=1535", "size=1k", "size!=1536", "size>1536", "size>=1537",
	"size<1536", "size<=1.4k", "size<0", "addr=7f12", "seq!=4711",
	"size>18446744073709551615", "age=91s", "age=1m", "age>90s",
	"age<90s", "age=90.5s", "age>1h", "age=89.9s", "type=81",
	"type=mallo", "type~calloc", "type!=malloc", "type!=80", "type<80",
	"type>0x80", "layer=api", "tid=1", "descr=acq", "descr=acq??",
	"thread=worker", "thread~x", "thread!~work", "thread!=*",
	"file=lib/main.c", "file=ain.c",
	"file=main.c:4", "file=main.c:", "file=42", "file=main", "lib", "module=libz", "rnod=AB86",
	"rnod=*", "rnod~A", "rnod!=\"\"", "descr=\"acq?\"", "descr=\"\"",
	/* What a row does not show. */
	"libz", "malloc", "nobody", "worker nobody", "!worker",
	"size>1k & tid=3", "size>2k | tid=3", "!size>1k", "!(tid=2)",
	"size>2k & (tid=3 | seq=4711)", "(size>2k | tid=2) & seq=1",
	"tid=3 | size>2k & seq=4711", "not tid=2", "!!!tid=2",
	"tid=2 & !(seq=4711 | size=1)", "size>1k !tid=2",
};

LOOP_TEST(does_not_mean_this_block, 0, BASE_NELEM(not_meant))
{
	ck_assert_msg(!is_meant(not_meant[_i]), "'%s'", not_meant[_i]);
}

TEST(a_hex_code_can_be_a_name_too)
{
	texts[FILTER_TYPE] = "db";
	ck_assert(is_meant("type=db"));
	ck_assert(is_meant("type=\"DB\""));
	ck_assert(!is_meant("type=0xdb"));
	ck_assert(!is_meant("type!=db"));
	block.number[FILTER_TYPE] = 0xdb;
	texts[FILTER_TYPE] = "other";
	ck_assert(is_meant("type=db"));
	ck_assert(!is_meant("type=\"db\""));
	ck_assert(is_meant("type=0xdb"));
	ck_assert(!is_meant("type!=db"));
}

TEST(nothing_known_of_texts_is_unknown)
{
	block.text = NULL;
	ck_assert(is_meant("function!=main & !worker & size=1536"));
	ck_assert(!is_meant("function=*"));
}

TEST(quotes_take_all_for_itself)
{
	texts[FILTER_THREAD] = "a\"b\\c*d & (e";
	ck_assert(is_meant("thread=\"a\\\"b\\\\c*d & (e\""));
	ck_assert(is_meant("thread~\"c*d\""));
	ck_assert(!is_meant("thread~\"b*d\""));
	ck_assert(is_meant("thread~b*d"));
}

TEST(patterns_are_of_characters)
{
	texts[FILTER_THREAD] = "\xc3\xa9\xe2\x82\xac" "a";
	ck_assert(is_meant("thread=???"));
	ck_assert(!is_meant("thread=????"));
	ck_assert(is_meant("thread=?\xe2\x82\xac*"));
	ck_assert(is_meant("thread=***a"));
	texts[FILTER_THREAD] = "abababac";
	ck_assert(is_meant("thread=*ab*ac"));
	ck_assert(is_meant("thread=*abac"));
	ck_assert(!is_meant("thread=*abab"));
}

/* --- what is asked ------------------------------------------------------- */

static unsigned
bits(const char *text)
{
	struct filter *f = made(text);
	unsigned n = 0;

	for (unsigned field = 0; field < FILTER_FIELDS; field++)
		if (filter_wants(f, field))
			n |= 1u << field;
	filter_free(f);
	return n;
}

TEST(says_which_texts_it_wants)
{
	unsigned shown = 1u << FILTER_DESCR | 1u << FILTER_THREAD |
	    1u << FILTER_RNOD | 1u << FILTER_FUNCTION | 1u << FILTER_FILE;

	ck_assert_uint_eq(bits("size>1k & age>1s | tid=2"), 0);
	ck_assert_uint_eq(bits("function=a | module=b"),
	    1u << FILTER_FUNCTION | 1u << FILTER_MODULE);
	ck_assert_uint_eq(bits("type=0x80"), 0);
	ck_assert_uint_eq(bits("type=malloc"), 1u << FILTER_TYPE);
	ck_assert_uint_eq(bits("anything"), shown);
}

TEST(numbers_are_asked_before_texts)
{
	ck_assert(!is_meant("function~x & size>2k"));
	ck_assert(!is_meant("nobody (function~x | file=y) size>2k"));
	ck_assert(is_meant("function~x | thread=y | size>1k"));
	ck_assert(is_meant("!(function~x & size>2k)"));
	ck_assert_uint_eq(asked_for, 0);
	ck_assert(!is_meant("function~x & thread=y & size>1k"));
	ck_assert_uint_eq(asked_for, 1u << FILTER_FUNCTION);
}

/* --- times ----------------------------------------------------------------- */

/* 2026-11-20 15:04:05 in the zone of the test, two hours ahead of UTC. */
#define BORN UINT64_C(1795179845000)

static const struct {
	const char *text;
	bool holds;
} times[] = {
	{ "time=2026-11-20", true },
	{ "born=2026-11-20", true },
	{ "time>2026-11-20", true },
	{ "time<2026-11-20", false },
	{ "time!=2026-11-21", true },
	{ "time=2026-11-20T15:04", true },
	{ "time=2026-11-20T15:05", false },
	/* A minute begins with its first second. */
	{ "time>2026-11-20T15:04", true },
	{ "time>=2026-11-20T15:04:05", true },
	{ "time>2026-11-20T15:04:05", false },
	{ "time<2026-11-20T15:04:06", true },
	{ "time=\"2026-11-20 15:04:05\"", true },
	{ "time=2026-11-20T13:04:05Z", true },
	{ "time=2026-11-20T13:04:05", false },
	/* As text shows it. */
	{ "time=2026-11-20 15:04:05", true },
	{ "time>2026-11-20 15:04", true },
	{ "time>2026-11-20 15:05", false },
	{ "time=2026-11-20 15:04:05 EET", true },
	{ "time=2026-11-20 13:04:05 UTC", true },
	{ "time=2026-11-20 15:04:05 +0200", true },
	{ "time>2026-11-20  15:04 & time<2026-11-20\t15:05", true },
	{ "(time=2026-11-20 15:04)", true },
	{ "!time=2026-11-20 15:04 | size=1", false },
	{ "time=\" 2026-11-20 15:04:05 +02:00 \"", true },
	{ "time=2026-11-20 08:34:05-04:30", true },
	/* As documents have it. */
	{ "time=2026-11-20T13:04:05.000Z", true },
	{ "time=2026-11-20T13:04:05.001Z", false },
	{ "time=2026-11-20T13:04:05.0009Z", true },
	{ "time=2026-11-20T13:04:05.5Z", false },
	/* A word that is no clock is searched for. */
	{ "time=2026-11-20 nothing.c:12", false },
};

static void
begin_east(void)
{
	begin();
	setenv("TZ", "EET-2", 1);
	tzset();
	block.number[FILTER_TIME] = BORN;
}

CASE("times", .setup = begin_east);

LOOP_TEST(a_time_is_a_moment_and_with_equal_all_of_it, 0, BASE_NELEM(times))
{
	ck_assert_msg(is_meant(times[_i].text) == times[_i].holds, "%s",
	    times[_i].text);
}

/* The clocks of this zone go from 02:00 to 03:00 on 2026-03-29, and back later. */
static void
begin_summer(void)
{
	begin();
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
}

CASE("summer", .setup = begin_summer);

/* 2026-10-25 02:30 is shown twice. */
TEST(a_zones_name_tells_apart_what_the_clock_shows_twice)
{
	block.number[FILTER_TIME] = UINT64_C(1792888200000);
	ck_assert(is_meant("time=2026-10-25 02:30 CEST"));
	ck_assert(!is_meant("time=2026-10-25 02:30 CET"));
	block.number[FILTER_TIME] += 3600000;
	ck_assert(!is_meant("time=2026-10-25 02:30 CEST"));
	ck_assert(is_meant("time=2026-10-25 02:30 CET"));
}

static const struct {
	const char *text;
	const char *why;		/* NULL: it exists */
} existing[] = {
	{ "2026-02-30", "no date: that month has 28 days" },
	{ "2024-02-29", NULL },
	{ "2023-02-29", "no date: that month has 28 days" },
	{ "2100-02-29", "no date: that month has 28 days" },
	{ "2000-02-29", NULL },
	{ "02-29", NULL },
	{ "02-30 12:00", "no date: that month has 29 days" },
	{ "2026-04-31", "no date: that month has 30 days" },
	{ "2026-11-00", "no date: that month has 30 days" },
	{ "2026-12-32", "no date: that month has 31 days" },
	{ "2026-00-10", "no date: months are 01 to 12" },
	{ "2026-13-01", "no date: months are 01 to 12" },
	{ "0000-01-01", "no date: years are 1970 to 9999" },
	{ "1969-12-31", "no date: years are 1970 to 9999" },
	{ "1970-01-01", "no time here: it is before 1970" },
	{ "24:00", "no time: hours are 00 to 23" },
	{ "2026-11-27 24:00", "no time: hours are 00 to 23" },
	{ "2026-11-27T25:00Z", "no time: hours are 00 to 23" },
	{ "12:60", "no time: minutes and seconds are 00 to 59" },
	{ "2026-11-27 12:00:60", "no time: minutes and seconds are 00 to 59" },
	{ "2026-03-29 02:30", "no time here: the clock was put forward over it" },
	{ "2026-03-29T02:00:00", "no time here: the clock was put forward over "
	    "it" },
	{ "2026-03-29 02:30Z", NULL },
	{ "2026-03-29 03:00", NULL },
	{ "2026-03-29 01:59:59", NULL },
	{ "02:30", NULL },
	{ "2026-11-27 9:00", "not a time, as in 12:00, 2026-11-20 or 2026-11-20 "
	    "15:04" },
	{ "2026-11-27 09:00+1", "not a time, as in 12:00, 2026-11-20 or "
	    "2026-11-20 15:04" },
	{ "2026-11-27T", "not a time, as in 12:00, 2026-11-20 or 2026-11-20 "
	    "15:04" },
	{ "2026-11-27 09:00:00.", "not a time, as in 12:00, 2026-11-20 or "
	    "2026-11-20 15:04" },
	{ "2026-11-27 09:00 +2500", "no time: zones are up to 14:00 from UTC" },
};

LOOP_TEST(a_time_that_does_not_exist_is_said, 0, BASE_NELEM(existing))
{
	const char *why = existing[_i].why;
	char text[64], said[160];
	struct filter_error e;
	struct filter *f;

	snprintf(text, sizeof text, "born>%s", existing[_i].text);
	snprintf(said, sizeof said, "'%s' is %s", existing[_i].text,
	    why != NULL ? why : "");
	if (why == NULL) {
		ck_assert_msg(filter_new(&f, text, &e) == 0, "%s: %s", text,
		    e.why);
		filter_free(f);
		return;
	}
	ck_assert_msg(filter_new(&f, text, &e) == -EINVAL, "%s", text);
	ck_assert_str_eq(e.why, said);
	ck_assert_uint_eq(e.at, 5);
}

static void
check_last_year(time_t then)
{
	char text[64];
	struct tm tm, once;

	localtime_r(&then, &tm);
	once = tm;
	once.tm_isdst = -1;
	/* It may have no day a year before, or its hour may come twice. */
	if ((tm.tm_mon == 1 && tm.tm_mday == 29) || mktime(&once) != then)
		return;
	strftime(text, sizeof text, "born=%m-%d %H:%M", &tm);
	block.number[FILTER_TIME] = (uint64_t)then * 1000;
	ck_assert_msg(is_meant(text), "%s", text);
	tm.tm_year--;
	tm.tm_isdst = -1;
	block.number[FILTER_TIME] = (uint64_t)mktime(&tm) * 1000;
	ck_assert_msg(!is_meant(text), "%s", text);
}

TEST(a_date_without_a_year_is_the_last_one)
{
	for (int days = 1; days <= 360; days++)
		check_last_year(time(NULL) - days * 86400);
}

CASE("clock", .setup = begin_east);

/* Since noon, whether noon is over today or was yesterday. */
LOOP_TEST(a_clock_alone_is_the_last_time_that_it_showed_that, 0, 24)
{
	char text[32];
	time_t now = time(NULL), then;
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = _i;
	tm.tm_min = tm.tm_sec = 0;
	then = mktime(&tm);
	if (then > now)
		then -= 86400;
	snprintf(text, sizeof text, "born>=%02d:00", _i);
	block.number[FILTER_TIME] = (uint64_t)then * 1000;
	ck_assert(is_meant(text));
	block.number[FILTER_TIME]--;
	ck_assert(!is_meant(text));
}

TEST(an_unknown_time_is_neither_early_nor_late)
{
	block.number[FILTER_TIME] = 0;
	ck_assert(!is_meant("time<2026-11-20"));
	ck_assert(!is_meant("time<=2026-11-20"));
	ck_assert(!is_meant("time>2026-11-20"));
	ck_assert(is_meant("time!=2026-11-20"));
}

/* --- where it is wrong --------------------------------------------------- */

static const struct {
	const char *text;
	size_t at;
	const char *why;
} wrong[] = {
	{ "sise>1k", 0, "no field is called 'sise'; did you mean 'size'?" },
	{ "tid=2 & fnuction=a", 8, "no field is called 'fnuction'; did you "
	    "mean 'function'?" },
	{ "colour=red", 0, "no field is called 'colour'; put text with "
	    "operators in \"quotes\"" },
	{ "vector<int>", 0, "no field is called 'vector'; put text with "
	    "operators in \"quotes\"" },
	{ "size>", 5, "a value is missing after '>', as in size>1k" },
	{ "age >=  ", 8, "a value is missing after '>=', as in age>=10s" },
	{ "size> & tid=2", 6, "a value is missing after '>', as in size>1k" },
	{ "(file=)", 6, "a value is missing after '=', as in file=main.c" },
	{ "size=1q", 5, "'1q' is not a size, as in 12, 0x40, 1k or 1.5M" },
	{ "size=1.5", 5, "'1.5' is not a size, as in 12, 0x40, 1k or 1.5M" },
	{ "size=-1", 5, NULL }, { "size=1k2", 5, NULL },
	{ "size=0x", 5, NULL }, { "size=.5k", 5, NULL },
	{ "size=1.k", 5, NULL }, { "size=99999999999999999999", 5, NULL },
	{ "size=16777216P", 5, NULL }, { "size=\"1k\"", 5, NULL },
	{ "size= and tid=2", 6, "'and' is not a size, as in 12, 0x40, 1k or "
	    "1.5M" },
	{ "time>noon", 5, "'noon' is not a time, as in 12:00, 2026-11-20 or "
	    "2026-11-20 15:04" },
	{ "born>24:00", 5, NULL },
	{ "born>12", 5, NULL },
	{ "born>2026-13-01", 5, NULL },
	{ "born>2026-11-20T15:04+01", 5, NULL },
	{ "time~12", 4, NULL },
	{ "age>1h30", 4, "'1h30' is not an age, as in 10s, 5m, 1h30m or 2d" },
	{ "age>30m1h", 4, NULL }, { "age>1m1m", 4, NULL },
	{ "age>5x", 4, NULL }, { "age>s", 4, NULL },
	{ "addr=xyz", 5, "'xyz' is not an address in hex" },
	{ "seq=1k", 4, "'1k' is not a number" },
	{ "layer=2", 6, "'2' is not a layer: heap or api" },
	{ "type>malloc", 5, "'malloc' is not a type code in hex, as in 80" },
	{ "type>100", 5, NULL },
	{ "size~1", 4, "'size' takes = != < <= > >=, not '~'" },
	{ "file>a", 4, "'file' takes = != ~ !~, not '>'" },
	{ "size=>1k", 4, "'=>' is not an operator; did you mean '>='?" },
	{ "size =< 1k", 5, "'=<' is not an operator; did you mean '<='?" },
	{ "size<>1k", 4, "'<>' is not an operator; did you mean '!='?" },
	{ "file=~a", 4, "'=~' is not an operator; did you mean '~'?" },
	{ "size:1k", 4, "':' is not an operator; did you mean 'size=...'?" },
	{ "(size>1k", 0, "this '(' is never closed" },
	{ "a & ((b | c) & d", 4, "this '(' is never closed" },
	{ "size>1k)", 7, "there is no '(' before this ')'" },
	{ "(a) )", 4, "there is no '(' before this ')'" },
	{ ")", 0, "there is no '(' before this ')'" },
	{ "a & ()", 5, "the parentheses are empty" },
	{ "(", 1, "a term is missing after '('" },
	{ "size>1k &", 9, "a term is missing after '&'" },
	{ "size>1k && ", 11, "a term is missing after '&&'" },
	{ "size>1k or", 10, "a term is missing after 'or'" },
	{ "a | | b", 4, "a term is missing before '|'" },
	{ "a &&& b", 4, "a term is missing before '&'" },
	{ "& a", 0, "a term is missing before '&'" },
	{ "and a", 0, "a term is missing before 'and'" },
	{ "(a | )", 5, "a term is missing after '|'" },
	{ "!", 1, "a term is missing after '!'" },
	{ "not", 3, "a term is missing after 'not'" },
	{ "a & >5", 4, "a field is missing before '>', as in size>=1k" },
	{ "not = 5", 0, NULL },
	{ "thread=\"a b", 7, "this quote is never closed" },
	{ "a \"b", 2, "this quote is never closed" },
	{ "a \"b\\\"", 2, "this quote is never closed" },
	{ "thread~\"\"", 7, "this text is empty" },
	{ "a & \"\"", 4, "this text is empty" },
	{ "a\x01", 1, "there is a control character here" },
	{ "ab\x7f", 2, "there is a control character here" },
	{ "a\xff", 1, "this byte is not part of a character" },
	{ "a\xc3", 1, "this byte is not part of a character" },
	{ "((((((((((((((((((((((((((((((((((((((((a", 32,
	    "parentheses are nested more than 32 deep" },
	{ "size=averyveryveryveryveryveryverylongword", 5,
	    "'averyveryveryveryveryveryver...' is not a size, as in 12, 0x40, "
	    "1k or 1.5M" },
};

CASE("errors", .setup = begin);

LOOP_TEST(says_where_it_is_wrong, 0, BASE_NELEM(wrong))
{
	struct filter *f = NULL;
	struct filter_error e;
	const char *text = wrong[_i].text;
	char safe[512];

	ck_assert_int_eq(filter_new(&f, text, &e), -EINVAL);
	ck_assert_ptr_null(f);
	ck_assert_msg(e.at == wrong[_i].at, "'%s': at %zu: %s", text, e.at,
	    e.why);
	if (wrong[_i].why != NULL)
		ck_assert_str_eq(e.why, wrong[_i].why);
	base_safe_text(safe, sizeof safe, e.why, strlen(e.why), false);
	ck_assert_str_eq(safe, e.why);
}

TEST(length_has_an_end)
{
	char text[FILTER_MAX + 2];
	struct filter *f = NULL;
	struct filter_error e;

	memset(text, 'a', sizeof text);
	text[FILTER_MAX + 1] = '\0';
	ck_assert_int_eq(filter_new(&f, text, &e), -EINVAL);
	ck_assert_uint_eq(e.at, FILTER_MAX);
	text[FILTER_MAX] = '\0';
	ck_assert(!is_meant(text));
	/* As many terms as there can be. */
	for (size_t i = 0; i < FILTER_MAX; i++)
		text[i] = i % 2 ? ' ' : '*';
	ck_assert(is_meant(text));
	memset(text, '!', FILTER_MAX - 2);
	ck_assert(is_meant(text));
}

/* --- numbers ------------------------------------------------------------- */

static const struct {
	const char *text;
	uint64_t n;
} sizes[] = {
	{ "0", 0 }, { "12", 12 }, { "0x40", 64 }, { "0XfF", 255 },
	{ "1k", K }, { "1K", K }, { "1kB", K }, { "1KiB", K }, { "7B", 7 },
	{ "1.5M", 1536 * K }, { "0.5k", 512 }, { "1.999999k", 2047 },
	{ "128.4MiB", UINT64_C(134637158) }, { "2G", 2 * K * K * K },
	{ "1T", K * K * K * K }, { "1P", K * K * K * K * K },
	{ "0.0000001P", 0 }, { "18446744073709551615", UINT64_MAX },
	{ "0xffffffffffffffff", UINT64_MAX },
};

CASE("numbers");

LOOP_TEST(reads_a_size, 0, BASE_NELEM(sizes))
{
	uint64_t n = 1;

	ck_assert_int_eq(filter_size(sizes[_i].text, &n), 0);
	ck_assert_msg(n == sizes[_i].n, "%s: %llu", sizes[_i].text,
	    (unsigned long long)n);
}

static const struct {
	const char *text;
	uint64_t ms;
} ages[] = {
	{ "0", 0 }, { "10", 10000 }, { "10s", 10000 }, { "5m", 300000 },
	{ "1h30m", 5400000 }, { "1H30M", 5400000 }, { "2d", 172800000 },
	{ "500ms", 500 }, { "1.5s", 1500 }, { "1s1ms", 1001 },
	{ "1w", UINT64_C(604800000) }, { "1y", UINT64_C(31536000000) },
	{ "1y2w3d4h5m6s7ms", UINT64_C(33019506007) }, { "0.5h", 1800000 },
};

LOOP_TEST(reads_an_age, 0, BASE_NELEM(ages))
{
	uint64_t ms = 1;

	ck_assert_int_eq(filter_age(ages[_i].text, &ms), 0);
	ck_assert_msg(ms == ages[_i].ms, "%s: %llu", ages[_i].text,
	    (unsigned long long)ms);
}

TEST(leaves_the_result_of_no_number)
{
	static const char *const none[] = { "", "k", " 1", "1 k", "1kk", "1kx",
		"0x", "0xg", "1.", "1.5", "-1", "+1", "1e3", "1,5k", "nan",
		"18446744073709551616", "99999999999P" };
	uint64_t n = 7;

	for (size_t i = 0; i < BASE_NELEM(none); i++) {
		ck_assert_msg(filter_size(none[i], &n) == -EINVAL, "%s",
		    none[i]);
		ck_assert_uint_eq(n, 7);
	}
	ck_assert_int_eq(filter_age("", &n), -EINVAL);
	ck_assert_int_eq(filter_age("1s1", &n), -EINVAL);
	ck_assert_int_eq(filter_age("999999999999y", &n), -EINVAL);
	ck_assert_uint_eq(n, 7);
}

/* --- random expressions, beside a plain evaluator ------------------------ */

static uint64_t seed;

static unsigned
chance(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static char written[FILTER_MAX + 512];
static size_t written_len;

#define PUT(...) \
	base_append(written, sizeof written, &written_len, __VA_ARGS__)

static const char *
one_of(const char *const *words, size_t n)
{
	return words[chance((unsigned)n)];
}

#define ONE_OF(...) \
	one_of((const char *const[]){ __VA_ARGS__ }, \
	    BASE_NELEM(((const char *const[]){ __VA_ARGS__ })))

/* Writes a term of a number, and says whether it holds. */
static bool
number_term(void)
{
	static const char *const ops[] = { "=", "!=", "<", "<=", ">", ">=" };
	static const struct {
		const char *name, *value;
		enum filter_field field;
		uint64_t n;
	} terms[] = {
		{ "size", "1k", FILTER_SIZE, K },
		{ "size", "0x600", FILTER_SIZE, 1536 },
		{ "used", "1552", FILTER_USED, 1552 },
		{ "tid", "3", FILTER_TID, 3 },
		{ "overhead", "0x20", FILTER_OVERHEAD, 32 },
		{ "addr", "7f12a0", FILTER_ADDRESS, 0x7f12a0 },
		{ "address", "0x7f12a0", FILTER_ADDRESS, 0x7f12a0 },
		{ "level", "2", FILTER_LEVEL, 2 },
		{ "age", "1m30s1ms", FILTER_AGE, 90001 },
		{ "age_ms", "90001", FILTER_AGE, 90001 },
		{ "AGE_MS", "1m30s1ms", FILTER_AGE, 90001 },
		{ "layer", "api", FILTER_LAYER, 1 },
		{ "time", "2026-11-20T15:04:05Z", FILTER_TIME,
		    UINT64_C(1795187045000) },
		{ "type", "0x81", FILTER_TYPE, 0x81 },
	};
	unsigned i = chance(BASE_NELEM(terms)), op = chance(6);
	uint64_t x = block.number[terms[i].field], n = terms[i].n;

	PUT("%s%s%s%s%s", terms[i].name, ONE_OF("", " "), ops[op],
	    ONE_OF("", " "), terms[i].value);
	return op == 0 ? x == n : op == 1 ? x != n : op == 2 ? x < n :
	    op == 3 ? x <= n : op == 4 ? x > n : x >= n;
}

static bool
text_term(void)
{
	static const struct {
		const char *name;
		enum filter_field field;
	} fields[] = {
		{ "descr", FILTER_DESCR },
		{ "thread", FILTER_THREAD },
		{ "function", FILTER_FUNCTION },
		{ "rnod", FILTER_RNOD },
	};
	unsigned i = chance(BASE_NELEM(fields)), op = chance(4);
	static const char *const ops[] = { "=", "!=", "~", "!~" };
	const char *value = ONE_OF("a", "b", "AB", "bb", "*a", "a*", "a?",
	    "*b*b*", "??", "*");
	const char *text = texts[fields[i].field];
	char around[16];
	bool holds;

	PUT("%s%s%s", fields[i].name, ops[op], value);
	snprintf(around, sizeof around, op < 2 ? "%s" : "*%s*", value);
	holds = text[0] != '\0' &&
	    fnmatch(around, text, FNM_CASEFOLD) == 0;
	return op % 2 ? !holds : holds;
}

static bool
word_term(void)
{
	const char *value = ONE_OF("ab", "bba", "zz");
	bool holds = false;

	PUT("%s", value);
	for (unsigned f = FILTER_DESCR; f <= FILTER_FILE; f++)
		holds |= strcasestr(texts[f], value) != NULL;
	return holds;
}

static bool random_or(unsigned depth);

static bool
random_not(unsigned depth)
{
	bool turned = chance(4) == 0, holds;

	if (turned)
		PUT("%s", ONE_OF("!", "not ", "! ", "NOT "));
	if (depth > 0 && chance(3) == 0) {
		PUT("(");
		holds = random_or(depth - 1);
		PUT(")");
	} else {
		holds = chance(2) ? number_term() :
		    chance(4) ? text_term() : word_term();
	}
	return turned ? !holds : holds;
}

static bool
random_and(unsigned depth)
{
	bool holds = random_not(depth);

	while (chance(3) == 0) {
		PUT("%s", ONE_OF(" & ", " && ", " and ", " ", " &", "& "));
		holds &= random_not(depth);
	}
	return holds;
}

static bool
random_or(unsigned depth)
{
	bool holds = random_and(depth);

	while (chance(3) == 0) {
		PUT("%s", ONE_OF(" | ", " || ", " or ", "|", " Or "));
		holds |= random_and(depth);
	}
	return holds;
}

CASE("meaning");

TEST(random_expressions_mean_what_they_say)
{
	unsigned holding = 0, n = 0, all = (unsigned)check_rounds(20000);

	for (seed = check_seed(1); n < all;) {
		bool holds;

		for (unsigned f = 0; f < FILTER_FIELDS; f++)
			texts[f] = ONE_OF("a", "b", "ab", "ba", "aB", "Abba",
			    "");
		block.number[FILTER_SIZE] = K * chance(3);
		block.number[FILTER_TID] = chance(5);
		block.number[FILTER_AGE] = 90000 + chance(3);
		block.number[FILTER_TIME] = UINT64_C(1795187044000) +
		    1000 * chance(3);
		block.number[FILTER_LAYER] = chance(2);
		block.number[FILTER_TYPE] = 0x80 + chance(3);
		written_len = 0;
		written[0] = '\0';
		holds = random_or(4);
		if (written_len > FILTER_MAX)
			continue;
		ck_assert_msg(is_meant(written) == holds, "'%s' is %d",
		    written, holds);
		holding += holds;
		n++;
	}
	ck_assert_uint_gt(holding, all / 4);
	ck_assert_uint_lt(holding, all / 4 * 3);
}

/* --- who types ----------------------------------------------------------- */

static const struct {
	const char *typed;
	size_t from;
	const char *words;		/* with blanks between */
} typing[] = {
	{ "si", 0, "size" },
	{ "f", 0, "function file" },
	{ "SI", 0, "size" },
	{ "size>1k & t", 10, "time type tid thread touched touches" },
	{ "size>1k | (!d", 12, "descr" },
	{ "size>1k o", 8, "overhead" },
	{ "size", 4, "= != < <= > >=" },
	{ "thr", 0, "thread" },
	{ "node", 4, "= != ~ !~" },
	{ "file ", 5, "= != ~ !~" },
	{ "layer=", 6, "heap api" },
	{ "layer = a", 8, "api" },
	{ "size>", 5, "" },
	{ "size>1k", 5, "" },
	{ "size>1k ", 8, "& |" },
	{ "born>2026-11-20 15:0", 5, "" },
	{ "born>2026-11-20 15:04 ", 22, "& |" },
	{ "(size>1k)", 9, "& |" },
	{ "a \"b", 2, "" },
	{ "x=", 2, "" },
	{ "zebra", 0, "" },
};

CASE("typing", .setup = begin);

LOOP_TEST(completes_what_is_typed, 0, BASE_NELEM(typing))
{
	char words[256] = "";
	size_t len = 0, from = 99;
	const char *word;

	for (size_t k = 0; (word = filter_complete(&filter_blocks, typing[_i].typed, k,
	    &from)) != NULL; k++)
		base_append(words, sizeof words, &len, "%s%s",
		    k > 0 ? " " : "", word);
	ck_assert_msg(strcmp(words, typing[_i].words) == 0, "'%s': %s",
	    typing[_i].typed, words);
	ck_assert_msg(from == typing[_i].from, "'%s': %zu", typing[_i].typed,
	    from);
}

TEST(an_empty_line_can_begin_with_each_field)
{
	const char *word, *help;
	char line[128];
	size_t from, k;

	for (k = 0; (word = filter_complete(&filter_blocks, "", k, &from)) != NULL; k++) {
		ck_assert_uint_eq(from, 0);
		snprintf(line, sizeof line, "%s!=%s", word,
		    strcmp(word, "time") == 0 ? "12:00" : "1");
		is_meant(line);
		help = filter_help(&filter_blocks, k);
		ck_assert_ptr_nonnull(help);
		ck_assert_int_eq(strncmp(help, word, strlen(word)), 0);
		ck_assert_int_eq(help[strlen(word)], ' ');
		ck_assert_uint_lt(strlen(help), 76);
	}
	ck_assert_uint_eq(k, FILTER_FIELDS);
	ck_assert_ptr_null(filter_help(&filter_blocks, k));
}
