/*
 * Wide records on the wire: the four words, little-endian.  On a little-endian
 * machine the compiler makes a copy of both loops.
 */
#include "stream.h"

#include <endian.h>
#include <string.h>

#define WORDS (REC_WIDE_SIZE / 8)

_Static_assert(sizeof(struct rec) == REC_WIDE_SIZE, "a record is its words");

void
stream_wide_encode(const struct rec *r, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < WORDS; k++) {
			uint64_t word = htole64(r[i].w[k]);

			memcpy(out + (i * WORDS + k) * 8, &word, 8);
		}
	}
}

void
stream_wide_decode(const uint8_t *in, size_t n, struct rec *r)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < WORDS; k++) {
			uint64_t word;

			memcpy(&word, in + (i * WORDS + k) * 8, 8);
			r[i].w[k] = le64toh(word);
		}
	}
}
