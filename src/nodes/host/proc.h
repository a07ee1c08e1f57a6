/*
 * proc: a process by /proc. Texts are not safe for a terminal. Processes may
 * end at any moment: every function may fail.
 */
#ifndef NODES_HOST_PROC_H
#define NODES_HOST_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Up to 15 bytes and a NUL; out is untouched on failure. */
int proc_comm(pid_t, char out[16]);
int proc_thread_comm(pid_t, pid_t tid, char out[16]);

/* Parent, and start time in clock ticks since boot. -ESRCH for a zombie. */
int proc_stat(pid_t, pid_t *ppid, uint64_t *start);
/* The same with proc_comm(), consistent. */
int proc_stat_comm(pid_t, char comm[16], pid_t *ppid, uint64_t *start);

/*
 * Wall clock of such a start, ms since 1970.  Equal starts stay equal: the wall
 * clock is read once.  Not thread-safe.
 */
int64_t proc_start_ms(uint64_t start);

struct proc_image {
	char comm[16];
	pid_t ppid;
	uint64_t start;		/* of the process, as above */
	uint64_t program;	/* changes with each exec(2); 0: no program, as during exec(2)
				   and during the end, when maps, environment and executable
				   may read as empty */
	bool execed;		/* it has called exec(2) since it was forked */
};

/* Reads the present image of a process.  -ESRCH for a zombie. */
int proc_image(pid_t, struct proc_image *);
/* Reads it from the text of /proc/PID/stat. */
int proc_parse_image(const char *stat, struct proc_image *);
/*
 * True if the process still runs that program; then all data that was read since
 * proc_image() belongs to that program.
 */
bool proc_image_stays(pid_t, const struct proc_image *);

struct proc_last {
	char comm[16];
	pid_t ppid;
	uint64_t start;
	bool execed;		/* it has run another program since it was forked */
};

/*
 * Reads what the kernel knows of a process, also of one that has ended and is
 * not reaped.
 */
int proc_last(pid_t, struct proc_last *);
/* As of wait(2), of a process that its parent has reaped; Linux tells since 6.15. */
int proc_reaped_status(int pidfd, int *status);

/* Its parent, even of a zombie. */
int proc_parent(pid_t, pid_t *);

/* A thread's seccomp(2) mode in the high half, number of filters in the low half if known. */
int proc_seccomp(pid_t, pid_t tid, uint64_t *);

/* Up to max threads from place *from on; sets *from to the next place, 0 at the end. */
size_t proc_threads(pid_t, size_t *from, pid_t *out, size_t max);

/* Its bytes in memory (RSS). */
int proc_resident(pid_t, uint64_t *);

/* Its user, even of a zombie. */
int proc_uid(pid_t, uid_t *);

/* The file that it runs. */
int proc_exe(pid_t, uint64_t *dev, uint64_t *ino);

#define PROC_PATH 4097		/* PATH_MAX and a NUL */

/* Its path, or former path if it was unlinked. */
int proc_exe_path(pid_t, char out[PROC_PATH]);
/* Its working directory. */
int proc_cwd(pid_t, char out[PROC_PATH]);

/* The file of the mapping that begins at `start`: a path, "[vdso]", ...; -ENOENT: none. */
int proc_maps_path(pid_t, uint64_t start, char out[PROC_PATH]);

/* 1 if /proc/PID/maps has that text, 0 if not, or -errno. */
int proc_maps_has(pid_t, const char *text);
/* A variable that its program was started with; -ENOENT: it has none of that name. */
int proc_environ(pid_t, const char *name, char *out, size_t cap);

/* Up to max children of a process, of all its threads. */
size_t proc_children(pid_t, pid_t *out, size_t max);
/* How many the calling thread has: 0 (or not known), 1, or 2 for more. */
size_t proc_own_children(void);

/* True if its program loads no library of ours, or starts without our environment. */
bool proc_takes_no_preload(pid_t);
/*
 * The same for a program's file, or a script's, before we execute it: why, a
 * static text; NULL: something can be preloaded, or it is not known.
 */
const char *proc_file_takes_no_preload(const char *path);

/* The reason why a process has no stream: static, 32-bit, set-user-ID, ... */
void proc_why_no_data(pid_t, char *out, size_t cap);

#endif
