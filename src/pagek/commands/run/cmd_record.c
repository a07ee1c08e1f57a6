#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../base/base.h"
#include "../../../capture/capture.h"
#include "../../cli/cli.h"
#include "../../cli/pump.h"
#include "run.h"

#define LOCK_TRIES 50		/* for the file of a recording that is just ending, ... */
#define LOCK_MS 20		/* ... after so long each */
#define LOOK_MS 250		/* between questions to the node */
#define OFFER_MS 10		/* between tries, until the node has the file */
#define ANSWER_MS 3000		/* for what the node knows at once */
#define FINISH_MS 15000		/* for the last events: the node waits 10 s for the disk */

struct record {
	const struct options *o;
	uv_loop_t *loop;
	struct nodes_link *link;
	struct nodes_session *session;	/* of the node alone */
	int fd;
	bool created;			/* the file or folder is ours */
	struct nodes_recording now;	/* as last told */
	bool known;			/* it was told */
	int err;			/* of the last question; 1: not answered yet */
	char why[512];
	bool said_stopped;
	bool lost;			/* the node that recorded is gone */
	pid_t pid;			/* of the target; 0: a command */
};

static bool
is_capture_or_empty(int fd, const char *path)
{
	uint8_t head[CAPTURE_HEAD];
	ssize_t n = pread(fd, head, sizeof head, 0);
	bool is;

	if (n == 0 || (n > 0 && capture_is_own(head, (size_t)n)))
		return true;
	is = n > 0 && capture_magic(head, (size_t)n);
	complain("'%s' is %s: it is left as it is%s", base_shown(path), is ?
	    "a capture of another version, or its head is damaged" :
	    "not empty and no capture", is ? "; remove it, or choose another "
	    "name" : "");
	return false;
}

/*
 * The node shares this lock until the last event is written.  Its supervisor, which keeps
 * the file for another process of the node, ends just after the pagek that began it.
 */
static int
lock_file(int fd)
{
	int err = flock(fd, LOCK_EX | LOCK_NB);

	for (int i = 0; err < 0 && errno == EWOULDBLOCK && i < LOCK_TRIES; i++) {
		poll(NULL, 0, LOCK_MS);
		err = flock(fd, LOCK_EX | LOCK_NB);
	}
	return err;
}

static bool
make_empty(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		complain("'%s' is no regular file: a recording needs one",
		    base_shown(path));
		return false;
	}
	if (lock_file(fd) < 0) {
		complain("another recording writes into '%s'",
		    base_shown(path));
		return false;
	}
	if (!is_capture_or_empty(fd, path))
		return false;
	if (ftruncate(fd, 0) == 0)
		return true;
	complain("cannot write '%s': %s", base_shown(path), strerror(errno));
	return false;
}

static bool
is_folder_empty(int fd, const char *path)
{
	if (base_folder_is_empty(fd))
		return true;
	complain("the folder '%s' is not empty: --ring needs one of its own",
	    base_shown(path));
	return false;
}

/* With --ring a folder; addresses are nobody else's business. */
static int
open_file(struct record *r)
{
	const char *path = r->o->output;
	bool ring = r->o->node.record.ring != 0, good;
	int fd;

	r->created = ring ? mkdir(path, 0700) == 0 : access(path, F_OK) < 0;
	fd = ring ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) :
	    open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0) {
		complain("cannot write '%s': %s%s", base_shown(path),
		    strerror(errno), ring && errno == ENOTDIR ?
		    ": with --ring it is a folder" : !ring && errno == EISDIR ?
		    ": a folder is for --ring" : "");
		return PAGEK_FAILED;
	}
	good = ring ? is_folder_empty(fd, path) : make_empty(fd, path);
	if (!good) {
		close(fd);
		return PAGEK_FAILED;
	}
	r->fd = fd;
	return PAGEK_OK;
}

/* No recording came to be: leaves no empty file behind. */
static void
remove_file(const struct record *r)
{
	if (!r->created)
		return;
	if (r->o->node.record.ring != 0)
		rmdir(r->o->output);
	else
		unlink(r->o->output);
}

static void
on_answer(void *arg, int err, const char *why, const struct nodes_recording *now)
{
	struct record *r = arg;

	r->err = err;
	snprintf(r->why, sizeof r->why, "%s", why);
	if (now != NULL) {
		r->now = *now;
		r->known = true;
	}
}

static bool
is_answered(void *arg)
{
	const struct record *r = arg;

	return r->err <= 0;
}

static int
await_answer(struct record *r, int asked)
{
	if (asked < 0)
		return asked;
	if (!pump(r->loop, r->session, ANSWER_MS, is_answered, r))
		return -ETIMEDOUT;
	return r->err;
}

static int
ask(struct record *r, enum wire_record_action action)
{
	bool own = r->o->argv != NULL;

	r->err = 1;
	return await_answer(r, nodes_recording_ask(r->link, own, action,
	    on_answer, r));
}

static void
tell_stopped(struct record *r)
{
	bool stopped = r->now.state == WIRE_RECORD_STOPPED;

	if (stopped && !r->said_stopped)
		complain("recording has stopped: %s", r->now.why);
	else if (!stopped && r->said_stopped &&
	    r->now.state == WIRE_RECORD_ON)
		notice("recording goes on");
	r->said_stopped = stopped;
}

static int go_on(struct record *);

static bool
look(struct record *r)
{
	struct nodes_recording before = r->now;

	if (r->lost || ask(r, WIRE_RECORD_LOOK) < 0)
		return !r->lost;
	if (r->now.state == WIRE_RECORD_NONE && r->pid != 0 &&
	    go_on(r) == PAGEK_OK)
		return true;
	if (r->now.state == WIRE_RECORD_NONE) {
		complain("the node that recorded is gone: the capture ends "
		    "there");
		r->now = before;
		r->lost = true;
		return false;
	}
	tell_stopped(r);
	return r->now.state < WIRE_RECORD_ENDING;
}

static void
finish(struct record *r)
{
	struct mono begun = mono_now();

	if (r->lost || (r->now.state < WIRE_RECORD_ENDING &&
	    ask(r, WIRE_RECORD_END) < 0))
		return;
	while (r->now.state == WIRE_RECORD_ENDING &&
	    mono_ms_since(begun) < FINISH_MS) {
		pump(r->loop, r->session, OFFER_MS, NULL, NULL);
		if (ask(r, WIRE_RECORD_LOOK) < 0)
			break;
	}
}

/* The last line; a status in place of PAGEK_OK if the capture is cut short. */
static int
report(const struct record *r)
{
	char events[32], lost[32], size[24];
	const struct nodes_recording *now = &r->now;

	if (!r->known || r->lost || now->state < WIRE_RECORD_ENDED) {
		complain("the end of the recording is not known: 'pagek stats "
		    "%s' shows what is in it", base_shown(r->o->output));
		return PAGEK_FAILED;
	}
	base_group_digits(events, sizeof events, now->events);
	base_group_digits(lost, sizeof lost, now->lost);
	base_human_bytes(size, sizeof size, now->bytes);
	notice("%s events of %u process image%s, %s, %.1f bytes an event, "
	    "lost %s: %s", events, now->images, now->images == 1 ? "" : "s",
	    size, now->events == 0 ? 0 :
	    (double)now->bytes / (double)now->events, lost,
	    base_shown(r->o->output));
	if (now->state == WIRE_RECORD_CUT) {
		complain("%s", now->why);
		return PAGEK_FAILED;
	}
	if (r->said_stopped) {
		complain("the recording had stopped and did not go on: events are "
		    "missing at its end");
		return PAGEK_FAILED;
	}
	return PAGEK_OK;
}

static void
no_news(void *arg)
{
	(void)arg;
}

/* Images of the command that the node has not watched are not in the file. */
static void
tell_missed(struct record *r)
{
	const uint64_t *numbers = nodes_session_look(r->session)->node.numbers;
	struct nodes_target *list = NULL;
	uint64_t missed = numbers != NULL ? numbers[WIRE_N_GONE_MISSED] : 0;
	size_t n = 0;

	if (r->lost || target_enquire(r->loop, r->link, ANSWER_MS, &list,
	    &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		missed += list[i].state == WIRE_S_NO_DATA;
	free(list);
	if (missed > 0)
		complain("%s process image%s could not be recorded (NO DATA)",
		    base_digits(missed).text, missed == 1 ? "" : "s");
}

static int
record_command(struct record *r)
{
	const struct nodes_look *look_now;
	int status, mine;

	while (!pump(r->loop, r->session, LOOK_MS, run_forwards, r->session))
		look(r);
	forward_close();
	finish(r);
	look_now = nodes_session_look(r->session);
	status = run_tell_end(look_now, r->o->argv[0]);
	if (look_now->command.not_run || look_now->command.pid == 0) {
		remove_file(r);
		return status;
	}
	tell_missed(r);
	mine = report(r);
	return status != PAGEK_OK || mine == PAGEK_OK ? status :
	    PAGEK_RUN_FAILED;
}

static int
start_recorded(struct record *r)
{
	struct node_opts start = r->o->node;
	struct nodes_session_opts opts = { .node_only = true };
	int err, status;

	start.argv = r->o->argv;
	start.no_pairs = true;
	start.record.fd = r->fd;
	/* Before the command starts: a signal may come at once. */
	if (forward_open(r->loop) < 0)
		complain("signals will not be passed on to the command");
	tell_own_node();
	err = nodes_start(&r->link, r->loop, &start);
	if (err == 0)
		err = nodes_session_open(&r->session, r->link, &opts,
		    no_news, NULL);
	if (err == 0) {
		status = record_command(r);
	} else {
		complain("cannot start pageknode: %s", strerror(-err));
		remove_file(r);
		status = PAGEK_RUN_FAILED;
	}
	forward_close();
	return status;
}

#define READS 16		/* of the input at once */

static bool
has_input_ended(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char ignored[4096];

	/* More may come for ever. */
	for (int i = 0; i < READS && poll(&in, 1, 0) > 0; i++)
		if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0)
			return true;
	return false;
}

static bool
is_to_end(void *arg)
{
	return pump_is_interrupted() ||
	    (option_on(arg, OPTION_UNTIL_EOF) && has_input_ended());
}

static bool
has_socket(void *arg)
{
	const struct nodes_look *now = nodes_session_look(arg);

	return now->node.socket[0] != '\0';
}

#define SOCKET_ROOM sizeof(((struct nodes_entry *)0)->place)

static int
find_socket(struct record *r, char socket[SOCKET_ROOM])
{
	const struct nodes_look *now;

	if (!pump(r->loop, r->session, r->o->timeout_ms, has_socket,
	    r->session)) {
		now = nodes_session_look(r->session);
		complain("%s: %s", r->o->target.word, now->link.up ?
		    "this node takes no recordings" : now->reason);
		return PAGEK_NO_TARGET;
	}
	now = nodes_session_look(r->session);
	snprintf(socket, SOCKET_ROOM, "%s", now->node.socket);
	return PAGEK_OK;
}

/* Its index at the node; or an exit status after a complaint, in *status. */
static bool
find_target(struct record *r, const struct nodes_session_opts *s,
    uint32_t *index, int *status)
{
	const struct nodes_target *best = NULL;
	struct nodes_target *list = NULL;
	size_t n = 0;
	int err = target_enquire(r->loop, r->link, r->o->timeout_ms, &list, &n);

	for (size_t i = 0; s->stream != NULL && i < n; i++)
		if (strcmp(list[i].name, s->stream) == 0)
			best = &list[i];
	if (s->stream == NULL)
		best = targets_best(list, n, s->pid, NULL);
	*status = PAGEK_NO_TARGET;
	if (err < 0)
		complain("%s: %s", r->o->target.word, target_why(r->link, err));
	else if (best == NULL)
		complain("%s: the node watches no such process",
		    r->o->target.word);
	else if (best->ended || best->state == WIRE_S_NO_DATA)
		complain("%s: %s[%ld] %s: only a live target can be recorded",
		    r->o->target.word, best->comm, (long)best->pid,
		    best->ended ? "has ended" : "is not watched");
	else
		*index = best->index;
	if (err == 0 && best != NULL && !best->ended &&
	    best->state != WIRE_S_NO_DATA) {
		r->pid = best->pid;
		*status = PAGEK_OK;
	}
	free(list);
	return *status == PAGEK_OK;
}

/* The node takes it in on another thread than the request. */
static int
begin_recording(struct record *r, const char *socket, uint32_t index)
{
	struct mono begun = mono_now();
	uint8_t token[WIRE_EPOCH];
	int err;

	if (getrandom(token, sizeof token, 0) != (ssize_t)sizeof token)
		return -EIO;
	do {
		err = nodes_offer_file(socket, token, r->fd);
		if (err == -EAGAIN)
			pump(r->loop, r->session, OFFER_MS, NULL, NULL);
	} while (err == -EAGAIN && mono_ms_since(begun) < r->o->timeout_ms);
	if (err < 0) {
		snprintf(r->why, sizeof r->why, "the node at %s takes no "
		    "files for recordings: %s", socket, strerror(-err));
		return err;
	}
	do {
		r->err = 1;
		err = await_answer(r, nodes_record(r->link, index, token,
		    r->o->node.record.ring, on_answer, r));
		if (err == -EAGAIN)
			pump(r->loop, r->session, OFFER_MS, NULL, NULL);
	} while (err == -EAGAIN && mono_ms_since(begun) < r->o->timeout_ms);
	return err;
}

/* The node's next process has no file of a viewer: it gets ours again. */
static int
go_on(struct record *r)
{
	const struct nodes_session_opts s = { .pid = r->pid };
	char socket[SOCKET_ROOM];
	uint32_t index = 0;
	int status, err;

	status = find_socket(r, socket);
	if (status == PAGEK_OK)
		find_target(r, &s, &index, &status);
	if (status != PAGEK_OK)
		return status;
	err = begin_recording(r, socket, index);
	if (err < 0) {
		complain("%s: %s", r->o->target.word, r->why[0] != '\0' ?
		    r->why : strerror(-err));
		return PAGEK_FAILED;
	}
	notice("the node was started again: recording goes on, and what was "
	    "missed is a gap");
	return PAGEK_OK;
}

static void
record_until_end(struct record *r)
{
	struct mono begun = mono_now();
	int left = r->o->repeat.duration_ms;

	while (look(r)) {
		if (r->o->repeat.duration_ms > 0) {
			left = r->o->repeat.duration_ms -
			    (int)mono_ms_since(begun);
			if (left <= 0)
				break;
		}
		if (pump(r->loop, r->session, left > 0 && left < LOOK_MS ?
		    left : LOOK_MS, is_to_end, (void *)(uintptr_t)r->o))
			break;
	}
}

static int
record_at_node(struct record *r, const struct nodes_session_opts *s)
{
	char socket[SOCKET_ROOM];
	uint32_t index = 0;
	int status, err;

	status = find_socket(r, socket);
	if (status != PAGEK_OK || !find_target(r, s, &index, &status))
		return status;
	err = begin_recording(r, socket, index);
	if (err < 0) {
		complain("%s: %s", r->o->target.word, err == -ENOTSUP ?
		    "this node is too old to record" :
		    r->why[0] != '\0' ? r->why : strerror(-err));
		return err == -EPERM ? PAGEK_DENIED : PAGEK_FAILED;
	}
	record_until_end(r);
	finish(r);
	return report(r);
}

static int
record_target(struct record *r)
{
	struct nodes_session_opts s = { 0 };
	struct nodes_session_opts opts = { .node_only = true };
	char why[512];
	int status, err;

	status = target_open(r->o, r->loop, &r->link, &s, why, sizeof why);
	if (status != PAGEK_OK) {
		complain("%s", why);
		remove_file(r);
		return status;
	}
	err = nodes_session_open(&r->session, r->link, &opts, no_news,
	    NULL);
	if (err < 0) {
		complain("cannot ask the node: %s", strerror(-err));
		remove_file(r);
		return PAGEK_FAILED;
	}
	pump_catch(SIGINT, false);
	pump_catch(SIGTERM, false);
	status = record_at_node(r, &s);
	if (!r->known)
		remove_file(r);
	return status;
}

int
cmd_record_check(struct parse *p)
{
	static const enum option_id started[] = { OPTION_NO_WAIT, OPTION_STACK,
		OPTION_FREE_STACK, OPTION_SAMPLE, OPTION_MAX };
	const struct options *o = p->o;

	if (o->output == NULL)
		return option_fail(p, "'pagek record' needs a file, as in "
		    "'pagek record -o FILE -- sleep 5'");
	if (strcmp(o->output, "-") == 0)
		return option_fail(p, "a capture needs a file: '-' is none");
	if (option_given(o, OPTION_RING) && o->node.record.ring == 0)
		return option_fail(p, "--ring needs room for some events, as in "
		    "--ring 1G");
	if (o->argv != NULL && o->target_given)
		return option_fail(p, "'pagek record' takes a TARGET or a "
		    "command, not both");
	if (o->argv == NULL && !o->target_given)
		return option_fail(p, "'pagek record' needs a TARGET or a "
		    "command, as in 'pagek record -o FILE -- sleep 5'");
	if (o->argv != NULL && o->repeat.duration_ms != 0)
		return option_fail(p, "--duration is for a TARGET: a command "
		    "is recorded to its end");
	if (o->argv != NULL && option_on(o, OPTION_UNTIL_EOF))
		return option_fail(p, "--until-eof is for a TARGET: a command "
		    "has the input");
	if (o->argv != NULL)
		return 0;
	if (o->target.kind == TARGET_SSH && o->target.pid == 0 &&
	    o->target.name[0] == '\0')
		return option_fail(p, "'%s' names no process: write its name or "
		    "pid:N behind it, as in 'ssh:linac-b/pid:77'",
		    base_shown(o->target.word));
	if (target_is_own(&o->target))
		return option_fail(p, "'%s' is no process: only processes are "
		    "recorded", base_shown(o->target.word));
	return option_none_of(p, started, BASE_NELEM(started),
	    "is for a command that is started");
}

int
cmd_record(const struct options *o, uv_loop_t *loop)
{
	struct record r = { .o = o, .loop = loop, .fd = -1 };
	int status;

	if (o->argv == NULL && o->target.kind == TARGET_SSH)
		return record_there(o);
	status = open_file(&r);
	if (status != PAGEK_OK)
		return o->argv != NULL ? PAGEK_RUN_FAILED : status;
	status = o->argv != NULL ? start_recorded(&r) : record_target(&r);
	close(r.fd);
	pump_down(loop, r.session, r.link);
	return status;
}
