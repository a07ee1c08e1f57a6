/*
 * cfi_read: numbers out of a strange table.
 *
 * A cursor never leaves its piece of the table: asked for more than there is,
 * or for a number that is none, it is bad, stands at its end and gives zeros.
 */
#ifndef ALLOCLOG_CFI_READ_H
#define ALLOCLOG_CFI_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* DW_EH_PE_*: how a number is written, and what is added to it. */
#define PE_ABSPTR 0x00
#define PE_ULEB128 0x01
#define PE_UDATA2 0x02
#define PE_UDATA4 0x03
#define PE_UDATA8 0x04
#define PE_SLEB128 0x09
#define PE_SDATA2 0x0a
#define PE_SDATA4 0x0b
#define PE_SDATA8 0x0c
#define PE_FORMAT 0x0f
#define PE_PCREL 0x10
#define PE_DATAREL 0x30
#define PE_ALIGNED 0x50		/* to a multiple of 8, and absolute */
#define PE_BASE 0xf0		/* with DW_EH_PE_indirect, which code never is */
#define PE_OMIT 0xff

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* Makes it bad; 0, for those who have a number to give. */
uint64_t cursor_spoil(struct cursor *);

/* Little-endian, of at most 8 bytes. */
uint64_t cursor_fixed(struct cursor *, unsigned size);
uint8_t cursor_byte(struct cursor *);

/* Nothing in a table is as long as 63 bits: a longer number is damage. */
uint64_t cursor_uleb(struct cursor *);
int64_t cursor_sleb(struct cursor *);

/* A piece of `size` bytes, on which it moves on. */
struct cursor cursor_piece(struct cursor *, uint64_t size);

/* A number in one of the PE_ formats; nothing is added to it. */
uint64_t cursor_encoded(struct cursor *, uint8_t encoding);

/* The address that it means; `data` is what PE_DATAREL adds, NULL: nothing. */
uintptr_t cursor_pointer(struct cursor *, uint8_t encoding,
    const uint8_t *data);

#pragma GCC visibility pop

#endif
