/*
 * terminal: takes a terminal over and gives it back as it was.
 *
 * Vocabulary
 *	signals	what signals have requested since the last look.  Handlers only
 *		set flags and wake the loop.
 *	restore	the bytes that undo what curses did.  They are made in advance,
 *		for signal handlers.
 *	frame	the output of curses for one picture, written in one piece.
 *
 * terminal_close() restores the terminal when the page ends by a key or a signal.
 * After a crash, the signal's handler does.  If a write to the terminal hangs, an
 * alarm does, two seconds after the signal that asked the page to end.
 *
 * There is one terminal at a time: its state is static, for the signal
 * handlers.
 */
#ifndef PAGEK_TERMINAL_H
#define PAGEK_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../page/page.h"

struct terminal_signals {
	int end;		/* signal that ends the page; 0: none */
	bool resized;
	bool stop;		/* ^Z */
	bool resumed;		/* continued after SIGSTOP */
};

/* As page_screen_run(); writes nothing. */
int terminal_check(void);

/*
 * After terminal_check().  Signal handlers call `wake`, which must be
 * async-signal-safe.
 */
int terminal_open(void (*wake)(void));
void terminal_close(void);

/* Clears them, except `end`. */
void terminal_take_signals(struct terminal_signals *);

/* Restores the terminal, stops, and takes the terminal again when continued. */
void terminal_stop(void);
/* Takes the terminal again after another program has changed it. */
void terminal_retake(void);
/*
 * Gives the terminal to another program of this job, until
 * terminal_take_back().  Meanwhile, ^C and ^\ are for that program, and only
 * signals may be handled.
 */
void terminal_lend(void);
void terminal_take_back(void);
void terminal_mouse(bool);
/*
 * terminal_copies() returns whether the terminal is known to take OSC 52, which
 * sets its clipboard.  terminal_copy() sends the text, plain ASCII, at most
 * TERMINAL_COPY_MAX bytes of it; not inside a frame.
 */
#define TERMINAL_COPY_MAX 64
bool terminal_copies(void);
void terminal_copy(const char *text);
void terminal_resize(void);

bool terminal_colors(enum page_color);

/*
 * Curses calls write() after each move of its cursor, so that a picture reaches a
 * remote terminal in parts.  Inside a frame, a file in memory takes the place of
 * standard output; terminal_frame_end() writes it to the terminal.
 *
 * Nothing is buffered without a descriptor, memory or a sufficient RLIMIT_FSIZE,
 * nor in the first picture after endwin(), when curses sets modes.
 */
void terminal_frame_open(void);
void terminal_frame_close(void);

/* The terminal's descriptor, inside a frame too; async-signal-safe. */
int terminal_fd(void);

/*
 * Inside a frame, curses may only refresh and move its cursor, and no thread may
 * write to standard output or start a program.  False: the number of bytes
 * written is not known.
 */
void terminal_frame_begin(void);
bool terminal_frame_end(uint64_t *bytes);

#endif
