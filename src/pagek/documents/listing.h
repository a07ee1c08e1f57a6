/*
 * listing: the whole list as text, as of one sequence number, for a node, a file
 * or a pager.
 *
 * Vocabulary
 *	listing	a copy of the list's rows in the order shown, of the counters
 *		above them, and of the names that belong to them.
 *	names	of callers and threads: the session knows them or asks for
 *		them, so they come after the copy, bit by bit.
 *	whole	all blocks are in it, and they are the list after one record.
 *
 * The copy is made at once, between two batches, or in portions (list_copy.h);
 * after that the list goes on and the listing does not.  Functions "in any
 * thread" touch nothing but the listing.
 *
 * Example
 *	listing_new(&l);
 *	listing_room(l, blocks);			in any thread
 *	while (listing_take(l, page, &view) == -EAGAIN)
 *		make a cycle;
 *	listing_sort(l, &stop);				in any thread
 *	while (!listing_names(l, &view, 500))		in the session's
 *		make a cycle;
 *	listing_write(l, fd, &stop);			in any thread
 *	listing_free(l);
 */
#ifndef PAGEK_LISTING_H
#define PAGEK_LISTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "../page/view.h"

#define LISTING_HEAD_TITLE "K MEMORY BLOCKS\n"	/* each listing begins with it */

struct listing;

int listing_new(struct listing **);
void listing_free(struct listing *);
/* Takes memory for about so many blocks before the copy; in any thread.  -ENOMEM. */
int listing_room(struct listing *, uint64_t blocks);

/*
 * Copies once what the page lists, in its order and with its filter; of a
 * session that holds a window only, the rows that are there: the text says so.
 * -EAGAIN: filtering or sorting takes more portions, so again with the next
 * picture; the rows will be those of the first call.  -ENOMEM.
 */
int listing_take(struct listing *, struct page *, const struct page_view *);

/* Finds the callers and threads.  -ENOMEM, -ECANCELED once `stop` is true. */
int listing_sort(struct listing *, const atomic_bool *stop);

/*
 * Goes through `most` of the callers whose names are not there yet, in turn, and
 * asks the view for them; true when all are there, or when the view is of
 * another stream.
 */
bool listing_names(struct listing *, const struct page_view *, size_t most);
/* Callers whose names are not there yet, and the number of all callers. */
size_t listing_lacking(const struct listing *, size_t *all);
/* Threads whose names are not there yet. */
size_t listing_nameless(const struct listing *);

/* Heading and rows.  0, or an error of write(); -ECANCELED once `stop` is true. */
int listing_write(struct listing *, int fd, const atomic_bool *stop);

/* Rows, and how many of them are written; in any thread. */
uint64_t listing_rows(const struct listing *);
uint64_t listing_written(const struct listing *);
/* Bytes of text, once it is written. */
uint64_t listing_bytes(const struct listing *);

/* Node and target, as in "0590 redis-server[4711]"; outside text. */
#define LISTING_TITLE 400
void listing_title(const struct listing *, char out[LISTING_TITLE]);

/* --- destinations (listing_to.c) ------------------------------------------ */

#define LISTING_WORD 1024

enum listing_kind {
	LISTING_NODE,
	LISTING_FILE,
	LISTING_PAGER,
};

struct listing_to {
	enum listing_kind kind;
	struct nodes_entry entry;	/* of a node */
	char text[LISTING_WORD];	/* the path of a file, the command of a pager,
					   the word for a node; outside text */
};

/* The default of *L<>: this machine's number. */
void listing_own_number(char out[5]);

/* Parses the word in *L<>.  0, or -EINVAL with a sentence of outside text. */
int listing_to(struct listing_to *, const char *word, char *why, size_t cap);

#define WHOLE_NAME 256
#define WHOLE_TEMPORARY 64

/* The place of a new file or folder: its name, and the folder that it is in. */
struct whole_place {
	int folder;		/* -1: none */
	char name[WHOLE_NAME];
};

/*
 * Opens the folder; slashes behind the name do not count.  -EISDIR: a path that has
 * no name of its own, such as "." and "a/.."; -ENAMETOOLONG, what open() says.
 */
int whole_place_open(struct whole_place *, const char *path);
/* A name that nothing has, in all likelihood: ".pagek-KIND-" and digits. */
int whole_temporary(const char *kind, char out[WHOLE_TEMPORARY]);

/* --- files (whole_file.c) ---------------------------------------------------- */

/*
 * A file without a name until it is published, so that nothing is left of it
 * whatever ends this process.
 */

enum whole_file_place {
	WHOLE_FILE_LISTING,	/* a listing or an empty file, in case the path is mistyped */
	WHOLE_FILE_ANY,		/* any regular file */
	WHOLE_FILE_NEW,		/* nothing */
};

struct whole_file {
	int fd;			/* to write and read; -1 */
	struct whole_place at;	/* folder -1: it is to have no name */
	char temporary[WHOLE_TEMPORARY];	/* its name before it is published; "" none */
	enum whole_file_place place;
};

#define WHOLE_FILE_NONE ((struct whole_file){ .fd = -1, .at.folder = -1 })

/*
 * With path NULL it is never published.  -EEXIST: there is a file that may not
 * be replaced; -ENOTSUP: its place is not a regular file; -ENOLINK: a dangling
 * symbolic link; -EISDIR, or what open() says.
 */
int whole_file_open(struct whole_file *, const char *path,
    enum whole_file_place);
/* The folder of a file without a path. */
const char *whole_file_folder(void);
/*
 * Gives it its name; sync: once it is on the disk, which may take long.  The
 * same errors again, since its place may have changed.
 */
int whole_file_publish(struct whole_file *, bool sync);
/* Discards a file that was not published. */
void whole_file_close(struct whole_file *);

/* --- folders (whole_folder.c) ------------------------------------------------ */

struct whole_folder {
	int fd;			/* -1 */
	struct whole_place at;
	char temporary[WHOLE_TEMPORARY];	/* its name before it is published; "" none */
};

/* An empty folder is replaced; -EEXIST, -ENOTEMPTY: there is something else. */
int whole_folder_open(struct whole_folder *, const char *path);
/* A new file in it, for its owner alone; the caller closes it. */
int whole_folder_file(struct whole_folder *, const char *name, FILE **);
/* Gives it its name.  The same errors again, since its place may have changed. */
int whole_folder_publish(struct whole_folder *);
/* Discards a folder that was not published. */
void whole_folder_close(struct whole_folder *);

#endif
