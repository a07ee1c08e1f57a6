/*
 * typed_line: a line of text that the user types, and its editing keys.
 *
 * Vocabulary
 *	cursor	stands before the character at byte `at`, or behind the last;
 *		never inside a character or between it and its combining marks.
 *	word	characters up to a blank, for ^W.
 *	words	candidates of a completion.
 *
 * No function fails: a key that would make the line too long is ignored.
 */
#ifndef PAGEK_TYPED_LINE_H
#define PAGEK_TYPED_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_TEXT 1024		/* bytes, the NUL included */

/* All zeros is an empty one. */
struct typed_line {
	char text[LINE_TEXT];	/* UTF-8, without control characters */
	size_t at;		/* of the cursor */
};

/* The text is cut if it is too long; the cursor is at its end. */
void line_set(struct typed_line *, const char *text);

enum line_did {
	LINE_NOT_MINE,		/* not an editing key */
	LINE_MOVED,		/* the text is unchanged */
	LINE_CHANGED,
};

/* A key's code, as in keys.h. */
enum line_did line_key(struct typed_line *, int code);

/*
 * The first byte to show in `cols` columns, so that the cursor and some of the
 * text behind it are visible.  ascii: as picture_text() writes it.
 */
size_t line_shown(const struct typed_line *, int cols, bool ascii);
/* Columns from that byte to the cursor. */
int line_cursor(const struct typed_line *, size_t shown, bool ascii);

/* All zeros but for `from` and `begun` is an empty list. */
struct line_words {
	size_t from;		/* byte of the line where the word begins */
	const char *begun;	/* the word up to the cursor; borrowed */
	char **word;		/* candidates that begin with it; owned */
	size_t n, cap;
};

/* Copies the word if it begins with `begun`; without memory it is dropped. */
void line_words_add(struct line_words *, const char *word);
void line_words_fini(struct line_words *);

/*
 * Inserts what all words have in common.  A single word gets a blank, unless it
 * ends with '/' or '='.  Several words are listed in `out`, paths by their last
 * part.
 */
void line_complete(struct typed_line *, struct line_words *, char *out, size_t cap);

#endif
