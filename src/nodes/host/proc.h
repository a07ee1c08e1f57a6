/*
 * proc: what /proc says of a process.  Everything read here is outside text
 * and may be gone the next moment; no answer is an ordinary answer.
 */
#ifndef NODES_HOST_PROC_H
#define NODES_HOST_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Raw, up to 15 bytes and a NUL; out is untouched when it cannot be read. */
int proc_comm(pid_t, char out[16]);
int proc_thread_comm(pid_t, pid_t tid, char out[16]);

/*
 * From /proc/PID/stat: parent, and start time in clock ticks since boot.
 * -ESRCH for one that only waits to be reaped.
 */
int proc_stat(pid_t, pid_t *ppid, uint64_t *start);
/* The same, and proc_comm(), of one look. */
int proc_stat_comm(pid_t, char comm[16], pid_t *ppid, uint64_t *start);

/* Its parent; also of one that only waits to be reaped. */
int proc_parent(pid_t, pid_t *);

/*
 * A thread's state of seccomp(2): mode in the high half, filters in the low
 * one, 0 where the kernel does not count them.
 */
int proc_seccomp(pid_t, pid_t tid, uint64_t *);

/*
 * Threads of a process, up to max, from the one in place *from on; *from is 0
 * when those were the last.
 */
size_t proc_threads(pid_t, size_t *from, pid_t *out, size_t max);

/* Whose it is now; also of one that only waits to be reaped. */
int proc_uid(pid_t, uid_t *);

/* Which file it runs. */
int proc_exe(pid_t, uint64_t *dev, uint64_t *ino);

#define PROC_PATH 4097		/* PATH_MAX and a NUL */

/* Its path; one whose file was unlinked is the path that it had. */
int proc_exe_path(pid_t, char out[PROC_PATH]);
/* The folder it is in. */
int proc_cwd(pid_t, char out[PROC_PATH]);

/*
 * The file that is mapped at `start`: a path, or "[vdso]" and the like.  -ENOENT when
 * no mapping begins there or it is of no file.
 */
int proc_maps_path(pid_t, uint64_t start, char out[PROC_PATH]);

/* 1 when a line of /proc/PID/maps has that text, 0 when none, or -errno. */
int proc_maps_has(pid_t, const char *text);

/* The children of a process, through all its threads; appends up to max. */
size_t proc_children(pid_t, pid_t *out, size_t max);
/* Those of its first thread alone. */
size_t proc_first_children(pid_t, pid_t *out, size_t max);

/*
 * A sentence on why a process has no stream: static, 32-bit, set-user-ID,
 * sanitised, ...
 */
void proc_why_no_data(pid_t, char *out, size_t cap);

#endif
