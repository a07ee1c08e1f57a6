#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../arrivals/arrivals.h"
#include "../host/host.h"
#include "../host/proc.h"
#include "../images/images.h"
#include "../keeper/node.h"
#include "../link/link.h"
#include "../recorder/recorder.h"
#include "../serve/serve.h"
#include "../supervisor/command.h"
#include "../supervisor/supervisor.h"
#include "../takeover/takeover.h"
#include "pageknode.h"

/* A page of the process before tries to connect at least this often. */
#define PAGE_RETURNS_MS (2 * RETRY_MOST_LOCAL_MS)

/* Explains the errno of a failed exec; "" if its text is enough. */
static const char *
exec_hint(const char *word, int err)
{
	if (err == ENOEXEC)
		return ": neither a program for this machine nor a script with a "
		    "first line such as #!/bin/sh";
	if (err == ENOENT && strchr(word, '/') != NULL &&
	    access(word, F_OK) == 0)
		return ": the file exists, but the interpreter or loader "
		    "that it names does not";
	return "";
}

static void
note_not_run(struct node *node, int err)
{
	struct run *run = node->run;

	run->error = err;
	node->command.root = 0;
	snprintf(run->reason, sizeof run->reason, "cannot run '%.60s': %s%s",
	    node->opts.argv[0], strerror(err),
	    exec_hint(node->opts.argv[0], err));
}

static void
name_command(struct node *node)
{
	const char *word = node->opts.argv[0], *slash = strrchr(word, '/');

	if (slash != NULL && slash[1] != '\0')
		word = slash + 1;
	if (*word == '\0')
		word = "?";
	base_safe_text(node->run->comm, sizeof node->run->comm, word,
	    strlen(word), false);
}

static void
note_lacks(struct node *node, uint64_t ended)
{
	if (node->opts.argv == NULL || ended == 0)
		return;
	snprintf(node->run->lacks, sizeof node->run->lacks, "%s process "
	    "image%s ended before the node was started again: no totals%s",
	    base_digits(ended).text, ended == 1 ? "" : "s",
	    node->images->report.fd >= 0 ? ", but the report has them" : "");
}

/* After a kill the next process goes on in the file, which the supervisor keeps. */
static int
begin_recording(struct node *node)
{
	struct recorder_opts opts = { .ring = node->opts.record.ring };
	const char *why;
	int r;

	opts.fd = fdstore_take(&node->store.fds, STORED_RECORDING);
	if (opts.fd < 0)
		return 0;
	r = recorder_begin(node, NULL, &opts, &why);
	if (r < 0)
		fprintf(stderr, "pageknode: %s\n", why);
	return r;
}

static int
take_over(struct node *node)
{
	struct inherited stream, seqpacket;
	struct fdstore *store = &node->store.fds;
	int r;

	daemon_open_store(node);
	r = inherited_take(&stream, &seqpacket, fdstore_inherit, store);
	if (r < 0)
		return node_say("descriptors that were passed", r);
	if (stream.fd >= 0)
		close(stream.fd);
	if (seqpacket.fd >= 0)
		close(seqpacket.fd);
	node->opts.fd = fdstore_take(store, STORED_PAGE);
	node->run->page_returns &= node->opts.fd < 0;
	daemon_share_report(node);
	note_lacks(node, takeover_node_begin(node));
	return begin_recording(node);
}

/* Sockets are named by the supervisor's pid, which stays. */
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
	if ((size_t)snprintf(path, sizeof path, "%s/%s.%d", folder,
	    watches ? RUN_SOCKET : RUN_SOCKET_ALONE,
	    (int)node->command.parent) >= sizeof path - strlen(DAEMON_HELLO))
		return node_say(folder, -ENAMETOOLONG);
	r = take_over(node);
	if (r == 0 && node->opts.own_session)
		r = command_output(run->output, sizeof run->output, folder,
		    node->command.parent);
	if (r == 0 && watches)
		r = daemon_listen_targets(node, path);
	if (r == 0)
		r = daemon_listen_pages(node, path);
	if (r < 0)
		return r;
	r = run_watch(node);
	if (r < 0)
		return node_say("signals", r);
	takeover_targets(node);
	if (watches && hello_start(node->hello) < 0)
		snprintf(run->reason, sizeof run->reason,
		    "no thread left to answer targets");
	if (watches && node->opts.no_pairs && node->command.parent > 1)
		executions_open(node, node->command.parent);
	fdstore_insist(&node->store.fds, "READY=1\n" REAPER_RUN);
	return 0;
}

static void
tree_ended(struct node *node)
{
	struct run *run = node->run;

	hello_stop(node->hello);
	node->command.ended = true;
	run->ended_ms = base_wall_ms();
	images_end_all(node, true);
}

/* The supervisor tells of the next end after we have confirmed this one. */
static void
child_ended(struct node *node, pid_t pid, int32_t status)
{
	struct run *run = node->run;
	char line[32];

	images_adopt_all(node);
	images_check_ended(node, pid);
	snprintf(line, sizeof line, REAPER_REAP "%d", (int)pid);
	fdstore_insist(&node->store.fds, line);
	images_reaped(node, pid, status);
	if (pid == node->command.root || (node->command.root == 0 && run->status < 0))
		run->status = status;
}

void
run_message(struct node *node, const char *text)
{
	struct run *run = node->run;
	char file[PATH_MAX];
	int pid, status;

	if (node->opts.argv == NULL || node->command.ended)
		return;
	if (sscanf(text, REAPER_STARTED "%d %d", &pid, &status) == 2) {
		node->command.root = pid;
		run->status = status;
		if (command_find(node->opts.argv[0], file))
			node->command.takes_none =
			    proc_file_takes_no_preload(file);
		command_release_stdio();
	} else if (sscanf(text, REAPER_NOTRUN "%d %d", &pid, &status) == 2) {
		note_not_run(node, pid);
		run->status = status;
		command_release_stdio();
	} else if (sscanf(text, REAPER_ENDED "%d %d", &pid, &status) == 2) {
		child_ended(node, pid, status);
	} else if (strcmp(text, REAPER_OVER) == 0) {
		tree_ended(node);
	}
	node_check_done(node);
}

/* From now on we see only that a target has ended, not how. */
void
run_lost_supervisor(struct node *node)
{
	if (node->opts.argv == NULL || node->command.ended)
		return;
	node->command.unsupervised = true;
	snprintf(node->run->reason, sizeof node->run->reason, "the supervisor "
	    "is gone; the command's exit status is not known");
	images_end_dead(node);
	run_second(node);
}

void
run_second(struct node *node)
{
	if (!node->command.unsupervised || node->command.ended)
		return;
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
	/* Of a whole group: the command's end ends us, and the page is to see it. */
	if (node->opts.argv != NULL && !node->command.unsupervised &&
	    (!node->command.ended || node->serve->count > 0))
		return;
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
	if (reason[0] == '\0' && node->command.ended &&
	    report_waits(&node->images->report))
		reason = "lines of the report wait for their reader";
	if (reason[0] == '\0')
		reason = run->lacks;
	st->reason = wire_text(reason);
	st->pid = (uint32_t)node->command.root;
	st->comm = wire_text(run->comm);
	st->status = run->status;
	st->state = node->command.ended ? WIRE_S_ENDED : WIRE_S_LIVE;
	st->ended_ms = run->ended_ms;
	st->output = wire_text(run->output);
	/* With --hello the targets are another node's. */
	st->socket = wire_text(node->opts.hello == NULL ? node->serve->path : "");
}
