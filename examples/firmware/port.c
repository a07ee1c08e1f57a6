/*
 * The port of memory debug data to this board: lock, tick, threads, memory.
 * Another scheduler needs another mdd_port_thread().
 */
#include <string.h>

#include "board.h"
#include "target.h"

#define ARENA_BYTES (256 * 1024)

static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];
static size_t arena_used;

void *
mdd_port_memory(size_t bytes)
{
	void *memory = (unsigned char *)arena + arena_used;

	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > sizeof arena - arena_used)
		return NULL;
	arena_used += bytes;
	return memory;
}

uintptr_t
mdd_port_lock(void)
{
	return interrupts_off();
}

void
mdd_port_unlock(uintptr_t before)
{
	interrupts_restore(before);
}

uint64_t
mdd_port_ticks(uint32_t *hz)
{
	*hz = TICK_HZ;
	return tick_count();
}

void
mdd_port_thread(uintptr_t *handle, uint32_t *number, char *name)
{
	const void *task = task_handle();

	(void)number;
	*handle = (uintptr_t)task;
	if (task != NULL)
		strncpy(name, task_name(task), MDD_NAME - 1);
}

/* Threads are few: the core finds one by its handle. */
uint32_t *
mdd_port_thread_word(void)
{
	return NULL;
}
