/*
 * The same tasks under FreeRTOS, whose heap has their stacks.
 */
#include <malloc.h>

#include "FreeRTOS.h"
#include "task.h"

#include "board.h"

static void
begin(void *arg)
{
	const struct task *t = arg;

	t->main();
	vTaskDelete(NULL);
}

void
tasks_begin(const struct task *t, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		xTaskCreate(begin, t[i].name, 1024, (void *)(uintptr_t)&t[i], 1,
		    NULL);
	vTaskStartScheduler();
	for (;;)
		continue;
}

void
task_yield(void)
{
	taskYIELD();
}

const void *
task_handle(void)
{
	return xTaskGetSchedulerState() != taskSCHEDULER_NOT_STARTED ?
	    xTaskGetCurrentTaskHandle() : NULL;
}

const char *
task_name(const void *handle)
{
	return pcTaskGetName((TaskHandle_t)(uintptr_t)handle);
}

uint32_t
tick_count(void)
{
	return xTaskGetTickCount();
}

/* newlib's heap is one task's at a time; the lock may be taken again. */
void
__malloc_lock(struct _reent *r)
{
	(void)r;
	vTaskSuspendAll();
}

void
__malloc_unlock(struct _reent *r)
{
	(void)r;
	xTaskResumeAll();
}
