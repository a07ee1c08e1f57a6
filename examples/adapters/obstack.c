/*
 * Obstacks of the GNU C library: a stack of objects in chunks.  A free ends the
 * object and all later ones.  So the adapter ends a range of the object's chunk, and
 * the chunks after it with all their objects.
 *
 *	cc obstack.c $(pkg-config --cflags --libs alloclog)
 *
 * Prints the obstack's chunks and objects, as "TYPE BLOCKS BYTES", and goes on with
 * each line of standard input.
 */
#include <obstack.h>
#include <stdio.h>
#include <stdlib.h>

#include <alloclog.h>

#define CHUNK 0xc1
#define OBJECT 0xc2

/* --- the adapter ---------------------------------------------------------- */

/* As xmalloc(): an obstack cannot go on without its chunk. */
static void *
logged_chunk(size_t size)
{
	void *chunk = malloc(size);

	if (chunk == NULL) {
		alloclog_failed(size, CHUNK);
		abort();
	}
	alloclog_alloc(chunk, size, CHUNK);
	return chunk;
}

/* The chunk and the objects in it. */
static void
logged_chunk_end(void *memory)
{
	struct _obstack_chunk *chunk = memory;

	alloclog_free_range(chunk, (size_t)(chunk->limit - (char *)chunk));
	free(chunk);
}

#define obstack_chunk_alloc logged_chunk
#define obstack_chunk_free logged_chunk_end

static void *
logged_alloc(struct obstack *stack, size_t size)
{
	void *object = obstack_alloc(stack, size);

	alloclog_alloc(object, size, OBJECT);
	return object;
}

/* The object, and all after it; NULL: the whole obstack. */
static void
logged_free(struct obstack *stack, void *object)
{
	const struct _obstack_chunk *chunk = stack->chunk;
	char *at = object;

	while (chunk != NULL && (at < (char *)chunk || at > chunk->limit))
		chunk = chunk->prev;
	if (chunk != NULL)
		alloclog_free_range(at, (size_t)(chunk->limit - at));
	obstack_free(stack, object);
}

/* --- a program that uses it ------------------------------------------------- */

static struct obstack stack;

static void
say(size_t objects, size_t bytes, size_t chunks)
{
	printf("CHUNK - %zu\nOBJECT %zu %zu\n", chunks, objects, bytes);
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		continue;
}

int
main(void)
{
	static void *object[3000];
	size_t sum[3001] = { 0 };

	alloclog_type(CHUNK, "CHUNK", "chunk of an obstack");
	alloclog_type(OBJECT, "OBJECT", "object of an obstack");
	obstack_init(&stack);
	for (size_t i = 0; i < 3000; i++) {
		object[i] = logged_alloc(&stack, 1 + i % 100);
		sum[i + 1] = sum[i] + 1 + i % 100;
	}
	say(3000, sum[3000], obstack_memory_used(&stack));
	/* The last one alone, then half of them, then all but one. */
	logged_free(&stack, object[2999]);
	say(2999, sum[2999], obstack_memory_used(&stack));
	logged_free(&stack, object[1500]);
	say(1500, sum[1500], obstack_memory_used(&stack));
	logged_free(&stack, object[1]);
	say(1, sum[1], obstack_memory_used(&stack));
	logged_free(&stack, NULL);
	say(0, 0, 0);
	return 0;
}
