/* The library that needs.cc needs. */
#include <cstdlib>
#include <new>

extern int given();

static int times;

void *
operator new(size_t size)
{
	times++;
	return malloc(size);
}

void
operator delete(void *p) noexcept
{
	times++;
	free(p);
}

void
operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

int
given()
{
	return times;
}
