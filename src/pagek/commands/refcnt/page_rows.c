#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../../nodes/nodes.h"
#include "../../batch/batch.h"
#include "../../documents/documents.h"
#include "../../layout/fields.h"
#include "../../layout/layout.h"
#include "refcnt.h"

int
page_rows_add_range(struct refcnt_copy *c, const struct refcnt_page *page, size_t n,
    uint64_t from, uint64_t to)
{
	uint64_t at = from & ~(uint64_t)(REFCNT_PAGE - 1);
	size_t i = 0;
	int err = 0;

	for (; err == 0 && at < to; at += REFCNT_PAGE) {
		struct refcnt_page none = { .vaddr = at, .last_ms = -1,
			.cnodeid = -1, .flags = REFCNT_NO_PADDR,
			.counters = n > 0 ? page[0].counters : 0 };

		while (i < n && page[i].vaddr < at)
			i++;
		err = refcnt_copy_add(c, i < n && page[i].vaddr == at ?
		    &page[i] : &none, 1);
		if (at > UINT64_MAX - REFCNT_PAGE)
			break;
	}
	return err;
}

bool
page_rows_fields(const char *list, char *why, size_t cap)
{
	return field_list_check(list, &refcnt_fields, REFCNT_ROW_PAGE, NULL, why,
	    cap);
}

static void
put_heading(FILE *out, const struct page_rows *r, const struct options *o)
{
	char target[PAGE_TARGET_TEXT], safe[4 * PAGE_TARGET_TEXT];
	const struct nodes_refcnt *t = r->refcnt;
	const struct refcnt_source_row *source;
	uint32_t told = 0;

	if (r->look != NULL) {
		page_target_text(r->look, target);
		base_safe_text(safe, sizeof safe, target, strlen(target),
		    o->page.ascii);
	} else {
		base_safe_text(safe, sizeof safe, r->of, strlen(r->of),
		    o->page.ascii);
	}
	fprintf(out, "%s", safe);
	for (size_t i = 0; i < r->copy.n; i++) {
		const struct refcnt_copy_page *p = &r->copy.page[i];

		if ((p->flags & REFCNT_VALID) == 0 ||
		    (told >> (p->source & 31) & 1) != 0)
			continue;
		source = refcnt_row_source(p);
		fprintf(out, "%s %s: %s", told != 0 ? "," : " ", source->text,
		    source->unit);
		told |= UINT32_C(1) << (p->source & 31);
	}
	if (t != NULL && t->nranges > 0)
		fprintf(out, "  %s pages counted, periods of %g s",
		    base_digits(t->pages).text, t->period_ms / 1000.0);
	if (t != NULL && t->virtual[0] != '\0')
		fprintf(out, "  nodes are processors: %s", t->virtual);
	fprintf(out, "  %s counters\n", refcnt_planes[r->plane]);
}

static void
put_text(FILE *out, const struct page_rows *r, const struct refcnt_list *list,
    const struct options *o)
{
	struct output_table table = { .out = out, .fields = &refcnt_fields,
		.subset = REFCNT_ROW_PAGE, .ascii = o->page.ascii };

	put_heading(out, r, o);
	for (size_t i = 0; i < list->n; i++)
		output_measure(&table, &(struct refcnt_row){ list, &list->line[i] });
	output_fit(&table, batch_terminal_columns(out));
	if (list->n > 0)
		output_heading(&table);
	for (size_t i = 0; i < list->n && output_going(out); i++)
		output_row(&table, &(struct refcnt_row){ list, &list->line[i] });
}

static void
put_ranges(struct json *j, const struct page_rows *r, const struct refcnt_list *list)
{
	const struct nodes_refcnt *t = r->refcnt;

	json_number(j, "counted_pages", t != NULL ? t->pages : list->n);
	json_known(j, "period_ms", t != NULL && t->nranges > 0,
	    t != NULL ? t->period_ms : 0);
	json_known(j, "periods", t != NULL, t != NULL ? t->periods : 0);
	json_known(j, "ranges", t != NULL, t != NULL ? t->nranges : 0);
	json_text(j, "virtual_nodes", t != NULL ? or_null(t->virtual) : NULL);
	json_text(j, "why", t != NULL ? or_null(t->why) : NULL);
}

static void
put_data(FILE *out, const struct page_rows *r, const struct refcnt_list *list,
    const struct options *o)
{
	struct json j;

	json_open(&j, out, o);
	json_document(&j, "pagek.refcnt/1", &refcnt_fields, REFCNT_ROW_PAGE);
	if (r->look != NULL)
		json_put(&j, &page_look_target, r->look);
	else
		json_text(&j, "file", r->of);
	put_ranges(&j, r, list);
	json_rows(&j, "pages");
	for (size_t i = 0; i < list->n && output_going(out); i++)
		json_row(&j, &(struct refcnt_row){ list, &list->line[i] },
		    REFCNT_ROW_PAGE);
	json_rows_end(&j);
	json_end(&j);
}

int
page_rows_print(struct page_rows *r, const struct options *o)
{
	struct page_view view = { .look = r->look };
	struct refcnt_list list = { .plane = r->plane, .single = true,
		.v = r->look != NULL ? &view : NULL };
	FILE *out = output_open(o->output);
	int status = PAGEK_OK;

	if (out == NULL)
		return PAGEK_FAILED;
	if (refcnt_list_make(&list, &r->copy, NULL) < 0) {
		complain("no memory for %s pages", base_digits(r->copy.n).text);
		status = PAGEK_FAILED;
	}
	if (r->hottest)
		refcnt_list_sort(&list, REFCNT_SORT_COUNT, false);
	if (o->limit != 0 && list.n > o->limit)
		list.n = o->limit;
	if (options_as_data(o))
		put_data(out, r, &list, o);
	else
		put_text(out, r, &list, o);
	refcnt_list_fini(&list);
	return output_close(out, o->output, status);
}
