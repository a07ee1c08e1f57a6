/*
 * wire: regions as they are packed in REGIONED.
 */
#include <endian.h>
#include <string.h>

#include "wire.h"

/* As it lies on the wire, each number little-endian. */
struct packed {
	uint64_t base, size;
	uint16_t head, align;
	char name[WIRE_REGION_NAME];
};

_Static_assert(sizeof(struct packed) == WIRE_REGION_SIZE, "no gaps");

void
wire_region_put(uint8_t out[WIRE_REGION_SIZE], const struct wire_region *r)
{
	struct packed p = {
		.base = htole64(r->base), .size = htole64(r->size),
		.head = htole16(r->head), .align = htole16(r->align),
	};

	memcpy(p.name, r->name, strnlen(r->name, sizeof p.name));
	memcpy(out, &p, sizeof p);
}

void
wire_region_get(struct wire_region *r, const uint8_t in[WIRE_REGION_SIZE])
{
	struct packed p;

	memcpy(&p, in, sizeof p);
	r->base = le64toh(p.base);
	r->size = le64toh(p.size);
	r->head = le16toh(p.head);
	r->align = le16toh(p.align);
	memcpy(r->name, p.name, sizeof p.name);
	r->name[sizeof p.name] = '\0';
}
