/*
 * dstrm: the node's table of data streams and its generic name lookup.
 *
 * A row is a name, an index (its place), and an epoch: 16 random bytes drawn
 * whenever the row gets another stream or list, so that an index known to a page
 * from before is stale.  Rows of ended streams stay until the table
 * is full; then the one that ended first is removed.
 */
#ifndef NODES_KEEPER_DSTRM_H
#define NODES_KEEPER_DSTRM_H

#include <stddef.h>
#include <stdint.h>

#include "../../stream/wire/wire.h"

#define DSTRM_ROWS 1024
#define DSTRM_NAME 128

struct keeper;

struct dstrm_row {
	struct keeper *keeper;		/* NULL: the row is free */
	char name[DSTRM_NAME];
	uint8_t epoch[WIRE_EPOCH];
};

struct dstrm {
	struct dstrm_row row[DSTRM_ROWS];
	uint32_t entries;		/* rows ever used: indexes are below it */
};

/* -ENOSPC when every row is taken: the caller then removes one. */
int dstrm_add(struct dstrm *, const char *name, struct keeper *,
    uint32_t *index);
/* A row as it was in the process before this one.  -EEXIST: it is taken. */
int dstrm_restore(struct dstrm *, uint32_t index, const char *name,
    const uint8_t epoch[WIRE_EPOCH], struct keeper *);
void dstrm_remove(struct dstrm *, uint32_t index);

/*
 * The row of that name; of several (a pid used twice) a live one, else the
 * newest.  -ENOENT.
 */
int dstrm_find(const struct dstrm *, const char *name, size_t len,
    uint32_t *index);

/* Another list of the same stream, and so another epoch. */
void dstrm_renew(struct dstrm *, uint32_t index);

/* NULL: there is none. */
const struct dstrm_row *dstrm_at(const struct dstrm *, uint32_t index);

/*
 * The keeper that index and epoch mean: 0; -ENOENT when the row is free;
 * -ESTALE when the epoch is another one.
 */
int dstrm_get(const struct dstrm *, uint32_t index,
    const uint8_t epoch[WIRE_EPOCH], struct keeper **);

#endif
