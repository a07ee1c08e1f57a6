/*
 * usage_xmemory: how much of each type a program has allocated, freed and
 * holds.
 *
 * Vocabulary
 *	row		the counts of a type name and a number: arrays of 12 char
 *			are a row, single ones another.
 *	allocd, freed	objects of a row; an array is one object.
 *	in use		allocated and not freed: never printed below 0.
 *	max		the most objects of a row in use at once, since the start
 *			or the last reset of the row.
 *	cell		which row a call site counts in, looked up once.
 *	(other)		the row of all that finds no place in the table.
 *
 * Example
 *	struct T *t = xalloc(struct T);
 *	char *name = xnalloc(char, 12);
 *	...
 *	xnfree(char, 12, name);
 *	xfree(struct T, t);
 *	dump_usage_xmemory(stderr);		struct T:1:1:1:1
 *						char:12:1:1:1
 *
 * Any thread may call any function, but not in a signal handler.  A program
 * links libusage_xmemory.a; each copy of it has a table of its own.  The table
 * takes no memory through malloc.  See usage_xmemory(3).
 */
#ifndef USAGE_XMEMORY_H
#define USAGE_XMEMORY_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
#include <cxxabi.h>
#include <typeinfo>

extern "C" {
#endif

/*
 * Counts one object: an array of num elements of that type.  The name is copied
 * and compared as text; NULL counts as "(null)".  The object's size is not known,
 * so it is missing from the bytes of totals_usage_xmemory().
 */
void alloc_usage_xmemory(const char *type_name, int num);
/*
 * The reverse.  A type that was never allocated gets a row of its own; with
 * PAGEK_USAGE_STRICT=1 in the environment the program is aborted with its name.
 */
void free_usage_xmemory(const char *type_name, int num);

/* The row's max becomes what is in use.  name NULL: of all rows and the totals. */
void reset_max_usage_xmemory(const char *type_name, int num);

/*
 * One line for each row, in the order of first use: name:num:allocd:freed:max.
 * Control characters in a name are printed as %0A and the like.
 */
void dump_usage_xmemory(FILE *);

/*
 * Two lines, of all rows: objects:allocd:freed:now:max and
 * bytes:allocd:freed:now:max.
 */
void totals_usage_xmemory(FILE *);

/* The static one of a call site. */
struct usage_xmemory_cell {
	const char *name;
	uint64_t at;		/* usage_xmemory_at() of its number, plus the row's offset; 0: not looked up */
};

/* Of a row, in one thread. */
struct usage_xmemory_level {
	uint64_t allocd;	/* not counted for objects: their rows have it */
	int64_t now;		/* allocd - freed; below 0 if it frees what others allocate */
	int64_t high, low;	/* usage_xmemory_pass() is due above and below */
	int64_t max;		/* of now, since the last reset */
	int64_t published;	/* of now, in the sum over all threads */
};

#define USAGE_XMEMORY_ROWS 4096

struct usage_xmemory_thread {
	uint32_t resets;	/* of the process, as this thread has seen */
	struct usage_xmemory_level level[USAGE_XMEMORY_ROWS];
};

/* Never NULL; the resets of a thread that has not counted yet are never equal. */
extern __thread struct usage_xmemory_thread *usage_xmemory_self;
extern uint32_t usage_xmemory_resets;

/* The two rows of totals; types follow. */
#define USAGE_XMEMORY_OBJECTS 0
#define USAGE_XMEMORY_BYTES 1

/* Offsets of levels are below this one. */
#define USAGE_XMEMORY_OFFSETS (UINT64_C(1) << 18)

static inline uint64_t
usage_xmemory_at(uint64_t num)
{
	return (num + 1) * USAGE_XMEMORY_OFFSETS;
}

/* Looks the cell's row up, or makes the thread ready to count; then counts. */
void usage_xmemory_slow(struct usage_xmemory_cell *, uint64_t num, uint64_t bytes,
    int is_free);
/* The level has passed a limit: sets its max, or adds it to the sum. */
void usage_xmemory_pass(struct usage_xmemory_thread *,
    struct usage_xmemory_level *);

/* Other threads read these words while their thread writes them. */
#define USAGE_XMEMORY_GET(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define USAGE_XMEMORY_SET(word, value) \
	__atomic_store_n(&(word), (value), __ATOMIC_RELAXED)

static inline void
usage_xmemory_rise(struct usage_xmemory_thread *self,
    struct usage_xmemory_level *level, uint64_t by)
{
	int64_t now = level->now + (int64_t)by;

	USAGE_XMEMORY_SET(level->now, now);
	if (__builtin_expect(now > level->high, 0))
		usage_xmemory_pass(self, level);
}

static inline void
usage_xmemory_fall(struct usage_xmemory_thread *self,
    struct usage_xmemory_level *level, uint64_t by)
{
	int64_t now = level->now - (int64_t)by;

	USAGE_XMEMORY_SET(level->now, now);
	if (__builtin_expect(now < level->low, 0))
		usage_xmemory_pass(self, level);
}

/* Counts one object. */
static inline void
usage_xmemory_add(struct usage_xmemory_thread *self,
    struct usage_xmemory_level *level, uint64_t bytes)
{
	struct usage_xmemory_level *all = &self->level[USAGE_XMEMORY_BYTES];

	USAGE_XMEMORY_SET(level->allocd, level->allocd + 1);
	USAGE_XMEMORY_SET(all->allocd, all->allocd + bytes);
	usage_xmemory_rise(self, level, 1);
	usage_xmemory_rise(self, &self->level[USAGE_XMEMORY_OBJECTS], 1);
	usage_xmemory_rise(self, all, bytes);
}

static inline void
usage_xmemory_remove(struct usage_xmemory_thread *self,
    struct usage_xmemory_level *level, uint64_t bytes)
{
	usage_xmemory_fall(self, level, 1);
	usage_xmemory_fall(self, &self->level[USAGE_XMEMORY_OBJECTS], 1);
	usage_xmemory_fall(self, &self->level[USAGE_XMEMORY_BYTES], bytes);
}

static inline void
usage_xmemory_count(struct usage_xmemory_cell *cell, uint64_t num, uint64_t bytes,
    int is_free)
{
	struct usage_xmemory_thread *self = usage_xmemory_self;
	uint64_t offset = USAGE_XMEMORY_GET(cell->at) - usage_xmemory_at(num);
	struct usage_xmemory_level *level;

	if (__builtin_expect(offset >= USAGE_XMEMORY_OFFSETS ||
	    self->resets != USAGE_XMEMORY_GET(usage_xmemory_resets), 0)) {
		usage_xmemory_slow(cell, num, bytes, is_free);
		return;
	}
	level = (struct usage_xmemory_level *)(void *)((char *)self->level + offset);
	if (is_free)
		usage_xmemory_remove(self, level, bytes);
	else
		usage_xmemory_add(self, level, bytes);
}

/* num objects of that size; NULL with ENOMEM, and not counted, if there is no room. */
static inline void *
usage_xmemory_alloc(struct usage_xmemory_cell *cell, size_t size, int64_t num)
{
	void *p;

	if (num < 0 || num >= INT64_C(1) << 45 ||
	    (size != 0 && (uint64_t)num > SIZE_MAX / size)) {
		errno = ENOMEM;
		return NULL;
	}
	p = malloc(size * (size_t)num);
	if (p != NULL)
		usage_xmemory_count(cell, (uint64_t)num, size * (size_t)num, 0);
	return p;
}

/* NULL is freed, but not counted. */
static inline void
usage_xmemory_free(struct usage_xmemory_cell *cell, size_t size, int64_t num,
    void *p)
{
	if (p != NULL)
		usage_xmemory_count(cell, (uint64_t)num & ((UINT64_C(1) << 45) - 1),
		    size * (size_t)num, 1);
	free(p);
}

#ifdef __cplusplus
}
#endif

/*
 *	xalloc(TYPE)		one object
 *	xnalloc(TYPE, N)	an array of N
 *	xfree(TYPE, P)		frees one object
 *	xnfree(TYPE, N, P)	frees an array of N
 *
 * Each argument is evaluated once.  TYPE* must be a pointer to TYPE: for an array
 * or a function, and with a comma outside of xalloc(), use a typedef.  Memory is
 * that of malloc(): no constructor runs.
 */
#ifndef __cplusplus

#define USAGE_XMEMORY_CELL(text) \
	static struct usage_xmemory_cell usage_xmemory_cell_ = { (text), 0 }

#define xalloc(...) \
	(__extension__({ \
		USAGE_XMEMORY_CELL(#__VA_ARGS__); \
		(__VA_ARGS__ *)usage_xmemory_alloc(&usage_xmemory_cell_, \
		    sizeof(__VA_ARGS__), 1); \
	}))
#define xnalloc(_t, _n) \
	(__extension__({ \
		USAGE_XMEMORY_CELL(#_t); \
		(_t *)usage_xmemory_alloc(&usage_xmemory_cell_, sizeof(_t), \
		    (int64_t)(_n)); \
	}))
#define xnfree(_t, _n, _p) \
	(__extension__({ \
		USAGE_XMEMORY_CELL(#_t); \
		int64_t usage_xmemory_n_ = (int64_t)(_n); \
		_t *usage_xmemory_p_ = (_p); \
		usage_xmemory_free(&usage_xmemory_cell_, sizeof(_t), \
		    usage_xmemory_n_, usage_xmemory_p_); \
	}))

#define xfree(_t, _p) xnfree(_t, 1, _p)

#else

/* The lambda has a static cell for each call site. */
#define USAGE_XMEMORY_CELL(text) \
	([]() -> usage_xmemory_cell * { \
		static usage_xmemory_cell cell = { (text), 0 }; \
		return &cell; \
	}())

/*
 * For templates, where the text of an argument is only its parameter's name: the
 * name is that of the type, demangled.
 *
 *	T *p = usage_xmemory_of<T>::alloc(n);
 *	usage_xmemory_of<T>::free(p, n);
 */
template <class T> class usage_xmemory_of {
public:
	static T *
	alloc(int64_t num = 1)
	{
		return alloc_at(cell(), num);
	}
	static void
	free(T *p, int64_t num = 1)
	{
		free_at(cell(), num, p);
	}

	/* Private to the macros. */
	static T *
	alloc_at(usage_xmemory_cell *at, int64_t num)
	{
		return static_cast<T *>(usage_xmemory_alloc(at, sizeof(T), num));
	}
	static void
	free_at(usage_xmemory_cell *at, int64_t num, T *p)
	{
		usage_xmemory_free(at, sizeof(T), num, p);
	}

private:
	/* The text lives as long as the program. */
	static const char *
	name()
	{
		int status;
		char *text = abi::__cxa_demangle(typeid(T).name(), 0, 0, &status);

		return text != 0 ? text : typeid(T).name();
	}
	static usage_xmemory_cell *
	cell()
	{
		static usage_xmemory_cell one = { name(), 0 };

		return &one;
	}
};

#define xalloc(...) \
	(usage_xmemory_of<__VA_ARGS__>::alloc_at( \
	    USAGE_XMEMORY_CELL(#__VA_ARGS__), 1))
#define xnalloc(_t, _n) \
	(usage_xmemory_of<_t>::alloc_at(USAGE_XMEMORY_CELL(#_t), \
	    static_cast<int64_t>(_n)))
#define xnfree(_t, _n, _p) \
	(usage_xmemory_of<_t>::free_at(USAGE_XMEMORY_CELL(#_t), \
	    static_cast<int64_t>(_n), (_p)))
#define xfree(_t, _p) xnfree(_t, 1, _p)

#endif
#endif
