/*
 * The event loop of the page.  The terminal, signals, the timer of cycles and the
 * link wake it.  Callbacks change state and set `dirty`; before_sleep() paints if
 * the state is dirty and a paint is due.  After a key a paint is always due.
 *
 * Cycle n is due at start + n / NODES_HZ seconds.  The timer is set again for
 * each cycle, so that rounding to milliseconds does not add up.  A cycle that is
 * missed is counted and skipped.
 */
#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../app/app.h"
#include "terminal.h"
#include "tui.h"

#define SECOND_NS UINT64_C(1000000000)
#define KEYS_A_TURN 4096
#define PRESSED (-2)		/* beside the results of get_wch(): an enum page_key */
#define SLACK_NS 5000000	/* a paint may be so much early */

/*
 * Limits the bytes sent to a remote terminal.  Pictures that change every row
 * cannot be read at 15 Hz: they use up the allowance within a second, and then
 * come only as often as it is refilled.
 */
#define BYTES_A_SECOND 6000	/* as paint.c estimates them, which is low */
#define ALLOWANCE 7000

/*
 * After a picture that took t, nothing is painted for PAINT_REST * t, except after a
 * key: sorting the list for each picture delays the rest of the list.
 */
#define PAINT_REST 4

struct screen {
	struct app app;
	uv_loop_t *loop;
	uv_timer_t cycle;
	uv_timer_t late;		/* for a paint that is not due yet */
	uv_async_t wake;
	uv_poll_t input;
	uv_prepare_t prepare;
	int epoll;			/* see watch_input() */
	int open;			/* handles */
	bool dirty;
	bool urgent;			/* paint whatever the rate */
	bool mouse;
	bool lent;			/* to a pager */
	bool news;			/* replies came since the last cycle */
	uint64_t start, n;		/* ns of the first cycle; number of the next */
	uint64_t cycled, painted;	/* ns of the last cycle and picture */
	int64_t allowance;		/* bytes; below 0: wait for it */
	uint64_t hz_from;		/* ns: cycles are counted from here */
	unsigned hz_cycles;
	uint64_t waited;		/* idle time of the loop when the cycle began */
	uint64_t took_ns;		/* the last picture */
	uint64_t drawn_us;		/* this cycle's pictures */
	bool painted_now;		/* in this cycle */
	struct paint paint;
};

static struct screen *running;

static void on_input(uv_poll_t *, int status, int events);

static void
paint_screen(struct screen *s)
{
	struct mono start = mono_now();
	struct app *app = &s->app;

	if (s->mouse != app->page->opts.mouse) {
		s->mouse = app->page->opts.mouse;
		terminal_mouse(s->mouse);
	}
	if (app->clip.text[0] != '\0') {
		terminal_copy(app->clip.text);
		app->clip.text[0] = '\0';
	}
	if (app->requests.restyle) {
		app->requests.restyle = false;
		paint_colors(&s->paint, &app->page->opts);
	}
	if (app->requests.repaint) {
		app->requests.repaint = false;
		paint_repaint(&s->paint);
	}
	app->cols = COLS;
	app->rows = LINES;
	paint_app(&s->paint, app);
	app_request_blocks(app);
	s->took_ns = (uint64_t)mono_diff_ns(mono_now(), start);
	app->page->numbers.drawn_us = s->took_ns / 1000;
	s->drawn_us += app->page->numbers.drawn_us;
	s->painted_now = true;
	app->page->numbers.drawn_bytes += s->paint.sent;
}

static uint64_t
paint_due(const struct screen *s)
{
	uint64_t due = s->painted +
	    SECOND_NS / (uint64_t)s->app.page->opts.fps - SLACK_NS;
	uint64_t paid = s->painted;
	uint64_t rested = s->painted + PAINT_REST * s->took_ns;

	if (s->allowance < 0)
		paid += (uint64_t)-s->allowance * SECOND_NS / BYTES_A_SECOND;
	if (paid < rested)
		paid = rested;
	return paid > due ? paid : due;
}

static void
use_allowance(struct screen *s, uint64_t now)
{
	uint64_t since = now - s->painted;

	s->allowance += since < SECOND_NS ?
	    (int64_t)(since * BYTES_A_SECOND / SECOND_NS) : ALLOWANCE;
	if (s->allowance > ALLOWANCE)
		s->allowance = ALLOWANCE;
	s->painted = now;
	paint_screen(s);
	s->allowance -= s->paint.cost;
	/* Many keys must not delay later pictures by more than that. */
	if (s->allowance < -ALLOWANCE / 4)
		s->allowance = -ALLOWANCE / 4;
}

static void
lend_or_take_back(struct screen *s)
{
	if (s->app.jobs.terminal == JOBS_TERMINAL_WANTED && !s->app.over) {
		uv_poll_stop(&s->input);
		terminal_lend();
		s->lent = true;
		s->app.jobs.terminal = JOBS_TERMINAL_LENT;
		jobs_lent(&s->app.jobs);
	}
	if (!s->lent || s->app.jobs.terminal != JOBS_TERMINAL_FREE)
		return;
	s->lent = false;
	terminal_take_back();
	uv_poll_start(&s->input, UV_READABLE, on_input);
	s->paint.repaint = s->urgent = true;
}

static void
on_late(uv_timer_t *timer)
{
	(void)timer;
}

static void
before_sleep(uv_prepare_t *prepare)
{
	struct screen *s = prepare->data;
	struct page *page = s->app.page;
	uint64_t now = uv_hrtime(), due;

	lend_or_take_back(s);
	if (s->lent)
		return;
	if (page->news) {
		page->news = false;
		s->news = s->dirty = true;
		/* Show what the user is waiting for at once. */
		if (page->found.rows_missing || (page->state.known &&
		    page->state.is == NODES_CONNECTING &&
		    nodes_session_look(s->app.session)->settled))
			s->urgent = true;
	}
	if (s->app.over || (!s->dirty && !s->urgent))
		return;
	due = paint_due(s);
	if (!s->urgent && now < due) {
		uv_timer_start(&s->late, on_late, (due - now) / 1000000 + 1,
		    0);
		return;
	}
	s->dirty = s->urgent = false;
	use_allowance(s, now);
}

static void on_cycle(uv_timer_t *);

/* Cycles during the stop do not count as missed. */
static void
after_stop(struct screen *s, uint64_t stopped)
{
	uint64_t now = uv_hrtime(), ms = (now - stopped) / 1000000;

	s->start = s->cycled = now;
	s->waited = uv_metrics_idle_time(s->loop);
	s->hz_from = 0;
	s->n = 0;
	s->hz_cycles = 0;
	s->urgent = true;
	uv_update_time(s->loop);
	uv_timer_start(&s->cycle, on_cycle, 0, 0);
	app_resumed(&s->app, (int64_t)ms);
}

/* Called by signal handlers; uv_async_send() is async-signal-safe. */
static void
wake_running(void)
{
	uv_async_send(&running->wake);
}

static void
stop_process(struct screen *s)
{
	uint64_t now = uv_hrtime();

	s->app.requests.suspend = false;
	terminal_stop();
	s->paint.repaint = true;
	after_stop(s, now);
}

/* Does what signals have requested; true: the process had been stopped. */
static bool
handle_signals(struct screen *s)
{
	struct terminal_signals caught;
	bool stopped = false;

	terminal_take_signals(&caught);
	if (caught.end == 0 && caught.stop) {
		stop_process(s);
		stopped = true;
		terminal_take_signals(&caught);
	} else if (caught.resumed) {
		terminal_retake();
		s->paint.repaint = true;
		after_stop(s, s->cycled);
		stopped = true;
	}
	if (caught.end != 0) {
		app_quit(&s->app, PAGE_INTERRUPTED, caught.end);
	} else if (caught.resized) {
		terminal_resize();
		s->paint.repaint = s->urgent = true;
	}
	return stopped;
}

static void
on_wake(uv_async_t *wake)
{
	handle_signals(wake->data);
}

static uint64_t
due_at(const struct screen *s, uint64_t n)
{
	return s->start + n * SECOND_NS / NODES_HZ;
}

static void
count_hz(struct screen *s, uint64_t now)
{
	uint64_t ns = now - s->hz_from;

	if (s->hz_from == 0) {
		s->hz_from = now;
		return;
	}
	s->hz_cycles++;
	if (ns < SECOND_NS)
		return;
	s->app.page->numbers.hz = (unsigned)((s->hz_cycles * SECOND_NS +
	    ns / 2) / ns);
	s->hz_from = now;
	s->hz_cycles = 0;
}

static void
count_cost(struct screen *s, uint64_t now)
{
	uint64_t waited = uv_metrics_idle_time(s->loop);
	uint64_t us = (now - s->cycled - (waited - s->waited)) / 1000;
	struct page_costs *c = &s->app.costs;

	cost_add(&c->of[COST_SESSION],
	    nodes_session_look(s->app.session)->work.cycle_us);
	cost_add(&c->of[COST_CYCLE], us);
	if (s->painted_now)
		cost_add(&c->of[COST_PICTURE], s->drawn_us);
	s->drawn_us = 0;
	s->painted_now = false;
	s->waited = waited;
}

static void
on_cycle(uv_timer_t *timer)
{
	struct screen *s = timer->data;
	uint64_t now = uv_hrtime(), due;

	/* libuv runs timers before on_wake(): a stop is no missed cycle. */
	if (handle_signals(s) || s->app.over)
		return;
	s->n++;
	while (due_at(s, s->n) <= now) {
		s->app.page->numbers.missed++;
		s->n++;
	}
	count_hz(s, now);
	nodes_session_cycle(s->app.session);
	count_cost(s, now);
	s->cycled = now;
	app_tick(&s->app);
	/* Without replies, which would set news, ages and clocks still move. */
	if (!s->news)
		s->dirty = true;
	s->news = false;
	uv_update_time(s->loop);
	now = uv_hrtime();
	due = due_at(s, s->n);
	uv_timer_start(timer, on_cycle,
	    due > now ? (due - now + 500000) / 1000000 : 0, 0);
}

static int
key_code(int r, wint_t c)
{
	static const struct {
		int curses;
		int code;
	} table[] = {
		{ KEY_UP, PAGE_KEY_UP },
		{ KEY_DOWN, PAGE_KEY_DOWN },
		{ KEY_LEFT, PAGE_KEY_LEFT },
		{ KEY_RIGHT, PAGE_KEY_RIGHT },
		{ KEY_PPAGE, PAGE_KEY_PGUP },
		{ KEY_NPAGE, PAGE_KEY_PGDN },
		{ KEY_HOME, PAGE_KEY_HOME },
		{ KEY_END, PAGE_KEY_END },
		{ KEY_BACKSPACE, PAGE_KEY_BACKSPACE },
		{ KEY_DC, PAGE_KEY_DELETE },
		{ KEY_IC, PAGE_KEY_INSERT },
		{ KEY_ENTER, PAGE_KEY_ENTER },
		{ KEY_RESIZE, PAGE_KEY_NONE },
	};
	size_t i;

	if (r != KEY_CODE_YES)
		return (int)c;
	if (c > KEY_F0 && c <= KEY_F0 + 63)
		return PAGE_KEY_F0 + (int)(c - KEY_F0);
	for (i = 0; i < BASE_NELEM(table); i++)
		if ((wint_t)table[i].curses == c)
			return table[i].code;
	return PAGE_KEY_OTHER;
}

static void
on_mouse(struct screen *s)
{
	MEVENT e;

	if (getmouse(&e) != OK)
		return;
	if ((e.bstate & BUTTON1_PRESSED) != 0)
		app_mouse(&s->app, APP_MOUSE_CLICK, e.y, e.x);
	else if ((e.bstate & BUTTON4_PRESSED) != 0)
		app_mouse(&s->app, APP_MOUSE_UP, e.y, e.x);
	else if ((e.bstate & BUTTON5_PRESSED) != 0)
		app_mouse(&s->app, APP_MOUSE_DOWN, e.y, e.x);
}

/* The terminal has hung up, and would be readable forever. */
static bool
hung_up(const struct screen *s)
{
	struct epoll_event event;

	return epoll_wait(s->epoll, &event, 1, 0) == 1 &&
	    (event.events & (EPOLLHUP | EPOLLERR)) != 0;
}

static void
press(struct screen *s, int r, wint_t c)
{
	int code;

	s->urgent = true;
	if (r == KEY_CODE_YES && c == KEY_MOUSE) {
		on_mouse(s);
		return;
	}
	code = r == PRESSED ? (int)c : key_code(r, c);
	if (code != PAGE_KEY_NONE)
		app_key(&s->app, code);
	if (s->app.requests.suspend)
		stop_process(s);
}

/*
 * A key that TERM does not define comes as Esc and more characters, which are
 * not keys of their own.  Any other key after Esc is pressed by itself.
 */
static void
press_escape(struct screen *s)
{
	char bytes[PAGE_SEQUENCE_MAX] = "";
	size_t n = 0;
	wint_t c = 0;
	int r;

	while ((r = get_wch(&c)) == OK && n + 1 < sizeof bytes && c < 0x7f) {
		bytes[n++] = (char)c;
		if (!page_key_goes_on(bytes, n))
			break;
	}
	if (n > 1) {
		press(s, PRESSED, (wint_t)page_key_sequence(bytes));
	} else {
		press(s, OK, PAGE_CTRL('['));
		if (n == 1 && !s->app.over)
			press(s, OK, (wint_t)bytes[0]);
	}
	/* The character that ended the sequence is not part of it. */
	if (r != ERR && !s->app.over && (n == 0 || r != OK ||
	    c != (wint_t)bytes[n - 1]))
		press(s, r, c);
}

static void
on_input(uv_poll_t *poll, int status, int events)
{
	struct screen *s = poll->data;
	wint_t c;
	int i, r;

	(void)events;
	if (status < 0 || hung_up(s)) {
		app_quit(&s->app, PAGE_INTERRUPTED, SIGHUP);
		return;
	}
	for (i = 0; i < KEYS_A_TURN && !s->app.over; i++) {
		r = get_wch(&c);
		if (r == ERR)
			break;
		if (r == OK && c == PAGE_CTRL('['))
			press_escape(s);
		else
			press(s, r, c);
	}
}

/*
 * Watches the terminal through an epoll descriptor: libuv would set O_NONBLOCK on
 * the terminal itself, also for the shell that shares it.
 */
static int
watch_input(struct screen *s)
{
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return -errno;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0)
		return -errno;
	r = uv_poll_init(s->loop, &s->input, s->epoll);
	if (r < 0)
		return r;
	s->input.data = s;
	s->open++;
	return uv_poll_start(&s->input, UV_READABLE, on_input);
}

static void
on_closed(uv_handle_t *handle)
{
	struct screen *s = handle->data;

	s->open--;
}

static void
close_handle(uv_handle_t *handle)
{
	/* NULL: it was never opened. */
	if (handle->data != NULL)
		uv_close(handle, on_closed);
}

static void
screen_free(struct screen *s)
{
	running = NULL;
	close_handle((uv_handle_t *)&s->cycle);
	close_handle((uv_handle_t *)&s->late);
	close_handle((uv_handle_t *)&s->prepare);
	close_handle((uv_handle_t *)&s->input);
	close_handle((uv_handle_t *)&s->wake);
	while (s->open > 0)
		uv_run(s->loop, UV_RUN_ONCE);
	if (s->epoll >= 0)
		close(s->epoll);
	paint_fini(&s->paint);
	free(s);
}

static int
open_handles(struct screen *s)
{
	int r;

	r = uv_async_init(s->loop, &s->wake, on_wake);
	if (r < 0)
		return r;
	s->wake.data = s;
	s->open++;
	uv_timer_init(s->loop, &s->cycle);
	uv_timer_init(s->loop, &s->late);
	uv_prepare_init(s->loop, &s->prepare);
	s->cycle.data = s->late.data = s->prepare.data = s;
	s->open += 3;
	uv_prepare_start(&s->prepare, before_sleep);
	return watch_input(s);
}

int
page_screen_check(void)
{
	return terminal_check();
}

int
page_screen_run(uv_loop_t *loop, struct page_watch *watch, struct page *page,
    struct page_result *result)
{
	struct screen *s;
	int r;

	r = terminal_check();
	if (r < 0)
		return r;
	s = calloc(1, sizeof *s);
	if (s == NULL)
		return -ENOMEM;
	s->loop = loop;
	s->epoll = -1;
	uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
	r = app_init(&s->app, page, watch, loop);
	if (r == 0)
		r = open_handles(s);
	if (r < 0)
		goto out;
	running = s;
	r = terminal_open(wake_running);
	if (r < 0)
		goto out;
	paint_colors(&s->paint, &page->opts);
	s->app.clip.available = terminal_copies();
	s->start = s->cycled = uv_hrtime();
	s->urgent = true;
	uv_update_time(loop);
	uv_timer_start(&s->cycle, on_cycle, 0, 0);
	while (!s->app.over)
		uv_run(loop, UV_RUN_ONCE);
	terminal_close();
	*result = s->app.result;
out:
	app_fini(&s->app);
	screen_free(s);
	return r;
}
