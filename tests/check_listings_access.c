/*
 * Owners of stored listings, and who may see them.
 */
#include "../src/nodes/spool/file.h"
#include "listing_rig.h"

/* --- who sees what -------------------------------------------------------- */

static void
up_system(void)
{
	up_with((struct node_opts){ .daemon = true, .system = true });
}

static const struct {
	uid_t uid;
	bool member;
	unsigned sees;
} eyes[] = {
	{ 1000, false, 2 },
	{ 1001, false, 1 },
	{ 1002, false, 0 },
	{ 1002, true, 3 },
	{ 0, false, 3 },
};

/* The connection that came last is of that user from now on. */
static void
be(uid_t uid, bool member)
{
	struct conn *c;

	TAILQ_FOREACH(c, &node.serve->conns, link)
		if (TAILQ_NEXT(c, link) == NULL)
			c->peer = (struct peer){ .uid = uid,
				.member = member };
}

static void
put_as(uid_t uid, char name[64])
{
	struct page p;

	page_open(&p);
	be(uid, false);
	page_greet(&p, ROLES);
	put_taken(&p, piece(100, 1000), name);
	page_close(&p);
}

CASE("who sees what", .setup = up_system, .teardown = down);

LOOP_TEST(at_a_system_node_each_sees_his_own_and_some_see_all, 0,
    (int)BASE_NELEM(eyes))
{
	struct wire_msg reply, got, get = { .type = WIRE_LGET },
		m = { .type = WIRE_LISTINGS };
	char after[64] = "", of_1000[64];
	unsigned n = 0;
	struct page p;

	put_as(1000, of_1000);
	put_as(1001, NULL);
	put_as(1000, NULL);
	page_open(&p);
	be(eyes[_i].uid, eyes[_i].member);
	page_greet(&p, WIRE_ROLE_READ);
	for (;; n++) {
		m.listings.after = wire_text(after);
		page_ask(&p, &m, &reply);
		ck_assert_uint_eq(reply.type, WIRE_LISTED);
		if (reply.listed.name.len == 0)
			break;
		text_of(after, reply.listed.name);
	}
	ck_assert_uint_eq(n, eyes[_i].sees);
	get.lget = (struct wire_lget){ .name = wire_text(of_1000), .part = 1,
		.max = 10 };
	page_ask(&p, &get, &got);
	/* It is not whole: who may see it is told that, others nothing. */
	ck_assert_uint_eq(got.type, WIRE_ERR);
	text_of(after, got.err.text);
	if (eyes[_i].sees > 1)
		ck_assert_ptr_nonnull(strstr(after, "this part"));
	else
		ck_assert_str_eq(after, "no such listing");
	page_close(&p);
}

/* --- who has sent it ------------------------------------------------------ */

static const struct {
	uint16_t limit, hello;		/* what bridge and page say */
	bool away;
	const char *from;
	const char *has, *has_not;
} origins[] = {
	{ 0, 0, false, "", NULL, "0A12" },
	{ 0, 0x0a12, false, "", NULL, "0A12" },
	{ 0, 0x0a12, true, "192.0.2.7", " from 192.0.2.7", "0A12, " },
	{ 0x0a12, 0, true, "192.0.2.7", "0A12, ", "says" },
};

CASE("who has sent it", .setup = up, .teardown = down);

LOOP_TEST(who_has_sent_it_is_not_what_he_claims, 0, (int)BASE_NELEM(origins))
{
	struct wire_msg limit = { .type = WIRE_LIMIT, .limit = {
		.roles = ROLES, .node = origins[_i].limit,
		.away = origins[_i].away,
		.origin = wire_text(origins[_i].from) } };
	struct wire_msg hello = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"), .roles = ROLES,
		.node = origins[_i].hello } };
	struct wire_lput l = piece(100, 1000);
	struct wire_msg reply;
	char origin[300];
	struct page p;

	page_open(&p);
	if (origins[_i].limit != 0 || origins[_i].away)
		page_send(&p, &limit);
	page_ask(&p, &hello, &reply);
	ck_assert_uint_eq(reply.type, WIRE_WELCOME);
	l.title = wire_text("from: 0A12, root");
	put_taken(&p, l, NULL);
	page_ask(&p, &(struct wire_msg){ .type = WIRE_LISTINGS }, &reply);
	snprintf(origin, sizeof origin, "%.*s", (int)reply.listed.origin.len,
	    reply.listed.origin.s);
	ck_assert_str_ne(origin, "");
	if (origins[_i].has != NULL)
		ck_assert_ptr_nonnull(strstr(origin, origins[_i].has));
	ck_assert_ptr_null(strstr(origin, origins[_i].has_not));
	page_close(&p);
}

/* As a spool has it whose node knows much of its pages. */
TEST(an_origin_is_shown_in_its_whole_length)
{
	struct spool_head h = { .name = "20261121-163501-0007", .part = 1,
		.parts = 1 };
	char head[SPOOL_HEAD_MAX], path[128];
	static struct client c;
	ssize_t len;
	int fd;

	memset(h.origin, 'o', sizeof h.origin - 1);
	len = (ssize_t)spool_head_make(head, &h);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	snprintf(path, sizeof path, "%s/%s.1", folder, h.name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, head, (size_t)len), len);
	close(fd);
	client_open(&c);
	census(&c);
	ck_assert_uint_eq(c.n, 1);
	ck_assert_str_eq(c.list[0].origin, h.origin);
	client_close(&c);
}
