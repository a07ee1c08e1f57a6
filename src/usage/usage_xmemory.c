/*
 * A thread counts in levels of its own and takes no lock.  It adds a level to
 * the sum over all threads when the level differs by a grain from what it has
 * added; so the sum is never wrong by more than a grain a thread.
 *
 * A thread counts in levels of its own and takes no lock.  It adds a level to the
 * sum over all threads when the level differs by a grain from what it has added
 * before; so the sum is never wrong by more than a grain a thread.  The most of
 * a row is therefore bounded twice: by the sum of the threads' own maxima, and by
 * the highest sum plus a grain a thread.  The lesser one is printed.  With one
 * thread the first is exact.
 *
 * The levels of a thread that has ended go on in the next one that begins.
 *
 * A reset counts up usage_xmemory_resets.  Each thread notices it at its next
 * count and begins its maxima anew; until then `base` stands for them.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "usage_xmemory.h"

#define ROWS USAGE_XMEMORY_ROWS
#define OTHER 2				/* row of what has no place */
#define FIRST 3				/* row of the first type */
#define SLOTS (2 * ROWS)
#define TEXT_PIECE ((size_t)1 << 20)	/* of memory for names */
#define TEXT_MAX ((size_t)32 << 20)
#define RECENT 128			/* names by address, a thread */
#define NEVER UINT32_MAX		/* resets of the shared levels */

/* So much of a thread's count is missing from the sum over all, at most. */
#define GRAIN 64
#define BYTES_GRAIN 65536

struct key {
	const char *name;
	int64_t num;
	uint32_t reset;			/* number of its last reset */
};

/* Over all threads. */
struct sum {
	int64_t now, max;		/* of what was published */
};

struct thread {
	struct usage_xmemory_thread self;
	uint32_t seen;			/* resets that its maxima take into account */
	int64_t base[ROWS];		/* in use when the row was reset */
	struct {
		const char *name;	/* by its address; the row's text tells whether it is the same */
		int64_t num;
		uint64_t row;
	} recent[RECENT];
	struct thread *next;
	bool free;			/* its thread has ended */
	bool shared;			/* used by threads without memory, with the lock */
};

static struct key keys[ROWS] = {
	[USAGE_XMEMORY_OBJECTS] = { .name = "objects" },
	[USAGE_XMEMORY_BYTES] = { .name = "bytes" },
	[OTHER] = { .name = "(other)" },
};
static struct sum sums[ROWS];
static uint16_t slots[SLOTS];		/* rows by hash; 0: none */
static uint32_t nrows = FIRST;

/* Guards the variables below, and the making of rows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_end;
static bool has_at_end, strict;
static struct thread first, common = { .self.resets = NEVER, .shared = true };
static struct thread *threads;
static uint32_t nthreads;
static char *text;
static size_t text_left, text_total;

__thread struct usage_xmemory_thread *usage_xmemory_self = &common.self;
uint32_t usage_xmemory_resets;

typedef char stress_fit[sizeof common.self.level <= USAGE_XMEMORY_OFFSETS ? 1 : -1];

static int64_t
grain_of(uint64_t row)
{
	return row == USAGE_XMEMORY_BYTES ? BYTES_GRAIN : GRAIN;
}

static void
thread_ended(void *arg)
{
	struct thread *t = arg;

	usage_xmemory_self = &common.self;
	pthread_mutex_lock(&lock);
	t->free = true;
	pthread_mutex_unlock(&lock);
}

static void
fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

static void
fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* The other threads are not in the child; what they have counted is. */
static void
fork_child(void)
{
	for (struct thread *t = threads; t != NULL; t = t->next)
		if (&t->self != usage_xmemory_self && !t->shared)
			t->free = true;
	pthread_mutex_unlock(&lock);
}

static void
begin(void)
{
	const char *value = secure_getenv("PAGEK_USAGE_STRICT");

	strict = value != NULL && strcmp(value, "1") == 0;
	has_at_end = pthread_key_create(&at_end, thread_ended) == 0;
	pthread_atfork(fork_prepare, fork_parent, fork_child);
	first.free = true;
	first.next = &common;
	threads = &first;
	nthreads = 2;
}

/* With the lock. */
static struct thread *
find_thread(void)
{
	struct thread *t;

	for (t = threads; t != NULL; t = t->next)
		if (t->free && !t->shared)
			return t;
	t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	t->next = threads;
	__atomic_store_n(&threads, t, __ATOMIC_RELEASE);
	nthreads++;
	return t;
}

static struct thread *
my_thread(void)
{
	struct thread *t = (struct thread *)(void *)usage_xmemory_self;

	if (!t->shared)
		return t;
	pthread_once(&once, begin);
	pthread_mutex_lock(&lock);
	t = has_at_end ? find_thread() : NULL;
	if (t != NULL && pthread_setspecific(at_end, t) == 0) {
		t->free = false;
		usage_xmemory_self = &t->self;
	} else {
		t = &common;
	}
	pthread_mutex_unlock(&lock);
	return t;
}

static uint64_t
hash_of(const char *name, size_t len, int64_t num)
{
	uint64_t hash = (uint64_t)num * UINT64_C(0x9e3779b97f4a7c15), word;

	for (; len >= 8; name += 8, len -= 8) {
		memcpy(&word, name, 8);
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = len;
	memcpy(&word, name, len);
	hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 32;
}

static bool
is_row(uint64_t row, const char *name, int64_t num)
{
	return keys[row].num == num && strcmp(keys[row].name, name) == 0;
}

/* The row, or 0 and the slot where it belongs. */
static uint64_t
find_row(const char *name, int64_t num, uint32_t *slot)
{
	uint64_t row;

	*slot = (uint32_t)(hash_of(name, strlen(name), num) % SLOTS);
	for (;; *slot = (*slot + 1) % SLOTS) {
		row = __atomic_load_n(&slots[*slot], __ATOMIC_ACQUIRE);
		if (row == 0 || is_row(row, name, num))
			return row;
	}
}

/* With the lock. */
static const char *
copy_name(const char *name)
{
	size_t len = strlen(name) + 1;
	char *copy;

	if (len > text_left) {
		size_t piece = len > TEXT_PIECE ? len : TEXT_PIECE;

		if (piece > TEXT_MAX - text_total)
			return NULL;
		copy = mmap(NULL, piece, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (copy == MAP_FAILED)
			return NULL;
		text = copy;
		text_left = piece;
		text_total += piece;
	}
	copy = memcpy(text, name, len);
	text += len;
	text_left -= len;
	return copy;
}

/* With the lock.  OTHER: there is no place for it. */
static uint64_t
add_row(const char *name, int64_t num)
{
	uint32_t slot;
	uint64_t row = find_row(name, num, &slot);

	if (row != 0)
		return row;
	if (nrows == ROWS)
		return OTHER;
	row = nrows;
	keys[row].name = copy_name(name);
	if (keys[row].name == NULL)
		return OTHER;
	keys[row].num = num;
	__atomic_store_n(&slots[slot], (uint16_t)row, __ATOMIC_RELEASE);
	__atomic_store_n(&nrows, nrows + 1, __ATOMIC_RELEASE);
	return row;
}

static void
complain_free(const char *name)
{
	static const char why[] =
	    "usage_xmemory: free of a type that was never allocated: ";

	if (write(STDERR_FILENO, why, sizeof why - 1) < 0 ||
	    write(STDERR_FILENO, name, strlen(name)) < 0 ||
	    write(STDERR_FILENO, "\n", 1) < 0)
		return;
}

static uint64_t
row_of(const char *name, int64_t num, bool is_free)
{
	uint32_t slot;
	uint64_t row = find_row(name, num, &slot);

	if (row != 0)
		return row;
	if (is_free && strict) {
		complain_free(name);
		abort();
	}
	pthread_mutex_lock(&lock);
	row = add_row(name, num);
	pthread_mutex_unlock(&lock);
	return row;
}

/* Adds what is not in the sum over all threads yet. */
static void
publish(struct usage_xmemory_level *level, struct sum *sum)
{
	int64_t by = level->now - level->published, now, max;

	USAGE_XMEMORY_SET(level->published, level->now);
	now = __atomic_add_fetch(&sum->now, by, __ATOMIC_SEQ_CST);
	max = __atomic_load_n(&sum->max, __ATOMIC_SEQ_CST);
	while (now > max &&
	    !__atomic_compare_exchange_n(&sum->max, &max, now, false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

void
usage_xmemory_pass(struct usage_xmemory_thread *self,
    struct usage_xmemory_level *level)
{
	uint64_t row = (uint64_t)(level - self->level);
	int64_t grain = grain_of(row), away = level->now - level->published;

	if (level->now > level->max)
		USAGE_XMEMORY_SET(level->max, level->now);
	if (away >= grain || away <= -grain)
		publish(level, &sums[row]);
	level->low = level->published - grain + 1;
	level->high = level->published + grain - 1;
	if (level->high > level->max)
		level->high = level->max;
}

static void
notice_resets(struct thread *t)
{
	uint32_t resets = __atomic_load_n(&usage_xmemory_resets, __ATOMIC_ACQUIRE);
	uint32_t n = __atomic_load_n(&nrows, __ATOMIC_ACQUIRE);

	for (uint32_t row = 0; t->seen != resets && row < n; row++)
		if ((int32_t)(USAGE_XMEMORY_GET(keys[row].reset) - t->seen) > 0) {
			USAGE_XMEMORY_SET(t->self.level[row].max,
			    t->self.level[row].now);
			usage_xmemory_pass(&t->self, &t->self.level[row]);
		}
	__atomic_store_n(&t->seen, resets, __ATOMIC_RELEASE);
	if (!t->shared)
		t->self.resets = resets;
}

static void
count(uint64_t row, uint64_t bytes, bool is_free)
{
	struct thread *t = my_thread();

	if (t->shared)
		pthread_mutex_lock(&lock);
	notice_resets(t);
	if (is_free)
		usage_xmemory_remove(&t->self, &t->self.level[row], bytes);
	else
		usage_xmemory_add(&t->self, &t->self.level[row], bytes);
	if (t->shared)
		pthread_mutex_unlock(&lock);
}

void
usage_xmemory_slow(struct usage_xmemory_cell *cell, uint64_t num, uint64_t bytes,
    int is_free)
{
	uint64_t row;

	pthread_once(&once, begin);
	row = row_of(cell->name, (int64_t)num, is_free);
	USAGE_XMEMORY_SET(cell->at,
	    usage_xmemory_at(num) + row * sizeof(struct usage_xmemory_level));
	count(row, bytes, is_free);
}

/* A name is mostly given at the same address; the text tells whether it is. */
static void
count_name(const char *name, int64_t num, bool is_free)
{
	struct thread *t;
	uint64_t at, row;

	if (name == NULL)
		name = "(null)";
	pthread_once(&once, begin);
	t = my_thread();
	at = ((uintptr_t)name / 4 + (uint64_t)num * 7) % RECENT;
	row = t->recent[at].row;
	if (t->shared || t->recent[at].name != name || t->recent[at].num != num ||
	    strcmp(keys[row].name, name) != 0) {
		row = row_of(name, num, is_free);
		if (!t->shared) {
			t->recent[at].name = name;
			t->recent[at].num = num;
			t->recent[at].row = row;
		}
	}
	count(row, 0, is_free);
}

void
alloc_usage_xmemory(const char *type_name, int num)
{
	count_name(type_name, num, false);
}

void
free_usage_xmemory(const char *type_name, int num)
{
	count_name(type_name, num, true);
}

/* With the lock. */
static void
reset_row(uint64_t row, uint32_t number)
{
	struct sum *sum = &sums[row];
	int64_t now;

	for (struct thread *t = threads; t != NULL; t = t->next)
		USAGE_XMEMORY_SET(t->base[row],
		    USAGE_XMEMORY_GET(t->self.level[row].now));
	/* A thread that publishes meanwhile raises the maximum itself, or is seen. */
	do {
		now = __atomic_load_n(&sum->now, __ATOMIC_SEQ_CST);
		__atomic_store_n(&sum->max, now, __ATOMIC_SEQ_CST);
	} while (now != __atomic_load_n(&sum->now, __ATOMIC_SEQ_CST));
	USAGE_XMEMORY_SET(keys[row].reset, number);
}

void
reset_max_usage_xmemory(const char *type_name, int num)
{
	uint32_t slot, number;
	uint64_t row;

	pthread_once(&once, begin);
	pthread_mutex_lock(&lock);
	number = usage_xmemory_resets + 1;
	if (type_name != NULL) {
		row = find_row(type_name, num, &slot);
		if (row != 0)
			reset_row(row, number);
	} else {
		for (row = 0; row < nrows; row++)
			reset_row(row, number);
	}
	__atomic_store_n(&usage_xmemory_resets, number, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

struct row_counts {
	uint64_t allocd;
	int64_t now, max;
};

static int64_t
thread_max(const struct thread *t, uint64_t row)
{
	uint32_t seen = __atomic_load_n(&t->seen, __ATOMIC_ACQUIRE);
	int64_t max = USAGE_XMEMORY_GET(t->self.level[row].max);
	int64_t base = USAGE_XMEMORY_GET(t->base[row]);

	if ((int32_t)(USAGE_XMEMORY_GET(keys[row].reset) - seen) > 0)
		return base;
	return max > base ? max : base;
}

/* With the lock. */
static void
read_row(uint64_t row, struct row_counts *out)
{
	int64_t by_threads = 0, by_sum;

	*out = (struct row_counts){ 0 };
	for (struct thread *t = threads; t != NULL; t = t->next) {
		out->allocd += USAGE_XMEMORY_GET(t->self.level[row].allocd);
		out->now += USAGE_XMEMORY_GET(t->self.level[row].now);
		by_threads += thread_max(t, row);
	}
	by_sum = __atomic_load_n(&sums[row].max, __ATOMIC_SEQ_CST) +
	    (int64_t)nthreads * grain_of(row);
	out->max = by_threads < by_sum ? by_threads : by_sum;
	if (out->max < out->now)
		out->max = out->now;
	if (out->max < 0)
		out->max = 0;
	/* A thread may have counted between the two readings. */
	if (out->now > 0 && (uint64_t)out->now > out->allocd)
		out->allocd = (uint64_t)out->now;
}

static void
print_name(const char *name, FILE *fp)
{
	for (; *name != '\0'; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			fprintf(fp, "%%%02X", (unsigned char)*name);
		else
			putc(*name, fp);
}

static void
print_row(uint64_t row, FILE *fp)
{
	struct row_counts n;

	/* The file may wait for its reader, so it is not written with the lock. */
	pthread_mutex_lock(&lock);
	read_row(row, &n);
	pthread_mutex_unlock(&lock);
	if (n.allocd == 0 && n.now == 0)
		return;
	print_name(keys[row].name, fp);
	fprintf(fp, ":%" PRId64 ":%" PRIu64 ":%" PRIu64 ":%" PRId64 "\n",
	    keys[row].num, n.allocd, n.allocd - (uint64_t)n.now, n.max);
}

void
dump_usage_xmemory(FILE *fp)
{
	uint32_t n = __atomic_load_n(&nrows, __ATOMIC_ACQUIRE);

	pthread_once(&once, begin);
	for (uint64_t row = FIRST; row < n; row++)
		print_row(row, fp);
	print_row(OTHER, fp);
}

/* With the lock. */
static uint64_t
objects_allocd(void)
{
	uint64_t sum = 0;

	for (struct thread *t = threads; t != NULL; t = t->next)
		for (uint64_t row = OTHER; row < nrows; row++)
			sum += USAGE_XMEMORY_GET(t->self.level[row].allocd);
	return sum;
}

void
totals_usage_xmemory(FILE *fp)
{
	pthread_once(&once, begin);
	for (uint64_t row = USAGE_XMEMORY_OBJECTS; row <= USAGE_XMEMORY_BYTES; row++) {
		struct row_counts n;

		pthread_mutex_lock(&lock);
		read_row(row, &n);
		if (row == USAGE_XMEMORY_OBJECTS)
			n.allocd = objects_allocd();
		pthread_mutex_unlock(&lock);
		fprintf(fp, "%s:%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64 "\n",
		    keys[row].name, n.allocd, n.allocd - (uint64_t)n.now, n.now,
		    n.max);
	}
}
