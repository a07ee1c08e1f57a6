/*
 * Random keys, resizes and blocks that come and go: the page lives on, and
 * what is on the terminal is what a page painted anew would have there.
 *
 * The app is the real one over a scripted node, painted by curses onto a
 * pseudo terminal that nobody looks at.  A second curses screen is painted
 * from nothing now and then, and compared cell by cell.
 */
#define _XOPEN_SOURCE_EXTENDED 1
#include <curses.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>

#include "../src/pagek/app/app.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/rows/rows.h"
#include "../src/pagek/tui/tui.h"
#include "chance.h"
#include "harness.h"
#include "session_one.h"

#define KEYS 1000
#define COMPARED_EVERY 7
#define COLS_MAX 160
#define ROWS_MAX 60

static struct page page;
static struct page_watch watch;
static struct app app;
static struct paint paint;
static SCREEN *used, *fresh;
static int master;
static FILE *slave;
static char home[] = "/tmp/monkey.XXXXXX";
static int last_keys[16];
static unsigned nkeys;

/* --- chance -------------------------------------------------------------- */

static const int known[] = {
#define GROUP(...)
#define KEY(action, names, bar, rank, help, ...) __VA_ARGS__,
#include "../src/pagek/picture/keys.def"
#undef KEY
#undef GROUP
};

static const char *const commands[] = {
	"sort p", "sort age", "group", "group type", "help", "K", "G", "skip x",
	"noskip x", "target", "back", "node 0590", "nonsense", "",
	"a line that is longer than most terminals are wide, which scrolls",
};

/* A listing could go to a command behind a bar: nobody runs what chance says. */
static int
any_key(void)
{
	int code;

	do {
		switch (any(8)) {
		case 0:
			code = (int)any(0x60) + 0x20;
			break;
		case 1:
			code = PAGE_KEY_UP + (int)any(PAGE_KEY_F_LAST -
			    PAGE_KEY_UP + 1);
			break;
		case 2:
			code = (int)any(2) == 0 ? (int)any(32) :
			    (int)any(0x11ffff);
			break;
		case 3:
			code = PAGE_CTRL('[');
			break;
		default:
			code = known[any(BASE_NELEM(known))];
		}
	} while (code == '|' || code == PAGE_KEY_NONE);
	return code;
}

/* --- clocks --------------------------------------------------------------- */

static int64_t ahead_ns;

/* Replaces libc's: idle cycles take no real time. */
int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	int64_t ns;

	if (syscall(SYS_clock_gettime, clock, ts) < 0)
		return -1;
	if (clock != CLOCK_MONOTONIC)
		return 0;
	ns = ts->tv_sec * INT64_C(1000000000) + ts->tv_nsec + ahead_ns;
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return 0;
}

/* Of the node and of ours. */
static void
pass(int64_t ms)
{
	ahead_ns += ms * 1000000;
	peer.passed_ms += ms;
}

/* --- the screen ----------------------------------------------------------- */

static uint64_t written;		/* bytes that the terminal was sent */

static void
drain(void)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(master, bytes, sizeof bytes)) > 0)
		written += (uint64_t)n;
}

static SCREEN *
new_screen(void)
{
	SCREEN *s = newterm(NULL, slave, slave);

	ck_assert_ptr_nonnull(s);
	cbreak();
	noecho();
	return s;
}

/* The terminal is drained whenever curses has written. */
static void
paint_now(struct paint *p, SCREEN *on)
{
	set_term(on);
	app.cols = COLS;
	app.rows = LINES;
	if (app.requests.repaint) {
		app.requests.repaint = false;
		paint_repaint(p);
	}
	paint_app(p, &app);
	app_request_blocks(&app);
	drain();
}

static void
set_size(int cols, int rows)
{
	set_term(fresh);
	resizeterm(rows, cols);
	set_term(used);
	resizeterm(rows, cols);
}

struct cells {
	int cols, rows;
	cchar_t at[ROWS_MAX][COLS_MAX];
};

static struct cells is, want;

static void
take_cells(SCREEN *on, struct cells *out)
{
	int y, x;

	set_term(on);
	memset(out, 0, sizeof *out);
	out->cols = COLS;
	out->rows = LINES;
	for (y = 0; y < LINES; y++)
		for (x = 0; x < COLS; x++)
			mvwin_wch(curscr, y, x, &out->at[y][x]);
}

static bool
same_cell(const cchar_t *a, const cchar_t *b)
{
	wchar_t was[CCHARW_MAX + 1] = L"", now[CCHARW_MAX + 1] = L"";
	attr_t at, bt;
	short ap, bp;

	getcchar(a, was, &at, &ap, NULL);
	getcchar(b, now, &bt, &bp, NULL);
	return wcscmp(was, now) == 0 && at == bt && ap == bp;
}

static bool
same_cells(int *row, int *col)
{
	for (*row = 0; *row < is.rows; ++*row)
		for (*col = 0; *col < is.cols; ++*col)
			if (!same_cell(&is.at[*row][*col],
			    &want.at[*row][*col]))
				return false;
	return is.cols == want.cols && is.rows == want.rows;
}

static void
row_text(const struct cells *c, int row, char out[COLS_MAX + 1])
{
	wchar_t wide[CCHARW_MAX + 1] = L"";
	attr_t attr;
	short pair;
	int x;

	for (x = 0; x < c->cols; x++) {
		getcchar(&c->at[row][x], wide, &attr, &pair, NULL);
		out[x] = wide[0] < 0x80 && wide[0] >= ' ' ? (char)wide[0] :
		    '?';
	}
	out[x] = '\0';
}

/* A second may have begun between the two: a stale cell stays so. */
static void
assert_no_cell_is_stale(void)
{
	struct paint anew = { 0 };
	char a[COLS_MAX + 1] = "", b[COLS_MAX + 1] = "";
	int tries, row = 0, col = 0;

	for (tries = 0; tries < 4; tries++) {
		paint_now(&paint, used);
		take_cells(used, &is);
		set_term(fresh);
		paint_colors(&anew, &page.opts);
		erase();
		paint_now(&anew, fresh);
		take_cells(fresh, &want);
		paint_fini(&anew);
		if (same_cells(&row, &col)) {
			set_term(used);
			return;
		}
	}
	row_text(&is, row, a);
	row_text(&want, row, b);
	ck_abort_msg("key %u (%#x), %dx%d, overlay %d, mode %d: row %d, "
	    "column %d\n is   %s\n want %s", nkeys, last_keys[nkeys % 16],
	    is.cols, is.rows, app_panel_top(&app), app.mode, row, col, a, b);
}

/* --- a page --------------------------------------------------------------- */

static void
set_home(void)
{
	static const char *const vars[] = { "HOME", "XDG_CONFIG_HOME",
		"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_DIRS" };
	size_t i;

	ck_assert_ptr_nonnull(mkdtemp(home));
	for (i = 0; i < BASE_NELEM(vars); i++)
		setenv(vars[i], home, 1);
	unsetenv("PAGEK_CONFIG");
	unsetenv("PAGEK_TARGET");
	setenv("PAGER", "true", 1);
	ck_assert_int_eq(chdir(home), 0);
}

static void
setup(void)
{
	struct page_opts opts = { .listing = "", .fps = 15,
		.color = PAGE_COLOR_ALWAYS };
	uint64_t i;

	setlocale(LC_ALL, "C.UTF-8");
	setenv("TERM", "xterm-256color", 1);
	setenv("TZ", "UTC", 1);
	set_home();
	one_up();
	for (i = 0; i < 200; i++)
		model_alloc(&model, 0x7f3c04000000 + i * 0x100, 16 + i * 3);
	one_open(&plain, 3);

	master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	ck_assert_int_ge(master, 0);
	ck_assert_int_eq(grantpt(master), 0);
	ck_assert_int_eq(unlockpt(master), 0);
	slave = fopen(ptsname(master), "r+");
	ck_assert_ptr_nonnull(slave);
	/* What fits is written before anybody reads. */
	setvbuf(slave, NULL, _IOFBF, 1 << 16);
	use_env(FALSE);
	fresh = new_screen();
	used = new_screen();

	page_init(&page, &opts);
	page.medium = PAGE_SCREEN;
	watch = (struct page_watch){ .session = session, .link = peer.link,
		.keep_open = true };
	ck_assert_int_eq(app_init(&app, &page, &watch, &peer.loop), 0);
	paint_colors(&paint, &page.opts);
	set_size(80, 24);
}

static void
teardown(void)
{
	char command[64];

	app_fini(&app);
	page_fini(&page);
	paint_fini(&paint);
	one_down();
	snprintf(command, sizeof command, "rm -rf %s", home);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

/* Whatever asks to leave is not heeded. */
static void
cycle(void)
{
	nodes_session_cycle(app.session);
	peer_serve(&peer);
	app_tick(&app);
	app.over = app.requests.suspend = false;
	if (app.jobs.terminal == JOBS_TERMINAL_WANTED)
		app.jobs.terminal = JOBS_TERMINAL_FREE;
}

/* What the screen does between keys. */
static void
a_cycle(void)
{
	static uint64_t next;
	unsigned i;

	for (i = any(4); i > 0 && model.n + 1 < MODEL_RECORDS; i--)
		if (any(2) == 0)
			model_alloc(&model, 0x7f3c05000000 + next++ * 0x40,
			    any(5000));
		else
			model_release(&model, 0x7f3c04000000 +
			    any(200) * 0x100);
	cycle();
}

/* Cycles without a key: ages and clocks advance. */
static void
pass_idle_cycles(void)
{
	unsigned i;

	for (i = any(30); i > 0; i--) {
		pass(any(10) == 0 ? any(1500) : 66);
		cycle();
		paint_now(&paint, used);
	}
}

/* Anywhere, the cells beyond the screen too. */
static void
click(void)
{
	set_term(used);
	app_mouse(&app, (enum app_mouse)any(3), (int)any(ROWS_MAX + 2),
	    (int)any(COLS_MAX + 2));
	app.over = app.requests.suspend = false;
}

static void
press(int code)
{
	last_keys[++nkeys % 16] = code;
	set_term(used);
	app_key(&app, code);
	app.over = app.requests.suspend = false;
}

static void
type(const char *text)
{
	for (; *text != '\0'; text++)
		press(*text);
}

static void
type_command(void)
{
	const char *c = commands[any(BASE_NELEM(commands))];

	press(':');
	type(c);
	press('\r');
}

CASE("keys", .setup = setup, .teardown = teardown, .seconds = 120);

LOOP_TEST(no_key_ends_the_page_or_leaves_a_stale_cell, 0, check_rounds(10))
{
	unsigned i;

	chance_begin(_i);
	for (i = 0; i < KEYS; i++) {
		if (any(40) == 0)
			set_size(1 + (int)any(COLS_MAX), 1 +
			    (int)any(ROWS_MAX));
		if (any(50) == 0)
			type_command();
		else if (any(20) == 0)
			click();
		else
			press(any_key());
		if (any(3) == 0)
			a_cycle();
		paint_now(&paint, used);
		if (any(20) == 0)
			pass_idle_cycles();
		if (i % COMPARED_EVERY == 0)
			assert_no_cell_is_stale();
	}
	assert_no_cell_is_stale();
}

/* Every key of the table, on every page and overlay, at every kind of size. */
LOOP_TEST(every_key_is_borne_wherever_it_is_pressed, 0, 5)
{
	static const int sizes[][2] = { { 80, 24 }, { 124, 30 }, { 40, 10 },
		{ 20, 5 }, { 1, 1 } };
	static const int opens[] = { PAGE_CTRL('['), '\r', '?', 'i', '6', 'b',
		':', '\t' };
	size_t k, o;

	set_size(sizes[_i][0], sizes[_i][1]);
	for (o = 0; o < BASE_NELEM(opens); o++)
		for (k = 0; k < BASE_NELEM(known); k++) {
			if (known[k] == PAGE_KEY_NONE)
				continue;
			press(PAGE_CTRL('['));
			press(PAGE_CTRL('['));
			press(PAGE_CTRL('['));
			press(opens[o]);
			paint_now(&paint, used);
			press(known[k]);
			a_cycle();
			paint_now(&paint, used);
		}
	assert_no_cell_is_stale();
}

/* The row that is clicked is the one under the cursor. */
TEST(a_click_does_what_stands_there)
{
	const struct page_spots *spots = &page.found.spots;

	set_size(80, 24);
	a_cycle();
	paint_now(&paint, used);
	app_mouse(&app, APP_MOUSE_CLICK, spots->first + 3, 5);
	ck_assert(page.cursor.on);
	ck_assert_uint_eq(page.cursor.at, page.offs + 3);
	paint_now(&paint, used);
	app_mouse(&app, APP_MOUSE_DOWN, spots->first, 5);
	ck_assert_uint_eq(page.cursor.at, page.offs + 6);
	app_mouse(&app, APP_MOUSE_UP, spots->first, 5);
	ck_assert_uint_eq(page.cursor.at, page.offs + 3);
	app_mouse(&app, APP_MOUSE_CLICK, spots->heading, 5);
	ck_assert_int_eq(page_list_order(&page.opts), BLKLIST_BY_ADDRESS);
	ck_assert(!page_list_reverse(&page.opts));
	app_mouse(&app, APP_MOUSE_CLICK, spots->heading, 5);
	ck_assert_int_eq(page_list_order(&page.opts), BLKLIST_BY_ADDRESS);
	ck_assert(page_list_reverse(&page.opts));
	/* Help is the first of the bar, once nothing is said in its place. */
	page.message[0] = '\0';
	app_mouse(&app, APP_MOUSE_CLICK, spots->bar, 0);
	ck_assert_int_eq(app_panel_top(&app), APP_HELP);
	press(PAGE_CTRL('['));
	app_mouse(&app, APP_MOUSE_CLICK, spots->bar, 1000);
	ck_assert_int_eq(app_panel_top(&app), APP_PAGE_K);
	paint_now(&paint, used);
	/* Once is the cursor, twice is Enter. */
	app_mouse(&app, APP_MOUSE_CLICK, spots->first, 5);
	ck_assert_int_eq(app_panel_top(&app), APP_PAGE_K);
	app_mouse(&app, APP_MOUSE_CLICK, spots->first, 5);
	ck_assert_int_eq(app_panel_top(&app), APP_DETAIL);
}

/* Blocks that the node sees allocated now. */
static void
renew_blocks(void)
{
	uint64_t i;

	for (i = 0; i < 200; i++) {
		struct rec r = make_rec(REC_ALLOC, 1, TYPE_MALLOC,
		    0x7f3c04000000 + i * 0x100, 16 + i * 3);

		r.w[2] = rec_w2((uint32_t)model.n, PEER_MS);
		model_release(&model, 0x7f3c04000000 + i * 0x100);
		model_write(&model, &r);
	}
}

/* Cycles for so long without a key or an event: bytes that the terminal gets. */
static uint64_t
idle(unsigned seconds)
{
	unsigned i;

	written = 0;
	for (i = 0; i < seconds * NODES_HZ; i++) {
		pass(1000 / NODES_HZ + (i % 3 != 0));
		cycle();
		paint_now(&paint, used);
	}
	return written;
}

/* Seconds of age are shown for a minute, and then tens of them. */
TEST(an_idle_target_costs_the_terminal_less_than_100_bytes_a_second)
{
	set_size(120, 40);
	renew_blocks();
	idle(5);
	ck_assert_uint_gt(idle(20), 20 * 100);
	idle(45);
	ck_assert_uint_lt(idle(20), 20 * 100);
	ck_assert_uint_ge(written, 20);
}
