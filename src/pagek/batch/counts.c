#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "../cli/pump.h"
#include "../documents/documents.h"
#include "batch.h"

static bool
has_answered(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return !nodes_session_usage(arg)->pending ||
	    (!look->link.up && !look->link.returns);
}

static bool
has_arrived(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return (look->listed && look->replay.state != WIRE_REPLAY_GOING) ||
	    (!look->link.up && !look->link.returns);
}

#define BEGIN_MS 200		/* in which a replay begins to count */

/*
 * The first question makes a replay count from the beginning of its capture, and the
 * counts are there when it is at its moment again.
 */
static int
ask(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct mono begun = mono_now();
	int err;

	for (;;) {
		err = nodes_session_ask_usage(s);
		if (err >= 0 || err == -EBUSY)
			pump(loop, s, o->timeout_ms, has_answered, s);
		if (!look->replay.on || (err != -ENOENT &&
		    nodes_session_usage(s)->error != -EBUSY) ||
		    mono_ms_since(begun) >= o->timeout_ms)
			return err == -EBUSY ? 0 : err;
		pump(loop, s, BEGIN_MS, NULL, NULL);
		pump(loop, s, o->timeout_ms, has_arrived, s);
	}
}

int
batch_ask_usage(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s)
{
	const struct nodes_usage *u;

	if (ask(o, loop, s) < 0) {
		complain("%s: the target has no list to count", o->target.word);
		return PAGEK_NO_TARGET;
	}
	u = nodes_session_usage(s);
	if (u->error == 0 && u->no != 0)
		return PAGEK_OK;
	if (u->pending || u->error == -EAGAIN) {
		complain("%s: no counts within %g s", o->target.word,
		    o->timeout_ms / 1000.0);
		return PAGEK_TIMEOUT;
	}
	complain("%s: no counts: %s", o->target.word, u->why[0] != '\0' ? u->why :
	    strerror(-u->error));
	return u->error == -EPERM ? PAGEK_DENIED : u->error == -ENOTSUP ?
	    PAGEK_FORMAT : PAGEK_FAILED;
}

static int
name_rows(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    struct usage_namer *namer, struct usage_list *list)
{
	const struct nodes_usage *u = nodes_session_usage(s);
	size_t lacking = 0, callers;
	int err = usage_namer_take(namer, u->row, u->n);

	if (err == 0)
		err = batch_await_names(loop, s, usage_namer_profile(namer),
		    o->timeout_ms, &lacking);
	if (err == -ESTALE)
		err = 0;
	callers = profile_callers(usage_namer_profile(namer));
	batch_report_names(o, s, lacking, callers);
	u = nodes_session_usage(s);
	return err == 0 ? usage_list_name(list, namer,
	    nodes_session_look(s)->types, u->row, u->n) : err;
}

/* On the node's wall clock; 0 stays 0. */
static int64_t
wall_of(const struct nodes_look *look, int64_t ms)
{
	return ms == 0 ? 0 : look->node_wall_ms - (look->now_ms - ms);
}

void
batch_usage_source(struct nodes_session *s, struct usage_source *from)
{
	const struct nodes_look *look = nodes_session_look(s);
	const struct nodes_usage *u = nodes_session_usage(s);

	*from = (struct usage_source){ .kind = "live", .look = look,
		.since_ms = wall_of(look, u->since_ms),
		.now_ms = wall_of(look, u->now_ms),
		.peak_ms = wall_of(look, u->totals.peak_ms),
		.from_start = u->from_start, .complete = u->lacks[0] == '\0',
		.knows_lost = true, .lost = u->lost, .rss = u->rss,
		.lacks = u->lacks };
}

int
batch_usage(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    struct usage_list *list, struct usage_source *from)
{
	struct symbol_wrappers *skip = NULL;
	struct usage_namer *namer = NULL;
	int status = batch_ask_usage(o, loop, s), err;

	if (status != PAGEK_OK)
		return status;
	err = options_wrappers(o, &skip);
	if (err == 0)
		err = usage_namer_new(&namer, skip);
	if (err == 0)
		err = name_rows(o, loop, s, namer, list);
	batch_usage_source(s, from);
	usage_namer_free(namer);
	symbol_wrappers_free(skip);
	if (err == 0)
		return PAGEK_OK;
	complain("cannot count: %s", strerror(-err));
	return PAGEK_FAILED;
}
