/* See sparkline.h. */
#include <stdlib.h>
#include <string.h>

#include "sparkline.h"

#define EIGHTHS 8

/* Heights of a point, the first nothing, and lengths of a bar's last column. */
static const char *const height[EIGHTHS + 1] = {
	" ", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
	"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88",
};
static const char *const length[EIGHTHS + 1] = {
	"", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d", "\xe2\x96\x8c",
	"\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89", "\xe2\x96\x88",
};
static const char *const ascii_height[EIGHTHS] = {
	" ", ".", ":", "-", "=", "+", "*", "#",
};

/* The fonts of Linux's console and of old terminals have not all of them. */
static bool
has_blocks(const struct page_picture *pic)
{
	const char *term = getenv("TERM");

	if (picture_is_ascii(pic))
		return false;
	return term == NULL || (strncmp(term, "linux", 5) != 0 &&
	    strncmp(term, "vt", 2) != 0);
}

/* v as one of `steps` heights: 0 for nothing, and never for something. */
static int
height_step(uint64_t v, uint64_t max, int steps)
{
	int s;

	if (v == 0)
		return 0;
	if (v >= max)
		return steps;
	s = (int)((double)v / (double)max * steps + 0.5);
	return s < 1 ? 1 : s;
}

void
picture_spark(struct page_picture *pic, const uint64_t *v, size_t n,
    uint64_t max, int width)
{
	bool blocks = has_blocks(pic);
	size_t i;

	if (width <= 0)
		return;
	if (n > (size_t)width) {
		v += n - (size_t)width;
		n = (size_t)width;
	}
	if (max == 0)
		for (i = 0; i < n; i++)
			if (v[i] > max)
				max = v[i];
	picture_blanks(pic, width - (int)n);
	for (i = 0; i < n; i++)
		picture_put(pic, blocks ?
		    height[height_step(v[i], max, EIGHTHS)] :
		    ascii_height[height_step(v[i], max, EIGHTHS - 1)]);
}

void
picture_bar(struct page_picture *pic, double share, int width)
{
	bool blocks = has_blocks(pic);
	int eighths, end, i;

	if (width <= 0)
		return;
	/* Written so that what is no number is nothing. */
	if (!(share > 0))
		share = 0;
	if (share > 1)
		share = 1;
	end = picture_col(pic) + width;
	eighths = (int)(share * width * EIGHTHS + 0.5);
	if (!blocks)
		eighths = (eighths + EIGHTHS / 2) / EIGHTHS * EIGHTHS;
	for (i = 0; i < eighths / EIGHTHS; i++)
		picture_put(pic, blocks ? length[EIGHTHS] : "#");
	picture_put(pic, length[eighths % EIGHTHS]);
	picture_to(pic, end);
}
