/*
 * keys: names and actions of keys.  A code is a character or an enum page_key; the
 * codes of curses stay in tui/screen.c.
 */
#ifndef PAGEK_KEYS_H
#define PAGEK_KEYS_H

#include "picture.h"

/* Pages, by the letter that the first line of each begins with. */
enum page_letter {
#define PAGE(action, letter, ...) PAGE_##letter,
#include "pages.def"
#undef PAGE
	PAGES			/* one more than the last */
};

#define PAGE_CTRL(c) ((c) & 0x1f)

enum page_key {
	PAGE_KEY_NONE = 0,
	PAGE_KEY_UP = 0x200000,		/* above all characters */
	PAGE_KEY_DOWN,
	PAGE_KEY_LEFT,
	PAGE_KEY_RIGHT,
	PAGE_KEY_PGUP,
	PAGE_KEY_PGDN,
	PAGE_KEY_HOME,
	PAGE_KEY_END,
	PAGE_KEY_BACKSPACE,
	PAGE_KEY_DELETE,
	PAGE_KEY_INSERT,
	PAGE_KEY_ENTER,
	PAGE_KEY_OTHER,			/* another key of curses */
	PAGE_KEY_F0,			/* F1 to F63 follow */
	PAGE_KEY_F1 = PAGE_KEY_F0 + 1,
	PAGE_KEY_F10 = PAGE_KEY_F0 + 10,
	PAGE_KEY_F_LAST = PAGE_KEY_F0 + 63,
};

enum page_action {
	PAGE_DO_NOTHING,
#define GROUP(...)
#define KEY(action, ...) PAGE_DO_##action,
#include "keys.def"
#undef KEY
#undef GROUP
	PAGE_ACTIONS		/* one more than the last */
};

/* Headings of the help. */
enum page_keys {
#define GROUP(name, title) PAGE_KEYS_##name,
#define KEY(...)
#include "keys.def"
#undef KEY
#undef GROUP
	PAGE_KEYS		/* one more than the last */
};

enum page_action page_key_action(int code);
/* The action moves to another row. */
bool page_key_moves(enum page_action);

/* The page that the action opens; PAGES: none. */
enum page_letter page_key_page(enum page_action);

void page_key_utf8(int code, char out[5]);

/* "z", "^X", "F5", "Left", "U+00E4". */
void page_key_name(int code, char out[16]);
/* The code of a name or of a character; PAGE_KEY_NONE: there is none. */
int page_key_parse(const char *name);
/* Maps all codes of Enter, and of Backspace, to one. */
int page_key_one(int code);

#define PAGE_SEQUENCE_MAX 24
/* True if these bytes, after Esc, are the beginning of a key's sequence. */
bool page_key_goes_on(const char *bytes, size_t n);
/*
 * The key that sends Esc and these bytes on common terminals; PAGE_KEY_OTHER:
 * none.
 */
int page_key_sequence(const char *bytes);

#define PAGE_ACTION_WORD 24
/* The word of the i-th action in settings: "page-down"; false: no more. */
bool page_action_word(size_t i, enum page_action *, char out[PAGE_ACTION_WORD]);

#define PAGE_KEYS_BOUND 128
/* Binds the key in the whole program.  False: too many are bound. */
bool page_key_bind(int code, enum page_action);
void page_keys_unbind(void);

/* Lines of the help for a group of keys.def. */
void page_keys_help(struct page_picture *, enum page_keys group);
/* The heading of another group, and a key of it. */
void page_keys_help_title(struct page_picture *, const char *title);
void page_keys_help_line(struct page_picture *, const char *names,
    const char *help);

/* The words that fit.  covered: only keys that mean the same in an overlay. */
void page_key_bar(struct page_picture *, int cols, bool covered);
/* The code of the key at column `col`; PAGE_KEY_NONE: there is none. */
int page_key_bar_code(int cols, int col, bool covered);

#endif
