/*
 * Hello to a node: the only file of the target side that connects.
 *
 * The socket is PAGEK_NODE's or, without it, this user's or the system's
 * node's; a process and its children keep to the one that answered.  One
 * connection, 50 ms at most in all; every descriptor is closed before the
 * program goes on.  If anything is wrong the process and its children are inert
 * from then on.  Only system calls and no memory: this runs before the first
 * allocation.
 *
 * The first thread attaches, with all signals blocked; others sleep on a futex
 * until it is done, or as long as it can take.  That cannot deadlock: the
 * attaching thread takes no lock, asks for no memory and runs no handler; in a
 * forked child the state reads zero, so that nobody waits for a thread that was
 * not copied.
 *
 * When the keeper is gone (keeper_watch.h) a thread says hello again in the
 * middle of its program; only a fork waits for it.  Without a listener it costs
 * four system calls a second; with one that does not answer up to 50 ms, less
 * and less often.
 *
 * The socket is moved to a high number, away from programs that start with 0, 1
 * or 2 closed, or open and close by number.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "debugdata.h"
#include "guard/guard.h"
#include "hooks.h"
#include "produce/keeper_watch.h"
#include "unwind/libc.h"
#include "unwind/syscalls.h"

#define PLACE_PATH sizeof(((struct sockaddr_un *)0)->sun_path)

/* False when it does not fit.  No stdio: it could ask for memory. */
static bool
append_text(char path[PLACE_PATH], const char *text)
{
	size_t have = strlen(path), len = strlen(text);

	if (len >= PLACE_PATH - have)
		return false;
	memcpy(path + have, text, len + 1);
	return true;
}

static bool
append_number(char path[PLACE_PATH], unsigned long n)
{
	char digits[24], *at = digits + sizeof(digits);

	*--at = '\0';
	do
		*--at = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	return append_text(path, at);
}

static bool
place_named(char *path)
{
	const char *name = libc_env("PAGEK_NODE");

	return name != NULL && name[0] != '\0' && append_text(path, name);
}

static bool
place_runtime(char *path)
{
	const char *run = libc_env("XDG_RUNTIME_DIR");

	return run != NULL && run[0] == '/' && append_text(path, run) &&
	    append_text(path, "/pagek/node.hello");
}

/* /tmp is everybody's: only a folder that is ours alone is used. */
static bool
place_tmp(char *path)
{
	struct stat st;

	return append_text(path, "/tmp/pagek-") &&
	    append_number(path, call_geteuid()) && call_lstat(path, &st) == 0 &&
	    S_ISDIR(st.st_mode) && st.st_uid == call_geteuid() &&
	    (st.st_mode & 077) == 0 && append_text(path, "/node.hello");
}

/* Below a folder of root's. */
static bool
place_system(char *path)
{
	return append_text(path, "/run/pagek/node.hello");
}

static const struct place {
	bool (*path)(char *);
	bool named;	/* by PAGEK_NODE: no other is tried */
	bool any_peer;	/* the path proves who made the socket */
} places[] = {
	{ place_named, true, false },
	{ place_runtime, false, false },
	{ place_tmp, false, false },
	{ place_system, false, true },
};

#define PLACES (sizeof(places) / sizeof(places[0]))

static const struct place *place;	/* last tried; a fork keeps it */

/* The next socket to try; false when there is none. */
static bool
next_place(struct sockaddr_un *to)
{
	const char *named = libc_env("PAGEK_NODE");
	size_t i = place == NULL ? 0 : (size_t)(place - places) + 1;

	for (; i < PLACES; i++) {
		/* Set and empty: no node is wanted. */
		if (!places[i].named && named != NULL)
			break;
		to->sun_path[0] = '\0';
		if (!places[i].path(to->sun_path))
			continue;
		to->sun_family = AF_UNIX;
		place = &places[i];
		return true;
	}
	place = NULL;
	return false;
}

#define SHARES 8	/* the areas take at most this part of what is left */

/* Bytes of address space in use; UINT64_MAX: not known. */
static uint64_t
address_space_used(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/statm",
	    O_RDONLY | O_CLOEXEC);
	uint64_t pages = 0;
	char text[32];
	ssize_t n;

	if (fd == -1)
		return UINT64_MAX;
	n = syscall(SYS_read, fd, text, sizeof(text));
	call_close(fd);
	/* Its first number. */
	for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(text[i] - '0');
	return pages != 0 ? pages * libc_page() : UINT64_MAX;
}

/* True when `bytes` exceed one of `shares` of what RLIMIT_AS leaves.  Keeps errno. */
static bool
lacks_space(size_t bytes, unsigned shares)
{
	struct rlimit limit;
	int saved = errno;
	uint64_t now;
	bool cramp = false;

	if (syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY) {
		now = address_space_used();
		cramp = now > limit.rlim_cur ||
		    (limit.rlim_cur - now) / shares < bytes;
	}
	errno = saved;
	return cramp;
}

#define ATTACH_MS 50
#define AGAIN_PAUSE_MAX_MS 64000	/* after hellos without an answer */
#define WAIT_MS 60	/* for an attaching thread; a little longer */
#define HIGH_FD 200

_Atomic bool hook_inert;
_Atomic bool hook_foreign;

#define ATTACH_NOT 0
#define ATTACH_DONE UINT32_MAX

/* On a page that fork wipes. */
struct image {
	_Atomic uint32_t state;		/* ATTACH_* or a thread_number(); a futex */
	_Atomic uint32_t rejoin_owner;	/* thread that rejoins or forks; a futex; 0 none */
	_Atomic uint32_t rejoin_waiters;
	uint32_t pause_ms;		/* before the next hello, after one without an answer */
	pid_t pid;			/* that said hello; 0 not asked */
	struct ring_hello hello;	/* too large for a small stack */
};

static struct image *_Atomic image;
static int sandbox = -1;	/* PR_GET_SECCOMP at the hello */
static _Atomic uint64_t missed;	/* of threads that waited in vain */

/* Kept by a fork. */
static struct sockaddr_un node;
static struct ring_area *_Atomic ring;

void
attach_disable(void)
{
	if (!atomic_exchange(&hook_inert, true))
		produce_disable();
}

/* A number for the calling thread: its tid would be a system call. */
static uint32_t
thread_number(void)
{
	static _Atomic uint32_t given;
	static _Thread_local uint32_t number
	    __attribute__((tls_model("initial-exec")));

	if (number == 0)
		number = atomic_fetch_add(&given, 1) + 1;
	return number;
}

static void
sleep_ms(int64_t ms)
{
	struct timespec ts = { .tv_nsec = (long)ms * 1000000 };

	(void)call_ppoll(NULL, 0, &ts);
}

/* The page of the last node that welcomed this process or an ancestor. */
static struct ring_unseen *unseen;

/* ask: leave the process id too, which takes system calls. */
static void
leave_word(enum ring_unseen_why why, bool ask)
{
	struct ring_unseen *u = unseen;
	uint64_t word = 0, none;
	uint32_t pid;

	if (u == NULL || why == RING_UNSEEN_NOT)
		return;
	if (ask) {
		pid = (uint32_t)syscall(SYS_getpid);
		word = ring_unseen_word(why, pid,
		    (uint32_t)syscall(SYS_getppid));
	}
	for (unsigned i = 0; word != 0 && i < RING_UNSEEN_WORDS; i++) {
		none = 0;
		if (atomic_compare_exchange_strong(
			&u->word[(pid + i) % RING_UNSEEN_WORDS], &none, word))
			word = 0;
	}
	if (!ask || word != 0)
		atomic_fetch_add(&u->counted[why], 1);
	atomic_fetch_add(&u->changes, 1);
}

static int
move_high(int fd)
{
	int high = call_fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high == -1)
		return fd;
	call_close(fd);
	return high;
}

/* The connected socket, or -1 and *why. */
static int
connect_node(int64_t until, enum ring_unseen_why *why)
{
	int fd = call_socket(AF_UNIX,
	    SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == -1) {
		*why = errno == EMFILE || errno == ENFILE ?
		    RING_UNSEEN_DESCRIPTORS : errno == ENOMEM ||
		    errno == ENOBUFS ? RING_UNSEEN_MEMORY : RING_UNSEEN_SOCKET;
		return -1;
	}
	fd = move_high(fd);
	while (call_connect(fd, (struct sockaddr *)&node, sizeof(node)) ==
	    -1) {
		/* The queue of connections is full; the node may yet accept. */
		if (errno != EAGAIN || libc_now_ms() >= until) {
			*why = errno == EAGAIN ? RING_UNSEEN_BUSY :
			    errno == EACCES ? RING_UNSEEN_USER :
			    RING_UNSEEN_CONNECT;
			call_close(fd);
			return -1;
		}
		sleep_ms(1);
	}
	return fd;
}

/* A node runs as the same user or root; the system's path proves itself. */
static bool
peer_is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (place->any_peer)
		return true;
	return call_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	    (peer.uid == 0 || peer.uid == call_getuid() ||
	    peer.uid == call_geteuid());
}

static NOINLINE void
fill_hello(struct ring_hello *h)
{
	uint64_t parent = produce_stream();
	const struct ticket *tickets;

	h->magic = RING_HELLO_MAGIC;
	h->version = RING_VERSION;
	memcpy(h->allocator, real.allocator, sizeof(h->allocator));
	/* The node would need long to read it out of a text. */
	h->flags = RING_HELLO_UNSEEN | (sandbox == 0 ? RING_HELLO_FREE : 0);
	h->parent = parent;
	h->unsure = 0;
	/* A forked child maps its rings over its parent's. */
	if (parent == 0) {
		if (lacks_space(ring_area_size(), SHARES))
			h->flags |= RING_HELLO_CRAMPED;
		return;
	}
	if (produce_attached()) {
		h->flags = RING_HELLO_UNSEEN | RING_HELLO_AGAIN |
		    (produce_wanted() ? RING_HELLO_ARMED : 0);
		return;
	}
	h->flags |= RING_HELLO_FORKED;
	tickets = produce_tickets_now();
	h->unsure = callers_unsure();
	for (unsigned i = 0; i < REC_SHARDS; i++)
		h->tickets[i] = atomic_load(&tickets[i].next);
}

/* CMSG_NXTHDR() calls libc unless it is inlined. */
static struct cmsghdr *
next_control(const struct msghdr *m, struct cmsghdr *c)
{
	char *end = (char *)m->msg_control + m->msg_controllen;
	char *at = (char *)c + CMSG_ALIGN(c->cmsg_len);

	return c->cmsg_len >= sizeof(*c) && at < end &&
	    (size_t)(end - at) >= sizeof(*c) ? (void *)at : NULL;
}

/*
 * Takes the answer and its descriptors; any others are closed.  The third is -1
 * if it did not come, as when the process has no place for it; *cut: there was none
 * for one of them.
 */
static NOINLINE bool
take_welcome(int fd, struct ring_welcome *w, int fds[3], bool *cut)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = w, .iov_len = sizeof(*w) };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = call_recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int got[8];
	size_t count = 0;

	if (n == -1)
		return false;
	*cut = (m.msg_flags & MSG_CTRUNC) != 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL;
	     c = next_control(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(got, CMSG_DATA(c), count * sizeof(int));
	}
	if (n == sizeof(*w) && (count == 2 || (count == 3 && !*cut)) &&
	    w->magic == RING_HELLO_MAGIC && w->version == RING_VERSION) {
		fds[0] = got[0];
		fds[1] = got[1];
		fds[2] = count == 3 ? got[2] : -1;
		return true;
	}
	while (count > 0)
		call_close(got[--count]);
	return false;
}

/* Maps an area that cannot shrink, at `at` if not NULL.  NULL: failed. */
static void *
map_area(int fd, size_t size, int prot, void *at)
{
	off_t end = call_end_of(fd);
	void *p;

	if (end < 0 || (size_t)end < size)
		return NULL;
	if ((call_fcntl(fd, F_GET_SEALS, 0) & F_SEAL_SHRINK) == 0)
		return NULL;
	p = call_mmap(at, size, prot,
	    MAP_SHARED | (at != NULL ? MAP_FIXED : 0), fd, 0);
	return p != MAP_FAILED ? p : NULL;
}

/* Replaces an ancestor's page: only the last node reads its page. */
static void
map_unseen(int fd)
{
	void *p = map_area(fd, sizeof(*unseen), PROT_READ | PROT_WRITE, unseen);

	if (p == NULL)
		return;
	(void)call_madvise(p, sizeof(*unseen), MADV_DONTDUMP);
	unseen = p;
}

#define STILL_TRIES 5	/* of 2 ms: a thread in a hook may not run meanwhile */

/* The keeper may have come back meanwhile. */
static bool
join_areas(struct ring_area *r, const struct keeper_area *k, uint64_t stream)
{
	uint32_t word = 0, unsure = 0;
	bool done;

	if (produce_attached()) {
		/* Stops the threads at the gate: no event may lie in two streams. */
		for (unsigned i = 0; debugdata_on() && i < STILL_TRIES &&
		    (word == 0 || unsure != 0); i++) {
			callers_go_on(word);
			word = callers_still(&unsure);
		}
		done = keeper_watch_gone() && produce_rejoin(r, k, stream);
		if (done && debugdata_on())
			debugdata_rejoined();
		callers_go_on(word);
		return done;
	}
	produce_attach(r, k, stream);
	return true;
}

static NOINLINE bool
map_areas(int fds[2], uint64_t stream)
{
	bool bare = false, closed;
	void *at = produce_attached() ? produce_rejoin_address() :
	    produce_attach_address(&bare);
	struct keeper_area *k = map_area(fds[1], sizeof(*k), PROT_READ, NULL);
	struct ring_area *r = NULL;

	closed = bare || at == NULL;
	if (k != NULL && stream != 0)
		r = map_area(fds[0], ring_area_size(), closed ? PROT_NONE :
		    PROT_READ | PROT_WRITE, at);
	if (r != NULL && closed && !produce_open_area(r)) {
		if (at == NULL)
			call_munmap(r, ring_area_size());
		r = NULL;
	}
	if (r != NULL) {
		produce_set_mapped_over(r, !closed);
		(void)call_madvise(r, ring_area_size(), MADV_DONTDUMP);
		if (join_areas(r, k, stream)) {
			stack_forget_rules();
			ring = r;
			return true;
		}
		/* An earlier era's event may still write there. */
		if (r != at)
			call_munmap(r, ring_area_size());
	}
	if (k != NULL)
		call_munmap(k, sizeof(*k));
	return false;
}

/* After a map_areas() that failed, by errno. */
static enum ring_unseen_why
why_unmapped(void)
{
	if (errno != ENOMEM)
		return RING_UNSEEN_NOT;
	/* A forked child lacks room for the second area only. */
	return lacks_space(produce_stream() != 0 ? sizeof(struct keeper_area) :
	    ring_area_size(), 1) ? RING_UNSEEN_SPACE : RING_UNSEEN_MEMORY;
}

static bool
await_answer(int fd, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t left = until - libc_now_ms();
	struct timespec ts = { .tv_nsec = left > 0 ? (long)left * 1000000 : 0 };

	return call_ppoll(&p, 1, &ts) == 1;
}

static NOINLINE int connect_any(int64_t, enum ring_unseen_why *);

/*
 * Tells the node why the areas of its stream, or of none (0), are not mapped.
 * The node answers when it has recorded that, so before it sees this process end.
 * True: the message was sent, even if the answer is late.
 */
static NOINLINE bool
tell_unmapped(struct ring_hello *h, uint64_t stream, enum ring_unseen_why why,
    int64_t until)
{
	enum ring_unseen_why none;
	bool told;
	int fd;

	h->flags = RING_HELLO_UNMAPPED;
	h->parent = stream;
	h->unsure = why;
	fd = connect_any(until, &none);
	if (fd == -1)
		return false;
	told = peer_is_ours(fd) && call_send(fd, h, sizeof(*h),
	    MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*h);
	if (told)
		(void)await_answer(fd, until);
	call_close(fd);
	return told;
}

/* The first node's socket, connected, or -1. */
static NOINLINE int
connect_any(int64_t until, enum ring_unseen_why *why)
{
	int fd;

	if (place != NULL)
		return connect_node(until, why);
	while (next_place(&node)) {
		fd = connect_node(until, why);
		if (fd != -1)
			return fd;
	}
	return -1;
}

/*
 * Waits for the welcome to *stream and maps its areas.  False: *why is the reason
 * if there was one, and NOT without.
 */
static NOINLINE bool
take_areas(int fd, int64_t until, uint64_t *stream, enum ring_unseen_why *why)
{
	struct ring_welcome w = { 0 };
	bool mapped, cut = false;
	int fds[3];

	if (!await_answer(fd, until))
		return false;
	if (!take_welcome(fd, &w, fds, &cut)) {
		if (cut)
			*why = RING_UNSEEN_DESCRIPTORS;
		*stream = w.stream;
		return false;
	}
	*stream = w.stream;
	errno = 0;
	mapped = map_areas(fds, w.stream);
	if (!mapped)
		*why = why_unmapped();
	if (fds[2] != -1) {
		map_unseen(fds[2]);
		call_close(fds[2]);
	}
	call_close(fds[0]);
	call_close(fds[1]);
	return mapped;
}

/*
 * *heard: a node listened, even if there is no stream.  *why: why the node did
 * not get the hello; NOT if it did: then the node itself reports why there is
 * no stream.
 */
static bool
say_hello(struct ring_hello *hello, bool *heard, enum ring_unseen_why *why)
{
	int64_t until = libc_now_ms() + ATTACH_MS;
	enum ring_unseen_why unmapped = RING_UNSEEN_NOT;
	uint64_t stream = 0;
	bool joined = false;
	int fd;

	/* First: a node woken by the connection then finds the hello there. */
	fill_hello(hello);
	*why = RING_UNSEEN_NOT;
	fd = connect_any(until, why);
	*heard = fd != -1 || libc_now_ms() >= until;
	if (fd == -1)
		return false;
	if (!peer_is_ours(fd))
		*why = RING_UNSEEN_PEER;
	else if (call_send(fd, hello, sizeof(*hello), MSG_NOSIGNAL |
	    MSG_DONTWAIT) != (ssize_t)sizeof(*hello))
		*why = RING_UNSEEN_CONNECT;
	else if ((hello->flags & RING_HELLO_CRAMPED) == 0)
		joined = take_areas(fd, until, &stream, &unmapped);
	call_close(fd);
	if (joined)
		regions_tell();
	/* A process that says hello again tries once more. */
	else if (unmapped != RING_UNSEEN_NOT && !produce_attached() &&
	    !tell_unmapped(hello, stream, unmapped, until))
		*why = unmapped;
	return joined;
}

static void rejoin_later(void);
static void give(uint32_t);

static NOINLINE struct image *
image_get(void)
{
	struct image *m = atomic_load(&image), *none = NULL;

	if (m != NULL || (m = produce_wiped(sizeof(*m))) == NULL ||
	    atomic_compare_exchange_strong(&image, &none, m))
		return m;
	return none;
}

/* Counts the events that no thread could log as dropped by the common ring. */
static void
count_missed(void)
{
	struct ring_area *r = ring;
	uint64_t n;

	if (r == NULL || atomic_load(&missed) == 0)
		return;
	n = atomic_exchange(&missed, 0);
	atomic_fetch_add(&r->rings[RING_COMMON].dropped, n);
}

/*
 * A child of a process that has locked itself in since might be killed for its
 * socket, and for asking the kernel too: only if the keeper has seen nothing.
 */
static bool
is_newly_sandboxed(void)
{
	static int at_start = -1;

	sandbox = (int)syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
	if (at_start == -1)
		at_start = sandbox;
	return sandbox != at_start;
}

/* malloc is no cancellation point, and no handler is to interrupt. */
struct quiet {
	uint64_t signals;
	int cancel;
};

static void
quiet_begin(struct quiet *q)
{
	call_block_signals(&q->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &q->cancel);
}

static void
quiet_end(const struct quiet *q)
{
	pthread_setcancelstate(q->cancel, NULL);
	call_restore_signals(&q->signals);
}

static NOINLINE void
attach_first(struct image *m)
{
	enum ring_unseen_why why = RING_UNSEEN_SANDBOX;
	struct quiet q;
	bool heard;

	if (!keeper_watch_child_may_join()) {
		leave_word(why, false);
		attach_disable();
		produce_orphan();
		atomic_store(&m->state, ATTACH_DONE);
		return;
	}
	quiet_begin(&q);
	threads_begin();
	keeper_watch_callback = rejoin_later;
	keeper_watch_give = give;
	if (is_newly_sandboxed() || !say_hello(&m->hello, &heard, &why)) {
		/*
		 * Before the rings are unmapped: then the node reads the word.
		 */
		leave_word(why, sandbox == 0);
		attach_disable();
		produce_orphan();
	}
	/* A filter might kill for these calls. */
	if (sandbox == 0) {
		m->pid = (pid_t)syscall(SYS_getpid);
		callers_begin();
	}
	atomic_store(&m->state, ATTACH_DONE);
	syscall(SYS_futex, &m->state, FUTEX_WAKE_PRIVATE, INT32_MAX);
	quiet_end(&q);
}

/*
 * Without rings: the program may yet use the API.  A forked child does not tell:
 * nothing has watched whether its parent has locked itself in since.
 */
static NOINLINE void
tell_foreign(void)
{
	struct image *m = image_get();
	int saved = errno;
	struct quiet q;

	if (m == NULL)
		return;
	quiet_begin(&q);
	if (!is_newly_sandboxed()) {
		fill_hello(&m->hello);
		(void)tell_unmapped(&m->hello, 0, RING_UNSEEN_FOREIGN,
		    libc_now_ms() + ATTACH_MS);
	}
	quiet_end(&q);
	errno = saved;
}

/* Waits for another thread's hello; false: it did not end in time. */
static NOINLINE bool
wait_for(_Atomic uint32_t *word, uint32_t who)
{
	int64_t until = libc_now_ms() + WAIT_MS, left;
	struct timespec ts = { 0 };

	while (atomic_load(word) == who) {
		left = until - libc_now_ms();
		if (left <= 0)
			return false;
		ts.tv_nsec = (long)left * 1000000;
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, who, &ts);
	}
	return true;
}

bool
attach(void)
{
	int saved = errno;
	uint32_t me = thread_number(), who;
	struct image *m;

	/* The rest takes system calls. */
	if (thread_self.silent)
		return produce_attached();
	m = image_get();
	if (m == NULL && !atomic_load(&hook_inert)) {
		leave_word(RING_UNSEEN_MEMORY, false);
		attach_disable();
	}
	while (!atomic_load(&hook_inert) && !produce_attached()) {
		who = ATTACH_NOT;
		if (atomic_compare_exchange_strong(&m->state, &who, me)) {
			attach_first(m);
		} else if (who == ATTACH_DONE) {
			break;
		} else if (who == me || !wait_for(&m->state, who)) {
			atomic_fetch_add(&missed, 1);
			break;
		}
	}
	errno = saved;
	if (!produce_attached())
		return false;
	count_missed();
	return true;
}

/* One at a time; false: another thread says hello or forks. */
static bool
rejoin_lock(struct image *m, uint32_t me, bool wait)
{
	uint32_t who = 0;
	bool done = true;

	while (done &&
	    !atomic_compare_exchange_strong(&m->rejoin_owner, &who, me)) {
		if (!wait || who == me)
			return false;
		atomic_fetch_add(&m->rejoin_waiters, 1);
		done = wait_for(&m->rejoin_owner, who);
		atomic_fetch_sub(&m->rejoin_waiters, 1);
		who = 0;
	}
	return done;
}

/* Without waiters a fork costs no system call. */
static void
rejoin_unlock(struct image *m)
{
	atomic_store(&m->rejoin_owner, 0);
	if (atomic_load(&m->rejoin_waiters) != 0)
		syscall(SYS_futex, &m->rejoin_owner, FUTEX_WAKE_PRIVATE,
		    INT32_MAX);
}

/* Pauses grow while nodes listen but do not answer: each may take 50 ms. */
static void
say_hello_to_next(struct image *m)
{
	enum ring_unseen_why why;
	bool heard = false;

	if (is_newly_sandboxed()) {
		keeper_watch_callback = NULL;
		return;
	}
	/* In a child of vfork(2), which the node would take us for. */
	if (m->pid != 0 && m->pid != (pid_t)syscall(SYS_getpid))
		return;
	if (say_hello(&m->hello, &heard, &why) || !heard) {
		m->pause_ms = 0;
		return;
	}
	m->pause_ms = m->pause_ms == 0 ? 2 * KEEPER_WATCH_PAUSE_MS :
	    m->pause_ms < AGAIN_PAUSE_MAX_MS ? 2 * m->pause_ms :
	    AGAIN_PAUSE_MAX_MS;
	keeper_watch_pause(m->pause_ms);
}

/*
 * With debug data the hello waits for the next event, because the table is told at
 * once and this event may be half done.
 */
static void
rejoin_later(void)
{
	if (debugdata_on())
		callers_make_due();
	else
		attach_again();
}

void
attach_again(void)
{
	struct image *m = atomic_load(&image);
	int saved = errno;
	struct quiet q;

	if (m == NULL || atomic_load(&hook_inert))
		return;
	quiet_begin(&q);
	if (rejoin_lock(m, thread_number(), false)) {
		say_hello_to_next(m);
		rejoin_unlock(m);
	}
	quiet_end(&q);
	errno = saved;
}

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static int
make_userfaultfd(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK |
	    UFFD_USER_MODE_ONLY);

	return fd == -1 ? -errno : move_high(fd);
}

/* fd: a negative errno if there is no descriptor. */
static NOINLINE void
send_writes(int sock, int fd, bool guard)
{
	struct ring_writes w = { .magic = RING_WRITES_MAGIC,
		.version = RING_VERSION, .flags = guard,
		.error = fd < 0 ? (uint32_t)-fd : 0, .stream = produce_stream() };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .space = { 0 } };
	struct iovec iov = { .iov_base = &w, .iov_len = sizeof(w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_LEN(sizeof(fd));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	(void)call_sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Waits for nothing: the keeper asks again. */
static NOINLINE void
give_what(uint32_t what)
{
	enum ring_unseen_why none;
	int sock = connect_any(0, &none), fd;

	if (sock == -1)
		return;
	if (peer_is_ours(sock)) {
		fd = what == RING_CUT_GUARD ? guard_make() : make_userfaultfd();
		send_writes(sock, fd, what == RING_CUT_GUARD);
		if (fd >= 0 && what == RING_CUT_GUARD)
			guard_begin();
		if (fd >= 0)
			call_close(fd);
	}
	call_close(sock);
}

/*
 * Under the lock of hellos, so that no forked child has the descriptors; and not in
 * a child of vfork(2).
 */
static void
give(uint32_t what)
{
	struct image *m = atomic_load(&image);
	struct quiet q;

	if (m == NULL || atomic_load(&hook_inert))
		return;
	quiet_begin(&q);
	if (rejoin_lock(m, thread_number(), false)) {
		if (!is_newly_sandboxed() &&
		    m->pid == (pid_t)syscall(SYS_getpid))
			give_what(what);
		rejoin_unlock(m);
	}
	quiet_end(&q);
}

/*
 * Around fork(3): the parent's keeper must know the parent, the child must
 * inherit no descriptor and no half event.  A fork by a signal handler during a
 * fork belongs to the outer one.
 */
static void
before_fork(void)
{
	struct image *m = atomic_load(&image);
	int saved = errno;

	if (thread_self.forking++ != 0 || m == NULL)
		return;
	produce_check_keeper(thread_self.producer);
	callers_hold(rejoin_lock(m, thread_number(), true));
	errno = saved;
}

static void
after_fork_in_parent(void)
{
	struct image *m = atomic_load(&image);
	int saved = errno;

	if (--thread_self.forking != 0 || m == NULL)
		return;
	callers_release();
	if (atomic_load(&m->rejoin_owner) == thread_number())
		rejoin_unlock(m);
	errno = saved;
}

/*
 * In the child: hello at once, so that the node sees it first.  System calls
 * only, as several threads may have run.
 */
static void
after_fork_in_child(void)
{
	threads_forked();
	guard_forked();
	if (atomic_load(&hook_inert))
		leave_word(RING_UNSEEN_PARENT, false);
	if ((produce_stream() != 0 || !atomic_load(&hook_foreign)) && !attach())
		produce_orphan();
	produce_tell_past();
	/*
	 * A child forked by a handler goes on with the fork that the handler
	 * interrupted.
	 */
	if (thread_self.forking > 0)
		thread_self.forking--;
}

/* glibc's pthread_atfork(3) is not in its shared object. */
#pragma weak __register_atfork
#pragma weak pthread_atfork
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

/* Without either a child says hello with its first event. */
static void
watch_forks(void)
{
	if (__register_atfork != NULL)
		(void)__register_atfork(before_fork, after_fork_in_parent,
		    after_fork_in_child, NULL);
	else if (pthread_atfork != NULL)
		(void)pthread_atfork(before_fork, after_fork_in_parent,
		    after_fork_in_child);
}

__attribute__((constructor)) static void
begin(void)
{
	if (!real_get() || atomic_load(&hook_inert))
		return;
	if (atomic_load(&hook_foreign))
		tell_foreign();
	if (atomic_load(&hook_foreign) || attach())
		watch_forks();
	produce_tell_past();
}

__attribute__((destructor)) static void
end(void)
{
	produce_tell_past();
	produce_exited();
	callers_end();
	debugdump_exit();
}

/* libasan ends programs where it is not the first library, unless told so. */
const char *__asan_default_options(void);

EXPORT const char *
__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

/*
 * prctl(2), to notice a seccomp filter that is about to be installed: without a
 * keeper nobody else does, and the filter may kill for asking.  A process
 * without privileges must first give up new ones by this call, and libseccomp
 * always does; a privileged process that calls seccomp(2) by number goes
 * unnoticed.
 *
 * In strict mode a thread is killed for anything but read, write and exit, a
 * futex(2) of ours included: it is silent from then on.
 *
 * A process that only gives up new privileges counts as locked in: its keeper
 * goes on, but it says no other hello, nor do its children before the keeper
 * has looked often enough (keeper_watch_sandbox()).
 */
EXPORT int
prctl(int option, ...)
{
	bool locks = option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP;
	bool strict;
	unsigned long a[4];
	struct producer *p = NULL;
	va_list ap;
	int r;

	/* As in libc: whatever the registers hold goes to the kernel. */
	va_start(ap, option);
	for (unsigned i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	strict = option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_STRICT;
	/* Before the call: another thread may be about to say hello. */
	if (locks) {
		debugdump_locks();
		keeper_watch_sandbox();
		produce_open_large_rings();
	}
	if (strict)
		p = thread_silence();
	r = (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
	/* The keeper has looked before that only. */
	if (locks)
		keeper_watch_sandbox();
	if (strict && r != 0)
		thread_unsilence(p);
	return r;
}

/*
 * _exit(2), so that a node that sees neither the end nor another program knows
 * that the image itself has ended.  A child of vfork(2) has its parent's memory.
 * To ask for the process id is a system call, too.
 */
static _Noreturn void
exit_now(int status)
{
	struct image *m = atomic_load(&image);
	int saved = errno;

	if (m != NULL && m->pid != 0 && keeper_watch_allows_calls() &&
	    m->pid == (pid_t)syscall(SYS_getpid))
		produce_exited();
	errno = saved;
	if (real.exit_now != NULL)
		real.exit_now(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void
_exit(int status)
{
	exit_now(status);
}

EXPORT void
_Exit(int status)
{
	exit_now(status);
}
