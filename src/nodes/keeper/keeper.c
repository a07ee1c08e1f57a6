#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counting.h"
#include "visits.h"
#include "keeper.h"
#include "node.h"
#include "takeover_memory.h"

static void keeper_free(struct keeper *);
static void detach(struct keeper *, bool leaves);

/* mem: where it is to be; NULL: in this process's own memory. */
static int
make_queue(struct takeover_memory *mem, struct stream_queue **out)
{
	return mem != NULL ?
	    stream_queue_new_persistent(out, STREAM_QUEUE_RECORDS, mem->pmem) :
	    stream_queue_new(out, STREAM_QUEUE_RECORDS);
}

static int
make_list(const struct keeper *k, uint32_t max, bool forks,
    struct takeover_memory *mem, struct blklist **out)
{
	struct blklist *list;
	int r;

	r = mem != NULL ? blklist_new_persistent(&list, max, mem->pmem) :
	    blklist_new_most(&list,
	    k->format.classic ? BLKLIST_LITERAL : BLKLIST_INDEXED, max);
	if (r < 0)
		return r;
	blklist_set_opaque(list, !k->format.levels);
	blklist_sample(list, k->format.sample);
	r = forks ? blklist_remember(list, KEEPER_REMEMBERED) : 0;
	if (r == 0 && k->node->opts.no_pairs)
		r = blklist_follow_thread_peaks(list);
	if (r < 0) {
		blklist_free(list);
		return r;
	}
	*out = list;
	return 0;
}

/* Blocks and requesters that are found by sequence numbers. */
struct tables {
	struct stream_queue *queue;
	struct stream_digest *digest;
	struct blklist *list;
};

static int
make_tables(const struct keeper *k, struct takeover_memory *mem, uint32_t max,
    bool forks, struct tables *out)
{
	struct tables t = { 0 };
	int r;

	r = make_queue(mem, &t.queue);
	if (r == 0)
		r = make_list(k, max, forks, mem, &t.list);
	if (r == 0 && !k->format.classic)
		r = stream_digest_new(&t.digest);
	if (r < 0) {
		blklist_free(t.list);
		stream_queue_free(t.queue);
		return r;
	}
	*out = t;
	return 0;
}

static void
set_tables(struct keeper *k, const struct tables *t)
{
	k->queue.records = t->queue;
	k->queue.digest = t->digest;
	k->queue.first = stream_queue_next(t->queue);
	k->list = t->list;
}

static int
make_lists(struct keeper *k, const struct keeper_opts *o)
{
	struct tables t;
	uint32_t max = o->max;
	int r;

	if (max == 0)
		max = o->classic ? NODES_MAX_CLASSIC : NODES_MAX;
	/* Any process may fork, and it is known only afterwards. */
	r = make_tables(k, k->takeover.memory, max, o->with_feed, &t);
	if (r < 0)
		return r;
	set_tables(k, &t);
	if (!o->classic) {
		r = k->takeover.memory != NULL ?
		    takeover_sites_new(&k->takeover.sites, k->node, &k->sites) :
		    stream_sites_new(&k->sites);
		if (r < 0)
			return r;
	}
	k->declared.types = malloc(sizeof *k->declared.types);
	if (k->declared.types == NULL)
		return -ENOMEM;
	if (o->classic)
		stream_types_init_classic(k->declared.types);
	else
		stream_types_init(k->declared.types);
	keeper_types_changed(k);
	return 0;
}

static int
make_feed(struct keeper *k, int *fds)
{
	const struct node_opts *o = &k->node->opts;
	struct takeover_memory *mem = k->takeover.memory;
	int r;

	if (mem != NULL && mem->again)
		r = stream_feed_new_again(&k->feed, &mem->areas, fds,
		    o->no_wait, &keeper_sink, k);
	else if (mem != NULL)
		r = stream_feed_new_persistent(&k->feed, fds, o->no_wait,
		    &keeper_sink, k);
	else
		r = stream_feed_new(&k->feed, fds, o->no_wait, &keeper_sink,
		    k);
	if (r < 0)
		return r;
	if (mem != NULL)
		stream_feed_hold(k->feed);
	stream_feed_sites(k->feed, k->sites);
	stream_feed_want_stacks(k->feed, o->stack, o->free_stacks);
	stream_feed_forbid_pairs(k->feed, o->no_pairs || o->usage);
	stream_feed_want_sample(k->feed, k->format.sample);
	return 0;
}

static int
find_memory(struct keeper *k, const struct keeper_opts *o)
{
	struct takeover_memory **mem = &k->takeover.memory;
	int r = o->again ? takeover_memory_again(mem, k->node) : -ENOENT;

	return r == 0 ? 0 : takeover_memory_new(mem, k->node, 1);
}

static int
make_parts(struct keeper *k, const struct keeper_opts *o, int *fds)
{
	int r = 0;

	if (o->with_feed && takeover_is_wanted(k->node) &&
	    find_memory(k, o) == 0) {
		r = make_lists(k, o);
		if (r == 0)
			r = make_feed(k, fds);
		if (r == 0) {
			takeover_memory_complete(k->takeover.memory, k->node);
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
	k->index = KEEPER_NO_ROW;
	k->image.uid = node->access.owner;
	k->process.pidfd = -1;
	SLIST_INIT(&k->queue.taps);
	k->life.status = -1;
	k->life.state = o->no_list ? WIRE_S_NO_DATA : WIRE_S_LIVE;
	k->format.classic = o->classic;
	k->format.levels = !o->classic;
	if (o->with_feed)
		k->format.sample = node->opts.sample;
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

	if (k->list == NULL || k->format.classic)
		return 0;
	r = blklist_new(&k->oracle, BLKLIST_LITERAL,
	    blklist_counts(k->list)->aRecMax);
	if (r == 0)
		keeper_types_changed(k);
	return r;
}

static void
restart_counts(struct keeper *k)
{
	memset(k->numbers.lost, 0, sizeof k->numbers.lost);
	k->numbers.bad = k->numbers.mismatches = 0;
	k->trust = (struct keeper_trust){
		.feed_unfinished = k->trust.feed_unfinished };
	k->life.reason[0] = '\0';
	k->numbers.sites_full_then += k->numbers.sites_full;
	k->numbers.walks_then += k->numbers.walks;
	k->numbers.pairs_then += k->numbers.pairs;
	k->numbers.sites_full = k->numbers.walks = k->numbers.pairs = 0;
}

static void
free_tags(struct keeper *k)
{
	if (k->takeover.memory == NULL)
		free(k->threads.tag);
	k->threads.tag = NULL;
}

/* All at once, for other records will have these sequence numbers. */
static void
free_tables(struct keeper *k)
{
	counting_leave(k);
	blklist_free(k->list);
	blklist_free(k->oracle);
	stream_queue_free(k->queue.records);
	stream_digest_free(k->queue.digest);
	free_tags(k);
	k->list = NULL;
	k->oracle = NULL;
	k->queue.records = NULL;
	k->queue.digest = NULL;
}

int
keeper_restart_list(struct keeper *k)
{
	uint32_t max = blklist_counts(k->list)->aRecMax;
	bool checked = k->oracle != NULL;
	struct takeover_memory *mem = NULL;
	struct keeper_tap *tap, *next;
	struct tables t;
	int r = 0;

	if (k->takeover.memory != NULL)
		r = takeover_memory_new(&mem, k->node,
		    k->takeover.memory->generation + 1);
	if (r == 0)
		r = make_tables(k, mem, max, k->feed != NULL, &t);
	if (r < 0) {
		takeover_memory_free(mem);
		return r;
	}
	free_tables(k);
	set_tables(k, &t);
	k->peak = (struct peak){ 0 };
	keeper_forget_marks(k);
	if (mem != NULL)
		takeover_replace(k, mem);
	restart_counts(k);
	counting_again(k);
	keeper_types_changed(k);
	if (checked && keeper_check_list(k) < 0)
		snprintf(k->life.reason, sizeof k->life.reason,
		    "out of memory for the literal list: not checked");
	for (tap = SLIST_FIRST(&k->queue.taps); tap != NULL; tap = next) {
		next = SLIST_NEXT(tap, link);
		tap->ops->restarted(tap, k);
	}
	return 0;
}

void
keeper_settle_pairs(const struct keeper *k)
{
	if (k->feed != NULL)
		stream_feed_forbid_pairs(k->feed, k->node->opts.no_pairs ||
		    !SLIST_EMPTY(&k->queue.taps) || counting_slows(k));
}

int
keeper_replace_tables(struct keeper *k, struct takeover_memory *mem,
    uint32_t max, uint64_t next)
{
	struct tables t;
	int r;

	free_tables(k);
	r = make_tables(k, mem, max, true, &t);
	if (r < 0)
		return r;
	stream_queue_start_at(t.queue, next);
	set_tables(k, &t);
	return 0;
}

static void
keeper_free(struct keeper *k)
{
	detach(k, false);
	keeper_drop(k);
	if (k->modules.table != NULL)
		symbol_modules_free(k->modules.table);
	pthread_mutex_destroy(&k->modules.lock);
	if (k->process.pidfd >= 0)
		close(k->process.pidfd);
	free(k->process.cut);
	free(k->process.exe);
	free(k->process.cwd);
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
	return k->life.ended_ms == 0;
}

static void
give_up_feed(struct keeper *k, int err)
{
	/* How many records were on their way is not known: 1 stands for "some". */
	keeper_lose(k, STREAM_CORRUPT, 1);
	k->life.state = WIRE_S_CORRUPT;
	snprintf(k->life.reason, sizeof k->life.reason, "%s: detached",
	    err == -ENOMEM ? "no memory left to order its records" :
	    "its rings have invalid content");
	takeover_forget(k);
	detach(k, false);
}

void
keeper_beat(struct keeper *k, int64_t ms)
{
	if (k->feed == NULL)
		return;
	stream_feed_beat(k->feed, ms);
	k->visits.beat_ms = ms;
}

static void
copy_feed_counts(struct keeper *k)
{
	const struct stream_feed_counts *n = stream_feed_counts(k->feed);

	k->numbers.sites_full = n->sites_full - k->numbers.sites_full_then;
	k->numbers.walks = n->walks - k->numbers.walks_then;
	k->numbers.pairs = n->pairs - k->numbers.pairs_then;
	k->numbers.marks_untold = n->marks_untold;
	keeper_count_unfinished(k, STREAM_DOUBT_UNFINISHED,
	    n->unfinished - k->trust.feed_unfinished);
	k->trust.feed_unfinished = n->unfinished;
	if ((n->past & RING_PAST_NAMESPACE) != 0)
		keeper_set_doubt(k, STREAM_DOUBT_NAMESPACE);
}

/* How many records have come.  Its list may have begun again at an earlier one. */
static int
pass_source(struct keeper *k, int64_t ms)
{
	uint64_t before = keeper_next(k), next;

	k->source.make(k, ms);
	next = keeper_next(k);
	if (next < before)
		return 0;
	return next - before > INT_MAX ? INT_MAX : (int)(next - before);
}

/* Batch by batch, to limit the time; the clock of records goes on with each. */
static int
pass_feed(struct keeper *k, int64_t ms, struct mono begun, int64_t limit_us)
{
	int64_t clock_ahead = ms - mono_ms(begun);
	struct mono at = begun;
	int n, sum = 0;

	do {
		k->visits.beat_ms = mono_ms(at) + clock_ahead;
		n = stream_feed_pass(k->feed, k->visits.beat_ms,
		    limit_us > 0 ? KEEPER_BATCH : UINT64_MAX);
		if (n < 0)
			return n;
		if (!stream_feed_is_behind(k->feed))
			peak_end_look(k);
		sum += n;
		takeover_commit_early(k);
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
		copy_feed_counts(k);
	} else {
		return 0;
	}
	k->threads.name_reads = 0;
	modules_find_paths(k);
	if (k->list != NULL)
		blklist_prefault(k->list);
	k->numbers.cycle_us =
	    (uint32_t)(mono_diff_ns(mono_now(), begun) / 1000);
	if (n < 0) {
		give_up_feed(k, n);
		return 0;
	}
	takeover_commit(k, false);
	return n;
}

int
keeper_pass(struct keeper *k, int64_t mono_ms)
{
	return pass(k, mono_ms, 0);
}

static bool
is_held(struct keeper *k)
{
	struct keeper_tap *tap;

	SLIST_FOREACH(tap, &k->queue.taps, link)
		if (tap->ops->holds(tap, k))
			return true;
	return false;
}

int
keeper_visit(struct keeper *k, int64_t mono_ms)
{
	k->visits.held = is_held(k);
	if (!k->visits.held)
		return pass(k, mono_ms, KEEPER_PASS_US);
	keeper_beat(k, mono_ms);
	return 0;
}

bool
keeper_is_behind(const struct keeper *k)
{
	return k->feed != NULL && stream_feed_is_behind(k->feed);
}

/* A child forked before the end may say hello after it, and needs these tickets. */
static void
save_due(struct keeper *k)
{
	size_t bytes = REC_SHARDS * sizeof *k->last.due;

	k->last.due = malloc(bytes);
	if (k->last.due != NULL)
		memcpy(k->last.due, stream_feed_due(k->feed), bytes);
}

#define LEAVES_MS 1000		/* age of a target up to which its areas are reused */

/*
 * True if another target may get this one's areas.  The areas of other users and of
 * sandboxed processes are not reused, because a process may still hold a descriptor.
 */
static bool
leaves_areas(const struct keeper *k, const char *reason)
{
	return k->feed != NULL && k->visits.bell == NULL && reason == NULL &&
	    !k->missed && takeover_may_leave(k) &&
	    k->image.uid == k->node->access.owner && k->sandbox.known &&
	    k->sandbox.at_hello == 0 && !k->sandbox.locked &&
	    mono_ms(mono_now()) - k->visits.joined_ms < LEAVES_MS;
}

void
keeper_end(struct keeper *k, enum wire_state state, int32_t status,
    const char *reason)
{
	struct keeper_tap *tap;
	bool leaves;

	if (!keeper_is_live(k))
		return;
	if (k->feed != NULL) {
		int n = stream_feed_finish(k->feed, mono_ms(mono_now()));

		peak_end_look(k);
		copy_feed_counts(k);
		modules_find_paths(k);
		if (n < 0) {
			give_up_feed(k, n);
		} else if (!stream_feed_counts(k->feed)->joined) {
			/* It never had the rings: silence means nothing. */
			k->missed = true;
			state = WIRE_S_NO_DATA;
			reason = "it did not map its rings; why is not known";
		} else if (k->arming.mode == ARMING_DORMANT) {
			/* An empty list would say that it held nothing. */
			k->missed = true;
			reason = state == WIRE_S_EXECED ?
			    "it was dormant when it called exec: nothing was "
			    "logged" :
			    "it was dormant when it ended: nothing was logged";
			state = WIRE_S_NO_DATA;
		} else {
			save_due(k);
		}
	}
	leaves = leaves_areas(k, reason);
	if (!leaves)
		takeover_forget(k);
	k->source.make = NULL;
	if (k->life.state != WIRE_S_CORRUPT) {
		k->life.state = state;
		if (k->numbers.mismatches == 0 && reason != NULL)
			snprintf(k->life.reason, sizeof k->life.reason, "%s",
			    reason);
	}
	k->life.status = status;
	k->life.ended_ms = base_wall_ms();
	while ((tap = SLIST_FIRST(&k->queue.taps)) != NULL) {
		SLIST_REMOVE_HEAD(&k->queue.taps, link);
		tap->ops->ended(tap, k);
	}
	detach(k, leaves);
}

static void
detach(struct keeper *k, bool leaves)
{
	if (k->feed != NULL && k->node->hooks != NULL)
		k->node->hooks->feed_ends(k);
	if (k->visits.bell != NULL) {
		/* Its thread may sleep in the feed, and frees it. */
		bell_close(k->visits.bell, k->feed);
		k->visits.bell = NULL;
	} else if (leaves) {
		takeover_leave(k);
	} else if (k->feed != NULL) {
		stream_feed_free(k->feed);
	}
	k->feed = NULL;
}

void
keeper_drop(struct keeper *k)
{
	takeover_forget(k);
	if (k->list != NULL)
		k->last.counts = *blklist_counts(k->list);
	if (k->queue.records != NULL)
		k->last.next = stream_queue_next(k->queue.records);
	counting_free(k);
	free_tables(k);
	if (k->sites != NULL)
		stream_sites_unref(k->sites);
	takeover_sites_unref(k->takeover.sites);
	takeover_sites_unref(k->takeover.old_sites);
	k->sites = NULL;
	k->takeover.sites = k->takeover.old_sites = NULL;
	free(k->last.due);
	free(k->declared.types);
	free(k->threads.at);
	free(k->threads.inherited);
	free(k->threads.batch_info);
	takeover_memory_free(k->takeover.memory);
	k->takeover.memory = NULL;
	keeper_forget_marks(k);
	k->last.due = NULL;
	k->declared.types = NULL;
	k->threads.at = k->threads.inherited = NULL;
	k->threads.ninherited = 0;
	k->threads.n = k->threads.cap = 0;
	k->threads.batch_info = NULL;
	k->threads.requesters = 0;
}

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

void
keeper_set_doubt(struct keeper *k, enum stream_doubt doubt)
{
	if (k->trust.doubt == STREAM_SURE)
		k->trust.doubt = doubt;
}

void
keeper_count_unfinished(struct keeper *k, enum stream_doubt doubt,
    uint64_t calls)
{
	if (calls == 0)
		return;
	k->trust.unfinished += calls;
	keeper_set_doubt(k, doubt);
}

/*
 * The library logs every call that it sees.  So if nothing was lost, an address
 * is allocated or freed twice only by a call that it did not see, or by a
 * double free.
 */
static bool
has_unseen_calls(const struct keeper *k)
{
	const struct blklist_counts *n = keeper_counts(k);

	return k->image.pid != 0 && !k->format.classic &&
	    k->source.words == NULL && n->duplicate + n->unknown_free > 0;
}

enum stream_doubt
keeper_doubt(const struct keeper *k)
{
	if (k->trust.doubt == STREAM_SURE && has_unseen_calls(k))
		return STREAM_DOUBT_PAST_US;
	return k->trust.doubt;
}

bool
keeper_complete(const struct keeper *k)
{
	return keeper_doubt(k) == STREAM_SURE && keeper_lost(k) == 0 &&
	       keeper_counts(k)->full == 0 &&
	       k->life.state != WIRE_S_CORRUPT &&
	       k->life.state != WIRE_S_NO_DATA;
}

const char *
keeper_lacks(const struct keeper *k)
{
	if (k->life.state == WIRE_S_CORRUPT || k->life.state == WIRE_S_NO_DATA)
		return k->life.reason;
	return stream_lack_text(keeper_lost(k), keeper_counts(k)->full,
	    keeper_doubt(k));
}

uint64_t
keeper_oldest(const struct keeper *k)
{
	return k->queue.records != NULL ?
	    stream_queue_oldest(k->queue.records) : k->last.next;
}

uint64_t
keeper_next(const struct keeper *k)
{
	return k->queue.records != NULL ?
	    stream_queue_next(k->queue.records) : k->last.next;
}

int64_t
keeper_now_ms(const struct keeper *k)
{
	if (k->format.classic || k->source.words != NULL ||
	    k->node->replay != NULL)
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
	takeover_sites_ref(parent->takeover.sites);
	child->takeover.old_sites = child->takeover.sites;
	child->sites = parent->sites;
	child->takeover.sites = parent->takeover.sites;
	if (child->feed != NULL)
		stream_feed_sites(child->feed, child->sites);
}

void
keeper_types_changed(struct keeper *k)
{
	uint8_t legal[32];

	takeover_types_changed(k);
	stream_types_legal(k->declared.types, legal);
	blklist_set_legal(k->list, legal);
	if (k->oracle != NULL)
		blklist_set_legal(k->oracle, legal);
}

/* From now on the list is complete, as if the node had been there from the start. */
void
keeper_is_told(struct keeper *k)
{
	if (!k->trust.since_click)
		return;
	k->trust.since_click = false;
	blklist_set_since_click(k->list, false);
	if (k->oracle != NULL)
		blklist_set_since_click(k->oracle, false);
	k->arming.wall_ms = 0;
	/* Pages read the list again, which is complete now. */
	dstrm_renew(&k->node->dstrm, k->index);
	takeover_commit(k, true);
}

void
keeper_expect_unlisted(struct keeper *k)
{
	k->trust.since_click = true;
	blklist_set_since_click(k->list, true);
	if (k->oracle != NULL)
		blklist_set_since_click(k->oracle, true);
}
