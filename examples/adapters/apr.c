/*
 * APR pools: objects are not freed one by one, but with their pool.  So the adapter
 * remembers the extents in which objects lie, and the pool's cleanup ends each
 * extent with one record.
 *
 *	cc apr.c $(pkg-config --cflags --libs alloclog apr-1)
 *
 * Prints what the pools themselves have given out, as "TYPE BLOCKS BYTES", and
 * goes on with each line of standard input.
 */
#include <apr_general.h>
#include <apr_pools.h>
#include <stdio.h>

#include <alloclog.h>

#define OBJECT 0xc1

/* --- the adapter ---------------------------------------------------------- */

/* Objects side by side, in one piece of the pool's memory. */
struct extent {
	struct extent *next;
	char *from, *to;
};

/* Lies in its pool, and goes with it. */
struct logged_pool {
	apr_pool_t *pool;
	struct extent *extents;		/* the newest first */
	struct extent first;
};

/* APR calls it before a pool is cleared or destroyed. */
static apr_status_t
logged_end(void *arg)
{
	struct logged_pool *logged = arg;

	for (struct extent *e = logged->extents; e != NULL; e = e->next)
		alloclog_free_range(e->from, (size_t)(e->to - e->from));
	return APR_SUCCESS;
}

/* For a pool that is new or has just been cleared. */
static struct logged_pool *
logged_open(apr_pool_t *pool)
{
	struct logged_pool *logged = apr_pcalloc(pool, sizeof *logged);

	logged->pool = pool;
	logged->extents = &logged->first;
	apr_pool_cleanup_register(pool, logged, logged_end,
	    apr_pool_cleanup_null);
	/* A request of no bytes says where the pool goes on. */
	logged->first.from = logged->first.to = apr_palloc(pool, 0);
	return logged;
}

/* As apr_palloc(). */
static void *
logged_palloc(struct logged_pool *logged, size_t size)
{
	char *object = apr_palloc(logged->pool, size);
	struct extent *e = logged->extents;

	if (object == NULL) {
		alloclog_failed(size, OBJECT);
		return NULL;
	}
	if (object != e->to) {
		e = apr_pcalloc(logged->pool, sizeof *e);
		e->next = logged->extents;
		e->from = object;
		logged->extents = e;
	}
	e->to = object + APR_ALIGN_DEFAULT(size);
	alloclog_alloc(object, size, OBJECT);
	return object;
}

/* --- a program that uses it ------------------------------------------------- */

static unsigned long objects;

/* Bytes: how far a pool has come in its first piece of memory. */
static void
say(const char *begin, const char *end)
{
	printf("OBJECT %lu ", objects);
	if (begin != NULL)
		printf("%td\n", end - begin);
	else
		puts(objects != 0 ? "-" : "0");
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		continue;
}

/* Sizes are multiples of 8, as APR rounds them up. */
static void
take(struct logged_pool *logged, unsigned n)
{
	for (unsigned i = 0; i < n; i++, objects++)
		logged_palloc(logged, 8 + i % 5 * 8);
}

int
main(void)
{
	struct logged_pool *parent, *child;
	apr_pool_t *pool, *below;
	const char *begin;

	if (apr_initialize() != APR_SUCCESS ||
	    apr_pool_create(&pool, NULL) != APR_SUCCESS ||
	    apr_pool_create(&below, pool) != APR_SUCCESS)
		return 1;
	alloclog_type(OBJECT, "OBJECT", "object of an APR pool");
	parent = logged_open(pool);
	begin = apr_palloc(pool, 0);
	take(parent, 100);
	say(begin, apr_palloc(pool, 0));
	/* Too many for one piece of memory, in a pool below. */
	child = logged_open(below);
	take(child, 5000);
	say(NULL, NULL);
	apr_pool_clear(below);
	objects -= 5000;
	say(begin, apr_palloc(pool, 0));
	/* Both end with the parent. */
	child = logged_open(below);
	take(child, 1000);
	apr_pool_destroy(pool);
	objects = 0;
	say(NULL, NULL);
	apr_terminate();
	return 0;
}
