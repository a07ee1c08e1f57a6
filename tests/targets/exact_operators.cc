/*
 * exact_operators: all forms of new and delete; constructors that throw, a
 * new_handler that frees and then gives up, requests that fail with and
 * without an exception, a longjmp out of a new_handler.
 *
 * Prints kept=N (blocks left), caught=N and handled=N.
 */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

static volatile size_t huge = static_cast<size_t>(1) << 60;
static int caught, handled, kept;
static void *reserve;
static std::jmp_buf out;

struct alignas(128) wide {
	char bytes[200];
};

struct thrower {
	std::string name = "a name too long for the string itself";
	thrower() { throw 42; }
};

static void
every_form()
{
	using std::align_val_t;
	using std::nothrow;

	delete new int(1);
	delete[] new int[100];
	delete new wide;
	delete[] new wide[3];
	operator delete(operator new(10));
	operator delete(operator new(10), static_cast<size_t>(10));
	operator delete[](operator new[](10));
	operator delete[](operator new[](10), static_cast<size_t>(10));
	operator delete(operator new(10, nothrow), nothrow);
	operator delete[](operator new[](10, nothrow), nothrow);
	operator delete(operator new(100, align_val_t(64)), align_val_t(64));
	operator delete(operator new(100, align_val_t(64)),
	    static_cast<size_t>(100), align_val_t(64));
	operator delete[](operator new[](100, align_val_t(64)), align_val_t(64));
	operator delete[](operator new[](100, align_val_t(64)),
	    static_cast<size_t>(100), align_val_t(64));
	operator delete(operator new(100, align_val_t(64), nothrow),
	    align_val_t(64), nothrow);
	operator delete[](operator new[](100, align_val_t(64), nothrow),
	    align_val_t(64), nothrow);
	delete static_cast<int *>(nullptr);
}

/* Gives back what was put by and allocates on its own account, then gives up. */
static void
handler()
{
	handled++;
	if (reserve == nullptr)
		throw std::bad_alloc();
	free(reserve);
	reserve = nullptr;
	delete new std::string(300, 'h');
	free(malloc(77));
}

static void
jumper()
{
	handled++;
	std::longjmp(out, 1);
}

static void
failing()
{
	for (int i = 0; i < 3; i++) {
		try {
			delete new thrower;
		} catch (int) {
			caught++;
		}
		try {
			delete[] new thrower[4];
		} catch (int) {
			caught++;
		}
		try {
			kept += operator new(huge) != nullptr;
		} catch (const std::bad_alloc &) {
			caught++;
		}
		try {
			kept += operator new[](huge, std::align_val_t(64)) != nullptr;
		} catch (const std::bad_alloc &) {
			caught++;
		}
		kept += operator new(huge, std::nothrow) != nullptr;
		kept += operator new[](huge, std::nothrow) != nullptr;
		if (i == 0) {
			std::set_new_handler(handler);
			reserve = malloc(5000);
		}
	}
	std::set_new_handler(jumper);
	if (setjmp(out) == 0)
		kept += operator new(huge) != nullptr;
	std::set_new_handler(nullptr);
}

int
main()
{
	static std::vector<std::unique_ptr<wide>> stay;

	every_form();
	failing();
	for (int i = 0; i < 20; i++)
		stay.push_back(std::make_unique<wide>());
	kept += static_cast<int>(stay.size());
	new std::string(100, 'k');
	kept += 2;
	every_form();
	dprintf(1, "kept=%d\ncaught=%d\nhandled=%d\n", kept, caught, handled);
	_exit(4);
}
