/*
 * gather: what curses writes for a picture, in one piece.
 *
 * Curses hands over what it has after each move of its cursor.  For a list in
 * motion that is half a hundred writes a picture: system calls here, a reader
 * that is woken for each of them, on a far terminal perhaps as many packets,
 * and pictures that can be seen to come in parts.
 *
 * It knows its terminal by a descriptor alone, so that for the time of a
 * picture a file in memory stands in that one's place.  What asks for the
 * terminal meanwhile, a handler above all, uses gather_tty().
 *
 * Not gathered are a picture after endwin(), for which curses first sets modes
 * that the file does not have, and what curses writes by itself when a key is
 * read just after the size has changed.
 *
 * Example
 *	gather_begin();
 *	refresh();
 *	if (gather_end(&bytes))
 *		sum += bytes;
 */
#ifndef PAGEK_GATHER_H
#define PAGEK_GATHER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Once curses has the terminal.  Where there is no descriptor, no memory or no
 * file of any length to be had, curses writes as it always does.
 */
void gather_open(void);
void gather_close(void);

/* The terminal, whatever stands in its place; fit for a signal handler. */
int gather_tty(void);

/*
 * In between curses may refresh and move its cursor, no more: modes and sizes
 * are the terminal's.  No other thread writes to standard output or starts a
 * program meanwhile.  gather_end() writes all of it, 64 KiB at once, and says how
 * many bytes that were; false where it is not known.
 */
void gather_begin(void);
bool gather_end(uint64_t *bytes);

#endif
