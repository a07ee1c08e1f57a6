/*
 * The page's half of listings, and a node that answers what none of ours does,
 * or that is lost: it ends, once and with a sentence.
 */
#include <sys/mman.h>

#include "../src/base/base.h"
#include "peer.h"

#define NAME "20261121-163501-0007"
#define SIZE 5000		/* of what is sent: two pieces */
#define LONG 100000		/* of what is fetched: two as well */

static struct peer peer;
static struct nodes_listing *listing;
static int fd, err;
static char words[512];
static unsigned ends, entries;

static void
begin(void)
{
	peer_open(&peer);
	peer_serve(&peer);
	fd = memfd_create("listing", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
}

static void
end(void)
{
	nodes_listing_close(listing);
	peer_close(&peer);
	close(fd);
}

static void
on_done(void *arg, int e, const char *why)
{
	(void)arg;
	ends++;
	err = e;
	snprintf(words, sizeof words, "%s", why);
}

static void
on_stored(void *arg, const struct nodes_stored *s, int e, const char *why)
{
	if (s != NULL)
		entries++;
	else
		on_done(arg, e, why);
}

/* The oldest question is answered so. */
static void
answer(struct wire_msg m)
{
	struct wire_msg q;

	peer_turn(&peer);
	q = peer_take(&peer, 0);
	m.id = q.id;
	peer_send(&peer, &m);
	peer_turn(&peer);
}

static void
assert_ended(int want)
{
	ck_assert_uint_eq(ends, 1);
	ck_assert_int_eq(err, want);
	ck_assert_str_ne(words, "");
}

static void
begin_sending(void)
{
	ck_assert_int_eq(nodes_listing_send(&listing, peer.link,
	    &(struct nodes_listing_opts){ .title = "t", .fd = fd,
	    .size = SIZE }, on_done, NULL), 0);
}

static void
begin_fetching(void)
{
	ck_assert_int_eq(nodes_listing_get(&listing, peer.link, NAME, fd,
	    on_done, NULL), 0);
}

static struct wire_msg
lack(const char *name, unsigned part, uint32_t stored)
{
	return (struct wire_msg){ .type = WIRE_LACK, .lack = {
		.name = wire_text(name), .part = part, .stored = stored } };
}

static struct wire_msg
listed(const char *name, unsigned parts, bool whole)
{
	return (struct wire_msg){ .type = WIRE_LISTED, .listed = {
		.name = wire_text(name), .parts = parts, .whole = whole } };
}

static struct wire_msg
lgot(uint32_t at, uint32_t size, size_t len)
{
	static uint8_t bytes[WIRE_LISTING_BYTES];

	return (struct wire_msg){ .type = WIRE_LGOT, .lgot = { .at = at,
		.size = size, .bytes = { bytes, len } } };
}

/* --- one that is sent ----------------------------------------------------- */

CASE("sent", .setup = begin, .teardown = end);

TEST(what_is_acknowledged_in_order_is_sent)
{
	begin_sending();
	answer(lack(NAME, 1, 2048));
	ck_assert_uint_eq(nodes_listing_done(listing), 2048);
	ck_assert_uint_eq(ends, 0);
	answer(lack(NAME, 1, SIZE));
	ck_assert_uint_eq(ends, 1);
	ck_assert_int_eq(err, 0);
	ck_assert_str_eq(words, NAME);
}

static const struct {
	const char *name;
	unsigned part;
	uint32_t stored;
	bool later;		/* the first piece was acknowledged well */
} lacks[] = {
	{ "", 1, 2048, false },
	{ "a\033[2Jb", 1, 2048, false },
	{ NAME, 0, 2048, false },
	{ NAME, 1, SIZE + 1, false },
	{ NAME, 64, 0, false },
	{ "20261121-163501-0008", 1, SIZE, true },
	{ NAME, 1, 2047, true },
	{ NAME, 2, 0, true },
};

LOOP_TEST(what_cannot_have_been_stored_ends_it, 0, (int)BASE_NELEM(lacks))
{
	begin_sending();
	if (lacks[_i].later)
		answer(lack(NAME, 1, 2048));
	answer(lack(lacks[_i].name, lacks[_i].part, lacks[_i].stored));
	assert_ended(-EPROTO);
}

TEST(an_answer_of_another_kind_ends_what_is_sent)
{
	begin_sending();
	answer(listed(NAME, 1, true));
	assert_ended(-EPROTO);
}

/* --- which there are ------------------------------------------------------ */

CASE("listed", .setup = begin, .teardown = end);

TEST(each_that_is_stored_is_told_before_the_next_is_known)
{
	ck_assert_int_eq(nodes_listings(peer.link, on_stored, NULL), 0);
	answer(listed("a", 1, true));
	ck_assert_uint_eq(entries, 1);
	answer(listed("b", 1, true));
	ck_assert_uint_eq(entries, 2);
	ck_assert_uint_eq(ends, 0);
	answer(listed("", 0, false));
	ck_assert_uint_eq(ends, 1);
	ck_assert_int_eq(err, 0);
}

static const char *const behind[] = { "b", "a", "c\033[2J", "c\xe2\x80\xae" };

LOOP_TEST(names_that_do_not_ascend_end_it, 0, (int)BASE_NELEM(behind))
{
	ck_assert_int_eq(nodes_listings(peer.link, on_stored, NULL), 0);
	answer(listed("b", 1, true));
	answer(listed(behind[_i], 1, true));
	ck_assert_uint_eq(entries, 1);
	assert_ended(-EPROTO);
}

TEST(an_answer_of_another_kind_ends_the_list)
{
	ck_assert_int_eq(nodes_listings(peer.link, on_stored, NULL), 0);
	answer(lack(NAME, 1, 0));
	assert_ended(-EPROTO);
}

/* --- one that is fetched -------------------------------------------------- */

CASE("fetched", .setup = begin, .teardown = end);

TEST(what_was_asked_for_is_fetched)
{
	begin_fetching();
	answer(listed(NAME, 1, true));
	answer(lgot(0, LONG, WIRE_LISTING_BYTES));
	ck_assert_uint_eq(nodes_listing_done(listing), WIRE_LISTING_BYTES);
	answer(lgot(WIRE_LISTING_BYTES, LONG, LONG - WIRE_LISTING_BYTES));
	ck_assert_uint_eq(ends, 1);
	ck_assert_int_eq(err, 0);
	ck_assert_str_eq(words, NAME);
}

/* Zeroes, whose sum that is not; a node that tells none is believed. */
TEST(what_has_another_sum_is_fetched_and_told)
{
	static uint8_t sum[WIRE_SHA256];
	struct wire_msg last = lgot(WIRE_LISTING_BYTES, LONG,
	    LONG - WIRE_LISTING_BYTES);

	last.lgot.sha256 = (struct wire_bytes){ sum, sizeof sum };
	begin_fetching();
	answer(listed(NAME, 1, true));
	answer(lgot(0, LONG, WIRE_LISTING_BYTES));
	answer(last);
	assert_ended(-EBADMSG);
	ck_assert_uint_eq(nodes_listing_done(listing), LONG);
}

static const struct {
	const char *name;
	unsigned parts;
	bool whole;
	int err;
} entry[] = {
	{ "", 0, false, -ENOENT },
	{ "20261121-163501-0008", 1, true, -ENOENT },
	{ NAME ".1", 1, true, -ENOENT },
	{ NAME, 1, false, -ENODATA },
	{ NAME, 0, true, -ENODATA },
};

LOOP_TEST(what_is_not_there_or_not_whole_is_not_fetched, 0,
    (int)BASE_NELEM(entry))
{
	begin_fetching();
	answer(listed(entry[_i].name, entry[_i].parts, entry[_i].whole));
	assert_ended(entry[_i].err);
	ck_assert_uint_eq(peer.n, 0);
}

static const struct {
	uint32_t at, size;
	size_t len;
	bool later;		/* the first piece came well */
} gots[] = {
	{ 1, LONG, WIRE_LISTING_BYTES, false },
	{ 0, LONG, WIRE_LISTING_BYTES - 1, false },
	{ 0, LONG, 0, false },
	{ 0, 10, 9, false },
	{ 0, LONG, LONG - WIRE_LISTING_BYTES, true },
	{ WIRE_LISTING_BYTES, LONG + 1, LONG - WIRE_LISTING_BYTES, true },
	{ WIRE_LISTING_BYTES, LONG, 0, true },
};

LOOP_TEST(bytes_that_were_not_asked_for_end_it, 0, (int)BASE_NELEM(gots))
{
	begin_fetching();
	answer(listed(NAME, 1, true));
	if (gots[_i].later)
		answer(lgot(0, LONG, WIRE_LISTING_BYTES));
	answer(lgot(gots[_i].at, gots[_i].size, gots[_i].len));
	assert_ended(-EPROTO);
}

/* --- a node that is lost -------------------------------------------------- */

enum asked {
	SENDING,
	FETCHING,
	LISTING,
	ASKED_KINDS
};

/* Asked, and not yet answered. */
static void
ask(enum asked what)
{
	if (what == SENDING)
		begin_sending();
	else if (what == FETCHING)
		begin_fetching();
	else
		ck_assert_int_eq(nodes_listings(peer.link, on_stored, NULL),
		    0);
	peer_turn(&peer);
}

CASE("lost", .setup = begin, .teardown = end);

LOOP_TEST(a_link_that_is_lost_ends_what_is_on_its_way, 0, ASKED_KINDS)
{
	ask(_i);
	peer_hang_up(&peer);
	while (ends == 0)
		uv_run(&peer.loop, UV_RUN_NOWAIT);
	assert_ended(-ENOTCONN);
}

LOOP_TEST(nothing_is_told_of_it_when_the_page_has_closed_the_link, 0,
    ASKED_KINDS)
{
	ask(_i);
	nodes_link_close(peer.link);
	peer.link = NULL;
	uv_run(&peer.loop, UV_RUN_DEFAULT);
	ck_assert_uint_eq(ends, 0);
}
