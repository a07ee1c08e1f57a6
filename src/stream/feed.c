/*
 * The feed: the areas of one target and the order of its records, behind
 * stream.h.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../base/zeros.h"
#include "order.h"

struct stream_feed {
	struct reader reader;
	struct sitemap sites;
	struct order order;
	struct stream_feed_counts counts;
	uint32_t bell_told;		/* the helper thread's own */
	int dead;			/* why nothing more can be fed, or 0 */
	uint32_t due[REC_SHARDS];	/* as it was last asked for */
};

static int
feed_alloc(struct stream_feed **feedp, const struct stream_sink *sink,
    void *arg)
{
	/*
	 * Mostly never touched, and pages that are not cost nothing: calloc()
	 * clears them all once a block of this size has been freed before.
	 */
	struct stream_feed *feed = zeros_map(sizeof(*feed), ZEROS_SMALL);

	if (feed == NULL)
		return -ENOMEM;
	/* Written before it is read; see zeros.h. */
	memset(&feed->counts, 0, sizeof(feed->counts));
	sitemap_init(&feed->sites, &feed->reader);
	order_init(&feed->order, &feed->reader, &feed->sites, sink, arg,
	    &feed->counts);
	*feedp = feed;
	return 0;
}

/* Of what reader_open() or another of its kind has come to. */
static int
opened(struct stream_feed **feedp, struct stream_feed *feed, int err)
{
	if (err != 0) {
		stream_feed_leave(feed);
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

	return err != 0 ? err : opened(feedp, feed,
	    reader_open(&feed->reader, fds, no_wait));
}

int
stream_feed_new_kept(struct stream_feed **feedp, int fds[3], bool no_wait,
    const struct stream_sink *sink, void *arg)
{
	struct stream_feed *feed;
	int err = feed_alloc(&feed, sink, arg);

	return err != 0 ? err : opened(feedp, feed,
	    reader_open_kept(&feed->reader, fds, no_wait));
}

void
stream_feed_leave(struct stream_feed *feed)
{
	if (feed == NULL)
		return;
	reader_leave(&feed->reader);
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
	stream_feed_leave(feed);
}

/* --- what outlives its keeper --------------------------------------------- */

#define STATE_MAGIC UINT32_C(0x506b4631) /* "PkF1" */

/*
 * The size is that of every state of this build, and stands for the layout of
 * what is in it together with the version of the rings.
 */
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
		return opened(feedp, feed, err);
	feed->counts = s->counts;
	feed->counts.joined = feed->reader.joined;
	feed->sites.full = s->sites_full;
	reader_resumed(&feed->reader);
	return opened(feedp, feed, 0);
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

/* --- asking the target ---------------------------------------------------- */

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
	reader_want_stacks(&feed->reader, stack);
}

void
stream_feed_want_apart(struct stream_feed *feed, bool apart)
{
	reader_want_apart(&feed->reader, apart);
}

void
stream_feed_want_sample(struct stream_feed *feed, uint64_t period)
{
	reader_want_sample(&feed->reader, period);
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
stream_feed_start_at(struct stream_feed *feed,
    const uint32_t tickets[REC_SHARDS])
{
	order_start_at(&feed->order, tickets);
}

/* --- passes --------------------------------------------------------------- */

/* What a pass has come to, as stream.h says it. */
static int
fed(struct stream_feed *feed, uint64_t before, int err)
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
stream_feed_pass(struct stream_feed *feed, int64_t now_ms)
{
	return stream_feed_pass_some(feed, now_ms, UINT64_MAX);
}

int
stream_feed_pass_some(struct stream_feed *feed, int64_t now_ms, uint64_t max)
{
	uint64_t before = feed->counts.records;

	if (feed->dead != 0)
		return feed->dead;
	now_ms = reader_beat(&feed->reader, now_ms);
	return fed(feed, before, order_pass(&feed->order, now_ms, max));
}

bool
stream_feed_is_behind(const struct stream_feed *feed)
{
	return feed->dead == 0 && feed->order.step != ORDER_LOOK;
}

int
stream_feed_finish(struct stream_feed *feed, int64_t now_ms)
{
	uint64_t before = feed->counts.records;

	if (feed->dead != 0)
		return feed->dead;
	now_ms = reader_beat(&feed->reader, now_ms);
	return fed(feed, before, order_finish(&feed->order, now_ms));
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
