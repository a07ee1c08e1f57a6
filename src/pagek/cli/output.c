/* Standard output and messages. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
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

	if (path == NULL || strcmp(path, "-") == 0)
		return stdout;
	out = fopen(path, "we");
	if (out == NULL)
		complain("cannot write '%s': %s", path, strerror(errno));
	return out;
}

/* Calls put() for the columns of a row in the order of their places. */
static void
each_column(FILE *out, const struct field_table *t, unsigned subset,
    const void *row, unsigned flags, void (*put)(FILE *, const struct field *,
    const void *row, unsigned flags))
{
	for (int place = 0, next; place >= 0; place = next) {
		next = -1;
		for (size_t i = 0; i < t->n; i++) {
			const struct field *f = &t->field[i];

			if (!field_has_column(f, subset))
				continue;
			if (f->column.place == place)
				put(out, f, row, flags);
			else if (f->column.place > place &&
			    (next < 0 || f->column.place < next))
				next = f->column.place;
		}
	}
}

static void
put_padded(FILE *out, const char *text, const struct field_column *c)
{
	int blanks = c->width;

	for (const char *at = text; *at != '\0'; at++)
		blanks -= ((unsigned char)*at & 0xc0) != 0x80;
	blanks = blanks > 0 ? blanks : 0;
	fprintf(out, "%*s%*s%s%*s", c->gap, "", c->right ? blanks : 0, "",
	    text, c->right ? 0 : blanks, "");
}

static void
put_title(FILE *out, const struct field *f, const void *row, unsigned sampled)
{
	const struct field_column *c = &f->column;

	(void)row;
	if (c->title != NULL)
		put_padded(out, sampled && c->sampled != NULL ? c->sampled :
		    c->title, c);
}

static void
put_cell(FILE *out, const struct field *f, const void *row, unsigned ascii)
{
	char text[FIELD_CELL], safe[2 * FIELD_CELL];

	field_cell(f, row, text);
	if (text[0] == '\0' && f->column.brief)
		return;
	base_safe_text(safe, sizeof safe, text, strlen(text), ascii);
	put_padded(out, safe, &f->column);
}

void
output_heading(FILE *out, const struct field_table *t, unsigned subset,
    bool sampled)
{
	each_column(out, t, subset, NULL, sampled, put_title);
	fputc('\n', out);
}

void
output_row(FILE *out, const struct field_table *t, unsigned subset,
    const void *row, bool ascii)
{
	each_column(out, t, subset, row, ascii, put_cell);
	fputc('\n', out);
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
