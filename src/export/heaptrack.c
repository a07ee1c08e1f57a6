/*
 * heaptrack's format, version 3, as heaptrack_interpret writes it: lines of a
 * letter and hexadecimal numbers.  A line refers only to those before it.
 *
 *	v version format		# comment
 *	X name of the program		s length text
 *	i address module [function file line]...	the innermost first
 *	t instruction parent		a frame of a stack; parent 0: the outermost
 *	a size frame			blocks of one size and stack
 *	+ blocks, - blocks		one more of them, one less
 *	c milliseconds
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../base/hashmap.h"
#include "export.h"

#define FORMAT_VERSION 3
#define PROGRAM_VERSION 0x010400	/* 1.4.0, the first with that format */

struct writer {
	const struct export_source *s;
	FILE *out;
	struct intern texts;		/* numbered from 1 in the file */
	struct hashmap frames;		/* by parent and instruction, from 1 */
	uint32_t *innermost;		/* by stack: its frame; 0: none */
	struct intern kinds;		/* of blocks: struct kind */
	struct hashmap held;		/* struct held; only if there are frees */
	bool timed;			/* base_ms is known */
	int64_t base_ms, last_ms;
};

struct kind {
	uint64_t size;
	uint64_t frame;
};

struct held {
	uint64_t place;			/* the key: address and layer */
	uint64_t kind;
};

static int put(struct writer *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

static int
put(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfprintf(w->out, fmt, ap);
	va_end(ap);
	return r < 0 ? -errno : 0;
}

/* The text's number, written if it is new; 0: it is empty. */
static int64_t
put_text(struct writer *w, const char *text)
{
	size_t before = w->texts.n, len = strlen(text);
	int64_t no;
	int r;

	if (len == 0)
		return 0;
	no = intern_put(&w->texts, text, len);
	if (no < 0 || w->texts.n == before)
		return no < 0 ? no : no + 1;
	r = put(w, "s %zx %s\n", len, text);
	return r < 0 ? r : no + 1;
}

static int
put_texts(struct writer *w)
{
	const struct export_source *s = w->s;
	int64_t no = 0;

	for (size_t i = 0; i < s->modules && no >= 0; i++)
		no = put_text(w, s->module[i].path);
	for (size_t i = 0; i < s->functions && no >= 0; i++) {
		no = put_text(w, s->function[i].name);
		if (no >= 0)
			no = put_text(w, s->function[i].file);
	}
	return no < 0 ? (int)no : 0;
}

/* All texts are written: they are only looked up. */
static int
put_instruction(struct writer *w, const struct export_frame *f)
{
	const struct export_source *s = w->s;
	int64_t module = f->module == EXPORT_NONE ? 0 :
	    put_text(w, s->module[f->module].path);
	int r = module < 0 ? (int)module :
	    put(w, "i %" PRIx64 " %" PRIx64, f->address, (uint64_t)module);

	for (uint32_t i = f->first; i < f->first + f->lines && r == 0; i++) {
		const struct export_function *fn =
		    &s->function[s->line[i].function];
		int64_t name = put_text(w, fn->name), file = put_text(w, fn->file);

		r = name < 0 || file < 0 ? -ENOMEM :
		    put(w, " %" PRIx64 " %" PRIx64 " %" PRIx32, (uint64_t)name,
		    (uint64_t)file, s->line[i].line);
	}
	return r == 0 ? put(w, "\n") : r;
}

/* Stacks that begin alike share these frames. */
static int
put_stack(struct writer *w, size_t no)
{
	const struct export_stack *st = &w->s->stack[no];
	uint32_t parent = 0;
	bool added;

	for (uint32_t d = st->depth; d-- > 0;) {
		uint32_t frame = w->s->frame_of[st->first + d];
		int64_t at = hashmap_put(&w->frames, (uint64_t)parent << 32 |
		    frame, &added);
		int r = at < 0 ? (int)at : !added ? 0 :
		    put(w, "t %" PRIx32 " %" PRIx32 "\n", frame + 1, parent);

		if (r < 0)
			return r;
		parent = (uint32_t)at + 1;
	}
	w->innermost[no] = parent;
	return 0;
}

static int
put_time(struct writer *w, int64_t wall_ms)
{
	int64_t ms;

	if (!w->timed) {
		w->timed = true;
		w->base_ms = wall_ms;
	}
	ms = wall_ms - w->base_ms;
	/* Threads may differ by a little; for a reader time does not go back. */
	if (ms <= w->last_ms)
		return 0;
	w->last_ms = ms;
	return put(w, "c %" PRIx64 "\n", (uint64_t)ms);
}

static int64_t
put_kind(struct writer *w, const struct export_event *e)
{
	struct kind kind = { .size = e->size, .frame = e->stack == EXPORT_NONE ?
		0 : w->innermost[e->stack] };
	size_t before = w->kinds.n;
	int64_t no = intern_put(&w->kinds, &kind, sizeof kind);
	int r;

	if (no < 0 || w->kinds.n == before)
		return no;
	r = put(w, "a %" PRIx64 " %" PRIx64 "\n", kind.size, kind.frame);
	return r < 0 ? r : no;
}

static uint64_t
place_of(const struct export_event *e)
{
	return e->address | (uint64_t)e->layer << 63;
}

/* A free names the blocks that its block was one of. */
static int
put_free(struct writer *w, const struct export_event *e)
{
	int64_t at = hashmap_find(&w->held, place_of(e));
	uint64_t kind;

	if (at < 0)
		return 0;
	kind = ((struct held *)hashmap_item(&w->held, (size_t)at))->kind;
	hashmap_remove(&w->held, (size_t)at);
	return put(w, "- %" PRIx64 "\n", kind);
}

static int
put_alloc(struct writer *w, const struct export_event *e)
{
	int64_t no = put_kind(w, e);
	struct held *held;
	int r = 0;

	if (no >= 0 && w->s->has_frees) {
		r = put_free(w, e);
		held = r == 0 ? hashmap_add(&w->held, place_of(e)) : NULL;
		if (held == NULL)
			return r < 0 ? r : -ENOMEM;
		held->kind = (uint64_t)no;
	}
	return no < 0 ? (int)no : put(w, "+ %" PRIx64 "\n", (uint64_t)no);
}

static int
put_event(void *arg, const struct export_event *e)
{
	struct writer *w = arg;
	int r = e->kind == EXPORT_LOST ? 0 : put_time(w, e->wall_ms);

	if (r < 0 || e->kind == EXPORT_LOST)
		return r;
	return e->kind == EXPORT_FREE ? put_free(w, e) : put_alloc(w, e);
}

static int
put_head(struct writer *w)
{
	int r = put(w, "v %x %x\nX %s\n", PROGRAM_VERSION, FORMAT_VERSION,
	    w->s->target);

	if (r == 0 && w->s->note[0] != '\0')
		r = put(w, "# %s\n", w->s->note);
	return r;
}

static int
put_all(struct writer *w)
{
	const struct export_source *s = w->s;
	int r = put_head(w);

	if (r == 0)
		r = put_texts(w);
	for (size_t i = 0; i < s->frames && r == 0; i++)
		r = put_instruction(w, &s->frame[i]);
	for (size_t i = 0; i < s->stacks && r == 0; i++)
		r = put_stack(w, i);
	if (r == 0)
		r = s->events(s, put_event, w);
	return r == 0 ? put_time(w, s->wall_ms) : r;
}

int
export_heaptrack(const struct export_source *s, FILE *out)
{
	struct writer w = { .s = s, .out = out,
	    .frames.size = sizeof(uint64_t), .held.size = sizeof(struct held) };
	int r = -ENOMEM;

	w.innermost = calloc(s->stacks + 1, sizeof *w.innermost);
	if (w.innermost != NULL)
		r = put_all(&w);
	free(w.innermost);
	intern_fini(&w.texts);
	intern_fini(&w.kinds);
	hashmap_fini(&w.frames);
	hashmap_fini(&w.held);
	return r;
}
