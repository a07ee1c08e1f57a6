/*
 * Answering a request: what the reader knows of each address of one file.
 */
#include "reader.h"
#include "wrappers.h"

#include <stdlib.h>
#include <string.h>

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

/* The symbol alone, where there is no debug information for it. */
static void
symbol_words(const char *symbol, struct symbol_words *w)
{
	for (unsigned k = 0; k <= w->n && k < SYMBOL_INLINES_MAX; k++) {
		free(w->line[k].function);
		free(w->line[k].file);
		memset(&w->line[k], 0, sizeof(w->line[k]));
	}
	w->n = 0;
	w->known = SYMBOL_NO_SYMBOL;
	if (symbol == NULL ||
	    (w->line[0].function = symread_demangle(symbol)) == NULL)
		return;
	w->n = 1;
	w->known = SYMBOL_NO_LINE;
}

static char *
unknown(void)
{
	return strdup("??");
}

/* An inlined function without a name is still there. */
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
		    (w->line[k].function = unknown()) == NULL)
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
		/* There is debug information, and it cannot be read. */
		if (m->has_debug && m->dwarf == NULL)
			w->known = SYMBOL_DAMAGED;
		return;
	}
	w->known = w->line[0].file != NULL ? SYMBOL_LINE : SYMBOL_NO_LINE;
}

static void
look(struct image *m, const struct packet_request *r, uint64_t address,
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
		look(m, r, r->address[i], &a->words[i]);
}

#endif
