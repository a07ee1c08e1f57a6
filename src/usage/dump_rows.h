/*
 * dump_rows: counts by type as text, a line each, as dump_usage_xmemory() prints
 * them.
 *
 *	type:num:allocated:freed:max
 *
 * A name may have colons, so a line is read from its end.  In a name %XX is the
 * byte of that code, if it is a colon, a control character, '%' or above 126; other
 * '%' are themselves.  usage_dump_put() writes colons as %3A, so that sort -t: works,
 * and so each byte that is not safe text.
 *
 * Example
 *	struct usage_dump d = { 0 };
 *	err = usage_dump_read(&d, fp, on_bad_line, arg);
 *	for (i = 0; i < d.n; i++)
 *		usage_dump_put(stdout, &d.row[i]);
 *	usage_dump_fini(&d);
 */
#ifndef USAGE_DUMP_ROWS_H
#define USAGE_DUMP_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../base/hashmap.h"

#define USAGE_DUMP_LINE (256u << 10)	/* bytes of a line that is read */
#define USAGE_DUMP_ROWS (1u << 20)	/* further rows are not read */
#define USAGE_DUMP_WHY 128

struct usage_dump_row {
	const char *name;
	int64_t num;
	uint64_t allocated, freed, max;
};

struct usage_dump {
	struct usage_dump_row *row;	/* in the order of the file */
	size_t n, cap;
	struct intern names;
	uint64_t bad;			/* lines with an error */
};

/* Called for each line with an error. */
typedef void (*usage_dump_bad)(void *arg, uint64_t line, const char *why);

/*
 * Appends the rows of a file.  Lines with an error are skipped, but for a last line
 * without its end, which is kept.  -ENOMEM, or the error of reading; the rows before
 * it are there.
 */
int usage_dump_read(struct usage_dump *, FILE *, usage_dump_bad, void *arg);
void usage_dump_fini(struct usage_dump *);

/* Errors are the stream's. */
void usage_dump_put(FILE *, const struct usage_dump_row *);

#endif
