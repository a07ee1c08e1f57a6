/*
 * A list whose process is killed at any instruction: the next one finds it as
 * it was at the commit.
 *
 * A child applies batches that anyone can make again, commits now and then, and
 * stops where it has stored into kept memory, for between two such places it
 * can be killed at any instruction and leaves the same.  A copy of its memory
 * is what a kill would leave there: the parent takes the list up in it and
 * compares all rows and counters with a list that has been told of no record
 * after the commit.  In the end the child is killed, and the next one goes on
 * in the same memory with other batches, so that whatever is wrong in it comes
 * to light later.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../src/base/pmem.h"
#include "../src/blklist/list.h"
#include "../src/blklist/indexed/indexed.h"
#include "blklist_both.h"
#include "pmem_copy.h"
#include "harness.h"

#define PLANS 6

#ifdef __x86_64__

/* --- a stop at each store ---------------------------------------------------- */

/*
 * A process that stops where it has stored into persistent memory: between two such
 * stores a kill leaves the same memory behind, so these are all the points
 * there are.
 *
 * Pieces are mapped for reading only.  A store into one faults, is let through
 * as a single instruction, and has happened when the processor says so: at
 * some of these the process stops itself, for a parent that waits for that.
 * Holes are punched page by page, the last one first, for nobody is promised
 * that they are made at once or in any order.
 *
 * Each piece is to have a mapping of its own, the first with the words that
 * count: of pmem_new() nothing may be expected.
 *
 * It replaces two functions of the C library.
 */

#define STORES_PAGE ((uintptr_t)4096)
#define STORES_PIECES 32
#define STORES_HOLE 6		/* pages in a row after which a hole stops */
#define STORES_TRAP 0x100	/* of the flags: after the next instruction */

struct stores_piece {
	uintptr_t begin, end;
};

static struct {
	struct stores_piece piece[STORES_PIECES];
	unsigned n;
	bool armed;
	unsigned sparse;		/* one of so many pages is looked at */
	unsigned stride;		/* stores from one stop to the next, at most */
	unsigned left;			/* of them */
	size_t words;			/* of the first piece: a stop at each store */
	unsigned holes;			/* stops in the midst of one */
	uint64_t seed;
	uintptr_t at;			/* of the store that is let through ... */
	uintptr_t open[4];		/* ... and the pages that are open for it */
	unsigned nopen;
	void (*before_stop)(const void *first_piece);
} stores;

static inline unsigned
stores_below(unsigned n)
{
	stores.seed = stores.seed * UINT64_C(6364136223846793005) + 1;
	return (unsigned)(stores.seed >> 33) % n;
}

static inline void
stores_stop(void)
{
	stores.left = 1 + stores_below(stores.stride);
	stores.before_stop((const void *)stores.piece[0].begin);
	raise(SIGSTOP);
}

/* The first piece has the words that say which of the others count. */
static inline void
stores_protect(const struct stores_piece *p)
{
	uintptr_t from, step = stores.sparse * STORES_PAGE;

	if (p == &stores.piece[0] || stores.sparse == 1) {
		mprotect((void *)p->begin, p->end - p->begin, PROT_READ);
		return;
	}
	from = p->begin + stores_below(stores.sparse) * STORES_PAGE;
	/* Address space that nobody will ever reach is not looked at. */
	for (unsigned i = 0; i < 1024 && from < p->end; i++, from += step)
		mprotect((void *)from, STORES_PAGE, PROT_READ);
}

static void
stores_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uintptr_t page = (uintptr_t)info->si_addr & ~(STORES_PAGE - 1);
	bool ours = false;

	for (unsigned i = 0; i < stores.n; i++)
		ours |= page >= stores.piece[i].begin &&
		    page < stores.piece[i].end;
	if (!ours || stores.nopen == 4) {
		signal(sig, SIG_DFL);
		return;
	}
	if (stores.nopen == 0)
		stores.at = (uintptr_t)info->si_addr;
	stores.open[stores.nopen++] = page;
	mprotect((void *)page, STORES_PAGE, PROT_READ | PROT_WRITE);
	uc->uc_mcontext.gregs[REG_EFL] |= STORES_TRAP;
}

static void
stores_done(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	uc->uc_mcontext.gregs[REG_EFL] &= ~STORES_TRAP;
	while (stores.nopen > 0)
		mprotect((void *)stores.open[--stores.nopen], STORES_PAGE,
		    PROT_READ);
	if (--stores.left == 0 ||
	    stores.at - stores.piece[0].begin < stores.words)
		stores_stop();
}

/* A new process has no pieces; it is to stop at stores like these. */
static inline void
stores_begin(unsigned sparse, unsigned stride, size_t words, uint64_t from,
    void (*before_stop)(const void *first_piece))
{
	struct sigaction fault = { .sa_sigaction = stores_fault,
		.sa_flags = SA_SIGINFO };
	struct sigaction done = { .sa_sigaction = stores_done,
		.sa_flags = SA_SIGINFO };

	stores.n = stores.nopen = stores.holes = 0;
	stores.armed = false;
	stores.sparse = sparse;
	stores.stride = stride;
	stores.words = words;
	stores.seed = from;
	stores.before_stop = before_stop;
	stores.left = 1 + stores_below(stride);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGTRAP, &done, NULL);
}

/* From here on. */
static inline void
stores_arm(void)
{
	stores.armed = true;
	for (unsigned i = 0; i < stores.n; i++)
		stores_protect(&stores.piece[i]);
}

/* --- what kept memory calls ------------------------------------------------ */

void *
mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	long r = syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
	struct stores_piece *p = &stores.piece[stores.n];

	if (r == -1 || fd < 0 || (flags & MAP_SHARED) == 0 ||
	    stores.n == STORES_PIECES)
		return (void *)r;
	*p = (struct stores_piece){ (uintptr_t)r, (uintptr_t)r + len };
	stores.n++;
	if (stores.armed)
		stores_protect(p);
	return (void *)r;
}

int
fallocate(int fd, int mode, off_t offset, off_t len)
{
	off_t end = offset + len, from;
	off_t pages = len / (off_t)STORES_PAGE, stop;

	if (!stores.armed)
		return (int)syscall(SYS_fallocate, fd, mode, offset, len);
	stop = pages > STORES_HOLE ? stores_below((unsigned)pages) : 0;
	for (off_t n = 0; end > offset; end = from, n++) {
		from = (end - 1) & ~(off_t)(STORES_PAGE - 1);
		if (from < offset)
			from = offset;
		if (syscall(SYS_fallocate, fd, mode, from, end - from) < 0)
			return -1;
		if (n < stop || n >= stop + STORES_HOLE)
			continue;
		stores.holes += from > offset;
		stores_stop();
	}
	return 0;
}

/* --- whether it can be done here ------------------------------------------- */

static void
stores_nothing(const void *first_piece)
{
	(void)first_piece;
}

/* An emulator may let a store through and never say that it has happened. */
static inline bool
stores_work(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int fd = memfd_create("try", MFD_CLOEXEC);
		volatile char *p;

		stores_begin(1, 1, 0, 1, stores_nothing);
		if (ftruncate(fd, (off_t)STORES_PAGE) < 0)
			_exit(1);
		p = mmap(NULL, STORES_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
		stores_arm();
		*p = 1;
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid)
		return false;
	if (!WIFSTOPPED(status))
		return false;
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid;
}

/* --- plans --------------------------------------------------------------------- */

#define BATCH 4096

/* What a life is like; all follows from it and the number of the loop. */
struct plan {
	const char *name;
	enum blklist_kind oracle;
	uint32_t max, remember;
	unsigned addresses;		/* blocks begin at one of so many */
	unsigned records;		/* of a batch, at most */
	unsigned lives, points;		/* points of a life at which it may end */
	unsigned stride;		/* stores from one to the next, at most */
	unsigned sparse;		/* of so many pages one is looked at; or all */
	unsigned free_run;		/* batches before the first, at most */
	uint64_t period;		/* of the sample */
	bool cancel, since_click, jumps, infos;
	bool trims;			/* a long list becomes short */
};

/* Blocks that come and go in large steps; one in so many stays. */
#define TRIM_BLOCKS (108 * BATCH)
#define TRIM_STAY INDEXED_LOOSE_PART
#define TRIM_CYCLE (2 * TRIM_BLOCKS / BATCH)
/*
 * Of three lives the first ends in a hole, at this stop.  The next one comes to
 * that trim once more, so what was left behind it is where this many batches
 * later records come again: of blocks so much further on, which are replaced.
 */
#define TRIM_HOLE 3
#define TRIM_AGAIN 12
#define TRIM_AHEAD (8 * BATCH)

_Static_assert(TRIM_BLOCKS >= INDEXED_LOOSE, "a list that is trimmed");

static const struct plan plans[] = {
	{ .name = "few", .oracle = BLKLIST_LITERAL, .max = 40,
	  .remember = 1024, .addresses = 64, .records = 40, .lives = 12,
	  .points = 60, .stride = 12, .free_run = 40, .cancel = true },
	{ .name = "every store", .oracle = BLKLIST_LITERAL, .max = 100,
	  .remember = 256, .addresses = 30, .records = 12, .lives = 8,
	  .points = 160, .stride = 1, .free_run = 40 },
	{ .name = "a sample, with requesters", .oracle = BLKLIST_LITERAL,
	  .max = 500, .remember = 4096, .addresses = 300, .records = 100,
	  .lives = 8, .points = 30, .stride = 30, .free_run = 30,
	  .period = 64, .cancel = true, .since_click = true, .infos = true },
	{ .name = "long numbers", .oracle = BLKLIST_LITERAL, .max = 500,
	  .remember = 4096, .addresses = 300, .records = 50, .lives = 16,
	  .points = 40, .stride = 20, .free_run = 40, .jumps = true },
	{ .name = "sweeps", .oracle = BLKLIST_INDEXED, .max = 4096,
	  .remember = 1 << 14, .addresses = 3000, .records = 1500,
	  .lives = 8, .points = 15, .stride = 100, .free_run = 30,
	  .jumps = true },
	{ .name = "a trim", .oracle = BLKLIST_INDEXED, .max = 1 << 19,
	  .remember = 1 << 15, .lives = 3, .points = 36, .stride = 600,
	  .free_run = 9, .sparse = 16, .trims = true, .infos = true },
};
_Static_assert(NELEM(plans) == PLANS, "each plan is a test");

/* --- batches that can be made again ---------------------------------------- */

struct batch {
	struct rec rec[BATCH];
	struct blklist_batch_info info[BATCH];
	struct blklist_batch b;
};

/* Far apart now and then, so that regions come and go. */
static uint64_t
address(const struct plan *p, unsigned which)
{
	which %= p->addresses;
	return 0x7f0000001000 + which * UINT64_C(0x30) +
	    (uint64_t)(which % 7 == 0) * which * (UINT64_C(1) << 21);
}

/* The block that the batch's last record may take away by realloc. */
static uint64_t
realloc_of(const struct plan *p, unsigned n)
{
	return address(p, n * 2654435761u >> 8);
}

static struct rec
any_record(const struct plan *p, uint32_t ticket)
{
	uint64_t addr = address(p, below(p->addresses));
	unsigned thread = below(3);

	if (below(50) == 0)
		ticket -= below(200);
	switch (below(40)) {
	case 0:
		return REC(.op = REC_RANGE, .low = REC_LAYER_API, .addr = addr,
		    .size = below(0x200), .ticket = ticket);
	case 1:
		return REC(.op = REC_ALLOC, .low = REC_LEVEL_FAILED,
		    .size = 99, .ticket = ticket);
	case 2:
	case 3:
		return REC(.op = REC_UNDO, .type = TYPE_BY_REALLOC,
		    .addr = addr, .thread = thread, .ticket = ticket);
	case 4:
	case 5:
		return REC(.op = REC_ALLOC, .low = REC_LAYER_API, .addr = addr,
		    .size = below(900), .type = 0xc0 + below(5),
		    .ticket = ticket, .thread = thread);
	case 6:
	case 7:
	case 8:
		return REC(.op = REC_FREE, .type = TYPE_BY_REALLOC,
		    .addr = addr, .ticket = ticket, .thread = thread);
	case 9:
		return FREE(addr, .ticket = ticket, .low = REC_LAYER_API);
	default:
		if (below(100) < 45)
			return FREE(addr, .ticket = ticket, .thread = thread);
		return REC(.op = REC_ALLOC, .type = TYPE_MALLOC, .addr = addr,
		    .size = below(5000), .caller = rng(), .ms = ticket,
		    .ticket = ticket, .thread = thread);
	}
}

static uint64_t
trim_address(uint64_t block)
{
	return 0x10000 + 0x40 * block;
}

/* All of TRIM_BLOCKS come, and then most of them go; and so on. */
static void
make_trim(struct batch *out, unsigned n, uint64_t seq)
{
	bool frees = n % TRIM_CYCLE >= TRIM_CYCLE / 2;
	uint64_t first = n % (TRIM_CYCLE / 2) * BATCH;
	size_t count = 0;

	for (uint64_t i = first; i < first + BATCH; i++) {
		uint64_t addr = trim_address(i);
		uint32_t ticket = (uint32_t)(seq + count);

		if (!frees && i % 1024 == TRIM_STAY)
			out->info[out->b.ninfo++] = (struct blklist_batch_info){
				.at = count, .info.node = (uint16_t)(i / 1024) };
		if (!frees && (n < TRIM_CYCLE || i % TRIM_STAY != 0))
			out->rec[count++] = ALLOC(addr, .ticket = ticket);
		else if (!frees && i % (2 * TRIM_STAY) == 0) {
			addr = trim_address((i + TRIM_AHEAD) % TRIM_BLOCKS);
			out->rec[count++] = FREE(addr, .ticket = ticket);
			out->rec[count++] = ALLOC(addr, .ticket = ticket + 1);
		}
		/* The last of those that would stay makes it short enough. */
		if (frees && (i % TRIM_STAY != 0 || i == TRIM_BLOCKS - TRIM_STAY))
			out->rec[count++] = FREE(addr, .ticket = ticket);
	}
	out->b.n = count;
}

static void
make_batch(const struct plan *p, struct batch *out, unsigned n, unsigned life,
    uint64_t seq)
{
	size_t count;

	if (p->trims) {
		out->b = (struct blklist_batch){ .rec = out->rec, .seq = seq,
			.near_ms = n, .info = out->info };
		make_trim(out, n, seq);
		return;
	}

	seed = (n + 1) * UINT64_C(0x9e3779b97f4a7c15) + life * 977 + 1;
	for (unsigned i = 0; i < 5; i++)
		rng();
	count = 2 + below(p->records - 1);
	if (p->jumps && n % 13 == 12)
		seq += UINT64_C(1) << (31 + n % 3);
	for (size_t i = 0; i < count; i++)
		out->rec[i] = any_record(p, (uint32_t)(seq + i));
	/* A realloc that fails may do so in the next batch. */
	if (n > 0 && n % 3 != 0)
		out->rec[0] = REC(.op = REC_UNDO, .type = TYPE_BY_REALLOC,
		    .addr = realloc_of(p, n - 1), .thread = 3,
		    .ticket = (uint32_t)seq);
	out->rec[count - 1] = REC(.op = REC_FREE, .type = TYPE_BY_REALLOC,
	    .addr = realloc_of(p, n), .thread = 3,
	    .ticket = (uint32_t)(seq + count - 1));
	out->b = (struct blklist_batch){
		.rec = out->rec, .n = count, .seq = seq, .cancel = p->cancel,
		.near_ms = 1000000 + (int64_t)n * 7 +
		    (p->jumps ? (int64_t)(n / 11) << 31 : 0),
	};
	if (!p->infos)
		return;
	for (size_t i = 0; i < count; i += 1 + below(5))
		out->info[out->b.ninfo++] = (struct blklist_batch_info){
			.at = i, .info = { .node = (uint16_t)(1 + below(n + 9)) } };
	out->b.info = out->info;
}

static void
set_up(const struct plan *p, struct blklist *l)
{
	ck_assert_int_eq(blklist_remember(l, p->remember), 0);
	blklist_set_since_click(l, p->since_click);
	blklist_sample(l, p->period);
}

/* --- the process that is killed -------------------------------------------- */

/* What a keeper writes down of a commit. */
struct commit {
	uint64_t next;
	unsigned batches;
};

struct told {
	struct commit commit[2];
	unsigned latest;		/* slot + 1; 0: none */
	uint64_t runs;			/* which of them count, where it stopped ... */
	unsigned holes;			/* ... and in how many holes until then */
};

/* Where it begins to stop. */
enum stop {
	STOP_AT_BATCH,
	STOP_AT_VIEW,			/* which mends the order of age */
	STOP_AT_BEGIN,			/* where it takes the list up */
};

struct life {
	const struct plan *plan;
	struct pmem *kept;
	struct told *told;
	unsigned number;
	enum stop stop;
	unsigned free_run;		/* batches until it stops */
};

static void
commit(struct blklist *l, struct told *told, const struct commit *c)
{
	unsigned slot = told->latest % 2;

	blklist_commit(l, slot);
	told->commit[slot] = *c;
	list_in_order();
	told->latest = slot + 1;
	list_in_order();
}

static struct blklist *
begin_life(const struct life *life, struct commit *at)
{
	const struct plan *p = life->plan;
	struct blklist *l;

	if (life->told->latest == 0) {
		if (blklist_new_persistent(&l, p->max, life->kept) != 0)
			_exit(3);
		set_up(p, l);
		*at = (struct commit){ .next = 1 };
		commit(l, life->told, at);
		return l;
	}
	*at = life->told->commit[life->told->latest - 1];
	if (blklist_resume(&l, p->max, p->remember, life->kept,
	    life->told->latest - 1, at->next) != 0)
		_exit(4);
	return l;
}

static struct told *stop_told;

static void
tell(const void *first_piece)
{
	const struct list_persistent *k = first_piece;

	stop_told->runs = k->runs;
	stop_told->holes = stores.holes;
}

static _Noreturn void
live(const struct life *life)
{
	const struct plan *p = life->plan;
	static struct batch batch;
	struct blk rows[4];
	struct commit at;
	struct blklist *l;

	stop_told = life->told;
	/* The words before the slots say what of all the others counts. */
	stores_begin(p->sparse != 0 ? p->sparse : 1, p->stride,
	    p->stride == 1 ? 0 : offsetof(struct list_persistent, slot),
	    life->number, tell);
	if (life->stop == STOP_AT_BEGIN)
		stores_arm();
	l = begin_life(life, &at);
	for (unsigned i = 0;; i++) {
		if (i == life->free_run && life->stop != STOP_AT_VIEW)
			stores_arm();
		make_batch(p, &batch, at.batches, life->number,
		    at.next);
		blklist_apply(l, &batch.b);
		at.batches++;
		at.next = batch.b.seq + batch.b.n;
		if (at.batches % 8 == 5) {
			if (i >= life->free_run && life->stop == STOP_AT_VIEW)
				stores_arm();
			blklist_window(l, BLKLIST_BY_AGE, true, 0, rows, 4);
		}
		if (at.batches % 4 < 2)
			commit(l, life->told, &at);
	}
}

/* --- the one that looks ---------------------------------------------------- */

struct watch {
	const struct plan *plan;
	struct life life;
	struct blklist *oracle;
	struct commit at;		/* of the oracle */
	struct blk *rows[2];		/* its rows, of each order */
	unsigned points, journals;
};

static void
rows_of(const struct watch *w, struct blklist *l, struct blk *rows[2])
{
	for (unsigned o = 0; o < 2; o++)
		ck_assert_uint_eq(blklist_window(l, (enum blklist_order)o,
		    false, 0, rows[o], w->plan->max), COUNT(l, aRecActive));
}

static void
same_list(const struct watch *w, struct blklist *l)
{
	const struct blklist_removed *a, *b;
	size_t bytes = w->plan->max * sizeof(struct blk);
	struct blk *rows[2] = { malloc(bytes), malloc(bytes) };

	sound(l);
	ck_assert_uint_eq(COUNT(l, aRecActive), COUNT(w->oracle, aRecActive));
	ck_assert_mem_eq(blklist_counts(l), blklist_counts(w->oracle),
	    sizeof(struct blklist_counts));
	rows_of(w, l, rows);
	for (unsigned o = 0; o < 2; o++) {
		same_rows(w->rows[o], rows[o], COUNT(l, aRecActive),
		    o == BLKLIST_BY_AGE ? "age" : "address");
		free(rows[o]);
	}
	for (uint32_t k = 0; (a = blklist_removed(l, k)) != NULL; k++) {
		b = blklist_removed(w->oracle, k);
		ck_assert_uint_eq(a->seq, b->seq);
		ck_assert_mem_eq(&a->blk, &b->blk, sizeof(a->blk));
	}
	for (uint16_t i = 1; blklist_info_get(w->oracle, i) != NULL; i++)
		ck_assert_mem_eq(blklist_info_get(l, i),
		    blklist_info_get(w->oracle, i),
		    sizeof(struct blklist_info));
}

/* The oracle is told what has been committed. */
static void
catch_up(struct watch *w, const struct commit *to)
{
	static struct batch batch;

	if (w->at.batches == to->batches)
		return;
	while (w->at.batches < to->batches) {
		make_batch(w->plan, &batch, w->at.batches, w->life.number,
		    w->at.next);
		blklist_apply(w->oracle, &batch.b);
		w->at.next = batch.b.seq + batch.b.n;
		w->at.batches++;
	}
	ck_assert_uint_eq(w->at.next, to->next);
	rows_of(w, w->oracle, w->rows);
}

/* Were it killed here. */
static void
look(struct watch *w)
{
	unsigned latest = w->life.told->latest;
	struct pmem *copy;
	struct blklist *l;

	if (latest == 0)
		return;
	catch_up(w, &w->life.told->commit[latest - 1]);
	copy = pmem_copy(w->life.kept);
	ck_assert_msg(blklist_resume(&l, w->plan->max, w->plan->remember, copy,
	    latest - 1, w->at.next) == 0, "%s: life %u, point %u",
	    w->plan->name, w->life.number, w->points);
	same_list(w, l);
	blklist_free(l);
	pmem_free(copy);
	w->points++;
}

static void
expect_stop(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert_msg(WIFSTOPPED(status), "status %#x", status);
}

/* The next one is to find a journal that counts, or a hole half made. */
static bool
should_die(const struct watch *w, unsigned point)
{
	const struct told *t = w->life.told;

	seed = (w->life.number + 1) * UINT64_C(0x2545f4914f6cdd1d) + point;
	rng();
	return (t->runs >> 32 == 2 && below(40) == 0) ||
	    (w->plan->trims && w->life.number % 3 == 0 &&
	    t->holes == TRIM_HOLE);
}

static void
one_life(struct watch *w)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		live(&w->life);
	expect_stop(pid);
	for (unsigned i = 1; i < w->plan->points; i++) {
		look(w);
		if (should_die(w, i))
			break;
		kill(pid, SIGCONT);
		expect_stop(pid);
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	w->journals += w->life.told->runs >> 32 == 2;
	look(w);
}

/* How many batches there are from the last commit to the next trim. */
static unsigned
before_trim(const struct watch *w)
{
	const struct told *t = w->life.told;
	unsigned n = t->latest != 0 ? t->commit[t->latest - 1].batches : 0;

	return TRIM_CYCLE - 1 - n % TRIM_CYCLE;
}

/*
 * More points than PART are several tests, each with memory of its own: Check
 * fails when a test lasts longer than 2^31 microseconds.
 */
#define PART 4000

static unsigned
parts(void)
{
	return 1 + (unsigned)(check_events(0) / PART);
}

/*
 * More of them where more points are asked for, in whole rounds of lives.  All
 * lives of a plan that trims are needed: they have an order.
 */
static unsigned
lives(const struct plan *p)
{
	unsigned round = p->trims ? p->lives : (unsigned)check_rounds((int)p->lives);
	unsigned long long usual = (unsigned long long)round * p->points;
	unsigned long long points = check_events(usual * parts()) / parts();

	return round * (unsigned)((points + usual - 1) / usual);
}

static void
kill_lives(const struct plan *p, unsigned part)
{
	unsigned first = part * lives(p);
	struct watch w = { .plan = p, .at.next = 1 };
	struct pmem *kept;

	w.life = (struct life){ .plan = p };
	w.life.told = mmap(NULL, sizeof(*w.life.told), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(blklist_new(&w.oracle, p->oracle, p->max), 0);
	set_up(p, w.oracle);
	for (unsigned o = 0; o < 2; o++)
		w.rows[o] = malloc(p->max * sizeof(struct blk));
	ck_assert_int_eq(pmem_new(&w.life.kept, "test", 0), 0);
	for (unsigned i = first; i < first + lives(p); i++) {
		seed = check_seed(i + 1) * UINT64_C(0xda942042e4dd58b5);
		rng();
		w.life.number = i;
		w.life.stop = p->trims ? STOP_AT_BATCH : i % 4 == 1 ?
		    STOP_AT_VIEW : i % 4 == 2 ? STOP_AT_BEGIN : STOP_AT_BATCH;
		w.life.free_run = !p->trims ? below(p->free_run) :
		    i % 3 == 1 ? TRIM_AGAIN + below(p->free_run) :
		    before_trim(&w);
		one_life(&w);
		ck_assert_int_eq(pmem_open(&kept,
		    dup(pmem_fd(w.life.kept))), 0);
		pmem_free(w.life.kept);
		w.life.kept = kept;
	}
	printf("%s: %u points, %u batches, %u blocks, %u journals left\n",
	    p->name, w.points, w.at.batches, COUNT(w.oracle, aRecActive),
	    w.journals);
	pmem_free(w.life.kept);
	blklist_free(w.oracle);
	free(w.rows[0]);
	free(w.rows[1]);
	munmap(w.life.told, sizeof(*w.life.told));
}

#else

static unsigned
parts(void)
{
	return 1;
}

#endif

CASE("killed", .seconds = 120, .tags = TAG_KERNEL);

LOOP_TEST(a_kill_at_any_instruction_leaves_the_last_commit, 0,
    PLANS * parts())
{
#ifdef __x86_64__
	/* The long list of a trim takes ten times as long as the others. */
	if (plans[_i % PLANS].trims && check_is_shortened())
		return;
	if (stores_work()) {
		kill_lives(&plans[_i % PLANS], (unsigned)_i / PLANS);
		return;
	}
#endif
	printf("skipped: stores cannot be let through one by one\n");
}
