/* FreeRTOS on this board. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "board.h"

#define configCPU_CLOCK_HZ CPU_HZ
#define configTICK_RATE_HZ TICK_HZ
#define configUSE_16_BIT_TICKS 0
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configMAX_PRIORITIES 3
#define configMINIMAL_STACK_SIZE 256
#define configMAX_TASK_NAME_LEN 16
#define configTOTAL_HEAP_SIZE (64 * 1024)
#define configKERNEL_INTERRUPT_PRIORITY 0xff
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x20
#define configASSERT(x) do { if (!(x)) for (;;) __asm__ volatile("bkpt"); } while (0)

/* The kernel's settings that port_freertos.c needs. */
#define INCLUDE_vTaskDelete 1
#define INCLUDE_xTaskGetSchedulerState 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1
void mdd_thread_ended(uintptr_t handle);
#define traceTASK_DELETE(tcb) mdd_thread_ended((uintptr_t)(tcb))

/* The vectors of board.c lead to these. */
#define vPortSVCHandler supervisor_call
#define xPortPendSVHandler switch_task
#define xPortSysTickHandler tick

#endif
