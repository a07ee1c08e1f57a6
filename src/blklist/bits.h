/*
 * The k-th set bit of an array of words, and how many are set before a place.
 * Private.
 */
#ifndef BLKLIST_BITS_H
#define BLKLIST_BITS_H

#include <stdint.h>

/* Position of the k-th set bit, from 0; there is one. */
uint32_t bits_select(const uint64_t *, uint32_t k);
/* Set bits in [0, end). */
uint32_t bits_rank(const uint64_t *, uint32_t end);

#endif
