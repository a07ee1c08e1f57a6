// malloc() and free(), as in libstdc++; without memory the board stops.
#include <stdlib.h>

#include "new.h"

const std::nothrow_t std::nothrow;

static void *
must(void *p)
{
	if (p == nullptr)
		abort();
	return p;
}

void *operator new(size_t n) { return must(malloc(n != 0 ? n : 1)); }
void *operator new[](size_t n) { return must(malloc(n != 0 ? n : 1)); }
void *operator new(size_t n, const std::nothrow_t &) noexcept { return malloc(n != 0 ? n : 1); }
void *operator new[](size_t n, const std::nothrow_t &) noexcept { return malloc(n != 0 ? n : 1); }
void operator delete(void *p) noexcept { free(p); }
void operator delete[](void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
void operator delete[](void *p, size_t) noexcept { free(p); }
void operator delete(void *p, const std::nothrow_t &) noexcept { free(p); }
void operator delete[](void *p, const std::nothrow_t &) noexcept { free(p); }
