/*
 * built: blocks of plain new, one for each function; "ready PID", and then a sleep.
 * The size says which: known ones have 3000 + 20 N bytes, and the type Known N;
 * others have 4000 + 20 N, and debug information that does not tell their type.
 */
#include <cstdio>
#include <new>
#include <unistd.h>

#define APART __attribute__((noinline)) void
/* A constructor that is inlined, as small ones are. */
#define CLASS(name, size) struct name { \
	int n; \
	char byte[(size) - sizeof(int)]; \
	name(int n_ = 1) : n(n_) { byte[0] = 'b'; } \
}

namespace app {
CLASS(Known1, 3020);
CLASS(Known2, 3040);
struct Known3 : Known2 {
	char more[20];
	Known3() { more[0] = 'c'; }
};
template <int N> struct Known4 {
	int n;
	char byte[3076];
	Known4() : n(N) { byte[1] = 'd'; }
};
CLASS(Known5, 3100);

CLASS(Inner1, 4020);
struct Wrapped1 { Inner1 only; };
CLASS(Inner2, 4040);
struct Derived2 : Inner2 {};
CLASS(Inner3, 4060);
union Either3 { Inner3 a; char text[4060]; };
CLASS(Inner4, 4080);
CLASS(Small5, 4000);
struct Plain6 { char byte[4120]; };
CLASS(Inner7, 4140);
CLASS(Inner8, 4160);
struct Far9 {
	char byte[4180];
	Far9();
};
CLASS(Small10, 2000);
struct Outer10 {
	Small10 first;
	char byte[2200];
};
CLASS(Inner11, 4220);
struct Wrapped11 { Inner11 only; };
CLASS(Inner12, 4240);
struct Wrapped12 { Inner12 only; };
__attribute__((noipa)) Far9::Far9() { byte[0] = 'f'; }
}

namespace {
struct Known6 {
	int n;
	char byte[3116];
	Known6() : n(6) { byte[0] = 'h'; }
};
}

using namespace app;

static void *volatile kept[64];

APART known1() { kept[1] = new Known1(1); }
APART known2() { kept[2] = new Known2; }
APART known3() { kept[3] = new Known3; }
APART known4() { kept[4] = new Known4<4>; }
/* Two in a line. */
APART known5() { kept[5] = new Known5(5); kept[6] = new Known5(6); }
APART known6() { kept[7] = new Known6; }

/* Around one member, or derived without a member: the inner constructor runs on it. */
APART other1() { kept[11] = new Wrapped1{ Inner1(1) }; }
APART other2() { kept[12] = new Derived2{ 2 }; }
APART other3() { kept[13] = new Either3{ Inner3(3) }; }
/* In a place that somebody else has allocated, for something else perhaps. */
APART other4() { kept[14] = new (operator new(sizeof(Inner4))) Inner4(4); }
APART other5() { kept[15] = new (operator new(4100)) Small5(5); }
APART other6() { kept[16] = new Plain6; }
/* An array, and bytes. */
APART other7() { kept[17] = new Inner7[1]{ { 7 } }; }
APART other8() { kept[18] = new (new char[sizeof(Inner8)]) Inner8(8); }
APART other9() { kept[19] = new Far9; }
/* The constructor is of a member that is smaller. */
APART other10() { kept[20] = new Outer10{ Small10(1), "" }; }
/* Where all is at one place of the source. */
#define NEW(type, ...) new type{ __VA_ARGS__ }
template <class T> T *make(int n) { return new T{ n }; }
APART other11() { kept[21] = NEW(Wrapped11, Inner11(11)); }
APART other12() { kept[22] = make<Wrapped12>(12); }

int
main()
{
	known1();
	known2();
	known3();
	known4();
	known5();
	known6();
	other1();
	other2();
	other3();
	other4();
	other5();
	other6();
	other7();
	other8();
	other9();
	other10();
	other11();
	other12();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
}
