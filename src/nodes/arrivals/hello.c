/*
 * The acceptor of targets.
 */
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
#include "../keeper/kept_memory.h"
#include "../keeper/node.h"
#include "arrivals.h"
#include "keeper_pool.h"

/* --- hello queue ----------------------------------------------------------- */

/*
 * Who has come in and waits for the loop to adopt him.
 */

/* Each of them has a descriptor until it is adopted, and others need theirs. */
static size_t
room_for_missed(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 &&
	    r.rlim_cur / 4 < HELLO_MISSED_MAX ? r.rlim_cur / 4 :
	    HELLO_MISSED_MAX;
}

void
hello_queue_init(struct hello *h)
{
	pthread_mutex_init(&h->lock, NULL);
	TAILQ_INIT(&h->arrived);
	h->missed_max = room_for_missed();
}

static void
count(struct hello *h, const struct keeper *k)
{
	h->waiting++;
	h->behind += !k->missed;
}

void
hello_put(struct hello *h, struct keeper *k)
{
	TAILQ_INSERT_TAIL(&h->arrived, k, link);
	count(h, k);
}

/* With the lock held. */
static unsigned
behind_of(const struct hello *h, uid_t uid)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &h->arrived, link)
		n += !k->missed && k->image.uid == uid;
	return n;
}

bool
hello_is_full(struct hello *h, uid_t uid)
{
	bool full;

	pthread_mutex_lock(&h->lock);
	full = h->behind >= NODE_TARGETS_MAX ||
	    (h->node->access.system && uid != 0 &&
	    h->behind >= NODE_USER_TARGETS &&
	    behind_of(h, uid) >= NODE_USER_TARGETS);
	pthread_mutex_unlock(&h->lock);
	return full;
}

bool
hello_has_room(struct hello *h)
{
	bool room;

	pthread_mutex_lock(&h->lock);
	room = h->waiting - h->behind < h->missed_max;
	pthread_mutex_unlock(&h->lock);
	return room;
}

void
hello_put_missed(struct hello *h, struct keeper *k)
{
	pthread_mutex_lock(&h->lock);
	if (k != NULL)
		hello_put(h, k);
	else
		h->untold++;
	pthread_mutex_unlock(&h->lock);
}

uint64_t
hello_take_untold(struct hello *h)
{
	uint64_t n;

	if (h->node == NULL)
		return 0;
	pthread_mutex_lock(&h->lock);
	n = h->untold;
	h->untold = 0;
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
	count(h, k);
}

size_t
hello_waiting(struct hello *h)
{
	size_t n;

	if (h->node == NULL)
		return 0;
	pthread_mutex_lock(&h->lock);
	n = h->waiting;
	pthread_mutex_unlock(&h->lock);
	return n;
}

/* With the lock held. */
static void
take(struct hello *h, struct keeper *k)
{
	TAILQ_REMOVE(&h->arrived, k, link);
	h->waiting--;
	h->behind -= !k->missed;
}

struct keeper *
hello_take(struct hello *h)
{
	struct keeper *k;

	if (h->node == NULL)
		return NULL;
	pthread_mutex_lock(&h->lock);
	k = TAILQ_FIRST(&h->arrived);
	if (k != NULL)
		take(h, k);
	pthread_mutex_unlock(&h->lock);
	return k;
}

struct keeper *
hello_take_image(struct hello *h, pid_t pid)
{
	struct keeper *k;

	if (h->node == NULL)
		return NULL;
	pthread_mutex_lock(&h->lock);
	TAILQ_FOREACH(k, &h->arrived, link)
		if (k->image.pid == pid)
			break;
	/* A forked child's parent may stand before it. */
	if (k != NULL && k->image.forked)
		k = NULL;
	if (k != NULL)
		take(h, k);
	pthread_mutex_unlock(&h->lock);
	return k;
}

#define WAITING_MAX 64		/* connected, not yet said hello */
#define PATIENCE_MS 1000	/* for a hello; a target sends it at once */
#define CROWDED_MS 20		/* the same when all places are taken: a target waits 50 for us */
#define CROWDED_LOOK_MS 5
#define HASTE -10		/* nice value of the acceptor's thread */
#define ACCEPT_MAX 16		/* connections taken before those are attended to */
#define HOLD_MS 30		/* so long a hello waits for a loop that is behind; a target waits 50 for us */
#define HOLD_LOOK_MS 1

_Static_assert(2 * NODE_TARGETS_MAX < DSTRM_ROWS, "a row for each");

static const char NO_ROOM[] =
    "the node has no room for it: memory, file size or descriptors";
static const char CRAMPED[] =
    "the rings would take much of the addresses that it may have (RLIMIT_AS)";
static const char TOO_LATE[] =
    "it was not answered within the 50 ms that it waits";

struct waiting {
	int fd;
	uint64_t arrival;		/* running number of the connection */
	int64_t since_ms;
	uid_t uid;			/* -1 not known */
	bool spoke;			/* its hello can be read ... */
	bool held;			/* ... and has waited for the loop */
	bool asked, again;		/* what it says, and that it says hello again */
	bool hung_up;
};

struct acceptor {
	struct hello *hello;
	struct waiting waiting[WAITING_MAX];
	size_t n;
	bool behind;			/* the loop is, at the last look */
	bool holds;			/* somebody who spoke */
	bool last;			/* nobody is held any more */
	struct keeper_pool spares;
};

/* --- one target --------------------------------------------------------- */

static void
name_image(struct keeper *k, int fd, const struct peer *peer,
    const struct ring_hello *h)
{
	pid_t pid = peer->pid;
	char comm[16] = "?";

	k->image.pid = pid;
	k->image.uid = peer->uid;
	k->image.pidfd = access_pidfd(fd, peer);
	if (proc_stat_comm(pid, comm, &k->image.ppid, &k->image.start) < 0)
		proc_comm(pid, comm);
	base_safe_text(
	    k->image.comm, sizeof k->image.comm, comm, strlen(comm), false);
	k->image.forked = (h->flags & RING_HELLO_FORKED) != 0;
	k->image.parent = k->image.forked ? h->parent : 0;
	k->again = !k->image.forked && (h->flags & RING_HELLO_AGAIN) != 0;
	k->was_armed = k->again && (h->flags & RING_HELLO_ARMED) != 0;
}

/* The target waits for our answer meanwhile, so it is there to be looked at. */
static int
introduce(struct keeper *k, int fd, const struct peer *peer,
    const struct ring_hello *h, bool calm)
{
	pid_t pid = peer->pid;
	char path[PROC_PATH];

	name_image(k, fd, peer, h);
	if (k->image.pidfd < 0)
		return -ESRCH;
	sandbox_begin(k, !k->again && (h->flags & RING_HELLO_FREE) != 0);
	proc_exe(pid, &k->image.exe_dev, &k->image.exe_ino);
	if (proc_exe_path(pid, path) == 0)
		k->image.exe = strdup(path);
	if (proc_cwd(pid, path) == 0)
		k->image.cwd = strdup(path);
	if (!k->image.forked) {
		/* A program may be over before anybody asks for its callers. */
		if (calm && symbol_modules_new(&k->modules.table) == 0)
			symbol_modules_read(k->modules.table, pid);
		return 0;
	}
	k->image.cut = malloc(sizeof h->tickets);
	if (k->image.cut == NULL)
		return -ENOMEM;
	memcpy(k->image.cut, h->tickets, sizeof h->tickets);
	return 0;
}

/* It is no target: the next one can have the keeper. */
static void
forget_image(struct keeper *k)
{
	if (k->image.pidfd >= 0)
		close(k->image.pidfd);
	k->image.pidfd = -1;
	k->image.pid = 0;
	k->image.start = 0;
	free(k->image.cut);
	free(k->image.exe);
	free(k->image.cwd);
	k->image.cut = NULL;
	k->image.exe = k->image.cwd = NULL;
	if (k->modules.table != NULL)
		symbol_modules_free(k->modules.table);
	k->modules.table = NULL;
}

static int
send_welcome(int fd, uint64_t stream, const int *fds)
{
	struct ring_welcome w = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION, .stream = stream };
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = &w, .iov_len = sizeof w };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cm;

	memset(&control, 0, sizeof control);
	if (fds != NULL) {
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof control.buf;
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, 2 * sizeof(int));
	}
	if (sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

/*
 * The lock is held from before the answer until the keeper is in the queue:
 * who finds the queue empty under it knows that nobody has been answered.
 */
static int
welcome(struct hello *h, int fd, const struct pooled_keeper *s)
{
	struct keeper *k = s->keeper;
	int r;

	arming_welcome(k);
	/* What it logs before our next pass is of now, not of when this was made. */
	keeper_beat(k, mono_ms(mono_now()));
	if (k->image.cut != NULL)
		stream_feed_start_at(k->feed, k->image.cut);
	keeper_kept_assign(k);
	pthread_mutex_lock(&h->lock);
	r = send_welcome(fd, k->stream, s->fds);
	if (r == 0) {
		if (k->stream > h->given)
			h->given = k->stream;
		quota_count(k);
		hello_put(h, k);
	}
	pthread_mutex_unlock(&h->lock);
	if (r == 0)
		uv_async_send(&h->node->drain.wake);
	return r;
}

/* Why there is no place for one more target, or NULL. */
static const char *
no_place(struct node *node, const struct peer *peer)
{
	unsigned all, own;

	/* By then they are not of as many processes: each may say hello often. */
	if (hello_is_full(node->hello, peer->uid))
		return "more come at once than the node can take in";
	quota_beside(node->quota, peer->pid, peer->uid, &all, &own);
	if (all >= NODE_TARGETS_MAX)
		return "the node watches as many targets as it can";
	if (node->access.system && peer->uid != 0 && own >= NODE_USER_TARGETS)
		return "the node watches as many targets of this user as it "
		    "may";
	return NULL;
}

/* NULL: out of memory. */
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
	snprintf(k->image.reason, sizeof k->image.reason, "%s", why);
	return k;
}

/*
 * An image that said hello and got no stream is an image all the same: it has
 * a row that says why, and its line of the report when it has ended.  But it
 * costs whoever says hello nothing, and us a descriptor until the loop gets to
 * it: of a flood there is in the end nothing but the number.
 */
static void
miss(struct acceptor *a, const struct waiting *w, const struct peer *peer,
    const struct ring_hello *hello, const char *why)
{
	struct hello *h = a->hello;

	hello_put_missed(h, hello_has_room(h) ?
	    missed_image(a, w, peer, hello, why) : NULL);
	uv_async_send(&h->node->drain.wake);
}

/*
 * A target whose keeper is gone, in its own words.  It was with us if the loop
 * has stood still, and its list is here: it finds the heartbeat again.  Who has
 * hung up will come again.
 */
static bool
is_with_us(struct acceptor *a, const struct ring_hello *h)
{
	const struct hello *us = a->hello;

	for (size_t i = 0; i < us->ntaken; i++)
		if (h->parent == us->taken[i])
			return true;
	return h->parent > us->first_stream && h->parent <= us->given &&
	    !keeper_pool_has(&a->spares, h->parent);
}

static bool
want_again(struct acceptor *a, const struct waiting *w,
    const struct ring_hello *h)
{
	return !w->hung_up && !is_with_us(a, h);
}

/* Gives it a stream; else says why it has none. */
static const char *
give_stream(struct acceptor *a, const struct waiting *w,
    const struct peer *peer, const struct ring_hello *h)
{
	const char *why;
	struct pooled_keeper s;
	int r;

	if (w->hung_up)
		return TOO_LATE;
	why = no_place(a->hello->node, peer);
	if (why != NULL)
		return why;
	if (keeper_pool_get(&a->spares, &s) < 0)
		return NO_ROOM;
	s.keeper->image.arrival = w->arrival;
	/* While others wait, the loop is left to read the modules. */
	r = introduce(s.keeper, w->fd, peer, h, a->n == 1);
	if (r < 0) {
		forget_image(s.keeper);
		keeper_pool_put_back(&a->spares, &s);
	} else if ((r = welcome(a->hello, w->fd, &s)) < 0) {
		/* It is this target's by now, and no other's. */
		pooled_keeper_drop(&s);
	} else {
		pooled_keeper_close_fds(&s);
	}
	keeper_pool_refill(&a->spares);
	if (r == 0)
		return NULL;
	return r == -ENOMEM || r == -EMFILE ? NO_ROOM : TOO_LATE;
}

static void
answer_hello(struct acceptor *a, const struct waiting *w)
{
	struct ring_hello h;
	struct peer peer;
	const char *why;
	int fd = w->fd;
	bool again;
	ssize_t n;

	/* MSG_TRUNC: the length that was sent, not what there was room for. */
	n = recv(fd, &h, sizeof h, MSG_DONTWAIT | MSG_TRUNC);
	if (n < (ssize_t)(2 * sizeof(uint32_t)) || h.magic != RING_HELLO_MAGIC)
		return;
	if (access_peer(&a->hello->node->access, fd, &peer) < 0 ||
	    peer.pid <= 0)
		return;
	if (h.version != RING_VERSION || n != (ssize_t)sizeof h) {
		send_welcome(fd, 0, NULL);
		return;
	}
	again = (h.flags & RING_HELLO_AGAIN) != 0;
	if (again && !want_again(a, w, &h))
		return;
	why = (h.flags & RING_HELLO_CRAMPED) != 0 ? CRAMPED :
	    give_stream(a, w, &peer, &h);
	/* A row for each of its hellos would be too many. */
	if (why != NULL && !again)
		miss(a, w, &peer, &h, why);
}

/* --- the thread --------------------------------------------------------- */

/* False when there are no more. */
static bool
take_connection(struct acceptor *a)
{
	int fd = accept4(a->hello->listen_fd, NULL, NULL,
	    SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		/* Out of descriptors: the listener stays readable, so breathe. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			usleep(10000);
		return false;
	}
	a->waiting[a->n++] = (struct waiting){ .fd = fd,
		.arrival = ++a->hello->arrivals, .since_ms = mono_ms(mono_now()),
		.uid = access_uid(fd) };
	return true;
}

static void
take_connections(struct acceptor *a)
{
	for (int i = 0; i < ACCEPT_MAX && a->n < WAITING_MAX; i++)
		if (!take_connection(a))
			break;
}

static void
part_with(struct acceptor *a, struct waiting *w)
{
	close(w->fd);
	*w = a->waiting[--a->n];
}

/*
 * A storm of short programs comes in faster than the loop can follow, which has
 * the more to do for each.  Who is let in all the same keeps his place until the
 * loop gets to his end, and one day there is no place left: so the storm is
 * slowed down instead, by less than what its targets wait for.  Not where nobody
 * is to wait for us, and records are lost instead.
 */
static bool
is_held(const struct acceptor *a, const struct waiting *w, int64_t now)
{
	/* A crowd is not held, for then nobody listens at the door. */
	return a->behind && !w->again && now - w->since_ms < HOLD_MS &&
	    a->n <= WAITING_MAX / 2;
}

static void
look_at_loop(struct acceptor *a)
{
	struct hello *h = a->hello;

	pthread_mutex_lock(&h->lock);
	a->behind = !a->last && !h->node->opts.no_wait &&
	    h->behind >= HELLO_BEHIND;
	pthread_mutex_unlock(&h->lock);
}

/* A thread in the midst of its program, and one that we most likely dismiss. */
static bool
says_again(int fd)
{
	struct ring_hello h;
	size_t least = offsetof(struct ring_hello, flags) + sizeof h.flags;
	ssize_t n = recv(fd, &h, sizeof h, MSG_DONTWAIT | MSG_PEEK);

	return n >= (ssize_t)least && (h.flags & RING_HELLO_AGAIN) != 0;
}

/* The first to connect of those that can be answered; NULL: there are none. */
static struct waiting *
first_to_answer(struct acceptor *a, int64_t now)
{
	struct waiting *first = NULL;

	look_at_loop(a);
	for (size_t i = 0; i < a->n; i++) {
		struct waiting *w = &a->waiting[i];

		if (w->spoke && a->behind && !w->asked) {
			w->again = says_again(w->fd);
			w->asked = true;
		}
		if (w->spoke && !w->hung_up && !is_held(a, w, now) &&
		    (first == NULL || w->arrival < first->arrival))
			first = w;
	}
	return first;
}

static void
note_held(struct acceptor *a)
{
	a->holds = false;
	for (size_t i = 0; i < a->n; i++) {
		struct waiting *w = &a->waiting[i];

		if (!w->spoke || w->hung_up)
			continue;
		a->holds = true;
		if (!w->held)
			atomic_fetch_add(&a->hello->held, 1);
		w->held = true;
	}
}

/* The oldest of this user's who have said nothing yet, and how many they are. */
static size_t
silent_of(struct acceptor *a, uid_t uid, struct waiting **oldest)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		struct waiting *w = &a->waiting[i];

		if (w->spoke || w->uid != uid)
			continue;
		if (n++ == 0 || w->arrival < (*oldest)->arrival)
			*oldest = w;
	}
	return n;
}

/*
 * One user's silence is not to keep the others' targets out: where all places are
 * taken he has no more than half of them.
 */
static void
part_with_crowd(struct acceptor *a)
{
	struct waiting *oldest = NULL;
	uid_t uid;

	for (size_t i = a->n; i-- > 0; ) {
		/* It may have been the last, in the place of one that is gone. */
		if (i >= a->n || a->waiting[i].spoke)
			continue;
		uid = a->waiting[i].uid;
		while (silent_of(a, uid, &oldest) > WAITING_MAX / 2)
			part_with(a, oldest);
	}
}

static void
part_with_silent(struct acceptor *a, int64_t now)
{
	int64_t limit;

	if (a->n == WAITING_MAX && a->hello->node->access.system)
		part_with_crowd(a);
	limit = a->n == WAITING_MAX ? CROWDED_MS : PATIENCE_MS;
	for (size_t i = a->n; i-- > 0; ) {
		struct waiting *w = &a->waiting[i];

		if (!w->spoke && now - w->since_ms > limit)
			part_with(a, w);
	}
}

/*
 * Those who spoke, and those who waited too long.  Who has hung up can wait for
 * us now: first come those who wait in earnest.
 */
static void
attend(struct acceptor *a, const struct pollfd *p)
{
	int64_t now = mono_ms(mono_now());
	struct waiting *w;

	for (size_t i = 0; i < a->n; i++) {
		a->waiting[i].spoke |= p[i].revents != 0;
		a->waiting[i].hung_up |= (p[i].revents & POLLHUP) != 0;
	}
	while ((w = first_to_answer(a, now)) != NULL) {
		answer_hello(a, w);
		part_with(a, w);
	}
	note_held(a);
	part_with_silent(a, now);
	for (size_t i = a->n; i-- > 0; ) {
		if (a->waiting[i].hung_up) {
			answer_hello(a, &a->waiting[i]);
			part_with(a, &a->waiting[i]);
		}
	}
}

/*
 * The tree has ended and nobody waits for an answer any more, but whoever
 * connected in its last moments is to be told of.
 */
static void
last_round(struct acceptor *a)
{
	struct pollfd p[WAITING_MAX];

	a->last = true;
	do {
		take_connections(a);
		for (size_t i = 0; i < a->n; i++)
			p[i] = (struct pollfd){ .fd = a->waiting[i].fd,
				.events = POLLIN };
		if (poll(p, a->n, 0) >= 0)
			attend(a, p);
		while (a->n > 0)
			part_with(a, &a->waiting[0]);
	} while (take_connection(a));
}

/* How long to wait for a word, in milliseconds; -1 for ever. */
static int
patience(const struct acceptor *a)
{
	if (a->holds)
		return HOLD_LOOK_MS;
	return a->n == 0 ? -1 : a->n == WAITING_MAX ? CROWDED_LOOK_MS :
	    PATIENCE_MS;
}

static void *
acceptor_main(void *arg)
{
	struct acceptor a = { .hello = arg };
	struct pollfd p[WAITING_MAX + 2];

	keeper_pool_start(&a.spares, a.hello->node);
	/*
	 * A target that waits counts milliseconds, and this thread has only a
	 * few system calls to do for it: it goes before what else is ready to
	 * run, where that is allowed.  The one that makes spares, and has begun
	 * as we are, does not.
	 */
	(void)setpriority(PRIO_PROCESS, 0, HASTE);
	for (;;) {
		size_t n = a.n;

		/* Of who spoke already only that he hangs up is news. */
		for (size_t i = 0; i < n; i++)
			p[i] = (struct pollfd){ .fd = a.waiting[i].fd,
				.events = a.waiting[i].spoke ? 0 : POLLIN };
		p[n] = (struct pollfd){ .fd = a.hello->stop_fd,
			.events = POLLIN };
		p[n + 1] = (struct pollfd){
			.fd = n == WAITING_MAX ? -1 : a.hello->listen_fd,
			.events = POLLIN };
		if (poll(p, n + 2, patience(&a)) < 0)
			continue;
		if (p[n].revents != 0)
			break;
		attend(&a, p);
		if (p[n + 1].revents != 0)
			take_connections(&a);
	}
	last_round(&a);
	keeper_pool_stop(&a.spares);
	return NULL;
}

/* --- its beginning and end ---------------------------------------------- */

int
hello_listen(struct hello *h, struct node *node, const char *path)
{
	int fd = socket_bind(path, SOCK_SEQPACKET);

	return fd < 0 ? fd : hello_listen_fd(h, node, fd, path, false);
}

int
hello_listen_fd(struct hello *h, struct node *node, int fd, const char *path,
    bool inherited)
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
	h->node = node;
	h->first_stream = h->given = atomic_load(&node->last_stream);
	h->inherited = inherited;
	h->file = socket_file(path);
	h->listen_fd = fd;
	strcpy(h->path, path);
	hello_queue_init(h);
	return 0;
}

/* The thread must not look at lists that are the loop's. */
static int
note_taken(struct hello *h)
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
	h->taken = malloc(n * sizeof *h->taken);
	if (h->taken == NULL)
		return -ENOMEM;
	TAILQ_FOREACH(k, &h->node->live, link)
		if (k->feed != NULL)
			h->taken[h->ntaken++] = k->stream;
	return 0;
}

int
hello_start(struct hello *h)
{
	sigset_t all, old;
	int r;

	r = note_taken(h);
	if (r < 0)
		return r;
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
	/* First: who connects from here on is told at once that nobody is there. */
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
	pthread_mutex_destroy(&h->lock);
	free(h->taken);
	h->taken = NULL;
	h->ntaken = 0;
	h->node = NULL;
}
