/*
 * One target: beginning and end, and the passes between.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drain.h"
#include "keeper.h"
#include "kept_memory.h"
#include "modules.h"
#include "node.h"

static void keeper_free(struct keeper *);
static void detach(struct keeper *);

/* kept: where it is to be; NULL: in this process's own memory. */
static int
make_queue(struct keeper_kept *kept, struct stream_queue **out)
{
	return kept != NULL ?
	    stream_queue_new_kept(out, STREAM_QUEUE_RECORDS, kept->memory) :
	    stream_queue_new(out, STREAM_QUEUE_RECORDS);
}

static int
make_list(const struct keeper *k, uint32_t max, bool forks,
    struct keeper_kept *kept, struct blklist **out)
{
	struct blklist *list;
	int r;

	r = kept != NULL ? blklist_new_kept(&list, max, kept->memory) :
	    blklist_new_most(&list,
	    k->classic ? BLKLIST_LITERAL : BLKLIST_INDEXED, max);
	if (r < 0)
		return r;
	if (forks) {
		r = blklist_remember(list, KEEPER_REMEMBERED);
		if (r < 0) {
			blklist_free(list);
			return r;
		}
	}
	blklist_set_opaque(list, !k->levels);
	blklist_sample(list, k->sample);
	r = k->node->opts.no_pairs ? blklist_follow_rises(list) : 0;
	if (r < 0) {
		blklist_free(list);
		return r;
	}
	*out = list;
	return 0;
}

static int
make_lists(struct keeper *k, const struct keeper_opts *o)
{
	uint32_t max = o->max;
	int r;

	if (max == 0)
		max = o->classic ? NODES_MAX_CLASSIC : NODES_MAX;
	r = make_queue(k->memory.target, &k->queue);
	if (r < 0)
		return r;
	k->first = stream_queue_next(k->queue);
	/* Any process may fork, and says so only afterwards. */
	r = make_list(k, max, o->with_feed, k->memory.target, &k->list);
	if (r < 0)
		return r;
	if (!o->classic) {
		r = k->memory.target != NULL ?
		    kept_sites_new(&k->memory.sites, k->node, &k->sites) :
		    stream_sites_new(&k->sites);
		if (r < 0)
			return r;
		r = stream_digest_new(&k->digest);
		if (r < 0)
			return r;
	}
	k->types = malloc(sizeof *k->types);
	if (k->types == NULL)
		return -ENOMEM;
	if (o->classic)
		stream_types_init_classic(k->types);
	else
		stream_types_init(k->types);
	keeper_types_changed(k);
	return 0;
}

static int
make_feed(struct keeper *k, int *fds)
{
	const struct node_opts *o = &k->node->opts;
	int r;

	if (k->memory.target != NULL)
		r = stream_feed_new_kept(&k->feed, fds, o->no_wait,
		    &keeper_sink, k);
	else
		r = stream_feed_new(&k->feed, fds, o->no_wait, &keeper_sink,
		    k);
	if (r < 0)
		return r;
	if (k->memory.target != NULL)
		stream_feed_hold(k->feed);
	stream_feed_sites(k->feed, k->sites);
	stream_feed_want_stacks(k->feed, o->stack, o->free_stacks);
	stream_feed_want_apart(k->feed, o->no_pairs);
	stream_feed_want_sample(k->feed, k->sample);
	return 0;
}

/* What can outlive us is in memory of its own, if that can be had. */
static int
make_parts(struct keeper *k, const struct keeper_opts *o, int *fds)
{
	int r = 0;

	if (o->with_feed && keeper_kept_wanted(k->node) &&
	    keeper_kept_new(&k->memory.target, k->node, 1) == 0) {
		r = make_lists(k, o);
		if (r == 0)
			r = make_feed(k, fds);
		if (r == 0) {
			keeper_kept_made(k->memory.target, k->node);
			return 0;
		}
		keeper_drop(k);
	}
	if (!o->no_list)
		r = make_lists(k, o);
	if (r == 0 && o->with_feed)
		r = make_feed(k, fds);
	return r;
}

int
keeper_new(struct keeper **out, struct node *node,
    const struct keeper_opts *o, int *fds)
{
	struct keeper *k = calloc(1, sizeof *k);
	int r;

	if (k == NULL)
		return -ENOMEM;
	k->node = node;
	k->refs = 1;
	k->image.uid = node->access.owner;
	k->image.pidfd = -1;
	k->image.status = -1;
	k->image.state = o->no_list ? WIRE_S_NO_DATA : WIRE_S_LIVE;
	k->classic = o->classic;
	k->levels = !o->classic;
	if (o->with_feed)
		k->sample = node->opts.sample;
	pthread_mutex_init(&k->modules.lock, NULL);
	r = make_parts(k, o, fds);
	if (r < 0) {
		keeper_free(k);
		return r;
	}
	*out = k;
	return 0;
}

int
keeper_check_list(struct keeper *k)
{
	int r;

	if (k->list == NULL || k->classic)
		return 0;
	r = blklist_new(&k->oracle, BLKLIST_LITERAL,
	    blklist_counts(k->list)->aRecMax);
	if (r == 0)
		keeper_types_changed(k);
	return r;
}

static void
begin_counting(struct keeper *k)
{
	memset(k->numbers.lost, 0, sizeof k->numbers.lost);
	k->numbers.bad = k->numbers.mismatches = 0;
	k->unsure = k->since_click = false;
	k->image.reason[0] = '\0';
	k->numbers.sites_full_then += k->numbers.sites_full;
	k->numbers.walks_then += k->numbers.walks;
	k->numbers.pairs_then += k->numbers.pairs;
	k->numbers.sites_full = k->numbers.walks = k->numbers.pairs = 0;
}

static void
free_tags(struct keeper *k)
{
	if (k->memory.target == NULL)
		free(k->threads.tag);
	k->threads.tag = NULL;
}

/*
 * All that goes by sequence numbers goes at once: what stayed would be taken
 * for that of the records which have the same numbers later.
 */
static void
free_tables(struct keeper *k)
{
	blklist_free(k->list);
	blklist_free(k->oracle);
	stream_queue_free(k->queue);
	stream_digest_free(k->digest);
	free_tags(k);
	k->list = NULL;
	k->oracle = NULL;
	k->queue = NULL;
	k->digest = NULL;
}

int
keeper_anew(struct keeper *k)
{
	uint32_t max = blklist_counts(k->list)->aRecMax;
	bool checked = k->oracle != NULL;
	struct keeper_kept *kept = NULL;
	struct stream_queue *queue = NULL;
	struct stream_digest *digest = NULL;
	struct blklist *list = NULL;
	int r = 0;

	if (k->memory.target != NULL)
		r = keeper_kept_new(&kept, k->node,
		    k->memory.target->generation + 1);
	if (r == 0)
		r = make_queue(kept, &queue);
	if (r == 0)
		r = make_list(k, max, k->feed != NULL, kept, &list);
	if (r == 0 && !k->classic)
		r = stream_digest_new(&digest);
	if (r < 0) {
		blklist_free(list);
		stream_queue_free(queue);
		keeper_kept_free(kept);
		return r;
	}
	free_tables(k);
	k->queue = queue;
	k->digest = digest;
	k->list = list;
	k->first = stream_queue_next(queue);
	k->peak = (struct peak){ 0 };
	if (kept != NULL)
		keeper_kept_replace(k, kept);
	begin_counting(k);
	keeper_types_changed(k);
	if (checked && keeper_check_list(k) < 0)
		snprintf(k->image.reason, sizeof k->image.reason,
		    "out of memory for the literal list: not checked");
	return 0;
}

int
keeper_tables(struct keeper *k, struct keeper_kept *kept, uint32_t max,
    uint64_t next)
{
	int r;

	blklist_free(k->list);
	stream_queue_free(k->queue);
	k->list = NULL;
	k->queue = NULL;
	r = make_queue(kept, &k->queue);
	if (r < 0)
		return r;
	stream_queue_start_at(k->queue, next);
	k->first = next;
	return make_list(k, max, true, kept, &k->list);
}

static void
keeper_free(struct keeper *k)
{
	detach(k);
	keeper_drop(k);
	if (k->modules.table != NULL)
		symbol_modules_free(k->modules.table);
	pthread_mutex_destroy(&k->modules.lock);
	if (k->image.pidfd >= 0)
		close(k->image.pidfd);
	free(k->image.cut);
	free(k->image.exe);
	free(k->image.cwd);
	free(k->source.arg);
	free(k);
}

void
keeper_ref(struct keeper *k)
{
	k->refs++;
}

void
keeper_unref(struct keeper *k)
{
	if (--k->refs == 0)
		keeper_free(k);
}

bool
keeper_is_live(const struct keeper *k)
{
	return k->image.ended_ms == 0;
}

/* --- passes ------------------------------------------------------------- */

/* The feed is dead, by the target's doing or for want of memory. */
static void
corrupt(struct keeper *k, int err)
{
	/* What else was on its way cannot be known: one stands for "some". */
	keeper_lose(k, STREAM_CORRUPT, 1);
	k->image.state = WIRE_S_CORRUPT;
	snprintf(k->image.reason, sizeof k->image.reason, "%s: detached",
	    err == -ENOMEM ? "no memory left to order its records" :
	    "its rings hold what no producer writes");
	keeper_kept_forget(k);
	detach(k);
}

void
keeper_beat(struct keeper *k, int64_t ms)
{
	if (k->feed == NULL)
		return;
	stream_feed_beat(k->feed, ms);
	k->beat_ms = ms;
}

/* What the feed has counted in the target outlives it. */
static void
count_asides(struct keeper *k)
{
	const struct stream_feed_counts *n = stream_feed_counts(k->feed);

	k->numbers.sites_full = n->sites_full - k->numbers.sites_full_then;
	k->numbers.walks = n->walks - k->numbers.walks_then;
	k->numbers.pairs = n->pairs - k->numbers.pairs_then;
	k->numbers.marks_untold = n->marks_untold;
}

static int
pass_source(struct keeper *k, int64_t ms)
{
	uint64_t next = keeper_next(k);

	k->source.make(k, ms);
	return (int)(keeper_next(k) - next);
}

/*
 * Batch by batch, for only their number can be limited and not their time.  The
 * clock goes on with each: it is what the target's records get.
 */
static int
pass_feed(struct keeper *k, int64_t ms, struct mono begun, int64_t limit_us)
{
	int64_t clock_ahead = ms - mono_ms(begun);
	struct mono at = begun;
	int n, sum = 0;

	do {
		k->beat_ms = mono_ms(at) + clock_ahead;
		n = stream_feed_pass_some(k->feed, k->beat_ms,
		    limit_us > 0 ? KEEPER_BATCH : UINT64_MAX);
		if (n < 0)
			return n;
		if (!stream_feed_is_behind(k->feed))
			peak_looked(k);
		sum += n;
		keeper_kept_room(k);
		at = mono_now();
	} while (mono_diff_ns(at, begun) < limit_us * 1000 &&
	    stream_feed_is_behind(k->feed));
	return sum;
}

static int
pass(struct keeper *k, int64_t ms, int64_t limit_us)
{
	struct mono begun = mono_now();
	int n;

	if (k->source.make != NULL) {
		n = pass_source(k, ms);
	} else if (k->feed != NULL) {
		n = pass_feed(k, ms, begun, limit_us);
		count_asides(k);
	} else {
		return 0;
	}
	k->threads.name_reads = 0;
	modules_find_paths(k);
	if (k->list != NULL)
		blklist_ahead(k->list);
	k->numbers.cycle_us =
	    (uint32_t)(mono_diff_ns(mono_now(), begun) / 1000);
	if (n < 0) {
		corrupt(k, n);
		return 0;
	}
	keeper_kept_commit(k, false);
	return n;
}

int
keeper_pass(struct keeper *k, int64_t mono_ms)
{
	return pass(k, mono_ms, 0);
}

int
keeper_visit(struct keeper *k, int64_t mono_ms)
{
	return pass(k, mono_ms, KEEPER_PASS_US);
}

bool
keeper_is_behind(const struct keeper *k)
{
	return k->feed != NULL && stream_feed_is_behind(k->feed);
}

/* --- the end ------------------------------------------------------------ */

/* A child forked before the end may say hello after it, and its cut is in these. */
static void
keep_due(struct keeper *k)
{
	size_t bytes = REC_SHARDS * sizeof *k->last.due;

	k->last.due = malloc(bytes);
	if (k->last.due != NULL)
		memcpy(k->last.due, stream_feed_due(k->feed), bytes);
}

void
keeper_end(struct keeper *k, enum wire_state state, int32_t status,
    const char *reason)
{
	if (!keeper_is_live(k))
		return;
	if (k->feed != NULL) {
		int n = stream_feed_finish(k->feed, mono_ms(mono_now()));

		peak_looked(k);
		count_asides(k);
		modules_find_paths(k);
		if (n < 0) {
			corrupt(k, n);
		} else if (!stream_feed_counts(k->feed)->joined) {
			/* Silent rings of one that never had them say nothing. */
			k->missed = true;
			state = WIRE_S_NO_DATA;
			reason = "it could not take the rings that it was "
			    "given, or not in time";
		} else if (k->arming.asleep) {
			/* An empty list would say that it held nothing. */
			k->missed = true;
			reason = state == WIRE_S_EXECED ?
			    "it was dormant when it called exec: nothing was "
			    "logged" :
			    "it was dormant when it ended: nothing was logged";
			state = WIRE_S_NO_DATA;
		} else {
			keep_due(k);
		}
	}
	keeper_kept_forget(k);
	k->source.make = NULL;
	if (k->image.state != WIRE_S_CORRUPT) {
		k->image.state = state;
		if (k->numbers.mismatches == 0 && reason != NULL)
			snprintf(k->image.reason, sizeof k->image.reason, "%s",
			    reason);
	}
	k->image.status = status;
	k->image.ended_ms = base_wall_ms();
	detach(k);
}

/* The feed's end: rings unmapped, waiting producers told. */
static void
detach(struct keeper *k)
{
	if (k->bell != NULL) {
		/* Its thread may be asleep in the feed: the feed goes with it. */
		bell_close(k->bell, k->feed);
		k->bell = NULL;
	} else if (k->feed != NULL) {
		stream_feed_free(k->feed);
	}
	k->feed = NULL;
}

void
keeper_drop(struct keeper *k)
{
	keeper_kept_forget(k);
	if (k->list != NULL)
		k->last.counts = *blklist_counts(k->list);
	if (k->queue != NULL)
		k->last.next = stream_queue_next(k->queue);
	free_tables(k);
	if (k->sites != NULL)
		stream_sites_unref(k->sites);
	kept_sites_unref(k->memory.sites);
	kept_sites_unref(k->memory.sites_left);
	k->sites = NULL;
	k->memory.sites = k->memory.sites_left = NULL;
	free(k->last.due);
	free(k->types);
	free(k->threads.at);
	free(k->threads.batch_info);
	keeper_kept_free(k->memory.target);
	k->memory.target = NULL;
	k->last.due = NULL;
	k->types = NULL;
	k->threads.at = NULL;
	k->threads.n = k->threads.cap = 0;
	k->threads.batch_info = NULL;
	k->threads.requesters = 0;
}

/* --- what is known ------------------------------------------------------ */

const struct blklist_counts *
keeper_counts(const struct keeper *k)
{
	return k->list != NULL ? blklist_counts(k->list) : &k->last.counts;
}

uint64_t
keeper_lost(const struct keeper *k)
{
	uint64_t sum = 0;

	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		sum += k->numbers.lost[c];
	return sum;
}

bool
keeper_complete(const struct keeper *k)
{
	return !k->unsure && keeper_lost(k) == 0 &&
	       keeper_counts(k)->full == 0 &&
	       k->image.state != WIRE_S_CORRUPT &&
	       k->image.state != WIRE_S_NO_DATA;
}

uint64_t
keeper_oldest(const struct keeper *k)
{
	return k->queue != NULL ? stream_queue_oldest(k->queue) : k->last.next;
}

uint64_t
keeper_next(const struct keeper *k)
{
	return k->queue != NULL ? stream_queue_next(k->queue) : k->last.next;
}

int64_t
keeper_now_ms(const struct keeper *k)
{
	if (k->classic || k->source.words != NULL)
		return k->source.now_ms;
	return mono_ms(mono_now());
}

void
keeper_share_sites(struct keeper *child, const struct keeper *parent)
{
	if (parent->sites == NULL || child->sites == NULL)
		return;
	stream_sites_ref(parent->sites);
	stream_sites_unref(child->sites);
	kept_sites_ref(parent->memory.sites);
	child->memory.sites_left = child->memory.sites;
	child->sites = parent->sites;
	child->memory.sites = parent->memory.sites;
	if (child->feed != NULL)
		stream_feed_sites(child->feed, child->sites);
}

void
keeper_types_changed(struct keeper *k)
{
	uint8_t legal[32];

	keeper_kept_types(k);
	stream_types_legal(k->types, legal);
	blklist_set_legal(k->list, legal);
	if (k->oracle != NULL)
		blklist_set_legal(k->oracle, legal);
}

void
keeper_expect_unlisted(struct keeper *k)
{
	k->since_click = true;
	blklist_set_since_click(k->list, true);
	if (k->oracle != NULL)
		blklist_set_since_click(k->oracle, true);
}
