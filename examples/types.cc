/*
 * A C++ program that counts its objects by type with usage_xmemory, and prints the
 * counts at the end; alloclog logs the same objects, so that page K lists each of them.
 *
 *	c++ types.cc $(pkg-config --cflags --libs alloclog usage_xmemory)
 *	pagek run -- ./a.out
 *
 * Prints the rows of dump_usage_xmemory() when standard input ends.
 */
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <alloclog.h>
#include <usage_xmemory.h>

namespace shop {

struct order {
	int number;
	double price;
};

enum { ORDER = 0xc1, LINES = 0xc2 };

/* The template's row has the demangled name of T, "shop::order" here. */
template <class T>
T *
make(unsigned type, int n = 1)
{
	T *objects = usage_xmemory_of<T>::alloc(n);

	if (objects == NULL)
		alloclog_failed(sizeof(T) * n, type);
	else
		alloclog_alloc(objects, sizeof(T) * n, type);
	return objects;
}

template <class T>
void
drop(T *objects, int n = 1)
{
	alloclog_free(objects);
	usage_xmemory_of<T>::free(objects, n);
}

} // namespace shop

int
main()
{
	std::vector<shop::order *> orders;
	std::vector<int *> lines;

	alloclog_type(shop::ORDER, "ORDER", "an order of the shop");
	alloclog_type(shop::LINES, "LINES", "numbers of an order's lines");
	for (int i = 0; i < 8; i++) {
		orders.push_back(shop::make<shop::order>(shop::ORDER));
		lines.push_back(shop::make<int>(shop::LINES, 8));
	}
	for (int i = 0; i < 5; i++)
		shop::drop(orders[i]);
	std::puts("3 orders and 8 arrays of lines are there");
	std::fflush(stdout);
	while (std::getchar() != EOF)
		continue;
	dump_usage_xmemory(stdout);
	return 0;
}
