/*
 * Starting a command under watch, and waiting for its tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node.h"
#include "proc.h"
#include "run.h"
#include "tree.h"

#define LIBRARY "liballoclog.so"
#define DESCRIPTORS 4096	/* more than NODE_TARGETS_MAX targets and their pages need */

static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN,
	SIGTTOU, SIGPIPE, SIGXFSZ };

/* What a user grants the command is no measure for who watches it. */
static const int lifted[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE,
	RLIMIT_NOFILE };

_Static_assert(BASE_NELEM(ignored) == RUN_IGNORED, "one place for each");
_Static_assert(BASE_NELEM(lifted) == RUN_LIFTED, "one place for each");

/* What the child needs to be as if nobody had started it but its user. */
struct child {
	const char *library;
	const char *hello;
	char *const *argv;
	int report_fd;			/* CLOEXEC: errno goes here when exec fails */
	int output_fd;			/* -1: its own three descriptors */
	bool tell;			/* there is no page that would */
	const struct sigaction *before;	/* of each ignored signal */
	const struct rlimit *limits;	/* as they were, of each that was lifted */
};

/* --- the library -------------------------------------------------------- */

/* Beside the running program, else where it was installed. */
static int
find_library(char *path, size_t cap)
{
	ssize_t n = readlink("/proc/self/exe", path, cap - 1);
	char *slash;

	if (n > 0) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		if (slash != NULL &&
		    (size_t)(slash + 1 - path) + sizeof LIBRARY <= cap) {
			strcpy(slash + 1, LIBRARY);
			if (access(path, R_OK) == 0)
				return 0;
		}
	}
	if ((size_t)snprintf(path, cap, "%s/%s", PAGEK_LIBDIR, LIBRARY) >= cap)
		return -ENAMETOOLONG;
	return access(path, R_OK) == 0 ? 0 : -errno;
}

/* The loader takes blanks and colons for separators; a link has neither. */
static int
make_loadable(char *path, size_t cap, const char *folder)
{
	char link[NODE_PATH];

	if (strpbrk(path, " :\t\n$") == NULL)
		return 0;
	if ((size_t)snprintf(link, sizeof link, "%s/" LIBRARY, folder) >=
	    sizeof link || strpbrk(link, " :\t\n$") != NULL)
		return -EINVAL;
	unlink(link);
	if (symlink(path, link) < 0)
		return -errno;
	if (strlen(link) >= cap)
		return -ENAMETOOLONG;
	strcpy(path, link);
	return 0;
}

/* --- the child ---------------------------------------------------------- */

/* Puts `value` before what the variable has, with the separator between. */
static int
prepend_env(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *both;
	int r;

	if (old == NULL || *old == '\0')
		return setenv(name, value, 1);
	if (asprintf(&both, "%s:%s", value, old) < 0)
		return -1;
	r = setenv(name, both, 1);
	free(both);
	return r;
}

static void
restore_signals(const struct child *c)
{
	for (size_t i = 0; i < BASE_NELEM(ignored); i++)
		sigaction(ignored[i], &c->before[i], NULL);
}

/* Last of all: what we still open or allocate is not to be counted. */
static int
restore_limits(const struct child *c)
{
	for (size_t i = 0; i < BASE_NELEM(lifted); i++)
		if (setrlimit(lifted[i], &c->limits[i]) < 0)
			return -1;
	return 0;
}

/* The target of a page that has the terminal: it must not read or write there. */
static int
leave_terminal(int output_fd)
{
	int null;

	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(output_fd, 1) < 0 ||
	    dup2(output_fd, 2) < 0)
		return -1;
	/* What stood at 0 to 2 before has lost its flag by dup2, as it should. */
	return 0;
}

static _Noreturn void
become(const struct child *c)
{
	int err;

	restore_signals(c);
	if ((c->output_fd < 0 || leave_terminal(c->output_fd) == 0) &&
	    prepend_env("LD_PRELOAD", c->library) == 0 &&
	    setenv("PAGEK_NODE", c->hello, 1) == 0 &&
	    /* Else a sanitised child ends at once because it is not first. */
	    prepend_env("ASAN_OPTIONS", "verify_asan_link_order=0") == 0 &&
	    restore_limits(c) == 0)
		execvp(c->argv[0], c->argv);
	err = errno;
	if (c->tell)
		fprintf(stderr, "pageknode: cannot run %s: %s\n", c->argv[0],
		    strerror(err));
	while (write(c->report_fd, &err, sizeof err) < 0 && errno == EINTR)
		continue;
	_exit(err == ENOENT ? 127 : 126);
}

/* --- starting it -------------------------------------------------------- */

static int
open_output(struct node *node, const char *folder)
{
	struct run *run = &node->run;
	int fd;

	if ((size_t)snprintf(run->output, sizeof run->output, "%s/out.%d",
	    folder, (int)getpid()) >= sizeof run->output)
		return -ENAMETOOLONG;
	unlink(run->output);
	fd = open(run->output, O_WRONLY | O_CREAT | O_EXCL | O_APPEND |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

void
run_ignore_terminal(struct run *run)
{
	struct sigaction ign = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < BASE_NELEM(ignored); i++)
		sigaction(ignored[i], &ign, &run->before[i]);
}

/* As far as we may: root has no limits, others their hard ones. */
void
run_lift_limits(struct run *run)
{
	for (size_t i = 0; i < BASE_NELEM(lifted); i++) {
		struct rlimit *was = &run->limits[i], most;

		if (getrlimit(lifted[i], was) < 0)
			continue;
		most.rlim_cur = most.rlim_max = lifted[i] == RLIMIT_NOFILE &&
		    was->rlim_max < DESCRIPTORS ? DESCRIPTORS : was->rlim_max;
		if (lifted[i] != RLIMIT_NOFILE)
			most.rlim_cur = most.rlim_max = RLIM_INFINITY;
		if (setrlimit(lifted[i], &most) == 0)
			continue;
		most.rlim_cur = most.rlim_max = was->rlim_max;
		setrlimit(lifted[i], &most);
	}
}

void
run_release_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	for (int fd = 0; fd <= 2; fd++)
		if (fd != null)
			dup2(null, fd);
	if (null > 2)
		close(null);
}

static void
not_run(struct node *node, int err)
{
	struct run *run = &node->run;

	run->error = err;
	run->root = 0;
	snprintf(run->reason, sizeof run->reason, "cannot run %.60s: %s",
	    node->opts.argv[0], strerror(err));
}

/* The child's end of the pipe closes by exec, or brings the errno. */
static void
hear_of_exec(struct node *node, int fd)
{
	ssize_t n;
	int err;

	do
		n = read(fd, &err, sizeof err);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof err)
		not_run(node, err);
}

static int
fork_command(struct node *node, struct child *c)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	c->report_fd = fds[1];
	pid = fork();
	if (pid == 0)
		become(c);
	close(fds[1]);
	if (pid < 0) {
		int r = -errno;

		close(fds[0]);
		return r;
	}
	node->run.root = pid;
	run_release_stdio();
	/* From here on somebody has to answer hellos while exec goes on. */
	if (node->opts.hello == NULL && hello_start(&node->hello) < 0)
		snprintf(node->run.reason, sizeof node->run.reason,
		    "no thread left to answer targets");
	hear_of_exec(node, fds[0]);
	close(fds[0]);
	return 0;
}

static void
name_command(struct node *node)
{
	const char *word = node->opts.argv[0], *slash = strrchr(word, '/');

	if (slash != NULL && slash[1] != '\0')
		word = slash + 1;
	/* A run is told by its name, even by one that names nothing. */
	if (*word == '\0')
		word = "?";
	base_safe_text(node->run.comm, sizeof node->run.comm, word,
	    strlen(word), false);
}

int
run_start(struct node *node, const char *hello_path, const char *folder)
{
	char library[PATH_MAX];
	struct child c = { .hello = hello_path, .argv = node->opts.argv,
		.library = library, .output_fd = -1,
		.tell = node->opts.fd < 0,
		.before = node->run.before, .limits = node->run.limits };
	int r;

	name_command(node);
	r = find_library(library, sizeof library);
	if (r < 0) {
		fprintf(stderr, "pageknode: %s: %s\n", LIBRARY, strerror(-r));
		return r;
	}
	r = make_loadable(library, sizeof library, folder);
	if (r < 0) {
		fprintf(stderr, "pageknode: the loader cannot take %s\n",
		    library);
		return r;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -errno;
	if (node->opts.own_session) {
		c.output_fd = open_output(node, folder);
		if (c.output_fd < 0)
			return c.output_fd;
	}
	r = fork_command(node, &c);
	if (c.output_fd >= 0)
		close(c.output_fd);
	return r;
}

/* --- the tree ----------------------------------------------------------- */

static void
tree_ended(struct node *node)
{
	struct run *run = &node->run;

	hello_stop(&node->hello);
	run->ended = true;
	run->ended_ms = base_wall_ms();
	tree_end_all(node, true);
}

/*
 * A child that has ended, and stays to be looked at; 0: there is none, -1 and
 * ECHILD: there are no children.  The reader of symbols is a child of another
 * thread of ours, and none of the tree; orphans come to this one.
 */
static pid_t
next_ended(void)
{
	siginfo_t info = { .si_pid = 0 };

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT |
	    __WNOTHREAD) < 0)
		return -1;
	return info.si_pid;
}

void
run_reap(struct node *node)
{
	struct run *run = &node->run;
	int status;
	pid_t pid;

	if (node->opts.argv == NULL || run->ended)
		return;
	while ((pid = next_ended()) > 0) {
		/* Who came in before it ended is adopted before it is ended. */
		tree_adopt_all(node);
		tree_look_back(node, pid);
		if (waitpid(pid, &status, WNOHANG | __WNOTHREAD) != pid)
			break;
		tree_reaped(node, pid, status);
		if (pid == run->root || (run->root == 0 && run->status < 0))
			run->status = status;
	}
	if (pid < 0 && errno == ECHILD)
		tree_ended(node);
}

static void
on_child(uv_signal_t *sig, int signum)
{
	struct node *node = sig->data;

	(void)signum;
	run_reap(node);
	node_done_check(node);
}

static void
on_term(uv_signal_t *sig, int signum)
{
	struct node *node = sig->data;

	(void)signum;
	/* Reported as far as they got; they go on without us. */
	tree_end_all(node, false);
	uv_stop(node->loop);
}

int
run_watch(struct node *node)
{
	struct run *run = &node->run;
	int r;

	run->chld.data = run->term.data = node;
	r = uv_signal_init(node->loop, &run->chld);
	if (r < 0)
		return r;
	r = uv_signal_init(node->loop, &run->term);
	if (r < 0) {
		uv_close((uv_handle_t *)&run->chld, NULL);
		return r;
	}
	run->watching = true;
	r = uv_signal_start(&run->chld, on_child, SIGCHLD);
	if (r == 0)
		r = uv_signal_start(&run->term, on_term, SIGTERM);
	return r;
}

/* A file that nothing was written to is nobody's loss. */
static void
drop_empty_output(const struct run *run)
{
	struct stat st;

	if (run->output[0] != '\0' && lstat(run->output, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size == 0)
		unlink(run->output);
}

void
run_close(struct node *node)
{
	struct run *run = &node->run;

	drop_empty_output(run);
	if (!run->watching)
		return;
	uv_close((uv_handle_t *)&run->chld, NULL);
	uv_close((uv_handle_t *)&run->term, NULL);
	signal(SIGTERM, SIG_IGN);
	run->watching = false;
}

void
run_stat(struct node *node, struct wire_stats *st)
{
	struct run *run = &node->run;
	const char *reason = run->reason;

	if (run->reason[0] == '\0' && node->report.error != 0)
		snprintf(run->reason, sizeof run->reason,
		    "lines of the report are missing: %s",
		    strerror(node->report.error));
	/* For now: they go out when there is room. */
	if (reason[0] == '\0' && run->ended && report_waits(&node->report))
		reason = "lines of the report wait for their reader";
	st->reason = wire_text(reason);
	st->pid = (uint32_t)run->root;
	st->comm = wire_text(run->comm);
	st->status = run->status;
	st->state = run->ended ? WIRE_S_ENDED : WIRE_S_LIVE;
	st->ended_ms = run->ended_ms;
	st->output = wire_text(run->output);
	st->socket = wire_text(node->serve.path);
}
