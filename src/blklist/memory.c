/*
 * Mappings, and the thread that makes their pages present before they are used.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/kept.h"
#include "blklist.h"
#include "memory.h"

/* --- making pages present -------------------------------------------------- */

/*
 * The owner of the memory may write to it at the same time: only an atomic
 * operation leaves every byte as it is.  clang makes a load of one that adds 0,
 * which takes no page.
 */
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

/* Makes a piece present; all bytes in it stay as they are. */
static void
populate_now(void *piece, size_t bytes, bool kept)
{
	int had = errno;

	if (kept)
		kept_populate(piece, bytes);
	/* Before Linux 5.14.  Without memory, the pages come when they are used. */
	else if (madvise(piece, bytes, MADV_POPULATE_WRITE) != 0 &&
	    errno == EINVAL)
		populate_touch(piece, bytes);
	errno = had;
}

#define PIECES 16		/* asked for and not there yet, at most */

struct piece {
	char *at;		/* NULL: none */
	size_t bytes;
	bool kept;
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
		populate_now(presence.busy.at, presence.busy.bytes, presence.busy.kept);
		pthread_mutex_lock(&presence.lock);
		presence.busy = (struct piece){ 0 };
		pthread_cond_broadcast(&presence.done);
	}
	return NULL;
}

/* A child has only the thread that forked. */
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
ask_thread(void *piece, size_t bytes, bool kept)
{
	bool taken;

	pthread_mutex_lock(&presence.lock);
	if (presence.thread == THREAD_NONE)
		presence.thread = start_thread() ? THREAD_RUNS : THREAD_REFUSED;
	taken = presence.thread == THREAD_RUNS && presence.n < PIECES;
	if (taken) {
		presence.wanted[presence.n++] = (struct piece){ piece, bytes, kept };
		pthread_cond_signal(&presence.asked);
	}
	pthread_mutex_unlock(&presence.lock);
	return taken;
}

void
populate_ask(void *piece, size_t bytes, bool kept)
{
	if (!threaded || !ask_thread(piece, bytes, kept))
		populate_now(piece, bytes, kept);
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
blklist_begin_beside(void)
{
	threaded = true;
}

/* --- mappings -------------------------------------------------------------- */

/*
 * Pages that are not huge are taken a sixteenth of the table at a time, and at
 * most READY_MAX bytes.  In tables from READY_THREAD bytes on the thread takes
 * them, which may need milliseconds: it is asked while a part is left, half a
 * megabyte at most.
 */
#define READY_PART 16
#define READY_MAX (UINT32_C(256) << 10)
#define READY_THREAD LIST_HUGE
#define READY_EARLY_PART 64
#define READY_EARLY_MAX (UINT32_C(512) << 10)

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

/* Bytes to take next: a part of the table, or the rest of a huge page. */
static size_t
ready_more(size_t bytes, size_t huge, size_t ready)
{
	size_t more;

	if (ready >= huge) {
		more = LIST_HUGE - (ready & (LIST_HUGE - 1));
	} else {
		more = ready / READY_PART;
		if (more > READY_MAX)
			more = READY_MAX;
		more = zeros_pages(more);
	}
	return more < bytes - ready ? more : bytes - ready;
}

/* Small pieces take no time; large ones are left to the thread. */
static size_t
make_ready(void *p, size_t bytes, size_t huge, size_t ready, bool kept)
{
	size_t more;

	ready = zeros_pages(ready);
	more = ready_more(zeros_pages(bytes), huge, ready);
	if (more == 0)
		return ready;
	(ready < READY_THREAD ? populate_now : populate_ask)((char *)p + ready, more,
	    kept);
	return ready + more;
}

size_t
list_make_ready(void *p, size_t bytes, size_t huge, size_t ready)
{
	return make_ready(p, bytes, huge, ready, false);
}

size_t
list_make_ready_kept(void *piece, size_t bytes, size_t huge, size_t ready)
{
	return make_ready(piece, bytes, huge, ready, true);
}

uint64_t
list_ready_early(size_t ready)
{
	size_t early = ready / READY_EARLY_PART;

	return early < READY_EARLY_MAX ? early : READY_EARLY_MAX;
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

/* Locked memory cannot be given back, and must read as zeros all the same. */
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
