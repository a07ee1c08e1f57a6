#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "typed_history.h"

#define STATE_FILE "pagek/history"
#define FILE_MAX ((size_t)HISTORY_MAX * (BASE_LINE_MAX + 1) * 2)

int
history_path(char path[PATH_MAX])
{
	return base_state_path(path, PATH_MAX, STATE_FILE);
}

static void
remove_line(struct history *h, size_t i)
{
	free(h->line[i].text);
	h->n--;
	memmove(&h->line[i], &h->line[i + 1],
	    (h->n - i) * sizeof h->line[0]);
}

/* text: "kind text" */
static int
append_line(struct history *h, const char *text, bool typed)
{
	void *lines = h->line;
	char *copy = strdup(text);
	size_t i;
	int r;

	r = copy == NULL ? -ENOMEM :
	    base_grow(&lines, &h->cap, h->n + 1, sizeof h->line[0]);
	if (r < 0) {
		free(copy);
		return r;
	}
	h->line = lines;
	for (i = 0; i < h->n; i++)
		if (strcmp(h->line[i].text, text) == 0) {
			remove_line(h, i);
			break;
		}
	if (h->n == HISTORY_MAX)
		remove_line(h, 0);
	h->line[h->n++] = (struct history_line){ .text = copy,
	    .typed = typed };
	return 0;
}

void
history_fini(struct history *h)
{
	size_t i;

	for (i = 0; i < h->n; i++)
		free(h->line[i].text);
	free(h->line);
	*h = (struct history){ 0 };
}

static int
parse(struct history *h, const char *bytes, size_t len)
{
	char line[BASE_LINE_MAX + 1];
	struct base_lines lines;
	const char *why;
	int r = 0;

	base_lines_init(&lines, bytes, len);
	while (r == 0 && base_lines_next(&lines, line, &why))
		if (why == NULL && line[0] != ' ' &&
		    strchr(line, ' ') != NULL)
			r = append_line(h, line, false);
	return r;
}

int
history_load(struct history *h)
{
	struct history fresh = { 0 };
	char path[PATH_MAX], *bytes;
	size_t len;
	int r;

	r = history_path(path);
	if (r == 0)
		r = base_file_read(path, FILE_MAX, &bytes, &len);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return r;
	if (r == 0) {
		r = parse(&fresh, bytes, len);
		free(bytes);
		if (r < 0) {
			history_fini(&fresh);
			return r;
		}
	}
	history_fini(h);
	*h = fresh;
	return 0;
}

void
history_add(struct history *h, const char *kind, const char *text)
{
	char line[BASE_LINE_MAX + 2];
	size_t len = 0;

	if (text[strspn(text, " ")] == '\0')
		return;
	base_append(line, sizeof line, &len, "%s %s", kind, text);
	/* Drop a line that is too long for the file. */
	if (len == strlen(kind) + 1 + strlen(text) && len <= BASE_LINE_MAX)
		append_line(h, line, true);
}

/* NULL: the line is of another kind, or begins differently. */
static const char *
match_line(const char *line, const char *kind, const char *begun)
{
	size_t n = strlen(kind);

	if (strncmp(line, kind, n) != 0 || line[n] != ' ')
		return NULL;
	line += n + 1;
	return strncmp(line, begun, strlen(begun)) == 0 ? line : NULL;
}

const char *
history_find(const struct history *h, const char *kind, const char *begun,
    bool back, size_t *at)
{
	size_t i = *at < h->n ? *at : h->n;
	const char *text;

	while (back ? i > 0 : i + 1 < h->n) {
		i = back ? i - 1 : i + 1;
		text = match_line(h->line[i].text, kind, begun);
		if (text != NULL) {
			*at = i;
			return text;
		}
	}
	return NULL;
}

static int
write_file(const struct history *h, const char *path)
{
	size_t len = 0, cap = 1, i;
	char *bytes;
	int r;

	for (i = 0; i < h->n; i++)
		cap += strlen(h->line[i].text) + 1;
	bytes = malloc(cap);
	if (bytes == NULL)
		return -ENOMEM;
	for (i = 0; i < h->n; i++)
		base_append(bytes, cap, &len, "%s\n", h->line[i].text);
	r = base_file_replace(path, bytes, len, 0600);
	free(bytes);
	return r;
}

static bool
was_typed(const struct history *h)
{
	size_t i;

	for (i = 0; i < h->n; i++)
		if (h->line[i].typed)
			return true;
	return false;
}

int
history_save(const struct history *h)
{
	struct history all = { 0 };
	char path[PATH_MAX];
	size_t i;
	int r;

	if (!was_typed(h))
		return 0;
	r = history_path(path);
	if (r == 0)
		r = base_folders_above(path);
	if (r == 0)
		r = history_load(&all);
	for (i = 0; r == 0 && i < h->n; i++)
		if (h->line[i].typed)
			r = append_line(&all, h->line[i].text, true);
	if (r == 0)
		r = write_file(&all, path);
	history_fini(&all);
	return r;
}
