#include <signal.h>

#include "options.h"
#include "pump.h"

/* When cycle n is due: a cycle is 66 ms, or 67 twice in three. */
#define CYCLE_MS(n) ((uint64_t)(n) * 1000 / NODES_HZ)

struct waiting {
	uv_timer_t timer;
	struct nodes_session *session;
	struct mono begun;
	uint64_t cycles;
	int64_t timeout_ms;
};

static void
start_timer(struct waiting *w, int64_t now, uv_timer_cb cb)
{
	int64_t due = (int64_t)CYCLE_MS(w->cycles);

	if (due > w->timeout_ms && now < w->timeout_ms)
		due = w->timeout_ms;
	uv_timer_start(&w->timer, cb, due > now ? (uint64_t)(due - now) : 0,
	    0);
}

static void
on_timer(uv_timer_t *timer)
{
	struct waiting *w = timer->data;
	int64_t now = mono_ms_since(w->begun);

	/* A wait that is shorter than a cycle makes one, too. */
	if (now >= (int64_t)CYCLE_MS(w->cycles) ||
	    (now >= w->timeout_ms && w->cycles == 1)) {
		if (w->session != NULL)
			nodes_session_cycle(w->session);
		while ((int64_t)CYCLE_MS(w->cycles) <= now)
			w->cycles++;
	}
	start_timer(w, now, on_timer);
}

static void
on_closed(uv_handle_t *handle)
{
	handle->data = NULL;
}

bool
pump(uv_loop_t *loop, struct nodes_session *session, int timeout_ms,
    pump_done_cb done, void *arg)
{
	struct waiting w = { .session = session, .begun = mono_now(),
		.cycles = 1, .timeout_ms = timeout_ms };
	bool is_done;

	uv_timer_init(loop, &w.timer);
	w.timer.data = &w;
	uv_update_time(loop);
	start_timer(&w, 0, on_timer);
	while (!(is_done = done != NULL && done(arg)) &&
	    mono_ms_since(w.begun) < timeout_ms)
		uv_run(loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&w.timer, on_closed);
	while (w.timer.data != NULL)
		uv_run(loop, UV_RUN_NOWAIT);
	return is_done;
}

static bool
is_gone(const struct nodes_look *look)
{
	return !look->link.up && !look->link.returns;
}

static bool
is_settled(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	if (look->arming.pending && look->link.up)
		return false;
	if (nodes_has_list(look->state))
		return look->settled;
	if (look->state == NODES_UNREACHABLE)
		return is_gone(look);
	return look->state != NODES_CONNECTING;
}

bool
pump_settled(uv_loop_t *loop, struct nodes_session *session, int timeout_ms)
{
	return pump(loop, session, timeout_ms, is_settled, session);
}

static bool
no_name_is_pending(void *arg)
{
	return nodes_session_symbols_pending(arg) == 0 ||
	    is_gone(nodes_session_look(arg));
}

bool
pump_names(uv_loop_t *loop, struct nodes_session *s, int timeout_ms)
{
	return pump(loop, s, timeout_ms, no_name_is_pending, s);
}

struct question {
	const struct nodes_look *look;
	uint64_t told_no;		/* the answer before it */
};

static bool
is_told(void *arg)
{
	const struct question *q = arg;

	return q->look->keeper_no != q->told_no || !q->look->link.up;
}

bool
pump_counters(uv_loop_t *loop, struct nodes_session *s, int timeout_ms)
{
	struct question q = { .look = nodes_session_look(s) };

	q.told_no = q.look->keeper_no;
	nodes_session_ask(s);
	pump(loop, s, timeout_ms, is_told, &q);
	return q.look->keeper_no != q.told_no;
}

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int sig)
{
	interrupted = sig;
}

void
pump_catch(int sig, bool once)
{
	struct sigaction sa = { .sa_handler = on_interrupt,
		.sa_flags = once ? (int)SA_RESETHAND : 0 }, old;

	if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(sig, &sa, NULL);
}

bool
pump_is_interrupted(void)
{
	return interrupted != 0;
}

void
pump_down(uv_loop_t *loop, struct nodes_session *session,
    struct nodes_link *link)
{
	nodes_session_close(session);
	nodes_link_close(link);
	while (uv_run(loop, UV_RUN_DEFAULT) != 0)
		continue;
}

void
pace_begin(struct pace *p, const struct options *o)
{
	*p = (struct pace){ .o = o, .begun = mono_now() };
}

/* Time until the next one is due; missed ones are skipped. */
static int64_t
left_ms(struct pace *p)
{
	int64_t left;

	do
		p->due_ms += p->o->repeat.interval_ms;
	while ((left = p->due_ms - mono_ms_since(p->begun)) <= 0);
	return left;
}

bool
pace_wait(struct pace *p, uv_loop_t *loop, struct nodes_session *s,
    pump_done_cb done, void *arg)
{
	int duration_ms = p->o->repeat.duration_ms;
	int64_t left;

	if (p->n == p->o->repeat.count && p->n > 0)
		return false;
	left = left_ms(p);
	if (duration_ms == 0 || p->due_ms <= duration_ms) {
		pump(loop, s, (int)left, done, arg);
		return true;
	}
	left = duration_ms - mono_ms_since(p->begun);
	return left > 0 && pump(loop, s, (int)left, done, arg);
}
