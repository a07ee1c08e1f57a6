/*
 * spool: listings that pages have sent, as files of one folder.
 *
 * Vocabulary
 *	listing	what one page has sent at once, under a name of the spool's
 *		choice: its time and a number.  Names ascend as listings come.
 *	part	at most WIRE_LISTING_PART bytes of it, a file of its own
 *		(file.h); it is there whole or not at all.
 *	whole	all parts are there.  A listing that is not is removed
 *		SPOOL_PATIENCE_S after its last piece.
 *	room	bytes that count against the quotas: parts in units of
 *		SPOOL_UNIT, and what a listing on its way may yet take.
 *	sender	a user and an origin, which names the page as far as the node
 *		knows it.  Text behind SPOOL_CLAIM is the page's own word and
 *		makes no other sender.
 *
 *	spool.c		the folder
 *	store.c		listings on their way, quotas
 *	print.c		listings on paper
 *	file.h		one part as a file; private
 *	index.h		what is known of the folder; private
 *
 * The folder is opened once, names are looked up from there, and no link is
 * followed.  Other nodes of the same user may store in it, too; their files are
 * found when the listings are asked for.
 *
 * Nothing is removed to make room.  The kernel writes pieces to the disk in its
 * own time, so nothing here waits as long as the folder is on a disk of this
 * machine.  The folder is read in turns, for there may be many files.
 */
#ifndef NODES_SPOOL_H
#define NODES_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "../../stream/wire/wire.h"

#define SPOOL_NAME 24			/* with its NUL */
#define SPOOL_ORIGIN 256
#define SPOOL_TITLE 256
#define SPOOL_PATH 1024
#define SPOOL_UNIT 4096
#define SPOOL_PEER_MAX (UINT64_C(64) << 20)	/* of one sender ... */
#define SPOOL_USER_MAX (UINT64_C(512) << 20)	/* ... of one user, of all origins ... */
#define SPOOL_TOTAL_MAX (UINT64_C(1) << 30)	/* ... and of all of them */
#define SPOOL_PATIENCE_S 600
#define SPOOL_ARRIVALS 64		/* listings on their way at a time ... */
#define SPOOL_CONN_ARRIVALS 4		/* ... over one connection */
#define SPOOL_CLAIM ", says "
#define SPOOL_SYSTEM "/var/lib/pagek/listings"
#define PRINT_WAITING 1024		/* listings that wait for the printer */

struct spool;

struct spool_opts {
	const char *path;
	bool existing;			/* makes no folder: -ENOENT if one could be made */
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
	uint64_t counted;		/* a bit for each part that is in `room` */
	int64_t wall_ms;		/* of its first piece */
	int64_t due_ms;			/* monotonic; removed then unless whole */
	uint64_t seen;			/* parts found so far while the folder is read */
	bool arriving;
};

/* The folder of a user, or of the system.  -ENOENT, -ENAMETOOLONG. */
int spool_path(bool system, char out[SPOOL_PATH]);

/*
 * Opens the folder, which must be this user's alone; makes it if need be.
 * Negative errno with a sentence in why.
 */
int spool_open(struct spool **, const struct spool_opts *, char *why,
    size_t cap);
void spool_close(struct spool *);

/* False: the folder was removed. */
bool spool_is_there(const struct spool *);
unsigned spool_arriving(const struct spool *);

struct spool_sender {
	uint64_t conn;			/* never another one with that number */
	uint32_t uid;
	const char *origin;		/* safe text, for the first piece; else NULL */
};

struct spool_ack {
	const struct spool_entry *entry;	/* until the next call */
	uint32_t stored;		/* bytes of this part */
	bool whole;			/* the listing is, by this piece */
};

/*
 * Stores one piece.  On failure all of the listing is removed, and why is a
 * sentence:
 *	-EDQUOT		beyond a quota
 *	-EBUSY		too many at a time, or the folder has not been read yet
 *	-ENOENT		no such listing comes over this connection
 *	-EBADMSG	not the next piece, or a wrong sum
 *	-EIO		the disk failed
 *	-ENOMEM
 */
int spool_put(struct spool *, const struct spool_sender *,
    const struct wire_lput *, struct spool_ack *, char *why, size_t cap);

/* The connection is closed: its listings stay incomplete. */
void spool_conn_closed(struct spool *, uint64_t conn);

/* Once a second: removes what was incomplete for too long. */
void spool_second(struct spool *);

/* Finds changes made by others; at most once a second. */
void spool_refresh(struct spool *);

/* Has the folder been read?  Before that no listing can begin: -EBUSY. */
bool spool_is_known(const struct spool *);
bool spool_is_reading(const struct spool *);
void spool_turn(struct spool *);

/*
 * The first entry with a greater name for which is_for is true, or NULL.
 * Borrowed until the spool changes: put, conn_closed, second, refresh, turn.
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
 * Reads bytes of a part from `at` on; 0 beyond its end.  Does not check them
 * against the sum.  -ENOENT: there is no such part; -EBADMSG: its file was
 * changed.
 */
ssize_t spool_read(const struct spool *, const struct spool_entry *,
    unsigned part, uint32_t at, void *out, size_t max, struct spool_part *);

/* --- print.c --------------------------------------------------------------- */

/*
 * Stored listings go to `lp`, one at a time, as safe text with a header: no byte
 * of a listing controls the printer.  Errors are logged.
 */
struct print;

/* Letters, digits and some signs, no '-' first. */
bool print_name_ok(const char *name);

/* printer NULL: lp's default.  -ENOMEM. */
int print_new(struct print **, uv_loop_t *, const struct spool *,
    const char *printer);
/* The spool has been opened again, or closed: NULL. */
void print_set_spool(struct print *, const struct spool *);
void print_add(struct print *, const struct spool_entry *);
/* Gives up what is not printed yet; the loop has then to be run. */
void print_close(struct print *);

#endif
