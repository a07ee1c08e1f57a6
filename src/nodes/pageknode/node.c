#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "../arrivals/arrivals.h"
#include "../bridge/bridge.h"
#include "../demo/demo.h"
#include "../replay/replay.h"
#include "../host/host.h"
#include "../images/images.h"
#include "../keeper/counting.h"
#include "../stress/stress.h"
#include "../recorder/recorder.h"
#include "../self_watch/self_watch.h"
#include "../serve/serve.h"
#include "../supervisor/command.h"
#include "../supervisor/supervisor.h"
#include "../takeover/takeover.h"
#include "../refcnt/refcnt.h"
#include "pageknode.h"

#define NODE_NUMBER 0x0001	/* of a node that no table names */
#define DAEMON_FAILED 1
#define NODE_FAILED 125		/* as pagek says for a run that failed itself */
#define NODE_NOT_RUN 126	/* as a shell says of a command, and the next too */
#define NODE_NOT_FOUND 127

static void
name_node(struct node *node)
{
	char host[256] = "";

	node->number = NODE_NUMBER;
	gethostname(host, sizeof host - 1);
	base_safe_text(node->name, sizeof node->name, host, strlen(host),
	    false);
}

static void
report_table_error(void *arg, const char *sentence)
{
	(void)arg;
	fprintf(stderr, "pageknode: %s\n", sentence);
}

/* Only a daemon reports the table's errors: stderr may be a page's terminal. */
static void
name_by_table(struct node *node)
{
	const struct nodes_entry *e;
	int r;

	r = friendly_load(&node->friendly, !node->opts.system,
	    node->opts.daemon ? report_table_error : NULL, NULL);
	if (r < 0) {
		node_say("table of nodes", r);
		return;
	}
	e = nodes_table_local(node->friendly.table);
	if (e != NULL) {
		node->number = e->number;
		strcpy(node->name, e->name);
	}
}

static uint64_t
first_stream(const uint8_t random[WIRE_EPOCH])
{
	uint64_t n;

	memcpy(&n, random, sizeof n);
	return n >> 16 << 12 | UINT64_C(1) << 60;
}

/* A daemon logs the report's error; others tell their pages. */
static void
check_report(struct node *node)
{
	struct report *rep = &node->images->report;

	report_flush(rep);
	if (rep->error == 0 || rep->logged || !node->opts.daemon)
		return;
	rep->logged = true;
	node_say(NODES_REPORT_MISSING, -rep->error);
}

static void
on_second(uv_timer_t *timer)
{
	struct node *node = timer->data;

	counting_expire(node, mono_ms(mono_now()));
	serve_second(node);
	self_watch_second(node, mono_ms(mono_now()));
	images_second(node);
	node_stress_second(node, mono_ms(mono_now()));
	recorder_second(node);
	friendly_second(&node->friendly, node->loop);
	listings_second(node);
	node_refcnt_second(node);
	base_reap(0);
	fdstore_second(&node->store.fds);
	run_second(node);
	check_report(node);
	node_check_done(node);
}

static void
check_done(struct node *node)
{
	if (node->life.closing || node->opts.daemon || node->serve->count > 0 ||
	    report_waits(&node->images->report) || run_awaits_page(node))
		return;
	if (node->opts.argv == NULL || node->command.ended)
		uv_stop(node->loop);
}

struct rooms {
	struct self_watch self_watch;
	struct node_stress stress;
	struct recorder recorder;
	struct hello hello;
	struct quota quota;
	struct images images;
	struct serve serve;
	struct node_refcnt refcnt;
	struct run run;
	struct daemon daemon;
};

static int
make_rooms(struct node *node)
{
	struct rooms *rooms = calloc(1, sizeof *rooms);

	if (rooms == NULL)
		return -ENOMEM;
	node->self_watch = &rooms->self_watch;
	node->stress = &rooms->stress;
	node->recorder = &rooms->recorder;
	node->hello = &rooms->hello;
	node->quota = &rooms->quota;
	node->images = &rooms->images;
	node->serve = &rooms->serve;
	node->refcnt = &rooms->refcnt;
	node->run = &rooms->run;
	node->daemon = &rooms->daemon;
	return 0;
}

/* `self_watch` is the first room. */
static void
free_rooms(struct node *node)
{
	free(node->self_watch);
	node->self_watch = NULL;
}

static bool
is_connected(struct node *node, uint64_t conn)
{
	return serve_find(node, conn) != NULL;
}

static const struct node_hooks hooks = {
	.adopt = images_adopt_all,
	.check_done = check_done,
	.is_connected = is_connected,
	.stat_command = run_stat,
	.feed_ends = node_refcnt_feed_ends,
	.count = node_refcnt_by_target,
};

int
node_init(struct node *node, uv_loop_t *loop, const struct node_opts *opts)
{
	int r;

	memset(node, 0, sizeof *node);
	r = make_rooms(node);
	if (r < 0)
		return r;
	node->loop = loop;
	node->hooks = &hooks;
	node->opts = *opts;
	node->life.begun = mono_now();
	hello_init(node->hello, node);
	recorder_init(node);
	node->store.fds.fd = -1;
	node->run->status = -1;
	access_init(&node->access, opts->system, opts->roles);
	quota_init(node->quota);
	TAILQ_INIT(&node->live);
	node_refcnt_init(node);
	images_init(node);
	name_node(node);
	if (getrandom(node->id, sizeof node->id, 0) < 0 ||
	    getrandom(node->boot, sizeof node->boot, 0) < 0) {
		r = -errno;
		goto no_report;
	}
	/* A child may say hello to another daemon than its parent: no number is equal. */
	if (opts->daemon)
		node->last_stream = first_stream(node->boot);
	stream_types_init(&node->types);
	r = report_open(&node->images->report, opts->report, fdstore_follows());
	if (r < 0)
		goto no_report;
	r = visits_init(node);
	if (r < 0)
		goto no_drain;
	r = serve_init(node);
	if (r < 0)
		goto no_serve;
	lookup_init(node);
	self_watch_init(node);
	node_stress_init(node);
	node->life.second.data = node;
	uv_timer_init(loop, &node->life.second);
	uv_timer_start(&node->life.second, on_second, 1000, 1000);
	images_begin(node);
	return 0;
no_serve:
	visits_close(node);
	visits_fini(node);
no_drain:
	report_close(&node->images->report);
no_report:
	hello_fini(node->hello);
	recorder_fini(node);
	quota_fini(node->quota);
	free_rooms(node);
	return r;
}

void
node_close(struct node *node)
{
	node->life.closing = true;
	hello_stop(node->hello);
	serve_close(node);
	node_stress_close(node);
	daemon_close(node);
	lookup_close(node);
	run_close(node);
	node_refcnt_close(node);
	images_end_all(node, node->command.ended);
	recorder_close(node);
	images_close(node);
	device_close(node);
	replay_close(node);
	check_report(node);
	uv_close((uv_handle_t *)&node->life.second, NULL);
	visits_close(node);
	listings_close(node);
}

void
node_fini(struct node *node)
{
	images_fini(node);
	hello_fini(node->hello);
	takeover_node_fini(node);
	fdstore_close(&node->store.fds);
	visits_fini(node);
	serve_fini(node);
	self_watch_fini(node);
	recorder_fini(node);
	node_stress_fini(node);
	lookup_fini(node);
	friendly_fini(&node->friendly);
	report_close(&node->images->report);
	quota_fini(node->quota);
	free_rooms(node);
}

/* Removes the sockets of nodes that were killed. */
static void
remove_dead_sockets(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	int pid, at;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		const char *rest;

		at = 0;
		if (sscanf(e->d_name, RUN_SOCKET ".%d%n", &pid, &at) != 1 &&
		    sscanf(e->d_name, RUN_SOCKET_ALONE ".%d%n", &pid,
		    &at) != 1 &&
		    sscanf(e->d_name, "demo.%d%n", &pid, &at) != 1)
			continue;
		rest = e->d_name + at;
		if ((*rest == '\0' || strcmp(rest, DAEMON_HELLO) == 0) &&
		    pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			unlinkat(dirfd(dir), e->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
}

/* A generator, a device or a capture.  Its socket's name is no command's. */
static int
begin_source(struct node *node, const char *folder)
{
	char path[NODE_PATH + 32];
	int r;

	snprintf(path, sizeof path, "%s/demo.%d", folder, (int)getpid());
	if (node->opts.demo.name != NULL) {
		r = demo_start(node);
		if (r < 0)
			return node_say(node->opts.demo.name, r);
	} else if (node->opts.replay.path != NULL) {
		r = replay_start(node);
		if (r < 0)
			return node_say(node->opts.replay.path, r);
	} else {
		r = device_start(node);
		if (r < 0)
			return node_say("device", r);
	}
	command_release_stdio();
	r = run_watch(node);
	if (r == 0)
		r = serve_listen(node, path);
	return r < 0 ? node_say(path, r) : 0;
}

static int
begin_node(struct node *node)
{
	char folder[NODE_PATH];
	int r;

	command_ignore_terminal(NULL);
	command_lift_limits(NULL);
	r = nodes_folder(folder, sizeof folder);
	if (r < 0)
		return node_say_folder(r);
	remove_dead_sockets(folder);
	node_refcnt_remove_dead(node->refcnt);
	return node->opts.argv != NULL ? run_begin(node, folder) :
	    begin_source(node, folder);
}

static void
serve(struct node *node)
{
	if (node->opts.fd >= 0 && serve_add(node, node->opts.fd) < 0)
		close(node->opts.fd);
	images_adopt_all(node);
	node_check_done(node);
	uv_run(node->loop, UV_RUN_DEFAULT);
}

/*
 * Opens those of descriptors 0 to 2 that were closed: the node releases them
 * later, so no file of ours may be there.  The command finds them closed again.
 */
static void
open_closed_stdio(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* Executes this program's file, even if it was replaced, with one more option. */
static void
become_node(void *arg, int fd)
{
	char **argv = arg, number[16], option[] = "--supervised";
	size_t n = 0;
	char **more;

	while (argv[n] != NULL)
		n++;
	more = malloc((n + 3) * sizeof *more);
	if (more == NULL)
		return;
	snprintf(number, sizeof number, "%d", fd);
	more[0] = argv[0];
	more[1] = option;
	more[2] = number;
	memcpy(more + 3, argv + 1, n * sizeof *more);
	execv("/proc/self/exe", more);
	node_say("/proc/self/exe", -errno);
}

static int
supervise(char **argv, const struct node_opts *opts)
{
	static struct command command;

	if (opts->argv == NULL) {
		command_lift_limits(NULL);
		return supervisor_run(become_node, argv);
	}
	if (command_prepare(&command, opts) < 0)
		return NODE_FAILED;
	return supervisor_run_command(become_node, argv, &command, opts->fd,
	    opts->record.fd);
}

/* Returns an exit status. */
static int
run_node(const struct node_opts *opts, uv_loop_t *loop)
{
	int failed = opts->daemon ? DAEMON_FAILED : NODE_FAILED;
	static struct node node;
	int error, r;

	r = nodes_workers(loop);
	if (r < 0) {
		node_say("a thread for what takes long", r);
		return failed;
	}
	r = node_init(&node, loop, opts);
	if (r < 0) {
		node_say(opts->report != NULL ? opts->report : "node", r);
		uv_run(loop, UV_RUN_DEFAULT);
		return failed;
	}
	name_by_table(&node);
	r = opts->daemon ? daemon_begin(&node) : begin_node(&node);
	if (r == 0)
		serve(&node);
	node_close(&node);
	uv_run(loop, UV_RUN_DEFAULT);
	error = node.run->error;
	node_fini(&node);
	if (r < 0)
		return failed;
	/* A page shows the error itself. */
	if (opts->fd >= 0 || error == 0)
		return 0;
	return error == ENOENT ? NODE_NOT_FOUND : NODE_NOT_RUN;
}

/* False, after a message: it is no descriptor. */
static bool
is_kept_from_target(const char *option, int fd)
{
	if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
		return true;
	node_say(option, -errno);
	return false;
}

int
nodes_main(int argc, char **argv)
{
	struct node_opts opts;
	uv_loop_t loop;
	int r;

	open_closed_stdio();
	r = node_options(argc, argv, &opts);
	if (r >= 0)
		return r;
	if (opts.bridge.on)
		return bridge_run(&(struct bridge_opts){ .roles = opts.roles,
		    .node = opts.bridge.page_node, .target = opts.bridge.target });
	/* It was executed as /proc/self/exe. */
	if (opts.supervised >= 0)
		prctl(PR_SET_NAME, "pageknode");
	/* Before anything is forked: the target must not inherit what is the page's. */
	else if (!is_kept_from_target("--fd", opts.fd) ||
	    !is_kept_from_target("--record", opts.record.fd)) {
		return NODE_USAGE;
	}
	if (opts.supervised < 0 &&
	    (opts.argv != NULL || (opts.daemon && !opts.alone)))
		return supervise(argv, &opts);
	r = base_have_descriptors();
	if (r == 0)
		r = uv_loop_init(&loop);
	if (r < 0) {
		node_say("cannot start", r);
		return NODE_FAILED;
	}
	r = run_node(&opts, &loop);
	uv_loop_close(&loop);
	return r;
}
