#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../base/base.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../cli/pump.h"
#include "../../layout/layout.h"
#include "../../tui/tui.h"
#include "run.h"

#define NODE_ANSWER_MS 3000	/* timeout for an answer of the node */
#define ASK_MS 1200		/* within it the session asks the node */
#define SILENCE_MS 500		/* a longer wait is reported */
#define LAST_LINES 10		/* of the command's output ... */
#define LAST_BYTES 4096		/* ... within its last so many bytes */
#define TOTALS_MAX 24		/* lines of totals; the report has them all */

struct run {
	const struct options *o;
	uv_loop_t *loop;
	struct nodes_link *link;
	struct nodes_link *runner;	/* NULL: the link's node runs the command too */
	struct nodes_session *session;
	struct page page;
	bool unwatched;			/* the node never answered, as was reported */
};

/* A status like a shell's; 125: not known. */
static int
exit_status(int32_t status)
{
	if (status < 0)
		return PAGEK_RUN_FAILED;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : PAGEK_RUN_FAILED;
}

bool
run_has_ended(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->command.tree_ended || !look->command.linked;
}

bool
run_forwards(void *arg)
{
	forward_to(nodes_session_look(arg)->command.pid, arg);
	return run_has_ended(arg);
}

bool
run_is_read(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	/* The exit status comes shortly after the last record. */
	if (look->state == NODES_ENDED && look->target.ended_wall_ms == 0)
		return !look->link.up;
	return !look->link.up || (look->state != NODES_CONNECTING &&
	    look->state != NODES_LIVE && look->state != NODES_DORMANT &&
	    look->state != NODES_UNREACHABLE);
}

static bool
is_welcome(const struct run *r)
{
	const char *why;

	return nodes_link_state(r->link, &why) != NODES_CONNECTING;
}

/* Waits for the node's news of the end.  False, after a message: none came. */
static bool
await_last(struct run *r, int timeout_ms)
{
	if (pump(r->loop, r->session, SILENCE_MS, run_is_read, r->session))
		return true;
	if (!is_welcome(r) || nodes_session_look(r->session)->state ==
	    NODES_UNREACHABLE)
		notice("the node does not answer; waiting %g s for it",
		    (timeout_ms - SILENCE_MS) / 1000.0);
	if (pump(r->loop, r->session, timeout_ms - SILENCE_MS, run_is_read,
	    r->session))
		return true;
	r->unwatched = !is_welcome(r);
	if (r->unwatched)
		complain("the node has not answered: nothing of '%s' was "
		    "watched", r->o->argv[0]);
	return false;
}

/* pagek's own status is used only if the command's is 0. */
static int
failed_unless(int status)
{
	return status != PAGEK_OK ? status : PAGEK_RUN_FAILED;
}

/* Other troubles do not change the status. */
static bool
lacks_report(const struct nodes_look *look)
{
	return strncmp(look->command.trouble, NODES_REPORT_MISSING,
	    strlen(NODES_REPORT_MISSING)) == 0;
}

int
run_tell_end(const struct nodes_look *look, const char *command)
{
	int status = exit_status(look->command.status);

	if (look->command.not_run)
		complain("%s", look->command.trouble);
	else if (!look->command.tree_ended && look->command.pid == 0)
		complain("the node has ended and '%s' was not seen to start",
		    command);
	else if (!look->command.tree_ended)
		complain("the node of '%s' is gone; the command's exit status "
		    "is not known", command);
	else if (look->command.trouble[0] != '\0')
		complain("%s", look->command.trouble);
	if (!look->command.tree_ended && !look->command.not_run)
		return PAGEK_RUN_FAILED;
	return lacks_report(look) ? failed_unless(status) : status;
}

#define FULL_TEXT 80

/* Blocks and bytes are those of the list; a full list refuses blocks. */
static void
full_text(const struct nodes_target *t, char out[FULL_TEXT])
{
	char count[32];

	out[0] = '\0';
	if (t->n[WIRE_N_FULL] == 0)
		return;
	base_group_digits(count, sizeof count, t->n[WIRE_N_FULL]);
	snprintf(out, FULL_TEXT, ", INCOMPLETE: list full: %s not listed", count);
}

static void
put_total(FILE *out, const struct nodes_target *t, bool ascii)
{
	char name[64], live[24], peak[24], blocks[32], allocs[32], frees[32];
	char how[PAGE_EXIT_TEXT], sample[PAGE_SAMPLE_TEXT], full[FULL_TEXT];
	const char *advice = nodes_death_advice(t->status);

	base_safe_text(name, sizeof name, t->comm, strlen(t->comm), ascii);
	base_human_bytes(live, sizeof live, t->n[WIRE_N_EST_BYTES]);
	base_human_bytes(peak, sizeof peak, t->n[t->n[WIRE_N_SAMPLE] != 0 ?
	    WIRE_N_EST_PEAK_BYTES : WIRE_N_PEAK_BYTES]);
	base_group_digits(blocks, sizeof blocks, t->n[WIRE_N_EST_BLOCKS]);
	base_group_digits(allocs, sizeof allocs, t->n[WIRE_N_ALLOCS]);
	base_group_digits(frees, sizeof frees, t->n[WIRE_N_FREES]);
	full_text(t, full);
	page_exit_text(t->status, how);
	if (t->state == WIRE_S_EXECED || how[0] == '\0')
		snprintf(how, sizeof how, "%s",
		    t->state == WIRE_S_EXECED ? "exec" : "ended");
	if (t->state == WIRE_S_NO_DATA) {
		fprintf(out, "pagek: %s[%ld] %s: NO DATA: %s\n", name,
		    (long)t->pid, how, t->reason);
	} else if (t->n[WIRE_N_SAMPLE] != 0) {
		page_sample_text(t->n[WIRE_N_SAMPLE], sample);
		fprintf(out, "pagek: %s[%ld] %s: sampled %s: %s allocs and %s "
		    "frees seen, ~%s blocks with ~%s at the end, peak ~%s, "
		    "lost %s%s\n", name, (long)t->pid, how, sample, allocs,
		    frees, blocks, live, peak,
		    base_digits(t->n[WIRE_N_LOST]).text, full);
	} else {
		fprintf(out, "pagek: %s[%ld] %s: %s allocs, %s frees, "
		    "%s blocks with %s at the end, peak %s, lost %s%s\n",
		    name, (long)t->pid, how, allocs, frees, blocks, live, peak,
		    base_digits(t->n[WIRE_N_LOST]).text, full);
	}
	if (advice[0] != '\0')
		fprintf(out, "pagek: %s[%ld] was ended by %s\n", name,
		    (long)t->pid, advice);
}

static size_t
keep_own_targets(const struct run *r, struct nodes_target *list, size_t n)
{
	const struct nodes_look *look = nodes_session_look(r->session);
	bool *ours = calloc(n + 1, sizeof *ours);
	size_t kept = 0, i;

	if (ours == NULL)
		return 0;
	for (i = 0; i < n; i++)
		ours[i] = nodes_target_of_run(list, n, i, r->runner);
	for (i = 0; i < n; i++) {
		if (!ours[i])
			continue;
		/* The watching node is not the parent, so it has no status. */
		if (list[i].pid == look->command.pid && list[i].status < 0)
			list[i].status = look->command.status;
		list[kept++] = list[i];
	}
	free(ours);
	return kept;
}

static void
put_totals(const struct run *r, FILE *out)
{
	const struct nodes_look *look = nodes_session_look(r->session);
	const uint64_t *numbers = look->node.numbers;
	struct nodes_target *list = NULL;
	size_t n = 0, i, missed = 0;
	const char *why = "";

	/* A node that just failed to answer is not asked again. */
	if (look->state == NODES_UNREACHABLE ||
	    target_enquire(r->loop, r->link, NODE_ANSWER_MS, &list, &n) < 0) {
		complain("the node does not answer: the totals are not "
		    "known");
		return;
	}
	/* A daemon has other targets too. */
	if (r->runner != NULL)
		n = keep_own_targets(r, list, n);
	for (i = 0; i < n && i < TOTALS_MAX; i++)
		put_total(out, &list[i], r->page.opts.ascii);
	if (n > i)
		fprintf(out, "pagek: and %s more; --report FILE has them "
		    "all\n", base_digits(n - i).text);
	for (i = 0; i < n; i++)
		missed += list[i].state == WIRE_S_NO_DATA;
	/* Those without a row have no line with their reason. */
	if (r->runner == NULL && numbers != NULL && numbers[WIRE_N_GONE_MISSED] > 0) {
		missed += numbers[WIRE_N_GONE_MISSED];
		why = look->node.missed;
	}
	if (missed > 0)
		fprintf(out, "pagek: %s process image%s could not be watched "
		    "(NO DATA)%s%s\n", base_digits(missed).text,
		    missed == 1 ? "" : "s", why[0] == '\0' ? "" : missed == 1 ?
		    ": " : "; the first without a line: ", why);
	free(list);
}

static void
put_picture(struct run *r, FILE *out)
{
	int err;

	err = batch_print(out, r->loop, &r->page, r->session,
	    batch_lines(out));
	if (err < 0)
		complain("cannot make the picture: %s", strerror(-err));
	fputc('\n', out);
	fflush(out);
}

static int
run_text(struct run *r)
{
	FILE *out = r->o->output != NULL ? output_open(r->o->output) : stderr;
	const struct nodes_look *look;
	int status;

	if (out == NULL)
		return PAGEK_RUN_FAILED;
	batch_request_rows(&r->page, r->session, batch_lines(out));
	while (!pump(r->loop, r->session, r->o->repeat.interval_ms,
	    run_forwards, r->session)) {
		put_picture(r, out);
		tell_target(r->o, nodes_session_look(r->session));
	}
	forward_close();

	await_last(r, NODE_ANSWER_MS);
	look = nodes_session_look(r->session);
	/* At the end the whole list is loaded, if only a window is there. */
	if (look->window)
		pump(r->loop, r->session, r->o->timeout_ms, run_is_read,
		    r->session);
	if (!look->command.not_run && look->link.up && !r->unwatched) {
		put_picture(r, out);
		put_totals(r, out);
	}
	status = run_tell_end(look, r->o->argv[0]);
	if (output_close(out, r->o->output, PAGEK_OK) != PAGEK_OK)
		status = failed_unless(status);
	return status;
}

/* By the path of the call: its folder may not be in PATH. */
static void
own_name(char name[256], bool ascii)
{
	const char *word = program_invocation_name;

	if (word[0] == '\0')
		word = "pagek";
	base_safe_text(name, 256, word, strlen(word), ascii);
}

static const struct nodes_target *
largest_live(const struct nodes_target *list, size_t n)
{
	const struct nodes_target *largest = NULL;

	for (size_t i = 0; i < n; i++) {
		if (list[i].pid <= 0 || !nodes_target_is_live(&list[i]))
			continue;
		if (largest == NULL || list[i].n[WIRE_N_LIVE_BYTES] >
		    largest->n[WIRE_N_LIVE_BYTES])
			largest = &list[i];
	}
	return largest;
}

static const char *
last_lines(const char *text, size_t len)
{
	const char *p = text + len;
	unsigned lines = 0;

	if (len > 0 && p[-1] == '\n')
		p--;
	for (; p > text; p--)
		if (p[-1] == '\n' && ++lines == LAST_LINES)
			break;
	return p;
}

/* Makes the lines safe, for output may have control characters. */
static void
put_lines(const struct run *r, const char *p, const char *end, FILE *out)
{
	char safe[4 * LAST_BYTES + 1];

	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((stop != NULL ? stop : end) - p);

		base_safe_text(safe, sizeof safe, p, len, r->page.opts.ascii);
		fprintf(out, "%s\n", safe);
		p += len + 1;
	}
}

static void
tell_output(const struct run *r, FILE *out)
{
	const char *path = nodes_session_look(r->session)->command.output;
	char text[LAST_BYTES], safe[256];
	struct stat st;
	ssize_t n;
	int fd;

	if (path[0] == '\0')
		return;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	n = fstat(fd, &st) < 0 ? 0 : pread(fd, text, sizeof text,
	    st.st_size > LAST_BYTES ? st.st_size - LAST_BYTES : 0);
	close(fd);
	if (n <= 0)
		return;
	put_lines(r, last_lines(text, (size_t)n), text + n, out);
	base_safe_text(safe, sizeof safe, path, strlen(path),
	    r->page.opts.ascii);
	fprintf(out, "pagek: the command's output: %s\n", safe);
}

/* The process that the page shows; if it has ended, a live one; 0: none. */
static pid_t
live_process(const struct run *r, char name[64])
{
	const struct nodes_look *look = nodes_session_look(r->session);
	const struct nodes_target *live;
	struct nodes_target *list = NULL;
	const char *comm = look->target.name;
	pid_t pid = look->target.pid;
	size_t n = 0;

	if (look->state == NODES_ENDED) {
		target_enquire(r->loop, r->link, ASK_MS, &list, &n);
		if (r->runner != NULL)
			n = keep_own_targets(r, list, n);
		live = largest_live(list, n);
		comm = live != NULL ? live->comm : "";
		pid = live != NULL ? live->pid : 0;
	}
	base_safe_text(name, 64, comm, strlen(comm), r->page.opts.ascii);
	free(list);
	return pid;
}

static void
tell_return(const struct run *r, FILE *out)
{
	const struct nodes_look *look = nodes_session_look(r->session);
	char name[64], path[256], pagek[256];
	pid_t pid;

	/* A node that was killed comes back at the same socket. */
	if (look->command.tree_ended || (!look->link.up && !look->link.returns))
		return;
	pid = live_process(r, name);
	base_safe_text(path, sizeof path, look->node.socket,
	    strlen(look->node.socket),
	    r->page.opts.ascii);
	own_name(pagek, r->page.opts.ascii);
	fprintf(out, "pagek: %s goes on%s", name[0] != '\0' ?
	    name : "the command", look->link.up ? " and is watched" : "");
	if (pid > 0)
		fprintf(out, "; come back with: %s pid:%ld", pagek, (long)pid);
	fputc('\n', out);
	if (path[0] != '\0')
		fprintf(out, "pagek: from anywhere: %s unix:%s\n", pagek,
		    path);
}

/* Waits for the target's end; `away`: it has ended already. */
static void
tell_ending(struct run *r, bool away)
{
	const struct nodes_look *look;
	bool ended;

	ended = away || await_last(r, NODE_ANSWER_MS);
	look = nodes_session_look(r->session);
	if (ended)
		printf("pagek: the target has ended\n");
	else
		printf("pagek: the target was sent SIGTERM and has not ended "
		    "yet\n");
	if (look->link.up && !look->command.tree_ended &&
	    look->command.targets_live > 0)
		tell_return(r, stdout);
}

static bool
has_begun(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->command.pid != 0 || look->command.not_run ||
	    !look->link.up;
}

static bool
has_status(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->command.status >= 0 || !look->link.up;
}

static int
page_status(const struct nodes_look *look)
{
	return look->command.status < 0 ? PAGEK_OK :
	    exit_status(look->command.status);
}

static int
run_screen(struct run *r)
{
	struct page_result result = { .end = PAGE_QUIT };
	const struct nodes_look *look = nodes_session_look(r->session);
	struct page_watch watch = { .session = r->session, .link = r->link,
		.keep_open = true, .remote = r->o->remote, .options = r->o };
	int err;

	/* No page is opened for a command that cannot be executed. */
	pump(r->loop, r->session, NODE_ANSWER_MS, has_begun, r->session);
	if (look->command.not_run)
		return run_tell_end(look, r->o->argv[0]);
	err = page_screen_run(r->loop, &watch, &r->page, &result);
	if (err < 0) {
		tell_return(r, stderr);
		return output_refuse_terminal(err);
	}
	/* The page may have been at another node: ours was not asked since. */
	if (watch.away)
		pump(r->loop, r->session, ASK_MS, run_has_ended, r->session);
	switch (result.end) {
	case PAGE_QUIT:
		tell_output(r, stdout);
		tell_return(r, stdout);
		return page_status(look);
	case PAGE_QUIT_TARGET:
		tell_ending(r, watch.away);
		if (look->target.pid == look->command.pid)
			pump(r->loop, r->session, NODE_ANSWER_MS,
			    has_status, r->session);
		tell_output(r, stdout);
		return page_status(look);
	case PAGE_INTERRUPTED:
		break;
	}
	tell_return(r, stderr);
	return BY_SIGNAL(result.signal);
}

/* A named pipe is not opened: its reader would see an end of file. */
static bool
is_writable(const char *path)
{
	struct stat st;
	int fd;

	if (path == NULL || strcmp(path, "-") == 0 ||
	    (stat(path, &st) == 0 && S_ISFIFO(st.st_mode)))
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0) {
		complain("cannot write '%s': %s", path, strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

/* 0 for the page on the terminal, 1 for text, or a negative errno. */
static int
choose_form(const struct options *o)
{
	int err;

	if (option_given(o, OPTION_BATCH) || option_given(o, OPTION_OUTPUT))
		return 1;
	err = page_screen_check();
	return err == -ENOTTY ? 1 : err;
}

/* Options of a node apply to all its targets. */
static bool
wants_own_node(const struct options *o)
{
	static const enum option_id own[] = { OPTION_REPORT, OPTION_NO_WAIT,
		OPTION_STACK, OPTION_FREE_STACK, OPTION_SAMPLE,
		OPTION_DORMANT, OPTION_MAX, OPTION_USAGE };

	for (size_t i = 0; i < BASE_NELEM(own); i++)
		if (option_given(o, own[i]))
			return true;
	return o->list == LIST_CHECK || option_on(o, OPTION_OWN_NODE);
}

/* Uses this user's daemon if it runs, else a node of our own. */
static int
start_command(struct run *r, struct node_opts *start)
{
	char hello[PATH_MAX];
	int err;

	if (wants_own_node(r->o) || nodes_connect_daemon(&r->link, r->loop,
	    hello, sizeof hello) < 0) {
		tell_own_node();
		return nodes_start(&r->link, r->loop, start);
	}
	tell("node: the one of %s", hello);
	start->hello = hello;
	err = nodes_start(&r->runner, r->loop, start);
	if (err < 0) {
		nodes_link_close(r->link);
		r->link = NULL;
	}
	return err;
}

int
cmd_run_check(struct parse *p)
{
	if (option_given(p->o, OPTION_INTERVAL) && !options_as_text(p->o))
		return option_fail(p, "--interval is for text: give --batch "
		    "too");
	if (p->o->argv == NULL)
		return option_fail(p, "'pagek run' needs a command, as in "
		    "'pagek run -- sleep 5'");
	return 0;
}

int
cmd_run(const struct options *o, uv_loop_t *loop)
{
	struct run r = { .o = o, .loop = loop };
	struct nodes_session_opts opts = { 0 };
	struct node_opts start = o->node;
	int form, err, status;

	form = choose_form(o);
	if (form < 0)
		return output_refuse_terminal(form);
	if (form == 0 && o->node.report != NULL && strcmp(o->node.report, "-") == 0) {
		complain("the page has the terminal: '--report -' needs "
		    "option -b");
		return PAGEK_USAGE;
	}
	if (!is_writable(o->node.report) || !is_writable(o->output))
		return PAGEK_RUN_FAILED;
	start.argv = o->argv;
	start.check_list = o->list == LIST_CHECK;
	start.free_stacks = start.free_stacks && start.stack > 0;
	start.own_session = form == 0;
	options_session(o, &opts);
	page_init(&r.page, &o->page);
	r.page.opts.session = opts;
	/* Before the command starts, for a signal may come at once. */
	if (form == 1 && forward_open(loop) < 0)
		complain("signals will not be passed on to the command");
	err = start_command(&r, &start);
	if (err < 0) {
		complain("cannot start pageknode: %s", strerror(-err));
		forward_close();
		return PAGEK_RUN_FAILED;
	}
	opts.run = r.runner;
	err = nodes_session_open(&r.session, r.link, &opts, page_news,
	    &r.page);
	if (err < 0) {
		complain("cannot watch: %s", strerror(-err));
		status = PAGEK_RUN_FAILED;
	} else {
		status = form == 0 ? run_screen(&r) : run_text(&r);
	}
	forward_close();
	nodes_session_close(r.session);
	page_fini(&r.page);
	nodes_link_close(r.runner);
	pump_down(loop, NULL, r.link);
	return status;
}
