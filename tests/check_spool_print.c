/*
 * Printed listings, with the test's own lp.
 */
#include "listing_rig.h"

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
	up_with((struct node_opts){ .daemon = true, .print = {
	    .on = true, .printer = "laser-2" } });
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

CASE("paper", .setup = up_printing, .teardown = down);

TEST(a_whole_listing_is_printed_as_safe_text)
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

TEST(a_long_listing_is_printed_whole)
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

TEST(what_was_not_printed_is_said)
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

/* What it has left to another one is no longer read for it when it has gone. */
TEST(an_lp_that_leaves_before_the_end_has_not_printed_it)
{
	static char text[1 << 20];
	static struct client c;
	char want[1100];

	make_lp("#!/bin/sh\nexec 3<&0\n(while kill -0 $$ 2>&-; do :; done; "
	    "cat <&3 >/dev/null) &\n");
	memset(text, 'x', sizeof text - 1);
	client_open(&c);
	send_text(&c, "t", text);
	snprintf(want, sizeof want, "listing %s was not printed: lp did not "
	    "read all of it", c.words);
	await_words(said, want);
	client_close(&c);
}

TEST(without_lp_that_is_said)
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

/*
 * Pieces go into the pipe at once, and each is known to have gone a turn of the
 * loop later: one of them when there is no spool any more.  What is read of it
 * then only a sanitizer sees.
 */
TEST(a_node_that_ends_while_it_prints_reads_nothing_more)
{
	static char text[1 << 20];
	static struct client c;
	char want[1100];

	make_lp("#!/bin/sh\nexec cat >/dev/null\n");
	memset(text, 'x', sizeof text - 1);
	for (size_t i = 79; i < sizeof text - 1; i += 80)
		text[i] = '\n';
	client_open(&c);
	send_text(&c, "t", text);
	ck_assert_ptr_nonnull(node.serve->listings.print);
	snprintf(want, sizeof want, "listing %s was not printed: the node "
	    "ends", c.words);
	client_close(&c);
	listings_close(&node);
	await_words(said, want);
}
