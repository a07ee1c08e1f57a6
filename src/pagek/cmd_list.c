/*
 * pagek list: a target's blocks, once, a row for each.
 */
#include <string.h>

#include "../base/base.h"
#include "commands.h"
#include "json.h"
#include "pump.h"

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
		}
		if (i < n || ferror(out))
			return;
	}
}

static int
list(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	const struct nodes_look *look;
	struct page page;
	int status;
	FILE *out;

	page_init(&page, &o->page);
	pump_settled(loop, s, o->timeout_ms);
	look = nodes_session_look(s);
	if (!look->listed)
		return batch_status(o, s);
	batch_names(loop, s, &page.opts, o->limit, o->timeout_ms);
	out = output_open(o->output);
	if (out == NULL)
		return PAGEK_FAILED;
	if (o->json)
		json_blocks(out, s, &page.opts, false, o->limit);
	else
		list_rows(out, s, &page, o->limit);
	status = output_close(out, o->output, PAGEK_OK);
	return status != PAGEK_OK ? status : batch_status(o, s);
}

static void
no_news(void *arg)
{
	(void)arg;
}

int
cmd_list(const struct options *o, uv_loop_t *loop)
{
	struct nodes_session_opts opts = { 0 };
	struct nodes_session *s = NULL;
	struct nodes_link *link = NULL;
	char why[512];
	int status, err;

	options_session(o, &opts);
	status = target_open(o, loop, &link, &opts, why, sizeof why);
	if (status != PAGEK_OK) {
		complain("%s", why);
		return status;
	}
	err = nodes_session_open(&s, link, &opts, no_news, NULL);
	if (err == 0) {
		status = list(o, loop, s);
	} else {
		complain("cannot watch: %s", strerror(-err));
		status = PAGEK_FAILED;
	}
	pump_down(loop, s, link);
	return status;
}
