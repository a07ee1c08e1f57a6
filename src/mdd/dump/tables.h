/* tables: the parts of the reader while a file is read. Private to the room. */
#ifndef MDD_DUMP_TABLES_H
#define MDD_DUMP_TABLES_H

#include "dump.h"

/* --- the target's memory (memory.c) ----------------------------------------- */

struct memory_piece {
	uint64_t lo;
	uint64_t len;			/* not 0 */
	const uint8_t *bytes;		/* borrowed from the file */
};

struct memory {
	struct memory_piece *piece;	/* sorted and apart after memory_sort() */
	size_t n, cap;
	uint64_t bytes;			/* of all pieces */
	bool big_endian;
	unsigned word_bytes;
	size_t last;			/* the piece that was read last */
};

/* -ENOMEM */
int memory_add(struct memory *, uint64_t lo, const uint8_t *bytes, size_t len);
void memory_sort(struct memory *);
void memory_fini(struct memory *);

/* Copies up to len bytes from there; returns how many there are. */
size_t memory_read(struct memory *, uint64_t address, uint8_t *out,
    size_t len);

/* Numbers in the target's order. */
uint32_t memory_u32(const struct memory *, const uint8_t *);
uint64_t memory_word(const struct memory *, const uint8_t *);

/* --- tables (tables.c), modules (modules.c) --------------------------------- */

/* -ENOMEM; all else is a problem of the dump. */
int tables_read(struct dump *, struct memory *, uint64_t root);
/* Takes the text of /proc/PID/maps apart in place. */
int modules_read(struct dump *, struct memory *, char *maps);

#endif
