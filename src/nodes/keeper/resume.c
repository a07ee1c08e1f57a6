/*
 * One target: what the process before this one has left of it, read and taken
 * up.  The memory is of this very program, or it would not have been opened.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept_memory.h"
#include "node.h"

static char *
text_or_null(const char *text)
{
	return text[0] != '\0' ? strdup(text) : NULL;
}

static int
read_image(struct keeper *k, const struct kept_image *i, bool adopted)
{
	k->stream = i->stream;
	k->image.parent = i->parent;
	k->image.arrival = i->arrival;
	k->image.forked = i->forked != 0;
	k->image.start = i->start;
	k->image.exe_dev = i->exe_dev;
	k->image.exe_ino = i->exe_ino;
	k->sample = i->sample;
	k->sandbox.at_hello = i->sandbox;
	k->sandbox.known = i->sandbox_known != 0;
	k->sandbox.looks = atomic_load(&i->looks);
	k->sandbox.locked = atomic_load(&i->locked) != 0;
	k->image.pid = i->pid;
	k->image.ppid = i->ppid;
	k->image.uid = i->uid;
	memcpy(k->image.comm, i->comm, sizeof k->image.comm);
	k->image.exe = text_or_null(i->exe);
	k->image.cwd = text_or_null(i->cwd);
	if (adopted || i->has_cut == 0)
		return 0;
	k->image.cut = malloc(sizeof i->cut);
	if (k->image.cut == NULL)
		return -ENOMEM;
	memcpy(k->image.cut, i->cut, sizeof i->cut);
	return 0;
}

static void
read_slot(struct keeper *k, const struct kept_slot *slot)
{
	k->first = slot->first;
	k->image.state = (enum wire_state)slot->state;
	memcpy(k->image.reason, slot->reason, sizeof k->image.reason);
	k->unsure = slot->unsure;
	k->since_click = slot->since_click;
	/* Who watched it has lost his connection, and says so when he is back. */
	k->arming = (struct arming){ .asleep = slot->asleep,
		.wished = slot->wished, .held = slot->held,
		.wall_ms = slot->armed_wall_ms };
	memcpy(k->numbers.lost, slot->lost, sizeof k->numbers.lost);
	k->numbers.bad = slot->bad;
	k->numbers.mismatches = slot->mismatches;
	k->numbers.sites_full_then = slot->sites_full_then;
	k->numbers.walks_then = slot->walks_then;
	k->numbers.pairs_then = slot->pairs_then;
	k->numbers.marks = slot->marks;
	k->peak = slot->peak;
	if (slot->has_known)
		k->regions = slot->known;
}

static int
read_threads(struct keeper *k, const struct kept_slot *slot,
    const struct keeper_thread *thread)
{
	if (slot->threads == 0)
		return 0;
	k->threads.at = calloc(slot->threads, sizeof *k->threads.at);
	if (k->threads.at == NULL)
		return -ENOMEM;
	memcpy(k->threads.at, thread, slot->threads * sizeof *k->threads.at);
	k->threads.n = k->threads.cap = slot->threads;
	for (size_t i = 0; i < k->threads.n; i++)
		k->threads.requesters += k->threads.at[i].has_requester;
	k->memory.target->to[0] = k->memory.target->to[1] = slot->threads;
	return 0;
}

/*
 * Those of records that the commit knows nothing of are wiped out, for others
 * will have their numbers.  Where it knows of none at all, that is the array.
 */
static void
read_tags(struct keeper *k, const struct kept_slot *slot)
{
	if (!slot->has_tags) {
		kept_zero(k->memory.target->memory, k->memory.target->tag,
		    STREAM_QUEUE_RECORDS * sizeof *k->memory.target->tag);
		return;
	}
	k->threads.tag = k->memory.target->tag;
	for (uint32_t i = 0; i < STREAM_QUEUE_RECORDS; i++)
		if ((int32_t)(k->threads.tag[i].seq - (uint32_t)slot->next) >=
		    0)
			k->threads.tag[i] = (struct keeper_tag){ 0 };
}

static int
resume_list(struct keeper *k, const struct kept_slot *slot, unsigned s)
{
	struct keeper_kept *kk = k->memory.target;
	int r;

	r = stream_queue_resume(&k->queue, STREAM_QUEUE_RECORDS, kk->memory,
	    s);
	if (r == 0 && stream_queue_next(k->queue) != slot->next)
		r = -ESTALE;
	if (r == 0)
		r = blklist_resume(&k->list, kk->image->max, KEEPER_REMEMBERED,
		    kk->memory, s, slot->next);
	if (r == 0 && k->node->opts.no_pairs)
		r = blklist_follow_rises(k->list);
	return r;
}

/*
 * What stood in the list cannot be told any more: it begins at the commit.  One
 * that was not adopted yet had nothing in it by then; another one says since
 * when it is, as if it had been armed just now.
 */
static int
begin_anew(struct keeper *k, const struct kept_slot *slot,
    struct keeper_kept **anew)
{
	int r;

	r = keeper_kept_new(anew, k->node, k->memory.target->generation + 1);
	if (r == 0)
		r = keeper_tables(
		    k, *anew, k->memory.target->image->max, slot->next);
	if (r < 0)
		return r;
	if (slot->name[0] == '\0')
		return 0;
	k->since_click = true;
	blklist_set_since_click(k->list, true);
	k->arming.wall_ms = base_wall_ms();
	snprintf(k->image.reason, sizeof k->image.reason,
	    "the node died while much "
	    "happened: its list begins anew");
	return 0;
}

/* anew: memory that its list is in now instead, to be freed after it. */
static int
resume_tables(struct keeper *k, const struct kept_slot *slot, unsigned s,
    struct keeper_kept **anew)
{
	struct keeper_kept *kk = k->memory.target;
	int r;

	r = resume_list(k, slot, s);
	if (r == -ESTALE)
		r = begin_anew(k, slot, anew);
	if (r == 0)
		r = read_threads(k, slot, kk->thread[s]);
	if (r == 0)
		r = stream_digest_new(&k->digest);
	if (r < 0)
		return r;
	k->types = malloc(sizeof *k->types);
	if (k->types == NULL)
		return -ENOMEM;
	if (slot->has_types)
		*k->types = slot->types;
	else
		stream_types_init(k->types);
	read_tags(k, slot);
	return 0;
}

static bool
is_text(const char *text, size_t cap)
{
	return memchr(text, '\0', cap) != NULL;
}

/*
 * No kill leaves it otherwise; but what killed the process may have spoilt it
 * first, and we are not to read on behind its end.
 */
static bool
is_whole(const struct kept_image *i, const struct kept_slot *slot)
{
	return slot->threads <= KEEPER_THREADS_MAX + 1 &&
	    region_set_is_valid(&slot->known) &&
	    slot->state >= WIRE_S_LIVE && slot->state <= WIRE_S_DORMANT &&
	    is_text(slot->name, sizeof slot->name) &&
	    is_text(slot->reason, sizeof slot->reason) &&
	    is_text(i->comm, sizeof i->comm) &&
	    is_text(i->exe, sizeof i->exe) && is_text(i->cwd, sizeof i->cwd);
}

int
keeper_resume(struct keeper **out, struct node *node, struct keeper_kept *kk,
    const int fds[2], struct kept_sites *ks, struct stream_sites *sites)
{
	const struct kept_slot *slot = keeper_kept_slot(kk);
	unsigned s = (unsigned)(slot - kk->slot);
	struct keeper_kept *anew = NULL;
	struct keeper *k;
	int r;

	r = is_whole(kk->image, slot) ? keeper_new(&k, node,
	    &(struct keeper_opts){ .no_list = true }, NULL) : -EINVAL;
	if (r < 0) {
		keeper_kept_free(kk);
		return r;
	}
	k->memory.target = kk;
	k->levels = true;
	read_slot(k, slot);
	r = read_image(k, kk->image, slot->name[0] != '\0');
	if (r == 0)
		r = resume_tables(k, slot, s, &anew);
	if (r == 0)
		r = stream_feed_resume(&k->feed, fds, kk->state[s],
		    &keeper_sink, k);
	/* Armed, or sent to sleep, with no commit after it: another list. */
	if (r == 0 && stream_feed_is_armed(k->feed) == k->arming.asleep)
		r = -ESTALE;
	if (r < 0) {
		keeper_unref(k);
		keeper_kept_free(anew);
		return r;
	}
	k->sites = sites;
	k->memory.sites = ks;
	stream_feed_sites(k->feed, sites);
	keeper_types_changed(k);
	if (anew != NULL) {
		/* Requesters are of records that are in no queue now. */
		k->threads.tag = NULL;
		keeper_kept_replace(k, anew);
	}
	*out = k;
	return 0;
}
