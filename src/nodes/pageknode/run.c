/*
 * See run.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../arrivals/arrivals.h"
#include "../host/inherited.h"
#include "../images/images.h"
#include "../keeper/node.h"
#include "../link/link.h"
#include "../serve/serve.h"
#include "../supervisor/command.h"
#include "../supervisor/supervisor.h"
#include "../supervisor/reaper.h"
#include "../takeover/takeover.h"
#include "daemon.h"
#include "run.h"

/* A page that was connected to the process before us tries at least this often. */
#define PAGE_RETURNS_MS (2 * RETRY_MOST_LOCAL_MS)

/* --- the command -------------------------------------------------------- */

static void
not_run(struct node *node, int err)
{
	struct run *run = node->run;

	run->error = err;
	run->root = 0;
	snprintf(run->reason, sizeof run->reason, "cannot run %.60s: %s",
	    node->opts.argv[0], strerror(err));
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
	base_safe_text(node->run->comm, sizeof node->run->comm, word,
	    strlen(word), false);
}

/* --- beginning ---------------------------------------------------------- */

/* So many images ended in the processes of the node before this one. */
static void
tell_lack(struct node *node, uint64_t ended)
{
	if (node->opts.argv == NULL || ended == 0)
		return;
	snprintf(node->run->lacks, sizeof node->run->lacks, "%llu process "
	    "image%s ended before the node was started again: no totals%s",
	    (unsigned long long)ended, ended == 1 ? "" : "s",
	    node->images->report.fd >= 0 ? ", but the report has them" : "");
}

/* What whoever is above us has of the node's process before this one. */
static int
take_over(struct node *node)
{
	struct inherited stream, seqpacket;
	struct fdstore *store = &node->store.fds;
	int r;

	daemon_store(node);
	r = inherited_take(&stream, &seqpacket, fdstore_inherit, store);
	if (r < 0)
		return node_say("descriptors that were passed", r);
	if (stream.fd >= 0)
		close(stream.fd);
	if (seqpacket.fd >= 0)
		close(seqpacket.fd);
	node->opts.fd = fdstore_take(store, KEPT_PAGE);
	node->run->page_returns &= node->opts.fd < 0;
	daemon_report(node);
	tell_lack(node, kept_node_begin(node));
	return 0;
}

static int
said(const char *what, int r)
{
	return r < 0 ? node_say(what, r) : 0;
}

static int
listen_targets(struct node *node, const char *path)
{
	char hello[SOCKET_PATH + sizeof DAEMON_HELLO];
	bool stays = false;
	int fd;

	snprintf(hello, sizeof hello, "%s" DAEMON_HELLO, path);
	fd = daemon_socket(node, KEPT_TARGETS, hello, SOCK_SEQPACKET, &stays);
	return said(hello, fd < 0 ? fd :
	    hello_listen_fd(node->hello, node, fd, hello, stays));
}

static int
listen_pages(struct node *node, const char *path)
{
	bool stays = false;
	int fd = daemon_socket(node, KEPT_PAGES, path, SOCK_STREAM, &stays);

	return said(path, fd < 0 ? fd :
	    serve_listen_fd(node, fd, path, stays));
}

/*
 * Names are by our supervisor's process: that stays.  One that runs a command
 * for another node is nothing that a user would look at, and has another name.
 */
int
run_begin(struct node *node, const char *folder)
{
	struct run *run = node->run;
	bool watches = node->opts.hello == NULL;
	char path[SOCKET_PATH];
	int r;

	node->command.parent = getppid();
	run->begun_ms = mono_ms(mono_now());
	run->page_returns = node->opts.fd >= 0;
	name_command(node);
	if ((size_t)snprintf(path, sizeof path, "%s/%s.%d", folder, watches ?
	    RUN_SOCKET : RUN_SOCKET_ALONE, (int)node->command.parent) >= sizeof path -
	    strlen(DAEMON_HELLO))
		return node_say(folder, -ENAMETOOLONG);
	r = take_over(node);
	if (r == 0 && node->opts.own_session)
		r = command_output(run->output, sizeof run->output, folder,
		    node->command.parent);
	if (r == 0 && watches)
		r = listen_targets(node, path);
	if (r == 0)
		r = listen_pages(node, path);
	if (r < 0)
		return r;
	r = run_watch(node);
	if (r < 0)
		return node_say("signals", r);
	takeover_targets(node);
	/* From here on there is somebody who answers hellos. */
	if (watches && hello_start(node->hello) < 0)
		snprintf(run->reason, sizeof run->reason,
		    "no thread left to answer targets");
	fdstore_insist(&node->store.fds, "READY=1\n" REAPER_RUN);
	return 0;
}

/* --- the tree ----------------------------------------------------------- */

static void
tree_ended(struct node *node)
{
	struct run *run = node->run;

	hello_stop(node->hello);
	node->command.ended = true;
	run->ended_ms = base_wall_ms();
	images_end_all(node, true);
}

/*
 * Who came in before it ended is adopted before it is ended.  The supervisor
 * shows no other end before it has our word for this one.
 */
static void
child_ended(struct node *node, pid_t pid, int32_t status)
{
	struct run *run = node->run;
	char word[32];

	images_adopt_all(node);
	images_look_back(node, pid);
	snprintf(word, sizeof word, REAPER_REAP "%d", (int)pid);
	fdstore_insist(&node->store.fds, word);
	images_reaped(node, pid, status);
	if (pid == run->root || (run->root == 0 && run->status < 0))
		run->status = status;
}

void
run_told(struct node *node, const char *word)
{
	struct run *run = node->run;
	int pid, status;

	if (node->opts.argv == NULL || node->command.ended)
		return;
	if (sscanf(word, REAPER_STARTED "%d %d", &pid, &status) == 2) {
		run->root = pid;
		run->status = status;
		command_release_stdio();
	} else if (sscanf(word, REAPER_NOTRUN "%d %d", &pid, &status) == 2) {
		not_run(node, pid);
		run->status = status;
		command_release_stdio();
	} else if (sscanf(word, REAPER_ENDED "%d %d", &pid, &status) == 2) {
		child_ended(node, pid, status);
	} else if (strcmp(word, REAPER_OVER) == 0) {
		tree_ended(node);
	}
	node_check_done(node);
}

/*
 * Nobody tells us any more how a process ends, nor when the last one has; but
 * that those whose rings we have do, we see.
 */
void
run_deserted(struct node *node)
{
	if (node->opts.argv == NULL || node->command.ended)
		return;
	node->command.deserted = true;
	snprintf(node->run->reason, sizeof node->run->reason, "the process that "
	    "waited for the command is gone: how it ends is not known");
	images_end_dead(node);
	run_second(node);
}

void
run_second(struct node *node)
{
	if (!node->command.deserted || node->command.ended)
		return;
	/* Who has said hello by now lives, though nobody has adopted him yet. */
	images_adopt_all(node);
	if (images_live(node) == 0) {
		tree_ended(node);
		node_check_done(node);
	}
}

bool
run_awaits_page(const struct node *node)
{
	return node->run->page_returns && node->serve->last_id == 0 &&
	    mono_ms(mono_now()) - node->run->begun_ms < PAGE_RETURNS_MS;
}

static void
on_term(uv_signal_t *sig, int signum)
{
	struct node *node = sig->data;

	(void)signum;
	/* Reported as far as they got; they go on without us. */
	images_end_all(node, false);
	uv_stop(node->loop);
}

int
run_watch(struct node *node)
{
	struct run *run = node->run;
	int r = uv_signal_init(node->loop, &run->term);

	if (r < 0)
		return r;
	run->term.data = node;
	run->watching = true;
	return uv_signal_start(&run->term, on_term, SIGTERM);
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
	struct run *run = node->run;

	drop_empty_output(run);
	if (!run->watching)
		return;
	uv_close((uv_handle_t *)&run->term, NULL);
	signal(SIGTERM, SIG_IGN);
	run->watching = false;
}

void
run_stat(struct node *node, struct wire_stats *st)
{
	struct run *run = node->run;
	const char *reason = run->reason;

	if (run->reason[0] == '\0' && node->images->report.error != 0)
		snprintf(run->reason, sizeof run->reason,
		    NODES_REPORT_MISSING ": %s",
		    strerror(node->images->report.error));
	/* For now: they go out when there is room. */
	if (reason[0] == '\0' && node->command.ended && report_waits(&node->images->report))
		reason = "lines of the report wait for their reader";
	if (reason[0] == '\0')
		reason = run->lacks;
	st->reason = wire_text(reason);
	st->pid = (uint32_t)run->root;
	st->comm = wire_text(run->comm);
	st->status = run->status;
	st->state = node->command.ended ? WIRE_S_ENDED : WIRE_S_LIVE;
	st->ended_ms = run->ended_ms;
	st->output = wire_text(run->output);
	/* One whose targets are another node's is none to look at. */
	st->socket = wire_text(node->opts.hello == NULL ? node->serve->path : "");
}
