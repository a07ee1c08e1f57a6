/*
 * Protection keys: with them, a page that is open for a step is open for one thread.  A
 * closed page has the key `closed`, a page that is open for a step the key `open`, and
 * others have none.  A thread has no rights for either key, as is the kernel's default
 * for new threads and for signal handlers; its signal frame gives it those for `open`
 * during a step, and a handler takes those for both during a system call.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "guard.h"

#ifdef GUARD_BUILT

#include <cpuid.h>

#define NONE 3			/* of the two bits of a key: access and writing disabled */
#define READ 2			/* writing disabled */
#define STATE_LEAF 0xd
#define STATE 9			/* of the processor's extended states: the rights */
#define MAGIC_AT 464		/* in a signal frame's state */
#define MAGIC 0x46505853
#define STATES_AT 512		/* bits of the states that the frame has */

static uint32_t
bits(int32_t key, uint32_t rights)
{
	return rights << 2 * key;
}

void
keys_take(struct guard *g)
{
	unsigned eax, at, ecx, edx;
	long closed = CALL(SYS_pkey_alloc, 0, 1);
	long open = closed < 0 ? closed : CALL(SYS_pkey_alloc, 0, 1);

	if (open < 0) {
		if (closed >= 0)
			(void)CALL(SYS_pkey_free, closed);
		return;
	}
	__cpuid_count(STATE_LEAF, STATE, eax, at, ecx, edx);
	(void)eax;
	(void)ecx;
	(void)edx;
	g->kind.closed = (int32_t)closed;
	g->kind.open = (int32_t)open;
	g->kind.rights_at = at;
	atomic_store(&g->area->keys, 1);
}

void
keys_give_back(struct guard *g)
{
	if (!has_keys(g))
		return;
	(void)CALL(SYS_pkey_free, g->kind.closed);
	(void)CALL(SYS_pkey_free, g->kind.open);
	g->kind.closed = g->kind.open = 0;
}

bool
keys_set_rights(const struct guard *g, ucontext_t *uc, enum key_rights rights)
{
	char *state = (char *)uc->uc_mcontext.fpregs;
	uint32_t magic, now = 0;
	uint64_t states;

	memcpy(&magic, state + MAGIC_AT, sizeof(magic));
	if (magic != MAGIC || g->kind.rights_at == 0)
		return false;
	memcpy(&states, state + STATES_AT, sizeof(states));
	if ((states & 1 << STATE) != 0)
		memcpy(&now, state + g->kind.rights_at, sizeof(now));
	now |= bits(g->kind.closed, NONE) | bits(g->kind.open, NONE);
	if (rights != KEY_NONE)
		now &= ~bits(g->kind.open, rights == KEY_WRITE ? NONE : NONE - READ);
	states |= 1 << STATE;
	memcpy(state + STATES_AT, &states, sizeof(states));
	memcpy(state + g->kind.rights_at, &now, sizeof(now));
	return true;
}

uint32_t
keys_allow(const struct guard *g)
{
	uint32_t was, high;

	__asm__ volatile(".byte 0x0f, 0x01, 0xee" /* rdpkru */ : "=a"(was), "=d"(high) :
	    "c"(0));
	(void)high;
	keys_restore(was & ~(bits(g->kind.closed, NONE) | bits(g->kind.open, NONE)));
	return was;
}

void
keys_restore(uint32_t rights)
{
	__asm__ volatile(".byte 0x0f, 0x01, 0xef" /* wrpkru */ : : "a"(rights), "c"(0),
	    "d"(0) : "memory");
}

#endif
