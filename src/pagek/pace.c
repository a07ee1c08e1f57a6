/*
 * What comes again and again: when the next is due, and when that is all.
 */
#include "../base/base.h"
#include "commands.h"

void
pace_begin(struct pace *p, const struct options *o)
{
	*p = (struct pace){ .o = o, .begun = mono_now() };
}

/* Until the next is due; what was missed is skipped. */
static int64_t
left_ms(struct pace *p)
{
	int64_t left;

	do
		p->due_ms += p->o->interval_ms;
	while ((left = p->due_ms - mono_ms_since(p->begun)) <= 0);
	return left;
}

bool
pace_wait(struct pace *p, uv_loop_t *loop, struct nodes_session *s,
    pump_done_cb done, void *arg)
{
	int duration_ms = p->o->duration_ms;
	int64_t left;

	if (p->n == p->o->count && p->n > 0)
		return false;
	left = left_ms(p);
	if (duration_ms == 0 || p->due_ms <= duration_ms) {
		pump(loop, s, (int)left, done, arg);
		return true;
	}
	left = duration_ms - mono_ms_since(p->begun);
	return left > 0 && pump(loop, s, (int)left, done, arg);
}
