/*
 * module_paths: paths of the modules that a target's stacks name, where the
 * target itself does not know them in full.
 */
#ifndef NODES_KEEPER_MODULES_H
#define NODES_KEEPER_MODULES_H

#include "keeper.h"

/* Looks at what has come since the last call; costs nothing when nothing has. */
void modules_find_paths(struct keeper *);

/* Reads the module table of a target anew, by a worker. */
void modules_refresh(struct keeper *);

#endif
