/* A plugin with the operators of a library that it needs; else as mine.cc. */
extern "C" int run();
extern int given();

static int *volatile kept;

int
run()
{
	for (int i = 0; i < 10; i++) {
		kept = new int(i);
		delete kept;
	}
	return given();
}
