/*
 * Tables of unwind rules.
 *
 * Vocabulary
 *	cursor		reads one piece of a table and never leaves it: beyond
 *			the end, or at a damaged number, it is bad, stands at its
 *			end and gives zeros.
 *	entry		a piece of .eh_frame: an FDE, which describes one
 *			function, or a CIE, which holds what FDEs share.
 *	program		of an entry: how the places of registers change from
 *			one address of the function to the next.
 *	row		the places of registers at one address.
 *
 * Known limits
 *	64-bit lengths of entries, which no x86-64 compiler writes.
 *	Without a search table WALK_MAX entries are read at most.
 *	A CFA from registers other than rsp and rbp, or by an expression other
 *	than those of signal frames and realigned stacks.  (The PLT has such,
 *	but no return address lies there.)
 *	An object stays loaded while a function of it is being called; a number
 *	on a damaged stack may lead into one that another thread unloads.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "cfi.h"
#include "libc.h"

/* DW_EH_PE_*: format of a number, and what is added to it. */
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

/* Returns 0 in place of a number. */
static uint64_t
cursor_spoil(struct cursor *c)
{
	c->bad = true;
	c->at = c->end;
	return 0;
}

/* Little-endian, 8 bytes at most. */
static uint64_t
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

static uint8_t
cursor_byte(struct cursor *c)
{
	return (uint8_t)cursor_fixed(c, 1);
}

/* LEB128.  No number in a table has 63 bits. */
static uint64_t
cursor_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift;
	uint8_t byte;

	for (shift = 0; shift < 63; shift += 7) {
		byte = cursor_byte(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) != 0)
			continue;
		if (is_signed && (byte & 0x40) != 0)
			value |= ~UINT64_C(0) << (shift + 7);
		return value;
	}
	return cursor_spoil(c);
}

static uint64_t
cursor_uleb(struct cursor *c)
{
	return cursor_leb(c, false);
}

static int64_t
cursor_sleb(struct cursor *c)
{
	return (int64_t)cursor_leb(c, true);
}

/* The next `size` bytes, which are skipped. */
static struct cursor
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

/* Reads a number without adding its base. */
static uint64_t
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

/* `data`: base of PE_DATAREL, or NULL. */
static uintptr_t
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

/* Registers by the psABI. */
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
	uint8_t encoding;	/* of code addresses */
	bool augmented;		/* FDEs have the length of their extra data */
	bool signal;
	struct cursor program;
};

struct cfi_fde {
	uintptr_t start, size;
	struct cfi_cie cie;
	struct cursor program;
};

/* The entry without its length; empty at the last entry. */
static struct cursor
entry_at(const struct cfi_table *t, uintptr_t at)
{
	struct cursor c = { t->lo, t->hi, false };
	uint64_t len;

	if (at < (uintptr_t)t->lo || at > (uintptr_t)t->hi) {
		cursor_spoil(&c);
		return c;
	}
	c.at += at - (uintptr_t)t->lo;
	len = cursor_fixed(&c, 4);
	return cursor_piece(&c, c.bad || len == UINT32_MAX ? UINT64_MAX : len);
}

/* The letters behind 'z'.  An unknown one may change the program's meaning. */
static int
read_augmentation(struct cursor *letters, struct cursor *data,
    struct cfi_cie *cie)
{
	uint8_t letter, encoding;

	while ((letter = cursor_byte(letters)) != 0) {
		switch (letter) {
		case 'L':
			cursor_byte(data);
			break;
		case 'P':
			encoding = cursor_byte(data);
			if ((encoding & PE_BASE) == PE_ALIGNED)
				return -ENOTSUP;
			if (encoding != PE_OMIT)
				cursor_encoded(data, encoding);
			break;
		case 'R':
			cie->encoding = cursor_byte(data);
			break;
		case 'S':
			cie->signal = true;
			break;
		default:
			return -ENOTSUP;
		}
	}
	return letters->bad || data->bad ? -ENOTSUP : 0;
}

static int
cie_read(const struct cfi_table *t, uintptr_t at, struct cfi_cie *cie)
{
	struct cursor c = entry_at(t, at), letters, data;
	uint8_t version;
	uint64_t ra;

	*cie = (struct cfi_cie){ .encoding = PE_ABSPTR };
	if (cursor_fixed(&c, 4) != 0)
		return -ENOTSUP;
	version = cursor_byte(&c);
	letters = c;
	while (cursor_byte(&c) != 0)
		continue;
	/* Addresses of 8 bytes, no segments. */
	if (version == 4 && cursor_fixed(&c, 2) != 8)
		return -ENOTSUP;
	cie->code_align = cursor_uleb(&c);
	cie->data_align = cursor_sleb(&c);
	ra = version == 1 ? cursor_byte(&c) : cursor_uleb(&c);
	if (c.bad || ra != DWARF_RA ||
	    (version != 1 && version != 3 && version != 4))
		return -ENOTSUP;
	if (*letters.at != 0) {
		if (cursor_byte(&letters) != 'z')
			return -ENOTSUP;
		cie->augmented = true;
		data = cursor_piece(&c, cursor_uleb(&c));
		if (read_augmentation(&letters, &data, cie) != 0)
			return -ENOTSUP;
	}
	cie->program = c;
	return c.bad ? -ENOTSUP : 0;
}

static int
fde_read(const struct cfi_table *t, uintptr_t at, struct cfi_fde *fde)
{
	struct cursor c = entry_at(t, at);
	uintptr_t id_at = (uintptr_t)c.at;
	uint64_t back;

	back = cursor_fixed(&c, 4);
	if (c.bad || back == 0 ||
	    cie_read(t, id_at - (uintptr_t)back, &fde->cie) != 0)
		return -ENOTSUP;
	fde->start = cursor_pointer(&c, fde->cie.encoding, NULL);
	fde->size = (uintptr_t)cursor_encoded(&c, fde->cie.encoding);
	if (fde->cie.augmented)
		cursor_piece(&c, cursor_uleb(&c));
	fde->program = c;
	return c.bad || fde->size > INTPTR_MAX ? -ENOTSUP : 0;
}

static bool
fde_has(const struct cfi_fde *fde, uintptr_t pc)
{
	return pc >= fde->start && pc - fde->start < fde->size;
}

#define WALK_MAX 16384		/* entries: about a millisecond */
#define SEARCH_TABLE (PE_DATAREL | PE_SDATA4)
#define SEARCH_ENTRY 8		/* bytes: start of a function, its entry */

static int32_t
word_at(const uint8_t *p)
{
	struct cursor c = { p, p + 4, false };

	return (int32_t)cursor_fixed(&c, 4);
}

static int
search_table(const struct cfi_table *t, const struct cursor *c, uint64_t count,
    uintptr_t pc, struct cfi_fde *fde)
{
	int64_t want = (int64_t)(pc - (uintptr_t)t->hdr);
	size_t first = 0, end, mid;
	const uint8_t *entries = c->at;
	int err;

	if (count > (size_t)(c->end - c->at) / SEARCH_ENTRY)
		return -ENOTSUP;
	end = (size_t)count;
	while (first < end) {
		mid = first + (end - first) / 2;
		if (word_at(entries + mid * SEARCH_ENTRY) <= want)
			first = mid + 1;
		else
			end = mid;
	}
	if (first == 0)
		return -ENOENT;
	err = fde_read(t, (uintptr_t)t->hdr + (uintptr_t)(intptr_t)word_at(
	    entries + (first - 1) * SEARCH_ENTRY + 4), fde);
	if (err != 0)
		return err;
	return fde_has(fde, pc) ? 0 : -ENOENT;
}

/* Reads entry by entry: there is no search table. */
static int
walk_entries(const struct cfi_table *t, uintptr_t at, uintptr_t pc,
    struct cfi_fde *fde)
{
	struct cursor c;
	unsigned n;

	for (n = 0; n < WALK_MAX; n++) {
		c = entry_at(t, at);
		if (c.bad)
			return -ENOTSUP;
		if (c.at == c.end)
			return -ENOENT;
		if (fde_read(t, at, fde) == 0 && fde_has(fde, pc))
			return 0;
		at = (uintptr_t)c.end;
	}
	return -ENOTSUP;
}

/* 0, -ENOENT, -ENOTSUP. */
static int
find_fde(const struct cfi_table *t, uintptr_t pc, struct cfi_fde *fde)
{
	struct cursor c = { t->hdr, t->hi, false };
	uint8_t version, frame_enc, count_enc, table_enc;
	uintptr_t eh_frame;
	uint64_t count;

	if (t->hdr < t->lo || t->hdr > t->hi)
		return -ENOTSUP;
	version = cursor_byte(&c);
	frame_enc = cursor_byte(&c);
	count_enc = cursor_byte(&c);
	table_enc = cursor_byte(&c);
	if (c.bad || version != 1)
		return -ENOTSUP;
	eh_frame = cursor_pointer(&c, frame_enc, t->hdr);
	if (table_enc != SEARCH_TABLE || count_enc == PE_OMIT)
		return c.bad ? -ENOTSUP : walk_entries(t, eh_frame, pc, fde);
	count = cursor_pointer(&c, count_enc, t->hdr);
	return c.bad ? -ENOTSUP : search_table(t, &c, count, pc, fde);
}

#define REMEMBERED_MAX 8	/* nested; compilers write 1, rarely 2 */

/* DW_OP_* of known expressions. */
#define OP_DEREF 0x06
#define OP_BREG0 0x70

/* Where the caller's register is. */
enum how {
	HOW_DEFAULT,	/* not said */
	HOW_SAME,
	HOW_AT_CFA,	/* in memory, at CFA + off */
	HOW_AT_RSP,
	HOW_AT_RBP,
	HOW_CFA,	/* it is CFA + off */
	HOW_UNDEFINED,
	HOW_LOST,	/* by a rule that we do not follow */
};

enum cfa_how {
	CFA_UNKNOWN,
	CFA_REG,	/* reg + off */
	CFA_DEREF,	/* *(reg + off) */
};

enum which {
	RBP,
	RSP,
	RA,
	WHICH_MAX,
};

/* Packed, for a search takes ten rows of a handler's stack. */
struct saved {
	uint8_t how;
	int32_t off;
} __attribute__((packed));

struct row {
	uint8_t cfa_how;
	uint8_t cfa_reg;	/* DWARF's number; others than rsp and rbp: UINT8_MAX */
	struct saved reg[WHICH_MAX];
	int32_t cfa_off;
};

struct machine {
	const struct cfi_cie *cie;
	uintptr_t pc;		/* the address that is asked for */
	uintptr_t at;		/* where `now` begins */
	bool past;		/* `now` holds for pc */
	bool failed;
	bool begun;		/* the CIE's program is done: `first` is set */
	unsigned remembered;
	struct row now, first, stack[REMEMBERED_MAX];
};

enum operand {
	NOTHING,
	REG,		/* the register */
	NUMBER,		/* unsigned */
	SCALED,		/* unsigned, in units of data alignment */
	SIGNED_SCALED,
	LESS_SCALED,	/* unsigned and negated, in those units */
	BLOCK,		/* an expression */
	DELTA1, DELTA2, DELTA4,	/* of addresses, in units of code alignment */
	ADDRESS,
};

enum act {
	BAD_ACT,	/* not in the table */
	IGNORE,
	ADVANCE,
	MOVE_TO,
	DEF_CFA, DEF_CFA_REG, DEF_CFA_OFF, DEF_CFA_BLOCK,
	SET_AT_CFA, SET_CFA, SET_SAME, SET_UNDEFINED, SET_LOST, SET_BLOCK,
	RESTORE,
	REMEMBER, RECALL,
};

struct op {
	uint8_t act;
	uint8_t first, second;	/* enum operand */
};

/* Opcodes whose high two bits are 0. */
static const struct op ops[] = {
	[0x00] = { IGNORE, NOTHING, NOTHING },		/* nop */
	[0x01] = { MOVE_TO, NOTHING, ADDRESS },		/* set_loc */
	[0x02] = { ADVANCE, NOTHING, DELTA1 },
	[0x03] = { ADVANCE, NOTHING, DELTA2 },
	[0x04] = { ADVANCE, NOTHING, DELTA4 },
	[0x05] = { SET_AT_CFA, REG, SCALED },		/* offset_extended */
	[0x06] = { RESTORE, REG, NOTHING },		/* restore_extended */
	[0x07] = { SET_UNDEFINED, REG, NOTHING },
	[0x08] = { SET_SAME, REG, NOTHING },
	[0x09] = { SET_LOST, REG, NUMBER },		/* register */
	[0x0a] = { REMEMBER, NOTHING, NOTHING },
	[0x0b] = { RECALL, NOTHING, NOTHING },		/* restore_state */
	[0x0c] = { DEF_CFA, REG, NUMBER },
	[0x0d] = { DEF_CFA_REG, REG, NOTHING },
	[0x0e] = { DEF_CFA_OFF, NOTHING, NUMBER },
	[0x0f] = { DEF_CFA_BLOCK, NOTHING, BLOCK },
	[0x10] = { SET_BLOCK, REG, BLOCK },		/* expression */
	[0x11] = { SET_AT_CFA, REG, SIGNED_SCALED },	/* offset_extended_sf */
	[0x12] = { DEF_CFA, REG, SIGNED_SCALED },	/* def_cfa_sf */
	[0x13] = { DEF_CFA_OFF, NOTHING, SIGNED_SCALED },
	[0x14] = { SET_CFA, REG, SCALED },		/* val_offset */
	[0x15] = { SET_CFA, REG, SIGNED_SCALED },	/* val_offset_sf */
	[0x16] = { SET_LOST, REG, BLOCK },		/* val_expression */
	[0x2e] = { IGNORE, NOTHING, NUMBER },		/* GNU_args_size */
	[0x2f] = { SET_AT_CFA, REG, LESS_SCALED },	/* GNU_negative_offset_extended */
};

/* The others carry an operand in the low six bits. */
static const struct op ops_high[] = {
	[1] = { ADVANCE, NOTHING, NOTHING },
	[2] = { SET_AT_CFA, NOTHING, SCALED },		/* offset */
	[3] = { RESTORE, NOTHING, NOTHING },
};

struct step {
	uint8_t act;
	uint64_t reg;
	int64_t number;
	struct cursor block;
};

static int64_t
scaled(struct cursor *c, int64_t number, int64_t unit)
{
	if (__builtin_mul_overflow(number, unit, &number))
		return (int64_t)cursor_spoil(c);
	return number;
}

static void
take_operand(struct cursor *c, uint8_t operand, const struct cfi_cie *cie,
    struct step *s)
{
	switch (operand) {
	case REG:
		s->reg = cursor_uleb(c);
		break;
	case NUMBER:
		s->number = (int64_t)cursor_uleb(c);
		break;
	case SCALED:
		s->number = scaled(c, (int64_t)cursor_uleb(c), cie->data_align);
		break;
	case SIGNED_SCALED:
		s->number = scaled(c, cursor_sleb(c), cie->data_align);
		break;
	case LESS_SCALED:
		s->number = scaled(c, -(int64_t)cursor_uleb(c), cie->data_align);
		break;
	case BLOCK:
		s->block = cursor_piece(c, cursor_uleb(c));
		break;
	case DELTA1:
		s->number = (int64_t)cursor_fixed(c, 1);
		break;
	case DELTA2:
		s->number = (int64_t)cursor_fixed(c, 2);
		break;
	case DELTA4:
		s->number = (int64_t)cursor_fixed(c, 4);
		break;
	case ADDRESS:
		s->number = (int64_t)cursor_pointer(c, cie->encoding, NULL);
		break;
	}
}

static struct step
take_step(struct cursor *c, const struct cfi_cie *cie)
{
	uint8_t code = cursor_byte(c), low = code & 0x3f;
	struct step s = { 0 };
	const struct op *op;

	if (code >> 6 != 0) {
		op = &ops_high[code >> 6];
		s.reg = low;
		s.number = low;
	} else if (low < sizeof(ops) / sizeof(ops[0])) {
		op = &ops[low];
	} else {
		return s;
	}
	s.act = op->act;
	take_operand(c, op->first, cie, &s);
	take_operand(c, op->second, cie, &s);
	return s;
}

static bool
is_reg_plus(struct cursor c, uint8_t *reg, int64_t *off, bool *deref)
{
	uint8_t code = cursor_byte(&c);

	*reg = (uint8_t)(code - OP_BREG0);
	*off = cursor_sleb(&c);
	*deref = c.at < c.end;
	if (*deref && cursor_byte(&c) != OP_DEREF)
		return false;
	return !c.bad && c.at == c.end &&
	    (code == OP_BREG0 + DWARF_RBP || code == OP_BREG0 + DWARF_RSP);
}

static void
set_cfa_off(struct machine *m, int64_t off)
{
	m->now.cfa_off = (int32_t)off;
	if (off < INT32_MIN || off > INT32_MAX)
		m->failed = true;
}

static void
set_cfa_reg(struct machine *m, uint64_t reg)
{
	m->now.cfa_reg = reg == DWARF_RBP || reg == DWARF_RSP ?
	    (uint8_t)reg : UINT8_MAX;
}

static void
set_cfa_block(struct machine *m, struct cursor block)
{
	struct row *now = &m->now;
	bool deref;
	uint8_t reg;
	int64_t off;

	now->cfa_how = CFA_UNKNOWN;
	if (!is_reg_plus(block, &reg, &off, &deref))
		return;
	now->cfa_how = deref ? CFA_DEREF : CFA_REG;
	now->cfa_reg = reg;
	set_cfa_off(m, off);
}

static void
set_block(struct machine *m, struct saved *to, struct cursor block)
{
	bool deref;
	uint8_t reg;
	int64_t off;

	*to = (struct saved){ .how = HOW_LOST };
	if (!is_reg_plus(block, &reg, &off, &deref) || deref)
		return;
	if (off < INT32_MIN || off > INT32_MAX)
		m->failed = true;
	to->how = reg == DWARF_RSP ? HOW_AT_RSP : HOW_AT_RBP;
	to->off = (int32_t)off;
}

static enum which
which_of(uint64_t reg)
{
	switch (reg) {
	case DWARF_RBP:
		return RBP;
	case DWARF_RSP:
		return RSP;
	case DWARF_RA:
		return RA;
	default:
		return WHICH_MAX;
	}
}

static void
set_register(struct machine *m, const struct step *s)
{
	static const uint8_t how[] = {
		[SET_AT_CFA] = HOW_AT_CFA,
		[SET_CFA] = HOW_CFA,
		[SET_SAME] = HOW_SAME,
		[SET_UNDEFINED] = HOW_UNDEFINED,
		[SET_LOST] = HOW_LOST,
		[SET_BLOCK] = HOW_LOST,
	};
	enum which which = which_of(s->reg);
	struct saved *to;

	if (which == WHICH_MAX)
		return;
	to = &m->now.reg[which];
	if (s->act == RESTORE) {
		m->failed |= !m->begun;
		*to = m->first.reg[which];
		return;
	}
	if (s->act == SET_BLOCK) {
		set_block(m, to, s->block);
		return;
	}
	if (s->number < INT32_MIN || s->number > INT32_MAX)
		m->failed = true;
	to->how = how[s->act];
	to->off = (int32_t)s->number;
}

/* Rows are sorted by address. */
static void
move_to(struct machine *m, uintptr_t at)
{
	if (at < m->at || !m->begun)
		m->failed = true;
	else if (at > m->pc)
		m->past = true;
	else
		m->at = at;
}

static void
advance(struct machine *m, int64_t delta)
{
	uint64_t by;
	uintptr_t at;

	if (__builtin_mul_overflow((uint64_t)delta, m->cie->code_align, &by) ||
	    __builtin_add_overflow(m->at, by, &at))
		m->failed = true;
	else
		move_to(m, at);
}

static void
perform_step(struct machine *m, const struct step *s)
{
	switch (s->act) {
	case IGNORE:
		break;
	case ADVANCE:
		advance(m, s->number);
		break;
	case MOVE_TO:
		move_to(m, (uintptr_t)s->number);
		break;
	case DEF_CFA:
		m->now.cfa_how = CFA_REG;
		set_cfa_reg(m, s->reg);
		set_cfa_off(m, s->number);
		break;
	case DEF_CFA_REG:
		m->failed |= m->now.cfa_how != CFA_REG;
		set_cfa_reg(m, s->reg);
		break;
	case DEF_CFA_OFF:
		m->failed |= m->now.cfa_how != CFA_REG;
		set_cfa_off(m, s->number);
		break;
	case DEF_CFA_BLOCK:
		set_cfa_block(m, s->block);
		break;
	case REMEMBER:
		if (m->remembered < REMEMBERED_MAX)
			m->stack[m->remembered++] = m->now;
		else
			m->failed = true;
		break;
	case RECALL:
		if (m->remembered > 0)
			m->now = m->stack[--m->remembered];
		else
			m->failed = true;
		break;
	case BAD_ACT:
		m->failed = true;
		break;
	default:
		set_register(m, s);
	}
}

#define CODE_ADVANCE 0x40	/* with a delta in the low six bits */
#define CODE_ADVANCE1 0x02
#define CODE_CFA_OFF 0x0e

/*
 * The steps of most rows: calls with arguments on the stack move rsp.  A large function
 * has thousands of them, and for each return address the program runs from its start.
 */
static void
run_common_steps(struct machine *m, struct cursor *program)
{
	const uint8_t *at = program->at;
	uintptr_t left = m->pc - m->at, delta;
	size_t size;

	if (!m->begun || m->at > m->pc || m->cie->code_align != 1 ||
	    m->now.cfa_how != CFA_REG)
		return;
	while (program->end - at >= 2) {
		if (at[0] == CODE_CFA_OFF && at[1] < 0x80) {
			m->now.cfa_off = at[1];
			at += 2;
			continue;
		}
		if (at[0] >> 6 == CODE_ADVANCE >> 6) {
			delta = at[0] & 0x3f;
			size = 1;
		} else if (at[0] == CODE_ADVANCE1) {
			delta = at[1];
			size = 2;
		} else {
			break;
		}
		if (delta > left)
			break;
		left -= delta;
		at += size;
	}
	m->at = m->pc - left;
	program->at = at;
}

/* Stops before the step that leads past the address. */
static void
run_program(struct machine *m, struct cursor *program)
{
	struct cursor before;
	struct step s;

	while (program->at < program->end && !m->past && !m->failed) {
		run_common_steps(m, program);
		if (program->at == program->end)
			break;
		before = *program;
		s = take_step(program, m->cie);
		if (program->bad)
			m->failed = true;
		else
			perform_step(m, &s);
		if (m->past)
			*program = before;
	}
}

static int
rule_cfa(const struct row *row, struct cfi_rule *rule)
{
	bool rsp = row->cfa_reg == DWARF_RSP;

	if (row->cfa_how == CFA_UNKNOWN || row->cfa_reg == UINT8_MAX)
		return -ENOTSUP;
	if (row->cfa_how == CFA_REG)
		rule->base = rsp ? CFI_RSP : CFI_RBP;
	else
		rule->base = rsp ? CFI_AT_RSP : CFI_AT_RBP;
	rule->cfa = row->cfa_off;
	return 0;
}

static int
rule_ra(const struct saved *ra, struct cfi_rule *rule)
{
	if (ra->how != HOW_AT_CFA && ra->how != HOW_AT_RSP)
		return -ENOTSUP;
	rule->ra_at_rsp = ra->how == HOW_AT_RSP;
	rule->ra = ra->off;
	return 0;
}

/* The CFA is the caller's rsp; other tables are not followed. */
static int
rule_rsp(const struct saved *rsp, const struct cfi_rule *rule)
{
	switch (rsp->how) {
	case HOW_DEFAULT:
		return 0;
	case HOW_CFA:
		return rsp->off == 0 ? 0 : -ENOTSUP;
	case HOW_AT_RSP:
		return rule->base == CFI_AT_RSP && rule->cfa == rsp->off ?
		    0 : -ENOTSUP;
	case HOW_AT_RBP:
		return rule->base == CFI_AT_RBP && rule->cfa == rsp->off ?
		    0 : -ENOTSUP;
	default:
		return -ENOTSUP;
	}
}

static void
rule_rbp(const struct saved *rbp, struct cfi_rule *rule)
{
	static const uint8_t kinds[] = {
		[HOW_DEFAULT] = CFI_RBP_SAME,
		[HOW_SAME] = CFI_RBP_SAME,
		[HOW_AT_CFA] = CFI_RBP_AT_CFA,
		[HOW_AT_RSP] = CFI_RBP_AT_RSP,
		[HOW_AT_RBP] = CFI_RBP_AT_RBP,
		[HOW_CFA] = CFI_RBP_LOST,
		[HOW_UNDEFINED] = CFI_RBP_LOST,
		[HOW_LOST] = CFI_RBP_LOST,
	};

	rule->rbp = kinds[rbp->how];
	if (rule->rbp != CFI_RBP_SAME && rule->rbp != CFI_RBP_LOST)
		rule->rbp_off = rbp->off;
}

static int
rule_of(const struct row *row, bool signal, struct cfi_rule *rule)
{
	struct cfi_rule r = { .signal = signal };

	if (row->reg[RA].how == HOW_UNDEFINED) {
		*rule = (struct cfi_rule){ .outermost = true };
		return 0;
	}
	if (rule_cfa(row, &r) != 0 || rule_ra(&row->reg[RA], &r) != 0 ||
	    rule_rsp(&row->reg[RSP], &r) != 0)
		return -ENOTSUP;
	rule_rbp(&row->reg[RBP], &r);
	*rule = r;
	return 0;
}

/* The contents of a struct cfi_place. */
struct place {
	const uint8_t *hdr;	/* of the function's table */
	struct cfi_fde fde;	/* size 0: no place */
	struct cursor program;	/* the steps that are left */
	struct machine machine;
};

_Static_assert(sizeof(struct place) <= sizeof(struct cfi_place), "");

/* The table still lies where it did, at least. */
static bool
place_has(const struct place *p, const struct cfi_table *t, uintptr_t pc)
{
	return fde_has(&p->fde, pc) && p->hdr == t->hdr &&
	    p->fde.program.at >= t->lo && p->fde.program.end <= t->hi &&
	    p->fde.cie.program.at >= t->lo && p->fde.cie.program.end <= t->hi;
}

/* To the start of the function. */
static void
place_begin(struct place *p)
{
	struct machine *m = &p->machine;
	struct cursor first = p->fde.cie.program;

	/* m->stack is not worth clearing. */
	m->cie = &p->fde.cie;
	m->pc = m->at = p->fde.start;
	m->past = m->failed = m->begun = false;
	m->remembered = 0;
	m->now = m->first = (struct row){ .cfa_how = CFA_UNKNOWN };
	run_program(m, &first);
	m->first = m->now;
	m->begun = true;
	p->program = p->fde.program;
}

static int
place_rule(struct place *p, uintptr_t pc, struct cfi_rule *rule)
{
	struct machine *m = &p->machine;

	m->cie = &p->fde.cie;
	m->pc = pc;
	m->past = false;
	run_program(m, &p->program);
	if (!m->failed)
		return rule_of(&m->now, p->fde.cie.signal, rule);
	p->fde.size = 0;
	return -ENOTSUP;
}

#define FIRST_PAGE 4096	/* the smallest page: mapped where the header is */

static int
rule_from(struct place *p, const struct cfi_table *t, uintptr_t pc,
    struct cfi_rule *rule)
{
	int err;

	if (!place_has(p, t, pc)) {
		p->hdr = t->hdr;
		err = find_fde(t, pc, &p->fde);
		if (err != 0) {
			p->fde.size = 0;
			return err;
		}
		place_begin(p);
	} else if (pc < p->machine.at) {
		place_begin(p);
	}
	return place_rule(p, pc, rule);
}

/* A function of its own: a place given by the caller takes no second one's stack. */
static NOINLINE int
rule_from_nowhere(const struct cfi_table *t, uintptr_t pc, struct cfi_rule *rule)
{
	struct place p;

	p.fde.size = 0;
	return rule_from(&p, t, pc, rule);
}

static int
rule_at(struct cfi_place *place, const struct cfi_table *t, uintptr_t pc,
    struct cfi_rule *rule)
{
	return place == NULL ? rule_from_nowhere(t, pc, rule) :
	    rule_from((struct place *)place->held, t, pc, rule);
}

int
cfi_find_in(struct cfi_place *place, const uint8_t *hdr, const uint8_t *lo,
    const uint8_t *hi, uintptr_t pc, bool exact, struct cfi_rule *rule)
{
	struct cfi_table t = { hdr, lo, hi };

	return rule_at(place, &t, exact ? pc : pc - 1, rule);
}

const ElfW(Phdr) *
cfi_headers(uintptr_t start, uintptr_t end, unsigned *n)
{
	const ElfW(Ehdr) *eh = (const ElfW(Ehdr) *)start;

	if (start == 0 || start % FIRST_PAGE != 0 || end <= start ||
	    end - start < sizeof(*eh) ||
	    eh->e_ident[EI_MAG0] != ELFMAG0 ||
	    eh->e_ident[EI_MAG1] != ELFMAG1 ||
	    eh->e_ident[EI_MAG2] != ELFMAG2 ||
	    eh->e_ident[EI_MAG3] != ELFMAG3 ||
	    eh->e_phentsize != sizeof(ElfW(Phdr)) ||
	    eh->e_phoff % _Alignof(ElfW(Phdr)) != 0 ||
	    eh->e_phoff > FIRST_PAGE ||
	    eh->e_phnum > (FIRST_PAGE - eh->e_phoff) / sizeof(ElfW(Phdr)))
		return NULL;
	*n = eh->e_phnum;
	return (const ElfW(Phdr) *)(start + eh->e_phoff);
}

/* Since glibc 2.35; without it there is never a table. */
#if defined(__x86_64__) && defined(__LP64__) && \
    defined(DLFO_STRUCT_HAS_EH_DBASE)
#pragma weak _dl_find_object

static bool
has_table(const struct dl_find_object *o)
{
	return (uintptr_t)o->dlfo_eh_frame >= (uintptr_t)o->dlfo_map_start &&
	    (uintptr_t)o->dlfo_eh_frame < (uintptr_t)o->dlfo_map_end;
}

/*
 * If segments lie apart, as for large pages, some versions of the loader report
 * only the one that contains the address.  The others follow from the first
 * one's headers: it lies at the object's base or, for the program, where the
 * kernel says.
 */
static NOINLINE void
extend_to_object(struct dl_find_object *o)
{
	const struct link_map *map = o->dlfo_link_map;
	bool program = map->l_prev == NULL && map->l_name != NULL &&
	    map->l_name[0] == '\0';
	struct dl_find_object first;
	const ElfW(Phdr) *ph;
	uintptr_t end = 0;
	unsigned n;

	if (_dl_find_object((void *)(program ? libc_auxv(AT_PHDR) :
	    map->l_addr), &first) != 0 || first.dlfo_link_map != map ||
	    (ph = cfi_headers((uintptr_t)first.dlfo_map_start,
		(uintptr_t)first.dlfo_map_end, &n)) == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		if (ph[i].p_type == PT_LOAD &&
		    ph[i].p_vaddr + ph[i].p_memsz > end)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	if (map->l_addr + end < (uintptr_t)o->dlfo_map_end)
		return;
	o->dlfo_map_start = first.dlfo_map_start;
	o->dlfo_map_end = (void *)(map->l_addr + end);
}

/*
 * A mapping may have unreadable holes: the readable part is the table's
 * segment, which the headers tell.  Without headers it is taken whole.
 */
static bool
table_limits(const struct dl_find_object *o, struct cfi_table *t)
{
	uintptr_t start = (uintptr_t)o->dlfo_map_start;
	uintptr_t end = (uintptr_t)o->dlfo_map_end;
	unsigned n;
	const ElfW(Phdr) *ph = cfi_headers(start, end, &n);
	uintptr_t hdr = (uintptr_t)o->dlfo_eh_frame;

	t->hdr = o->dlfo_eh_frame;
	t->lo = o->dlfo_map_start;
	t->hi = o->dlfo_map_end;
	if (ph == NULL)
		return true;
	for (size_t i = 0; i < n; i++) {
		uintptr_t at = o->dlfo_link_map->l_addr + ph[i].p_vaddr;

		if (ph[i].p_type != PT_LOAD || hdr < at ||
		    hdr - at >= ph[i].p_filesz)
			continue;
		if ((ph[i].p_flags & PF_R) == 0 || at < start ||
		    at > end || ph[i].p_filesz > end - at)
			return false;
		t->lo = (const uint8_t *)at;
		t->hi = t->lo + ph[i].p_filesz;
		return true;
	}
	return false;
}

/*
 * A function of its own: its part of the stack is free again when the table is
 * read.
 */
static NOINLINE int
find_table(uintptr_t pc, struct cfi_table *t, struct cfi_object *object)
{
	struct dl_find_object o;

	if (_dl_find_object == NULL ||
	    _dl_find_object((void *)pc, &o) != 0)
		return -ENOENT;
	if (o.dlfo_eh_frame != NULL && !has_table(&o))
		extend_to_object(&o);
	object->start = (uintptr_t)o.dlfo_map_start;
	object->end = (uintptr_t)o.dlfo_map_end;
	object->map = o.dlfo_link_map;
	object->bias = o.dlfo_link_map->l_addr;
	if (o.dlfo_eh_frame == NULL)
		return -ENOENT;
	return table_limits(&o, t) ? 0 : -ENOTSUP;
}

int
cfi_find(struct cfi_place *place, uintptr_t pc, bool exact,
    struct cfi_rule *rule, struct cfi_object *object)
{
	struct cfi_table t;
	int err;

	if (!exact)
		pc--;
	err = find_table(pc, &t, object);
	return err != 0 ? err : rule_at(place, &t, pc, rule);
}
#else
int
cfi_find(struct cfi_place *place, uintptr_t pc, bool exact,
    struct cfi_rule *rule, struct cfi_object *object)
{
	(void)place;
	(void)pc;
	(void)exact;
	(void)rule;
	(void)object;
	return -ENOENT;
}
#endif
