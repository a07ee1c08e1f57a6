#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../difference/difference.h"
#include "../history/history.h"
#include "../layout/layout.h"
#include "../panels/difference_page.h"
#include "shown_export.h"
#include "list_copy.h"

#define ROW_BYTES 2048
#define AT_ONCE 64		/* rows between two looks at the clock */
#define COPY_NS 1000000		/* of a portion of the copy, at least */
#define NAMES_MS 700		/* timeout for the next name */
#define NAMES_MOST_MS 5000	/* timeout for all of them */

enum step {
	STEP_COPY,		/* the rows, as of the moment when this began */
	STEP_CALLERS,		/* the callers of all rows into the profile */
	STEP_NAMES,
	STEP_ROWS,
	STEP_OVER,
};

struct page_export {
	enum text_format form;
	enum step step;
	FILE *out;
	struct list_copy copy;
	struct nodes_look look;	/* the view's, at the moment of the copy */
	int64_t now_ms, wall_ms;
	bool before_pause;	/* page K shows a step back in time */
	struct profile *profile;
	uint64_t n, at;
	bool cut;		/* sums: the first ones; there are more */
	const char *what;
	struct {
		struct mono begun, got;	/* of the step; of the last name */
		int lacking;
		size_t round;		/* callers asked for in this round */
	} names;
	struct json json;
};

int
page_export_form(const char *path, enum text_format *form)
{
	static const struct {
		const char *ending;
		enum text_format form;
	} endings[] = {
		{ ".txt", FORMAT_TEXT },
		{ ".json", FORMAT_JSON },
		{ ".ndjson", FORMAT_NDJSON },
		{ ".csv", FORMAT_CSV },
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

/* The rows of an open group or of a drain are few: all at once. */
static int
copy_rows(struct page_export *x, struct page *page, const struct page_view *v)
{
	const struct page_rows_ops *ops = page_rows_ops(page);
	struct page_collection *f = &x->copy.take.found;
	struct page_chosen sums;
	double weight;

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

static void
put_head(struct page_export *x, const struct page_view *v)
{
	const char *filter = page_row_filter_text(x->copy.filter);
	const struct page_collection *f = &x->copy.take.found;
	struct page_row_filter_sums c = { 0 };
	char text[256];

	x->n = f->n;
	x->step = STEP_CALLERS;
	if (x->form == FORMAT_TEXT) {
		page_row_heading(&x->copy.page, text, sizeof text);
		fprintf(x->out, "%s\n", text);
		return;
	}
	if (filter != NULL)
		c = (struct page_row_filter_sums){
			.blocks = f->n,
			.bytes = f->bytes,
			.est_blocks = f->est_blocks,
			.est_bytes = f->est_bytes,
			.unsure = f->unsure,
		};
	json_blocks_head(&x->json, v, &x->copy.page.opts,
	    x->copy.page.opts.session.since_click, filter, &c);
	json_rows(&x->json, "blocks");
}

/*
 * The moment of the copy, with the names that are known now and exact sizes.  At
 * a moment before the pause, the keeper's counters are not known.
 */
static struct page_view
view_of_copy(struct page_export *x, const struct page_view *v)
{
	struct page_view then = *v;

	then.units = PAGE_UNITS_EXACT;
	page_view_paused(&then, &x->copy.page);
	x->look = *then.look;
	if (x->copy.page.paused == NULL) {
		x->look.now_ms = x->now_ms;
		x->look.node_wall_ms = x->wall_ms;
	}
	if (x->before_pause)
		x->look.keeper = NULL;
	then.look = &x->look;
	return then;
}

/* 1: all rows are there; 0: another portion with the next picture. */
static int
copy_on(struct page_export *x, const struct page_view *v, int64_t budget_ns)
{
	struct page_view then = *v;
	int r = list_copy_next(&x->copy, &then, budget_ns > COPY_NS ?
	    budget_ns : COPY_NS);

	if (r == 1) {
		then = view_of_copy(x, v);
		put_head(x, &then);
	}
	return r;
}

static int
begin_blocks(struct page_export *x, struct page *page,
    const struct page_view *v)
{
	int64_t before;
	int r;

	x->what = "block";
	x->now_ms = v->look->now_ms;
	x->wall_ms = v->look->node_wall_ms;
	x->before_pause = page_step_age(page, &before);
	r = list_copy_begin(&x->copy, page);
	if (r == 0)
		r = profile_new(&x->profile);
	if (r < 0)
		return r;
	/* Only rows of blocks are exported. */
	x->copy.page.opts.free = false;
	profile_set_wrappers(x->profile, v->wrappers);
	if (!page->group.opened && !page_is_draining(page)) {
		r = copy_on(x, v, 0);
		return r < 0 ? r : 0;
	}
	r = copy_rows(x, page, v);
	if (r == 0)
		put_head(x, v);
	return r;
}

static int
open_export(struct page_export **out, bool ascii, enum text_format form,
    FILE *file)
{
	struct page_export *x = calloc(1, sizeof *x);

	if (x == NULL)
		return -ENOMEM;
	x->form = form;
	x->out = file;
	json_open_format(&x->json, file, form, ascii);
	*out = x;
	return 0;
}

/* Groups, or with diff the difference: few rows, written at once. */
static int
begin_sums(struct page_export **out, struct page *page,
    const struct page_view *v, const struct page_diff *diff,
    enum text_format form, FILE *file)
{
	struct page_export_sums sums = { 0 };
	struct page_export *x;
	int r = open_export(&x, page->opts.ascii, form, file);

	if (r < 0)
		return r;
	x->step = STEP_OVER;
	x->what = diff != NULL && diff->by_block ? "block" : "group";
	r = diff != NULL ? page_export_diff(page, v, diff, form, file,
	    &x->json, &sums) : page_export_groups(page, v, form, file,
	    &x->json, &sums);
	if (r < 0) {
		page_export_free(x);
		return r;
	}
	x->n = sums.n;
	x->cut = sums.omitted > 0;
	*out = x;
	return 0;
}

int
page_export_begin(struct page_export **out, struct page *page,
    const struct page_view *v, enum text_format form, FILE *file)
{
	struct page_export *x;
	int r;

	if (v->look->list == NULL)
		return -ENODATA;
	if (page_shows_groups(page))
		return begin_sums(out, page, v, NULL, form, file);
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
    enum text_format form, FILE *file)
{
	return v->look->list == NULL ? -ENODATA :
	    begin_sums(out, page, v, diff, form, file);
}

int
page_export_begin_usage(struct page_export **out, const struct usage_list *list,
    const struct usage_source *from, enum text_format form, bool ascii,
    FILE *file)
{
	struct page_export *x;
	int r = open_export(&x, ascii, form, file);

	if (r < 0)
		return r;
	x->step = STEP_OVER;
	x->what = "row";
	x->n = list->n;
	if (form == FORMAT_TEXT)
		text_usage(file, list);
	else
		json_usage(&x->json, list, from);
	*out = x;
	return 0;
}

void
page_export_free(struct page_export *x)
{
	if (x == NULL)
		return;
	profile_free(x->profile);
	list_copy_fini(&x->copy);
	free(x);
}

static int
add_callers(struct page_export *x)
{
	int r = 0;

	for (int i = 0; i < AT_ONCE && x->at < x->n && r == 0; i++) {
		const struct blk *b = page_collection_row(&x->copy.take.found,
		    x->at++);

		if (b->caller != 0)
			r = profile_add(x->profile, b->caller, b->size, b->ms);
	}
	if (x->at == x->n) {
		x->at = 0;
		x->names.begun = x->names.got = mono_now();
		x->names.lacking = INT_MAX;
		x->step = STEP_NAMES;
	}
	return r < 0 ? r : 1;
}

/* 1: go on in this picture; 0: the session has been asked for all names. */
static int
get_names(struct page_export *x, const struct page_view *v)
{
	int r = profile_resolve_some(x->profile, &v->words, AT_ONCE);

	if (r < 0)
		return r;
	if (r < x->names.lacking)
		x->names.got = mono_now();
	x->names.lacking = r;
	if (r == 0 || mono_ms_since(x->names.got) >= NAMES_MS ||
	    mono_ms_since(x->names.begun) >= NAMES_MOST_MS) {
		x->step = STEP_ROWS;
		return 1;
	}
	x->names.round += AT_ONCE;
	if (x->names.round < profile_callers(x->profile))
		return 1;
	x->names.round = 0;
	return 0;
}

static int
put_rows(struct page_export *x, const struct page_view *v)
{
	char text[ROW_BYTES];

	for (int i = 0; i < AT_ONCE && x->at < x->n; i++) {
		const struct blk *b = page_collection_row(&x->copy.take.found,
		    x->at++);

		if (x->form != FORMAT_TEXT) {
			json_block(&x->json, v, x->profile, b);
			continue;
		}
		page_row_text_view(&x->copy.page, v, b, text, sizeof text);
		fprintf(x->out, "%s\n", text);
	}
	if (ferror(x->out))
		return -EIO;
	if (x->at < x->n)
		return 1;
	if (x->form != FORMAT_TEXT) {
		json_rows_end(&x->json);
		json_end(&x->json);
	}
	x->step = STEP_OVER;
	return 1;
}

static int
export_portion(struct page_export *x, const struct page_view *v)
{
	switch (x->step) {
	case STEP_CALLERS:
		return add_callers(x);
	case STEP_NAMES:
		return get_names(x, v);
	case STEP_ROWS:
		return put_rows(x, v);
	case STEP_COPY:
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
	int r = 1;

	if (x->step == STEP_COPY)
		r = copy_on(x, v, budget_ns);
	if (r <= 0)
		return r;
	then = view_of_copy(x, v);
	/* One portion at least, whatever the budget. */
	do
		r = export_portion(x, &then);
	while (r == 1 && x->step != STEP_OVER &&
	    mono_diff_ns(mono_now(), begun) < budget_ns);
	if (r < 0)
		return r;
	return x->step == STEP_OVER;
}

bool
page_export_copies(const struct page_export *x)
{
	return x->step == STEP_COPY && x->copy.page.paused == NULL;
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
