/* A plugin that keeps three blocks; run() is how many. */
extern "C" int run();

static char *volatile kept[3];

static void __attribute__((noinline))
keep_them()
{
	for (auto &block : kept)
		block = new char[100];
}

int
run()
{
	keep_them();
	return 3;
}
