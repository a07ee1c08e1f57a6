#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "../cli/pump.h"
#include "batch.h"

struct reading {
	struct refcnt_reader *r;
	struct nodes_session *s;
	int result;			/* of refcnt_reader_step() */
};

static bool
has_copy(void *arg)
{
	struct reading *a = arg;
	const struct nodes_look *look = nodes_session_look(a->s);

	if (!look->link.up && !look->link.returns)
		return true;
	a->result = refcnt_reader_step(a->r, a->s);
	return a->result != 0;
}

int
batch_refcnt(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    struct refcnt_reader *r)
{
	struct reading a = { .r = r, .s = s };

	pump(loop, s, o->timeout_ms, has_copy, &a);
	if (a.result > 0)
		return PAGEK_OK;
	if (a.result == 0) {
		complain("%s: no counts of references within %g s", o->target.word,
		    o->timeout_ms / 1000.0);
		return PAGEK_TIMEOUT;
	}
	complain("%s: no counts of references: %s", o->target.word, r->why);
	return a.result == -EPERM ? PAGEK_DENIED : a.result == -ENOTSUP ?
	    PAGEK_FORMAT : PAGEK_FAILED;
}

static bool
sorts_by_references(const struct options *o)
{
	for (unsigned i = 0; i < o->page.sorting.n; i++)
		if (o->page.sorting.by[i].sort == PAGE_SORT_TOUCHED ||
		    o->page.sorting.by[i].sort == PAGE_SORT_TOUCHES)
			return true;
	return false;
}

bool
batch_wants_refcnt(const struct options *o)
{
	const struct filter *filter = o->filter.compiled;

	return o->command == COMMAND_LIST || sorts_by_references(o) ||
	    (filter != NULL && (filter_uses(filter, FILTER_TOUCHED) ||
	    filter_uses(filter, FILTER_TOUCHES)));
}

void
batch_add_refcnt(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s, struct refcnt_reader *r, struct options *with)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct reading a = { .r = r, .s = s };

	*with = *o;
	if (!batch_wants_refcnt(o) || look->state != NODES_LIVE ||
	    look->classic || look->replay.on || look->target.pid <= 0)
		return;
	pump(loop, s, o->timeout_ms, has_copy, &a);
	if (a.result > 0 && r->copy.ranges > 0)
		with->page.refcnt = &r->copy;
}
