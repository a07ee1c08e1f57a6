#include <inttypes.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../layout/fields.h"
#include "../../layout/layout.h"
#include "stale.h"

#define AT_ONCE 256
#define DAY_MS (24 * 3600 * 1000)

void
stale_filter(const struct stale_since *since, int64_t age_ms, const char *also,
    char *out, size_t cap)
{
	size_t len = 0;

	out[0] = '\0';
	if (also != NULL)
		base_append(out, cap, &len, "(%s) & ", also);
	base_append(out, cap, &len, "age>=%" PRId64 "ms & ", age_ms);
	if (since->counting)
		base_append(out, cap, &len, "touches=0");
	else
		base_append(out, cap, &len, "touched>=%" PRId64 "ms",
		    since->idle_ms);
}

struct shared_page {
	bool any;
	uint64_t vaddr;
	unsigned layer;
	uint64_t blocks;
	bool young;			/* some block is not old */
};

struct finding {
	struct stale_found *f;
	const struct page_view *v;
	struct shared_page page;
};

static bool
is_idle(const struct stale_since *since, uint64_t count, int64_t idle_ms)
{
	return since->counting ? count == 0 : idle_ms >= since->idle_ms;
}

static void
end_page(struct finding *a)
{
	const struct refcnt_copy *c = a->v->refcnt;
	size_t i = refcnt_copy_find(c, a->page.vaddr);
	const struct refcnt_copy_page *p = &c->page[i];

	if (!a->page.any || i == c->n || p->vaddr != a->page.vaddr ||
	    !refcnt_tells_use(p))
		return;
	a->f->pages++;
	a->f->page_blocks += a->page.blocks;
	if (!a->page.young && is_idle(&a->f->since, p->count, c->now_ms -
	    (p->last_ms >= 0 ? p->last_ms : p->since_ms)))
		a->f->stale_pages++;
}

/* Blocks come in the order of addresses. */
static void
add_to_page(struct finding *a, unsigned layer, uint64_t vaddr, bool old)
{
	if (!a->page.any || a->page.vaddr != vaddr || a->page.layer != layer) {
		end_page(a);
		a->page = (struct shared_page){ .any = true, .vaddr = vaddr,
			.layer = layer };
	}
	a->page.blocks++;
	a->page.young |= !old;
}

static void
add_to_pages(struct finding *a, const struct blk *b, bool old)
{
	uint64_t end = b->addr + (b->size > 0 ? b->size - 1 : 0);
	uint64_t first = refcnt_page_of(b->addr), last = refcnt_page_of(end);
	bool fills_first = first == b->addr && end - first >= REFCNT_PAGE - 1;
	bool fills_last = last >= b->addr && end - last == REFCNT_PAGE - 1;

	if (!fills_first)
		add_to_page(a, blk_layer(b), first, old);
	if (last != first && !fills_last)
		add_to_page(a, blk_layer(b), last, old);
}

static void
add_old(struct finding *a, const struct blk *b)
{
	struct stale_found *f = a->f;
	struct refcnt_touch t;
	struct stale_kind *kind;
	bool stale;

	f->all.old++;
	f->old_bytes += b->size;
	if (!page_touch(a->v, b, &t)) {
		f->uncounted++;
		return;
	}
	stale = is_idle(&f->since, t.count, t.idle_ms);
	kind = t.exact ? &f->exact : &f->shared;
	kind->old++;
	kind->stale += stale;
	f->all.stale += stale;
	f->stale_bytes += stale ? b->size : 0;
	f->edges += stale && t.edge;
	f->coarse += !stale && t.coarse;
}

int64_t
stale_counted_since(const struct refcnt_copy *c)
{
	int64_t ms = 0;

	for (size_t i = 0; i < c->ranges; i++)
		if (c->range[i].since_ms > ms)
			ms = c->range[i].since_ms;
	return ms;
}

void
stale_find(struct stale_found *f, const struct page_view *v,
    struct page_row_filter *filter, const struct stale_since *since,
    int64_t age_ms)
{
	struct finding a = { .f = f, .v = v };
	struct blk row[AT_ONCE];
	size_t n = 0;

	*f = (struct stale_found){ .since = *since, .age_ms = age_ms,
		.since_ms = since->counting ? stale_counted_since(v->refcnt) :
		    v->refcnt->now_ms - since->idle_ms };
	page_row_filter_begin(filter, v);
	do {
		n = blklist_after(v->look->list, n == 0, n > 0 ?
		    blk_layer(&row[n - 1]) : 0, n > 0 ? row[n - 1].addr : 0, row,
		    AT_ONCE);
		for (size_t i = 0; i < n; i++) {
			bool old = v->look->now_ms - row[i].ms >= age_ms;

			add_to_pages(&a, &row[i], old);
			if (old && page_row_filter_matches(filter, &row[i]))
				add_old(&a, &row[i]);
		}
	} while (n == AT_ONCE);
	end_page(&a);
}

static void
put_counts(FILE *out, const struct stale_found *f)
{
	char bytes[24];

	base_human_bytes(bytes, sizeof bytes, f->stale_bytes);
	fprintf(out, "%s of ", base_digits(f->all.stale).text);
	fprintf(out, "%s old blocks were not referenced: %s, %.1f %%\n",
	    base_digits(f->all.old).text, bytes, f->all.old == 0 ? 0 :
	    100.0 * (double)f->all.stale / (double)f->all.old);
}

static void
put_kinds(FILE *out, const struct stale_found *f)
{
	fprintf(out, "exact: %s of ", base_digits(f->exact.stale).text);
	fprintf(out, "%s old blocks that fill pages, which decide",
	    base_digits(f->exact.old).text);
	if (f->edges > 0)
		fprintf(out, "; of %s a page at the edge was referenced, which "
		    "others share", base_digits(f->edges).text);
	fprintf(out, "\nshared: %s of ", base_digits(f->shared.stale).text);
	fprintf(out, "%s old blocks that share pages",
	    base_digits(f->shared.old).text);
	if (f->pages > 0) {
		fprintf(out, "; of these pages %s of ",
		    base_digits(f->stale_pages).text);
		fprintf(out, "%s are stale, %.1f blocks on each",
		    base_digits(f->pages).text, (double)f->page_blocks /
		    (double)f->pages);
	}
	fputc('\n', out);
}

void
stale_put_head(FILE *out, const struct options *o, const struct page_view *v,
    const struct stale_found *f)
{
	const struct refcnt_copy *c = v->refcnt;
	char target[PAGE_TARGET_TEXT], safe[4 * PAGE_TARGET_TEXT], age[32];
	char date[PAGE_DATE_TEXT] = "counting began";
	struct refcnt_copy_page p = { .source = REFCNT_REFS };

	if (page_time_known(v->look))
		page_cell_date(page_wall_ms(v->look, f->since_ms), o->page.utc,
		    date);
	page_target_text(v->look, target);
	base_safe_text(safe, sizeof safe, target, strlen(target), o->page.ascii);
	page_cell_age(age, (uint64_t)f->age_ms / 1000);
	/* More than the cell has room for. */
	if (age[0] == '*')
		snprintf(age, sizeof age, "%" PRId64 "d", f->age_ms / DAY_MS);
	fprintf(out, "STALE BLOCKS  %s  older than %s, not referenced since %s\n",
	    safe, age, date);
	put_counts(out, f);
	if (c->ranges > 0)
		p.source = (uint8_t)c->range[0].source;
	fprintf(out, "grain: a page of %d bytes; %s counts %s, period %g s\n",
	    REFCNT_PAGE, refcnt_row_source(&p)->name, refcnt_row_source(&p)->unit,
	    c->period_ms / 1000.0);
	put_kinds(out, f);
	if (f->uncounted > 0)
		fprintf(out, "not counted: the pages of %s old blocks\n",
		    base_digits(f->uncounted).text);
	if (f->coarse > 0)
		fprintf(out, "coarse: %s old blocks may not have been referenced; "
		    "the count is of more than their pages\n",
		    base_digits(f->coarse).text);
}

void
stale_json_head(struct json *j, const struct page_view *v,
    const struct stale_found *f)
{
	const struct {
		const char *key;
		uint64_t n;
	} numbers[] = {
		{ "old_blocks", f->all.old }, { "old_bytes", f->old_bytes },
		{ "stale_blocks", f->all.stale },
		{ "stale_bytes", f->stale_bytes },
		{ "exact_old", f->exact.old }, { "exact_stale", f->exact.stale },
		{ "exact_edges", f->edges },
		{ "shared_old", f->shared.old },
		{ "shared_stale", f->shared.stale },
		{ "shared_pages", f->pages },
		{ "shared_pages_stale", f->stale_pages },
		{ "shared_page_blocks", f->page_blocks },
		{ "uncounted", f->uncounted }, { "coarse", f->coarse },
	};
	struct refcnt_copy_page p = { .source = REFCNT_REFS };

	json_view_time(j, v);
	json_put(j, &page_look_target, v->look);
	json_put(j, &page_look_loss, v->look);
	json_signed(j, "age_ms", f->age_ms);
	if (page_time_known(v->look))
		json_time(j, "since", page_wall_ms(v->look, f->since_ms));
	else
		json_null(j, "since");
	json_number(j, "grain", REFCNT_PAGE);
	if (v->refcnt->ranges > 0)
		p.source = (uint8_t)v->refcnt->range[0].source;
	json_text(j, "source", refcnt_row_source(&p)->name);
	json_text(j, "unit", refcnt_row_source(&p)->unit);
	json_number(j, "period_ms", v->refcnt->period_ms);
	for (size_t i = 0; i < BASE_NELEM(numbers); i++)
		json_number(j, numbers[i].key, numbers[i].n);
}
