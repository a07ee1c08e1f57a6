#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "../produce/produce.h"
#include "../unwind/syscalls.h"
#include "guard.h"

#ifdef GUARD_BUILT

#define STACK (128 * 1024)	/* of the guard's thread */
#define STORAGE (64 * 1024)	/* thread-local, below its thread pointer */
#define THREAD_NAME "pagek-guard"
#define IDLE_MS 100		/* maximum time for which a thread reads the pieces */
#define CLOSING_MS 20		/* of one wait for the guard's thread */
#define END_EPOCHS 15		/* between two scans for threads with dispatch */
#define GRACE_EPOCHS 30		/* time for faults that were raised before a page was opened */
#define LEAVES_EPOCHS 30	/* without all threads armed, until the reason is told */
#define PIECES_PART 20
#define NS_OF_SECOND 1000000000
#define TRACER_EPOCHS 15	/* between two checks for a debugger */

struct guard *guard_now;

static void run_guard(struct guard *);

/* --- making it ------------------------------------------------------------------ */

static struct guard *
get_guard(void)
{
	struct guard *g = guard_now;

	if (g != NULL)
		return g;
	return guard_now = call_map_wiped(sizeof(*g), sizeof(*g));
}

static int
make_file(void)
{
	int fd = (int)syscall(SYS_memfd_create, GUARD_AREA_NAME,
	    MFD_CLOEXEC | MFD_ALLOW_SEALING), high;

	if (fd == -1)
		return -errno;
	/* A high number: programs may use low ones without opening them. */
	high = call_fcntl(fd, F_DUPFD_CLOEXEC, 200);
	if (high != -1) {
		call_close(fd);
		fd = high;
	}
	if (syscall(SYS_ftruncate, fd, sizeof(struct guard_area)) == 0 &&
	    call_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_SEAL) == 0)
		return fd;
	call_close(fd);
	return -ENOMEM;
}

/* A forked child has neither of the two mappings. */
static bool
map_memory(struct guard *g, int fd)
{
	void *area;

	if (g->stack == NULL)
		g->stack = call_map_private(STACK);
	if (g->stack == NULL)
		return false;
	(void)call_madvise(g->stack, STACK, MADV_DONTFORK);
	area = call_mmap(NULL, sizeof(*g->area), PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	if (area == MAP_FAILED)
		return false;
	(void)call_madvise(area, sizeof(*g->area), MADV_DONTFORK);
	(void)call_madvise(area, sizeof(*g->area), MADV_DONTDUMP);
	if (g->area != NULL)
		call_munmap(g->area, sizeof(*g->area));
	g->area = area;
	return true;
}

static bool
any_steps(const struct guard *g)
{
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		if (atomic_load(&g->slot[i].step.n) != 0)
			return true;
	return false;
}

static bool
any_is(const struct guard *g, enum slot_state state)
{
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		if (atomic_load(&g->slot[i].state) == state)
			return true;
	return false;
}

int
guard_make(void)
{
	struct guard *g = get_guard();
	int fd;

	if (g == NULL)
		return -ENOMEM;
	if (atomic_load(&g->helper) != 0 || any_is(g, SLOT_ARMED) || any_steps(g))
		return -EALREADY;
	fd = make_file();
	if (fd < 0)
		return fd;
	if (!map_memory(g, fd)) {
		call_close(fd);
		return -ENOMEM;
	}
	/* This may be a forked child in which no fork handler ran. */
	guard_forked();
	atomic_store(&g->state, 0);
	g->ranges = 0;
	g->unarmed = 0;
	g->threads = 0;
	g->kind = (struct guard_kind){ .needed = GUARD_NEEDED };
	g->steps.n = g->steps.ended_ns = 0;
	atomic_store(&g->steps.lock, 0);
	g->pieces.n = 0;
	g->hull = (struct span){ 0, 0 };
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		atomic_store(&g->slot[i].state, SLOT_FREE);
	atomic_store(&g->measured, 0);
	atomic_store(&g->gone, 0);
	atomic_store(&g->hurry, 0);
	atomic_store(&g->signals, 0);
	atomic_store(&g->all_open.now, 0);
	atomic_store(&g->stale, 1);
	atomic_store(&g->area->version, GUARD_VERSION);
	atomic_store(&g->area->state, GUARD_ARMING);
	return fd;
}

void
guard_begin(void)
{
	const unsigned long flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD |
	    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
	    CLONE_CHILD_CLEARTID;
	struct guard *g = guard_now;
	uintptr_t *storage, *stack;
	long r;

	g->pid = (pid_t)syscall(SYS_getpid);
	g->stream = produce_stream();
	atomic_store(&g->state, GUARD_ARMING);
	/* The thread pointer points to itself; thread-local variables below it are zero. */
	storage = (uintptr_t *)(void *)(g->stack + STACK - 256);
	*storage = (uintptr_t)storage;
	stack = (uintptr_t *)(void *)(g->stack + STACK - 256 - STORAGE) - 4;
	stack[0] = (uintptr_t)run_guard;
	stack[1] = (uintptr_t)g;
	r = guard_spawn(flags, stack, &g->helper, storage);
	if (r < 0) {
		atomic_store(&g->state, 0);
		g->area->detail = (uint32_t)-r;
		g->area->why = GUARD_KERNEL;
		g->area->state = GUARD_ENDED;
	}
}

/* --- for all threads --------------------------------------------------------------- */

void
guard_say(struct guard *g, enum guard_why why, uint32_t detail)
{
	atomic_store(&g->area->detail, detail);
	atomic_store(&g->area->why, why);
}

void
guard_await_closing(struct guard *g)
{
	const struct timespec ts = { .tv_nsec = CLOSING_MS * 1000000 };

	while (atomic_load(&g->closing) != 0)
		(void)CALL(SYS_futex, (long)&g->closing, FUTEX_WAIT_PRIVATE, 1,
		    (long)&ts, 0, 0);
}

void
guard_begin_closing(struct guard *g)
{
	while (atomic_exchange(&g->closing, 1) != 0)
		guard_await_closing(g);
}

void
guard_end_closing(struct guard *g)
{
	atomic_store(&g->closing, 0);
	(void)CALL(SYS_futex, (long)&g->closing, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0,
	    0);
}

void
guard_mark_open(struct guard *g)
{
	if (atomic_exchange(&g->all_open.now, 1) == 0)
		atomic_store(&g->all_open.since_ns, guard_now_ns());
}

long
guard_protect(const struct guard *g, uintptr_t lo, uintptr_t hi, enum access access)
{
	static const int rights[] = {
		[ACCESS_CLOSED] = PROT_NONE,
		[ACCESS_READ] = PROT_READ,
		[ACCESS_STEP] = PROT_READ | PROT_WRITE,
		[ACCESS_OPEN] = PROT_READ | PROT_WRITE,
	};

	if (!has_keys(g))
		return CALL(SYS_mprotect, (long)lo, (long)(hi - lo), rights[access]);
	return CALL(SYS_pkey_mprotect, (long)lo, (long)(hi - lo),
	    PROT_READ | PROT_WRITE, access == ACCESS_CLOSED ? g->kind.closed :
	    access == ACCESS_OPEN ? 0 : g->kind.open);
}

static void
open_part(const struct guard *g, uintptr_t lo, uintptr_t hi)
{
	if (guard_protect(g, lo, hi, ACCESS_OPEN) == 0)
		return;
	/* A part is no longer mapped: open the others page by page. */
	for (; lo < hi; lo += GUARD_PAGE)
		(void)guard_protect(g, lo, lo + GUARD_PAGE, ACCESS_OPEN);
}

void
guard_open(struct guard *g, uintptr_t lo, uintptr_t hi)
{
	const struct pieces *p = &g->pieces;

	if (atomic_load(&g->stale) != 0)
		return;
	for (unsigned i = 0; i < p->n; i++) {
		uintptr_t from = p->at[i].lo > lo ? p->at[i].lo : lo;
		uintptr_t to = p->at[i].hi < hi ? p->at[i].hi : hi;

		if (from < to)
			open_part(g, from, to);
	}
}

static bool
all_are_idle(const struct guard *g, const struct slot *me)
{
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		if (&g->slot[i] != me &&
		    atomic_load(&g->slot[i].state) != SLOT_FREE &&
		    atomic_load(&g->slot[i].busy) != 0)
			return false;
	return atomic_load(&g->other.busy) == 0;
}

void
guard_forget_pieces(struct guard *g, const struct slot *me)
{
	const struct timespec ts = { .tv_nsec = 1000000 };

	atomic_store(&g->stale, 1);
	for (int ms = 0; ms < IDLE_MS && !all_are_idle(g, me); ms++)
		(void)CALL(SYS_nanosleep, (long)&ts, 0);
}

/*
 * Do not call it while closing pages: it waits for that.  Faults wait until all pages are
 * open.  Signals are blocked, so that no handler on this thread waits for the thread.
 */
void
guard_stop(struct guard *g, enum guard_why why, uint32_t detail)
{
	const uint64_t all = ~UINT64_C(0);
	uint64_t mask = 0;
	uint32_t was;
	bool ends;

	(void)CALL(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask,
	    sizeof(mask));
	guard_begin_closing(g);
	was = atomic_load(&g->state);
	ends = was == GUARD_ON || was == GUARD_ARMING;
	if (ends) {
		atomic_store(&g->state, GUARD_ENDED);
		guard_open(g, 0, UINTPTR_MAX);
		guard_say(g, why, detail);
		atomic_store(&g->area->state, GUARD_ENDED);
	}
	guard_end_closing(g);
	if (ends) {
		atomic_fetch_add(&g->wake, 1);
		(void)CALL(SYS_futex, (long)&g->wake, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	}
	(void)CALL(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask));
}

/* --- epochs: the guard's thread ------------------------------------------------------ */

static bool
lives(const struct guard *g)
{
	uint32_t state = atomic_load(&g->state);

	return state == GUARD_ON || state == GUARD_ARMING;
}

static void
sleep_until_woken(struct guard *g)
{
	const struct timespec ts = { .tv_nsec = (long)GUARD_EPOCH_US * 1000 };

	(void)CALL(SYS_futex, (long)&g->wake, FUTEX_WAIT_PRIVATE,
	    (long)atomic_load(&g->wake), (long)&ts, 0, 0);
}

/* The node's request is outside data.  False: it is not valid. */
static bool
read_request(struct guard *g, uint32_t number)
{
	const volatile struct guard_area *a = g->area;
	uint32_t n = a->ranges, columns = a->nodes, next = 0;
	struct span hull = { UINTPTR_MAX, 0 };

	if (n > GUARD_RANGES || columns == 0 || columns > GUARD_NODES)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct guard_range r = { a->range[i].at, a->range[i].pages,
			a->range[i].first };
		uintptr_t end = r.at + (uintptr_t)r.pages * GUARD_PAGE;

		if (r.at % GUARD_PAGE != 0 || r.pages == 0 || r.first != next ||
		    r.pages > GUARD_PAGES - next || end <= r.at)
			return false;
		next += r.pages;
		g->range[i] = r;
		hull.lo = r.at < hull.lo ? r.at : hull.lo;
		hull.hi = end > hull.hi ? end : hull.hi;
	}
	g->ranges = n;
	g->columns = columns;
	g->bank = number % GUARD_BANKS;
	g->hull = n > 0 ? hull : (struct span){ 0, 0 };
	return true;
}

/* The first request says for the guard's life how it counts.  No thread is armed yet. */
static void
choose_kind(struct guard *g)
{
	g->kind.exact = *(const volatile uint32_t *)&g->area->exact != 0;
	if (g->kind.exact) {
		g->kind.needed |= SIGNAL_BIT(SIGTRAP);
		keys_take(g);
	}
	guard_hide_masks(g->kind.needed);
}

/* Opens all pages if the node has a new request; later epochs count by it. */
static void
heed_request(struct guard *g)
{
	uint32_t number = atomic_load(&g->area->number);

	if (number == atomic_load(&g->area->heeded))
		return;
	guard_begin_closing(g);
	if (all_are_idle(g, NULL)) {
		guard_mark_open(g);
		guard_open(g, 0, UINTPTR_MAX);
		if (!read_request(g, number))
			g->ranges = 0;
		if (atomic_load(&g->area->heeded) == 0)
			choose_kind(g);
		for (unsigned i = 0; i < GUARD_PAGES; i++)
			atomic_store(&g->opened[i], 0);
		atomic_store(&g->stale, 1);
		g->pieces_ns = 0;
		atomic_store(&g->area->heeded, number);
	}
	guard_end_closing(g);
}

static uint32_t
depth_of(const struct slot *s)
{
	uint32_t depth = atomic_load(&s->depth);

	return atomic_load(&s->state) != SLOT_ARMED ? 0 :
	    depth < GUARD_DEPTH ? depth : GUARD_DEPTH;
}

static uint32_t
steps_of(const struct slot *s)
{
	uint32_t n = atomic_load(&s->step.n);

	return n < GUARD_STEP ? n : GUARD_STEP;
}

static bool
pins_have(const struct pins *p, uintptr_t at)
{
	for (uint32_t i = 0; i < p->n && i < GUARD_SPANS; i++)
		if (span_meets(&p->span[i], at, at + GUARD_PAGE))
			return true;
	return false;
}

/*
 * Pins are read while pages are being closed.  A pin that changes meanwhile belongs to a
 * call that has ended, or to a thread that waits in guard_await_closing().
 */
static bool
is_pinned(const struct guard *g, uintptr_t at)
{
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		for (uint32_t k = depth_of(&g->slot[i]); k > 0; k--)
			if (pins_have(&g->slot[i].pins[k - 1], at))
				return true;
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		for (uint32_t k = steps_of(&g->slot[i]); k > 0; k--)
			if (g->slot[i].step.page[k - 1].at == at)
				return true;
	return false;
}

static void
close_part(struct guard *g, uintptr_t lo, uintptr_t hi)
{
	uintptr_t from = lo, at;

	for (at = lo; at <= hi; at += GUARD_PAGE) {
		if (at < hi && !is_pinned(g, at))
			continue;
		if (from < at)
			(void)guard_protect(g, from, at, ACCESS_CLOSED);
		from = at + GUARD_PAGE;
	}
}

static bool
all_are_pinned(const struct guard *g)
{
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		for (uint32_t k = depth_of(&g->slot[i]); k > 0; k--)
			if (g->slot[i].pins[k - 1].n == GUARD_PIN_ALL)
				return true;
	return false;
}

void
guard_close_again(struct guard *g, struct slot *me, uintptr_t lo, uintptr_t hi)
{
	uint32_t busy = atomic_exchange(&me->busy, 1);

	guard_begin_closing(g);
	if (guard_counts(g) && !all_are_pinned(g))
		for (unsigned i = 0; i < g->pieces.n; i++) {
			const struct piece *p = &g->pieces.at[i];
			uintptr_t from = p->lo > lo ? p->lo : lo;
			uintptr_t to = p->hi < hi ? p->hi : hi;

			if (from < to)
				close_part(g, from, to);
		}
	guard_end_closing(g);
	atomic_store(&me->busy, busy);
}

/*
 * Reading the mappings of a large program takes long, so no more than one part in
 * PIECES_PART of the time goes to it, and one try a second that was in vain.  All
 * pages are open until then.
 */
static bool
make_pieces(struct guard *g)
{
	uint64_t begun = guard_now_ns(), end;
	bool made;

	if (begun < g->pieces_ns)
		return false;
	made = pieces_make(g);
	end = guard_now_ns();
	g->pieces_ns = end + (end - begun) * (PIECES_PART - 1) +
	    (made ? 0 : NS_OF_SECOND);
	if (made)
		atomic_store(&g->stale, 0);
	return made;
}

/* All pages were open until now. */
static void
count_opened(struct guard *g)
{
	uint64_t ns = guard_now_ns() - atomic_load(&g->all_open.since_ns);

	if (g->kind.exact) {
		atomic_fetch_add(&g->area->gaps, 1);
		atomic_fetch_add(&g->area->gaps_us, ns / 1000);
	} else {
		atomic_fetch_add(&g->area->cut, 1);
	}
}

static void
close_pages(struct guard *g, uint32_t leaves)
{
	uint32_t arming = GUARD_ARMING;

	/* An exact guard's pages are closed, except while they are used. */
	if (g->kind.exact && atomic_load(&g->stale) == 0 && atomic_load(&g->all_open.now) == 0)
		return;
	guard_begin_closing(g);
	if (atomic_load(&g->leaves) != leaves || all_are_pinned(g) ||
	    (atomic_load(&g->stale) != 0 && !all_are_idle(g, NULL)))
		goto out;
	if (atomic_load(&g->stale) != 0 && !make_pieces(g))
		goto out;
	/* From here on, no thread can create another one or set a handler unnoticed. */
	if (!lives(g) || !guard_has_signals(g))
		goto out;
	(void)atomic_compare_exchange_strong(&g->state, &arming, GUARD_ON);
	if (atomic_load(&g->state) != GUARD_ON)
		goto out;
	guard_say(g, GUARD_NOT, 0);
	atomic_store(&g->area->state, GUARD_ON);
	if (atomic_exchange(&g->all_open.now, 0) != 0 &&
	    atomic_load(&g->area->epochs) > 0)
		count_opened(g);
	atomic_fetch_add(&g->epoch, 1);
	atomic_fetch_add(&g->area->epochs, 1);
	for (unsigned i = 0; i < g->pieces.n; i++)
		close_part(g, g->pieces.at[i].lo, g->pieces.at[i].hi);
out:
	guard_end_closing(g);
}

/* Gives this reason if there is no other one. */
static void
tell_leaves(struct guard *g)
{
	if (++g->unarmed < LEAVES_EPOCHS || atomic_load(&g->area->why) != GUARD_NOT)
		return;
	for (unsigned i = 0; i < GUARD_SLOTS; i++)
		if (atomic_load(&g->slot[i].state) == SLOT_LEFT) {
			guard_say(g, GUARD_LEAVES, g->slot[i].tid);
			return;
		}
}

static void
begin_epoch(struct guard *g)
{
	uint32_t leaves = atomic_load(&g->leaves);
	bool alone = g->kind.exact && !has_keys(g);
	int unarmed;
	uint32_t tid;

	if (atomic_load(&g->area->heeded) == 0)
		return;
	unarmed = guard_scan(g, !alone || g->threads == 1);
	if (unarmed < 0) {
		guard_stop(g, GUARD_ASKED, 0);
		return;
	}
	if (alone && g->threads > 1)
		guard_say(g, GUARD_ALONE, g->threads);
	if (unarmed == 0)
		g->unarmed = 0;
	if (unarmed > 0 || (alone && g->threads > 1)) {
		tell_leaves(g);
		/* An unarmed thread may change mappings and handlers. */
		guard_begin_closing(g);
		guard_mark_open(g);
		guard_open(g, 0, UINTPTR_MAX);
		atomic_store(&g->stale, 1);
		guard_end_closing(g);
		return;
	}
	if (atomic_load(&g->stale) != 0) {
		/* The ranges may be newer than a thread's own check. */
		tid = guard_thread_in_ranges(g);
		if (tid != 0)
			guard_stop(g, GUARD_STACK, tid);
		if (tid != 0 || !guard_take_signals(g))
			return;
		guard_hide_masks(g->kind.needed);
	}
	if (lives(g) && g->ranges > 0)
		close_pages(g, leaves);
}

static void
check_tracer(struct guard *g, uint32_t n)
{
	char text[2048];
	const char *at = text;
	uint32_t pid = 0;

	if (n % TRACER_EPOCHS != 0 || guard_read_file("/proc/self/status", text,
	    sizeof(text)) < 0)
		return;
	while (*at != '\0' && strncmp(at, "\nTracerPid:\t", 12) != 0)
		at++;
	if (*at != '\0')
		for (at += 12; *at >= '0' && *at <= '9'; at++)
			pid = pid * 10 + (uint32_t)(*at - '0');
	if (pid != 0)
		guard_stop(g, GUARD_TRACED, pid);
}

/* Stops a guard that the node no longer wants, or whose node has ended. */
static void
check_node(struct guard *g, uint32_t *beat, unsigned *quiet)
{
	uint32_t now = atomic_load(&g->area->beat);

	if (atomic_load(&g->area->wanted) == 0 &&
	    atomic_load(&g->area->number) != 0)
		guard_stop(g, GUARD_ASKED, 0);
	*quiet = now == *beat ? *quiet + 1 : 0;
	*beat = now;
	if (*quiet > GUARD_LEASE || produce_stream() != g->stream)
		guard_stop(g, GUARD_LEFT, 0);
}

/*
 * Waits for faults that were raised before the pages were opened; then threads leave,
 * each at its next call.  If the program's only thread has left, it waits for this one,
 * so there is nothing to wait for.  False: the guard ends at once, and the handlers stay
 * for threads that have not left.
 */
static bool
wait_for_threads(struct guard *g)
{
	const struct timespec ts = { .tv_nsec = (long)GUARD_EPOCH_US * 1000 };
	int others = 2;

	for (unsigned n = 0; n <= GRACE_EPOCHS || any_is(g, SLOT_ARMED) ||
	    any_steps(g); n++) {
		if (n == GRACE_EPOCHS) {
			guard_restore_signal(SIGSEGV);
			guard_restore_signal(SIGURG);
			atomic_store(&g->gone, 1);
		}
		if (n % END_EPOCHS == 0)
			others = guard_scan(g, false);
		if (others < 0 || (others == 1 && !any_is(g, SLOT_ARMED) &&
		    !any_is(g, SLOT_ASKED)))
			return true;
		if (atomic_load(&g->hurry) != 0) {
			atomic_store(&g->gone, 1);
			return false;
		}
		(void)CALL(SYS_nanosleep, (long)&ts, 0);
	}
	return true;
}

static void
run_guard(struct guard *g)
{
	uint32_t beat = 0;
	unsigned quiet = 0;

	/* This thread has a copy of the table of descriptors; the program keeps its own. */
	(void)CALL(SYS_close_range, 0, ~0U, 0);
	(void)CALL(SYS_prctl, PR_SET_NAME, (long)THREAD_NAME);
	for (uint32_t n = 0; lives(g); n++) {
		check_tracer(g, n);
		check_node(g, &beat, &quiet);
		if (!lives(g))
			break;
		heed_request(g);
		begin_epoch(g);
		sleep_until_woken(g);
	}
	if (!wait_for_threads(g))
		return;
	guard_restore_masks();
	guard_restore_signals();
	keys_give_back(g);
	atomic_store(&g->state, 0);
}

#else

int
guard_make(void)
{
	return -EOPNOTSUPP;
}

void
guard_begin(void)
{
}

void
guard_forked(void)
{
}

#endif
