/* See kept.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kept.h"

#define FIRST_SLOTS 256

enum kind { STACK, WORDS, THREAD };

/* Each of them begins with one, and is one piece of memory. */
struct entry {
	uint64_t key;
	enum kind kind;
};

struct stack_entry {
	struct entry entry;
	struct nodes_stack stack;
	uint64_t frame[];
};

struct words_entry {
	struct entry entry;
	struct wire_words words;
	char text[];
};

struct thread_entry {
	struct entry entry;
	char name[];
};

struct page_kept {
	struct entry **slot;	/* open addressing, a power of two */
	size_t nslot, n;
	bool same;
	struct profile_words live;
	const char *(*live_thread)(void *arg, uint16_t thread);
	void *live_arg;
};

static size_t
slot_of(const struct page_kept *k, enum kind kind, uint64_t key)
{
	uint64_t h = (key + kind) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(h >> 32) & (k->nslot - 1);

	while (k->slot[i] != NULL &&
	    (k->slot[i]->key != key || k->slot[i]->kind != kind))
		i = (i + 1) & (k->nslot - 1);
	return i;
}

static bool
make_room(struct page_kept *k)
{
	struct entry **old = k->slot, **bigger;
	size_t nold = k->nslot, i;

	if (k->n * 2 < nold)
		return true;
	bigger = calloc(nold * 2, sizeof *bigger);
	if (bigger == NULL)
		return false;
	k->slot = bigger;
	k->nslot = nold * 2;
	for (i = 0; i < nold; i++)
		if (old[i] != NULL)
			k->slot[slot_of(k, old[i]->kind, old[i]->key)] =
			    old[i];
	free(old);
	return true;
}

static void *
find(const struct page_kept *k, enum kind kind, uint64_t key)
{
	return k->slot[slot_of(k, kind, key)];
}

/* An entry of so many bytes in all; NULL: things go on without. */
static void *
add(struct page_kept *k, enum kind kind, uint64_t key, size_t bytes)
{
	struct entry *e;

	if (!make_room(k) || (e = calloc(1, bytes)) == NULL)
		return NULL;
	e->key = key;
	e->kind = kind;
	k->slot[slot_of(k, kind, key)] = e;
	k->n++;
	return e;
}

/* --- copies ------------------------------------------------------------- */

static void
keep_stack(struct page_kept *k, uint64_t caller,
    const struct nodes_stack *stack)
{
	size_t bytes = stack->depth * sizeof *stack->frame;
	struct stack_entry *e = add(k, STACK, caller, sizeof *e + bytes);

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
	struct words_entry *e;
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
	struct stack_entry *e = find(k, STACK, caller);

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
	struct words_entry *e = find(k, WORDS, frame);
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
	struct thread_entry *e = find(k, THREAD, thread);
	const char *name;
	size_t bytes;

	if (e != NULL)
		return e->name;
	name = k->same ? k->live_thread(k->live_arg, thread) : "";
	bytes = strlen(name) + 1;
	if (bytes > 1 &&
	    (e = add(k, THREAD, thread, sizeof *e + bytes)) != NULL)
		memcpy(e->name, name, bytes);
	return name;
}

/* --- life --------------------------------------------------------------- */

int
page_kept_new(struct page_kept **out)
{
	struct page_kept *k = calloc(1, sizeof *k);

	if (k == NULL)
		return -ENOMEM;
	k->nslot = FIRST_SLOTS;
	k->slot = calloc(k->nslot, sizeof(struct entry *));
	if (k->slot == NULL) {
		free(k);
		return -ENOMEM;
	}
	*out = k;
	return 0;
}

void
page_kept_free(struct page_kept *k)
{
	size_t i;

	if (k == NULL)
		return;
	for (i = 0; i < k->nslot; i++)
		free(k->slot[i]);
	free(k->slot);
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
