/* See seats.h. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "unwind/syscalls.h"
#include "produce.h"
#include "seats.h"

#define SEATS 512	/* of one slab */
#define SLABS 64	/* threads beyond SEATS * SLABS use the common ring */
#define KEPT 8		/* seats whose caches are */

/* No page is larger: wiped ones and others lie on pages of their own. */
#define PAGE_MAX 65536
#define WIPED ((SEATS * sizeof(struct producer) + PAGE_MAX - 1) / \
	PAGE_MAX * PAGE_MAX)

/* The producers lie WIPED bytes before it. */
struct slab {
	_Atomic uint32_t used;		/* seats behind these nobody ever had */
	struct seat seat[SEATS];
};

static struct slab *_Atomic slabs[SLABS];

static struct slab *
slab_new(void)
{
	size_t len = WIPED + sizeof(struct slab);
	int saved = errno;
	char *at = call_mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at != MAP_FAILED && call_madvise(at, WIPED, MADV_WIPEONFORK) != 0) {
		call_munmap(at, len);
		at = MAP_FAILED;
	}
	errno = saved;
	return at != MAP_FAILED ? (struct slab *)(void *)(at + WIPED) : NULL;
}

static struct slab *
slab_get(unsigned i)
{
	struct slab *s = atomic_load(&slabs[i]), *none = NULL;

	if (s != NULL || (s = slab_new()) == NULL)
		return s;
	if (atomic_compare_exchange_strong(&slabs[i], &none, s))
		return s;
	call_munmap((char *)s - WIPED, WIPED + sizeof(*s));
	return none;
}

static struct producer *
producer_of(struct slab *s, unsigned k)
{
	return (struct producer *)(void *)((char *)s - WIPED) + k;
}

static bool
take(struct seat *s)
{
	uint32_t no = 0;

	return atomic_load_explicit(&s->taken, memory_order_relaxed) == 0 &&
	    atomic_compare_exchange_strong(&s->taken, &no, 1);
}

static void
note_used(struct slab *s, uint32_t n)
{
	uint32_t used = atomic_load(&s->used);

	while (used < n && !atomic_compare_exchange_weak(&s->used, &used, n))
		continue;
}

struct seat *
seat_take(void)
{
	for (unsigned i = 0; i < SLABS; i++) {
		struct slab *s = slab_get(i);

		if (s == NULL)
			return NULL;
		for (unsigned k = 0; k < SEATS; k++) {
			if (!take(&s->seat[k]))
				continue;
			note_used(s, k + 1);
			s->seat[k].producer = producer_of(s, k);
			return &s->seat[k];
		}
	}
	return NULL;
}

static bool
keeps_cache(const struct seat *seat)
{
	const struct slab *s = atomic_load(&slabs[0]);

	return (uintptr_t)seat - (uintptr_t)s->seat < KEPT * sizeof(*seat);
}

/*
 * A mapping of half a MiB, its pages and what a thread must learn of the program's
 * stacks cost more than a short thread itself; many that have ended at once are
 * not to leave that much each.
 */
void
seat_leave(struct seat *s)
{
	if (s->stack != NULL && keeps_cache(s)) {
		stack_cache_hand_on(s->stack);
	} else {
		stack_cache_free(s->stack);
		s->stack = NULL;
	}
	atomic_store(&s->taken, 0);
}

void
seats_forked(const struct seat *mine)
{
	for (unsigned i = 0; i < SLABS; i++) {
		struct slab *s = atomic_load(&slabs[i]);
		uint32_t used;

		if (s == NULL)
			return;
		used = atomic_load(&s->used);
		for (unsigned k = 0; k < used && k < SEATS; k++)
			if (&s->seat[k] != mine)
				atomic_store(&s->seat[k].taken, 0);
	}
}
