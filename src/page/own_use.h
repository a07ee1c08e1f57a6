/*
 * own_use: what this process uses of the machine, as the kernel counts it.
 *
 * Example
 *	struct own_use use = OWN_USE_CLOSED;
 *	if (own_use_written(&use, &before) == 0) {
 *		refresh();
 *		own_use_written(&use, &after);
 *	}
 *	own_use_close(&use);
 *
 * Both may fail with a negative errno where /proc is not there, or does not
 * tell: then nothing is known, for good.
 */
#ifndef PAGEK_OWN_USE_H
#define PAGEK_OWN_USE_H

#include <stdbool.h>
#include <stdint.h>

struct own_use {
	int fd;			/* -1: not open ... */
	bool none;		/* ... and never will be */
};
#define OWN_USE_CLOSED ((struct own_use){ .fd = -1 })

/* Bytes that the calling thread has written so far, into whatever it was. */
int own_use_written(struct own_use *, uint64_t *bytes);
void own_use_close(struct own_use *);

/* Bytes of memory that the process has now. */
int own_use_memory(uint64_t *bytes);

#endif
