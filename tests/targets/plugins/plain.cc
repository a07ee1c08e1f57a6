/* A plugin with the operators of the C++ library: run() is 1 when they work. */
#include <cstddef>
#include <new>

extern "C" int run();
extern "C" int (*plugin_run)() __attribute__((weak));

static int *volatile kept;

__attribute__((constructor)) static void
begin()
{
	if (&plugin_run != nullptr)
		plugin_run = run;
}

int
run()
{
	kept = new int(1);
	int got = *kept;
	delete kept;
	try {
		kept = reinterpret_cast<int *>(new char[static_cast<std::size_t>(1) << 60]);
	} catch (const std::bad_alloc &) {
		return got;
	}
	return -1;
}
