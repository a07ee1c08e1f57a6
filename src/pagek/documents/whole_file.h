/*
 * whole_file: a file that appears whole or not at all.
 *
 * It has no name until it is published, so that nothing is left of it whatever
 * ends this process.
 *
 * Example
 *	whole_file_open(&f, "./blocks.csv", WHOLE_FILE_ANY);
 *	write(f.fd, ...);
 *	whole_file_publish(&f, true);
 *	whole_file_close(&f);
 */
#ifndef PAGEK_WHOLE_FILE_H
#define PAGEK_WHOLE_FILE_H

#include <stdbool.h>

/* What may be in its place, and is replaced. */
enum whole_file_place {
	WHOLE_FILE_LISTING,	/* a listing or an empty file: a typing error must not cost another one */
	WHOLE_FILE_ANY,		/* any regular file */
	WHOLE_FILE_NEW,		/* nothing */
};

struct whole_file {
	int fd;			/* to write and read; -1 */
	int folder;		/* of the file to be; -1: it is to have no name */
	char name[256];		/* in that folder */
	char made[64];		/* name that it has meanwhile; "" none */
	enum whole_file_place place;
};

#define WHOLE_FILE_NONE ((struct whole_file){ .fd = -1, .folder = -1 })

/*
 * With path NULL it is never published.  -EEXIST when there is a file that may
 * not be replaced, -ENOTSUP when its place is not a regular file, -ENOLINK when
 * it is a link which leads nowhere, -EISDIR, or what open() says.
 */
int whole_file_open(struct whole_file *, const char *path,
    enum whole_file_place);
/* Where one without a path lies. */
const char *whole_file_folder(void);
/*
 * Gives it its name; sync: once it is on the disk, which may take long.  The
 * same errors again, since its place may have changed.
 */
int whole_file_publish(struct whole_file *, bool sync);
/* Also after that; what was not published is gone. */
void whole_file_close(struct whole_file *);

#endif
