/*
 * Listings over the wire: a real node in this process, pages that speak to it
 * by themselves, and the page's own half (nodes_listing_send and its like).
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../src/nodes/spool.h"
#include "node_harness.h"

#define ROLES (WIRE_ROLE_READ | WIRE_ROLE_LIST_PUT)

static char top[64], folder[80];

static void
up_with(struct node_opts o)
{
	strcpy(top, "/tmp/pagek-listings.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(folder, sizeof folder, "%s/listings", top);
	signal(SIGPIPE, SIG_IGN);
	o.fd = -1;
	o.spool = folder;
	node_up(&o);
}

static void
up(void)
{
	up_with((struct node_opts){ .daemon = true });
}

static void
down(void)
{
	char command[128];

	node_down();
	snprintf(command, sizeof command, "rm -rf '%s'", top);
	ck_assert_int_eq(system(command), 0);
}

static unsigned
files(void)
{
	DIR *dir = opendir(folder);
	unsigned n = 0;

	for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
		n += d->d_name[0] != '.';
	if (dir != NULL)
		closedir(dir);
	return n;
}

static uint64_t
number(struct page *p, enum wire_stat which)
{
	struct wire_msg m = { .type = WIRE_STAT, .stat = {
		.index = UINT32_MAX } }, reply;
	uint64_t n;

	page_ask(p, &m, &reply);
	ck_assert_uint_eq(reply.type, WIRE_STATS);
	n = reply.stats.n[which];
	wire_msg_fini(&reply);
	return n;
}

/* --- the page's own half -------------------------------------------------- */

struct client {
	struct nodes_link *link;
	struct nodes_listing *listing;
	int fd;
	bool done;
	int err;
	char words[512];
	struct nodes_stored list[2048];
	size_t n;
};

static void
client_open(struct client *c)
{
	int fds[2];

	memset(c, 0, sizeof *c);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	ck_assert_int_eq(nodes_link_open(&c->link, &loop, fds[0]), 0);
	ck_assert_int_eq(serve_add(&node, fds[1]), 0);
	c->fd = memfd_create("listing", MFD_CLOEXEC);
	ck_assert_int_ge(c->fd, 0);
}

static void
client_close(struct client *c)
{
	nodes_listing_close(c->listing);
	nodes_link_close(c->link);
	close(c->fd);
}

static void
on_done(void *arg, int err, const char *words)
{
	struct client *c = arg;

	ck_assert(!c->done);
	c->done = true;
	c->err = err;
	snprintf(c->words, sizeof c->words, "%s", words);
}

static void
on_stored(void *arg, int err, const struct nodes_stored *list, size_t n)
{
	struct client *c = arg;

	ck_assert_int_eq(err, 0);
	ck_assert_uint_le(n, BASE_NELEM(c->list));
	if (n > 0)
		memcpy(c->list, list, n * sizeof *list);
	c->n = n;
	c->done = true;
}

static void
await(struct client *c)
{
	while (!c->done)
		uv_run(&loop, UV_RUN_NOWAIT);
	nodes_listing_close(c->listing);
	c->listing = NULL;
}

static void
send_begin(struct client *c, const char *title, uint64_t size)
{
	c->done = false;
	ck_assert_int_eq(nodes_listing_send(&c->listing, c->link,
	    &(struct nodes_listing_opts){ .title = title, .fd = c->fd,
	    .size = size }, on_done, c), 0);
}

static void
fetch(struct client *c, const char *name)
{
	c->done = false;
	ck_assert_int_eq(ftruncate(c->fd, 0), 0);
	lseek(c->fd, 0, SEEK_SET);
	ck_assert_int_eq(nodes_listing_get(&c->listing, c->link, name, c->fd,
	    on_done, c), 0);
	await(c);
}

static void
census(struct client *c)
{
	c->done = false;
	ck_assert_int_eq(nodes_listings(c->link, on_stored, c), 0);
	await(c);
}

/* Bytes that differ with each listing and at each place, to be freed. */
static uint8_t *
bytes_of(size_t size, unsigned no)
{
	uint8_t *bytes = malloc(size + 1);

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 251 + no * 7);
	return bytes;
}

static void
fill(int fd, size_t size, unsigned no)
{
	uint8_t *bytes = bytes_of(size, no);

	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
	free(bytes);
}

static void
check_filled(int fd, size_t size, unsigned no)
{
	uint8_t *bytes = malloc(size + 1), *want = bytes_of(size, no);

	ck_assert_int_eq(pread(fd, bytes, size + 1, 0), (ssize_t)size);
	ck_assert_int_eq(memcmp(bytes, want, size), 0);
	free(bytes);
	free(want);
}

static const size_t sizes[] = { 0, 1, 2047, 2048, 2049, 61440, 63488, 63489,
	WIRE_LISTING_PART - 1, WIRE_LISTING_PART, WIRE_LISTING_PART + 1,
	3 * WIRE_LISTING_PART + 12345 };

START_TEST(a_listing_comes_back_as_it_was_sent)
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
END_TEST

START_TEST(nothing_larger_than_all_parts_is_begun)
{
	static struct client c;

	client_open(&c);
	ck_assert_int_eq(nodes_listing_send(&c.listing, c.link,
	    &(struct nodes_listing_opts){ .title = "", .fd = c.fd,
	    .size = (uint64_t)WIRE_LISTING_PARTS * WIRE_LISTING_PART + 1 },
	    on_done, &c), -EFBIG);
	client_close(&c);
}
END_TEST

START_TEST(a_file_that_became_shorter_is_said)
{
	static struct client c;

	client_open(&c);
	fill(c.fd, 5000, 1);
	send_begin(&c, "", 100000);
	await(&c);
	ck_assert_int_eq(c.err, -ENODATA);
	ck_assert_ptr_nonnull(strstr(c.words, "shorter"));
	client_close(&c);
}
END_TEST

START_TEST(a_listing_that_is_not_there_is_said)
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
END_TEST

START_TEST(one_that_is_called_off_is_not_whole)
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
	while (node.serve.count > 1);
	ck_assert_uint_eq(b.n, 1);
	ck_assert(!b.list[0].whole);
	fetch(&b, b.list[0].name);
	ck_assert_int_eq(b.err, -ENODATA);
	ck_assert_ptr_nonnull(strstr(b.words, "not whole"));
	ck_assert(!a.done);
	client_close(&b);
}
END_TEST

/* All at once, each one after the other. */
START_TEST(a_thousand_listings_of_eight_senders_are_all_there)
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
END_TEST

/* --- what a node refuses -------------------------------------------------- */

static void
page_put(struct page *p, struct wire_lput l, struct wire_msg *reply)
{
	static uint8_t frame[WIRE_LENGTH_SIZE + WIRE_REPLY_MAX];
	struct wire_msg m = { .type = WIRE_LPUT, .id = ++p->id, .lput = l };
	size_t len;

	ck_assert_int_eq(wire_encode(&m, frame, sizeof frame, &len), 0);
	page_send_raw(p, frame, len);
	ck_assert(page_receive(p, reply));
}

static struct wire_lput
piece(uint32_t len, uint32_t total)
{
	static uint8_t bytes[WIRE_LISTING_BYTES];

	return (struct wire_lput){ .title = wire_text("t"), .part = 1,
		.parts = 1, .total = total, .bytes = { bytes, len } };
}

START_TEST(without_the_role_nothing_is_stored)
{
	struct wire_msg reply;
	struct page p;

	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	page_put(&p, piece(100, 1000), &reply);
	expect_error(&reply, WIRE_E_AUTH);
	wire_msg_fini(&reply);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 1);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS), 0);
	ck_assert_int_lt(access(folder, F_OK), 0);
	/* Nor is a long piece read. */
	page_put(&p, piece(60000, 60000), &reply);
	expect_error(&reply, WIRE_E_BIG);
	wire_msg_fini(&reply);
	page_close(&p);
}
END_TEST

START_TEST(a_bridge_that_is_limited_to_reading_stores_nothing)
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
	wire_msg_fini(&reply);
	page_put(&p, piece(100, 1000), &reply);
	expect_error(&reply, WIRE_E_AUTH);
	wire_msg_fini(&reply);
	page_close(&p);
}
END_TEST

/* NAME, and a key behind it that nobody knows, of so many bytes. */
START_TEST(no_other_request_may_be_as_long)
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
	wire_msg_fini(&reply);
	page_close(&p);
}
END_TEST

static const char *const strange[] = {
	"", "..", ".", "/etc/passwd", "../../../../../../etc/passwd",
	"20261121-163501-0007/../../../../etc/passwd", "20261121-163501-0007",
	"20261121-163501-000\xc3\xa9", "-", "20261121-163501-0007.1",
	"20261121-163501-0007~",
};

START_TEST(no_name_leads_out_of_the_spool)
{
	struct wire_msg reply, m = { .type = WIRE_LGET, .lget = {
		.name = wire_text(strange[_i]), .part = 1, .max = 100 } };
	struct page p;

	page_open(&p);
	page_greet(&p, ROLES);
	page_put(&p, piece(100, 1000), &reply);
	wire_msg_fini(&reply);
	page_ask(&p, &m, &reply);
	expect_error(&reply, WIRE_E_NAME);
	wire_msg_fini(&reply);
	page_close(&p);
}
END_TEST

START_TEST(names_with_a_nul_are_not_cut_at_it)
{
	struct wire_msg reply, m = { .type = WIRE_LGET };
	char name[64];
	struct page p;

	page_open(&p);
	page_greet(&p, ROLES);
	page_put(&p, piece(100, 1000), &reply);
	ck_assert_uint_eq(reply.type, WIRE_LACK);
	memcpy(name, reply.lack.name.s, reply.lack.name.len);
	memcpy(name + reply.lack.name.len, "\0/..", 4);
	m.lget = (struct wire_lget){ .name = { name,
		reply.lack.name.len + 4 }, .part = 1, .max = 100 };
	wire_msg_fini(&reply);
	page_ask(&p, &m, &reply);
	expect_error(&reply, WIRE_E_NAME);
	wire_msg_fini(&reply);
	page_close(&p);
}
END_TEST

START_TEST(a_spool_that_is_a_link_is_refused_with_a_sentence)
{
	static struct client c;
	struct wire_msg reply;
	struct page p;

	ck_assert_int_eq(symlink("/tmp", folder), 0);
	client_open(&c);
	fill(c.fd, 10, 1);
	send_begin(&c, "t", 10);
	await(&c);
	ck_assert_int_eq(c.err, -EIO);
	ck_assert_ptr_nonnull(strstr(c.words, "it is a symbolic link"));
	page_open(&p);
	page_greet(&p, ROLES);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 1);
	page_ask(&p, &(struct wire_msg){ .type = WIRE_LISTINGS }, &reply);
	expect_error(&reply, WIRE_E_INTERNAL);
	wire_msg_fini(&reply);
	page_close(&p);
	client_close(&c);
}
END_TEST

START_TEST(what_is_stored_and_refused_is_counted_once)
{
	static struct client c;
	struct wire_msg reply;
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
	page_put(&p, l, &reply);
	snprintf(name, sizeof name, "%.*s", (int)reply.lack.name.len,
	    reply.lack.name.s);
	wire_msg_fini(&reply);
	/* Not what comes next, and more of the same behind it. */
	l.name = wire_text(name);
	l.at = 500;
	for (int i = 0; i < 3; i++) {
		page_put(&p, l, &reply);
		expect_error(&reply, i == 0 ? WIRE_E_FRAME : WIRE_E_NAME);
		wire_msg_fini(&reply);
	}
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS), 1);
	ck_assert_uint_eq(number(&p, WIRE_N_LISTINGS_REFUSED), 1);
	ck_assert_uint_eq(files(), 1);
	client_close(&c);
	page_close(&p);
}
END_TEST

/* --- who sees what -------------------------------------------------------- */

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

	TAILQ_FOREACH(c, &node.serve.conns, link)
		if (TAILQ_NEXT(c, link) == NULL)
			c->peer = (struct peer){ .uid = uid,
				.member = member };
}

static void
put_as(uid_t uid)
{
	struct wire_msg reply;
	struct page p;

	page_open(&p);
	be(uid, false);
	page_greet(&p, ROLES);
	page_put(&p, piece(100, 1000), &reply);
	ck_assert_uint_eq(reply.type, WIRE_LACK);
	wire_msg_fini(&reply);
	page_close(&p);
}

START_TEST(at_a_system_node_each_sees_his_own_and_some_see_all)
{
	struct wire_msg reply, got, get = { .type = WIRE_LGET },
		m = { .type = WIRE_LISTINGS };
	unsigned n = 0;
	char after[64] = "";
	struct page p;

	put_as(1000);
	put_as(1001);
	put_as(1000);
	page_open(&p);
	be(eyes[_i].uid, eyes[_i].member);
	page_greet(&p, WIRE_ROLE_READ);
	for (;; n++) {
		m.listings.after = wire_text(after);
		page_ask(&p, &m, &reply);
		ck_assert_uint_eq(reply.type, WIRE_LISTED);
		if (reply.listed.name.len == 0)
			break;
		snprintf(after, sizeof after, "%.*s",
		    (int)reply.listed.name.len, reply.listed.name.s);
		wire_msg_fini(&reply);
	}
	wire_msg_fini(&reply);
	ck_assert_uint_eq(n, eyes[_i].sees);
	/* The first is of 1000. */
	after[0] = '\0';
	for (struct dirent *d = NULL; after[0] == '\0';) {
		DIR *dir = opendir(folder);

		while ((d = readdir(dir)) != NULL)
			if (d->d_name[0] != '.' && (after[0] == '\0' ||
			    strcmp(d->d_name, after) < 0))
				snprintf(after, sizeof after, "%.20s",
				    d->d_name);
		closedir(dir);
	}
	get.lget = (struct wire_lget){ .name = wire_text(after), .part = 1,
		.max = 10 };
	page_ask(&p, &get, &got);
	/* It is not whole: who may see it is told that, others nothing. */
	ck_assert_uint_eq(got.type, WIRE_ERR);
	snprintf(after, sizeof after, "%.*s", (int)got.err.text.len,
	    got.err.text.s);
	if (eyes[_i].sees > 1)
		ck_assert_ptr_nonnull(strstr(after, "this part"));
	else
		ck_assert_str_eq(after, "no such listing");
	wire_msg_fini(&got);
	page_close(&p);
}
END_TEST

static void
up_system(void)
{
	up_with((struct node_opts){ .daemon = true, .system = true });
}

/* --- paper ---------------------------------------------------------------- */

static char said[80], printed[80];

static void
make_lp(const char *script)
{
	char path[80], old[4096];
	int fd;

	snprintf(path, sizeof path, "%s/lp", top);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	ck_assert_int_eq(write(fd, script, strlen(script)),
	    (ssize_t)strlen(script));
	close(fd);
	snprintf(old, sizeof old, "%s:%s", top, getenv("PATH"));
	setenv("PATH", old, 1);
	snprintf(printed, sizeof printed, "%s/printed", top);
	setenv("PRINTED", printed, 1);
	snprintf(said, sizeof said, "%s/said", top);
	fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(fd, 2);
	close(fd);
}

/* What a file holds once there is that word in it. */
static const char *
await_words(const char *path, const char *word)
{
	static char text[1 << 20];

	text[0] = '\0';
	while (strstr(text, word) == NULL) {
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	return text;
}

static void
up_printing(void)
{
	up_with((struct node_opts){ .daemon = true, .print = true,
	    .printer = "laser-2" });
}

static void
send_text(struct client *c, const char *title, const char *text)
{
	ck_assert_int_eq(ftruncate(c->fd, 0), 0);
	ck_assert_int_eq(pwrite(c->fd, text, strlen(text), 0),
	    (ssize_t)strlen(text));
	send_begin(c, title, strlen(text));
	await(c);
	ck_assert_int_eq(c->err, 0);
}

START_TEST(a_whole_listing_is_printed_as_safe_text)
{
	static struct client c;
	const char *text;
	char want[1100];

	make_lp("#!/bin/sh\n{ echo \"$@\"; cat; echo END; } >>\"$PRINTED\"\n");
	client_open(&c);
	send_text(&c, "$(reboot); `x`", "%!PS\n\x1b%-12345X@PJL\nlast");
	text = await_words(printed, "END");
	snprintf(want, sizeof want, "-d laser-2 -t %s\nlisting %s from ",
	    c.words, c.words);
	ck_assert_int_eq(strncmp(text, want, strlen(want)), 0);
	ck_assert_ptr_nonnull(strstr(text, "\n$(reboot); `x`\n\n"));
	ck_assert_ptr_nonnull(strstr(text,
	    "\n\n%!PS\n\\x1B%-12345X@PJL\nlast\nEND\n"));
	client_close(&c);
}
END_TEST

START_TEST(a_long_listing_is_printed_whole)
{
	enum { LINES = 100000 };
	static char all[LINES * 16 + 1];
	static struct client c;
	const char *text;
	size_t len = 0;

	make_lp("#!/bin/sh\nwc -lc >\"$PRINTED\"; echo END >>\"$PRINTED\"\n");
	for (unsigned i = 0; i < LINES; i++)
		len += (size_t)snprintf(all + len, sizeof all - len,
		    "line %09u\n", i);
	client_open(&c);
	send_text(&c, "t", all);
	text = await_words(printed, "END");
	/* The header's lines, and no byte more or less of its own. */
	ck_assert_int_eq(strtol(text, NULL, 10), LINES + 3);
	client_close(&c);
}
END_TEST

START_TEST(what_was_not_printed_is_said)
{
	static struct client c;
	char want[1100];

	make_lp("#!/bin/sh\ncat >/dev/null; exit 3\n");
	client_open(&c);
	send_text(&c, "t", "text\n");
	snprintf(want, sizeof want, "listing %s was not printed: lp ended "
	    "with status 3", c.words);
	await_words(said, want);
	/* The next one is tried all the same. */
	send_text(&c, "t", "text\n");
	snprintf(want, sizeof want, "listing %s was not printed: lp ended "
	    "with status 3", c.words);
	await_words(said, want);
	client_close(&c);
}
END_TEST

START_TEST(without_lp_that_is_said)
{
	static struct client c;

	make_lp("");
	setenv("PATH", "/nonexistent", 1);
	client_open(&c);
	send_text(&c, "t", "text\n");
	await_words(said, "was not printed: there is no program lp");
	setenv("PATH", "/usr/bin:/bin", 1);
	client_close(&c);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("listings");
	TCase *t = tcase_create("there and back");

	tcase_add_checked_fixture(t, up, down);
	tcase_add_loop_test(t, a_listing_comes_back_as_it_was_sent, 0,
	    (int)BASE_NELEM(sizes));
	tcase_add_test(t, nothing_larger_than_all_parts_is_begun);
	tcase_add_test(t, a_file_that_became_shorter_is_said);
	tcase_add_test(t, a_listing_that_is_not_there_is_said);
	tcase_add_test(t, one_that_is_called_off_is_not_whole);
	tcase_add_test(t, a_thousand_listings_of_eight_senders_are_all_there);
	suite_add_tcase(s, t);
	t = tcase_create("refused");
	tcase_add_checked_fixture(t, up, down);
	tcase_add_test(t, without_the_role_nothing_is_stored);
	tcase_add_test(t, a_bridge_that_is_limited_to_reading_stores_nothing);
	tcase_add_test(t, no_other_request_may_be_as_long);
	tcase_add_loop_test(t, no_name_leads_out_of_the_spool, 0,
	    (int)BASE_NELEM(strange));
	tcase_add_test(t, names_with_a_nul_are_not_cut_at_it);
	tcase_add_test(t, a_spool_that_is_a_link_is_refused_with_a_sentence);
	tcase_add_test(t, what_is_stored_and_refused_is_counted_once);
	suite_add_tcase(s, t);
	t = tcase_create("who sees what");
	tcase_add_checked_fixture(t, up_system, down);
	tcase_add_loop_test(t,
	    at_a_system_node_each_sees_his_own_and_some_see_all, 0,
	    (int)BASE_NELEM(eyes));
	suite_add_tcase(s, t);
	t = tcase_create("paper");
	tcase_add_checked_fixture(t, up_printing, down);
	tcase_add_test(t, a_whole_listing_is_printed_as_safe_text);
	tcase_add_test(t, a_long_listing_is_printed_whole);
	tcase_add_test(t, what_was_not_printed_is_said);
	tcase_add_test(t, without_lp_that_is_said);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(suite)
