/*
 * robust: dormant targets learn from the kernel that nobody is left to tell
 * them.
 *
 * A dormant target reads one word, keeper_area.armed, and a process that is
 * killed cannot change it any more.  So the word is a robust futex, see
 * set_robust_list(2): it holds the thread id of its owner and is in the owner's
 * list.  However the owner ends, the kernel stores FUTEX_OWNER_DIED, which is
 * RING_LEFT: the target then checks the heartbeat, as after any keeper.
 *
 *	owner	the first thread of the supervisor, which holds the areas for
 *		the next node; without a supervisor, of the node.
 *
 * Example
 *	robust_begin();			in the owner, in its first thread
 *	robust_set_owner(getppid());	in the node of a supervisor
 *	n = robust_add(keeper);	once in the owner
 *	keeper->armed = robust_word();	in the node
 *	robust_remove(&n);
 *
 * Known limits
 *	The kernel follows 2,047 entries.  Further targets, and those whose areas
 *	have not come to the supervisor yet, are told by a live process only.
 */
#ifndef STREAM_FEED_ROBUST_H
#define STREAM_FEED_ROBUST_H

#include <stdint.h>
#include <sys/types.h>

struct keeper_area;

/*
 * The calling thread is the owner, until the process ends; it must have no
 * robust mutexes.  A negative errno: there is no owner.
 */
int robust_begin(void);
/* Another process is, which lists the areas itself. */
void robust_set_owner(pid_t);

/* The word of a dormant target. */
uint32_t robust_word(void);

/*
 * Adds a keeper area, mapped for writing; the caller may unmap it.  A number
 * for robust_remove(), or 0: this process is not the owner, or has no room.
 * For any thread.
 */
unsigned robust_add(const struct keeper_area *);
void robust_remove(unsigned *);

#endif
