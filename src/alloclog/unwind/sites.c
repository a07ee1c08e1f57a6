/*
 * Stacks and modules, written down once.  See sites.h for what is promised.
 *
 * Both have an index of one kind: slots of one word, a tag and a number, found
 * by hashing and probing in a row.  A tag that agrees is only a hint: what is
 * compared is what stands in the ring area, in full.  So a slot that a fork, a
 * handler or another area has made meaningless is passed by, not believed.
 *
 * The area is the program's to damage like any of its memory: nothing that is
 * read there leads outside it.
 *
 * Known limit
 *	A signal handler that forks where an event has its number already but
 *	not yet its place in a ring: in the child that event names a stack of the
 *	parent's area.
 */
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>

#include "syscalls.h"
#include "sites.h"

/* Twice as many slots as there can be numbers: half of them stay free. */
#define SITE_SLOTS (2 * RING_SITES)
#define MODULE_SLOTS (2 * RING_MODULES)
#define PROBES 128

/* What is read of an object without asking where its segments lie. */
#define FIRST_PAGE 4096

#define BUILD_ID_MAX sizeof(((struct ring_module *)0)->build_id)

/* On pages that a fork wipes. */
struct index {
	_Atomic(struct ring_area *) area;	/* NULL: no sites */
	_Atomic uint32_t used;			/* an area's numbers may stand here */
	_Atomic uint64_t module[MODULE_SLOTS];
	_Atomic uint64_t site[SITE_SLOTS];
};

static _Atomic(struct index *) index_page;

/* --- the tables in the area ---------------------------------------------- */

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
	/* Whole against signal handlers, and that is all there are. */
	if (__libc_single_threaded) {
		__asm__ volatile("incq %0" : "+m"(*n) : : "cc");
		return;
	}
#endif
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/*
 * `n` numbers in a row, of a table of `size`; 0: there are not so many.  A full
 * table is not counted on, or its counter would come round one day.
 */
static uint32_t
take_room(_Atomic uint32_t *next, uint32_t n, uint32_t size)
{
	uint32_t at = atomic_load_explicit(next, memory_order_relaxed);

	if (at >= size || size - at < n)
		return 0;
	at = atomic_fetch_add_explicit(next, n, memory_order_relaxed);
	return at >= size || size - at < n ? 0 : at;
}

/* --- joining ------------------------------------------------------------- */

static struct index *
index_map(void)
{
	struct index *index = atomic_load_explicit(&index_page,
	    memory_order_acquire);
	void *p;

	if (index != NULL)
		return index;
	p = call_mmap(NULL, sizeof(*index), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (call_madvise(p, sizeof(*index), MADV_WIPEONFORK) != 0 ||
	    !atomic_compare_exchange_strong_explicit(&index_page, &index, p,
		memory_order_acq_rel, memory_order_acquire)) {
		call_munmap(p, sizeof(*index));
		return index;
	}
	(void)call_madvise(p, sizeof(*index), MADV_DONTDUMP);
	/* A program of few stacks is not to pay 2 MiB for its first. */
	(void)call_madvise(p, sizeof(*index), MADV_NOHUGEPAGE);
	return p;
}

/* Number 0 and word 0 are never given: they say that there is none. */
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

	/* Another area's numbers would only be in the way. */
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
}

/* No more numbers of that table; returns how many there are. */
static uint32_t
table_close(_Atomic uint32_t *next, uint32_t size)
{
	uint32_t n = atomic_exchange_explicit(next, size,
	    memory_order_acq_rel);

	return n < 1 ? 1 : n > size ? size : n;
}

/*
 * One whose writer is in the middle of it, perhaps for long, is of nothing: the
 * writer goes on in the old area.
 */
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
 * Whoever has a number has taken it before its table is closed, and what that
 * number rests on before: the frames before the site, the modules before the
 * frames.  So they are closed in this order.
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
	/* A frame at address 0, for a number whose stack is not there yet. */
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
sites_walked(void)
{
	struct ring_area *area = area_of(atomic_load_explicit(&index_page,
	    memory_order_acquire));

	if (area != NULL)
		count_up(&area->walks);
}

void
sites_left_out(void)
{
	struct ring_area *area = area_of(atomic_load_explicit(&index_page,
	    memory_order_acquire));

	if (area != NULL)
		count_up(&area->sites_full);
}

/* --- hashing ------------------------------------------------------------- */

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t
fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	/* Whatever this finds is compared in full. */
	uint64_t product = (a ^ b >> 32) * ((b ^ a << 32) | 1);

	return product ^ product >> 32;
#endif
}

/*
 * Each pair of words is multiplied with keys of its own place and the products
 * are added: none of the multiplications waits for another.
 */
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

/* The tag is the upper half of a hash, the number is in the lower half. */
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

/* --- stacks -------------------------------------------------------------- */

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

/* A number of the stack's own; 0: there is no room. */
static uint32_t
stack_write(struct ring_area *area, const struct stack *st)
{
	uint64_t *kept;
	uint32_t no, at;

	/* Words that no number will name would be lost. */
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

/*
 * The stack has been looked for in the slots before `probe`, and that one was
 * free.  Another thread, or a handler, may have come first: with the same
 * stack, then its number holds, or with another.
 */
static uint32_t
stack_add(struct index *index, struct ring_area *area, const struct stack *st,
    uint64_t hashed, unsigned probe)
{
	uint32_t no = stack_write(area, st);

	if (no == 0) {
		count_up(&area->sites_full);
		return 0;
	}
	for (; probe < PROBES; probe++) {
		uint64_t there = 0;

		if (atomic_compare_exchange_strong_explicit(
			&index->site[(hashed + probe) % SITE_SLOTS], &there,
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
	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t slot = atomic_load_explicit(
		    &index->site[(hashed + probe) % SITE_SLOTS],
		    memory_order_acquire);

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

/* --- build ids, as mapped ------------------------------------------------ */

/* A module as it is now. */
struct object {
	const struct cfi_object *at;
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_len;		/* 0: has none */
};

/*
 * The program headers, when the file's own header lies where the object begins
 * and they lie with it in the first page, as the linkers have it; else none.
 */
static const ElfW(Phdr) *
headers_of(const struct cfi_object *o, unsigned *n)
{
	const ElfW(Ehdr) *eh;
	uintptr_t start = o->start;

	if (start == 0 || start % FIRST_PAGE != 0 || o->end <= start ||
	    o->end - start < sizeof(*eh))
		return NULL;
	eh = (const ElfW(Ehdr) *)start;
	if (eh->e_ident[EI_MAG0] != ELFMAG0 ||
	    eh->e_ident[EI_MAG1] != ELFMAG1 ||
	    eh->e_ident[EI_MAG2] != ELFMAG2 ||
	    eh->e_ident[EI_MAG3] != ELFMAG3 ||
	    eh->e_phentsize != sizeof(ElfW(Phdr)) ||
	    eh->e_phoff % _Alignof(ElfW(Phdr)) != 0 ||
	    eh->e_phoff > FIRST_PAGE ||
	    eh->e_phnum > (FIRST_PAGE - eh->e_phoff) / sizeof(ElfW(Phdr)))
		return NULL;
	*n = eh->e_phnum;
	return (const ElfW(Phdr) *)(start + eh->e_phoff);
}

/* Whether [vaddr, vaddr + size) of the file's addresses is there to be read. */
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

/* The build id among the notes in [at, at + size); false: not there. */
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
	const ElfW(Phdr) *ph = headers_of(o, &n);

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

/* --- modules ------------------------------------------------------------- */

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

/*
 * Everything is compared: what is loaded where another object was unloaded may
 * have its place, its size and even its link_map.
 */
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

/*
 * Of everything that is compared: plugins that follow one another in one place
 * differ in their build ids alone, and would all be looked for in a row.
 */
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
	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t there = 0;
		_Atomic uint64_t *slot =
		    &index->module[(hashed + probe) % MODULE_SLOTS];

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
