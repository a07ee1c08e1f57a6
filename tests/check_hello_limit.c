/*
 * A page's first words: where it may say that it is, and what the node makes
 * of who it is.
 */
#include <pwd.h>

#include "../src/nodes/bridge/bridge.h"
#include "node_harness.h"
#include "table_rig.h"

static void
setup(void)
{
	table_up("0590 linac-a local\n0509 linac-b unix:/run/b\n"
	    "0A12 gw-2 ssh:anna@gw-2\n");
	node_up(NULL);
	ck_assert_int_eq(friendly_load(&node.friendly, !node.opts.system, NULL,
	    NULL), 0);
	node.number = 0x590;
	strcpy(node.name, "linac-a");
}

static void
teardown(void)
{
	node_down();
	table_down();
}

/* --- what is said, and what comes of it ------------------------------------- */

struct says {
	bool limit;			/* a bridge's */
	uint16_t bound;
	bool away;
	const char *origin;
};

struct case_of {
	struct says first, second;	/* LIMITs */
	uint16_t hello;
	const char *why;		/* words of the refusal; NULL: it is welcome */
	uint16_t from;
	const char *who;		/* %s: the user */
};

#define BRIDGE(number) { true, number, true, "192.0.2.7" }
#define LOOP(number) { true, number, true, BRIDGE_LOOP }
#define NOBODY { false, 0, false, NULL }

static const struct case_of cases[] = {
	/* Of this machine. */
	{ NOBODY, NOBODY, 0, NULL, 0, "%s" },
	{ NOBODY, NOBODY, 0x590, NULL, 0x590, "0590 linac-a, %s" },
	{ NOBODY, NOBODY, 0x509, NULL, 0x509, "%s, says 0509 linac-b" },
	{ NOBODY, NOBODY, 0x1234, NULL, 0x1234, "%s" },
	{ NOBODY, NOBODY, 0xa12, "cannot be node 0A12's: it is at "
	    "ssh:anna@gw-2, and the page came from this machine", 0, NULL },
	/* Of another one. */
	{ BRIDGE(0), NOBODY, 0, NULL, 0, "%s from 192.0.2.7" },
	{ BRIDGE(0), NOBODY, 0xa12, NULL, 0xa12,
	    "%s from 192.0.2.7, says 0A12 gw-2" },
	{ BRIDGE(0), NOBODY, 0x1234, NULL, 0x1234, "%s from 192.0.2.7" },
	{ BRIDGE(0), NOBODY, 0x590, "cannot be node 0590's: it is at local, "
	    "and the page came from 192.0.2.7", 0, NULL },
	{ BRIDGE(0), NOBODY, 0x509, "cannot be node 0509's: it is at "
	    "unix:/run/b, and the page came from 192.0.2.7", 0, NULL },
	{ { true, 0, true, NULL }, NOBODY, 0x590, "cannot be node 0590's: it "
	    "is at local, and the page came from another machine", 0, NULL },
	{ { true, 0, true, NULL }, NOBODY, 0, NULL, 0,
	    "%s from another machine" },
	/* By ssh from this very machine. */
	{ LOOP(0), NOBODY, 0x590, NULL, 0x590,
	    "%s from localhost, says 0590 linac-a" },
	{ LOOP(0), NOBODY, 0x509, NULL, 0x509,
	    "%s from localhost, says 0509 linac-b" },
	{ LOOP(0), NOBODY, 0xa12, NULL, 0xa12,
	    "%s from localhost, says 0A12 gw-2" },
	/* By a key that is bound to a number. */
	{ BRIDGE(0xa12), NOBODY, 0, NULL, 0xa12,
	    "0A12 gw-2, %s from 192.0.2.7" },
	{ BRIDGE(0xa12), NOBODY, 0xa12, NULL, 0xa12,
	    "0A12 gw-2, %s from 192.0.2.7" },
	{ BRIDGE(0x1234), NOBODY, 0x1234, NULL, 0x1234,
	    "1234, %s from 192.0.2.7" },
	{ BRIDGE(0xa12), NOBODY, 0x1234, "this connection is bound to node "
	    "0A12, but the page says it is on 1234", 0, NULL },
	{ BRIDGE(0x509), NOBODY, 0, "cannot be node 0509's: it is at "
	    "unix:/run/b", 0, NULL },
	/* A page that plays the bridge behind the bridge. */
	{ BRIDGE(0xa12), { true, 0x1234, true, "198.51.100.1" }, 0x1234,
	    "this connection is bound to node 0A12, not 1234", 0, NULL },
	{ BRIDGE(0xa12), { true, 0, false, "198.51.100.1" }, 0, NULL, 0xa12,
	    "0A12 gw-2, %s from 192.0.2.7" },
	{ BRIDGE(0), { true, 0xa12, false, NULL }, 0, NULL, 0xa12,
	    "%s from 192.0.2.7, says 0A12 gw-2" },
	{ BRIDGE(0), { true, 0x590, false, BRIDGE_LOOP }, 0,
	    "cannot be node 0590's: it is at local", 0, NULL },
	{ { true, 0, true, NULL }, { true, 0, true, BRIDGE_LOOP }, 0x590,
	    "cannot be node 0590's", 0, NULL },
	/* A limit of roles alone says nothing of where. */
	{ { true, 0, false, NULL }, NOBODY, 0x590, NULL, 0x590,
	    "0590 linac-a, %s" },
};

static void
send_limit(struct page *p, const struct says *s)
{
	struct wire_msg m = { .type = WIRE_LIMIT, .limit = {
		.roles = UINT32_MAX, .node = s->bound, .away = s->away,
		.origin = wire_text(s->origin) } };

	if (s->limit)
		page_send(p, &m);
}

/* HELLO's answer; the caller ends it. */
static void
hello(struct page *p, uint16_t number, struct wire_msg *reply)
{
	struct wire_msg m = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"),
		.roles = WIRE_ROLE_READ, .node = number } };

	page_send(p, &m);
	ck_assert(page_receive(p, reply));
}

static void
expect_refusal(struct page *p, struct wire_msg *r, const char *why)
{
	struct wire_msg more;
	char text[WIRE_TEXT_MAX + 1] = "";

	expect_error(r, WIRE_E_AUTH);
	memcpy(text, r->err.text.s, r->err.text.len);
	ck_assert_msg(strstr(text, why) != NULL, "said '%s'", text);
	/* A sentence that was cut off is none. */
	ck_assert_uint_lt(r->err.text.len, WIRE_TEXT_MAX);
	ck_assert(!page_receive(p, &more));
	ck_assert(p->closed);
}

CASE("numbers", .setup = setup, .teardown = teardown);

LOOP_TEST(number_is_believed_where_it_can_be, 0, BASE_NELEM(cases))
{
	const struct case_of *t = &cases[_i];
	const struct passwd *pw = getpwuid(geteuid());
	char out[SERVE_ORIGIN_MAX], want[SERVE_ORIGIN_MAX];
	const struct conn *c;
	const char *user;
	struct wire_msg r;
	struct page p;

	page_open(&p);
	send_limit(&p, &t->first);
	send_limit(&p, &t->second);
	hello(&p, t->hello, &r);
	if (t->why != NULL) {
		expect_refusal(&p, &r, t->why);
		ck_assert_ptr_null(TAILQ_FIRST(&node.serve->conns));
	} else {
		ck_assert_uint_eq(r.type, WIRE_WELCOME);
		ck_assert_uint_eq(r.welcome.roles, WIRE_ROLE_READ);
		c = TAILQ_FIRST(&node.serve->conns);
		ck_assert_uint_eq(c->page.from, t->from);
		ck_assert_int_eq(c->page.away, t->first.away);
		ck_assert_ptr_nonnull(pw);
		conn_origin(c, out, sizeof out);
		user = strstr(t->who, "%s");
		ck_assert_ptr_nonnull(user);
		snprintf(want, sizeof want, "%.*s%s%s", (int)(user - t->who),
		    t->who, pw->pw_name, user + 2);
		ck_assert_str_eq(out, want);
	}
	page_close(&p);
}

TEST(page_of_this_machine_has_the_number_that_the_node_has)
{
	struct wire_msg r;
	struct page p;

	/* The table was written after the node began. */
	node.number = 1;
	page_open(&p);
	hello(&p, 0x590, &r);
	ck_assert_uint_eq(r.type, WIRE_WELCOME);
	ck_assert_uint_eq(TAILQ_FIRST(&node.serve->conns)->page.from, 1);
	page_close(&p);
}

TEST(origin_is_safe_text)
{
	static const struct says s = { true, 0, true, "10.0.0.1\033[2J\nx" };
	char out[SERVE_ORIGIN_MAX];
	struct wire_msg r;
	struct page p;

	page_open(&p);
	send_limit(&p, &s);
	hello(&p, 0, &r);
	ck_assert_uint_eq(r.type, WIRE_WELCOME);
	conn_origin(TAILQ_FIRST(&node.serve->conns), out, sizeof out);
	ck_assert_ptr_null(strpbrk(out, "\033\n"));
	ck_assert_ptr_nonnull(strstr(out, "10.0.0.1"));
	page_close(&p);
}

TEST(limit_behind_hello_is_no_request)
{
	static const struct says s = BRIDGE(0x1234);
	struct wire_msg r;
	struct page p;

	page_open(&p);
	hello(&p, 0, &r);
	send_limit(&p, &s);
	ck_assert(page_receive(&p, &r));
	expect_error(&r, WIRE_E_FRAME);
	page_close(&p);
}

/* --- what sshd says --------------------------------------------------------- */

static const struct {
	const char *connection, *client, *origin;
} origins[] = {
	{ "192.0.2.7 51234 192.0.2.1 22", "192.0.2.7 51234 22", "192.0.2.7" },
	{ "2001:db8::7 51234 2001:db8::1 22", NULL, "2001:db8::7" },
	{ "fe80::1%eth0 51234 fe80::2%eth0 22", NULL, "fe80::1%eth0" },
	{ "127.0.0.1 51234 127.0.0.1 22", NULL, BRIDGE_LOOP },
	{ "192.0.2.1 51234 192.0.2.1 22", NULL, BRIDGE_LOOP },
	{ "::1 51234 ::1 22", NULL, BRIDGE_LOOP },
	/* One that only begins like the other. */
	{ "192.0.2.1 51234 192.0.2.11 22", NULL, "192.0.2.1" },
	{ "192.0.2.11 51234 192.0.2.1 22", NULL, "192.0.2.11" },
	{ NULL, "192.0.2.7 51234 22", "192.0.2.7" },
	{ "UNKNOWN 65535 UNKNOWN 65535", NULL, "" },
	{ "", "192.0.2.7 51234 22", "" },
	{ "192.0.2.7", NULL, "192.0.2.7" },
	{ "127.0.0.1 51234 ", NULL, "127.0.0.1" },
	{ " ", NULL, "" },
	{ NULL, NULL, "" },
	{ "1.1111111111111111111111111111111111111111111111111111111111111111"
	    "1111111111111111 1 2.2 22", NULL, "" },
};

CASE("sshd");

LOOP_TEST(origin_is_what_sshd_says, 0, BASE_NELEM(origins))
{
	char out[72] = "x";

	bridge_origin(origins[_i].connection, origins[_i].client, out,
	    sizeof out);
	ck_assert_str_eq(out, origins[_i].origin);
}
