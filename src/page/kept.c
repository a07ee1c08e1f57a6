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

/* Takes over the copy.  Without memory the live view is asked again. */
static void
keep(struct page_kept *k, enum kind kind, uint64_t key, void *copy)
{
	struct kept_item *item = NULL;

	if (copy != NULL)
		item = hashmap_add(&k->copies[kind], key);
	if (item != NULL)
		item->copy = copy;
	else
		free(copy);
}

static bool
kept_stack(void *arg, uint64_t caller, struct nodes_stack *out)
{
	struct page_kept *k = arg;
	const struct nodes_stack *copy = find(k, STACK, caller);

	if (copy != NULL) {
		*out = *copy;
		return true;
	}
	if (!k->same || !k->live.stack(k->live.arg, caller, out))
		return false;
	keep(k, STACK, caller, nodes_stack_copy(out));
	return true;
}

/* Words that get better yet are passed on as they are. */
static const struct wire_words *
kept_words(void *arg, uint64_t frame)
{
	struct page_kept *k = arg;
	const struct wire_words *w = find(k, WORDS, frame);

	if (w != NULL)
		return w;
	w = k->same ? k->live.words(k->live.arg, frame) : NULL;
	if (w != NULL && w->known != WIRE_K_PENDING && !w->fetching)
		keep(k, WORDS, frame, nodes_words_copy(w));
	return w;
}

static const char *
kept_thread(void *arg, uint16_t thread)
{
	struct page_kept *k = arg;
	const char *name = find(k, THREAD, thread);

	if (name != NULL)
		return name;
	name = k->same ? k->live_thread(k->live_arg, thread) : "";
	if (name[0] != '\0')
		keep(k, THREAD, thread, strdup(name));
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
