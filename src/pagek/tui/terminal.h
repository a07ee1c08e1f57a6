/*
 * terminal: taking a terminal over and giving it back as it was, whatever
 * happens.
 *
 * Vocabulary
 *	caught	what signals have asked for since last looked at; handlers only
 *		note it and wake the loop.
 *	restore	the bytes that undo what curses did, made while there is time,
 *		for the handlers that have none.
 *
 * Ways out, and who restores: a key or a signal that ends the page,
 * terminal_close(); a crash, the handler of the signal, which then lets it
 * act; a terminal that takes no output any more, an alarm two seconds after a
 * signal that nobody could attend to.
 *
 * One terminal at a time: signals have no other place to tell than static
 * variables.
 */
#ifndef PAGEK_TERMINAL_H
#define PAGEK_TERMINAL_H

#include <stdbool.h>

#include "../page/page.h"


struct terminal_caught {
	int end;		/* signal that ends the page; 0 none */
	bool resized;
	bool stop;		/* ^Z */
	bool resumed;		/* was stopped by a signal nobody catches */
};

/* 0, -ENOTTY or -ENODEV as page_screen_run() says; writes nothing. */
int terminal_check(void);

/* `wake` is called by signal handlers, and must be fit for that. */
int terminal_open(void (*wake)(void));
/* Gives terminal and signals back; a signal may still be re-raised then. */
void terminal_close(void);

void terminal_take_caught(struct terminal_caught *);

/* Gives the terminal back, stops, and takes it again when continued. */
void terminal_stop(void);
/* Takes it again after somebody else has written on it. */
void terminal_retake(void);
/*
 * Gives it to another program of this job: ^C and ^\ are for that one, and
 * what is asked of the terminal has to wait until it is taken back.
 */
void terminal_lend(void);
void terminal_take_back(void);
/*
 * Clicks come as KEY_MOUSE from now on, or no longer; on all ways out it is as
 * it was.
 */
void terminal_mouse(bool);
/*
 * Whether the terminal is known to take OSC 52, which sets the clipboard of the
 * machine that it is on, be that far away; and the text sent by it: plain ASCII,
 * TERMINAL_COPY_MAX bytes of it at most.  Between two paints.
 */
#define TERMINAL_COPY_MAX 64
bool terminal_copies(void);
void terminal_copy(const char *text);
/* The size may have changed. */
void terminal_resize(void);

/* Whether this terminal is to have colours. */
bool terminal_colors(enum page_color);

#endif
