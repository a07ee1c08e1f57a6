/*
 * The copy of a list, and its rows as text.
 *
 * Rows share their names, and names take time: listing_sort() finds the callers
 * and threads of all rows, so that the cell of each is made once.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../history/history.h"
#include "../layout/layout.h"
#include "../blocks/drain.h"
#include "../blocks/order.h"
#include "../rows/rows.h"
#include "list_copy.h"
#include "listing.h"

#define HEAD_MAX 6144
#define SPARE_ROWS 4096		/* a list may grow before it is copied */
#define COPY_NS 12000000	/* of a cycle, while rows are chosen */
#define THREADS 65536
#define DESCR_BYTES 128
#define THREAD_BYTES 160
#define CALL_BYTES 2100
#define ROW_BYTES 2600
#define STOP_EVERY 1024		/* rows between two looks at `stop` */

struct writer {
	int fd;
	int err;
	uint64_t done;
	size_t len;
	char text[256 * 1024];
};

struct caller {
	uint64_t key;
	char *text;		/* cell of a row; NULL: not known yet */
	bool settled;		/* no better text will come */
};

struct listing {
	bool begun;
	struct list_copy copy;	/* copy.take.found has the rows */
	struct nodes_look look;	/* only what rows are made of */
	struct stream_types types;
	struct blklist *infos;	/* requesters, and no blocks */
	char head[HEAD_MAX];
	char title[LISTING_TITLE];

	struct caller *caller;	/* ascending */
	size_t ncaller, lacking, next;
	char **thread;		/* cells by index; NULL: not known yet */
	uint16_t *wanted;	/* indices of the threads of the rows */
	size_t nwanted;
	size_t nameless;	/* threads whose name may still come */

	_Atomic uint64_t written;
	uint64_t bytes;
};

/* Origin, moment, the note's seven counters, and what is missing. */
struct head {
	char *text;
	size_t len;
	const struct page *page;
	const struct page_view *v;
	const struct list_copy *copy;
};

static void put_line(struct head *, const char *word, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void
put_line(struct head *h, const char *word, const char *fmt, ...)
{
	char text[1024], safe[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	base_safe_text(safe, sizeof safe, text, strlen(text),
	    h->page->opts.ascii);
	base_append(h->text, HEAD_MAX, &h->len, "%-9s %s\n", word,
	    safe);
}

static bool
is_of_one_moment(const struct nodes_look *look)
{
	return look->settled && !look->behind && !look->window;
}

static void
put_node(struct head *h)
{
	const struct nodes_look *look = h->v->look;
	char number[8];

	snprintf(number, sizeof number, "%04X", look->node.number);
	if (look->node.name == NULL || look->node.name[0] == '\0' ||
	    strcmp(look->node.name, number) == 0)
		put_line(h, "node", "%s", number);
	else
		put_line(h, "node", "%s %s", number, look->node.name);
}

static void
put_time(struct head *h)
{
	const struct nodes_look *look = h->v->look;
	char text[64];
	struct tm tm;

	if (look->node_wall_ms == 0) {
		put_line(h, "time", "not known");
		return;
	}
	page_wall(h->page, look, look->node_wall_ms, &tm);
	if (strftime(text, sizeof text, look->classic ?
	    "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M:%S %z", &tm) == 0)
		text[0] = '\0';
	put_line(h, "time", "%s", text);
}

static void
put_order(struct head *h)
{
	const struct page_opts *o = &h->copy->page.opts;
	bool reverse;
	enum page_sort sort = page_sorting_first(o, &reverse);

	/* A window is in one of the orders of the list itself. */
	if (h->v->look->window) {
		sort = page_list_order(o) == BLKLIST_BY_AGE ? PAGE_SORT_AGE :
		    PAGE_SORT_ADDRESS;
		reverse = page_list_reverse(o);
	}
	if (sort == PAGE_SORT_AGE)
		put_line(h, "order", "age, %s first", reverse ? "youngest" :
		    "oldest");
	else if (sort == PAGE_SORT_ADDRESS)
		put_line(h, "order", "address, %s first", reverse ? "highest" :
		    "lowest");
	else
		put_line(h, "order", "%s%s", page_sort_rows[sort].word, reverse ?
		    ", reversed" : "");
}

static void
put_filter(struct head *h, const struct page_chosen *s)
{
	const char *filter = page_row_filter_text(h->copy->filter);

	if (filter == NULL)
		return;
	put_line(h, "filter", "%s", filter);
	put_line(h, "rows", "%s: %s%s blocks of %s%s",
	    base_digits(h->copy->take.found.n).text,
	    page_about(h->v->look->sample), base_digits(s->blocks).text,
	    page_about(h->v->look->sample), base_digits(s->of).text);
	if (s->unsure > 0)
		put_line(h, "unsure", "%s blocks lack names that the filter "
		    "needs", base_digits(s->unsure).text);
}

static void
put_extent(struct head *h, uint64_t first, uint64_t there)
{
	const struct nodes_look *look = h->v->look;
	uint64_t total = page_view_total(h->v);
	char sample[PAGE_SAMPLE_TEXT];

	if (is_of_one_moment(look))
		put_line(h, "as of", "record %s", base_digits(look->as_of).text);
	else
		put_line(h, "as of", "no single record: the list was being "
		    "read");
	if (look->window)
		put_line(h, "list", "NOT WHOLE: %s of %s blocks, from offset "
		    "%s on; records come faster than they can be read",
		    base_digits(there).text, base_digits(total).text,
		    base_digits(first).text);
	else
		put_line(h, "list", "%s", is_of_one_moment(look) ? "whole" :
		    "NOT OF ONE MOMENT");
	if (look->sample == 0) {
		put_line(h, "blocks", "%s", base_digits(total).text);
		put_line(h, "bytes", "%s",
		    base_digits(h->v->counts->live_bytes).text);
		return;
	}
	page_sample_text(look->sample, sample);
	put_line(h, "sample", "%s: %s blocks listed stand for about %s",
	    sample, base_digits(total).text,
	    base_digits(page_view_blocks(h->v)).text);
	put_line(h, "bytes", "about %s",
	    base_digits(page_view_bytes(h->v)).text);
}

static void
put_counters(struct head *h)
{
	const struct blklist_counts *c = h->v->counts;
	const struct nodes_look *look = h->v->look;
	struct nodes_errors errors = page_errors(look, c);
	char cost[12];

	page_cost_text(cost, h->page->numbers.cost_us);
	put_line(h, "cycle", "%s, %s records", cost,
	    base_digits(look->work.cycle_records).text);
	put_line(h, "entries", "%s active, %s free",
	    base_digits(c->aRecActive).text,
	    base_digits(c->aRecMax - c->aRecActive).text);
	put_line(h, "errors", "%s illegal types, %s duplicates, %s times "
	    "full, %s unknown frees, %s bad records",
	    base_digits(errors.illegal_type).text,
	    base_digits(errors.duplicate).text,
	    base_digits(look->loss.full).text,
	    base_digits(errors.unknown_free).text,
	    base_digits(look->loss.bad_records).text);
}

static void
put_lost(struct head *h, const struct page_state *st)
{
	const struct nodes_look *look = h->v->look;
	char lack[PAGE_LACK_TEXT];

	put_line(h, "lost", "%s", base_digits(page_lost_for_good(look) +
	    look->loss.before_list).text);
	page_lack_text(look, lack);
	put_line(h, "complete", "%s%s", look->complete ? "yes" : "NO: ",
	    look->complete ? "" : lack);
	if (st->notice[0] != '\0')
		put_line(h, "notice", "%s", st->notice);
}

static void
put_head(struct listing *l, const struct page *page,
    const struct page_view *v, uint64_t first,
    const struct page_chosen *chosen)
{
	struct head h = { .text = l->head, .page = page, .v = v,
		.copy = &l->copy };
	char target[PAGE_TARGET_TEXT];
	struct page_view then = *v;
	struct page paused = *page;
	struct page_state st;

	l->head[0] = '\0';
	/* The state of a paused view is that of the pause. */
	then.live = then.look;
	paused.numbers.hz = 0;
	page_state_get(&paused, &then, &st);
	page_target_text(v->look, target);
	base_append(l->head, HEAD_MAX, &h.len, LISTING_HEAD_TITLE);
	put_node(&h);
	if (target[0] != '\0')
		put_line(&h, "target", "%s", target);
	put_line(&h, "state", "%s", st.word);
	put_time(&h);
	put_order(&h);
	put_extent(&h, first, chosen->of);
	put_filter(&h, chosen);
	put_counters(&h);
	put_lost(&h, &st);
	base_append(l->head, HEAD_MAX, &h.len, "\n");
	snprintf(l->title, sizeof l->title, "%04X%s%s", v->look->node.number,
	    target[0] != '\0' ? " " : "", target);
}

/* In the same order, so that they keep their numbers. */
static int
copy_infos(struct listing *l, const struct blklist *from)
{
	const struct blklist_info *entry;
	uint16_t i;

	for (i = 1; (entry = blklist_info_get(from, i)) != NULL; i++)
		if (blklist_info_intern(l->infos, entry) != i)
			return -ENOMEM;
	return 0;
}

/* Memory for so many rows, whose contents are not kept. */
static int
make_room(struct listing *l, uint64_t rows)
{
	struct page_collection *f = &l->copy.take.found;
	struct blk *blk;

	if (rows <= f->cap)
		return 0;
	blk = reallocarray(NULL, (size_t)rows, sizeof *blk);
	if (blk == NULL)
		return -ENOMEM;
	free(f->blk);
	f->blk = blk;
	f->cap = (size_t)rows;
	return 0;
}

int
listing_room(struct listing *l, uint64_t blocks)
{
	int r = make_room(l, blocks + blocks / 8 + SPARE_ROWS);

	/* Page faults are half of what a copy costs. */
	if (r == 0)
		memset(l->copy.take.found.blk, 0, l->copy.take.found.cap *
		    sizeof *l->copy.take.found.blk);
	return r;
}

static void
copy_look(struct listing *l, const struct page_view *v)
{
	const struct nodes_look *look = v->look;

	l->look = (struct nodes_look){
		.list = l->infos,
		.stream_no = look->stream_no,
		.classic = look->classic,
		.now_ms = look->now_ms,
	};
	if (look->types != NULL) {
		l->types = *look->types;
		l->look.types = &l->types;
	}
}

int
listing_new(struct listing **out)
{
	struct listing *l = calloc(1, sizeof *l);
	int r;

	if (l == NULL)
		return -ENOMEM;
	r = blklist_new(&l->infos, BLKLIST_WINDOWED, 1);
	if (r < 0) {
		free(l);
		return r;
	}
	*out = l;
	return 0;
}

static int
copy_rows(struct listing *l, const struct page *page,
    const struct page_view *v, uint64_t first, struct page_chosen *sums)
{
	const struct page_opts *o = &page->opts;
	struct page_collection *f = &l->copy.take.found;
	uint64_t n = v->look->window ? BLKLIST_WINDOW_MAX :
	    page_view_total(v);
	int r = make_room(l, n + 1);

	if (r < 0)
		return r;
	f->n = blklist_window(v->look->list, page_list_order(o),
	    page_list_reverse(o), first, f->blk, (size_t)n);
	sums->of = f->n;
	if (v->look->window) {
		page_choice_begin(page, v);
		f->n = page_choice_keep(page, f->blk, f->n);
		sums->unsure = page_choice_unsure(page);
	}
	sums->blocks = f->n;
	return 1;
}

/* A drain, or a list that was never whole, is filtered and sorted at once. */
static bool
is_at_once(const struct page *page, const struct page_view *v)
{
	return page_is_draining(page) || (v->look == v->live &&
	    (!v->look->settled || v->look->behind));
}

/* 1: all rows are there; 0: with the next picture. */
static int
copy_list(struct listing *l, struct page *page, struct page_view *v,
    uint64_t first, struct page_chosen *sums)
{
	struct page_collection *f = &l->copy.take.found;
	int r;

	if (l->copy.page.paused == NULL &&
	    (!page_choice_on(page) || v->look->window))
		return copy_rows(l, page, v, first, sums);
	if (l->copy.page.paused == NULL && is_at_once(page, v)) {
		page_collection_fini(f);
		r = page_choice_whole(page, v, f);
		r = r < 0 ? r : 1;
	} else {
		r = list_copy_next(&l->copy, v, COPY_NS);
	}
	page_collection_sums(f, sums);
	return r;
}

int
listing_take(struct listing *l, struct page *page, const struct page_view *now)
{
	struct page_view then = *now, *v = &then;
	uint64_t first = v->look->window ? page->offs : 0;
	struct page_chosen sums = { 0 };
	int r = l->begun ? 0 : list_copy_begin(&l->copy, page);

	if (r < 0)
		return r;
	l->begun = true;
	if (v->look->list != NULL) {
		r = copy_list(l, page, v, first, &sums);
		if (r == 1)
			r = copy_infos(l, v->look->list);
		else if (r == 0)
			r = -EAGAIN;
	}
	if (r < 0)
		return r;
	copy_look(l, v);
	put_head(l, page, v, first, &sums);
	page_resume(&l->copy.page);
	return 0;
}

void
listing_free(struct listing *l)
{
	size_t i;

	if (l == NULL)
		return;
	for (i = 0; i < l->ncaller; i++)
		free(l->caller[i].text);
	for (i = 0; i < l->nwanted; i++)
		free(l->thread[l->wanted[i]]);
	free(l->caller);
	free(l->thread);
	free(l->wanted);
	list_copy_fini(&l->copy);
	blklist_free(l->infos);
	free(l);
}

static int
by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int
sort_threads(struct listing *l)
{
	const struct page_collection *f = &l->copy.take.found;
	uint8_t *seen = calloc(THREADS, 1);
	size_t i, n = 0;

	l->thread = calloc(THREADS, sizeof *l->thread);
	if (seen == NULL || l->thread == NULL)
		goto fail;
	for (i = 0; i < f->n; i++) {
		n += !seen[f->blk[i].thread];
		seen[f->blk[i].thread] = 1;
	}
	l->wanted = calloc(n + 1, sizeof *l->wanted);
	if (l->wanted == NULL)
		goto fail;
	for (i = 1; i < THREADS; i++)
		if (seen[i])
			l->wanted[l->nwanted++] = (uint16_t)i;
	l->nameless = l->nwanted;
	free(seen);
	return 0;
fail:
	free(seen);
	return -ENOMEM;
}

int
listing_sort(struct listing *l, const atomic_bool *stop)
{
	const struct page_collection *f = &l->copy.take.found;
	uint64_t *key = malloc((f->n + 1) * sizeof *key);
	size_t i, n = 0;
	int r;

	if (key == NULL)
		return -ENOMEM;
	/* Blocks of one caller often lie side by side. */
	for (i = 0; i < f->n; i++)
		if (f->blk[i].caller != 0 &&
		    (n == 0 || key[n - 1] != f->blk[i].caller))
			key[n++] = f->blk[i].caller;
	r = atomic_load(stop) ? -ECANCELED : sort_threads(l);
	if (r < 0)
		goto out;
	if (n > 1)
		qsort(key, n, sizeof *key, by_number);
	r = -ENOMEM;
	l->caller = calloc(n + 1, sizeof *l->caller);
	if (l->caller == NULL)
		goto out;
	for (i = 0; i < n; i++)
		if (i == 0 || key[i] != key[i - 1])
			l->caller[l->ncaller++].key = key[i];
	l->lacking = l->ncaller;
	r = 0;
out:
	free(key);
	return r;
}

static void
name_threads(struct listing *l, const struct page_view *v)
{
	char cell[THREAD_BYTES];
	const char *name;
	size_t i, n = 0;

	for (i = 0; i < l->nwanted; i++) {
		if (l->thread[l->wanted[i]] != NULL)
			continue;
		name = v->thread(v->arg, l->wanted[i]);
		if (name[0] == '\0') {
			n++;
			continue;
		}
		page_row_thread(&l->copy.page, name, cell, sizeof cell);
		l->thread[l->wanted[i]] = strdup(cell);
	}
	/* A thread without a name is not waited for once all is answered. */
	l->nameless = v->pending > 0 ? n : 0;
}

static void
name_caller(struct listing *l, const struct page_view *v, struct caller *c)
{
	char cell[CALL_BYTES], *text;

	c->settled = page_row_call(&l->copy.page, v, c->key, cell, sizeof cell);
	l->lacking -= c->settled;
	if (cell[0] == '\0')
		return;
	/* Without memory, the row has no name. */
	text = strdup(cell);
	free(c->text);
	c->text = text;
}

bool
listing_names(struct listing *l, const struct page_view *v, size_t most)
{
	size_t i;

	if (v->look->stream_no != l->look.stream_no)
		return true;
	name_threads(l, v);
	for (i = 0; i < l->ncaller && most > 0 && l->lacking > 0; i++) {
		struct caller *c = &l->caller[l->next];

		l->next = l->next + 1 < l->ncaller ? l->next + 1 : 0;
		if (c->settled)
			continue;
		name_caller(l, v, c);
		most--;
	}
	return l->lacking == 0 && l->nameless == 0;
}

size_t
listing_lacking(const struct listing *l, size_t *all)
{
	*all = l->ncaller;
	return l->lacking;
}

size_t
listing_nameless(const struct listing *l)
{
	return l->nameless;
}

static void
flush_writer(struct writer *w)
{
	if (w->err == 0)
		w->err = base_write_all(w->fd, w->text, w->len);
	w->done += w->len;
	w->len = 0;
}

static void
put_bytes(struct writer *w, const char *text, size_t len)
{
	size_t n;

	for (; len > 0; text += n, len -= n) {
		if (w->len == sizeof w->text)
			flush_writer(w);
		n = sizeof w->text - w->len;
		n = n < len ? n : len;
		memcpy(w->text + w->len, text, n);
		w->len += n;
	}
}

static int
by_key(const void *key, const void *caller)
{
	const struct caller *c = caller;

	return by_number(key, &c->key);
}

static const char *
call_of(const struct listing *l, uint64_t caller)
{
	const struct caller *c = NULL;

	if (caller != 0 && l->ncaller > 0)
		c = bsearch(&caller, l->caller, l->ncaller, sizeof *c, by_key);
	return c != NULL && c->text != NULL ? c->text : "";
}

static const char *
thread_of(const struct listing *l, uint16_t thread, const char *none)
{
	return l->thread != NULL && l->thread[thread] != NULL ?
	    l->thread[thread] : none;
}

/* Many rows have the same type; a requester is rare. */
static const char *
descr_of(const struct listing *l, const struct blk *b,
    char (*types)[DESCR_BYTES], char requester[DESCR_BYTES])
{
	char *cell = b->info == 0 ? types[b->type] : requester;

	if (cell == requester || cell[0] == '\0')
		page_row_descr(&l->copy.page, &l->look, b, cell, DESCR_BYTES);
	return cell;
}

static int
put_rows(struct listing *l, struct writer *w, const atomic_bool *stop)
{
	char (*types)[DESCR_BYTES] = calloc(256, sizeof *types);
	char text[ROW_BYTES], none[THREAD_BYTES], requester[DESCR_BYTES];
	struct page_row_names names = { .units = PAGE_UNITS_EXACT };
	const struct page_collection *f = &l->copy.take.found;
	size_t i, len;

	if (types == NULL)
		return -ENOMEM;
	page_row_thread(&l->copy.page, "", none, sizeof none);
	for (i = 0; i < f->n && w->err == 0; i++) {
		const struct blk *b = page_collection_row(f, i);

		if (i % STOP_EVERY == 0) {
			atomic_store(&l->written, i);
			if (atomic_load(stop))
				break;
		}
		names.descr = descr_of(l, b, types, requester);
		names.thread = thread_of(l, b->thread, none);
		names.call = call_of(l, b->caller);
		page_row_put(&l->look, b, &names, text, sizeof text - 1);
		len = strlen(text);
		text[len++] = '\n';
		put_bytes(w, text, len);
	}
	free(types);
	if (i < f->n)
		return w->err < 0 ? w->err : -ECANCELED;
	return 0;
}

int
listing_write(struct listing *l, int fd, const atomic_bool *stop)
{
	struct writer *w = malloc(sizeof *w);
	char text[ROW_BYTES];
	int r;

	if (w == NULL)
		return -ENOMEM;
	w->fd = fd;
	w->err = 0;
	w->done = w->len = 0;
	put_bytes(w, l->head, strlen(l->head));
	page_row_heading(&l->copy.page, text, sizeof text);
	put_bytes(w, text, strlen(text));
	put_bytes(w, "\n", 1);
	r = put_rows(l, w, stop);
	if (r == 0)
		flush_writer(w);
	if (r == 0)
		r = w->err;
	atomic_store(&l->written, l->copy.take.found.n);
	l->bytes = w->done;
	free(w);
	return r;
}

uint64_t
listing_rows(const struct listing *l)
{
	return l->copy.take.found.n;
}

uint64_t
listing_written(const struct listing *l)
{
	return atomic_load(&l->written);
}

uint64_t
listing_bytes(const struct listing *l)
{
	return l->bytes;
}

void
listing_title(const struct listing *l, char out[LISTING_TITLE])
{
	snprintf(out, LISTING_TITLE, "%s", l->title);
}
