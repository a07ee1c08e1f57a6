/*
 * A program that knows its blocks: prints each as "function size thread", then
 * waits for a byte on its standard input, again and again; "fork" makes it fork.
 */
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" int alloclog_when(size_t, void (*)(void)) __attribute__((weak));

static void *volatile kept[64];
static int n;

static void
keep(void *p, const char *function, size_t size, const char *thread)
{
	kept[n++] = p;
	printf("%s %zu %s\n", function, size, thread);
}

static void
all_functions(const char *thread)
{
	void *p = nullptr;

	keep(malloc(10001), "malloc()", 10001, thread);
	keep(calloc(3, 10007), "calloc()", 30021, thread);
	keep(realloc(malloc(5), 10003), "realloc()", 10003, thread);
	if (posix_memalign(&p, 64, 10004) == 0)
		keep(p, "posix_memalign()", 10004, thread);
	keep(aligned_alloc(64, 10048), "aligned_alloc()", 10048, thread);
	keep(memalign(64, 10005), "memalign()", 10005, thread);
	keep(valloc(10006), "valloc()", 10006, thread);
	keep(operator new(10008), "new", 10008, thread);
	keep(operator new[](10009), "new[]", 10009, thread);
	keep(operator new(10010, std::nothrow), "new(nothrow)", 10010, thread);
	keep(operator new[](10011, std::nothrow), "new(nothrow)[]", 10011,
	    thread);
	/* What is freed, and what fails, is not listed. */
	free(malloc(10012));
	delete[] new char[10013];
	if (realloc(kept[n - 1], SIZE_MAX / 2) != nullptr)
		puts("it did not fail");
}

static void *
worker(void *)
{
	pthread_setname_np(pthread_self(), "worker");
	all_functions("worker");
	return nullptr;
}

static void
reached()
{
	static const char text[] = "reached\n";

	if (write(1, text, sizeof text - 1) < 0)
		_exit(1);
}

int
main(int argc, char **argv)
{
	pthread_t t;
	char c;

	setvbuf(stdout, nullptr, _IONBF, 0);
	if (argc > 1 && strcmp(argv[1], "when") == 0) {
		printf("when %d\n", alloclog_when != nullptr ?
		    alloclog_when(1 << 20, reached) : -2);
		for (int i = 0; i < 64; i++)
			kept[i] = malloc(65536);
		return 0;
	}
	all_functions("debugdata");
	pthread_create(&t, nullptr, worker, nullptr);
	pthread_join(t, nullptr);
	if (argc > 1 && strcmp(argv[1], "fork") == 0 && fork() == 0) {
		free(kept[0]);
		kept[0] = malloc(10014);
	}
	puts("ready");
	while (read(0, &c, 1) == 1)
		continue;
	return 0;
}
