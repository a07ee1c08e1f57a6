/* spool_index: what is known of the spool's folder.  Private to the spool. */
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
	struct spool_entry **entry;	/* by ascending name */
	size_t n, cap;
	TAILQ_HEAD(, arrival) arrivals;
	unsigned narrivals;
	time_t last_second;		/* of the greatest name ... */
	unsigned last_number;		/* ... and its number there */
	DIR *reading;			/* NULL: the folder is not being read */
	bool reads_again;		/* ... a second time, for files were gone */
	uint32_t turn_ms;		/* read so long at a time; 0: at once */
	bool known;			/* it has been read */
	int64_t begun_ms;		/* monotonic: start of the last reading ... */
	int64_t read_ms;		/* ... and of the last one that was finished */
	struct timespec changed;	/* the folder's own time at begun_ms */
};

uint64_t spool_part_room(uint32_t bytes);

/* A name greater than all others. */
void spool_next_name(struct spool *, char name[SPOOL_NAME]);
/* Skips so many numbers of its second. */
void spool_skip_names(struct spool *, unsigned n);

/* -ENOMEM. */
int spool_entry_add(struct spool *, const struct spool_head *,
    struct spool_entry **);
void spool_entry_remove(struct spool *, struct spool_entry *, bool files);

/* Restarts the time in which its other parts must come. */
void spool_entry_wait(const struct spool *, struct spool_entry *);

/* Room taken by entries other than `but`, by sender, user and all. */
struct spool_room spool_taken(const struct spool *,
    const struct spool_entry *but, uint32_t uid, const char *origin);

/* Reads the folder, or a turn more of it; done when `reading` is NULL again. */
int spool_scan(struct spool *);

#endif
