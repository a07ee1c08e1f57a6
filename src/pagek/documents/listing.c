/*
 * The copy of a list, and its rows as text.
 *
 * A row is mostly names that many rows share, and they are what takes time:
 * those of callers and threads are made once each.  So the copy is sorted
 * first: which ones are they?
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../difference/marks.h"
#include "../history/history.h"
#include "../layout/layout.h"
#include "../rows/choice.h"
#include "../rows/order.h"
#include "../rows/rows.h"

#include "listing.h"

#define HEAD_MAX 6144
#define SPARE_ROWS 4096		/* a list may grow before it is copied */
#define TAKE_NS 12000000		/* of a cycle, while rows are chosen */
#define THREADS 65536
#define DESCR_BYTES 128
#define THREAD_BYTES 160
#define CALL_BYTES 2100
#define ROW_BYTES 2600
#define TOLD_EVERY 1024		/* rows between looks at who may want an end */

/* Text on its way into a descriptor. */
struct writer {
	int fd;
	int err;
	uint64_t done;
	size_t len;
	char text[256 * 1024];
};

struct caller {
	uint64_t key;
	char *text;		/* as it stands in a row; NULL while not known */
	bool settled;		/* no better one will come */
};

struct listing {
	struct page page;	/* of its options, and paused while rows are chosen */
	struct nodes_look look;	/* of what rows are made of, no more */
	struct stream_types types;
	struct blklist *infos;	/* has the requesters, and no blocks */
	struct blk *row;
	uint32_t *place;	/* their order; NULL: as they stand */
	size_t n, cap;
	/* Rows on their way, where they are chosen from the list. */
	bool choosing, taking;
	unsigned filter_no;
	struct page_sieve *sieve;	/* the filter of that number; NULL none */
	struct page_take take;
	char head[HEAD_MAX];
	char title[LISTING_TITLE];

	struct caller *caller;	/* ascending */
	size_t ncaller, lacking, next;
	char **thread;		/* by index, as they stand in a row; NULL not known */
	uint16_t *wanted;	/* threads there are */
	size_t nwanted;
	size_t nameless;	/* of them, where the name may still come */

	_Atomic uint64_t written;
	uint64_t bytes;
};

/* --- the head ----------------------------------------------------------- */

/*
 * Where it comes from, of which moment it is, and what is known of it: the
 * note's seven counters, and whether anything is missing.  Numbers are exact
 * and without grouping, for programs read them too.
 */
struct head {
	char *text;
	size_t len;
	const struct page *page;
	const struct page_view *v;
};

static void line(struct head *, const char *word, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A line; what comes from outside is made safe. */
static void
line(struct head *h, const char *word, const char *fmt, ...)
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

/* A list that is just being taken anew is the last one that was whole. */
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

	snprintf(number, sizeof number, "%04X", look->node_number);
	if (look->node_name == NULL || look->node_name[0] == '\0' ||
	    strcmp(look->node_name, number) == 0)
		line(h, "node", "%s", number);
	else
		line(h, "node", "%s %s", number, look->node_name);
}

static void
put_time(struct head *h)
{
	const struct nodes_look *look = h->v->look;
	char text[64];
	struct tm tm;

	if (look->node_wall_ms == 0) {
		line(h, "time", "not known");
		return;
	}
	page_wall(h->page, look, look->node_wall_ms, &tm);
	if (strftime(text, sizeof text, look->classic ?
	    "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M:%S %z", &tm) == 0)
		text[0] = '\0';
	line(h, "time", "%s", text);
}

static void
put_order(struct head *h)
{
	const struct page_opts *o = &h->page->opts;
	bool reverse;
	enum page_sort sort = page_sorting_first(o, &reverse);

	/* The rows of a part of the list are in an order that the list has. */
	if (h->v->look->window) {
		sort = page_list_order(o) == BLKLIST_BY_AGE ? PAGE_SORT_AGE :
		    PAGE_SORT_ADDRESS;
		reverse = page_list_reverse(o);
	}
	if (sort == PAGE_SORT_AGE)
		line(h, "order", "age, %s first", reverse ? "youngest" :
		    "oldest");
	else if (sort == PAGE_SORT_ADDRESS)
		line(h, "order", "address, %s first", reverse ? "highest" :
		    "lowest");
	else
		line(h, "order", "%s%s", page_sort_rows[sort].word, reverse ?
		    ", reversed" : "");
}

/* Which of them are rows, where they are not all. */
static void
put_choice(struct head *h, const struct page_chosen *s, size_t rows)
{
	const char *filter = page_choice_filter_text(h->page);

	if (!page_choice_filters(h->page))
		return;
	if (filter != NULL)
		line(h, "filter", "%s", filter);
	line(h, "rows", "%zu: %s%llu blocks of %s%llu", rows,
	    page_about(h->v->look->sample), (unsigned long long)s->blocks,
	    page_about(h->v->look->sample), (unsigned long long)s->of);
	if (s->unsure > 0)
		line(h, "unsure", "names that the filter asks for are not "
		    "there of %llu blocks", (unsigned long long)s->unsure);
}

/* Which blocks these are, and whether they are all. */
static void
put_extent(struct head *h, uint64_t first, uint64_t there)
{
	const struct nodes_look *look = h->v->look;
	uint64_t total = page_view_total(h->v);
	char sample[PAGE_SAMPLE_TEXT];

	if (is_of_one_moment(look))
		line(h, "as of", "record %llu", (unsigned long long)
		    look->as_of);
	else
		line(h, "as of", "no one record: the list was being taken");
	if (look->window)
		line(h, "list", "NOT WHOLE: %llu of %llu blocks, from offset "
		    "%llu on; records come faster than they can be read",
		    (unsigned long long)there, (unsigned long long)total, (unsigned long long)first);
	else
		line(h, "list", "%s", is_of_one_moment(look) ? "whole" :
		    "NOT OF ONE MOMENT");
	if (look->sample == 0) {
		line(h, "blocks", "%llu", (unsigned long long)total);
		line(h, "bytes", "%llu", (unsigned long long)
		    h->v->counts->live_bytes);
		return;
	}
	page_sample_text(look->sample, sample);
	line(h, "sample", "%s: %llu blocks listed stand for about %llu",
	    sample, (unsigned long long)total,
	    (unsigned long long)page_view_blocks(h->v));
	line(h, "bytes", "about %llu",
	    (unsigned long long)page_view_bytes(h->v));
}

/* The note's seven, and ours. */
static void
put_counters(struct head *h)
{
	const struct blklist_counts *c = h->v->counts;
	const struct nodes_look *look = h->v->look;
	char cost[12];

	page_cost_text(cost, h->page->numbers.cost_us);
	line(h, "cycle", "%s, %llu records", cost,
	    (unsigned long long)look->cycle_records);
	line(h, "entries", "%u active, %u free", (unsigned)c->aRecActive,
	    (unsigned)(c->aRecMax - c->aRecActive));
	line(h, "errors", "%llu illegal types, %llu duplicates, %llu times "
	    "full, %llu unknown frees, %llu bad records",
	    (unsigned long long)c->illegal_type,
	    (unsigned long long)c->duplicate, (unsigned long long)look->full,
	    (unsigned long long)c->unknown_free,
	    (unsigned long long)look->bad_records);
}

static void
put_lost(struct head *h, const struct page_state *st)
{
	const struct nodes_look *look = h->v->look;
	char lack[PAGE_LACK_TEXT];

	line(h, "lost", "%llu", (unsigned long long)page_lost_for_good(look));
	page_lack_text(look, lack);
	line(h, "complete", "%s%s", look->complete ? "yes" : "NO: ",
	    look->complete ? "" : lack);
	if (st->notice[0] != '\0')
		line(h, "notice", "%s", st->notice);
}

static void
head_text(const struct page *page, const struct page_view *v,
    uint64_t first, const struct page_chosen *chosen, size_t rows,
    char out[HEAD_MAX])
{
	struct head h = { .text = out, .page = page, .v = v };
	char target[PAGE_TARGET_TEXT];
	struct page_view then = *v;
	struct page still = *page;
	struct page_state st;

	out[0] = '\0';
	/* Of a paused picture: how things were, and not how they are now. */
	then.live = then.look;
	still.numbers.hz = 0;
	page_state_get(&still, &then, &st);
	page_target_text(v->look, target);
	base_append(out, HEAD_MAX, &h.len, LISTING_HEAD_TITLE);
	put_node(&h);
	if (target[0] != '\0')
		line(&h, "target", "%s", target);
	line(&h, "state", "%s", st.word);
	put_time(&h);
	put_order(&h);
	put_extent(&h, first, chosen->of);
	put_choice(&h, chosen, rows);
	put_counters(&h);
	put_lost(&h, &st);
	base_append(out, HEAD_MAX, &h.len, "\n");
}

/* --- the copy ----------------------------------------------------------- */

/*
 * All that the list has had, in their order: so they have the same numbers, and
 * no row has to be looked at for that.
 */
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

/* Memory for so many rows; what was in it is of no use. */
static int
make_room(struct listing *l, uint64_t rows)
{
	struct blk *row;

	if (rows <= l->cap)
		return 0;
	if (rows > SIZE_MAX / sizeof *row)
		return -ENOMEM;
	row = malloc((size_t)rows * sizeof *row);
	if (row == NULL)
		return -ENOMEM;
	free(l->row);
	l->row = row;
	l->cap = (size_t)rows;
	return 0;
}

int
listing_room(struct listing *l, uint64_t blocks)
{
	int r = make_room(l, blocks + blocks / 8 + SPARE_ROWS);

	/* To take the pages themselves is half of what a copy costs. */
	if (r == 0)
		memset(l->row, 0, l->cap * sizeof *l->row);
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

/* All rows, or of a window those that are there and the filter means. */
static int
copy_rows(struct listing *l, const struct page *page,
    const struct page_view *v, uint64_t first, struct page_chosen *sums)
{
	const struct page_opts *o = &page->opts;
	uint64_t n = v->look->window ? BLKLIST_WINDOW_MAX :
	    page_view_total(v);
	int r = make_room(l, n + 1);

	if (r < 0)
		return r;
	l->n = blklist_window(v->look->list, page_list_order(o),
	    page_list_reverse(o), first,
	    l->row, (size_t)n);
	sums->of = l->n;
	if (v->look->window) {
		page_choice_begin(page, v);
		l->n = page_choice_sift(page, l->row, l->n);
		sums->unsure = page_choice_unsure(page);
	}
	sums->blocks = l->n;
	return copy_infos(l, v->look->list);
}

/* Those of the choice, all of them: a screen's may be fewer, and older. */
static int
copy_chosen(struct listing *l, struct page *page, const struct page_view *v,
    struct page_chosen *sums)
{
	struct page_taken all;
	int r = page_choice_whole(page, v, &all);

	if (r < 0)
		return r;
	page_taken_sums(&all, sums);
	r = make_room(l, all.n + 1);
	if (r == 0)
		l->n = page_taken_rows(&all, 0, l->row, all.n);
	page_taken_fini(&all);
	return r == 0 ? copy_infos(l, v->look->list) : r;
}

/* The same where a drain, or a list that never was whole, has to be at once. */
static bool
is_at_once(const struct page *page, const struct page_view *v)
{
	return page_is_draining(page) || (v->look == v->live &&
	    (!v->look->settled || v->look->behind));
}

/* From the beginning: nobody has asked yet, or it was something else. */
static int
begin_choosing(struct listing *l, const struct page *page)
{
	const char *filter = page_choice_filter_text(page);
	struct filter_error e;

	if (l->choosing && l->filter_no == page_choice_filter_no(page) &&
	    page_sorting_equal(&l->page.opts.sorting, &page->opts.sorting))
		return 0;
	page_thaw(&l->page);
	page_take_stop(&l->take);
	page_sieve_free(l->sieve);
	l->sieve = NULL;
	l->taking = false;
	l->choosing = true;
	l->filter_no = page_choice_filter_no(page);
	l->page.opts = page->opts;
	l->page.layout = PAGE_WIDE;
	return filter != NULL ? page_sieve_new(&l->sieve, filter, &e) : 0;
}

/*
 * The list is paused for it, then filtered and sorted, all of it in portions.
 * -EAGAIN: there are more.
 */
static int
choose_on(struct listing *l, const struct page *page, struct page_view *v,
    struct page_chosen *sums)
{
	struct page_taken *f = &l->take.found;
	int r = begin_choosing(l, page);

	if (r == 0 && l->page.frozen == NULL)
		r = page_freeze(&l->page, v);
	if (r < 0)
		return r == -ESTALE ? -EAGAIN : r;
	page_view_frozen(v, &l->page);
	if (!l->taking) {
		l->taking = true;
		page_take_begin(&l->take, &l->page, v, l->sieve,
		    PAGE_TAKE_ALL);
	}
	r = page_take_next(&l->take, &l->page, v, TAKE_NS);
	if (r <= 0)
		return r < 0 ? r : -EAGAIN;
	page_take_stop(&l->take);
	page_taken_sums(f, sums);
	free(l->row);
	l->row = f->blk;
	l->place = f->place;
	l->n = f->n;
	l->cap = f->cap;
	*f = (struct page_taken){ 0 };
	return copy_infos(l, v->look->list);
}

static int
copy_list(struct listing *l, struct page *page, struct page_view *v,
    uint64_t first, struct page_chosen *sums)
{
	bool chosen = page_choice_on(page) && !v->look->window;

	if (chosen && !is_at_once(page, v))
		return choose_on(l, page, v, sums);
	/* The rows of `pagek list`: no width is too small for them. */
	l->page.opts = page->opts;
	l->page.layout = PAGE_WIDE;
	return chosen ? copy_chosen(l, page, v, sums) :
	    copy_rows(l, page, v, first, sums);
}

int
listing_take(struct listing *l, struct page *page, const struct page_view *now)
{
	struct page_view then = *now, *v = &then;
	uint64_t first = v->look->window ? page->offs : 0;
	struct page_chosen sums = { 0 };
	char target[PAGE_TARGET_TEXT];
	int r = 0;

	if (v->look->list != NULL)
		r = copy_list(l, page, v, first, &sums);
	if (r < 0)
		return r;
	copy_look(l, v);
	head_text(page, v, first, &sums, l->n, l->head);
	page_target_text(v->look, target);
	snprintf(l->title, sizeof l->title, "%04X%s%s", v->look->node_number,
	    target[0] != '\0' ? " " : "", target);
	/* The copy is made. */
	page_thaw(&l->page);
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
	free(l->row);
	free(l->place);
	page_take_fini(&l->take);
	page_sieve_free(l->sieve);
	page_fini(&l->page);
	blklist_free(l->infos);
	free(l);
}

/* --- whose names -------------------------------------------------------- */

static int
by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int
sort_threads(struct listing *l)
{
	uint8_t *seen = calloc(THREADS, 1);
	size_t i, n = 0;

	l->thread = calloc(THREADS, sizeof *l->thread);
	if (seen == NULL || l->thread == NULL)
		goto fail;
	for (i = 0; i < l->n; i++) {
		n += !seen[l->row[i].thread];
		seen[l->row[i].thread] = 1;
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
	uint64_t *key = malloc((l->n + 1) * sizeof *key);
	size_t i, n = 0;
	int r;

	if (key == NULL)
		return -ENOMEM;
	/* Blocks of one caller often lie side by side. */
	for (i = 0; i < l->n; i++)
		if (l->row[i].caller != 0 &&
		    (n == 0 || key[n - 1] != l->row[i].caller))
			key[n++] = l->row[i].caller;
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
		page_row_thread(&l->page, name, cell, sizeof cell);
		l->thread[l->wanted[i]] = strdup(cell);
	}
	/* A thread may have none: once all is answered no more will come. */
	l->nameless = v->pending > 0 ? n : 0;
}

static void
name_caller(struct listing *l, const struct page_view *v, struct caller *c)
{
	char cell[CALL_BYTES], *text;

	c->settled = page_row_call(&l->page, v, c->key, cell, sizeof cell);
	l->lacking -= c->settled;
	if (cell[0] == '\0')
		return;
	/* Without memory for a name the row goes without. */
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

/* --- text --------------------------------------------------------------- */

static void
flush(struct writer *w)
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
			flush(w);
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

/* A type's name stands in row after row; a requester's does not. */
static const char *
descr_of(const struct listing *l, const struct blk *b,
    char (*types)[DESCR_BYTES], char own[DESCR_BYTES])
{
	char *cell = b->info == 0 ? types[b->type] : own;

	if (cell == own || cell[0] == '\0')
		page_row_descr(&l->page, &l->look, b, cell, DESCR_BYTES);
	return cell;
}

static int
put_rows(struct listing *l, struct writer *w, const atomic_bool *stop)
{
	char (*types)[DESCR_BYTES] = calloc(256, sizeof *types);
	char text[ROW_BYTES], none[THREAD_BYTES], own[DESCR_BYTES];
	struct page_row_names names = { .units = PAGE_UNITS_EXACT };
	size_t i, len;

	if (types == NULL)
		return -ENOMEM;
	page_row_thread(&l->page, "", none, sizeof none);
	for (i = 0; i < l->n && w->err == 0; i++) {
		const struct blk *b = &l->row[l->place != NULL ?
		    l->place[i] : i];

		if (i % TOLD_EVERY == 0) {
			atomic_store(&l->written, i);
			if (atomic_load(stop))
				break;
		}
		names.descr = descr_of(l, b, types, own);
		names.thread = thread_of(l, b->thread, none);
		names.call = call_of(l, b->caller);
		page_row_put(&l->look, b, &names, text, sizeof text - 1);
		len = strlen(text);
		text[len++] = '\n';
		put_bytes(w, text, len);
	}
	free(types);
	if (i < l->n)
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
	page_row_heading(&l->page, text, sizeof text);
	put_bytes(w, text, strlen(text));
	put_bytes(w, "\n", 1);
	r = put_rows(l, w, stop);
	if (r == 0)
		flush(w);
	if (r == 0)
		r = w->err;
	atomic_store(&l->written, l->n);
	l->bytes = w->done;
	free(w);
	return r;
}

uint64_t
listing_rows(const struct listing *l)
{
	return l->n;
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

/* --- sinks ---------------------------------------------------------------- */

#define OWN_NUMBER 0x0001	/* of a machine that its table does not name */

/* Where nobody has said which: less is the better one, more is everywhere. */
static const char usual_pager[] =
	"if command -v less >/dev/null; then exec less; else exec more; fi";

void
listing_own_number(char out[5])
{
	const struct nodes_entry *local = NULL;
	struct nodes_table *table = NULL;

	if (nodes_table_load(&table, true, NULL, NULL) == 0)
		local = nodes_table_local(table);
	snprintf(out, 5, "%04X", local != NULL ? local->number : OWN_NUMBER);
	nodes_table_free(table);
}

static int
fail(char *why, size_t cap, const char *sentence)
{
	snprintf(why, cap, "%s", sentence);
	return -EINVAL;
}

/* What a file's name may begin with, as a shell would have it. */
static int
take_path(struct listing_to *to, const char *word)
{
	const char *home = word[0] == '~' && word[1] == '/' ? getenv("HOME") :
	    NULL;
	int n;

	to->kind = LISTING_FILE;
	n = snprintf(to->text, sizeof to->text, "%s%s", home != NULL ? home :
	    "", word + (home != NULL));
	return n < 0 || (size_t)n >= sizeof to->text ? -ENAMETOOLONG : 0;
}

static int
take_pager(struct listing_to *to, const char *command)
{
	to->kind = LISTING_PAGER;
	if (command == NULL || command[0] == '\0')
		command = usual_pager;
	return (size_t)snprintf(to->text, sizeof to->text, "%s", command) >=
	    sizeof to->text ? -ENAMETOOLONG : 0;
}

static int
take_node(struct listing_to *to, const struct nodes_table *table,
    const char *word, char *why, size_t cap)
{
	const struct nodes_entry *e, *near;
	uint16_t number = 0;
	bool numeric = nodes_parse_number(word, strlen(word), &number);

	snprintf(to->text, sizeof to->text, "%s", word);
	e = numeric ? nodes_table_number(table, number) :
	    nodes_table_name(table, word);
	if (e == NULL && strcmp(word, "local") == 0)
		e = nodes_table_local(table);
	if (e != NULL) {
		to->kind = LISTING_NODE;
		to->entry = *e;
		return 0;
	}
	/* The number that stands for this machine while none is given to it. */
	if (strcmp(word, "local") == 0 || (numeric && number == OWN_NUMBER &&
	    nodes_table_local(table) == NULL)) {
		to->kind = LISTING_NODE;
		to->entry = (struct nodes_entry){ .number = OWN_NUMBER,
			.name = "local", .at = NODES_AT_LOCAL };
		return 0;
	}
	near = nodes_table_nearest(table, word);
	if (near != NULL)
		snprintf(why, cap, "no node %.64s in the table: nearest is "
		    "%04X %s", word, near->number, near->name);
	else
		snprintf(why, cap, "no node %.64s in the table: 'pagek nodes' "
		    "says where that is", word);
	return -EINVAL;
}

int
listing_to(struct listing_to *to, const char *word, char *why, size_t cap)
{
	struct nodes_table *table;
	int r;

	*to = (struct listing_to){ 0 };
	if (word == NULL || word[0] == '\0')
		return fail(why, cap, "*L<> is empty: it takes a node, a path "
		    "with a slash, or 'pager'");
	if (word[0] == '|') {
		word += 1 + strspn(word + 1, " \t");
		if (word[0] == '\0')
			return fail(why, cap, "*L<|> has no command behind "
			    "the bar");
		r = take_pager(to, word);
	} else if (strcmp(word, "pager") == 0) {
		r = take_pager(to, getenv("PAGER"));
	} else if (strchr(word, '/') != NULL) {
		r = take_path(to, word);
	} else {
		r = nodes_table_load(&table, true, NULL, NULL);
		if (r == 0) {
			r = take_node(to, table, word, why, cap);
			nodes_table_free(table);
		}
		if (r == -EINVAL)
			return r;
	}
	if (r < 0) {
		snprintf(why, cap, "cannot take %.64s: %s", word,
		    strerror(-r));
		return -EINVAL;
	}
	return 0;
}
