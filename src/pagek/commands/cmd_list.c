#include <string.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../documents/documents.h"
#include "../layout/layout.h"
#include "../blocks/choice.h"
#include "../blocks/free_blocks.h"
#include "../rows/rows.h"
#include "commands.h"

#define ROW_BYTES 2048

struct text {
	FILE *out;
	const struct page *page;
	const struct page_view *v;
};

static void
put_text(void *arg, const struct blk *b)
{
	const struct text *t = arg;
	char row[ROW_BYTES];

	page_row_text_view(t->page, t->v, b, row, sizeof row);
	fprintf(t->out, "%s\n", row);
}

static void
list_rows(FILE *out, const struct page *page, const struct page_view *v,
    struct page_row_filter *filter, uint64_t limit)
{
	struct text text = { .out = out, .page = page, .v = v };
	char row[ROW_BYTES];

	page_row_heading(page, row, sizeof row);
	fprintf(out, "%s\n", row);
	json_block_rows(out, page, v, filter, limit, put_text, &text);
}

static bool
regions_told(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->regions.known || (!look->link.up && !look->link.returns);
}

/* into NULL: the file of -o, opened once there are rows. */
static int
write_list(const struct options *o, struct page *page,
    const struct page_view *v, struct profile *p,
    struct page_row_filter *filter, FILE *into)
{
	int r = page_choice_text_begin(page, v);
	struct json j;
	FILE *out;

	if (r < 0) {
		complain("cannot list: %s", strerror(-r));
		return PAGEK_FAILED;
	}
	out = into != NULL ? into : output_open(o->output);
	if (out == NULL)
		return PAGEK_FAILED;
	json_open(&j, out, o);
	if (options_as_data(o))
		json_blocks(&j, page, v, p, filter, false, o->limit);
	else
		list_rows(out, page, v, filter, o->limit);
	return into != NULL ? PAGEK_OK : output_close(out, o->output, PAGEK_OK);
}

static void
notice_modes(const struct options *o, const struct page *page,
    const struct nodes_look *look)
{
	const char *why = page_free_why(page, look);
	char sample[PAGE_SAMPLE_TEXT];

	if (look->sample != 0 && !options_as_data(o)) {
		page_sample_text(look->sample, sample);
		notice("sampled %s: each row stands for many blocks; "
		    "--format=json has its weight", sample);
	}
	if (why[0] != '\0')
		notice("free memory is not shown: %s", why);
}

int
list_write(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    FILE *into)
{
	struct page_row_filter *filter;
	struct page_view v;
	struct profile *p;
	struct page page;
	size_t lacking;
	int status, err;

	if (o->page.free)
		pump(loop, s, o->timeout_ms, regions_told, s);
	page_init(&page, &o->page);
	notice_modes(o, &page, nodes_session_look(s));
	err = batch_filter(o, &filter);
	if (err == 0)
		err = batch_profile(loop, s, &page.opts, filter, o->limit,
		    o->timeout_ms, &p, &lacking);
	if (err < 0) {
		complain("cannot list: %s", strerror(-err));
		page_row_filter_free(filter);
		return PAGEK_FAILED;
	}
	batch_report_names(o, s, lacking, profile_callers(p));
	batch_view(&v, &page, s);
	/* Programs may read these rows: a setting of units does not apply. */
	if (option_given(o, OPTION_UNITS))
		v.units = page.opts.units;
	status = write_list(o, &page, &v, p, filter, into);
	page_fini(&page);
	profile_free(p);
	page_row_filter_free(filter);
	batch_report_loss(o, nodes_session_look(s));
	return status != PAGEK_OK ? status :
	    batch_status(o, nodes_session_look(s));
}

static int
list_blocks(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	int status = list_write(o, loop, s, NULL);

	if (o->format == FORMAT_TEXT || o->format == FORMAT_CSV)
		batch_report_end(nodes_session_look(s));
	return status;
}

/* Names are needed for the filter only. */
static int
list_metrics(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	struct page_row_filter *filter;
	struct profile *p = NULL;
	struct page_view v;
	struct page page;
	size_t lacking;
	int status, err;
	FILE *out;

	page_init(&page, &o->page);
	err = batch_filter(o, &filter);
	if (err == 0 && filter != NULL)
		err = batch_profile(loop, s, &page.opts, filter, 0, o->timeout_ms,
		    &p, &lacking);
	profile_free(p);
	out = err == 0 ? output_open(o->output) : NULL;
	if (err < 0)
		complain("cannot sum up: %s", strerror(-err));
	status = PAGEK_FAILED;
	if (out != NULL) {
		batch_view(&v, &page, s);
		prom_write(out, &v, filter, page.opts.ascii);
		status = output_close(out, o->output, PAGEK_OK);
	}
	page_fini(&page);
	page_row_filter_free(filter);
	return status != PAGEK_OK ? status :
	    batch_status(o, nodes_session_look(s));
}

static int
check_sums(struct parse *p)
{
	static const enum option_id rows[] = { OPTION_SORT, OPTION_REVERSE,
		OPTION_FREE, OPTION_LIMIT, OPTION_FIELDS };

	if (p->o->format != FORMAT_PROM)
		return 0;
	return option_none_of(p, rows, BASE_NELEM(rows), "is for rows, and "
	    "--format=prom has sums");
}

static int
check_free(struct parse *p)
{
	struct options *o = p->o;

	o->page.free = option_given(o, OPTION_FREE);
	if (!o->page.free)
		return 0;
	if (o->filter.text != NULL)
		return option_fail(p, "--free has no meaning with --filter, "
		    "which is about blocks");
	if (!option_given(o, OPTION_SORT))
		o->page.sorting.by[0].sort = PAGE_SORT_ADDRESS;
	if (page_list_order(&o->page) != BLKLIST_BY_ADDRESS)
		return option_fail(p, "--free needs the order of addresses: "
		    "free memory has no age");
	return 0;
}

int
cmd_list_check(struct parse *p)
{
	int r = check_sums(p);

	if (r != 0)
		return r;
	if (p->o->fields != NULL && !options_as_data(p->o))
		return option_fail(p, "--fields is for programs: give "
		    "--format=json, ndjson or csv too");
	return check_free(p);
}

int
cmd_list(const struct options *o, uv_loop_t *loop)
{
	char why[768];

	if (!json_blocks_fields(o, why, sizeof why)) {
		complain("%s", why);
		return PAGEK_USAGE;
	}
	return batch_watch(o, loop, o->format == FORMAT_PROM ? list_metrics :
	    list_blocks);
}
