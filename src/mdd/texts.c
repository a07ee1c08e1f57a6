/*
 * Texts kept once: two are equal when their pointers are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

#define FIRST_SLOTS 1024
#define CHUNK 65536

struct text_chunk {
	struct text_chunk *next;
	size_t cap, used;
	char bytes[];
};

/* FNV-1a, 64 bits wide. */
static uint64_t
hash_bytes(uint64_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t
text_hash(uint64_t seed, const char *s)
{
	return hash_bytes(UINT64_C(0xcbf29ce484222325) ^ seed, s, strlen(s));
}

const char *
text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Its slot, or the free one where it would go. */
static size_t
slot_of(const struct texts *t, const char *s, size_t len)
{
	uint64_t h = hash_bytes(UINT64_C(0xcbf29ce484222325), s, len);
	size_t i = (size_t)(h ^ h >> 32) & (t->nslot - 1);

	while (t->slot[i] != NULL && (strncmp(t->slot[i], s, len) != 0 ||
	    t->slot[i][len] != '\0'))
		i = (i + 1) & (t->nslot - 1);
	return i;
}

static int
grow(struct texts *t)
{
	size_t nold = t->nslot, i;
	const char **old = t->slot;

	if (t->n * 2 < nold)
		return 0;
	t->nslot = nold == 0 ? FIRST_SLOTS : nold * 2;
	t->slot = calloc(t->nslot, sizeof *t->slot);
	if (t->slot == NULL) {
		t->slot = old;
		t->nslot = nold;
		return -ENOMEM;
	}
	for (i = 0; i < nold; i++)
		if (old[i] != NULL)
			t->slot[slot_of(t, old[i], strlen(old[i]))] = old[i];
	free(old);
	return 0;
}

static char *
room(struct texts *t, size_t bytes)
{
	struct text_chunk *c = t->chunk;
	size_t cap = bytes > CHUNK ? bytes : CHUNK;

	if (c == NULL || c->cap - c->used < bytes) {
		c = malloc(sizeof *c + cap);
		if (c == NULL)
			return NULL;
		c->next = t->chunk;
		c->cap = cap;
		c->used = 0;
		t->chunk = c;
	}
	c->used += bytes;
	return c->bytes + c->used - bytes;
}

int
texts_keep(struct texts *t, const char *s, size_t len, const char **out)
{
	char *copy;
	size_t i;

	if (len == 0 || s[0] == '\0') {
		*out = "";
		return 0;
	}
	len = strnlen(s, len);
	if (grow(t) < 0)
		return -ENOMEM;
	i = slot_of(t, s, len);
	if (t->slot[i] == NULL) {
		copy = room(t, len + 1);
		if (copy == NULL)
			return -ENOMEM;
		memcpy(copy, s, len);
		copy[len] = '\0';
		t->slot[i] = copy;
		t->n++;
	}
	*out = t->slot[i];
	return 0;
}

void
texts_fini(struct texts *t)
{
	struct text_chunk *c, *next;

	for (c = t->chunk; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	free(t->slot);
	*t = (struct texts){ 0 };
}
