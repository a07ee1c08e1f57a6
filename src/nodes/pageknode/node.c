/*
 * The node's parts together.
 *
 * A node that runs a command goes when the command's process tree has ended
 * and no page is connected; a generator goes with its last page; a daemon goes
 * when it is told to.
 */
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
#include "../demo/device.h"
#include "../host/workers.h"
#include "../images/images.h"
#include "../self_watch/self_watch.h"
#include "../serve/serve.h"
#include "../supervisor/command.h"
#include "../supervisor/supervisor.h"
#include "../takeover/takeover.h"
#include "pageknode.h"

#define NODE_NUMBER 0x0001	/* of a node that no table names */
#define DAEMON_FAILED 1
#define NODE_FAILED 125		/* as pagek says for a run that failed itself */
#define NODE_NOT_RUN 126	/* as a shell says of a command, and the next too */
#define NODE_NOT_FOUND 127

/* --- the parts ---------------------------------------------------------- */

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
say_of_table(void *arg, const char *sentence)
{
	(void)arg;
	fprintf(stderr, "pageknode: %s\n", sentence);
}

/*
 * The table's entry for this machine, if it has one.  A node that a page has
 * started leaves it to pages to say what is wrong with the table: its error
 * output may be their terminal.
 */
static void
name_by_table(struct node *node)
{
	const struct nodes_entry *e;
	int r;

	r = friendly_load(&node->friendly, !node->opts.system,
	    node->opts.daemon ? say_of_table : NULL, NULL);
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

/* A node that stands alone has nobody but its log to tell. */
static void
tend_report(struct node *node)
{
	struct report *rep = &node->images->report;

	report_flush(rep);
	if (rep->error == 0 || rep->told || !node->opts.daemon)
		return;
	rep->told = true;
	node_say(NODES_REPORT_MISSING, -rep->error);
}

static void
on_second(uv_timer_t *timer)
{
	struct node *node = timer->data;

	serve_second(node);
	self_watch_second(node, mono_ms(mono_now()));
	images_second(node);
	friendly_second(&node->friendly, node->loop);
	listings_second(node);
	fdstore_second(&node->store.fds);
	run_second(node);
	tend_report(node);
	node_check_done(node);
}

static void
check_done(struct node *node)
{
	/* A reader that takes its time gets its lines all the same. */
	if (node->closing || node->opts.daemon || node->serve->count > 0 ||
	    report_waits(&node->images->report) || run_awaits_page(node))
		return;
	if (node->opts.argv == NULL || node->command.ended)
		uv_stop(node->loop);
}

/* The states of the rooms, in one piece of the heap. */
struct rooms {
	struct self_watch self_watch;
	struct hello hello;
	struct quota quota;
	struct images images;
	struct serve serve;
	struct lookup lookup;
	struct listings listings;
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
	node->hello = &rooms->hello;
	node->quota = &rooms->quota;
	node->images = &rooms->images;
	node->serve = &rooms->serve;
	node->lookup = &rooms->lookup;
	node->listings = &rooms->listings;
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
	node->begun = mono_now();
	node->hello->listen_fd = -1;
	node->store.fds.fd = -1;
	node->run->status = -1;
	access_init(&node->access, opts->system, opts->roles);
	quota_init(node->quota);
	TAILQ_INIT(&node->live);
	images_init(node);
	name_node(node);
	if (getrandom(node->id, sizeof node->id, 0) < 0 ||
	    getrandom(node->boot, sizeof node->boot, 0) < 0) {
		r = -errno;
		goto no_report;
	}
	/*
	 * A child may say hello to another node than its parent did: no number
	 * of a daemon's is one of another's.
	 */
	if (opts->daemon)
		node->last_stream = first_stream(node->boot);
	stream_types_init(&node->types);
	r = report_open(&node->images->report, opts->report, fdstore_follows());
	if (r < 0)
		goto no_report;
	r = drain_init(node);
	if (r < 0)
		goto no_drain;
	r = serve_init(node);
	if (r < 0)
		goto no_serve;
	lookup_init(node);
	self_watch_init(node);
	bells_init(&node->bells);
	node->second.data = node;
	uv_timer_init(loop, &node->second);
	uv_timer_start(&node->second, on_second, 1000, 1000);
	return 0;
no_serve:
	drain_close(node);
no_drain:
	report_close(&node->images->report);
no_report:
	quota_fini(node->quota);
	free_rooms(node);
	return r;
}

void
node_close(struct node *node)
{
	node->closing = true;
	hello_stop(node->hello);
	serve_close(node);
	daemon_close(node);
	lookup_close(node);
	run_close(node);
	images_end_all(node, node->command.ended);
	device_close(node);
	tend_report(node);
	uv_close((uv_handle_t *)&node->second, NULL);
	drain_close(node);
	listings_close(node);
}

void
node_fini(struct node *node)
{
	images_fini(node);
	kept_node_fini(node);
	fdstore_close(&node->store.fds);
	bells_fini(&node->bells);
	hello_fini(node->hello);
	serve_fini(node);
	self_watch_fini(node);
	lookup_fini(node);
	friendly_fini(&node->friendly);
	report_close(&node->images->report);
	quota_fini(node->quota);
	free_rooms(node);
}

/* --- the program -------------------------------------------------------- */

/*
 * Takes away the sockets of nodes that were killed.
 */
static void
sweep(const char *folder)
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

/*
 * A generator: it is nobody's newest target, and goes by another name than a
 * command.
 */
static int
begin_generator(struct node *node, const char *folder)
{
	char path[NODE_PATH + 32];
	int r;

	snprintf(path, sizeof path, "%s/demo.%d", folder, (int)getpid());
	if (node->opts.demo != NULL) {
		r = demo_start(node);
		if (r < 0)
			return node_say(node->opts.demo, r);
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

/* The sockets for pages that come later and for targets; then whom to watch. */
static int
begin(struct node *node)
{
	char folder[NODE_PATH];
	int r;

	command_ignore_terminal(NULL);
	command_lift_limits(NULL);
	r = nodes_folder(folder, sizeof folder);
	if (r < 0)
		return node_say_folder(r);
	sweep(folder);
	return node->opts.argv != NULL ? run_begin(node, folder) :
	    begin_generator(node, folder);
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
 * Descriptors 0 to 2 that were closed: nothing of ours may land there, for the
 * node lets go of them later.  The command finds them closed again.
 */
static void
hold_stdio(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/*
 * The node's own process: this program again, by the file that it is even if
 * that has been replaced, with a word more.
 */
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

/* Many descriptors are held, and none of a command's limits. */
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
	return supervisor_run_command(become_node, argv, &command, opts->fd);
}

int
nodes_main(int argc, char **argv)
{
	static struct node node;
	struct node_opts opts;
	uv_loop_t loop;
	int error, r;

	hold_stdio();
	r = node_options(argc, argv, &opts);
	if (r >= 0)
		return r;
	if (opts.bridge)
		return bridge_run(&(struct bridge_opts){ .roles = opts.roles,
		    .node = opts.page_node, .target = opts.target });
	/* Its file was called by another name. */
	if (opts.supervised >= 0)
		prctl(PR_SET_NAME, "pageknode");
	/* Before anything is forked: the page's link is not the target's. */
	else if (opts.fd >= 0 && fcntl(opts.fd, F_SETFD, FD_CLOEXEC) < 0) {
		node_say("--fd", -errno);
		return NODE_USAGE;
	}
	if (opts.supervised < 0 &&
	    (opts.argv != NULL || (opts.daemon && !opts.alone)))
		return supervise(argv, &opts);
	r = uv_loop_init(&loop);
	if (r < 0) {
		node_say("loop", r);
		return NODE_FAILED;
	}
	r = nodes_workers(&loop);
	if (r < 0) {
		node_say("a thread for what takes long", r);
		uv_loop_close(&loop);
		return opts.daemon ? DAEMON_FAILED : NODE_FAILED;
	}
	r = node_init(&node, &loop, &opts);
	if (r < 0) {
		node_say(opts.report != NULL ? opts.report : "node", r);
		uv_run(&loop, UV_RUN_DEFAULT);
		uv_loop_close(&loop);
		return opts.daemon ? DAEMON_FAILED : NODE_FAILED;
	}
	name_by_table(&node);
	r = opts.daemon ? daemon_begin(&node) : begin(&node);
	if (r == 0)
		serve(&node);
	node_close(&node);
	uv_run(&loop, UV_RUN_DEFAULT);
	error = node.run->error;
	node_fini(&node);
	uv_loop_close(&loop);
	/* With a page it is the page that says so. */
	if (r == 0 && opts.fd < 0 && error != 0)
		return error == ENOENT ? NODE_NOT_FOUND : NODE_NOT_RUN;
	if (r == 0)
		return 0;
	return opts.daemon ? DAEMON_FAILED : NODE_FAILED;
}
