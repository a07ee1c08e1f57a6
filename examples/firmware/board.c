/*
 * ARM's MPS2 board with a Cortex-M3 (AN385), as qemu has it: start, two serial
 * lines, and what newlib asks of a system.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "board.h"
#include "target.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART(line, n) REGISTER(0x40004000 + 0x1000 * (line) + 4 * (n))

extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];
extern uint32_t main_stack[];
extern char heap_begin[], heap_end[];

void __libc_init_array(void);
int main(void);
void reset(void);

/* --- start ------------------------------------------------------------------ */

static void
halt(void)
{
	for (;;)
		__asm__ volatile("wfi");
}

__attribute__((section(".vectors"), used))
static const struct {
	uint32_t *stack;
	void (*handler[15])(void);
} vectors = {
	main_stack,
	{ reset, halt, halt, halt, halt, halt, 0, 0, 0, 0,
		supervisor_call, halt, 0, switch_task, tick },
};

void
reset(void)
{
	memcpy(data_begin, data_load,
	    (size_t)((char *)data_end - (char *)data_begin));
	memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
	UART(0, 4) = UART(1, 4) = 16;	/* the divider */
	UART(0, 2) = UART(1, 2) = 1;	/* send */
#if MDD_DEBUGDATA
	mdd_root.heap_low = (uintptr_t)heap_begin;
	mdd_root.heap_high = (uintptr_t)heap_end;
#endif
	mdd_start(NULL);		/* before the first allocation */
	__libc_init_array();
	main();
	halt();
}

void
uart_send(unsigned line, const void *bytes, unsigned n)
{
	const uint8_t *b = bytes;

	while (n-- > 0) {
		while (UART(line, 1) & 1)
			continue;
		UART(line, 0) = *b++;
	}
}

/* --- newlib ----------------------------------------------------------------- */

void *_sbrk(ptrdiff_t);
void *
_sbrk(ptrdiff_t n)
{
	static char *top = heap_begin;
	char *before = top;

	if (n > heap_end - top) {
		errno = ENOMEM;
		return (void *)-1;
	}
	top += n;
	return before;
}

int _write(int, const char *, int);
int
_write(int fd, const char *text, int n)
{
	(void)fd;
	uart_send(1, text, (unsigned)n);
	return n;
}

int _read(int, char *, int);
int
_read(int fd, char *text, int n)
{
	(void)fd;
	(void)text;
	(void)n;
	return 0;
}

int _fstat(int, struct stat *);
int
_fstat(int fd, struct stat *st)
{
	(void)fd;
	memset(st, 0, sizeof *st);
	st->st_mode = S_IFCHR;
	return 0;
}

int _close(int);
int _close(int fd) { (void)fd; return -1; }
int _isatty(int);
int _isatty(int fd) { (void)fd; return 1; }
int _lseek(int, int, int);
int _lseek(int fd, int at, int from) { (void)fd; (void)at; (void)from; return 0; }
int _kill(int, int);
int _kill(int pid, int signal) { (void)pid; (void)signal; return -1; }
int _getpid(void);
int _getpid(void) { return 1; }
void _exit(int);
void _exit(int status) { (void)status; halt(); for (;;) continue; }
void _init(void);
void _init(void) { }
void _fini(void);
void _fini(void) { }
