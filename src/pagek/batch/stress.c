#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../nodes/places/places.h"
#include "../cli/pump.h"
#include "batch.h"

#define LOOK_MS 1000		/* for each node of this machine */
#define AGAIN_MS 67		/* a node takes a sample each cycle */

struct batch_stress {
	const struct options *o;
	uv_loop_t *loop;
	struct nodes_link *link;
	struct nodes_session *session;	/* NULL: the files are read here */
	struct stress *files;
	char node[300];			/* as a TARGET; "" the files are read here */
};

static void
on_news(void *arg)
{
	(void)arg;
}

static bool
is_gone(struct nodes_session *s)
{
	const struct nodes_look *look = nodes_session_look(s);

	return !look->link.up && !look->link.returns;
}

static bool
has_answered(void *arg)
{
	return !nodes_session_stress(arg)->pending || is_gone(arg);
}

/* One answer.  -ETIMEDOUT, or the error of the answer. */
static int
ask_node(struct batch_stress *b, int64_t timeout_ms)
{
	struct nodes_session *s = b->session;
	struct mono begun = mono_now();

	for (;;) {
		int err = nodes_session_ask_stress(s, 0);
		int64_t left = timeout_ms - mono_ms_since(begun);

		if (left <= 0)
			return -ETIMEDOUT;
		if (err == 0 || err == -EBUSY) {
			pump(b->loop, s, (int)left, has_answered, s);
			if (nodes_session_stress(s)->pending)
				return -ETIMEDOUT;
			err = nodes_session_stress(s)->error;
		}
		if (err != -ENOTCONN && err != -EAGAIN && err != -EBUSY)
			return err;
		if (is_gone(s))
			return -ENOTCONN;
		pump(b->loop, s, AGAIN_MS, NULL, NULL);
	}
}

static int
ask_fresh(struct batch_stress *b)
{
	int err = ask_node(b, b->o->timeout_ms);
	int64_t now = nodes_session_stress(b->session)->now_ms;

	while (err == 0 && nodes_session_stress(b->session)->at_ms < now) {
		pump(b->loop, b->session, AGAIN_MS, NULL, NULL);
		err = ask_node(b, b->o->timeout_ms);
	}
	return err;
}

static int
open_session(struct batch_stress *b)
{
	return nodes_session_open(&b->session, b->link,
	    &(struct nodes_session_opts){ .node_only = true }, on_news, NULL);
}

static void
close_node(struct batch_stress *b)
{
	nodes_session_close(b->session);
	nodes_link_close(b->link);
	b->session = NULL;
	b->link = NULL;
	b->node[0] = '\0';
}

/* The exit status, after a complaint. */
static int
refuse_node(struct batch_stress *b, int err)
{
	const struct nodes_stress *t = nodes_session_stress(b->session);
	const char *reason;

	nodes_link_state(b->link, &reason);
	if (err == -ETIMEDOUT) {
		complain("%s: no counts within %g s", b->node,
		    b->o->timeout_ms / 1000.0);
		return PAGEK_TIMEOUT;
	}
	complain("%s: no counts: %s", b->node, err == -ENOTCONN &&
	    reason[0] != '\0' ? reason : t->error_why[0] != '\0' ?
	    t->error_why : strerror(-err));
	return err == -EPERM ? PAGEK_DENIED : err == -ENOTSUP ||
	    err == -EPROTO ? PAGEK_FORMAT : err == -ENOTCONN ?
	    PAGEK_NO_TARGET : PAGEK_FAILED;
}

static int
open_target(struct batch_stress *b)
{
	struct nodes_session_opts opts = { 0 };
	char why[512];
	int status = target_open(b->o, b->loop, &b->link, &opts, why,
	    sizeof why);
	int err;

	if (status != PAGEK_OK) {
		complain("%s", why);
		return status;
	}
	snprintf(b->node, sizeof b->node, "%s", b->o->target.word);
	err = open_session(b);
	if (err < 0) {
		complain("%s: %s", b->node, strerror(-err));
		return PAGEK_FAILED;
	}
	err = ask_node(b, b->o->timeout_ms);
	return err == 0 ? PAGEK_OK : refuse_node(b, err);
}

static bool
wants_boot(const struct options *o)
{
	return option_given(o, OPTION_SINCE) || (o->argv == NULL &&
	    !option_given(o, OPTION_INTERVAL) && !option_given(o, OPTION_COUNT) &&
	    !option_given(o, OPTION_DURATION));
}

/* The node's.  One that began when it was opened has no totals. */
static enum stress_source
source_of(const struct batch_stress *b)
{
	enum stress_source source = b->session != NULL ?
	    nodes_session_stress(b->session)->sample.source : STRESS_NONE;

	return (source == STRESS_EVENTS || source == STRESS_EBPF) &&
	    wants_boot(b->o) ? STRESS_NONE : source;
}

static void
try_node(struct batch_stress *b, const char *socket)
{
	struct batch_stress other = { .o = b->o, .loop = b->loop };
	int err = nodes_connect(&other.link, b->loop, socket);

	if (err < 0)
		return;
	snprintf(other.node, sizeof other.node, "unix:%s", socket);
	err = open_session(&other);
	if (err == 0)
		err = ask_node(&other, LOOK_MS);
	if (err == 0 && (b->session == NULL ||
	    source_of(&other) < source_of(b))) {
		struct batch_stress worse = *b;

		*b = other;
		other = worse;
	}
	close_node(&other);
}

/* The system's node comes first. */
static int
try_nodes(struct batch_stress *b)
{
	char **paths = NULL;
	size_t n = 0;
	int err = nodes_find(&paths, &n);

	if (err < 0)
		return err == -EPERM || err == -EACCES ? 0 : err;
	while (n-- > 0 && (b->session == NULL || source_of(b) > STRESS_FILE))
		try_node(b, paths[n]);
	free(paths);
	return 0;
}

static int
try_files(struct batch_stress *b)
{
	struct stress_sample s;
	char program[PATH_MAX];
	int err = stress_open(&b->files, b->o->stress.root != NULL ? b->o->stress.root : "/");

	if (err == 0 && wants_boot(b->o))
		stress_want_boot(b->files);
	else if (err == 0 && b->o->stress.root == NULL && source_of(b) > STRESS_EBPF &&
	    nodes_program("pagek-levels", program, sizeof program) == 0)
		err = stress_use_ebpf(b->files, program, true);
	if (err < 0 || b->session == NULL)
		return err;
	err = stress_take(b->files, &s);
	if (err == 0 && s.source < source_of(b)) {
		close_node(b);
		return 0;
	}
	stress_close(b->files);
	b->files = NULL;
	return 0;
}

static int
open_here(struct batch_stress *b)
{
	int err = b->o->stress.root == NULL && b->o->stress.only == NULL ? try_nodes(b) : 0;

	if (err == 0 && (b->session == NULL || source_of(b) > STRESS_FILE))
		err = try_files(b);
	if (err < 0)
		complain("cannot read the kernel's counters: %s",
		    strerror(-err));
	return err < 0 ? PAGEK_FAILED : PAGEK_OK;
}

int
batch_stress_open(const struct options *o, uv_loop_t *loop,
    struct batch_stress **out)
{
	struct batch_stress *b = calloc(1, sizeof *b);
	int status;

	if (b == NULL) {
		complain("%s", strerror(ENOMEM));
		return PAGEK_FAILED;
	}
	b->o = o;
	b->loop = loop;
	status = o->target.kind == TARGET_LOCAL ? open_here(b) : open_target(b);
	if (status == PAGEK_OK)
		*out = b;
	else
		batch_stress_close(b);
	return status;
}

void
batch_stress_close(struct batch_stress *b)
{
	if (b == NULL)
		return;
	stress_close(b->files);
	pump_down(b->loop, b->session, b->link);
	free(b);
}

int
batch_stress_take(struct batch_stress *b, bool fresh, struct stress_sample *out)
{
	int err = b->session == NULL ? stress_take(b->files, out) :
	    fresh ? ask_fresh(b) : ask_node(b, b->o->timeout_ms);

	if (err < 0 && b->session != NULL)
		return refuse_node(b, err);
	if (err < 0) {
		complain("cannot read the kernel's counters: %s",
		    strerror(-err));
		return PAGEK_FAILED;
	}
	if (b->session != NULL)
		*out = nodes_session_stress(b->session)->sample;
	return PAGEK_OK;
}

static bool
has_table(void *arg)
{
	return !nodes_session_kernel_memory(arg)->pending || is_gone(arg);
}

int
batch_stress_memory(struct batch_stress *b, enum stress_table table,
    struct stress_memory *out)
{
	const struct nodes_kernel_memory *k;
	int err = nodes_session_ask_kernel_memory(b->session, table);

	if (err == 0)
		pump(b->loop, b->session, b->o->timeout_ms, has_table, b->session);
	k = nodes_session_kernel_memory(b->session);
	if (err == 0 && k->pending) {
		complain("%s: no table within %g s", b->node,
		    b->o->timeout_ms / 1000.0);
		return PAGEK_TIMEOUT;
	}
	if (err == 0)
		err = k->error;
	if (err == 0 && nodes_session_take_kernel_memory(b->session, out))
		return PAGEK_OK;
	complain("%s: no table: %s", b->node, k->error_why[0] != '\0' ?
	    k->error_why : strerror(-err));
	return err == -EPERM ? PAGEK_DENIED : err == -ENOTSUP ? PAGEK_FORMAT :
	    err == -ENOTCONN ? PAGEK_NO_TARGET : PAGEK_FAILED;
}

const char *
batch_stress_kernel(const struct batch_stress *b)
{
	return b->session != NULL ? nodes_session_stress(b->session)->kernel :
	    stress_kernel(b->files);
}

const char *
batch_stress_why(const struct batch_stress *b)
{
	return b->session != NULL ? nodes_session_stress(b->session)->why :
	    stress_why(b->files);
}

const char *
batch_stress_group(const struct batch_stress *b)
{
	return b->session != NULL ? "" : stress_group(b->files);
}

int
batch_stress_of_process(struct batch_stress *b, pid_t pid, bool on_exec)
{
	if (kill(pid, 0) < 0 && errno == ESRCH) {
		complain("there is no process %d", (int)pid);
		return PAGEK_FAILED;
	}
	if (stress_of_process(b->files, pid, on_exec) == 0)
		return PAGEK_OK;
	complain("cannot count the requests of process %d alone: %s", (int)pid,
	    stress_why(b->files));
	return PAGEK_FAILED;
}

const char *
batch_stress_node(const struct batch_stress *b)
{
	return b->node;
}

uint64_t
batch_stress_reader(const struct batch_stress *b)
{
	return b->session != NULL ? nodes_session_stress(b->session)->reader : 0;
}
