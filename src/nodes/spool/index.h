/*
 * spool_index: what is known of the spool's folder, by ascending name.
 * Private to the spool.
 */
#ifndef NODES_SPOOL_INDEX_H
#define NODES_SPOOL_INDEX_H

#include <dirent.h>
#include <sys/queue.h>
#include <time.h>

#include "file.h"
#include "spool.h"

struct arrival;

/* Bytes and listings of one sender, of one user, and of all. */
struct spool_room {
	uint64_t peer, user, total;
};

struct spool {
	int dir;
	struct spool_room max;
	int64_t patience_ms;
	struct spool_entry **entry;
	size_t n, cap;
	TAILQ_HEAD(, arrival) arrivals;
	unsigned narrivals;
	time_t last_second;		/* of the greatest name ... */
	unsigned last_number;		/* ... and its number there */
	DIR *reading;			/* NULL: the folder is not being read */
	bool again;			/* ... a second time, for files were gone */
	uint32_t turn_ms;		/* so long at a time; 0: at once */
	bool known;			/* it has been read */
	int64_t begun_ms;		/* monotonic: when it was begun to be read last ... */
	int64_t read_ms;		/* ... and when the last time began that came to its end */
	struct timespec changed;	/* the folder's own time at begun_ms */
};

/* Room that a part takes. */
uint64_t spool_part_room(uint32_t bytes);

/* A name greater than all there are. */
void spool_next_name(struct spool *, char name[SPOOL_NAME]);
/* ... and so many numbers of its second are passed over. */
void spool_skip_names(struct spool *, unsigned n);

/* Adds an entry; its texts are copied.  -ENOMEM. */
int spool_entry_add(struct spool *, const struct spool_head *,
    struct spool_entry **);
/* Takes it out, and its files too if `files`. */
void spool_entry_remove(struct spool *, struct spool_entry *, bool files);

/* Waits for its other parts from now on. */
void spool_entry_wait(const struct spool *, struct spool_entry *);

/* Room that the other entries of that sender take. */
struct spool_room spool_taken(const struct spool *,
    const struct spool_entry *but, uint32_t uid, const char *origin);

/*
 * Reads the folder, new files and files that are gone, or a turn more of it:
 * it is done when nothing is being read any more.
 */
int spool_scan(struct spool *);

#endif
