/*
 * The board, and its tasks: of scheduler.c, or of scheduler_freertos.c.
 *
 *	tasks_begin() does not return.  Before it task_handle() is NULL.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CPU_HZ 25000000
#define TICK_HZ 100
#define TASKS_MAX 2

struct task {
	const char *name;
	void (*main)(void);
};

void tasks_begin(const struct task *, unsigned n) __attribute__((noreturn));
void task_yield(void);
const void *task_handle(void);
const char *task_name(const void *handle);
uint32_t tick_count(void);

/* The handlers of the vectors. */
void supervisor_call(void);
void switch_task(void);
void tick(void);

/* Nested calls each restore what they found. */
static inline uint32_t
interrupts_off(void)
{
	uint32_t before;

	__asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before) :: "memory");
	return before;
}

static inline void
interrupts_restore(uint32_t before)
{
	__asm__ volatile("msr primask, %0" :: "r"(before) : "memory");
}

/* Records of pagek go to the first line, text to the second. */
void uart_send(unsigned line, const void *, unsigned n);

#ifdef __cplusplus
}
#endif
#endif
