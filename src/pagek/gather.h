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
 * Example
 *	gather_begin();
 *	refresh();
 *	bytes += gather_end();
 */
#ifndef PAGEK_GATHER_H
#define PAGEK_GATHER_H

#include <stdint.h>

/* Once curses has the terminal.  Without descriptors to spare it is as if never called. */
void gather_open(void);
void gather_close(void);

/* The terminal, whatever stands in its place; fit for a signal handler. */
int gather_tty(void);

/*
 * What curses writes in between goes to the terminal in one write, by
 * gather_end(), which says how many bytes it came to; 0 where that is not known.
 */
void gather_begin(void);
uint64_t gather_end(void);

#endif
