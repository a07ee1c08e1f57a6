/*
 * libdw finds units by .debug_aranges, which clang does not write, and walks a
 * whole unit for each address.  So the ranges of units are read once, and the
 * functions of a unit at its first use.
 */
#include "reader.h"

#ifdef HAVE_ELFUTILS

#include "../../base/base.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function has a mangled name or a symbol, or else its name and scopes. */

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

void
symread_declaration(Dwarf_Die *die)
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
qualify_name(Dwarf_Die *declaration, const char *name)
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

/* Finding scopes walks the unit: the last ones are kept, by their address. */
static struct {
	const void *where;
	char *text;
} name_cache[512];

char *
symread_qualified(Dwarf_Die *declaration, const char *name)
{
	size_t i = ((uintptr_t)declaration->addr >> 1) % BASE_NELEM(name_cache);

	if (name_cache[i].text == NULL || name_cache[i].where != declaration->addr) {
		free(name_cache[i].text);
		name_cache[i].where = declaration->addr;
		name_cache[i].text = qualify_name(declaration, name);
	}
	return name_cache[i].text == NULL ? NULL : strdup(name_cache[i].text);
}

void
symread_forget_names(void)
{
	for (size_t i = 0; i < BASE_NELEM(name_cache); i++) {
		free(name_cache[i].text);
		name_cache[i].text = NULL;
	}
}

/* "malloc" for __libc_malloc; but "f.cold" and "f.part.0" are f. */
static bool
is_alias(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return strncmp(symbol, name, len) != 0 ||
	    (symbol[len] != '\0' && symbol[len] != '.' && symbol[len] != '@');
}

/* Demangled, or with its scopes; NULL: none. */
static char *
function_name(Dwarf_Die *die, Dwarf_Die *unit, const char *symbol)
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
	symread_declaration(&declaration);
	return symread_qualified(&declaration, name);
}

/* Deeper than compilers nest. */
#define DEPTH_MAX 128
#define INLINES_SEEN_MAX 128
#define RANGES_OF_ONE_MAX 65536

struct unit {
	Dwarf_Die die;		/* has the lines */
	Dwarf_Die scope;	/* has the functions: of the .dwo if it is split */
	bool indexed;
	struct ranges functions;	/* what: index in function */
	Dwarf_Die *function;
	size_t n, cap;
};

struct dwarf_index {
	struct unit *unit;
	size_t n, cap;
	struct ranges ranges;	/* what: index in unit */
};

static void
add_ranges(Dwarf_Die *die, struct ranges *to, uint32_t what)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	for (unsigned i = 0; i < RANGES_OF_ONE_MAX; i++) {
		at = dwarf_ranges(die, at, &base, &lo, &hi);
		if (at <= 0)
			return;
		ranges_add(to, lo, hi, what, 0);
	}
}

static void
add_function(struct unit *u, Dwarf_Die *die)
{
	void *array = u->function;
	size_t before = u->functions.n;

	add_ranges(die, &u->functions, (uint32_t)u->n);
	if (u->functions.n == before ||
	    base_grow(&array, &u->cap, u->n + 1, sizeof(*die)) < 0) {
		u->functions.n = before;
		return;
	}
	u->function = array;
	u->function[u->n++] = *die;
}

/* Functions may be defined in these. */
static bool
holds_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

static void
add_functions(struct unit *u, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			add_function(u, &die);
		if (holds_functions(tag))
			add_functions(u, &die, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void
index_unit(struct unit *u)
{
	if (u->indexed)
		return;
	u->indexed = true;
	add_functions(u, &u->scope, 0);
	ranges_sort(&u->functions);
}

static void
add_unit(struct dwarf_index *x, Dwarf_Die *die, Dwarf_Die *split)
{
	size_t before = x->ranges.n;
	void *array = x->unit;
	struct unit *u;

	if (base_grow(&array, &x->cap, x->n + 1, sizeof(*u)) < 0)
		return;
	x->unit = array;
	u = &x->unit[x->n];
	*u = (struct unit) {
		.die = *die,
		.scope = dwarf_tag(split) != DW_TAG_invalid ? *split : *die,
	};
	add_ranges(die, &x->ranges, (uint32_t)x->n);
	if (x->ranges.n == before) {
		/* Without ranges of its own: those of its functions. */
		index_unit(u);
		for (size_t i = 0; i < u->functions.n; i++)
			ranges_add(&x->ranges, u->functions.r[i].lo,
			    u->functions.r[i].hi, (uint32_t)x->n, 0);
	}
	x->n++;
}

static struct dwarf_index *
index_new(Dwarf *dwarf)
{
	struct dwarf_index *x = calloc(1, sizeof(*x));
	Dwarf_Die die, split;
	Dwarf_CU *cu = NULL;
	uint8_t type;

	if (x == NULL)
		return NULL;
	while (memset(&split, 0, sizeof(split)),
	    dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			add_unit(x, &die, &split);
	}
	ranges_sort(&x->ranges);
	return x;
}

void
symread_index_free(struct dwarf_index *x)
{
	if (x == NULL)
		return;
	for (size_t i = 0; i < x->n; i++) {
		ranges_fini(&x->unit[i].functions);
		free(x->unit[i].function);
	}
	free(x->unit);
	ranges_fini(&x->ranges);
	free(x);
}

/* Inlined at pc, outermost first. */
struct chain {
	Dwarf_Die die[INLINES_SEEN_MAX];
	unsigned n;
};

static bool
holds_inlines(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	    tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static void
find_inlines(Dwarf_Die *scope, uint64_t pc, struct chain *c)
{
	Dwarf_Die die = *scope, next;

	/* Siblings do not share an address. */
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		bool deeper = false;

		if (dwarf_child(&die, &next) != 0)
			return;
		do {
			int tag = dwarf_tag(&next);
			bool inlined = tag == DW_TAG_inlined_subroutine;

			if ((!inlined && !holds_inlines(tag)) ||
			    dwarf_haspc(&next, pc) <= 0)
				continue;
			if (inlined && c->n < INLINES_SEEN_MAX)
				c->die[c->n++] = next;
			deeper = true;
			break;
		} while (dwarf_siblingof(&next, &next) == 0);
		if (!deeper)
			return;
		die = next;
	}
}

static unsigned
number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Word n;

	if (dwarf_attr(die, attribute, &attr) == NULL ||
	    dwarf_formudata(&attr, &n) != 0 || n > UINT32_MAX)
		return 0;
	return (unsigned)n;
}

static char *
copy_text(const char *text)
{
	return text == NULL ? NULL : strndup(text, PACKET_TEXT_MAX);
}

/*
 * A relative path begins at the unit's folder, which libdw may leave out;
 * "???" is its word for none.
 */
static char *
copy_path(struct unit *u, const char *path)
{
	Dwarf_Attribute attr;
	const char *folder;
	char *whole;

	if (path == NULL || strcmp(path, "???") == 0)
		return NULL;
	if (path[0] == '/')
		return copy_text(path);
	folder = dwarf_formstring(dwarf_attr(&u->die, DW_AT_comp_dir, &attr));
	if (folder == NULL || folder[0] != '/' ||
	    strlen(folder) + 1 + strlen(path) > PACKET_TEXT_MAX)
		return copy_text(path);
	return asprintf(&whole, "%s/%s", folder, path) < 0 ? NULL : whole;
}

static void
put_call(struct unit *u, Dwarf_Die *inlined, struct symbol_line *line)
{
	Dwarf_Files *files;
	size_t n;

	line->line = number_of(inlined, DW_AT_call_line);
	if (dwarf_getsrcfiles(&u->scope, &files, &n) == 0)
		line->file = copy_path(u, dwarf_filesrc(files,
		    number_of(inlined, DW_AT_call_file), NULL, NULL));
}

static void
put_line(struct unit *u, uint64_t pc, struct symbol_line *line)
{
	Dwarf_Line *at = dwarf_getsrc_die(&u->die, pc);
	int number;

	if (at == NULL)
		return;
	line->file = copy_path(u, dwarf_linesrc(at, NULL, NULL));
	if (dwarf_lineno(at, &number) == 0 && number > 0)
		line->line = (uint32_t)number;
}

static char *
omitted_text(unsigned n)
{
	char text[64];

	snprintf(text, sizeof(text), "(%u more inlined)", n);
	return strdup(text);
}

/* `function` may be NULL: only lines are known. */
static void
put_chain(struct unit *u, Dwarf_Die *function, uint64_t pc,
    const char *symbol, struct symbol_words *w)
{
	struct chain c = { .n = 0 };
	Dwarf_Die *scope = function;
	bool told = function == NULL;
	char *name = NULL;

	if (function != NULL) {
		find_inlines(function, pc, &c);
		if (c.n > 0)
			scope = &c.die[c.n - 1];
		name = function_name(function, &u->scope, symbol);
		told = symread_call_type(&u->die, function, pc + 1, w);
	}
	put_line(u, pc, &w->line[0]);
	/* Innermost first; of too many, one line stands for the middle. */
	while (c.n > 0 && w->n + 1 < SYMBOL_INLINES_MAX) {
		Dwarf_Die *inlined = &c.die[--c.n];
		struct symbol_line *line = &w->line[w->n++];

		if (w->n + 1 < SYMBOL_INLINES_MAX || c.n == 0) {
			line->function = function_name(inlined, &u->scope, NULL);
			told = told || line->function == NULL ||
			    symread_type(inlined, line->function, w);
		} else {
			told = true;
			line->function = omitted_text(c.n + 1);
			free(line->file);
			line->file = NULL;
			line->line = 0;
			inlined = &c.die[0];
			c.n = 0;
		}
		put_call(u, inlined, &w->line[w->n]);
	}
	if (!told && name != NULL)
		symread_type(function, name, w);
	if (scope != NULL && w->type == NULL)
		symread_new_type(&u->die, scope, pc + 1, w);
	w->line[w->n++].function = name;
}

bool
symread_dwarf(struct image *m, uint64_t pc, const char *symbol,
    struct symbol_words *w)
{
	const struct range *r;
	struct unit *u;

	if (m->dwarf == NULL)
		return false;
	if (m->index == NULL && (m->index = index_new(m->dwarf)) == NULL)
		return false;
	pc = pc + m->bias - m->dwarf_bias;
	if ((r = ranges_find(&m->index->ranges, pc)) == NULL)
		return false;
	u = &m->index->unit[r->what];
	index_unit(u);
	r = ranges_find(&u->functions, pc);
	put_chain(u, r == NULL ? NULL : &u->function[r->what], pc, symbol, w);
	return true;
}

#endif
