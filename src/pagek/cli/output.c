#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../capture/capture.h"
#include "cli.h"

static bool is_quiet, is_verbose;

void
output_voice(bool quiet, bool verbose)
{
	is_quiet = quiet;
	is_verbose = verbose;
}

bool
output_tells(void)
{
	return is_verbose;
}

#define PROGRESS_MS 500
#define PROGRESS_EVERY_MS 100

static struct {
	struct mono begun, shown;
	bool on;			/* the line is on the terminal */
} progress;

static void
erase_progress(void)
{
	if (progress.on)
		fputs("\r\033[K", stderr);
	progress.on = false;
}

static void
show_progress(void *arg, unsigned percent)
{
	(void)arg;
	if (progress.begun.ns == 0)
		progress.begun = mono_now();
	if (mono_ms_since(progress.begun) < PROGRESS_MS || (progress.on &&
	    mono_ms_since(progress.shown) < PROGRESS_EVERY_MS))
		return;
	progress.shown = mono_now();
	progress.on = true;
	fprintf(stderr, "\rpagek: reading the capture: %u %%\033[K", percent);
	fflush(stderr);
}

void
output_watch_captures(void)
{
	if (!is_quiet && isatty(STDERR_FILENO))
		capture_watch(show_progress, NULL);
	atexit(erase_progress);
}

void
output_end_progress(void)
{
	capture_watch(NULL, NULL);
	erase_progress();
}

void
output_say(enum voice voice, const char *fmt, ...)
{
	char line[1024], safe[2048];
	va_list ap;

	if ((voice == VOICE_NOTICE && is_quiet) ||
	    (voice == VOICE_DETAIL && !is_verbose))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	base_safe_text(safe, sizeof safe, line, strlen(line), false);
	erase_progress();
	fprintf(stderr, "pagek: %s\n", safe);
}

void
complain_said(void *arg, const char *sentence)
{
	(void)arg;
	complain("%s", sentence);
}

FILE *
output_open(const char *path)
{
	FILE *out;

	if (path == NULL || strcmp(path, "-") == 0) {
		/* Rows are progress enough. */
		if (isatty(STDOUT_FILENO))
			output_end_progress();
		return stdout;
	}
	out = fopen(path, "we");
	if (out == NULL)
		complain("cannot write '%s': %s", path, strerror(errno));
	return out;
}

#define TEXT_LINE 8192
#define LEAST_COLS 8		/* no column is made narrower than this */

struct text_line {
	char text[TEXT_LINE];
	size_t len;
};

static int
cols_of(const char *text)
{
	int n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void
cut_text(char *text, int cols)
{
	int n = 0;

	if (cols_of(text) <= cols)
		return;
	for (; *text != '\0'; text++)
		if (((unsigned char)*text & 0xc0) != 0x80 && ++n == cols)
			break;
	text[0] = '~';
	text[1] = '\0';
}

static void
each_column(const struct output_table *t, const void *row, struct text_line *line,
    void (*put)(const struct output_table *, size_t, const void *row,
    struct text_line *))
{
	assert(t->fields->n <= OUTPUT_FIELDS);
	for (int place = 0, next; place >= 0; place = next) {
		next = -1;
		for (size_t i = 0; i < t->fields->n; i++) {
			const struct field *f = &t->fields->field[i];

			if (!field_has_column(f, t->subset))
				continue;
			if (f->column.place == place)
				put(t, i, row, line);
			else if (f->column.place > place &&
			    (next < 0 || f->column.place < next))
				next = f->column.place;
		}
	}
}

static int
width_of(const struct output_table *t, size_t i)
{
	return t->width[i] != 0 ? t->width[i] : t->fields->field[i].column.width;
}

static void
put_padded(const struct output_table *t, size_t i, char *text,
    struct text_line *line)
{
	const struct field_column *c = &t->fields->field[i].column;
	int width = width_of(t, i), blanks;

	/* Without a measured width a long text takes the room that it needs. */
	if (t->width[i] != 0)
		cut_text(text, width);
	blanks = width - cols_of(text);
	blanks = blanks > 0 ? blanks : 0;
	base_append(line->text, sizeof line->text, &line->len,
	    "%*s%*s%s%*s", c->gap, "", c->right ? blanks : 0, "", text,
	    c->right ? 0 : blanks, "");
}

static const char *
title_of(const struct output_table *t, size_t i)
{
	const struct field_column *c = &t->fields->field[i].column;

	return t->sampled && c->sampled != NULL ? c->sampled : c->title;
}

static void
put_title(const struct output_table *t, size_t i, const void *row,
    struct text_line *line)
{
	char text[64];

	(void)row;
	if (title_of(t, i) == NULL)
		return;
	snprintf(text, sizeof text, "%s", title_of(t, i));
	put_padded(t, i, text, line);
}

static void
cell_text(const struct output_table *t, size_t i, const void *row,
    char out[2 * FIELD_CELL])
{
	char text[FIELD_CELL];

	field_cell(&t->fields->field[i], row, text);
	base_safe_text(out, 2 * FIELD_CELL, text, strlen(text), t->ascii);
}

static void
put_cell(const struct output_table *t, size_t i, const void *row,
    struct text_line *line)
{
	char safe[2 * FIELD_CELL];

	cell_text(t, i, row, safe);
	if (safe[0] != '\0' || !t->fields->field[i].column.brief)
		put_padded(t, i, safe, line);
}

static void
put_line(const struct output_table *t, struct text_line *line)
{
	if (t->cols > 0)
		cut_text(line->text, t->cols);
	fprintf(t->out, "%s\n", line->text);
}

void
output_heading(const struct output_table *t)
{
	struct text_line line = { .len = 0 };

	each_column(t, NULL, &line, put_title);
	put_line(t, &line);
}

void
output_row(const struct output_table *t, const void *row)
{
	struct text_line line = { .len = 0 };

	each_column(t, row, &line, put_cell);
	put_line(t, &line);
}

/* False for a text without a column width: it takes the room that it needs. */
static bool
is_measured(const struct field *f, unsigned subset)
{
	return field_has_column(f, subset) && f->column.width > 0;
}

void
output_measure(struct output_table *t, const void *row)
{
	char safe[2 * FIELD_CELL];

	for (size_t i = 0; i < t->fields->n; i++) {
		if (!field_has_column(&t->fields->field[i], t->subset))
			continue;
		cell_text(t, i, row, safe);
		if (!is_measured(&t->fields->field[i], t->subset)) {
			t->rest = cols_of(safe) > t->rest ? cols_of(safe) :
			    t->rest;
			continue;
		}
		if (t->width[i] < cols_of(safe))
			t->width[i] = cols_of(safe);
	}
}

/* The widest column of text that can be made narrower; OUTPUT_FIELDS: none. */
static size_t
widest(const struct output_table *t, int *all)
{
	size_t most = OUTPUT_FIELDS;

	*all = t->rest < t->cols / 4 ? t->rest : t->cols / 4;
	for (size_t i = 0; i < t->fields->n; i++) {
		const struct field *f = &t->fields->field[i];

		if (!field_has_column(f, t->subset))
			continue;
		*all += f->column.gap + width_of(t, i);
		if (is_measured(f, t->subset) && !f->column.right &&
		    t->width[i] > LEAST_COLS && (most == OUTPUT_FIELDS ||
		    t->width[i] > t->width[most]))
			most = i;
	}
	return most;
}

void
output_fit(struct output_table *t, int cols)
{
	size_t at;
	int all;

	t->cols = cols;
	for (size_t i = 0; i < t->fields->n; i++) {
		const struct field_column *c = &t->fields->field[i].column;
		int least = t->cols == 0 ? c->width :
		    c->title != NULL ? cols_of(c->title) : 0;

		if (is_measured(&t->fields->field[i], t->subset) &&
		    t->width[i] < least)
			t->width[i] = least;
	}
	while (t->cols > 0 && (at = widest(t, &all)) != OUTPUT_FIELDS &&
	    all > t->cols)
		t->width[at]--;
}

/* The stream forgets the error of a write; the pipe does not. */
static bool
reader_is_gone(FILE *out)
{
	struct pollfd pfd = { .fd = fileno(out), .events = POLLOUT };

	return poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLERR) != 0;
}

static int first_error;

bool
output_going(FILE *out)
{
	if (!ferror(out))
		return true;
	if (first_error == 0)
		first_error = errno;
	return false;
}

bool
output_flush(FILE *out)
{
	fflush(out);
	return output_going(out);
}

int
output_close(FILE *out, const char *path, int status)
{
	bool failed, gone;
	int why = 0;

	failed = fflush(out) != 0;
	if (failed)
		why = errno;
	failed = failed || ferror(out) != 0;
	gone = failed && (why == EPIPE || first_error == EPIPE ||
	    reader_is_gone(out));
	if (out != stdout && out != stderr && fclose(out) != 0 && !failed) {
		failed = true;
		why = errno;
	}
	if (why == 0)
		why = first_error;
	if (!failed)
		return status;
	if (gone)
		return PAGEK_OK;
	if (why == 0)
		why = EIO;
	if (path != NULL)
		complain("cannot write '%s': %s", path, strerror(why));
	else
		complain("cannot write standard output: %s", strerror(why));
	return PAGEK_FAILED;
}

int
output_replace(const char *path, void (*put)(FILE *, const void *),
    const void *arg)
{
	mode_t mask = umask(0);
	char *bytes = NULL;
	size_t len = 0;
	FILE *out;
	int r;

	umask(mask);
	out = open_memstream(&bytes, &len);
	if (out == NULL)
		return -errno;
	put(out, arg);
	r = fclose(out) != 0 ? -errno : base_file_replace(path, bytes, len,
	    0666 & ~mask);
	free(bytes);
	return r;
}

int
output_refuse_terminal(int err)
{
	const char *term = getenv("TERM");

	if (err == -ENOTTY)
		complain("the page needs a terminal; for text use 'pagek list' "
		    "or option -b");
	else if (term == NULL || term[0] == '\0')
		complain("TERM is not set; for text use 'pagek list' or option "
		    "-b");
	else
		complain("the page cannot be drawn on a terminal of kind '%s'; "
		    "for text use 'pagek list' or option -b", term);
	return PAGEK_USAGE;
}
