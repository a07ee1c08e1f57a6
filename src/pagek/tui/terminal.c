#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include "terminal.h"

/* The last one: it defines a macro for each capability. */
#include <term.h>

#define ESCAPE_DELAY_MS 25
#define STUCK_SECONDS 2
#define PIECE 65536
#define FILE_MIN (UINT64_C(64) * PIECE)	/* no picture is longer */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

static struct termios shell_modes;	/* before terminal_open() */
static char restore[256];
static size_t restore_len;
static char mouse_off[64];
static size_t mouse_off_len;
static volatile sig_atomic_t mouse_on;
static SCREEN *screen;
static bool foreign;		/* curses has given the terminal back */
static volatile sig_atomic_t lent;	/* another program of this job has it */
static void (*wake_loop)(void);

static volatile sig_atomic_t caught_end, caught_resize, caught_stop,
    caught_resume;

static volatile sig_atomic_t tty = STDOUT_FILENO;
static int frame_file = -1;	/* a frame is what lies before its offset */
static bool in_frame;

int
terminal_fd(void)
{
	return tty;
}

/*
 * Curses ignores failed writes.  So the file's memory is taken at once, and there
 * is no file if RLIMIT_FSIZE is too low for a picture.
 */
static int
make_frame_file(void)
{
	struct rlimit limit;
	int fd;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
	    limit.rlim_cur < FILE_MIN)
		return -1;
	fd = memfd_create("pagek-picture", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("pagek-picture", MFD_CLOEXEC);
	if (fd >= 0 && posix_fallocate(fd, 0, PIECE) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void
terminal_frame_open(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd < 0)
		return;
	frame_file = make_frame_file();
	if (frame_file < 0)
		close(fd);
	else
		tty = fd;
}

void
terminal_frame_close(void)
{
	int fd = tty;

	if (frame_file < 0)
		return;
	tty = STDOUT_FILENO;
	close(fd);
	close(frame_file);
	frame_file = -1;
}

static void
replace_stdout(int fd)
{
	while (dup2(fd, STDOUT_FILENO) < 0 && (errno == EINTR ||
	    errno == EBUSY))
		continue;
}

/* Another program may have set O_NONBLOCK on the terminal. */
static bool
write_terminal(const char *bytes, size_t len)
{
	struct pollfd p = { .fd = tty, .events = POLLOUT };
	ssize_t n;

	while (len > 0) {
		n = write(tty, bytes, len);
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			poll(&p, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			return false;
		}
	}
	return true;
}

static bool
write_frame(off_t end)
{
	static char piece[PIECE];
	off_t at = 0;
	size_t len;
	ssize_t n;

	while (at < end) {
		/* Bytes of older pictures may follow. */
		len = end - at < PIECE ? (size_t)(end - at) : PIECE;
		n = pread(frame_file, piece, len, at);
		if (n <= 0 || !write_terminal(piece, (size_t)n))
			return false;
		at += n;
	}
	return true;
}

void
terminal_frame_begin(void)
{
	in_frame = frame_file >= 0 && !isendwin();
	if (!in_frame)
		return;
	lseek(frame_file, 0, SEEK_SET);
	replace_stdout(frame_file);
}

bool
terminal_frame_end(uint64_t *bytes)
{
	off_t end;

	if (!in_frame)
		return false;
	in_frame = false;
	replace_stdout(tty);
	end = lseek(frame_file, 0, SEEK_CUR);
	if (end < 0 || !write_frame(end))
		return false;
	*bytes = (uint64_t)end;
	return true;
}

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
	{ SIGPIPE, IGNORED },	/* of sockets, whose writes return EPIPE */
};

static struct sigaction was[BASE_NELEM(signals)];
static char crash_stack[64 * 1024];

/* A background job must not change the terminal's modes. */
static bool
in_foreground(void)
{
	return tcgetpgrp(terminal_fd()) == getpgrp();
}

/* Async-signal-safe, and never waits for a terminal that takes no output. */
static void
restore_now(void)
{
	int out = terminal_fd(), flags;

	if (foreign)
		return;
	foreign = true;
	flags = fcntl(out, F_GETFL);
	if (flags >= 0)
		fcntl(out, F_SETFL, flags | O_NONBLOCK);
	if (mouse_on && write(out, mouse_off, mouse_off_len) < 0) {
		/* The next write fails too. */
	}
	if (write(out, restore, restore_len) < 0) {
		/* ^S may have stopped it: restart the output. */
		tcflush(out, TCOFLUSH);
		tcflow(out, TCOOFF);
		tcflow(out, TCOON);
		if (write(out, restore, restore_len) < 0) {
			/* No way is left to report it. */
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
		/* The signal reports the crash too. */
	}
	act_by_default(sig);
}

/* The loop has not handled the signal: it hangs in a write. */
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
		/* nohup(1) and shells without job control ignore some signals. */
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
terminal_take_signals(struct terminal_signals *c)
{
	*c = (struct terminal_signals){
		.end = caught_end,
		.resized = caught_resize,
		.stop = caught_stop,
		.resumed = caught_resume,
	};
	caught_resize = caught_stop = caught_resume = 0;
}

int
terminal_check(void)
{
	const char *term = getenv("TERM"), *cup;
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(terminal_fd()))
		return -ENOTTY;
	/* newterm(3) would write to the terminal. */
	if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0 ||
	    setupterm(term, terminal_fd(), &err) != OK)
		return -ENODEV;
	cup = tigetstr("cup");
	del_curterm(cur_term);
	return cup == NULL || cup == (char *)-1 ? -ENODEV : 0;
}

/* Appends a capability without its padding ("$<5>"), which tputs(3) expands. */
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
	/* Report presses at once: curses would wait for a click's release. */
	mouseinterval(0);
	if (on)
		mouse_on = 1;
	mousemask(on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED :
	    0, NULL);
	fflush(stdout);
	if (!on)
		mouse_on = 0;
}

/* tmux takes OSC 52, but its TERM is often "screen", without Ms. */
bool
terminal_copies(void)
{
	const char *set = tigetstr("Ms"), *term = getenv("TERM");

	if (set != NULL && set != (char *)-1)
		return true;
	return getenv("TMUX") != NULL && term != NULL &&
	    strncmp(term, "screen", 6) == 0;
}

static size_t
encode_base64(char *out, const char *text, size_t len)
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

	memcpy(bytes, begin, n);
	n += encode_base64(bytes + n, text, len);
	bytes[n++] = '\a';
	/* An error does no harm: the address is on the screen too. */
	base_write_all(tty, bytes, n);
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
	/* Without an alternate screen, the shell continues below the picture. */
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
	/* CLICOLOR_FORCE is for output that is no terminal. */
	return color == PAGE_COLOR_ALWAYS || no_color == NULL ||
	    no_color[0] == '\0';
}

int
terminal_open(void (*wake)(void))
{
	if (tcgetattr(terminal_fd(), &shell_modes) < 0)
		return -errno;
	remember_signals();
	/* The terminal's size, not that of LINES and COLUMNS. */
	use_tioctl(TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return -ENODEV;
	terminal_frame_open();
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
	if (in_foreground() && !foreign) {
		endwin();
		foreign = true;
	}
	restore_now();
	/* The other program may have ended without restoring the modes. */
	if (lent && in_foreground())
		tcsetattr(terminal_fd(), TCSANOW, &shell_modes);
	delscreen(screen);
	terminal_frame_close();
	lent = 0;
	alarm(0);
	release_signals();
}

void
terminal_retake(void)
{
	if (lent)
		return;
	/* refresh() sets all modes only after an endwin(). */
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
	if (ioctl(terminal_fd(), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
	    size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
}
