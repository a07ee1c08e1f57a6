/*
 * Areas, memory and stacks that are in the store and have no target.  If the node is
 * killed at any instruction, the memory is void or belongs to no target.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "node.h"
#include "takeover_memory.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* for the idle arrays */

static bool
push(void **idle, unsigned *n, void *one)
{
	bool room;

	pthread_mutex_lock(&lock);
	room = *n < TAKEOVER_IDLE;
	if (room)
		idle[(*n)++] = one;
	pthread_mutex_unlock(&lock);
	return room;
}

/* Takes the last one, whose memory is most likely in a cache. */
static void *
pop(void **idle, unsigned *n)
{
	void *one = NULL;

	pthread_mutex_lock(&lock);
	if (*n > 0)
		one = idle[--*n];
	pthread_mutex_unlock(&lock);
	return one;
}

bool
takeover_memory_put(struct takeover_memory *mem)
{
	struct takeover_image *image = mem->image;

	/* Must precede the reset, which clears is_void. */
	atomic_store(&image->committed, 0);
	image->image.pid = 0;
	atomic_signal_fence(memory_order_release);
	if (!pmem_reset(mem->pmem))
		return false;
	*mem = (struct takeover_memory){ .node = mem->node,
		.place = mem->place, .areas = mem->areas, .pmem = mem->pmem,
		.generation = 1, .stored = true, .again = true, .left = true,
		.fresh = true };
	return takeover_memory_begin(mem) == 0 &&
	    push(mem->node->store.idle, &mem->node->store.nidle, mem);
}

int
takeover_memory_again(struct takeover_memory **out, struct node *node)
{
	struct takeover_memory *mem = pop(node->store.idle,
	    &node->store.nidle);

	if (mem == NULL)
		return -ENOENT;
	mem->left = false;
	*out = mem;
	return 0;
}

bool
takeover_has_idle(struct node *node)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = node->store.nidle > 0;
	pthread_mutex_unlock(&lock);
	return any;
}

bool
takeover_sites_put(struct takeover_sites *s)
{
	return s->id != 0 && pmem_reset(s->pmem) &&
	    push(s->node->store.idle_sites, &s->node->store.nidle_sites, s);
}

int
takeover_sites_again(struct takeover_sites **out, struct node *node)
{
	struct takeover_sites *s = pop(node->store.idle_sites,
	    &node->store.nidle_sites);

	if (s == NULL)
		return -ENOENT;
	s->refs = 1;
	*out = s;
	return 0;
}

void
takeover_idle_fini(struct node *node)
{
	struct takeover_memory *mem;
	struct takeover_sites *s;

	while (takeover_memory_again(&mem, node) == 0) {
		takeover_remove_name(node, mem->place);
		takeover_memory_free(mem);
	}
	while (takeover_sites_again(&s, node) == 0)
		takeover_sites_free(s);
}

/* Live targets, viewers and files need descriptors more than idle areas do. */
static bool
are_few(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    (rlim_t)fd >= limit.rlim_cur / 4;
}

void
takeover_give_areas(struct keeper *k, int fds[3])
{
	struct takeover_memory *mem = k->takeover.memory;

	if (mem == NULL || !mem->stored || are_few(fds[0]) || are_few(fds[1]))
		return;
	for (int i = 0; i < 2; i++) {
		mem->areas.fds[i] = fds[i];
		fds[i] = -1;
	}
}

bool
takeover_may_leave(const struct keeper *k)
{
	const struct takeover_memory *mem = k->takeover.memory;

	return mem != NULL && mem->stored && mem->generation == 1 &&
	    mem->areas.fds[0] >= 0;
}

bool
takeover_is_again(const struct keeper *k)
{
	return k->takeover.memory != NULL && k->takeover.memory->again;
}
