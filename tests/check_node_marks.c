/*
 * Named marks of a stream: names, room, those of a program, and what pages are
 * told of them.
 */
#include "node_harness.h"

static struct keeper *k;

static void
setup(void)
{
	node_up(NULL);
	k = new_keeper("ALLOCLOG", 0);
}

static int
mark(const char *name)
{
	struct mark_effect effect;

	return keeper_set_mark(k, name, strlen(name), "anna", false, &effect);
}

/* As alloclog_mark() sends it. */
static void
mark_by_target(const char *text)
{
	struct rec rec = { { rec_w0(0, REC_FLAGS(REC_CONTROL, 0),
	    REC_CTL_MARK), rec_w1(0, 1) } };

	memcpy(&rec.w[2], text, strnlen(text, 8));
	keeper_control(k, &rec);
}

static const struct wire_named_mark *
named(const char *name)
{
	for (uint32_t i = 0; k->marks != NULL && i < k->marks->n; i++)
		if (strcmp(k->marks->at[i].name, name) == 0)
			return &k->marks->at[i];
	return NULL;
}

CASE("keeper", .setup = setup, .teardown = node_down);

TEST(a_mark_has_what_was_listed_and_the_number_of_the_last_record)
{
	const struct wire_named_mark *m;

	take(k, allocation(0x1000, 16));
	take(k, allocation(0x2000, 32));
	ck_assert_int_eq(mark("deploy-42"), 0);
	take(k, freeing(0x1000));
	m = named("deploy-42");
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->seq, 2);
	ck_assert_uint_eq(m->blocks, 2);
	ck_assert_uint_eq(m->bytes, 48);
	ck_assert_uint_eq(m->est_blocks, 2);
	ck_assert_str_eq(m->who, "anna");
	ck_assert(!m->by_target);
}

static const struct {
	const char *name;
	int err;
} names[] = {
	{ "a", 0 },
	{ "after the deploy", 0 },
	{ "12345678901234567890123456789012", 0 },
	{ "123456789012345678901234567890123", -EINVAL },
	/* 32 characters of three bytes. */
	{ "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
	    "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
	    "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
	    "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac", 0 },
	{ "", -EINVAL },
	{ " a", -EINVAL },
	{ "a ", -EINVAL },
	{ "a\nb", -EINVAL },
	{ "a\033[2Jb", -EINVAL },
	{ "a\xff", -EINVAL },
	{ "a\u202eb", -EINVAL },
};

LOOP_TEST(a_name_is_printable_and_short, 0, (int)BASE_NELEM(names))
{
	ck_assert_int_eq(mark(names[_i].name), names[_i].err);
	ck_assert_int_eq(named(names[_i].name) != NULL, names[_i].err == 0);
}

TEST(a_mark_of_the_same_name_moves_and_says_so)
{
	struct mark_effect effect;

	ck_assert_int_eq(mark("a"), 0);
	ck_assert_int_eq(mark("b"), 0);
	take(k, allocation(0x1000, 16));
	ck_assert_int_eq(keeper_set_mark(k, "a", 1, "bert", false, &effect), 0);
	ck_assert(effect.moved);
	ck_assert_str_eq(effect.dropped, "");
	ck_assert_uint_eq(k->marks->n, 2);
	ck_assert_str_eq(k->marks->at[1].name, "a");
	ck_assert_str_eq(k->marks->at[1].who, "bert");
	ck_assert_uint_eq(named("a")->seq, 1);
}

TEST(the_oldest_makes_room_and_is_named)
{
	struct mark_effect effect;
	char name[16];

	for (unsigned i = 0; i < WIRE_MARKS_MAX; i++) {
		snprintf(name, sizeof name, "m%u", i);
		ck_assert_int_eq(keeper_set_mark(k, name, strlen(name), "",
		    false, &effect), 0);
		ck_assert_str_eq(effect.dropped, "");
	}
	ck_assert_int_eq(keeper_set_mark(k, "one more", 8, "", false,
	    &effect), 0);
	ck_assert_str_eq(effect.dropped, "m0");
	ck_assert_uint_eq(k->marks->n, WIRE_MARKS_MAX);
	/* One that moves needs no room. */
	ck_assert_int_eq(keeper_set_mark(k, "m1", 2, "", false, &effect), 0);
	ck_assert(effect.moved);
	ck_assert_str_eq(effect.dropped, "");
}

/* --- marks of the program ---------------------------------------------------- */

TEST(a_mark_of_the_api_is_one_of_them)
{
	snprintf(k->image.comm, sizeof k->image.comm, "acqd");
	take(k, allocation(0x1000, 16));
	mark_by_target("phase 2!");
	mark_by_target("");
	ck_assert_uint_eq(k->numbers.marks, 2);
	ck_assert_uint_eq(k->marks->n, 1);
	ck_assert_ptr_nonnull(named("phase 2!"));
	ck_assert_uint_eq(named("phase 2!")->seq, 1);
	ck_assert_str_eq(named("phase 2!")->who, "acqd");
	ck_assert(named("phase 2!")->by_target);
}

/* Outside data. */
TEST(control_characters_of_a_program_are_not_kept)
{
	mark_by_target("\033[2J");
	ck_assert_uint_eq(k->marks->n, 1);
	ck_assert_str_eq(k->marks->at[0].name, "\\x1B[2J");
}

TEST(marks_of_a_program_in_a_loop_leave_those_of_people)
{
	char text[16];

	ck_assert_int_eq(mark("deploy-42"), 0);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "r%u", i);
		mark_by_target(text);
	}
	ck_assert_uint_eq(k->marks->n, 1 + MARKS_OF_TARGET);
	ck_assert_ptr_nonnull(named("deploy-42"));
	ck_assert_ptr_nonnull(named("r999"));
	ck_assert_ptr_null(named("r900"));
}

/* --- their end ---------------------------------------------------------------- */

TEST(a_list_that_begins_again_has_none)
{
	ck_assert_int_eq(mark("a"), 0);
	ck_assert_int_eq(keeper_restart_list(k), 0);
	ck_assert_ptr_null(k->marks);
}

TEST(without_a_list_nothing_can_be_marked)
{
	k->arming.mode = ARMING_DORMANT;
	ck_assert_int_eq(mark("a"), -ENODATA);
	k->arming.mode = ARMING_ALWAYS;
	keeper_drop(k);
	ck_assert_int_eq(mark("a"), -ENODATA);
}

/* --- pages --------------------------------------------------------------------- */

static struct wire_msg
request(enum wire_type type, const char *name)
{
	struct wire_msg m = { .type = type };

	if (type == WIRE_MARK) {
		m.mark.name = wire_text(name);
		memcpy(m.mark.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	} else {
		memcpy(m.marks.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	}
	return m;
}

CASE("pages", .setup = setup, .teardown = node_down);

TEST(another_page_lists_a_mark_after_the_first_has_left)
{
	struct wire_msg r, m = request(WIRE_MARK, "deploy-42");
	struct wire_named_mark mark;
	struct page p;

	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_LIST_PUT);
	take(k, allocation(0x1000, 16));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_MARKED);
	ck_assert(!r.marked.moved);
	page_ask(&p, &m, &r);
	ck_assert(r.marked.moved);
	page_close(&p);

	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	m = request(WIRE_MARKS, NULL);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_MARKED);
	ck_assert_uint_eq(r.marked.marks.len, WIRE_MARK_SIZE);
	wire_named_mark_get(&mark, r.marked.marks.p);
	ck_assert_str_eq(mark.name, "deploy-42");
	ck_assert_uint_eq(mark.seq, 1);
	ck_assert_uint_gt(strlen(mark.who), 0);
	page_close(&p);
}

TEST(a_page_that_may_only_read_sets_none)
{
	struct wire_msg r, m = request(WIRE_MARK, "a");
	uint64_t refused = node.serve->listings.refused;
	struct page p;

	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_AUTH);
	ck_assert_ptr_null(k->marks);
	/* It was no listing. */
	ck_assert_uint_eq(node.serve->listings.refused, refused);
	page_close(&p);
}

TEST(who_may_not_read_a_stream_sees_and_sets_no_marks)
{
	const enum wire_type types[] = { WIRE_MARKS, WIRE_MARK };
	struct wire_msg r, m;
	struct page p;

	ck_assert_int_eq(mark("secret"), 0);
	node.access.system = true;
	k->image.uid = 12345;
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_LIST_PUT);
	TAILQ_FIRST(&node.serve->conns)->peer.uid = 54321;
	for (size_t i = 0; i < BASE_NELEM(types); i++) {
		m = request(types[i], "a");
		page_ask(&p, &m, &r);
		expect_error(&r, WIRE_E_AUTH);
	}
	ck_assert_uint_eq(k->marks->n, 1);
	page_close(&p);
}

TEST(a_bad_name_is_refused_with_the_rule)
{
	struct wire_msg r, m = request(WIRE_MARK, "a\tb");
	struct page p;

	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_LIST_PUT);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	page_close(&p);
}
