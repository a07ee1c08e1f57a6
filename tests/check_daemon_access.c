/*
 * The node that stands alone: which streams are for whom, what a page may do,
 * and how many targets a user may have.
 */
#include "../src/nodes/recorder/recorder.h"
#include "node_harness.h"

#define OWN 1000
#define OTHER 1001

static const struct {
	bool system;
	uid_t peer;
	bool member;
	uid_t stream;
	bool reads, controls;
} accesses[] = {
	/* A user's node is that user's and root's. */
	{ false, OWN, false, OWN, true, true },
	{ false, OWN, false, 0, true, true },
	{ false, 0, false, OWN, true, true },
	{ false, OTHER, false, OWN, false, false },
	{ false, OTHER, true, OWN, true, false },
	/* The system's: its own to each, all to root, all to read to the group. */
	{ true, OTHER, false, OTHER, true, true },
	{ true, OTHER, false, OWN, false, false },
	{ true, OTHER, false, 0, false, false },
	{ true, OTHER, true, OWN, true, false },
	{ true, OTHER, true, OTHER, true, true },
	{ true, 0, false, OTHER, true, true },
	/* Whom it runs as is nobody special. */
	{ true, OWN, false, OTHER, false, false },
};

CASE("access");

LOOP_TEST(streams_are_for_their_user_and_root_and_the_group, 0,
    BASE_NELEM(accesses))
{
	struct access a = { .system = accesses[_i].system, .owner = OWN,
		.group = 77 };
	struct peer p = { .uid = accesses[_i].peer,
		.member = accesses[_i].member };

	ck_assert_int_eq(access_reads(&a, &p, accesses[_i].stream),
	    accesses[_i].reads);
	ck_assert_int_eq(access_controls(&a, &p, accesses[_i].stream),
	    accesses[_i].controls);
}

/* As the kernel would say it of a process of that user. */
static struct conn *
become(uid_t uid, bool member)
{
	struct conn *c = TAILQ_FIRST(&node.serve->conns);

	node.access.system = true;
	c->peer.uid = uid;
	c->peer.member = member;
	return c;
}

static void
ask_of(struct page *p, uint32_t type, uint32_t index, const uint8_t *epoch,
    struct wire_msg *reply)
{
	struct wire_msg m = { .type = type };

	switch (type) {
	case WIRE_NAME:
		m.name.table = wire_text("DSTRM");
		m.name.index = index;
		break;
	case WIRE_READ:
		m.read.index = index;
		memcpy(m.read.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_SNAP:
		m.snap.index = index;
		m.snap.from_start = true;
		memcpy(m.snap.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_STAT:
		m.stat.index = index;
		break;
	case WIRE_SYM:
		m.sym.index = index;
		m.sym.kind = WIRE_SYM_THREAD;
		m.sym.n = 1;
		break;
	case WIRE_TYPES:
		m.types.index = index;
		break;
	case WIRE_SITE:
		m.site.index = index;
		m.site.n = 1;
		memcpy(m.site.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_FRAME:
		m.frame.index = index;
		m.frame.n = 1;
		memcpy(m.frame.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_WINDOW:
		m.window.index = index;
		memcpy(m.window.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_END:
		m.end.index = index;
		memcpy(m.end.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_ARM:
		m.arm.index = index;
		memcpy(m.arm.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_RECORD:
		m.record.index = index;
		m.record.action = WIRE_RECORD_BEGIN;
		memcpy(m.record.epoch, epoch, WIRE_EPOCH);
		break;
	}
	page_ask(p, &m, reply);
}

static const struct {
	uint32_t type;
	bool control;
} asked[] = {
	{ WIRE_NAME, false }, { WIRE_READ, false }, { WIRE_SNAP, false },
	{ WIRE_STAT, false }, { WIRE_SYM, false }, { WIRE_TYPES, false },
	{ WIRE_SITE, false }, { WIRE_FRAME, false }, { WIRE_WINDOW, false },
	{ WIRE_END, true }, { WIRE_ARM, true }, { WIRE_RECORD, false },
};

LOOP_TEST(of_anothers_stream_nothing_is_answered, 0, BASE_NELEM(asked))
{
	struct wire_msg r;
	struct keeper *k;
	struct page p;

	node_up(NULL);
	k = new_keeper("ALLOCLOG.target.1", 0);
	k->image.uid = OTHER;
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);

	become(OWN, false);
	ask_of(&p, asked[_i].type, k->index, node.dstrm.row[k->index].epoch, &r);
	expect_error(&r, WIRE_E_AUTH);

	/* A member of the group reads it, and no more. */
	become(OWN, true);
	ask_of(&p, asked[_i].type, k->index, node.dstrm.row[k->index].epoch, &r);
	if (asked[_i].control)
		expect_error(&r, WIRE_E_AUTH);
	else if (asked[_i].type == WIRE_RECORD)
		expect_error(&r, WIRE_E_NAME);	/* without a file */
	else
		ck_assert_uint_ne(r.type, WIRE_ERR);
	ck_assert(keeper_is_live(k));
	page_close(&p);
	node_down();
}

/* The system's node may write where the page may not. */
TEST(a_recording_fills_no_folder_of_another_user)
{
	char folder[] = "/tmp/check_access.XXXXXX";
	const struct file_offer offer = { .token = "token" };
	struct wire_msg r, m = { .type = WIRE_RECORD, .record = {
		.action = WIRE_RECORD_BEGIN, .ring = 1 << 20, .token = {
		.p = offer.token, .len = FILE_OFFER_TOKEN } } };
	const uid_t users[] = { getuid() + 1, getuid() };
	struct keeper *k;
	struct page p;
	int fd;

	node_up(NULL);
	k = new_keeper("ALLOCLOG.target.1", 0);
	memcpy(m.record.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	for (unsigned i = 0; i < BASE_NELEM(users); i++) {
		become(users[i], false);
		k->image.uid = users[i];
		recorder_offer(&node, dup(fd), users[i], &offer);
		page_ask(&p, &m, &r);
		if (i == 0)
			expect_error(&r, WIRE_E_INTERNAL);
		else
			ck_assert_uint_eq(r.type, WIRE_RECORDED);
		ck_assert_int_eq(base_folder_is_empty(fd), i == 0);
	}
	page_close(&p);
	node_down();
	ck_assert_int_eq(unlinkat(fd, "00000001.pkc", 0), 0);
	close(fd);
	rmdir(folder);
}

/* The second one would take it for one that was killed, and cut it. */
TEST(a_file_has_one_recording_at_a_time)
{
	const struct file_offer offer = { .token = "token" };
	struct wire_msg r, m = { .type = WIRE_RECORD, .record = {
		.action = WIRE_RECORD_BEGIN, .token = { .p = offer.token,
		.len = FILE_OFFER_TOKEN } } };
	struct keeper *k;
	struct page p, q;
	FILE *f = tmpfile();

	ck_assert_ptr_nonnull(f);
	node_up(NULL);
	k = new_keeper("ALLOCLOG.target.1", 0);
	k->image.uid = getuid();
	memcpy(m.record.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	recorder_offer(&node, dup(fileno(f)), getuid(), &offer);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_RECORDED);
	page_open(&q);
	page_greet(&q, WIRE_ROLE_READ);
	recorder_offer(&node, dup(fileno(f)), getuid(), &offer);
	page_ask(&q, &m, &r);
	expect_error(&r, WIRE_E_INTERNAL);
	ck_assert_ptr_nonnull(memmem(r.err.text.s, r.err.text.len,
	    "another recording", 17));
	page_close(&q);
	page_close(&p);
	node_down();
	fclose(f);
}

TEST(a_page_is_granted_no_more_than_the_nodes_roles)
{
	struct node_opts o = { .fd = -1, .roles = WIRE_ROLE_READ };
	struct wire_msg r, m = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"), .roles = 7 } };
	struct keeper *k;
	struct page p;

	node_up(&o);
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_open(&p);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.welcome.roles, WIRE_ROLE_READ);
	ask_of(&p, WIRE_END, k->index, node.dstrm.row[k->index].epoch, &r);
	expect_error(&r, WIRE_E_AUTH);
	ck_assert_uint_gt(r.err.text.len, 10);
	ck_assert(keeper_is_live(k));
	page_close(&p);
	node_down();
}

static void
page_limit(struct page *p, uint32_t roles)
{
	struct wire_msg m = { .type = WIRE_LIMIT, .limit = { .roles = roles } };

	page_send(p, &m);
}

TEST(a_limit_before_the_hello_cannot_be_undone)
{
	struct wire_msg r, m = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"), .roles = 7 } };
	struct wire_msg again = { .type = WIRE_LIMIT,
		.limit = { .roles = 7 } };
	struct keeper *k;
	struct page p;

	node_up(NULL);
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_open(&p);
	page_limit(&p, WIRE_ROLE_READ);
	/* From here on it is whoever is behind the bridge that speaks. */
	page_limit(&p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_WELCOME);
	ck_assert_uint_eq(r.welcome.roles, WIRE_ROLE_READ);
	ask_of(&p, WIRE_END, k->index, node.dstrm.row[k->index].epoch, &r);
	expect_error(&r, WIRE_E_AUTH);
	ck_assert(keeper_is_live(k));
	page_ask(&p, &again, &r);
	expect_error(&r, WIRE_E_FRAME);
	page_close(&p);
	node_down();
}

TEST(a_limit_does_not_count_as_a_hello)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .max = 1 } };
	struct page p;

	node_up(NULL);
	page_open(&p);
	page_limit(&p, WIRE_ROLE_READ);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_FRAME);
	page_close(&p);
	node_down();
}

static unsigned
used(struct quota *q, pid_t beside, uid_t uid)
{
	unsigned all, own;

	quota_beside(q, beside, uid, &all, &own);
	return own;
}

TEST(targets_are_counted_by_user)
{
	static struct quota q;
	unsigned all, own;

	quota_init(&q);
	ck_assert_uint_eq(used(&q, 9, OWN), 0);
	ck_assert(quota_add(&q, 11, OWN));
	ck_assert(quota_add(&q, 12, OTHER));
	ck_assert(quota_add(&q, 13, OWN));
	ck_assert_uint_eq(used(&q, 9, OWN), 2);
	quota_remove(&q, 11);
	quota_remove(&q, 13);
	/* The place of who has gone is another's. */
	ck_assert(quota_add(&q, 14, 5));
	ck_assert_uint_eq(used(&q, 9, OWN), 0);
	quota_beside(&q, 9, OTHER, &all, &own);
	ck_assert_uint_eq(all, 2);
	ck_assert_uint_eq(own, 1);
	quota_fini(&q);
}

TEST(a_process_that_calls_exec_is_one_target)
{
	static struct quota q;

	quota_init(&q);
	ck_assert(quota_add(&q, 11, OWN));
	/* Asking for its next image it does not stand in its own way ... */
	ck_assert_uint_eq(used(&q, 11, OWN), 0);
	ck_assert(quota_add(&q, 11, OTHER));
	/* ... and the one that came last says whose it is. */
	ck_assert_uint_eq(used(&q, 9, OWN), 0);
	ck_assert_uint_eq(used(&q, 9, OTHER), 1);
	quota_remove(&q, 11);
	ck_assert_uint_eq(used(&q, 9, OTHER), 1);
	quota_remove(&q, 11);
	ck_assert_uint_eq(q.n, 0);
	quota_fini(&q);
}

TEST(targets_beyond_the_table_are_not_counted)
{
	static struct quota q;

	quota_init(&q);
	for (int i = 1; i <= QUOTA_TARGETS; i++)
		ck_assert(quota_add(&q, i, OWN));
	ck_assert(!quota_add(&q, QUOTA_TARGETS + 1, OWN));
	ck_assert(quota_add(&q, 1, OWN));
	ck_assert_uint_eq(used(&q, 0, OWN), QUOTA_TARGETS);
	quota_fini(&q);
}
