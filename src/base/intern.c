/* See intern.h. */
#include "intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

#define CHUNK 65536

struct intern_chunk {
	struct intern_chunk *next;
	size_t cap, used;
	char bytes[];
};

static bool
is_same(const void *of, uint32_t number, const void *key)
{
	const struct intern_text *a = (const struct intern_text *)of + number;
	const struct intern_text *b = key;

	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* A copy with a NUL behind it; NULL: no memory. */
static char *
copy_bytes(struct intern *t, const void *bytes, size_t len)
{
	struct intern_chunk *c = t->chunk;
	size_t cap = len >= CHUNK ? len + 1 : CHUNK;
	char *copy;

	if (c == NULL || c->cap - c->used <= len) {
		c = malloc(sizeof *c + cap);
		if (c == NULL)
			return NULL;
		*c = (struct intern_chunk){ .next = t->chunk, .cap = cap };
		t->chunk = c;
	}
	copy = c->bytes + c->used;
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	c->used += len + 1;
	return copy;
}

static int64_t
add_text(struct intern *t, uint32_t hash, const void *bytes, size_t len)
{
	void *text = t->text;
	char *copy;

	if (t->n >= HASHMAP_MAX ||
	    base_grow(&text, &t->cap, t->n + 1, sizeof *t->text) < 0)
		return -ENOMEM;
	t->text = text;
	if (hashindex_reserve(&t->index, t->n + 1) < 0 ||
	    (copy = copy_bytes(t, bytes, len)) == NULL)
		return -ENOMEM;
	t->text[t->n] = (struct intern_text){ copy, len };
	(void)hashindex_put(&t->index, hash, (uint32_t)t->n);
	return (int64_t)t->n++;
}

static int64_t
find_text(const struct intern *t, uint32_t hash, const void *bytes, size_t len)
{
	return hashindex_find(&t->index, hash, is_same, t->text,
	    &(struct intern_text){ (char *)(uintptr_t)bytes, len });
}

int64_t
intern_find(const struct intern *t, const void *bytes, size_t len)
{
	return find_text(t, hash_of_key(hash_of_bytes(0, bytes, len)), bytes,
	    len);
}

int64_t
intern_put(struct intern *t, const void *bytes, size_t len)
{
	uint32_t hash = hash_of_key(hash_of_bytes(0, bytes, len));
	int64_t found = find_text(t, hash, bytes, len);

	return found >= 0 ? found : add_text(t, hash, bytes, len);
}

void
intern_fini(struct intern *t)
{
	struct intern_chunk *c, *next;

	for (c = t->chunk; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	free(t->text);
	hashindex_fini(&t->index);
	*t = (struct intern){ 0 };
}
