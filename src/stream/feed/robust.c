/*
 * The kernel finds the futex of each entry at one distance from the entry.  The
 * entries are private, for a target of another user may read its keeper area.
 * So both lie in rows, a page apart: the entries first, then one page of each
 * area.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../ring.h"
#include "robust.h"

#define ENTRIES 2047	/* the kernel stops there: its list must not be endless */

_Static_assert(RING_LEFT == FUTEX_OWNER_DIED &&
    (RING_ARMED & FUTEX_TID_MASK) > 1 << 22, "no process has RING_ARMED's id");

struct entry {
	struct robust_list link;
	struct entry *before;		/* NULL: the first */
};

static struct {
	pthread_mutex_t lock;
	struct robust_list_head head;
	char *row;			/* NULL: this process is not the owner */
	size_t page;
	unsigned n;			/* pages that were ever used */
	unsigned free[ENTRIES], nfree;	/* of these: not used now */
} robust = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Atomic uint32_t owner;

int
robust_begin(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = ENTRIES * page;
	char *row;
	int err;

	if (robust.row != NULL)
		return 0;
	row = mmap(NULL, 2 * bytes, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (row == MAP_FAILED)
		return -errno;
	robust.head.list.next = &robust.head.list;
	robust.head.futex_offset = (long)(bytes +
	    offsetof(struct keeper_area, armed));
	if (mprotect(row, bytes, PROT_READ | PROT_WRITE) != 0 ||
	    madvise(row, 2 * bytes, MADV_DONTFORK) != 0 ||
	    syscall(SYS_set_robust_list, &robust.head, sizeof robust.head) !=
	    0) {
		err = -errno;
		munmap(row, 2 * bytes);
		return err;
	}
	robust.page = page;
	robust.row = row;
	robust_set_owner((pid_t)syscall(SYS_gettid));
	return 0;
}

void
robust_set_owner(pid_t pid)
{
	atomic_store(&owner, (uint32_t)pid);
}

uint32_t
robust_word(void)
{
	return atomic_load(&owner);
}

/* The process may be killed at any step: the list holds after each store. */
static void
store_link(struct robust_list *at, struct robust_list *next)
{
	__atomic_store_n(&at->next, next, __ATOMIC_SEQ_CST);
}

static void
link_entry(struct entry *e)
{
	struct robust_list *first = robust.head.list.next;

	e->before = NULL;
	store_link(&e->link, first);
	if (first != &robust.head.list)
		((struct entry *)first)->before = e;
	store_link(&robust.head.list, &e->link);
}

static void
unlink_entry(struct entry *e)
{
	struct robust_list *next = e->link.next;

	store_link(e->before != NULL ? &e->before->link : &robust.head.list,
	    next);
	if (next != &robust.head.list)
		((struct entry *)next)->before = e->before;
}

static char *
entry_page(unsigned n)
{
	return robust.row + (n - 1) * robust.page;
}

static char *
area_page(unsigned n)
{
	return entry_page(n) + ENTRIES * robust.page;
}

static unsigned
take_number(void)
{
	if (robust.row == NULL)
		return 0;
	if (robust.nfree > 0)
		return robust.free[--robust.nfree];
	return robust.n < ENTRIES ? ++robust.n : 0;
}

unsigned
robust_add(const struct keeper_area *keeper)
{
	unsigned n;

	pthread_mutex_lock(&robust.lock);
	n = take_number();
	/* Of no bytes: a second mapping, even of a sealed file. */
	if (n != 0 && mremap((void *)(uintptr_t)keeper, 0, robust.page,
	    MREMAP_MAYMOVE | MREMAP_FIXED, area_page(n)) == MAP_FAILED) {
		robust.free[robust.nfree++] = n;
		n = 0;
	}
	if (n != 0) {
		(void)madvise(area_page(n), robust.page, MADV_DONTFORK);
		link_entry((struct entry *)(void *)entry_page(n));
	}
	pthread_mutex_unlock(&robust.lock);
	return n;
}

void
robust_remove(unsigned *n)
{
	if (*n == 0)
		return;
	pthread_mutex_lock(&robust.lock);
	unlink_entry((struct entry *)(void *)entry_page(*n));
	/* Its place stays ours. */
	(void)mmap(area_page(*n), robust.page, PROT_NONE, MAP_PRIVATE |
	    MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	robust.free[robust.nfree++] = *n;
	pthread_mutex_unlock(&robust.lock);
	*n = 0;
}
