#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/pmem.h"
#include "blklist.h"
#include "memory.h"

/* Atomic, as the owner may write; adding 0 would be a load with clang. */
void
populate_touch(void *piece, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *p = piece, zero;

	for (size_t at = 0; at < bytes; at += page) {
		zero = 0;
		(void)__atomic_compare_exchange_n(p + at, &zero, 0, false,
		    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

/* Makes a piece present; all bytes in it stay unchanged. */
static void
populate_now(void *piece, size_t bytes, bool persistent)
{
	int had = errno;

	if (persistent)
		pmem_populate(piece, bytes);
	/* Before Linux 5.14. */
	else if (madvise(piece, bytes, MADV_POPULATE_WRITE) != 0 &&
	    errno == EINVAL)
		populate_touch(piece, bytes);
	errno = had;
}

#define PIECES 16		/* requests that wait, at most */

struct piece {
	char *at;		/* NULL: none */
	size_t bytes;
	bool persistent;
};

enum thread_state {
	THREAD_NONE,
	THREAD_RUNS,
	THREAD_REFUSED,
};

static bool threaded;		/* the thread may be started */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	enum thread_state thread;
	struct piece wanted[PIECES];	/* the oldest first */
	unsigned n;
	struct piece busy;		/* the thread makes it present */
} presence = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.asked = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static void *
run_thread(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&presence.lock);
	for (;;) {
		while (presence.n == 0)
			pthread_cond_wait(&presence.asked, &presence.lock);
		presence.busy = presence.wanted[0];
		presence.n--;
		for (unsigned i = 0; i < presence.n; i++)
			presence.wanted[i] = presence.wanted[i + 1];
		pthread_mutex_unlock(&presence.lock);
		populate_now(presence.busy.at, presence.busy.bytes, presence.busy.persistent);
		pthread_mutex_lock(&presence.lock);
		presence.busy = (struct piece){ 0 };
		pthread_cond_broadcast(&presence.done);
	}
	return NULL;
}

/* In a forked child, which has no such thread. */
static void
reset_child(void)
{
	pthread_mutex_init(&presence.lock, NULL);
	pthread_cond_init(&presence.asked, NULL);
	pthread_cond_init(&presence.done, NULL);
	presence.thread = THREAD_NONE;
	presence.n = 0;
	presence.busy = (struct piece){ 0 };
}

static void
watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, reset_child);
}

static bool
start_thread(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	return base_thread_start(run_thread, NULL) == 0;
}

static bool
ask_thread(void *piece, size_t bytes, bool persistent)
{
	bool taken;

	pthread_mutex_lock(&presence.lock);
	if (presence.thread == THREAD_NONE)
		presence.thread = start_thread() ? THREAD_RUNS : THREAD_REFUSED;
	taken = presence.thread == THREAD_RUNS && presence.n < PIECES;
	if (taken) {
		presence.wanted[presence.n++] = (struct piece){ piece, bytes, persistent };
		pthread_cond_signal(&presence.asked);
	}
	pthread_mutex_unlock(&presence.lock);
	return taken;
}

void
populate_ask(void *piece, size_t bytes, bool persistent)
{
	if (!threaded || !ask_thread(piece, bytes, persistent))
		populate_now(piece, bytes, persistent);
}

static bool
lies_in(const struct piece *piece, const char *p, size_t bytes)
{
	return piece->at != NULL && piece->at < p + bytes &&
	    p < piece->at + piece->bytes;
}

void
populate_cancel(void *p, size_t bytes)
{
	unsigned n = 0;

	if (!threaded)
		return;
	pthread_mutex_lock(&presence.lock);
	for (unsigned i = 0; i < presence.n; i++)
		if (!lies_in(&presence.wanted[i], p, bytes))
			presence.wanted[n++] = presence.wanted[i];
	presence.n = n;
	while (lies_in(&presence.busy, p, bytes))
		pthread_cond_wait(&presence.done, &presence.lock);
	pthread_mutex_unlock(&presence.lock);
}

void
populate_wait(void)
{
	pthread_mutex_lock(&presence.lock);
	while (presence.n > 0 || presence.busy.at != NULL)
		pthread_cond_wait(&presence.done, &presence.lock);
	pthread_mutex_unlock(&presence.lock);
}

void
blklist_start_prefault_thread(void)
{
	threaded = true;
}

/*
 * Small pages are taken a sixteenth of the table at a time, PREFAULT_MAX bytes
 * at most.  In tables from PREFAULT_THREAD bytes on the thread takes them,
 * which may need milliseconds: hence the margin.
 */
#define PREFAULT_PART 16
#define PREFAULT_MAX (UINT32_C(256) << 10)
#define PREFAULT_THREAD LIST_HUGE
#define PREFAULT_MARGIN_PART 64
#define PREFAULT_MARGIN_MAX (UINT32_C(512) << 10)

void *
list_map(size_t bytes)
{
	return zeros_map(bytes, ZEROS_SMALL);
}

void *
list_map_huge(size_t bytes, size_t huge)
{
	return zeros_map(bytes, huge);
}

static size_t
prefault_more(size_t bytes, size_t huge, size_t present)
{
	size_t more;

	if (present >= huge) {
		more = LIST_HUGE - (present & (LIST_HUGE - 1));
	} else {
		more = present / PREFAULT_PART;
		if (more > PREFAULT_MAX)
			more = PREFAULT_MAX;
		more = zeros_pages(more);
	}
	return more < bytes - present ? more : bytes - present;
}

size_t
list_prefault(void *p, size_t bytes, size_t huge, size_t present,
    bool persistent)
{
	size_t more;

	present = zeros_pages(present);
	more = prefault_more(zeros_pages(bytes), huge, present);
	if (more == 0)
		return present;
	/* Large pieces are left to the thread. */
	(present < PREFAULT_THREAD ? populate_now : populate_ask)(
	    (char *)p + present, more, persistent);
	return present + more;
}

uint64_t
list_prefault_margin(size_t present)
{
	size_t early = present / PREFAULT_MARGIN_PART;

	return early < PREFAULT_MARGIN_MAX ? early : PREFAULT_MARGIN_MAX;
}

void
list_unmap_huge(void *p, size_t bytes, size_t huge)
{
	if (p != NULL)
		populate_cancel(p, bytes);
	zeros_unmap(p, bytes, huge);
}

void
list_unmap(void *p, size_t bytes)
{
	list_unmap_huge(p, bytes, ZEROS_SMALL);
}

/* Locked memory cannot be given back, but must read as zeros. */
void
list_zero(void *p, size_t bytes)
{
	populate_cancel(p, bytes);
	if (madvise(p, bytes, MADV_DONTNEED) != 0)
		memset(p, 0, bytes);
}

void
list_release(void *from, void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t end = (uintptr_t)to & ~(page - 1);
	size_t head = -(uintptr_t)from & (page - 1);
	char *begin = (char *)from + head;

	if ((uintptr_t)begin < end)
		list_zero(begin, end - (uintptr_t)begin);
}
