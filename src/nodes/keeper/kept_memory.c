/*
 * One target: what of it outlives this process, and its commits.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kept_memory.h"
#include "node.h"

#define THREADS (KEEPER_THREADS_MAX + 1)

/* --- this program ------------------------------------------------------- */

static struct kept_build build;
static int build_err;
static pthread_once_t build_once = PTHREAD_ONCE_INIT;

/* Not by its version, which two builds may share, but by the very file. */
static void
look_at_build(void)
{
	struct stat st;

	if (stat("/proc/self/exe", &st) < 0) {
		build_err = -errno;
		return;
	}
	build = (struct kept_build){ .dev = st.st_dev, .ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
		    (uint64_t)st.st_mtim.tv_nsec,
		.layout = { sizeof(struct kept_image),
		    sizeof(struct kept_slot), sizeof(struct keeper_thread),
		    sizeof(struct keeper_tag), sizeof(struct blklist_counts),
		    (uint32_t)stream_feed_state_size() } };
}

/* It stays the same, and each target needs it. */
static int
know_build(struct kept_build *b)
{
	pthread_once(&build_once, look_at_build);
	if (build_err == 0)
		*b = build;
	return build_err;
}

bool
keeper_kept_wanted(const struct node *node)
{
	return fdstore_keeps(&node->store.fds);
}

/* --- memory ------------------------------------------------------------- */

static int
take_pieces(struct keeper_kept *kk)
{
	size_t state = (stream_feed_state_size() + 63) & ~(size_t)63;
	char *states;

	kk->image = kept_take(kk->memory, sizeof *kk->image);
	kk->slot = kept_take(kk->memory, 2 * sizeof *kk->slot);
	states = kept_take(kk->memory, 2 * state);
	kk->thread[0] = kept_take(kk->memory,
	    2 * THREADS * sizeof *kk->thread[0]);
	kk->tag = kept_take(kk->memory,
	    STREAM_QUEUE_RECORDS * sizeof *kk->tag);
	if (kk->image == NULL || kk->slot == NULL || states == NULL ||
	    kk->thread[0] == NULL || kk->tag == NULL)
		return -ENOMEM;
	kk->thread[1] = kk->thread[0] + THREADS;
	kk->state[0] = states;
	kk->state[1] = states + state;
	return 0;
}

static struct keeper_kept *
make(unsigned generation)
{
	struct keeper_kept *kk = calloc(1, sizeof *kk);

	if (kk == NULL)
		return NULL;
	kk->generation = generation;
	kk->fresh = true;
	kk->types_changed[0] = kk->types_changed[1] = true;
	kk->known_changed[0] = kk->known_changed[1] = true;
	return kk;
}

int
keeper_kept_new(struct keeper_kept **out, struct node *node,
    unsigned generation)
{
	struct keeper_kept *kk = make(generation);
	int r;

	if (kk == NULL)
		return -ENOMEM;
	r = kept_new(&kk->memory, "pagek-kept", node->store.target_bytes);
	if (r == 0)
		r = take_pieces(kk);
	if (r == 0)
		r = know_build(&kk->image->build);
	if (r < 0) {
		keeper_kept_free(kk);
		return r;
	}
	*out = kk;
	return 0;
}

void
keeper_kept_made(struct keeper_kept *kk, struct node *node)
{
	kk->types_changed[0] = kk->types_changed[1] = false;
	kk->known_changed[0] = kk->known_changed[1] = false;
	node->store.target_bytes = kept_size(kk->memory);
}

int
keeper_kept_open(struct keeper_kept **out, int fd, unsigned generation)
{
	struct keeper_kept *kk = make(generation);
	struct kept_build ours;
	int r, pieces;

	if (kk == NULL) {
		close(fd);
		return -ENOMEM;
	}
	r = kept_open(&kk->memory, fd);
	pieces = r == 0 ? take_pieces(kk) : 0;
	if (r == 0)
		r = know_build(&ours);
	/* Pieces of another build may have other sizes. */
	if (r == 0 && (kk->image == NULL ||
	    memcmp(&ours, &kk->image->build, sizeof ours) != 0))
		r = -EINVAL;
	if (r == 0)
		r = pieces;
	if (r < 0) {
		keeper_kept_free(kk);
		return r;
	}
	kk->stored = true;
	*out = kk;
	return 0;
}

void
keeper_kept_free(struct keeper_kept *kk)
{
	if (kk == NULL)
		return;
	kept_free(kk->memory);
	free(kk);
}

/* --- commits ------------------------------------------------------------ */

void
keeper_kept_show(struct keeper *k)
{
	if (k->memory.target != NULL)
		atomic_store_explicit(&k->memory.target->image->shown,
		    keeper_next(k), memory_order_release);
}

void
keeper_kept_thread(struct keeper *k, unsigned index)
{
	struct keeper_kept *kk = k->memory.target;

	for (unsigned s = 0; kk != NULL && s < 2; s++) {
		if (kk->to[s] == 0 || index < kk->from[s])
			kk->from[s] = index;
		if (index >= kk->to[s])
			kk->to[s] = index + 1;
	}
}

void
keeper_kept_types(struct keeper *k)
{
	if (k->memory.target != NULL)
		k->memory.target->types_changed[0] =
		    k->memory.target->types_changed[1] = true;
}

void
keeper_kept_known(struct keeper *k)
{
	if (k->memory.target != NULL)
		k->memory.target->known_changed[0] =
		    k->memory.target->known_changed[1] = true;
}

static void
write_threads(struct keeper *k, unsigned s)
{
	struct keeper_kept *kk = k->memory.target;

	if (kk->to[s] > kk->from[s])
		memcpy(kk->thread[s] + kk->from[s], k->threads.at + kk->from[s],
		    (kk->to[s] - kk->from[s]) * sizeof *k->threads.at);
	kk->from[s] = kk->to[s] = 0;
}

static void
write_slot(struct keeper *k, unsigned s)
{
	struct keeper_kept *kk = k->memory.target;
	struct kept_slot *slot = &kk->slot[s];
	const struct dstrm_row *row = k->has_row ?
	    dstrm_at(&k->node->dstrm, k->index) : NULL;

	slot->next = stream_queue_next(k->queue);
	slot->first = k->first;
	slot->sites = k->memory.sites != NULL ? k->memory.sites->id : 0;
	slot->index = k->index;
	slot->name[0] = '\0';
	if (row != NULL) {
		memcpy(slot->epoch, row->epoch, sizeof slot->epoch);
		memcpy(slot->name, row->name, sizeof slot->name);
	}
	slot->state = k->image.state;
	memcpy(slot->reason, k->image.reason, sizeof slot->reason);
	slot->unsure = k->unsure;
	slot->since_click = k->since_click;
	slot->has_tags = k->threads.tag != NULL;
	slot->asleep = k->arming.asleep;
	slot->wished = k->arming.wished;
	slot->held = k->arming.held;
	slot->armed_wall_ms = k->arming.wall_ms;
	memcpy(slot->lost, k->numbers.lost, sizeof slot->lost);
	slot->bad = k->numbers.bad;
	slot->mismatches = k->numbers.mismatches;
	slot->sites_full_then = k->numbers.sites_full_then;
	slot->walks_then = k->numbers.walks_then;
	slot->pairs_then = k->numbers.pairs_then;
	slot->marks = k->numbers.marks;
	slot->peak = peak_kept(k);
	slot->threads = (uint32_t)k->threads.n;
	write_threads(k, s);
	if (kk->types_changed[s]) {
		slot->types = *k->types;
		slot->has_types = true;
		kk->types_changed[s] = false;
	}
	if (kk->known_changed[s]) {
		slot->known = k->regions;
		slot->has_known = true;
		kk->known_changed[s] = false;
	}
}

/* Of what has been seen, for nothing else moves a feed. */
static uint64_t
seen(const struct keeper *k)
{
	const struct stream_feed_counts *n = stream_feed_counts(k->feed);
	uint64_t sum = n->records + n->late + n->dormant + n->marks_untold +
	    n->joined + k->numbers.controls;

	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		sum += n->lost[c];
	return sum;
}

void
keeper_kept_commit(struct keeper *k, bool must)
{
	struct keeper_kept *kk = k->memory.target;
	uint64_t n, sum;
	unsigned s;

	if (kk == NULL || k->feed == NULL)
		return;
	sum = seen(k);
	if (!must && !kk->fresh && sum == kk->seen)
		return;
	n = atomic_load_explicit(&kk->image->committed,
	    memory_order_relaxed) + 1;
	s = n & 1;
	if (!stream_feed_save(k->feed, kk->state[s]))
		return;
	write_slot(k, s);
	stream_queue_commit(k->queue, s);
	blklist_commit(k->list, s);
	atomic_store_explicit(&kk->image->committed, n, memory_order_release);
	stream_feed_commit(k->feed);
	kept_sites_unref(k->memory.sites_left);
	k->memory.sites_left = NULL;
	kk->seen = sum;
	if (!kk->fresh)
		return;
	kk->fresh = false;
	kept_well(kk->memory);
	if (k->memory.sites != NULL)
		kept_well(k->memory.sites->memory);
}

void
keeper_kept_room(struct keeper *k)
{
	if (k->memory.target != NULL && !k->memory.target->fresh &&
	    seen(k) - k->memory.target->seen >= KEPT_ROOM)
		keeper_kept_commit(k, false);
}

const struct kept_slot *
keeper_kept_slot(const struct keeper_kept *kk)
{
	uint64_t n = atomic_load_explicit(&kk->image->committed,
	    memory_order_acquire);

	return n != 0 && atomic_load(&kk->image->is_void) == 0 ?
	    &kk->slot[n & 1] : NULL;
}
