/* A keeper from the last commit.  Only the build that wrote memory opens it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "takeover_memory.h"

static char *
text_or_null(const char *text)
{
	return text[0] != '\0' ? strdup(text) : NULL;
}

static int
read_image(struct keeper *k, const struct takeover_image *i, bool adopted)
{
	k->image = i->image;
	k->stream = i->stream;
	k->format.sample = i->sample;
	k->sandbox.at_hello = i->sandbox;
	k->sandbox.known = i->sandbox_known;
	k->sandbox.looks = atomic_load(&i->looks);
	k->sandbox.locked = atomic_load(&i->locked) != 0;
	k->takeover.counts_lost_ms = atomic_load(&i->counted_ms);
	k->takeover.cut = true;
	k->process.exe = text_or_null(i->exe);
	k->process.cwd = text_or_null(i->cwd);
	if (adopted || !i->has_cut)
		return 0;
	k->process.cut = malloc(sizeof i->cut);
	if (k->process.cut == NULL)
		return -ENOMEM;
	memcpy(k->process.cut, i->cut, sizeof i->cut);
	return 0;
}

/* Watchers have lost their connections; they ask again when they are back. */
static void
read_slot(struct keeper *k, const struct takeover_slot *slot)
{
	k->queue.first = slot->first;
	k->life = slot->life;
	k->trust = slot->trust;
	k->arming = (struct arming){ .mode = slot->arming,
		.wall_ms = slot->armed_wall_ms };
	k->numbers = slot->numbers;
	k->peak = slot->peak;
	if (slot->has_regions)
		k->declared.regions = slot->regions;
}

static int
read_threads(struct keeper *k, const struct takeover_slot *slot,
    const struct keeper_thread *thread)
{
	struct keeper_threads *a = &k->threads;

	if (slot->inherited != 0) {
		a->inherited = calloc(KEEPER_INHERITED_MAX, sizeof *a->inherited);
		if (a->inherited == NULL)
			return -ENOMEM;
		while (a->ninherited < slot->inherited) {
			a->inherited[a->ninherited] =
			    thread[KEEPER_THREADS_MAX - a->ninherited];
			a->ninherited++;
		}
	}
	if (slot->threads == 0)
		return 0;
	k->threads.at = calloc(slot->threads, sizeof *k->threads.at);
	if (k->threads.at == NULL)
		return -ENOMEM;
	memcpy(k->threads.at, thread, slot->threads * sizeof *k->threads.at);
	k->threads.n = k->threads.cap = slot->threads;
	for (size_t i = 0; i < k->threads.n; i++)
		k->threads.requesters += k->threads.at[i].has_requester;
	k->takeover.memory->to[0] = k->takeover.memory->to[1] = slot->threads;
	return 0;
}

/* Removes tags of records after the commit: others will get their numbers. */
static void
read_tags(struct keeper *k, const struct takeover_slot *slot)
{
	if (!slot->has_tags) {
		pmem_zero(k->takeover.memory->pmem, k->takeover.memory->tag,
		    STREAM_QUEUE_RECORDS * sizeof *k->takeover.memory->tag);
		return;
	}
	k->threads.tag = k->takeover.memory->tag;
	for (uint32_t i = 0; i < STREAM_QUEUE_RECORDS; i++)
		if ((int32_t)(k->threads.tag[i].seq - (uint32_t)slot->next) >=
		    0)
			k->threads.tag[i] = (struct keeper_tag){ 0 };
}

static int
resume_list(struct keeper *k, const struct takeover_slot *slot, unsigned s)
{
	struct takeover_memory *mem = k->takeover.memory;
	int r;

	r = stream_queue_resume(&k->queue.records, STREAM_QUEUE_RECORDS,
	    mem->pmem, s);
	if (r == 0 && stream_queue_next(k->queue.records) != slot->next)
		r = -ESTALE;
	if (r == 0)
		r = blklist_resume(&k->list, mem->image->max, KEEPER_REMEMBERED,
		    mem->pmem, s, slot->next);
	if (r == 0 && k->node->opts.no_pairs)
		r = blklist_follow_thread_peaks(k->list);
	return r;
}

static int
read_marks(struct keeper *k, const struct takeover_slot *slot)
{
	if (!slot->has_marks)
		return 0;
	k->marks = malloc(sizeof *k->marks);
	if (k->marks == NULL)
		return -ENOMEM;
	*k->marks = slot->marks;
	k->takeover.memory->marks_changed[0] =
	    k->takeover.memory->marks_changed[1] = true;
	return 0;
}

/* The list restarts at the commit.  An adopted one counts as armed just now. */
static int
restart_list(struct keeper *k, const struct takeover_slot *slot,
    struct takeover_memory **anew)
{
	int r;

	r = takeover_memory_new(anew, k->node,
	    k->takeover.memory->generation + 1);
	if (r == 0)
		r = keeper_replace_tables(
		    k, *anew, k->takeover.memory->image->max, slot->next);
	if (r < 0)
		return r;
	if (slot->name[0] == '\0')
		return 0;
	k->trust.since_click = true;
	blklist_set_since_click(k->list, true);
	k->arming.wall_ms = base_wall_ms();
	snprintf(k->life.reason, sizeof k->life.reason,
	    "the node failed while too much happened to undo: its list begins "
	    "again");
	return 0;
}

/* anew: receives the memory of a restarted list. */
static int
resume_tables(struct keeper *k, const struct takeover_slot *slot, unsigned s,
    struct takeover_memory **anew)
{
	struct takeover_memory *mem = k->takeover.memory;
	int r;

	r = resume_list(k, slot, s);
	if (r == 0)
		r = read_marks(k, slot);
	if (r == 0)
		r = stream_digest_new(&k->queue.digest);
	else if (r == -ESTALE)
		r = restart_list(k, slot, anew);
	if (r == 0)
		r = read_threads(k, slot, mem->thread[s]);
	if (r < 0)
		return r;
	k->declared.types = malloc(sizeof *k->declared.types);
	if (k->declared.types == NULL)
		return -ENOMEM;
	if (slot->has_types)
		*k->declared.types = slot->types;
	else
		stream_types_init(k->declared.types);
	read_tags(k, slot);
	return 0;
}

static bool
is_text(const char *text, size_t cap)
{
	return memchr(text, '\0', cap) != NULL;
}

/* A kill leaves valid memory, but the fault behind it may have overwritten any. */
static bool
is_valid(const struct takeover_image *i, const struct takeover_slot *slot)
{
	const struct keeper_life *life = &slot->life;

	return slot->threads <= KEEPER_THREADS_MAX + 1 &&
	    slot->inherited <= KEEPER_INHERITED_MAX &&
	    region_set_is_valid(&slot->regions) &&
	    (!slot->has_marks || mark_set_is_valid(&slot->marks)) &&
	    life->state >= WIRE_S_LIVE && life->state <= WIRE_S_DORMANT &&
	    life->ended_ms == 0 && slot->arming <= ARMING_HELD &&
	    is_text(slot->name, sizeof slot->name) &&
	    is_text(life->reason, sizeof life->reason) &&
	    is_text(i->image.comm, sizeof i->image.comm) &&
	    is_text(i->exe, sizeof i->exe) && is_text(i->cwd, sizeof i->cwd);
}

int
keeper_resume(struct keeper **out, struct node *node,
    struct takeover_memory *mem, const int fds[2], struct takeover_sites *ts,
    struct stream_sites *sites)
{
	const struct takeover_slot *slot = takeover_valid_slot(mem);
	unsigned s = (unsigned)(slot - mem->slot);
	struct takeover_memory *anew = NULL;
	struct keeper *k;
	int r;

	r = is_valid(mem->image, slot) ? keeper_new(&k, node,
	    &(struct keeper_opts){ .no_list = true }, NULL) : -EINVAL;
	if (r < 0) {
		takeover_memory_free(mem);
		return r;
	}
	k->takeover.memory = mem;
	k->format.levels = true;
	read_slot(k, slot);
	r = read_image(k, mem->image, slot->name[0] != '\0');
	if (r == 0)
		r = resume_tables(k, slot, s, &anew);
	if (r == 0)
		r = stream_feed_resume(&k->feed, fds, mem->state[s],
		    &keeper_sink, k);
	/* No commit after it was armed or sent to sleep: the list is another one. */
	if (r == 0 && stream_feed_is_armed(k->feed) ==
	    (k->arming.mode == ARMING_DORMANT))
		r = -ESTALE;
	if (r < 0) {
		keeper_unref(k);
		takeover_memory_free(anew);
		return r;
	}
	k->sites = sites;
	k->takeover.sites = ts;
	stream_feed_sites(k->feed, sites);
	keeper_types_changed(k);
	if (anew != NULL) {
		k->threads.tag = NULL;
		takeover_replace(k, anew);
	}
	*out = k;
	return 0;
}
