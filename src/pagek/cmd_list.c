/*
 * pagek list: a target's blocks, once, a row for each.
 */
#include <string.h>

#include "../base/base.h"
#include "choice.h"
#include "commands.h"
#include "free.h"
#include "json.h"
#include "pump.h"

#define ROW_BYTES 2048

static void
list_rows(FILE *out, struct nodes_session *s, struct page *page,
    struct page_sieve *sieve, uint64_t limit)
{
	struct page_view v;
	struct blk rows[256];
	char row[ROW_BYTES];
	uint64_t offs = 0, row_no = 0;
	size_t n, i;

	page_row_heading(page, row, sizeof row);
	fprintf(out, "%s\n", row);
	page_view_live(&v, s);
	v.wrappers = page->opts.wrappers;
	page_free_begin(page, &v);
	page_sieve_begin(sieve, &v);
	while ((n = page_choice_text(page, &v, offs, rows,
	    BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n; i++) {
			if (!page_sieve_lets(sieve, &rows[i]))
				continue;
			page_row_text_view(page, &v, &rows[i], row,
			    sizeof row);
			fprintf(out, "%s\n", row);
			if (!output_going(out) || ++row_no == limit)
				return;
		}
		offs += n;
	}
}

/* The regions may have been told before the list was taken. */
static bool
regions_told(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->regions_in || (!look->linked && !look->returns);
}

static int
list(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	const struct nodes_look *look;
	const char *why;
	char sample[PAGE_SAMPLE_TEXT];
	struct page_sieve *sieve;
	struct profile *p;
	struct page page;
	size_t lacking;
	int status, err;
	struct json j;
	FILE *out;

	look = nodes_session_look(s);
	if (look->sample != 0 && !o->json) {
		page_sample_text(look->sample, sample);
		complain("sampled %s: each row stands for many blocks; "
		    "--format=json has its weight", sample);
	}
	if (o->page.free)
		pump(loop, s, o->timeout_ms, regions_told, s);
	page_init(&page, &o->page);
	why = page_free_why(&page, nodes_session_look(s));
	if (why[0] != '\0')
		complain("free memory is not shown: %s", why);
	err = batch_sieve(o, &sieve);
	if (err == 0)
		err = batch_names(loop, s, &page.opts, sieve, o->limit,
		    o->timeout_ms, &p, &lacking);
	if (err < 0) {
		complain("cannot list: %s", strerror(-err));
		page_sieve_free(sieve);
		return PAGEK_FAILED;
	}
	batch_tell_lacking(o, s, lacking, profile_callers(p));
	out = output_open(o->output);
	if (out == NULL) {
		profile_free(p);
		page_sieve_free(sieve);
		return PAGEK_FAILED;
	}
	json_open(&j, out, o);
	if (o->json)
		json_blocks(&j, s, p, &page.opts, sieve, false, o->limit);
	else
		list_rows(out, s, &page, sieve, o->limit);
	page_fini(&page);
	profile_free(p);
	page_sieve_free(sieve);
	status = output_close(out, o->output, PAGEK_OK);
	batch_tell_loss(o, nodes_session_look(s));
	return status != PAGEK_OK ? status :
	    batch_status(o, nodes_session_look(s));
}

int
cmd_list(const struct options *o, uv_loop_t *loop)
{
	char why[256];

	if (!json_blocks_fields(o, why, sizeof why)) {
		complain("%s%s try 'pagek help list'", why,
		    why[strlen(why) - 1] == '?' ? "" : ";");
		return PAGEK_USAGE;
	}
	return batch_watch(o, loop, list);
}
