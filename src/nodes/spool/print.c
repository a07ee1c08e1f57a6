#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "print.h"

#define LP "lp"
#define CUT LP " did not read all of it"
#define PIECE 16384

struct print {
	uv_loop_t *loop;
	const struct spool *spool;	/* NULL: there is none just now */
	char printer[128];		/* "" lp's own choice */
	char (*waiting)[SPOOL_NAME];	/* PRINT_WAITING of them, a ring */
	size_t first, n;
	uint64_t left_out;		/* for which there was no place */

	/* The one that is being printed. */
	char name[SPOOL_NAME];		/* "" none */
	unsigned part;
	uint32_t at;
	size_t kept;			/* bytes of a line that goes on */
	char bytes[BASE_SAFE_LINE + PIECE];	/* they, and what was read behind them */
	char safe[4 * (BASE_SAFE_LINE + PIECE) + 64];
	uv_process_t process;
	uv_pipe_t in;
	uv_write_t req;
	unsigned handles;		/* that are open */
	bool running;			/* lp is */
	bool failed;			/* and it was said */
	bool closing;
};

bool
print_name_ok(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len >= sizeof((struct print *)0)->printer ||
	    name[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) &&
		    strchr("-_.@/", name[i]) == NULL)
			return false;
	return true;
}

static void
say(struct print *p, const char *why)
{
	if (!p->failed)
		fprintf(stderr, "pageknode: listing %s was not printed: %s\n",
		    p->name, why);
	p->failed = true;
}

static void next(struct print *);

static void
on_closed(uv_handle_t *handle)
{
	struct print *p = handle->data;

	if (--p->handles > 0)
		return;
	p->name[0] = '\0';
	if (p->closing) {
		free(p->waiting);
		free(p);
		return;
	}
	next(p);
}

/* All has been given to lp, or nothing more will be. */
static bool
is_fed(const struct print *p)
{
	return uv_is_closing((const uv_handle_t *)&p->in) != 0;
}

/* It ends when lp has, and lp when it has read all. */
static void
close_in(struct print *p)
{
	if (!is_fed(p))
		uv_close((uv_handle_t *)&p->in, on_closed);
}

static void
on_lp_exit(uv_process_t *process, int64_t status, int sig)
{
	struct print *p = process->data;
	char why[64];

	p->running = false;
	if (status != 0 || sig != 0) {
		if (sig != 0)
			snprintf(why, sizeof why, LP " ended by signal %d",
			    sig);
		else
			snprintf(why, sizeof why, LP " ended with status %d",
			    (int)status);
		say(p, why);
	} else if (!is_fed(p)) {
		say(p, CUT);
	}
	close_in(p);
	uv_close((uv_handle_t *)process, on_closed);
}

/* --- its bytes ---------------------------------------------------------- */

static void feed(struct print *);

/*
 * A write that was done with before the pipe was closed is told behind that,
 * and as a success: the spool may be no more by then.
 */
static void
on_fed(uv_write_t *req, int status)
{
	struct print *p = req->data;

	if (status == UV_ECANCELED || p->closing || is_fed(p))
		return;
	if (status < 0) {
		say(p, CUT);
		close_in(p);
		return;
	}
	feed(p);
}

/* What stands in p->safe. */
static void
give(struct print *p, size_t len)
{
	uv_buf_t buf = uv_buf_init(p->safe, (unsigned)len);

	p->req.data = p;
	if (uv_write(&p->req, (uv_stream_t *)&p->in, &buf, 1, on_fed) < 0) {
		say(p, CUT);
		close_in(p);
	}
}

static const struct spool_entry *
entry(const struct print *p)
{
	return p->spool == NULL ? NULL :
	    spool_find(p->spool, p->name, strlen(p->name));
}

/* The next bytes of the listing, behind what is kept; 0 at its end. */
static ssize_t
read_on(struct print *p)
{
	const struct spool_entry *e;
	struct spool_part of;
	ssize_t n;

	for (;;) {
		e = entry(p);
		if (e == NULL)
			return -ENOENT;
		if (p->part > e->parts)
			return 0;
		n = spool_read(p->spool, e, p->part, p->at,
		    p->bytes + p->kept, PIECE, &of);
		if (n != 0)
			break;
		p->part++;
		p->at = 0;
	}
	if (n > 0)
		p->at += (uint32_t)n;
	return n;
}

static void
feed(struct print *p)
{
	ssize_t n = read_on(p);
	size_t len, used;

	if (n < 0) {
		say(p, strerror((int)-n));
		/* Half a listing is not printed as if it were one. */
		uv_process_kill(&p->process, SIGTERM);
	}
	if (n < 0 || (n == 0 && p->kept == 0)) {
		close_in(p);
		return;
	}
	p->kept += (size_t)n;
	len = base_safe_lines(p->safe, sizeof p->safe, p->bytes, p->kept,
	    n == 0, false, &used);
	p->kept -= used;
	memmove(p->bytes, p->bytes + used, p->kept);
	give(p, len);
}

/* Who sent it, and what it is. */
static void
feed_head(struct print *p, const struct spool_entry *e)
{
	size_t len = 0;

	base_append(p->safe, sizeof p->safe, &len,
	    "listing %s from %s\n%s\n\n", e->name, e->origin, e->title);
	give(p, len);
}

/* --- lp ----------------------------------------------------------------- */

static int
start(struct print *p, const struct spool_entry *e)
{
	char lp[] = LP, to[] = "-d", title[] = "-t", name[SPOOL_NAME];
	char *args[8];
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_CREATE_PIPE | UV_READABLE_PIPE,
		    .data.stream = (uv_stream_t *)&p->in },
		{ .flags = UV_IGNORE },
		{ .flags = UV_INHERIT_FD, .data.fd = 2 },
	};
	uv_process_options_t options = {
		.exit_cb = on_lp_exit,
		.file = LP,
		.args = args,
		.stdio = stdio,
		.stdio_count = BASE_NELEM(stdio),
	};
	size_t n = 0;
	int r;

	strcpy(name, e->name);
	args[n++] = lp;
	if (p->printer[0] != '\0') {
		args[n++] = to;
		args[n++] = p->printer;
	}
	args[n++] = title;
	args[n++] = name;
	args[n] = NULL;
	uv_pipe_init(p->loop, &p->in, 0);
	p->in.data = p->process.data = p;
	p->handles = 2;
	r = uv_spawn(p->loop, &p->process, &options);
	if (r < 0) {
		say(p, r == UV_ENOENT ? "there is no program lp" :
		    uv_strerror(r));
		close_in(p);
		uv_close((uv_handle_t *)&p->process, on_closed);
		return r;
	}
	p->running = true;
	return 0;
}

static void
next(struct print *p)
{
	const struct spool_entry *e;

	if (p->name[0] != '\0' || p->n == 0)
		return;
	if (p->left_out > 0) {
		fprintf(stderr, "pageknode: %llu listings were not printed: "
		    "%d others waited\n", (unsigned long long)p->left_out,
		    PRINT_WAITING);
		p->left_out = 0;
	}
	strcpy(p->name, p->waiting[p->first]);
	p->first = (p->first + 1) % PRINT_WAITING;
	p->n--;
	p->part = 1;
	p->at = 0;
	p->kept = 0;
	p->failed = false;
	e = entry(p);
	if (e == NULL) {
		/* Whoever has removed it knows. */
		p->name[0] = '\0';
		next(p);
		return;
	}
	if (start(p, e) == 0)
		feed_head(p, e);
}

int
print_new(struct print **out, uv_loop_t *loop, const struct spool *spool,
    const char *printer)
{
	struct print *p = calloc(1, sizeof *p);

	if (p == NULL)
		return -ENOMEM;
	p->waiting = calloc(PRINT_WAITING, sizeof *p->waiting);
	if (p->waiting == NULL) {
		free(p);
		return -ENOMEM;
	}
	p->loop = loop;
	p->spool = spool;
	if (printer != NULL)
		snprintf(p->printer, sizeof p->printer, "%s", printer);
	*out = p;
	return 0;
}

void
print_from(struct print *p, const struct spool *spool)
{
	if (p != NULL)
		p->spool = spool;
}

void
print_add(struct print *p, const struct spool_entry *e)
{
	if (p->n == PRINT_WAITING) {
		p->left_out++;
		return;
	}
	strcpy(p->waiting[(p->first + p->n) % PRINT_WAITING], e->name);
	p->n++;
	next(p);
}

void
print_close(struct print *p)
{
	if (p == NULL)
		return;
	p->closing = true;
	p->n = 0;
	if (p->handles == 0) {
		free(p->waiting);
		free(p);
		return;
	}
	if (p->running) {
		say(p, "the node ends");
		uv_process_kill(&p->process, SIGTERM);
		/* Whether it goes is not waited for. */
		uv_close((uv_handle_t *)&p->process, on_closed);
	}
	close_in(p);
}
