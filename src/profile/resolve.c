/*
 * When better words for a frame come, its lines are made again: a few times at
 * most (the module, a name, a line).  Old lines stay until the profile is
 * cleared.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/base.h"
#include "profile.h"
#include "profile_tables.h"

#define NAME_MAX_BYTES 512	/* of a substitute */

static bool
has_function(const struct wire_words *w, size_t line)
{
	return w != NULL && line < w->n && w->line[line].function.len > 0 &&
	    w->line[line].function.s[0] != '\0';
}

static void
copy_text(struct wire_text t, char *out, size_t cap)
{
	size_t n = 0;

	if (t.len > 0)
		n = strnlen(t.s, t.len < cap - 1 ? t.len : cap - 1);
	if (n > 0)
		memcpy(out, t.s, n);
	out[n] = '\0';
}

static void
name_place(uint64_t frame, const struct wire_words *w, char out[NAME_MAX_BYTES])
{
	char module[WIRE_TEXT_MAX + 1];

	if (frame == 0) {
		snprintf(out, NAME_MAX_BYTES, "(caller not known)");
	} else if (rec_is_site(frame)) {
		snprintf(out, NAME_MAX_BYTES, "(stack %u not known yet)",
		    (unsigned)rec_site(frame));
	} else if (w != NULL && w->module.len > 0) {
		copy_text(w->module, module, sizeof module);
		snprintf(out, NAME_MAX_BYTES, "%s+0x%llx", text_base(module),
		    (unsigned long long)w->offset);
	} else {
		snprintf(out, NAME_MAX_BYTES, "0x%llx",
		    (unsigned long long)frame_pc(frame));
	}
}

static uint64_t
function_key(const char *name, const char *module)
{
	return text_hash(text_hash(0, module), name);
}

uint64_t
profile_key(uint64_t frame, const struct wire_words *w, size_t line)
{
	char name[NAME_MAX_BYTES], module[WIRE_TEXT_MAX + 1] = "";

	if (w != NULL)
		copy_text(w->module, module, sizeof module);
	if (has_function(w, line))
		copy_text(w->line[line].function, name, sizeof name);
	else
		name_place(frame, w, name);
	return function_key(name, module);
}

bool
profile_passes(const char *function, bool wrapper)
{
	switch (symbol_tells(function).tells) {
	case SYMBOL_PASSES:
		return true;
	case SYMBOL_OTHER:
		return wrapper;
	default:
		return false;
	}
}

/* Index of the function, or -ENOMEM. */
static int64_t
intern_function(struct profile *p, const char *name, const char *module,
    bool named)
{
	uint64_t key = function_key(name, module);
	struct function *f;
	int64_t i;
	bool added;

	/* Two functions may have the same hash. */
	for (;; key++) {
		i = hashmap_put(&p->functions, key, &added);
		if (i < 0)
			return i;
		f = profile_function(p, (size_t)i);
		if (added)
			break;
		if (f->name == name && f->module == module)
			return i;
	}
	f->name = name;
	f->module = module;
	f->named = named;
	f->wrapper = named && p->wrappers != NULL &&
	    symbol_wrappers_match(p->wrappers, name);
	f->passes = named && profile_passes(name, f->wrapper);
	return i;
}

static int
add_line(struct profile *p, struct wire_text function, bool named,
    const char *module, struct wire_text file, uint32_t line)
{
	const char *name, *path;
	void *lines = p->line;
	int64_t f;

	if (base_grow(&lines, &p->capline, p->nline + 1, sizeof *p->line) < 0)
		return -ENOMEM;
	p->line = lines;
	if (text_intern(&p->texts, function.s, function.len, &name) < 0 ||
	    text_intern(&p->texts, file.s, file.len, &path) < 0)
		return -ENOMEM;
	f = intern_function(p, name, module, named);
	if (f < 0)
		return -ENOMEM;
	p->line[p->nline++] = (struct line){
		.key = text_hash(profile_function(p, (size_t)f)->key + line,
		    path),
		.function = (uint32_t)f,
		.line = line,
		.file = path,
	};
	return 0;
}

static int
make_lines(struct profile *p, uint64_t frame, const struct wire_words *w,
    const char *module, uint32_t *first, uint32_t *n)
{
	static const struct wire_text none;
	char made[NAME_MAX_BYTES];
	struct wire_text text;
	size_t count = w != NULL && w->n > 0 ? w->n : 1;
	int r = 0;

	if (count > WIRE_INLINES_MAX)
		count = WIRE_INLINES_MAX;
	if (p->nline + count > UINT32_MAX)
		return -ENOMEM;
	*first = (uint32_t)p->nline;
	*n = (uint32_t)count;
	for (size_t i = 0; i < count && r == 0; i++) {
		bool named = has_function(w, i);
		bool placed = w != NULL && i < w->n;

		if (!named)
			name_place(frame, w, made);
		text = named ? w->line[i].function :
		    (struct wire_text){ made, strlen(made) };
		r = add_line(p, text, named, module, placed ?
		    w->line[i].file : none, placed ? w->line[i].line : 0);
		if (r == 0)
			p->line[p->nline - 1].inlined = i + 1 < count;
	}
	return r;
}

static bool
is_better(const struct frame *f, const struct wire_words *w,
    const char *module)
{
	if (f->n == 0)
		return true;
	if (w == NULL)
		return false;
	return f->known != w->known || f->words != w->n ||
	    f->module != module || f->offset != w->offset;
}

/* -ENOMEM leaves the frame as it was. */
static int
fill_frame(struct profile *p, size_t at, const struct wire_words *w)
{
	struct frame *f = profile_frame(p, at);
	const char *module = f->module != NULL ? f->module : "";
	const char *type = "";
	uint32_t first, n;

	if (w != NULL && (text_intern(&p->texts, w->module.s, w->module.len,
	    &module) < 0 ||
	    text_intern(&p->texts, w->type.s, w->type.len, &type) < 0))
		return -ENOMEM;
	if (is_better(f, w, module)) {
		if (make_lines(p, f->frame, w, module, &first, &n) < 0)
			return -ENOMEM;
		f->first = first;
		f->n = n;
		f->module = module;
	}
	if (w == NULL)
		return 0;
	f->known = (uint8_t)w->known;
	f->words = (uint8_t)w->n;
	f->type = type[0] != '\0' ? type : NULL;
	f->type_from = (uint8_t)w->type_from;
	f->offset = w->offset;
	f->fetching = w->fetching;
	f->settled = w->known != WIRE_K_PENDING && !w->fetching;
	return 0;
}

/* Index of the frame, which has at least one line, or -ENOMEM. */
static int64_t
intern_frame(struct profile *p, uint64_t frame)
{
	bool added;
	int64_t i;

	i = hashmap_put(&p->frames, frame, &added);
	if (i >= 0 && profile_frame(p, (size_t)i)->n == 0 &&
	    fill_frame(p, (size_t)i, NULL) < 0)
		return -ENOMEM;
	return i;
}

static int
set_stack(struct profile *p, size_t caller, const uint64_t *frame,
    unsigned depth, unsigned end)
{
	struct stack *st = &p->stack[caller];
	void *room = p->frame_of;
	int64_t at;
	unsigned i;

	if (depth > RING_STACK_MAX)
		depth = RING_STACK_MAX;
	if (p->nframe_of + depth > UINT32_MAX || base_grow(&room,
	    &p->capframe_of, p->nframe_of + depth, sizeof *p->frame_of) < 0)
		return -ENOMEM;
	p->frame_of = room;
	for (i = 0; i < depth; i++) {
		at = intern_frame(p, frame[i]);
		if (at < 0)
			return -ENOMEM;
		p->frame_of[p->nframe_of + i] = (uint32_t)at;
	}
	st->first = (uint32_t)p->nframe_of;
	st->depth = (uint8_t)depth;
	st->end = (uint8_t)end;
	p->nframe_of += depth;
	return 0;
}

int
profile_prepare(struct profile *p)
{
	void *stack = p->stack;

	if (p->nstack == p->callers.n)
		return 0;
	if (base_grow(&stack, &p->capstack, p->callers.n,
	    sizeof *p->stack) < 0)
		return -ENOMEM;
	p->stack = stack;
	for (; p->nstack < p->callers.n; p->nstack++) {
		p->stack[p->nstack] = (struct stack){ 0 };
		if (set_stack(p, p->nstack,
		    &profile_caller(p, p->nstack)->caller, 1, 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Asks for a frame's words, once in a round.  -ENOMEM. */
static int
ask_words(struct profile *p, size_t at, const struct profile_words *from)
{
	struct frame *f = profile_frame(p, at);
	const struct wire_words *w;

	if (f->settled || f->round == p->round)
		return 0;
	f->round = p->round;
	w = from->words(from->arg, f->frame);
	return w != NULL ? fill_frame(p, at, w) : 0;
}

static int
resolve_caller(struct profile *p, size_t i, const struct profile_words *from)
{
	uint64_t caller = profile_caller(p, i)->caller;
	struct stack *st = &p->stack[i];
	struct stream_site known;
	int r;

	if (caller == 0) {
		st->settled = true;
		return 0;
	}
	if (st->end == 0) {
		if (!from->stack(from->arg, caller, &known) ||
		    known.depth == 0)
			return 0;
		r = set_stack(p, i, known.frame, known.depth, known.end != 0 ?
		    known.end : RING_END_DEPTH);
		if (r < 0)
			return r;
	}
	st->settled = true;
	for (unsigned d = 0; d < st->depth; d++) {
		size_t at = p->frame_of[st->first + d];

		r = ask_words(p, at, from);
		if (r < 0)
			return r;
		st->settled = st->settled && profile_frame(p, at)->settled;
	}
	return 0;
}

static size_t
count_unsettled(const struct profile *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->callers.n; i++)
		n += !p->stack[i].settled &&
		    profile_caller(p, i)->sums.blocks > 0;
	return n;
}

int
profile_resolve_some(struct profile *p, const struct profile_words *from,
    size_t at_most)
{
	size_t n = p->callers.n, seen, i;
	int r;

	r = profile_prepare(p);
	if (r < 0)
		return r;
	p->round++;
	for (seen = 0; seen < n && at_most > 0; seen++) {
		i = p->next < n ? p->next : 0;
		p->next = i + 1;
		if (p->stack[i].settled ||
		    profile_caller(p, i)->sums.blocks == 0)
			continue;
		r = resolve_caller(p, i, from);
		if (r < 0)
			return r;
		at_most--;
	}
	return (int)count_unsettled(p);
}

int
profile_resolve(struct profile *p, const struct profile_words *from)
{
	p->next = 0;
	return profile_resolve_some(p, from, SIZE_MAX);
}

size_t
profile_lines(const struct profile *p, size_t caller, uint32_t out[PROFILE_LINES_MAX])
{
	const struct stack *st = &p->stack[caller];
	size_t n = 0;

	for (unsigned d = 0; d < st->depth; d++) {
		const struct frame *f = profile_frame(p,
		    p->frame_of[st->first + d]);

		for (uint32_t i = 0; i < f->n; i++)
			out[n++] = f->first + i;
	}
	return n;
}

size_t
profile_origin(const struct profile *p, const uint32_t *lines, size_t n)
{
	size_t i = 0;

	while (i + 1 < n &&
	    profile_function(p, p->line[lines[i]].function)->wrapper)
		i++;
	return i;
}

static bool
passes(const struct profile *p, const struct frame *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (!profile_function(p, p->line[f->first + i].function)->passes)
			return false;
	return true;
}

enum wire_type_from
profile_type_at(const struct profile *p, size_t caller, const char **type)
{
	const struct stack *st = &p->stack[caller];

	for (unsigned d = 0; d < st->depth; d++) {
		const struct frame *f = profile_frame(p,
		    p->frame_of[st->first + d]);

		if (f->type != NULL) {
			*type = f->type;
			return (enum wire_type_from)f->type_from;
		}
		if (!passes(p, f))
			break;
	}
	*type = "";
	return WIRE_TYPE_UNKNOWN;
}

int
profile_type(struct profile *p, uint64_t caller, const char **type,
    enum wire_type_from *from)
{
	int64_t at = hashmap_find(&p->callers, caller);

	if (at < 0)
		return -ENOENT;
	if (profile_prepare(p) < 0)
		return -ENOMEM;
	*from = profile_type_at(p, (size_t)at, type);
	return 0;
}

const char *
profile_type_source(enum wire_type_from from)
{
	static const char *const words[WIRE_TYPE_SOURCES] = {
		[WIRE_TYPE_UNKNOWN] = "unknown",
		[WIRE_TYPE_TEMPLATE] = "template",
		[WIRE_TYPE_CALL] = "call",
		[WIRE_TYPE_SYMBOL] = "symbol",
		[WIRE_TYPE_NEW] = "new",
		[WIRE_TYPE_OWN] = "program",
	};

	return from < WIRE_TYPE_SOURCES ? words[from] : "unknown";
}

static void
put_line(const struct profile *p, const struct frame *fr,
    const struct line *l, struct profile_line *out)
{
	const struct function *f = profile_function(p, l->function);
	bool placed = fr->frame != 0 && !rec_is_site(fr->frame);

	*out = (struct profile_line){
		.address = placed ? frame_pc(fr->frame) : 0,
		.module = f->module,
		.offset = fr->offset,
		.function = f->named ? f->name : "",
		.name = f->name,
		.file = l->file,
		.line = l->line,
		.known = fr->known,
		.inlined = l->inlined,
	};
}

int
profile_stack(struct profile *p, uint64_t caller, struct profile_line *out,
    size_t cap, size_t *n, size_t *origin, unsigned *end)
{
	int64_t at = hashmap_find(&p->callers, caller);
	uint32_t lines[PROFILE_LINES_MAX];
	const struct stack *st;
	size_t have = 0, asked;

	if (at < 0)
		return -ENOENT;
	if (profile_prepare(p) < 0)
		return -ENOMEM;
	st = &p->stack[at];
	asked = profile_origin(p, lines, profile_lines(p, (size_t)at, lines));
	for (unsigned d = 0; d < st->depth; d++) {
		const struct frame *fr = profile_frame(p,
		    p->frame_of[st->first + d]);

		for (uint32_t i = 0; i < fr->n && have < cap; i++) {
			put_line(p, fr, &p->line[fr->first + i], &out[have]);
			out[have].skipped = have < asked;
			have++;
		}
	}
	*n = have;
	*origin = asked;
	*end = st->end;
	return 0;
}

uint32_t
profile_next_mark(struct profile *p)
{
	if (++p->mark == 0) {
		for (size_t i = 0; i < p->functions.n; i++)
			profile_function(p, i)->mark = 0;
		p->mark = 1;
	}
	return p->mark;
}
