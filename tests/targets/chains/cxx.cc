/*
 * cxx: chains in C++: templates, classes, lambdas, operators new, containers,
 * and what is allocated while and after an exception passes.
 */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <stdlib.h>

#include "chain.h"

#define THROUGH_STD(statement) \
	do { \
		chain_push(CHAIN_HERE, __FILE__, __LINE__, chain_kind_here); \
		chain_push("std::", NULL, 0, CHAIN_PREFIX); \
		statement; \
		chain_pop(); \
		chain_pop(); \
	} while (0)

static void
touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

namespace shape {

template <typename T>
class Box {
public:
	APART T *
	make(size_t n)
	{
		T *p;

		KEEP(p, static_cast<T *>(malloc(n * sizeof(T))));
		touch(p);
		return p;
	}

	template <int Times>
	APART T *
	repeat()
	{
		T *p;

		THROUGH(p = make(Times));
		touch(p);
		return p;
	}

	INSIDE T *
	inside(size_t n)
	{
		INLINED;
		T *p;

		KEEP(p, static_cast<T *>(calloc(n, sizeof(T))));
		touch(p);
		return p;
	}

	APART static void *
	of_class(size_t n)
	{
		Box<T> box;
		void *p;

		THROUGH(p = box.inside(n));
		touch(p);
		return p;
	}
};

struct Base {
	virtual ~Base() = default;
	virtual void *grow(size_t) = 0;
};

struct Leaf : Base {
	APART void *
	grow(size_t n) override
	{
		void *p;

		KEEP(p, malloc(n));
		touch(p);
		return p;
	}
};

struct Other {
	long filler = 1;
	virtual ~Other() = default;
	virtual void *shrink(size_t) = 0;
};

/* grow and shrink of the second base come by way of a thunk. */
struct Both : Base, Other {
	APART void *
	grow(size_t n) override
	{
		void *p;

		KEEP(p, malloc(n + 1));
		touch(p);
		return p;
	}

	APART void *
	shrink(size_t n) override
	{
		void *p;

		KEEP(p, malloc(n - 1));
		touch(p);
		return p;
	}
};

} // namespace shape

namespace {

APART void *
hidden(size_t n)
{
	void *p;

	KEEP(p, malloc(n));
	touch(p);
	return p;
}

} // namespace

/* --- operators ----------------------------------------------------------- */

struct Plain {
	long a[5];
};

struct Built {
	void *owned;

	APART Built()
	{
		KEEP(owned, malloc(50));
	}

	APART ~Built()
	{
		free(owned);
	}
};

APART static void
operators()
{
	void *p;
	Built *b;

	KEEP(p, new Plain);
	KEEP(p, new Plain[3]);
	KEEP(p, new (std::nothrow) Plain);
	KEEP(p, ::operator new(77));
	KEEP(p, ::operator new(77, std::align_val_t(64)));
	THROUGH(b = new Built);
	touch(b);
}

/* --- lambdas and functions of the library --------------------------------- */

APART static void *
call(const std::function<void *(size_t)> &f)
{
	void *p;

	THROUGH_STD(p = f(60));
	touch(p);
	return p;
}

APART static void *
lambdas()
{
	size_t more = 3;
	void *p;

	auto own = [&](size_t n) APART {
		void *q;

		KEEP_AS("operator()", q, malloc(n + more));
		touch(q);
		return q;
	};
	auto within = [&](size_t n) __attribute__((always_inline)) {
		INLINED;
		void *q;

		KEEP_AS("operator()", q, malloc(n + more));
		touch(q);
		return q;
	};

	THROUGH(p = own(1));
	THROUGH(p = within(2));
	THROUGH(p = call(own));
	return p;
}

static int sorted;

struct Less {
	APART bool
	operator()(int a, int b) const
	{
		void *p;

		if (sorted++ == 3) {
			KEEP_AS("operator()", p, malloc(61));
			touch(p);
		}
		return a < b;
	}
};

APART static void
containers()
{
	std::vector<int> *v;
	std::string *s;
	std::map<int, int> m;
	std::vector<int> numbers { 5, 2, 8, 1, 9, 4, 7, 3 };

	sorted = 0;
	THROUGH_STD(std::sort(numbers.begin(), numbers.end(), Less()));
	KEEP(v, new std::vector<int>);
	v->reserve(100);
	THROUGH_STD(v->reserve(1000); chain_keep(v->data()));
	s = new std::string;
	THROUGH_STD(s->assign(300, 'x'); chain_keep(&(*s)[0]));
	auto shared = new std::shared_ptr<Plain>;
	THROUGH_STD(*shared = std::make_shared<Plain>());
	touch(shared);
}

/* --- exceptions ------------------------------------------------------------ */

struct Guard {
	/* A landing pad has no line that all compilers agree on. */
	APART ~Guard()
	{
		void *p;

		KEEP(p, malloc(70));
		touch(p);
	}
};

APART static void
throw_at(int depth)
{
	char room[64];

	touch(room);
	if (depth == 0)
		throw std::runtime_error("as planned");
	throw_at(depth - 1);
	touch(room);
}

APART static void
guarded(int depth)
{
	int mark = chain_mark();

	chain_push(CHAIN_HERE, __FILE__, 0, CHAIN_APART);
	{
		Guard guard;

		touch(&guard);
		throw_at(depth);
	}
	chain_reset(mark);
}

APART static void
exceptions()
{
	int mark = chain_mark();
	void *p;

	for (int depth = 0; depth < 12; depth += 5) {
		try {
			THROUGH(guarded(depth));
		} catch (const std::exception &e) {
			chain_reset(mark);
			KEEP(p, malloc(71));
			THROUGH(p = hidden(72));
		}
	}
	try {
		THROUGH(throw_at(3));
	} catch (...) {
		chain_reset(mark);
		try {
			THROUGH(throw_at(4));
		} catch (...) {
			chain_reset(mark);
			KEEP(p, malloc(73));
		}
		KEEP(p, malloc(74));
	}
	KEEP(p, malloc(75));
	touch(p);
}

/* A block that its thrower's constructor asks for, as the stack unwinds. */
APART static void
noexcept_middle() noexcept
{
	THROUGH(exceptions());
	__asm__ volatile("");
}

int
main()
{
	shape::Box<int> ints;
	shape::Box<std::pair<long, char>> pairs;
	shape::Base *base = new shape::Leaf, *both = new shape::Both;
	shape::Other *other = new shape::Both;
	void *p;

	chain_case("templates");
	THROUGH(p = ints.make(3));
	THROUGH(p = pairs.make(4));
	THROUGH(p = ints.repeat<5>());
	THROUGH(p = pairs.repeat<6>());
	THROUGH(p = shape::Box<char>::of_class(9));
	THROUGH(p = ints.inside(10));
	chain_case("virtual functions");
	THROUGH(p = base->grow(11));
	THROUGH(p = both->grow(12));
	THROUGH(p = other->shrink(13));
	chain_case("anonymous namespace");
	THROUGH(p = hidden(14));
	chain_case("operators");
	THROUGH(operators());
	chain_case("lambdas");
	THROUGH(p = lambdas());
	chain_case("containers");
	THROUGH(containers());
	chain_case("exceptions");
	THROUGH(exceptions());
	THROUGH(noexcept_middle());
	touch(p);
	chain_tell_and_wait();
	return 0;
}
