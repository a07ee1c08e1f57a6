/*
 * wire_keys: which keys each message has.  Private to the codec; the tables
 * are in table.c, and a new field of a message is one line there.
 *
 * Vocabulary
 *	field	one key of one message and the member of struct wire_msg that
 *		its value lies in.
 *	kind	what the value is as CBOR, and as C.
 *	must	always sent, and a message without it is refused.  Any other
 *		field is left out when it is zero, false or empty, and is that
 *		when it is absent.
 */
#ifndef STREAM_WIRE_TABLE_H
#define STREAM_WIRE_TABLE_H

#include "wire.h"

#define WIRE_KEY_TYPE 0
#define WIRE_KEY_ID 1
/*
 * Each kind (WIRE_V_...): its CBOR value; its member, and how size, max and n
 * are meant.
 *
 * UINT		unsigned, at most max; an unsigned member of size bytes
 * INT		unsigned or negative; a signed member of size bytes
 * BOOL		true or false
 * TEXT		text of at most max bytes; struct wire_text
 * BYTES	byte string of at most max bytes; struct wire_bytes
 * ID		byte string of exactly size bytes; an array of them
 * UINTS	array of n unsigned or, from a later version, more, which are
 *		skipped, or, from an earlier one, fewer, but `least`: the others
 *		read 0; n neighbouring members of size bytes
 * LIST		array of up to n unsigned; an array of size bytes each, and a
 *		size_t that counts them
 * TEXTS	array of up to n texts; an array of struct wire_text, and a
 *		size_t
 * INFO		array [at, node number or name, at, ...]; an array of up to n
 *		struct wire_info, and a size_t
 * LOST		map {cause: [count, exact]}; an array of n struct wire_lost
 * OR_LAST	unsigned, or null for the last; an unsigned member of size
 *		bytes, and a bool
 *
 * What a member of size bytes cannot hold is out of range, whatever max says.
 */
enum wire_kind {
	WIRE_V_UINT,
	WIRE_V_INT,
	WIRE_V_BOOL,
	WIRE_V_TEXT,
	WIRE_V_BYTES,
	WIRE_V_ID,
	WIRE_V_UINTS,
	WIRE_V_LIST,
	WIRE_V_TEXTS,
	WIRE_V_INFO,
	WIRE_V_LOST,
	WIRE_V_OR_LAST,
};

struct wire_field {
	const char *name;
	uint8_t key;
	enum wire_kind kind;
	bool must;
	uint16_t n, least;
	uint32_t at;		/* offset in struct wire_msg */
	uint32_t at2;		/* of the counting size_t, or of OR_LAST's bool */
	uint32_t size;
	uint64_t max;
};

struct wire_layout {
	const char *name;	/* NULL: a type that this version does not know */
	const struct wire_field *fields;
	size_t nfields;
	/* What one field cannot say: 0, or -EINVAL.  May be NULL. */
	int (*check)(const struct wire_msg *);
};

/* Type and id, which every message has. */
extern const struct wire_layout wire_common;

/* NULL for a type that this version does not know. */
const struct wire_layout *wire_layout(uint32_t type);

/* The value of a member of 1, 2, 4 or 8 bytes, and the reverse. */
uint64_t wire_member_get(const void *member, size_t size);
void wire_member_set(void *member, size_t size, uint64_t value);

#endif
