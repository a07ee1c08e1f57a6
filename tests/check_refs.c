/*
 * refs: which pages a process references, beside the process's own knowledge of
 * what it does.  The target is a process with the library's producer; its keeper is
 * the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/alloclog/produce/keeper_watch.h"
#include "../src/refcnt/refs.h"
#include "../src/stream/feed/reader.h"
#include "feed_rig.h"

#define NELEM BASE_NELEM

#define PAGES 2000
#define MOST 8192	/* that a test may count */
#define EPOCHS 5
#define HOT 16

enum how {
	HOW_LOAD,
	HOW_STORE,
	HOW_SYSTEM_CALL,	/* read(2) into the page */
	HOW_UNMAP,
	HOWS,
};

/* Between target and test. */
struct shared {
	_Atomic uint32_t asked, done;	/* rounds */
	_Atomic bool idle;		/* the target logs no event */
	_Atomic bool rests;		/* ... and has done so once since then */
	_Atomic bool hot;		/* it reads HOT pages all the time */
	_Atomic bool executes;		/* it executes another program */
	_Atomic uint32_t given;		/* descriptors */
	uint8_t how[MOST];		/* HOWS: not at all */
	char *memory;
};

static struct shared *shared;
static struct stream_feed *feed;
static struct refs *refs;
static struct refcnt *counted;
static pid_t target;
static uint8_t seen[MOST];		/* 1 touched, 2 coarsely */
static int64_t ahead_ms;		/* the keeper's clock before ours */
static unsigned late_page, late_in;	/* it is touched at so many requests from now; 0: never */

/* --- the target ----------------------------------------------------------------- */

static void
touch(unsigned page, enum how how, int fd)
{
	volatile char *at = shared->memory + (size_t)page * REFCNT_PAGE;

	switch (how) {
	case HOW_LOAD:
		(void)at[7];
		break;
	case HOW_STORE:
		at[9] = 1;
		break;
	case HOW_SYSTEM_CALL:
		if (pread(fd, shared->memory + (size_t)page * REFCNT_PAGE + 100,
			10, 0) != 10)
			_exit(2);
		break;
	case HOW_UNMAP:
		munmap(shared->memory + (size_t)page * REFCNT_PAGE, REFCNT_PAGE);
		break;
	case HOWS:
		break;
	}
}

/*
 * A processor that remembers a page's address does not mark it as referenced again:
 * so many other pages take their places.
 */
static void
forget_addresses(void)
{
	static const volatile char *others;
	size_t bytes = 8192 * REFCNT_PAGE;

	if (others == NULL) {
		void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE |
		    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (at == MAP_FAILED)
			_exit(3);
		madvise(at, bytes, MADV_NOHUGEPAGE);
		others = at;
	}
	for (size_t i = 0; i < bytes; i += REFCNT_PAGE)
		(void)others[i];
}

static void
give(uint32_t what)
{
	if (what == RING_CUT_GUARD)
		shared->given++;
}

static void
run_target(const int fds[2])
{
	static struct producer p;
	int file = open("/bin/sh", O_RDONLY);
	unsigned n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	produce_attach(rig_map(NULL, RING_ALIGN(ring_area_size()),
	    PROT_READ | PROT_WRITE, fds[0]), rig_map(NULL,
	    RING_ALIGN(sizeof(struct keeper_area)), PROT_READ, fds[1]), 1);
	produce_open(&p, (uint32_t)gettid());
	keeper_watch_give = give;
	for (;;) {
		uint32_t round = atomic_load(&shared->asked);

		if (round != atomic_load(&shared->done)) {
			forget_addresses();
			for (unsigned i = 0; i < MOST; i++)
				touch(i, shared->how[i], file);
			atomic_store(&shared->done, round);
		}
		if (atomic_load(&shared->executes))
			execl("/bin/sleep", "sleep", "1000", NULL);
		for (unsigned i = 0; atomic_load(&shared->hot) && i < HOT; i++)
			touch(i, HOW_LOAD, file);
		if (atomic_load(&shared->idle)) {
			atomic_store(&shared->rests, true);
			sched_yield();
		} else
			produce_alloc(&p, rig_addr(n++ % RIG_SLOTS), 16, 0,
			    TYPE_MALLOC, 0, 0);
	}
}

/* --- its keeper ----------------------------------------------------------------- */

static void
no_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	(void)arg;
	(void)r;
	(void)n;
	(void)near_ms;
}

static void
no_control(void *arg, const struct rec *r, int64_t near_ms)
{
	no_records(arg, r, 1, near_ms);
}

static void
no_loss(void *arg, unsigned cause, uint64_t count)
{
	(void)arg;
	(void)cause;
	(void)count;
}

static const struct stream_sink no_sink = { no_records, no_control, no_loss };

static void
pass(void)
{
	ck_assert_int_ge(stream_feed_pass(feed, mono_ms(mono_now()) + ahead_ms,
	    UINT64_MAX), 0);
}

static void
touch_all(void)
{
	uint32_t round = atomic_load(&shared->asked) + 1;

	atomic_store(&shared->asked, round);
	while (atomic_load(&shared->done) != round)
		pass();
}

static int
ask(void *arg, const struct ring_cut *cut, size_t n)
{
	int64_t until = mono_ms(mono_now()) + (atomic_load(&shared->idle) ? 50 :
	    10000);
	int err = stream_feed_cut(feed, cut, n);

	(void)arg;
	while (err == 0 && !stream_feed_cut_done(feed)) {
		pass();
		if (mono_ms(mono_now()) > until)
			return -ETIMEDOUT;
	}
	if (err == 0 && late_in > 0 && --late_in == 0) {
		shared->how[late_page] = HOW_LOAD;
		touch_all();
	}
	return err;
}

static void *
map_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

static void
start(void)
{
	int fds[2];

	shared = map_shared(sizeof *shared);
	shared->memory = mmap(NULL, (MOST + 2) * REFCNT_PAGE,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared->memory, MAP_FAILED);
	/* Neighbours that it does not merge with. */
	ck_assert_int_eq(mprotect(shared->memory, REFCNT_PAGE, PROT_NONE), 0);
	shared->memory += REFCNT_PAGE;
	ck_assert_int_eq(mprotect(shared->memory + MOST * REFCNT_PAGE,
	    REFCNT_PAGE, PROT_NONE), 0);
	madvise(shared->memory, MOST * REFCNT_PAGE, MADV_NOHUGEPAGE);
	ck_assert_int_eq(stream_feed_new(&feed, fds, false, &no_sink, NULL), 0);
	stream_feed_sandbox(feed, RING_SANDBOX_FREE, 1);
	pass();
	memset(shared->how, HOWS, sizeof shared->how);
	memset(shared->how, HOW_STORE, PAGES);
	target = fork();
	ck_assert_int_ne(target, -1);
	if (target == 0)
		run_target(fds);
	close(fds[0]);
	close(fds[1]);
	touch_all();
	ck_assert_int_eq(refs_open(&refs, target, ask, NULL), 0);
	ck_assert_int_eq(refcnt_new(&counted, 1, REFCNT_STANDARD), 0);
}

static void
stop(void)
{
	refs_close(refs);
	refcnt_free(counted);
	kill(target, SIGKILL);
	ck_assert_int_eq(waitpid(target, NULL, 0), target);
	stream_feed_free(feed);
}

/* --- epochs --------------------------------------------------------------------- */

static uint64_t
page_addr(size_t i)
{
	return (uintptr_t)shared->memory + i * REFCNT_PAGE;
}

static void
count(size_t from, size_t n)
{
	ck_assert_int_eq(refcnt_enable(counted, page_addr(from), n * REFCNT_PAGE,
	    REFCNT_REFS, 0), 0);
}

static void
note(void *arg, uint64_t vaddr, bool coarse)
{
	size_t i = (vaddr - page_addr(0)) / REFCNT_PAGE;

	(void)arg;
	ck_assert_uint_lt(i, MOST);
	ck_assert_uint_eq(seen[i], 0);
	ck_assert(refcnt_counts(counted, vaddr));
	seen[i] = coarse ? 2 : 1;
}

static void
epoch(void)
{
	memset(seen, 0, sizeof seen);
	ck_assert_int_eq(refs_begin(refs), 0);
	touch_all();
	ck_assert_int_eq(refs_end(refs, counted, note, NULL), 0);
}

/* Pages that are seen though they were not touched, and the other way round. */
static void
compare(size_t from, size_t n)
{
	for (size_t i = 0; i < MOST; i++) {
		bool counts = i >= from && i < from + n;

		ck_assert_msg(seen[i] == (counts && shared->how[i] < HOW_UNMAP),
		    "page %zu: %d", i, seen[i]);
	}
}

static size_t
count_mappings(bool advised)
{
	struct mappings all = { 0 };
	char path[32];
	size_t n = 0;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/smaps", (int)target);
	fd = open(path, O_RDONLY);
	ck_assert_int_eq(mappings_read(fd, &all), 0);
	close(fd);
	for (size_t i = 0; i < all.n; i++)
		n += !advised || all.at[i].advice != RING_NORMAL;
	free(all.at);
	return n;
}

CASE("refs", .setup = start, .teardown = stop, .seconds = 120,
    .tags = TAG_KERNEL);

TEST(two_thousand_pages_and_five_epochs_without_an_error)
{
	size_t kept = 0;

	count(0, PAGES);
	for (unsigned e = 0; e < EPOCHS; e++) {
		struct refs_sums sums;

		for (unsigned i = 0; i < PAGES; i++)
			shared->how[i] = i % 7 != e ? HOWS :
			    (uint8_t)(i % HOW_UNMAP);
		epoch();
		compare(0, PAGES);
		refs_sums(refs, &sums);
		ck_assert_uint_eq(sums.coarse, 0);
		ck_assert_uint_eq(sums.unanswered, 0);
		ck_assert_uint_ge(sums.cuts, kept);
		kept = sums.cuts;
	}
	ck_assert_uint_gt(kept, PAGES / 2);
}

TEST(pages_that_a_processor_holds_are_seen)
{
	count(0, HOT);
	atomic_store(&shared->hot, true);
	memset(shared->how, HOWS, sizeof shared->how);
	memset(shared->how, HOW_LOAD, HOT);
	for (unsigned e = 0; e < 50; e++) {
		epoch();
		compare(0, HOT);
	}
}

/* Which pages are touched, by a seed. */
static void
choose(uint64_t *seed)
{
	uint64_t n = *seed = *seed * UINT64_C(6364136223846793005) + 1;
	unsigned one_in = 1u << (n >> 60) % 11;

	for (unsigned i = 0; i < PAGES; i++) {
		*seed = *seed * UINT64_C(6364136223846793005) + 1;
		shared->how[i] = (*seed >> 33) % one_in != 0 ? HOWS :
		    (uint8_t)((*seed >> 50) % HOW_UNMAP);
	}
}

TEST(any_pattern_in_any_range)
{
	uint64_t seed = check_seed(4711);

	for (unsigned e = 0; e < 12; e++) {
		size_t from = (seed >> 40) % PAGES, n = 1 + (seed >> 20) %
		    (PAGES - from);

		(void)refcnt_disable(counted, page_addr(0), PAGES * REFCNT_PAGE);
		count(from, n);
		choose(&seed);
		epoch();
		compare(from, n);
	}
}

/* Each reading takes as long as the mappings are many, and their pages. */
TEST(many_cuts_follow_one_reading_of_the_mappings)
{
	struct refs_sums sums;

	memset(shared->how, HOW_STORE, sizeof shared->how);
	touch_all();
	count(0, MOST);
	for (unsigned i = 0; i < MOST; i++)
		shared->how[i] = i % 16 == 5 ? HOW_LOAD : HOWS;
	epoch();
	compare(0, MOST);
	refs_sums(refs, &sums);
	ck_assert_uint_eq(sums.coarse, 0);
	ck_assert_uint_le(sums.reads, 6);
}

/* It lies in a mapping that was read already, as without any reference. */
TEST(a_page_that_is_referenced_while_an_epoch_is_read_belongs_to_it)
{
	count(0, PAGES);
	memset(shared->how, HOWS, sizeof shared->how);
	shared->how[5] = HOW_LOAD;
	late_page = 3 * PAGES / 4;
	late_in = 3;
	epoch();
	ck_assert_uint_eq(late_in, 0);
	compare(0, PAGES);
}

TEST(cuts_are_undone_in_the_end)
{
	size_t before = count_mappings(false);

	count(0, PAGES);
	for (unsigned i = 0; i < PAGES; i++)
		shared->how[i] = i % 2 == 0 ? HOW_LOAD : HOWS;
	epoch();
	compare(0, PAGES);
	ck_assert_uint_ge(count_mappings(false), before + PAGES - 1);
	refs_close(refs);
	refs = NULL;
	ck_assert_uint_eq(count_mappings(true), 0);
	ck_assert_uint_eq(count_mappings(false), before);
}

TEST(an_idle_target_is_counted_coarsely)
{
	struct refs_sums sums;

	count(0, PAGES);
	atomic_store(&shared->idle, true);
	for (unsigned i = 0; i < PAGES; i++)
		shared->how[i] = i == 5 ? HOW_LOAD : HOWS;
	ck_assert_int_eq(refs_begin(refs), 0);
	touch_all();
	for (unsigned i = 0; i < REFS_TRIES; i++)
		ck_assert_int_eq(refs_end(refs, counted, note, NULL), -EAGAIN);
	for (unsigned i = 0; i < PAGES; i++)
		ck_assert_int_eq(seen[i], 0);
	ck_assert_int_eq(refs_end(refs, counted, note, NULL), 0);
	for (unsigned i = 0; i < PAGES; i++)
		ck_assert_int_eq(seen[i], 2);
	refs_sums(refs, &sums);
	ck_assert_uint_eq(sums.coarse, PAGES);
	ck_assert_uint_ge(sums.unanswered, 1 + REFS_TRIES);
	/* It works again, and the request from before is too old. */
	usleep(RING_CUTS_MS * 1000 + 100000);
	atomic_store(&shared->idle, false);
	while (!stream_feed_cut_done(feed))
		pass();
	ck_assert_uint_eq(count_mappings(true), 0);
	epoch();
	compare(0, PAGES);
}

TEST(an_epoch_lasts_until_the_target_answers)
{
	count(0, PAGES);
	for (unsigned i = 0; i < PAGES; i++)
		shared->how[i] = i % 3 == 1 ? HOW_LOAD : HOWS;
	ck_assert_int_eq(refs_begin(refs), 0);
	touch_all();
	atomic_store(&shared->idle, true);
	ck_assert_int_eq(refs_end(refs, counted, note, NULL), -EAGAIN);
	memset(seen, 0, sizeof seen);
	atomic_store(&shared->idle, false);
	while (!stream_feed_cut_done(feed))
		pass();
	ck_assert_int_eq(refs_end(refs, counted, note, NULL), 0);
	compare(0, PAGES);
}

TEST(an_idle_target_that_touches_nothing_or_all_is_exact)
{
	count(0, PAGES);
	atomic_store(&shared->idle, true);
	memset(shared->how, HOWS, sizeof shared->how);
	epoch();
	compare(0, PAGES);
	memset(shared->how, HOW_LOAD, sizeof shared->how);
	memset(seen, 0, sizeof seen);
	ck_assert_int_eq(refs_begin(refs), 0);
	touch_all();
	ck_assert_int_eq(refs_end(refs, counted, note, NULL), 0);
	compare(0, PAGES);
}

TEST(pages_that_are_unmapped_meanwhile_are_untouched)
{
	count(0, PAGES);
	for (unsigned i = 0; i < PAGES; i++)
		shared->how[i] = i % 3 == 0 ? HOW_LOAD : HOWS;
	epoch();
	compare(0, PAGES);
	for (unsigned i = 0; i < PAGES; i++)
		shared->how[i] = i % 100 < 50 ? HOW_UNMAP : HOWS;
	touch_all();
	for (unsigned i = 0; i < PAGES; i++)
		shared->how[i] = i % 100 < 50 || i % 5 != 0 ? HOWS : HOW_STORE;
	epoch();
	compare(0, PAGES);
}

TEST(an_ended_process_is_said)
{
	count(0, PAGES);
	kill(target, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)target, &(siginfo_t){ 0 },
	    WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(refs_end(refs, counted, note, NULL), -ESRCH);
}

/* Nobody asks it again. */
TEST(a_target_that_was_idle_for_long_still_undoes_its_cuts)
{
	count(0, PAGES);
	for (unsigned i = 0; i < PAGES; i++)
		shared->how[i] = i % 3 == 1 ? HOW_LOAD : HOWS;
	epoch();
	ck_assert_uint_gt(count_mappings(true), PAGES / 4);
	atomic_store(&shared->idle, true);
	/* It may wait for room in its ring. */
	while (!atomic_load(&shared->rests))
		pass();
	refs_close(refs);
	refs = NULL;
	ck_assert(!stream_feed_cut_done(feed));
	ahead_ms = 10 * RING_CUTS_MS;
	pass();
	atomic_store(&shared->idle, false);
	while (!stream_feed_cut_done(feed))
		pass();
	ck_assert_uint_eq(count_mappings(true), 0);
}

static const struct ring_cut for_guard = { .stripe = RING_CUT_GUARD };

/* The target logs nothing from now on. */
static void
rest(void)
{
	atomic_store(&shared->idle, true);
	while (!atomic_load(&shared->rests))
		pass();
}

static void
work_until_answered(void)
{
	atomic_store(&shared->idle, false);
	while (!stream_feed_cut_done(feed))
		pass();
}

TEST(a_request_for_a_descriptor_waits_as_long_as_it_is_asked_for)
{
	rest();
	ck_assert_int_eq(stream_feed_cut(feed, &for_guard, 1), 0);
	while (ahead_ms < 10 * RING_CUTS_MS) {
		ahead_ms += RING_CUTS_MS / 2;
		pass();
		ck_assert_int_eq(stream_feed_cut(feed, &for_guard, 1), -EBUSY);
	}
	work_until_answered();
	ck_assert_uint_eq(shared->given, 1);
}

TEST(a_request_that_nobody_asks_for_any_more_gives_no_descriptor)
{
	const struct ring_cut other = { .stripe = RING_CUT_WRITES };

	rest();
	ck_assert_int_eq(stream_feed_cut(feed, &for_guard, 1), 0);
	ahead_ms = 2 * RING_CUTS_MS;
	pass();
	ck_assert_int_eq(stream_feed_cut(feed, &other, 1), -EBUSY);
	work_until_answered();
	ck_assert_uint_eq(shared->given, 0);
}

TEST(a_keeper_that_has_gone_gets_no_descriptor)
{
	struct keeper_area *keeper = ((struct reader *)feed)->keeper;

	rest();
	ck_assert_int_eq(stream_feed_cut(feed, &for_guard, 1), 0);
	atomic_store(&keeper->state, RING_KEEPER_GONE);
	atomic_store(&shared->idle, false);
	while (!stream_feed_cut_done(feed))
		sched_yield();
	ck_assert_uint_eq(shared->given, 0);
}

/* Pages may be another mapping's by then. */
TEST(a_request_for_cuts_does_not_wait)
{
	const struct ring_cut cut = { .at = page_addr(0), .pages = PAGES,
		.stripe = 1 };
	size_t before = count_mappings(false);

	rest();
	ck_assert_int_eq(stream_feed_cut(feed, &cut, 1), 0);
	ahead_ms = 2 * RING_CUTS_MS;
	pass();
	ck_assert_int_eq(stream_feed_cut(feed, &cut, 1), -EBUSY);
	work_until_answered();
	ck_assert_uint_eq(count_mappings(false), before);
}

/* A keeper that is wrong writes it while the target reads it. */
TEST(a_request_that_changes_meanwhile_ends_no_target)
{
	struct ring_cuts *cuts = &((struct reader *)feed)->keeper->cuts;
	volatile uint32_t *stripe = &cuts->cut[0].stripe;
	struct ring_cut cut = { .at = page_addr(0), .pages = PAGES, .stripe = 1 };

	for (unsigned i = 0; i < 200; i++) {
		ck_assert_int_eq(stream_feed_cut(feed, &cut, 1), 0);
		while (!stream_feed_cut_done(feed)) {
			for (unsigned k = 0; k < 1000; k++)
				*stripe = k & 1;
			ck_assert_int_eq(waitpid(target, NULL, WNOHANG), 0);
			pass();
		}
	}
}

static bool
has_executed(void)
{
	char path[32], exe[64] = "", own[64] = "";

	snprintf(path, sizeof path, "/proc/%d/exe", (int)target);
	return readlink(path, exe, sizeof exe - 1) > 0 &&
	    readlink("/proc/self/exe", own, sizeof own - 1) > 0 &&
	    strcmp(exe, own) != 0;
}

/* The next image's pages are others, at the same addresses perhaps. */
TEST(the_next_image_of_a_process_is_not_counted)
{
	count(0, PAGES);
	ck_assert_int_eq(refs_begin(refs), 0);
	atomic_store(&shared->executes, true);
	while (!has_executed())
		pass();
	ck_assert_int_eq(refs_end(refs, counted, note, NULL), -ESRCH);
}

/* --- mappings as text ------------------------------------------------------------- */

struct text {
	const char *text;
	size_t n;			/* mappings */
	struct mapping last;
	int err;
};

static const struct text texts[] = {
	{ "", 0, { 0 }, 0 },
	{ "1000-3000 rw-p 00000000 00:00 0 \nRss:  8 kB\nReferenced:  4 kB\n"
	    "VmFlags: rd wr mr mw me ac \n", 1,
	    { 0x1000, 0x3000, 8192, 4096, 0, RING_NORMAL, true }, 0 },
	{ "1000-3000 rw-p 00000000 00:00 0      [heap]\nVmFlags: rd rr ac \n", 1,
	    { 0x1000, 0x3000, 0, 0, 0, RING_RANDOM, true }, 0 },
	{ "1000-3000 rw-p 00000000 00:00 0 [stack]\nVmFlags: rd sr gd ac \n", 1,
	    { 0x1000, 0x3000, 0, 0, 0, RING_SEQUENTIAL, false }, 0 },
	{ "1000-3000 rw-p 00000000 00:00 0 [anon:theirs]\n", 1,
	    { 0x1000, 0x3000, 0, 0, 0, RING_NORMAL, false }, 0 },
	{ "1000-3000 rw-p 00000000 08:01 17 /bin/sh\n", 1,
	    { 0x1000, 0x3000, 0, 0, 0, RING_NORMAL, false }, 0 },
	{ "1000-3000 rw-s 00000000 00:00 0 \n", 1,
	    { 0x1000, 0x3000, 0, 0, 0, RING_NORMAL, false }, 0 },
	{ "1000-3000 rw-p 00000000 00:00 0 \nVmFlags: rd uw ac \n", 1,
	    { 0x1000, 0x3000, 0, 0, 0, RING_NORMAL, false }, 0 },
	/* No mapping, or no number. */
	{ "1000-1000 rw-p 00000000 00:00 0 \n", 0, { 0 }, 0 },
	{ "1001-3000 rw-p 00000000 00:00 0 \n", 0, { 0 }, 0 },
	{ "fffffffffffff0000-3 rw-p 0 0 0 \n", 0, { 0 }, 0 },
	{ "1000-3000 rw-p 00000000 00:00 0 \nReferenced: 18446744073709551615 kB\n"
	    "Rss: -1 kB\nReferenced: 4\n", 1,
	    { 0x1000, 0x3000, 0, 0, 0, RING_NORMAL, true }, 0 },
	{ "2000-3000 rw-p 0 00:00 0 \n1000-2000 rw-p 0 00:00 0 \n", 1,
	    { 0x2000, 0x3000, 0, 0, 0, RING_NORMAL, true }, -EBADMSG },
};

CASE("mappings");

LOOP_TEST(a_text_gives_its_mappings, 0, NELEM(texts))
{
	const struct text *t = &texts[_i];
	struct mappings all = { 0 };
	int fd = memfd_create("smaps", 0);

	ck_assert_int_eq(write(fd, t->text, strlen(t->text)),
	    (ssize_t)strlen(t->text));
	lseek(fd, 0, SEEK_SET);
	ck_assert_int_eq(mappings_read(fd, &all), t->err);
	ck_assert_uint_eq(all.n, t->n);
	if (all.n > 0) {
		const struct mapping *m = &all.at[all.n - 1];

		ck_assert_uint_eq(m->from, t->last.from);
		ck_assert_uint_eq(m->to, t->last.to);
		ck_assert_uint_eq(m->present, t->last.present);
		ck_assert_uint_eq(m->referenced, t->last.referenced);
		ck_assert_int_eq(m->advice, t->last.advice);
		ck_assert_int_eq(m->anonymous, t->last.anonymous);
	}
	free(all.at);
	close(fd);
}
