/*
 * own_use: what this process uses of the machine, as the kernel counts it.
 *
 * May fail with a negative errno where /proc is not there, or does not tell.
 */
#ifndef PAGEK_OWN_USE_H
#define PAGEK_OWN_USE_H

#include <stdint.h>

/* Bytes of memory that the process has now. */
int own_use_memory(uint64_t *bytes);

#endif
