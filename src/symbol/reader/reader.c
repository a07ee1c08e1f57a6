#include "reader.h"

#include <stdlib.h>
#include <string.h>

/* A hundred bytes can stand for gigabytes: the process has limits for that. */

/* No compiler writes longer ones. */
#define MANGLED_MAX 16384

bool
symread_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' ||
	    name[1] == 'D');
}

#ifdef HAVE_IBERTY

/* Without HAVE_DECL_BASENAME its header would declare one of its own. */
#include <libiberty/demangle.h>

static char *
demangle(const char *name)
{
	if (!symread_is_mangled(name) || strlen(name) > MANGLED_MAX)
		return NULL;
	return cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
}

#else

static char *
demangle(const char *name)
{
	(void)name;
	return NULL;
}

#endif

/* "name@VERSION" is the linker's. */
char *
symread_demangle(const char *name)
{
	size_t len = strcspn(name, "@");
	char *plain, *bare;

	if (len == 0)
		len = strlen(name);
	if (len > MANGLED_MAX)
		len = MANGLED_MAX;
	if ((bare = strndup(name, len)) == NULL)
		return NULL;
	if ((plain = demangle(bare)) == NULL)
		return bare;
	free(bare);
	return plain;
}

#ifndef HAVE_ELFUTILS

void
symread_set_path(const char *path)
{
	(void)path;
}

void
symread_look(const struct packet_request *r, struct packet_answer *a)
{
	(void)r;
	memset(a, 0, sizeof(*a));
	a->file = SYMBOL_NO_READER;
}

#else

/* Without debug information only the symbol is left. */
static void
symbol_words(const char *symbol, struct symbol_words *w)
{
	for (unsigned k = 0; k <= w->n && k < SYMBOL_INLINES_MAX; k++) {
		free(w->line[k].function);
		free(w->line[k].file);
		memset(&w->line[k], 0, sizeof(w->line[k]));
	}
	free(w->type);
	w->type = NULL;
	w->type_from = SYMBOL_TYPE_UNKNOWN;
	w->n = 0;
	w->known = SYMBOL_NO_SYMBOL;
	if (symbol == NULL ||
	    (w->line[0].function = symread_demangle(symbol)) == NULL)
		return;
	w->type = symbol_type_in_name(w->line[0].function, true);
	if (w->type != NULL)
		w->type_from = SYMBOL_TYPE_SYMBOL;
	w->n = 1;
	w->known = SYMBOL_NO_LINE;
}

/* False: no name.  An inlined function may have none. */
static bool
name_all(struct symbol_words *w, const char *symbol)
{
	struct symbol_line *last = &w->line[w->n - 1];

	if (last->function == NULL && symbol != NULL)
		last->function = symread_demangle(symbol);
	if (last->function == NULL)
		return false;
	for (unsigned k = 0; k + 1 < w->n; k++) {
		if (w->line[k].function == NULL &&
		    (w->line[k].function = strdup("??")) == NULL)
			return false;
	}
	return true;
}

static void
find_words(struct image *m, const struct packet_request *r, uint64_t address,
    struct symbol_words *w)
{
	const char *symbol;
	uint64_t pc = address - 1;

	w->address = address;
	w->known = SYMBOL_NO_SYMBOL;
	if (address == 0 || (r->place.by_offset && !symread_offset(m, pc, &pc)))
		return;
	w->address = pc + 1;
	symbol = symread_symbol(m, pc);
	if (!symread_dwarf(m, pc, symbol, w) || !name_all(w, symbol)) {
		symbol_words(symbol, w);
		/* There is debug information that cannot be read. */
		if (m->has_debug && m->dwarf == NULL)
			w->known = SYMBOL_DAMAGED;
		return;
	}
	w->known = w->line[0].file != NULL ? SYMBOL_LINE : SYMBOL_NO_LINE;
}

static void
look_up(struct image *m, const struct packet_request *r, uint64_t address,
    struct symbol_words *w)
{
	find_words(m, r, address, w);
	for (unsigned k = 0; k < w->n; k++)
		symbol_fit_name(w->line[k].function);
}

void
symread_look(const struct packet_request *r, struct packet_answer *a)
{
	const unsigned char *id;
	struct image *m;
	GElf_Addr vaddr;
	int n;

	memset(a, 0, sizeof(*a));
	if ((m = symread_image(&r->place, r->debug, &a->file)) == NULL)
		return;
	a->file = SYMBOL_LINE;
	a->bare = !m->has_debug;
	n = dwfl_module_build_id(m->mod, &id, &vaddr);
	if (n > 0 && n <= SYMBOL_BUILD_ID_MAX) {
		a->build_id_len = (unsigned)n;
		memcpy(a->build_id, id, (size_t)n);
	}
	a->n = r->n;
	for (unsigned i = 0; i < r->n; i++)
		look_up(m, r, r->address[i], &a->words[i]);
}

#endif
