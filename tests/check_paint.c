/* Curses on a pty of the test's own: what is drawn, and how it gets there. */
#include <check.h>
#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../src/page/style.h"
#include "../src/pagek/gather.h"
#include "../src/pagek/paint.h"

#define COLS_HERE 60

static int far;			/* the end of whoever reads the terminal */
static int out;			/* standard output as it was */

/* Curses takes the terminal of stdout, which each test has for itself. */
static void
open_terminal(void)
{
	struct winsize size = { .ws_row = 10, .ws_col = COLS_HERE };
	int near;

	setlocale(LC_ALL, "C.UTF-8");
	out = dup(STDOUT_FILENO);
	ck_assert_int_eq(openpty(&far, &near, NULL, NULL, &size), 0);
	dup2(near, STDIN_FILENO);
	dup2(near, STDOUT_FILENO);
	close(near);
	ck_assert_ptr_nonnull(newterm("xterm", stdout, stdin));
	cbreak();
	noecho();
	gather_open();
}

static void
close_terminal(void)
{
	endwin();
	gather_close();
	dup2(out, STDOUT_FILENO);
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

/* --- gathering ------------------------------------------------------------ */

START_TEST(nothing_comes_before_the_picture_is_whole)
{
	char text[4096];
	uint64_t bytes;
	int y;

	gather_begin();
	refresh();
	gather_end();
	read_all(text, sizeof text);
	gather_begin();
	for (y = 0; y < 9; y++)
		mvaddstr(y, 3 * y, "here and there");
	refresh();
	ck_assert(!something_came());
	bytes = gather_end();
	ck_assert_uint_gt(bytes, 9 * strlen("here and there"));
	ck_assert_uint_eq(read_all(text, sizeof text), bytes);
	/* Nothing of it comes again with a smaller one. */
	gather_begin();
	mvaddstr(9, 0, "now");
	refresh();
	bytes = gather_end();
	ck_assert_uint_eq(read_all(text, sizeof text), bytes);
	ck_assert_uint_lt(bytes, 30);
}
END_TEST

/* More than is passed on at once, and than the terminal holds. */
START_TEST(a_reader_that_is_slow_gets_all_of_it)
{
	char text[4096];
	uint64_t bytes, got = 0;
	size_t n;
	pid_t child;
	int i;

	child = fork();
	if (child == 0) {
		alarm(60);
		gather_begin();
		for (i = 0; i < 20000; i++)
			putp("0123456789");
		fflush(stdout);
		bytes = gather_end();
		_exit(bytes == 200000 ? 0 : 1);
	}
	while (got < 200000) {
		n = (size_t)read(far, text, sizeof text);
		ck_assert_uint_le(n, sizeof text);
		got += n;
	}
	ck_assert_uint_eq(got, 200000);
}
END_TEST

START_TEST(a_handler_reaches_the_terminal_meanwhile)
{
	char text[16];

	read_all(text, sizeof text);
	gather_begin();
	ck_assert(isatty(gather_tty()));
	ck_assert_int_eq(write(gather_tty(), "now", 3), 3);
	ck_assert(something_came());
	ck_assert_uint_eq(gather_end(), 0);
}
END_TEST

START_TEST(after_endwin_it_is_the_terminal_that_gets_its_modes)
{
	struct termios modes;

	endwin();
	tcgetattr(STDOUT_FILENO, &modes);
	ck_assert_uint_ne(modes.c_lflag & ECHO, 0);
	gather_begin();
	refresh();
	gather_end();
	tcgetattr(STDOUT_FILENO, &modes);
	ck_assert_uint_eq(modes.c_lflag & ECHO, 0);
}
END_TEST

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
		if (!ascii && draw(8) == 0)
			len += (size_t)sprintf(d->text + len, "\xe2\x96\x85");
		else
			d->text[len++] = (char)('a' + draw(3));
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

	make_text(next, cols < COLS_HERE ? cols : COLS_HERE - 1, draw(3) > 0);
	if (draw(2) == 0) {
		make_marks(next);
		return;
	}
	memcpy(next->span, was->span, sizeof next->span);
	next->line.nspan = was->line.nspan;
	next->line.span = next->span;
}

START_TEST(a_line_over_another_is_as_one_that_is_painted_whole)
{
	struct paint p = { 0 };
	struct drawn d[2] = { 0 };
	cchar_t over[COLS_HERE + 1], whole[COLS_HERE + 1];
	unsigned i, x, now = 0;

	for (i = 0; i < PAGE_MARKS; i++)
		p.style[i] = page_style_usual((enum page_mark)i);
	make_text(&d[0], 20, true);
	make_marks(&d[0]);
	paint_row(&p, 1, NULL, &d[0].line);
	srand(1);
	for (i = 0; i < 20000; i++) {
		now = 1 - now;
		make_next(&d[now], &d[1 - now]);
		paint_row(&p, 1, &d[1 - now].line, &d[now].line);
		paint_row(&p, 2, NULL, &d[now].line);
		mvin_wchnstr(1, 0, over, COLS_HERE);
		mvin_wchnstr(2, 0, whole, COLS_HERE);
		for (x = 0; x < COLS_HERE; x++)
			ck_assert_mem_eq(&over[x], &whole[x], sizeof over[x]);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("paint");
	TCase *t = tcase_create("terminal");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, open_terminal, close_terminal);
	tcase_add_test(t, nothing_comes_before_the_picture_is_whole);
	tcase_add_test(t, a_reader_that_is_slow_gets_all_of_it);
	tcase_add_test(t, a_handler_reaches_the_terminal_meanwhile);
	tcase_add_test(t,
	    after_endwin_it_is_the_terminal_that_gets_its_modes);
	tcase_add_test(t,
	    a_line_over_another_is_as_one_that_is_painted_whole);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
