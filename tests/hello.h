/*
 * A node for tests of the preload: a thread that answers hellos at a socket,
 * drains what comes, and keeps a list for each image; and a way to run a
 * program under it.  Real feed, real list, real library.
 *
 * Example
 *	struct hello *h = hello_start(HELLO_SERVE);
 *	hello_run(h, &run, "exact_forks", NULL);	until its whole tree has ended
 *	hello_stop(h);					last drain
 *	h->images[0].list ...
 *	hello_free(h);
 */
#ifndef TESTS_HELLO_H
#define TESTS_HELLO_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../src/blklist/blklist.h"
#include "../src/stream/feed/feed.h"
#include "harness.h"

enum hello_manner {
	HELLO_SERVE,
	HELLO_MUTE,		/* takes the call and says nothing */
	HELLO_ABSENT,		/* does not even take it */
	HELLO_CLOSE,		/* hangs up */
	HELLO_WRONG_VERSION,
	HELLO_NO_AREAS,		/* welcomes without descriptors */
	HELLO_ONE_AREA,
	HELLO_SHORT,		/* areas that are too small */
	HELLO_UNSEALED,		/* areas that could shrink */
	HELLO_MANNERS
};

#define HELLO_IMAGES 256

struct hello_image {
	pid_t pid;
	uint64_t stream;
	struct ring_hello hello;
	struct stream_feed *feed;
	struct blklist *list;
	uint64_t lost;
	uint64_t seq;
	unsigned by_type[16][256];	/* records by op and type */
	bool armed;
	unsigned controls[16];
	uint64_t marks;			/* w2 of the last REC_CTL_MARK */
	struct rec refcnt;		/* the last REC_CTL_REFCNT */
};

struct hello {
	enum hello_manner manner;
	char folder[64], path[96];
	int listener;
	pthread_t thread;
	_Atomic bool stop;
	uint64_t sample;		/* as stream_feed_want_sample(); set before a program runs */
	bool dormant;			/* images begin dormant; likewise */
	void (*turn)(struct hello *);	/* called again and again by the thread; likewise */
	unsigned met;			/* hellos that came, but for those */
	unsigned foreign;		/* that said only that malloc is another's */
	unsigned unmapped;		/* messages of targets without rings; not answered */
	int unseen;			/* descriptor of a struct ring_unseen, for targets; -1: none */
	int bad;			/* ring area that must not be joined; or -1 */
	unsigned n;			/* images */
	struct hello_image *images;	/* HELLO_IMAGES */
};

struct hello_result {
	int status;			/* as waitpid(2) has it */
	char out[8192];
};

/* --- the sink ----------------------------------------------------------- */

static void
hello_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	struct hello_image *im = arg;
	struct blklist_batch b = {
		.rec = r, .n = n, .seq = im->seq + 1, .near_ms = near_ms,
	};

	for (size_t i = 0; i < n; i++)
		im->by_type[rec_op(&r[i])][rec_type(&r[i])]++;
	im->seq += n;
	blklist_apply(im->list, &b);
}

static void
hello_control(void *arg, const struct rec *r, int64_t near_ms)
{
	struct hello_image *im = arg;

	(void)near_ms;
	im->controls[rec_type(r) & 15]++;
	if (rec_type(r) == REC_CTL_MARK)
		im->marks = r->w[2];
	else if (rec_type(r) == REC_CTL_REFCNT)
		im->refcnt = *r;
}

static void
hello_lost(void *arg, unsigned cause, uint64_t count)
{
	struct hello_image *im = arg;

	(void)cause;
	im->lost += count;
}

static const struct stream_sink hello_sink = {
	.records = hello_records,
	.control = hello_control,
	.lost = hello_lost,
};

/* --- the server --------------------------------------------------------- */

static int64_t
hello_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/*
 * What the parent has now is what the child begins with: in the programs that
 * are watched here a parent waits for its child.
 */
static void
hello_inherit(struct hello *h, struct hello_image *im)
{
	struct hello_image *parent = &h->images[im->hello.parent - 1];
	struct blk b;
	bool start = true;
	uint64_t addr = 0;
	unsigned layer = 0;

	stream_feed_start_at(im->feed, im->hello.tickets);
	stream_feed_pass(parent->feed, hello_now(), UINT64_MAX);
	stream_feed_pass(parent->feed, hello_now(), UINT64_MAX);
	while (blklist_after(parent->list, start, layer, addr, &b, 1) == 1) {
		start = false;
		layer = (b.flags & REC_LAYER_API) != 0;
		addr = b.addr;
		blklist_put(im->list, &b);
	}
}

/* As a node does it: the list begins anew, without what is there already. */
static void
hello_arm(struct hello_image *im, bool armed)
{
	if (im->armed == armed)
		return;
	stream_feed_arm(im->feed, armed, hello_now());
	im->armed = armed;
	if (!armed)
		return;
	blklist_free(im->list);
	ck_assert_int_eq(blklist_new(&im->list, BLKLIST_INDEXED, 1u << 18), 0);
	blklist_set_since_click(im->list, true);
}

static void
hello_send(int fd, const struct ring_welcome *w, const int *fds, size_t n)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(3 * sizeof(int))];
	} control = { .space = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)w, sizeof(*w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (n > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	sendmsg(fd, &m, MSG_NOSIGNAL);
}

/* Areas that a target must not accept. */
static void
hello_bad_areas(enum hello_manner manner, int fds[2])
{
	size_t ring = manner == HELLO_SHORT ? 4096 :
	    RING_ALIGN(ring_area_size());

	for (int i = 0; i < 2; i++) {
		fds[i] = memfd_create("bad", MFD_ALLOW_SEALING | MFD_CLOEXEC);
		ck_assert_int_eq(ftruncate(fds[i], i == 0 ? (off_t)ring :
		    (off_t)RING_ALIGN(sizeof(struct keeper_area))), 0);
		if (manner != HELLO_UNSEALED)
			fcntl(fds[i], F_ADD_SEALS,
			    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	}
}

static void
hello_serve(struct hello *h, int fd, const struct ring_hello *hello)
{
	struct hello_image *im = &h->images[h->n];
	struct ring_welcome w = {
		.magic = RING_HELLO_MAGIC,
		.version = RING_VERSION,
		.stream = h->n + 1,
	};
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fds[3] = { [2] = h->unseen };

	ck_assert_uint_lt(h->n, HELLO_IMAGES);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len),
	    0);
	im->pid = peer.pid;
	im->hello = *hello;
	ck_assert_int_eq(stream_feed_new(&im->feed, fds, false, &hello_sink,
	    im), 0);
	ck_assert_int_eq(blklist_new(&im->list, BLKLIST_INDEXED, 1u << 18), 0);
	stream_feed_want_sample(im->feed, h->sample);
	im->armed = true;
	if (h->dormant)
		hello_arm(im, false);
	if (hello->flags & RING_HELLO_FORKED)
		hello_inherit(h, im);
	h->n++;
	hello_send(fd, &w, fds, h->unseen >= 0 ? 3 : 2);
	close(fds[0]);
	close(fds[1]);
}

/* False: no answer is sent, and the target waits for it in vain. */
static bool
hello_answer(struct hello *h, int fd)
{
	struct ring_hello hello;
	struct ring_welcome w = {
		.magic = RING_HELLO_MAGIC,
		.version = RING_VERSION,
		.stream = 1,
	};
	int fds[2];

	if (h->manner == HELLO_CLOSE)
		return true;
	if (recv(fd, &hello, sizeof(hello), 0) != sizeof(hello) ||
	    hello.magic != RING_HELLO_MAGIC || hello.version != RING_VERSION)
		return true;
	if ((hello.flags & RING_HELLO_UNMAPPED) != 0 && hello.parent == 0 &&
	    hello.unsure == RING_UNSEEN_FOREIGN) {
		h->met--;
		h->foreign++;
		hello_send(fd, &w, NULL, 0);
		return true;
	}
	if ((hello.flags & RING_HELLO_UNMAPPED) != 0) {
		h->unmapped++;
		return false;
	}
	switch (h->manner) {
	case HELLO_SERVE:
		hello_serve(h, fd, &hello);
		break;
	case HELLO_WRONG_VERSION:
		w.version++;
		/* FALLTHROUGH */
	case HELLO_NO_AREAS:
		hello_send(fd, &w, NULL, 0);
		break;
	case HELLO_ONE_AREA:
	case HELLO_SHORT:
	case HELLO_UNSEALED:
		hello_bad_areas(h->manner, fds);
		hello_send(fd, &w, fds, h->manner == HELLO_ONE_AREA ? 1 : 2);
		h->bad = fds[0];
		close(fds[1]);
		break;
	default:
		break;
	}
	return true;
}

static void *
hello_thread(void *arg)
{
	struct hello *h = arg;
	struct pollfd p = { .fd = h->listener, .events = POLLIN };
	const struct sched_param first = { .sched_priority = 1 };
	int kept[HELLO_IMAGES], nkept = 0, fd;

	/* Targets wait 50 ms for an answer, on a busy machine too.  Root only. */
	(void)sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first);
	while (!atomic_load(&h->stop)) {
		if (poll(&p, 1, 1) == 1 && h->manner != HELLO_ABSENT) {
			fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
			h->met += fd != -1;
			if (fd != -1 && (h->manner == HELLO_MUTE ||
			    !hello_answer(h, fd)) && nkept < HELLO_IMAGES)
				kept[nkept++] = fd;
			else if (fd != -1)
				close(fd);
		}
		for (unsigned i = 0; i < h->n; i++)
			stream_feed_pass(h->images[i].feed, hello_now(), UINT64_MAX);
		if (h->turn != NULL)
			h->turn(h);
	}
	while (nkept > 0)
		close(kept[--nkept]);
	return NULL;
}

static struct hello *
hello_start(enum hello_manner manner)
{
	struct hello *h = calloc(1, sizeof(*h));
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	ck_assert_ptr_nonnull(h);
	h->images = calloc(HELLO_IMAGES, sizeof(*h->images));
	ck_assert_ptr_nonnull(h->images);
	h->manner = manner;
	h->bad = h->unseen = -1;
	strcpy(h->folder, "/tmp/pagek-hello.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(h->folder));
	snprintf(h->path, sizeof(h->path), "%s/node", h->folder);
	strcpy(a.sun_path, h->path);
	h->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(h->listener, (struct sockaddr *)&a, sizeof(a)),
	    0);
	ck_assert_int_eq(listen(h->listener, 64), 0);
	/* Processes that outlive their parent come to us and are waited for. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	ck_assert_int_eq(pthread_create(&h->thread, NULL, hello_thread, h), 0);
	return h;
}

static void
hello_stop(struct hello *h)
{
	atomic_store(&h->stop, true);
	pthread_join(h->thread, NULL);
	for (unsigned i = 0; i < h->n; i++)
		ck_assert_int_ge(stream_feed_finish(h->images[i].feed,
		    hello_now()), 0);
}

static void
hello_free(struct hello *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		stream_feed_free(h->images[i].feed);
		blklist_free(h->images[i].list);
	}
	if (h->bad != -1)
		close(h->bad);
	close(h->listener);
	unlink(h->path);
	rmdir(h->folder);
	free(h->images);
	free(h);
}

/* --- running a program -------------------------------------------------- */

/* The folder of the build that this test is part of. */
static const char *
hello_build(void)
{
	static char path[512];
	char *slash;
	ssize_t n;

	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	ck_assert_int_gt(n, 0);
	path[n] = '\0';
	for (int i = 0; i < 2; i++) {
		slash = strrchr(path, '/');
		ck_assert_ptr_nonnull(slash);
		*slash = '\0';
	}
	return path;
}

struct hello_how {
	const char *node;	/* PAGEK_NODE; NULL: not set */
	const char *below;	/* a preload behind ours, or NULL */
	const char *count_dir;	/* COUNT_DIR of tests/libcount.so */
	bool plain;		/* without our preload */
	bool closed;		/* with 0 and 2 closed */
};

static void
hello_exec(const struct hello_how *how, const char *const argv[], int out)
{
	char preload[1600];

	setenv("LC_ALL", "C", 1);
	snprintf(preload, sizeof(preload), "%s/liballoclog.so", hello_build());
	if (how->plain)
		preload[0] = '\0';
	if (how->below != NULL) {
		if (preload[0] != '\0')
			strcat(preload, ":");
		strcat(preload, how->below);
	}
	unsetenv("PAGEK_NODE");
	if (how->node != NULL)
		setenv("PAGEK_NODE", how->node, 1);
	if (how->count_dir != NULL)
		setenv("COUNT_DIR", how->count_dir, 1);
	if (preload[0] != '\0')
		setenv("LD_PRELOAD", preload, 1);
	dup2(out, 1);
	if (how->closed) {
		close(0);
		close(2);
	}
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* Runs argv until the last process that holds its output or is ours has ended. */
static void
hello_run(struct hello_result *r, const struct hello_how *how,
    const char *const argv[])
{
	int out[2], status;
	size_t len = 0;
	pid_t pid, gone;
	ssize_t n;

	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		hello_exec(how, argv, out[1]);
	close(out[1]);
	while ((n = read(out[0], r->out + len, sizeof(r->out) - 1 - len)) > 0)
		len += (size_t)n;
	r->out[len] = '\0';
	close(out[0]);
	while ((gone = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		if (gone == pid)
			r->status = status;
}

/* The number after "key=" in what a target printed; -1 if it is not there. */
static long
hello_value(const struct hello_result *r, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = r->out; (p = strstr(p, key)) != NULL; p += len)
		if ((p == r->out || p[-1] == '\n') && p[len] == '=')
			return strtol(p + len + 1, NULL, 10);
	return -1;
}

#endif
