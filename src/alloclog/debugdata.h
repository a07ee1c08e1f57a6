/*
 * debugdata: memory debug data of this process, and dumps of it.  Private to the
 * target side.
 *
 *	debugdata/debugdata.c	memory debug data: the core of src/mdd/target
 *	debugdata/debugdump.c	dumps that the process writes itself
 *
 * The hooks call debugdata_begin() once; from then on `real` leads through the core.
 */
#ifndef ALLOCLOG_DEBUGDATA_H
#define ALLOCLOG_DEBUGDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* --- memory debug data (debugdata/debugdata.c) ------------------------------------- */

/*
 * After the real functions were looked up: true when the data are collected, and
 * `real` has been changed so that they are.  ours: malloc is this library's, or none
 * are.
 */
bool debugdata_begin(bool ours);

/* True if this process keeps debug data. */
bool debugdata_on(void);
/*
 * Tells blocks of the debug data to a stream that began late, and says hello to the
 * next node if the keeper is gone.  Call it outside of any event; keeps errno.
 */
void debugdata_due(void);
/* Call it when a new stream has begun, before callers_go_on(). */
void debugdata_rejoined(void);

/* For an operator that does not call the malloc family. */
void debugdata_allocated(void *ptr, size_t size, unsigned type,
    uintptr_t frame);
void debugdata_freeing(void *ptr, unsigned type, uintptr_t frame);

/* --- dumps by the process (debugdata/debugdump.c) ---------------------------------- */

/* Reads when to do it from the environment. */
void debugdump_begin(void);

/*
 * Writes a dump, unless one is being written. from: "size", "exit" or
 * "signal".  Keeps errno.
 */
void debugdump_write(const char *from);
bool debugdump_busy(void);

/* The thread has allocated, or freed (< 0), so many usable bytes. */
void debugdump_count(int64_t bytes);

/* alloclog_when() */
void debugdump_when(size_t bytes, void (*call)(void));
void debugdump_exit(void);
/* Before any message: standard error is the file that descriptor 2 is now. */
void debugdump_know_errors(void);
/*
 * Writes "pagek: ", the three texts and a newline to standard error, unless
 * descriptor 2 is another file by now.
 */
void debugdump_complain(const char *what, const char *about, const char *remedy);
/* The parent began with the same value of the variable, and has said what is wrong. */
bool debugdump_parent_has(const char *name);
/* The process is about to enter a sandbox, in which no dump is written. */
void debugdump_locks(void);

#pragma GCC visibility pop

#endif
