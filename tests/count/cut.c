/*
 * cut: set behind the shim, so that a signal comes in the middle of its call: a
 * request of CUT bytes takes a block and raises SIGUSR1 before it returns.  It
 * also has a lock that each fork takes after the shim has shut its gate, for a
 * thread that allocates while it holds the lock.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#define CUT 70001

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void cut_lock(void);
void cut_unlock(void);

void
cut_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
cut_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Before the shim's, whose handler then comes first. */
__attribute__((constructor)) static void
begin(void)
{
	pthread_atfork(cut_lock, cut_unlock, cut_unlock);
}

void *
malloc(size_t size)
{
	static void *(*next)(size_t);
	void *p;

	if (next == NULL)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	p = next(size);
	if (size == CUT)
		raise(SIGUSR1);
	return p;
}
