/* See large.h. */
#include <string.h>

#include "large.h"

#define DIGIT_COLS 4		/* with a blank behind it */
#define DIGIT_ROWS 3

/* The seven strokes. */
enum { TOP = 1, UPPER_LEFT = 2, UPPER_RIGHT = 4, MIDDLE = 8, LOWER_LEFT = 16,
	LOWER_RIGHT = 32, BOTTOM = 64 };

static const struct {
	char digit;
	unsigned strokes;
} shapes[] = {
	{ '0', 127 - MIDDLE },
	{ '1', UPPER_RIGHT | LOWER_RIGHT },
	{ '2', 127 - UPPER_LEFT - LOWER_RIGHT },
	{ '3', 127 - UPPER_LEFT - LOWER_LEFT },
	{ '4', UPPER_LEFT | UPPER_RIGHT | MIDDLE | LOWER_RIGHT },
	{ '5', 127 - UPPER_RIGHT - LOWER_LEFT },
	{ '6', 127 - UPPER_RIGHT },
	{ '7', TOP | UPPER_RIGHT | LOWER_RIGHT },
	{ '8', 127 },
	{ '9', 127 - LOWER_LEFT },
	{ 'a', 127 - BOTTOM },
	{ 'b', 127 - TOP - UPPER_RIGHT },
	{ 'c', TOP | UPPER_LEFT | LOWER_LEFT | BOTTOM },
	{ 'd', 127 - TOP - UPPER_LEFT },
	{ 'e', 127 - UPPER_RIGHT - LOWER_RIGHT },
	{ 'f', TOP | UPPER_LEFT | MIDDLE | LOWER_LEFT },
};

static unsigned
strokes_of(char digit)
{
	size_t i;

	for (i = 0; i < BASE_NELEM(shapes); i++)
		if (shapes[i].digit == digit)
			return shapes[i].strokes;
	return 0;
}

/* What of it stands in that row: to the left, between, to the right. */
static void
put_part(unsigned s, int row, struct page_picture *pic)
{
	static const unsigned part[DIGIT_ROWS][3] = {
		{ 0, TOP, 0 },
		{ UPPER_LEFT, MIDDLE, UPPER_RIGHT },
		{ LOWER_LEFT, BOTTOM, LOWER_RIGHT },
	};

	picture_printf(pic, "%c%c%c ", (s & part[row][0]) != 0 ? '|' : ' ',
	    (s & part[row][1]) != 0 ? '_' : ' ',
	    (s & part[row][2]) != 0 ? '|' : ' ');
}

void
picture_large(struct page_picture *pic, const char *digits)
{
	size_t fit = (size_t)(pic->cols / DIGIT_COLS), all = strlen(digits);
	size_t at, i;
	int row;

	if (fit == 0)
		fit = 1;
	for (at = 0; at < all; at += fit)
		for (row = 0; row < DIGIT_ROWS; row++) {
			picture_line(pic);
			for (i = at; i < at + fit && i < all; i++)
				put_part(strokes_of(digits[i]), row, pic);
		}
}
