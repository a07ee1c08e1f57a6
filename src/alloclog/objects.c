/*
 * A search is made inside one call of dl_iterate_phdr(3): while that holds its
 * lock no object comes or goes, so that all their tables may be read.
 *
 * An object's names are looked for by the loader in what was there at the start
 * and then in the object that dlopen(3) was asked for, when it came to be
 * loaded, and all that this one needs; then in the same of any later one that
 * needs it, too.  So a library's own calls may lead to the plugin that brought
 * it.  Objects are in the list in the order in which they were loaded: who
 * brought a library stands before it.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "calls.h"
#include "objects.h"

struct object {
	struct range mapped;
	uintptr_t base;			/* what its tables count from */
	const char *path;
	const char *soname;		/* "": none */
	const ElfW(Dyn) *dynamic;	/* NULL: none, and none of these: */
	const char *strings;
	const ElfW(Sym) *symbols;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	unsigned hashes[2];		/* of soname and of the path's last part */
	unsigned needs, needs_n;	/* where these begin in the search's, and how many */
	bool leads;			/* needs the one that asks, or is it */
	bool queued;
};

/* Room for what objects need, per object: they need six on average. */
#define NEEDS_EACH 32

struct search {
	uintptr_t at;
	uintptr_t but;
	const char *const *names;
	unsigned count;
	void **fns;
	struct range *whose;
	int error;
	struct object *objects;		/* in the order in which they were loaded */
	unsigned *queue;		/* in the order in which they are asked */
	unsigned *needs;		/* all that is needed, object by object */
	unsigned n, max, queued, needs_n;
};

/* --- tables ------------------------------------------------------------- */

/* The loader has turned most of these addresses from offsets into pointers. */
static const void *
table_at(const struct object *o, uintptr_t addr)
{
	return (const void *)(addr < o->base ? o->base + addr : addr);
}

static void
read_dynamic(struct object *o)
{
	uintptr_t soname = 0;
	bool named = false;

	for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_STRTAB:
			o->strings = table_at(o, d->d_un.d_ptr);
			break;
		case DT_SYMTAB:
			o->symbols = table_at(o, d->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			o->gnu_hash = table_at(o, d->d_un.d_ptr);
			break;
		case DT_HASH:
			o->hash = table_at(o, d->d_un.d_ptr);
			break;
		case DT_SONAME:
			soname = d->d_un.d_val;
			named = true;
			break;
		default:
			break;
		}
	if (o->strings == NULL || o->symbols == NULL)
		o->dynamic = NULL;
	else if (named)
		o->soname = o->strings + soname;
}

/* The function that symbol i is, if that is its name. */
static void *
function_at(const struct object *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];
	unsigned type = ELF64_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || s->st_value == 0 ||
	    (type != STT_FUNC && type != STT_NOTYPE) ||
	    ELF64_ST_BIND(s->st_info) == STB_LOCAL ||
	    strcmp(o->strings + s->st_name, name) != 0)
		return NULL;
	return (void *)(o->base + s->st_value);
}

static uint32_t
gnu_hash_of(const char *name)
{
	uint32_t h = 5381;

	for (const unsigned char *c = (const void *)name; *c != '\0'; c++)
		h = h * 33 + *c;
	return h;
}

/*
 * Words of the table: how many buckets, which symbol is the first in them, how
 * many words of the filter, its shift; then filter, buckets, and a hash for each
 * symbol, whose lowest bit ends a bucket.
 */
static void *
find_by_gnu_hash(const struct object *o, const char *name)
{
	const uint32_t *t = o->gnu_hash, *buckets, *hashes;
	const ElfW(Addr) *filter = (const void *)(t + 4);
	const unsigned bits = 8 * sizeof(*filter);
	uint32_t h = gnu_hash_of(name), i;
	ElfW(Addr) both;
	void *fn;

	if (t[0] == 0 || t[2] == 0)
		return NULL;
	both = (ElfW(Addr))1 << h % bits | (ElfW(Addr))1 << (h >> t[3]) % bits;
	if ((filter[h / bits % t[2]] & both) != both)
		return NULL;
	buckets = (const void *)(filter + t[2]);
	hashes = buckets + t[0];
	i = buckets[h % t[0]];
	if (i < t[1])
		return NULL;
	for (;; i++) {
		if ((hashes[i - t[1]] | 1) == (h | 1) &&
		    (fn = function_at(o, i, name)) != NULL)
			return fn;
		if (hashes[i - t[1]] & 1)
			return NULL;
	}
}

static uint32_t
hash_of(const char *name)
{
	uint32_t h = 0;

	for (const unsigned char *c = (const void *)name; *c != '\0'; c++) {
		h = (h << 4) + *c;
		h = (h ^ ((h >> 28) << 4)) & 0x0fffffff;
	}
	return h;
}

/* Words: how many buckets, how many symbols; then buckets and chains. */
static void *
find_by_hash(const struct object *o, const char *name)
{
	const uint32_t *t = o->hash, *buckets = t + 2, *chains = buckets + t[0];
	void *fn;

	if (t[0] == 0)
		return NULL;
	for (uint32_t i = buckets[hash_of(name) % t[0]]; i != 0; i = chains[i])
		if ((fn = function_at(o, i, name)) != NULL)
			return fn;
	return NULL;
}

static void *
find_in(const struct object *o, const char *name)
{
	if (o->dynamic == NULL)
		return NULL;
	if (o->gnu_hash != NULL)
		return find_by_gnu_hash(o, name);
	return o->hash != NULL ? find_by_hash(o, name) : NULL;
}

/* --- the search --------------------------------------------------------- */

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static int
collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	uintptr_t lo = UINTPTR_MAX, hi = 0, from, to;
	struct object *o = &s->objects[s->n];

	(void)size;
	if (s->n == s->max)
		return 1;
	s->n++;
	o->base = info->dlpi_addr;
	o->path = info->dlpi_name != NULL ? info->dlpi_name : "";
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		to = from + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			o->dynamic = (const void *)from;
		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		lo = from < lo ? from : lo;
		hi = to > hi ? to : hi;
	}
	if (lo < hi)
		o->mapped = (struct range) { lo, hi - lo };
	if (o->dynamic != NULL)
		read_dynamic(o);
	if (o->soname == NULL)
		o->soname = "";
	o->hashes[0] = gnu_hash_of(o->soname);
	o->hashes[1] = gnu_hash_of(last_part(o->path));
	return 0;
}

static bool
is_called(const struct object *o, const char *name, unsigned hash)
{
	return (o->hashes[0] == hash && strcmp(o->soname, name) == 0) ||
	    (o->hashes[1] == hash && strcmp(last_part(o->path), name) == 0) ||
	    strcmp(o->path, name) == 0;
}

static void
list_needed(struct search *s, struct object *o)
{
	const char *name;
	unsigned hash, i;

	o->needs = s->needs_n;
	for (const ElfW(Dyn) *d = o->dynamic; d != NULL && d->d_tag != DT_NULL;
	    d++) {
		if (d->d_tag != DT_NEEDED || s->needs_n == s->max * NEEDS_EACH)
			continue;
		name = o->strings + d->d_un.d_val;
		hash = gnu_hash_of(name);
		for (i = 0; i < s->n; i++)
			if (is_called(&s->objects[i], name, hash)) {
				s->needs[s->needs_n++] = i;
				break;
			}
	}
	o->needs_n = s->needs_n - o->needs;
}

/* Marks all that need the object which asks, at whatever remove. */
static void
mark_leads(struct search *s)
{
	struct object *o;
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < s->n; i++) {
			o = &s->objects[i];
			for (unsigned k = 0; k < o->needs_n && !o->leads; k++)
				if (s->objects[s->needs[o->needs + k]].leads)
					more = o->leads = true;
		}
	}
}

static void
enqueue(struct search *s, unsigned i)
{
	if (s->objects[i].queued)
		return;
	s->objects[i].queued = true;
	s->queue[s->queued++] = i;
}

/* An object and what it needs, nearest first. */
static void
enqueue_all(struct search *s, unsigned i)
{
	unsigned from = s->queued;
	const struct object *o;

	for (enqueue(s, i); from < s->queued; from++) {
		o = &s->objects[s->queue[from]];
		for (unsigned k = 0; k < o->needs_n; k++)
			enqueue(s, s->needs[o->needs + k]);
	}
}

static void
search_all(struct search *s)
{
	const struct object *o;
	unsigned i;

	for (i = 0; i < s->n; i++) {
		list_needed(s, &s->objects[i]);
		if (range_has(&s->objects[i].mapped, s->at)) {
			*s->whose = s->objects[i].mapped;
			s->objects[i].leads = true;
		}
	}
	mark_leads(s);
	for (i = 0; i < s->n; i++)
		if (s->objects[i].leads)
			enqueue_all(s, i);
	for (i = 0; i < s->n; i++)
		enqueue(s, i);
	for (i = 0; i < s->queued; i++) {
		o = &s->objects[s->queue[i]];
		if (range_has(&o->mapped, s->but))
			continue;
		for (unsigned k = 0; k < s->count; k++)
			if (s->fns[k] == NULL)
				s->fns[k] = find_in(o, s->names[k]);
	}
}

/* With the lock held: how many there are is told with each of them. */
static int
begin(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	size_t bytes;

	if (size < offsetof(struct dl_phdr_info, dlpi_subs) +
	    sizeof(info->dlpi_subs))
		return 1;
	s->max = (unsigned)(info->dlpi_adds - info->dlpi_subs);
	bytes = s->max * (sizeof(*s->objects) + sizeof(*s->queue) +
	    NEEDS_EACH * sizeof(*s->needs));
	s->objects = call_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->objects == MAP_FAILED)
		return 1;
	s->queue = (unsigned *)(void *)(s->objects + s->max);
	s->needs = s->queue + s->max;
	(void)dl_iterate_phdr(collect, s);
	search_all(s);
	(void)call_munmap(s->objects, bytes);
	s->error = 0;
	return 1;
}

int
objects_find(uintptr_t at, uintptr_t but, const char *const *names,
    unsigned count, void **fns, struct range *whose)
{
	struct range none = { 0, 0 };
	struct search s = { .at = at, .but = but, .names = names,
		.count = count, .fns = fns, .whose = &none, .error = -ENOMEM };
	int error = errno;

	for (unsigned i = 0; i < count; i++)
		fns[i] = NULL;
	(void)dl_iterate_phdr(begin, &s);
	if (s.error == 0)
		*whose = none;
	errno = error;
	return s.error;
}
