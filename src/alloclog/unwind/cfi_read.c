/*
 * Numbers of the tables, read within their bounds.
 */
#include "cfi_read.h"

uint64_t
cursor_spoil(struct cursor *c)
{
	c->bad = true;
	c->at = c->end;
	return 0;
}

uint64_t
cursor_fixed(struct cursor *c, unsigned size)
{
	uint64_t value = 0;
	unsigned i;

	if ((size_t)(c->end - c->at) < size)
		return cursor_spoil(c);
	for (i = 0; i < size; i++)
		value |= (uint64_t)c->at[i] << 8 * i;
	c->at += size;
	return value;
}

uint8_t
cursor_byte(struct cursor *c)
{
	return (uint8_t)cursor_fixed(c, 1);
}

uint64_t
cursor_uleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift;
	uint8_t byte;

	for (shift = 0; shift < 63; shift += 7) {
		byte = cursor_byte(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	return cursor_spoil(c);
}

int64_t
cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift;
	uint8_t byte;

	for (shift = 0; shift < 63; shift += 7) {
		byte = cursor_byte(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) != 0)
			continue;
		if ((byte & 0x40) != 0)
			value |= ~UINT64_C(0) << (shift + 7);
		return (int64_t)value;
	}
	return (int64_t)cursor_spoil(c);
}

struct cursor
cursor_piece(struct cursor *c, uint64_t size)
{
	struct cursor piece = { c->at, c->at, false };

	if (size > (size_t)(c->end - c->at)) {
		cursor_spoil(c);
		piece.bad = true;
		return piece;
	}
	c->at += size;
	piece.end = c->at;
	return piece;
}

uint64_t
cursor_encoded(struct cursor *c, uint8_t format)
{
	switch (format & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return cursor_fixed(c, 8);
	case PE_ULEB128:
		return cursor_uleb(c);
	case PE_SLEB128:
		return (uint64_t)cursor_sleb(c);
	case PE_UDATA2:
		return cursor_fixed(c, 2);
	case PE_SDATA2:
		return (uint64_t)(int16_t)cursor_fixed(c, 2);
	case PE_UDATA4:
		return cursor_fixed(c, 4);
	case PE_SDATA4:
		return (uint64_t)(int32_t)cursor_fixed(c, 4);
	default:
		return cursor_spoil(c);
	}
}

uintptr_t
cursor_pointer(struct cursor *c, uint8_t encoding, const uint8_t *data)
{
	uintptr_t base;

	if ((encoding & PE_BASE) == 0)
		base = 0;
	else if ((encoding & PE_BASE) == PE_PCREL)
		base = (uintptr_t)c->at;
	else if ((encoding & PE_BASE) == PE_DATAREL && data != NULL)
		base = (uintptr_t)data;
	else
		return (uintptr_t)cursor_spoil(c);
	return base + (uintptr_t)cursor_encoded(c, encoding);
}
