/*
 * What a forked child has of its parent when it says hello, and what nobody has
 * of a stranger.
 */
#include <limits.h>
#include <link.h>

#include "../src/alloclog/unwind/unwind.h"
#include "target_rig.h"

CASE("children", .seconds = 60);

TEST(a_forked_child_inherits_what_its_parent_had)
{
	struct target t;
	struct producer p;
	struct keeper *parent, *k;
	pid_t pid;

	up();
	if (begin(&t)) {
		/* The child of this target is the one that stops. */
		attach(false, &p);
		allocate(&p, 0x10000, 10);
		allocate(&p, 0x20000, 20);
		allocate(&p, 0x30000, 30);
		pid = fork();
		if (pid == 0) {
			attach(true, &p);
			release(&p, 0x20000);
			allocate(&p, 0x40000, 40);
			stop_here(&t);
			_exit(0);
		}
		/* The parent goes on before the node has seen the child. */
		release(&p, 0x10000);
		allocate(&p, 0x10000, 111);
		for (uint64_t i = 1; i <= 3000; i++) {
			allocate(&p, 0x100000 + i % 7 * 16, i);
			release(&p, 0x100000 + i % 7 * 16);
		}
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	until_stop(&t);
	parent = keeper_of(t.pid);
	ck_assert_ptr_nonnull(parent);
	k = TAILQ_LAST(&node.live, keepers);
	ck_assert_ptr_ne(k, parent);
	drain(k);
	ck_assert(keeper_complete(k));
	ck_assert_uint_eq(keeper_counts(k)->inherited, 3);
	ck_assert_uint_eq(keeper_counts(k)->allocs, 1);
	ck_assert_uint_eq(keeper_counts(k)->frees, 1);
	ck_assert_uint_eq(keeper_counts(k)->unknown_free, 0);
	ck_assert_uint_eq(keeper_counts(k)->live_bytes, 10 + 30 + 40);
	go_on(&t);
	until_ended(k);
	until_ended(parent);
	ck_assert_uint_eq(keeper_counts(parent)->live_bytes, 111 + 20 + 30);
	ck_assert_int_eq(waitpid(t.pid, NULL, 0), t.pid);
	down();
}

/* In the target: of the addresses after it, the first of the same shard. */
static uint64_t
next_of_shard(uint64_t addr)
{
	uint64_t next = addr + 16;

	while (rec_shard(next) != rec_shard(addr))
		next += 16;
	return next;
}

/* Publishes a record with an earlier ticket, as a thread that was held up. */
static void
publish_late(struct ring_area *area, unsigned op, uint64_t addr,
    uint32_t ticket)
{
	struct ring_head *ring;
	unsigned i = atomic_fetch_add(&area->next_ring, 1);
	unsigned thread = atomic_fetch_add(&area->threads, 1);
	size_t offset;
	struct rec *r;

	(void)ring_place(i, &offset);
	r = (struct rec *)((char *)area + offset);
	r->w[0] = rec_w0(addr, REC_FLAGS(op, 0),
	    op == REC_FREE ? TYPE_FREE : TYPE_MALLOC);
	r->w[1] = rec_w1(op == REC_FREE ? 0 : 1000, thread);
	r->w[2] = rec_w2(ticket, (uint32_t)told_ms);
	r->w[3] = 0x1234;
	ring = &area->rings[i];
	atomic_store(&ring->owner, (uint32_t)getpid());
	atomic_store(&ring->head, 1);
}

/*
 * The node has passed over the ticket of a thread, whose record comes just
 * before the fork.
 */
static const struct {
	unsigned op;
	uint64_t addr;
	uint64_t live_bytes;		/* of the child */
} owed[] = {
	{ REC_ALLOC, 0x30000, 10 + 20 + 30 + 1000 },
	{ REC_FREE, 0x20000, 10 + 30 },
};

LOOP_TEST(a_child_inherits_what_was_owed_when_its_parent_forked, 0,
    BASE_NELEM(owed))
{
	unsigned op = owed[_i].op;
	uint64_t addr = owed[_i].addr;
	struct target t;
	struct producer p;
	struct keeper *parent, *k;

	up();
	if (begin(&t)) {
		struct ring_area *area = attach(false, &p);
		uint32_t ticket;
		pid_t pid;

		allocate(&p, 0x10000, 10);
		allocate(&p, 0x20000, 20);
		ticket = atomic_fetch_add(
		    &produce_tickets_now()[rec_shard(addr)].next, 1);
		allocate(&p, next_of_shard(addr), 30);
		stop_here(&t);
		publish_late(area, op, addr, ticket);
		pid = fork();
		if (pid == 0) {
			attach(true, &p);
			stop_here(&t);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	until_stop(&t);
	parent = keeper_of(t.pid);
	ck_assert_ptr_nonnull(parent);
	while (stream_feed_counts(parent->feed)->owed == 0)
		drain(parent);
	go_on(&t);
	until_stop_without_loop(&t);
	images_adopt_all(&node);
	k = TAILQ_LAST(&node.live, keepers);
	ck_assert_ptr_ne(k, parent);
	ck_assert_uint_eq(keeper_counts(k)->live_bytes, owed[_i].live_bytes);
	ck_assert(keeper_complete(k));
	go_on(&t);
	until_ended(k);
	until_ended(parent);
	ck_assert_uint_eq(keeper_counts(parent)->live_bytes,
	    owed[_i].live_bytes);
	ck_assert_int_eq(waitpid(t.pid, NULL, 0), t.pid);
	down();
}

/* In the target: a block whose stack is one frame of the program itself. */
static void
allocate_from(struct producer *p, uint64_t addr, uint64_t pc)
{
	static char program[] = "";
	struct link_map map = { .l_name = program };
	struct cfi_object o = { .start = 0x400010, .end = 0x500000,
		.map = &map };
	uint64_t frame = frame_make(pc, sites_module(&o));

	produce_alloc(p, addr, 16, 16, TYPE_MALLOC, 0,
	    rec_site_caller(sites_put(&frame, 1, RING_END_OUTERMOST)));
}

static void
expect_stack(const struct keeper *k, uint64_t addr, uint64_t pc)
{
	char exe[PATH_MAX];
	struct stream_module m;
	struct stream_site site;
	struct blk b;

	ck_assert_int_eq(blklist_get(k->list, 0, addr, &b), 0);
	ck_assert(rec_is_site(b.caller));
	ck_assert(stream_sites_get(k->sites, rec_site(b.caller), &site));
	ck_assert_uint_eq(frame_pc(site.frame[0]), pc);
	ck_assert(stream_sites_get_module(k->sites,
	    frame_module(site.frame[0]), &m));
	ck_assert_ptr_nonnull(realpath("/proc/self/exe", exe));
	ck_assert_str_eq(m.path, exe);
}

TEST(stacks_are_asked_for_and_shared_with_forked_children)
{
	struct target t;
	struct producer p;
	struct keeper *parent, *k;
	pid_t pid;

	up();
	if (begin(&t)) {
		attach(false, &p);
		if (stack_wanted != (16 | RING_STACK_FREES))
			_exit(105);
		allocate_from(&p, 0x10000, 0x400100);
		allocate_from(&p, 0x20000, 0x400200);
		pid = fork();
		if (pid == 0) {
			attach(true, &p);
			/* Its first number is the parent's of another stack. */
			allocate_from(&p, 0x30000, 0x400300);
			stop_here(&t);
			_exit(0);
		}
		allocate_from(&p, 0x30000, 0x400400);
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	until_stop(&t);
	parent = keeper_of(t.pid);
	ck_assert_ptr_nonnull(parent);
	k = TAILQ_LAST(&node.live, keepers);
	ck_assert_ptr_eq(k->sites, parent->sites);
	drain(k);
	go_on(&t);
	until_ended(k);
	until_ended(parent);
	expect_stack(parent, 0x10000, 0x400100);
	expect_stack(parent, 0x30000, 0x400400);
	expect_stack(k, 0x10000, 0x400100);
	expect_stack(k, 0x20000, 0x400200);
	expect_stack(k, 0x30000, 0x400300);
	ck_assert_uint_eq(stream_sites_modules(k->sites), 1);
	ck_assert_int_eq(waitpid(t.pid, NULL, 0), t.pid);
	down();
}

/* In the target: says hello as a child of that stream. */
static void
attach_as_child_of(uint64_t parent)
{
	struct ring_hello h = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION, .flags = RING_HELLO_FORKED,
		.parent = parent };
	struct ring_welcome w;
	int fds[2];

	/* A fork at which each address had one event behind it. */
	for (int s = 0; s < REC_SHARDS; s++)
		h.tickets[s] = 1;
	if (say_hello(&h, sizeof h, &w, fds) != sizeof w || fds[0] < 0)
		_exit(103);
	close(fds[0]);
	close(fds[1]);
}

/* A target with three blocks, at a stop. */
static void
begin_with_three(struct target *t)
{
	struct producer p;

	if (begin(t)) {
		attach(false, &p);
		for (uint64_t i = 1; i <= 3; i++)
			allocate(&p, i * 0x10000, 10 * i);
		stop_here(t);
		_exit(0);
	}
	until_stop(t);
}

/* What a child that was not forked by `of` gets of its blocks: all or none. */
static uint64_t
inherited_by_a_stranger(uint64_t parent, uid_t uid)
{
	struct target t;
	struct keeper *k;
	uint64_t n;

	if (begin(&t)) {
		if (uid != 0 && setuid(uid) != 0)
			_exit(105);
		attach_as_child_of(parent);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	k = keeper_of(t.pid);
	ck_assert_ptr_nonnull(k);
	drain(k);
	n = keeper_counts(k)->inherited;
	ck_assert_int_eq(keeper_complete(k), n != 0);
	end(&t);
	until_ended(k);
	return n;
}

TEST(of_another_users_program_nobody_inherits_by_naming_it)
{
	struct target victim;
	uint64_t stream;

	/* Who is not root cannot be two. */
	if (getuid() != 0)
		return;
	up_for_all();
	begin_with_three(&victim);
	stream = keeper_of(victim.pid)->stream;
	ck_assert_uint_eq(inherited_by_a_stranger(stream, 65534), 0);
	ck_assert_uint_eq(inherited_by_a_stranger(stream, 0), 3);
	end(&victim);
	down();
}

/* Nor is the node's own stream, which has no number, a parent, nor oneself. */
TEST(a_stream_that_nobody_can_come_from_is_no_parent)
{
	struct target t;
	uint64_t next;

	up();
	begin_with_three(&t);
	ck_assert_uint_eq(inherited_by_a_stranger(0, 0), 0);
	/* Each has a stream of its own, and names one a little further on. */
	next = keeper_of(t.pid)->stream + 1;
	for (uint64_t i = 0; i < 8; i++)
		ck_assert_uint_eq(inherited_by_a_stranger(next + 2 * i, 0), 0);
	end(&t);
	down();
}

/* Between hello and fork it may have become another: the kernel knows. */
TEST(a_child_of_who_has_changed_his_user_inherits_all_the_same)
{
	struct target t;
	struct producer p;
	struct keeper *k;
	pid_t pid;

	if (getuid() != 0)
		return;
	up_for_all();
	if (begin(&t)) {
		attach(false, &p);
		allocate(&p, 0x10000, 10);
		if (setuid(65534) != 0)
			_exit(105);
		pid = fork();
		if (pid == 0) {
			attach(true, &p);
			stop_here(&t);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	until_stop(&t);
	k = TAILQ_LAST(&node.live, keepers);
	ck_assert_int_ne(k->image.pid, t.pid);
	ck_assert_uint_eq(k->image.uid, 65534);
	drain(k);
	ck_assert_uint_eq(keeper_counts(k)->inherited, 1);
	ck_assert(keeper_complete(k));
	go_on(&t);
	until_ended(k);
	ck_assert_int_eq(waitpid(t.pid, NULL, 0), t.pid);
	down();
}
