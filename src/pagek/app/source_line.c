#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../nodes/host/host.h"
#include "app.h"

#define SOURCE_MAX (8u << 20)	/* bytes of a file */

/* A read in a thread; it may outlive the detail. */
struct source_reading {
	uv_work_t work;
	struct app_source *owner;	/* NULL: not wanted any more */
	struct page *page;
	struct page_source read;
	char module[PAGE_NAME_MAX];	/* "": do not compare its age */
};

/* Copies the line without its indentation; a tab becomes a blank. */
static void
copy_line(struct page_source *s, const char *line, size_t len)
{
	size_t i, n = 0;

	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	for (i = 0; i < len && n + 1 < sizeof s->text; i++)
		s->text[n++] = line[i] == '\t' || line[i] == '\0' ? ' ' :
		    line[i];
	while (n > 0 && (s->text[n - 1] == ' ' || s->text[n - 1] == '\r'))
		n--;
	s->text[n] = '\0';
}

static bool
is_newer(const char *path, const char *module)
{
	struct stat file, program;

	return module[0] == '/' && stat(path, &file) == 0 &&
	    stat(module, &program) == 0 && file.st_mtime > program.st_mtime;
}

static void
read_source(uv_work_t *work)
{
	struct source_reading *r = work->data;
	struct page_source *s = &r->read;
	const char *at, *end, *next;
	unsigned line = 1;
	char *bytes;
	size_t len;

	s->err = base_file_read(s->path, SOURCE_MAX, &bytes, &len);
	if (s->err < 0)
		return;
	s->newer = is_newer(s->path, r->module);
	end = bytes + len;
	for (at = bytes; line < s->line && at < end; at = next + 1, line++) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (next == NULL)
			next = end - 1;
	}
	s->beyond = at >= end && s->line > 0;
	if (!s->beyond && s->line > 0) {
		next = memchr(at, '\n', (size_t)(end - at));
		copy_line(s, at, next != NULL ? (size_t)(next - at) :
		    (size_t)(end - at));
	}
	free(bytes);
}

static void
on_read(uv_work_t *work, int status)
{
	struct source_reading *r = work->data;
	struct app_source *owner = r->owner;

	if (owner != NULL) {
		owner->shown = r->read;
		if (status < 0)
			owner->shown.err = status;
		owner->shown.state = owner->shown.err < 0 ?
		    PAGE_SOURCE_FAILED : PAGE_SOURCE_READ;
		owner->reading = NULL;
		r->page->news = true;
	}
	free(r);
}

/*
 * False for a node of another machine: the program with that path may be
 * another one here.
 */
static bool
is_local(const struct app *app)
{
	return app->places.here.entry.at != NODES_AT_SSH;
}

static void
start_reading(struct app *app, struct app_source *src,
    const struct page_call *c)
{
	struct source_reading *r = calloc(1, sizeof *r);
	int err = -ENOMEM;

	if (r != NULL) {
		r->work.data = r;
		r->owner = src;
		r->page = app->page;
		r->read = src->shown;
		if (is_local(app))
			page_text_copy(r->module, sizeof r->module,
			    c->words->module);
		err = nodes_queue_work(app->loop, &r->work, read_source,
		    on_read);
	}
	if (err < 0) {
		free(r);
		src->shown.state = PAGE_SOURCE_FAILED;
		src->shown.err = err;
		return;
	}
	src->shown.state = PAGE_SOURCE_READING;
	src->reading = r;
}

void
app_source_want(struct app *app, struct app_source *src,
    const struct page_call *c)
{
	struct page_source *s = &src->shown;
	char path[PAGE_NAME_MAX] = "";
	unsigned line = 0;

	if (c != NULL && c->line != NULL) {
		page_text_copy(path, sizeof path, c->line->file);
		line = c->line->line;
	}
	if (src->reading != NULL || (s->line == line &&
	    strcmp(s->path, path) == 0))
		return;
	*s = (struct page_source){ .line = line };
	memcpy(s->path, path, sizeof path);
	if (path[0] != '\0')
		start_reading(app, src, c);
}

void
app_source_drop(struct app_source *src)
{
	if (src->reading != NULL)
		src->reading->owner = NULL;
	*src = (struct app_source){ 0 };
}

void
app_source_edit(struct app *app, struct app_source *src)
{
	const struct page_source *s = &src->shown;

	switch (s->state) {
	case PAGE_SOURCE_NONE:
		app_say(app, "no source line is known here");
		break;
	case PAGE_SOURCE_READING:
		app_say(app, "reading %.200s", s->path);
		break;
	case PAGE_SOURCE_FAILED:
		if (s->err == -ENOENT)
			app_say(app, "there is no file %.200s %s", s->path,
			    s->path[0] == '/' ? "on this machine" :
			    "in the current directory");
		else
			app_say(app, "cannot read %.160s: %s", s->path,
			    base_file_words(s->err));
		break;
	case PAGE_SOURCE_READ:
		jobs_start_editor(&app->jobs, s->path, s->line);
		/* The editor may change the line: read it again. */
		app_source_drop(src);
		break;
	}
}
