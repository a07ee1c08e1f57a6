/*
 * Listings over the wire: a real node in this process, pages that speak to it
 * by themselves, and the program's own half.
 */
#include "../src/nodes/link/link.h"
#include "listing_rig.h"

static const size_t sizes[] = { 0, 1, 2047, 2048, 2049, 61440, 63488, 63489,
	WIRE_LISTING_PART - 1, WIRE_LISTING_PART, WIRE_LISTING_PART + 1,
	3 * WIRE_LISTING_PART + 12345 };

CASE("there and back", .setup = up, .teardown = down);

LOOP_TEST(a_listing_comes_back_as_it_was_sent, 0, (int)BASE_NELEM(sizes))
{
	size_t size = sizes[_i];
	static struct client c;
	char name[64];

	client_open(&c);
	fill(c.fd, size, 3);
	send_begin(&c, "0590 acqd[4711]", size);
	await(&c);
	ck_assert_int_eq(c.err, 0);
	snprintf(name, sizeof name, "%.63s", c.words);
	census(&c);
	ck_assert_uint_eq(c.n, 1);
	ck_assert_str_eq(c.list[0].name, name);
	ck_assert_str_eq(c.list[0].title, "0590 acqd[4711]");
	ck_assert_uint_eq(c.list[0].bytes, size);
	ck_assert_uint_eq(c.list[0].parts, size == 0 ? 1 :
	    (size + WIRE_LISTING_PART - 1) / WIRE_LISTING_PART);
	ck_assert(c.list[0].whole);
	fetch(&c, name);
	ck_assert_int_eq(c.err, 0);
	check_filled(c.fd, size, 3);
	client_close(&c);
}

TEST(nothing_larger_than_all_parts_is_begun)
{
	static struct client c;

	client_open(&c);
	ck_assert_int_eq(nodes_listing_send(&c.listing, c.link,
	    &(struct nodes_listing_opts){ .title = "", .fd = c.fd,
	    .size = (uint64_t)WIRE_LISTING_PARTS * WIRE_LISTING_PART + 1 },
	    on_done, &c), -EFBIG);
	client_close(&c);
}

TEST(a_file_that_became_shorter_is_said)
{
	static struct client c;

	client_open(&c);
	fill(c.fd, 5000, 1);
	send_begin(&c, "", 100000);
	await(&c);
	ck_assert_int_eq(c.err, -ENODATA);
	ck_assert_ptr_nonnull(strstr(c.words, "truncated"));
	client_close(&c);
}

TEST(a_listing_that_is_not_there_is_said)
{
	static struct client c;

	client_open(&c);
	fetch(&c, "20260101-000000-0001");
	ck_assert_int_eq(c.err, -ENOENT);
	ck_assert_str_eq(c.words, "no such listing");
	census(&c);
	ck_assert_uint_eq(c.n, 0);
	/* To look makes no folder. */
	ck_assert_int_lt(access(folder, F_OK), 0);
	client_close(&c);
}

static int
open_part(const char *name, unsigned part)
{
	char path[160];
	int fd;

	snprintf(path, sizeof path, "%s/%s.%u", folder, name, part);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* By a bit in the last byte of a part, or by that byte. */
LOOP_TEST(what_was_changed_where_it_is_stored_is_told_and_comes_all_the_same, 0,
    6)
{
	enum { SIZE = 2 * WIRE_LISTING_PART + 7 };
	const unsigned part = _i % 3 + 1;
	const bool cut = _i >= 3;
	static struct client c;
	char name[64], byte;
	struct stat st;
	int fd;

	client_open(&c);
	fill(c.fd, SIZE, 5);
	send_begin(&c, "t", SIZE);
	await(&c);
	ck_assert_int_eq(c.err, 0);
	snprintf(name, sizeof name, "%.63s", c.words);
	fd = open_part(name, part);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(pread(fd, &byte, 1, st.st_size - 1), 1);
	byte ^= 1;
	if (cut)
		ck_assert_int_eq(ftruncate(fd, st.st_size - 1), 0);
	else
		ck_assert_int_eq(pwrite(fd, &byte, 1, st.st_size - 1), 1);
	close(fd);
	fetch(&c, name);
	ck_assert_int_eq(c.err, -EBADMSG);
	ck_assert_ptr_nonnull(strstr(c.words, "damaged"));
	/* A file that was cut has nothing that could be believed. */
	ck_assert_int_eq(lseek(c.fd, 0, SEEK_END), cut ?
	    (off_t)(part - 1) * WIRE_LISTING_PART : SIZE);
	client_close(&c);
}

static void
on_nothing(void *arg, int err, const struct wire_msg *msg)
{
	unsigned *answers = arg;

	(void)msg;
	if (err == 0)
		++*answers;
}

/* As a page does that has much to ask, until the listing is there. */
TEST(a_link_that_is_full_of_questions_delays_a_listing_and_no_more)
{
	enum { SIZE = 2 * WIRE_LISTING_PART + 7 };
	static struct client c;
	unsigned answers = 0;
	char name[64];

	client_open(&c);
	fill(c.fd, SIZE, 5);
	send_begin(&c, "t", SIZE);
	while (!c.done) {
		struct wire_msg m = { .type = WIRE_STAT, .stat = {
			.index = UINT32_MAX } };

		while (link_ask(c.link, &m, &answers, on_nothing,
		    &answers) == 0)
			continue;
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	await(&c);
	ck_assert_int_eq(c.err, 0);
	ck_assert_uint_gt(answers, 0);
	link_forget(c.link, &answers);
	snprintf(name, sizeof name, "%.63s", c.words);
	fetch(&c, name);
	ck_assert_int_eq(c.err, 0);
	check_filled(c.fd, SIZE, 5);
	client_close(&c);
}

TEST(one_that_is_called_off_is_not_whole)
{
	static struct client a, b;

	client_open(&a);
	client_open(&b);
	fill(a.fd, 2 * WIRE_LISTING_PART, 1);
	send_begin(&a, "t", 2 * WIRE_LISTING_PART);
	while (nodes_listing_done(a.listing) < WIRE_LISTING_PART)
		uv_run(&loop, UV_RUN_NOWAIT);
	client_close(&a);
	do
		census(&b);
	while (node.serve->count > 1);
	ck_assert_uint_eq(b.n, 1);
	ck_assert(!b.list[0].whole);
	fetch(&b, b.list[0].name);
	ck_assert_int_eq(b.err, -ENODATA);
	ck_assert_ptr_nonnull(strstr(b.words, "not whole"));
	ck_assert(!a.done);
	client_close(&b);
}

CASE("many", .setup = up, .teardown = down, .seconds = 60);

/* All at once, each one after the other. */
TEST(a_thousand_listings_of_eight_senders_are_all_there)
{
	enum { SENDERS = 8, EACH = 125 };
	static struct client c[SENDERS];
	static char names[SENDERS * EACH][32];
	unsigned sent[SENDERS] = { 0 }, total = 0;

	for (unsigned i = 0; i < SENDERS; i++)
		client_open(&c[i]);
	for (unsigned i = 0; i < SENDERS; i++)
		c[i].done = true;
	while (total < SENDERS * EACH) {
		uv_run(&loop, UV_RUN_NOWAIT);
		for (unsigned i = 0; i < SENDERS; i++) {
			unsigned no = i * EACH + sent[i];

			if (!c[i].done)
				continue;
			if (c[i].listing != NULL) {
				nodes_listing_close(c[i].listing);
				c[i].listing = NULL;
				ck_assert_int_eq(c[i].err, 0);
				snprintf(names[no], sizeof names[no], "%.31s",
				    c[i].words);
				sent[i]++;
				no++;
				total++;
			}
			if (sent[i] == EACH)
				continue;
			fill(c[i].fd, 1000 + no * 3, no);
			send_begin(&c[i], "t", 1000 + no * 3);
		}
	}
	census(&c[0]);
	ck_assert_uint_eq(c[0].n, SENDERS * EACH);
	for (unsigned no = 0; no < SENDERS * EACH; no++) {
		fetch(&c[0], names[no]);
		ck_assert_int_eq(c[0].err, 0);
		check_filled(c[0].fd, 1000 + no * 3, no);
	}
	for (unsigned i = 0; i < SENDERS; i++)
		client_close(&c[i]);
}

/* --- what a node refuses -------------------------------------------------- */

CASE("refused", .setup = up, .teardown = down);

TEST(without_the_role_nothing_is_stored)
{
	struct page p;

	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	put_refused(&p, piece(100, 1000), WIRE_E_AUTH);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 1);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS), 0);
	ck_assert_int_lt(access(folder, F_OK), 0);
	/* Nor is a long piece read. */
	put_refused(&p, piece(60000, 60000), WIRE_E_BIG);
	page_close(&p);
}

TEST(a_bridge_that_is_limited_to_reading_stores_nothing)
{
	struct wire_msg limit = { .type = WIRE_LIMIT, .limit = {
		.roles = WIRE_ROLE_READ } };
	struct wire_msg hello = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"), .roles = ROLES } };
	struct wire_msg reply;
	struct page p;

	page_open(&p);
	page_send(&p, &limit);
	page_ask(&p, &hello, &reply);
	ck_assert_uint_eq(reply.welcome.roles, WIRE_ROLE_READ);
	put_refused(&p, piece(100, 1000), WIRE_E_AUTH);
	page_close(&p);
}

/* NAME, and a key behind it that nobody knows, of so many bytes. */
TEST(no_other_request_may_be_as_long)
{
	static uint8_t frame[8192];
	struct wire_msg m = { .type = WIRE_NAME, .id = 1, .name = {
		.table = wire_text("DSTRM"), .name = wire_text("x") } };
	struct wire_msg reply;
	struct page p;
	size_t len, map;

	page_open(&p);
	page_greet(&p, ROLES);
	ck_assert_int_eq(wire_encode(&m, frame, sizeof frame, &len), 0);
	frame[WIRE_LENGTH_SIZE]++;
	memcpy(frame + len, "\x17\x59\x13\x88", 4);	/* 23: 5000 bytes */
	len += 4 + 5000;
	map = len - WIRE_LENGTH_SIZE;
	frame[2] = (uint8_t)(map >> 8);
	frame[3] = (uint8_t)map;
	page_send_raw(&p, frame, len);
	ck_assert(page_receive(&p, &reply));
	expect_error(&reply, WIRE_E_BIG);
	page_close(&p);
}

TEST(a_sender_that_is_gone_leaves_its_place)
{
	struct page p;

	for (unsigned i = 0; i <= SPOOL_ARRIVALS; i++) {
		page_open(&p);
		page_greet(&p, ROLES);
		put_taken(&p, piece(100, 1000), NULL);
		page_close(&p);
		while (node.serve->count > 0)
			uv_run(&loop, UV_RUN_NOWAIT);
	}
	ck_assert_uint_eq(files(), SPOOL_ARRIVALS + 1);
}

static const char *const strange[] = {
	"", "..", ".", "/etc/passwd", "../../../../../../etc/passwd",
	"20261121-163501-0007/../../../../etc/passwd", "20261121-163501-0007",
	"20261121-163501-000\xc3\xa9", "-", "20261121-163501-0007.1",
	"20261121-163501-0007~",
};

LOOP_TEST(no_name_leads_out_of_the_spool, 0, (int)BASE_NELEM(strange))
{
	struct wire_msg m = { .type = WIRE_LGET, .lget = {
		.name = wire_text(strange[_i]), .part = 1, .max = 100 } };
	struct page p;

	page_open(&p);
	page_greet(&p, ROLES);
	put_taken(&p, piece(100, 1000), NULL);
	ask_refused(&p, &m, WIRE_E_NAME);
	page_close(&p);
}

TEST(names_with_a_nul_are_not_cut_at_it)
{
	char name[64], said[64];
	struct wire_msg reply, m = { .type = WIRE_LGET };
	struct page p;

	page_open(&p);
	page_greet(&p, ROLES);
	put_taken(&p, piece(100, 1000), name);
	m.lget = (struct wire_lget){ .name = { name, strlen(name) + 4 },
		.part = 1, .max = 100 };
	memcpy(name + strlen(name), "\0/..", 4);
	page_ask(&p, &m, &reply);
	expect_error(&reply, WIRE_E_NAME);
	/* Of the one that is there it would be said that no part is. */
	text_of(said, reply.err.text);
	ck_assert_str_eq(said, "no such listing");
	page_close(&p);
}

TEST(a_spool_that_is_a_link_is_refused_with_a_sentence)
{
	static struct client c;
	struct page p;

	ck_assert_int_eq(symlink("/tmp", folder), 0);
	client_open(&c);
	fill(c.fd, 10, 1);
	send_begin(&c, "t", 10);
	await(&c);
	ck_assert_int_eq(c.err, -EIO);
	ck_assert_ptr_nonnull(strstr(c.words, "it is a symbolic link"));
	/* Nor is it passed off as an empty one. */
	ask_all(&c);
	ck_assert_int_eq(c.err, -EIO);
	ck_assert_ptr_nonnull(strstr(c.words, "it is a symbolic link"));
	page_open(&p);
	page_greet(&p, ROLES);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 1);
	ask_refused(&p, &(struct wire_msg){ .type = WIRE_LISTINGS },
	    WIRE_E_INTERNAL);
	page_close(&p);
	client_close(&c);
}

/* Nothing is stored there, but nor could it be. */
TEST(a_node_without_a_place_for_listings_does_not_say_that_it_has_none)
{
	static struct client c;

	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	node.opts.spool = NULL;
	client_open(&c);
	ask_all(&c);
	ck_assert_int_eq(c.err, -EIO);
	ck_assert_ptr_nonnull(strstr(c.words, "no place for listings"));
	fetch(&c, "20260101-000000-0001");
	ck_assert_int_eq(c.err, -EIO);
	ck_assert_ptr_nonnull(strstr(c.words, "no place for listings"));
	client_close(&c);
}

static void
remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -r '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* What is on its way then is refused, once; the next one finds a new folder. */
TEST(a_spool_that_was_removed_is_made_anew)
{
	struct wire_lput l = piece(100, 1000);
	static struct client c;
	char name[64];
	struct page p;

	page_open(&p);
	page_greet(&p, ROLES);
	put_taken(&p, l, name);
	remove_folder();
	client_open(&c);
	census(&c);
	ck_assert_uint_eq(c.n, 0);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 1);
	for (unsigned i = 1; i <= 2; i++) {
		fill(c.fd, 5000, i);
		send_begin(&c, "t", 5000);
		await(&c);
		ck_assert_int_eq(c.err, 0);
		ck_assert_uint_eq(files(), 1);
		census(&c);
		ck_assert_uint_eq(c.n, 1);
		remove_folder();
	}
	l.name = wire_text(name);
	l.at = 100;
	put_refused(&p, l, WIRE_E_NAME);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 1);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS), 2);
	client_close(&c);
	page_close(&p);
}

TEST(what_is_stored_and_refused_is_counted_once)
{
	static struct client c;
	struct wire_lput l = piece(100, 1000);
	char name[64];
	struct page p;

	page_open(&p);
	page_greet(&p, ROLES);
	client_open(&c);
	fill(c.fd, 200000, 1);
	send_begin(&c, "t", 200000);
	await(&c);
	ck_assert_int_eq(c.err, 0);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS), 1);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 0);
	put_taken(&p, l, name);
	/* Not what comes next, and more of the same behind it. */
	l.name = wire_text(name);
	l.at = 500;
	for (int i = 0; i < 3; i++) {
		put_refused(&p, l, i == 0 ? WIRE_E_FRAME : WIRE_E_NAME);
	}
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS), 1);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 1);
	ck_assert_uint_eq(files(), 1);
	client_close(&c);
	page_close(&p);
}
