/* See export.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../difference/marks.h"
#include "../history/history.h"
#include "../layout/layout.h"
#include "../panels/difference_page.h"
#include "../rows/choice.h"
#include "../rows/rows.h"
#include "export.h"

#define ROW_BYTES 2048
#define AT_ONCE 64		/* rows between two looks at the clock */
#define TAKE_NS 1000000		/* of a take at least, or it would not go on */
#define NAMES_MS 700		/* that names are waited for while none comes */
#define NAMES_MOST_MS 5000	/* ... and at most */

enum step {
	STEP_COPY,		/* the list, as it was when this began */
	STEP_TAKE,		/* those of its rows that are wanted, sorted */
	STEP_CALLERS,		/* the callers of all rows into the profile */
	STEP_NAMES,
	STEP_ROWS,
	STEP_OVER,
};

struct page_export {
	enum page_export_form form;
	enum step step;
	FILE *out;
	/* Of its own: the options, and of a list in portions the paused copy. */
	struct page page;
	struct page_sieve *sieve;	/* of that copy; NULL: all of it */
	struct page_take take;		/* its rows; else those of a short list, at once */
	bool filtered;
	struct nodes_look look;	/* the view's, at the moment of the copy */
	int64_t now_ms, wall_ms;
	bool past;		/* of a moment before the pause */
	struct profile *profile;
	uint64_t n, at;
	bool cut;		/* sums: the first ones; there are more */
	const char *what;
	struct mono begun, got;	/* the names' step; when there were fewer to come */
	int lacking;		/* then */
	size_t round;		/* callers asked for in this round */
	struct json json;
};

int
page_export_form(const char *path, enum page_export_form *form)
{
	static const struct {
		const char *ending;
		enum page_export_form form;
	} endings[] = {
		{ ".txt", EXPORT_TEXT },
		{ ".json", EXPORT_JSON },
		{ ".ndjson", EXPORT_NDJSON },
		{ ".csv", EXPORT_CSV },
	};
	size_t len = strlen(path), n;

	for (size_t i = 0; i < BASE_NELEM(endings); i++) {
		n = strlen(endings[i].ending);
		if (len > n && path[len - n - 1] != '/' &&
		    strcmp(path + len - n, endings[i].ending) == 0) {
			*form = endings[i].form;
			return 0;
		}
	}
	return -EINVAL;
}

/* --- the copy ------------------------------------------------------------- */

/*
 * Of all that a filter leaves, for a screen's rows may be fewer; the list is
 * paused for it as the picture is, in portions.
 */
static int
begin_copy(struct page_export *x, struct page *page)
{
	const char *filter = page_choice_filter_text(page);
	struct filter_error e;

	x->step = STEP_COPY;
	/* The strict page shows the list whole. */
	if (!page_choice_on(page))
		return 0;
	return filter != NULL ? page_sieve_new(&x->sieve, filter, &e) : 0;
}

/* Of a group, where a screen may have fewer, or of a drain: in one turn. */
static int
copy_rows(struct page_export *x, struct page *page, const struct page_view *v)
{
	const struct page_rows_ops *ops = page_rows_ops(page);
	struct page_taken *f = &x->take.found;
	struct page_chosen sums;
	double weight;

	x->step = STEP_CALLERS;
	if (ops == &page_rows_choice)
		return page_choice_whole(page, v, f);
	if (ops == &page_rows_members)
		return page_members_whole(page, v, f);
	f->cap = (size_t)ops->total(page, v);
	f->blk = malloc((f->cap + 1) * sizeof *f->blk);
	if (f->blk == NULL)
		return -ENOMEM;
	f->n = ops->window(page, v, 0, f->blk, f->cap);
	page_choice_sums(page, &sums);
	f->unsure = sums.unsure;
	for (size_t i = 0; i < f->n; i++) {
		weight = blklist_weight(v->look->list, &f->blk[i]);
		f->bytes += f->blk[i].size;
		f->est_blocks += weight;
		f->est_bytes += weight * (double)f->blk[i].size;
	}
	return 0;
}

/* The rows are known: what stands above them. */
static void
put_head(struct page_export *x, const struct page_view *v, const char *filter)
{
	const struct page_taken *f = &x->take.found;
	struct page_caught c = { 0 };
	char text[256];

	x->n = f->n;
	if (x->form == EXPORT_TEXT) {
		page_row_heading(&x->page, text, sizeof text);
		fprintf(x->out, "%s\n", text);
		return;
	}
	if (filter != NULL)
		c = (struct page_caught){
			.blocks = f->n,
			.bytes = f->bytes,
			.est_blocks = f->est_blocks,
			.est_bytes = f->est_bytes,
			.unsure = f->unsure,
		};
	json_blocks_head(&x->json, v, &x->page.opts,
	    x->page.opts.session.since_click, filter, &c);
	json_rows(&x->json, "blocks");
}

static int
begin_blocks(struct page_export *x, struct page *page,
    const struct page_view *v)
{
	bool at_once = page->opened || page_is_draining(page);
	int64_t before;
	int r;

	x->what = "block";
	x->now_ms = v->look->now_ms;
	x->wall_ms = v->look->node_wall_ms;
	x->past = page_stepped(page, &before);
	x->page.opts = page->opts;
	x->page.layout = PAGE_WIDE;
	/* What is free is no block, and stands in no row of these. */
	x->page.opts.free = false;
	r = at_once ? copy_rows(x, page, v) : begin_copy(x, page);
	if (r == 0)
		r = profile_new(&x->profile);
	if (r < 0)
		return r;
	profile_set_wrappers(x->profile, v->wrappers);
	if (at_once) {
		put_head(x, v, page_choice_filter_text(page));
		return 0;
	}
	r = page_freeze(&x->page, v);
	if (r == 0)
		x->step = STEP_TAKE;
	return r == -EAGAIN || r == -ESTALE ? 0 : r;
}

static int
open_export(struct page_export **out, bool ascii, enum page_export_form form,
    FILE *file)
{
	static const enum json_form forms[] = {
		[EXPORT_TEXT] = JSON_WHOLE,
		[EXPORT_JSON] = JSON_WHOLE,
		[EXPORT_NDJSON] = JSON_LINES,
		[EXPORT_CSV] = JSON_CSV,
	};
	struct page_export *x = calloc(1, sizeof *x);

	if (x == NULL)
		return -ENOMEM;
	x->form = form;
	x->out = file;
	json_open_form(&x->json, file, forms[form], ascii);
	*out = x;
	return 0;
}

int
page_export_begin_put(struct page_export **out, const char *what, bool ascii,
    page_export_put put, void *arg, enum page_export_form form, FILE *file)
{
	struct page_export_sums sums = { 0 };
	struct page_export *x;
	int r = open_export(&x, ascii, form, file);

	if (r < 0)
		return r;
	x->step = STEP_OVER;
	x->what = what;
	r = put(arg, form, file, &x->json, &sums);
	if (r < 0) {
		page_export_free(x);
		return r;
	}
	x->n = sums.n;
	x->cut = sums.omitted > 0;
	*out = x;
	return 0;
}

struct shown {
	struct page *page;
	const struct page_view *v;
	const struct page_diff *diff;
};

static int
put_groups(void *arg, enum page_export_form form, FILE *out, struct json *j,
    struct page_export_sums *sums)
{
	const struct shown *s = arg;

	return page_export_groups(s->page, s->v, form, out, j, sums);
}

static int
put_diff(void *arg, enum page_export_form form, FILE *out, struct json *j,
    struct page_export_sums *sums)
{
	const struct shown *s = arg;

	return page_export_diff(s->page, s->v, s->diff, form, out, j, sums);
}

int
page_export_begin(struct page_export **out, struct page *page,
    const struct page_view *v, enum page_export_form form, FILE *file)
{
	struct shown s = { .page = page, .v = v };
	struct page_export *x;
	int r;

	if (v->look->list == NULL)
		return -ENODATA;
	if (page_shows_groups(page))
		return page_export_begin_put(out, "group", page->opts.ascii,
		    put_groups, &s, form, file);
	r = open_export(&x, page->opts.ascii, form, file);
	if (r < 0)
		return r;
	r = begin_blocks(x, page, v);
	if (r < 0)
		page_export_free(x);
	else
		*out = x;
	return r;
}

int
page_export_begin_diff(struct page_export **out, struct page *page,
    const struct page_view *v, const struct page_diff *diff,
    enum page_export_form form, FILE *file)
{
	struct shown s = { .page = page, .v = v, .diff = diff };

	if (v->look->list == NULL)
		return -ENODATA;
	return page_export_begin_put(out, diff->by_block ? "block" : "group",
	    page->opts.ascii, put_diff, &s, form, file);
}

void
page_export_free(struct page_export *x)
{
	if (x == NULL)
		return;
	profile_free(x->profile);
	page_take_fini(&x->take);
	page_sieve_free(x->sieve);
	page_fini(&x->page);
	free(x);
}

/* --- the rows ------------------------------------------------------------- */

/* 0: another portion of it with the next picture. */
static int
copy_on(struct page_export *x, const struct page_view *v)
{
	int r = page_freeze(&x->page, v);

	/* Of another list that has come meanwhile: from its beginning. */
	if (r == -EAGAIN || r == -ESTALE)
		return 0;
	if (r == 0)
		x->step = STEP_TAKE;
	return r < 0 ? r : 1;
}

static int
take_on(struct page_export *x, const struct page_view *v, int64_t left_ns)
{
	int r;

	if (x->take.walk.blocks == 0 && !x->take.walk.over)
		page_take_begin(&x->take, &x->page, v, x->sieve,
		    PAGE_TAKE_ALL);
	r = page_take_next(&x->take, &x->page, v, left_ns > TAKE_NS ?
	    left_ns : TAKE_NS);
	if (r <= 0)
		return r;
	page_take_stop(&x->take);
	put_head(x, v, x->sieve != NULL ? page_sieve_text(x->sieve) : NULL);
	x->step = STEP_CALLERS;
	return 1;
}

static int
add_callers(struct page_export *x)
{
	int r = 0;

	for (int i = 0; i < AT_ONCE && x->at < x->n && r == 0; i++) {
		const struct blk *b = page_taken_row(&x->take.found,
		    x->at++);

		if (b->caller != 0)
			r = profile_add(x->profile, b->caller, b->size, b->ms);
	}
	if (x->at == x->n) {
		x->at = 0;
		x->begun = x->got = mono_now();
		x->lacking = INT_MAX;
		x->step = STEP_NAMES;
	}
	return r < 0 ? r : 1;
}

/* 0: those that are not there have been asked for, and this picture brings none. */
static int
get_names(struct page_export *x, const struct page_view *v)
{
	int r = profile_resolve_some(x->profile, &v->words, AT_ONCE);

	if (r < 0)
		return r;
	if (r < x->lacking)
		x->got = mono_now();
	x->lacking = r;
	if (r == 0 || mono_ms_since(x->got) >= NAMES_MS ||
	    mono_ms_since(x->begun) >= NAMES_MOST_MS) {
		x->step = STEP_ROWS;
		return 1;
	}
	x->round += AT_ONCE;
	if (x->round < profile_callers(x->profile))
		return 1;
	x->round = 0;
	return 0;
}

static int
put_rows(struct page_export *x, const struct page_view *v)
{
	char text[ROW_BYTES];

	for (int i = 0; i < AT_ONCE && x->at < x->n; i++) {
		const struct blk *b = page_taken_row(&x->take.found,
		    x->at++);

		if (x->form != EXPORT_TEXT) {
			json_block(&x->json, v, x->profile, b);
			continue;
		}
		page_row_text_view(&x->page, v, b, text, sizeof text);
		fprintf(x->out, "%s\n", text);
	}
	if (ferror(x->out))
		return -EIO;
	if (x->at < x->n)
		return 1;
	if (x->form != EXPORT_TEXT) {
		json_rows_end(&x->json);
		json_end(&x->json);
	}
	x->step = STEP_OVER;
	return 1;
}

/*
 * The names are what is known now; all else is as it was, and sizes are those
 * that a program can read.  What the keeper had counted at a moment before the
 * pause is known to nobody, and its numbers of the pause are not of that moment.
 */
static struct page_view
view_then(struct page_export *x, const struct page_view *v)
{
	struct page_view then = *v;

	then.units = PAGE_UNITS_EXACT;
	if (x->page.frozen != NULL)
		page_view_frozen(&then, &x->page);
	x->look = *then.look;
	if (x->page.frozen == NULL) {
		x->look.now_ms = x->now_ms;
		x->look.node_wall_ms = x->wall_ms;
	}
	if (x->past)
		x->look.keeper = NULL;
	then.look = &x->look;
	return then;
}

static int
export_portion(struct page_export *x, const struct page_view *v,
    int64_t left_ns)
{
	switch (x->step) {
	case STEP_COPY:
		return 1;
	case STEP_TAKE:
		return take_on(x, v, left_ns);
	case STEP_CALLERS:
		return add_callers(x);
	case STEP_NAMES:
		return get_names(x, v);
	case STEP_ROWS:
		return put_rows(x, v);
	case STEP_OVER:
		break;
	}
	return 1;
}

int
page_export_go_on(struct page_export *x, const struct page_view *v,
    int64_t budget_ns)
{
	struct mono begun = mono_now();
	struct page_view then;
	int64_t left;
	int r = 1;

	if (x->step == STEP_COPY)
		r = copy_on(x, v);
	if (r <= 0)
		return r;
	then = view_then(x, v);
	/* However little time there is, it goes on. */
	do {
		left = budget_ns - mono_diff_ns(mono_now(), begun);
		r = export_portion(x, &then, left);
	} while (r == 1 && x->step != STEP_OVER &&
	    mono_diff_ns(mono_now(), begun) < budget_ns);
	if (r < 0)
		return r;
	return x->step == STEP_OVER;
}

bool
page_export_copies(const struct page_export *x)
{
	return x->step == STEP_COPY;
}

uint64_t
page_export_rows(const struct page_export *x, uint64_t *done)
{
	*done = x->step == STEP_ROWS ? x->at : x->step == STEP_OVER ? x->n : 0;
	return x->n;
}

bool
page_export_cut(const struct page_export *x)
{
	return x->cut;
}

const char *
page_export_what(const struct page_export *x)
{
	return x->what;
}
