/*
 * talloc: objects of a tree.  talloc frees an object with its children, so a
 * destructor of each object logs its end.
 *
 *	cc talloc.c $(pkg-config --cflags --libs alloclog talloc)
 *
 * Prints what talloc itself counts, as "TYPE BLOCKS BYTES", and goes on with each
 * line of standard input.
 */
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include <alloclog.h>

#define OBJECT 0xc1

/* --- the adapter ---------------------------------------------------------- */

/* talloc calls it before it gives the memory back; 0 lets it go on. */
static int
logged_end(void *object)
{
	alloclog_free(object);
	return 0;
}

/* As talloc_size(). */
static void *
logged_talloc(const void *parent, size_t size)
{
	void *object = talloc_size(parent, size);

	if (object == NULL) {
		alloclog_failed(size, OBJECT);
		return NULL;
	}
	alloclog_alloc(object, size, OBJECT);
	talloc_set_destructor(object, logged_end);
	return object;
}

/* As talloc_realloc_size() of an object; the destructor stays set. */
static void *
logged_realloc(const void *parent, void *object, size_t size)
{
	size_t was = talloc_get_size(object);
	void *grown;

	alloclog_free(object);
	grown = talloc_realloc_size(parent, object, size);
	if (grown == NULL) {
		alloclog_failed(size, OBJECT);
		alloclog_alloc(object, was, OBJECT);
	} else {
		alloclog_alloc(grown, size, OBJECT);
	}
	return grown;
}

/* --- a program that uses it ------------------------------------------------- */

static void
say(const void *root)
{
	printf("OBJECT %zu %zu\n", root != NULL ? talloc_total_blocks(root) : 0,
	    root != NULL ? talloc_total_size(root) : 0);
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		continue;
}

int
main(void)
{
	char *root, *request[20], *reply = NULL;

	alloclog_type(OBJECT, "OBJECT", "object of talloc");
	root = logged_talloc(NULL, 1000);
	for (size_t i = 0; i < 20; i++) {
		request[i] = logged_talloc(root, 100 + i);
		for (size_t k = 0; k < 5; k++)
			reply = logged_talloc(request[i], 10 * k);
	}
	say(root);
	/* Each one goes with its five replies. */
	for (size_t i = 0; i < 15; i++)
		talloc_free(request[i]);
	say(root);
	/* One is moved to another parent, and one grows. */
	talloc_steal(root, reply);
	talloc_free(request[19]);
	request[18] = logged_realloc(root, request[18], 100000);
	say(root);
	talloc_free(root);
	say(NULL);
	return 0;
}
