/*
 * forms: makes and gives back a thousand blocks by each form of new and delete;
 * prints kept=0.
 */
#include <cstddef>
#include <cstdio>
#include <new>

namespace {

constexpr std::size_t SIZE = 48;
constexpr std::align_val_t AL{64};

void
each_form()
{
	operator delete(operator new(SIZE));
	operator delete[](operator new[](SIZE));
	operator delete(operator new(SIZE), SIZE);
	operator delete[](operator new[](SIZE), SIZE);
	operator delete(operator new(SIZE, std::nothrow), std::nothrow);
	operator delete[](operator new[](SIZE, std::nothrow), std::nothrow);
	operator delete(operator new(SIZE, AL), AL);
	operator delete[](operator new[](SIZE, AL), AL);
	operator delete(operator new(SIZE, AL, std::nothrow), AL, std::nothrow);
	operator delete[](operator new[](SIZE, AL, std::nothrow), AL,
	    std::nothrow);
}

} // namespace

int
main()
{
	for (int i = 0; i < 1000; i++)
		each_form();
	std::puts("kept=0");
	return 0;
}
