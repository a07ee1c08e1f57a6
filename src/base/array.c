/*
 * Arrays that grow, buffers that clip, and the arithmetic both stand on.
 */
#include "base.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first allocation of an array, in elements. */
#define GROW_FIRST 8

bool
base_add_overflows(size_t a, size_t b, size_t *sum)
{
	size_t r;

	if (__builtin_add_overflow(a, b, &r))
		return true;
	*sum = r;
	return false;
}

bool
base_mul_overflows(size_t a, size_t b, size_t *product)
{
	size_t r;

	if (__builtin_mul_overflow(a, b, &r))
		return true;
	*product = r;
	return false;
}

int
base_grow(void **array, size_t *cap, size_t want, size_t size)
{
	size_t bytes, grown;
	void *p;

	assert(size > 0);
	if (want <= *cap)
		return 0;
	if (base_mul_overflows(want, size, &bytes))
		return -EOVERFLOW;

	/* Growing by half is a wish; what is wanted is enough. */
	if (base_add_overflows(*cap, *cap / 2, &grown) || grown < want)
		grown = want;
	if (grown < GROW_FIRST)
		grown = GROW_FIRST;
	if (base_mul_overflows(grown, size, &bytes)) {
		grown = want;
		bytes = want * size;
	}

	if ((p = realloc(*array, bytes)) == NULL)
		return -ENOMEM;
	*array = p;
	*cap = grown;
	return 0;
}

/*
 * The length without the UTF-8 character that the end of the buffer cut in
 * two, if it did.
 */
static size_t
whole_characters(const char *buf, size_t len)
{
	size_t start = len;

	while (start > 0 && len - start < 4) {
		unsigned char c = (unsigned char)buf[--start];

		if (c < 0x80)
			return len;
		if (c >= 0xc0)
			return base_utf8_char(buf + start, len - start, NULL) ?
			    len : start;
	}
	return len;
}

void
base_append_text(char *buf, size_t cap, size_t *len, const char *text)
{
	size_t n = strlen(text);

	if (cap == 0)
		return;
	assert(*len < cap);
	if (n < cap - *len) {
		memcpy(buf + *len, text, n);
		*len += n;
	} else {
		memcpy(buf + *len, text, cap - 1 - *len);
		*len = whole_characters(buf, cap - 1);
	}
	buf[*len] = '\0';
}

void
base_copy_text(char *buf, size_t cap, const char *text)
{
	size_t len = 0;

	base_append_text(buf, cap, &len, text);
}

void
base_append(char *buf, size_t cap, size_t *len, const char *fmt, ...)
{
	va_list ap;
	size_t room;
	int n;

	if (cap == 0)
		return;
	assert(*len < cap);
	room = cap - *len;
	va_start(ap, fmt);
	n = vsnprintf(buf + *len, room, fmt, ap);
	va_end(ap);

	if (n > 0 && (size_t)n < room)
		*len += (size_t)n;
	else if (n > 0)
		*len = whole_characters(buf, cap - 1);
	buf[*len] = '\0';
}
