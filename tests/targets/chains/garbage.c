/*
 * garbage: stacks that are not what their tables say, or have no tables.
 * What is inside of the damage must be right, and the program must live.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chain.h"

static void
touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/*
 * with_rbp(f, rbp) calls f with that rbp and says so in its table; with_lie()
 * does not say so.  with_return(f, ra) calls f while its own return address is
 * another.  on_stack(f, top) calls f on a stack of which nothing is known
 * that is right.
 */
__asm__(".text\n"
	".type with_rbp, @function\n"
	"with_rbp:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	mov %rsi, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	".cfi_restore %rbp\n"
	"	ret\n"
	".cfi_endproc\n"
	".size with_rbp, . - with_rbp\n"
	".type with_lie, @function\n"
	"with_lie:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	"	mov %rsi, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size with_lie, . - with_lie\n"
	".type with_return, @function\n"
	"with_return:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"	mov 8(%rsp), %rbx\n"
	"	mov %rsi, 8(%rsp)\n"
	"	call *%rdi\n"
	"	mov %rbx, 8(%rsp)\n"
	"	pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	".cfi_restore %rbx\n"
	"	ret\n"
	".cfi_endproc\n"
	".size with_return, . - with_return\n"
	".type on_stack, @function\n"
	"on_stack:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	"	mov %rsp, %rbx\n"
	"	mov %rsi, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size on_stack, . - on_stack\n");
void with_rbp(void (*)(void), uintptr_t) __asm__("with_rbp");
void with_lie(void (*)(void), uintptr_t) __asm__("with_lie");
void with_return(void (*)(void), uintptr_t) __asm__("with_return");
void on_stack(void (*)(void), void *top) __asm__("on_stack");

APART static void *
allocate(size_t n)
{
	void *p;

	KEEP(p, malloc(n));
	touch(p);
	return p;
}

APART static void
called(void)
{
	char room[70];
	void *p;

	touch(room);
	KEEP(p, malloc(10));
	for (size_t n = 20; n < 22; n++)
		THROUGH(p = allocate(n));
	free(malloc(23));
	touch(p);
	touch(room);
}

/* A frame of that name, outside of which the stack means nothing. */
static void
unsure(const char *name)
{
	chain_push("", NULL, 0, CHAIN_UNSURE);
	if (name != NULL)
		chain_push(name, NULL, 0, CHAIN_APART);
}

APART static void
frame_pointers(const uintptr_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		chain_push(__func__, __FILE__, __LINE__ + 2, CHAIN_APART);
		chain_push("with_rbp", NULL, 0, CHAIN_APART);
		with_rbp(called, values[i]);
		chain_pop();
		chain_pop();
	}
	for (size_t i = 0; i < n; i++) {
		int mark = chain_mark();

		unsure("with_lie");
		with_lie(called, values[i]);
		chain_reset(mark);
	}
}

APART static void
return_addresses(const uintptr_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int mark = chain_mark();

		unsure("with_return");
		with_return(called, values[i]);
		chain_reset(mark);
	}
}

/*
 * Stacks that end with their memory, below what must not be read: nothing
 * mapped, or a file that has become shorter, which would be SIGBUS.
 */
APART static void
ends_of_memory(void)
{
	size_t page = 4096, size = 64 * page;
	char *m = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("short", 0), mark;
	char *s;

	mprotect(m + size, page, PROT_NONE);
	for (size_t off = 0; off <= 64; off += 16) {
		mark = chain_mark();
		unsure(off >= 16 ? "on_stack" : NULL);
		on_stack(called, m + size - off);
		chain_reset(mark);
	}
	munmap(m + size, page);
	mark = chain_mark();
	unsure("on_stack");
	on_stack(called, m + size - 16);
	chain_reset(mark);
	/* The words beyond are in a hole of a file. */
	if (fd == -1 || ftruncate(fd, (off_t)page) == -1)
		return;
	s = mmap(m + size - page, 2 * page, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	mark = chain_mark();
	unsure("on_stack");
	on_stack(called, s + page - 16);
	chain_reset(mark);
	/* And a stack full of words that look like a chain. */
	m = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < size / sizeof(void *); i++)
		((uintptr_t *)m)[i] = (uintptr_t)called + i % 64;
	mark = chain_mark();
	unsure("on_stack");
	on_stack(called, m + size / 2);
	chain_reset(mark);
}

/*
 * A stack of the program's own that ends where its memory ends, and its tables
 * do not say so: what lies next to it belongs to somebody else, looks like a
 * caller for a while, and goes away.
 */
APART static void
neighbours(void)
{
	size_t page = 4096, size = 16 * page;
	char *m = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uintptr_t words[] = { 0, (uintptr_t)called + 20, (uintptr_t)free + 8,
		(uintptr_t)m, (uintptr_t)malloc + 9, 1 };
	int mark;

	for (size_t i = 0; i < 3 * sizeof(words) / sizeof(words[0]); i++) {
		if (i % 3 == 0)
			m = mmap(m, size + page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		for (size_t k = 0; i % 3 == 0 && k < page / sizeof(words[0]); k++)
			((uintptr_t *)(m + size))[k] = words[i / 3];
		if (i % 3 == 2 && i % 2 == 0)
			munmap(m + size, page);
		else if (i % 3 == 2)
			mprotect(m + size, page, PROT_NONE);
		mark = chain_mark();
		unsure("on_stack");
		on_stack(called, m + size);
		chain_reset(mark);
	}
}

/* Code made at run time: push %rbp; mov %rsp,%rbp; call *%rdi; pop; ret. */
APART static void
made_at_run_time(void)
{
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff,
		0xd7, 0x5d, 0xc3 };
	void (*jit)(void (*)(void));
	void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int mark = chain_mark();

	memcpy(m, code, sizeof(code));
	mprotect(m, 4096, PROT_READ | PROT_EXEC);
	*(void **)&jit = m;
	chain_push("", NULL, 0, CHAIN_BARE);
	jit(called);
	chain_reset(mark);
	/* The same addresses, code of a file's this time, and back again. */
	munmap(m, 4096);
	THROUGH(called());
	m = mmap(m, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memset(m, 0x90, 8);
	memcpy((char *)m + 8, code, sizeof(code));
	mprotect(m, 4096, PROT_READ | PROT_EXEC);
	chain_push("", NULL, 0, CHAIN_BARE);
	jit(called);
	chain_reset(mark);
}

/* Frames that are left behind: their words are still there, and stale. */
static jmp_buf back;

APART static void
leave(void)
{
	longjmp(back, 1);
}

APART static void
deep_and_out(int depth)
{
	char room[64];

	touch(room);
	if (depth > 0) {
		THROUGH(deep_and_out(depth - 1));
	} else {
		THROUGH(called());
		leave();
	}
	touch(room);
}

APART static void
left_behind(void)
{
	for (volatile int depth = 1; depth < 9; depth += 3) {
		int mark = chain_mark();

		if (setjmp(back) == 0)
			THROUGH(deep_and_out(depth));
		chain_reset(mark);
		THROUGH(called());
	}
}

int
main(void)
{
	int here;
	uintptr_t heap = (uintptr_t)malloc(5000) & ~(uintptr_t)7;
	const uintptr_t values[] = {
		0, 1, 8, 0xdeadbeef, UINT64_C(0x8000000000000000),
		UINT64_C(0xffffffffff600000), UINT64_C(0xffffffffffffffff),
		UINT64_C(0xfffffffffffffff0), UINT64_C(0x00007ffffffff000),
		UINT64_C(0x0000800000000000), UINT64_C(0x00007ffffffffff8),
		(uintptr_t)&here, (uintptr_t)&here + 3,
		(uintptr_t)&here & ~UINT64_C(0xfff),
		(uintptr_t)&here + 10000000, (uintptr_t)&here - 3000,
		heap, (uintptr_t)&heap, (uintptr_t)called,
		(uintptr_t)called + 1, (uintptr_t)main, (uintptr_t)malloc,
		(uintptr_t)malloc + 7,
	};
	size_t n = sizeof(values) / sizeof(values[0]);

	chain_case("frame pointers");
	THROUGH(frame_pointers(values, n));
	chain_case("return addresses");
	return_addresses(values, n);
	chain_case("ends of memory");
	ends_of_memory();
	chain_case("neighbours");
	neighbours();
	chain_case("code made at run time");
	THROUGH(made_at_run_time());
	chain_case("left behind");
	THROUGH(left_behind());
	chain_tell_and_wait();
	return 0;
}
