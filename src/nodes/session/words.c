/*
 * Stacks by caller, and words by frame: copies as nodes.h has them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "names.h"

#define FETCH_AGAIN_MS 2000	/* between two looks whether a file has come */

/* --- copies ------------------------------------------------------------- */

struct nodes_stack *
nodes_stack_copy(const struct nodes_stack *stack)
{
	size_t bytes = stack->depth * sizeof *stack->frame;
	struct nodes_stack *copy = malloc(sizeof *copy + bytes);

	if (copy == NULL)
		return NULL;
	*copy = *stack;
	copy->frame = memcpy(copy + 1, stack->frame, bytes);
	return copy;
}

/* Moves a text behind the others, with a NUL. */
static void
move_text(char **to, struct wire_text *t)
{
	if (t->len > 0)
		memcpy(*to, t->s, t->len);
	t->s = *to;
	*to += t->len;
	*(*to)++ = '\0';
}

struct wire_words *
nodes_words_copy(const struct wire_words *words)
{
	size_t i, bytes = words->module.len + 1;
	struct wire_words *copy;
	char *to;

	for (i = 0; i < words->n; i++)
		bytes += words->line[i].function.len +
		    words->line[i].file.len + 2;
	copy = malloc(sizeof *copy + bytes);
	if (copy == NULL)
		return NULL;
	*copy = *words;
	to = (char *)(copy + 1);
	move_text(&to, &copy->module);
	for (i = 0; i < words->n; i++) {
		move_text(&to, &copy->line[i].function);
		move_text(&to, &copy->line[i].file);
	}
	return copy;
}

/* --- stacks ------------------------------------------------------------- */

/*
 * A plain return address is its own stack, of one frame without a module.
 * Nobody may have asked for more, or there was no room for it: which of the
 * two cannot be told from here.
 */
static bool
plain_stack(struct names *nm, uint64_t caller, struct nodes_stack *out)
{
	const struct answers_entry *e = answers_entry(&nm->stacks, caller);

	if (e == NULL)
		return false;
	*out = (struct nodes_stack){ .frame = &e->key, .depth = 1,
		.end = RING_END_ALONE };
	return true;
}

bool
names_stack(struct names *nm, uint64_t caller, struct nodes_stack *out)
{
	const struct answers_entry *e;

	caller &= REC_ADDR_MASK;
	if (caller == 0)
		return false;
	if (!rec_is_site(caller))
		return plain_stack(nm, caller, out);
	e = answers_get(&nm->stacks, caller, nm->now_ms);
	if (e == NULL || e->value == NULL)
		return false;
	*out = *(const struct nodes_stack *)e->value;
	return true;
}

void
names_take_stacks(struct names *nm, const struct wire_sited *sited)
{
	struct wire_stack in;
	size_t at = 0;

	while (wire_sited_next(sited->sites, &at, &in) == 1) {
		uint64_t caller = rec_site_caller(in.site);
		struct nodes_stack *copy = in.depth == 0 ? NULL :
		    nodes_stack_copy(&(struct nodes_stack){ .frame = in.frame,
			.depth = in.depth, .end = in.end });

		if (copy == NULL)
			answers_miss(&nm->stacks, caller, NULL, nm->now_ms);
		else
			answers_put(&nm->stacks, caller, copy, ANSWERS_NEVER);
	}
}

/* --- words -------------------------------------------------------------- */

/* NULL while there is nothing worth showing. */
const struct wire_words *
names_words(struct names *nm, uint64_t frame)
{
	const struct answers_entry *e;
	const struct wire_words *w;

	if (frame_pc(frame) == 0)
		return NULL;
	e = answers_get(&nm->words, frame, nm->now_ms);
	if (e == NULL || e->value == NULL)
		return NULL;
	w = e->value;
	return w->known != WIRE_K_PENDING || e->tries >= ANSWERS_TRIES ?
	    w : NULL;
}

/* The part of a path behind its last '/'. */
static struct wire_text
base_of(struct wire_text path)
{
	size_t i = path.len;

	while (i > 0 && path.s[i - 1] != '/')
		i--;
	return i > 0 ? (struct wire_text){ path.s + i, path.len - i } : path;
}

static void
take_fetch(struct names *nm, const struct wire_framed *framed)
{
	struct wire_text module = base_of(framed->fetch);
	char kb[27], of[27];

	nm->fetching[0] = '\0';
	nm->fetch_ms = nm->now_ms;
	if (framed->fetch.len == 0) {
		nm->fetch_frame = 0;
		return;
	}
	base_group_digits(kb, sizeof kb, framed->fetched_kb);
	base_group_digits(of, sizeof of, framed->fetch_kb);
	if (framed->fetch_kb > 0)
		snprintf(nm->fetching, sizeof nm->fetching,
		    "%.*s %s of %s kB", (int)module.len, module.s, kb, of);
	else
		snprintf(nm->fetching, sizeof nm->fetching, "%.*s %s kB",
		    (int)module.len, module.s, kb);
}

void
names_take_words(struct names *nm, const struct wire_framed *framed)
{
	struct wire_words in;
	struct wire_words *w;
	size_t at = 0;

	take_fetch(nm, framed);
	while (wire_framed_next(framed->words, &at, &in) == 1) {
		w = nodes_words_copy(&in);
		if (in.fetching)
			nm->fetch_frame = in.frame;
		if (w == NULL || (in.known == WIRE_K_PENDING && !in.fetching))
			answers_miss(&nm->words, in.frame, w, nm->now_ms);
		else
			answers_put(&nm->words, in.frame, w, in.fetching ?
			    nm->now_ms + FETCH_AGAIN_MS : ANSWERS_NEVER);
	}
}
