/*
 * Stands in for the reader of symbols until there is one: places are known,
 * words are not.
 */
#include <stdlib.h>

#include "symbol.h"

#define STAND_IN __attribute__((weak))

struct symbols {
	bool none;
};

STAND_IN void
symbol_modules_place(const struct symbol_modules *m, uint64_t addr,
    struct symbol_place *place)
{
	*place = (struct symbol_place){ .address = addr,
		.path = symbol_modules_covers(m, addr) ? "?" : NULL };
}

STAND_IN void
symbol_words_fini(struct symbol_words *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		free(w->line[i].function);
		free(w->line[i].file);
	}
	w->n = 0;
}

STAND_IN int
symbols_new(struct symbols **out, const struct symbols_opts *opts)
{
	(void)opts;
	*out = calloc(1, sizeof **out);
	return *out != NULL ? 0 : -1;
}

STAND_IN void
symbols_free(struct symbols *s)
{
	free(s);
}

STAND_IN void
symbols_look(struct symbols *s, const struct symbol_place *place, size_t n,
    struct symbol_words *words)
{
	(void)s;
	for (size_t i = 0; i < n; i++)
		words[i] = (struct symbol_words){ .known = SYMBOL_NO_READER,
			.address = place[i].address };
}

STAND_IN bool
symbols_fetching(struct symbols *s, struct symbols_fetch *fetch)
{
	(void)s;
	(void)fetch;
	return false;
}
