// operator new and delete of a firmware without exceptions and libstdc++.
#ifndef NEW_H
#define NEW_H

#include <stddef.h>

namespace std {
struct nothrow_t { explicit nothrow_t() = default; };
extern const nothrow_t nothrow;
}

void *operator new(size_t);
void *operator new[](size_t);
void *operator new(size_t, const std::nothrow_t &) noexcept;
void *operator new[](size_t, const std::nothrow_t &) noexcept;

#endif
