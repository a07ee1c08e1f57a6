/*
 * typed_line: one line of text that is being typed, and what keys do to it.  It
 * knows of no screen and of no page; its user asks which part fits.
 *
 * Vocabulary
 *	cursor	stands before the character at byte `at`, or behind the last;
 *		never inside a character, nor between one and the marks that
 *		combine with it.
 *	word	what ^W takes: up to the blank before it.
 *	words	what could stand at the cursor: a completion takes as much as
 *		all of them have in common.
 *
 * Example
 *	struct line line;
 *	line_set(&line, "sort ");
 *	line_key(&line, 'a');			LINE_CHANGED
 *	line_key(&line, PAGE_KEY_LEFT);		LINE_MOVED
 *	use(line.text);
 *
 * Nothing here can fail: what does not fit into the line is not taken.
 */
#ifndef PAGEK_TYPED_LINE_H
#define PAGEK_TYPED_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_TEXT 1024		/* bytes, the NUL included */

/* All zeros is an empty one. */
struct line {
	char text[LINE_TEXT];	/* UTF-8, without control characters */
	size_t at;		/* of the cursor */
};

/* That text, as much of it as there is room for; the cursor behind it. */
void line_set(struct line *, const char *text);

enum line_did {
	LINE_NOT_MINE,		/* the key is none of an editor */
	LINE_MOVED,		/* the text is as it was */
	LINE_CHANGED,
};

/* A key's code, as in keys.h. */
enum line_did line_key(struct line *, int code);

/*
 * The first byte to be shown where there are so many columns: from there on the
 * cursor is in sight, and some of what is behind it.  ascii: as picture_text()
 * will write it.
 */
size_t line_shown(const struct line *, int cols, bool ascii);
/* Columns from that byte to the cursor. */
int line_cursor(const struct line *, size_t shown, bool ascii);

/* --- completion --------------------------------------------------------- */

/*
 * What may stand from byte `from` of the line on.  Starts as all zeros but for
 * `from` and `begun`; the words are owned, to be finished with.
 */
struct line_words {
	size_t from;
	const char *begun;	/* what stands there up to the cursor; borrowed */
	char **word;		/* only those that go on from there */
	size_t n, cap;
};

/* Copied if it goes on from what is there; without memory it is left out. */
void line_words_add(struct line_words *, const char *word);
void line_words_fini(struct line_words *);

/*
 * Puts as much into the line as all words have in common, and behind the only
 * one a blank, unless it ends with '/' or '='.  Of several, out lists them, of
 * paths the last part, as far as there is room.
 */
void line_complete(struct line *, struct line_words *, char *out, size_t cap);

#endif
