/*
 * spool: listings that others have sent, as files of one folder.
 *
 * Vocabulary
 *	listing	what one page has sent at once, under a name of the spool's
 *		choice: its time and a number.  Names ascend as listings come.
 *	part	at most WIRE_LISTING_PART bytes of it, a file of its own
 *		(file.h); it is there whole or not at all.
 *	whole	all parts are there.  A listing that is not is removed
 *		SPOOL_PATIENCE_S after the last that was heard of it.
 *	room	bytes that count against the quotas: parts in units of
 *		SPOOL_UNIT, and for a listing on its way what it may yet take.
 *	sender	a user and an origin, which says who he is as the node knows.
 *		What comes behind SPOOL_CLAIM in it is his own word, and makes
 *		nobody another one.
 *
 * The folder is opened once, and all names in it are looked up from there; no
 * link is followed.  Other nodes of the same user may store in it too: what
 * they leave there is found when the listings are asked for.
 *
 * Nothing is removed to make room for something else.  A piece that has been
 * taken is with the kernel, which writes it to the disk in its own time; so
 * nothing here waits as long as the folder is on a disk of this machine.  What
 * takes long with many listings, to read the folder, is done in turns.
 */
#ifndef NODES_SPOOL_H
#define NODES_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../stream/wire/wire.h"

#define SPOOL_NAME 24			/* with its NUL */
#define SPOOL_ORIGIN 256
#define SPOOL_TITLE 256
#define SPOOL_PATH 1024
#define SPOOL_UNIT 4096
#define SPOOL_PEER_MAX (UINT64_C(64) << 20)	/* of one sender ... */
#define SPOOL_USER_MAX (UINT64_C(512) << 20)	/* ... of one user, wherever he says that he is ... */
#define SPOOL_TOTAL_MAX (UINT64_C(1) << 30)	/* ... and of all of them */
#define SPOOL_PATIENCE_S 600
#define SPOOL_ARRIVALS 64		/* listings on their way at a time ... */
#define SPOOL_CONN_ARRIVALS 4		/* ... over one connection */
#define SPOOL_CLAIM ", says "
#define SPOOL_SYSTEM "/var/lib/pagek/listings"

struct spool;

struct spool_opts {
	const char *path;
	bool existing;			/* no folder is made: -ENOENT where one could be */
	uint64_t peer_max, user_max, total_max;	/* 0: those above */
	uint32_t patience_s;		/* likewise */
	uint32_t turn_ms;		/* the folder is read so long at a time; 0: at once */
};

struct spool_entry {
	char name[SPOOL_NAME];
	char *origin, *title;		/* safe text */
	uint32_t uid;
	unsigned parts;
	uint64_t have;			/* a bit for each part that is there */
	uint64_t bytes;			/* of these parts */
	uint64_t room;
	uint64_t counted;		/* a bit for each part that was found and is in it */
	int64_t wall_ms;		/* of its first piece */
	int64_t due_ms;			/* not whole, and forgotten then; monotonic */
	uint64_t seen;			/* parts that are there, while the folder is read */
	bool arriving;
};

/* Where listings are kept: of a user, or of the system.  -ENOENT, -ENAMETOOLONG. */
int spool_path(bool system, char out[SPOOL_PATH]);

/*
 * Opens the folder, which is this user's alone, and is made if need be.
 * Negative errno with a sentence in why.
 */
int spool_open(struct spool **, const struct spool_opts *, char *why,
    size_t cap);
void spool_close(struct spool *);

/* False: somebody has removed the folder, and whoever wants one opens it anew. */
bool spool_is_there(const struct spool *);
/* Listings on their way. */
unsigned spool_arriving(const struct spool *);

struct spool_sender {
	uint64_t conn;			/* never another one with that number */
	uint32_t uid;
	const char *origin;		/* safe text; of one that begins, NULL after that */
};

struct spool_ack {
	const struct spool_entry *entry;	/* until the next call */
	uint32_t stored;		/* bytes of this part */
	bool whole;			/* now it is */
};

/*
 * Takes one piece.  What cannot be taken ends the listing, and all of it is
 * removed; why is a sentence then, and the error
 *	-EDQUOT		beyond a quota
 *	-EBUSY		too many at a time, or the folder is not known yet
 *	-ENOENT		no such listing comes over this connection
 *	-EBADMSG	not the piece that comes next, or a wrong sum
 *	-EIO		the disk does not take it
 *	-ENOMEM
 */
int spool_put(struct spool *, const struct spool_sender *,
    const struct wire_lput *, struct spool_ack *, char *why, size_t cap);

/* The connection is closed: what comes over it is not whole. */
void spool_gone(struct spool *, uint64_t conn);

/* Once a second: what was not whole for too long. */
void spool_second(struct spool *);

/*
 * Looks for what others have put there or taken away; no more than once a
 * second.
 */
void spool_refresh(struct spool *);

/* Has the folder been read?  Before that no listing can begin: -EBUSY. */
bool spool_is_known(const struct spool *);
/* Is it being read? */
bool spool_is_reading(const struct spool *);
/* Goes on with that. */
void spool_turn(struct spool *);

/*
 * The first one whose name is greater, of those that are for `arg`; NULL.
 * Borrowed until the next call of put, gone, second, refresh or turn.
 */
const struct spool_entry *spool_after(const struct spool *, const char *name,
    size_t len, bool (*is_for)(const void *arg, const struct spool_entry *),
    const void *arg);
const struct spool_entry *spool_find(const struct spool *, const char *name,
    size_t len);

static inline bool
spool_is_whole(const struct spool_entry *e)
{
	return e->have == UINT64_MAX >> (64 - e->parts);
}

struct spool_part {
	uint32_t size;			/* bytes */
	uint8_t sum[WIRE_SHA256];	/* of them, as they were when they came */
};

/*
 * Bytes of a part from `at` on, `max` at most; 0 beyond its end.  Whether all of
 * them are those of the sum is for the reader to see.  -ENOENT when it is not
 * there, -EBADMSG when its file is not what it was.
 */
ssize_t spool_read(const struct spool *, const struct spool_entry *,
    unsigned part, uint32_t at, void *out, size_t max, struct spool_part *);

#endif
