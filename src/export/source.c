#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../base/hashmap.h"
#include "export.h"

#define TEXT_MAX_BYTES (4 * WIRE_TEXT_MAX + 1)	/* each byte as \xNN */

struct filling {
	struct export_source s;
	struct intern texts, modules, functions, frames;
	size_t cap_module, cap_function, cap_line, cap_frame, cap_frame_of;
	size_t cap_stack;
	/* For export_of_profile(). */
	struct hashmap callers;		/* struct export_caller */
	struct export_live live;
};

/* The key of a frame; of `line`, the first `lines` count. */
struct frame_key {
	uint64_t address;
	uint32_t module, lines;
	struct export_line line[SYMBOL_INLINES_MAX];
};

/* Makes room for `more` elements.  Returns the first of them; NULL: no memory. */
static void *
room(void *array, size_t *cap, size_t n, size_t more, size_t size)
{
	void **at = array;

	return base_grow(at, cap, n + more, size) < 0 ? NULL :
	    (char *)*at + n * size;
}

static const char *
safe_text(struct filling *f, const char *text)
{
	char safe[TEXT_MAX_BYTES];
	size_t len;
	int64_t no;

	if (text == NULL || text[0] == '\0')
		return "";
	len = base_safe_text(safe, sizeof safe, text, strlen(text), false);
	no = intern_put(&f->texts, safe, len);
	return no < 0 ? NULL : intern_text(&f->texts, (size_t)no);
}

static int64_t
put_module(struct filling *f, const char *path)
{
	struct export_module *m;
	int64_t no;

	if (path[0] == '\0')
		return EXPORT_NONE;
	no = intern_put(&f->modules, path, strlen(path));
	if (no < (int64_t)f->s.modules)
		return no;
	m = room(&f->s.module, &f->cap_module, f->s.modules, 1, sizeof *m);
	if (m == NULL)
		return -ENOMEM;
	/* The raw path, for the search among the mappings. */
	*m = (struct export_module){ .path = intern_text(&f->modules,
	    (size_t)no) };
	f->s.modules++;
	return no;
}

static int64_t
put_function(struct filling *f, const char *name, const char *file)
{
	struct export_function fn = { safe_text(f, name), safe_text(f, file) }, *to;
	int64_t no;

	/* Equal texts have equal pointers. */
	no = fn.name == NULL || fn.file == NULL ? -ENOMEM :
	    intern_put(&f->functions, &fn, sizeof fn);
	if (no < (int64_t)f->s.functions)
		return no;
	to = room(&f->s.function, &f->cap_function, f->s.functions, 1, sizeof *to);
	if (to == NULL)
		return -ENOMEM;
	*to = fn;
	f->s.functions++;
	return no;
}

/* Adds a frame, or finds it.  Returns its number, or -ENOMEM. */
static int64_t
put_frame(struct filling *f, const struct frame_key *w)
{
	size_t len = offsetof(struct frame_key, line) +
	    w->lines * sizeof w->line[0];
	struct export_frame *frame;
	struct export_line *line;
	int64_t no = intern_put(&f->frames, w, len);

	if (no < (int64_t)f->s.frames)
		return no;
	frame = room(&f->s.frame, &f->cap_frame, f->s.frames, 1, sizeof *frame);
	line = room(&f->s.line, &f->cap_line, f->s.lines, SYMBOL_INLINES_MAX,
	    sizeof *line);
	if (frame == NULL || line == NULL)
		return -ENOMEM;
	memcpy(line, w->line, w->lines * sizeof *line);
	*frame = (struct export_frame){ .address = w->address,
		.module = w->module, .first = (uint32_t)f->s.lines,
		.lines = w->lines };
	f->s.lines += w->lines;
	f->s.frames++;
	return no;
}

/*
 * Puts the frame that begins at line *at, and moves *at behind it.  Without an
 * address, the line's text counts as its function.
 */
static int64_t
take_frame(struct filling *f, const struct profile_line *l, size_t n, size_t *at)
{
	struct frame_key w = { .address = l[*at].address };
	int64_t no = put_module(f, l[*at].module);
	bool more = true;

	if (no < 0)
		return no;
	w.module = (uint32_t)no;
	for (; *at < n && more; (*at)++) {
		const struct profile_line *one = &l[*at];

		more = one->inlined;
		if ((one->function[0] == '\0' && w.address != 0) ||
		    w.lines == BASE_NELEM(w.line))
			continue;
		no = put_function(f, one->name, one->file);
		if (no < 0)
			return no;
		w.line[w.lines++] = (struct export_line){
			.function = (uint32_t)no, .line = one->line };
	}
	return put_frame(f, &w);
}

static int
add_stack(struct filling *f, const struct profile_line *line, size_t n,
    const struct export_stack *sums)
{
	struct export_stack *to;
	uint32_t *frame;
	size_t at = 0;
	int64_t no;

	to = room(&f->s.stack, &f->cap_stack, f->s.stacks, 1, sizeof *to);
	frame = room(&f->s.frame_of, &f->cap_frame_of, f->s.frames_of, n,
	    sizeof *frame);
	if (to == NULL || frame == NULL)
		return -ENOMEM;
	*to = *sums;
	to->first = (uint32_t)f->s.frames_of;
	to->depth = 0;
	while (at < n) {
		no = take_frame(f, line, n, &at);
		if (no < 0)
			return (int)no;
		frame[to->depth++] = (uint32_t)no;
	}
	f->s.frames_of += to->depth;
	f->s.stacks++;
	return 0;
}

static int
add_stacks(struct filling *f, struct profile *p, struct hashmap *callers)
{
	struct profile_line *line = calloc(PROFILE_LINES_MAX, sizeof *line);
	size_t n, origin;
	unsigned end;
	int r = line == NULL ? -ENOMEM : 0;

	for (size_t i = 0; r == 0 && i < callers->n; i++) {
		struct export_caller *of = hashmap_item(callers, i);

		r = profile_stack(p, of->caller, line, PROFILE_LINES_MAX, &n,
		    &origin, &end);
		of->stack = (uint32_t)f->s.stacks;
		if (r == 0)
			r = add_stack(f, line + origin, n - origin, &of->sums);
	}
	free(line);
	return r;
}

static int
block_events(const struct export_source *s, int (*take)(void *,
    const struct export_event *), void *arg)
{
	const struct filling *f = s->private;
	const struct export_live *live = &f->live;
	int r = 0;

	for (size_t i = 0; i < live->blocks && r == 0; i++) {
		const struct blk *b = &live->block[i];
		const struct export_caller *of = hashmap_get(&f->callers,
		    b->caller);

		r = take(arg, &(struct export_event){ .kind = EXPORT_ALLOC,
		    .layer = blk_layer(b),
		    .wall_ms = live->wall_ms - (live->now_ms - b->ms),
		    .address = b->addr, .size = b->size,
		    .stack = of != NULL ? of->stack : EXPORT_NONE,
		    .thread = b->thread, .type = b->type });
	}
	return r;
}

void
export_free(struct export_source *s)
{
	struct filling *f;

	if (s == NULL)
		return;
	f = s->private;
	free(s->module);
	free(s->function);
	free(s->line);
	free(s->frame);
	free(s->frame_of);
	free(s->stack);
	intern_fini(&f->texts);
	intern_fini(&f->modules);
	intern_fini(&f->functions);
	intern_fini(&f->frames);
	hashmap_fini(&f->callers);
	free(f);
}

/* Paths were raw until the modules had been found among mappings. */
static int
make_paths_safe(struct filling *f)
{
	for (size_t i = 0; i < f->s.modules; i++) {
		f->s.module[i].path = safe_text(f, f->s.module[i].path);
		if (f->s.module[i].path == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int
begin(struct filling **out, const char *target, const char *note)
{
	struct filling *f = calloc(1, sizeof *f);

	if (f == NULL)
		return -ENOMEM;
	f->callers.size = sizeof(struct export_caller);
	f->s.program = EXPORT_NONE;
	f->s.private = f;
	f->s.target = safe_text(f, target);
	f->s.note = safe_text(f, note);
	*out = f;
	return f->s.target == NULL || f->s.note == NULL ? -ENOMEM : 0;
}

static int
take_callers(struct filling *f)
{
	struct export_caller *of;
	struct profile_sum sum;
	uint64_t caller;

	for (size_t i = 0; profile_caller_at(f->live.profile, i, &caller, &sum);
	    i++) {
		if (sum.listed == 0)
			continue;
		of = hashmap_add(&f->callers, caller);
		if (of == NULL)
			return -ENOMEM;
		of->sums.live_blocks = sum.blocks;
		of->sums.live_bytes = sum.bytes;
	}
	return 0;
}

static int
end(struct filling *f, int r, struct export_source **out)
{
	if (r < 0 && f != NULL)
		export_free(&f->s);
	else if (r == 0)
		*out = &f->s;
	return r;
}

int
export_of_profile(struct export_source **out, const struct export_live *live)
{
	struct filling *f = NULL;
	int r = begin(&f, live->target, live->note);

	if (r == 0) {
		f->live = *live;
		f->s.sample = live->sample;
		f->s.wall_ms = live->wall_ms;
		f->s.events = block_events;
		r = take_callers(f);
	}
	if (r == 0)
		r = add_stacks(f, live->profile, &f->callers);
	if (r == 0 && live->pid != 0)
		export_place_modules(&f->s, live->pid);
	if (r == 0)
		r = make_paths_safe(f);
	return end(f, r, out);
}

int
export_of_callers(struct export_source **out, const struct export_callers *c)
{
	struct filling *f = NULL;
	int r = begin(&f, c->target, c->note);

	if (r == 0)
		r = add_stacks(f, c->profile, c->callers);
	if (r == 0)
		r = c->place(&f->s, c->arg);
	if (r == 0)
		r = make_paths_safe(f);
	return end(f, r, out);
}
