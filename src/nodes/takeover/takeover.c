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
#include "../keeper/node.h"
#include "../keeper/takeover_memory.h"
#include "../recorder/recorder.h"
#include "takeover.h"

/* Memory opened more often without a commit may be what the node died of. */
#define OPENS_MAX 2

/* Is it a target's memory?  Areas have the same name, and their own seals and sizes. */
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

	takeover_name_target(target, stream);
	fds[0] = fds[1] = -1;
	for (size_t i = 0; i < store->n; i++) {
		struct fdstore_entry *e = &store->inherited[i];
		int which = e->fd >= 0 &&
		    takeover_name_is_of(e->name, target) ?
		    stream_feed_area(e->fd) : -1;

		if (which < 0 || fds[which] >= 0)
			continue;
		fds[which] = e->fd;
		e->fd = -1;
	}
}

/* Abandoned areas tell their target that nobody drains them. */
static void
close_areas(const int fds[2], bool abandon)
{
	if (abandon && fds[0] >= 0 && fds[1] >= 0)
		stream_feed_abandon(fds);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void
remove_names(struct fdstore *store, uint64_t stream)
{
	char target[FDSTORE_NAME];
	const char *last = "";

	takeover_name_target(target, stream);
	for (size_t i = 0; i < store->n; i++) {
		const char *name = store->inherited[i].name;

		if (!takeover_name_is_of(name, target) ||
		    strcmp(name, last) == 0)
			continue;
		fdstore_remove(store, name);
		last = name;
	}
}

enum memory_state {
	MEMORY_VALID,
	MEMORY_UNUSED,		/* void, or never assigned: nothing is lost */
	MEMORY_OF_ANOTHER_BUILD,
	MEMORY_INCOMPLETE,
	MEMORY_FATAL,		/* nodes that took it over died */
	MEMORY_WITHOUT_RINGS,
	MEMORY_ERROR,
};

struct found_memory {
	enum memory_state state;
	int err;		/* of MEMORY_ERROR: a negative errno */
	pid_t pid;		/* 0: not known */
};

/* NULL: nothing is reported for this target alone. */
static const char *
loss_text(const struct found_memory *f)
{
	switch (f->state) {
	case MEMORY_INCOMPLETE:
		return "it was incomplete";
	case MEMORY_FATAL:
		return "nodes that took it over died";
	case MEMORY_WITHOUT_RINGS:
		return "its rings are missing";
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
judge_memory(const struct takeover_memory *mem, uint64_t place)
{
	if (atomic_load(&mem->image->is_void) || mem->image->image.pid == 0)
		return MEMORY_UNUSED;
	if (takeover_valid_slot(mem) == NULL || mem->image->place != place)
		return MEMORY_INCOMPLETE;
	if (pmem_opens(mem->pmem) > OPENS_MAX)
		return MEMORY_FATAL;
	return MEMORY_VALID;
}

static void
drop_memory(struct node *node, uint64_t stream, struct takeover_memory *mem)
{
	if (mem == NULL)
		return;
	atomic_store(&mem->image->is_void, 1);
	pmem_discard_from(mem->pmem, mem->slot);
	takeover_drop_memory(node, stream, mem->generation);
	takeover_memory_free(mem);
}

/* A target's newest valid memory, or NULL, with the reason in f->state. */
static struct takeover_memory *
find_memory(struct node *node, uint64_t stream, struct found_memory *f)
{
	struct fdstore *store = &node->store.fds;
	struct takeover_memory *best = NULL, *mem;
	enum memory_state state;
	unsigned generation;
	uint64_t no;
	int r;

	*f = (struct found_memory){ .state = MEMORY_UNUSED };
	for (size_t i = 0; i < store->n; i++) {
		struct fdstore_entry *e = &store->inherited[i];
		int fd = e->fd;

		if (!takeover_name_parse(e->name, &no, &generation) ||
		    no != stream || !is_memory(e))
			continue;
		e->fd = -1;
		r = takeover_memory_open(&mem, fd, generation);
		if (r < 0) {
			f->state = r == -EINVAL ? MEMORY_OF_ANOTHER_BUILD :
			    MEMORY_ERROR;
			f->err = r;
			takeover_drop_memory(node, stream, generation);
			continue;
		}
		f->pid = mem->image->image.pid;
		state = judge_memory(mem, stream);
		if (state != MEMORY_UNUSED && state != MEMORY_VALID)
			f->state = state;
		if (state == MEMORY_VALID && (best == NULL ||
		    best->generation < mem->generation)) {
			struct takeover_memory *other = best;

			best = mem;
			mem = other;
		}
		drop_memory(node, stream, mem);
	}
	if (best != NULL)
		f->state = MEMORY_VALID;
	return best;
}

/* Stacks by their id: of a live target of the family, or from the store. */
static int
find_sites(struct node *node, uint64_t id, struct takeover_sites **ts,
    struct stream_sites **sites)
{
	char name[FDSTORE_NAME];
	struct keeper *k;
	int fd;

	TAILQ_FOREACH(k, &node->live, link) {
		if (id == 0 || k->takeover.sites == NULL ||
		    k->takeover.sites->id != id)
			continue;
		*ts = k->takeover.sites;
		*sites = k->sites;
		takeover_sites_ref(*ts);
		stream_sites_ref(*sites);
		return 0;
	}
	takeover_name_sites(name, id);
	fd = fdstore_take(&node->store.fds, name);
	return fd < 0 ? -ENOENT : takeover_sites_open(ts, node, id, fd, sites);
}

/* Unreferences them; if nobody has them now, others of the family still may. */
static void
put_back_sites(struct node *node, struct takeover_sites *ts)
{
	struct fdstore *store = &node->store.fds;
	char name[FDSTORE_NAME];

	takeover_name_sites(name, ts->id);
	for (size_t i = 0; ts->refs == 1 && i < store->n; i++) {
		struct fdstore_entry *e = &store->inherited[i];

		if (e->fd >= 0 || strcmp(e->name, name) != 0)
			continue;
		e->fd = fcntl(pmem_fd(ts->pmem), F_DUPFD_CLOEXEC, 0);
		if (e->fd >= 0)
			ts->id = 0;
		break;
	}
	takeover_sites_unref(ts);
}

/*
 * Opens the pidfd, or leaves -1 if the process has ended.  An error if that is
 * not known, for a live process must not be reported as ended.
 */
static int
find_process(struct keeper *k)
{
	uint64_t start;
	pid_t ppid;
	int r;

	k->process.pidfd = (int)syscall(SYS_pidfd_open, k->image.pid, 0);
	if (k->process.pidfd < 0)
		return errno == ESRCH ? 0 : -errno;
	r = proc_stat(k->image.pid, &ppid, &start);
	/* A zombie is the same process, and we will be told its status. */
	if ((r == 0 && start == k->image.start) ||
	    (r == -ESRCH && images_is_reaped_for_us(k->node, k->image.pid)))
		return 0;
	close(k->process.pidfd);
	k->process.pidfd = -1;
	return r == 0 || r == -ESRCH || r == -ENOENT ? 0 : r;
}

static int
take_over_with(struct node *node, struct takeover_memory *mem, const int fds[2],
    struct takeover_sites *ts, struct stream_sites *sites)
{
	const struct takeover_slot slot = *takeover_valid_slot(mem);
	unsigned generation = mem->generation;
	bool shown = atomic_load(&mem->image->shown) > slot.next;
	struct keeper *k;
	int r;

	r = keeper_resume(&k, node, mem, fds, ts, sites);
	if (r < 0) {
		stream_sites_unref(sites);
		takeover_sites_unref(ts);
		return r;
	}
	if (node->opts.check_list && k->life.reason[0] == '\0')
		snprintf(k->life.reason, sizeof k->life.reason,
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
	/* Another list, or other records under numbers that a page has seen. */
	if (r == 0 && (shown || k->takeover.memory->generation != generation)) {
		dstrm_renew(&node->dstrm, k->index);
		takeover_commit(k, true);
	}
	return r;
}

static int
take_over(struct node *node, struct takeover_memory *mem, const int fds[2])
{
	struct stream_sites *sites;
	struct takeover_sites *ts;
	int r;

	r = find_sites(node, takeover_valid_slot(mem)->sites, &ts, &sites);
	if (r < 0) {
		takeover_memory_free(mem);
		return r;
	}
	takeover_sites_ref(ts);
	r = take_over_with(node, mem, fds, ts, sites);
	put_back_sites(node, ts);
	return r;
}

static enum memory_state
take_over_target(struct node *node, uint64_t stream)
{
	struct fdstore *store = &node->store.fds;
	struct found_memory f;
	struct takeover_memory *mem = find_memory(node, stream, &f);
	const char *why;
	int fds[2];

	take_areas(store, stream, fds);
	if (mem != NULL && fds[0] >= 0 && fds[1] >= 0) {
		f.err = take_over(node, mem, fds);
		if (f.err < 0)
			f.state = MEMORY_ERROR;
	} else if (mem != NULL) {
		f.state = MEMORY_WITHOUT_RINGS;
		takeover_memory_free(mem);
	}
	why = loss_text(&f);
	if (why != NULL)
		fprintf(stderr, "pageknode: the list of process %d "
		    "cannot be taken over: %s\n", (int)f.pid, why);
	if (f.state != MEMORY_VALID)
		remove_names(store, stream);
	close_areas(fds, f.state != MEMORY_VALID);
	return f.state;
}

/* Removes what was not taken over, areas without memory, too. */
static void
drop_unused(struct fdstore *store)
{
	unsigned generation;
	uint64_t stream;
	int fds[2];

	for (size_t i = 0; i < store->n; i++) {
		struct fdstore_entry *e = &store->inherited[i];

		if (e->fd < 0)
			continue;
		if (takeover_name_parse(e->name, &stream, &generation)) {
			take_areas(store, stream, fds);
			close_areas(fds, true);
			remove_names(store, stream);
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
		if (!takeover_name_parse(store->inherited[i].name, &stream,
		    &generation) || !is_memory(&store->inherited[i]))
			continue;
		others += take_over_target(node, stream) ==
		    MEMORY_OF_ANOTHER_BUILD;
		visits_beat(node);
	}
	if (others > 0)
		fprintf(stderr, "pageknode: the node before was another "
		    "build: its %u lists, prepared ones included, cannot "
		    "be taken over\n", others);
	drop_unused(store);
	recorder_go_on(node);
	images_adopt_all(node);
	images_end_lost(node);
}
