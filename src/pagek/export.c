/* See export.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "export.h"

#define ROW_BYTES 2048
#define AT_ONCE 64		/* rows between two looks at the clock */
#define NAMES_MS 700		/* that names are waited for while none comes */
#define NAMES_MOST_MS 5000	/* ... and at most */

enum step {
	STEP_CALLERS,		/* the callers of all rows into the profile */
	STEP_NAMES,
	STEP_ROWS,
	STEP_OVER,
};

struct page_export {
	enum page_export_form form;
	enum step step;
	FILE *out;
	struct page page;	/* for rows as text: its options alone */
	struct nodes_look look;	/* the view's, at the moment of the copy */
	int64_t now_ms, wall_ms;
	struct profile *profile;
	struct blk *row;
	uint64_t n, at;
	bool cut;		/* the first ones; there are more */
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

static int
copy_rows(struct page_export *x, struct page *page, const struct page_view *v)
{
	const struct page_rows_ops *ops = page_rows_ops(page);
	uint64_t total;
	struct page_chosen sums;
	int r = 0;

	if (ops == &page_rows_choice) {
		r = page_choice_whole(page, v);
		page_choice_sums(page, &sums);
		x->cut = sums.cut;
	}
	if (r < 0)
		return r;
	total = ops->total(page, v);
	x->row = malloc((size_t)(total + 1) * sizeof *x->row);
	if (x->row == NULL)
		return -ENOMEM;
	x->n = ops->window(page, v, 0, x->row, (size_t)total);
	return 0;
}

/* The rows are what the filter has caught, be they of a group or of all. */
static struct page_caught
caught(const struct page_export *x, const struct page *page,
    const struct page_view *v)
{
	struct page_caught c = { .blocks = x->n };
	struct page_chosen sums;
	double weight;

	page_choice_sums(page, &sums);
	c.unsure = sums.unsure;
	for (uint64_t i = 0; i < x->n; i++) {
		weight = blklist_weight(v->look->list, &x->row[i]);
		c.bytes += x->row[i].size;
		c.est_blocks += weight;
		c.est_bytes += weight * (double)x->row[i].size;
	}
	return c;
}

static void
put_head(struct page_export *x, const struct page *page,
    const struct page_view *v)
{
	struct page_caught c = { 0 };
	char text[256];

	if (x->form == EXPORT_TEXT) {
		page_row_heading(&x->page, text, sizeof text);
		fprintf(x->out, "%s\n", text);
		return;
	}
	if (page_choice_filter_text(page) != NULL)
		c = caught(x, page, v);
	json_blocks_head(&x->json, v->look, v->counts, &x->page.opts,
	    page->opts.session.since_click, page_choice_filter_text(page), &c);
	json_rows(&x->json, "blocks");
}

static int
begin_blocks(struct page_export *x, struct page *page,
    const struct page_view *v)
{
	int r = copy_rows(x, page, v);

	if (r == 0)
		r = profile_new(&x->profile);
	if (r < 0)
		return r;
	profile_set_wrappers(x->profile, v->wrappers);
	x->what = "block";
	x->now_ms = v->look->now_ms;
	x->wall_ms = v->look->node_wall_ms;
	x->page.opts = page->opts;
	x->page.layout = PAGE_WIDE;
	/* What is free is no block, and stands in no row of these. */
	x->page.opts.free = false;
	put_head(x, page, v);
	return 0;
}

static int
begin(struct page_export *x, struct page *page, const struct page_view *v,
    const struct page_diff *diff)
{
	static const enum json_form forms[] = {
		[EXPORT_TEXT] = JSON_WHOLE,
		[EXPORT_JSON] = JSON_WHOLE,
		[EXPORT_NDJSON] = JSON_LINES,
		[EXPORT_CSV] = JSON_CSV,
	};

	json_open_form(&x->json, x->out, forms[x->form], page->opts.ascii);
	if (diff == NULL && !page_shows_groups(page))
		return begin_blocks(x, page, v);
	x->step = STEP_OVER;
	x->what = diff != NULL && diff->by_block ? "block" : "group";
	if (diff != NULL)
		return page_export_diff(page, v, diff, x->form, x->out,
		    &x->json, &x->n);
	return page_export_groups(page, v, x->form, x->out, &x->json, &x->n);
}

int
page_export_begin(struct page_export **out, struct page *page,
    const struct page_view *v, const struct page_diff *diff,
    enum page_export_form form, FILE *file)
{
	struct page_export *x;
	int r;

	if (v->look->list == NULL)
		return -ENODATA;
	x = calloc(1, sizeof *x);
	if (x == NULL)
		return -ENOMEM;
	x->form = form;
	x->out = file;
	r = begin(x, page, v, diff);
	if (r < 0)
		page_export_free(x);
	else
		*out = x;
	return r;
}

void
page_export_free(struct page_export *x)
{
	if (x == NULL)
		return;
	profile_free(x->profile);
	free(x->row);
	free(x);
}

/* --- the rows ------------------------------------------------------------- */

static int
add_callers(struct page_export *x)
{
	int r = 0;

	for (int i = 0; i < AT_ONCE && x->at < x->n && r == 0; i++) {
		const struct blk *b = &x->row[x->at++];

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
		const struct blk *b = &x->row[x->at++];

		if (x->form != EXPORT_TEXT) {
			json_block(&x->json, v, x->profile, b, false);
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

/* The names are what is known now; all else is as it was. */
static struct page_view
view_then(struct page_export *x, const struct page_view *v)
{
	struct page_view then = *v;

	x->look = *v->look;
	x->look.now_ms = x->now_ms;
	x->look.node_wall_ms = x->wall_ms;
	then.look = &x->look;
	return then;
}

int
page_export_go_on(struct page_export *x, const struct page_view *v,
    int64_t budget_ns)
{
	struct page_view then = view_then(x, v);
	struct mono begun = mono_now();
	int r;

	/* However little time there is, it goes on. */
	do {
		r = x->step == STEP_CALLERS ? add_callers(x) :
		    x->step == STEP_NAMES ? get_names(x, &then) :
		    x->step == STEP_ROWS ? put_rows(x, &then) : 1;
	} while (r == 1 && x->step != STEP_OVER &&
	    mono_diff_ns(mono_now(), begun) < budget_ns);
	if (r < 0)
		return r;
	return x->step == STEP_OVER;
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
