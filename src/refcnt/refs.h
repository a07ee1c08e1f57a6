/*
 * refs: pages of another process referenced in an epoch, by accessed bits: no
 * fault, no protection, any user's own process, system calls included.
 *
 *	refs.c		epochs, and the cuts that they need
 *	mappings.c	the process's mappings, read from smaps
 *
 * /proc/PID/clear_refs clears all accessed bits; the kernel tells how many
 * bytes of a mapping were referenced since, not which.  A partly referenced
 * mapping is *mixed*: the process is asked to cut it (stream/ring.h), and it
 * is read again.  The bits stay: an epoch can be read exactly later, some cuts
 * at a time.
 *
 * Cuts stay for the next epoch, at most a quarter of the mappings that the
 * process has left (vm.max_map_count).
 *
 * A page is *coarse* if it may be its neighbour that was referenced: its
 * mapping is mixed and not cut (not anonymous private memory, no answer, no
 * room), or a huge page maps it.
 *
 * Known limits
 *	A page that is only read and was never written is the kernel's page of
 *	zeros and does not count.
 *	References by other processes to shared memory count for their own tables.
 *	A processor that holds an address in its TLB sets no bit for it.  The
 *	process makes all of them forget at the begin of an epoch, if it answers.
 *
 * Example
 *	refs_open(&r, pid, ask_target, target);
 *	refs_begin(r);
 *	... a second later ...
 *	refs_end(r, counted, note_page, NULL);
 *	refs_close(r);
 */
#ifndef REFCNT_REFS_H
#define REFCNT_REFS_H

#include <sys/types.h>

#include "../stream/ring.h"
#include "refcnt.h"

struct refs;

/*
 * Asks for cuts, RING_CUTS at most, and waits: 0; a negative errno if not, or
 * not yet.
 */
typedef int refs_cut(void *arg, const struct ring_cut *, size_t n);

/*
 * Of the process's image: an exec in an epoch ends it with -ESRCH. cut NULL:
 * not to be asked.  -ESRCH, -ENOMEM, errors of open(2).
 */
int refs_open(struct refs **, pid_t, refs_cut *cut, void *arg);
/* Undoes all cuts, if the process answers. */
void refs_close(struct refs *);

/* Begins an epoch.  -ESRCH: it has ended; -EACCES: it is another user's. */
int refs_begin(struct refs *);

/*
 * Calls touched() for each referenced page of a REFCNT_REFS range, by address;
 * nothing of `counted` meanwhile.  Errors as above, and -ENOMEM.  -EAGAIN: no
 * answer yet, the epoch goes on: call again.  After REFS_TRIES pages are
 * coarse until an answer.
 */
#define REFS_TRIES 3
int refs_end(struct refs *, const struct refcnt *counted, refcnt_touched *touched,
    void *arg);

struct refs_sums {
	uint64_t epochs;
	uint64_t touched, coarse;	/* pages of the last epoch; coarse ones are among both */
	uint64_t unanswered;		/* requests that were not carried out in time */
	unsigned reads;			/* of the mappings, for the last epoch */
	size_t cuts;			/* mappings that the cuts have made, as last read */
};

void refs_sums(const struct refs *, struct refs_sums *);

/* A mapping, or a part of one that has been cut. */
struct mapping {
	uint64_t from, to;
	uint64_t present;	/* bytes in memory, without the page of zeros */
	uint64_t referenced;	/* bytes of these */
	uint64_t huge;		/* bytes of these that huge pages map */
	uint8_t advice;		/* enum ring_advice */
	bool anonymous;		/* private, of no file and no special use: may be cut */
};

struct mappings {
	struct mapping *at;
	size_t n, cap;
};

/*
 * Reads a smaps file; skips unknown lines.  Mappings come by address, else
 * -EBADMSG.  Errors of read(2), -ENOMEM.
 */
int mappings_read(int fd, struct mappings *);

/* For an open /proc/PID/pagemap.  False: ended, or executed another program since. */
bool pagemap_has_image(int fd);

#endif
