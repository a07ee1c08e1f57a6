/*
 * The node's parts together, and its command line.
 *
 * A node that runs a command goes when the command's process tree has ended
 * and no page is connected; a generator goes with its last page.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "demo.h"
#include "node.h"
#include "tree.h"

#define NODE_NUMBER 0x0001	/* of a node that no table names */
#define HELLO_SUFFIX ".hello"
#define NODE_FAILED 125		/* as pagek says for a run that failed itself */
#define NODE_USAGE 2

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
on_second(uv_timer_t *timer)
{
	struct node *node = timer->data;

	serve_second(node);
	tree_second(node);
	node_done_check(node);
}

int
node_init(struct node *node, uv_loop_t *loop, const struct node_opts *opts)
{
	int r;

	memset(node, 0, sizeof *node);
	node->loop = loop;
	node->opts = *opts;
	node->hello.listen_fd = -1;
	node->run.status = -1;
	TAILQ_INIT(&node->live);
	TAILQ_INIT(&node->ended);
	name_node(node);
	if (getrandom(node->id, sizeof node->id, 0) < 0 ||
	    getrandom(node->boot, sizeof node->boot, 0) < 0)
		return -errno;
	stream_types_init(&node->types);
	r = report_open(&node->report, opts->report);
	if (r < 0)
		return r;
	r = drain_init(node);
	if (r < 0)
		goto no_drain;
	r = serve_init(node);
	if (r < 0)
		goto no_serve;
	lookup_init(node);
	bells_init(&node->bells);
	node->second.data = node;
	uv_timer_init(loop, &node->second);
	uv_timer_start(&node->second, on_second, 1000, 1000);
	return 0;
no_serve:
	drain_close(node);
no_drain:
	report_close(&node->report);
	return r;
}

void
node_close(struct node *node)
{
	node->closing = true;
	hello_stop(&node->hello);
	serve_close(node);
	lookup_close(node);
	run_close(node);
	tree_end_all(node, node->run.ended);
	uv_close((uv_handle_t *)&node->second, NULL);
	drain_close(node);
}

void
node_fini(struct node *node)
{
	tree_fini(node);
	bells_fini(&node->bells);
	hello_fini(&node->hello);
	serve_fini(node);
	lookup_fini(node);
	report_close(&node->report);
}

void
node_done_check(struct node *node)
{
	if (node->closing || node->serve.count > 0)
		return;
	if (node->opts.argv == NULL || node->run.ended)
		uv_stop(node->loop);
}

/* --- the command line --------------------------------------------------- */

enum node_option {
	OPT_FD = 256, OPT_MAX, OPT_NO_WAIT, OPT_REPORT, OPT_OWN_SESSION,
	OPT_CHECK_LIST, OPT_DEMO, OPT_AT, OPT_STREAM, OPT_STACK,
	OPT_FREE_STACK, OPT_DORMANT, OPT_SAMPLE,
};

static const struct option_entry {
	const char *name;
	int has_arg;
	enum node_option option;
} options[] = {
	{ "fd", required_argument, OPT_FD },
	{ "max", required_argument, OPT_MAX },
	{ "no-wait", no_argument, OPT_NO_WAIT },
	{ "report", required_argument, OPT_REPORT },
	{ "own-session", no_argument, OPT_OWN_SESSION },
	{ "check-list", no_argument, OPT_CHECK_LIST },
	{ "demo", required_argument, OPT_DEMO },
	{ "at", required_argument, OPT_AT },
	{ "stream", required_argument, OPT_STREAM },
	{ "stack", required_argument, OPT_STACK },
	{ "free-stack", no_argument, OPT_FREE_STACK },
	{ "dormant", no_argument, OPT_DORMANT },
	{ "sample", required_argument, OPT_SAMPLE },
};

static int
parse_number(const char *text, unsigned long max, unsigned long *out)
{
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

static int
take_option(struct node_opts *o, enum node_option option, const char *arg)
{
	unsigned long n = 0;
	int r = 0;

	switch (option) {
	case OPT_FD:
		r = parse_number(arg, 1 << 20, &n);
		o->fd = (int)n;
		break;
	case OPT_MAX:
		r = parse_number(arg, BLKLIST_MAX, &n);
		o->max = (uint32_t)n;
		break;
	case OPT_NO_WAIT:
		o->no_wait = true;
		break;
	case OPT_REPORT:
		o->report = arg;
		break;
	case OPT_OWN_SESSION:
		o->own_session = true;
		break;
	case OPT_CHECK_LIST:
		o->check_list = true;
		break;
	case OPT_DEMO:
		o->demo = arg;
		break;
	case OPT_AT:
		o->demo_at = arg;
		break;
	case OPT_STREAM:
		o->demo_stream = arg;
		break;
	case OPT_STACK:
		r = parse_number(arg, RING_STACK_MAX, &n);
		o->stack = (unsigned)n;
		break;
	case OPT_FREE_STACK:
		o->free_stacks = true;
		break;
	case OPT_DORMANT:
		o->dormant = true;
		break;
	case OPT_SAMPLE:
		r = base_parse_size(arg, BLKLIST_SAMPLE_MAX, &o->sample);
		break;
	}
	return r;
}

static int
parse_options(int argc, char **argv, struct node_opts *o)
{
	struct option longs[BASE_NELEM(options) + 1] = { 0 };
	int c;

	for (size_t i = 0; i < BASE_NELEM(options); i++)
		longs[i] = (struct option){ .name = options[i].name,
			.has_arg = options[i].has_arg,
			.val = (int)options[i].option };
	*o = (struct node_opts){ .fd = -1 };
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c == '?')
			return -EINVAL;
		if (take_option(o, (enum node_option)c, optarg) < 0) {
			fprintf(stderr, "pageknode: not a number: %s\n",
			    optarg);
			return -EINVAL;
		}
	}
	if (optind < argc)
		o->argv = &argv[optind];
	if ((o->argv == NULL) == (o->demo == NULL)) {
		fprintf(stderr, "pageknode: one of a command and --demo\n");
		return -EINVAL;
	}
	return 0;
}

/* --- the program -------------------------------------------------------- */

static int
say(const char *what, int r)
{
	fprintf(stderr, "pageknode: %s: %s\n", what, strerror(-r));
	return r;
}

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
		if (sscanf(e->d_name, "run.%d%n", &pid, &at) != 1 &&
		    sscanf(e->d_name, "demo.%d%n", &pid, &at) != 1)
			continue;
		rest = e->d_name + at;
		if ((*rest == '\0' || strcmp(rest, HELLO_SUFFIX) == 0) &&
		    pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			unlinkat(dirfd(dir), e->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
}

/* The sockets for pages that come later and for targets; then whom to watch. */
static int
begin(struct node *node)
{
	char folder[NODE_PATH], path[NODE_PATH + 32];
	char hello[sizeof path + sizeof HELLO_SUFFIX];
	int r;

	run_ignore_terminal(&node->run);
	run_lift_limits(&node->run);
	r = nodes_folder(folder, sizeof folder);
	if (r < 0)
		return say("the folder for sockets", r);
	sweep(folder);
	/* A generator is nobody's newest target: it goes by another name. */
	snprintf(path, sizeof path, "%s/%s.%d", folder,
	    node->opts.demo != NULL ? "demo" : "run", (int)getpid());
	snprintf(hello, sizeof hello, "%s" HELLO_SUFFIX, path);
	if (node->opts.demo != NULL) {
		r = demo_start(node);
		if (r < 0)
			return say(node->opts.demo, r);
		run_release_stdio();
	} else {
		r = hello_listen(&node->hello, node, hello);
		if (r < 0)
			return say(hello, r);
		r = run_start(node, hello, folder);
		if (r < 0)
			return say(node->opts.argv[0], r);
	}
	r = run_watch(node);
	if (r == 0)
		r = serve_listen(node, path);
	return r < 0 ? say(path, r) : 0;
}

static void
serve(struct node *node)
{
	if (node->opts.fd >= 0 && serve_add(node, node->opts.fd) < 0)
		close(node->opts.fd);
	/* A child that ended before the signal was watched sends no other. */
	run_reap(node);
	tree_adopt_all(node);
	node_done_check(node);
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

int
nodes_main(int argc, char **argv)
{
	static struct node node;
	struct node_opts opts;
	uv_loop_t loop;
	int r;

	hold_stdio();
	if (parse_options(argc, argv, &opts) < 0)
		return NODE_USAGE;
	/* Before anything is forked: the page's link is not the target's. */
	if (opts.fd >= 0 && fcntl(opts.fd, F_SETFD, FD_CLOEXEC) < 0) {
		say("--fd", -errno);
		return NODE_USAGE;
	}
	r = uv_loop_init(&loop);
	if (r < 0) {
		say("loop", r);
		return NODE_FAILED;
	}
	r = node_init(&node, &loop, &opts);
	if (r < 0) {
		say(opts.report != NULL ? opts.report : "node", r);
		uv_run(&loop, UV_RUN_DEFAULT);
		uv_loop_close(&loop);
		return NODE_FAILED;
	}
	r = begin(&node);
	if (r == 0)
		serve(&node);
	node_close(&node);
	uv_run(&loop, UV_RUN_DEFAULT);
	node_fini(&node);
	uv_loop_close(&loop);
	return r < 0 ? NODE_FAILED : 0;
}
