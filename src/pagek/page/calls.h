/*
 * calls: a block's stack as lines to read.
 *
 * Vocabulary
 *	call	a line of a stack: a frame's function, one that was inlined in it,
 *		or a frame without a name.
 *	call	a line of a stack: a frame's function, one inlined in it, or a bare frame.
 *	origin	the innermost call that is not skipped, else the outermost.
 *
 * Example
 *	if (page_calls_begin(&calls, v, b->caller))
 *		while (page_calls_next(&calls, &call))
 *			page_call_function(&call, name, sizeof name);
 *
 * All texts are outside text.  A call borrows from the view until the next news.
 */
#ifndef PAGEK_CALLS_H
#define PAGEK_CALLS_H

#include "view.h"

#define PAGE_NAME_MAX 1024	/* bytes of a function's or a module's text */

struct page_call {
	unsigned frame;			/* number in the stack, 0 the innermost */
	unsigned outer;			/* calls out to the frame's own; 0: this is it */
	uint64_t at;			/* the frame as the stack has it */
	bool inlined;			/* into the call that follows */
	bool skipped;
	const struct wire_words *words;	/* NULL: not known yet */
	const struct wire_inline *line;	/* NULL: no symbol */
};

struct page_calls {
	const struct page_view *v;
	struct stream_site stack;
	const struct wire_words *words;	/* of the current frame */
	unsigned frame;
	unsigned line;			/* its next one */
	bool outside;			/* a call was not skipped */
};

/* False: the stack is not known yet. */
bool page_calls_begin(struct page_calls *, const struct page_view *,
    uint64_t caller);
bool page_calls_next(struct page_calls *, struct page_call *);

/* The function's name, or the place; "": not known. */
void page_call_function(const struct page_call *, char *out, size_t cap);
/* "zmalloc.c:112", with `whole` the path; "": not known. */
void page_call_where(const struct page_call *, bool whole, char *out,
    size_t cap);
/* "libfoo.so+0x1f30", or the address without a module; "": not known. */
void page_call_place(const struct page_call *, char *out, size_t cap);

/* Copies a text of the wire: cut at whole characters, NUL bytes become '?'. */
void page_text_copy(char *out, size_t cap, struct wire_text);
/* The name behind the last slash. */
struct wire_text page_text_base(struct wire_text);

/* False: the origin is not known. */
bool page_calls_origin(const struct page_view *, uint64_t caller,
    struct page_call *);

/* The type of the objects in the caller's blocks; "" and UNKNOWN. */
enum wire_type_from page_calls_type(const struct page_view *, uint64_t caller,
    char *out, size_t cap);

/*
 * Writes "function  file:line" in `width` columns.  If it is too long, drops the
 * parameters, then cuts the name, then drops the place.
 */
void page_put_name(const char *function, const char *where, int width,
    struct page_picture *);
void page_put_call(const struct page_call *, int width,
    struct page_picture *);

#endif
