/*
 * What a function is called.
 *
 * A mangled name says all.  Where the debug information has none the symbol
 * may; and what has neither, as inlined functions of an unnamed namespace, is
 * called by its own name and those of what it lies in.
 */
#include "reader.h"

#ifdef HAVE_ELFUTILS

#include "../base/base.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define PARENTS_MAX 64
#define QUALIFIED_MAX 16384

static const char *
string_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, attribute, &attr));
}

static const char *
linkage_name(Dwarf_Die *die)
{
	const char *name = string_of(die, DW_AT_linkage_name);

	return name != NULL ? name : string_of(die, DW_AT_MIPS_linkage_name);
}

/* The DIE that was declared: it lies where the name belongs. */
static void
find_declaration(Dwarf_Die *die)
{
	static const unsigned links[] = {
		DW_AT_abstract_origin, DW_AT_specification,
	};

	for (unsigned i = 0; i < 16; i++) {
		Dwarf_Attribute attr;
		Dwarf_Die to;
		bool found = false;

		for (size_t k = 0; k < BASE_NELEM(links) && !found; k++)
			found = dwarf_attr(die, links[k], &attr) != NULL &&
			    dwarf_formref_die(&attr, &to) != NULL;
		if (!found)
			return;
		*die = to;
	}
}

static bool
has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
	case DW_LANG_D:
		return true;
	default:
		return false;
	}
}

static const char *
scope_name(Dwarf_Die *die)
{
	const char *name;

	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		name = string_of(die, DW_AT_name);
		return name != NULL ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
		return string_of(die, DW_AT_name);
	default:
		return NULL;
	}
}

static char *
qualified(Dwarf_Die *declaration, const char *name)
{
	char text[QUALIFIED_MAX];
	Dwarf_Die *scopes = NULL;
	size_t len = 0;
	int n;

	text[0] = '\0';
	n = dwarf_getscopes_die(declaration, &scopes);
	for (int i = n < PARENTS_MAX ? n - 1 : PARENTS_MAX - 1; i > 0; i--) {
		const char *scope = scope_name(&scopes[i]);

		if (scope != NULL)
			base_append(text, sizeof(text), &len, "%s::", scope);
	}
	free(scopes);
	base_append(text, sizeof(text), &len, "%s", name);
	return strdup(text);
}

/*
 * Scopes are found by a walk through the whole unit: what was found last is
 * kept, by where the declaration stands in memory.
 */
static struct {
	const void *where;
	char *text;
} kept[512];

static char *
qualified_once(Dwarf_Die *declaration, const char *name)
{
	size_t i = ((uintptr_t)declaration->addr >> 1) % BASE_NELEM(kept);

	if (kept[i].text == NULL || kept[i].where != declaration->addr) {
		free(kept[i].text);
		kept[i].where = declaration->addr;
		kept[i].text = qualified(declaration, name);
	}
	return kept[i].text == NULL ? NULL : strdup(kept[i].text);
}

void
symread_forget_names(void)
{
	for (size_t i = 0; i < BASE_NELEM(kept); i++) {
		free(kept[i].text);
		kept[i].text = NULL;
	}
}

/*
 * True when the symbol is another name for the same: "malloc" of what its
 * source calls __libc_malloc.  "f.cold" and "f.part.0" are f.
 */
static bool
is_alias(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return strncmp(symbol, name, len) != 0 ||
	    (symbol[len] != '\0' && symbol[len] != '.' && symbol[len] != '@');
}

char *
symread_name(Dwarf_Die *die, Dwarf_Die *unit, const char *symbol)
{
	const char *name = linkage_name(die);
	Dwarf_Die declaration = *die;

	if (name != NULL)
		return symread_demangle(name);
	name = string_of(die, DW_AT_name);
	if (symbol != NULL && (name == NULL || is_alias(symbol, name)))
		return symread_demangle(symbol);
	if (name == NULL)
		return NULL;
	if (!has_scopes(unit))
		return symread_demangle(name);
	find_declaration(&declaration);
	return qualified_once(&declaration, name);
}

#endif
