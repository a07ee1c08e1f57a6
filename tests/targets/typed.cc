/*
 * typed: blocks of twenty types, each requested in another way; "ready PID", and
 * then a sleep.  Each type has its number in its name, and in its size.
 */
#include <cstdlib>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace app {

template <int N> struct Bytes {
	char byte[N];
};

/* Each is another type, whose size says which. */
#define TYPE(n) struct Type##n : Bytes<1000 + 10 * (n)> { \
	bool operator<(const Type##n &o) const { return byte[0] < o.byte[0]; } \
	bool operator==(const Type##n &o) const { return byte[0] == o.byte[0]; } }
TYPE(1);
TYPE(2);
TYPE(3);
TYPE(4);
TYPE(5);
TYPE(6);
TYPE(7);
TYPE(8);
TYPE(9);
TYPE(10);
TYPE(11);
TYPE(12);
TYPE(13);
TYPE(14);
TYPE(15);
TYPE(16);
TYPE(17);
TYPE(18);
TYPE(19);

struct Hash {
	template <class T> size_t operator()(const T &t) const { return (size_t)t.byte[0]; }
};

}

namespace {
struct Hidden20 : app::Bytes<1200> {};
}

using namespace app;

/* typed [N]: N blocks of Type4 come and go, one at a time. */
int
main(int argc, char **argv)
{
	/* Never freed: the program ends by a signal. */
	auto &v1 = *new std::vector<Type1>;
	v1.reserve(3);
	auto &v2 = *new std::vector<Type2>(1);
	auto &v3 = *new std::vector<Type3>;
	v3.push_back(Type3());
	auto *p4 = new auto(std::make_unique<Type4>());
	auto *p5 = new auto(std::make_unique<Type5[]>(2));
	auto *p6 = new auto(std::make_shared<Type6>());
	auto *p7 = new auto(std::allocate_shared<Type7>(std::allocator<Type7>()));
	auto &l8 = *new std::list<Type8>(1);
	auto &f9 = *new std::forward_list<Type9>(1);
	auto &m10 = *new std::map<int, Type10>;
	m10[1];
	auto &s11 = *new std::set<Type11>;
	s11.insert(Type11());
	auto &mm12 = *new std::multimap<Type12, int>;
	mm12.insert({ Type12(), 1 });
	auto &u13 = *new std::unordered_map<int, Type13>;
	u13[1];
	auto &us14 = *new std::unordered_set<Type14, Hash>;
	us14.insert(Type14());
	auto &d15 = *new std::deque<Type15>;
	d15.push_back(Type15());
	auto &q16 = *new std::priority_queue<Type16>;
	q16.push(Type16());
	auto *a17 = std::allocator<Type17>().allocate(2);
	auto &ms18 = *new std::multiset<Type18>;
	ms18.insert(Type18());
	auto &vv19 = *new std::vector<std::list<Type19>>(1);
	vv19[0].emplace_back();
	auto &h20 = *new std::vector<Hidden20>(1);

	const void *kept[] = { &v1, &v2, &v3, p4, p5, p6, p7, &l8, &f9, &m10,
		&s11, &mm12, &u13, &us14, &d15, &q16, a17, &ms18, &vv19, &h20 };

	__asm__ volatile("" : : "r"(kept) : "memory");
	for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--) {
		auto p = std::make_unique<Type4>();

		__asm__ volatile("" : : "r"(p.get()) : "memory");
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
}
