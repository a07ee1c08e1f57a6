#include <errno.h>
#include <string.h>

#include "../cli/pump.h"
#include "../panels/panels.h"
#include "batch.h"

static bool
is_answered(void *arg)
{
	return !nodes_session_marks(arg)->pending ||
	    !nodes_session_look(arg)->link.up;
}

static int
report_error(const struct options *o, const struct nodes_marks *m)
{
	if (m->error == -ENOTSUP)
		complain("%s: the node keeps no marks; it may be of an earlier "
		    "version", o->target.word);
	else if (m->why[0] != '\0')
		complain("%s: %s", o->target.word, m->why);
	else
		complain("%s: the node's answer did not come: %s",
		    o->target.word, strerror(-m->error));
	return m->error == -EPERM ? PAGEK_DENIED :
	    m->error == -EINVAL ? PAGEK_USAGE : PAGEK_FAILED;
}

static int
await_answer(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    int r)
{
	const struct nodes_marks *m;

	if (r < 0) {
		complain("%s: cannot ask the node for its marks: %s",
		    o->target.word, strerror(-r));
		return r == -ENOENT ? PAGEK_NO_TARGET : PAGEK_FAILED;
	}
	if (!pump(loop, s, o->timeout_ms, is_answered, s)) {
		complain("no answer within %d s", o->timeout_ms / 1000);
		return PAGEK_TIMEOUT;
	}
	m = nodes_session_marks(s);
	return m->error < 0 ? report_error(o, m) : PAGEK_OK;
}

int
batch_ask_marks(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s)
{
	return await_answer(o, loop, s, nodes_session_ask_marks(s));
}

int
batch_set_mark(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s, const char *name)
{
	return await_answer(o, loop, s, nodes_session_set_mark(s, name));
}

int
batch_find_mark(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s, const char *name,
    const struct wire_named_mark **mark)
{
	char known[PAGE_MARKS_TEXT];
	int status = batch_ask_marks(o, loop, s);

	if (status != PAGEK_OK)
		return status;
	*mark = nodes_marks_find(nodes_session_marks(s), name);
	if (*mark != NULL)
		return PAGEK_OK;
	page_marks_known(nodes_session_marks(s), known, sizeof known);
	complain("%s: no mark '%s'; %s", o->target.word, base_shown(name),
	    known);
	return PAGEK_NO_TARGET;
}
