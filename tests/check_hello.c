/*
 * Targets that come in: real processes with the real producer say hello to a
 * node in the test's process.
 */
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "../src/nodes/keeper/takeover_memory.h"
#include "target_rig.h"

/* --- rules -------------------------------------------------------------- */

CASE("targets", .seconds = 60);

TEST(a_target_is_welcomed_and_its_blocks_are_listed)
{
	struct target t;
	struct producer p;
	struct keeper *k;
	struct stat st;

	up();
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	if (begin(&t)) {
		attach(false, &p);
		allocate(&p, 0x10000, 10);
		allocate(&p, 0x20000, 20);
		release(&p, 0x10000);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	ck_assert_ptr_nonnull(k);
	ck_assert_str_eq(k->image.comm, program_invocation_short_name);
	ck_assert_int_eq(k->image.ppid, getpid());
	drain(k);
	ck_assert_uint_eq(keeper_counts(k)->allocs, 2);
	ck_assert_uint_eq(keeper_counts(k)->frees, 1);
	ck_assert_uint_eq(keeper_counts(k)->live_bytes, 20);
	end(&t);
	until_ended(k);
	ck_assert_ptr_eq(last_ended(), k);
	ck_assert_int_eq(k->life.state, WIRE_S_ENDED);
	ck_assert(keeper_complete(k));
	down();
}

static bool little_room;

static bool
holds(struct keeper_tap *tap, struct keeper *k)
{
	(void)tap;
	(void)k;
	return little_room;
}

static void
no_records(struct keeper_tap *tap, struct keeper *k,
    const struct blklist_batch *b)
{
	(void)tap;
	(void)k;
	ck_assert(!little_room);
	ck_assert_uint_eq(b->n, 1);
}

/* As a recording does whose writer has fallen back. */
TEST(records_stay_in_their_rings_while_a_tap_holds_them)
{
	static const struct keeper_tap_ops ops = {
		.holds = holds, .records = no_records };
	struct keeper_tap tap = { .ops = &ops };
	struct target t;
	struct producer p;
	struct keeper *k;
	int64_t now;

	up();
	if (begin(&t)) {
		attach(false, &p);
		stop_here(&t);
		allocate(&p, 0x10000, 10);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	drain(k);
	SLIST_INSERT_HEAD(&k->queue.taps, &tap, link);
	little_room = true;
	go_on(&t);
	until_stop(&t);
	now = mono_ms(mono_now()) + 1;
	ck_assert_int_eq(keeper_visit(k, now), 0);
	/* It shows itself all the same. */
	ck_assert_int_eq(k->visits.beat_ms, now);
	ck_assert_uint_eq(keeper_counts(k)->allocs, 0);
	little_room = false;
	ck_assert_int_eq(keeper_visit(k, now), 1);
	ck_assert_uint_eq(keeper_counts(k)->allocs, 1);
	SLIST_INIT(&k->queue.taps);
	end(&t);
	until_ended(k);
	down();
}

/* Its room was made before, perhaps hours before. */
TEST(a_target_is_told_what_time_it_is)
{
	struct target t;
	struct producer p;
	int64_t made, now;
	int status;

	up();
	made = now = mono_ms(mono_now());
	while (now < made + 20)
		now = mono_ms(mono_now());
	if (begin(&t)) {
		attach(false, &p);
		_exit(told_ms < now ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(t.pid, &status, 0), t.pid);
	ck_assert_int_eq(status, 0);
	close(t.go);
	close(t.there);
	down();
}

/*
 * The store's reader may be slow while rooms are made ahead: whoever comes when
 * he is not is kept.  Nobody reads here but this test.
 */
TEST(a_room_that_could_not_be_stored_is_made_once_more)
{
	struct target t;
	struct producer p;
	struct keeper *k;
	char word[512] = "";
	uint64_t last;
	int store[2];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/hello", folder);
	node_up(NULL);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    store), 0);
	while (send(store[0], word, sizeof word, MSG_DONTWAIT) > 0)
		continue;
	node.store.fds.fd = store[0];
	last = atomic_load(&node.last_stream);
	ck_assert_int_eq(hello_listen(node.hello,
	    socket_bind(path, SOCK_SEQPACKET), path, false), 0);
	ck_assert_int_eq(hello_start(node.hello), 0);
	/* The first of them is made when the second has its number. */
	while (atomic_load(&node.last_stream) < last + 2)
		sched_yield();
	while (recv(store[1], word, sizeof word, MSG_DONTWAIT) > 0)
		continue;
	if (begin(&t)) {
		attach(false, &p);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	ck_assert_ptr_nonnull(k);
	ck_assert_ptr_nonnull(k->takeover.memory);
	ck_assert(k->takeover.memory->stored);
	end(&t);
	until_ended(k);
	node_down();
	close(store[1]);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void
lock_in(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(105);
}

/* A hello with these flags, of one that is locked in, and what is known of it. */
static struct sandbox
sandbox_at_hello(uint32_t flags)
{
	struct producer p;
	struct target t;
	struct keeper *k;
	struct sandbox seen;

	up();
	if (begin(&t)) {
		lock_in();
		more_flags = flags;
		attach(false, &p);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	ck_assert_ptr_nonnull(k);
	seen = k->sandbox;
	end(&t);
	until_ended(k);
	down();
	return seen;
}

TEST(who_does_not_say_that_it_is_free_is_looked_at)
{
	struct sandbox seen = sandbox_at_hello(0);

	ck_assert(seen.known);
	ck_assert_uint_eq(seen.at_hello >> 32, SECCOMP_MODE_FILTER);
}

TEST(who_says_that_it_is_free_is_believed)
{
	struct sandbox seen = sandbox_at_hello(RING_HELLO_FREE);

	ck_assert(seen.known);
	ck_assert_uint_eq(seen.at_hello, 0);
}

/* It may be another thread than the first who says it. */
TEST(who_says_hello_again_is_looked_at)
{
	struct sandbox seen = sandbox_at_hello(RING_HELLO_FREE |
	    RING_HELLO_AGAIN);

	ck_assert(seen.known);
	ck_assert_uint_eq(seen.at_hello >> 32, SECCOMP_MODE_FILTER);
}

/* The first loop keeps two descriptors of libuv open, and zeros_keep() one. */
static uint64_t
fds_at_first(void)
{
	uv_loop_t first;

	zeros_keep();
	ck_assert_int_eq(uv_loop_init(&first), 0);
	ck_assert_int_eq(uv_loop_close(&first), 0);
	return open_fds();
}

/* More of them than there are spares. */
TEST(targets_that_come_and_go_leave_the_descriptors_as_they_were)
{
	struct producer p;
	uint64_t before;
	struct target t;
	struct keeper *k;

	before = fds_at_first();
	up();
	for (int i = 0; i < 7; i++) {
		if (begin(&t)) {
			attach(false, &p);
			stop_here(&t);
			_exit(0);
		}
		until_stop(&t);
		k = keeper_of(t.pid);
		ck_assert_ptr_nonnull(k);
		end(&t);
		until_ended(k);
	}
	down();
	ck_assert_uint_eq(open_fds(), before);
}

/* Sends a few bytes that are no hello, with so many descriptors. */
static void
send_descriptors(size_t n)
{
	union {
		char buf[CMSG_SPACE(8 * sizeof(int))];
		struct cmsghdr align;
	} control = { .buf = { 0 } };
	struct iovec iov = { .iov_base = (char[]){ "bytes" }, .iov_len = 5 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fd = connect_node(), null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &null, sizeof null);
	if (sendmsg(fd, &msg, MSG_NOSIGNAL) != 5)
		_exit(103);
	close(null);
	close(fd);
}

/* A hello that comes later is answered later. */
TEST(descriptors_that_come_with_other_bytes_are_closed)
{
	struct producer p;
	uint64_t before;
	struct target t;

	before = fds_at_first();
	up();
	if (begin(&t)) {
		for (size_t n = 1; n <= 8; n++)
			send_descriptors(n);
		attach(false, &p);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	ck_assert_ptr_nonnull(keeper_of(t.pid));
	end(&t);
	until_ended(keeper_of(t.pid));
	down();
	ck_assert_uint_eq(open_fds(), before);
}

/* So many targets, which are there at once. */
static void
begin_some(void (*wait)(const struct target *), struct target *t, size_t n)
{
	struct producer p;

	for (size_t i = 0; i < n; i++) {
		if (begin(&t[i])) {
			attach(false, &p);
			stop_here(&t[i]);
			_exit(0);
		}
		wait(&t[i]);
	}
}

/* Whether a hello of theirs was held back. */
static bool
some_are_held(void (*wait)(const struct target *), struct target *t, size_t n)
{
	bool held;

	up();
	begin_some(wait, t, n);
	held = atomic_load(&node.hello->delayed) > 0;
	images_adopt_all(&node);
	for (size_t i = 0; i < n; i++) {
		ck_assert_ptr_nonnull(keeper_of(t[i].pid));
		end(&t[i]);
	}
	down();
	return held;
}

TEST(a_hello_waits_for_a_loop_that_is_behind_and_is_welcomed_in_the_end)
{
	struct target t[HELLO_BEHIND + 1];

	ck_assert(some_are_held(until_stop_without_loop, t, HELLO_BEHIND + 1));
}

TEST(no_hello_waits_for_a_loop_that_follows)
{
	struct target t[HELLO_BEHIND + 1];

	ck_assert(!some_are_held(until_stop, t, HELLO_BEHIND + 1));
}

TEST(no_hello_waits_before_the_loop_is_behind)
{
	struct target t[HELLO_BEHIND];

	ck_assert(!some_are_held(until_stop_without_loop, t, HELLO_BEHIND));
}

TEST(a_command_that_nobody_waits_for_goes_on_with_who_has_just_come_in)
{
	char name[] = "true", *command[] = { name, NULL };
	struct target t;
	struct producer p;

	up();
	node.opts.argv = command;
	node.command.unsupervised = true;
	if (begin(&t)) {
		attach(false, &p);
		stop_here(&t);
		_exit(0);
	}
	until_stop_without_loop(&t);
	run_second(&node);
	ck_assert(!node.command.ended);
	ck_assert_ptr_nonnull(keeper_of(t.pid));
	end(&t);
	until_ended(keeper_of(t.pid));
	run_second(&node);
	ck_assert(node.command.ended);
	/* It has told the loop to stop, which the next run does. */
	uv_run(&loop, UV_RUN_NOWAIT);
	node.opts.argv = NULL;
	down();
}

static struct ring_area *the_area;

static void
act_rightly(struct producer *p)
{
	allocate(p, 0x10000, 20);
}

static void
act_free_again(struct producer *p)
{
	release(p, 0x10000);
}

static void
act_allocate_again(struct producer *p)
{
	allocate(p, 0x10000, 20);
	allocate(p, 0x10000, 30);
}

static void
act_apart(struct producer *p)
{
	allocate(p, 0x10000, 20);
	atomic_store(&the_area->past, RING_PAST_NAMESPACE);
}

TEST(what_a_target_did_just_before_its_end_is_counted)
{
	struct target t;
	struct producer p;
	struct keeper *k;

	up();
	if (begin(&t)) {
		attach(false, &p);
		stop_here(&t);
		for (uint64_t i = 1; i <= 5000; i++)
			allocate(&p, i * 16, i);
		kill(getpid(), SIGKILL);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	end(&t);
	until_ended(k);
	ck_assert_uint_eq(keeper_counts(k)->allocs, 5000);
	ck_assert(keeper_complete(k));
	down();
}

/* What a target does after an allocation and a free, and why that is doubtful. */
static const struct {
	void (*act)(struct producer *);
	const char *lacks;
} doubts[] = {
	{ act_rightly, "" },
	{ act_free_again, "calls of malloc or free went past the library" },
	{ act_allocate_again, "calls of malloc or free went past the library" },
	{ act_apart, "objects that dlmopen or LD_AUDIT has loaded have a malloc "
	    "of their own" },
};

LOOP_TEST(calls_that_were_not_seen_make_a_list_doubtful, 0, BASE_NELEM(doubts))
{
	struct target t;
	struct producer p;
	struct keeper *k;

	up();
	if (begin(&t)) {
		the_area = attach(false, &p);
		allocate(&p, 0x10000, 10);
		release(&p, 0x10000);
		doubts[_i].act(&p);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	drain(k);
	for (int ended = 0; ended < 2; ended++) {
		ck_assert_uint_eq(keeper_lost(k), 0);
		ck_assert_str_eq(keeper_lacks(k), doubts[_i].lacks);
		ck_assert_int_eq(keeper_complete(k), _i == 0);
		if (ended == 0) {
			end(&t);
			until_ended(k);
		}
	}
	down();
}

TEST(another_version_is_answered_without_rings)
{
	struct target t;
	int status;

	up();
	if (begin(&t)) {
		struct ring_hello h = { .magic = RING_HELLO_MAGIC,
			.version = RING_VERSION + 1 };
		struct ring_welcome w = { .version = 0 };
		int fds[2];

		if (say_hello(&h, 8, &w, fds) != sizeof w)
			_exit(1);
		_exit(w.version == RING_VERSION && w.stream == 0 &&
		    fds[0] < 0 ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(t.pid, &status, 0), t.pid);
	ck_assert_int_eq(status, 0);
	down();
}

TEST(a_second_hello_of_a_pid_ends_its_image)
{
	struct target t;
	struct producer p;
	struct keeper *first, *second;

	up();
	if (begin(&t)) {
		attach(false, &p);
		allocate(&p, 0x10000, 10);
		stop_here(&t);
		allocate(&p, 0x20000, 20);
		attach(false, &p);
		allocate(&p, 0x30000, 30);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	first = keeper_of(t.pid);
	go_on(&t);
	until_stop(&t);
	second = keeper_of(t.pid);
	ck_assert_ptr_ne(first, second);
	ck_assert_int_eq(first->life.state, WIRE_S_EXECED);
	/* What the first one did last is not lost, and not the second's. */
	ck_assert_uint_eq(keeper_counts(first)->allocs, 2);
	drain(second);
	ck_assert_uint_eq(keeper_counts(second)->allocs, 1);
	ck_assert_uint_eq(keeper_counts(second)->inherited, 0);
	end(&t);
	until_ended(second);
	down();
}

/* What a target is given that had this stream and says hello again; 0 nothing. */
static uint64_t
welcomed_again(uint64_t parent)
{
	struct ring_hello h = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION, .flags = RING_HELLO_AGAIN,
		.parent = parent };
	struct ring_welcome w;
	int fds[2];
	ssize_t n = say_hello(&h, sizeof h, &w, fds);

	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return n == (ssize_t)sizeof w ? w.stream : 0;
}

TEST(who_says_hello_again_and_is_drained_is_not_welcomed)
{
	const uint64_t taken = 40, another = 41, last = 42;
	struct keeper *k;
	uint64_t given;
	int fds[3];

	/* As after a take-over: of what there was, one stream goes on. */
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/hello", folder);
	node_up(NULL);
	atomic_store(&node.last_stream, last);
	ck_assert_int_eq(hello_listen(node.hello,
	    socket_bind(path, SOCK_SEQPACKET), path, false), 0);
	ck_assert_int_eq(keeper_new(&k, &node, &(struct keeper_opts){
	    .with_feed = true }, fds), 0);
	k->stream = taken;
	ck_assert_int_eq(images_join(k, "ALLOCLOG.taken.1"), 0);
	ck_assert_int_eq(hello_start(node.hello), 0);

	ck_assert_uint_eq(welcomed_again(taken), 0);
	given = welcomed_again(another);
	ck_assert_uint_gt(given, last);
	ck_assert_uint_eq(welcomed_again(given), 0);
	/* Of another node, perhaps, that came after us: nobody has it of us. */
	ck_assert_uint_ne(welcomed_again(given + 1), 0);
	ck_assert_uint_ne(welcomed_again(last + 7000), 0);
	close(fds[0]);
	close(fds[1]);
	down();
}

/* It is in the midst of its program, and most likely dismissed at once. */
TEST(who_says_hello_again_waits_for_no_loop)
{
	struct target t[HELLO_BEHIND];

	up();
	begin_some(until_stop_without_loop, t, HELLO_BEHIND);
	ck_assert_uint_ne(welcomed_again(7000), 0);
	ck_assert_uint_eq(atomic_load(&node.hello->delayed), 0);
	for (size_t i = 0; i < HELLO_BEHIND; i++)
		end(&t[i]);
	down();
}

TEST(a_target_that_damages_its_rings_is_detached_alone)
{
	struct target bad, good;
	struct producer p;
	struct keeper *k, *other;

	up();
	if (begin(&good)) {
		attach(false, &p);
		stop_here(&good);
		allocate(&p, 0x10000, 10);
		stop_here(&good);
		_exit(0);
	}
	until_stop(&good);
	other = keeper_of(good.pid);
	if (begin(&bad)) {
		struct ring_area *ring = attach(false, &p);

		allocate(&p, 0x10000, 10);
		atomic_store(&ring->rings[0].head, UINT64_C(1) << 40);
		stop_here(&bad);
		_exit(0);
	}
	until_stop(&bad);
	k = keeper_of(bad.pid);
	drain(k);
	ck_assert_int_eq(k->life.state, WIRE_S_CORRUPT);
	ck_assert_ptr_null(k->feed);
	ck_assert(!keeper_complete(k));
	ck_assert_str_ne(k->life.reason, "");
	go_on(&good);
	until_stop(&good);
	drain(other);
	ck_assert_int_eq(other->life.state, WIRE_S_LIVE);
	ck_assert_uint_eq(keeper_counts(other)->allocs, 1);
	end(&bad);
	until_ended(k);
	ck_assert_int_eq(k->life.state, WIRE_S_CORRUPT);
	end(&good);
	until_ended(other);
	down();
}

TEST(threads_types_and_requesters_are_taken_from_the_stream)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct target t;
	struct producer p;
	struct keeper *k;
	struct page page;
	uint64_t word;
	char name[16];

	up();
	if (begin(&t)) {
		attach(false, &p);
		memcpy(&word, "CONN\0\0\0", 8);
		produce_control(&p, REC_CTL_TYPE, 0xc4, word);
		memcpy(&word, "a connec", 8);
		produce_control(&p, REC_CTL_TYPE_TEXT, 0xc4, word);
		memcpy(&word, "tion\0\0\0", 8);
		produce_control(&p, REC_CTL_TYPE_TEXT, 0xc4 | 1 << 8, word);
		memcpy(&word, "rx\033\0\0\0\0", 8);
		produce_control(&p, REC_CTL_REQUESTER, 0, word);
		produce_alloc(&p, 0x10000, 10, 10, 0xc4, REC_LAYER_API, 1);
		produce_control(&p, REC_CTL_REQUESTER, 1, 0xab86);
		allocate(&p, 0x20000, 20);
		produce_control(&p, REC_CTL_REQUESTER, 0, 0);
		allocate(&p, 0x30000, 30);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	drain(k);
	ck_assert_str_eq(k->declared.types->by_code[0xc4].name, "CONN");
	ck_assert_str_eq(k->declared.types->by_code[0xc4].text, "a connection");
	ck_assert_uint_eq(keeper_counts(k)->illegal_type, 0);
	keeper_thread_name(k, 1, name, sizeof name);
	ck_assert_str_eq(name, program_invocation_short_name);
	page_open(&page);
	page_greet(&page, WIRE_ROLE_READ);
	m.snap.index = k->index;
	memcpy(m.snap.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_ask(&page, &m, &r);
	ck_assert_uint_eq(r.part.count, 3);
	ck_assert_uint_eq(r.part.ninfo, 2);
	/* In address order, the API's layer last. */
	ck_assert_uint_eq(r.part.info[0].at, 0);
	ck_assert_uint_eq(r.part.info[0].node, 0xab86);
	ck_assert_uint_eq(r.part.info[1].at, 2);
	ck_assert_uint_eq(r.part.info[1].name.len, 6);
	ck_assert_mem_eq(r.part.info[1].name.s, "rx\\x1B", 6);
	page_close(&page);
	end(&t);
	until_ended(k);
	down();
}

TEST(a_target_can_be_ended_by_a_page_that_may)
{
	struct wire_msg r, m = { .type = WIRE_END };
	struct target t;
	struct producer p;
	struct keeper *k;
	struct page page;
	int status;

	up();
	if (begin(&t)) {
		attach(false, &p);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	page_open(&page);
	page_greet(&page, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
	m.end.index = k->index;
	memcpy(m.end.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_ask(&page, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_ENDED);
	ck_assert_int_eq(waitpid(t.pid, &status, 0), t.pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	until_ended(k);
	page_close(&page);
	close(t.go);
	close(t.there);
	down();
}
