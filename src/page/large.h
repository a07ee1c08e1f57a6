/*
 * large: hex digits three lines high, of ASCII alone:
 *
 *	     _
 *	|_| |_|		4a
 *	  | | |
 */
#ifndef PAGEK_LARGE_H
#define PAGEK_LARGE_H

#include "picture.h"

/*
 * Three lines for as many digits as fit into one row of them, and as many rows
 * as it takes.  What is no hex digit is a blank.
 */
void picture_large(struct page_picture *, const char *digits);

#endif
