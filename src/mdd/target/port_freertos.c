/*
 * A port to FreeRTOS with one core, for the kernel's own heap and for others.
 *
 * FreeRTOSConfig.h needs INCLUDE_xTaskGetSchedulerState and
 * INCLUDE_xTaskGetCurrentTaskHandle, and for tasks that are deleted
 *
 *	#include <stdint.h>
 *	void mdd_thread_ended(uintptr_t handle);
 *	#define traceTASK_DELETE(tcb) mdd_thread_ended((uintptr_t)(tcb))
 *
 * MDD_CONFIG sets MDD_PORT_TICKS and MDD_PORT_THREADS.  Link with
 * -Wl,--wrap=pvPortMalloc and -Wl,--wrap=vPortFree for the kernel's heap, but
 * not for heap_3, which calls malloc().  Interrupt handlers must not call this.
 */
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "target.h"

#ifndef MDD_ARENA_BYTES
#define MDD_ARENA_BYTES (64 * 1024)	/* for records */
#endif

static uint64_t arena[MDD_ARENA_BYTES / sizeof(uint64_t)];
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

/* Before the scheduler's start the kernel keeps interrupts masked from here on. */
uintptr_t
mdd_port_lock(void)
{
	taskENTER_CRITICAL();
	return 0;
}

void
mdd_port_unlock(uintptr_t before)
{
	(void)before;
	taskEXIT_CRITICAL();
}

/* Extends the kernel's counter, which may wrap once between two events. */
uint64_t
mdd_port_ticks(uint32_t *hz)
{
	static TickType_t last;
	static uint64_t wraps;
	TickType_t now;
	uint64_t all;

	*hz = configTICK_RATE_HZ;
	taskENTER_CRITICAL();
	now = xTaskGetTickCount();
	if (now < last)
		wraps += (uint64_t)portMAX_DELAY + 1;
	last = now;
	all = wraps + now;
	taskEXIT_CRITICAL();
	return all;
}

void
mdd_port_thread(uintptr_t *handle, uint32_t *number, char *name)
{
	TaskHandle_t task;

	(void)number;
	if (xTaskGetSchedulerState() == taskSCHEDULER_NOT_STARTED)
		return;
	task = xTaskGetCurrentTaskHandle();
	*handle = (uintptr_t)task;
	strncpy(name, pcTaskGetName(task), MDD_NAME - 1);
}

/* A task is found by its handle. */
uint32_t *
mdd_port_thread_word(void)
{
	return NULL;
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

void *__real_pvPortMalloc(size_t);
void *__wrap_pvPortMalloc(size_t);
void *
__wrap_pvPortMalloc(size_t size)
{
	void *p = __real_pvPortMalloc(size);

	mdd_alloc(p, size, 0, MDD_POOL, CALLER);
	return p;
}

void __real_vPortFree(void *);
void __wrap_vPortFree(void *);
void
__wrap_vPortFree(void *p)
{
	mdd_free(p, MDD_POOL_FREE, CALLER);
	__real_vPortFree(p);
}
