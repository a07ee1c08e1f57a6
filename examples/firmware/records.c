/*
 * A record of 16 bytes for each event, sent to the first serial line: what
 * pagek raw:LINE shows.  The linker leads the calls of memory debug data here.
 */
#include "../device/pagek_device.h"
#include "board.h"
#include "target.h"

/* There is no clock: time begins with a date of its own. */
static void
now(void *arg, struct pagek_time *t)
{
	uint32_t n = tick_count();

	(void)arg;
	*t = (struct pagek_time){ .year = 2026, .month = 1, .day = 1,
		.hour = n / (3600 * TICK_HZ) % 24,
		.minute = n / (60 * TICK_HZ) % 60, .second = n / TICK_HZ % 60,
		.ms = n % TICK_HZ * (1000 / TICK_HZ) };
}

static void
send(void *arg, const uint8_t record[PAGEK_RECORD])
{
	(void)arg;
	uart_send(0, record, PAGEK_RECORD);
}

static const struct pagek_device device = { now, send, NULL };

/* The types of pagek-stream(5). */
static const uint8_t type_of[32] = {
	[MDD_MALLOC] = 0x80, [MDD_CALLOC] = 0x81, [MDD_REALLOC] = 0x82,
	[MDD_MEMALIGN] = 0x83, [MDD_NEW] = 0x84, [MDD_NEW_ARRAY] = 0x85,
	[MDD_NEW_NOTHROW] = 0x86, [MDD_NEW_ARRAY_NOTHROW] = 0x87,
	[MDD_FREE] = 0x90, [MDD_DELETE] = 0x91, [MDD_DELETE_ARRAY] = 0x92,
	[MDD_REALLOC_FREE] = 0x93,
	/* A kernel's heap. */
	[MDD_POOL] = 0x80, [MDD_POOL_FREE] = 0x90,
};

static void
tell(void (*event)(const struct pagek_device *, const void *, size_t,
    unsigned), const void *ptr, size_t size, enum mdd_function function)
{
	uint32_t before;

	if (ptr == NULL)
		return;
	/* No other record comes between its time and its bytes. */
	before = interrupts_off();
	event(&device, ptr, size, type_of[function]);
	interrupts_restore(before);
}

#define WRAP(name) __wrap_##name
#define REAL(name) __real_##name

void REAL(mdd_alloc)(const void *, size_t, size_t, enum mdd_function, uintptr_t);
void WRAP(mdd_alloc)(const void *, size_t, size_t, enum mdd_function, uintptr_t);
void
WRAP(mdd_alloc)(const void *ptr, size_t size, size_t actual,
    enum mdd_function function, uintptr_t caller)
{
	REAL(mdd_alloc)(ptr, size, actual, function, caller);
	tell(pagek_alloc, ptr, size, function);
}

void REAL(mdd_free)(const void *, enum mdd_function, uintptr_t);
void WRAP(mdd_free)(const void *, enum mdd_function, uintptr_t);
void
WRAP(mdd_free)(const void *ptr, enum mdd_function function, uintptr_t caller)
{
	REAL(mdd_free)(ptr, function, caller);
	tell(pagek_free, ptr, 0, function);
}

/* newlib's lock is held: nobody has the old address before its free is sent. */
void REAL(mdd_move_end)(struct mdd_move *, int);
void WRAP(mdd_move_end)(struct mdd_move *, int);
void
WRAP(mdd_move_end)(struct mdd_move *m, int moved)
{
	REAL(mdd_move_end)(m, moved);
	if (moved)
		tell(pagek_free, (const void *)m->ptr, 0, MDD_REALLOC_FREE);
}
