#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "spool.h"

#define LP "lp"
#define LP_UNFINISHED LP " did not read all of it"
#define PIECE 16384

struct print {
	uv_loop_t *loop;
	const struct spool *spool;	/* NULL: it is closed */
	char printer[128];		/* "" lp's own choice */
	char (*waiting)[SPOOL_NAME];	/* PRINT_WAITING of them, a ring */
	size_t first, n;
	uint64_t skipped;		/* listings for which there was no place */

	/* The one that is being printed. */
	char name[SPOOL_NAME];		/* "" none */
	unsigned part;
	uint32_t at;
	size_t pending;			/* bytes of an incomplete line */
	char bytes[BASE_SAFE_LINE + PIECE];	/* they, and what was read after them */
	char safe[4 * (BASE_SAFE_LINE + PIECE) + 64];
	uv_process_t process;
	uv_pipe_t in;
	uv_write_t req;
	unsigned handles;		/* that are open */
	bool running;			/* lp is */
	bool failed;			/* and that was logged */
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
log_failure(struct print *p, const char *why)
{
	if (!p->failed)
		fprintf(stderr, "pageknode: listing %s was not printed: %s\n",
		    base_shown(p->name), why);
	p->failed = true;
}

static void print_next(struct print *);

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
	print_next(p);
}

static bool
is_fed(const struct print *p)
{
	return uv_is_closing((const uv_handle_t *)&p->in) != 0;
}

static void
close_input(struct print *p)
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
		log_failure(p, why);
	} else if (!is_fed(p)) {
		log_failure(p, LP_UNFINISHED);
	}
	close_input(p);
	uv_close((uv_handle_t *)process, on_closed);
}

static void feed(struct print *);

/* May be called after the pipe was closed, even as a success: the spool may be gone. */
static void
on_fed(uv_write_t *req, int status)
{
	struct print *p = req->data;

	if (status == UV_ECANCELED || p->closing || is_fed(p))
		return;
	if (status < 0) {
		log_failure(p, LP_UNFINISHED);
		close_input(p);
		return;
	}
	feed(p);
}

static void
write_safe(struct print *p, size_t len)
{
	uv_buf_t buf = uv_buf_init(p->safe, (unsigned)len);

	p->req.data = p;
	if (uv_write(&p->req, (uv_stream_t *)&p->in, &buf, 1, on_fed) < 0) {
		log_failure(p, LP_UNFINISHED);
		close_input(p);
	}
}

static const struct spool_entry *
find_entry(const struct print *p)
{
	return p->spool == NULL ? NULL :
	    spool_find(p->spool, p->name, strlen(p->name));
}

static ssize_t
read_more(struct print *p)
{
	const struct spool_entry *e;
	struct spool_part of;
	ssize_t n;

	for (;;) {
		e = find_entry(p);
		if (e == NULL)
			return -ENOENT;
		if (p->part > e->parts)
			return 0;
		n = spool_read(p->spool, e, p->part, p->at,
		    p->bytes + p->pending, PIECE, &of);
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
	ssize_t n = read_more(p);
	size_t len, used;

	if (n < 0) {
		log_failure(p, strerror((int)-n));
		uv_process_kill(&p->process, SIGTERM);
	}
	if (n < 0 || (n == 0 && p->pending == 0)) {
		close_input(p);
		return;
	}
	p->pending += (size_t)n;
	len = base_safe_lines(p->safe, sizeof p->safe, p->bytes, p->pending,
	    n == 0, false, &used);
	p->pending -= used;
	memmove(p->bytes, p->bytes + used, p->pending);
	write_safe(p, len);
}

static void
feed_head(struct print *p, const struct spool_entry *e)
{
	size_t len = 0;

	base_append(p->safe, sizeof p->safe, &len,
	    "listing %s from %s\n%s\n\n", e->name, e->origin, e->title);
	write_safe(p, len);
}

static int
start_lp(struct print *p, const struct spool_entry *e)
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
		log_failure(p, r == UV_ENOENT ? "there is no program lp" :
		    uv_strerror(r));
		close_input(p);
		uv_close((uv_handle_t *)&p->process, on_closed);
		return r;
	}
	p->running = true;
	return 0;
}

static void
print_next(struct print *p)
{
	const struct spool_entry *e;

	if (p->name[0] != '\0' || p->n == 0)
		return;
	if (p->skipped > 0) {
		fprintf(stderr, "pageknode: %llu listings were not printed: "
		    "%d others waited\n", (unsigned long long)p->skipped,
		    PRINT_WAITING);
		p->skipped = 0;
	}
	strcpy(p->name, p->waiting[p->first]);
	p->first = (p->first + 1) % PRINT_WAITING;
	p->n--;
	p->part = 1;
	p->at = 0;
	p->pending = 0;
	p->failed = false;
	e = find_entry(p);
	if (e == NULL) {
		p->name[0] = '\0';
		print_next(p);
		return;
	}
	if (start_lp(p, e) == 0)
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
print_set_spool(struct print *p, const struct spool *spool)
{
	if (p != NULL)
		p->spool = spool;
}

void
print_add(struct print *p, const struct spool_entry *e)
{
	if (p->n == PRINT_WAITING) {
		p->skipped++;
		return;
	}
	strcpy(p->waiting[(p->first + p->n) % PRINT_WAITING], e->name);
	p->n++;
	print_next(p);
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
		log_failure(p, "the node ends");
		uv_process_kill(&p->process, SIGTERM);
		uv_close((uv_handle_t *)&p->process, on_closed);
	}
	close_input(p);
}
