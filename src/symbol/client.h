/*
 * client: the node's side of the reader: what asks it, keeps what it said, and
 * has debug files fetched.  Private to this room.
 *
 * Vocabulary
 *	child		a run of pagek-symbols, with pipes to it.
 *	module		what was learnt of one file: by build id and path, or by
 *			path, inode, the time it was mapped and whose root it is
 *			seen from.  Its number is part of the key of its words.
 *	bare		without debug information: worth fetching.
 */
#ifndef SYMBOL_CLIENT_H
#define SYMBOL_CLIENT_H

#include "packet.h"

#include "../base/base.h"
#include "../base/hashmap.h"
#include "../base/intern.h"

/* --- a child -------------------------------------------------------------- */

struct child {
	pid_t pid;		/* 0: none runs */
	int pidfd;
	int to, from;		/* pipes, ours do not block; to is -1 without input */
	unsigned answered;	/* packets it has answered */
	bool has_stop;		/* nobody waits for it any longer ... */
	int stop;		/* ... once there is something to be read here */
};

/*
 * Starts argv[0], whose input is empty unless `input`.  It is a child of the
 * calling thread; it lives in a process group of its own.
 */
int symchild_start(struct child *, char *const argv[], bool input);

/* Ends it at once and reaps it if it goes; what does not go is left to later. */
void symchild_end(struct child *);

/*
 * Both by the deadline: 0, -ETIMEDOUT, -ECANCELED when nobody waits any longer,
 * -EPIPE when it is gone, or -EIO.
 * SIGPIPE is not for the caller.
 */
int symchild_write(struct child *, const uint8_t *, size_t, struct mono deadline);
int symchild_read(struct child *, uint8_t *, size_t, struct mono deadline);

/* What is there, as read(2), waiting at most so long: -ETIMEDOUT; 0: its end. */
ssize_t symchild_read_some(struct child *, uint8_t *, size_t, int wait_ms);

/* The moment `ms` from now. */
struct mono symchild_deadline(unsigned ms);

/* --- what is known -------------------------------------------------------- */

struct module_known {
	uint32_t generation;	/* grows when a debug file has come */
	bool damaged;
	bool bare;
	char *fetched;		/* its debug file; NULL none */
	unsigned build_id_len;
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
};

struct symcache;

int symcache_new(struct symcache **);
void symcache_free(struct symcache *);

/*
 * The number of a place's module, made when it is new; -ENOMEM.  Numbers are
 * good until the next symcache_begin(), modules borrowed until the next number.
 */
int symcache_module(struct symcache *, const struct symbol_place *, uint32_t *no);
struct module_known *symcache_known(struct symcache *, uint32_t no);

/* So many modules may be new: forgets all there is when they are too many. */
void symcache_begin(struct symcache *, size_t n);

/*
 * Words are copied in and out; into words that are empty.  False: not kept, or
 * no memory.
 */
bool symcache_get(struct symcache *, uint32_t no, const struct symbol_place *,
    struct symbol_words *);
void symcache_put(struct symcache *, uint32_t no, const struct symbol_place *,
    const struct symbol_words *);

/* --- fetching ------------------------------------------------------------- */

struct fetches;

enum fetch_state {
	FETCH_NONE,		/* not asked for, or it could not be had */
	FETCH_GOING,
	FETCH_HERE,
};

/* NULL with 0: fetching is not configured. */
int fetches_new(struct fetches **, const char *reader);
void fetches_free(struct fetches *);
/* No more of them; the one that is on its way ends soon. */
void fetches_stop(struct fetches *);

/*
 * Where the debug file of this build id is; asked for the first time it is
 * put in the queue.  `path` is a copy for the caller, with FETCH_HERE only.
 */
enum fetch_state fetches_want(struct fetches *, const uint8_t *build_id,
    unsigned len, const char *module, char **path);
bool fetches_progress(struct fetches *, struct symbols_fetch *);

#endif
