/*
 * calls: a block's stack as the lines that a person reads.
 *
 * Vocabulary
 *	call	a line of a stack: a frame's function, or one that was inlined
 *		in it.  A frame of which nothing is known is a call as well.
 *	origin	the innermost call that is not skipped: who asked.  When all
 *		of them are, the outermost: somebody did.
 *	place	where a frame lies in its module: "libfoo.so+0x1f30".
 *
 * Example
 *	if (page_calls_begin(&calls, v, b->caller))
 *		while (page_calls_next(&calls, &call))
 *			page_call_function(&call, name, sizeof name);
 *
 * All texts are outside text.  What a call borrows is good until the next
 * news.
 */
#ifndef PAGEK_CALLS_H
#define PAGEK_CALLS_H

#include "view.h"

#define PAGE_NAME_MAX 1024	/* bytes of a function's or a module's text */

struct page_call {
	unsigned frame;			/* number in the stack, 0 the innermost */
	unsigned outer;			/* calls from here to the frame's own: 0 is it */
	uint64_t at;			/* the frame as the stack has it */
	bool inlined;			/* into the call that follows */
	bool skipped;
	const struct wire_words *words;	/* NULL: nothing is known yet */
	const struct wire_inline *line;	/* NULL: no symbol */
};

struct page_calls {
	const struct page_view *v;
	struct nodes_stack stack;
	const struct wire_words *words;	/* of the frame begun */
	unsigned frame;
	unsigned line;			/* next one of it */
	bool outside;			/* a call that is not skipped has been met */
};

/* False: the stack is not known yet. */
bool page_calls_begin(struct page_calls *, const struct page_view *,
    uint64_t caller);
bool page_calls_next(struct page_calls *, struct page_call *);

/* The function's name; without one the place; "" while nothing is known. */
void page_call_function(const struct page_call *, char *out, size_t cap);
/* "zmalloc.c:112"; with `whole` the path instead of the base name; "" not known. */
void page_call_where(const struct page_call *, bool whole, char *out,
    size_t cap);
/* "libfoo.so+0x1f30", the address where there is no module; "" not known. */
void page_call_place(const struct page_call *, char *out, size_t cap);

/* A text of the wire as a string: clipped to whole characters, NUL as '?'. */
void page_text_copy(char *out, size_t cap, struct wire_text);
/* The name behind the last slash. */
struct wire_text page_text_base(struct wire_text);

/* False while the origin is not known. */
bool page_calls_origin(const struct page_view *, uint64_t caller,
    struct page_call *);

/*
 * "function  file:line" in `width` columns: when it is too long, first without
 * what the function takes, then cut, then without the place.
 */
void page_put_name(const char *function, const char *where, int width,
    struct page_picture *);
void page_put_call(const struct page_call *, int width,
    struct page_picture *);

#endif
