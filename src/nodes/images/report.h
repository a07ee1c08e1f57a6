/*
 * report: one JSON object a line for each process image that has ended.
 */
#ifndef NODES_IMAGES_REPORT_H
#define NODES_IMAGES_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#define REPORT_WAITING_MAX (1 << 20)	/* bytes; some 2,000 lines */

struct keeper;

struct report {
	int fd;			/* -1: none was asked for */
	int error;		/* errno of the first line that could not be written */
	char *waiting;		/* lines that a reader has no room for yet */
	size_t nwaiting;	/* bytes */
	bool told;		/* the error, where there is nobody to ask for it */
};

/*
 * Creates or empties the file, or, again, adds to what it has; "-" is the
 * standard output; path NULL: no report.  Negative errno.
 */
int report_open(struct report *, const char *path, bool again);
/* Lines go there from now on; it is the report's. */
void report_replace(struct report *, int fd);
void report_close(struct report *);

/* One line.  It waits for nobody: see report_flush(). */
void report_image(struct report *, const struct keeper *);

/* Lines that found a reader's pipe full go out as far as there is room now. */
void report_flush(struct report *);
bool report_waits(const struct report *);

#endif
