/*
 * Targets of a node in the test's own process: real processes with the real
 * producer, which say hello to it and wait at stops.
 *
 * Example
 *	up();
 *	if (begin(&t)) {
 *		attach(false, &p);		(in the target)
 *		allocate(&p, 0x10000, 10);
 *		stop_here(&t);
 *		_exit(0);
 *	}
 *	until_stop(&t);				(its hello is answered)
 *	k = keeper_of(t.pid);
 *	...
 *	end(&t);
 *	down();
 */
#ifndef TESTS_TARGET_RIG_H
#define TESTS_TARGET_RIG_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "../src/alloclog/produce/produce.h"
#include "node_harness.h"

static char folder[] = "/tmp/check_target.XXXXXX";
static char path[sizeof folder + 8];

static bool of_all_users;		/* the node, of the system */

static inline void
up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/hello", folder);
	node_up(NULL);
	node.opts.stack = 16;
	node.opts.free_stacks = true;
	/* Before there is a thread that reads it. */
	node.access.system = of_all_users;
	ck_assert_int_eq(hello_listen(node.hello,
	    socket_bind(path, SOCK_SEQPACKET), path, false), 0);
	if (of_all_users) {
		ck_assert_int_eq(chmod(folder, 0755), 0);
		ck_assert_int_eq(chmod(path, 0666), 0);
	}
	ck_assert_int_eq(hello_start(node.hello), 0);
}

static inline void
up_for_all(void)
{
	of_all_users = true;
	up();
}

static inline void
down(void)
{
	node_down();
	ck_assert_int_eq(rmdir(folder), 0);
}

/* --- the target's side; in a process of its own ------------------------- */

static inline int
connect_node(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(sa.sun_path, path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof sa) < 0)
		_exit(101);
	return fd;
}

/* Sends n bytes of *h; bytes of the answer, its descriptors in fds (or -1). */
static inline ssize_t
say_hello(const struct ring_hello *h, size_t n, struct ring_welcome *w,
    int fds[2])
{
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = w, .iov_len = sizeof *w };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof control.buf };
	int fd = connect_node();
	ssize_t got;

	fds[0] = fds[1] = -1;
	if (send(fd, h, n, 0) != (ssize_t)n)
		_exit(102);
	got = recvmsg(fd, &msg, 0);
	if (got > 0 && msg.msg_controllen > 0)
		memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), 2 * sizeof(int));
	close(fd);
	return got;
}

static uint32_t stack_wanted;	/* as the target was told */
static int64_t told_ms;

static uint32_t more_flags;		/* of the hellos to come */

static inline struct ring_area *
attach(bool forked, struct producer *p)
{
	struct ring_hello h = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION, .flags = more_flags };
	struct ring_welcome w;
	struct ring_area *ring;
	struct keeper_area *keeper;
	int fds[2];

	if (forked) {
		h.flags |= RING_HELLO_FORKED;
		h.parent = produce_stream();
		for (int s = 0; s < REC_SHARDS; s++)
			h.tickets[s] = atomic_load(&produce_tickets_now()[s].next);
	}
	if (say_hello(&h, sizeof h, &w, fds) != sizeof w || fds[0] < 0)
		_exit(103);
	ring = mmap(NULL, ring_area_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
	    fds[0], 0);
	keeper = mmap(NULL, sizeof *keeper, PROT_READ, MAP_SHARED, fds[1], 0);
	if (ring == MAP_FAILED || keeper == MAP_FAILED)
		_exit(104);
	close(fds[0]);
	close(fds[1]);
	stack_wanted = atomic_load(&keeper->stack);
	told_ms = (int64_t)atomic_load(&keeper->ms);
	produce_attach(ring, keeper, w.stream);
	memset(p, 0, sizeof *p);
	produce_open(p, (uint32_t)getpid());
	return ring;
}

static inline void
allocate(struct producer *p, uint64_t addr, uint64_t size)
{
	produce_alloc(p, addr, size, size, TYPE_MALLOC, 0, 0x1234);
}

static inline void
release(struct producer *p, uint64_t addr)
{
	produce_free(p, addr, TYPE_FREE, 0, 0x1234);
}

/* --- a target, from the node's side ------------------------------------- */

struct target {
	pid_t pid;
	int go;				/* written to: it goes on to its next stop */
	int there;			/* read from: it is at a stop */
};

/* In the target: waits at a stop until it is told to go on. */
static inline void
stop_here(const struct target *t)
{
	char c = 's';

	if (write(t->there, &c, 1) != 1 || read(t->go, &c, 1) != 1)
		_exit(0);
}

/* True in the target, which never returns from its branch. */
static inline bool
begin(struct target *t)
{
	int to[2], from[2];

	ck_assert_int_eq(pipe(to), 0);
	ck_assert_int_eq(pipe(from), 0);
	t->pid = fork();
	ck_assert_int_ge(t->pid, 0);
	if (t->pid == 0) {
		/* Check's own handler would end the test with its target. */
		signal(SIGTERM, SIG_DFL);
		close(to[1]);
		close(from[0]);
		t->go = to[0];
		t->there = from[1];
		return true;
	}
	close(to[0]);
	close(from[1]);
	t->go = to[1];
	t->there = from[0];
	ck_assert_int_eq(fcntl(t->there, F_SETFL, O_NONBLOCK), 0);
	return false;
}

/* Runs the node until the target is at its next stop. */
static inline void
until_stop(const struct target *t)
{
	char c;

	while (read(t->there, &c, 1) != 1) {
		ck_assert_int_eq(waitpid(t->pid, NULL, WNOHANG), 0);
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	images_adopt_all(&node);
}

/* The same while the node's loop does nothing. */
static inline void
until_stop_without_loop(const struct target *t)
{
	struct pollfd p = { .fd = t->there, .events = POLLIN };
	char c;

	ck_assert_int_eq(poll(&p, 1, -1), 1);
	ck_assert_int_eq(read(t->there, &c, 1), 1);
}

static inline void
go_on(const struct target *t)
{
	ck_assert_int_eq(write(t->go, "g", 1), 1);
}

static inline void
end(struct target *t)
{
	go_on(t);
	close(t->go);
	close(t->there);
	ck_assert_int_eq(waitpid(t->pid, NULL, 0), t->pid);
}

static inline struct keeper *
keeper_of(pid_t pid)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &node.live, link)
		if (k->image.pid == pid)
			return k;
	return NULL;
}

static inline struct keeper *
last_ended(void)
{
	return TAILQ_LAST(&node.images->ended, keepers);
}

static inline void
until_ended(const struct keeper *k)
{
	while (keeper_is_live(k))
		uv_run(&loop, UV_RUN_ONCE);
}

static inline void
drain(struct keeper *k)
{
	keeper_pass(k, mono_ms(mono_now()));
}

#endif
