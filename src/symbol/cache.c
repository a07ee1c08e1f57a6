/*
 * Words by module and address: first in, first out, limited by number and by
 * bytes, for hostile names can be long.  With too many modules all is
 * forgotten.
 */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 4096
#define WORDS_MAX (1u << 16)
#define WORDS_BYTES_MAX ((size_t)48 << 20)

struct entry {
	uint32_t module, generation;
	uint64_t address;
	bool by_offset;
	enum symbol_known known;
	uint64_t found;		/* the words' address */
	unsigned n;
	struct symbol_line *line;	/* n of them: most have one or two */
	char *type;
	enum symbol_type_from type_from;
	size_t bytes;
};

struct symcache {
	struct intern keys;	/* of modules, in the order of `module` */
	struct module_known *module;
	size_t nmodule, cap;

	struct entry *entry;	/* WORDS_MAX, used round and round */
	uint32_t put, oldest;	/* counts, not indexes */
	size_t bytes;
	struct hashindex index;	/* of the entries */
};

static void
free_texts(struct symbol_line *line, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free(line[i].function);
		free(line[i].file);
	}
}

static void
free_entry(struct entry *e)
{
	free_texts(e->line, e->n);
	free(e->line);
	free(e->type);
}

static void
forget_words(struct symcache *c)
{
	for (; c->oldest != c->put; c->oldest++)
		free_entry(&c->entry[c->oldest % WORDS_MAX]);
	hashindex_clear(&c->index);
	c->bytes = 0;
}

static void
forget_modules(struct symcache *c)
{
	for (size_t i = 0; i < c->nmodule; i++)
		free(c->module[i].fetched);
	intern_fini(&c->keys);
	c->nmodule = 0;
}

int
symcache_new(struct symcache **out)
{
	struct symcache *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	if ((c->entry = calloc(WORDS_MAX, sizeof(*c->entry))) == NULL) {
		free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void
symcache_free(struct symcache *c)
{
	if (c == NULL)
		return;
	forget_words(c);
	hashindex_fini(&c->index);
	free(c->entry);
	forget_modules(c);
	free(c->module);
	free(c);
}

/* The path is in the key: another file may claim the same build id. */
static int
make_key(const struct symbol_place *p, char **key, size_t *len)
{
	struct {
		uint64_t inode;
		int64_t mapped_ns;
		int64_t pid;
		uint8_t build_id[SYMBOL_BUILD_ID_MAX];
		uint64_t build_id_len;
	} head = { .build_id_len = p->build_id_len };
	size_t path = strlen(p->path);

	memcpy(head.build_id, p->build_id, p->build_id_len);
	if (p->build_id_len == 0) {
		head.inode = p->inode;
		head.mapped_ns = p->mapped_ns;
		head.pid = p->pid;
	}
	*len = sizeof(head) + path;
	if ((*key = malloc(*len)) == NULL)
		return -ENOMEM;
	memcpy(*key, &head, sizeof(head));
	memcpy(*key + sizeof(head), p->path, path);
	return 0;
}

void
symcache_begin(struct symcache *c, size_t n)
{
	if (c->nmodule + n <= MODULES_MAX)
		return;
	forget_words(c);
	forget_modules(c);
}

int
symcache_module(struct symcache *c, const struct symbol_place *p, uint32_t *no)
{
	void *array = c->module;
	struct module_known *m;
	char *key;
	size_t len;
	int64_t number;
	int error;

	if ((error = make_key(p, &key, &len)) < 0)
		return error;
	/* Room first, so that each key has a module. */
	error = base_grow(&array, &c->cap, c->nmodule + 1, sizeof(*m));
	if (error < 0) {
		free(key);
		return error;
	}
	c->module = array;
	number = intern_put(&c->keys, key, len);
	free(key);
	if (number < 0)
		return (int)number;
	*no = (uint32_t)number;
	if (*no < c->nmodule)
		return 0;
	m = &c->module[c->nmodule++];
	*m = (struct module_known) { .build_id_len = p->build_id_len };
	memcpy(m->build_id, p->build_id, p->build_id_len);
	return 0;
}

struct module_known *
symcache_known(struct symcache *c, uint32_t no)
{
	return &c->module[no];
}

/* NULL of NULL; -ENOMEM. */
static int
copy_type(char **to, const char *from)
{
	char *copy = from == NULL ? NULL : strdup(from);

	if (copy == NULL && from != NULL)
		return -ENOMEM;
	*to = copy;
	return 0;
}

/* `to` has room for n; -ENOMEM with nothing in it. */
static int
copy_lines(struct symbol_line *to, const struct symbol_line *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		to[i] = (struct symbol_line) {
			.function = strdup(from[i].function),
			.file = from[i].file == NULL ? NULL :
			    strdup(from[i].file),
			.line = from[i].line,
		};
		if (to[i].function != NULL &&
		    (to[i].file != NULL || from[i].file == NULL))
			continue;
		free_texts(to, i + 1);
		return -ENOMEM;
	}
	return 0;
}

static uint32_t
hash_of(uint32_t module, uint64_t address)
{
	return hash_of_key(address ^ (uint64_t)module << 48);
}

/* The key is an entry with these members only. */
static bool
is_same_entry(const void *of, uint32_t index, const void *key)
{
	const struct entry *a = (const struct entry *)of + index, *b = key;

	return a->module == b->module && a->generation == b->generation &&
	    a->address == b->address && a->by_offset == b->by_offset;
}

bool
symcache_get(struct symcache *c, uint32_t no, const struct symbol_place *p,
    struct symbol_words *out)
{
	const struct entry key = {
		.module = no,
		.generation = c->module[no].generation,
		.address = p->address,
		.by_offset = p->by_offset,
	}, *e;
	int64_t at = hashindex_find(&c->index, hash_of(no, p->address),
	    is_same_entry, c->entry, &key);

	if (at < 0)
		return false;
	e = &c->entry[at];
	if (copy_lines(out->line, e->line, e->n) < 0)
		return false;
	if (copy_type(&out->type, e->type) < 0) {
		free_texts(out->line, e->n);
		return false;
	}
	out->type_from = e->type_from;
	out->known = e->known;
	out->address = e->found;
	out->n = e->n;
	return true;
}

static void
drop_oldest(struct symcache *c)
{
	uint32_t index = c->oldest++ % WORDS_MAX;
	struct entry *e = &c->entry[index];

	hashindex_remove(&c->index, hash_of(e->module, e->address), index);
	c->bytes -= e->bytes;
	free_entry(e);
}

static size_t
bytes_of(const struct symbol_words *w)
{
	size_t bytes = w->type != NULL ? strlen(w->type) + 32 : 0;

	for (unsigned i = 0; i < w->n; i++) {
		bytes += sizeof(w->line[i]) + strlen(w->line[i].function) + 32;
		if (w->line[i].file != NULL)
			bytes += strlen(w->line[i].file) + 32;
	}
	return bytes;
}

void
symcache_put(struct symcache *c, uint32_t no, const struct symbol_place *p,
    const struct symbol_words *words)
{
	struct symbol_line *line;
	char *type = NULL;
	uint32_t index;
	struct entry *e;

	if ((line = calloc(words->n + 1, sizeof(*line))) == NULL)
		return;
	if (hashindex_reserve(&c->index, (size_t)c->index.n + 1) < 0 ||
	    copy_type(&type, words->type) < 0 ||
	    copy_lines(line, words->line, words->n) < 0) {
		free(type);
		free(line);
		return;
	}
	while (c->put - c->oldest == WORDS_MAX ||
	    (c->put != c->oldest && c->bytes > WORDS_BYTES_MAX))
		drop_oldest(c);
	index = c->put++ % WORDS_MAX;
	(void)hashindex_put(&c->index, hash_of(no, p->address), index);
	e = &c->entry[index];
	*e = (struct entry) {
		.module = no,
		.generation = c->module[no].generation,
		.address = p->address,
		.by_offset = p->by_offset,
		.known = words->known,
		.found = words->address,
		.n = words->n,
		.line = line,
		.type = type,
		.type_from = words->type_from,
		.bytes = bytes_of(words),
	};
	c->bytes += e->bytes;
}
