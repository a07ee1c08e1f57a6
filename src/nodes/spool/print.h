/*
 * spool_print: listings that have come, on paper.
 *
 * One at a time goes to `lp` as text, with its header before it and safe text
 * only: no byte of a listing commands the printer.  What goes wrong is said in
 * the log.
 */
#ifndef NODES_SPOOL_PRINT_H
#define NODES_SPOOL_PRINT_H

#include <stdbool.h>
#include <uv.h>

#include "spool.h"

#define PRINT_WAITING 1024		/* listings that wait for their turn */

struct print;

/* Could a printer be called so?  Letters, digits and some signs, no '-' first. */
bool print_name_ok(const char *name);

/* printer NULL: lp's own choice.  -ENOMEM. */
int print_new(struct print **, uv_loop_t *, const struct spool *,
    const char *printer);
/* Listings are of that spool from now on; NULL: of none. */
void print_from(struct print *, const struct spool *);
/* Prints that listing when it is its turn. */
void print_add(struct print *, const struct spool_entry *);
/* Gives up what is not printed yet; the loop has then to be run. */
void print_close(struct print *);

#endif
