/*
 * maps: what is mapped where in a process, by /proc/PID/maps.
 *
 * Since Linux 6.11 the kernel can be asked there for one mapping after the other.
 * A program of ten mappings with code among a hundred is known by ten questions;
 * the text of the others would be made to be thrown away.  Elsewhere it is read.
 *
 * The kernel writes "start-end perms offset dev inode  path"; a newline in a
 * path stands as \012, and a path whose file has been unlinked ends in
 * " (deleted)".
 *
 * Example
 *	while (getline(&line, &cap, f) > 0)
 *		if (maps_parse(line, &map) == 0)
 *			...
 * and, where the kernel can be asked,
 *	while (maps_next_code(fd, map.end, path, &map) == 0)
 *		...
 */
#ifndef SYMBOL_MAPS_H
#define SYMBOL_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct maps_line {
	uint64_t start, end;	/* addresses, end beyond the last */
	uint64_t offset;	/* in the file, of start */
	uint64_t inode;		/* 0: no file */
	bool executable;
	bool deleted;
	const char *path;	/* in the line or what was given for it; "" for anonymous memory */
};

/* Takes the line apart in place.  -EBADMSG, with *out untouched. */
int maps_parse(char *line, struct maps_line *out);

/*
 * The first mapping with code that ends behind `from`.  fd: /proc/PID/maps; path
 * takes its path, and out->path points there.  The page of old system calls,
 * [vsyscall], is only in the text.  -ENOENT when there is none, -ENOTTY when the
 * kernel cannot be asked, -ESRCH when the process has no memory, -ENAMETOOLONG;
 * *out is untouched then.
 */
int maps_next_code(int fd, uint64_t from, char path[PATH_MAX],
    struct maps_line *out);

#endif
