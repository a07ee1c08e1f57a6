/*
 * The texts of words.
 */
#include "symbol.h"

#include <stdlib.h>
#include <string.h>

void
symbol_words_fini(struct symbol_words *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		free(w->line[i].function);
		free(w->line[i].file);
	}
	memset(w, 0, sizeof(*w));
}
