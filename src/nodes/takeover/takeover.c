#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../arrivals/arrivals.h"
#include "../host/proc.h"
#include "../images/images.h"
#include "../keeper/kept_memory.h"
#include "../keeper/node.h"
#include "takeover.h"

/* One that has been opened so often and never got well may be what we die of. */
#define OPENS_MOST 2

/* --- a target's descriptors --------------------------------------------- */

/* Of a target, and neither of its areas: those are told by seals and sizes alone. */
static bool
is_memory(const struct fdstore_entry *e)
{
	return e->fd >= 0 && stream_feed_area(e->fd) < 0;
}

/* The two areas of its feed, -1 for one that is not there. */
static void
take_areas(struct fdstore *store, uint64_t stream, int fds[2])
{
	char target[FDSTORE_NAME];

	keeper_store_name(target, stream);
	fds[0] = fds[1] = -1;
	for (size_t i = 0; i < store->n; i++) {
		struct fdstore_entry *e = &store->inherited[i];
		int which = e->fd >= 0 &&
		    keeper_store_is_of(e->name, target) ?
		    stream_feed_area(e->fd) : -1;

		if (which < 0 || fds[which] >= 0)
			continue;
		fds[which] = e->fd;
		e->fd = -1;
	}
}

/* Where nobody drains them its target is told, if both are there. */
static void
leave_areas(const int fds[2], bool abandon)
{
	if (abandon && fds[0] >= 0 && fds[1] >= 0)
		stream_feed_abandon(fds);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void
drop_names(struct fdstore *store, uint64_t stream)
{
	char target[FDSTORE_NAME];
	const char *last = "";

	keeper_store_name(target, stream);
	for (size_t i = 0; i < store->n; i++) {
		const char *name = store->inherited[i].name;

		if (!keeper_store_is_of(name, target) ||
		    strcmp(name, last) == 0)
			continue;
		fdstore_remove(store, name);
		last = name;
	}
}

enum memory_state {
	MEMORY_VALID,
	MEMORY_UNUSED,		/* given up, or never used: nothing is lost */
	MEMORY_OF_ANOTHER_BUILD,	/* it cannot be read at all */
	MEMORY_INCOMPLETE,
	MEMORY_FATAL,		/* nodes that took it up died */
	MEMORY_WITHOUT_RINGS,
	MEMORY_ERROR,
};

/* The memory of one target. */
struct found_memory {
	enum memory_state state;
	int err;		/* of MEMORY_ERROR: a negative errno */
	pid_t pid;		/* 0: not known */
};

/* NULL: there is nothing to say about this target alone. */
static const char *
loss_text(const struct found_memory *f)
{
	switch (f->state) {
	case MEMORY_INCOMPLETE:
		return "it was not whole yet";
	case MEMORY_FATAL:
		return "nodes that took it up died";
	case MEMORY_WITHOUT_RINGS:
		return "its rings are not there";
	case MEMORY_ERROR:
		return strerror(-f->err);
	case MEMORY_VALID:
	case MEMORY_UNUSED:
	case MEMORY_OF_ANOTHER_BUILD:
		break;
	}
	return NULL;
}

static enum memory_state
judge_memory(const struct keeper_kept *kk, uint64_t stream)
{
	if (atomic_load(&kk->image->is_void) || kk->image->pid == 0)
		return MEMORY_UNUSED;
	if (keeper_kept_slot(kk) == NULL || kk->image->stream != stream)
		return MEMORY_INCOMPLETE;
	if (kept_opens(kk->memory) > OPENS_MOST)
		return MEMORY_FATAL;
	return MEMORY_VALID;
}

/* Another one is valid, or none is. */
static void
drop_memory(struct node *node, uint64_t stream, struct keeper_kept *kk)
{
	if (kk == NULL)
		return;
	atomic_store(&kk->image->is_void, 1);
	kept_give_back(kk->memory, kk->slot);
	keeper_store_drop_memory(node, stream, kk->generation);
	keeper_kept_free(kk);
}

/*
 * The valid memory file of a target, of two the younger.  NULL: there is none,
 * and f->state says why.
 */
static struct keeper_kept *
find_memory(struct node *node, uint64_t stream, struct found_memory *f)
{
	struct fdstore *store = &node->store.fds;
	struct keeper_kept *best = NULL, *kk;
	enum memory_state state;
	unsigned generation;
	uint64_t no;
	int r;

	*f = (struct found_memory){ .state = MEMORY_UNUSED };
	for (size_t i = 0; i < store->n; i++) {
		struct fdstore_entry *e = &store->inherited[i];
		int fd = e->fd;

		if (!keeper_store_parse(e->name, &no, &generation) ||
		    no != stream || !is_memory(e))
			continue;
		e->fd = -1;
		r = keeper_kept_open(&kk, fd, generation);
		if (r < 0) {
			f->state = r == -EINVAL ? MEMORY_OF_ANOTHER_BUILD :
			    MEMORY_ERROR;
			f->err = r;
			keeper_store_drop_memory(node, stream, generation);
			continue;
		}
		f->pid = kk->image->pid;
		state = judge_memory(kk, stream);
		if (state != MEMORY_UNUSED && state != MEMORY_VALID)
			f->state = state;
		if (state == MEMORY_VALID && (best == NULL ||
		    best->generation < kk->generation)) {
			struct keeper_kept *other = best;

			best = kk;
			kk = other;
		}
		drop_memory(node, stream, kk);
	}
	if (best != NULL)
		f->state = MEMORY_VALID;
	return best;
}

/* Those of a family that has been met already, or of one that is new. */
static int
find_sites(struct node *node, uint64_t id, struct kept_sites **ks,
    struct stream_sites **sites)
{
	char name[FDSTORE_NAME];
	struct keeper *k;
	int fd;

	TAILQ_FOREACH(k, &node->live, link) {
		if (id == 0 || k->memory.sites == NULL ||
		    k->memory.sites->id != id)
			continue;
		*ks = k->memory.sites;
		*sites = k->sites;
		kept_sites_ref(*ks);
		stream_sites_ref(*sites);
		return 0;
	}
	keeper_store_sites(name, id);
	fd = fdstore_take(&node->store.fds, name);
	return fd < 0 ? -ENOENT : kept_sites_open(ks, node, id, fd, sites);
}

/*
 * Gives a reference back.  Where it is the last, because who needed them could not
 * be taken up, they are there for others of the family.
 */
static void
put_back_sites(struct node *node, struct kept_sites *ks)
{
	struct fdstore *store = &node->store.fds;
	char name[FDSTORE_NAME];

	keeper_store_sites(name, ks->id);
	for (size_t i = 0; ks->refs == 1 && i < store->n; i++) {
		struct fdstore_entry *e = &store->inherited[i];

		if (e->fd >= 0 || strcmp(e->name, name) != 0)
			continue;
		e->fd = fcntl(kept_fd(ks->memory), F_DUPFD_CLOEXEC, 0);
		/* They stay in the store meanwhile. */
		if (e->fd >= 0)
			ks->id = 0;
		break;
	}
	kept_sites_unref(ks);
}

/* --- a target ----------------------------------------------------------- */

/*
 * Without one when the process is no more, whoever may have its number now; an
 * error when that is not known, for a process that lives is not to be told as
 * ended.
 */
static int
find_process(struct keeper *k)
{
	uint64_t start;
	pid_t ppid;
	int r;

	k->image.pidfd = (int)syscall(SYS_pidfd_open, k->image.pid, 0);
	if (k->image.pidfd < 0)
		return errno == ESRCH ? 0 : -errno;
	r = proc_stat(k->image.pid, &ppid, &start);
	/* One that waits to be reaped is no other, and we are told its status. */
	if ((r == 0 && start == k->image.start) ||
	    (r == -ESRCH && images_is_told_end_of(k->node, k->image.pid)))
		return 0;
	close(k->image.pidfd);
	k->image.pidfd = -1;
	return r == 0 || r == -ESRCH || r == -ENOENT ? 0 : r;
}

static int
take_up_with(struct node *node, struct keeper_kept *kk, const int fds[2],
    struct kept_sites *ks, struct stream_sites *sites)
{
	const struct kept_slot slot = *keeper_kept_slot(kk);
	unsigned generation = kk->generation;
	bool shown = atomic_load(&kk->image->shown) > slot.next;
	struct keeper *k;
	int r;

	r = keeper_resume(&k, node, kk, fds, ks, sites);
	if (r < 0) {
		stream_sites_unref(sites);
		kept_sites_unref(ks);
		return r;
	}
	if (node->opts.check_list && k->image.reason[0] == '\0')
		snprintf(k->image.reason, sizeof k->image.reason,
		    "not checked any more: "
		    "the node was started again");
	r = find_process(k);
	if (r < 0) {
		keeper_unref(k);
		return r;
	}
	if (slot.name[0] == '\0') {
		hello_put_back(node->hello, k);
		return 0;
	}
	r = images_rejoin(k, slot.index, slot.name, slot.epoch);
	/* Another list, or other records with numbers that a page has seen. */
	if (r == 0 && (shown || k->memory.target->generation != generation)) {
		dstrm_renew(&node->dstrm, k->index);
		keeper_kept_commit(k, true);
	}
	return r;
}

static int
take_up(struct node *node, struct keeper_kept *kk, const int fds[2])
{
	struct stream_sites *sites;
	struct kept_sites *ks;
	int r;

	r = find_sites(node, keeper_kept_slot(kk)->sites, &ks, &sites);
	if (r < 0) {
		keeper_kept_free(kk);
		return r;
	}
	kept_sites_ref(ks);
	r = take_up_with(node, kk, fds, ks, sites);
	put_back_sites(node, ks);
	return r;
}

/* Valid: the target has its keeper again. */
static enum memory_state
take_target(struct node *node, uint64_t stream)
{
	struct fdstore *store = &node->store.fds;
	struct found_memory f;
	struct keeper_kept *kk = find_memory(node, stream, &f);
	const char *why;
	int fds[2];

	take_areas(store, stream, fds);
	if (kk != NULL && fds[0] >= 0 && fds[1] >= 0) {
		f.err = take_up(node, kk, fds);
		if (f.err < 0)
			f.state = MEMORY_ERROR;
	} else if (kk != NULL) {
		f.state = MEMORY_WITHOUT_RINGS;
		keeper_kept_free(kk);
	}
	why = loss_text(&f);
	if (why != NULL)
		fprintf(stderr, "pageknode: what is known of process %d "
		    "cannot be taken over: %s\n", (int)f.pid, why);
	if (f.state != MEMORY_VALID)
		drop_names(store, stream);
	leave_areas(fds, f.state != MEMORY_VALID);
	return f.state;
}

/* What nobody took is of no more use to anybody: areas without a memory, too. */
static void
drop_rest(struct fdstore *store)
{
	unsigned generation;
	uint64_t stream;
	int fds[2];

	for (size_t i = 0; i < store->n; i++) {
		struct fdstore_entry *e = &store->inherited[i];

		if (e->fd < 0)
			continue;
		if (keeper_store_parse(e->name, &stream, &generation)) {
			take_areas(store, stream, fds);
			leave_areas(fds, true);
			drop_names(store, stream);
		}
		if (e->fd < 0)
			continue;
		close(e->fd);
		e->fd = -1;
		fdstore_remove(store, e->name);
	}
}

void
takeover_targets(struct node *node)
{
	struct fdstore *store = &node->store.fds;
	unsigned generation, others = 0;
	uint64_t stream;

	for (size_t i = 0; i < store->n; i++) {
		if (!keeper_store_parse(store->inherited[i].name, &stream,
		    &generation) || !is_memory(&store->inherited[i]))
			continue;
		others += take_target(node, stream) == MEMORY_OF_ANOTHER_BUILD;
		drain_beat(node);
	}
	if (others > 0)
		fprintf(stderr, "pageknode: the node before this one was of "
		    "another build: its %u lists, those it had ready "
		    "included, cannot be taken over\n", others);
	drop_rest(store);
	images_adopt_all(node);
	images_end_lost(node);
}
