/*
 * One target: its names in the store, and the stacks of its family.
 *
 * What is kept of a target goes there in one message and leaves by another, for
 * each of them wakes whoever keeps.  Stacks are a family's, and so they have a
 * message of their own: systemd takes one file once, under whatever name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept_memory.h"
#include "node.h"

#define TARGET FDSTORE_OURS "t.%016" PRIx64
#define SITES FDSTORE_OURS "s.%016" PRIx64

/* --- names -------------------------------------------------------------- */

void
keeper_store_name(char name[FDSTORE_NAME], uint64_t stream)
{
	snprintf(name, FDSTORE_NAME, TARGET, stream);
}

void
keeper_store_memory(char name[FDSTORE_NAME], uint64_t stream,
    unsigned generation)
{
	snprintf(name, FDSTORE_NAME, TARGET ".kept.%u", stream, generation);
}

void
keeper_store_sites(char name[FDSTORE_NAME], uint64_t id)
{
	snprintf(name, FDSTORE_NAME, SITES, id);
}

bool
keeper_store_parse(const char *name, uint64_t *stream, unsigned *generation)
{
	static const char prefix[] = FDSTORE_OURS "t.";
	int end = 0, all = 0;

	if (strncmp(name, prefix, sizeof prefix - 1) != 0 ||
	    sscanf(name + sizeof prefix - 1, "%16" SCNx64 "%n.kept.%u%n",
	    stream, &end, generation, &all) < 1)
		return false;
	name += sizeof prefix - 1;
	if (name[end] == '\0')
		*generation = 1;
	return name[end] == '\0' || (all > 0 && name[all] == '\0');
}

bool
keeper_store_is_of(const char *name, const char *target)
{
	size_t len = strlen(target);

	return strncmp(name, target, len) == 0 &&
	    (name[len] == '\0' || name[len] == '.');
}

static void
drop_target(struct node *node, uint64_t stream)
{
	char name[FDSTORE_NAME];

	keeper_store_name(name, stream);
	fdstore_remove(&node->store.fds, name);
}

void
keeper_store_drop_memory(struct node *node, uint64_t stream,
    unsigned generation)
{
	char name[FDSTORE_NAME];

	if (generation == 1)
		return;
	keeper_store_memory(name, stream, generation);
	fdstore_remove(&node->store.fds, name);
}

static int
put_memory(struct keeper *k, const struct keeper_kept *kk)
{
	char name[FDSTORE_NAME];

	keeper_store_memory(name, k->stream, kk->generation);
	return fdstore_put(&k->node->store.fds, name, kept_fd(kk->memory));
}

/* --- stacks ------------------------------------------------------------- */

/* Stacks and the memory that they lie in become *out's, or are given back. */
static int
own_sites(struct kept_sites **out, struct node *node, uint64_t id,
    struct kept *memory, struct stream_sites *sites)
{
	struct kept_sites *s = calloc(1, sizeof *s);

	if (s == NULL) {
		stream_sites_unref(sites);
		kept_free(memory);
		return -ENOMEM;
	}
	*s = (struct kept_sites){ .node = node, .memory = memory, .id = id,
		.refs = 1 };
	*out = s;
	return 0;
}

int
kept_sites_new(struct kept_sites **out, struct node *node,
    struct stream_sites **sites)
{
	struct kept *memory;
	int r = kept_new(&memory, "pagek-sites", node->store.sites_bytes);

	if (r < 0)
		return r;
	r = stream_sites_new_kept(sites, memory);
	if (r < 0) {
		kept_free(memory);
		return r;
	}
	node->store.sites_bytes = kept_size(memory);
	return own_sites(out, node, 0, memory, *sites);
}

int
kept_sites_open(struct kept_sites **out, struct node *node, uint64_t id,
    int fd, struct stream_sites **sites)
{
	struct kept *memory;
	int r = kept_open(&memory, fd);

	if (r < 0)
		return r;
	r = stream_sites_resume(sites, memory);
	if (r < 0) {
		kept_free(memory);
		return r;
	}
	return own_sites(out, node, id, memory, *sites);
}

void
kept_sites_ref(struct kept_sites *s)
{
	if (s != NULL)
		s->refs++;
}

void
kept_sites_unref(struct kept_sites *s)
{
	char name[FDSTORE_NAME];

	if (s == NULL || --s->refs > 0)
		return;
	if (s->id != 0) {
		keeper_store_sites(name, s->id);
		fdstore_remove(&s->node->store.fds, name);
	}
	kept_free(s->memory);
	free(s);
}

/* --- the target --------------------------------------------------------- */

static void
keep_sandbox(const struct keeper *k, struct kept_image *i)
{
	atomic_store(&i->locked, k->sandbox.locked);
	atomic_store(&i->looks, k->sandbox.looks);
}

void
keeper_kept_sandbox(struct keeper *k)
{
	if (k->memory.target != NULL)
		keep_sandbox(k, k->memory.target->image);
}

static void
describe(const struct keeper *k, struct kept_image *i)
{
	i->stream = k->stream;
	i->parent = k->image.parent;
	i->arrival = k->image.arrival;
	i->start = k->image.start;
	i->exe_dev = k->image.exe_dev;
	i->exe_ino = k->image.exe_ino;
	i->sample = k->sample;
	i->sandbox = k->sandbox.at_hello;
	i->sandbox_known = k->sandbox.known;
	keep_sandbox(k, i);
	i->max = blklist_counts(k->list)->aRecMax;
	i->ppid = k->image.ppid;
	i->uid = k->image.uid;
	i->forked = k->image.forked;
	i->has_cut = k->image.cut != NULL;
	if (k->image.cut != NULL)
		memcpy(i->cut, k->image.cut, sizeof i->cut);
	memcpy(i->comm, k->image.comm, sizeof i->comm);
	snprintf(i->exe, sizeof i->exe, "%s",
	    k->image.exe != NULL ? k->image.exe : "");
	snprintf(i->cwd, sizeof i->cwd, "%s",
	    k->image.cwd != NULL ? k->image.cwd : "");
	/* Last: with it all this is of somebody. */
	atomic_signal_fence(memory_order_release);
	i->pid = k->image.pid;
}

static int
put_sites(struct keeper *k)
{
	struct kept_sites *s = k->memory.sites;
	char name[FDSTORE_NAME];
	int r;

	keeper_store_sites(name, k->stream);
	r = fdstore_put(&k->node->store.fds, name, kept_fd(s->memory));
	if (r == 0)
		s->id = k->stream;
	return r;
}

/*
 * A store that is full may take some of them: without the memory it is as if
 * there were nothing, and without an area that is said.
 */
static int
put_target(struct keeper *k, const int fds[3])
{
	const int all[] = { fds[0], fds[2], kept_fd(k->memory.target->memory) };
	char name[FDSTORE_NAME];

	keeper_store_name(name, k->stream);
	return fdstore_put_all(&k->node->store.fds, name, all,
	    BASE_NELEM(all));
}

int
keeper_kept_store(struct keeper *k, const int fds[3])
{
	struct keeper_kept *kk = k->memory.target;
	int r;

	if (kk == NULL)
		return 0;
	describe(k, kk->image);
	r = put_sites(k);
	if (r == 0)
		r = put_target(k, fds);
	kk->stored = r == 0;
	/*
	 * Both slots, and the cut: a target waits while one is written again, and
	 * memory that is touched for the first time takes most of that.
	 */
	memset(kk->image->cut, 0, sizeof kk->image->cut);
	keeper_kept_commit(k, true);
	keeper_kept_commit(k, true);
	return r;
}

/*
 * The commit is before the pid, for a process that has one goes on from what
 * is committed; and the feed may begin elsewhere by now.
 */
void
keeper_kept_assign(struct keeper *k)
{
	keeper_kept_commit(k, true);
	if (k->memory.target != NULL)
		describe(k, k->memory.target->image);
}

void
keeper_kept_forget(struct keeper *k)
{
	struct keeper_kept *kk = k->memory.target;

	if (kk == NULL || !kk->stored)
		return;
	kk->stored = false;
	/* A supervisor that is stopped may not hear what follows. */
	atomic_store(&kk->image->is_void, 1);
	keeper_store_drop_memory(k->node, k->stream, kk->generation);
	drop_target(k->node, k->stream);
}

void
keeper_kept_replace(struct keeper *k, struct keeper_kept *kk)
{
	struct keeper_kept *old = k->memory.target;

	describe(k, kk->image);
	kk->stored = old->stored && put_memory(k, kk) == 0;
	kk->to[0] = kk->to[1] = (unsigned)k->threads.n;
	if (old->stored && !kk->stored)
		keeper_kept_forget(k);
	atomic_store(&old->image->is_void, 1);
	k->memory.target = kk;
	if (kk->stored)
		keeper_store_drop_memory(k->node, k->stream, old->generation);
	/* The first one's file stays in the store, but for that not its memory. */
	kept_give_back(old->memory, old->slot);
	keeper_kept_free(old);
}
