/*
 * Stacks and modules, each stored once in the ring area.
 *
 * Two indexes of one-word slots, a tag and a number, hashed and probed in a
 * row; on pages that a fork wipes, for a child has another area.  A tag that
 * agrees is a hint: the ring area's content is compared in full, so a slot that
 * a fork, a handler or another area has made meaningless is skipped.  Two
 * threads that store one stack at once may both write it; one number is then
 * never used.
 *
 * The program may damage the area like any of its memory: nothing that is read
 * there leads outside it.
 *
 * Known limit
 *	A handler that forks where an event has its number but no place in a
 *	ring: in the child that event names a stack of the parent's area.
 */
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "libc.h"
#include "syscalls.h"
#include "rules.h"
#include "unwind.h"

/*
 * An index has up to three parts.  A stack that finds no slot among the probes of one
 * part goes into the next, so the stacks of a small program lie on few pages.  The last
 * part has twice as many slots as there are numbers, so half of them stay free.
 */
#define SITE_FIRST 440
#define SITE_SECOND 8192
#define SITE_SLOTS (2 * RING_SITES)
#define MODULE_FIRST 64
#define MODULE_SLOTS (2 * RING_MODULES)
#define FEW_PROBES 16		/* in each part before the last */
#define PROBES 128

#define BUILD_ID_MAX sizeof(((struct ring_module *)0)->build_id)

struct index {
	_Atomic(struct ring_area *) area;	/* NULL: no sites */
	_Atomic uint32_t used;			/* may hold an area's numbers */
	_Atomic uint64_t module_first[MODULE_FIRST];
	_Atomic uint64_t site_first[SITE_FIRST];
	_Atomic uint64_t module[MODULE_SLOTS];
	_Atomic uint64_t site_second[SITE_SECOND];
	_Atomic uint64_t site[SITE_SLOTS];
};

#define SITE_PROBES (2 * FEW_PROBES + PROBES)
#define MODULE_PROBES (FEW_PROBES + PROBES)

static _Atomic uint64_t *
site_slot(struct index *index, uint64_t hashed, unsigned probe)
{
	if (probe < FEW_PROBES)
		return &index->site_first[(hashed + probe) % SITE_FIRST];
	hashed += probe;
	return probe < 2 * FEW_PROBES ? &index->site_second[hashed % SITE_SECOND] :
	    &index->site[hashed % SITE_SLOTS];
}

static _Atomic uint64_t *
module_slot(struct index *index, uint64_t hashed, unsigned probe)
{
	hashed += probe;
	return probe < FEW_PROBES ? &index->module_first[hashed % MODULE_FIRST] :
	    &index->module[hashed % MODULE_SLOTS];
}

static _Atomic(struct index *) index_page;

static struct ring_site *
site_table(struct ring_area *area)
{
	return (struct ring_site *)((char *)area + ring_sites_offset());
}

static uint64_t *
frame_table(struct ring_area *area)
{
	return (uint64_t *)((char *)area + ring_frames_offset());
}

static struct ring_module *
module_table(struct ring_area *area)
{
	return (struct ring_module *)((char *)area + ring_modules_offset());
}

static struct ring_area *
area_of(struct index *index)
{
	if (index == NULL)
		return NULL;
	return atomic_load_explicit(&index->area, memory_order_acquire);
}

static void
count_up(_Atomic uint64_t *n)
{
#ifdef __x86_64__
	/* Atomic for signal handlers, and there is nothing else. */
	if (*libc_one_thread) {
		__asm__ volatile("incq %0" : "+m"(*n) : : "cc");
		return;
	}
#endif
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* `n` numbers, or 0.  A full table's counter stays, or it would overflow. */
static uint32_t
take_room(_Atomic uint32_t *next, uint32_t n, uint32_t size)
{
	uint32_t at = atomic_load_explicit(next, memory_order_relaxed);

	if (at >= size || size - at < n)
		return 0;
	at = atomic_fetch_add_explicit(next, n, memory_order_relaxed);
	return at >= size || size - at < n ? 0 : at;
}

static struct index *
index_map(void)
{
	struct index *index = atomic_load_explicit(&index_page,
	    memory_order_acquire);
	void *p;

	if (index != NULL)
		return index;
	p = call_map_wiped(sizeof(*index), sizeof(*index));
	if (p == NULL)
		return NULL;
	if (!atomic_compare_exchange_strong_explicit(&index_page, &index, p,
		memory_order_acq_rel, memory_order_acquire)) {
		call_unmap_private(p, sizeof(*index));
		return index;
	}
	(void)call_madvise(p, sizeof(*index), MADV_DONTDUMP);
	/* A program of few stacks must not pay 2 MiB for the first. */
	(void)call_madvise(p, sizeof(*index), MADV_NOHUGEPAGE);
	return p;
}

/* Number 0 and word 0 mean "none". */
static void
begin_at_one(_Atomic uint32_t *next)
{
	uint32_t none = 0;

	atomic_compare_exchange_strong_explicit(next, &none, 1,
	    memory_order_relaxed, memory_order_relaxed);
}

void
sites_attach(struct ring_area *area)
{
	int saved = errno;
	struct index *index = index_map();

	/* Slots of another area would only be in the way. */
	if (index != NULL && atomic_exchange(&index->used, 1) != 0) {
		(void)call_madvise(index, sizeof(*index), MADV_DONTNEED);
		atomic_store(&index->used, 1);
	}
	errno = saved;
	if (index == NULL)
		return;
	begin_at_one(&area->sites);
	begin_at_one(&area->frames);
	begin_at_one(&area->modules);
	atomic_store_explicit(&index->area, area, memory_order_release);
	/* Rules from before have no numbers of modules. */
	rules_forget();
}

bool
sites_attached(void)
{
	return area_of(atomic_load_explicit(&index_page,
	    memory_order_acquire)) != NULL;
}

/* Ends the table; returns how many numbers it gave. */
static uint32_t
table_close(_Atomic uint32_t *next, uint32_t size)
{
	uint32_t n = atomic_exchange_explicit(next, size,
	    memory_order_acq_rel);

	return n < 1 ? 1 : n > size ? size : n;
}

/* One that is still being written becomes [unknown]. */
static void
module_move(struct ring_module *to, struct ring_module *from)
{
	static const char unknown[] = "[unknown]";

	if (atomic_load_explicit(&from->valid, memory_order_acquire) == 1) {
		memcpy(to, from, sizeof(*to));
	} else {
		to->end = 1;
		memcpy(to->path, unknown, sizeof(unknown));
	}
	atomic_store_explicit(&to->valid, 1, memory_order_release);
}

static void
site_move(struct ring_area *to, struct ring_area *from, uint32_t no,
    uint32_t nothing)
{
	uint64_t word = atomic_load_explicit(&site_table(from)[no].word,
	    memory_order_acquire);
	uint32_t at = ring_site_at(word);
	unsigned depth = ring_site_depth(word);

	if (word == 0 || depth > RING_STACK_MAX || at > RING_FRAMES - depth)
		word = ring_site_word(nothing, 1, RING_END_MEMORY);
	else
		memcpy(frame_table(to) + at, frame_table(from) + at,
		    depth * sizeof(uint64_t));
	atomic_store_explicit(&site_table(to)[no].word, word,
	    memory_order_release);
}

/*
 * A number is taken before its table is closed, and what it rests on earlier:
 * modules, then frames, then the site.  So they are closed in reverse.
 */
void
sites_move(struct ring_area *from, struct ring_area *to)
{
	struct index *index = atomic_load_explicit(&index_page,
	    memory_order_acquire);
	uint32_t sites, frames, modules;

	if (area_of(index) != from) {
		sites_attach(to);
		return;
	}
	sites = table_close(&from->sites, RING_SITES);
	frames = table_close(&from->frames, RING_FRAMES);
	modules = table_close(&from->modules, RING_MODULES);
	for (uint32_t i = 1; i < modules; i++)
		module_move(&module_table(to)[i], &module_table(from)[i]);
	/* A frame at address 0, for numbers without a stack yet. */
	for (uint32_t i = 1; i < sites; i++)
		site_move(to, from, i, frames < RING_FRAMES ? frames : 1);
	atomic_store_explicit(&to->modules, modules, memory_order_relaxed);
	atomic_store_explicit(&to->sites, sites, memory_order_relaxed);
	atomic_store_explicit(&to->frames,
	    frames < RING_FRAMES ? frames + 1 : frames, memory_order_relaxed);
	atomic_store_explicit(&index->area, to, memory_order_release);
}

void
sites_detach(void)
{
	struct index *index = atomic_load_explicit(&index_page,
	    memory_order_acquire);

	if (index != NULL)
		atomic_store_explicit(&index->area, NULL,
		    memory_order_release);
}

void
sites_count_walk(void)
{
	struct ring_area *area = area_of(atomic_load_explicit(&index_page,
	    memory_order_acquire));

	if (area != NULL)
		count_up(&area->walks);
}

void
sites_count_full(void)
{
	struct ring_area *area = area_of(atomic_load_explicit(&index_page,
	    memory_order_acquire));

	if (area != NULL)
		count_up(&area->sites_full);
}

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t
fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	/* The result is compared in full anyway. */
	uint64_t product = (a ^ b >> 32) * ((b ^ a << 32) | 1);

	return product ^ product >> 32;
#endif
}

/* Multiplied in pairs with keys of their place: none waits for another. */
static uint64_t
hash(const uint64_t *word, unsigned n, uint64_t seed)
{
	uint64_t sum = seed * UINT64_C(0xe7037ed1a0b428db), more = 0;
	uint64_t key = UINT64_C(0xa0761d6478bd642f);
	unsigned i;

	for (i = 0; i + 4 <= n; i += 4, key += 4 * GOLDEN) {
		sum += fold(word[i] ^ key, word[i + 1] ^ (key + GOLDEN));
		more += fold(word[i + 2] ^ (key + 2 * GOLDEN),
		    word[i + 3] ^ (key + 3 * GOLDEN));
	}
	for (; i < n; i++, key += 2 * GOLDEN)
		sum += fold(word[i] ^ key, key + GOLDEN);
	return fold(sum ^ GOLDEN, more ^ UINT64_C(0x8ebc6af09c88c6e3));
}

/* Tag: upper half of the hash.  Number: lower half. */
static bool
tag_agrees(uint64_t slot, uint64_t hashed)
{
	return slot >> 32 == hashed >> 32;
}

static uint64_t
slot_make(uint64_t hashed, uint32_t no)
{
	return hashed >> 32 << 32 | no;
}

struct stack {
	const uint64_t *frame;
	unsigned depth;
	enum ring_end end;
};

static bool
stack_is(struct ring_area *area, uint32_t no, const struct stack *st)
{
	const uint64_t *kept;
	uint64_t word, differ = 0;
	uint32_t at;

	if (no >= RING_SITES)
		return false;
	word = atomic_load_explicit(&site_table(area)[no].word,
	    memory_order_acquire);
	at = ring_site_at(word);
	if (word != ring_site_word(at, st->depth, st->end) ||
	    at > RING_FRAMES - st->depth)
		return false;
	kept = frame_table(area) + at;
	for (unsigned i = 0; i < st->depth; i++)
		differ |= kept[i] ^ st->frame[i];
	return differ == 0;
}

static uint32_t
stack_write(struct ring_area *area, const struct stack *st)
{
	uint64_t *kept;
	uint32_t no, at;

	/* Otherwise frames without a number would be lost. */
	if (atomic_load_explicit(&area->sites, memory_order_relaxed) >=
	    RING_SITES)
		return 0;
	at = take_room(&area->frames, st->depth, RING_FRAMES);
	if (at == 0)
		return 0;
	no = take_room(&area->sites, 1, RING_SITES);
	if (no == 0)
		return 0;
	kept = frame_table(area) + at;
	for (unsigned i = 0; i < st->depth; i++)
		kept[i] = st->frame[i];
	atomic_store_explicit(&site_table(area)[no].word,
	    ring_site_word(at, st->depth, st->end), memory_order_release);
	return no;
}

/* `probe` was free, but others may come first: with this stack or another. */
static uint32_t
stack_add(struct index *index, struct ring_area *area, const struct stack *st,
    uint64_t hashed, unsigned probe)
{
	uint32_t no = stack_write(area, st);

	if (no == 0) {
		count_up(&area->sites_full);
		return 0;
	}
	for (; probe < SITE_PROBES; probe++) {
		uint64_t there = 0;

		if (atomic_compare_exchange_strong_explicit(
			site_slot(index, hashed, probe), &there,
			slot_make(hashed, no), memory_order_acq_rel,
			memory_order_acquire))
			break;
		if (tag_agrees(there, hashed) &&
		    stack_is(area, (uint32_t)there, st))
			return (uint32_t)there;
	}
	return no;
}

uint32_t
sites_put(const uint64_t *frame, unsigned depth, enum ring_end end)
{
	struct index *index = atomic_load_explicit(&index_page,
	    memory_order_acquire);
	struct ring_area *area = area_of(index);
	const struct stack st = { .frame = frame, .depth = depth, .end = end };
	uint64_t hashed;

	if (area == NULL || depth == 0 || depth > RING_STACK_MAX)
		return 0;
	hashed = hash(frame, depth, depth | (uint64_t)end << 8);
	for (unsigned probe = 0; probe < SITE_PROBES; probe++) {
		uint64_t slot = atomic_load_explicit(
		    site_slot(index, hashed, probe), memory_order_acquire);

		if (slot == 0)
			return stack_add(index, area, &st, hashed, probe);
		if (tag_agrees(slot, hashed) &&
		    stack_is(area, (uint32_t)slot, &st))
			return (uint32_t)slot;
	}
	count_up(&area->sites_full);
	return 0;
}

const uint64_t *
sites_get(uint32_t no, unsigned *depth, enum ring_end *end)
{
	struct ring_area *area = area_of(atomic_load_explicit(&index_page,
	    memory_order_acquire));
	uint64_t word;

	if (area == NULL || no >= RING_SITES)
		return NULL;
	word = atomic_load_explicit(&site_table(area)[no].word,
	    memory_order_acquire);
	if (word == 0 || ring_site_depth(word) > RING_STACK_MAX ||
	    ring_site_at(word) > RING_FRAMES - ring_site_depth(word))
		return NULL;
	*depth = ring_site_depth(word);
	*end = ring_site_end(word);
	return frame_table(area) + ring_site_at(word);
}

struct object {
	const struct cfi_object *at;
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_len;		/* 0: has none */
};

/* [vaddr, vaddr + size) in the file's addresses. */
static bool
readable(const struct cfi_object *o, const ElfW(Phdr) *ph, unsigned n,
    uint64_t vaddr, uint64_t size)
{
	uintptr_t addr = o->bias + vaddr;

	if (addr < o->start || addr > o->end || o->end - addr < size)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_R) != 0 &&
		    vaddr >= ph[i].p_vaddr &&
		    vaddr - ph[i].p_vaddr <= ph[i].p_filesz &&
		    ph[i].p_filesz - (vaddr - ph[i].p_vaddr) >= size)
			return true;
	return false;
}

/* Finds the build id among the notes; false: none. */
static bool
find_note(uintptr_t at, uint64_t size, uint64_t align, struct object *ob)
{
	static const uint8_t owner[] = { 'G', 'N', 'U', '\0' };
	const uint64_t pad = align == 8 ? 7 : 3;

	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *nh = (const ElfW(Nhdr) *)at;
		const uint8_t *name = (const uint8_t *)(nh + 1);
		uint64_t desc = (sizeof(*nh) + nh->n_namesz + pad) & ~pad;
		uint64_t next = (desc + nh->n_descsz + pad) & ~pad;

		if (desc > size || nh->n_descsz > size - desc)
			return false;
		if (nh->n_type == NT_GNU_BUILD_ID &&
		    nh->n_namesz == sizeof(owner) && name[0] == owner[0] &&
		    name[1] == owner[1] && name[2] == owner[2] &&
		    name[3] == owner[3]) {
			/* A cut one would be another file's. */
			if (nh->n_descsz > BUILD_ID_MAX)
				return false;
			ob->build_id = (const uint8_t *)at + desc;
			ob->build_id_len = nh->n_descsz;
			return true;
		}
		if (next >= size)
			return false;
		at += next;
		size -= next;
	}
	return false;
}

static void
find_build_id(struct object *ob)
{
	const struct cfi_object *o = ob->at;
	unsigned n;
	const ElfW(Phdr) *ph = cfi_headers(o->start, o->end, &n);

	if (ph == NULL)
		return;
	for (unsigned i = 0; i < n; i++)
		if (ph[i].p_type == PT_NOTE &&
		    (o->bias + ph[i].p_vaddr) % 4 == 0 &&
		    readable(o, ph, n, ph[i].p_vaddr, ph[i].p_filesz) &&
		    find_note(o->bias + ph[i].p_vaddr, ph[i].p_filesz,
			ph[i].p_align, ob))
			return;
}

static bool
path_is(const char kept[RING_PATH], const char *path)
{
	for (unsigned i = 0; i < RING_PATH; i++) {
		if (kept[i] != path[i])
			return false;
		if (path[i] == '\0')
			return true;
	}
	return true;
}

/* In full: an unloaded object's successor may share place, size, link_map. */
static bool
module_is(struct ring_area *area, uint32_t no, const struct object *ob)
{
	const struct ring_module *m;

	if (no >= RING_MODULES)
		return false;
	m = &module_table(area)[no];
	if (atomic_load_explicit(&m->valid, memory_order_acquire) != 1 ||
	    m->start != ob->at->start || m->end != ob->at->end ||
	    m->bias != ob->at->bias ||
	    m->build_id_len != ob->build_id_len)
		return false;
	for (uint32_t i = 0; i < ob->build_id_len; i++)
		if (m->build_id[i] != ob->build_id[i])
			return false;
	return path_is(m->path, ob->path);
}

static uint32_t
module_write(struct ring_area *area, const struct object *ob)
{
	uint32_t no = take_room(&area->modules, 1, RING_MODULES);
	struct ring_module *m;

	if (no == 0)
		return 0;
	m = &module_table(area)[no];
	m->start = ob->at->start;
	m->end = ob->at->end;
	m->bias = ob->at->bias;
	m->build_id_len = ob->build_id_len;
	for (uint32_t i = 0; i < ob->build_id_len; i++)
		m->build_id[i] = ob->build_id[i];
	for (unsigned i = 0; i < RING_PATH; i++) {
		m->path[i] = ob->path[i];
		if (ob->path[i] == '\0')
			break;
	}
	atomic_store_explicit(&m->valid, 1, memory_order_release);
	return no;
}

/* Of everything: successive plugins may differ in their build ids only. */
static uint64_t
object_hash(const struct object *ob)
{
	uint64_t word[4 + BUILD_ID_MAX / 8] = { ob->at->start, ob->at->end,
		ob->at->bias };

	for (unsigned i = 0; i < RING_PATH && ob->path[i] != '\0'; i++)
		word[3] = (word[3] ^ (uint8_t)ob->path[i]) * (GOLDEN | 1);
	for (uint32_t i = 0; i < ob->build_id_len; i++)
		word[4 + i / 8] |= (uint64_t)ob->build_id[i] << i % 8 * 8;
	return hash(word, sizeof(word) / sizeof(word[0]), 0);
}

unsigned
sites_module(const struct cfi_object *o)
{
	struct index *index = atomic_load_explicit(&index_page,
	    memory_order_acquire);
	struct ring_area *area = area_of(index);
	struct object ob = { .at = o };
	uint64_t hashed;
	uint32_t no = 0;

	if (area == NULL || o->map == NULL || o->map->l_name == NULL)
		return 0;
	ob.path = o->map->l_name;
	find_build_id(&ob);
	hashed = object_hash(&ob);
	for (unsigned probe = 0; probe < MODULE_PROBES; probe++) {
		uint64_t there = 0;
		_Atomic uint64_t *slot = module_slot(index, hashed, probe);

		there = atomic_load_explicit(slot, memory_order_acquire);
		if (there == 0) {
			if (no == 0 && (no = module_write(area, &ob)) == 0)
				return 0;
			if (atomic_compare_exchange_strong_explicit(slot,
				&there, slot_make(hashed, no),
				memory_order_acq_rel, memory_order_acquire))
				return no;
		}
		if (tag_agrees(there, hashed) &&
		    module_is(area, (uint32_t)there, &ob))
			return (uint32_t)there;
	}
	return no;
}
