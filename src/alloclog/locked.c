/*
 * prctl(2), to see a process that is about to lock itself in.
 *
 * While it has no keeper nobody else sees that, and to ask the kernel may be
 * what its filter kills for.  A process without privileges cannot install one
 * before it has given up new ones, by this call; libseccomp always makes it.
 * Not seen is one that may do without and calls seccomp(2) by its number.
 *
 * In strict mode a thread may read, write and end, and is killed for all else, a
 * futex(2) of ours too: it is silent from then on.
 *
 * One that only gives up privileges is taken for locked in too: it is watched
 * on by the keeper that it has, and says hello to no other; nor do children that
 * it forks before the keeper has looked often enough (keeper_watch_sandbox()).
 */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keeper_watch.h"
#include "hooks.h"

EXPORT int
prctl(int option, ...)
{
	bool locks = option == PR_SET_NO_NEW_PRIVS ||
	    option == PR_SET_SECCOMP, strict;
	unsigned long a[4];
	struct producer *p = NULL;
	va_list ap;
	int r;

	/* As libc's own: whatever stands in the registers goes to the kernel. */
	va_start(ap, option);
	for (unsigned i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	strict = option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_STRICT;
	/* Before the call: another thread may be about to say hello. */
	if (locks) {
		keeper_watch_sandbox();
		produce_open_larger();
	}
	if (strict)
		p = thread_silence();
	r = (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
	/* What the keeper has seen until now is from before. */
	if (locks)
		keeper_watch_sandbox();
	if (strict && r != 0)
		thread_speak(p);
	return r;
}
