/*
 * A list whose process is killed at any instruction: the next one finds it as
 * it was at the commit.
 *
 * A child applies batches that anyone can make again, commits now and then, and
 * is led through one of them instruction by instruction.  Between two of these
 * a copy of its memory is what a kill would leave there: the parent takes the
 * list up in it and compares all rows and counters with a list that has been
 * told of no record after the commit.  In the end the child is killed, and the
 * next one goes on in the same memory with other batches, so that whatever is
 * wrong in it comes to light later.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../src/base/kept.h"
#include "../src/blklist/indexed.h"
#include "blklist_both.h"
#include "harness.h"

#define BATCH 4096

/* What a life is like; all follows from it and the number of the loop. */
struct plan {
	const char *name;
	enum blklist_kind oracle;
	uint32_t max, remember;
	unsigned addresses;		/* blocks begin at one of so many */
	unsigned records;		/* of a batch, at most */
	unsigned lives, points;		/* points of a life at which it may end */
	unsigned stride;		/* instructions from one to the next, at most */
	unsigned free_run;		/* batches before the first, at most */
	uint64_t period;		/* of the sample */
	bool cancel, since_click, jumps, infos;
	bool trims;			/* a long list becomes short ... */
	unsigned tick;			/* ... while it is looked at: microseconds */
};

/* Blocks that come and go in large steps; one in so many stays. */
#define TRIM_BLOCKS (108 * BATCH)
#define TRIM_STAY INDEXED_LOOSE_PART
#define TRIM_CYCLE (2 * TRIM_BLOCKS / BATCH)

_Static_assert(TRIM_BLOCKS >= INDEXED_LOOSE, "a list that is trimmed");

static const struct plan plans[] = {
	{ .name = "few", .oracle = BLKLIST_LITERAL, .max = 40,
	  .remember = 1024, .addresses = 64, .records = 40, .lives = 24,
	  .points = 30, .stride = 100, .free_run = 40, .cancel = true },
	{ .name = "every instruction", .oracle = BLKLIST_LITERAL, .max = 100,
	  .remember = 256, .addresses = 30, .records = 12, .lives = 3,
	  .points = 600, .stride = 1, .free_run = 40 },
	{ .name = "a sample, with requesters", .oracle = BLKLIST_LITERAL,
	  .max = 500, .remember = 4096, .addresses = 300, .records = 100,
	  .lives = 16, .points = 25, .stride = 150, .free_run = 30,
	  .period = 64, .cancel = true, .since_click = true, .infos = true },
	{ .name = "long numbers", .oracle = BLKLIST_LITERAL, .max = 500,
	  .remember = 4096, .addresses = 300, .records = 50, .lives = 32,
	  .points = 30, .stride = 200, .free_run = 40, .jumps = true },
	{ .name = "sweeps", .oracle = BLKLIST_INDEXED, .max = 4096,
	  .remember = 1 << 14, .addresses = 3000, .records = 1500,
	  .lives = 12, .points = 15, .stride = 500, .free_run = 30,
	  .jumps = true },
	{ .name = "a trim", .oracle = BLKLIST_INDEXED, .max = 1 << 19,
	  .remember = 1 << 15, .lives = 4, .points = 25, .tick = 800,
	  .trims = true, .infos = true },
};

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

/* All of TRIM_BLOCKS come, and then most of them go; and so on. */
static void
make_trim(struct batch *out, unsigned n, uint64_t seq)
{
	bool frees = n % TRIM_CYCLE >= TRIM_CYCLE / 2;
	uint64_t first = n % (TRIM_CYCLE / 2) * BATCH;
	size_t count = 0;

	for (uint64_t i = first; i < first + BATCH; i++) {
		uint64_t addr = 0x10000 + 0x40 * i;
		uint32_t ticket = (uint32_t)(seq + count);

		if (!frees && i % 1024 == TRIM_STAY)
			out->info[out->b.ninfo++] = (struct blklist_batch_info){
				.at = count, .info.node = (uint16_t)(i / 1024) };
		if (!frees && (n < TRIM_CYCLE || i % TRIM_STAY != 0))
			out->rec[count++] = ALLOC(addr, .ticket = ticket);
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
};

/* Where it is from then on led by the hand. */
enum stop {
	STOP_AT_BATCH,
	STOP_AT_VIEW,			/* which mends the order of age */
	STOP_AT_BEGIN,			/* where it takes the list up */
};

struct life {
	const struct plan *plan;
	struct kept *kept;
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
		if (blklist_new_kept(&l, p->max, life->kept) != 0)
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

static _Noreturn void
live(const struct life *life)
{
	static struct batch batch;
	struct blk rows[4];
	struct commit at;
	struct blklist *l;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	if (life->stop == STOP_AT_BEGIN)
		raise(SIGSTOP);
	l = begin_life(life, &at);
	for (unsigned i = 0;; i++) {
		if (i == life->free_run && life->stop != STOP_AT_VIEW)
			raise(SIGSTOP);
		make_batch(life->plan, &batch, at.batches, life->number,
		    at.next);
		blklist_apply(l, &batch.b);
		at.batches++;
		at.next = batch.b.seq + batch.b.n;
		if (at.batches % 8 == 5) {
			if (i >= life->free_run && life->stop == STOP_AT_VIEW)
				raise(SIGSTOP);
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
	unsigned points;
};

static void
copy_range(int to, int from, off_t at, off_t end)
{
	static char buf[1 << 16];

	while (at < end) {
		size_t n = (size_t)(end - at) < sizeof(buf) ?
		    (size_t)(end - at) : sizeof(buf);

		ck_assert_int_eq(pread(from, buf, n, at), (ssize_t)n);
		ck_assert_int_eq(pwrite(to, buf, n, at), (ssize_t)n);
		at += (off_t)n;
	}
}

/* The memory as it is now, in a file of its own. */
static struct kept *
copy_of(const struct kept *kept)
{
	int from = kept_fd(kept), to = memfd_create("copy", MFD_ALLOW_SEALING);
	struct kept *copy;
	struct stat st;
	off_t end = 0, at;

	ck_assert_int_ge(to, 0);
	ck_assert_int_eq(fstat(from, &st), 0);
	ck_assert_int_eq(ftruncate(to, st.st_size), 0);
	ck_assert_int_eq(fcntl(to, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	while ((at = lseek(from, end, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		copy_range(to, from, at, end);
	}
	ck_assert_int_eq(kept_open(&copy, to), 0);
	return copy;
}

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
	struct kept *copy;
	struct blklist *l;

	if (latest == 0)
		return;
	catch_up(w, &w->life.told->commit[latest - 1]);
	copy = copy_of(w->life.kept);
	ck_assert_msg(blklist_resume(&l, w->plan->max, w->plan->remember, copy,
	    latest - 1, w->at.next) == 0, "%s: life %u, point %u",
	    w->plan->name, w->life.number, w->points);
	same_list(w, l);
	blklist_free(l);
	kept_free(copy);
	w->points++;
}

static void
expect_stop(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSTOPPED(status), "status %#x", status);
}

static void
step(pid_t pid, unsigned n)
{
	while (n-- > 0) {
		ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		expect_stop(pid);
	}
}

/* As far as it comes: for what has too many instructions to count them. */
static void
run_on(pid_t pid, unsigned us)
{
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	usleep(us);
	kill(pid, SIGSTOP);
	expect_stop(pid);
}

static void
one_life(struct watch *w)
{
	/* Both look at all blocks before they change any. */
	unsigned stride = w->plan->stride *
	    (w->life.stop == STOP_AT_BATCH ? 1 : 10);
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		live(&w->life);
	expect_stop(pid);
	for (unsigned i = 0; i < w->plan->points; i++) {
		seed = (w->life.number + 1) * UINT64_C(0x2545f4914f6cdd1d) + i;
		rng();
		if (stride > 0)
			step(pid, 1 + below(stride));
		else
			run_on(pid, below(w->plan->tick));
		look(w);
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
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

START_TEST(a_kill_at_any_instruction_leaves_the_last_commit)
{
	const struct plan *p = &plans[_i];
	struct watch w = { .plan = p, .at.next = 1 };
	struct kept *kept;

	w.life = (struct life){ .plan = p };
	w.life.told = mmap(NULL, sizeof(*w.life.told), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(blklist_new(&w.oracle, p->oracle, p->max), 0);
	set_up(p, w.oracle);
	for (unsigned o = 0; o < 2; o++)
		w.rows[o] = malloc(p->max * sizeof(struct blk));
	ck_assert_int_eq(kept_new(&w.life.kept, "test"), 0);
	for (unsigned i = 0; i < p->lives; i++) {
		seed = (i + 1) * UINT64_C(0xda942042e4dd58b5);
		rng();
		w.life.number = i;
		w.life.stop = p->trims ? STOP_AT_BATCH : i % 8 == 1 ?
		    STOP_AT_VIEW : i % 8 == 4 ? STOP_AT_BEGIN : STOP_AT_BATCH;
		w.life.free_run = p->trims ? before_trim(&w) :
		    below(p->free_run);
		one_life(&w);
		ck_assert_int_eq(kept_open(&kept,
		    dup(kept_fd(w.life.kept))), 0);
		kept_free(w.life.kept);
		w.life.kept = kept;
	}
	printf("%s: %u points, %u batches, %u blocks\n", p->name, w.points,
	    w.at.batches, COUNT(w.oracle, aRecActive));
	kept_free(w.life.kept);
	blklist_free(w.oracle);
	free(w.rows[0]);
	free(w.rows[1]);
	munmap(w.life.told, sizeof(*w.life.told));
}
END_TEST

/* --- what cannot be taken up ----------------------------------------------- */

#define SMALL_MAX 100
#define SMALL_RING 16

static struct blklist *
small_list(struct kept **kept)
{
	struct blklist *l;

	next_seq = 1;
	ck_assert_int_eq(kept_new(kept, "test"), 0);
	ck_assert_int_eq(blklist_new_kept(&l, SMALL_MAX, *kept), 0);
	ck_assert_int_eq(blklist_remember(l, SMALL_RING), 0);
	for (uint64_t i = 1; i <= 40; i++)
		APPLY(l, ALLOC(0x1000 * i, .ticket = (uint32_t)i));
	blklist_commit(l, 0);
	return l;
}

static int
small_resume(struct blklist **l, struct kept *kept, uint64_t next)
{
	return blklist_resume(l, SMALL_MAX, SMALL_RING, kept, 0, next);
}

static void
free_some(struct blklist *l, unsigned n)
{
	for (uint64_t i = 1; i <= n; i++)
		APPLY(l, FREE(0x1000 * i, .ticket = 100));
}

static void spoil_nothing(struct blklist *l) { (void)l; }
static void spoil_put(struct blklist *l)
{
	ck_assert_int_eq(blklist_put(l, &(struct blk){ .addr = 9, .seq = 7,
	    .flags = REC_FLAGS(REC_ALLOC, 0) }), 0);
}
static void spoil_take(struct blklist *l)
{
	ck_assert_int_eq(blklist_take(l, 0, 0x1000), 0);
}
static void spoil_put_and_take(struct blklist *l)
{
	spoil_put(l);
	ck_assert_int_eq(blklist_take(l, 0, 9), 0);
}
static void spoil_clear(struct blklist *l) { blklist_clear(l); }
static void spoil_commits(struct blklist *l)
{
	blklist_commit(l, 1);
	blklist_commit(l, 1);
}
static void free_15(struct blklist *l) { free_some(l, SMALL_RING - 1); }
static void free_16(struct blklist *l) { free_some(l, SMALL_RING); }
static void free_40(struct blklist *l) { free_some(l, 40); }
static void commit_once(struct blklist *l) { blklist_commit(l, 1); }

static const struct {
	const char *what;
	void (*spoil)(struct blklist *);
	uint32_t max, remember;
	unsigned slot;
	int result;
} stale[] = {
	{ "nothing", spoil_nothing, SMALL_MAX, SMALL_RING, 0, 0 },
	{ "a ring nearly full", free_15, SMALL_MAX, SMALL_RING, 0, 0 },
	{ "the other one newer", commit_once, SMALL_MAX, SMALL_RING, 0, 0 },
	{ "no such commit", spoil_nothing, SMALL_MAX, SMALL_RING, 1, -ESTALE },
	{ "another length", spoil_nothing, SMALL_MAX - 1, SMALL_RING, 0, -ESTALE },
	{ "another ring", spoil_nothing, SMALL_MAX, SMALL_RING / 2, 0, -ESTALE },
	{ "no ring", spoil_nothing, SMALL_MAX, 0, 0, -ESTALE },
	{ "a put", spoil_put, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "a take", spoil_take, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "both", spoil_put_and_take, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "a clear", spoil_clear, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "two commits", spoil_commits, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "a ring gone round", free_16, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "and on", free_40, SMALL_MAX, SMALL_RING, 0, -ESTALE },
};

START_TEST(what_cannot_be_exact_is_stale)
{
	struct kept *kept, *copy;
	struct blklist *l = small_list(&kept), *next;

	stale[_i].spoil(l);
	copy = copy_of(kept);
	ck_assert_msg(blklist_resume(&next, stale[_i].max, stale[_i].remember,
	    copy, stale[_i].slot, 41) == stale[_i].result, "%s",
	    stale[_i].what);
	if (stale[_i].result == 0) {
		sound(next);
		ck_assert_uint_eq(COUNT(next, aRecActive), 40);
		blklist_free(next);
	}
	kept_free(copy);
	blklist_free(l);
	kept_free(kept);
}
END_TEST

START_TEST(what_no_record_did_is_kept_by_the_next_commit)
{
	struct kept *kept, *copy;
	struct blklist *l = small_list(&kept), *next;

	spoil_put(l);
	spoil_take(l);
	blklist_commit(l, 1);
	copy = copy_of(kept);
	ck_assert_int_eq(blklist_resume(&next, SMALL_MAX, SMALL_RING, copy, 1,
	    next_seq), 0);
	sound(next);
	ck_assert(listed(next, 0, 9));
	ck_assert(!listed(next, 0, 0x1000));
	ck_assert_uint_eq(COUNT(next, inherited), 1);
	blklist_free(next);
	kept_free(copy);
	blklist_free(l);
	kept_free(kept);
}
END_TEST

/* What was written over by those that have been taken back is not known. */
START_TEST(removed_blocks_that_were_overwritten_are_not_told)
{
	struct kept *kept, *copy;
	struct blklist *l = small_list(&kept), *next;

	free_some(l, SMALL_RING);
	blklist_commit(l, 0);
	for (uint64_t i = 0; i < 5; i++)
		APPLY(l, FREE(0x1000 * (i + 20), .ticket = 100));
	copy = copy_of(kept);
	ck_assert_int_eq(small_resume(&next, copy, next_seq - 5), 0);
	/* Nor is the one where the next would have begun. */
	for (uint32_t k = 0; k < SMALL_RING - 6; k++)
		ck_assert_uint_eq(blklist_removed(next, k)->blk.addr,
		    0x1000 * (SMALL_RING - k));
	ck_assert_ptr_null(blklist_removed(next, SMALL_RING - 6));
	blklist_free(next);
	kept_free(copy);
	blklist_free(l);
	kept_free(kept);
}
END_TEST

START_TEST(used_memory_takes_no_new_list)
{
	struct kept *kept, *copy;
	struct blklist *l = small_list(&kept), *next;

	copy = copy_of(kept);
	ck_assert_int_eq(blklist_new_kept(&next, SMALL_MAX, copy), -EINVAL);
	kept_free(copy);
	blklist_free(l);
	kept_free(kept);
}
END_TEST

/* Whoever wrote it was a process like us, with a bug perhaps. */
START_TEST(spoilt_memory_does_no_harm)
{
	struct kept *kept, *copy;
	struct blklist *l = small_list(&kept), *next;
	unsigned taken = 0;

	seed = 1;
	free_15(l);
	for (unsigned i = 0; i < 2000; i++) {
		off_t at = 0, end;
		unsigned page = below(40);
		uint64_t word;

		copy = copy_of(kept);
		do {
			at = lseek(kept_fd(copy), at, SEEK_DATA);
			if (at < 0)
				at = lseek(kept_fd(copy), 0, SEEK_DATA);
			end = at;
			at += 4096;
		} while (page-- > 0);
		/* But for the first page, which is not the list's. */
		word = below(2) == 0 ? rng() : below(100);
		end += below(512) / (1 + below(100)) * 8;
		if (end >= 4096)
			ck_assert_int_eq(pwrite(kept_fd(copy), &word,
			    sizeof(word), end), sizeof(word));
		if (small_resume(&next, copy, 41) == 0) {
			sound(next);
			APPLY(next, ALLOC(0xabc0, .ticket = 200),
			    FREE(0xabc0, .ticket = 201));
			blklist_free(next);
			taken++;
		}
		kept_free(copy);
	}
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_lt(taken, 2000);
	blklist_free(l);
	kept_free(kept);
}
END_TEST

/* --- many ------------------------------------------------------------------ */

#define MANY 1000000

START_TEST(a_million_blocks_are_taken_up)
{
	static struct batch batch;
	struct timespec begin, end;
	struct kept *kept, *old;
	struct blklist *l;
	uint64_t seq = 1;

	ck_assert_int_eq(kept_new(&kept, "test"), 0);
	ck_assert_int_eq(blklist_new_kept(&l, 1 << 24, kept), 0);
	ck_assert_int_eq(blklist_remember(l, 1 << 16), 0);
	batch.b = (struct blklist_batch){ .rec = batch.rec };
	while (seq <= MANY) {
		for (batch.b.n = 0; batch.b.n < BATCH; batch.b.n++)
			batch.rec[batch.b.n] = ALLOC((seq + batch.b.n) * 7919 %
			    (1 << 26) * 0x40);
		batch.b.seq = seq;
		blklist_apply(l, &batch.b);
		seq += batch.b.n;
		if (seq <= MANY && seq + BATCH > MANY)
			blklist_commit(l, 0);
	}
	ck_assert_int_eq(kept_open(&old, dup(kept_fd(kept))), 0);
	blklist_free(l);
	kept_free(kept);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ck_assert_int_eq(blklist_resume(&l, 1 << 24, 1 << 16, old, 0,
	    seq - BATCH), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%u blocks are taken up in %ld ms\n", COUNT(l, aRecActive),
	    (end.tv_sec - begin.tv_sec) * 1000 +
	    (end.tv_nsec - begin.tv_nsec) / 1000000);
	sound(l);
	blklist_free(l);
	kept_free(old);
}
END_TEST

static Suite *
blklist_kept_suite(void)
{
	Suite *s = suite_create("blklist: kept");
	TCase *killed = tcase_create("killed");
	TCase *spoilt = tcase_create("spoilt");

	tcase_set_timeout(killed, 120);
	tcase_set_tags(killed, TAG_KERNEL);
	tcase_add_loop_test(killed,
	    a_kill_at_any_instruction_leaves_the_last_commit, 0,
	    NELEM(plans));
	suite_add_tcase(s, killed);
	tcase_set_timeout(spoilt, 60);
	tcase_add_loop_test(spoilt, what_cannot_be_exact_is_stale, 0,
	    NELEM(stale));
	tcase_add_test(spoilt, what_no_record_did_is_kept_by_the_next_commit);
	tcase_add_test(spoilt,
	    removed_blocks_that_were_overwritten_are_not_told);
	tcase_add_test(spoilt, used_memory_takes_no_new_list);
	tcase_add_test(spoilt, spoilt_memory_does_no_harm);
	tcase_add_test(spoilt, a_million_blocks_are_taken_up);
	suite_add_tcase(s, spoilt);
	return s;
}

CHECK_MAIN(blklist_kept_suite)
