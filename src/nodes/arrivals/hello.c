#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../host/proc.h"
#include "../keeper/node.h"
#include "../keeper/takeover_memory.h"
#include "../recorder/recorder.h"
#include "../refcnt/refcnt.h"
#include "arrivals.h"
#include "keeper_pool.h"

/* Each has a descriptor until it is adopted: a quarter of them at most. */
static size_t
missed_limit(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 &&
	    r.rlim_cur / 4 < HELLO_MISSED_MAX ? r.rlim_cur / 4 :
	    HELLO_MISSED_MAX;
}

void
hello_init(struct hello *h, struct node *node)
{
	h->node = node;
	h->listen_fd = -1;
	h->unseen.fd = -1;
	h->missed_max = missed_limit();
	pthread_mutex_init(&h->lock, NULL);
	TAILQ_INIT(&h->arrived);
}

static void
count_arrived(struct hello *h, const struct keeper *k)
{
	h->narrived++;
	h->nmissed += k->missed;
}

/* With the lock held. */
static void
append_arrived(struct hello *h, struct keeper *k)
{
	TAILQ_INSERT_TAIL(&h->arrived, k, link);
	count_arrived(h, k);
}

static unsigned
welcomed_of(const struct hello *h, uid_t uid)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &h->arrived, link)
		n += !k->missed && k->image.uid == uid;
	return n;
}

/* Are there as many in the queue as may live, of all or of this user? */
static bool
is_full(struct hello *h, uid_t uid)
{
	size_t n;
	bool full;

	pthread_mutex_lock(&h->lock);
	n = h->narrived - h->nmissed;
	full = n >= NODE_TARGETS_MAX ||
	    (h->node->access.system && uid != 0 && n >= NODE_USER_TARGETS &&
	    welcomed_of(h, uid) >= NODE_USER_TARGETS);
	pthread_mutex_unlock(&h->lock);
	return full;
}

static bool
has_room_for_missed(struct hello *h)
{
	bool room;

	pthread_mutex_lock(&h->lock);
	room = h->nmissed < h->missed_max;
	pthread_mutex_unlock(&h->lock);
	return room;
}

/* NULL: the image is only counted. */
static void
append_missed(struct hello *h, struct keeper *k, const char *why)
{
	pthread_mutex_lock(&h->lock);
	if (k != NULL)
		append_arrived(h, k);
	else if (h->missed_beyond++ == 0)
		h->beyond_why = why;
	pthread_mutex_unlock(&h->lock);
}

uint64_t
hello_take_missed(struct hello *h, const char **why)
{
	uint64_t n;

	pthread_mutex_lock(&h->lock);
	n = h->missed_beyond;
	*why = h->beyond_why;
	h->missed_beyond = 0;
	pthread_mutex_unlock(&h->lock);
	return n;
}

void
hello_put_back(struct hello *h, struct keeper *k)
{
	struct keeper *other;

	TAILQ_FOREACH(other, &h->arrived, link)
		if (other->image.arrival > k->image.arrival)
			break;
	if (other != NULL)
		TAILQ_INSERT_BEFORE(other, k, link);
	else
		TAILQ_INSERT_TAIL(&h->arrived, k, link);
	count_arrived(h, k);
}

size_t
hello_waiting(struct hello *h)
{
	size_t n;

	pthread_mutex_lock(&h->lock);
	n = h->narrived;
	pthread_mutex_unlock(&h->lock);
	return n;
}

static void
remove_arrived(struct hello *h, struct keeper *k)
{
	TAILQ_REMOVE(&h->arrived, k, link);
	h->narrived--;
	h->nmissed -= k->missed;
}

struct keeper *
hello_take(struct hello *h)
{
	struct keeper *k;

	pthread_mutex_lock(&h->lock);
	k = TAILQ_FIRST(&h->arrived);
	if (k != NULL)
		remove_arrived(h, k);
	pthread_mutex_unlock(&h->lock);
	return k;
}

struct keeper *
hello_take_image(struct hello *h, pid_t pid)
{
	struct keeper *k;

	pthread_mutex_lock(&h->lock);
	TAILQ_FOREACH(k, &h->arrived, link)
		if (k->image.pid == pid)
			break;
	/* A forked child's parent may be before it in the queue. */
	if (k != NULL && k->image.origin == IMAGE_FORKED)
		k = NULL;
	if (k != NULL)
		remove_arrived(h, k);
	pthread_mutex_unlock(&h->lock);
	return k;
}

/*
 * Connections that are not answered yet.  The kernel's queue does not separate
 * users, so the acceptor accepts all connections in it before it answers the
 * next one.  There are more places than hellos that can be answered within 50
 * ms.
 */
#define WAITING_MAX 512
#define WAITING_FEW 64		/* where descriptors are few */
#define SILENT_MS 1000		/* without a hello: dropped; a target sends it at once */
#define CROWDED_MS 20		/* the same when all places are taken */
#define CROWDED_POLL_MS 5
#define ACCEPTOR_NICE -10
#define ACCEPT_MAX 256		/* connections accepted in a pass */
#define ANSWERS_MAX 4		/* hellos answered in a pass, and as many reported as late */
#define DELAY_MS 30		/* of hellos while the loop is behind; a target waits 50 */
#define DELAY_POLL_MS 1

_Static_assert(2 * NODE_TARGETS_MAX < DSTRM_ROWS, "a row for each");

static const char NO_ROOM[] =
    "the node has no room for it: memory, file size or descriptors";
static const char CRAMPED[] =
    "the rings would use too much of its address space (RLIMIT_AS)";
static const char TOO_LATE[] =
    "the node did not answer it within 50 ms";
static const char CROWDED[] = "too many register with the node at once";

struct waiting {
	int fd;
	uint64_t arrival;		/* running number of the connection */
	int64_t since_ms;
	uid_t uid;			/* -1 not known */
	bool spoke;			/* its hello can be read ... */
	bool delayed;			/* ... and has waited for the loop */
	bool peeked, rejoins;		/* its hello's flags are known, and RING_HELLO_AGAIN:
					   it runs already, and is most likely refused */
	bool hung_up;
	bool gives_way;			/* refused: others need its place */
	unsigned user;			/* index in acceptor.user */
};

struct user {
	uid_t uid;
	uint64_t last_turn;
	unsigned places, silent;	/* its connections; of them without a hello */
	unsigned arrived;		/* its targets that the loop has not adopted */
};

struct acceptor {
	struct hello *hello;
	struct waiting waiting[WAITING_MAX + 1];
	size_t n, places;		/* waiting; one more than places may wait */
	struct user user[WAITING_MAX + 1];
	unsigned users;
	struct access_turns turns;
	bool delays;			/* some hellos */
	bool more;			/* hellos are left: the next pass begins at once */
	bool ending;			/* no hello is delayed any more */
	struct keeper_pool pool;
};

static enum image_origin
origin_of(uint32_t flags)
{
	if ((flags & RING_HELLO_FORKED) != 0)
		return IMAGE_FORKED;
	if ((flags & RING_HELLO_UNMAPPED) != 0)
		return IMAGE_UNMAPPED;
	if ((flags & RING_HELLO_AGAIN) == 0)
		return IMAGE_EXECUTED;
	return (flags & RING_HELLO_ARMED) != 0 ? IMAGE_REJOINED_ARMED :
	    IMAGE_REJOINED_DORMANT;
}

static void
name_image(struct keeper *k, int fd, const struct peer *peer,
    const struct ring_hello *h)
{
	pid_t pid = peer->pid;
	char comm[16] = "?";

	k->image.pid = pid;
	k->image.uid = peer->uid;
	k->process.pidfd = access_pidfd(fd, peer);
	if (proc_stat_comm(pid, comm, &k->image.ppid, &k->image.start) < 0)
		proc_comm(pid, comm);
	base_safe_text(
	    k->image.comm, sizeof k->image.comm, comm, strlen(comm), false);
	k->image.origin = origin_of(h->flags);
	k->image.parent = k->image.origin == IMAGE_FORKED ||
	    k->image.origin == IMAGE_UNMAPPED ? h->parent : 0;
}

/* The target waits for our answer meanwhile, so /proc has it. */
static int
describe_image(struct keeper *k, int fd, const struct peer *peer,
    const struct ring_hello *h, bool calm)
{
	pid_t pid = peer->pid;
	char path[PROC_PATH];

	name_image(k, fd, peer, h);
	if (k->process.pidfd < 0)
		return -ESRCH;
	sandbox_begin(k, k->image.origin < IMAGE_REJOINED_DORMANT &&
	    (h->flags & RING_HELLO_FREE) != 0);
	proc_exe(pid, &k->image.exe_dev, &k->image.exe_ino);
	if (proc_exe_path(pid, path) == 0)
		k->process.exe = strdup(path);
	if (proc_cwd(pid, path) == 0)
		k->process.cwd = strdup(path);
	if (k->image.origin != IMAGE_FORKED) {
		/*
		 * A short program may end before a page asks for its callers,
		 * and without stacks their modules are not recorded.
		 */
		if (calm && k->node->opts.stack == 0 &&
		    symbol_modules_new(&k->modules.table) == 0)
			symbol_modules_read(k->modules.table, pid);
		return 0;
	}
	k->process.cut = malloc(sizeof h->tickets);
	if (k->process.cut == NULL)
		return -ENOMEM;
	memcpy(k->process.cut, h->tickets, sizeof h->tickets);
	keeper_count_unfinished(k, STREAM_DOUBT_FORK, h->unsure);
	return 0;
}

/* Makes the keeper ready for another target. */
static void
forget_image(struct keeper *k)
{
	if (k->process.pidfd >= 0)
		close(k->process.pidfd);
	k->process.pidfd = -1;
	k->image.pid = 0;
	k->image.start = 0;
	free(k->process.cut);
	free(k->process.exe);
	free(k->process.cwd);
	k->process.cut = NULL;
	k->trust = (struct keeper_trust){ 0 };
	k->process.exe = k->process.cwd = NULL;
	if (k->modules.table != NULL)
		symbol_modules_free(k->modules.table);
	k->modules.table = NULL;
}

static int
send_welcome(int fd, uint64_t stream, const int *fds, int unseen)
{
	struct ring_welcome w = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION, .stream = stream };
	union {
		char buf[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = &w, .iov_len = sizeof w };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cm;
	/*
	 * The kernel drops the last one if the target has no free descriptor
	 * for it.
	 */
	int sent[3] = { -1, -1, unseen };
	size_t bytes = (unseen >= 0 ? 3 : 2) * sizeof(int);

	memset(&control, 0, sizeof control);
	if (fds != NULL) {
		memcpy(sent, fds, 2 * sizeof(int));
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(bytes);
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(cm), sent, bytes);
	}
	if (sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

/* Answers and queues with one lock: an empty queue means none was answered. */
static int
welcome_target(struct hello *h, int fd, struct pooled_keeper *s,
    bool takes_unseen)
{
	const int areas[2] = { s->fds[0], s->fds[1] };
	struct keeper *k = s->keeper;
	int r, unseen = -1;

	/* Processes of other users must not write the owner's counts. */
	if (takes_unseen && k->image.uid == h->node->access.owner)
		unseen = h->unseen.fd;

	arming_welcome(k);
	keeper_beat(k, mono_ms(mono_now()));
	if (k->process.cut != NULL)
		stream_feed_start_at(k->feed, k->process.cut);
	takeover_assign(k);
	recorder_welcome(k);
	/* Before the answer, because the loop may end the keeper after it. */
	takeover_give_areas(k, s->fds);
	pthread_mutex_lock(&h->lock);
	r = send_welcome(fd, k->stream, areas, unseen);
	if (r == 0) {
		if (k->stream > h->last_stream)
			h->last_stream = k->stream;
		quota_count(k);
		append_arrived(h, k);
	}
	pthread_mutex_unlock(&h->lock);
	if (r == 0)
		uv_async_send(&h->node->drain.wake);
	return r;
}

static const char *
refuse_target(struct node *node, const struct peer *peer)
{
	unsigned all, own;

	if (is_full(node->hello, peer->uid))
		return CROWDED;
	quota_beside(node->quota, peer->pid, peer->uid, &all, &own);
	if (all >= NODE_TARGETS_MAX)
		return "the node watches its maximum of targets";
	if (node->access.system && peer->uid != 0 && own >= NODE_USER_TARGETS)
		return "the node watches its maximum of targets for this user";
	return NULL;
}

static struct keeper *
missed_image(struct acceptor *a, const struct waiting *w,
    const struct peer *peer, const struct ring_hello *hello, const char *why)
{
	struct keeper *k;

	if (keeper_new(&k, a->hello->node, &(struct keeper_opts){
	    .no_list = true }, NULL) < 0)
		return NULL;
	name_image(k, w->fd, peer, hello);
	k->missed = true;
	k->image.arrival = w->arrival;
	proc_exe(peer->pid, &k->image.exe_dev, &k->image.exe_ino);
	snprintf(k->life.reason, sizeof k->life.reason, "%s", why);
	return k;
}

/* Each has a descriptor until it is adopted: in a flood the rest is counted. */
static void
add_missed(struct acceptor *a, const struct waiting *w, const struct peer *peer,
    const struct ring_hello *hello, const char *why)
{
	struct hello *h = a->hello;

	append_missed(h, has_room_for_missed(h) ?
	    missed_image(a, w, peer, hello, why) : NULL, why);
	uv_async_send(&h->node->drain.wake);
}

/* Is the target's keeper here, whose loop only stood still for a while? */
static bool
has_keeper_of(struct acceptor *a, const struct ring_hello *h)
{
	const struct hello *us = a->hello;

	for (size_t i = 0; i < us->ntaken_over; i++)
		if (h->parent == us->taken_over[i])
			return true;
	return h->parent > us->first_stream && h->parent <= us->last_stream &&
	    !keeper_pool_has(&a->pool, h->parent);
}

/* Gives it a stream; else returns why it has none. */
static const char *
give_stream(struct acceptor *a, const struct waiting *w,
    const struct peer *peer, const struct ring_hello *h)
{
	const char *why;
	struct pooled_keeper s;
	int r;

	if (w->hung_up)
		return TOO_LATE;
	if (w->gives_way)
		return CROWDED;
	why = refuse_target(a->hello->node, peer);
	if (why != NULL)
		return why;
	if (keeper_pool_get(&a->pool, peer->uid, &s) < 0)
		return NO_ROOM;
	s.keeper->image.arrival = w->arrival;
	r = describe_image(s.keeper, w->fd, peer, h, a->n == 1);
	if (r < 0) {
		forget_image(s.keeper);
		keeper_pool_put_back(&a->pool, &s);
	} else if ((r = welcome_target(a->hello, w->fd, &s,
	    (h->flags & RING_HELLO_UNSEEN) != 0)) < 0) {
		/* Its memory names this target: no other one can have it. */
		pooled_keeper_drop(&s);
	} else {
		pooled_keeper_close_fds(&s);
	}
	keeper_pool_refill(&a->pool);
	if (r == 0)
		return NULL;
	return r == -ENOMEM || r == -EMFILE ? NO_ROOM : TOO_LATE;
}

union first_words {
	struct ring_hello target;
	struct ring_writes writes;
	struct file_offer file;
};

/* Receives a hello and the descriptor that comes beside it, -1: none. */
static ssize_t
receive_hello(int sock, union first_words *h, int *fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = h, .iov_len = sizeof *h };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		/* The padding of CMSG_SPACE() has room for a second one. */
		.msg_controllen = CMSG_LEN(sizeof *fd) };
	const struct cmsghdr *cm;
	ssize_t n;

	*fd = -1;
	n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	cm = n >= 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (cm != NULL && cm->cmsg_level == SOL_SOCKET &&
	    cm->cmsg_type == SCM_RIGHTS && cm->cmsg_len == CMSG_LEN(sizeof *fd))
		memcpy(fd, CMSG_DATA(cm), sizeof *fd);
	return n;
}

/* False: it is no file.  Takes over the descriptor. */
static bool
take_file(struct acceptor *a, const struct waiting *w, const union first_words *h,
    ssize_t n, int fd)
{
	struct node *node = a->hello->node;
	struct peer peer;

	if (n == (ssize_t)sizeof h->file && fd >= 0 &&
	    h->file.magic == FILE_OFFER_MAGIC && h->file.version == 1 &&
	    access_peer(&node->access, w->fd, &peer) == 0) {
		recorder_offer(node, fd, peer.uid, &h->file);
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

/* The same for what the counting of writes, or of touches, needs. */
static bool
take_writes(struct acceptor *a, const struct waiting *w,
    const union first_words *h, ssize_t n, int fd)
{
	struct node *node = a->hello->node;
	struct peer peer;

	if (n != (ssize_t)sizeof h->writes || (fd < 0 && h->writes.error == 0) ||
	    h->writes.magic != RING_WRITES_MAGIC ||
	    h->writes.version != RING_VERSION ||
	    access_peer(&node->access, w->fd, &peer) < 0)
		return false;
	node_refcnt_take(node, peer.pid, h->writes.stream,
	    h->writes.flags == 0 ? NODE_REFCNT_WRITES : NODE_REFCNT_GUARD, fd,
	    h->writes.error);
	return true;
}

static void
answer_hello(struct acceptor *a, const struct waiting *w)
{
	union first_words any;
	struct ring_hello *h = &any.target;
	struct peer peer;
	const char *why;
	int fd = w->fd, file;
	bool rejoins;
	ssize_t n;

	n = receive_hello(fd, &any, &file);
	if (take_writes(a, w, &any, n, file) || take_file(a, w, &any, n, file))
		return;
	if (n < (ssize_t)(2 * sizeof(uint32_t)) || h->magic != RING_HELLO_MAGIC)
		return;
	if (access_peer(&a->hello->node->access, fd, &peer) < 0 ||
	    peer.pid <= 0)
		return;
	if (h->version != RING_VERSION || n != (ssize_t)sizeof *h) {
		send_welcome(fd, 0, NULL, -1);
		return;
	}
	rejoins = (h->flags & RING_HELLO_AGAIN) != 0;
	/* One that has hung up will try again. */
	if (rejoins && (w->hung_up || w->gives_way || has_keeper_of(a, h)))
		return;
	why = (h->flags & RING_HELLO_CRAMPED) != 0 ? CRAMPED :
	    (h->flags & RING_HELLO_UNMAPPED) != 0 ? unseen_why(h->unsure) :
	    give_stream(a, w, &peer, h);
	/* It would get a row for each of its hellos. */
	if (why != NULL && !rejoins)
		add_missed(a, w, &peer, h, why);
	if ((h->flags & RING_HELLO_UNMAPPED) != 0)
		send_welcome(fd, 0, NULL, -1);
}

/* The index of the user; a->users if the user is not there. */
static unsigned
find_user(const struct acceptor *a, uid_t uid)
{
	unsigned i;

	for (i = 0; i < a->users && a->user[i].uid != uid; i++)
		continue;
	return i;
}

static void
count_users(struct acceptor *a)
{
	unsigned u = 0;

	a->users = 0;
	for (size_t i = 0; i < a->n; i++) {
		struct waiting *w = &a->waiting[i];

		if (i == 0 || a->user[u].uid != w->uid)
			u = find_user(a, w->uid);
		if (u == a->users)
			a->user[a->users++] = (struct user){ .uid = w->uid,
				.last_turn = access_last_turn(&a->turns,
				    w->uid) };
		a->user[u].places++;
		a->user[u].silent += !w->spoke;
		w->user = u;
	}
}

/*
 * Counts each user's arrived targets, but only if all users together have so
 * many that the loop may be behind with one of them.
 */
static void
count_arrived_of_users(struct acceptor *a)
{
	struct hello *h = a->hello;
	const struct keeper *k;
	unsigned u = 0;

	if (a->ending || h->node->opts.no_wait)
		return;
	pthread_mutex_lock(&h->lock);
	if (h->narrived - h->nmissed >= HELLO_BEHIND) {
		TAILQ_FOREACH(k, &h->arrived, link) {
			if (u == a->users || a->user[u].uid != k->image.uid)
				u = find_user(a, k->image.uid);
			if (u < a->users)
				a->user[u].arrived += !k->missed;
		}
	}
	pthread_mutex_unlock(&h->lock);
}

static void
close_waiting(struct acceptor *a, struct waiting *w)
{
	close(w->fd);
	*w = a->waiting[--a->n];
}

/*
 * This user's oldest connection without a hello, or else the newest one with a
 * hello; or NULL.
 */
static struct waiting *
find_giving_way(struct acceptor *a, unsigned user, int64_t now)
{
	bool crowds = a->user[user].silent > a->places / 2;
	struct waiting *silent = NULL, *newest = NULL;

	for (size_t i = 0; i < a->n; i++) {
		struct waiting *w = &a->waiting[i];

		if (w->user != user)
			continue;
		if (w->spoke) {
			if (newest == NULL || w->arrival > newest->arrival)
				newest = w;
		} else if ((crowds || now - w->since_ms > CROWDED_MS) &&
		    (silent == NULL || w->arrival < silent->arrival)) {
			silent = w;
		}
	}
	return silent != NULL ? silent : newest;
}

/*
 * Closes a connection of the user who has most.  False: the user may keep all
 * for now.
 */
static bool
make_place(struct acceptor *a)
{
	struct waiting *w;
	unsigned most = 0;

	count_users(a);
	for (unsigned i = 1; i < a->users; i++)
		if (a->user[i].places > a->user[most].places)
			most = i;
	w = find_giving_way(a, most, mono_ms(mono_now()));
	if (w == NULL)
		return false;
	w->gives_way = true;
	/* The hello may have come since the last poll: then it is reported. */
	answer_hello(a, w);
	close_waiting(a, w);
	return true;
}

/* A target sends it as soon as it has connected. */
static void
peek_hello(struct waiting *w)
{
	struct ring_hello h;
	size_t least = offsetof(struct ring_hello, flags) + sizeof h.flags;
	ssize_t n = recv(w->fd, &h, sizeof h, MSG_DONTWAIT | MSG_PEEK);

	if (n < (ssize_t)least)
		return;
	w->spoke = true;
	w->peeked = true;
	w->rejoins = (h.flags & RING_HELLO_AGAIN) != 0;
}

static bool
accept_connection(struct acceptor *a)
{
	struct waiting *w = &a->waiting[a->n];
	int fd = accept4(a->hello->listen_fd, NULL, NULL,
	    SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		/* The listener stays readable: do not spin. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			usleep(10000);
		return false;
	}
	*w = (struct waiting){ .fd = fd,
		.arrival = ++a->hello->arrivals,
		.since_ms = mono_ms(mono_now()),
		.uid = access_uid(fd) };
	peek_hello(w);
	a->more |= w->spoke;
	a->n++;
	return true;
}

static void
accept_connections(struct acceptor *a)
{
	for (int i = 0; i < ACCEPT_MAX && a->n <= a->places; i++) {
		/*
		 * At the end all connections are answered, as many at a time as
		 * there are places.
		 */
		if (a->ending && a->n == a->places)
			break;
		if (!accept_connection(a) ||
		    (a->n > a->places && !make_place(a)))
			break;
	}
}

static void
close_silent(struct acceptor *a, int64_t now)
{
	for (size_t i = a->n; i-- > 0; ) {
		struct waiting *w = &a->waiting[i];

		if (!w->spoke && now - w->since_ms > SILENT_MS)
			close_waiting(a, w);
	}
	/* No connection could be closed when the last one was accepted. */
	if (a->n > a->places)
		make_place(a);
}

/*
 * Many short programs of a user may register faster than the loop can end them,
 * until the node has no place left.  So the node delays their hellos, by less
 * than a target waits; but not with --no-wait, nor while more than half of the
 * places are taken.
 */
static bool
is_delayed(const struct acceptor *a, const struct waiting *w, int64_t now)
{
	return a->user[w->user].arrived >= HELLO_BEHIND && !w->rejoins &&
	    now - w->since_ms < DELAY_MS && a->n <= a->places / 2;
}

static bool
comes_before(const struct acceptor *a, const struct waiting *w,
    const struct waiting *other)
{
	uint64_t turn = a->user[w->user].last_turn;
	uint64_t others = a->user[other->user].last_turn;

	return turn != others ? turn < others : w->arrival < other->arrival;
}

/*
 * The next connection to answer: the oldest one, with a hello that is not
 * delayed, of the user whose turn it is; or NULL.
 */
static struct waiting *
next_to_answer(struct acceptor *a, int64_t now)
{
	struct waiting *next = NULL;

	count_users(a);
	count_arrived_of_users(a);
	for (size_t i = 0; i < a->n; i++) {
		struct waiting *w = &a->waiting[i];

		if (!w->spoke || w->hung_up)
			continue;
		if (a->user[w->user].arrived >= HELLO_BEHIND && !w->peeked)
			peek_hello(w);
		if (!is_delayed(a, w, now) &&
		    (next == NULL || comes_before(a, w, next)))
			next = w;
	}
	return next;
}

static void
answer_in_turn(struct acceptor *a, int64_t now)
{
	struct waiting *w;
	int n = 0;

	while ((a->ending || n < ANSWERS_MAX) &&
	    (w = next_to_answer(a, now)) != NULL) {
		access_take_turn(&a->turns, w->uid);
		answer_hello(a, w);
		close_waiting(a, w);
		n++;
	}
	a->more = n == ANSWERS_MAX;
}

static void
report_late(struct acceptor *a)
{
	int n = 0;

	for (size_t i = a->n; i-- > 0; ) {
		struct waiting *w = &a->waiting[i];

		if (!w->hung_up)
			continue;
		if (!a->ending && n++ == ANSWERS_MAX) {
			a->more = true;
			return;
		}
		answer_hello(a, w);
		close_waiting(a, w);
	}
}

static void
count_delayed(struct acceptor *a)
{
	a->delays = false;
	for (size_t i = 0; i < a->n && !a->more; i++) {
		struct waiting *w = &a->waiting[i];

		if (!w->spoke || w->hung_up)
			continue;
		a->delays = true;
		if (!w->delayed)
			atomic_fetch_add(&a->hello->delayed, 1);
		w->delayed = true;
	}
}

/* Answers hellos, first of those that still wait, and closes silent connections. */
static void
serve_waiting(struct acceptor *a, const struct pollfd *p)
{
	int64_t now = mono_ms(mono_now());

	for (size_t i = 0; i < a->n; i++) {
		a->waiting[i].spoke |= p[i].revents != 0;
		a->waiting[i].hung_up |= (p[i].revents & POLLHUP) != 0;
	}
	answer_in_turn(a, now);
	count_delayed(a);
	report_late(a);
	close_silent(a, now);
}

/* Processes that connected just before their end are adopted to be reported. */
static void
serve_last(struct acceptor *a)
{
	struct pollfd p[WAITING_MAX + 1];

	a->ending = true;
	do {
		accept_connections(a);
		for (size_t i = 0; i < a->n; i++)
			p[i] = (struct pollfd){ .fd = a->waiting[i].fd,
				.events = POLLIN };
		if (poll(p, a->n, 0) >= 0)
			serve_waiting(a, p);
		while (a->n > 0)
			close_waiting(a, &a->waiting[0]);
	} while (accept_connection(a));
}

static int
poll_timeout(const struct acceptor *a)
{
	if (a->more)
		return 0;
	if (a->delays)
		return DELAY_POLL_MS;
	return a->n == 0 ? -1 : a->n > a->places ? CROWDED_POLL_MS : SILENT_MS;
}

static size_t
count_places(void)
{
	struct rlimit r;
	rlim_t eighth = getrlimit(RLIMIT_NOFILE, &r) == 0 ? r.rlim_cur / 8 : 0;

	return eighth >= WAITING_MAX ? WAITING_MAX :
	    eighth <= WAITING_FEW ? WAITING_FEW : eighth;
}

static void *
acceptor_main(void *arg)
{
	struct acceptor a = { .hello = arg, .places = count_places() };
	struct pollfd p[WAITING_MAX + 3];

	keeper_pool_start(&a.pool, a.hello->node);
	/* Targets wait for it.  The pool's thread must not inherit this. */
	(void)setpriority(PRIO_PROCESS, 0, ACCEPTOR_NICE);
	for (;;) {
		size_t n = a.n;

		for (size_t i = 0; i < n; i++)
			p[i] = (struct pollfd){ .fd = a.waiting[i].fd,
				.events = a.waiting[i].spoke ? 0 : POLLIN };
		p[n] = (struct pollfd){ .fd = a.hello->stop_fd,
			.events = POLLIN };
		p[n + 1] = (struct pollfd){
			.fd = n > a.places ? -1 : a.hello->listen_fd,
			.events = POLLIN };
		if (poll(p, n + 2, poll_timeout(&a)) < 0)
			continue;
		if (p[n].revents != 0)
			break;
		serve_waiting(&a, p);
		if (p[n + 1].revents != 0)
			accept_connections(&a);
	}
	serve_last(&a);
	keeper_pool_stop(&a.pool);
	return NULL;
}

int
hello_listen(struct hello *h, int fd, const char *path, bool inherited)
{
	h->stop_fd = !inherited && listen(fd, SOMAXCONN) < 0 ? -1 :
	    eventfd(0, EFD_CLOEXEC);
	if (h->stop_fd < 0) {
		int r = -errno;

		close(fd);
		if (!inherited)
			unlink(path);
		return r;
	}
	h->first_stream = h->last_stream =
	    atomic_load(&h->node->last_stream);
	h->inherited = inherited;
	h->file = socket_file(path);
	h->listen_fd = fd;
	strcpy(h->path, path);
	return 0;
}

static int
note_taken_over(struct hello *h)
{
	const struct keeper *k;
	size_t n = 0;

	TAILQ_FOREACH(k, &h->node->live, link) {
		n += k->feed != NULL;
		if (k->image.arrival > h->arrivals)
			h->arrivals = k->image.arrival;
	}
	if (n == 0)
		return 0;
	h->taken_over = malloc(n * sizeof *h->taken_over);
	if (h->taken_over == NULL)
		return -ENOMEM;
	TAILQ_FOREACH(k, &h->node->live, link)
		if (k->feed != NULL)
			h->taken_over[h->ntaken_over++] = k->stream;
	return 0;
}

int
hello_start(struct hello *h)
{
	sigset_t all, old;
	int r;

	r = note_taken_over(h);
	if (r < 0)
		return r;
	unseen_open(&h->unseen, h->node);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r = pthread_create(&h->thread, NULL, acceptor_main, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	h->running = r == 0;
	return -r;
}

void
hello_stop(struct hello *h)
{
	uint64_t one = 1;

	if (h->listen_fd < 0)
		return;
	/* First: later targets are refused at once, and need not wait. */
	if (!h->inherited)
		socket_remove(h->path, &h->file);
	if (h->running && write(h->stop_fd, &one, sizeof one) > 0)
		pthread_join(h->thread, NULL);
	h->running = false;
	close(h->listen_fd);
	close(h->stop_fd);
	h->listen_fd = -1;
}

void
hello_fini(struct hello *h)
{
	struct keeper *k;

	if (h->node == NULL)
		return;
	while ((k = hello_take(h)) != NULL)
		keeper_unref(k);
	unseen_close(&h->unseen);
	pthread_mutex_destroy(&h->lock);
	free(h->taken_over);
	h->taken_over = NULL;
	h->ntaken_over = 0;
	h->node = NULL;
}
