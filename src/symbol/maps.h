/*
 * maps: one line of /proc/PID/maps.
 *
 * The kernel writes "start-end perms offset dev inode  path"; a newline in a
 * path stands as \012, and a path whose file has been unlinked ends in
 * " (deleted)".
 *
 * Example
 *	while (getline(&line, &cap, f) > 0)
 *		if (maps_parse(line, &map) == 0)
 *			...
 */
#ifndef SYMBOL_MAPS_H
#define SYMBOL_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct maps_line {
	uint64_t start, end;	/* addresses, end beyond the last */
	uint64_t offset;	/* in the file, of start */
	uint64_t inode;		/* 0: no file */
	bool executable;
	bool deleted;
	const char *path;	/* in the line; "" for anonymous memory */
};

/* Takes the line apart in place.  -EBADMSG, with *out untouched. */
int maps_parse(char *line, struct maps_line *out);

#endif
