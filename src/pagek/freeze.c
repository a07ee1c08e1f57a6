/*
 * The paused picture: a copy of all it can show, so that one may scroll and
 * sort it while the session goes on collecting.
 *
 * The copy is a block list of its own.  It costs as much memory as the list
 * holds blocks, for as long as the pause lasts.  Steps take it back to what the
 * list was before (past.h) and forth again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kept.h"
#include "past.h"
#include "still.h"

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
	struct page_steps steps;
	struct nodes_look paused;	/* `look`, before any step ... */
	struct blklist_counts paused_counts;	/* ... and `counts` */
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
copy_list(const struct blklist *from, uint64_t room, uint64_t sample,
    struct blklist **out)
{
	struct blk rows[COPY_ROWS];
	struct blklist *to;
	bool first = true;
	unsigned layer = 0;
	uint64_t addr = 0;
	size_t n, i;
	int r;

	if (room > BLKLIST_MAX)
		room = BLKLIST_MAX;
	r = blklist_new(&to, BLKLIST_INDEXED, room > 0 ? (uint32_t)room : 1);
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
	uint64_t room = v->counts->aRecActive;
	int r;

	page_past_note(page, v);
	if (page->past != NULL)
		room += page_past_gone(page->past);
	f = calloc(1, sizeof *f);
	if (f == NULL)
		return -ENOMEM;
	f->look = *v->look;
	f->counts = *v->counts;
	r = page_kept_new(&f->kept);
	if (r == 0 && v->look->list != NULL)
		r = copy_list(v->look->list, room, v->look->sample, &f->list);
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
	f->paused = f->look;
	f->paused_counts = f->counts;
	page_steps_begin(&f->steps, page->past, f->list, f->look.as_of);
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
	page_steps_fini(&page->frozen->steps);
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

/* --- steps -------------------------------------------------------------- */

/* All that the picture says of the moment is of the state's. */
static void
show_state(struct page_frozen *f)
{
	const struct page_past_state *s = page_past_state(f->steps.past,
	    f->steps.at);

	f->look = f->paused;
	f->counts = f->paused_counts;
	if (s == NULL)
		return;
	f->look.as_of = s->as_of;
	f->look.now_ms = s->now_ms;
	f->look.node_wall_ms = s->node_wall_ms;
	f->look.total_records = s->total_records;
	f->counts = s->counts;
	f->counts.aRecActive = blklist_counts(f->list)->aRecActive;
	/* Which memory was wholly known then is not. */
	f->look.regions = 0;
}

int
page_step(struct page *page, bool back)
{
	struct page_frozen *f = page->frozen;
	const struct page_past_state *s;
	int r;

	if (f == NULL || f->list == NULL)
		return -EINVAL;
	r = back ? page_steps_back(&f->steps) : page_steps_forth(&f->steps);
	s = page_past_state(f->steps.past, f->steps.at);
	/* The pause may have come in the same moment as the last state. */
	if (r == 0 && s != NULL && s->as_of == f->paused.as_of)
		r = back ? page_steps_back(&f->steps) :
		    page_steps_forth(&f->steps);
	if (r < 0 && r != -ENOENT) {
		page_thaw(page);
		return r;
	}
	show_state(f);
	page_still_loosen(page);
	page->round++;
	return r;
}

bool
page_stepped(const struct page *page, int64_t *ms)
{
	const struct page_frozen *f = page->frozen;

	if (f == NULL || f->steps.at >= page_past_states(f->steps.past))
		return false;
	*ms = f->paused.now_ms - f->look.now_ms;
	return true;
}

void
page_step_text(const struct page *page, char *out, size_t cap)
{
	const struct page_frozen *f = page->frozen;
	char when[16] = "", apart[32] = "";
	struct tm tm;
	size_t len = 0, states;

	out[0] = '\0';
	if (f == NULL)
		return;
	states = page_past_states(f->steps.past);
	page_wall(page, &f->look, f->look.node_wall_ms, &tm);
	strftime(when, sizeof when, "%H:%M:%S", &tm);
	if (states > 0)
		base_append(apart, sizeof apart, &len, ", %u s apart",
		    page_past_apart(f->steps.past));
	len = 0;
	base_append(out, cap, &len, "picture of %s, %zu of %zu%s", when,
	    f->steps.at + 1, states + 1, apart);
}
