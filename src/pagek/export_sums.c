/*
 * Groups, and the difference to the mark, as documents.  As text they are the
 * rows of the page.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

#define TEXT_COLS 132
#define TEXT_ROWS 256		/* of one picture */

/* --- as text -------------------------------------------------------------- */

static int
put_lines(FILE *out, struct page_picture *pic)
{
	int i, r = picture_end(pic);

	for (i = 0; i < pic->rows && r == 0; i++)
		fprintf(out, "%s\n", pic->line[i].text);
	return r;
}

static int
groups_text(struct page *page, const struct page_view *v, FILE *out)
{
	struct page_picture pic = { 0 };
	uint64_t at = 0, n = page_rows_total(page, v);
	uint64_t all = page->groups->all;
	char first[32], of[32];
	int r;

	picture_begin(&pic, TEXT_COLS, page->opts.ascii);
	if (all > page->groups->nrow) {
		base_group_digits(first, sizeof first, page->groups->nrow);
		base_group_digits(of, sizeof of, all);
		picture_line(&pic);
		picture_printf(&pic, "the first %s of %s groups", first, of);
	}
	picture_line(&pic);
	page_group_heading(page, v, &pic);
	r = put_lines(out, &pic);
	while (at < n && r == 0) {
		picture_begin(&pic, TEXT_COLS, page->opts.ascii);
		for (int i = 0; i < TEXT_ROWS && at < n; i++, at++) {
			picture_line(&pic);
			page_group_row(page, v, at, &pic);
		}
		r = put_lines(out, &pic);
	}
	page_picture_fini(&pic);
	return r;
}

static size_t
diff_rows(struct page *page, const struct page_diff *d)
{
	const struct page_since *s = page_since_get(page);

	if (s == NULL)
		return 0;
	return d->by_block ? s->shown.came.n + s->shown.grown.n +
	    s->shown.other.n + s->shown.went.n : s->ngroup;
}

/* Page H without the cursor and the key bar, as high as it takes. */
int
page_export_diff_text(struct page *page, const struct page_view *v,
    const struct page_diff *diff, int cols, FILE *out)
{
	struct page_picture pic = { 0 };
	struct page_diff d = *diff;
	int r;

	d.plain = true;
	d.selected = d.top = 0;
	d.rows = diff_rows(page, &d);
	r = page_diff_compose(&d, page, v, cols, (int)d.rows + TEXT_ROWS, &pic);
	for (int i = 0; i < pic.rows && r == 0; i++)
		fprintf(out, "%s\n", pic.line[i].text);
	page_picture_fini(&pic);
	return r;
}

/* --- groups --------------------------------------------------------------- */

static void
put_text(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_text(j, or_null(text));
}

static void
put_count(struct json *j, const char *key, uint64_t n)
{
	json_key(j, key);
	json_number(j, n);
}

static void
put_change(struct json *j, const char *key, bool known, int64_t n)
{
	json_key(j, key);
	if (known)
		json_signed(j, n);
	else
		json_null(j);
}

static int64_t
rounded(double n)
{
	return (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
}

/* Of the listed blocks alone, whatever they stand for. */
static int64_t
net_listed(const struct page_since_sum *sum)
{
	return (int64_t)(sum->came_listed_bytes - sum->went_listed_bytes);
}

static void
put_head(struct json *j, const struct page *page, const struct page_view *v,
    const char *by)
{
	json_taken(j, v);
	json_target(j, v->look);
	json_modes(j, v->look);
	json_lost(j, v->look);
	put_text(j, "filter", page_choice_filter_text(page));
	put_text(j, "by", by);
}

static void
put_group(struct json *j, const struct page *page, const struct page_view *v,
    const struct page_group_kind *kind, const struct profile_group *g)
{
	const struct profile_sum *sum = &g->total, *all = &page->groups->total;
	struct page_group_words words;
	struct page_since_sum since = { 0 };
	bool known = page_marked_change(page, g->key, kind->by, &since);

	page_group_say(page, v, kind, g, &words);
	json_begin(j, '{', false);
	put_text(j, "name", words.name);
	put_text(j, "where", words.where);
	put_text(j, "module", g->module);
	put_text(j, "file", g->file);
	json_key(j, "line");
	json_known(j, g->line != 0, g->line);
	put_count(j, "blocks", sum->listed);
	put_count(j, "bytes", sum->listed_bytes);
	put_count(j, "est_blocks", sum->blocks);
	put_count(j, "est_bytes", sum->bytes);
	json_key(j, "oldest_age_ms");
	json_known(j, sum->listed > 0, (uint64_t)(v->look->now_ms >
	    sum->oldest_ms ? v->look->now_ms - sum->oldest_ms : 0));
	json_key(j, "share");
	json_share(j, (double)sum->bytes, (double)all->bytes);
	put_change(j, "since_mark_bytes", known, net_listed(&since));
	put_change(j, "since_mark_blocks", known,
	    (int64_t)(since.came_listed - since.went_listed));
	put_change(j, "est_since_mark_bytes", known,
	    rounded(page_since_net(&since)));
	put_change(j, "est_since_mark_blocks", known,
	    rounded(since.came - since.went));
	json_end(j);
}

static const struct json_column group_columns[] = {
	{ "name", NULL }, { "where", NULL }, { "module", NULL },
	{ "file", NULL }, { "line", NULL }, { "blocks", NULL },
	{ "bytes", NULL }, { "est_blocks", NULL }, { "est_bytes", NULL },
	{ "oldest_age_ms", NULL }, { "share", NULL },
	{ "since_mark_bytes", NULL }, { "since_mark_blocks", NULL },
	{ "est_since_mark_bytes", NULL }, { "est_since_mark_blocks", NULL },
	{ "complete", "complete" }, { "lost", "lost" }, { "taken", "time" },
};

int
page_export_groups(struct page *page, const struct page_view *v,
    enum page_export_form form, FILE *out, struct json *j,
    struct page_export_sums *sums)
{
	const struct page_group_kind *kind = page_group_kind(page->group);
	struct page_groups *g = page->groups;

	if (g == NULL || !g->taken || g->kind != page->group)
		return -EAGAIN;
	sums->n = g->nrow;
	sums->omitted = g->all - g->nrow;
	if (form == EXPORT_TEXT)
		return groups_text(page, v, out);
	json_document(j, "pagek.shown/1", group_columns,
	    BASE_NELEM(group_columns));
	put_head(j, page, v, kind->word);
	put_count(j, "omitted", sums->omitted);
	json_rows(j, "groups");
	for (size_t i = 0; i < g->nrow; i++) {
		const struct profile_group *row = page_groups_row(g, i);

		if (row != NULL)
			put_group(j, page, v, kind, row);
	}
	json_rows_end(j);
	json_end(j);
	return 0;
}

/* --- the difference ------------------------------------------------------- */

static void
put_diff_sums(struct json *j, const struct page_since_sum *sum)
{
	put_count(j, "new_blocks", sum->came_listed);
	put_count(j, "new_bytes", sum->came_listed_bytes);
	put_count(j, "freed_blocks", sum->went_listed);
	put_count(j, "freed_bytes", sum->went_listed_bytes);
	put_change(j, "net_bytes", true, net_listed(sum));
	put_change(j, "est_new_blocks", true, rounded(sum->came));
	put_change(j, "est_new_bytes", true, rounded(sum->came_bytes));
	put_change(j, "est_freed_blocks", true, rounded(sum->went));
	put_change(j, "est_freed_bytes", true, rounded(sum->went_bytes));
	put_change(j, "est_net_bytes", true, rounded(page_since_net(sum)));
}

static int
put_diff_groups(struct json *j, const struct page *page,
    const struct page_view *v, const struct page_diff *d,
    const struct page_since *s, uint64_t *n)
{
	struct page_group_words *words = malloc(sizeof *words);
	const struct page_since_group *g;

	if (words == NULL)
		return -ENOMEM;
	for (size_t i = 0; (g = page_since_row(s, i)) != NULL; i++) {
		if (!page_diff_lets(d, g))
			continue;
		++*n;
		page_diff_name(page, v, s, g, words);
		json_begin(j, '{', false);
		put_text(j, "name", words->name);
		put_text(j, "where", words->where);
		put_diff_sums(j, &g->sum);
		json_end(j);
	}
	free(words);
	return 0;
}

static void
put_diff_block(struct json *j, const struct page_view *v,
    const struct page_since_block *row)
{
	const struct blk *b = &row->blk;
	bool live = row->change != SINCE_FREED;
	struct page_call call;
	char function[PAGE_NAME_MAX] = "", where[PAGE_NAME_MAX] = "";

	if (page_calls_origin(v, b->caller, &call)) {
		page_call_function(&call, function, sizeof function);
		page_call_where(&call, true, where, sizeof where);
	}
	json_begin(j, '{', false);
	put_text(j, "change", page_since_change_word(row->change));
	json_key(j, "address");
	json_hex(j, b->addr);
	put_count(j, "size", b->size);
	json_key(j, "size_at_mark");
	json_known(j, row->change != SINCE_NEW, row->was);
	put_count(j, "type", b->type);
	put_text(j, "type_name", page_descr(v->look, b));
	put_text(j, "thread", b->thread != 0 ? v->thread(v->arg, b->thread) :
	    NULL);
	json_key(j, "age_ms");
	json_known(j, live, page_cell_seconds(v->look, b) * 1000);
	put_text(j, "function", function);
	put_text(j, "where", where);
	json_end(j);
}

static void
put_diff_blocks(struct json *j, const struct page *page,
    const struct page_view *v, const struct page_diff *diff, uint64_t *n)
{
	const struct page_since_block *row;
	struct page_diff d = *diff;

	for (d.selected = 0; (row = page_diff_row(&d, page)) != NULL;
	    d.selected++, ++*n)
		put_diff_block(j, v, row);
}

static const struct json_column diff_groups[] = {
	{ "name", NULL }, { "where", NULL }, { "new_blocks", NULL },
	{ "new_bytes", NULL }, { "freed_blocks", NULL },
	{ "freed_bytes", NULL }, { "net_bytes", NULL },
	{ "est_new_blocks", NULL }, { "est_new_bytes", NULL },
	{ "est_freed_blocks", NULL }, { "est_freed_bytes", NULL },
	{ "est_net_bytes", NULL },
	{ "complete", "complete" }, { "lost", "lost" }, { "taken", "time" },
};

static const struct json_column diff_blocks[] = {
	{ "change", NULL }, { "address", NULL }, { "size", NULL },
	{ "size_at_mark", NULL }, { "type", NULL }, { "type_name", NULL },
	{ "thread", NULL }, { "age_ms", NULL }, { "function", NULL },
	{ "where", NULL }, { "complete", "complete" }, { "lost", "lost" },
	{ "taken", "time" },
};

int
page_export_diff(struct page *page, const struct page_view *v,
    const struct page_diff *d, enum page_export_form form, FILE *out,
    struct json *j, struct page_export_sums *sums)
{
	struct page_since *s = page_since_get(page);
	int r = 0;

	if (s == NULL)
		return -ENODATA;
	if (!page_since_known(page, s) || (d->by_block && (!s->shown.by_block ||
	    s->shown.of_key != d->of.key)))
		return -EAGAIN;
	sums->omitted = page_diff_unlisted(d, s);
	if (form == EXPORT_TEXT) {
		sums->n = d->rows;
		return page_export_diff_text(page, v, d, TEXT_COLS, out);
	}
	json_document(j, "pagek.difference/1", d->by_block ? diff_blocks :
	    diff_groups, d->by_block ? BASE_NELEM(diff_blocks) :
	    BASE_NELEM(diff_groups));
	put_head(j, page, v, d->by_block ? "block" :
	    page_since_kind(s)->word);
	json_key(j, "mark");
	json_time(j, page->marked->mark.wall_ms);
	put_text(j, "view", page_diff_view_name(d));
	put_count(j, "omitted", sums->omitted);
	json_rows(j, d->by_block ? "blocks" : "groups");
	if (d->by_block)
		put_diff_blocks(j, page, v, d, &sums->n);
	else
		r = put_diff_groups(j, page, v, d, s, &sums->n);
	json_rows_end(j);
	json_end(j);
	return r;
}
