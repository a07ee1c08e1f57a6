/*
 * spool_file: one part of a listing as a file.  Private to the spool.
 *
 * A header of some lines, a blank one, then the bytes as they were sent:
 *
 *	pagek-listing 1
 *	name: 20261121-163501-0007
 *	part: 1 of 2
 *	from: alice on 0509 linac-b
 *	uid: 1000
 *	time: 2026-11-21T16:35:01.123Z
 *	title: 0590 acqd[4711]
 *	bytes: 1048576
 *	sha256: e3b0c442...
 *
 * The file of part 2 is 20261121-163501-0007.2, and has a ~ at the end of its
 * name until all its bytes are there and their sum is right.
 */
#ifndef NODES_SPOOL_FILE_H
#define NODES_SPOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../stream/wire/wire.h"
#include "spool.h"

#define SPOOL_FILE_NAME (SPOOL_NAME + 8)
#define SPOOL_HEAD_MAX 2048

struct spool_head {
	char name[SPOOL_NAME];
	char origin[SPOOL_ORIGIN], title[SPOOL_TITLE];	/* safe text */
	unsigned part, parts;
	uint32_t bytes;
	uint32_t uid;
	int64_t wall_ms;
	uint8_t sum[WIRE_SHA256];
};

/* "20261121-163501-0007": 8, 6 and 4 digits.  Other names are never looked up. */
bool spool_name_ok(const char *text, size_t len);

/* The file of a part, while it is being written or after. */
void spool_file_name(char out[SPOOL_FILE_NAME], const char *name,
    unsigned part, bool writing);
/* Name, part and state of a file name; false: it is no part's. */
bool spool_file_parse(const char *file, char name[SPOOL_NAME],
    unsigned *part, bool *writing);

/* Writes the header; its length does not depend on the sum. */
size_t spool_head_make(char out[SPOOL_HEAD_MAX], const struct spool_head *);
/* Parses a header; returns its length, or -EBADMSG. */
ssize_t spool_head_parse(const char *bytes, size_t len, struct spool_head *);

/*
 * Opens the file of a part for reading.  It must be a regular file whose header
 * is of this part, and as long as that says.  Returns a descriptor, with the
 * header's length in *head_len; -ENOENT, -EBADMSG, ...
 */
int spool_file_open(int dir, const char *name, unsigned part, bool writing,
    struct spool_head *, size_t *head_len);

/* Writes all of it; 0 or a negative errno. */
int spool_write_all(int fd, const void *bytes, size_t len, off_t at);

#endif
