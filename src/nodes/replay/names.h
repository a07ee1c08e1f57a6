/*
 * names: the definitions of a capture (sites, modules, threads, types) and its marks
 * (marks.c), for the keeper of its part.
 * Private to the room.
 */
#ifndef NODES_REPLAY_NAMES_H
#define NODES_REPLAY_NAMES_H

#include "../../capture/capture.h"
#include "../keeper/keeper.h"

/* The capture's numbers of sites as the keeper's store has them. */
struct replay_names {
	uint32_t *site;			/* 0: not defined */
	uint32_t sites;			/* the highest */
};

/* Takes all definitions; call it again when the capture was opened again. */
int replay_names_take(struct replay_names *, struct keeper *,
    const struct capture *, uint32_t part);
void replay_names_fini(struct replay_names *);

/* The caller of a record of the capture, for a record of the keeper. */
uint64_t replay_caller(const struct replay_names *, const struct keeper *,
    uint64_t caller);

struct replay_marks {
	uint32_t part;
	size_t next;			/* of the capture; 0 when the list begins again */
};

/*
 * Gives the keeper one more of the marks before this moment; call it in each visit.
 * -ENOMEM, errors of capture_seek().
 */
int replay_marks_take(struct replay_marks *, struct keeper *, struct capture *,
    uint64_t seq, int64_t ms);

#endif
