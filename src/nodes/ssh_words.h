/*
 * ssh_words: what may stand on ssh's command line.  It needs nothing but the
 * words, so that whoever reads some from a file can judge them too, by
 * nodes_ssh_check().
 */
#ifndef NODES_SSH_WORDS_H
#define NODES_SSH_WORDS_H

#include "nodes.h"

#define SSH_WORD_MAX 256	/* of a host's name, with its NUL */
#define SSH_PROGRAM_MAX 64	/* of a path at the other end, likewise */

/*
 * One word for the other end's shell, whichever it is.  A leading ~/ is left
 * for it to expand; of the rest what is not plain stands between quotes.
 */
void ssh_quote(char *out, size_t cap, const char *path);

#endif
