/*
 * A node in this process whose spool is a folder of its own, and pages of the
 * program's own half (nodes_listing_send and its like).  Shared by the tests of
 * listings.
 */
#ifndef TESTS_LISTING_RIG_H
#define TESTS_LISTING_RIG_H

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../src/nodes/nodes.h"
#include "../src/nodes/spool/spool.h"
#include "node_harness.h"

#define ROLES (WIRE_ROLE_READ | WIRE_ROLE_LIST_PUT)

static char top[64], folder[80];

static inline void
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

static inline void
up(void)
{
	up_with((struct node_opts){ .daemon = true });
}

static inline void
down(void)
{
	char command[128];

	node_down();
	snprintf(command, sizeof command, "rm -rf '%s'", top);
	ck_assert_int_eq(system(command), 0);
}

static inline unsigned
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

static inline uint64_t
number(struct page *p, enum wire_number which)
{
	struct wire_msg m = { .type = WIRE_STAT, .stat = {
		.index = UINT32_MAX } }, reply;
	uint64_t n;

	page_ask(p, &m, &reply);
	ck_assert_uint_eq(reply.type, WIRE_STATS);
	n = reply.stats.n[which];
	return n;
}

/* --- pages that speak by themselves ---------------------------------------- */

static inline void
page_put(struct page *p, struct wire_lput l, struct wire_msg *reply)
{
	static uint8_t frame[WIRE_LENGTH_SIZE + WIRE_REPLY_MAX];
	struct wire_msg m = { .type = WIRE_LPUT, .id = ++p->id, .lput = l };
	size_t len;

	ck_assert_int_eq(wire_encode(&m, frame, sizeof frame, &len), 0);
	page_send_raw(p, frame, len);
	ck_assert(page_receive(p, reply));
}

static inline void
put_refused(struct page *p, struct wire_lput l, enum wire_error code)
{
	struct wire_msg reply;

	page_put(p, l, &reply);
	expect_error(&reply, code);
}

static inline void
text_of(char out[64], struct wire_text t)
{
	snprintf(out, 64, "%.*s", (int)t.len, t.s);
}

/* The name that it was given goes into `name`, unless that is NULL. */
static inline void
put_taken(struct page *p, struct wire_lput l, char name[64])
{
	struct wire_msg reply;

	page_put(p, l, &reply);
	ck_assert_uint_eq(reply.type, WIRE_LACK);
	if (name != NULL)
		text_of(name, reply.lack.name);
}

static inline void
ask_refused(struct page *p, struct wire_msg *m, enum wire_error code)
{
	struct wire_msg reply;

	page_ask(p, m, &reply);
	expect_error(&reply, code);
}

static inline struct wire_lput
piece(uint32_t len, uint32_t total)
{
	static uint8_t bytes[WIRE_LISTING_BYTES];

	return (struct wire_lput){ .title = wire_text("t"), .part = 1,
		.parts = 1, .total = total, .bytes = { bytes, len } };
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

static inline void
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

static inline void
client_close(struct client *c)
{
	nodes_listing_close(c->listing);
	nodes_link_close(c->link);
	close(c->fd);
}

static inline void
on_done(void *arg, int err, const char *words)
{
	struct client *c = arg;

	ck_assert(!c->done);
	c->done = true;
	c->err = err;
	snprintf(c->words, sizeof c->words, "%s", words);
}

static inline void
on_stored(void *arg, const struct nodes_stored *s, int err, const char *words)
{
	struct client *c = arg;

	if (s == NULL) {
		on_done(c, err, words);
		return;
	}
	ck_assert_uint_lt(c->n, BASE_NELEM(c->list));
	c->list[c->n++] = *s;
}

static inline void
await(struct client *c)
{
	while (!c->done)
		uv_run(&loop, UV_RUN_NOWAIT);
	nodes_listing_close(c->listing);
	c->listing = NULL;
}

static inline void
send_begin(struct client *c, const char *title, uint64_t size)
{
	c->done = false;
	ck_assert_int_eq(nodes_listing_send(&c->listing, c->link,
	    &(struct nodes_listing_opts){ .title = title, .fd = c->fd,
	    .size = size }, on_done, c), 0);
}

static inline void
fetch(struct client *c, const char *name)
{
	c->done = false;
	ck_assert_int_eq(ftruncate(c->fd, 0), 0);
	lseek(c->fd, 0, SEEK_SET);
	ck_assert_int_eq(nodes_listing_get(&c->listing, c->link, name, c->fd,
	    on_done, c), 0);
	await(c);
}

/* Which there are; c->err is what has become of it. */
static inline void
ask_all(struct client *c)
{
	c->done = false;
	c->n = 0;
	ck_assert_int_eq(nodes_listings(c->link, on_stored, c), 0);
	await(c);
}

static inline void
census(struct client *c)
{
	ask_all(c);
	ck_assert_int_eq(c->err, 0);
}

/* Bytes that differ with each listing and at each place, to be freed. */
static inline uint8_t *
bytes_of(size_t size, unsigned no)
{
	uint8_t *bytes = malloc(size + 1);

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 251 + no * 7);
	return bytes;
}

static inline void
fill(int fd, size_t size, unsigned no)
{
	uint8_t *bytes = bytes_of(size, no);

	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
	free(bytes);
}

static inline void
check_filled(int fd, size_t size, unsigned no)
{
	uint8_t *bytes = malloc(size + 1), *want = bytes_of(size, no);

	ck_assert_int_eq(pread(fd, bytes, size + 1, 0), (ssize_t)size);
	ck_assert_int_eq(memcmp(bytes, want, size), 0);
	free(bytes);
	free(want);
}

#endif
