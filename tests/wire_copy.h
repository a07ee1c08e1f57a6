/*
 * Decoding for tests that hold on to messages: a message lives no longer than
 * the map that it came from, so that map is copied.
 */
#ifndef TESTS_WIRE_COPY_H
#define TESTS_WIRE_COPY_H

#include <stdlib.h>
#include <string.h>

#include "../src/stream/wire/wire.h"
#include "harness.h"

#define WIRE_COPIES 512

/*
 * As wire_decode(); the message lives until WIRE_COPIES more have been decoded
 * here.  The copy is exactly as long as the map, so that a sanitizer sees a
 * read beyond it.
 */
static inline int
wire_decode_copy(const uint8_t *map, size_t len, struct wire_msg *m)
{
	static uint8_t *copies[WIRE_COPIES];
	static size_t at;
	uint8_t *copy = malloc(len > 0 ? len : 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, map, len);
	at = (at + 1) % WIRE_COPIES;
	free(copies[at]);
	copies[at] = copy;
	return wire_decode(copy, len, m);
}

#endif
