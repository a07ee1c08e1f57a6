/*
 * client: the node's side of the reader.  Private to this room.
 *
 * Vocabulary
 *	child		a run of pagek-symbols, with pipes to it.
 *	module		what is known of one file: by build id and path, or by
 *			path, inode, time of mapping and process.  Its number is
 *			part of the key of its words.
 *	bare		without debug information: worth fetching.
 */
#ifndef SYMBOL_CLIENT_H
#define SYMBOL_CLIENT_H

#include "packet.h"

#include "../base/base.h"
#include "../base/hashmap.h"

struct child {
	pid_t pid;		/* 0: none runs */
	int pidfd;
	int to, from;		/* pipes, ours do not block; to is -1 without input */
	unsigned answered;	/* packets it has answered */
	int stop;		/* readable: every wait ends; -1 none */
};

/*
 * Starts argv[0], a child of the calling thread in a process group of its own.
 * Its input is empty unless `input`.
 */
int symchild_start(struct child *, char *const argv[], bool input);

/* Kills and reaps it; if it does not go, it is reaped later. */
void symchild_end(struct child *);

/* All n bytes, or -ETIMEDOUT, -ECANCELED (stop), -EPIPE (it is gone), -EIO. */
int symchild_write(struct child *, const uint8_t *, size_t, struct mono deadline);
int symchild_read(struct child *, uint8_t *, size_t, struct mono deadline);

/* Like read(2), but waits for data: the same errors. */
ssize_t symchild_read_some(struct child *, uint8_t *, size_t,
    struct mono deadline);

/* `ms` from now. */
struct mono symchild_deadline(unsigned ms);

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
 * The number of a place's module, good until symcache_begin(); -ENOMEM.
 * symcache_known() is borrowed until the next number.
 */
int symcache_module(struct symcache *, const struct symbol_place *, uint32_t *no);
struct module_known *symcache_known(struct symcache *, uint32_t no);

/* n modules may be new: forgets everything if there would be too many. */
void symcache_begin(struct symcache *, size_t n);

/* Words are copied; `out` is empty.  False: not kept, or no memory. */
bool symcache_get(struct symcache *, uint32_t no, const struct symbol_place *,
    struct symbol_words *);
void symcache_put(struct symcache *, uint32_t no, const struct symbol_place *,
    const struct symbol_words *);

struct fetches;

enum fetch_state {
	FETCH_NONE,		/* not wanted, or failed */
	FETCH_GOING,
	FETCH_HERE,
};

/* NULL with 0: fetching is not configured. */
int fetches_new(struct fetches **, const char *reader);
void fetches_free(struct fetches *);
/* Ends the running one soon, and the queue. */
void fetches_stop(struct fetches *);

/* FETCH_HERE: `path` is the caller's copy. */
enum fetch_state fetches_want(struct fetches *, const uint8_t *build_id,
    unsigned len, const char *module, char **path);
bool fetches_progress(struct fetches *, struct symbols_fetch *);

#endif
