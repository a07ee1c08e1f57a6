/*
 * For targets that work or rest: SIGUSR1 changes from one to the other.  They end
 * by SIGTERM, and after five minutes.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static volatile sig_atomic_t runs, ends;

static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		runs = !runs;
	else
		ends = true;
}

/* Before the first block, so that no signal comes too early. */
static void
obey_signals(void)
{
	alarm(300);
	signal(SIGUSR1, on_signal);
	signal(SIGTERM, on_signal);
}

/* A signal ends this; one that came before it waits a moment. */
static void
rest(void)
{
	poll(NULL, 0, 50);
}
