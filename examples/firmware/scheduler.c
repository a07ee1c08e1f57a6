/*
 * A scheduler: tasks take turns at each tick, or when one yields.
 */
#include <malloc.h>
#include <string.h>

#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYSTICK_CONTROL REGISTER(0xe000e010)
#define SYSTICK_RELOAD REGISTER(0xe000e014)
#define SYSTICK_VALUE REGISTER(0xe000e018)
#define INTERRUPT_CONTROL REGISTER(0xe000ed04)
#define PRIORITIES REGISTER(0xe000ed20)
#define PENDSVSET (1u << 28)

struct stack {
	uint32_t *sp;
	uint32_t word[1024];
};

static struct stack stacks[TASKS_MAX];
static const struct task *tasks;
static unsigned n_tasks;
static int running = -1;
static volatile uint32_t ticks;

const void *
task_handle(void)
{
	return running >= 0 ? &tasks[running] : NULL;
}

const char *
task_name(const void *handle)
{
	return ((const struct task *)handle)->name;
}

uint32_t
tick_count(void)
{
	return ticks;
}

void
supervisor_call(void)
{
}

void
tick(void)
{
	ticks++;
	INTERRUPT_CONTROL = PENDSVSET;
}

void
task_yield(void)
{
	INTERRUPT_CONTROL = PENDSVSET;
	__asm__ volatile("dsb\n\tisb" ::: "memory");
}

/* The next task's stack. */
__attribute__((used)) static uint32_t *
next_task(uint32_t *sp)
{
	if (running >= 0)
		stacks[running].sp = sp;
	running = running + 1 < (int)n_tasks ? running + 1 : 0;
	return stacks[running].sp;
}

__attribute__((naked)) void
switch_task(void)
{
	__asm__ volatile(
	    "mrs r0, psp\n\t"
	    "stmdb r0!, {r4-r11}\n\t"
	    "push {r3, lr}\n\t"
	    "cpsid i\n\t"
	    "bl next_task\n\t"
	    "cpsie i\n\t"
	    "pop {r3, lr}\n\t"
	    "ldmia r0!, {r4-r11}\n\t"
	    "msr psp, r0\n\t"
	    "bx lr");
}

/* A task begins as if it had been interrupted before its first instruction. */
static void
task_prepare(struct stack *s, void (*task_main)(void))
{
	uint32_t *sp = s->word + sizeof s->word / sizeof s->word[0] - 16;

	memset(sp, 0, 16 * sizeof *sp);
	sp[14] = (uint32_t)task_main & ~1u;
	sp[15] = 1u << 24;		/* Thumb */
	s->sp = sp;
}

void
tasks_begin(const struct task *t, unsigned n)
{
	static uint32_t unused[16];
	unsigned i;

	for (i = 0; i < n; i++)
		task_prepare(&stacks[i], t[i].main);
	tasks = t;
	n_tasks = n;
	__asm__ volatile("msr psp, %0\n\tmovs r0, #2\n\tmsr control, r0\n\tisb"
	    :: "r"(unused + 16) : "r0", "memory");
	PRIORITIES = 0xffff0000;	/* tick and switch: the lowest */
	SYSTICK_RELOAD = CPU_HZ / TICK_HZ - 1;
	SYSTICK_VALUE = 0;
	SYSTICK_CONTROL = 7;
	task_yield();
	for (;;)
		continue;
}

/* newlib's heap is one task's at a time; the lock may be taken again. */
static unsigned heap_depth;
static uint32_t heap_before;

void
__malloc_lock(struct _reent *r)
{
	uint32_t before = interrupts_off();

	(void)r;
	if (heap_depth++ == 0)
		heap_before = before;
}

void
__malloc_unlock(struct _reent *r)
{
	(void)r;
	if (--heap_depth == 0)
		interrupts_restore(heap_before);
}
