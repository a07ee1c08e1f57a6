/*
 * Types of what is allocated, in debug information: of a call that says what it
 * allocates, and of the template arguments of functions that allocate.
 *
 * A demangled name has all arguments of C++, in the spelling of the symbols, so
 * it comes first.  Names of Rust have parameters instead ("RawVec<T>"), and then
 * the function's DW_TAG_template_type_parameter is read.
 */
#include "reader.h"

#ifdef HAVE_ELFUTILS

#include "../../base/base.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* clang writes it on calls of operator new, of functions that are optimized. */
#define AT_LLVM_ALLOC_TYPE 0x3e0e
#define AROUND_MAX 8		/* pointers to pointers, and so on */
#define SIBLINGS_MAX 65536
#define TEXT_MAX 4096

struct type_text {
	char text[TEXT_MAX];
	size_t len;
};

static bool
put_named(struct type_text *t, Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr(type, DW_AT_name,
	    &attr));
	char *whole;

	if (name == NULL || name[0] == '\0')
		return false;
	if (dwarf_tag(type) == DW_TAG_base_type) {
		base_append_text(t->text, sizeof(t->text), &t->len, name);
		return true;
	}
	if ((whole = symread_qualified(type, name)) == NULL)
		return false;
	base_append_text(t->text, sizeof(t->text), &t->len, whole);
	free(whole);
	return true;
}

/* The suffix of the inner type, as a demangler writes it; NULL: the type has a name. */
static const char *
suffix_of(int tag)
{
	switch (tag) {
	case DW_TAG_pointer_type:
		return "*";
	case DW_TAG_reference_type:
		return "&";
	case DW_TAG_rvalue_reference_type:
		return "&&";
	case DW_TAG_const_type:
		return " const";
	case DW_TAG_volatile_type:
		return " volatile";
	default:
		return NULL;
	}
}

static bool
read_number(Dwarf_Die *die, unsigned attribute, Dwarf_Word *n)
{
	Dwarf_Attribute attr;

	return dwarf_formudata(dwarf_attr(die, attribute, &attr), n) == 0;
}

/* " [5]", or " []" if the size is not known. */
static void
put_bounds(struct type_text *t, Dwarf_Die *array)
{
	Dwarf_Word n = 0;
	Dwarf_Die die;

	if (dwarf_child(array, &die) == 0 &&
	    dwarf_tag(&die) == DW_TAG_subrange_type &&
	    !read_number(&die, DW_AT_count, &n) &&
	    read_number(&die, DW_AT_upper_bound, &n))
		n++;
	if (n > 0)
		base_append(t->text, sizeof(t->text), &t->len, " [%llu]",
		    (unsigned long long)n);
	else
		base_append_text(t->text, sizeof(t->text), &t->len, " []");
}

static bool put_type(struct type_text *, Dwarf_Attribute *, unsigned around);

static bool
put_inside(struct type_text *t, Dwarf_Die *type, unsigned around)
{
	Dwarf_Attribute attr;

	if (dwarf_attr(type, DW_AT_type, &attr) != NULL)
		return put_type(t, &attr, around + 1);
	base_append_text(t->text, sizeof(t->text), &t->len, "void");
	return true;
}

static bool
put_alias(struct type_text *t, Dwarf_Die *type, unsigned around)
{
	size_t len = t->len;

	if (put_inside(t, type, around))
		return true;
	t->len = len;
	t->text[len] = '\0';
	return put_named(t, type);
}

/* The type that the attribute refers to; false: it has no name. */
static bool
put_type(struct type_text *t, Dwarf_Attribute *attr, unsigned around)
{
	const char *suffix;
	Dwarf_Die type;

	if (around == AROUND_MAX || dwarf_formref_die(attr, &type) == NULL)
		return false;
	if (dwarf_tag(&type) == DW_TAG_typedef ||
	    dwarf_tag(&type) == DW_TAG_template_alias)
		return put_alias(t, &type, around);
	suffix = suffix_of(dwarf_tag(&type));
	if (dwarf_hasattr(&type, DW_AT_name) ||
	    (suffix == NULL && dwarf_tag(&type) != DW_TAG_array_type))
		return put_named(t, &type);
	if (!put_inside(t, &type, around))
		return false;
	if (suffix != NULL)
		base_append_text(t->text, sizeof(t->text), &t->len, suffix);
	else
		put_bounds(t, &type);
	return true;
}

/* Heap; NULL: not known. */
static char *
copy_type(Dwarf_Attribute *attr)
{
	struct type_text t = { .len = 0 };

	if (!put_type(&t, attr, 0))
		return NULL;
	return symbol_type_text(t.text, t.len);
}

char *
symread_class_text(Dwarf_Die *class)
{
	struct type_text t = { .len = 0 };

	return put_named(&t, class) ? symbol_type_text(t.text, t.len) : NULL;
}

static bool
is_called(Dwarf_Die *die, const char *name)
{
	Dwarf_Attribute attr;
	const char *has = dwarf_formstring(dwarf_attr(die, DW_AT_name, &attr));

	return has != NULL && strcmp(has, name) == 0;
}

/* The n-th type among the template parameters, or the one of that name. */
static char *
copy_parameter(Dwarf_Die *of, unsigned n, const char *name)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;

	if (dwarf_child(of, &die) != 0)
		return NULL;
	for (unsigned i = 0; i < SIBLINGS_MAX; i++) {
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter &&
		    (name != NULL ? is_called(&die, name) : n-- == 0))
			return dwarf_attr(&die, DW_AT_type, &attr) == NULL ?
			    NULL : copy_type(&attr);
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
	return NULL;
}

bool
symread_class(Dwarf_Die *function, Dwarf_Die *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;

	if (dwarf_formref_die(dwarf_attr_integrate(function,
	    DW_AT_object_pointer, &attr), &die) == NULL)
		return false;
	for (unsigned i = 0; i < AROUND_MAX; i++) {
		if (dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type,
		    &attr), &die) == NULL)
			return false;
		if (suffix_of(dwarf_tag(&die)) == NULL) {
			*out = die;
			return true;
		}
	}
	return false;
}

/* Parameters are at the function itself, or where it was declared. */
static char *
copy_argument(Dwarf_Die *function, const struct symbol_told *told)
{
	const char *name = told->rust ? "T" : NULL;
	Dwarf_Die die = *function;
	char *text;

	if (told->of_class)
		return symread_class(function, &die) ?
		    copy_parameter(&die, told->argument, name) : NULL;
	if ((text = copy_parameter(&die, told->argument, name)) != NULL)
		return text;
	symread_declaration(&die);
	return copy_parameter(&die, told->argument, name);
}

bool
symread_type(Dwarf_Die *function, const char *name, struct symbol_words *w)
{
	struct symbol_told told = symbol_tells(name);

	if (told.tells == SYMBOL_PASSES)
		return false;
	if (told.tells != SYMBOL_TELLS)
		return true;
	w->type = symbol_type_in_name(name, false);
	if (w->type == NULL)
		w->type = copy_argument(function, &told);
	if (w->type != NULL)
		w->type_from = SYMBOL_TYPE_TEMPLATE;
	return true;
}

static bool
is_clang(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	const char *producer = dwarf_formstring(dwarf_attr(unit,
	    DW_AT_producer, &attr));

	return producer != NULL && strstr(producer, "clang") != NULL;
}

bool
symread_call_type(Dwarf_Die *unit, Dwarf_Die *function, uint64_t address,
    struct symbol_words *w)
{
	Dwarf_Attribute attr;
	Dwarf_Addr back;
	Dwarf_Die die;

	if (!is_clang(unit) || dwarf_child(function, &die) != 0)
		return false;
	for (unsigned i = 0; i < SIBLINGS_MAX; i++) {
		if (dwarf_tag(&die) == DW_TAG_call_site &&
		    dwarf_hasattr(&die, AT_LLVM_ALLOC_TYPE) &&
		    dwarf_formaddr(dwarf_attr(&die, DW_AT_call_return_pc,
		    &attr), &back) == 0 && back == address) {
			w->type = dwarf_attr(&die, AT_LLVM_ALLOC_TYPE, &attr) ==
			    NULL ? NULL : copy_type(&attr);
			break;
		}
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
	if (w->type != NULL)
		w->type_from = SYMBOL_TYPE_CALL;
	return w->type != NULL;
}

#endif
