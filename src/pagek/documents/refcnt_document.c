#include "../layout/fields.h"
#include "documents.h"

static void
put_ranges(struct json *j, const struct refcnt_copy *c,
    const struct page_view *v)
{
	json_begin(j, "ranges", '[', false);
	for (size_t i = 0; i < c->ranges; i++) {
		struct refcnt_copy_page p = { .source = (uint8_t)c->range[i].source };
		struct field_value address = { .n = c->range[i].vaddr };
		char text[FIELD_TEXT_MAX];

		field_text(FIELD_HEX, &address, text);
		json_begin(j, NULL, '{', false);
		json_text(j, "address", text);
		json_number(j, "length", c->range[i].len);
		json_text(j, "source", refcnt_row_source(&p)->name);
		if (page_time_known(v->look))
			json_time(j, "since", page_wall_ms(v->look,
			    c->range[i].since_ms));
		else
			json_null(j, "since");
		json_end(j);
	}
	json_end(j);
}

int
json_refcnt(struct json *j, const struct refcnt_reader *r,
    const struct page_view *v)
{
	struct refcnt_list list = { .plane = r->plane, .diff = REFCNT_HINT_DIFF,
		.least = REFCNT_HINT_LEAST, .v = v };
	int err = refcnt_list_make(&list, &r->copy, NULL);

	json_document(j, "pagek.touches/1", &refcnt_fields, REFCNT_ROW_RUN);
	json_view_time(j, v);
	json_put(j, &page_look_target, v->look);
	json_put(j, &page_look_loss, v->look);
	json_text(j, "counters", refcnt_planes[r->plane]);
	json_known(j, "period_ms", r->copy.period_ms != 0, r->copy.period_ms);
	json_number(j, "pages", r->copy.n);
	json_text(j, "virtual_nodes", or_null(r->virtual));
	json_text(j, "why", or_null(r->why));
	put_ranges(j, &r->copy, v);
	json_rows(j, "rows");
	for (size_t i = 0; err == 0 && i < list.n && !ferror(j->out); i++)
		json_row(j, &(struct refcnt_row){ &list, &list.line[i] },
		    REFCNT_ROW_RUN);
	json_rows_end(j);
	json_end(j);
	refcnt_list_fini(&list);
	return err;
}
