/*
 * Types of what a plain new builds.
 *
 * A compiler writes no type on such a call, but it may write all that shows it.
 * The class is known if a constructor of it was inlined behind the call so that
 *
 *	its `this` is the register in which operator new has just returned the block,
 *	the size that operator new was asked for is that of the class, and
 *	the constructor is called at the very place in the source where operator
 *	new is: that of another object in the same line has a place of its own.
 *
 * Everything else is unknown.
 */
#include "reader.h"

#ifdef HAVE_ELFUTILS

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32		/* blocks in blocks */
#define SIBLINGS_MAX 65536
#define LOCATIONS_MAX 4096

/* Numbers of registers in debug information. */
#define RETURNED DW_OP_reg0	/* x86-64: rax */
#define FIRST_ARGUMENT DW_OP_reg5	/* rdi */

struct new_call {
	uint64_t address;	/* of the return */
	const char *file;	/* of the call, as line and column */
	int line, column;
	Dwarf_Word size;	/* 0: not known */
	Dwarf_Die class;
	unsigned n;		/* constructors whose `this` is the block */
};

static bool
read_number(Dwarf_Die *die, unsigned attribute, Dwarf_Word *n)
{
	Dwarf_Attribute attr;

	return dwarf_formudata(dwarf_attr(die, attribute, &attr), n) == 0;
}

static bool
is_named(Dwarf_Die *die, const char *name)
{
	const char *has = dwarf_diename(die);

	return has != NULL && strcmp(has, name) == 0;
}

static bool
is_x86_64(Dwarf_Die *unit)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(unit->cu));
	GElf_Ehdr header;

	return elf != NULL && gelf_getehdr(elf, &header) != NULL &&
	    header.e_machine == EM_X86_64;
}

/* An attribute of one operation; false: it is another expression. */
static bool
read_operation(Dwarf_Die *die, unsigned attribute, Dwarf_Op *out)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	if (dwarf_getlocation(dwarf_attr(die, attribute, &attr), &op, &n) != 0 ||
	    n != 1)
		return false;
	*out = op[0];
	return true;
}

/* 0: it is no constant. */
static Dwarf_Word
constant_of(const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return op->atom - DW_OP_lit0;
	switch (op->atom) {
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_constu:
		return op->number;
	default:
		return 0;
	}
}

static void
take_call(Dwarf_Die *site, struct new_call *c)
{
	Dwarf_Attribute attr;
	Dwarf_Die callee, die;
	Dwarf_Addr back;
	Dwarf_Op op;

	if (dwarf_formaddr(dwarf_attr(site, DW_AT_call_return_pc, &attr),
	    &back) != 0 || back != c->address ||
	    dwarf_formref_die(dwarf_attr(site, DW_AT_call_origin, &attr),
	    &callee) == NULL || !is_named(&callee, "operator new") ||
	    dwarf_child(site, &die) != 0)
		return;
	for (unsigned i = 0; i < SIBLINGS_MAX; i++) {
		if (dwarf_tag(&die) == DW_TAG_call_site_parameter &&
		    read_operation(&die, DW_AT_location, &op) &&
		    op.atom == FIRST_ARGUMENT &&
		    read_operation(&die, DW_AT_call_value, &op))
			c->size = constant_of(&op);
		if (dwarf_siblingof(&die, &die) != 0)
			return;
	}
}

/* True if it gets into the register with the return. */
static bool
is_returned(Dwarf_Die *parameter, uint64_t address)
{
	Dwarf_Addr base, lo, hi;
	Dwarf_Attribute attr;
	ptrdiff_t at = 0;
	Dwarf_Op *op;
	size_t n;

	if (dwarf_attr(parameter, DW_AT_location, &attr) == NULL)
		return false;
	for (unsigned i = 0; i < LOCATIONS_MAX; i++) {
		at = dwarf_getlocations(&attr, at, &base, &lo, &hi, &op, &n);
		if (at <= 0)
			return false;
		if (lo == address && hi > lo)
			return n == 1 && op[0].atom == RETURNED;
	}
	return false;
}

static bool
builds_block(Dwarf_Die *inlined, uint64_t address)
{
	Dwarf_Die die;

	if (dwarf_child(inlined, &die) != 0)
		return false;
	for (unsigned i = 0; i < SIBLINGS_MAX; i++) {
		if (dwarf_tag(&die) == DW_TAG_formal_parameter &&
		    is_named(&die, "this"))
			return is_returned(&die, address);
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
	return false;
}

/* A class's name may have template arguments, which its constructor's has not. */
static bool
is_constructor(Dwarf_Die *inlined, Dwarf_Die *class)
{
	const char *of = dwarf_diename(class), *name = dwarf_diename(inlined);

	return of != NULL && name != NULL &&
	    strcspn(of, "<") == strcspn(name, "<") &&
	    strncmp(of, name, strcspn(of, "<")) == 0;
}

static bool
is_called_there(Dwarf_Die *unit, Dwarf_Die *inlined, const struct new_call *c)
{
	Dwarf_Word file, line, column;
	Dwarf_Files *files;
	const char *path;
	size_t n;

	if (!read_number(inlined, DW_AT_call_file, &file) ||
	    !read_number(inlined, DW_AT_call_line, &line) ||
	    !read_number(inlined, DW_AT_call_column, &column) ||
	    line != (Dwarf_Word)c->line || column != (Dwarf_Word)c->column ||
	    dwarf_getsrcfiles(unit, &files, &n) != 0)
		return false;
	path = dwarf_filesrc(files, file, NULL, NULL);
	return path != NULL && strcmp(path, c->file) == 0;
}

static void
take_constructor(Dwarf_Die *unit, Dwarf_Die *inlined, struct new_call *c)
{
	Dwarf_Die class;

	if (builds_block(inlined, c->address) && symread_class(inlined, &class) &&
	    is_constructor(inlined, &class) &&
	    is_called_there(unit, inlined, c)) {
		c->class = class;
		c->n++;
	}
}

/* An object of an inlined function is built by that function. */
static void
read_scope(Dwarf_Die *unit, Dwarf_Die *scope, struct new_call *c,
    unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(scope, &die) != 0)
		return;
	for (unsigned i = 0; i < SIBLINGS_MAX; i++) {
		switch (dwarf_tag(&die)) {
		case DW_TAG_call_site:
			take_call(&die, c);
			break;
		case DW_TAG_inlined_subroutine:
			take_constructor(unit, &die, c);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			read_scope(unit, &die, c, depth + 1);
			break;
		}
		if (dwarf_siblingof(&die, &die) != 0)
			return;
	}
}

void
symread_new_type(Dwarf_Die *unit, Dwarf_Die *scope, uint64_t address,
    struct symbol_words *w)
{
	struct new_call c = { .address = address };
	Dwarf_Line *at;
	Dwarf_Word size;

	if (!is_x86_64(unit) ||
	    (at = dwarf_getsrc_die(unit, address - 1)) == NULL ||
	    (c.file = dwarf_linesrc(at, NULL, NULL)) == NULL ||
	    dwarf_lineno(at, &c.line) != 0 || c.line <= 0 ||
	    dwarf_linecol(at, &c.column) != 0 || c.column <= 0)
		return;
	read_scope(unit, scope, &c, 0);
	if (c.n != 1 || c.size == 0 ||
	    !read_number(&c.class, DW_AT_byte_size, &size) || size != c.size ||
	    (w->type = symread_class_text(&c.class)) == NULL)
		return;
	w->type_from = SYMBOL_TYPE_NEW;
}

#endif
