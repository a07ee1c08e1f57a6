#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../refcnt/hint/hint.h"
#include "../../refcnt/writes.h"
#include "../../stream/feed/feed.h"
#include "../../stream/guard.h"
#include "../keeper/keeper.h"
#include "../keeper/node.h"
#include "worker.h"

/* A target may ask for so many pages in so long; a request counts as some more. */
#define ASKED_PAGES (2 * (uint64_t)NODE_REFCNT_PAGES)
#define ASKS_MS 1000
#define ASK_PAGES 32
#define ERRNO_END 4096	/* above all numbers of errors */

void
node_refcnt_init(struct node *node)
{
	TAILQ_INIT(&node->refcnt->all);
	pthread_mutex_init(&node->refcnt->lock, NULL);
}

static struct counted_target *
find(const struct keeper *k)
{
	struct counted_target *t;

	TAILQ_FOREACH(t, &k->node->refcnt->all, link)
		if (t->keeper == k)
			return t;
	return NULL;
}

/* Makes the topology and the frames, which all targets share. */
static int
make_shared(struct node_refcnt *all)
{
	char why[REFCNT_WHY];
	int err;

	if (all->topology != NULL)
		return 0;
	err = refcnt_topology_read(&all->topology, "/", NULL, why);
	if (err == 0)
		(void)frames_new(&all->frames, all->topology);
	return err;
}

static void
free_shared(struct node_refcnt *all)
{
	frames_free(all->frames);
	refcnt_topology_free(all->topology);
	all->frames = NULL;
	all->topology = NULL;
}

static void
free_counted(struct counted_target *t)
{
	struct node_refcnt *all = t->keeper->node->refcnt;

	pthread_mutex_lock(&all->lock);
	TAILQ_REMOVE(&all->all, t, link);
	pthread_mutex_unlock(&all->lock);
	worker_join(t);
	for (unsigned i = 0; i < NODE_REFCNT_GIVEN; i++)
		if (t->given[i] > 0)
			close(t->given[i]);
	refcnt_topology_free(t->own);
	free(t->groups);
	if (--all->n == 0)
		free_shared(all);
	refcnt_free(t->counts);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	keeper_unref(t->keeper);
	free(t);
}

/* The machine's files are by its own nodes, so counts by groups are not in them. */
static int
take_topology(struct counted_target *t, const struct node_refcnt *all,
    const char *groups, char why[NODE_REFCNT_WHY])
{
	char text[REFCNT_WHY] = "";
	int err;

	t->topology = all->topology;
	t->frames = all->frames;
	if (groups == NULL)
		return 0;
	t->groups = strdup(groups);
	err = t->groups == NULL ? -ENOMEM :
	    refcnt_topology_read(&t->own, "/", groups, text);
	snprintf(why, NODE_REFCNT_WHY, "%.*s", NODE_REFCNT_WHY - 1, text);
	t->topology = t->own;
	t->frames = NULL;
	return err;
}

static int
new_counted(struct keeper *k, const char *groups, struct counted_target **out,
    char why[NODE_REFCNT_WHY])
{
	struct node_refcnt *all = k->node->refcnt;
	struct counted_target *t;
	pthread_condattr_t attr;
	int err;

	if (all->n >= NODE_REFCNT_TARGETS)
		return -EDQUOT;
	err = make_shared(all);
	if (err < 0)
		return err;
	t = calloc(1, sizeof *t);
	err = t == NULL ? -ENOMEM : take_topology(t, all, groups, why);
	if (err == 0)
		err = refcnt_new(&t->counts, t->topology->nodes, REFCNT_STANDARD);
	if (err < 0) {
		if (t != NULL) {
			refcnt_topology_free(t->own);
			free(t->groups);
		}
		free(t);
		if (all->n == 0)
			free_shared(all);
		return err;
	}
	t->started = k->image.start;
	keeper_ref(k);
	t->keeper = k;
	t->pid = k->image.pid;
	t->feed = k->feed;
	t->since_ms = keeper_now_ms(k);
	t->period_ms = NODE_REFCNT_PERIOD_MS;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_lock(&all->lock);
	TAILQ_INSERT_TAIL(&all->all, t, link);
	pthread_mutex_unlock(&all->lock);
	all->n++;
	*out = t;
	return 0;
}

/* Whole pages of a range that does not wrap. */
static uint64_t
pages_of(uint64_t vaddr, uint64_t len)
{
	return (vaddr + (len - 1)) / REFCNT_PAGE - vaddr / REFCNT_PAGE + 1;
}

static bool
is_empty(const struct counted_target *t)
{
	struct refcnt_sums sums;

	refcnt_sums(t->counts, &sums);
	return sums.pages == 0;
}

static uint64_t
pages_of_all(const struct node_refcnt *all)
{
	struct refcnt_sums sums;
	struct counted_target *t;
	uint64_t pages = 0;

	TAILQ_FOREACH(t, &all->all, link) {
		refcnt_sums(t->counts, &sums);
		pages += sums.pages;
	}
	return pages;
}

/* One user cannot take all of it. */
static bool
user_has_room(struct keeper *k, const struct node_refcnt_ask *ask)
{
	uint64_t pages = pages_of(ask->vaddr, ask->len);
	struct counted_target *t;
	struct refcnt_sums sums;
	unsigned others = 0;

	if (!k->node->access.system || k->image.uid == 0 || ask->uid == 0)
		return true;
	TAILQ_FOREACH(t, &k->node->refcnt->all, link) {
		if (t->keeper->image.uid != k->image.uid)
			continue;
		refcnt_sums(t->counts, &sums);
		pages += sums.pages;
		if (t->keeper == k)
			pages -= refcnt_counted(t->counts, ask->vaddr, ask->len);
		others += t->keeper != k;
	}
	return pages <= NODE_REFCNT_USER_PAGES && others < NODE_REFCNT_USER_TARGETS;
}

static int
check_ask(const struct keeper *k, const struct node_refcnt_ask *ask, char *why)
{
	uint64_t end = node_refcnt_address_end();
	const char *text = "";
	int err = 0;

	if (ask->len == 0 || ask->vaddr + (ask->len - 1) < ask->vaddr) {
		err = -EINVAL;
		text = ask->len == 0 ? "a range of 0 bytes has no pages: give a "
		    "length" : "the range goes beyond the last address: give a "
		    "shorter length";
	} else if (end != 0 && ask->vaddr + (ask->len - 1) >= end) {
		snprintf(why, NODE_REFCNT_WHY, "the range goes beyond 0x%" PRIx64
		    ", where no program has memory: check address and length",
		    end);
		return -EINVAL;
	} else if (k == k->node->own_stream) {
		err = -EPERM;
		text = "this is the node itself, and no target";
	} else if (k->node->life.closing) {
		err = -ESRCH;
		text = "the node ends";
	} else if (!keeper_is_live(k) || k->image.pid == 0) {
		err = -ESRCH;
		text = "only pages of a live process can be counted";
	} else if (ask->source >= REFCNT_SOURCES) {
		err = -EINVAL;
		text = "no such source of references";
	}
	snprintf(why, NODE_REFCNT_WHY, "%s", text);
	return err;
}

static void
explain(int err, char *why)
{
	switch (err) {
	case -EBUSY:
		snprintf(why, NODE_REFCNT_WHY, "another source counts some of these "
		    "pages, or, with guard and exact, others of this target: switch "
		    "that off first");
		break;
	case -EDQUOT:
	case -E2BIG:
		snprintf(why, NODE_REFCNT_WHY, "a node counts at most %s pages of %d "
		    "targets, in %d ranges of each: switch some off",
		    base_digits(NODE_REFCNT_PAGES).text, NODE_REFCNT_TARGETS,
		    NODE_REFCNT_RANGES);
		break;
	case -ENOSPC:
		snprintf(why, NODE_REFCNT_WHY, "the sources guard and exact count at "
		    "most %s pages of a target, in %d ranges: give a shorter one",
		    base_digits(GUARD_PAGES).text, GUARD_RANGES);
		break;
	case -EAGAIN:
		snprintf(why, NODE_REFCNT_WHY, "the node cannot start a thread to "
		    "count with");
		break;
	default:
		snprintf(why, NODE_REFCNT_WHY, "%s", strerror(-err));
	}
}

static bool
is_of_guard(unsigned source)
{
	return source == REFCNT_GUARD || source == REFCNT_EXACT;
}

/* The number of the target's pages that its guard counts. */
static uint64_t
guarded(const struct counted_target *t)
{
	struct refcnt_range range[GUARD_RANGES];
	size_t n = refcnt_ranges(t->counts, range, GUARD_RANGES);
	uint64_t pages = 0;

	for (size_t i = 0; i < n && i < GUARD_RANGES; i++)
		if (is_of_guard(range[i].source))
			pages += range[i].len / REFCNT_PAGE;
	return n > GUARD_RANGES ? GUARD_PAGES : pages;
}

static int
enable(struct keeper *k, struct counted_target *t, const struct node_refcnt_ask *ask)
{
	uint64_t pages = pages_of(ask->vaddr, ask->len) -
	    refcnt_counted(t->counts, ask->vaddr, ask->len);
	int err;

	if (is_of_guard(ask->source) && guarded(t) + pages > GUARD_PAGES)
		return -ENOSPC;
	if (is_of_guard(ask->source) && refcnt_has(t->counts, ask->source ==
	    REFCNT_GUARD ? REFCNT_EXACT : REFCNT_GUARD))
		return -EBUSY;
	if (refcnt_spans(t->counts) >= NODE_REFCNT_RANGES ||
	    pages > NODE_REFCNT_PAGES ||
	    pages_of_all(k->node->refcnt) + pages > NODE_REFCNT_PAGES)
		return -EDQUOT;
	pthread_mutex_lock(&t->lock);
	t->fresh = true;
	if (ask->period_ms != 0)
		t->period_ms = ask->period_ms > NODE_REFCNT_PERIOD_LEAST ?
		    ask->period_ms : NODE_REFCNT_PERIOD_LEAST;
	err = refcnt_enable(t->counts, ask->vaddr, ask->len,
	    (enum refcnt_source)ask->source, keeper_now_ms(k));
	pthread_mutex_unlock(&t->lock);
	return err < 0 ? err : worker_start(t);
}

static const char *const absent[REFCNT_SOURCES] = {
	[REFCNT_IMPORT] = "its counts are those of a trace",
};

static const char moves_pages[] = "automatic NUMA balancing is on for the whole "
    "machine while these pages are counted: it moves pages to the nodes that use "
    "them, so counting changes what it shows";

/* Only root may use this source, because it changes settings of the machine. */
static void
explain_hints(const struct keeper *k, uid_t uid, char *why)
{
	struct node_refcnt *all = k->node->refcnt;
	char text[REFCNT_WHY] = "";
	int err;

	if (uid != 0)
		snprintf(text, sizeof text, "only root may ask for the source "
		    "hint: it switches automatic NUMA balancing on for the whole "
		    "machine");
	else if ((err = make_shared(all)) < 0)
		snprintf(text, sizeof text, "%s", strerror(-err));
	else
		(void)hints_supported(k->image.pid, "/", all->topology->nodes,
		    text);
	if (all->n == 0)
		free_shared(all);
	snprintf(why, NODE_REFCNT_WHY, "%.*s", NODE_REFCNT_WHY - 1, text);
}

static void
explain_writes(const struct keeper *k, char *why)
{
	int err = writes_supported();

	if (err == -EOPNOTSUPP)
		snprintf(why, NODE_REFCNT_WHY, "this kernel cannot write-protect "
		    "pages asynchronously, as Linux can from 6.7 on: use the "
		    "source refs");
	else if (err < 0)
		snprintf(why, NODE_REFCNT_WHY, "the node gets no userfaultfd(2) to "
		    "write-protect pages: %s: use the source refs",
		    strerror(-err));
	else if (k->sandbox.at_hello != 0 || k->sandbox.locked)
		snprintf(why, NODE_REFCNT_WHY, "the target is in a sandbox "
		    "(seccomp), which may end it for userfaultfd(2): use the "
		    "source refs");
}

/* False: the source cannot count; `why` has the reason. */
static bool
has_source(const struct keeper *k, const struct node_refcnt_ask *ask, char *why)
{
	if (absent[ask->source] != NULL)
		snprintf(why, NODE_REFCNT_WHY, "a node does not count with the "
		    "source %s: %s: use refs or wp",
		    refcnt_sources[ask->source].name, absent[ask->source]);
	else if (ask->source == REFCNT_WP)
		explain_writes(k, why);
	else if (is_of_guard(ask->source) &&
	    (k->sandbox.at_hello != 0 || k->sandbox.locked))
		snprintf(why, NODE_REFCNT_WHY, "the target is in a sandbox "
		    "(seccomp), which may end it for the signals and system "
		    "calls of a guard: use the source refs");
	else if (ask->source == REFCNT_HINT)
		explain_hints(k, ask->uid, why);
	return why[0] == '\0';
}

/*
 * All ranges of a target are counted by the same nodes.  One whose counting has ended
 * begins anew: *t is NULL then.
 */
static int
check_groups(struct counted_target **t, const struct node_refcnt_ask *ask, char *why)
{
	bool empty = *t != NULL && is_empty(*t);
	const char *have = *t != NULL ? (*t)->groups : NULL;

	if (ask->nodes != NULL && !refcnt_sources[ask->source].node) {
		snprintf(why, NODE_REFCNT_WHY, "the source %s does not tell which "
		    "processor refers to a page: only guard, exact and hint "
		    "count by groups of them", refcnt_sources[ask->source].name);
		return -EINVAL;
	}
	if (*t == NULL || (ask->nodes == NULL ? !empty || have == NULL :
	    have != NULL && strcmp(have, ask->nodes) == 0))
		return 0;
	if (empty && worker_has_ended(*t)) {
		free_counted(*t);
		*t = NULL;
		return 0;
	}
	snprintf(why, NODE_REFCNT_WHY, empty ? "counting by other nodes is about to "
	    "end: ask again in a second" : "the target is counted by other nodes: "
	    "switch all of its ranges off first");
	return -EBUSY;
}

/* The target was counted by a node that was killed, and whose memory this one has not. */
static void
take_dead(struct keeper *k)
{
	struct node_refcnt *all = k->node->refcnt;

	for (unsigned i = 0; i < all->ndead; i++) {
		if (all->dead[i].pid != k->image.pid ||
		    all->dead[i].started != k->image.start)
			continue;
		if (k->takeover.counts_lost_ms == 0)
			k->takeover.counts_lost_ms = all->dead[i].wall_ms;
		all->dead[i] = all->dead[--all->ndead];
		return;
	}
}

/*
 * The next process of the node says until when pages were counted: it has neither the
 * ranges nor their counts.
 */
static void
note_counted(struct keeper *k, bool empty)
{
	take_dead(k);
	k->takeover.counted_ms = empty ? 0 : base_wall_ms();
	k->takeover.counts_lost_ms = 0;
	takeover_write_counted(k);
}

int
node_refcnt_enable(struct keeper *k, const struct node_refcnt_ask *ask,
    char why[NODE_REFCNT_WHY])
{
	struct counted_target *t = find(k);
	int err = check_ask(k, ask, why);

	if (err < 0)
		return err;
	if (!has_source(k, ask, why))
		return -ENOTSUP;
	if (!user_has_room(k, ask)) {
		snprintf(why, NODE_REFCNT_WHY, "the system's node counts at most %s "
		    "pages of %d targets of one user: switch some off, or ask as "
		    "root", base_digits(NODE_REFCNT_USER_PAGES).text,
		    NODE_REFCNT_USER_TARGETS);
		return -EDQUOT;
	}
	err = check_groups(&t, ask, why);
	if (err == 0 && t == NULL)
		err = new_counted(k, ask->nodes, &t, why);
	if (err == 0)
		err = enable(k, t, ask);
	if (err == 0)
		note_counted(k, false);
	if (err == 0 && ask->source == REFCNT_HINT)
		snprintf(why, NODE_REFCNT_WHY, "%s", moves_pages);
	if (err < 0) {
		if (t != NULL && is_empty(t))
			worker_stop(t);
		if (why[0] == '\0')
			explain(err, why);
	}
	return err;
}

int
node_refcnt_disable(struct keeper *k, const struct node_refcnt_ask *ask,
    char why[NODE_REFCNT_WHY])
{
	struct counted_target *t = find(k);
	int err;

	why[0] = '\0';
	if (ask->len == 0 || ask->vaddr + (ask->len - 1) < ask->vaddr)
		return check_ask(k, ask, why);
	if (t == NULL) {
		note_counted(k, true);
		snprintf(why, NODE_REFCNT_WHY, "nothing of this target was counted");
		return 0;
	}
	err = refcnt_disable(t->counts, ask->vaddr, ask->len);
	if (err < 0)
		explain(err, why);
	if (is_empty(t)) {
		worker_stop(t);
		note_counted(k, true);
	}
	return err;
}

/* Until when the process before this one counted; the node's clock may be elsewhere. */
static void
explain_lost(int64_t wall_ms, char why[NODE_REFCNT_WHY])
{
	time_t s = (time_t)(wall_ms / 1000);
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&s, &tm) != NULL)
		strftime(when, sizeof when, " at %Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(why, NODE_REFCNT_WHY, "counting ended with the node's process%s, "
	    "and its counts are lost", when);
}

/* The pages of the image that a process had before belong to no other image. */
static bool
is_next_image(const struct keeper *k)
{
	const struct counted_target *t;

	TAILQ_FOREACH(t, &k->node->refcnt->all, link)
		if (t->keeper != k && t->pid == k->image.pid && t->started != 0 &&
		    t->started == k->image.start && keeper_is_live(k))
			return true;
	return false;
}

void
node_refcnt_look(struct keeper *k, struct node_refcnt_look *look)
{
	struct counted_target *t = find(k);

	*look = (struct node_refcnt_look){ .counts = NULL };
	take_dead(k);
	if (t == NULL || is_empty(t)) {
		if (k->takeover.counts_lost_ms != 0)
			explain_lost(k->takeover.counts_lost_ms, look->why);
		else if (is_next_image(k))
			snprintf(look->why, sizeof look->why, "the process has "
			    "executed another program, and counting ended with "
			    "the former one");
		return;
	}
	look->counts = t->counts;
	look->since_ms = t->since_ms;
	look->nodes = t->groups;
	pthread_mutex_lock(&t->lock);
	/* The one that was asked for, unless it cannot be kept. */
	look->period_ms = t->lasts_ms > t->period_ms ? (uint32_t)(t->lasts_ms <
	    WIRE_COUNT_PERIOD ? t->lasts_ms : WIRE_COUNT_PERIOD) : t->period_ms;
	look->periods = t->periods;
	memcpy(look->why, t->why, sizeof look->why);
	pthread_mutex_unlock(&t->lock);
	if (look->why[0] == '\0' && t->left_out > 0)
		snprintf(look->why, sizeof look->why, "the program switches "
		    "counting on and off faster than the node follows: %s "
		    "requests of it were left out",
		    base_digits(t->left_out).text);
}

/*
 * Each takes the loop's time: for the pages that it switches on, which may be switched
 * off again, and some for the request itself.
 */
static bool
may_ask(struct counted_target *t, uint64_t pages)
{
	int64_t now = mono_ms(mono_now());

	if (now - t->asked_ms >= ASKS_MS) {
		t->asked_ms = now;
		t->asked = 0;
	}
	if (t->asked >= ASKED_PAGES) {
		t->left_out++;
		return false;
	}
	t->asked += (pages <= NODE_REFCNT_PAGES ? pages : 0) + ASK_PAGES;
	return true;
}

void
node_refcnt_by_target(struct keeper *k, const struct rec *rec)
{
	struct node_refcnt_ask ask = { .vaddr = rec_addr(rec), .len = rec_size(rec),
		.source = (uint8_t)rec->w[2], .uid = k->image.uid };
	struct counted_target *t = find(k);
	bool on = (rec->w[2] >> 8 & 1) != 0;
	char why[NODE_REFCNT_WHY];

	if (t != NULL && !may_ask(t, on && ask.len > 0 ?
	    pages_of(ask.vaddr, ask.len) : 0))
		return;
	if (on)
		(void)node_refcnt_enable(k, &ask, why);
	else
		(void)node_refcnt_disable(k, &ask, why);
}

void
node_refcnt_take(struct node *node, pid_t pid, uint64_t stream,
    enum node_refcnt_given what, int fd, uint32_t error)
{
	struct node_refcnt *all = node->refcnt;
	struct counted_target *t;

	pthread_mutex_lock(&all->lock);
	TAILQ_FOREACH(t, &all->all, link) {
		if (t->pid != pid || t->keeper->stream != stream)
			continue;
		pthread_mutex_lock(&t->lock);
		if (t->awaits[what]) {
			t->given[what] = fd > 0 ? fd : error < ERRNO_END ?
			    -(int)error : -EPROTO;
			t->awaits[what] = false;
			fd = -1;
		}
		pthread_mutex_unlock(&t->lock);
	}
	pthread_mutex_unlock(&all->lock);
	if (fd > 0)
		close(fd);
}

void
node_refcnt_feed_ends(struct keeper *k)
{
	struct counted_target *t = find(k);

	if (t == NULL)
		return;
	pthread_mutex_lock(&t->lock);
	t->feed = NULL;
	pthread_mutex_unlock(&t->lock);
}

/* The counts of one that has ended stay while its list does. */
static void
look_after(struct counted_target *t)
{
	bool empty = is_empty(t);
	const struct keeper *k = t->keeper;

	if (!keeper_is_live(k) && !t->ended) {
		pthread_mutex_lock(&t->lock);
		t->ended = true;
		snprintf(t->why, sizeof t->why, "the target has ended: these are "
		    "its last counts");
		pthread_mutex_unlock(&t->lock);
		worker_stop(t);
	}
	if (!empty && !t->ended)
		note_counted(t->keeper, false);
	if (worker_has_ended(t) && (empty || (t->ended && k->list == NULL)))
		free_counted(t);
}

/*
 * The target has the cuts of a process that was killed.  It undoes them by itself,
 * for it knows them, but needs to be asked; a worker that counts asks for it first.
 */
static void
undo_cuts(struct keeper *k)
{
	static const struct ring_cut all = { 0, 0, 0 };

	if (find(k) == NULL && k->feed != NULL &&
	    stream_feed_cut(k->feed, &all, 1) == 0)
		k->takeover.cut = false;
}

void
node_refcnt_second(struct node *node)
{
	struct counted_target *t, *next;
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->takeover.cut)
			undo_cuts(k);

	for (t = TAILQ_FIRST(&node->refcnt->all); t != NULL; t = next) {
		next = TAILQ_NEXT(t, link);
		look_after(t);
	}
}

void
node_refcnt_close(struct node *node)
{
	struct counted_target *t;

	TAILQ_FOREACH(t, &node->refcnt->all, link)
		worker_stop(t);
	while ((t = TAILQ_FIRST(&node->refcnt->all)) != NULL)
		free_counted(t);
}
