#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "order.h"

struct stream_feed {
	struct reader reader;
	struct sitemap sites;
	struct order order;
	struct stream_feed_counts counts;
	uint32_t bell_told;		/* the helper thread's own */
	int dead;			/* the error that ended it, or 0 */
	uint32_t due[REC_SHARDS];	/* result of stream_feed_due() */
};

#define SITES_FIRST 1024	/* numbers that the map has room for at first */

static void
sitemap_fini(struct sitemap *m)
{
	if (m->sites != NULL)
		stream_sites_unref(m->sites);
	free(m->caller);
}

static int
make_map_room(struct sitemap *m, uint32_t no)
{
	size_t want = m->ncaller < SITES_FIRST ? SITES_FIRST : m->ncaller;
	uint64_t *grown;

	while (want <= no)
		want *= 2;
	if (want == m->ncaller)
		return 0;
	grown = realloc(m->caller, want * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	memset(grown + m->ncaller, 0, (want - m->ncaller) * sizeof(*grown));
	m->caller = grown;
	m->ncaller = want;
	return 0;
}

/* Puts a module into the store; 0 if that has no room: not known. */
static int
learn_module(struct sitemap *m, unsigned no)
{
	struct reader_module got;
	struct stream_module put;
	unsigned stored = 0;
	int err;

	if ((err = reader_module(m->reader, no, &got)) != 0)
		return err;
	put = (struct stream_module){
		.start = got.start,
		.end = got.end,
		.bias = got.bias,
		.build_id_len = got.build_id_len,
		.path = got.path,
		.cut = got.cut,
		.seen_ns = base_wall_ns(),
	};
	memcpy(put.build_id, got.build_id, got.build_id_len);
	(void)stream_sites_put_module(m->sites, &put, &stored);
	m->module[no] = (uint16_t)stored;
	m->module_known[no] = true;
	return 0;
}

static int
translate_frames(struct sitemap *m, struct reader_site *site)
{
	int err;

	for (unsigned i = 0; i < site->depth; i++) {
		unsigned no = frame_module(site->frame[i]);

		if (no != 0 && !m->module_known[no] &&
		    (err = learn_module(m, no)) != 0)
			return err;
		site->frame[i] = frame_make(frame_pc(site->frame[i]),
		    m->module[no]);
	}
	return 0;
}

int
sitemap_learn(struct sitemap *m, uint32_t no)
{
	struct reader_site site;
	uint64_t caller;
	uint32_t stored;
	int err;

	if ((err = reader_site(m->reader, no, &site)) != 0 ||
	    (err = make_map_room(m, no)) != 0)
		return err;
	caller = rec_plain_caller(frame_pc(site.frame[0]));
	if (m->sites != NULL) {
		if ((err = translate_frames(m, &site)) != 0)
			return err;
		if (stream_sites_put(m->sites, site.frame, site.depth,
			site.end, &stored) == 0)
			caller = rec_site_caller(stored);
	}
	m->caller[no] = SITEMAP_KNOWN | caller;
	return 0;
}

static int
feed_alloc(struct stream_feed **feedp, const struct stream_sink *sink,
    void *arg)
{
	/* Not calloc(), which may clear pages that are never used. */
	struct stream_feed *feed = zeros_map(sizeof(*feed), ZEROS_SMALL);

	if (feed == NULL)
		return -ENOMEM;
	/* Written first: see zeros_map(). */
	memset(&feed->counts, 0, sizeof(feed->counts));
	feed->sites.reader = &feed->reader;
	order_init(&feed->order, &feed->reader, &feed->sites, sink, arg,
	    &feed->counts);
	*feedp = feed;
	return 0;
}

static int
feed_opened(struct stream_feed **feedp, struct stream_feed *feed, int err)
{
	if (err != 0) {
		stream_feed_detach(feed);
		return err;
	}
	*feedp = feed;
	return 0;
}

int
stream_feed_new(struct stream_feed **feedp, int fds[2], bool no_wait,
    const struct stream_sink *sink, void *arg)
{
	struct stream_feed *feed;
	int err = feed_alloc(&feed, sink, arg);

	return err != 0 ? err : feed_opened(feedp, feed,
	    reader_open(&feed->reader, fds, no_wait));
}

int
stream_feed_new_persistent(struct stream_feed **feedp, int fds[3], bool no_wait,
    const struct stream_sink *sink, void *arg)
{
	struct stream_feed *feed;
	int err = feed_alloc(&feed, sink, arg);

	return err != 0 ? err : feed_opened(feedp, feed,
	    reader_open_persistent(&feed->reader, fds, no_wait));
}

void
stream_feed_detach(struct stream_feed *feed)
{
	if (feed == NULL)
		return;
	reader_unmap(&feed->reader);
	order_fini(&feed->order);
	sitemap_fini(&feed->sites);
	zeros_unmap(feed, sizeof(*feed), ZEROS_SMALL);
}

void
stream_feed_free(struct stream_feed *feed)
{
	if (feed == NULL)
		return;
	reader_close(&feed->reader);
	stream_feed_detach(feed);
}

void
stream_feed_leave(struct stream_feed *feed, struct stream_areas *areas)
{
	reader_leave(&feed->reader, areas);
	stream_feed_detach(feed);
}

int
stream_feed_new_again(struct stream_feed **feedp, struct stream_areas *areas,
    int fds[3], bool no_wait, const struct stream_sink *sink, void *arg)
{
	struct stream_feed *feed;
	int err = feed_alloc(&feed, sink, arg);

	if (err != 0)
		return err;
	reader_open_again(&feed->reader, areas, fds, no_wait);
	*feedp = feed;
	return 0;
}

void
stream_areas_close(struct stream_areas *areas)
{
	reader_close_areas(areas);
}

#define STATE_MAGIC UINT32_C(0x506b4631) /* "PkF1" */

/* The size and the version of the rings stand for the layout. */
struct feed_state {
	uint32_t magic, version;
	uint64_t size;
	uint64_t sites_full;
	struct stream_feed_counts counts;
	struct reader_state reader;
	struct order_state order;
};

size_t
stream_feed_state_size(void)
{
	return sizeof(struct feed_state);
}

void
stream_feed_hold(struct stream_feed *feed)
{
	reader_hold(&feed->reader);
}

bool
stream_feed_save(struct stream_feed *feed, void *state)
{
	struct feed_state *s = state;

	assert(feed->reader.hold);
	if (feed->dead != 0 || !order_can_save(&feed->order))
		return false;
	s->magic = STATE_MAGIC;
	s->version = RING_VERSION;
	s->size = sizeof(*s);
	s->sites_full = feed->sites.full;
	s->counts = feed->counts;
	reader_save(&feed->reader, &s->reader);
	order_save(&feed->order, &s->order, &s->reader);
	return true;
}

void
stream_feed_commit(struct stream_feed *feed)
{
	reader_commit(&feed->reader);
}

int
stream_feed_resume(struct stream_feed **feedp, const int fds[2],
    const void *state, const struct stream_sink *sink, void *arg)
{
	const struct feed_state *s = state;
	struct stream_feed *feed;
	int err;

	if (s->magic != STATE_MAGIC || s->version != RING_VERSION ||
	    s->size != sizeof(*s))
		return -EINVAL;
	if ((err = feed_alloc(&feed, sink, arg)) != 0)
		return err;
	if ((err = reader_resume(&feed->reader, fds, &s->reader)) != 0 ||
	    (err = order_resume(&feed->order, &s->order, &s->reader)) != 0)
		return feed_opened(feedp, feed, err);
	feed->counts = s->counts;
	feed->counts.joined = feed->reader.joined;
	feed->sites.full = s->sites_full;
	reader_resumed(&feed->reader);
	return feed_opened(feedp, feed, 0);
}

int
stream_feed_abandon(const int fds[2])
{
	return reader_abandon(fds);
}

int
stream_feed_area(int fd)
{
	return reader_which(fd);
}

bool
stream_feed_is_armed(const struct stream_feed *feed)
{
	return !feed->reader.dormant;
}

void
stream_feed_sites(struct stream_feed *feed, struct stream_sites *sites)
{
	stream_sites_ref(sites);
	if (feed->sites.sites != NULL)
		stream_sites_unref(feed->sites.sites);
	feed->sites.sites = sites;
}

void
stream_feed_want_stacks(struct stream_feed *feed, unsigned depth, bool frees)
{
	uint32_t stack = depth < RING_STACK_MAX ? depth : RING_STACK_MAX;

	if (stack != 0 && frees)
		stack |= RING_STACK_FREES;
	atomic_store_explicit(&feed->reader.keeper->stack, stack,
	    memory_order_relaxed);
}

void
stream_feed_forbid_pairs(struct stream_feed *feed, bool forbid)
{
	atomic_store_explicit(&feed->reader.keeper->no_pairs, forbid,
	    memory_order_relaxed);
}

bool
stream_feed_cut_done(const struct stream_feed *feed)
{
	return atomic_load_explicit(&feed->reader.keeper->cuts.number,
	    memory_order_relaxed) == reader_cuts(&feed->reader);
}

/* Pages may be another mapping's after a while; a request without any never is wrong. */
static bool
may_wait(const struct ring_cuts *cuts, const struct ring_cut *cut, size_t n)
{
	return n == 1 && cuts->n == 1 && cut->pages == 0 &&
	    memcmp(cuts->cut, cut, sizeof(*cut)) == 0;
}

int
stream_feed_cut(struct stream_feed *feed, const struct ring_cut *cut, size_t n)
{
	struct ring_cuts *cuts = &feed->reader.keeper->cuts;
	uint64_t now = atomic_load_explicit(&feed->reader.keeper->ms,
	    memory_order_relaxed);

	if (n > RING_CUTS)
		return -EINVAL;
	if (!stream_feed_cut_done(feed)) {
		if (may_wait(cuts, cut, n))
			atomic_store_explicit(&cuts->ms, now,
			    memory_order_relaxed);
		return -EBUSY;
	}
	memcpy(cuts->cut, cut, n * sizeof(*cut));
	cuts->n = (uint32_t)n;
	atomic_store_explicit(&cuts->ms, now, memory_order_relaxed);
	atomic_fetch_add_explicit(&cuts->number, 1, memory_order_release);
	return 0;
}

void
stream_feed_want_sample(struct stream_feed *feed, uint64_t period)
{
	atomic_store_explicit(&feed->reader.keeper->sample, period,
	    memory_order_relaxed);
}

void
stream_feed_sandbox(struct stream_feed *feed, enum ring_sandbox what,
    uint64_t looks)
{
	if (feed->dead == 0)
		reader_sandbox(&feed->reader, what, looks);
}

void
stream_feed_arm(struct stream_feed *feed, bool armed, int64_t now_ms)
{
	if (feed->dead == 0 && reader_arm(&feed->reader, armed, now_ms) &&
	    !armed)
		order_void(&feed->order);
}

void
stream_feed_owner_changed(struct stream_feed *feed)
{
	if (feed->dead == 0)
		reader_owner_changed(&feed->reader);
}

void
stream_feed_start_at(struct stream_feed *feed,
    const uint32_t tickets[REC_SHARDS])
{
	order_start_at(&feed->order, tickets);
}

static int
pass_result(struct stream_feed *feed, uint64_t before, int err)
{
	uint64_t n = feed->counts.records - before;

	feed->counts.joined = feed->reader.joined;
	if (err != 0) {
		feed->dead = err;
		reader_gone(&feed->reader);
		return err;
	}
	return n > INT_MAX ? INT_MAX : (int)n;
}

int
stream_feed_pass(struct stream_feed *feed, int64_t now_ms, uint64_t max)
{
	uint64_t before = feed->counts.records;

	if (feed->dead != 0)
		return feed->dead;
	now_ms = reader_beat(&feed->reader, now_ms);
	return pass_result(feed, before, order_pass(&feed->order, now_ms, max));
}

bool
stream_feed_has_exited(const struct stream_feed *feed)
{
	return reader_has_exited(&feed->reader);
}

bool
stream_feed_is_behind(const struct stream_feed *feed)
{
	return feed->dead == 0 && feed->order.pass.step != ORDER_LOOK;
}

int
stream_feed_finish(struct stream_feed *feed, int64_t now_ms)
{
	uint64_t before = feed->counts.records;

	if (feed->dead != 0)
		return feed->dead;
	now_ms = reader_beat(&feed->reader, now_ms);
	return pass_result(feed, before, order_finish(&feed->order, now_ms));
}

void
stream_feed_beat(struct stream_feed *feed, int64_t now_ms)
{
	if (feed->dead == 0)
		(void)reader_beat(&feed->reader, now_ms);
}

int
stream_feed_wait_bell(struct stream_feed *feed, int timeout_ms)
{
	return reader_wait_bell(&feed->reader, &feed->bell_told, timeout_ms);
}

const struct stream_feed_counts *
stream_feed_counts(struct stream_feed *feed)
{
	return &feed->counts;
}

const uint32_t *
stream_feed_due(struct stream_feed *feed)
{
	for (unsigned s = 0; s < REC_SHARDS; s++)
		feed->due[s] = order_due(&feed->order, s);
	return feed->due;
}

bool
stream_after_cut(const struct rec *rec, const uint32_t cut[REC_SHARDS])
{
	switch (rec_op(rec)) {
	case REC_ALLOC:
		if (rec_level(rec) == REC_LEVEL_FAILED)
			return false;
		break;
	case REC_FREE:
	case REC_UNDO:
	case REC_RANGE:
		break;
	default:
		return false;
	}
	return (int32_t)(rec_ticket(rec) - cut[rec_shard(rec_addr(rec))]) >= 0;
}
