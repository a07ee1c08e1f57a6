/*
 * A program is run up to an address, and what it says of three registers
 * becomes a rule.
 *
 * Known limits
 *	A CFA that hangs on another register than rsp and rbp, or on an
 *	expression other than those of signal frames and realigned stacks (the
 *	PLT's, which no return address ever meets): -ENOTSUP.
 */
#include <errno.h>

#include "cfi.h"
#include "cfi_table.h"

#define REMEMBERED_MAX 8	/* nested; compilers write 1, rarely 2 */

/* DW_OP_* of the expressions that are understood. */
#define OP_DEREF 0x06
#define OP_BREG0 0x70

/* --- rows ---------------------------------------------------------------- */

/* Where the caller's register is. */
enum how {
	HOW_DEFAULT,	/* not said */
	HOW_SAME,
	HOW_AT_CFA,	/* in memory, at CFA + off */
	HOW_AT_RSP,
	HOW_AT_RBP,
	HOW_CFA,	/* it is CFA + off itself */
	HOW_UNDEFINED,
	HOW_LOST,	/* said in a way that we do not follow */
};

enum cfa_how {
	CFA_UNKNOWN,
	CFA_REG,	/* reg + off */
	CFA_DEREF,	/* *(reg + off) */
};

/* The registers that a rule is about; others are nobody's. */
enum which {
	RBP,
	RSP,
	RA,
	WHICH_MAX,
};

struct saved {
	uint8_t how;
	int32_t off;
};

/* What holds from one address of a function to the next. */
struct row {
	uint8_t cfa_how;
	uint8_t cfa_reg;	/* DWARF's number; others than rsp and rbp: UINT8_MAX */
	int32_t cfa_off;
	struct saved reg[WHICH_MAX];
};

struct machine {
	const struct cfi_cie *cie;
	uintptr_t pc;		/* the address that is asked for */
	uintptr_t at;		/* where `now` begins to hold */
	bool past;		/* `now` holds for pc */
	bool failed;
	bool begun;		/* the CIE's program is done: `first` is set */
	unsigned remembered;
	struct row now, first, stack[REMEMBERED_MAX];
};

enum operand {
	NOTHING,
	REG,		/* a register that the rest is about */
	NUMBER,		/* unsigned */
	SCALED,		/* unsigned, in units of the CIE's data alignment */
	SIGNED_SCALED,
	LESS_SCALED,	/* unsigned, to be taken negative, in the same units */
	BLOCK,		/* an expression */
	DELTA1, DELTA2, DELTA4,	/* of addresses, in units of the code alignment */
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

/* An operation with what was read for it. */
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

/*
 * reg + off, as an expression that is nothing but that; *deref: it goes on to
 * what lies there.
 */
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

/* The register that an act is about, if it is one of ours. */
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

/* Rows come in the order of their addresses. */
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
perform(struct machine *m, const struct step *s)
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

static void
run(struct machine *m, struct cursor program)
{
	struct step s;

	while (program.at < program.end && !m->past && !m->failed) {
		s = take_step(&program, m->cie);
		if (program.bad)
			m->failed = true;
		else
			perform(m, &s);
	}
}

/* --- the rule ------------------------------------------------------------ */

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

/* The CFA is the caller's rsp; a table that says otherwise is not followed. */
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

int
cfi_rows_rule(const struct cfi_fde *fde, uintptr_t pc, struct cfi_rule *rule)
{
	struct machine m;

	/* Its stack is not worth clearing. */
	m.cie = &fde->cie;
	m.pc = pc;
	m.at = fde->start;
	m.past = m.failed = m.begun = false;
	m.remembered = 0;
	m.now = m.first = (struct row){ .cfa_how = CFA_UNKNOWN };
	run(&m, fde->cie.program);
	m.first = m.now;
	m.begun = true;
	run(&m, fde->program);
	return m.failed ? -ENOTSUP : rule_of(&m.now, fde->cie.signal, rule);
}
