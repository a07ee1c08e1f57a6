/*
 * units: how sizes of blocks are written in the wide layout and in lists.
 *
 *	exact	in bytes, with digits in groups as long as they fit: 65,536
 *	K	in K, M or G of 1024, one place behind the point: 64.0K;
 *		below that in bytes
 *	hex	in bytes: 10000
 *
 * What does not fit is written in K, M or G, whose letters are no hex digits.
 */
#ifndef PAGEK_UNITS_H
#define PAGEK_UNITS_H

#include <stdint.h>

enum page_units {
	PAGE_UNITS_EXACT,
	PAGE_UNITS_K,
	PAGE_UNITS_HEX,
	PAGE_UNITS		/* one more than the last */
};

#define PAGE_SIZE_TEXT 32

/* To the right of `width` columns, of at least 5. */
void page_size_text(enum page_units, uint64_t bytes, int width,
    char out[PAGE_SIZE_TEXT]);
/* "in K, M and G": words for whoever has changed them. */
const char *page_units_name(enum page_units);

#endif
