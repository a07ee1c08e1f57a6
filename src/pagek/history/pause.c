/*
 * The paused picture: a copy of all it can show, so that one may scroll and
 * sort it while the session goes on collecting.
 *
 * The copy is a block list of its own.  It costs as much memory as the list
 * holds blocks, for as long as the pause lasts.  Steps put lists in its place
 * that are made of it, as it was before (history.h).
 *
 * A large list is copied in portions, from picture to picture, while it goes on
 * changing.  The copy is of the moment when the pause was asked for all the
 * same: blocks that came since are left out by their sequence numbers, and
 * those that are freed before the copy comes to them are among what the list
 * has removed last.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/hashmap.h"
#include "../../base/scan.h"

#include "../page/view.h"
#include "history.h"
#include "../rows/frozen_order.h"

struct page_kept;

static int page_kept_new(struct page_kept **);
static void page_kept_free(struct page_kept *);

/*
 * Puts the copies behind the view.  Not `same`: the view looks at another
 * stream by now, where the numbers mean something else, and is not asked.
 */
static void page_kept_behind(struct page_kept *, struct page_view *, bool same);

#define TEXT_MAX 256
#define COPY_ROWS 256
#define PORTION 65536		/* blocks that are copied for one picture ... */
#define PORTION_NS INT64_C(7000000)	/* ... fewer where they take longer */
#define MORE 1024		/* for frees that are taken back meanwhile */
#define ORDER_PART 65536	/* of blklist_restore_order() at once ... */
#define ORDER_NS INT64_C(4000000)	/* ... again and again, in one picture */

struct page_frozen {
	struct nodes_look look;
	struct blklist_counts counts;
	uint64_t keeper[WIRE_STATS_COUNT];
	uint64_t node[WIRE_STATS_COUNT];
	struct blklist *list;
	const struct blklist *from;	/* copied from, and of what it was then: */
	uint64_t inherited, youngest, removals;
	unsigned layer;			/* the last block copied; `any`: there is one */
	uint64_t addr;
	bool any, copied;
	uint64_t passed;
	struct scan scan;
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

/* 0 as well for one that is there already, or that has come since. */
static int
copy_block(struct page_frozen *f, const struct blklist *from, struct blk *b)
{
	int r;

	if ((int64_t)(b->seq - f->youngest) > 0)
		return 0;
	b->info = copy_info(from, f->list, b->info);
	r = blklist_put(f->list, b);
	return r == -EEXIST ? 0 : r;
}

/* What has been freed since the last portion, be it copied or not. */
static int
copy_removed(struct page_frozen *f, const struct blklist *from)
{
	uint64_t all = blklist_removals(from);
	struct blklist_removed gone;
	int r = 0;

	for (; r == 0 && f->removals < all; f->removals++) {
		uint64_t k = all - f->removals - 1;

		if (k > UINT32_MAX ||
		    blklist_removed_get(from, (uint32_t)k, &gone) < 0)
			return -ESTALE;
		r = copy_block(f, from, &gone.blk);
	}
	return r;
}

/* They were put in by address; false: the order of age takes longer. */
static bool
order_on(struct page_frozen *f)
{
	scan_portion(&f->scan, 0, ORDER_NS);
	while (!blklist_restore_order(f->list, ORDER_PART))
		if (!scan_has_budget(&f->scan))
			return false;
	return true;
}

/* -EAGAIN: there are more. */
static int
copy_on(struct page_frozen *f, const struct blklist *from)
{
	struct blk rows[COPY_ROWS];
	size_t n, i;
	int r;

	scan_portion(&f->scan, PORTION, PORTION_NS);
	r = copy_removed(f, from);
	while (r == 0 && !f->copied) {
		n = blklist_after(from, !f->any, f->layer, f->addr, rows,
		    COPY_ROWS);
		f->copied = n == 0;
		if (n == 0)
			break;
		f->any = true;
		f->layer = blk_layer(&rows[n - 1]);
		f->addr = rows[n - 1].addr;
		f->passed += n;
		for (i = 0; i < n && r == 0; i++)
			r = copy_block(f, from, &rows[i]);
		scan_spend(&f->scan, (int64_t)n);
		if (!scan_has_budget(&f->scan))
			break;
	}
	if (r < 0)
		return r;
	return f->copied && order_on(f) ? 0 : -EAGAIN;
}

static int
copy_begin(struct page_frozen *f, const struct page_view *v)
{
	const struct blklist *from = v->look->list;
	uint64_t room = (uint64_t)v->counts->aRecActive + MORE;
	struct blk youngest;
	int r;

	if (room > BLKLIST_MAX)
		room = BLKLIST_MAX;
	r = blklist_new(&f->list, BLKLIST_INDEXED, (uint32_t)room);
	if (r < 0)
		return r;
	blklist_sample(f->list, v->look->sample);
	f->look.list = f->list;
	f->from = from;
	f->inherited = v->counts->inherited;
	f->removals = blklist_removals(from);
	f->copied = blklist_window(from, BLKLIST_BY_AGE, true, 0, &youngest,
	    1) != 1;
	if (!f->copied)
		f->youngest = youngest.seq;
	return 0;
}

static const char *
copy_text(char out[TEXT_MAX], const char *text)
{
	snprintf(out, TEXT_MAX, "%s", text != NULL ? text : "");
	return out;
}

static void
frozen_free(struct page_frozen *f)
{
	if (f == NULL)
		return;
	page_steps_fini(&f->steps);
	if (f->list != NULL)
		blklist_free(f->list);
	page_kept_free(f->kept);
	free(f);
}

/* All but the blocks. */
static int
freeze_begin(struct page *page, const struct page_view *v)
{
	struct page_frozen *f;
	int r;

	page_past_note(page, v);
	f = calloc(1, sizeof *f);
	if (f == NULL)
		return -ENOMEM;
	f->look = *v->look;
	f->look.list = NULL;
	f->counts = *v->counts;
	f->copied = true;
	r = page_kept_new(&f->kept);
	if (r == 0 && v->look->list != NULL)
		r = copy_begin(f, v);
	if (r < 0) {
		frozen_free(f);
		return r;
	}
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
	page->freezing = f;
	return 0;
}

/* Blocks that were put in without a record are none that came since. */
static bool
is_same(const struct page_frozen *f, const struct page_view *v)
{
	return v->look->list == f->from && !v->look->window &&
	    v->look->stream_no == f->look.stream_no &&
	    v->counts->inherited == f->inherited &&
	    blklist_removals(v->look->list) >= f->removals;
}

int
page_freeze(struct page *page, const struct page_view *v)
{
	struct page_frozen *f;
	int r = 0;

	if (page->freezing == NULL)
		r = freeze_begin(page, v);
	if (r < 0)
		return r;
	f = page->freezing;
	if (f->list != NULL)
		r = is_same(f, v) ? copy_on(f, f->from) : -ESTALE;
	if (r == -EAGAIN)
		return r;
	page->freezing = NULL;
	if (r < 0) {
		frozen_free(f);
		return r;
	}
	page->round++;
	f->paused = f->look;
	f->paused_counts = f->counts;
	page_steps_begin(&f->steps, page->past, f->list, f->look.sample);
	page->frozen = f;
	return 0;
}

unsigned
page_freezing(const struct page *page)
{
	const struct page_frozen *f = page->freezing;

	if (f == NULL || f->counts.aRecActive == 0)
		return 0;
	return scan_percent(f->passed, f->counts.aRecActive);
}

void
page_thaw(struct page *page)
{
	frozen_free(page->freezing);
	page->freezing = NULL;
	if (page->frozen == NULL)
		return;
	frozen_free(page->frozen);
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
	f->look.list = page_steps_list(&f->steps);
	f->look.as_of = s->as_of;
	f->look.now_ms = s->now_ms;
	f->look.node_wall_ms = s->node_wall_ms;
	f->look.total_records = s->total_records;
	f->counts = s->counts;
	f->counts.aRecActive = blklist_counts(f->look.list)->aRecActive;
	/* Which memory was wholly known then is not. */
	f->look.regions = 0;
}

/* The pause may have come in the same moment as the last state. */
static bool
is_paused_one(const struct page_frozen *f)
{
	const struct page_past_state *s = page_past_state(f->steps.past,
	    f->steps.to);

	return s != NULL && s->as_of == f->paused.as_of;
}

int
page_step(struct page *page, bool back)
{
	struct page_frozen *f = page->frozen;
	int r;

	if (f == NULL || f->list == NULL)
		return -EINVAL;
	r = page_steps_ask(&f->steps, back);
	if (r < 0 || !is_paused_one(f))
		return r;
	r = page_steps_ask(&f->steps, back);
	if (r < 0)
		page_steps_ask(&f->steps, !back);
	return r;
}

int
page_step_on(struct page *page, int64_t budget_ns)
{
	struct page_frozen *f = page->frozen;
	size_t was;
	int r;

	if (f == NULL)
		return -EINVAL;
	was = f->steps.at;
	r = page_steps_on(&f->steps, budget_ns);
	if (f->steps.at == was)
		return r;
	show_state(f);
	page_freeze_end_brief(page);
	page->round++;
	return r;
}

bool
page_step_stop(struct page *page)
{
	return page->frozen != NULL && page_steps_stop(&page->frozen->steps);
}

bool
page_stepping(const struct page *page, unsigned *percent)
{
	const struct page_frozen *f = page->frozen;

	if (f == NULL || f->steps.to == f->steps.at)
		return false;
	*percent = page_steps_percent(&f->steps);
	return true;
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
	const struct page_past_state *s;
	char when[16] = "", apart[48] = "";
	unsigned least, most;
	struct tm tm;
	size_t len = 0;

	out[0] = '\0';
	if (f == NULL)
		return;
	s = page_past_state(f->steps.past, f->steps.to);
	page_wall(page, &f->paused, s != NULL ? s->node_wall_ms :
	    f->paused.node_wall_ms, &tm);
	strftime(when, sizeof when, "%H:%M:%S", &tm);
	if (page_past_apart(f->steps.past, &least, &most))
		base_append(apart, sizeof apart, &len, least == most ?
		    ", %u s apart" : ", %u to %u s apart", least, most);
	len = 0;
	base_append(out, cap, &len, "picture of %s, %zu of %zu%s", when,
	    f->steps.to + 1, page_past_states(f->steps.past) + 1, apart);
}

/* --- names ---------------------------------------------------------------- */

enum kind { STACK, WORDS, THREAD, KINDS };

struct kept_item {
	uint64_t key;
	void *copy;		/* one piece of memory; owned */
};

struct page_kept {
	struct hashmap copies[KINDS];	/* of struct kept_item */
	bool same;
	struct profile_words live;
	const char *(*live_thread)(void *arg, uint16_t thread);
	void *live_arg;
};

static void *
find_copy(const struct page_kept *k, enum kind kind, uint64_t key)
{
	const struct kept_item *item = hashmap_get(&k->copies[kind], key);

	return item != NULL ? item->copy : NULL;
}

/* Takes over the copy.  Without memory the live view is asked again. */
static void
keep_copy(struct page_kept *k, enum kind kind, uint64_t key, void *copy)
{
	struct kept_item *item = NULL;

	if (copy != NULL)
		item = hashmap_add(&k->copies[kind], key);
	if (item != NULL)
		item->copy = copy;
	else
		free(copy);
}

static bool
kept_stack(void *arg, uint64_t caller, struct nodes_stack *out)
{
	struct page_kept *k = arg;
	const struct nodes_stack *copy = find_copy(k, STACK, caller);

	if (copy != NULL) {
		*out = *copy;
		return true;
	}
	if (!k->same || !k->live.stack(k->live.arg, caller, out))
		return false;
	keep_copy(k, STACK, caller, nodes_stack_copy(out));
	return true;
}

/* Words that get better yet are passed on as they are. */
static const struct wire_words *
kept_words(void *arg, uint64_t frame)
{
	struct page_kept *k = arg;
	const struct wire_words *w = find_copy(k, WORDS, frame);

	if (w != NULL)
		return w;
	w = k->same ? k->live.words(k->live.arg, frame) : NULL;
	if (w != NULL && w->known != WIRE_K_PENDING && !w->fetching)
		keep_copy(k, WORDS, frame, nodes_words_copy(w));
	return w;
}

static const char *
kept_thread(void *arg, uint16_t thread)
{
	struct page_kept *k = arg;
	const char *name = find_copy(k, THREAD, thread);

	if (name != NULL)
		return name;
	name = k->same ? k->live_thread(k->live_arg, thread) : "";
	if (name[0] != '\0')
		keep_copy(k, THREAD, thread, strdup(name));
	return name;
}

/* --- life --------------------------------------------------------------- */

static int
page_kept_new(struct page_kept **out)
{
	struct page_kept *k = calloc(1, sizeof *k);

	if (k == NULL)
		return -ENOMEM;
	for (int i = 0; i < KINDS; i++)
		k->copies[i].size = sizeof(struct kept_item);
	*out = k;
	return 0;
}

static void
page_kept_free(struct page_kept *k)
{
	if (k == NULL)
		return;
	for (int i = 0; i < KINDS; i++) {
		const struct kept_item *item = k->copies[i].item;

		for (size_t j = 0; j < k->copies[i].n; j++)
			free(item[j].copy);
		hashmap_fini(&k->copies[i]);
	}
	free(k);
}

static void
page_kept_behind(struct page_kept *k, struct page_view *v, bool same)
{
	k->same = same;
	k->live = v->words;
	k->live_thread = v->thread;
	k->live_arg = v->arg;
	v->words = (struct profile_words){
		.stack = kept_stack,
		.words = kept_words,
		.arg = k,
	};
	v->thread = kept_thread;
	v->arg = k;
}

void
page_view_shown(struct page_view *v, const struct page *page,
    struct nodes_session *session)
{
	page_view_live(v, session);
	page_view_frozen(v, page);
	v->units = page->units;
	v->utc = page->opts.utc;
	v->wrappers = page->opts.wrappers;
}
