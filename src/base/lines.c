/*
 * Text line by line, with an eye for what is no text.
 */
#include <string.h>

#include "base.h"

#define ORDER_MARK "\xef\xbb\xbf"	/* U+FEFF, put first by some editors */

void
base_lines_init(struct base_lines *lines, const char *bytes, size_t len)
{
	size_t mark = strlen(ORDER_MARK);

	*lines = (struct base_lines){ .at = bytes, .end = bytes + len };
	if (len >= mark && memcmp(bytes, ORDER_MARK, mark) == 0)
		lines->at += mark;
}

/* NULL, or what no line of text holds. */
static const char *
trouble(const char *text, size_t len)
{
	uint32_t c;
	size_t n;

	if (len > BASE_LINE_MAX)
		return "the line is longer than 1,000 bytes";
	for (; len > 0; text += n, len -= n) {
		n = base_utf8_char(text, len, &c);
		if (n == 0)
			return "the line is not valid UTF-8";
		if ((c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0))
			return "there is a control character in the line";
	}
	return NULL;
}

bool
base_lines_next(struct base_lines *lines, char line[BASE_LINE_MAX + 1],
    const char **why)
{
	const char *begin = lines->at, *stop;
	size_t len;

	if (begin == lines->end)
		return false;
	stop = memchr(begin, '\n', (size_t)(lines->end - begin));
	if (stop == NULL)
		stop = lines->end;
	lines->at = stop < lines->end ? stop + 1 : stop;
	lines->no++;
	len = (size_t)(stop - begin);
	if (len > 0 && begin[len - 1] == '\r')
		len--;
	*why = trouble(begin, len);
	if (*why != NULL)
		len = 0;
	memcpy(line, begin, len);
	line[len] = '\0';
	return true;
}
