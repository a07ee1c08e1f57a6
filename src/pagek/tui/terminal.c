/* See terminal.h. */
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "gather.h"
#include "terminal.h"

/* The last: it takes the word of every capability for itself. */
#include <term.h>

#define ESCAPE_DELAY_MS 25
#define STUCK_SECONDS 2

static struct termios shell_modes;	/* as they were */
static char restore[256];
static size_t restore_len;
static char mouse_off[64];
static size_t mouse_off_len;
static volatile sig_atomic_t mouse_on;
static SCREEN *screen;
static bool foreign;		/* curses has given the terminal back */
static volatile sig_atomic_t lent;	/* ... to another program of this job */
static void (*wake_loop)(void);

static volatile sig_atomic_t caught_end, caught_resize, caught_stop,
    caught_resume;

/* --- signals ------------------------------------------------------------ */

static const struct {
	int sig;
	enum { ENDS, STOPS, RESUMES, RESIZES, CRASHES, ALARM, IGNORED } kind;
} signals[] = {
	{ SIGINT, ENDS },
	{ SIGTERM, ENDS },
	{ SIGHUP, ENDS },
	{ SIGQUIT, ENDS },
	{ SIGTSTP, STOPS },
	{ SIGCONT, RESUMES },
	{ SIGWINCH, RESIZES },
	{ SIGSEGV, CRASHES },
	{ SIGBUS, CRASHES },
	{ SIGFPE, CRASHES },
	{ SIGILL, CRASHES },
	{ SIGABRT, CRASHES },
	{ SIGALRM, ALARM },
	{ SIGPIPE, IGNORED },	/* of sockets: the write says so too */
};

static struct sigaction was[BASE_NELEM(signals)];
static char crash_stack[64 * 1024];

/* Only the job that has the terminal may change its modes. */
static bool
in_foreground(void)
{
	return tcgetpgrp(gather_tty()) == getpgrp();
}

/* Async-signal-safe, and never waits for a terminal that takes no output. */
static void
restore_now(void)
{
	int out = gather_tty(), flags;

	if (foreign)
		return;
	foreign = true;
	flags = fcntl(out, F_GETFL);
	if (flags >= 0)
		fcntl(out, F_SETFL, flags | O_NONBLOCK);
	if (mouse_on && write(out, mouse_off, mouse_off_len) < 0) {
		/* The next one does not get through either. */
	}
	if (write(out, restore, restore_len) < 0) {
		/* Stopped by ^S, most likely: off and on lets it go on. */
		tcflush(out, TCOFLUSH);
		tcflow(out, TCOOFF);
		tcflow(out, TCOON);
		if (write(out, restore, restore_len) < 0) {
			/* There is nobody left to tell. */
		}
	}
	if (flags >= 0)
		fcntl(out, F_SETFL, flags);
	if (in_foreground())
		tcsetattr(out, TCSANOW, &shell_modes);
}

static void
act_by_default(int sig)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigaction(sig, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void
on_crash(int sig)
{
	static const char text[] =
	    "pagek: crashed; the terminal has been restored\n";

	restore_now();
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
		/* The signal says it too. */
	}
	act_by_default(sig);
}

/* The loop has not attended to the signal: it hangs in a write. */
static void
on_alarm(int sig)
{
	(void)sig;
	if (caught_end == 0)
		return;
	restore_now();
	act_by_default(caught_end);
}

static void
on_signal(int sig)
{
	int saved = errno;

	switch (sig) {
	case SIGTSTP:
		caught_stop = 1;
		break;
	case SIGCONT:
		caught_resume = 1;
		break;
	case SIGWINCH:
		caught_resize = 1;
		break;
	case SIGINT:
	case SIGQUIT:
		if (lent)
			return;
		/* FALLTHROUGH */
	default:
		if (caught_end == 0) {
			caught_end = sig;
			alarm(STUCK_SECONDS);
		}
		break;
	}
	wake_loop();
	errno = saved;
}

static void
catch_signals(void)
{
	stack_t stack = { .ss_sp = crash_stack,
		.ss_size = sizeof crash_stack };
	struct sigaction sa;
	size_t i;

	sigaltstack(&stack, NULL);
	for (i = 0; i < BASE_NELEM(signals); i++) {
		sa = (struct sigaction){ .sa_handler = on_signal,
			.sa_flags = SA_RESTART };
		sigemptyset(&sa.sa_mask);
		if (signals[i].kind == CRASHES) {
			sa.sa_handler = on_crash;
			sa.sa_flags = SA_ONSTACK;
		} else if (signals[i].kind == ALARM) {
			sa.sa_handler = on_alarm;
		} else if (signals[i].kind == IGNORED) {
			sa.sa_handler = SIG_IGN;
		}
		/* nohup(1) and shells without job control mean what they set. */
		if ((signals[i].kind == ENDS || signals[i].kind == STOPS) &&
		    was[i].sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i].sig, &sa, NULL);
	}
}

static void
remember_signals(void)
{
	size_t i;

	for (i = 0; i < BASE_NELEM(signals); i++)
		sigaction(signals[i].sig, NULL, &was[i]);
}

static bool
ignored(int sig)
{
	size_t i;

	for (i = 0; i < BASE_NELEM(signals); i++)
		if (signals[i].sig == sig)
			return was[i].sa_handler == SIG_IGN;
	return false;
}

static void
release_signals(void)
{
	stack_t none = { .ss_flags = SS_DISABLE };
	size_t i;

	for (i = 0; i < BASE_NELEM(signals); i++)
		sigaction(signals[i].sig, &was[i], NULL);
	sigaltstack(&none, NULL);
}

void
terminal_take_caught(struct terminal_caught *c)
{
	*c = (struct terminal_caught){
		.end = caught_end,
		.resized = caught_resize,
		.stop = caught_stop,
		.resumed = caught_resume,
	};
	caught_resize = caught_stop = caught_resume = 0;
}

/* --- set-up ------------------------------------------------------------- */

int
terminal_check(void)
{
	const char *term = getenv("TERM"), *cup;
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(gather_tty()))
		return -ENOTTY;
	/* initscr(3) would end the process: ask before it can. */
	if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0 ||
	    setupterm(term, gather_tty(), &err) != OK)
		return -ENODEV;
	cup = tigetstr("cup");
	del_curterm(cur_term);
	return cup == NULL || cup == (char *)-1 ? -ENODEV : 0;
}

/* A capability without its padding, which is for tputs(3) to spell out. */
static void
add_restore(const char *name)
{
	const char *s = tigetstr(name), *end;

	if (s == NULL || s == (char *)-1)
		return;
	while (*s != '\0' && restore_len + 1 < sizeof restore) {
		end = s[0] == '$' && s[1] == '<' ? strchr(s, '>') : NULL;
		if (end != NULL) {
			s = end + 1;
			continue;
		}
		restore[restore_len++] = *s++;
	}
}

/* As curses switches it; a terminal without the capability knows none. */
static void
make_mouse_off(void)
{
	const char *key = tigetstr("kmous"), *mode = tigetstr("XM"), *s = NULL;

	mouse_off_len = 0;
	if (key == NULL || key == (char *)-1)
		return;
	if (mode != NULL && mode != (char *)-1)
		s = tiparm(mode, 0);
	if (s == NULL || strlen(s) > sizeof mouse_off)
		s = "\033[?1000l";
	mouse_off_len = strlen(s);
	memcpy(mouse_off, s, mouse_off_len);
}

void
terminal_mouse(bool on)
{
	if (lent || screen == NULL)
		return;
	/* Presses alone: to wait for clicks would hold every one up. */
	mouseinterval(0);
	if (on)
		mouse_on = 1;
	mousemask(on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED :
	    0, NULL);
	fflush(stdout);
	if (!on)
		mouse_on = 0;
}

/* --- the clipboard -------------------------------------------------------- */

/* By its description; tmux, which takes it, is often called screen. */
bool
terminal_copies(void)
{
	const char *set = tigetstr("Ms"), *term = getenv("TERM");

	if (set != NULL && set != (char *)-1)
		return true;
	return getenv("TMUX") != NULL && term != NULL &&
	    strncmp(term, "screen", 6) == 0;
}

/* Three bytes as four characters of base64. */
static size_t
encode(char *out, const char *text, size_t len)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)(unsigned char)text[i] << 16;

		if (i + 1 < len)
			v |= (uint32_t)(unsigned char)text[i + 1] << 8;
		if (i + 2 < len)
			v |= (unsigned char)text[i + 2];
		out[n++] = digit[v >> 18];
		out[n++] = digit[v >> 12 & 63];
		out[n++] = i + 1 < len ? digit[v >> 6 & 63] : '=';
		out[n++] = i + 2 < len ? digit[v & 63] : '=';
	}
	return n;
}

void
terminal_copy(const char *text)
{
	static const char begin[] = "\033]52;c;";
	char bytes[sizeof begin + 4 * (TERMINAL_COPY_MAX / 3 + 1) + 1];
	size_t len = strnlen(text, TERMINAL_COPY_MAX), n = sizeof begin - 1;

	if (lent || screen == NULL)
		return;
	memcpy(bytes, begin, n);
	n += encode(bytes + n, text, len);
	bytes[n++] = '\a';
	/* What does not get through is no loss: the address is on the screen. */
	base_write_all(gather_tty(), bytes, n);
}

static void
make_restore(void)
{
	const char *rmcup = tigetstr("rmcup");

	restore_len = 0;
	add_restore("sgr0");
	add_restore("op");
	add_restore("rmkx");
	add_restore("cnorm");
	add_restore("rmcup");
	/* Without a screen of our own, the shell goes on below the picture. */
	if ((rmcup == NULL || rmcup == (char *)-1) &&
	    restore_len + 2 < sizeof restore) {
		restore[restore_len++] = '\r';
		restore[restore_len++] = '\n';
	}
}

bool
terminal_colors(enum page_color color)
{
	const char *no_color = getenv("NO_COLOR");

	if (color == PAGE_COLOR_NEVER || !has_colors())
		return false;
	/*
	 * CLICOLOR_FORCE is for output that is no terminal; here there is one,
	 * and it has colours or it has not.
	 */
	return color == PAGE_COLOR_ALWAYS || no_color == NULL ||
	    no_color[0] == '\0';
}

int
terminal_open(void (*wake)(void))
{
	int r = terminal_check();

	if (r < 0)
		return r;
	if (tcgetattr(gather_tty(), &shell_modes) < 0)
		return -errno;
	remember_signals();
	/* The size is the terminal's, not that of an old environment. */
	use_tioctl(TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return -ENODEV;
	gather_open();
	foreign = false;
	wake_loop = wake;
	caught_end = caught_resize = caught_stop = caught_resume = 0;
	make_restore();
	make_mouse_off();
	mouse_on = 0;
	catch_signals();
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	typeahead(-1);
	leaveok(stdscr, FALSE);
	curs_set(0);
	return 0;
}

void
terminal_close(void)
{
	if (screen == NULL)
		return;
	/* A stopped or background job must not fight for the modes. */
	if (in_foreground() && !foreign) {
		endwin();
		foreign = true;
	}
	restore_now();
	/* Whoever has it may be gone without having set its modes back. */
	if (lent && in_foreground())
		tcsetattr(gather_tty(), TCSANOW, &shell_modes);
	delscreen(screen);
	screen = NULL;
	gather_close();
	lent = 0;
	alarm(0);
	release_signals();
}

void
terminal_retake(void)
{
	if (lent)
		return;
	/* endwin() first: only after it does refresh() set all modes again. */
	if (!isendwin())
		endwin();
	foreign = false;
	terminal_resize();
	clearok(curscr, TRUE);
	curs_set(0);
}

void
terminal_stop(void)
{
	if (ignored(SIGTSTP))
		return;
	if (!lent)
		endwin();
	foreign = true;
	act_by_default(SIGTSTP);
	/* Here we are again, continued. */
	catch_signals();
	caught_stop = caught_resume = 0;
	if (caught_end == 0)
		terminal_retake();
}

void
terminal_lend(void)
{
	endwin();
	foreign = true;
	lent = 1;
}

void
terminal_take_back(void)
{
	lent = 0;
	terminal_retake();
}

void
terminal_resize(void)
{
	struct winsize size;

	if (lent)
		return;

	if (ioctl(gather_tty(), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
	    size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
}
