/*
 * events malloc|realloc|new COUNT: one kind of event and nothing else, COUNT
 * pairs of it, 20 frames below main.  tests/instructions counts what each of
 * them costs in liballoclog.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define DEPTH 20

/* What a program does with a block, as far as the compiler can tell. */
static inline void
use(void *&p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
}

static void
pairs_of_malloc(long count)
{
	for (long i = 0; i < count; i++) {
		void *p = malloc(100);

		use(p);
		free(p);
	}
}

/* In place and moved: to the size before and to one much larger, in turn. */
static void
pairs_of_realloc(long count)
{
	void *p = malloc(100);

	for (long i = 0; i < count; i++) {
		p = realloc(p, 1000);
		use(p);
		p = realloc(p, 100);
		use(p);
	}
	free(p);
}

static void
pairs_of_new(long count)
{
	for (long i = 0; i < count; i++) {
		void *p = operator new(100);

		use(p);
		operator delete(p);
	}
}

static __attribute__((noinline)) void
descend(int depth, void (*loop)(long), long count)
{
	if (depth > 0)
		descend(depth - 1, loop, count);
	else
		loop(count);
	__asm__ volatile("" ::: "memory");
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*loop)(long);
	} kinds[] = {
		{ "malloc", pairs_of_malloc },
		{ "realloc", pairs_of_realloc },
		{ "new", pairs_of_new },
	};

	for (const auto &kind : kinds)
		if (argc == 3 && strcmp(argv[1], kind.name) == 0) {
			descend(DEPTH, kind.loop, atol(argv[2]));
			return 0;
		}
	fprintf(stderr, "usage: events malloc|realloc|new COUNT\n");
	return 2;
}
