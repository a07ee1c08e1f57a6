/*
 * What keys are called: in messages, help and files, and back.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "keys.h"

/* Of the keys without a character; the first name of a code is the one shown. */
static const struct {
	const char *name;
	int code;
} names[] = {
	{ "Up", PAGE_KEY_UP },
	{ "Down", PAGE_KEY_DOWN },
	{ "Left", PAGE_KEY_LEFT },
	{ "Right", PAGE_KEY_RIGHT },
	{ "PgUp", PAGE_KEY_PGUP },
	{ "PgDn", PAGE_KEY_PGDN },
	{ "Home", PAGE_KEY_HOME },
	{ "End", PAGE_KEY_END },
	{ "Backspace", PAGE_KEY_BACKSPACE },
	{ "Delete", PAGE_KEY_DELETE },
	{ "Insert", PAGE_KEY_INSERT },
	{ "Enter", PAGE_KEY_ENTER },
	{ "that key", PAGE_KEY_OTHER },
	{ "Tab", '\t' },
	{ "Space", ' ' },
	{ "Esc", PAGE_CTRL('[') },
};

void
page_key_name(int code, char out[16])
{
	size_t len = 0, i;

	out[0] = '\0';
	for (i = 0; i < BASE_NELEM(names); i++)
		if (names[i].code == code) {
			base_append(out, 16, &len, "%s", names[i].name);
			return;
		}
	if (code > PAGE_KEY_F0 && code <= PAGE_KEY_F_LAST)
		base_append(out, 16, &len, "F%d", code - PAGE_KEY_F0);
	else if (code >= 0 && code < ' ')
		base_append(out, 16, &len, "^%c", code + '@');
	else if (code > ' ' && code < 0x7f)
		base_append(out, 16, &len, "%c", code);
	else
		base_append(out, 16, &len, "U+%04X", (unsigned)code);
}

/* All of the text is a number of that base, no more than max; else 0. */
static int
number_of(const char *text, int base, long max)
{
	char *end;
	long n = strtol(text, &end, base);

	/* No sign and no blank before it. */
	return text[0] >= '0' && *end == '\0' && n > 0 && n <= max ? (int)n :
	    0;
}

int
page_key_parse(const char *name)
{
	size_t len = strlen(name), i;
	uint32_t c;
	int n;

	for (i = 0; i < BASE_NELEM(names); i++)
		if (names[i].code != PAGE_KEY_OTHER &&
		    strcasecmp(names[i].name, name) == 0)
			return names[i].code;
	if (len > 0 && base_utf8_char(name, len, &c) == len && c > ' ' &&
	    c != 0x7f)
		return (int)c;
	if (len == 2 && name[0] == '^' && ((name[1] >= '@' &&
	    name[1] <= '_') || (name[1] >= 'a' && name[1] <= 'z')))
		return PAGE_CTRL(name[1]);
	if (strncasecmp(name, "U+", 2) == 0) {
		n = number_of(name + 2, 16, 0x10ffff);
		return n > ' ' && n != 0x7f ? n : PAGE_KEY_NONE;
	}
	if (name[0] == 'F' || name[0] == 'f') {
		n = number_of(name + 1, 10, PAGE_KEY_F_LAST - PAGE_KEY_F0);
		return n > 0 ? PAGE_KEY_F0 + n : PAGE_KEY_NONE;
	}
	return PAGE_KEY_NONE;
}

/* Several codes may come from one key. */
int
page_key_one(int code)
{
	if (code == '\r' || code == '\n')
		return PAGE_KEY_ENTER;
	if (code == 0x7f || code == PAGE_CTRL('H'))
		return PAGE_KEY_BACKSPACE;
	return code;
}
