/*
 * See supervisor.h.  One thread, no handler of signals, no memory but what is
 * declared here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../host/fdstore.h"
#include "../host/inherited.h"
#include "command.h"
#include "supervisor.h"
#include "reaper.h"

struct held_entry {
	int fd;
	char name[FDSTORE_NAME];
};

struct held {
	struct held_entry entry[INHERITED_MAX];
	int n;
	int passed;			/* of them, to ourselves: they stay */
	int max;			/* half of what we may have: a child needs as many of its own */
	size_t names;			/* bytes of all names, with a separator each */
};

/* --- held descriptors ------------------------------------------------------ */

/*
 * The descriptors that a supervisor holds for its child.
 */

/* Its own from now on; more than can be passed on, or than is good, is closed. */
static void
held_add(struct held *h, int fd, const char *name)
{
	size_t len = strlen(name) + 1;

	/* More than can be passed on cannot be held. */
	if (len > FDSTORE_NAME || h->n == h->max ||
	    h->names + len > INHERITED_NAMES) {
		close(fd);
		return;
	}
	h->entry[h->n].fd = fd;
	memcpy(h->entry[h->n++].name, name, len);
	h->names += len;
}

static bool
is_named(const struct held_entry *e, const char *name)
{
	return strcmp(e->name, name) == 0;
}

static bool
is_other(const struct held_entry *e, const char *name)
{
	return !is_named(e, name);
}

static void
drop(struct held *h, bool (*goes)(const struct held_entry *, const char *),
    const char *name)
{
	int kept = h->passed;

	for (int i = h->passed; i < h->n; i++) {
		struct held_entry *e = &h->entry[i];

		if (goes(e, name)) {
			close(e->fd);
			h->names -= strlen(e->name) + 1;
		} else {
			h->entry[kept++] = *e;
		}
	}
	h->n = kept;
}

/* Closes what has that name, but not what we were passed. */
static void
held_drop(struct held *h, const char *name)
{
	drop(h, is_named, name);
}

/*
 * Closes all that the child may die of: nobody reads its report, and whoever
 * began it anew would lose what it has.
 */
static void
held_drop_deadly(struct held *h)
{
	drop(h, is_other, KEPT_REPORT);
}

static void
take_passed(void *arg, const char *name, int fd)
{
	held_add(arg, fd, name);
}

/* Nothing was passed to us. */
static void
held_limit(struct held *h)
{
	struct rlimit limit;

	h->max = INHERITED_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur / 2 < INHERITED_MAX)
		h->max = (int)(limit.rlim_cur / 2);
	if (h->max < h->n)
		h->max = h->n;
}

/* What was passed to us.  A negative errno. */
static int
held_begin(struct held *h)
{
	int r;

	h->max = INHERITED_MAX;
	r = inherited_each(take_passed, h);
	h->passed = h->n;
	held_limit(h);
	return r;
}

/* Whoever has a descriptor where another is to be. */
static int
move_away(struct held *h, int from, int place)
{
	for (int i = from; i < h->n; i++) {
		if (h->entry[i].fd != place)
			continue;
		h->entry[i].fd = fcntl(place, F_DUPFD_CLOEXEC,
		    INHERITED_FIRST + h->n + 1);
		return h->entry[i].fd;
	}
	return 0;
}

static int
arrange(struct held *h, int channel)
{
	int last = INHERITED_FIRST + h->n;

	/* Out of the way of them all. */
	channel = fcntl(channel, F_DUPFD_CLOEXEC, last + 1);
	for (int i = 0; channel >= 0 && i < h->n; i++) {
		int place = INHERITED_FIRST + i, fd = h->entry[i].fd;

		if (fd == place) {
			if (fcntl(fd, F_SETFD, 0) < 0)
				return -1;
			continue;
		}
		if (move_away(h, i + 1, place) < 0 || dup2(fd, place) < 0)
			return -1;
		close(fd);
	}
	return channel < 0 ? -1 : dup2(channel, last);
}

static int
tell_passed(const struct held *h)
{
	static char names[INHERITED_NAMES];
	char number[16];
	size_t len = 0;

	for (int i = 0; i < h->n; i++)
		base_append(names, sizeof names, &len, "%s%s",
		    i > 0 ? ":" : "", h->entry[i].name);
	if (h->n == 0)
		return 0;
	snprintf(number, sizeof number, "%d", h->n);
	if (setenv("LISTEN_FDS", number, 1) < 0 ||
	    setenv("LISTEN_FDNAMES", names, 1) < 0)
		return -1;
	snprintf(number, sizeof number, "%d", (int)getpid());
	return setenv("LISTEN_PID", number, 1);
}

/*
 * In a child: puts them from INHERITED_FIRST on and says so in the environment.
 * The number of `fd` then, which comes behind them; -1 when it cannot be done.
 */
static int
held_pass(struct held *h, int fd)
{
	fd = arrange(h, fd);
	return fd >= 0 && tell_passed(h) == 0 ? fd : -1;
}

#define SENT_MAX 16		/* descriptors of one message, at most */
#define GIVEN_UP 1
#define CANNOT_RUN 125
#define BY_SIGNAL 128
#define PATIENCE_MS 2000		/* with a child that is to end and not ready */
#define PASS_LOOK_MS 100
#define SAY_AGAIN_MS 1000
#define TRIES 60		/* to start a child, one in a second */

_Static_assert(FDSTORE_FDS <= SENT_MAX, "what is put in one message is taken");

static struct supervisor {
	struct held held;
	struct reaper reaper;
	int signals, channel;		/* -1 none */
	sigset_t mask;			/* as it was */
	struct fdstore above;		/* whoever watches over us */
	pid_t child;
	bool ready;			/* a child has said so */
	int give_up;			/* status where it is we who failed */
	int failed;			/* errno of a command that cannot be started; 0 it can */
	int told;			/* to end, by this signal; 0 not */
	bool child_ready;
	bool follows;			/* there was a child before this one */
	bool cleans;			/* this one is to end for one that was killed */
	int to_pass;			/* signal for a child that is not ready yet; 0 none ... */
	int64_t pass_ms;		/* ... and until when that is waited for */
	int64_t born_ms, died_ms[SUPERVISOR_DEATHS];
	unsigned deaths;
	bool dropped;
} sup;

/* --- messages of the child ---------------------------------------------- */

struct message {
	char text[FDSTORE_MESSAGE + 1];
	int fd[SENT_MAX];
	int nfds;
	bool from_child;
};

static void
take_control(struct message *m, struct msghdr *msg)
{
	struct cmsghdr *c;
	struct ucred who;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS && bytes <= sizeof m->fd) {
			memcpy(m->fd, CMSG_DATA(c), bytes);
			m->nfds = (int)(bytes / sizeof m->fd[0]);
		} else if (c->cmsg_type == SCM_CREDENTIALS &&
		    bytes == sizeof who) {
			memcpy(&who, CMSG_DATA(c), sizeof who);
			m->from_child = who.pid == sup.child;
		}
	}
}

/* False when there is none, or never again. */
static bool
receive(struct message *m)
{
	union {
		char buf[CMSG_SPACE(SENT_MAX * sizeof(int)) +
		    CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = m->text,
		.iov_len = FDSTORE_MESSAGE };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof control.buf };
	ssize_t n;

	m->nfds = 0;
	m->from_child = false;
	n = recvmsg(sup.channel, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return false;
	m->text[n] = '\0';
	take_control(m, &msg);
	return true;
}

static void
pass_on(int sig)
{
	sup.to_pass = 0;
	if (sup.child > 0)
		kill(sup.child, sig);
}

static void
child_is_ready(void)
{
	sup.ready = sup.child_ready = true;
	/* Whoever is above us waits for that, and would end us without it. */
	fdstore_insist(&sup.above, "READY=1");
	if (sup.to_pass != 0)
		pass_on(sup.to_pass);
}

/*
 * A child that follows another one has what that has left, and may be in the
 * midst of taking it up: it can remove it when it is ready, and not before.
 */
static void
pass_when_ready(int sig)
{
	sup.to_pass = sig;
	sup.pass_ms = mono_ms(mono_now()) + PATIENCE_MS;
}

/* Without a command there is nothing to watch. */
static void
hear_of_command(const char *line)
{
	int r = reaper_take_line(&sup.reaper, line);

	if (r == 0)
		return;
	sup.failed = -r;
	sup.told = SIGTERM;
	kill(sup.child, SIGTERM);
}

static void
obey(struct message *m)
{
	const char *name = "stored";	/* systemd's word for what has none */
	bool store = false, drop = false;
	char *line, *rest = m->text;

	while ((line = strsep(&rest, "\n")) != NULL) {
		if (strcmp(line, "FDSTORE=1") == 0)
			store = true;
		else if (strcmp(line, "FDSTOREREMOVE=1") == 0)
			drop = true;
		else if (strncmp(line, "FDNAME=", 7) == 0)
			name = line + 7;
		else if (strcmp(line, "READY=1") == 0)
			child_is_ready();
		else if (strncmp(line, "STATUS=", 7) == 0)
			fdstore_say(&sup.above, line);
		hear_of_command(line);
	}
	if (drop)
		held_drop(&sup.held, name);
	for (int i = 0; store && i < m->nfds; i++)
		held_add(&sup.held, m->fd[i], name);
	if (store)
		m->nfds = 0;
}

static void
listen_to_child(void)
{
	struct message m;

	while (sup.channel >= 0 && receive(&m)) {
		if (m.from_child)
			obey(&m);
		for (int i = 0; i < m.nfds; i++)
			close(m.fd[i]);
	}
}

/* --- a child ------------------------------------------------------------ */

static int
make_channel(int fds[2])
{
	int one = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	if (setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one) == 0)
		return 0;
	close(fds[0]);
	close(fds[1]);
	return -errno;
}

static int
start(void (*become)(void *arg, int fd), void *arg)
{
	int fds[2], r = make_channel(fds);

	if (r < 0)
		return r;
	if (sup.channel >= 0)
		close(sup.channel);
	sup.channel = fds[0];
	sup.born_ms = mono_ms(mono_now());
	sup.child_ready = false;
	sup.child = fork();
	if (sup.child == 0) {
		sigprocmask(SIG_SETMASK, &sup.mask, NULL);
		close(sup.signals);
		close(fds[0]);
		fds[1] = held_pass(&sup.held, fds[1]);
		if (fds[1] >= 0)
			become(arg, fds[1]);
		_exit(sup.give_up);
	}
	r = sup.child < 0 ? -errno : 0;
	close(fds[1]);
	/* No signal of ours may go to all processes. */
	if (r < 0)
		sup.child = 0;
	else
		reaper_set_node(&sup.reaper, sup.child, sup.channel);
	return r;
}

/* --- its end ------------------------------------------------------------ */

static void
say(const char *what)
{
	char line[256];
	int n = snprintf(line, sizeof line, "pageknode: %s\n", what);

	(void)!write(STDERR_FILENO, line, (size_t)n);
	snprintf(line, sizeof line, "STATUS=%s", what);
	fdstore_say(&sup.above, line);
}

/* Too many within too short a time? */
static bool
is_storm(void)
{
	int64_t now = mono_ms(mono_now());
	unsigned i = sup.deaths++ % SUPERVISOR_DEATHS;
	int64_t first;

	sup.died_ms[i] = now;
	first = sup.died_ms[sup.deaths % SUPERVISOR_DEATHS];
	if (now - sup.born_ms >= SUPERVISOR_WINDOW_MS)
		sup.dropped = false;
	return sup.deaths >= SUPERVISOR_DEATHS &&
	    now - first < SUPERVISOR_WINDOW_MS;
}

/* Is there to be another one?  Else *status is ours. */
static bool
goes_on(int wait_status, int *status)
{
	char what[128];

	*status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) :
	    BY_SIGNAL + WTERMSIG(wait_status);
	if (sup.failed != 0)
		*status = sup.give_up;
	/* What it has left is not to stay: the next one ends in its place. */
	if (sup.told && sup.ready && sup.failed == 0 && !sup.cleans &&
	    WIFSIGNALED(wait_status) && *status != BY_SIGNAL + sup.told) {
		sup.cleans = true;
		pass_when_ready(sup.told);
		return true;
	}
	if (sup.told || *status == 0 || (WIFEXITED(wait_status) &&
	    (!sup.ready || sup.reaper.over)))
		return false;
	if (is_storm()) {
		if (sup.dropped) {
			say("the node died again and again: given up");
			*status = sup.give_up;
			return false;
		}
		say("the node dies again and again: what was kept of its "
		    "targets is dropped");
		held_drop_deadly(&sup.held);
		sup.dropped = true;
		sup.deaths = 0;
		return true;
	}
	snprintf(what, sizeof what, "the node ended by %s %d: started again",
	    WIFEXITED(wait_status) ? "status" : "signal",
	    WIFEXITED(wait_status) ? *status : WTERMSIG(wait_status));
	say(what);
	return true;
}

/* False when it lives. */
static bool
is_over(int *wait_status)
{
	if (waitpid(sup.child, wait_status, WNOHANG) != sup.child)
		return false;
	/* What it has sent before it died counts. */
	listen_to_child();
	return true;
}

/* True when processes have ended: more of them may have than there are signals. */
static bool
hear_signals(void)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(sup.signals, &info, sizeof info) == (ssize_t)sizeof info) {
		int sig = (int)info.ssi_signo;

		ended |= sig == SIGCHLD;
		if (sig == SIGCHLD || sig == SIGPIPE)
			continue;
		/* A second time it is meant. */
		if (sig != SIGHUP && sup.told == 0 && sup.follows &&
		    !sup.child_ready)
			pass_when_ready(sig);
		/* What a terminal sends, the child has already. */
		else if (info.ssi_code != SI_KERNEL)
			pass_on(sig);
		if (sig != SIGHUP)
			sup.told = sig;
	}
	return ended;
}

/* A machine that has no room for a process now may have some soon. */
static int
start_again(void (*become)(void *arg, int fd), void *arg)
{
	struct pollfd p = { .fd = sup.signals, .events = POLLIN };
	int r;

	sup.follows = true;
	r = start(become, arg);
	for (int i = 1; r < 0 && i < TRIES; i++) {
		if (poll(&p, 1, 1000) > 0)
			(void)hear_signals();
		if (sup.told != 0)
			return r;
		r = start(become, arg);
	}
	return r;
}

/* Milliseconds until something is to be done that nothing tells us of; -1 never. */
static int
until_look(void)
{
	if (sup.to_pass != 0)
		return PASS_LOOK_MS;
	return sup.above.unsaid[0] != '\0' ? SAY_AGAIN_MS : -1;
}

static int
watch(void (*become)(void *arg, int fd), void *arg)
{
	int status, wait_status, r;
	bool ended;

	for (;;) {
		struct pollfd p[] = {
			{ .fd = sup.signals, .events = POLLIN },
			{ .fd = sup.channel, .events = POLLIN },
		};

		(void)poll(p, BASE_NELEM(p), until_look());
		fdstore_second(&sup.above);
		if (sup.to_pass != 0 && mono_ms(mono_now()) >= sup.pass_ms)
			pass_on(sup.to_pass);
		listen_to_child();
		ended = hear_signals();
		if (!is_over(&wait_status)) {
			/* It closed its end, and is on its way out. */
			if ((p[1].revents & POLLHUP) != 0 &&
			    (p[1].revents & POLLIN) == 0) {
				close(sup.channel);
				sup.channel = sup.reaper.channel = -1;
			}
			/* Not with each message: a node sends four for a target. */
			if (ended)
				reaper_look(&sup.reaper);
			continue;
		}
		if (!goes_on(wait_status, &status))
			return status;
		r = start_again(become, arg);
		if (r < 0) {
			say("the node cannot be started again");
			return sup.give_up;
		}
	}
}

static int
begin(const int *heard, size_t n)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, heard[i]);
	sigprocmask(SIG_BLOCK, &set, &sup.mask);
	sup.channel = -1;
	sup.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return sup.signals < 0 ? -errno : 0;
}

static int
cannot_start(int r)
{
	fprintf(stderr, "pageknode: the node cannot be started: %s\n",
	    strerror(-r));
	return sup.give_up;
}

int
supervisor_run(void (*become)(void *arg, int fd), void *arg)
{
	static const int heard[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP,
		SIGPIPE };
	int r;

	sup.give_up = GIVEN_UP;
	r = begin(heard, BASE_NELEM(heard));
	if (r == 0) {
		fdstore_open(&sup.above, -1);
		r = held_begin(&sup.held);
	}
	if (r == 0)
		r = start(become, arg);
	return r < 0 ? cannot_start(r) : watch(become, arg);
}

/* What systemd says in the environment is for the command, if for anybody. */
int
supervisor_run_command(void (*become)(void *arg, int fd), void *arg,
    struct command *command, int page)
{
	static const int heard[] = { SIGCHLD, SIGTERM };
	int r, status;

	sup.give_up = CANNOT_RUN;
	sup.above.fd = -1;
	r = begin(heard, BASE_NELEM(heard));
	if (r == 0)
		r = reaper_begin(&sup.reaper, command);
	if (r < 0)
		return cannot_start(r);
	held_limit(&sup.held);
	if (page >= 0)
		held_add(&sup.held, page, KEPT_PAGE);
	r = start(become, arg);
	/* A page sees by its end that the node is gone: nobody else has it open. */
	held_drop(&sup.held, KEPT_PAGE);
	if (r < 0)
		return cannot_start(r);
	status = watch(become, arg);
	if (sup.failed != 0)
		fprintf(stderr, "pageknode: %s: %s\n", command->argv[0],
		    strerror(sup.failed));
	return status;
}
