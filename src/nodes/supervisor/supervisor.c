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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../stream/feed/feed.h"
#include "../../stream/feed/robust.h"
#include "../../stream/ring.h"
#include "../host/fdstore.h"
#include "../host/host.h"
#include "command.h"
#include "supervisor.h"

#define SENT_MAX 16		/* descriptors of one message, at most */
#define GIVEN_UP 1
#define BY_SIGNAL 128
#define READY_MS 2000		/* for a child that is to end, before it gets the signal */
#define PASS_POLL_MS 100
#define UNSAID_POLL_MS 1000
#define ABANDON_S 2
#define START_TRIES 60		/* one in a second */

_Static_assert(FDSTORE_FDS <= SENT_MAX, "what is put in one message is taken");

struct stored_fd {
	int fd;
	unsigned listed;		/* robust_add(): of a keeper area */
	char name[FDSTORE_NAME];
};

struct store {
	struct stored_fd entry[INHERITED_MAX];
	int n;
	int passed;			/* of them, to ourselves: they stay */
	int max;			/* half of our limit: a child needs as many of its own */
	size_t names;			/* bytes of all names, with a separator each */
};

/* Areas that the target itself has cannot be mapped for writing. */
static unsigned
list_area(int fd)
{
	size_t size = sizeof(struct keeper_area);
	struct keeper_area *keeper;
	unsigned n;

	if (stream_feed_area(fd) != 1)
		return 0;
	keeper = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (keeper == MAP_FAILED)
		return 0;
	n = robust_add(keeper);
	munmap(keeper, size);
	return n;
}

/* Owns fd; closes what cannot be passed on, or is too much. */
static void
store_add(struct store *s, int fd, const char *name)
{
	size_t len = strlen(name) + 1;

	if (len > FDSTORE_NAME || s->n == s->max ||
	    s->names + len > INHERITED_NAMES) {
		close(fd);
		return;
	}
	s->entry[s->n].fd = fd;
	s->entry[s->n].listed = list_area(fd);
	memcpy(s->entry[s->n++].name, name, len);
	s->names += len;
}

/* Closes what has that name or, others, what has not; never what we were passed. */
static void
drop_stored(struct store *s, const char *name, bool others)
{
	int n = s->passed;

	for (int i = s->passed; i < s->n; i++) {
		struct stored_fd *e = &s->entry[i];

		if ((strcmp(e->name, name) == 0) != others) {
			robust_remove(&e->listed);
			close(e->fd);
			s->names -= strlen(e->name) + 1;
		} else {
			s->entry[n++] = *e;
		}
	}
	s->n = n;
}

static void
store_drop(struct store *s, const char *name)
{
	drop_stored(s, name, false);
}

/*
 * Tells the targets that their areas have no keeper.  Runs in a process of its own, because the node may have
 * died of these areas.
 */
static _Noreturn void
abandon_areas(const struct store *s)
{
	alarm(ABANDON_S);
	for (int i = s->passed; i < s->n; i++) {
		int fds[2] = { s->entry[i].fd, -1 };

		if (stream_feed_area(fds[0]) != 0)
			continue;
		for (int k = s->passed; k < s->n && fds[1] < 0; k++)
			if (strcmp(s->entry[k].name, s->entry[i].name) == 0 &&
			    stream_feed_area(s->entry[k].fd) == 1)
				fds[1] = s->entry[k].fd;
		if (fds[1] >= 0)
			stream_feed_abandon(fds);
	}
	_exit(0);
}

static void
abandon_stored(const struct store *s)
{
	sigset_t alarms;
	pid_t pid;

	if (s->n == s->passed)
		return;
	pid = fork();
	if (pid == 0) {
		sigemptyset(&alarms);
		sigaddset(&alarms, SIGALRM);
		signal(SIGALRM, SIG_DFL);
		sigprocmask(SIG_UNBLOCK, &alarms, NULL);
		abandon_areas(s);
	}
	/* Reap it here, because the reaper counts the supervisor's children. */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static void
take_passed(void *arg, const char *name, int fd)
{
	store_add(arg, fd, name);
}

static void
store_limit(struct store *s)
{
	struct rlimit limit;

	s->max = INHERITED_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur / 2 < INHERITED_MAX)
		s->max = (int)(limit.rlim_cur / 2);
	if (s->max < s->n)
		s->max = s->n;
}

static int
store_begin(struct store *s)
{
	int r;

	s->max = INHERITED_MAX;
	r = inherited_each(take_passed, s);
	s->passed = s->n;
	store_limit(s);
	return r;
}

static int
move_away(struct store *s, int from, int place)
{
	for (int i = from; i < s->n; i++) {
		if (s->entry[i].fd != place)
			continue;
		s->entry[i].fd = fcntl(place, F_DUPFD_CLOEXEC,
		    INHERITED_FIRST + s->n + 1);
		return s->entry[i].fd;
	}
	return 0;
}

/* Puts all descriptors in order; the number of `channel` behind them, or -1. */
static int
arrange(struct store *s, int channel)
{
	int last = INHERITED_FIRST + s->n;

	channel = fcntl(channel, F_DUPFD_CLOEXEC, last + 1);
	for (int i = 0; channel >= 0 && i < s->n; i++) {
		int place = INHERITED_FIRST + i, fd = s->entry[i].fd;

		if (fd == place) {
			if (fcntl(fd, F_SETFD, 0) < 0)
				return -1;
			continue;
		}
		if (move_away(s, i + 1, place) < 0 || dup2(fd, place) < 0)
			return -1;
		close(fd);
	}
	return channel < 0 ? -1 : dup2(channel, last);
}

static int
set_environment(const struct store *s)
{
	static char names[INHERITED_NAMES];
	char number[16];
	size_t len = 0;

	for (int i = 0; i < s->n; i++)
		base_append(names, sizeof names, &len, "%s%s",
		    i > 0 ? ":" : "", s->entry[i].name);
	if (s->n == 0)
		return 0;
	snprintf(number, sizeof number, "%d", s->n);
	if (setenv("LISTEN_FDS", number, 1) < 0 ||
	    setenv("LISTEN_FDNAMES", names, 1) < 0)
		return -1;
	snprintf(number, sizeof number, "%d", (int)getpid());
	return setenv("LISTEN_PID", number, 1);
}

/*
 * In a child: puts all descriptors from INHERITED_FIRST on and says so in the
 * environment.  Returns the number of `fd`, which comes after them, or -1.
 */
static int
store_pass(struct store *s, int fd)
{
	fd = arrange(s, fd);
	return fd >= 0 && set_environment(s) == 0 ? fd : -1;
}

static struct supervisor {
	struct store store;
	struct reaper reaper;
	int signals, channel;		/* -1 none */
	sigset_t mask;			/* as it was */
	struct fdstore above;		/* to systemd, if it started us */
	pid_t child;
	bool ready;			/* some child was */
	int give_up;			/* our status if we fail */
	int failed;			/* errno of a command that cannot be started; 0 */
	int told;			/* signal by which we were told to end; 0 none */
	bool child_ready;
	bool follows;			/* there was a child before this one */
	bool cleans;			/* this one is to end in place of one that was killed */
	int to_pass;			/* signal for a child that is not ready yet; 0 none ... */
	int64_t pass_ms;		/* ... which is sent then at the latest */
	int64_t started_ms, died_ms[SUPERVISOR_DEATHS];
	unsigned deaths;
	bool dropped;			/* the store, since the last storm of deaths */
} sup;

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

/* 0, -EAGAIN: none yet, or -EPIPE: the child has closed its end, and none follows. */
static int
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
	do
		n = recvmsg(sup.channel, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	/* The child has ended without reading all of ours; its own messages follow. */
	while (n < 0 && errno == ECONNRESET);
	if (n < 0)
		return -EAGAIN;
	/* Only a message has credentials with it, even if it is empty. */
	if (n == 0 && msg.msg_controllen == 0)
		return -EPIPE;
	m->text[n] = '\0';
	take_control(m, &msg);
	return 0;
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
	/* systemd waits for that, and would end us without it. */
	fdstore_insist(&sup.above, "READY=1");
	if (sup.to_pass != 0)
		pass_on(sup.to_pass);
}

/* A child that takes over what another has left can remove it only when it is ready. */
static void
pass_when_ready(int sig)
{
	sup.to_pass = sig;
	sup.pass_ms = mono_ms(mono_now()) + READY_MS;
}

static void
run_command_line(const char *line)
{
	int r = reaper_take_line(&sup.reaper, line);

	if (r < 0)
		sup.failed = -r;
}

static void
handle_message(struct message *m)
{
	const char *name = "stored";	/* systemd's default */
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
		run_command_line(line);
	}
	if (drop)
		store_drop(&sup.store, name);
	for (int i = 0; store && i < m->nfds; i++)
		store_add(&sup.store, m->fd[i], name);
	if (store)
		m->nfds = 0;
}

/* A closed end would wake each poll() until the child is gone, so ours is closed, too. */
static void
close_channel(void)
{
	close(sup.channel);
	sup.channel = sup.reaper.channel = -1;
}

static void
read_messages(void)
{
	struct message m;
	int r = -EAGAIN;

	while (sup.channel >= 0 && (r = receive(&m)) == 0) {
		if (m.from_child)
			handle_message(&m);
		for (int i = 0; i < m.nfds; i++)
			close(m.fd[i]);
	}
	if (r == -EPIPE)
		close_channel();
}

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
start_child(void (*become)(void *arg, int fd), void *arg)
{
	int fds[2], r = make_channel(fds);

	if (r < 0)
		return r;
	if (sup.channel >= 0)
		close(sup.channel);
	sup.channel = fds[0];
	sup.started_ms = mono_ms(mono_now());
	sup.child_ready = false;
	sup.child = fork();
	if (sup.child == 0) {
		/* The command's, as of reaper_takes_signal(); until it is heeded. */
		if (sup.reaper.command != NULL)
			signal(SIGTERM, SIG_IGN);
		sigprocmask(SIG_SETMASK, &sup.mask, NULL);
		close(sup.signals);
		close(fds[0]);
		fds[1] = store_pass(&sup.store, fds[1]);
		if (fds[1] >= 0)
			become(arg, fds[1]);
		_exit(sup.give_up);
	}
	r = sup.child < 0 ? -errno : 0;
	close(fds[1]);
	/* kill() must not see -1: that is all processes. */
	if (r < 0)
		sup.child = 0;
	else
		reaper_set_node(&sup.reaper, sup.child, sup.channel);
	return r;
}

static void
say(const char *what)
{
	char line[256];
	int n = snprintf(line, sizeof line, "pageknode: %s\n", what);

	(void)!write(STDERR_FILENO, line, (size_t)n);
	snprintf(line, sizeof line, "STATUS=%s", what);
	fdstore_say(&sup.above, line);
}

static bool
is_storm(void)
{
	int64_t now = mono_ms(mono_now());
	unsigned i = sup.deaths++ % SUPERVISOR_DEATHS;
	int64_t first;

	sup.died_ms[i] = now;
	first = sup.died_ms[sup.deaths % SUPERVISOR_DEATHS];
	if (now - sup.started_ms >= SUPERVISOR_WINDOW_MS)
		sup.dropped = false;
	return sup.deaths >= SUPERVISOR_DEATHS &&
	    now - first < SUPERVISOR_WINDOW_MS;
}

/* Is another child to be started?  Else *status is ours. */
static bool
needs_child(int wait_status, int *status)
{
	char what[128];

	*status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) :
	    BY_SIGNAL + WTERMSIG(wait_status);
	if (sup.failed != 0)
		*status = sup.give_up;
	/* The next one removes what it has left. */
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
			say("the node died again and again: giving up");
			*status = sup.give_up;
			return false;
		}
		say("the node dies again and again: dropping its targets' "
		    "lists");
		abandon_stored(&sup.store);
		/* It may die of all but its report, which it only appends to. */
		drop_stored(&sup.store, STORED_REPORT, true);
		sup.dropped = true;
		sup.deaths = 0;
		return true;
	}
	snprintf(what, sizeof what, "the node ended by %s %d: restarting it",
	    WIFEXITED(wait_status) ? "status" : "signal",
	    WIFEXITED(wait_status) ? *status : WTERMSIG(wait_status));
	say(what);
	return true;
}

static bool
has_ended(int *wait_status)
{
	if (waitpid(sup.child, wait_status, WNOHANG) != sup.child)
		return false;
	read_messages();
	return true;
}

/* True if processes have ended: one SIGCHLD may stand for several. */
static bool
read_signals(void)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(sup.signals, &info, sizeof info) == (ssize_t)sizeof info) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGNAL_PASS) {
			reaper_pass_signal(&sup.reaper, &info);
			continue;
		}
		reaper_hear_signal(&sup.reaper, &info);
		ended |= sig == SIGCHLD;
		if (sig == SIGCHLD || sig == SIGPIPE ||
		    reaper_takes_signal(&sup.reaper, sig))
			continue;
		/* A second signal is passed on at once. */
		if (sig != SIGHUP && sup.told == 0 && sup.follows &&
		    !sup.child_ready)
			pass_when_ready(sig);
		/* The child gets a terminal's signals itself. */
		else if (info.ssi_code != SI_KERNEL)
			pass_on(sig);
		if (sig != SIGHUP)
			sup.told = sig;
	}
	return ended;
}

/* Tries again for a while: there may be no room for a process just now. */
static int
restart_child(void (*become)(void *arg, int fd), void *arg)
{
	struct pollfd p = { .fd = sup.signals, .events = POLLIN };
	int r;

	sup.follows = true;
	r = start_child(become, arg);
	for (int i = 1; r < 0 && i < START_TRIES; i++) {
		if (poll(&p, 1, 1000) > 0)
			(void)read_signals();
		if (sup.told != 0)
			return r;
		r = start_child(become, arg);
	}
	return r;
}

static int
poll_timeout(void)
{
	if (sup.to_pass != 0)
		return PASS_POLL_MS;
	if (reaper_pass_timeout(&sup.reaper) >= 0)
		return reaper_pass_timeout(&sup.reaper);
	return sup.above.unsaid[0] != '\0' ? UNSAID_POLL_MS : -1;
}

static int
watch_child(void (*become)(void *arg, int fd), void *arg)
{
	int status, wait_status, r;
	bool ended;

	for (;;) {
		struct pollfd p[] = {
			{ .fd = sup.signals, .events = POLLIN },
			{ .fd = sup.channel, .events = POLLIN },
		};

		(void)poll(p, BASE_NELEM(p), poll_timeout());
		fdstore_second(&sup.above);
		if (sup.to_pass != 0 && mono_ms(mono_now()) >= sup.pass_ms)
			pass_on(sup.to_pass);
		read_messages();
		ended = read_signals();
		if (reaper_pass_timeout(&sup.reaper) == 0)
			reaper_pass_signal(&sup.reaper, NULL);
		if (!has_ended(&wait_status)) {
			if (ended)
				reaper_look(&sup.reaper);
			continue;
		}
		if (!needs_child(wait_status, &status))
			return status;
		r = restart_child(become, arg);
		if (r < 0) {
			say("the node cannot be started again");
			return sup.give_up;
		}
	}
}

static int
begin_process(const int *heard, size_t n)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, heard[i]);
	sigprocmask(SIG_BLOCK, &set, &sup.mask);
	/* Without it dormant targets are told while one of us lives. */
	(void)robust_begin();
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
	r = begin_process(heard, BASE_NELEM(heard));
	if (r == 0) {
		fdstore_open(&sup.above, -1);
		r = store_begin(&sup.store);
	}
	if (r == 0)
		r = start_child(become, arg);
	if (r < 0)
		return cannot_start(r);
	r = watch_child(become, arg);
	abandon_stored(&sup.store);
	return r;
}

int
supervisor_run_command(void (*become)(void *arg, int fd), void *arg,
    struct command *command, int page, int recording)
{
	/* The last ones only for a page, which passes them on. */
	const int heard[] = { SIGCHLD, SIGTERM, SIGNAL_PASS, SIGINT,
		SIGHUP, SIGQUIT };
	int r, status;

	sup.give_up = CANNOT_RUN;
	sup.above.fd = -1;
	r = begin_process(heard, command->reports ? 2 : BASE_NELEM(heard));
	if (r == 0)
		r = reaper_begin(&sup.reaper, command);
	if (r < 0)
		return cannot_start(r);
	store_limit(&sup.store);
	if (page >= 0)
		store_add(&sup.store, page, STORED_PAGE);
	if (recording >= 0)
		store_add(&sup.store, recording, STORED_RECORDING);
	r = start_child(become, arg);
	/* Only the child has it open, so the page sees when the node is gone. */
	store_drop(&sup.store, STORED_PAGE);
	if (r < 0)
		return cannot_start(r);
	status = watch_child(become, arg);
	abandon_stored(&sup.store);
	if (sup.failed != 0 && command->reports)
		fprintf(stderr, "pageknode: %s: %s\n",
		    base_shown(command->argv[0]), strerror(sup.failed));
	return status;
}
