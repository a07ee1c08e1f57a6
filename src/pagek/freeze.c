/*
 * The paused picture: a copy of all it can show, so that one may scroll and
 * sort it while the session goes on collecting.
 *
 * The copy is a block list of its own.  It costs as much memory as the list
 * holds blocks, for as long as the pause lasts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept.h"

#define TEXT_MAX 256
#define COPY_ROWS 256

struct page_frozen {
	struct nodes_look look;
	struct blklist_counts counts;
	uint64_t keeper[WIRE_STATS_COUNT];
	uint64_t node[WIRE_STATS_COUNT];
	struct blklist *list;
	struct stream_types types;
	struct wire_region region[WIRE_REGIONS_MAX];
	struct page_kept *kept;
	char node_name[TEXT_MAX];
	char target_name[TEXT_MAX];
	char reason[TEXT_MAX];
	char output[TEXT_MAX];
	char socket[TEXT_MAX];
};

/* Requesters are numbered by each list for itself. */
static uint16_t
copy_info(const struct blklist *from, struct blklist *to, uint16_t info)
{
	const struct blklist_info *entry = NULL;

	if (info != 0)
		entry = blklist_info_get(from, info);
	return entry != NULL ? blklist_info_intern(to, entry) : 0;
}

static int
copy_list(const struct blklist *from, uint32_t active, uint64_t sample,
    struct blklist **out)
{
	struct blk rows[COPY_ROWS];
	struct blklist *to;
	bool first = true;
	unsigned layer = 0;
	uint64_t addr = 0;
	size_t n, i;
	int r;

	r = blklist_new(&to, BLKLIST_INDEXED, active > 0 ? active : 1);
	if (r < 0)
		return r;
	blklist_sample(to, sample);
	while ((n = blklist_after(from, first, layer, addr, rows,
	    COPY_ROWS)) > 0) {
		for (i = 0; i < n; i++) {
			rows[i].info = copy_info(from, to, rows[i].info);
			r = blklist_put(to, &rows[i]);
			if (r < 0)
				goto fail;
		}
		first = false;
		layer = (rows[n - 1].flags & REC_LAYER_API) != 0;
		addr = rows[n - 1].addr;
	}
	*out = to;
	return 0;
fail:
	blklist_free(to);
	return r;
}

static const char *
copy_text(char out[TEXT_MAX], const char *text)
{
	snprintf(out, TEXT_MAX, "%s", text != NULL ? text : "");
	return out;
}

int
page_freeze(struct page *page, const struct page_view *v)
{
	struct page_frozen *f;
	int r;

	f = calloc(1, sizeof *f);
	if (f == NULL)
		return -ENOMEM;
	f->look = *v->look;
	f->counts = *v->counts;
	r = page_kept_new(&f->kept);
	if (r == 0 && v->look->list != NULL)
		r = copy_list(v->look->list, v->counts->aRecActive,
		    v->look->sample, &f->list);
	if (r < 0) {
		page_kept_free(f->kept);
		free(f);
		return r;
	}
	f->look.list = f->list;
	if (v->look->regions > 0)
		memcpy(f->region, v->look->region,
		    v->look->regions * sizeof *f->region);
	f->look.region = f->region;
	if (v->look->types != NULL) {
		f->types = *v->look->types;
		f->look.types = &f->types;
	}
	if (v->look->keeper != NULL) {
		memcpy(f->keeper, v->look->keeper, sizeof f->keeper);
		f->look.keeper = f->keeper;
	}
	if (v->look->node != NULL) {
		memcpy(f->node, v->look->node, sizeof f->node);
		f->look.node = f->node;
	}
	f->look.node_name = copy_text(f->node_name, v->look->node_name);
	f->look.target_name = copy_text(f->target_name, v->look->target_name);
	f->look.reason = copy_text(f->reason, v->look->reason);
	f->look.output = copy_text(f->output, v->look->output);
	f->look.socket = copy_text(f->socket, v->look->socket);
	page_thaw(page);
	page->round++;
	page->frozen = f;
	return 0;
}

void
page_thaw(struct page *page)
{
	if (page->frozen == NULL)
		return;
	if (page->frozen->list != NULL)
		blklist_free(page->frozen->list);
	page_kept_free(page->frozen->kept);
	free(page->frozen);
	page->frozen = NULL;
	page->round++;
}

void
page_view_frozen(struct page_view *v, const struct page *page)
{
	struct page_frozen *f = page->frozen;

	if (f == NULL)
		return;
	v->look = &f->look;
	v->counts = &f->counts;
	page_kept_behind(f->kept, v,
	    v->live->stream_no == f->look.stream_no);
}
