/*
 * A plugin with operators of its own, which take NUMBER bytes from an arena:
 * run() is how many they gave and got back; a block of another's would end it.
 * The nothrow form is the C++ library's, which calls the other by its name, and
 * so that of the plugin which brought the library.
 */
#include <cstdlib>
#include <new>

extern "C" int run();

/* In each that is built with another number they lie elsewhere. */
#define SKIP_(n) ".text\n.skip " #n "\n"
#define SKIP(n) SKIP_(n)
__asm__(SKIP(NUMBER));

static char arena[64 * 1024];
static size_t used;
static int times;

void *
operator new(size_t size)
{
	void *p = arena + used;

	used = (used + size + NUMBER) % (sizeof(arena) / 2);
	times += NUMBER;
	return p;
}

void
operator delete(void *p) noexcept
{
	if (static_cast<char *>(p) < arena || p >= arena + sizeof(arena))
		abort();
	times += NUMBER;
}

void
operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

static int *volatile kept;

int
run()
{
	for (int i = 0; i < 10; i++) {
		kept = new int(i);
		delete kept;
#ifdef BRINGS
		kept = new (std::nothrow) int(i);
		delete kept;
#endif
	}
	return times;
}
