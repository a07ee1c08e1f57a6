/*
 * guard: the layout of the shared memory in which a target counts touches of its pages.
 * The target makes it, a memfd sealed against shrinking and growing, and sends it to its
 * node (struct ring_writes).  Each side treats the words of the other as outside data and
 * reads each of them once.
 *
 * Vocabulary
 *	guarded page	a page without access (PROT_NONE) until its first touch in an
 *			epoch: a signal handler of the library counts the touch and
 *			restores the access.
 *	epoch		the time from one closing of all guarded pages to the next.
 *	exact		a guard that counts each reference: the instruction that meets a
 *			closed page runs alone, and the page is closed again.
 *	gap		a time in which an exact guard may miss references.
 *	armed		said of a thread with Syscall User Dispatch, none of whose
 *			system calls meets a closed page.
 *	bank		one of two tables of counts; a request changes the bank, so
 *			that the node can still read the counts of the former ranges.
 */
#ifndef STREAM_GUARD_H
#define STREAM_GUARD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_VERSION 2
#define GUARD_PAGES 4096	/* of all ranges: each may become a mapping of its own */
#define GUARD_RANGES 64
#define GUARD_NODES 64
#define GUARD_CPUS 1024
#define GUARD_BANKS 2
#define GUARD_EPOCH_US (1000000 / 15)
#define GUARD_LEASE 45	/* the guard ends after so many epochs without the node's heartbeat */

/* The name of the area in /proc/PID/maps. */
#define GUARD_AREA_NAME "pagek-guard"

/* Pages first to first + pages - 1 of the table of counts. */
struct guard_range {
	uint64_t at;
	uint32_t pages;
	uint32_t first;
};

enum guard_state {
	GUARD_ARMING = 1,	/* `why`: the reason for the delay, if any */
	GUARD_ON,
	GUARD_ENDED,		/* for good: all pages are open; `why`: the reason */
};

/* The reason why the guard is not armed, or has ended.  After ';': the `detail`. */
enum guard_why {
	GUARD_NOT = 0,
	GUARD_ASKED,		/* the node has ended it */
	GUARD_LEFT,		/* the node has no heartbeat */
	GUARD_KERNEL,		/* no Syscall User Dispatch; errno */
	GUARD_MEMORY,		/* no memory, or too many mappings */
	GUARD_SECCOMP,		/* a thread has a filter of system calls; its id */
	GUARD_TRACED,		/* a debugger is attached; its process id */
	GUARD_BLOCKED,		/* a thread blocks a signal that is needed; its id */
	GUARD_WAITS,		/* a thread waits in a call that a signal would end; its id */
	GUARD_SLOW,		/* a thread has not answered yet; its id */
	GUARD_THREADS,		/* too many threads; at most */
	GUARD_HANDLER,		/* the program uses SIGSYS or SIGURG; the signal */
	GUARD_FAULT,		/* the program itself caused a SIGSEGV or SIGSYS; the signal */
	GUARD_STACK,		/* a thread uses the pages as its stack; its id */
	GUARD_CALL,		/* a system call that cannot be watched; its number */
	GUARD_RANGE,		/* no page of the ranges can be guarded */
	GUARD_KERNEL_USES,	/* the kernel may use pages between two calls: io_uring(7), io_setup(2) */
	GUARD_LIMIT,		/* RLIMIT_DATA: pages might not be opened again */
	GUARD_SMALL,		/* a thread has little room on its stack; its id */
	GUARD_CALL_32,		/* a system call of 32-bit programs; its number there */
	GUARD_LEAVES,		/* a thread forks, or starts programs or threads, all the time; its id */
	GUARD_ALONE,		/* exact, without protection keys, but several threads; their number */
	GUARD_KEYS,		/* the program uses protection keys */
	GUARD_PROC,		/* the target cannot read its own folder in /proc; errno */
	GUARD_WHYS,
};

struct guard_area {
	/* Written by the node. */
	_Atomic uint32_t wanted;	/* 0: end the guard */
	_Atomic uint32_t number;	/* of the request, from 1 on; stored after its members */
	_Atomic uint32_t beat;		/* heartbeat: counted up twice a second */
	uint32_t ranges;
	uint32_t nodes;			/* columns of the table of counts */
	uint32_t exact;			/* 1: count each reference; read with the first request */
	struct guard_range range[GUARD_RANGES];
	uint8_t column[GUARD_CPUS];	/* the column of each processor */
	/* Written by the target. */
	_Alignas(64) _Atomic uint32_t version;
	_Atomic uint32_t heeded;	/* number of the request by which it counts */
	_Atomic uint32_t state;		/* enum guard_state */
	_Atomic uint32_t why;		/* enum guard_why; stored after `detail` */
	_Atomic uint32_t detail;
	_Atomic uint32_t call_ns;	/* added to a system call while armed */
	_Atomic uint32_t left_out;	/* pages of the ranges that cannot be guarded */
	_Atomic uint64_t epochs;	/* that have begun */
	_Atomic uint64_t cut;		/* epochs in which all pages were opened before the end */
	_Atomic uint64_t calls;		/* system calls of the program while armed */
	_Atomic uint32_t keys;		/* 1: only one thread sees a page while it is open */
	_Atomic uint32_t reference_ns;	/* exact: of the fastest references */
	_Atomic uint64_t gaps;
	_Atomic uint64_t gaps_us;	/* of the gaps that have ended, if their time is known */
	/* Indexed by guard_place(). */
	_Alignas(64) _Atomic uint32_t count[GUARD_BANKS][GUARD_PAGES * GUARD_NODES * 2];
};

/* The index of a page's count in its bank. */
static inline size_t
guard_place(uint32_t page, uint32_t columns, uint32_t column, int write)
{
	return ((size_t)page * columns + column) * 2 + (write != 0);
}

#endif
