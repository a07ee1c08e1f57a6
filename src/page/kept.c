/* See kept.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/hashmap.h"
#include "kept.h"

enum kind { STACK, WORDS, THREAD, KINDS };

struct kept_item {
	uint64_t key;
	void *copy;		/* one piece of memory; owned */
};

struct kept_stack {
	struct nodes_stack stack;
	uint64_t frame[];
};

struct kept_words {
	struct wire_words words;
	char text[];
};

struct page_kept {
	struct hashmap copies[KINDS];	/* of struct kept_item */
	bool same;
	struct profile_words live;
	const char *(*live_thread)(void *arg, uint16_t thread);
	void *live_arg;
};

static void *
find(const struct page_kept *k, enum kind kind, uint64_t key)
{
	const struct kept_item *item = hashmap_get(&k->copies[kind], key);

	return item != NULL ? item->copy : NULL;
}

/* Room for a copy of so many bytes; NULL: no memory, and it is done without. */
static void *
add(struct page_kept *k, enum kind kind, uint64_t key, size_t bytes)
{
	struct kept_item *item;
	void *copy = malloc(bytes);

	if (copy == NULL)
		return NULL;
	item = hashmap_add(&k->copies[kind], key);
	if (item == NULL) {
		free(copy);
		return NULL;
	}
	return item->copy = copy;
}

/* --- copies ------------------------------------------------------------- */

static void
keep_stack(struct page_kept *k, uint64_t caller,
    const struct nodes_stack *stack)
{
	size_t bytes = stack->depth * sizeof *stack->frame;
	struct kept_stack *e = add(k, STACK, caller, sizeof *e + bytes);

	if (e == NULL)
		return;
	memcpy(e->frame, stack->frame, bytes);
	e->stack = *stack;
	e->stack.frame = e->frame;
}

/* With a NUL behind it, as the session's texts have. */
static struct wire_text
copy_text(char **at, struct wire_text t)
{
	char *copy = *at;

	if (t.len > 0)
		memcpy(copy, t.s, t.len);
	copy[t.len] = '\0';
	*at += t.len + 1;
	return (struct wire_text){ .s = copy, .len = t.len };
}

static void
keep_words(struct page_kept *k, uint64_t frame, const struct wire_words *w)
{
	size_t bytes = w->module.len + 1, i;
	struct kept_words *e;
	char *at;

	for (i = 0; i < w->n; i++)
		bytes += w->line[i].function.len + w->line[i].file.len + 2;
	e = add(k, WORDS, frame, sizeof *e + bytes);
	if (e == NULL)
		return;
	at = e->text;
	e->words = *w;
	e->words.module = copy_text(&at, w->module);
	for (i = 0; i < w->n; i++) {
		e->words.line[i].function = copy_text(&at,
		    w->line[i].function);
		e->words.line[i].file = copy_text(&at, w->line[i].file);
	}
}

static bool
kept_stack(void *arg, uint64_t caller, struct nodes_stack *out)
{
	struct page_kept *k = arg;
	struct kept_stack *e = find(k, STACK, caller);

	if (e == NULL) {
		if (!k->same || !k->live.stack(k->live.arg, caller, out))
			return false;
		keep_stack(k, caller, out);
		return true;
	}
	*out = e->stack;
	return true;
}

/* Words that get better yet are passed on as they are. */
static const struct wire_words *
kept_words(void *arg, uint64_t frame)
{
	struct page_kept *k = arg;
	struct kept_words *e = find(k, WORDS, frame);
	const struct wire_words *w;

	if (e != NULL)
		return &e->words;
	w = k->same ? k->live.words(k->live.arg, frame) : NULL;
	if (w != NULL && w->known != WIRE_K_PENDING && !w->fetching)
		keep_words(k, frame, w);
	return w;
}

static const char *
kept_thread(void *arg, uint16_t thread)
{
	struct page_kept *k = arg;
	char *copy = find(k, THREAD, thread);
	const char *name;
	size_t bytes;

	if (copy != NULL)
		return copy;
	name = k->same ? k->live_thread(k->live_arg, thread) : "";
	bytes = strlen(name) + 1;
	if (bytes > 1 && (copy = add(k, THREAD, thread, bytes)) != NULL)
		memcpy(copy, name, bytes);
	return name;
}

/* --- life --------------------------------------------------------------- */

int
page_kept_new(struct page_kept **out)
{
	struct page_kept *k = calloc(1, sizeof *k);

	if (k == NULL)
		return -ENOMEM;
	for (int i = 0; i < KINDS; i++)
		k->copies[i].size = sizeof(struct kept_item);
	*out = k;
	return 0;
}

void
page_kept_free(struct page_kept *k)
{
	if (k == NULL)
		return;
	for (int i = 0; i < KINDS; i++) {
		const struct kept_item *item = k->copies[i].item;

		for (size_t j = 0; j < k->copies[i].n; j++)
			free(item[j].copy);
		hashmap_fini(&k->copies[i]);
	}
	free(k);
}

void
page_kept_behind(struct page_kept *k, struct page_view *v, bool same)
{
	k->same = same;
	k->live = v->words;
	k->live_thread = v->thread;
	k->live_arg = v->arg;
	v->words = (struct profile_words){
		.stack = kept_stack,
		.words = kept_words,
		.arg = k,
	};
	v->thread = kept_thread;
	v->arg = k;
}
