/*
 * pagek list: a target's blocks, once, a row for each.
 */
#include <string.h>

#include "../base/base.h"
#include "commands.h"
#include "json.h"

#define ROW_BYTES 2048

static void
list_rows(FILE *out, struct nodes_session *s, const struct page *page,
    uint64_t limit)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct blk rows[256];
	char row[ROW_BYTES];
	uint64_t offs = 0;
	size_t n, i;

	page_row_heading(page, row, sizeof row);
	fprintf(out, "%s\n", row);
	while ((n = blklist_window(look->list, page->opts.order,
	    page->opts.reverse, offs, rows, BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n && (limit == 0 || offs < limit); i++, offs++) {
			page_row_text(page, s, &rows[i], row, sizeof row);
			fprintf(out, "%s\n", row);
			if (!output_going(out))
				return;
		}
		if (i < n)
			return;
	}
}

static int
list(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	const struct nodes_look *look;
	char sample[PAGE_SAMPLE_TEXT];
	struct profile *p;
	struct page page;
	size_t lacking;
	int status, err;
	FILE *out;

	look = nodes_session_look(s);
	if (look->sample != 0 && !o->json) {
		page_sample_text(look->sample, sample);
		complain("sampled %s: each row stands for many blocks; "
		    "--format=json has its weight", sample);
	}
	page_init(&page, &o->page);
	err = batch_names(loop, s, &page.opts, o->limit, o->timeout_ms, &p,
	    &lacking);
	if (err < 0) {
		complain("cannot list: %s", strerror(-err));
		return PAGEK_FAILED;
	}
	batch_tell_lacking(o, s, lacking, profile_callers(p));
	out = output_open(o->output);
	if (out == NULL) {
		profile_free(p);
		return PAGEK_FAILED;
	}
	if (o->json)
		json_blocks(out, s, p, &page.opts, false, o->limit);
	else
		list_rows(out, s, &page, o->limit);
	profile_free(p);
	status = output_close(out, o->output, PAGEK_OK);
	return status != PAGEK_OK ? status :
	    batch_status(o, nodes_session_look(s));
}

int
cmd_list(const struct options *o, uv_loop_t *loop)
{
	return batch_watch(o, loop, list);
}
