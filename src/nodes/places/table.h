/*
 * table: reads the two files of nodes into one table.
 *
 * A line has a number of four hexadecimal digits, a name, a place and optional
 * key=value words, separated by blanks; a word that begins with '#' begins a
 * comment. A line with a mistake is skipped.
 *
 * Example: a file in memory
 *	struct table_in in = { .file = NODES_FILE_USER, .path = "nodes", ... };
 *	table_parse(&table, &cap, &in, bytes, len);
 */
#ifndef NODES_PLACES_TABLE_H
#define NODES_PLACES_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "places.h"

#define TABLE_FILE_MAX (1u << 20)	/* bytes */
#define TABLE_SAID_MAX 16		/* reports about one file */

/* Identifies contents of the files. ctime counts too: mtime can be set back. */
struct table_stamp {
	struct table_file_stamp {
		bool there;
		uint64_t dev, ino, size;
		struct timespec written, changed;
	} file[NODES_FILES];
};

/* A file to be parsed. */
struct table_in {
	enum nodes_file file;
	const char *path;	/* for reports */
	nodes_say_cb say;	/* NULL: no reports */
	void *arg;
	unsigned said;
};

/*
 * Adds the entries of a file. The first of duplicates wins; those of the same
 * file are reported. Entries are sorted after each call; cap is their capacity.
 * -ENOMEM.
 */
int table_parse(struct nodes_table *, size_t *cap, struct table_in *,
    const char *bytes, size_t len);

/* Path of a file of the table; false: not wanted, or none. */
bool table_path(enum nodes_file, bool user, char *path, size_t cap);

/* Stamp of the files now. To be taken before they are read, so that no change is missed. */
void table_stamp_take(struct table_stamp *, bool user);
bool table_stamp_same(const struct table_stamp *, const struct table_stamp *);

#endif
