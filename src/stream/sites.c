/*
 * At most 64 MiB of frames, 4 MiB of sites, 8 MiB of index and 19 MiB of
 * modules, half more while arrays grow.  One target brings 16 MiB of frames at
 * most.
 *
 * It takes at most 64 MiB of frames, 4 MiB of sites, 8 MiB of index and 19 MiB
 * of modules, and half of that again where arrays have just grown.  One target
 * brings 16 MiB of frames at most.
 *
 * In persistent memory the arrays have their full size from the beginning, and
 * paths are offsets into one text.  Everything is appended, and counted last: a
 * successor finds the rest from the counts.
 */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../base/base.h"
#include "../base/hashmap.h"
#include "../base/pmem.h"
#include "stream.h"

struct stored_site {
	uint32_t at;			/* of its first frame */
	uint8_t depth, end;
};

struct stored_module {
	struct stream_module m;		/* but for its path */
	char *told;			/* the path that the target told, part of its identity */
	char *path;			/* set later; NULL: told */
};

/* In persistent memory.  An entry is counted when it is complete. */
struct sites_log {
	uint32_t magic;
	uint32_t nsite, nmodule;
	uint32_t zero;
	struct logged_module {
		uint64_t start, end, bias;
		int64_t seen_ns;
		uint32_t build_id_len, cut;
		uint8_t build_id[32];
		uint32_t told;		/* offset in the text */
		_Atomic uint32_t path;	/* likewise; 0: told */
	} module[STREAM_MODULES_MAX];
};

#define LOG_MAGIC UINT32_C(0x506b5331) /* "PkS1" */
#define LOG_TEXT ((size_t)32 << 20)

struct stream_sites {
	atomic_uint refs;	/* a feed may be freed by the thread that slept in it */
	uint64_t seed;			/* targets choose what is hashed */
	uint64_t *frame;
	size_t nframe, frame_cap;
	struct stored_site *site;		/* that of number n at n - 1 */
	size_t nsite, site_cap;
	struct hashindex index;		/* of the sites, by their frames */
	struct stored_module *module;	/* as site */
	size_t nmodule, module_cap;
	/* In persistent memory, as are frame and site; NULL: not persistent. */
	struct sites_log *log;
	char *text;
	size_t ntext;			/* byte 0 is not used */
};

static struct stream_sites *
sites_alloc(void)
{
	struct stream_sites *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	atomic_init(&s->refs, 1);
	if (getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) !=
	    sizeof(s->seed))
		s->seed = (uint64_t)mono_now().ns;
	return s;
}

int
stream_sites_new(struct stream_sites **sitesp)
{
	struct stream_sites *s = sites_alloc();

	if (s == NULL)
		return -ENOMEM;
	*sitesp = s;
	return 0;
}

void
stream_sites_ref(struct stream_sites *s)
{
	atomic_fetch_add(&s->refs, 1);
}

void
stream_sites_unref(struct stream_sites *s)
{
	if (atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	if (s->log == NULL) {
		for (size_t i = 0; i < s->nmodule; i++) {
			free(s->module[i].told);
			free(s->module[i].path);
		}
		free(s->site);
		free(s->frame);
	}
	free(s->module);
	hashindex_fini(&s->index);
	free(s);
}

size_t
stream_sites_memory(const struct stream_sites *s)
{
	size_t nframe = s->log == NULL ? s->frame_cap : s->nframe;
	size_t nsite = s->log == NULL ? s->site_cap : s->nsite;

	return (nframe * sizeof(*s->frame) + nsite * sizeof(*s->site) +
	    s->ntext + hashindex_memory(&s->index) +
	    s->module_cap * sizeof(*s->module)) / atomic_load(&s->refs);
}

/* Both halves of the product; not every machine has 128 bits. */
static uint64_t
mix(uint64_t a, uint64_t b)
{
	uint64_t low = (uint64_t)(uint32_t)a * (uint32_t)b;
	uint64_t one = (a >> 32) * (uint32_t)b + (low >> 32);
	uint64_t other = (a & UINT32_MAX) * (b >> 32) + (uint32_t)one;
	uint64_t high = (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32);

	return (a * b) ^ high;
}

struct stack_key {
	const uint64_t *frame;
	unsigned depth, end;
};

static uint32_t
hash_of(const struct stream_sites *s, const struct stack_key *key)
{
	uint64_t h = mix(s->seed ^ (key->depth | key->end << 8),
	    UINT64_C(0xa0761d6478bd642f));

	for (unsigned i = 0; i < key->depth; i++)
		h = mix(h ^ key->frame[i], s->seed | 1);
	return (uint32_t)mix(h, UINT64_C(0xe7037ed1a0b428db));
}

static bool
is_same(const void *of, uint32_t at, const void *sought)
{
	const struct stream_sites *s = of;
	const struct stored_site *site = &s->site[at];
	const struct stack_key *key = sought;

	return site->depth == key->depth && site->end == key->end &&
	    memcmp(s->frame + site->at, key->frame,
	    key->depth * sizeof(*key->frame)) == 0;
}

static int
make_room(struct stream_sites *s, unsigned depth)
{
	void *frame = s->frame, *site = s->site;
	int err;

	if (s->log != NULL)
		return 0;
	err = base_grow(&frame, &s->frame_cap, s->nframe + depth,
	    sizeof(*s->frame));
	s->frame = frame;
	if (err != 0)
		return err;
	err = base_grow(&site, &s->site_cap, s->nsite + 1, sizeof(*s->site));
	s->site = site;
	return err;
}

int
stream_sites_put(struct stream_sites *s, const uint64_t *frame,
    unsigned depth, enum ring_end end, uint32_t *no)
{
	struct stack_key key = { frame, depth, end };
	uint32_t hash;
	int64_t at;
	int err;

	assert(depth >= 1 && depth <= RING_STACK_MAX);
	hash = hash_of(s, &key);
	at = hashindex_find(&s->index, hash, is_same, s, &key);
	if (at >= 0) {
		*no = (uint32_t)at + 1;
		return 0;
	}
	if (s->nsite >= STREAM_SITES_MAX ||
	    s->nframe + depth > STREAM_SITES_FRAMES)
		return -ENOSPC;
	if ((err = make_room(s, depth)) != 0 ||
	    (err = hashindex_put(&s->index, hash, (uint32_t)s->nsite)) != 0)
		return err;
	memcpy(s->frame + s->nframe, frame, depth * sizeof(*frame));
	s->site[s->nsite++] = (struct stored_site){
		.at = (uint32_t)s->nframe,
		.depth = (uint8_t)depth,
		.end = (uint8_t)end,
	};
	s->nframe += depth;
	if (s->log != NULL) {
		atomic_signal_fence(memory_order_seq_cst);
		s->log->nsite = (uint32_t)s->nsite;
	}
	*no = (uint32_t)s->nsite;
	return 0;
}

bool
stream_sites_get(const struct stream_sites *s, uint32_t no,
    struct stream_site *out)
{
	const struct stored_site *stored;

	if (no == 0 || no > s->nsite)
		return false;
	stored = &s->site[no - 1];
	out->frame = s->frame + stored->at;
	out->depth = stored->depth;
	out->end = stored->end;
	return true;
}

uint32_t
stream_sites_count(const struct stream_sites *s)
{
	return (uint32_t)s->nsite;
}

static bool
same_module(const struct stored_module *stored, const struct stream_module *m)
{
	return stored->m.start == m->start && stored->m.end == m->end &&
	    stored->m.bias == m->bias &&
	    stored->m.build_id_len == m->build_id_len &&
	    memcmp(stored->m.build_id, m->build_id, m->build_id_len) == 0 &&
	    strcmp(stored->told, m->path) == 0;
}

/* A copy of a path, in the text if that is persistent, or NULL. */
static char *
copy_path(struct stream_sites *s, const char *path)
{
	size_t bytes = strlen(path) + 1;
	char *copy;

	if (s->log == NULL)
		return strdup(path);
	if (bytes > LOG_TEXT - s->ntext)
		return NULL;
	copy = memcpy(s->text + s->ntext, path, bytes);
	s->ntext += bytes;
	return copy;
}

static int
no_path(const struct stream_sites *s)
{
	return s->log == NULL ? -ENOMEM : -ENOSPC;
}

static void
log_module(struct stream_sites *s, const struct stored_module *stored)
{
	struct logged_module *logged;

	if (s->log == NULL)
		return;
	logged = &s->log->module[s->log->nmodule];
	logged->start = stored->m.start;
	logged->end = stored->m.end;
	logged->bias = stored->m.bias;
	logged->seen_ns = stored->m.seen_ns;
	logged->build_id_len = stored->m.build_id_len;
	logged->cut = stored->m.cut;
	memcpy(logged->build_id, stored->m.build_id, sizeof(logged->build_id));
	logged->told = (uint32_t)(stored->told - s->text);
	atomic_store_explicit(&logged->path, 0, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	s->log->nmodule++;
}

int
stream_sites_put_module(struct stream_sites *s, const struct stream_module *m,
    unsigned *no)
{
	struct stored_module *stored;
	char *told;
	void *array;
	int err;

	assert(m->build_id_len <= sizeof(m->build_id));
	for (size_t i = 0; i < s->nmodule; i++) {
		if (same_module(&s->module[i], m)) {
			*no = (unsigned)i + 1;
			return 0;
		}
	}
	if (s->nmodule >= STREAM_MODULES_MAX)
		return -ENOSPC;
	array = s->module;
	err = base_grow(&array, &s->module_cap, s->nmodule + 1,
	    sizeof(*s->module));
	s->module = array;
	if (err != 0)
		return err;
	told = copy_path(s, m->path);
	if (told == NULL)
		return no_path(s);
	stored = &s->module[s->nmodule++];
	*stored = (struct stored_module){ .m = *m, .told = told };
	stored->m.path = NULL;		/* told, or path */
	log_module(s, stored);
	*no = (unsigned)s->nmodule;
	return 0;
}

int
stream_sites_set_path(struct stream_sites *s, unsigned no, const char *path)
{
	struct stored_module *stored;
	char *copy;

	if (no == 0 || no > s->nmodule)
		return -EINVAL;
	stored = &s->module[no - 1];
	/* The same path again must not fill the text. */
	if (stored->path != NULL && strcmp(stored->path, path) == 0)
		return 0;
	copy = copy_path(s, path);
	if (copy == NULL)
		return no_path(s);
	if (s->log == NULL) {
		free(stored->path);
	} else {
		atomic_signal_fence(memory_order_seq_cst);
		atomic_store_explicit(&s->log->module[no - 1].path,
		    (uint32_t)(copy - s->text), memory_order_relaxed);
	}
	stored->path = copy;
	stored->m.cut = false;
	return 0;
}

bool
stream_sites_get_module(const struct stream_sites *s, unsigned no,
    struct stream_module *out)
{
	const struct stored_module *stored;

	if (no == 0 || no > s->nmodule)
		return false;
	stored = &s->module[no - 1];
	*out = stored->m;
	out->path = stored->path != NULL ? stored->path : stored->told;
	return true;
}

unsigned
stream_sites_modules(const struct stream_sites *s)
{
	return (unsigned)s->nmodule;
}

/* Takes the pieces; their order is part of the format. */
static int
sites_map(struct stream_sites **sitesp, struct pmem *memory)
{
	struct stream_sites *s = sites_alloc();

	if (s == NULL)
		return -ENOMEM;
	s->log = pmem_take(memory, sizeof(*s->log));
	s->site = pmem_take(memory, STREAM_SITES_MAX * sizeof(*s->site));
	s->frame = pmem_take(memory, STREAM_SITES_FRAMES * sizeof(*s->frame));
	s->text = pmem_take(memory, LOG_TEXT);
	if (s->log == NULL || s->site == NULL || s->frame == NULL ||
	    s->text == NULL) {
		free(s);
		return -ENOMEM;
	}
	s->ntext = 1;
	*sitesp = s;
	return 0;
}

int
stream_sites_new_persistent(struct stream_sites **sitesp, struct pmem *memory)
{
	int err = sites_map(sitesp, memory);

	if (err == 0)
		(*sitesp)->log->magic = LOG_MAGIC;
	return err;
}

/* Frames of sites lie in a row without gaps. */
static int
resume_sites(struct stream_sites *s)
{
	uint32_t n = s->log->nsite;
	struct stack_key key;
	int err;

	if (n > STREAM_SITES_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		const struct stored_site *site = &s->site[i];

		if (site->at != s->nframe || site->depth == 0 ||
		    site->depth > RING_STACK_MAX || site->end == 0 ||
		    site->end >= RING_ENDS ||
		    s->nframe + site->depth > STREAM_SITES_FRAMES)
			return -EINVAL;
		key = (struct stack_key){ s->frame + site->at, site->depth,
			site->end };
		err = hashindex_put(&s->index, hash_of(s, &key), i);
		if (err != 0)
			return err;
		s->nframe += site->depth;
		s->nsite++;
	}
	return 0;
}

static char *
text_at(struct stream_sites *s, uint32_t at)
{
	size_t end;

	if (at == 0 || at >= LOG_TEXT ||
	    memchr(s->text + at, '\0', LOG_TEXT - at) == NULL)
		return NULL;
	end = at + strlen(s->text + at) + 1;
	if (end > s->ntext)
		s->ntext = end;
	return s->text + at;
}

static int
resume_modules(struct stream_sites *s)
{
	uint32_t n = s->log->nmodule;

	if (n > STREAM_MODULES_MAX)
		return -EINVAL;
	s->module = calloc(n + 1, sizeof(*s->module));
	if (s->module == NULL)
		return -ENOMEM;
	s->module_cap = n + 1;
	for (uint32_t i = 0; i < n; i++) {
		const struct logged_module *logged = &s->log->module[i];
		uint32_t path = atomic_load_explicit(&logged->path,
		    memory_order_relaxed);
		struct stored_module *stored = &s->module[i];

		*stored = (struct stored_module){
			.m.start = logged->start,
			.m.end = logged->end,
			.m.bias = logged->bias,
			.m.seen_ns = logged->seen_ns,
			.m.build_id_len = logged->build_id_len,
			.m.cut = logged->cut != 0 && path == 0,
			.told = text_at(s, logged->told),
			.path = path != 0 ? text_at(s, path) : NULL,
		};
		memcpy(stored->m.build_id, logged->build_id,
		    sizeof(stored->m.build_id));
		if (stored->told == NULL || (path != 0 && stored->path == NULL) ||
		    logged->build_id_len > sizeof(stored->m.build_id))
			return -EINVAL;
		s->nmodule++;
	}
	return 0;
}

int
stream_sites_resume(struct stream_sites **sitesp, struct pmem *memory)
{
	struct stream_sites *s;
	int err;

	if ((err = sites_map(&s, memory)) != 0)
		return err;
	if (s->log->magic != LOG_MAGIC)
		err = -EINVAL;
	if (err != 0 || (err = resume_sites(s)) != 0 ||
	    (err = resume_modules(s)) != 0) {
		stream_sites_unref(s);
		return err;
	}
	*sitesp = s;
	return 0;
}

const char *
stream_end_text(unsigned end)
{
	static const char *const text[RING_ENDS] = {
		[RING_END_OUTERMOST] = "the stack is whole",
		[RING_END_DEPTH] = "no more frames were requested",
		[RING_END_NO_TABLE] = "code without an unwind table",
		[RING_END_RULE] = "an unwind table that is not followed",
		[RING_END_MEMORY] = "the stack goes on in unmapped memory",
		[RING_END_STUCK] = "a damaged stack",
		[RING_END_ALONE] = "the caller alone is known",
	};

	return end < RING_ENDS && text[end] != NULL ? text[end] : "?";
}
