/*
 * The table of messages as encoder and decoder read it, made from wire.def.
 * Private to this room and its tests.
 *
 * Vocabulary
 *	field	one key of one message, and the member of struct wire_msg that
 *		has its value.
 *	kind	the value's form as CBOR and in C.
 */
#ifndef STREAM_WIRE_TABLE_H
#define STREAM_WIRE_TABLE_H

#include "wire.h"

#define WIRE_KEY_TYPE 0
#define WIRE_KEY_ID 1
/*
 * For the CBOR of each kind see wire.def; PAIR and NUMBERS are UINTS here.
 * Members, and how size, n, max and at2 are meant:
 *
 * UINT		an unsigned member of size bytes, at most max
 * INT		a signed member of size bytes
 * BOOL		a bool
 * TEXT		struct wire_text of at most max bytes
 * BYTES	struct wire_bytes of at most max bytes
 * ID		an array of size bytes
 * UINTS	n neighbouring unsigned members of size bytes, at least `least`; at2
 *		counts those that came, 0: it does not
 * LIST		an array of up to n unsigned of size bytes; at2 counts them
 * TEXTS, INFO	an array of up to n struct wire_text, wire_info; at2 as in LIST
 * LOST		an array of n struct wire_lost
 * OR_LAST	an unsigned member of size bytes; at2 is the bool
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
	const struct wire_field *fields;	/* ended by one without a name */
	size_t nfields;
	size_t body;		/* its bytes of struct wire_msg */
	bool request;		/* from a page */
	uint32_t role;		/* that a request needs */
	uint32_t answer;	/* type of its reply; WIRE_NO_ANSWER: none */
	/* Checks that concern several fields: 0, or -EINVAL.  May be NULL. */
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
