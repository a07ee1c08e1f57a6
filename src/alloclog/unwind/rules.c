/*
 * Open addressing, two words an entry.  The address is stored last and read
 * again after the word, so that a reused entry is not believed.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "syscalls.h"
#include "rules.h"
#include "unwind.h"

/*
 * An address that finds no slot in one part goes into the next, so that the rules of a
 * small program lie on few pages.  An address that finds no slot in the last part is
 * looked up each time.
 */
#define FIRST (1u << 9)
#define SECOND (1u << 12)
#define SLOTS (1u << 15)
#define FEW_PROBES 8		/* in each part before the last */
#define PROBES (2 * FEW_PROBES + 16)
#define CLAIMED 1	/* no return address */

struct entry {
	_Alignas(16) _Atomic uintptr_t pc;
	_Atomic uint64_t word;
};

struct table {
	struct entry first[FIRST];
	struct entry second[SECOND];
	struct entry last[SLOTS];
};

/* On pages that a fork wipes: a child's modules have other numbers. */
static _Atomic(struct table *) table_page;
_Atomic uint32_t rules_generation = 1;

static COLD struct table *
table_map(void)
{
	struct table *p = call_map_wiped(sizeof(*p), sizeof(*p)), *none = NULL;

	if (p == NULL || atomic_compare_exchange_strong(&table_page, &none, p))
		return p;
	call_unmap_private(p, sizeof(*p));
	return none;
}

static inline struct table *
table_get(void)
{
	return atomic_load_explicit(&table_page, memory_order_acquire);
}

/*
 * A word: base 2 bits, rbp 3, outermost 1, offset of the CFA 21, of rbp 17,
 * both in units of 8, module 16.  Other rules are not remembered.
 */
static bool
fits_offset(int32_t offset, unsigned bits)
{
	int32_t limit = 1 << (bits + 2);

	return offset % 8 == 0 && offset >= -limit && offset < limit;
}

static bool
pack_rule(const struct rule *r, uint64_t *word)
{
	const struct cfi_rule *c = &r->cfi;

	if (c->outermost) {
		*word = UINT64_C(1) << 5 | (uint64_t)r->module << 44;
		return true;
	}
	if (c->signal || c->ra_at_rsp || c->ra != -8 ||
	    !fits_offset(c->cfa, 21) || !fits_offset(c->rbp_off, 17))
		return false;
	*word = c->base | (uint64_t)c->rbp << 2 |
	    (uint64_t)(((uint32_t)(c->cfa / 8)) & 0x1fffff) << 6 |
	    (uint64_t)(((uint32_t)(c->rbp_off / 8)) & 0x1ffff) << 27 |
	    (uint64_t)r->module << 44;
	return true;
}

static void
unpack_rule(uint64_t word, struct rule *r)
{
	r->cfi = (struct cfi_rule) {
		.base = word & 3,
		.rbp = word >> 2 & 7,
		.outermost = word >> 5 & 1,
		.cfa = (int32_t)((int64_t)(word << 37) >> 43) * 8,
		.rbp_off = (int32_t)((int64_t)(word << 20) >> 47) * 8,
		.ra = -8,
	};
	r->module = (unsigned)(word >> 44) & 0xffff;
}

static inline unsigned
home_slot(uintptr_t pc)
{
	return (unsigned)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> 49);
}

/* The entry that probe i looks at. */
static inline struct entry *
entry_of(struct table *table, unsigned home, unsigned i)
{
	if (i < FEW_PROBES)
		return &table->first[(home + i) % FIRST];
	home += i;
	return i < 2 * FEW_PROBES ? &table->second[home % SECOND] :
	    &table->last[home % SLOTS];
}

static void
remember_rule(uintptr_t pc, uint64_t word)
{
	struct table *table = table_get();
	unsigned at = home_slot(pc);

	if (table == NULL && (table = table_map()) == NULL)
		return;
	for (unsigned i = 0; i < PROBES; i++) {
		struct entry *e = entry_of(table, at, i);
		uintptr_t there = 0;

		if (!atomic_compare_exchange_strong(&e->pc, &there, CLAIMED) &&
		    there != pc)
			continue;
		atomic_store_explicit(&e->word, word, memory_order_relaxed);
		atomic_store_explicit(&e->pc, pc, memory_order_release);
		return;
	}
}

/*
 * A place is used in a copy and put back: a handler's fork may wipe it meanwhile, and a
 * handler of this thread searches without it.
 */
static NOINLINE int
find_from_place(struct rules_near *near, uintptr_t pc, struct cfi_rule *rule,
    struct cfi_object *object, uint32_t generation)
{
	struct cfi_place place = near->place;
	int rc;

	if (near->generation != generation)
		place = (struct cfi_place){ { 0 } };
	rc = cfi_find(&place, pc, false, rule, object);
	near->place = place;
	atomic_signal_fence(memory_order_seq_cst);
	if (near->generation != generation)
		near->place = (struct cfi_place){ { 0 } };
	return rc;
}

static int
ask_cfi(struct rules_near *near, uintptr_t pc, bool exact, struct rule *r)
{
	struct cfi_object object = { .map = NULL };
	uint32_t generation = atomic_load(&rules_generation);
	uint64_t word;
	int rc;

	rc = near != NULL && !exact ?
	    find_from_place(near, pc, &r->cfi, &object, generation) :
	    cfi_find(NULL, pc, exact, &r->cfi, &object);
	r->module = object.map != NULL ? sites_module(&object) : 0;
	if (rc == 0 && !exact && (r->module != 0 || !sites_attached()) &&
	    pack_rule(r, &word) &&
	    generation == atomic_load(&rules_generation))
		remember_rule(pc, word);
	return rc;
}

/* 0: not in the table. */
static uint64_t
recall_rule(uintptr_t pc)
{
	struct table *table = table_get();
	unsigned at = home_slot(pc);

	if (table == NULL)
		return 0;
	for (unsigned i = 0; i < PROBES; i++) {
		const struct entry *e = entry_of(table, at, i);
		uintptr_t there = atomic_load_explicit(&e->pc,
		    memory_order_acquire);
		uint64_t word;

		if (there == 0)
			return 0;
		if (there != pc)
			continue;
		word = atomic_load_explicit(&e->word, memory_order_acquire);
		return atomic_load_explicit(&e->pc, memory_order_relaxed) ==
		    pc ? word : 0;
	}
	return 0;
}

/* 0: not a common rule. */
static uint64_t
near_word(uintptr_t pc, const struct rule *r)
{
	const struct cfi_rule *c = &r->cfi;
	uint64_t rule = r->module;
	int32_t below = c->rbp == CFI_RBP_SAME ? 0 : -c->rbp_off;

	if (!near_may(pc) || r->module == 0 || r->module > NEAR_MODULE)
		return 0;
	if (c->outermost)
		return near_key(pc) ^ rule;
	if (c->signal || c->ra_at_rsp || c->ra != -8 ||
	    (c->base != CFI_RSP && c->base != CFI_RBP) ||
	    (c->rbp != CFI_RBP_SAME && c->rbp != CFI_RBP_AT_CFA) ||
	    c->cfa <= 0 || c->cfa % 8 != 0 || c->cfa / 8 > 0x1fff ||
	    below < 0 || below % 8 != 0 || below / 8 > 0x1f ||
	    (c->rbp == CFI_RBP_AT_CFA && below == 0) ||
	    (c->base == CFI_RSP && below > c->cfa))
		return 0;
	rule |= (c->base == CFI_RBP ? NEAR_BY_RBP : 0) |
	    (uint64_t)below / 8 << 11 | (uint64_t)c->cfa / 8 << 16;
	return near_key(pc) ^ rule;
}

/* After a handler's fork the rule is another's. */
static void
near_remember(struct rules_near *near, uintptr_t pc, const struct rule *r,
    uint32_t generation)
{
	uint64_t word = near_word(pc, r), *way = near->set[near_set(pc)].way;

	if (word == 0 || way[0] == word || way[1] == word)
		return;
	way[1] = way[0];
	way[0] = word;
	atomic_signal_fence(memory_order_seq_cst);
	if (near->generation != generation ||
	    generation != atomic_load(&rules_generation))
		way[0] = way[1] = 0;
}

int
rules_find(struct rules_near *near, uintptr_t pc, bool exact, struct rule *r)
{
	uint32_t generation = atomic_load_explicit(&rules_generation,
	    memory_order_relaxed);
	uint64_t word;
	int rc = 0;

	if (exact)
		return ask_cfi(near, pc, true, r);
	word = recall_rule(pc);
	if (word != 0)
		unpack_rule(word, r);
	else
		rc = ask_cfi(near, pc, false, r);
	if (rc == 0 && near != NULL && near->generation == generation)
		near_remember(near, pc, r, generation);
	return rc;
}

void
rules_near_void(struct rules_near *near, uint32_t generation)
{
	near->generation = 0;
	near->place = (struct cfi_place){ { 0 } };
	for (unsigned i = 0; i < RULES_SETS; i++)
		if ((near->set[i].way[0] | near->set[i].way[1]) != 0)
			near->set[i].way[0] = near->set[i].way[1] = 0;
	near->generation = generation;
}

/* An entry that is being filled may lose its word: it is then no rule. */
void
rules_forget(void)
{
	struct table *table = table_get();
	int saved = errno;

	atomic_fetch_add(&rules_generation, 1);
	if (table != NULL)
		(void)call_madvise(table, sizeof(*table), MADV_DONTNEED);
	errno = saved;
}
