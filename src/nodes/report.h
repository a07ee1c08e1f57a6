/*
 * report: one JSON object a line for each process image that has ended.
 */
#ifndef NODES_REPORT_H
#define NODES_REPORT_H

struct keeper;

struct report {
	int fd;			/* -1: none was asked for */
	int error;		/* errno of the first line that could not be written */
};

/* Creates or empties the file; "-" is the standard output; path NULL: no report.  Negative errno. */
int report_open(struct report *, const char *path);
void report_close(struct report *);

/* One line. */
void report_image(struct report *, const struct keeper *);

#endif
