/*
 * Walks from a trail, and by what is known near, beside walks that know
 * nothing: on stacks made of return addresses, places further out and junk,
 * of which a little changes from one walk to the next.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../src/alloclog/unwind/walk.h"
#include "harness.h"

#define FAR_WALKS_TRIED 200	/* of thousands: the others use near rules */
#define WORDS 4096
#define PCS 512
#define GUARD 4096

static struct ring_area *area;
static struct walker *w;
static char *guarded;
static uintptr_t *stack;	/* WORDS of them */
static uintptr_t pcs[PCS];
static unsigned n_pcs;
static uint64_t seed;

static unsigned
any(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void *
pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

/* Addresses that have a rule, of every object: libc's and our own. */
static int
take_addresses(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || (ph->p_flags & PF_X) == 0)
			continue;
		for (unsigned k = 0; k < 200 && n_pcs < PCS; k++) {
			uintptr_t pc = info->dlpi_addr + ph->p_vaddr + 1 +
			    any((unsigned)ph->p_memsz - 1);
			struct rule r;

			/* A frame that reaches past the guard meets what changes. */
			if (rules_find(NULL, pc, false, &r) == 0 &&
			    abs(r.cfi.cfa) < GUARD / 2 &&
			    abs(r.cfi.rbp_off) < GUARD / 2)
				pcs[n_pcs++] = pc;
		}
	}
	return 0;
}

static void
up(void)
{
	seed = 1;
	n_pcs = 0;
	area = pages(RING_ALIGN(ring_area_size()));
	sites_attach(area);
	(void)dl_iterate_phdr(take_addresses, NULL);
	ck_assert_uint_gt(n_pcs, PCS / 4);
	w = pages(sizeof(*w));
	walker_begin(w, atomic_load(&rules_generation), FAR_WALKS_TRIED);
	/* With nothing beside it: what lies there would change by itself. */
	guarded = pages(WORDS * sizeof(*stack) + 2 * GUARD);
	stack = (uintptr_t *)(guarded + GUARD);
	ck_assert_int_eq(mprotect(guarded, GUARD, PROT_NONE), 0);
	ck_assert_int_eq(mprotect(stack + WORDS, GUARD, PROT_NONE), 0);
	/* As if it were the thread's own. */
	w->mapped.stack_lo = (uintptr_t)stack;
	w->mapped.stack_hi = (uintptr_t)(stack + WORDS);
}

static void
down(void)
{
	munmap(guarded, WORDS * sizeof(*stack) + 2 * GUARD);
	munmap(w, sizeof(*w));
	sites_detach();
}

static uintptr_t
any_word(unsigned at, unsigned kinds)
{
	unsigned kind = any(100);

	if (kind < kinds)
		return pcs[any(n_pcs)];
	if (kind < 97)	/* a saved rbp */
		return (uintptr_t)&stack[at + any(WORDS - at)];
	return kind == 97 ? 0 : kind == 98 ? any(65536) : ~(uintptr_t)0;
}

static void
same_as_plain(unsigned frame, unsigned depth)
{
	struct stack_frames plain;
	uint64_t hash;
	unsigned n = walker_walk(w, (uintptr_t)&stack[frame], depth,
	    w->near.generation, &hash);

	walk_plain((uintptr_t)&stack[frame], depth, &plain);
	ck_assert_uint_eq(n, plain.depth);
	/* A level that ends for want of a table may be the last one anyway. */
	if (n < depth || w->end != RING_END_DEPTH)
		ck_assert_int_eq(w->end, plain.end);
	for (unsigned i = 0; i < n; i++)
		ck_assert_uint_eq(level_frame(walker_level(w, i)),
		    plain.frame[i]);
}

/* `kinds`: so many words of a hundred are return addresses. */
static void
walks_agree(unsigned kinds, unsigned depth)
{
	unsigned frame = 256;

	for (unsigned i = 0; i < WORDS; i++)
		stack[i] = any_word(i, kinds);
	for (unsigned n = 0; n < 20000; n++) {
		unsigned at = frame + any(n % 16 == 0 ? WORDS - frame : 40);

		for (unsigned i = 0; i < any(4) && at + i < WORDS; i++)
			stack[at + i] = any_word(at + i, kinds);
		if (any(3) == 0)
			frame = 1 + any(512);
		stack[frame + 1] = pcs[any(n_pcs) % (1 + any(n_pcs))];
		same_as_plain(frame, depth);
	}
}

CASE("walks", .setup = up, .teardown = down, .seconds = 60);

LOOP_TEST(walks_from_a_trail_are_those_that_know_nothing, 0, 12)
{
	static const unsigned kinds[] = { 97, 90, 60 };
	static const unsigned depths[] = { 16, 64, 3, 1 };

	walks_agree(kinds[_i / 4], depths[_i % 4]);
}

/*
 * The same near rule leads on with one stack and not with the next: what it
 * had reckoned by then is not where the long way goes on from.
 */
TEST(return_address_of_zero_ends_a_stack_by_the_near_way_too)
{
	unsigned ends = 0;

	for (unsigned i = 0; i < WORDS; i++)
		stack[i] = pcs[0];
	for (unsigned i = 0; i < n_pcs; i++) {
		struct rule r;

		rules_find(NULL, pcs[i], false, &r);
		if (r.cfi.outermost || r.cfi.base != CFI_RSP ||
		    r.cfi.cfa <= 8 || r.cfi.cfa > 4096)
			continue;
		stack[101] = pcs[i];
		same_as_plain(100, 16);
		stack[101 + r.cfi.cfa / 8] = 0;
		same_as_plain(100, 16);
		ck_assert_int_eq(w->end, RING_END_OUTERMOST);
		stack[101 + r.cfi.cfa / 8] = pcs[0];
		ends++;
	}
	ck_assert_uint_gt(ends, 20);
}

TEST(near_rule_is_that_of_the_address)
{
	unsigned known = 0;

	for (unsigned i = 0; i < n_pcs; i++) {
		struct rule r;
		uint64_t near;

		rules_find(&w->near, pcs[i], false, &r);
		near = rules_near(&w->near, pcs[i]);
		if (near >> NEAR_BITS != 0)
			continue;
		known++;
		ck_assert_uint_eq(near & NEAR_MODULE, r.module);
		ck_assert(near_leads(near) == !r.cfi.outermost);
		if (r.cfi.outermost)
			continue;
		ck_assert_uint_eq(near_cfa(near), (uintptr_t)r.cfi.cfa);
		ck_assert((near & NEAR_BY_RBP) != 0 ? r.cfi.base == CFI_RBP :
		    r.cfi.base == CFI_RSP);
		ck_assert_uint_eq(near_rbp(near), r.cfi.rbp == CFI_RBP_SAME ?
		    0 : (uintptr_t)-r.cfi.rbp_off);
	}
	ck_assert_uint_gt(known, n_pcs / 2);
}

TEST(near_rule_is_of_no_other_address)
{
	for (unsigned i = 0; i < n_pcs; i++) {
		struct rule r;

		rules_find(&w->near, pcs[i], false, &r);
		if (rules_near(&w->near, pcs[i]) >> NEAR_BITS != 0)
			continue;
		for (unsigned bit = 0; bit < 47; bit++) {
			uintptr_t other = pcs[i] ^ (uintptr_t)1 << bit;
			bool taken = false;

			for (unsigned k = 0; k < n_pcs; k++)
				taken = taken || pcs[k] == other;
			ck_assert(taken || !near_may(other) ||
			    rules_near(&w->near, other) >> NEAR_BITS != 0);
		}
	}
}
