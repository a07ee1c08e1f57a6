/*
 * table: the two files of nodes, read into one table.
 *
 * A line is a number of four hexadecimal digits, a name, a place, then perhaps
 * key=value; words are set apart by blanks, and one that begins with '#'
 * begins a comment.  A line with a mistake is left out whole.
 *
 * Example: bytes in memory, as the files are
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
#define TABLE_SAID_MAX 16		/* sentences about one file */

/*
 * By what its files are seen to be others, or written to.  The time of change
 * counts too: that of the last write can be set back.
 */
struct table_stamp {
	struct table_file_stamp {
		bool there;
		uint64_t dev, ino, size;
		struct timespec written, changed;
	} file[NODES_FILES];
};

/* A file on its way into the table. */
struct table_in {
	enum nodes_file file;
	const char *path;	/* as it is said */
	nodes_say_cb say;	/* NULL: nobody listens */
	void *arg;
	unsigned said;
};

/*
 * Adds what the bytes have; entries that came before from another file win
 * silently, those of this one with a sentence.  The table's entries are in
 * order after each call; cap is their capacity.  -ENOMEM.
 */
int table_parse(struct nodes_table *, size_t *cap, struct table_in *,
    const char *bytes, size_t len);

/* Where a file of the table is; false: it is not wanted, or nowhere. */
bool table_path(enum nodes_file, bool user, char *path, size_t cap);

/*
 * How the files are now.  To be taken before they are read: what is written
 * meanwhile is then seen the next time.
 */
void table_stamp_take(struct table_stamp *, bool user);
bool table_stamp_same(const struct table_stamp *, const struct table_stamp *);

#endif
