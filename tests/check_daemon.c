/*
 * The node that stands alone: its arguments, how many it serves, by which
 * sockets, and how long it keeps what has ended.
 */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "../src/nodes/host/host.h"
#include "node_harness.h"

#define OWN 1000
#define OTHER 1001

/* --- arguments ---------------------------------------------------------- */

static const struct {
	const char *argv[6];
	int status;			/* -1: a node can be made of them */
	bool daemon;
} arguments[] = {
	{ { "pageknode" }, -1, true },
	{ { "pageknode", "--system", "--clients", "256" }, -1, true },
	{ { "pageknode", "--role", "read,list-put" }, -1, true },
	{ { "pageknode", "--no-supervisor" }, -1, true },
	{ { "pageknode", "--no-supervisor", "true" }, NODE_USAGE, false },
	{ { "pageknode", "--", "true" }, -1, false },
	{ { "pageknode", "true" }, -1, false },
	{ { "pageknode", "--demo", "note" }, -1, false },
	{ { "pageknode", "--fd", "5", "true" }, -1, false },
	{ { "pageknode", "--system", "true" }, NODE_USAGE, false },
	{ { "pageknode", "--fd", "5" }, NODE_USAGE, false },
	{ { "pageknode", "--own-session" }, NODE_USAGE, false },
	{ { "pageknode", "--demo", "note", "true" }, NODE_USAGE, false },
	{ { "pageknode", "--demo", "note", "--system" }, NODE_USAGE, false },
	{ { "pageknode", "--clients", "0" }, NODE_USAGE, false },
	{ { "pageknode", "--clients", "257" }, NODE_USAGE, false },
	{ { "pageknode", "--role", "root" }, NODE_USAGE, false },
	{ { "pageknode", "--role", "" }, NODE_USAGE, false },
	{ { "pageknode", "--role", "read," }, NODE_USAGE, false },
	{ { "pageknode", "--nonsense" }, NODE_USAGE, false },
	{ { "pageknode", "--help" }, 0, false },
	{ { "pageknode", "--version" }, 0, false },
};

CASE("arguments");

LOOP_TEST(arguments_say_which_kind_of_node, 0, BASE_NELEM(arguments))
{
	char *argv[7] = { NULL };
	struct node_opts o;
	int n = 0;

	while (n < 6 && arguments[_i].argv[n] != NULL) {
		argv[n] = strdup(arguments[_i].argv[n]);
		n++;
	}
	optind = 1;
	ck_assert_int_eq(node_options(n, argv, &o), arguments[_i].status);
	if (arguments[_i].status < 0)
		ck_assert_int_eq(o.daemon, arguments[_i].daemon);
	while (n > 0)
		free(argv[--n]);
}

/* The words stay: some are remembered as they are. */
static int
options_of(const char *const *word, struct node_opts *o)
{
	static char text[32][24];
	char *argv[33] = { NULL };
	int n;

	for (n = 0; word[n] != NULL; n++)
		argv[n] = strcpy(text[n], word[n]);
	optind = 1;
	return node_options(n, argv, o);
}

TEST(options_are_remembered_in_their_places)
{
	static const char *const daemon[] = { "pageknode", "--max", "17",
		"--stack", "3", "--free-stack", "--no-pairs", "--usage",
		"--sample", "64k",
		"--dormant", "--no-wait", "--check-list", "--spool", "/s",
		"--print=p", "--clients", "9", "--role", "read",
		"--report", "/r", "--no-supervisor", "--system", NULL };
	static const char *const command[] = { "pageknode", "--supervised",
		"7", "--fd", "8", "--hello", "/h", "--own-session", "true",
		NULL };
	static const char *const device[] = { "pageknode", "--device", "6",
		"--device-name", "tty", "--device-once", "--baud", "115200",
		NULL };
	static const char *const demo[] = { "pageknode", "--demo", "note",
		"--at", "39s", "--stream", "X", NULL };
	static const char *const bridge[] = { "pageknode", "--stdio",
		"--target", "pid:5", "--node", "0590", NULL };
	struct node_opts o;

	ck_assert_int_eq(options_of(daemon, &o), -1);
	ck_assert(o.max == 17 && o.stack == 3 && o.sample == 65536 &&
	    o.clients == 9 && o.roles != 0);
	ck_assert(o.free_stacks && o.no_pairs && o.usage && o.dormant && o.no_wait && o.check_list &&
	    o.print.on && o.alone && o.system);
	ck_assert_str_eq(o.spool, "/s");
	ck_assert_str_eq(o.print.printer, "p");
	ck_assert_str_eq(o.report, "/r");
	ck_assert_int_eq(options_of(command, &o), -1);
	ck_assert(o.supervised == 7 && o.fd == 8 && o.own_session);
	ck_assert_str_eq(o.hello, "/h");
	ck_assert_int_eq(options_of(device, &o), -1);
	ck_assert(o.device.fd == 6 && o.device.baud == 115200 && o.device.once);
	ck_assert_str_eq(o.device.name, "tty");
	ck_assert_int_eq(options_of(demo, &o), -1);
	ck_assert_str_eq(o.demo.name, "note");
	ck_assert_str_eq(o.demo.at, "39s");
	ck_assert_str_eq(o.demo.stream, "X");
	ck_assert_int_eq(options_of(bridge, &o), -1);
	ck_assert(o.bridge.on && o.bridge.page_node == 0x0590);
	ck_assert_str_eq(o.bridge.target, "pid:5");
}

/* What a page gives to a node, read by the node. */
static void
hand(const struct node_opts *given, struct node_opts *got)
{
	char **argv = node_options_argv(given);
	int n = 0;

	ck_assert_ptr_nonnull(argv);
	while (argv[n] != NULL)
		n++;
	optind = 1;
	ck_assert_int_eq(node_options(n, argv, got), -1);
	for (unsigned i = 0; i < NODE_OPTIONS; i++) {
		const struct base_option *o = &node_handed[i].option;
		char a[BASE_OPTION_TEXT], b[BASE_OPTION_TEXT];
		const char *was = o->name == NULL ||
		    (node_handed[i].kinds & node_kind(given)) == 0 ? NULL :
		    base_option_text(o, given, a);
		const char *is = o->name == NULL ? NULL :
		    base_option_text(o, got, b);

		ck_assert_msg((was == NULL) == (is == NULL), "--%s", o->name);
		if (was != NULL)
			ck_assert_str_eq(was, is);
	}
	/* Texts of got are in it. */
	free(argv);
}

TEST(options_that_a_page_hands_on_arrive)
{
	char word[] = "true", option[] = "--stack", *argv[] = { word, option,
		NULL };
	struct node_opts all = { .argv = argv, .fd = 7, .max = 17,
		.no_wait = true, .own_session = true, .check_list = true,
		.stack = 3, .free_stacks = true, .no_pairs = true, .usage = true,
		.dormant = true, .sample = UINT64_C(1) << 40, .report = "/r",
		.hello = "/h", .demo.at = "39s", .device.fd = -1,
		.device.baud = 9600, .supervised = -1 };
	struct node_opts got;

	hand(&all, &got);
	ck_assert_ptr_null(got.demo.at);
	ck_assert_uint_eq(got.device.baud, 0);
	ck_assert(got.sample == all.sample && got.fd == 7);
	all.argv = NULL;
	all.device.fd = 6;
	all.device.name = "-x";
	all.device.once = true;
	hand(&all, &got);
	ck_assert(got.device.baud == 9600 && got.stack == 0 && got.device.fd == 6);
	all.device.fd = -1;
	all.device.name = NULL;
	all.device.once = false;
	all.demo.name = "note";
	all.demo.stream = "X";
	hand(&all, &got);
	hand(&(struct node_opts){ NODE_OPTS_NONE, .demo.name = "1" }, &got);
}

TEST(a_daemon_takes_stacks_unless_told_otherwise)
{
	char name[] = "pageknode", option[] = "--stack", zero[] = "0";
	char *plain[] = { name, NULL }, *without[] = { name, option, zero,
		NULL };
	struct node_opts o;

	optind = 1;
	ck_assert_int_eq(node_options(1, plain, &o), -1);
	ck_assert_uint_eq(o.stack, NODE_STACK);
	optind = 1;
	ck_assert_int_eq(node_options(3, without, &o), -1);
	ck_assert_uint_eq(o.stack, 0);
}

/* --- places ------------------------------------------------------------- */

static char folder[] = "/tmp/check_daemon.XXXXXX";
static char path[sizeof folder + 16];

static void
listen_up(const struct node_opts *opts)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/node", folder);
	node_up(opts);
	ck_assert_int_eq(serve_listen(&node, path), 0);
}

static void
listen_down(void)
{
	node_down();
	ck_assert_int_eq(rmdir(folder), 0);
}

static void
dial(struct page *p)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	*p = (struct page){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0) };
	strcpy(sa.sun_path, path);
	ck_assert_int_eq(connect(p->fd, (struct sockaddr *)&sa, sizeof sa), 0);
	ck_assert_int_eq(wire_frames_init(&p->in, WIRE_REPLY_MAX), 0);
}

CASE("places");

TEST(silent_connections_do_not_keep_others_out)
{
	struct page silent[3 * SERVE_STRANGERS], p;
	struct wire_msg r;

	listen_up(NULL);
	for (size_t i = 0; i < BASE_NELEM(silent); i++)
		dial(&silent[i]);
	dial(&p);
	page_greet(&p, WIRE_ROLE_READ);
	ck_assert_uint_le(node.serve->strangers, SERVE_STRANGERS);
	/* Who was the first to be silent was told why it had to go. */
	ck_assert(page_receive(&silent[0], &r));
	expect_error(&r, WIRE_E_BUSY);
	ck_assert(!page_receive(&silent[0], &r));
	for (size_t i = 0; i < BASE_NELEM(silent); i++)
		page_close(&silent[i]);
	page_close(&p);
	listen_down();
}

/* However long ago they came: nobody waits for the place of one of them. */
TEST(silent_connections_stay_as_long_as_there_is_room)
{
	struct page silent[SERVE_STRANGERS];
	struct conn *c;

	listen_up(NULL);
	for (unsigned i = 0; i < SERVE_STRANGERS; i++) {
		TAILQ_FOREACH(c, &node.serve->conns, link)
			c->begun_ms -= 1000;
		dial(&silent[i]);
		while (node.serve->last_id == i)
			uv_run(&loop, UV_RUN_ONCE);
	}
	ck_assert_uint_eq(node.serve->strangers, SERVE_STRANGERS);
	for (unsigned i = 0; i < SERVE_STRANGERS; i++)
		page_close(&silent[i]);
	listen_down();
}

TEST(an_idle_page_gives_its_place_to_another_and_no_other_does)
{
	struct node_opts o = { .fd = -1, .clients = 2 };
	struct wire_msg r, stat = { .type = WIRE_STAT,
		.stat = { .index = UINT32_MAX } };
	struct page p[4];

	listen_up(&o);
	for (int i = 0; i < 2; i++) {
		dial(&p[i]);
		page_greet(&p[i], WIRE_ROLE_READ);
	}
	dial(&p[2]);
	ck_assert(page_receive(&p[2], &r));
	expect_error(&r, WIRE_E_BUSY);
	ck_assert_uint_gt(r.err.retry_ms, 0);

	TAILQ_FIRST(&node.serve->conns)->heard_ms -= SERVE_IDLE_MS;
	dial(&p[3]);
	page_greet(&p[3], WIRE_ROLE_READ);
	ck_assert(page_receive(&p[0], &r));
	expect_error(&r, WIRE_E_BUSY);
	page_ask(&p[1], &stat, &r);
	ck_assert_uint_eq(r.type, WIRE_STATS);
	for (int i = 0; i < 4; i++)
		page_close(&p[i]);
	listen_down();
}

/* A socket has the user that its process is at the time of connecting. */
static void
dial_as(struct page *p, uid_t uid)
{
	uid_t us = geteuid();

	ck_assert_int_eq(seteuid(uid), 0);
	dial(p);
	ck_assert_int_eq(seteuid(us), 0);
}

TEST(the_last_places_of_a_systems_node_are_for_other_users)
{
	struct node_opts o = { .fd = -1, .clients = 20, .system = true };
	bool root = geteuid() == 0;
	uid_t one = root ? OWN : geteuid();
	struct page p[15];
	struct wire_msg r;
	int n = 0;

	listen_up(&o);
	ck_assert_int_eq(chmod(folder, 0711), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	for (; n < 20 - SERVE_CONNS_RESERVED; n++) {
		dial_as(&p[n], one);
		page_greet(&p[n], WIRE_ROLE_READ);
	}
	dial_as(&p[n], one);
	ck_assert(page_receive(&p[n], &r));
	expect_error(&r, WIRE_E_BUSY);
	n++;
	if (root) {
		dial_as(&p[n], OTHER);
		page_greet(&p[n++], WIRE_ROLE_READ);
		dial_as(&p[n], 0);
		page_greet(&p[n++], WIRE_ROLE_READ);
	}
	while (n > 0)
		page_close(&p[--n]);
	listen_down();
}

/*
 * However many silent connections of one user wait in the queue before it: the
 * other's page is the next that comes in.
 */
static const struct {
	unsigned silent;
	bool again;		/* another one after each page */
} floods[] = {
	{ SERVE_STRANGERS, false },
	{ SERVE_STRANGERS + SERVE_DOOR, false },
	{ 300, false },
	{ 200, true },
};

static void
many_descriptors(void)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

CASE("flood", .setup = many_descriptors, .seconds = 60);

LOOP_TEST(a_flood_of_silent_connections_keeps_no_other_user_out, 0,
    BASE_NELEM(floods))
{
	struct node_opts o = { .fd = -1, .system = true };
	struct page *silent = calloc(400, sizeof *silent), p[20];
	unsigned n = 0;

	/* Who is not root cannot be two. */
	if (geteuid() != 0)
		return;
	listen_up(&o);
	ck_assert_int_eq(chmod(folder, 0711), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	while (n < floods[_i].silent)
		dial_as(&silent[n++], OWN);
	for (unsigned i = 0; i < BASE_NELEM(p); i++) {
		dial_as(&p[i], OTHER);
		page_greet(&p[i], WIRE_ROLE_READ);
		/* Before most of those that were there first. */
		ck_assert(i > 0 || node.serve->last_id <=
		    SERVE_STRANGERS + SERVE_DOOR + 1);
		if (floods[_i].again)
			dial_as(&silent[n++], OWN);
	}
	while (n > 0)
		page_close(&silent[--n]);
	for (unsigned i = 0; i < BASE_NELEM(p); i++)
		page_close(&p[i]);
	free(silent);
	listen_down();
}

static void
few_descriptors(void)
{
	struct rlimit limit = { 128, 128 };

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

CASE("descriptors", .setup = few_descriptors);

TEST(without_a_descriptor_left_a_page_is_still_told_so)
{
	struct wire_msg r;
	struct page p;
	int fd, taken[256];
	size_t n = 0;

	listen_up(NULL);
	dial(&p);
	while ((fd = dup(p.fd)) >= 0 || errno != EMFILE) {
		ck_assert_int_ge(fd, 0);
		taken[n++] = fd;
		ck_assert_uint_lt(n, BASE_NELEM(taken));
	}
	ck_assert(page_receive(&p, &r));
	expect_error(&r, WIRE_E_BUSY);
	ck_assert_uint_eq(node.serve->refused, 1);
	/* With descriptors to be had it serves on. */
	while (n > 0)
		close(taken[--n]);
	page_close(&p);
	dial(&p);
	page_greet(&p, WIRE_ROLE_READ);
	page_close(&p);
	listen_down();
}

/* --- sockets that systemd opened ---------------------------------------- */

enum passed { STREAM, SEQPACKET, DEAF, DATAGRAM, ABSTRACT, A_FILE, NOTHING };

static int
make_passed(enum passed kind, unsigned no)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	socklen_t len = sizeof sa;
	int fd;

	if (kind == A_FILE)
		return open("/dev/null", O_RDONLY);
	fd = socket(AF_UNIX, kind == SEQPACKET ? SOCK_SEQPACKET :
	    kind == DATAGRAM ? SOCK_DGRAM : SOCK_STREAM, 0);
	if (kind == ABSTRACT)
		len = offsetof(struct sockaddr_un, sun_path) + 1 +
		    (socklen_t)sprintf(sa.sun_path + 1, "check_daemon.%d",
		    (int)getpid());
	else
		sprintf(sa.sun_path, "%s/s%u", folder, no);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	if (kind != DEAF && kind != DATAGRAM)
		ck_assert_int_eq(listen(fd, 5), 0);
	return fd;
}

static const struct {
	enum passed kind[2];
	int r;
	bool for_another;		/* process */
} passed[] = {
	{ { STREAM, SEQPACKET }, 0, false },
	{ { SEQPACKET, STREAM }, 0, false },
	{ { STREAM, NOTHING }, 0, false },
	{ { NOTHING, NOTHING }, 0, false },
	{ { STREAM, SEQPACKET }, 0, true },
	{ { STREAM, STREAM }, -EINVAL, false },
	{ { STREAM, DEAF }, -EINVAL, false },
	{ { DATAGRAM, NOTHING }, -EINVAL, false },
	{ { ABSTRACT, NOTHING }, -EINVAL, false },
	{ { STREAM, A_FILE }, -EINVAL, false },
};

CASE("passed");

LOOP_TEST(sockets_that_were_passed_are_told_by_their_type, 0,
    BASE_NELEM(passed))
{
	struct inherited stream, seqpacket, *one;
	char text[16];
	unsigned n = 0;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	/* What the harness has open there is of no use in this process. */
	for (int fd = 3; fd < 32; fd++)
		close(fd);
	for (; n < 2 && passed[_i].kind[n] != NOTHING; n++)
		ck_assert_int_eq(make_passed(passed[_i].kind[n], n),
		    (int)(3 + n));
	sprintf(text, "%d", passed[_i].for_another ? 1 : (int)getpid());
	setenv("LISTEN_PID", text, 1);
	sprintf(text, "%u", n);
	setenv("LISTEN_FDS", text, 1);
	ck_assert_int_eq(inherited_take(&stream, &seqpacket, NULL, NULL),
	    passed[_i].r);
	ck_assert_ptr_null(getenv("LISTEN_FDS"));
	for (unsigned i = 0; i < n; i++) {
		int fd = (int)(3 + i);

		one = passed[_i].kind[i] == STREAM ? &stream : &seqpacket;
		if (passed[_i].r < 0) {
			ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
		} else if (!passed[_i].for_another) {
			ck_assert_int_eq(one->fd, fd);
			ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
			ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
			sprintf(text, "/s%u", i);
			ck_assert_str_eq(one->path + strlen(folder), text);
		}
	}
	if (passed[_i].for_another || n == 0)
		ck_assert_int_eq(stream.fd, -1);
	for (unsigned i = 0; i < n; i++) {
		sprintf(path, "%s/s%u", folder, i);
		unlink(path);
	}
	ck_assert_int_eq(rmdir(folder), 0);
}

/* --- what has ended ----------------------------------------------------- */

static struct keeper *
end_one(uint32_t pid, uid_t uid)
{
	struct keeper *k;
	char name[32];

	ck_assert_int_eq(keeper_new(&k, &node,
	    &(struct keeper_opts){ .max = 64 }, NULL), 0);
	k->image.pid = (pid_t)pid;
	k->image.uid = uid;
	sprintf(name, "ALLOCLOG.t.%u", pid);
	ck_assert_int_eq(images_join(k, name), 0);
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	return k;
}

static unsigned
ended_rows_of(uid_t uid)
{
	struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &node.images->ended, link)
		n += k->image.uid == uid;
	return n;
}

static unsigned
ended_rows(void)
{
	return ended_rows_of(OWN) + ended_rows_of(OTHER);
}

CASE("ended");

TEST(a_daemon_does_not_keep_what_has_ended_for_ever)
{
	struct node_opts o = { .fd = -1, .daemon = true };

	node_up(&o);
	for (uint32_t i = 1; i <= NODE_ENDED_ROWS + 20; i++)
		end_one(i, OWN);
	images_second(&node);
	ck_assert_uint_eq(ended_rows(), NODE_ENDED_ROWS);
	/* The last of them stay; and after their time nobody does. */
	ck_assert_int_eq(TAILQ_FIRST(&node.images->ended)->image.pid, 21);
	TAILQ_FIRST(&node.images->ended)->life.ended_ms -= NODE_ENDED_MS + 1;
	images_second(&node);
	ck_assert_uint_eq(ended_rows(), NODE_ENDED_ROWS - 1);
	ck_assert_uint_eq(node.quota->n, 0);
	node_down();
}

TEST(a_node_of_a_command_keeps_all_rows_that_fit)
{
	node_up(NULL);
	for (uint32_t i = 1; i <= NODE_ENDED_ROWS + 20; i++)
		end_one(i, OWN);
	images_second(&node);
	ck_assert_uint_eq(ended_rows(), NODE_ENDED_ROWS + 20);
	node_down();
}

TEST(what_a_row_has_told_is_not_lost_with_it)
{
	uint64_t n[WIRE_STATS_COUNT] = { 0 };
	struct rec rec = { .w = {
		rec_w0(0x1000, REC_FLAGS(REC_ALLOC, 1), TYPE_MALLOC),
		rec_w1(5000, 1),
	} };
	int64_t ms = 1;
	struct keeper *k, *missed;

	node_up(NULL);
	images_stat(&node, n);
	ck_assert_uint_eq(n[WIRE_N_GONE], 0);
	ck_assert_str_eq(images_missed_why(&node), "");
	ck_assert_int_eq(keeper_new(&k, &node,
	    &(struct keeper_opts){ .max = 1 }, NULL), 0);
	k->image.pid = 1;
	k->image.uid = OWN;
	ck_assert_int_eq(images_join(k, "ALLOCLOG.t.1"), 0);
	keeper_take(k, &rec, 1, ms, &ms, NULL, 0);
	rec.w[0] = rec_w0(0x8000, REC_FLAGS(REC_ALLOC, 1), TYPE_MALLOC);
	keeper_take(k, &rec, 1, ms, &ms, NULL, 0);
	k->numbers.lost[STREAM_RING_FULL] = 3;
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	end_one(2, OWN);
	missed = end_one(3, OWN);
	missed->missed = true;
	snprintf(missed->life.reason, sizeof missed->life.reason, "static");
	images_count_missed(&node, 0, "none");
	while (ended_rows() > 0)
		images_make_room(&node);
	images_stat(&node, n);
	ck_assert_uint_eq(n[WIRE_N_GONE], 3);
	ck_assert_uint_eq(n[WIRE_N_GONE_PEAK], 5000);
	ck_assert_uint_eq(n[WIRE_N_GONE_LOST], 3);
	ck_assert_uint_eq(n[WIRE_N_GONE_MISSED], 1);
	ck_assert_str_eq(images_missed_why(&node), "static");
	ck_assert_uint_eq(n[WIRE_N_GONE_FULL], 1);
	node_down();
}

TEST(a_users_many_rows_push_out_no_other_users)
{
	struct node_opts o = { .fd = -1, .daemon = true };

	node_up(&o);
	for (uint32_t i = 1; i <= 3; i++)
		end_one(i, OTHER);
	for (uint32_t i = 4; i <= 2 * NODE_ENDED_ROWS; i++)
		end_one(i, OWN);
	images_second(&node);
	ck_assert_uint_eq(ended_rows_of(OTHER), 3);
	ck_assert_uint_eq(ended_rows_of(OWN), NODE_ENDED_ROWS - 3);
	/* Of its own the oldest went. */
	ck_assert_int_eq(TAILQ_LAST(&node.images->ended, keepers)->image.pid,
	    2 * NODE_ENDED_ROWS);
	node_down();
}

/* Who is not told apart has come when there was no place: his go, too. */
TEST(rows_go_however_many_users_they_are_of)
{
	struct node_opts o = { .fd = -1, .daemon = true };
	struct keeper *k;
	unsigned n = 0;

	node_up(&o);
	for (uint32_t i = 1; i <= 3 * NODE_ENDED_ROWS; i++)
		end_one(i, 1000 + i % (3 * NODE_ENDED_USERS));
	images_second(&node);
	TAILQ_FOREACH(k, &node.images->ended, link)
		n++;
	ck_assert_uint_eq(n, NODE_ENDED_ROWS);
	while (images_make_room(&node))
		n--;
	ck_assert_uint_eq(n, 0);
	ck_assert(TAILQ_EMPTY(&node.images->ended));
	node_down();
}

TEST(a_users_many_lists_push_out_no_other_users)
{
	struct node_opts o = { .fd = -1, .daemon = true };
	struct keeper *theirs, *first = NULL, *k;
	unsigned kept = 0;

	node_up(&o);
	theirs = end_one(1, OTHER);
	for (uint32_t i = 2; i <= 2 * NODE_LISTS_SHELVED; i++) {
		k = end_one(i, OWN);
		first = first == NULL ? k : first;
	}
	ck_assert_ptr_nonnull(theirs->list);
	ck_assert_ptr_null(first->list);
	TAILQ_FOREACH(k, &node.images->ended, link)
		kept += k->list != NULL;
	ck_assert_uint_eq(kept, NODE_LISTS_SHELVED);
	/* Nor is what somebody looks at dropped, nor the last one. */
	TAILQ_FOREACH(k, &node.images->ended, link)
		k->visits.read_ms = mono_ms(mono_now());
	k = end_one(1000, OWN);
	ck_assert_ptr_nonnull(k->list);
	node_down();
}

/* --- suite -------------------------------------------------------------- */
