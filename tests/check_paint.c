/* Curses on a pty of the test's own: what is drawn, and how it gets there. */
#include <curses.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "../src/pagek/picture/picture.h"
#include "../src/pagek/tui/terminal.h"
#include "../src/pagek/tui/tui.h"
#include "harness.h"

#define COLS_HERE 60

static int far;			/* the end of whoever reads the terminal */
static int in, out;		/* as they were */
static SCREEN *screen;

/* Curses takes the terminal of stdout, which each test has for itself. */
static void
open_terminal(void)
{
	struct winsize size = { .ws_row = 10, .ws_col = COLS_HERE };
	int near;

	setlocale(LC_ALL, "C.UTF-8");
	in = dup(STDIN_FILENO);
	out = dup(STDOUT_FILENO);
	ck_assert_int_eq(openpty(&far, &near, NULL, NULL, &size), 0);
	dup2(near, STDIN_FILENO);
	dup2(near, STDOUT_FILENO);
	close(near);
	screen = newterm("xterm", stdout, stdin);
	ck_assert_ptr_nonnull(screen);
	cbreak();
	noecho();
	terminal_frame_open();
}

static void
close_terminal(void)
{
	endwin();
	delscreen(screen);
	terminal_frame_close();
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	close(in);
	close(out);
	close(far);
}

static bool
something_came(void)
{
	struct pollfd p = { .fd = far, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static size_t
read_all(char *text, size_t cap)
{
	size_t len = 0;

	while (len < cap && something_came())
		len += (size_t)read(far, text + len, cap - len);
	return len;
}

/* --- frames ------------------------------------------------------------- */

static uint64_t
show(void)
{
	uint64_t bytes = 0;

	terminal_frame_begin();
	refresh();
	ck_assert(terminal_frame_end(&bytes));
	return bytes;
}

CASE("terminal", .setup = open_terminal, .teardown = close_terminal);

TEST(nothing_comes_before_the_picture_is_whole)
{
	char text[4096];
	uint64_t bytes;
	int y;

	show();
	read_all(text, sizeof text);
	terminal_frame_begin();
	for (y = 0; y < 9; y++)
		mvaddstr(y, 3 * y, "here and there");
	refresh();
	ck_assert(!something_came());
	ck_assert(terminal_frame_end(&bytes));
	ck_assert_uint_gt(bytes, 9 * strlen("here and there"));
	ck_assert_uint_eq(read_all(text, sizeof text), bytes);
	/* Nothing of it comes again with a smaller one. */
	mvaddstr(9, 0, "now");
	bytes = show();
	ck_assert_uint_eq(read_all(text, sizeof text), bytes);
	ck_assert_uint_lt(bytes, 30);
}

static void
write_much(void)
{
	uint64_t bytes = 0;
	int i;

	alarm(60);
	terminal_frame_begin();
	for (i = 0; i < 20000; i++)
		putp("0123456789");
	fflush(stdout);
	_exit(terminal_frame_end(&bytes) && bytes == 200000 ? 0 : 1);
}

/* More than is passed on at once, and than the terminal holds. */
static void
read_much(void)
{
	char text[4096];
	uint64_t got = 0;
	int status;
	pid_t child;

	read_all(text, sizeof text);
	child = fork();
	if (child == 0)
		write_much();
	while (waitpid(child, &status, WNOHANG) == 0 || something_came())
		if (something_came())
			got += (uint64_t)read(far, text, sizeof text);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(got, 200000);
}

TEST(a_reader_that_is_slow_gets_all_of_it)
{
	read_much();
}

TEST(so_does_one_of_a_terminal_that_does_not_wait)
{
	ck_assert_int_eq(fcntl(terminal_fd(), F_SETFL, O_NONBLOCK), 0);
	read_much();
}

TEST(a_handler_reaches_the_terminal_meanwhile)
{
	char text[64];
	uint64_t bytes;

	read_all(text, sizeof text);
	terminal_frame_begin();
	ck_assert(isatty(terminal_fd()));
	ck_assert_int_eq(write(terminal_fd(), "now", 3), 3);
	ck_assert(something_came());
	ck_assert(terminal_frame_end(&bytes));
	ck_assert_uint_eq(bytes, 0);
}

TEST(after_endwin_nothing_of_the_old_picture_comes)
{
	char text[4096] = "";
	struct termios modes;
	uint64_t bytes;

	mvaddstr(3, 3, "old");
	show();
	endwin();
	read_all(text, sizeof text);
	tcgetattr(STDOUT_FILENO, &modes);
	ck_assert_uint_ne(modes.c_lflag & ECHO, 0);
	mvaddstr(3, 3, "new");
	terminal_frame_begin();
	ck_assert(!something_came());
	refresh();
	ck_assert(!terminal_frame_end(&bytes));
	tcgetattr(STDOUT_FILENO, &modes);
	ck_assert_uint_eq(modes.c_lflag & ECHO, 0);
	text[read_all(text, sizeof text - 1)] = '\0';
	ck_assert_ptr_nonnull(strstr(text, "new"));
	ck_assert_ptr_null(strstr(text, "old"));
	/* The next one is as before. */
	mvaddstr(3, 3, "newer");
	show();
}

TEST(where_no_file_may_grow_the_terminal_has_its_pictures)
{
	struct rlimit was, none;
	char text[4096] = "";
	uint64_t bytes;
	bool known;

	getrlimit(RLIMIT_FSIZE, &was);
	none = was;
	none.rlim_cur = 0;
	terminal_frame_close();
	/* No assertion while it holds, for Check writes files. */
	setrlimit(RLIMIT_FSIZE, &none);
	terminal_frame_open();
	mvaddstr(3, 3, "to be seen");
	terminal_frame_begin();
	refresh();
	known = terminal_frame_end(&bytes);
	setrlimit(RLIMIT_FSIZE, &was);
	ck_assert(!known);
	text[read_all(text, sizeof text - 1)] = '\0';
	ck_assert_ptr_nonnull(strstr(text, "to be seen"));
}

/* --- lines ---------------------------------------------------------------- */

static uint32_t
draw(uint32_t below)
{
	return (uint32_t)rand() % below;
}

struct drawn {
	struct page_line line;
	char text[4 * COLS_HERE + 1];
	struct page_span span[3];
};

static void
make_text(struct drawn *d, unsigned cols, bool ascii)
{
	size_t len = 0;

	while (cols-- > 0) {
		if (!ascii && draw(8) == 0) {
			len += (size_t)sprintf(d->text + len, "\xe2\x96\x85");
		} else if (!ascii && cols > 0 && draw(8) == 0) {
			len += (size_t)sprintf(d->text + len, "\xe4\xb8\xad");
			cols--;		/* it takes two */
		} else {
			d->text[len++] = (char)('a' + draw(3));
		}
	}
	d->text[len] = '\0';
	d->line.text = d->text;
}

static void
make_marks(struct drawn *d)
{
	int i;

	d->line.span = d->span;
	d->line.nspan = (int)draw(4);
	for (i = 0; i < d->line.nspan; i++) {
		d->span[i].from = (uint16_t)draw(COLS_HERE - 1);
		d->span[i].to = (uint16_t)(d->span[i].from + 1 +
		    draw((uint32_t)(COLS_HERE - 1 - d->span[i].from)));
		d->span[i].mark = (enum page_mark)draw(PAGE_AGE);
	}
}

/* The next line is often of the same marks, or of the same columns. */
static void
make_next(struct drawn *next, const struct drawn *was)
{
	unsigned cols = draw(2) == 0 ? (unsigned)strlen(was->text) :
	    draw(COLS_HERE);

	make_text(next, cols < COLS_HERE ? cols : COLS_HERE, draw(3) > 0);
	if (draw(2) == 0) {
		make_marks(next);
		return;
	}
	memcpy(next->span, was->span, sizeof next->span);
	next->line.nspan = was->line.nspan;
	next->line.span = next->span;
}

TEST(a_line_over_another_is_as_one_that_is_painted_whole)
{
	struct paint p = { 0 };
	struct drawn d[2] = { 0 };
	cchar_t over[COLS_HERE + 1], whole[COLS_HERE + 1];
	unsigned i, x, now = 0, lines = (unsigned)check_rounds(20000);

	for (i = 0; i < PAGE_MARKS; i++)
		p.style[i] = page_style_usual((enum page_mark)i);
	make_text(&d[0], 20, true);
	make_marks(&d[0]);
	paint_row(&p, 1, NULL, &d[0].line);
	srand((unsigned)check_seed(1));
	for (i = 0; i < lines; i++) {
		now = 1 - now;
		make_next(&d[now], &d[1 - now]);
		if (draw(50) == 0) {
			paint_row(&p, 1, &d[1 - now].line, NULL);
			paint_row(&p, 1, NULL, &d[now].line);
		} else {
			paint_row(&p, 1, &d[1 - now].line, &d[now].line);
		}
		paint_row(&p, 2, NULL, &d[now].line);
		/* Of a wide character it has one cell. */
		memset(over, 0, sizeof over);
		memset(whole, 0, sizeof whole);
		mvin_wchnstr(1, 0, over, COLS_HERE);
		mvin_wchnstr(2, 0, whole, COLS_HERE);
		for (x = 0; x < COLS_HERE; x++)
			ck_assert_mem_eq(&over[x], &whole[x], sizeof over[x]);
	}
}
