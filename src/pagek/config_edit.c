/* See config_edit.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "config_edit.h"

/* --- lines as they are ---------------------------------------------------- */

/* One line of the text: what it says begins and ends where blanks do. */
struct raw_line {
	size_t from, to;	/* its end is not in it */
	size_t begin, end;	/* of what is no comment and no blank */
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The line at `from`. */
static struct raw_line
line_at(const char *bytes, size_t len, size_t from)
{
	const char *nl = memchr(bytes + from, '\n', len - from);
	struct raw_line l = { .from = from, .begin = from };
	size_t i;

	l.to = nl != NULL ? (size_t)(nl - bytes) : len;
	for (i = from; i < l.to; i++)
		if (bytes[i] == '#' && (i == from || is_blank(bytes[i - 1])))
			break;
	l.end = i;
	while (l.begin < l.end && is_blank(bytes[l.begin]))
		l.begin++;
	while (l.end > l.begin && is_blank(bytes[l.end - 1]))
		l.end--;
	return l;
}

static bool
begins_section(const char *bytes, struct raw_line l)
{
	return l.end - l.begin >= 2 && bytes[l.begin] == '[' &&
	    bytes[l.end - 1] == ']';
}

/* Where the value of that key begins; 0: the line is another one. */
static size_t
value_of(const char *bytes, struct raw_line l, const char *key)
{
	size_t n = strlen(key), at = l.begin + n;

	if (at >= l.end || strncmp(bytes + l.begin, key, n) != 0)
		return 0;
	while (at < l.end && is_blank(bytes[at]))
		at++;
	if (at == l.end || bytes[at] != '=')
		return 0;
	at++;
	while (at < l.end && is_blank(bytes[at]))
		at++;
	return at;
}

/* As the reader has it, a comment begins at a word that begins with '#'. */
bool
config_can_hold(const char *value)
{
	const char *c;

	if (strlen(value) > BASE_LINE_MAX / 2)
		return false;
	for (c = value; (c = strchr(c, '#')) != NULL; c++)
		if (c == value || is_blank(c[-1]))
			return false;
	return true;
}

/* --- changes -------------------------------------------------------------- */

/* Bytes [from, to) become `text`. */
static int
replace(char **bytes, size_t *len, size_t from, size_t to, const char *text)
{
	size_t n = strlen(text), size = *len - (to - from) + n;
	char *fresh = malloc(size + 1);

	if (fresh == NULL)
		return -ENOMEM;
	memcpy(fresh, *bytes, from);
	memcpy(fresh + from, text, n);
	memcpy(fresh + from + n, *bytes + to, *len - to);
	fresh[size] = '\0';
	free(*bytes);
	*bytes = fresh;
	*len = size;
	return 0;
}

/* A byte-order mark is none of the first line's. */
static size_t
first_line(const char *bytes, size_t len)
{
	struct base_lines lines;

	base_lines_init(&lines, bytes, len);
	return (size_t)(lines.at - bytes);
}

int
config_edit(char **bytes, size_t *len, const char *key, const char *value)
{
	size_t first = first_line(*bytes, *len), from = first, behind = first;
	size_t at, n = 0;
	char line[BASE_LINE_MAX + 2];
	struct raw_line l;
	bool open = false;

	for (; from < *len; from = l.to + 1) {
		l = line_at(*bytes, *len, from);
		if (begins_section(*bytes, l))
			break;
		at = value_of(*bytes, l, key);
		if (at > 0)
			return replace(bytes, len, at, l.end, value);
		if (l.begin == l.end && behind > first)
			continue;
		/* Above all settings there may be a comment of the file. */
		behind = l.to < *len ? l.to + 1 : *len;
		open = l.to == *len;
	}
	base_append(line, sizeof line, &n, "%s%s = %s\n", open ? "\n" : "",
	    key, value);
	return replace(bytes, len, behind, behind, line);
}

/* --- the file ------------------------------------------------------------- */

static void
hear_nothing(void *arg, const char *sentence)
{
	(void)arg;
	(void)sentence;
}

/* Whoever reads it will find what was meant. */
static int
prove(const char *bytes, size_t len, const char *const value[OPTIONS])
{
	struct config c = { 0 };
	unsigned id;
	int r;

	c.path[CONFIG_USER] = strdup("");
	r = c.path[CONFIG_USER] == NULL ? -ENOMEM :
	    config_parse(&c, CONFIG_USER, bytes, len, hear_nothing, NULL);
	for (id = 0; r == 0 && id < OPTIONS; id++)
		if (value[id] != NULL && (c.value[id].text == NULL ||
		    strcmp(c.value[id].text, value[id]) != 0) &&
		    strcmp(value[id], "no") != 0)
			r = -EINVAL;
	config_fini(&c);
	return r;
}

int
config_save(const char *path, const char *const value[OPTIONS])
{
	char *bytes = NULL;
	size_t len = 0;
	unsigned id;
	int r;

	r = base_file_read(path, CONFIG_FILE_MAX, &bytes, &len);
	if (r == -ENOENT) {
		bytes = calloc(1, 1);
		r = bytes == NULL ? -ENOMEM : base_folders_above(path);
	}
	for (id = 0; r == 0 && id < OPTIONS; id++)
		if (value[id] != NULL)
			r = config_edit(&bytes, &len, option_rows[id].name,
			    value[id]);
	if (r == 0 && len > CONFIG_FILE_MAX)
		r = -EFBIG;
	if (r == 0)
		r = prove(bytes, len, value);
	if (r == 0)
		r = base_file_replace(path, bytes, len, 0600);
	free(bytes);
	return r;
}
