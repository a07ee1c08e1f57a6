#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node.h"
#include "takeover_memory.h"

#define THREADS (KEEPER_THREADS_MAX + 1)

static struct takeover_build build;
static int build_err;
static pthread_once_t build_once = PTHREAD_ONCE_INIT;

/* A build is known by its file: two builds may have one version. */
static void
find_build(void)
{
	struct stat st;

	if (stat("/proc/self/exe", &st) < 0) {
		build_err = -errno;
		return;
	}
	build = (struct takeover_build){ .dev = st.st_dev, .ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
		    (uint64_t)st.st_mtim.tv_nsec,
		.layout = { sizeof(struct takeover_image),
		    sizeof(struct takeover_slot), sizeof(struct keeper_thread),
		    sizeof(struct keeper_tag), sizeof(struct blklist_counts),
		    (uint32_t)stream_feed_state_size() } };
}

static int
get_build(struct takeover_build *b)
{
	pthread_once(&build_once, find_build);
	if (build_err == 0)
		*b = build;
	return build_err;
}

bool
takeover_is_wanted(const struct node *node)
{
	return fdstore_keeps(&node->store.fds);
}

static int
take_pieces(struct takeover_memory *mem)
{
	size_t state = (stream_feed_state_size() + 63) & ~(size_t)63;
	char *states;

	mem->image = pmem_take(mem->pmem, sizeof *mem->image);
	mem->slot = pmem_take(mem->pmem, 2 * sizeof *mem->slot);
	states = pmem_take(mem->pmem, 2 * state);
	mem->thread[0] = pmem_take(mem->pmem,
	    2 * THREADS * sizeof *mem->thread[0]);
	mem->tag = pmem_take(mem->pmem,
	    STREAM_QUEUE_RECORDS * sizeof *mem->tag);
	if (mem->image == NULL || mem->slot == NULL || states == NULL ||
	    mem->thread[0] == NULL || mem->tag == NULL)
		return -ENOMEM;
	mem->thread[1] = mem->thread[0] + THREADS;
	mem->state[0] = states;
	mem->state[1] = states + state;
	return 0;
}

int
takeover_memory_begin(struct takeover_memory *mem)
{
	int r = take_pieces(mem);

	return r == 0 ? get_build(&mem->image->build) : r;
}

static struct takeover_memory *
make_memory(struct node *node, unsigned generation)
{
	struct takeover_memory *mem = calloc(1, sizeof *mem);

	if (mem == NULL)
		return NULL;
	*mem = (struct takeover_memory){ .node = node,
		.generation = generation, .areas.fds = { -1, -1 },
		.fresh = true, .types_changed = { true, true },
		.regions_changed = { true, true },
		.marks_changed = { true, true } };
	return mem;
}

int
takeover_memory_new(struct takeover_memory **out, struct node *node,
    unsigned generation)
{
	struct takeover_memory *mem = make_memory(node, generation);
	int r;

	if (mem == NULL)
		return -ENOMEM;
	r = pmem_new(&mem->pmem, "pagek-kept", node->store.target_bytes);
	if (r == 0)
		r = takeover_memory_begin(mem);
	if (r < 0) {
		takeover_memory_free(mem);
		return r;
	}
	*out = mem;
	return 0;
}

void
takeover_memory_complete(struct takeover_memory *mem, struct node *node)
{
	mem->types_changed[0] = mem->types_changed[1] = false;
	mem->regions_changed[0] = mem->regions_changed[1] = false;
	mem->marks_changed[0] = mem->marks_changed[1] = false;
	node->store.target_bytes = pmem_size(mem->pmem);
}

int
takeover_memory_open(struct takeover_memory **out, int fd, unsigned generation)
{
	struct takeover_memory *mem = make_memory(NULL, generation);
	struct takeover_build ours;
	int r, pieces;

	if (mem == NULL) {
		close(fd);
		return -ENOMEM;
	}
	r = pmem_open(&mem->pmem, fd);
	pieces = r == 0 ? take_pieces(mem) : 0;
	if (r == 0)
		r = get_build(&ours);
	/* Its process was killed while it reset this memory. */
	if (r == 0 && mem->image != NULL && mem->image->build.size == 0)
		r = -ENODATA;
	/* Pieces of another build may have other sizes. */
	if (r == 0 && (mem->image == NULL ||
	    memcmp(&ours, &mem->image->build, sizeof ours) != 0))
		r = -EINVAL;
	if (r == 0)
		r = pieces;
	if (r < 0) {
		takeover_memory_free(mem);
		return r;
	}
	mem->stored = true;
	mem->place = mem->image->place;
	*out = mem;
	return 0;
}

void
takeover_memory_free(struct takeover_memory *mem)
{
	if (mem == NULL || (mem->left && takeover_memory_put(mem)))
		return;
	if (mem->left)
		takeover_remove_name(mem->node, mem->place);
	stream_areas_close(&mem->areas);
	pmem_free(mem->pmem);
	free(mem);
}

void
takeover_note_shown(struct keeper *k)
{
	if (k->takeover.memory != NULL)
		atomic_store_explicit(&k->takeover.memory->image->shown,
		    keeper_next(k), memory_order_release);
}

void
takeover_thread_changed(struct keeper *k, unsigned index)
{
	struct takeover_memory *mem = k->takeover.memory;

	for (unsigned s = 0; mem != NULL && s < 2; s++) {
		if (mem->to[s] == 0 || index < mem->from[s])
			mem->from[s] = index;
		if (index >= mem->to[s])
			mem->to[s] = index + 1;
	}
}

void
takeover_types_changed(struct keeper *k)
{
	if (k->takeover.memory != NULL)
		k->takeover.memory->types_changed[0] =
		    k->takeover.memory->types_changed[1] = true;
}

void
takeover_regions_changed(struct keeper *k)
{
	if (k->takeover.memory != NULL)
		k->takeover.memory->regions_changed[0] =
		    k->takeover.memory->regions_changed[1] = true;
}

void
takeover_marks_changed(struct keeper *k)
{
	if (k->takeover.memory != NULL)
		k->takeover.memory->marks_changed[0] =
		    k->takeover.memory->marks_changed[1] = true;
}

static void
write_threads(struct keeper *k, unsigned s)
{
	struct takeover_memory *mem = k->takeover.memory;

	if (mem->to[s] > mem->from[s])
		memcpy(mem->thread[s] + mem->from[s],
		    k->threads.at + mem->from[s],
		    (mem->to[s] - mem->from[s]) * sizeof *k->threads.at);
	mem->from[s] = mem->to[s] = 0;
	for (unsigned i = mem->inherited[s]; i < k->threads.ninherited; i++)
		mem->thread[s][KEEPER_THREADS_MAX - i] = k->threads.inherited[i];
	mem->inherited[s] = k->threads.ninherited;
}

static void
write_slot(struct keeper *k, unsigned s)
{
	struct takeover_memory *mem = k->takeover.memory;
	struct takeover_slot *slot = &mem->slot[s];
	/* A keeper of the pool has no row; its thread may not read the table. */
	const struct dstrm_row *row = k->index != KEEPER_NO_ROW ?
	    dstrm_at(&k->node->dstrm, k->index) : NULL;

	slot->next = stream_queue_next(k->queue.records);
	slot->first = k->queue.first;
	slot->sites = k->takeover.sites != NULL ? k->takeover.sites->id : 0;
	slot->index = k->index;
	slot->name[0] = '\0';
	if (row != NULL) {
		memcpy(slot->epoch, row->epoch, sizeof slot->epoch);
		memcpy(slot->name, row->name, sizeof slot->name);
	}
	slot->life = k->life;
	slot->trust = k->trust;
	slot->has_tags = k->threads.tag != NULL;
	slot->arming = k->arming.mode;
	slot->armed_wall_ms = k->arming.wall_ms;
	slot->numbers = k->numbers;
	slot->peak = peak_save(k);
	slot->threads = (uint32_t)k->threads.n;
	slot->inherited = k->threads.ninherited;
	write_threads(k, s);
	if (mem->types_changed[s]) {
		slot->types = *k->declared.types;
		slot->has_types = true;
		mem->types_changed[s] = false;
	}
	if (mem->regions_changed[s]) {
		slot->regions = k->declared.regions;
		slot->has_regions = true;
		mem->regions_changed[s] = false;
	}
	if (mem->marks_changed[s]) {
		slot->has_marks = k->marks != NULL;
		if (slot->has_marks)
			slot->marks = *k->marks;
		mem->marks_changed[s] = false;
	}
}

static uint64_t
count_seen(const struct keeper *k)
{
	const struct stream_feed_counts *n = stream_feed_counts(k->feed);
	uint64_t sum = n->records + n->late + n->dormant + n->marks_untold +
	    n->joined + k->numbers.controls;

	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		sum += n->lost[c];
	return sum;
}

void
takeover_commit(struct keeper *k, bool must)
{
	struct takeover_memory *mem = k->takeover.memory;
	uint64_t n, sum;
	unsigned s;

	if (mem == NULL || k->feed == NULL)
		return;
	sum = count_seen(k);
	n = atomic_load_explicit(&mem->image->committed,
	    memory_order_relaxed) + 1;
	s = n & 1;
	if (!must && !mem->fresh && sum == mem->seen &&
	    !mem->marks_changed[s])
		return;
	if (!stream_feed_save(k->feed, mem->state[s]))
		return;
	write_slot(k, s);
	stream_queue_commit(k->queue.records, s);
	blklist_commit(k->list, s);
	atomic_store_explicit(&mem->image->committed, n, memory_order_release);
	stream_feed_commit(k->feed);
	takeover_sites_unref(k->takeover.old_sites);
	k->takeover.old_sites = NULL;
	mem->seen = sum;
	if (!mem->fresh)
		return;
	mem->fresh = false;
	pmem_reset_opens(mem->pmem);
	if (k->takeover.sites != NULL)
		pmem_reset_opens(k->takeover.sites->pmem);
}

void
takeover_commit_early(struct keeper *k)
{
	if (k->takeover.memory != NULL && !k->takeover.memory->fresh &&
	    count_seen(k) - k->takeover.memory->seen >= TAKEOVER_RECORDS)
		takeover_commit(k, false);
}

const struct takeover_slot *
takeover_valid_slot(const struct takeover_memory *mem)
{
	uint64_t n = atomic_load_explicit(&mem->image->committed,
	    memory_order_acquire);

	return n != 0 && atomic_load(&mem->image->is_void) == 0 ?
	    &mem->slot[n & 1] : NULL;
}
