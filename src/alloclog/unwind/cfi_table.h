/*
 * cfi_table: the entries of an object's table, and what they say.
 *
 * Vocabulary
 *	entry		a piece of .eh_frame: an FDE, which is about one
 *			function, or a CIE, which holds what the FDEs that name
 *			it have in common.
 *	program		of an entry: how the places of registers change from
 *			one address of the function to the next.
 *	row		what holds at one address.
 */
#ifndef ALLOCLOG_CFI_TABLE_H
#define ALLOCLOG_CFI_TABLE_H

#include "cfi_read.h"

#pragma GCC visibility push(hidden)

/* Numbers of registers by the psABI. */
#define DWARF_RBP 6
#define DWARF_RSP 7
#define DWARF_RA 16

struct cfi_table {
	const uint8_t *hdr;		/* .eh_frame_hdr */
	const uint8_t *lo, *hi;		/* nothing outside is read */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;	/* of addresses of code */
	bool augmented;		/* FDEs say how long their extra data is */
	bool signal;
	struct cursor program;
};

struct cfi_fde {
	uintptr_t start, size;
	struct cfi_cie cie;
	struct cursor program;
};

/* The entry of the function that pc lies in; 0, -ENOENT, -ENOTSUP. */
int cfi_table_find(const struct cfi_table *, uintptr_t pc, struct cfi_fde *);

struct cfi_rule;

/* What its programs say of pc, as a rule; 0 or -ENOTSUP. */
int cfi_rows_rule(const struct cfi_fde *, uintptr_t pc, struct cfi_rule *);

#pragma GCC visibility pop

#endif
