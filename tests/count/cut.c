/*
 * cut: a layer below the library.  A request of CUT bytes takes a block and
 * raises SIGUSR1 before it returns, so that the signal comes in the middle of
 * the library's call; mremap(2) raises it before it moves, unless nobody handles
 * it, as in a supervisor with the same preload.  Each fork takes the lock of cut
 * after the library has shut its gate; a thread may allocate while it holds that
 * lock.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Registered before the library's handler, which then runs first. */
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

void *
mremap(void *old, size_t old_len, size_t new_len, int flags, ...)
{
	struct sigaction now;

	if (sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
		raise(SIGUSR1);
	return (void *)syscall(SYS_mremap, old, old_len, new_len, flags, NULL);
}
