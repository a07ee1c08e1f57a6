/*
 * Events of debug data: histories, differences, which rows, in which order, and
 * how they are printed.
 */
#include <unistd.h>

#include "../src/pagek/debugdata/debugdata.h"
#include "dump_rig.h"

#define ALL_OPTIONS (MDD_OPT_ACTUAL_SIZE | MDD_OPT_TIMESTAMP | \
	MDD_OPT_THREAD | MDD_OPT_HISTORY)
#define WORDS 24
#define PRINTED 65536

static struct rig *rig;
static struct dump dumps[4];
static size_t ndumps;
static struct subject subject = { .dump = dumps };
static struct events events;
static struct options opts;
static char why[DEBUGDATA_WHY];

static void
start(void)
{
	rig = rig_new(4, false, ALL_OPTIONS, 1);
}

static void
stop(void)
{
	events_fini(&events);
	for (; ndumps > 0; ndumps--)
		dump_fini(&dumps[ndumps - 1]);
	options_fini(&opts);
	free(rig);
	rig = NULL;
}

/* Ends the rig's dump and begins another one of the same kind. */
static void
next_dump(void)
{
	char name[16];

	rig_end(rig);
	snprintf(name, sizeof name, "mddout.%zu", ndumps);
	ck_assert_int_eq(dump_read(&dumps[ndumps], name, rig->bytes, rig->len),
	    0);
	ck_assert_msg(dumps[ndumps].nproblems == 0, "%s",
	    dumps[ndumps].problem[0]);
	subject.n = ++ndumps;
	rig->len = rig->blocks = rig->pasts = 0;
	rig->chunks = 0;
}

static void
block(uint32_t seqno, uint64_t size)
{
	rig_block(rig, &(struct dump_record){ .address = 0x10000 - 16 * seqno,
		.size = size, .actual = size + 8, .alloc = { .seqno = seqno,
		.time = 10 * seqno, .thread = seqno % 2 + 1, .function = seqno %
		3 == 0 ? MDD_NEW_NOTHROW : MDD_MALLOC, .stack = { 0x8000 +
		seqno } } });
	if (rig->seqno <= seqno)
		rig->seqno = seqno + 1;
}

static void
past(uint32_t seqno, uint32_t freed)
{
	struct dump_record b = { .address = 0x20000 + 16 * seqno, .size = 5,
		.actual = 16, .alloc = { .seqno = seqno, .thread = 1, .function =
		MDD_MALLOC } };

	rig_past(rig, &b, &(struct dump_moment){ .seqno = freed, .thread = 2,
		.function = MDD_FREE });
	if (rig->seqno <= freed)
		rig->seqno = freed + 1;
}

static void
threads(void)
{
	rig_thread(rig, "main", 0x75670);
	rig_thread(rig, "worker", 0x93af8);
}

/* Parses "dump ..."; words are set apart by blanks. */
static void
parse(const char *line)
{
	static char copy[512];
	static char *argv[WORDS + 1];
	int argc = 0;
	char *word, *rest;

	options_fini(&opts);
	snprintf(copy, sizeof copy, "pagek %s", line);
	for (word = strtok_r(copy, " ", &rest); word != NULL && argc < WORDS;
	    word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	ck_assert_msg(options_parse(&opts, argc, argv, why, sizeof why) == 0,
	    "%s", why);
}

/* The sequence numbers of the rows. */
static const char *
numbers(void)
{
	static char text[1024];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < events.n; i++)
		base_append(text, sizeof text, &len, "%s%" PRIu64 "%s",
		    i > 0 ? " " : "", events.row[i].at->seqno,
		    events.row[i].kind == EVENT_FREED ? "x" :
		    events.row[i].kind == EVENT_FREE ? "f" : "");
	return text;
}

static const char *
chosen(const char *line)
{
	struct query q;

	parse(line);
	ck_assert_int_eq(query_parse(&q, &opts, why), 0);
	events_fini(&events);
	ck_assert_int_eq(events_of_dump(&events, &dumps[0]), 0);
	ck_assert_int_eq(query_apply(&q, &events, NULL), 0);
	return numbers();
}

/* --- histories ---------------------------------------------------------------- */

CASE("history", .setup = start, .teardown = stop);

TEST(events_are_in_the_order_of_time)
{
	bool complete;

	threads();
	block(4, 1);
	block(0, 1);
	past(1, 3);
	past(2, 5);
	next_dump();
	ck_assert_int_eq(events_of_history(&events, dumps, 1, &complete), 0);
	ck_assert_str_eq(numbers(), "0 1x 2x 3f 4 5f");
	ck_assert(complete);
}

/* Counters, not numbers, say what is missing: a failed realloc() uses one. */
TEST(an_unused_number_is_no_gap)
{
	bool complete;

	threads();
	block(0, 1);
	block(2, 1);
	past(3, 5);
	next_dump();
	ck_assert_int_eq(events_of_history(&events, dumps, 1, &complete), 0);
	ck_assert(complete);
}

LOOP_TEST(what_is_missing_makes_it_incomplete, 0, 3)
{
	bool complete;

	threads();
	block(7, 1);
	past(1, 3);
	rig->counted = true;
	rig->allocs = _i == 0 ? 3 : 2;
	rig->frees = _i == 1 ? 2 : 1;
	rig->missed = _i == 2;
	next_dump();
	ck_assert_int_eq(events_of_history(&events, dumps, 1, &complete), 0);
	ck_assert(!complete);
}

/* Of earlier files only the history counts; a record in two files counts once. */
TEST(several_files_are_one_history)
{
	bool complete;

	threads();
	block(0, 1);
	past(1, 2);
	next_dump();
	block(0, 1);
	past(1, 2);
	past(3, 4);
	next_dump();
	rig->counted = true;
	rig->allocs = rig->frees = 4;
	past(0, 5);
	past(6, 7);
	rig->history_start = 2;
	next_dump();
	ck_assert_int_eq(events_of_history(&events, dumps, 3, &complete), 0);
	ck_assert_str_eq(numbers(), "0x 1x 2f 3x 4f 5f 6x 7f");
	ck_assert(complete);
}

TEST(a_wrapped_counter_keeps_the_order)
{
	bool complete;

	threads();
	block(1, 1);
	rig_past(rig, &(struct dump_record){ .address = 0x4000, .size = 1,
		.actual = 8, .alloc = { .seqno = UINT32_MAX - 1, .thread = 1,
		.function = MDD_MALLOC } }, &(struct dump_moment){ .seqno = 0,
		.thread = 1, .function = MDD_FREE });
	rig->seqno = 2;
	next_dump();
	ck_assert_int_eq(events_of_history(&events, dumps, 1, &complete), 0);
	ck_assert_str_eq(numbers(), "4294967294x 0f 1");
	ck_assert(!complete);
}

/* --- differences ------------------------------------------------------------------ */

CASE("difference", .setup = start, .teardown = stop);

/* The same address, allocated anew. */
TEST(numbers_are_compared_not_addresses)
{
	struct events freed = { .n = 0 };

	threads();
	for (uint32_t i = 0; i < 9; i++)
		block(i, 1);
	next_dump();
	for (uint32_t i = 3; i < 12; i++)
		block(i, 1);
	rig->block[5].address = dumps[0].record[0].address;
	next_dump();
	ck_assert_int_eq(events_of_diff(&events, &freed, &dumps[0], &dumps[1]),
	    0);
	ck_assert_uint_eq(events.n, 3);
	ck_assert_uint_eq(freed.n, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_ge(events.row[i].at->seqno, 9);
		ck_assert_uint_lt(freed.row[i].at->seqno, 3);
	}
	events_fini(&freed);
}

/* --- which rows, in which order ----------------------------------------------------- */

static void
six_blocks(void)
{
	start();
	threads();
	for (uint32_t i = 0; i < 6; i++)
		block(i, i < 3 ? 100 - i : 10 + i % 2);
	next_dump();
}

CASE("query", .setup = six_blocks, .teardown = stop);

/* Sizes 100 99 98 11 10 11; addresses fall; threads 1 2 1 2 1 2. */
static const struct {
	const char *line, *numbers;
} queries[] = {
	{ "dump x", "5 4 3 2 1 0" },
	{ "dump -Sp x", "5 4 3 2 1 0" },
	{ "dump -SP x", "0 1 2 3 4 5" },
	{ "dump -Sn x", "4 3 5 2 1 0" },
	{ "dump -SN x", "0 1 2 3 5 4" },
	{ "dump -S N x", "0 1 2 3 5 4" },
	{ "dump -SNS x", "0 1 2 5 3 4" },
	{ "dump -Sns x", "4 3 5 2 1 0" },
	{ "dump -Ss x", "0 1 2 3 4 5" },
	{ "dump -SS x", "5 4 3 2 1 0" },
	{ "dump -Sa x", "1 2 4 5 0 3" },
	{ "dump -St x", "0 2 4 1 3 5" },
	{ "dump -STs x", "1 3 5 0 2 4" },
	{ "dump -STP x", "1 3 5 0 2 4" },
	{ "dump --sort=size x", "0 1 2 3 5 4" },
	{ "dump --sort=thread x", "0 2 4 1 3 5" },
	{ "dump -Ss -Fthread=1 x", "0 2 4" },
	{ "dump -Ss -Fthread=1 -Fthread=2 x", "0 1 2 3 4 5" },
	{ "dump -Ss -F size_min=11 x", "0 1 2 3 5" },
	{ "dump -Ss -Fsize_max=11 x", "3 4 5" },
	{ "dump -Ss -Fsize_min=11 -Fsize_max=99 x", "1 2 3 5" },
	{ "dump -Ss -Fsize_min=11 -Fsize_min=99 x", "0 1" },
	{ "dump -Ss -Fseqno_min=4 x", "4 5" },
	{ "dump -Ss -Fseqno_max=1 x", "0 1" },
	{ "dump -Ss -Fseqno_min=4294967296 x", "" },
	{ "dump -Ss -Ftime_min=20 -Ftime_max=40 x", "2 3 4" },
	{ "dump -Ss --time=ms -Ftime_min=200 -Ftime_max=400 x", "2 3 4" },
	{ "dump -Ss -Fptr_min=0xffe0 x", "0 1 2" },
	{ "dump -Ss -Fptr_max=0xffe0 -Fptr_min=0xffd0 x", "2 3" },
	{ "dump -SsSsSsSsSsSsSsSsSsSsSsSsSsSsSsSsSsSsnN -Fptr_min=0xffe0 x",
	    "0 1 2" },
	{ "dump -Ss --filter=size>=99 x", "0 1" },
	{ "dump -Ss --filter=type=malloc&thread=worker x", "1 5" },
	{ "dump -Ss --filter=tid=2&!seq=1 x", "3 5" },
	{ "dump -Ss --filter=address>ffc0|seq=5 x", "0 1 2 3 5" },
	{ "dump -Ss --filter=caller>=8004 x", "4 5" },
	{ "dump -Ss --filter=caller=0x8001|overhead!=8 x", "1" },
	{ "dump -Ss --filter=overhead=8&overhead<9 x", "0 1 2 3 4 5" },
};

LOOP_TEST(rows_are_chosen_and_sorted, 0, BASE_NELEM(queries))
{
	const char *got = chosen(queries[_i].line);

	ck_assert_msg(strcmp(got, queries[_i].numbers) == 0, "%s: %s",
	    queries[_i].line, got);
}

static const struct {
	const char *line, *words;
} refusals[] = {
	{ "dump -Fbogus=1 x", "not one of thread, size_min, size_max, seqno_min, "
	    "seqno_max, time_min, time_max, ptr_min, ptr_max" },
	{ "dump -Fsizemin=3 x", "did you mean 'size_min'?" },
	{ "dump -Fcolour=3 x", "unknown filter 'colour': not one of thread" },
	{ "dump -Fsize_min x", "KEY=VALUE" },
	{ "dump -Fsize_min=many x", "'many' is not a number" },
	{ "dump -Fsize_min=0x x", "'0x' is not a number" },
	{ "dump -Sx x", "unknown sort key 'x'" },
	{ "dump -Snq x", "unknown sort key 'q'" },
	{ "history -Sn x", "-S is for dump and diff" },
	{ "dump -f %q x", "unknown conversion '%q'" },
	{ "dump -f %b x", "%b needs a level from 1 to 8" },
	{ "dump -f %w9 x", "%w needs a level" },
	{ "dump -f 5% x", "ends with a '%'" },
	{ "dump --filter age>3 x", "no field 'age'; -Ftime_min" },
	{ "dump --filter size>3&born>12:00 x", "no field 'time'; -Ftime_min" },
	{ "dump --filter level=2 x", "no field 'level'" },
	{ "dump --filter weight>1 x", "no field 'weight'" },
	{ "dump --filter !stack_end~depth x", "no field 'stack_end'" },
	{ "dump --filter touched>1m x", "no field 'touched'" },
	{ "dump --sort=rnod x", "no such field" },
	{ "dump --sort=blocks x", "no such field" },
	{ "dump -f %n --format=json x", "is for text" },
	{ "dump -Sn --sort=size x", "exclude each other" },
	{ "stats -Sn x", "takes no option --keys" },
	{ "list -Fthread=3 x", "takes no option --match" },
};

LOOP_TEST(mistakes_are_named, 0, BASE_NELEM(refusals))
{
	static char copy[256];
	char *argv[WORDS + 1], *word, *rest;
	int argc = 0, r;

	snprintf(copy, sizeof copy, "pagek %s", refusals[_i].line);
	for (word = strtok_r(copy, " ", &rest); word != NULL;
	    word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	options_fini(&opts);
	r = options_parse(&opts, argc, argv, why, sizeof why);
	ck_assert_int_eq(r, PAGEK_USAGE);
	ck_assert_msg(strstr(why, refusals[_i].words) != NULL, "%s: %s",
	    refusals[_i].line, why);
}

/* --- what is not collected -------------------------------------------------------- */

CASE("not collected", .teardown = stop);

static const struct {
	unsigned options;		/* that are */
	const char *line, *words;	/* NULL: it is printed */
} lacking[] = {
	{ ALL_OPTIONS, "dump -f %m%T%t%b1 x", NULL },
	{ MDD_OPT_TIMESTAMP, "dump -f %m x", "option ACTUAL_SIZE" },
	{ MDD_OPT_TIMESTAMP, "dump -f %o x", "%o: in mddout.0" },
	{ MDD_OPT_THREAD, "dump -f %T x", "option TIMESTAMP" },
	{ 0, "dump -f %t x", "option THREAD" },
	{ 0, "dump -f %h x", "option THREAD" },
	{ 0, "dump -f %N x", "PAGEK_DEBUGDATA=on,thread=on" },
	{ 0, "dump -f %b2 x", "has 1 levels of backtrace; BACKTRACE=2" },
	{ 0, "dump -f %f1 x", "%f1 needs the executable" },
	{ 0, "dump -f %l1 x", "%l1 needs the executable" },
	{ 0, "dump -Fthread=1 x", "-Fthread: in mddout.0 no threads were" },
	{ 0, "dump -ST x", "the sort key t: in mddout.0 no threads were" },
	{ MDD_OPT_THREAD, "dump -Ftime_max=1 x", "-Ftime_max: in mddout.0" },
	{ 0, "dump --filter size>1&used>1 x", "--filter used: in mddout.0" },
	{ MDD_OPT_THREAD, "dump --filter overhead<9 x", "option ACTUAL_SIZE" },
	{ MDD_OPT_ACTUAL_SIZE, "dump --filter thread=a x", "option THREAD" },
	{ MDD_OPT_ACTUAL_SIZE, "dump --filter !tid=1 x", "--filter tid: in" },
	{ MDD_OPT_THREAD, "dump --sort=used x", "--sort=used: in mddout.0" },
	{ MDD_OPT_THREAD, "dump --filter size>1&type=malloc|seq=2 x", NULL },
};

LOOP_TEST(the_option_is_named, 0, BASE_NELEM(lacking))
{
	struct format *f = NULL;
	struct query q;
	int status;

	rig = rig_new(4, false, lacking[_i].options, 1);
	block(0, 4);
	rig->block[0].alloc.thread = 0;
	next_dump();
	parse(lacking[_i].line);
	ck_assert_int_eq(query_parse(&q, &opts, why), 0);
	status = query_check(&q, &subject, why);
	if (status == PAGEK_OK && opts.events.format != NULL) {
		ck_assert_int_eq(format_new(&f, opts.events.format, why), 0);
		status = format_check(f, &subject, false, why);
		format_free(f);
	}
	ck_assert_int_eq(status, lacking[_i].words != NULL ? PAGEK_USAGE :
	    PAGEK_OK);
	ck_assert_msg(lacking[_i].words == NULL || strstr(why,
	    lacking[_i].words) != NULL, "%s: %s", lacking[_i].line, why);
}

/* --- formats -------------------------------------------------------------------------- */

static char printed[PRINTED];

static void
print(const char *text, bool ms)
{
	struct format_style style = { .ms = ms };
	struct format *f;
	FILE *out = fmemopen(printed, sizeof printed, "w");

	ck_assert_int_eq(format_new(&f, text, why), 0);
	for (size_t i = 0; i < events.n; i++)
		format_print(f, &events.row[i], NULL, &style, out);
	fclose(out);
	format_free(f);
}

static void
one_block(void)
{
	start();
	rig_thread(rig, "Idle Thread", 0x75670);
	rig_block(rig, &(struct dump_record){ .address = 0x97d78, .size = 256,
		.actual = 272, .alloc = { .seqno = 9, .time = 4129, .thread = 1,
		.function = MDD_NEW_ARRAY_NOTHROW, .stack = { 0x4da74 } } });
	rig->seqno = 10;
	next_dump();
	ck_assert_int_eq(events_of_dump(&events, &dumps[0]), 0);
}

CASE("format", .setup = one_block, .teardown = stop);

static const struct {
	const char *format, *printed;
} formats[] = {
	{ "", "\n" },
	{ "%%", "%\n" },
	{ "%p|%n|%m|%o|%s", "0x00097d78|256|272|16|9\n" },
	{ "%a|%T|%t|%h|%N|%b1", "new(nothrow)[]|4129|1|0x00075670|Idle Thread|"
	    "0x0004da74\n" },
	{ "a\\tb\\nc\\\"d\\\\n\\q", "a\tb\nc\"d\\n\\q\n" },
	{ "%n\n%f1", "256\n" },
	{ "%n\n x %f1 %b1\n", "256\n x \?\? 0x0004da74\n\n" },
	{ "%n\ntext", "256\ntext\n" },
	{ "%f1 %w1 \"%l1\"", "\?\? \?\? \"\"\n" },
	{ "%n%F", "256\n" },
};

LOOP_TEST(conversions_print_what_they_say, 0, BASE_NELEM(formats))
{
	print(formats[_i].format, false);
	ck_assert_str_eq(printed, formats[_i].printed);
}

TEST(times_in_milliseconds)
{
	print("%T", true);
	ck_assert_str_eq(printed, "41290\n");
}

TEST(the_usual_format_is_that_of_the_examples)
{
	char text[FORMAT_STANDARD];

	format_standard(text, &dumps[0], false, false);
	print(text, false);
	ck_assert_str_eq(printed,
	    "0x00097d78 : new(nothrow)[] 256 bytes, actual size 272 (+16), "
	    "seqno 9, time 4129\n"
	    "  By thread 1, 0x00075670 Idle Thread\n"
	    "  1) backtrace return address 0x0004da74\n");
	format_standard(text, &dumps[0], true, false);
	events.row[0].kind = EVENT_FREED;
	print(text, false);
	ck_assert_str_eq(printed,
	    "new(nothrow)[] 256 bytes: 0x00097d78 (freed) , actual size 272 "
	    "(+16), seqno 9, time 4129\n"
	    "  By thread 1, 0x00075670 Idle Thread\n"
	    "  1) backtrace return address 0x0004da74\n");
}

/* The string of the text, which its own examples do not have. */
TEST(the_string_of_the_text_prints_what_it_says)
{
	print("%p : %a %n bytes, %m (+%o), seqno %s, time %T\\n By thread %t, "
	    "%h %N\\n 1) backtrace %b1 function %f1\\n %w1\\n \\\"%l1\\\"",
	    false);
	ck_assert_str_eq(printed,
	    "0x00097d78 : new(nothrow)[] 256 bytes, 272 (+16), seqno 9, time "
	    "4129\n"
	    " By thread 1, 0x00075670 Idle Thread\n"
	    " 1) backtrace 0x0004da74 function ?\?\n");
}

/* What a stranger's file has for names does not control the terminal. */
TEST(names_are_safe)
{
	snprintf(dumps[0].thread[0].name, sizeof dumps[0].thread[0].name,
	    "a\033[2Jb");
	print("%N", false);
	ck_assert_str_eq(printed, "a\\x1B[2Jb\n");
}
