/*
 * A plugin whose constructor waits for a thread of its own, the first of this
 * object to call an operator.
 */
#include <pthread.h>

extern "C" int run();

static int *volatile made;

static void *
make(void *)
{
	made = new int(7);
	return nullptr;
}

__attribute__((constructor)) static void
begin()
{
	pthread_t t;

	if (pthread_create(&t, nullptr, make, nullptr) == 0)
		pthread_join(t, nullptr);
}

int
run()
{
	int got = made != nullptr ? *made : -1;

	delete made;
	return got;
}
