#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../cli/capture_target.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../documents/documents.h"
#include "../layout/layout.h"
#include "../panels/nodes_page.h"
#include "../blocks/choice.h"
#include "../blocks/free_blocks.h"
#include "../groups/groups.h"
#include "batch.h"

#define COLUMNS_DEFAULT 80
#define LINES_DEFAULT 24
#define NAMES_WAIT_MS 300
#define AGAIN_MS 100		/* until names are requested again */

static int
number_in_environment(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long n;

	if (text == NULL || text[0] == '\0')
		return 0;
	n = strtol(text, &end, 10);
	return *end == '\0' && n > 0 && n <= PAGE_COLS_MAX ? (int)n : 0;
}

static void
size_of(FILE *out, int *cols, int *lines)
{
	struct winsize ws;

	*cols = COLUMNS_DEFAULT;
	*lines = LINES_DEFAULT;
	if (ioctl(fileno(out), TIOCGWINSZ, &ws) < 0)
		return;
	if (ws.ws_col > 0)
		*cols = ws.ws_col;
	if (ws.ws_row > 0)
		*lines = ws.ws_row;
}

int
batch_columns(FILE *out)
{
	int cols, lines, wanted = number_in_environment("COLUMNS");

	size_of(out, &cols, &lines);
	return wanted > 0 ? wanted : cols;
}

int
batch_terminal_columns(FILE *out)
{
	return isatty(fileno(out)) ? batch_columns(out) : 0;
}

int
batch_lines(FILE *out)
{
	int cols, lines, wanted = number_in_environment("LINES");

	size_of(out, &cols, &lines);
	return wanted > 0 ? wanted : lines;
}

bool
batch_ascii(const struct options *o)
{
	return o->page.ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

static bool
is_gone(struct nodes_session *s)
{
	const struct nodes_look *look = nodes_session_look(s);

	return !look->link.up && !look->link.returns;
}

static bool
no_names_pending(void *arg)
{
	return nodes_session_symbols_pending(arg) == 0 || is_gone(arg);
}

int
batch_filter(const struct options *o, struct page_row_filter **out)
{
	*out = NULL;
	return o->filter.compiled != NULL ?
	    page_row_filter_borrow(out, o->filter.compiled) : 0;
}

void
batch_view(struct page_view *v, const struct page *page,
    struct nodes_session *s)
{
	page_view_live(v, s);
	v->wrappers = page->opts.wrappers;
	v->refcnt = page->opts.refcnt;
}

struct row_scan {
	struct nodes_session *s;
	const struct page_opts *opts;
	struct page_row_filter *sieve;
	uint64_t limit;			/* 0: all */
	bool named;			/* add blocks whose names the filter needs */
	uint64_t rows;			/* so far */
};

static int
add_row(struct row_scan *t, const struct blk *b, struct profile *p)
{
	bool let = page_row_filter_matches(t->sieve, b) &&
	    (t->limit == 0 || t->rows < t->limit);

	t->rows += let;
	if (!let && !(t->named && page_row_filter_used_name(t->sieve)))
		return 0;
	nodes_session_thread(t->s, b->thread);
	return profile_add(p, b->caller, b->size, b->ms);
}

static int
scan_rows(struct row_scan *t, struct profile *p)
{
	const struct nodes_look *look = nodes_session_look(t->s);
	struct page_view v;
	struct blk rows[256];
	uint64_t offs = 0;
	size_t n, i;
	int r;

	page_view_live(&v, t->s);
	v.wrappers = t->opts->wrappers;
	v.refcnt = t->opts->refcnt;
	page_row_filter_begin(t->sieve, &v);
	t->rows = 0;
	profile_restart(p);
	while ((n = blklist_window(look->list, page_list_order(t->opts),
	    page_list_reverse(t->opts), offs, rows, BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n; i++) {
			r = add_row(t, &rows[i], p);
			if (r < 0)
				return r;
		}
		offs += n;
		/* With a filter, the remaining blocks are still counted. */
		if (t->sieve == NULL && t->rows == t->limit && t->limit > 0)
			break;
	}
	return 0;
}

static void
await_names(uv_loop_t *loop, struct nodes_session *s, int64_t left_ms)
{
	if (no_names_pending(s))
		pump(loop, s, left_ms < AGAIN_MS ? (int)left_ms : AGAIN_MS,
		    NULL, NULL);
	else
		pump(loop, s, (int)left_ms, no_names_pending, s);
}

/* Waits for the rows' names; returns how many are missing. */
static int
await_rows(uv_loop_t *loop, struct row_scan *t, int timeout_ms,
    struct profile *p)
{
	struct profile_words words = nodes_profile_words;
	bool listed = nodes_session_look(t->s)->listed;
	struct mono begun = mono_now();
	int64_t left;
	int r;

	words.arg = t->s;
	for (;;) {
		/* After a reconnection, wait for the new list. */
		left = timeout_ms - mono_ms_since(begun);
		if (listed && !nodes_session_look(t->s)->listed && left > 0)
			pump_settled(loop, t->s, (int)left);
		r = scan_rows(t, p);
		if (r == 0)
			r = profile_resolve(p, &words);
		left = timeout_ms - mono_ms_since(begun);
		if (r < 0 || (r == 0 && no_names_pending(t->s)) || left <= 0 ||
		    is_gone(t->s))
			break;
		await_names(loop, t->s, left);
	}
	if (r < 0 || !t->named)
		return r;
	t->named = false;
	r = scan_rows(t, p);
	return r < 0 ? r : profile_resolve(p, &words);
}

static void
report_unsure(const struct page_row_filter *sieve)
{
	uint64_t unsure = page_row_filter_sums(sieve).unsure;

	if (unsure > 0)
		notice("the filter needs names that are unknown for %s %s; "
		    "they count as blocks without a name",
		    base_digits(unsure).text, unsure == 1 ? "block" :
		    "blocks");
}

int
batch_profile(uv_loop_t *loop, struct nodes_session *s,
    const struct page_opts *opts, struct page_row_filter *sieve, uint64_t limit,
    int timeout_ms, struct profile **out, size_t *lacking)
{
	/* If rows are sorted by name, all names are needed. */
	struct row_scan t = { .s = s, .opts = opts, .sieve = sieve,
	    .limit = page_sorting_native(opts) ? limit : 0,
	    .named = page_row_filter_wants_names(sieve) };
	struct profile *p;
	int r;

	r = profile_new(&p);
	if (r < 0)
		return r;
	profile_set_wrappers(p, opts->wrappers);
	r = await_rows(loop, &t, timeout_ms, p);
	if (r < 0) {
		profile_free(p);
		return r;
	}
	report_unsure(sieve);
	*out = p;
	*lacking = (size_t)r;
	return 0;
}

int
batch_await_names(uv_loop_t *loop, struct nodes_session *s, struct profile *p,
    int timeout_ms, size_t *lacking)
{
	struct profile_words words = nodes_profile_words;
	const struct nodes_look *look = nodes_session_look(s);
	uint32_t stream_no = look->stream_no;
	struct mono begun = mono_now();
	int64_t left;
	int r;

	words.arg = s;
	for (;;) {
		if (look->stream_no != stream_no)
			return -ESTALE;
		r = profile_resolve(p, &words);
		left = timeout_ms - mono_ms_since(begun);
		if (r <= 0 || left <= 0 || is_gone(s))
			break;
		await_names(loop, s, left);
	}
	if (r < 0)
		return r;
	*lacking = (size_t)r;
	return 0;
}

void
batch_report_names(const struct options *o, struct nodes_session *s,
    size_t lacking, size_t of)
{
	const char *fetching = nodes_session_fetching(s);

	if (lacking == 0)
		return;
	notice("names of %s of %s stacks are missing after %g s%s%s; they are "
	    "shown as module+offset", base_digits(lacking).text,
	    base_digits(of).text,
	    o->timeout_ms / 1000.0, fetching[0] != '\0' ? ", fetching " : "",
	    fetching);
}

void
batch_request_rows(const struct page *page, struct nodes_session *s, int rows)
{
	struct nodes_view view = {
		.order = page_list_order(&page->opts),
		.reverse = page_list_reverse(&page->opts),
		.rows = (uint32_t)rows,
	};
	/* Free blocks are the gaps between all blocks. */
	bool all = page->group.kind != 0 || page_choice_on(page) ||
	    page_free_wanted(page, nodes_session_look(s));

	nodes_session_view(s, all ? NULL : &view);
}

void
batch_put(FILE *out, const struct page_picture *pic)
{
	int i;

	for (i = 0; i < pic->rows && output_going(out); i++)
		fprintf(out, "%s\n", pic->line[i].text);
}

int
batch_print(FILE *out, uv_loop_t *loop, struct page *page,
    struct nodes_session *s, int rows)
{
	struct page_picture pic = { 0 };
	int cols = batch_columns(out), err;

	if (rows > 0)
		batch_request_rows(page, s, rows);
	err = page_compose(page, s, cols, rows, &pic);
	if (err == 0 && !no_names_pending(s)) {
		pump(loop, s, NAMES_WAIT_MS, no_names_pending, s);
		err = page_compose(page, s, cols, rows, &pic);
	}
	if (err == 0)
		batch_put(out, &pic);
	page_picture_fini(&pic);
	return err;
}

/* A file has bytes that are no record. */
static bool
is_damaged(const struct options *o, const struct nodes_look *look)
{
	return look->listed && !look->complete && target_is_file(o) &&
	    (page_lost(look) > 0 || look->loss.full == 0);
}

/* The output cannot show that it is incomplete, as pictures and objects do. */
static bool
has_only_rows(const struct options *o)
{
	return o->format == FORMAT_CSV || (o->format == FORMAT_TEXT &&
	    command_in(o->command, GROUP_ROWS) &&
	    !command_in(o->command, GROUP_SCREEN));
}

static const char *
why_incomplete(const struct nodes_look *look)
{
	static const char general[] = "records were lost";
	const char *lack = stream_lack_text(page_lost(look), look->loss.full,
	    look->loss.doubt);

	return lack[0] != '\0' ? lack : general;
}

void
batch_report_loss(const struct options *o, const struct nodes_look *look)
{
	char text[PAGE_LOST_TEXT];
	struct page page;

	/* batch_status() reports the other cases. */
	if (!has_only_rows(o) || !look->listed || look->complete ||
	    option_on(o, OPTION_STRICT) || is_damaged(o, look))
		return;
	page_init(&page, &o->page);
	page_lost_text(&page, look, text);
	page_fini(&page);
	notice("%s", text);
}

void
batch_report_end(const struct nodes_look *look)
{
	char target[PAGE_TARGET_TEXT];

	if (look->state != NODES_ENDED || look->target.pid <= 0)
		return;
	page_target_text(look, target);
	notice("%s has ended: these are its last blocks", target);
}

int
batch_status(const struct options *o, const struct nodes_look *look)
{
	int status = PAGEK_OK;

	switch (look->state) {
	case NODES_LIVE:
	case NODES_ENDED:
		break;
	case NODES_DORMANT:
		complain("DORMANT: it logs nothing until it is armed, by the "
		    "page or by 'pagek arm'");
		return PAGEK_NO_TARGET;
	case NODES_CONNECTING:
		complain("no answer within %d s", o->timeout_ms / 1000);
		return PAGEK_TIMEOUT;
	case NODES_UNREACHABLE:
		if (look->link.up) {
			complain("no answer within %d s", o->timeout_ms / 1000);
			return PAGEK_TIMEOUT;
		}
		status = PAGEK_NO_TARGET;
		break;
	case NODES_NO_DATA:
	case NODES_NO_ALLOCLOG:
		status = PAGEK_NO_TARGET;
		break;
	case NODES_DENIED:
		status = PAGEK_DENIED;
		break;
	case NODES_CORRUPT:
	case NODES_VERSION:
		status = PAGEK_FORMAT;
		break;
	}
	if (status != PAGEK_OK) {
		complain("%s%s%s", page_state_name(look->state),
		    look->reason[0] != '\0' ? ": " : "", look->reason);
		return status;
	}
	if (!look->listed) {
		complain("the list was not whole within %d s",
		    o->timeout_ms / 1000);
		return PAGEK_TIMEOUT;
	}
	if (capture_target_damage(look)[0] != '\0') {
		complain("the capture is damaged: %s; what could be read is "
		    "shown", capture_target_damage(look));
		return PAGEK_FORMAT;
	}
	if (option_on(o, OPTION_STRICT) && !look->complete) {
		complain("the list is incomplete: %s", why_incomplete(look));
		return PAGEK_INCOMPLETE;
	}
	if (is_damaged(o, look)) {
		complain("damaged: %s; blocks may be missing, blocks listed may "
		    "be freed", look->reason);
		return PAGEK_FORMAT;
	}
	return PAGEK_OK;
}

int
batch_names_ms(const struct batch *b)
{
	return b->once ? b->o->timeout_ms : NAMES_WAIT_MS;
}

/*
 * Further pictures would be the same.  First waits for a list that is being
 * received again, or for a lost link.
 */
static bool
has_no_more(const struct batch *b)
{
	const struct nodes_look *look;
	bool ended;

	if (b->session == NULL)
		return false;
	look = nodes_session_look(b->session);
	ended = look->state == NODES_ENDED || look->state == NODES_CORRUPT ||
	    page_time_stands(look);
	if (!ended && look->link.up)
		return false;
	pump_settled(b->loop, b->session, b->o->timeout_ms);
	return ended || !nodes_session_look(b->session)->link.up;
}

/* The target has ended, and how is known: that record comes later. */
static bool
has_ended(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->state == NODES_ENDED ? look->reason[0] != '\0' :
	    look->state != NODES_LIVE && look->state != NODES_CONNECTING;
}

void
batch_await_end(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s)
{
	if (target_is_read_to_its_end(o))
		pump(loop, s, o->timeout_ms, has_ended, s);
}

static int
print_repeatedly(struct batch *b, const struct page_text_ops *text,
    unsigned needs)
{
	const struct options *o = b->o;
	struct pace pace;
	int err;

	pace_begin(&pace, o);
	/* Print one picture, however short the duration. */
	if ((needs & PAGE_NEEDS_INTERVAL) != 0 && !b->at_once)
		(void)pace_wait(&pace, b->loop, b->session, NULL, NULL);
	for (;;) {
		err = text->print(b);
		if (err < 0 || !output_flush(b->out) || has_no_more(b))
			return err;
		if (b->session != NULL)
			tell_target(o, nodes_session_look(b->session));
		b->n = ++pace.n;
		if (!pace_wait(&pace, b->loop, b->session, NULL, NULL))
			break;
		if (!options_as_data(o))
			fputc('\n', b->out);
	}
	/* A list that is being received again is no loss. */
	if (b->session != NULL)
		pump_settled(b->loop, b->session, o->timeout_ms);
	return 0;
}

static int
print_all(struct batch *b, const struct page_text_ops *text, unsigned needs)
{
	int err = text->begin != NULL ? text->begin(b) : 0;

	if (err < 0)
		return err == -EAGAIN ? 0 : err;
	if (!b->once)
		return print_repeatedly(b, text, needs);
	if ((needs & PAGE_NEEDS_INTERVAL) != 0 && !b->at_once)
		pump(b->loop, b->session, b->o->repeat.interval_ms, NULL, NULL);
	return text->print(b);
}

int
batch_top(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    const struct page_text_ops *text, unsigned needs)
{
	struct page page;
	struct json j;
	struct batch b = { .o = o, .loop = loop, .session = s, .page = &page,
		.json = &j, .once = option_given(o, OPTION_ONCE) };
	int err, status;

	b.out = output_open(o->output);
	if (b.out == NULL)
		return PAGEK_FAILED;
	page_init(&page, &o->page);
	options_session(o, &page.opts.session);
	page.medium = PAGE_WHOLE;
	json_open(&j, b.out, o);
	if (s != NULL) {
		pump_settled(loop, s, o->timeout_ms);
		tell_target(o, nodes_session_look(s));
	}
	err = print_all(&b, text, needs);
	page_fini(&page);
	if (err < 0)
		complain("cannot %s: %s", text->verb != NULL ?
		    text->verb : "make the picture", strerror(-err));
	status = output_close(b.out, o->output, err < 0 ? PAGEK_FAILED :
	    PAGEK_OK);
	if (err == 0 && (needs & PAGE_NEEDS_LIST) != 0)
		batch_report_loss(o, nodes_session_look(s));
	if (status == PAGEK_OK)
		status = b.status;
	if (status == PAGEK_OK)
		status = text->status != NULL ? text->status(&b) :
		    batch_status(o, nodes_session_look(s));
	if (text->end != NULL)
		text->end(&b);
	return status;
}

static void
no_news(void *arg)
{
	(void)arg;
}

int
batch_open(const struct options *o, uv_loop_t *loop, nodes_news_cb news,
    void *arg, struct nodes_link **linkp, struct nodes_session **sp)
{
	struct nodes_session_opts opts = { 0 };
	struct nodes_link *link = NULL;
	char why[512];
	int status, err;

	options_session(o, &opts);
	status = target_open(o, loop, &link, &opts, why, sizeof why);
	if (status != PAGEK_OK) {
		complain("%s", why);
		return status;
	}
	if (why[0] != '\0')
		notice("%s", why);
	err = nodes_session_open(sp, link, &opts, news, arg);
	if (err < 0) {
		complain("cannot watch: %s", strerror(-err));
		pump_down(loop, NULL, link);
		return PAGEK_FAILED;
	}
	pump_settled(loop, *sp, o->timeout_ms);
	tell_target(o, nodes_session_look(*sp));
	*linkp = link;
	return PAGEK_OK;
}

int
batch_visit(const struct options *o, uv_loop_t *loop,
    bool (*fits)(const struct nodes_look *),
    int (*run)(const struct options *, uv_loop_t *, struct nodes_session *))
{
	struct refcnt_reader refcnt = { .plane = REFCNT_WIDE };
	const struct nodes_look *look;
	struct nodes_session *s;
	struct nodes_link *link;
	struct options with;
	int status;

	status = batch_open(o, loop, no_news, NULL, &link, &s);
	if (status != PAGEK_OK)
		return status;
	batch_await_end(o, loop, s);
	look = nodes_session_look(s);
	if (fits(look)) {
		batch_add_refcnt(o, loop, s, &refcnt, &with);
		status = run(&with, loop, s);
	} else {
		status = batch_status(o, look);
	}
	refcnt_reader_fini(&refcnt);
	pump_down(loop, s, link);
	return status;
}

bool
batch_has_list(const struct nodes_look *look)
{
	return look->listed && look->state != NODES_DORMANT;
}

int
batch_watch(const struct options *o, uv_loop_t *loop,
    int (*run)(const struct options *, uv_loop_t *, struct nodes_session *))
{
	return batch_visit(o, loop, batch_has_list, run);
}

#define EVERY_MS 1000		/* rates are of that interval */

static bool
have_answered(void *arg)
{
	return nodes_survey_settled(arg);
}

int
batch_ask_nodes(const struct options *o, uv_loop_t *loop,
    struct nodes_survey **out, bool *complete)
{
	struct nodes_survey_opts opts = { .user = true, .remote = o->remote,
		.every_ms = EVERY_MS, .say = complain_said };
	int r;

	r = nodes_survey_open(out, loop, &opts);
	if (r < 0)
		return r;
	*complete = pump(loop, NULL, o->timeout_ms, have_answered, *out);
	return 0;
}

int
batch_nodes_status(struct nodes_survey *survey)
{
	size_t n, i;
	const struct nodes_surveyed *const *row = nodes_survey_look(survey,
	    &n);

	/* A slow node may have accepted the link without an answer. */
	for (i = 0; i < n; i++)
		if (page_how_answers(row[i]->how) && row[i]->seen_ms >= 0)
			return PAGEK_OK;
	complain("no node answers");
	return PAGEK_NO_TARGET;
}
