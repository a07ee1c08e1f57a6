/*
 * refs: which pages of another process were referenced in an epoch, from the
 * accessed bits of its page tables: no fault, no page protected, any user's own
 * process, references by system calls included.
 *
 *	refs.c		epochs, and the cuts that they need
 *	mappings.c	the process's mappings, read from smaps
 *
 * /proc/PID/clear_refs clears all accessed bits.  The kernel tells how many bytes
 * of a mapping have been referenced since, not which.  A mapping of which some
 * pages were referenced and others not is *mixed*: the process is asked to cut it
 * (stream/ring.h), and then it is read again.  The bits stay where they are, so an
 * epoch can be read exactly after it has ended, some cuts at a time.
 *
 * Cuts stay for the next epoch while there is room for them: all cuts together take
 * at most a quarter of the mappings that the process has left (vm.max_map_count).
 *
 * A page is *coarse* if it may be a neighbour that was referenced: its mapping is
 * mixed and is not cut, because it is none of anonymous private memory, the process
 * does not answer (it is idle or dormant), or there is no room; or a huge page maps
 * it.
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
 * Asks the process for cuts, RING_CUTS at most, and waits until it has carried them
 * out: 0; a negative errno if it has not, or not yet.
 */
typedef int refs_cut(void *arg, const struct ring_cut *, size_t n);

/*
 * Of the process's image: an epoch during which it executes another program ends with
 * -ESRCH.  cut NULL: it cannot be asked.  -ESRCH, -ENOMEM, and errors of open(2).
 */
int refs_open(struct refs **, pid_t, refs_cut *cut, void *arg);
/* Undoes all cuts, if the process answers. */
void refs_close(struct refs *);

/* Begins an epoch.  -ESRCH: it has ended; -EACCES: it is another user's. */
int refs_begin(struct refs *);

/*
 * Ends an epoch: calls touched() for each page of a REFCNT_REFS range that was
 * referenced, by address.  It calls no function of `counted` meanwhile.  Errors as
 * above, and -ENOMEM.  -EAGAIN: the process has not answered yet: the epoch goes on;
 * call it again later.  If it does so REFS_TRIES times pages are coarse instead, until
 * the process answers.
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

/* --- inside this room, and for tests ----------------------------------------- */

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
 * Reads the text of a smaps file to its end.  Lines that it does not know are
 * skipped; mappings come by address, or the text is no such file: -EBADMSG.  Errors
 * of read(2), -ENOMEM.
 */
int mappings_read(int fd, struct mappings *);

/*
 * For an open /proc/PID/pagemap.  False: the process has ended, or has executed another
 * program since the file was opened.
 */
bool pagemap_has_image(int fd);

#endif
