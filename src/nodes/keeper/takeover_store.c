/*
 * A target's descriptors are stored by one message and removed by another, for
 * each message wakes the supervisor.  Stacks have a message of their own:
 * systemd stores a file only once, under whatever name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "takeover_memory.h"

#define TARGET FDSTORE_OURS "t.%016" PRIx64
#define SITES FDSTORE_OURS "s.%016" PRIx64

void
takeover_name_target(char name[FDSTORE_NAME], uint64_t stream)
{
	snprintf(name, FDSTORE_NAME, TARGET, stream);
}

void
takeover_name_memory(char name[FDSTORE_NAME], uint64_t stream,
    unsigned generation)
{
	snprintf(name, FDSTORE_NAME, TARGET ".kept.%u", stream, generation);
}

void
takeover_name_sites(char name[FDSTORE_NAME], uint64_t id)
{
	snprintf(name, FDSTORE_NAME, SITES, id);
}

bool
takeover_name_parse(const char *name, uint64_t *stream, unsigned *generation)
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
takeover_name_is_of(const char *name, const char *target)
{
	size_t len = strlen(target);

	return strncmp(name, target, len) == 0 &&
	    (name[len] == '\0' || name[len] == '.');
}

int
takeover_remove_name(struct node *node, uint64_t place)
{
	char name[FDSTORE_NAME];

	takeover_name_target(name, place);
	return fdstore_remove(&node->store.fds, name);
}

void
takeover_drop_memory(struct node *node, uint64_t place,
    unsigned generation)
{
	char name[FDSTORE_NAME];

	if (generation == 1)
		return;
	takeover_name_memory(name, place, generation);
	fdstore_remove(&node->store.fds, name);
}

static int
store_memory(struct keeper *k, const struct takeover_memory *mem)
{
	char name[FDSTORE_NAME];

	takeover_name_memory(name, mem->place, mem->generation);
	return fdstore_put(&k->node->store.fds, name, pmem_fd(mem->pmem));
}

/* Owns stacks and memory, also on failure. */
static int
make_sites(struct takeover_sites **out, struct node *node, uint64_t id,
    struct pmem *pmem, struct stream_sites *sites)
{
	struct takeover_sites *s = calloc(1, sizeof *s);

	if (s == NULL) {
		stream_sites_unref(sites);
		pmem_free(pmem);
		return -ENOMEM;
	}
	*s = (struct takeover_sites){ .node = node, .pmem = pmem, .id = id,
		.refs = 1 };
	*out = s;
	return 0;
}

int
takeover_sites_new(struct takeover_sites **out, struct node *node,
    struct stream_sites **sites)
{
	struct pmem *pmem;
	int r = takeover_sites_again(out, node);

	if (r == 0) {
		r = stream_sites_new_persistent(sites, (*out)->pmem);
		if (r < 0)
			takeover_sites_unref(*out);
		return r;
	}
	r = pmem_new(&pmem, "pagek-sites", node->store.sites_bytes);
	if (r < 0)
		return r;
	r = stream_sites_new_persistent(sites, pmem);
	if (r < 0) {
		pmem_free(pmem);
		return r;
	}
	node->store.sites_bytes = pmem_size(pmem);
	return make_sites(out, node, 0, pmem, *sites);
}

int
takeover_sites_open(struct takeover_sites **out, struct node *node, uint64_t id,
    int fd, struct stream_sites **sites)
{
	struct pmem *pmem;
	int r = pmem_open(&pmem, fd);

	if (r < 0)
		return r;
	r = stream_sites_resume(sites, pmem);
	if (r < 0) {
		pmem_free(pmem);
		return r;
	}
	return make_sites(out, node, id, pmem, *sites);
}

void
takeover_sites_ref(struct takeover_sites *s)
{
	if (s != NULL)
		s->refs++;
}

void
takeover_sites_unref(struct takeover_sites *s)
{
	if (s != NULL && --s->refs == 0 && !takeover_sites_put(s))
		takeover_sites_free(s);
}

void
takeover_sites_free(struct takeover_sites *s)
{
	char name[FDSTORE_NAME];

	if (s->id != 0) {
		takeover_name_sites(name, s->id);
		fdstore_remove(&s->node->store.fds, name);
	}
	pmem_free(s->pmem);
	free(s);
}

static void
write_sandbox(const struct keeper *k, struct takeover_image *i)
{
	atomic_store(&i->locked, k->sandbox.locked);
	atomic_store(&i->looks, k->sandbox.looks);
}

void
takeover_write_sandbox(struct keeper *k)
{
	if (k->takeover.memory != NULL)
		write_sandbox(k, k->takeover.memory->image);
}

static void
write_counted(const struct keeper *k, struct takeover_image *i)
{
	const struct keeper_takeover *t = &k->takeover;

	atomic_store(&i->counted_ms, t->counted_ms != 0 ? t->counted_ms :
	    t->counts_lost_ms);
}

void
takeover_write_counted(struct keeper *k)
{
	if (k->takeover.memory != NULL)
		write_counted(k, k->takeover.memory->image);
}

void
takeover_write_starter(struct keeper *k, pid_t starter)
{
	k->image.starter = starter;
	if (k->takeover.memory != NULL)
		k->takeover.memory->image->image.starter = starter;
}

static void
write_text(char out[PROC_PATH], const char *text)
{
	snprintf(out, PROC_PATH, "%s", text != NULL ? text : "");
}

static void
write_image(const struct keeper *k, struct takeover_image *i)
{
	struct keeper_image image = k->image;

	image.pid = 0;
	i->image = image;
	i->stream = k->stream;
	i->place = k->takeover.memory->place;
	i->sample = k->format.sample;
	i->sandbox = k->sandbox.at_hello;
	i->sandbox_known = k->sandbox.known;
	write_sandbox(k, i);
	write_counted(k, i);
	i->max = blklist_counts(k->list)->aRecMax;
	i->has_cut = k->process.cut != NULL;
	if (k->process.cut != NULL)
		memcpy(i->cut, k->process.cut, sizeof i->cut);
	write_text(i->exe, k->process.exe);
	write_text(i->cwd, k->process.cwd);
	/* Last: the pid says that all this is of a target. */
	atomic_signal_fence(memory_order_release);
	i->image.pid = k->image.pid;
}

static int
store_sites(struct keeper *k)
{
	struct takeover_sites *s = k->takeover.sites;
	char name[FDSTORE_NAME];
	int r;

	/* Reused memory is stored already. */
	if (s->id != 0)
		return 0;
	takeover_name_sites(name, k->stream);
	r = fdstore_put(&k->node->store.fds, name, pmem_fd(s->pmem));
	if (r == 0)
		s->id = k->stream;
	return r;
}

/* A full store may take only some of them; the takeover finds out. */
static int
store_descriptors(struct keeper *k, const int fds[3])
{
	const int all[] = { fds[0], fds[2], pmem_fd(k->takeover.memory->pmem) };
	char name[FDSTORE_NAME];

	takeover_name_target(name, k->takeover.memory->place);
	return fdstore_put_all(&k->node->store.fds, name, all,
	    BASE_NELEM(all));
}

int
takeover_store(struct keeper *k, const int fds[3])
{
	struct takeover_memory *mem = k->takeover.memory;
	int r;

	if (mem == NULL)
		return 0;
	if (mem->place == 0)
		mem->place = k->stream;
	write_image(k, mem->image);
	r = store_sites(k);
	if (mem->again) {
		if (r < 0)
			takeover_forget(k);
		return r;
	}
	if (r == 0)
		r = store_descriptors(k, fds);
	mem->stored = r == 0;
	/*
	 * Touches both slots, and the cut: a target waits while they are written
	 * later, and the first touch of memory takes most of that time.
	 */
	memset(mem->image->cut, 0, sizeof mem->image->cut);
	takeover_commit(k, true);
	takeover_commit(k, true);
	return r;
}

/* Commits before it writes the pid: with a pid, the commit counts. */
void
takeover_assign(struct keeper *k)
{
	takeover_commit(k, true);
	if (k->takeover.memory != NULL)
		write_image(k, k->takeover.memory->image);
}

void
takeover_forget(struct keeper *k)
{
	struct takeover_memory *mem = k->takeover.memory;

	if (mem == NULL || !mem->stored || mem->left)
		return;
	mem->stored = false;
	/* A stopped supervisor may not receive what follows. */
	atomic_store(&mem->image->is_void, 1);
	takeover_drop_memory(k->node, mem->place, mem->generation);
	takeover_remove_name(k->node, mem->place);
}

void
takeover_leave(struct keeper *k)
{
	struct takeover_memory *mem = k->takeover.memory;

	atomic_store(&mem->image->is_void, 1);
	stream_feed_leave(k->feed, &mem->areas);
	k->feed = NULL;
	mem->left = mem->areas.ring != NULL;
	takeover_forget(k);
}

void
takeover_replace(struct keeper *k, struct takeover_memory *mem)
{
	struct takeover_memory *old = k->takeover.memory;

	mem->place = old->place;
	k->takeover.memory = mem;
	write_image(k, mem->image);
	mem->stored = old->stored && store_memory(k, mem) == 0;
	mem->to[0] = mem->to[1] = (unsigned)k->threads.n;
	if (old->stored && !mem->stored) {
		k->takeover.memory = old;
		takeover_forget(k);
		k->takeover.memory = mem;
	}
	atomic_store(&old->image->is_void, 1);
	if (mem->stored)
		takeover_drop_memory(k->node, mem->place, old->generation);
	/* The first one's file stays in the store, its memory need not. */
	pmem_discard_from(old->pmem, old->slot);
	takeover_memory_free(old);
}
